// Starts the page.

import { App } from "./app";
import { bindControls } from "./controls";
import { byId } from "./dom";
import { listenForFiles } from "./drop";
import { applyStart, install } from "./hook";
import { describe, showMessage } from "./message";
import { loadDecoder } from "./resources";
import { findSession, laterRawBytes, openEntry, type Named, type Session } from "./session";
import { loadSkin } from "./skin";
import { startTheme } from "./theme";

async function openSession(app: App, session: Session): Promise<void> {
  const opened: { role: string; named: Named }[] = [];
  for (const entry of session.motions) {
    try {
      opened.push({ role: entry.role, named: await openEntry(entry) });
    } catch (error) {
      showMessage(describe(error, entry.name));
    }
    if (entry.note) showMessage(entry.note);
  }
  const packed = opened.filter(({ role }) => role === "packed").map(({ named }) => named);
  const original = opened.find(({ role }) => role === "original")?.named ?? null;
  const wanted = session.motions[session.chosen]?.name;
  if (!packed.length) {
    byId("welcome").hidden = false;
    return;
  }
  await app.show(
    packed,
    original,
    session.rawBytes,
    packed.find(({ name }) => name === wanted) ?? packed[0],
    session.skin ? await loadSkin(session.skin) : null,
  );
  // play at once, unless a frame or a screenshot was requested
  app.playback.playing = session.start?.frame === undefined && !session.start?.bare;
  if (session.start) applyStart(app, session.start);
  if (session.rawBytes === null)
    void laterRawBytes().then((bytes) => bytes && app.setRawBytes(bytes));
}

async function start(): Promise<void> {
  const session = await findSession();
  // load the decoder before the first file is dropped, in case the network fails later
  loadDecoder(session?.wasm).catch((error: unknown) => showMessage(describe(error, "the decoder")));
  const app = new App();
  bindControls(
    app,
    startTheme(session?.start?.theme, (theme) => app.setTheme(theme)),
  );
  listenForFiles(session?.packs ?? false, (files) => void app.take(files));
  const ready = session ? openSession(app, session) : Promise.resolve();
  install(app, ready);
  byId("welcome").hidden = session !== null && session.motions.length > 0;
  let before = performance.now();
  const step = (now: number): void => {
    app.tick(Math.min((now - before) / 1000, 0.25));
    before = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  await ready;
}

start().catch((error: unknown) => showMessage(describe(error, "the page")));
