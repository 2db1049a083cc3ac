// Compiles the reader or the receiver of live streams for browsers: node build.mjs reader|live OUT. The compiler is
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

// without V8's optimizing compiler the build takes 39 s of CPU, with it 59 s
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
};
// -flto: what no other file asks for goes, and constants reach the functions that they are given to
const OPTIONS = [
  ..."--target=wasm32-wasip1 -std=c++17 -fno-exceptions -fno-rtti -flto -ffp-contract=off".split(
    " ",
  ),
  ..."-Wall -Wextra -Wshadow -Werror -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL".split(
    " ",
  ),
  ..."-Icore/include -Icore/src -Iwork".split(" "),
];
// smallest but for the loops over frames and channels, which is where the time goes
const QUICK = new Set(["math/least_squares.cpp", "keysine/decode/curves.cpp"]);
const QUICK_OPTIONS = ["-Os", "-msimd128", "-fvectorize"];
// The compiler's passes that trade bytes for time where the hot loops (vectorized above) gain nothing: pointers that step beside an index,
// sums and constants kept in locals.
const LINK_OPTIONS = [
  ..."--no-entry --strip-all --gc-sections --stack-first --lto-O2".split(" "),
  ...["disable-lsr", "disable-machine-cse", "disable-machine-licm"].flatMap(
    (pass) => ["-mllvm", `-${pass}`],
  ),
];
// Flattened first, which finds shorter control flow. The stack lies lowest and grows down, so that nobody points into the first kilobyte. No
// input makes a good reader trap, so that what only could trap may go; none of it is moved to where it did not run before (as
// --ignore-implicit-traps would, which then divides by zero). A function with one caller is inlined only if it is small: large functions
// compress better apart, where local variables have lower numbers.
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

/** The files below a folder, as the compiler takes them: it sees no other. */
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
  const tables = join(root, "core/src/keysine/decode/tables.inc");
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
