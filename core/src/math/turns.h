// Directions and shortest rotations, and rounding to a fine grid for closed prediction loops.
#pragma once
#include <cmath>

#include "math/elementary.h"
#include "math/quaternion.h"

namespace mocpack
{

const double GRID = 67108864.0; // steps per meter: 2^26, 15 nanometers each
const double PI = 3.14159265358979323846;
const double NEAR = 1e-9; // meters: shorter bones have no direction

// Rounds decoded values to a fine grid, so that differences in the last bit between machines do not grow from
// frame to frame.
inline double snap(double value, double grid)
{
	return std::floor(value * grid + 0.5) / grid;
}

inline Vec3 snap(Vec3 v)
{
	return {snap(v.x, GRID), snap(v.y, GRID), snap(v.z, GRID)};
}

inline Quat unit(Quat q)
{
	double n = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return n > 0 ? Quat{q.x / n, q.y / n, q.z / n, q.w / n} : Quat{0, 0, 0, 1};
}

inline Quat snap(Quat q)
{
	const double grid = 1073741824.0; // 2^30
	return {snap(q.x, grid), snap(q.y, grid), snap(q.z, grid), snap(q.w, grid)};
}

inline double length(Vec3 v)
{
	return std::sqrt(dot(v, v));
}

inline Vec3 normalize_or(Vec3 v, Vec3 otherwise)
{
	double n = length(v);
	return n > NEAR ? (1 / n) * v : otherwise;
}

// Returns a unit vector perpendicular to the unit vector v, the same on every machine.
inline Vec3 perpendicular(Vec3 v)
{
	double x = std::fabs(v.x), y = std::fabs(v.y), z = std::fabs(v.z);
	Vec3 axis = x <= y && x <= z ? Vec3{1, 0, 0} : y <= z ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
	Vec3 side = cross(v, axis);
	return (1 / length(side)) * side;
}

// Returns the smallest rotation from unit vector a to b.
inline Quat shortest_rotation(Vec3 a, Vec3 b)
{
	double whole = 1 + dot(a, b);
	if (whole < 1e-12)
	{
		Vec3 side = perpendicular(a);
		return {side.x, side.y, side.z, 0};
	}
	Vec3 axis = cross(a, b);
	return unit({axis.x, axis.y, axis.z, whole});
}

// atan2 for non-negative sines, faster for small angles.
inline double angle_of(double sine, double cosine)
{
	if (cosine <= 0 || sine > 0.02)
		return math::atan2(sine, cosine);
	double t = sine / cosine, tt = t * t;
	return t * (1 - tt * (1.0 / 3 - tt * (1.0 / 5 - tt * (1.0 / 7 - tt / 9))));
}

// Returns the component of v perpendicular to the unit vector u.
inline Vec3 tangent(Vec3 u, Vec3 v)
{
	return v - dot(u, v) * u;
}

// Returns (A + damping I)⁻¹ v for a symmetric matrix, by its adjugate.
inline Vec3 solve(const double a[6], double damping, Vec3 v)
{
	double xx = a[0] + damping, yy = a[1] + damping, zz = a[2] + damping, xy = a[3], xz = a[4], yz = a[5];
	double cxx = yy * zz - yz * yz, cxy = xz * yz - xy * zz, cxz = xy * yz - xz * yy;
	double cyy = xx * zz - xz * xz, cyz = xy * xz - xx * yz, czz = xx * yy - xy * xy;
	double determinant = xx * cxx + xy * cxy + xz * cxz;
	if (!(determinant > 1e-30))
		return {0, 0, 0};
	double r = 1 / determinant;
	return {r * (cxx * v.x + cxy * v.y + cxz * v.z), r * (cxy * v.x + cyy * v.y + cyz * v.z),
			r * (cxz * v.x + cyz * v.y + czz * v.z)};
}

} // namespace mocpack
