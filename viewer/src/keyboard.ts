// Keyboard shortcuts, and the dialog that lists them.

import { byId, make } from "./dom";

export interface Key {
  keys: string[];
  shown: string[];
  what: string;
  act: (event: KeyboardEvent) => void;
}

export function listenForKeys(keys: Key[]): () => void {
  const help = byId<HTMLDialogElement>("help");
  const table = new Map(keys.flatMap((key) => key.keys.map((name) => [name, key] as const)));
  byId("keys").replaceChildren(...keys.flatMap((key) => listed(key)));
  addEventListener("keydown", (event) => {
    const key = table.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!key || event.ctrlKey || event.metaKey || event.altKey || help.open || isOthers(event))
      return;
    event.preventDefault();
    key.act(event);
  });
  help.addEventListener("click", (event) => {
    if (event.target === help) help.close();
  });
  return () => (help.open ? help.close() : help.showModal());
}

/** Returns whether a focused button or slider handles the key itself. */
function isOthers(event: KeyboardEvent): boolean {
  const at = event.target;
  if (at instanceof HTMLInputElement)
    return event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
  return (
    at instanceof HTMLButtonElement &&
    (event.key === "Enter" || event.key === " ") &&
    at.id !== "play"
  );
}

function listed(key: Key): HTMLElement[] {
  const names = make("dt");
  key.shown.forEach((name, i) => names.append(i ? " " : "", make("kbd", name)));
  return [names, make("dd", key.what)];
}
