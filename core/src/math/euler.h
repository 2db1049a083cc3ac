// Rotations about coordinate axes, for Euler angles.
#pragma once
#include <cmath>

#include "math/elementary.h"
#include "math/quaternion.h"

namespace mocpack
{

// Rotates q by `angle` about its own x, y or z axis.
inline Quat rotate_about(Quat q, int axis, double angle)
{
	double s = math::sin(0.5 * angle), c = math::cos(0.5 * angle);
	switch (axis)
	{
	case 0:
		return {q.x * c + q.w * s, q.y * c + q.z * s, q.z * c - q.y * s, q.w * c - q.x * s};
	case 1:
		return {q.x * c - q.z * s, q.y * c + q.w * s, q.z * c + q.x * s, q.w * c - q.y * s};
	default:
		return {q.x * c + q.y * s, q.y * c - q.x * s, q.z * c + q.w * s, q.w * c - q.z * s};
	}
}

} // namespace mocpack
