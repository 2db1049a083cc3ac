// Functions worth compiling twice: once more for machines with wider registers, chosen when the program
// loads.
//
// Neither clone fuses multiplication and addition, so both give the same bits. Clones are chosen before a
// sanitizer is ready, which it does not survive.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) &&             \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MOCPACK_SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MOCPACK_SIMD_CLONES
#endif

// Before a loop of few rounds, all of whose numbers then fit into registers.
#if defined(__clang__)
#define MOCPACK_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define MOCPACK_UNROLL _Pragma("GCC unroll 8")
#else
#define MOCPACK_UNROLL
#endif
