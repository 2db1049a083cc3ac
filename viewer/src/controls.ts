// Connects buttons and keys with their actions.

import type { App } from "./app";
import { byId } from "./dom";
import { listenForKeys } from "./keyboard";
import { describe, hideMessage, showMessage } from "./message";
import { SPEEDS } from "./playback";
import type { Shown } from "./joint_curves";
import type { Measure } from "./measures";
import type { Scale } from "./scale";
import type { Layout } from "./session";
import type { View } from "./stage";

const SLIDER_PAUSE_MS = 120; // compress when the slider has rested this long

export function bindControls(app: App, toggleTheme: () => void): void {
  const speed = (by: number): void => changeSpeed(app, by);
  const loop = (): void => toggle("loop", (app.playback.loop = !app.playback.loop));
  const follow = (): void => toggle("follow", (app.stage.follow = !app.stage.follow));
  const trails = (): void => toggle("trails", app.toggleTrails());
  const mesh = (): void => toggle("mesh", app.toggleMesh());
  const contacts = (): void => toggle("contacts", app.toggleContacts());
  const look =
    (view: View): (() => void) =>
    () =>
      app.stage.look(view);
  const help = listenForKeys([
    { keys: [" ", "k"], shown: ["space"], what: "play or pause", act: () => app.playback.toggle() },
    {
      keys: ["ArrowLeft"],
      shown: ["←"],
      what: "one frame back (with shift ten)",
      act: (event) => app.step(event.shiftKey ? -10 : -1),
    },
    {
      keys: ["ArrowRight"],
      shown: ["→"],
      what: "one frame on (with shift ten)",
      act: (event) => app.step(event.shiftKey ? 10 : 1),
    },
    { keys: ["Home"], shown: ["home"], what: "first frame", act: () => app.seek(0) },
    {
      keys: ["End"],
      shown: ["end"],
      what: "last frame",
      act: () => app.seek(app.playback.frameCount - 1),
    },
    { keys: ["w"], shown: ["W"], what: "worst frame", act: () => app.goToWorst() },
    { keys: ["-"], shown: ["−"], what: "slower", act: () => speed(-1) },
    { keys: ["+", "="], shown: ["+"], what: "faster", act: () => speed(1) },
    { keys: ["l"], shown: ["L"], what: "loop", act: loop },
    {
      keys: ["o"],
      shown: ["O"],
      what: "overlay, side by side, packed, original",
      act: () => app.nextLayout(),
    },
    { keys: ["c"], shown: ["C"], what: "color bones by error", act: () => app.toggleColors() },
    {
      keys: ["[", "ArrowUp"],
      shown: ["["],
      what: "larger version",
      act: () => app.nextVersion(-1),
    },
    {
      keys: ["]", "ArrowDown"],
      shown: ["]"],
      what: "smaller version",
      act: () => app.nextVersion(1),
    },
    { keys: ["f"], shown: ["F"], what: "follow the figure", act: follow },
    { keys: ["r"], shown: ["R"], what: "reset the view", act: () => app.stage.resetView() },
    { keys: ["1"], shown: ["1"], what: "look from the front", act: look("front") },
    { keys: ["2"], shown: ["2"], what: "look from the side", act: look("side") },
    { keys: ["3"], shown: ["3"], what: "look from above", act: look("top") },
    { keys: ["g"], shown: ["G"], what: "trails of hands and feet", act: trails },
    { keys: ["p"], shown: ["P"], what: "planted feet", act: contacts },
    { keys: ["m"], shown: ["M"], what: "mesh or bones", act: mesh },
    { keys: ["t"], shown: ["T"], what: "light or dark", act: toggleTheme },
    { keys: ["?"], shown: ["?"], what: "this list", act: () => help() },
  ]);
  const clicks: Record<string, () => void> = {
    play: () => app.playback.toggle(),
    previous: () => app.step(-1),
    next: () => app.step(1),
    worst: () => app.goToWorst(),
    speed: () => speed(1),
    legend: () => app.toggleColors(),
    loop,
    follow,
    trails,
    contacts,
    mesh,
    "help-button": help,
    "theme-button": toggleTheme,
    "message-close": hideMessage,
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
  for (const button of byId("layouts").querySelectorAll("button")) {
    button.addEventListener("click", () => app.setLayout(button.dataset.layout as Layout));
  }
  for (const button of byId("views").querySelectorAll("button")) {
    button.addEventListener("click", look(button.dataset.view as View));
  }
  chosen("scale", (value) => app.setScale(value as Scale));
  chosen("measure", (value) => app.setMeasure(value as Measure));
  chosen("joint-shown", (value) => app.setJointShown(value as Shown));
  const bound = byId<HTMLInputElement>("bound");
  let pause: ReturnType<typeof setTimeout> | undefined;
  bound.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => void app.pack().catch(reportError), SLIDER_PAUSE_MS);
  });
  const slider = byId<HTMLInputElement>("version");
  slider.addEventListener("input", () => app.setVersion(Number(slider.value)));
}

/** Selects the next speed; a click on the button wraps around. */
function changeSpeed(app: App, by: number): void {
  const at = SPEEDS.indexOf(app.playback.speed) + by;
  app.playback.speed = SPEEDS[(at + SPEEDS.length) % SPEEDS.length];
  byId("speed").textContent = `${app.playback.speed}×`;
}

function reportError(error: unknown): void {
  showMessage(describe(error, "the motion"));
}

function chosen(id: string, act: (value: string) => void): void {
  const select = byId<HTMLSelectElement>(id);
  select.addEventListener("change", () => {
    act(select.value);
    select.blur(); // return keyboard focus to the page
  });
}

function toggle(id: string, pressed: boolean): void {
  byId(id).setAttribute("aria-pressed", String(pressed));
}
