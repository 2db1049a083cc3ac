// Compiles a function a second time for AVX2; the loader chooses the version.
//
// Neither version fuses multiply and add, so both give identical results. Sanitizers crash if clones are
// resolved before they are initialized, so clones are disabled with them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) &&             \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MOCPACK_SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MOCPACK_SIMD_CLONES
#endif

// Unrolls a short loop, so that its values stay in registers.
#if defined(__clang__)
#define MOCPACK_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define MOCPACK_UNROLL _Pragma("GCC unroll 8")
#else
#define MOCPACK_UNROLL
#endif
