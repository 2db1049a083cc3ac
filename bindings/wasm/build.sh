#!/bin/sh
# Compiles the reader or the receiver of live streams for browsers: build.sh reader|live OUT COMPILER..., where the
# compiler makes wasm32-wasi programs. WASM_LD is LLVM's wasm-ld, WASM_OPT binaryen's wasm-opt, PYTHON what packs the
# tables. No threads, no C library but c_library.cpp. What is exported and imported says so in each boundary.cpp.
set -eu
what=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../core
work=$here/../../build/wasm/$what
mkdir -p "$work" "$(dirname "$out")"

case $what in
  reader)
    ${PYTHON:-python3} "$here/pack_tables.py" "$core/src/keysine/decode/tables.inc" "$work"
    bindings="boundary c_library computed_tables trained_tables"
    sources=$(grep -v '^#' "$core/reader.txt")
    memory="-z stack-size=262144 --max-memory=1073741824"
    ;;
  live)
    bindings="live/boundary c_library computed_tables"
    sources="live/model.cpp live/state.cpp live/extrapolation.cpp live/row_coder.cpp live/packet.cpp live/receive.cpp"
    memory="-z stack-size=65536 --max-memory=268435456"
    ;;
esac

# -flto: what no other file asks for goes, and constants reach the functions that they are given to
options="-std=c++17 -fno-exceptions -fno-rtti -flto -ffp-contract=off -Wall -Wextra -Wshadow -Werror
  -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL -I$core/include -I$core/src -I$work"
# smallest but for the loops over frames and channels, which is where the time goes
quick="math/least_squares.cpp keysine/decode/curves.cpp"
smallest='-Oz -Xclang -Oz' # zig takes -Oz for -Os
objects=
for source in $bindings; do
  object=$work/$(basename "$source").o
  # shellcheck disable=SC2086 # the options are words
  "$@" $options $smallest -c "$here/$source.cpp" -o "$object"
  objects="$objects $object"
done
for source in $sources; do
  level=$smallest
  case " $quick " in *" $source "*) level='-Os -msimd128 -fvectorize' ;; esac
  object=$work/$(echo "$source" | tr / -).o
  # shellcheck disable=SC2086
  "$@" $options $level -c "$core/src/$source" -o "$object"
  objects="$objects $object"
done
# The compiler's passes that trade bytes for time where the hot loops (vectorised above) gain nothing: pointers that
# step beside an index, sums and constants kept in locals.
# shellcheck disable=SC2086
$WASM_LD --no-entry --strip-all --gc-sections --stack-first $memory --lto-O2 \
  -mllvm -disable-lsr -mllvm -disable-machine-cse -mllvm -disable-machine-licm $objects -o "$work/linked.wasm"
# Flattened first, which finds shorter control flow. The stack lies lowest and grows down, so that nobody points into
# the first kilobyte. No input makes a good reader trap, so that what only could trap may go; none of it is moved to
# where it did not run before (as --ignore-implicit-traps would, which then divides by zero).
$WASM_OPT --flatten --rereloop --simplify-locals -Oz -Oz --converge --dealign --traps-never-happen --low-memory-unused \
  --enable-simd --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int \
  --enable-mutable-globals --enable-multivalue "$work/linked.wasm" -o "$out"
