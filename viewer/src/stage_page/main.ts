// The live page of a relay.

import wasmUrl from "../../../js/dist/live.wasm?url";
import { live, type Stage } from "./decoder";
import { LiveScene } from "./scene";
import { Table } from "./table";

const WAITING = "no performer is connected yet";

declare global {
  interface Window {
    /** For tests: the state of the scene. */
    mocpackStage?: { shown: LiveScene["shown"]; stage: Stage | null };
  }
}

function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const message = byId("message");
const way = byId("way");
const delay = byId<HTMLSelectElement>("delay");
const scene = new LiveScene(byId<HTMLCanvasElement>("view"));
const table = new Table(byId<HTMLTableElement>("performers"));
window.mocpackStage = { shown: () => scene.shown(), stage: null };

/** Returns the stage from the URL: `?stage=rehearsal`, else "stage". */
function address(): string {
  const name = new URLSearchParams(location.search).get("stage") ?? "stage";
  const url = new URL(`./${encodeURIComponent(name)}`, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  return url.href;
}

/** Returns the chosen delay in seconds, or "auto" for a jitter buffer. */
function wanted(): number | "auto" {
  return delay.value === "auto" ? "auto" : Number(delay.value);
}

async function watch(token?: string): Promise<void> {
  const wasm = new URL(wasmUrl, location.href);
  const stage = await live(address(), { wasm, token, webTransport: true });
  window.mocpackStage!.stage = stage;
  message.textContent = WAITING;
  stage
    .on("join", ({ name, skeleton, player }) => {
      player.targetDelay = wanted();
      table.add(name, scene.add(name, skeleton));
      message.textContent = "";
    })
    .on("leave", ({ name }) => {
      scene.remove(name);
      table.remove(name);
      if (!stage.performers.size) message.textContent = WAITING;
    })
    .on("lost", () => (message.textContent = "the connection is lost; coming back"))
    .on("error", (error) => (message.textContent = error.message));
  setInterval(() => {
    way.textContent = stage.transport ? `by ${stage.transport}` : "";
    stage.performers.forEach((performer) => table.update(performer));
  }, 500);
}

/** Connects without a token first; asks for one if the relay requires it. */
function askForToken(): void {
  const form = byId<HTMLFormElement>("way-in");
  form.hidden = false;
  message.textContent = "";
  form.onsubmit = (event) => {
    event.preventDefault();
    watch(byId<HTMLInputElement>("token").value.trim()).then(
      () => (form.hidden = true),
      () => (message.textContent = "the relay does not take this token"),
    );
  };
}

delay.onchange = () =>
  window.mocpackStage!.stage?.performers.forEach(({ player }) => (player.targetDelay = wanted()));

function draw(): void {
  const now = performance.now() / 1000;
  window.mocpackStage!.stage?.performers.forEach(({ name, player }) => {
    const pose = player.at(now);
    if (pose) scene.pose(name, pose);
  });
  scene.draw();
  requestAnimationFrame(draw);
}

requestAnimationFrame(draw);
watch().catch(askForToken);
