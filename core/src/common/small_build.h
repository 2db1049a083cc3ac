// A small build, such as that for browsers, where every byte travels: no float32, no world, no tasks, nothing
// twice for speed.
#pragma once

namespace mocpack
{

#ifdef MOCPACK_SMALL
const bool SMALL_BUILD = true;
#else
const bool SMALL_BUILD = false;
#endif

} // namespace mocpack

// In a small build, of functions: MOCPACK_NOINLINE, it is there once and not in every caller; MOCPACK_COLD, it is
// small rather than fast, whatever its neighbours are.
#if defined(MOCPACK_SMALL) && defined(__clang__)
#define MOCPACK_NOINLINE __attribute__((noinline))
#define MOCPACK_COLD __attribute__((noinline, minsize))
#else
#define MOCPACK_NOINLINE
#define MOCPACK_COLD
#endif
