#!/bin/sh
# Compiles the reader for browsers: build.sh OUT COMPILER..., where the compiler makes wasm32-wasi programs. WASM_OPT is
# binaryen's wasm-opt, PYTHON what packs the tables. Only what plays a file goes in; no threads. What is exported and
# imported says so in boundary.cpp.
set -eu
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../core
work=$here/../../build/wasm
mkdir -p "$work" "$(dirname "$out")"
${PYTHON:-python3} "$here/pack_tables.py" "$core/src/keysine/decode/tables.inc" "$work"

# -flto: what no other file asks for goes, and constants reach the functions that they are given to
options="-std=c++17 -fno-exceptions -fno-rtti -flto -ffp-contract=off -Wall -Wextra -Wshadow -Werror
  -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL -I$core/include -I$core/src -I$work"
# small but for the loops over frames, which is where the time goes
fast="keysine/decode/curves.cpp"
quick="common/least_squares.cpp"
smallest='-Oz -Xclang -Oz' # zig takes -Oz for -Os
sources=$(grep -v '^#' "$core/reader.txt")
objects=
# these first: what maths.cpp has, the C library is not asked for
for source in boundary computed_tables maths trained_tables; do
  # shellcheck disable=SC2086 # the options are words
  "$@" $options $smallest -c "$here/$source.cpp" -o "$work/$source.o"
  objects="$objects $work/$source.o"
done
for source in $sources; do
  level=$smallest
  case " $quick " in *" $source "*) level='-Os -msimd128 -fvectorize' ;; esac
  case " $fast " in *" $source "*) level='-O3 -msimd128 -fno-unroll-loops' ;; esac
  object=$work/$(echo "$source" | tr / -).o
  # shellcheck disable=SC2086
  "$@" $options $level -c "$core/src/$source" -o "$object"
  objects="$objects $object"
done
# shellcheck disable=SC2086
"$@" -Oz -flto $objects -o "$work/linked.wasm" -mexec-model=reactor -Wl,--no-entry -Wl,--strip-all \
  -Wl,-z,stack-size=262144 -Wl,--max-memory=1073741824
# Inlined and kept apart as compilers left it, since gzip does better on small functions than on one large; flattened
# first, which finds shorter control flow. The stack lies lowest and grows down, so that nobody points into the first
# kilobyte; no input may trap, so that what only traps may go (but nothing that traps may be moved: divisions).
$WASM_OPT --flatten --rereloop -Oz -Oz --converge --always-inline-max-function-size=1 \
  --flexible-inline-max-function-size=1 --one-caller-inline-max-function-size=50 --dealign --reorder-functions \
  --traps-never-happen --low-memory-unused --enable-simd --enable-bulk-memory --enable-sign-ext \
  --enable-nontrapping-float-to-int --enable-mutable-globals --enable-multivalue "$work/linked.wasm" -o "$out"
