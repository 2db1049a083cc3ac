// The paper's angles of a bone: φ from the z axis, ϕ about it (Li, Okuda, Takahashi 2008, equation (5)).
#pragma once
#include <cmath>

#include "math/quaternion.h"
#include "math/turns.h"

namespace mocpack
{

// Returns the angle that differs by full turns and is nearest to another.
inline double nearest_turn(double angle, double near)
{
	return angle + 2 * PI * std::floor((near - angle) / (2 * PI) + 0.5);
}

// Returns the unit vector of angles (φ, ϕ, unused): equation (5).
inline Vec3 spherical_direction(Vec3 angles)
{
	double sine = std::sin(angles.x);
	return {sine * std::cos(angles.y), sine * std::sin(angles.y), std::cos(angles.x)};
}

// Returns the angles of a unit vector, φ in 0 to π and ϕ nearest to `azimuth`; at the pole it is `azimuth`.
inline Vec3 spherical_angles(Vec3 direction, double azimuth)
{
	double across = std::sqrt(direction.x * direction.x + direction.y * direction.y);
	double around = across > 1e-12 ? std::atan2(direction.y, direction.x) : azimuth;
	return {std::atan2(across, direction.z), nearest_turn(around, azimuth), 0};
}

// The change of a bone's end by its two angles: two columns of the Jacobian, equations (19) and (20).
struct JacobianColumns
{
	Vec3 polar, azimuth;

	JacobianColumns(double length, Vec3 angles)
	{
		double sine = length * std::sin(angles.x), cosine = length * std::cos(angles.x);
		double x = std::cos(angles.y), y = std::sin(angles.y);
		polar = {cosine * x, cosine * y, -sine};
		azimuth = {-sine * y, sine * x, 0};
	}
};

} // namespace mocpack
