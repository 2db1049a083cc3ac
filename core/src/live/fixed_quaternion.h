// Fixed-point quaternions in units of 2^-30, so that every machine computes the same bits.
#pragma once
#include <cmath>
#include <cstdint>

#include "live/model.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace live
{

struct FixedQuat
{
	int64_t x, y, z, w;
};

inline int64_t scale_product(int64_t product)
{
	return (product + (ONE >> 1)) >> 30;
}

// Returns the integer square root, rounded down; corrects the rounding of the machine's sqrt.
inline int64_t integer_sqrt(int64_t value)
{
	if (value <= 0)
		return 0;
	int64_t root = int64_t(std::sqrt(double(value)));
	while (root * root > value)
		--root;
	while ((root + 1) * (root + 1) <= value)
		++root;
	return root;
}

inline FixedQuat conjugate(FixedQuat q)
{
	return {-q.x, -q.y, -q.z, q.w};
}

inline FixedQuat multiply(FixedQuat a, FixedQuat b)
{
	return {scale_product(a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y),
			scale_product(a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x),
			scale_product(a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w),
			scale_product(a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z)};
}

// Normalizes a quaternion of nearly unit length by one Newton step.
inline FixedQuat normalize(FixedQuat q)
{
	int64_t square = scale_product(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	int64_t factor = (3 * ONE - square) >> 1;
	return {scale_product(q.x * factor), scale_product(q.y * factor), scale_product(q.z * factor),
			scale_product(q.w * factor)};
}

// Returns the unit quaternion with this vector part and w >= 0; shortens a vector longer than 1.
inline FixedQuat from_vector_part(int64_t x, int64_t y, int64_t z)
{
	int64_t square = x * x + y * y + z * z, most = ONE * ONE;
	if (square > most)
	{
		int64_t size = integer_sqrt(square) + 1;
		x = x * ONE / size, y = y * ONE / size, z = z * ONE / size;
		square = x * x + y * y + z * z;
	}
	return {x, y, z, integer_sqrt(most - square)};
}

inline Quat to_quat(FixedQuat q)
{
	double s = 1.0 / double(ONE);
	double x = double(q.x) * s, y = double(q.y) * s, z = double(q.z) * s, w = double(q.w) * s;
	double n = 1 / std::sqrt(x * x + y * y + z * z + w * w);
	return {x * n, y * n, z * n, w * n};
}

} // namespace live
} // namespace mocpack
