// Shows error messages.

import { MocpackError } from "./decoder";
import { byId } from "./dom";

export function showMessage(text: string): void {
  byId("message-text").textContent = text;
  byId("message").hidden = false;
}

export function hideMessage(): void {
  byId("message").hidden = true;
}

const BECAUSE: Record<MocpackError["kind"], string> = {
  format: "is not a file that the viewer reads",
  truncated: "ends too early; it was cut on its way",
  corrupt: "is damaged",
  unsupported: "cannot be played by the page itself",
  memory: "takes too much memory",
  network: "cannot be fetched",
  clip: "does not have that clip",
};

/** Describes an error, so that the user knows what to do. */
export function describe(error: unknown, name: string): string {
  if (!(error instanceof MocpackError))
    return `${name}: ${error instanceof Error ? error.message : String(error)}`;
  const hint = error.kind === "unsupported" ? `\nTry: mocpack view ${name}` : "";
  return `${name} ${BECAUSE[error.kind]}: ${error.message}${hint}`;
}
