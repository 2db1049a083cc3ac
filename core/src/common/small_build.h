// The small build, for browsers: without scenes, float32, world space and tasks, and optimized for size.
#pragma once

namespace mocpack
{

#ifdef MOCPACK_SMALL
const bool SMALL_BUILD = true;
#else
const bool SMALL_BUILD = false;
#endif

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
