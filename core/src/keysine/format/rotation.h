// Rotation matrices, and roots of small symmetric matrices.
#pragma once
#include "math/rotation_vector.h"

namespace mocpack
{
namespace keysine
{

// Writes the rotation matrix of q, by rows.
inline void matrix_of(Quat q, double* m)
{
	m[0] = 1 - 2 * (q.y * q.y + q.z * q.z), m[1] = 2 * (q.x * q.y - q.z * q.w),
	m[2] = 2 * (q.x * q.z + q.y * q.w);
	m[3] = 2 * (q.x * q.y + q.z * q.w), m[4] = 1 - 2 * (q.x * q.x + q.z * q.z),
	m[5] = 2 * (q.y * q.z - q.x * q.w);
	m[6] = 2 * (q.x * q.z - q.y * q.w), m[7] = 2 * (q.y * q.z + q.x * q.w),
	m[8] = 1 - 2 * (q.x * q.x + q.y * q.y);
}

// Diagonalizes a symmetric 3×3 matrix by Jacobi rotations: `a` becomes diagonal, the columns of `v` are the
// eigenvectors.
inline void diagonalize(double* a, double* v)
{
	const double negligible = 1e-16; // share of the diagonal, below its rounding error
	for (int i = 0; i < 9; ++i)
		v[i] = i % 4 ? 0 : 1;
	bool rotated = true;
	for (int sweep = 0; sweep < 12 && rotated; ++sweep)
	{
		rotated = false;
		for (int p = 0; p < 2; ++p)
			for (int q = p + 1; q < 3; ++q)
			{
				double apq = a[3 * p + q];
				if (apq == 0 || std::fabs(apq) <= negligible * (a[4 * p] + a[4 * q]))
					continue;
				rotated = true;
				double theta = 0.5 * (a[4 * q] - a[4 * p]) / apq;
				double t = (theta < 0 ? -1.0 : 1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
				double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
				for (int k = 0; k < 3; ++k) // columns, then rows
				{
					double x = a[3 * k + p], y = a[3 * k + q];
					a[3 * k + p] = c * x - s * y, a[3 * k + q] = s * x + c * y;
				}
				for (int k = 0; k < 3; ++k)
				{
					double x = a[3 * p + k], y = a[3 * q + k];
					a[3 * p + k] = c * x - s * y, a[3 * q + k] = s * x + c * y;
				}
				for (int k = 0; k < 3; ++k)
				{
					double x = v[3 * k + p], y = v[3 * k + q];
					v[3 * k + p] = c * x - s * y, v[3 * k + q] = s * x + c * y;
				}
			}
	}
}

// Computes the inverse square root of a symmetric positive matrix.
inline void inverse_square_root(const double* m, double* root)
{
	double a[9], v[9];
	for (int i = 0; i < 9; ++i)
		a[i] = m[i];
	diagonalize(a, v);
	const double roots[3] = {std::sqrt(a[0]), std::sqrt(a[4]), std::sqrt(a[8])};
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c <= r; ++c)
		{
			double sum = 0;
			for (int k = 0; k < 3; ++k)
				sum += v[3 * r + k] * v[3 * c + k] / roots[k];
			root[3 * r + c] = root[3 * c + r] = sum;
		}
}

} // namespace keysine
} // namespace mocpack
