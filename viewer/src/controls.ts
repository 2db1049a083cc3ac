// Buttons and keys, each bound to what it does.

import type { App } from "./app";
import { byId } from "./dom";
import { listenForKeys } from "./keyboard";
import { hideMessage } from "./message";
import { SPEEDS } from "./playback";
import type { Layout } from "./session";

export function bindControls(app: App, toggleTheme: () => void): void {
  const speed = (by: number): void => changeSpeed(app, by);
  const loop = (): void => toggle("loop", (app.playback.loop = !app.playback.loop));
  const follow = (): void => toggle("follow", (app.stage.follow = !app.stage.follow));
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
    { keys: ["c"], shown: ["C"], what: "colour bones by error", act: () => app.toggleColours() },
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
    { keys: ["t"], shown: ["T"], what: "light or dark", act: toggleTheme },
    { keys: ["?"], shown: ["?"], what: "this list", act: () => help() },
  ]);
  const clicks: Record<string, () => void> = {
    play: () => app.playback.toggle(),
    previous: () => app.step(-1),
    next: () => app.step(1),
    worst: () => app.goToWorst(),
    speed: () => speed(1),
    legend: () => app.toggleColours(),
    loop,
    follow,
    "help-button": help,
    "theme-button": toggleTheme,
    "message-close": hideMessage,
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
  for (const button of byId("layouts").querySelectorAll("button")) {
    button.addEventListener("click", () => app.setLayout(button.dataset.layout as Layout));
  }
  const slider = byId<HTMLInputElement>("version");
  slider.addEventListener("input", () => app.setVersion(Number(slider.value)));
}

/** Step along the list of speeds; a click on the button goes round. */
function changeSpeed(app: App, by: number): void {
  const at = SPEEDS.indexOf(app.playback.speed) + by;
  app.playback.speed = SPEEDS[(at + SPEEDS.length) % SPEEDS.length];
  byId("speed").textContent = `${app.playback.speed}×`;
}

function toggle(id: string, pressed: boolean): void {
  byId(id).setAttribute("aria-pressed", String(pressed));
}
