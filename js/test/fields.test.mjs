// Fields as every reader takes them: what is not UTF-8 is no name.
import assert from "node:assert/strict";
import test from "node:test";

import { MocpackError } from "../dist/index.js";
import { FieldReader } from "../dist/fields.js";

const named = (...bytes) => new FieldReader(new Uint8Array([bytes.length, ...bytes]), "SKEL chunk");

test("a name is UTF-8", () => {
  assert.equal(named(0x61, 0xe0, 0xa0, 0x80).text(255), "a\u0800");
});

test("half a character is no name", () => {
  const half = named(0x61, 0xed, 0xa0, 0x80);
  assert.throws(
    () => half.text(255),
    (error) =>
      error instanceof MocpackError && /SKEL chunk: a name is not UTF-8/.test(error.message),
  );
});
