// Archives return the exact files that were packed, from bytes and over HTTP.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { describe, it } from "node:test";

import { MocpackError, open, openArchive } from "../dist/index.js";
import { compiled, noFiles, random, read } from "./files.mjs";

const folder = process.env.MOCPACK_FIXTURES;
const skip = noFiles || (existsSync(`${folder}/all.mocps`) ? false : "no archives: no pyarrow");
const options = { wasm: compiled };
const kindIs = (kind) => (error) => error instanceof MocpackError && error.kind === kind;
const names = ["long", "lossless", "turns", "walk"];

describe("an archive", { skip }, () => {
  it("returns every clip byte for byte", async () => {
    const archive = await openArchive(read("all.mocps"), options);
    assert.deepEqual(
      archive.clips.map((clip) => clip.name),
      names,
    );
    for (const name of names)
      assert.deepEqual(await archive.readFile(name), read(`${name}.mocp`), name);
    assert.equal(archive.clips[3].size, read("walk.mocp").length);
    await assert.rejects(archive.readFile("none"), kindIs("clip"));
    await assert.rejects(archive.open(4), kindIs("clip"));
  });

  it("opens copies, and names a clip of an unknown kind", async () => {
    const archive = await openArchive(read("twice.mocps"), options);
    assert.deepEqual(await archive.readFile("again"), read("walk.mocp"));
    assert.deepEqual(await archive.readFile("walk"), read("walk.mocp"));
    const newer = await openArchive(read("newer.mocps"), options);
    assert.deepEqual(await newer.readFile("walk"), read("walk.mocp"));
    for (const use of [newer.open("again"), newer.readFile("again")])
      await assert.rejects(
        use,
        (error) => kindIs("unsupported")(error) && /again.* 9/.test(error.message),
      );
  });

  it("opens clips as motions", async () => {
    const archive = await openArchive(read("all.mocps"), options);
    const [ours, theirs] = await Promise.all([
      archive.open("walk"),
      open(read("walk.mocp"), options),
    ]);
    assert.equal(ours.frameCount, archive.clips[3].frameCount);
    const [a, b] = await Promise.all([ours.frames(0, 20), theirs.frames(0, 20)]);
    assert.deepEqual(a.rotations, b.rotations);
    ours.close();
    assert.deepEqual(await archive.readFile("turns"), read("turns.mocp")); // it is still open
    archive.close();
  });

  it("is read by range requests from a URL", async () => {
    let [fetched, requests] = [0, 0];
    const file = read("all.mocps");
    const server = createServer((request, response) => {
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range);
      const part = file.subarray(Number(first), Math.min(Number(last) + 1, file.length));
      fetched += part.length;
      requests += 1;
      const range = `bytes ${first}-${Number(first) + part.length - 1}/${file.length}`;
      response.writeHead(206, { "Content-Range": range }).end(part);
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    try {
      const address = `http://127.0.0.1:${server.address().port}/all.mocps`;
      const archive = await openArchive(address, options);
      assert.ok(requests <= 3, `${requests} requests`); // start, footer, rest of the trailer
      assert.deepEqual(await archive.readFile("walk"), read("walk.mocp"));
      assert.ok(fetched < file.length, `${fetched} of ${file.length}`);
      const motion = await archive.open("long");
      await motion.frames(0, 30);
      motion.close();
      archive.close();
    } finally {
      server.close();
    }
  });

  it("does not need more memory than memoryLimit", async () => {
    await assert.rejects(
      openArchive(read("all.mocps"), { ...options, memoryLimit: 1000 }),
      kindIs("memory"),
    );
    await assert.rejects(
      openArchive(read("all.mocps"), { ...options, memoryLimit: 0 }),
      RangeError,
    );
  });

  it("names the shard of a clip in another file", async () => {
    const archive = await openArchive(read("many.mocps"), options);
    assert.equal(archive.clips[0].shard, "many-00000.mocps");
    await assert.rejects(archive.open(0), kindIs("unsupported"));
    const shard = await openArchive(read("many-00000.mocps"), options);
    assert.deepEqual(await shard.readFile("long"), read("long.mocp"));
  });

  it("reports any damage as an error", async () => {
    const file = read("all.mocps");
    await assert.rejects(openArchive(read("walk.mocp"), options), kindIs("format"));
    await assert.rejects(openArchive(file.subarray(0, -1), options), kindIs("truncated"));
    await assert.rejects(openArchive(new Uint8Array(0), options), kindIs("format"));
    const text = Buffer.from(file).lastIndexOf("INDX");
    const { below } = random(7);
    for (let i = 0; i < 60; ++i) {
      const broken = file.slice();
      broken[text + below(file.length - text)] ^= 1 << below(8);
      await assert.rejects(openArchive(broken, options), (error) => error instanceof MocpackError);
    }
  });

  it("with an invalid index gives the kind of error that Python gives", async () => {
    const cases = readdirSync(folder).filter((name) => name.startsWith("damaged-"));
    assert.ok(cases.length >= 300);
    for (const name of cases) {
      let kind = "ok";
      try {
        const archive = await openArchive(read(name), options);
        for (const { name: clip, shard } of archive.clips)
          if (shard === null)
            await archive.readFile(clip).catch((error) => assert.ok(error instanceof MocpackError));
      } catch (error) {
        if (!(error instanceof MocpackError)) throw error;
        kind = error.kind;
      }
      assert.ok(name.endsWith(`-${kind}.mocps`), `${name} is ${kind}`);
    }
  });
});
