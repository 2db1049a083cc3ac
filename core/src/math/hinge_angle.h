// Hinge angles and slider positions of one joint in one pose.
#pragma once
#include <cmath>
#include <cstddef>

#include "math/elementary.h"
#include "math/quaternion.h"

namespace mocpack
{

// Returns the angle of the rotation about `axis` that is closest to q.
inline double twist(Quat q, Vec3 axis)
{
	return 2 * math::atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w);
}

// Computes the angles about one or two axes of a rotation relative to rest.
inline void solve_hinge_angles(Quat turn, Vec3 first, const double* second_axis, double* outer, double* inner)
{
	if (!second_axis)
	{
		*outer = twist(turn, first);
		return;
	}
	const Vec3 second = load_vec(second_axis), there = rotate(turn, second),
			   flat = second - dot(second, first) * first;
	*outer = math::atan2(dot(cross(flat, there), first), dot(there, flat));
	const double sine = math::sin(-0.5 * *outer);
	const Quat back = {sine * first.x, sine * first.y, sine * first.z, math::cos(0.5 * *outer)};
	*inner = twist(multiply(back, turn), second);
}

// Computes positions along up to three axes (n, 3) that best match a displacement: least squares by
// elimination.
inline void solve_slider_positions(const double* axes, size_t count, Vec3 displacement, double* ways)
{
	const size_t n = count < 3 ? count : 3; // tells compilers the maximum
	double m[3][3] = {}, rest[3] = {};
	for (size_t i = 0; i < n; ++i)
	{
		const Vec3 axis = load_vec(axes + 3 * i);
		for (size_t k = 0; k < n; ++k)
			m[i][k] = dot(axis, load_vec(axes + 3 * k));
		rest[i] = dot(axis, displacement);
	}
	for (size_t i = 0; i < n; ++i)
		for (size_t r = i + 1; r < n; ++r)
		{
			const double share = m[r][i] / m[i][i];
			for (size_t k = i; k < n; ++k)
				m[r][k] -= share * m[i][k];
			rest[r] -= share * rest[i];
		}
	for (size_t i = n; i-- > 0;)
	{
		for (size_t k = i + 1; k < n; ++k)
			rest[i] -= m[i][k] * ways[k];
		ways[i] = rest[i] / m[i][i];
	}
}

// Adds full turns to an angle: to be closest to the middle of narrow limits, else to the previous frame
// (`before`, null for the first).
inline double unwrap_hinge_angle(double angle, double lowest, double highest, const double* before)
{
	const double turn = 6.28318530717958647692; // radians
	const bool narrow = highest - lowest < turn;
	const double near = narrow ? 0.5 * lowest + 0.5 * highest : before ? *before : 0;
	return angle - turn * std::nearbyint((angle - near) / turn);
}

} // namespace mocpack
