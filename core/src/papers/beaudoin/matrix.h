// 3 x 3 matrices as plain structs.
#pragma once
#include "math/quaternion.h"

namespace mocpack
{

struct Mat3
{
	double m[3][3];
};

const Mat3 identity_matrix = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

// Returns the rotation of a nonzero quaternion of any length.
inline Mat3 matrix_of_any_length(Quat q)
{
	double s = 2.0 / (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	double xx = s * q.x * q.x, yy = s * q.y * q.y, zz = s * q.z * q.z;
	double xy = s * q.x * q.y, xz = s * q.x * q.z, yz = s * q.y * q.z;
	double xw = s * q.x * q.w, yw = s * q.y * q.w, zw = s * q.z * q.w;
	return {{{1 - (yy + zz), xy - zw, xz + yw},
			 {xy + zw, 1 - (xx + zz), yz - xw},
			 {xz - yw, yz + xw, 1 - (xx + yy)}}};
}

inline Mat3 multiply(const Mat3& a, const Mat3& b)
{
	Mat3 c;
	for (int i = 0; i < 3; ++i)
		for (int k = 0; k < 3; ++k)
			c.m[i][k] = a.m[i][0] * b.m[0][k] + a.m[i][1] * b.m[1][k] + a.m[i][2] * b.m[2][k];
	return c;
}

inline Mat3 transpose(const Mat3& a)
{
	return {{{a.m[0][0], a.m[1][0], a.m[2][0]},
			 {a.m[0][1], a.m[1][1], a.m[2][1]},
			 {a.m[0][2], a.m[1][2], a.m[2][2]}}};
}

inline Vec3 column(const Mat3& a, int k)
{
	return {a.m[0][k], a.m[1][k], a.m[2][k]};
}

inline Vec3 apply(const Mat3& a, Vec3 v)
{
	return {a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
			a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
			a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z};
}

inline double trace(const Mat3& a)
{
	return a.m[0][0] + a.m[1][1] + a.m[2][2];
}

// Returns the sum of the products of the entries.
inline double inner(const Mat3& a, const Mat3& b)
{
	double sum = 0;
	for (int i = 0; i < 3; ++i)
		for (int k = 0; k < 3; ++k)
			sum += a.m[i][k] * b.m[i][k];
	return sum;
}

// Rotates the frame `a` about its own axis (0, 1, 2), which mixes the two other columns.
inline void rotate_about(Mat3& a, int axis, double cosine, double sine)
{
	int p = (axis + 1) % 3, q = (axis + 2) % 3;
	for (int i = 0; i < 3; ++i)
	{
		double u = a.m[i][p], v = a.m[i][q];
		a.m[i][p] = cosine * u + sine * v;
		a.m[i][q] = cosine * v - sine * u;
	}
}

} // namespace mocpack
