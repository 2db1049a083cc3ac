// SIMD lanes: the same value of several frames.
//
// Uses the compiler's vector type if it has one. Every x86-64, 64-bit ARM and WebAssembly has two doubles.
// Each lane computes like a plain double, so results do not depend on SIMD.
#pragma once
#include <cmath>
#include <cstddef>

#include "math/quaternion.h"
#include "math/vectors.h"

namespace mocpack
{

constexpr size_t lane_count = 2;

#if MOCPACK_VECTOR_TYPES
typedef double Lanes __attribute__((vector_size(8 * lane_count)));

inline Lanes larger(Lanes a, Lanes b)
{
	return a > b ? a : b;
}
#else
using Lanes = PlainVector<double, lane_count>;
#endif

using LaneVec = Vec3Of<Lanes>;
using LaneQuat = QuatOf<Lanes>;

// Copies a value to all lanes.
inline Lanes spread(double value)
{
	return Lanes{} + value;
}

inline LaneVec spread(Vec3 v)
{
	return {spread(v.x), spread(v.y), spread(v.z)};
}

// The same for templates over the number type, which may also be double.
template <typename N> Vec3Of<N> all_lanes(Vec3 v)
{
	return {N{} + v.x, N{} + v.y, N{} + v.z};
}
template <typename N> QuatOf<N> all_lanes(Quat q)
{
	return {N{} + q.x, N{} + q.y, N{} + q.z, N{} + q.w};
}

// Loads one number from each of several arrays.
inline Lanes gather(const double* const from[lane_count], size_t at)
{
	Lanes lanes;
	for (size_t l = 0; l < lane_count; ++l)
		lanes[l] = from[l][at];
	return lanes;
}

inline LaneVec gather_vec(const double* const from[lane_count], size_t at)
{
	return {gather(from, at), gather(from, at + 1), gather(from, at + 2)};
}

inline LaneQuat gather_quat(const double* const from[lane_count], size_t at)
{
	return {gather(from, at), gather(from, at + 1), gather(from, at + 2), gather(from, at + 3)};
}

// Loads element t and those that follow; past the end, the last one is repeated.
inline LaneVec load_lanes(const Vec3* from, size_t t, size_t count)
{
	const double* at[lane_count];
	for (size_t l = 0; l < lane_count; ++l)
		at[l] = &from[t + l < count ? t + l : count - 1].x;
	return gather_vec(at, 0);
}

inline LaneQuat load_lanes(const Quat* from, size_t t, size_t count)
{
	const double* at[lane_count];
	for (size_t l = 0; l < lane_count; ++l)
		at[l] = &from[t + l < count ? t + l : count - 1].x;
	return gather_quat(at, 0);
}

inline Lanes square_root(Lanes a)
{
	Lanes root;
	for (size_t l = 0; l < lane_count; ++l)
		root[l] = std::sqrt(a[l]);
	return root;
}

} // namespace mocpack
