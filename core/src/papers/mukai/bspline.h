// Clamped B-splines.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* Clamped B-splines of degree 1 to 5 (bspline.cpp): knots (K + D + 1) in increasing order, K > D.
	 *
	 * basis: first (N) receives the first control point that matters at each time, values (N, D + 1) the
	 * weights. evaluate: out (N, columns) from such weights and control points (K, columns). fit: fitted (K,
	 * columns) receives the control points nearest to points (N, columns); returns how much of the points'
	 * sum of squares the spline explains. scratch holds mocpack_bspline_scratch_size bytes, aligned as malloc
	 *   aligns.
	 * gradient (K - D - 1) receives the derivative of the sum of squared distances by each inner knot, for
	 * fitted control points; doubled is scratch of 2 D + 3 doubles. */
	size_t mocpack_bspline_scratch_size(size_t samples, size_t controls, size_t columns, size_t degree);
	void mocpack_bspline_basis(const double* knots, size_t controls, size_t degree, const double* times,
							   size_t samples, int32_t* first, double* values);
	void mocpack_bspline_evaluate(const int32_t* first, const double* values, size_t samples, size_t degree,
								  const double* controls, size_t columns, double* out);
	double mocpack_bspline_fit(const double* knots, size_t controls, size_t degree, const double* times,
							   size_t samples, const double* points, size_t columns, double* fitted,
							   void* scratch);
	void mocpack_bspline_gradient(const double* knots, size_t controls, size_t degree, const double* times,
								  size_t samples, const double* points, size_t columns, const double* fitted,
								  double* gradient, double* doubled);

#ifdef __cplusplus
}
#endif
