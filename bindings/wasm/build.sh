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
  -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -I$core/include -I$core/src"
# small but for the loops over frames, which is where the time goes
small="$here/boundary.cpp $here/logistic.cpp $here/maths.cpp $core/src/reader/*.cpp $core/src/keysine/decode/head.cpp
  $core/src/keysine/decode/plan.cpp $core/src/keysine/decode/decode.cpp $core/src/keysine/decode/grid.cpp $core/src/kernels/quaternions.cpp"
fast="$core/src/keysine/decode/curves.cpp $core/src/common/least_squares.cpp"
objects=
for source in $small $fast; do
  case " $fast " in *" $source "*) level='-O3 -msimd128 -fno-unroll-loops' ;; *) level=-Oz ;; esac
  object=$work/$(basename "$source" .cpp).o
  # shellcheck disable=SC2086 # the options are words
  "$@" $options $level -c "$source" -o "$object"
  objects="$objects $object"
done
# shellcheck disable=SC2086
"$@" -Oz $objects -o "$out" -mexec-model=reactor -Wl,--no-entry -Wl,--strip-all \
  -Wl,-z,stack-size=262144 -Wl,--max-memory=1073741824
