#!/bin/sh
# Compiles the receiver of live streams for browsers: build.sh OUT COMPILER..., as ../build.sh does the reader.
set -eu
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../../core
mkdir -p "$(dirname "$out")"
live=$core/src/live
# shellcheck disable=SC2086
"$@" -std=c++17 -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra -Wshadow -Werror -Os \
  -DMOCPACK_TABLES_AT_START -DMOCPACK_NO_MALLOC -DMOCPACK_SMALL -I"$core/include" -I"$core/src" \
  "$here/boundary.cpp" "$here/../computed_tables.cpp" "$live/model.cpp" "$live/state.cpp" "$live/extrapolation.cpp" "$live/row_coder.cpp" "$live/packet.cpp" "$live/receive.cpp" \
  -o "$out" -mexec-model=reactor -Wl,--no-entry -Wl,--strip-all -Wl,--gc-sections \
  -Wl,-z,stack-size=65536 -Wl,--max-memory=268435456
