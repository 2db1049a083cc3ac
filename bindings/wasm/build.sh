#!/bin/sh
# Compiles the reader for browsers: build.sh OUT COMPILER..., where the compiler makes wasm32-wasi programs.
# Only what plays a file goes in; no threads. What is exported and imported says so in boundary.cpp.
set -eu
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../core
work=$here/../../build/wasm
mkdir -p "$work" "$(dirname "$out")"

options="-std=c++17 -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra -Wshadow -Werror
  -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL -I$core/include -I$core/src"
# small but for the loops over frames and symbols, which is where the time goes
fast="keysine/decode/curves.cpp common/least_squares.cpp"
quick="keysine/decode/decode.cpp keysine/decode/grid.cpp"
smallest='-Oz -Xclang -Oz' # zig takes -Oz for -Os
sources=$(grep -v '^#' "$core/reader.txt")
objects=
# these first: what maths.cpp has, the C library is not asked for
for source in boundary logistic maths; do
  # shellcheck disable=SC2086 # the options are words
  "$@" $options $smallest -c "$here/$source.cpp" -o "$work/$source.o"
  objects="$objects $work/$source.o"
done
for source in $sources; do
  level=$smallest
  case " $quick " in *" $source "*) level=-Os ;; esac
  case " $fast " in *" $source "*) level='-O3 -msimd128 -fno-unroll-loops' ;; esac
  object=$work/$(echo "$source" | tr / -).o
  # shellcheck disable=SC2086
  "$@" $options $level -c "$core/src/$source" -o "$object"
  objects="$objects $object"
done
# shellcheck disable=SC2086
"$@" -Oz $objects -o "$out" -mexec-model=reactor -Wl,--no-entry -Wl,--strip-all \
  -Wl,-z,stack-size=262144 -Wl,--max-memory=1073741824
