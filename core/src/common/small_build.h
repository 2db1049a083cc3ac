// The small build, for browsers: without scenes, float32, world space, tasks and flags of mocpack_open, and
// optimized for size. Its only caller, bindings/wasm/boundary.cpp, passes valid arguments.
#pragma once

namespace mocpack
{

#ifdef MOCPACK_SMALL
const bool SMALL_BUILD = true;
#else
const bool SMALL_BUILD = false;
#endif

const bool CHECKS_ARGUMENTS = !SMALL_BUILD;

} // namespace mocpack

// Only in a small build: MOCPACK_NOINLINE prevents inlining, MOCPACK_COLD also optimizes the function for
// size.
#if defined(MOCPACK_SMALL) && defined(__clang__)
#define MOCPACK_NOINLINE __attribute__((noinline))
#define MOCPACK_COLD __attribute__((noinline, minsize))
#else
#define MOCPACK_NOINLINE
#define MOCPACK_COLD
#endif
