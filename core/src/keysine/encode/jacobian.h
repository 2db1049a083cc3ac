// The derivative of rotations with respect to their rotation vectors, for double or for lanes of frames.
#pragma once
#include <cmath>

#include "math/elementary.h"
#include "math/lanes.h"

namespace mocpack
{
namespace keysine
{

// Computes (1 - cos x) / x² and (x - sin x) / x³ from x² below 1, accurate to 1e-9. Multiplies by
// reciprocals, since divisions are slow.
template <typename N> void sum_jacobian_series(N square, N* a, N* b)
{
	const N one = N{} + 1.0;
	*a = (N{} + 0.5) - square * (1 / 24.0) *
						   (one - square * (1 / 30.0) *
									  (one - square * (1 / 56.0) *
												 (one - square * (1 / 90.0) * (one - square * (1 / 132.0)))));
	*b = (N{} + 1 / 6.0) -
		 square * (1 / 120.0) *
			 (one - square * (1 / 42.0) * (one - square * (1 / 72.0) * (one - square * (1 / 110.0))));
}

inline void jacobian_factors(double square, double* a, double* b)
{
	if (square < 1.0)
		return sum_jacobian_series(square, a, b);
	double angle = std::sqrt(square);
	*a = (1 - math::cos(angle)) / square;
	*b = (angle - math::sin(angle)) / (square * angle);
}
inline void jacobian_factors(Lanes square, Lanes* a, Lanes* b)
{
	sum_jacobian_series(square, a, b);
	for (size_t l = 0; l < lane_count; ++l)
		if (!(square[l] < 1.0))
		{
			double own_a, own_b;
			jacobian_factors(square[l], &own_a, &own_b);
			(*a)[l] = own_a, (*b)[l] = own_b;
		}
}

// Writes the right Jacobian J of the exponential at v, by rows: exp(v + d) ≈ exp(v) exp(J d).
template <typename N> void right_jacobian(Vec3Of<N> v, N* j)
{
	const N zero = N{}, square = dot(v, v);
	N a, b;
	jacobian_factors(square, &a, &b);
	const N k[9] = {zero, -v.z, v.y, v.z, zero, -v.x, -v.y, v.x, zero}, vv[3] = {v.x, v.y, v.z};
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			j[3 * r + c] = (r == c ? zero + 1.0 - b * square : zero) - a * k[3 * r + c] + b * vv[r] * vv[c];
}

} // namespace keysine
} // namespace mocpack
