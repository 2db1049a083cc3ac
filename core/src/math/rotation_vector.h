// Rotation vectors: axis times angle.
#pragma once
#include <cmath>

#include "math/elementary.h"
#include "math/quaternion.h"

namespace mocpack
{

// Returns the rotation by |v| radians about v.
inline Quat exponential(Vec3 v)
{
	double angle = std::sqrt(dot(v, v)), half = 0.5 * angle;
	double scale = angle < 1e-4 ? 0.5 - angle * angle / 48.0 : math::sin(half) / angle;
	return {scale * v.x, scale * v.y, scale * v.z, math::cos(half)};
}

// Returns the rotation vector of q, with an angle of at most π.
inline Vec3 logarithm(Quat q)
{
	if (q.w < 0)
		q = {-q.x, -q.y, -q.z, -q.w};
	Vec3 v = {q.x, q.y, q.z};
	double sine = std::sqrt(dot(v, v));
	double scale = sine < 1e-9 ? 2.0 : 2.0 * math::atan2(sine, q.w) / sine;
	return scale * v;
}

} // namespace mocpack
