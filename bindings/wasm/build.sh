#!/bin/sh
# Compiles the decoder for browsers: build.sh OUT COMPILER..., where the compiler makes wasm32-wasi programs.
# Only what plays a file goes in; no threads, no imports. Symbols of the boundary are exported where they stand.
set -eu
out=$1
shift
here=$(dirname "$0")
core=$here/../../core
mkdir -p "$(dirname "$out")"
"$@" -std=c++17 -O3 -msimd128 -fno-exceptions -fno-rtti -ffp-contract=off \
  -Wall -Wextra -Wshadow -Werror -I"$core/include" \
  "$here/boundary.cpp" \
  "$core/src/keysine_decode.cpp" "$core/src/keysine_head.cpp" "$core/src/keysine_curves.cpp" \
  "$core/src/keysine_plan.cpp" "$core/src/keysine_models.cpp" "$core/src/quaternions.cpp" \
  -o "$out" -mexec-model=reactor -Wl,--no-entry -Wl,--strip-all -Wl,--max-memory=1073741824
