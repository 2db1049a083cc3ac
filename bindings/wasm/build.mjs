// Compiles the reader or the receiver of live streams for browsers: node build.mjs reader|live|elementary OUT; the last is for tests. The compiler is
// LLVM from npm, itself compiled to WebAssembly, so that every system runs the same compiler, in node. PYTHON
// packs the tables. No threads, no C library but c_library.cpp. Each boundary.cpp says what is exported and imported.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import {
  commands,
  runLLVM,
} from "../../js/node_modules/@yowasp/clang/gen/bundle.js";

// the build takes 39 s of CPU without V8's optimizing compiler, 59 s with it
setFlagsFromString("--liftoff-only");
const { "clang++": clang, "wasm-ld": link } = commands;
await runLLVM(null, {}, { fetchProgress: () => {} }); // loads it, without a line per step
const [part, out] = process.argv.slice(2);
const root = fileURLToPath(new URL("../../", import.meta.url));
const work = join(root, "build/wasm", part);
mkdirSync(work, { recursive: true });
mkdirSync(dirname(out), { recursive: true });

const PARTS = {
  reader: {
    bindings: ["boundary", "c_library", "computed_tables", "trained_tables"],
    sources: readFileSync(join(root, "core/reader.txt"), "utf8").match(
      /^[^#\s]+$/gm,
    ),
    memory: ["-z", "stack-size=262144", "--max-memory=1073741824"],
  },
  live: {
    bindings: ["live/boundary", "c_library", "computed_tables"],
    sources: [
      "model",
      "state",
      "extrapolation",
      "row_coder",
      "packet",
      "receive",
    ].map((name) => `live/${name}.cpp`),
    memory: ["-z", "stack-size=65536", "--max-memory=268435456"],
  },
  elementary: {
    bindings: ["elementary", "c_library"],
    sources: [],
    memory: [],
  },
};
// -flto removes unused functions and propagates constants across files
const OPTIONS = [
  ..."--target=wasm32-wasip1 -std=c++17 -fno-exceptions -fno-rtti -flto -ffp-contract=off".split(
    " ",
  ),
  ..."-Wall -Wextra -Wshadow -Werror -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL".split(
    " ",
  ),
  ..."-Icore/include -Icore/src -Icore/tests -Iwork".split(" "),
];
// The hot loops over frames and channels are optimized for speed, all else for size.
const QUICK = new Set(["math/least_squares.cpp", "keysine/format/curves.cpp"]);
const QUICK_OPTIONS = ["-Os", "-msimd128", "-fvectorize"];
// Disable passes that make code larger without making the hot loops faster: loop strength reduction, common
// subexpressions and loop-invariant code motion on machine code.
const LINK_OPTIONS = [
  ..."--no-entry --strip-all --gc-sections --stack-first --lto-O2".split(" "),
  ...["disable-lsr", "disable-machine-cse", "disable-machine-licm"].flatMap(
    (pass) => ["-mllvm", `-${pass}`],
  ),
];
// --flatten first: it finds shorter control flow. --low-memory-unused: the stack is at the lowest addresses and grows
// down, so no pointer points into the first kilobyte. --traps-never-happen: the reader never traps, so code whose only
// effect is a trap can be removed. --ignore-implicit-traps would also move such code to places where it then divides by
// zero. A function with one caller is inlined only if it is small: large functions compress better apart, because their
// local variables have lower numbers.
const SHRINK_OPTIONS = [
  ..."--flatten --rereloop --simplify-locals -Oz -Oz --converge --dealign --traps-never-happen --low-memory-unused".split(
    " ",
  ),
  ..."--enable-simd --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int".split(
    " ",
  ),
  ..."--enable-mutable-globals --enable-multivalue".split(" "),
  "--one-caller-inline-max-function-size=500",
];

/** Return the files below a folder as the compiler's virtual file system, its only one. */
function tree(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(folder, entry.name);
      return [
        entry.name,
        entry.isDirectory() ? tree(path) : readFileSync(path),
      ];
    }),
  );
}

if (part === "reader") {
  const tables = join(root, "core/src/keysine/format/tables.inc");
  execFileSync(
    process.env.PYTHON ?? "python3",
    [join(root, "bindings/wasm/pack_tables.py"), tables, work],
    { stdio: "inherit" },
  );
}
const { bindings, sources, memory } = PARTS[part];
const files = {
  core: {
    src: tree(join(root, "core/src")),
    include: tree(join(root, "core/include")),
    tests: tree(join(root, "core/tests")),
  },
  wasm: tree(join(root, "bindings/wasm")),
  work: tree(work),
};
// The sources share a translation unit, as in the amalgamation: parsing the headers takes most of the time.
const small = sources.filter((name) => !QUICK.has(name));
files["sources.cpp"] = small.map((name) => `#include <${name}>\n`).join("");
const compilations = [
  ["sources.cpp", ["-Oz"]],
  ...bindings.map((name) => [`wasm/${name}.cpp`, ["-Oz"]]),
  ...sources
    .filter((name) => QUICK.has(name))
    .map((name) => [`core/src/${name}`, QUICK_OPTIONS]),
];
const objects = {};
for (const [source, level] of compilations) {
  const object = `${source.replaceAll("/", "-")}.o`;
  objects[object] = (
    await clang([...OPTIONS, ...level, "-c", source, "-o", object], files)
  )[object];
}
const linked = await link(
  [...LINK_OPTIONS, ...memory, ...Object.keys(objects), "-o", "linked.wasm"],
  objects,
);
writeFileSync(join(work, "linked.wasm"), linked["linked.wasm"]);
const wasmOpt = join(root, "js/node_modules/binaryen/bin/wasm-opt");
execFileSync(
  process.execPath,
  [wasmOpt, ...SHRINK_OPTIONS, join(work, "linked.wasm"), "-o", out],
  {
    stdio: "inherit",
  },
);
