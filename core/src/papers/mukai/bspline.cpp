// Clamped B-splines: basis functions, least-squares control points, and the gradient of the error by knots.
#include <cmath>
#include <cstring>

#include "papers/mukai/bspline.h"

namespace
{

const int MAX_DEGREE = 5;

// The span k with knots[k] <= t < knots[k + 1]; the last span that is not empty is closed at its end.
int find_span(const double* knots, int controls, int degree, double t)
{
	int low = degree, high = controls;
	if (t >= knots[controls])
	{
		int span = controls - 1;
		while (span > degree && knots[span] >= knots[controls])
			--span;
		return span;
	}
	while (high - low > 1)
	{
		int middle = (low + high) / 2;
		if (t < knots[middle])
			high = middle;
		else
			low = middle;
	}
	return low;
}

// The degree + 1 basis functions that are not zero at t, equations (2) and (3), by the triangular scheme;
// 0/0 counts as 0.
void basis_at(const double* knots, int span, int degree, double t, double* values)
{
	double left[MAX_DEGREE + 1], right[MAX_DEGREE + 1];
	values[0] = 1.0;
	for (int j = 1; j <= degree; ++j)
	{
		left[j] = t - knots[span + 1 - j];
		right[j] = knots[span + j] - t;
		double saved = 0.0;
		for (int r = 0; r < j; ++r)
		{
			double width = right[r + 1] + left[j - r];
			double part = width > 0 ? values[r] / width : 0.0;
			values[r] = saved + right[r + 1] * part;
			saved = left[j - r] * part;
		}
		values[j] = saved;
	}
}

// Solve the banded system in place by Cholesky; band (K, D + 1) holds the diagonal first.
void solve_banded(double* band, double* rhs, int controls, int degree, int columns)
{
	const int width = degree + 1;
	for (int k = 0; k < controls; ++k)
	{
		double* row = band + size_t(k) * width;
		double pivot = std::sqrt(row[0]);
		for (int i = 0; i < width; ++i)
			row[i] /= pivot;
		for (int i = 1; i <= degree && k + i < controls; ++i)
			for (int j = i; j <= degree && k + j < controls; ++j)
				band[size_t(k + i) * width + (j - i)] -= row[i] * row[j];
	}
	for (int k = 0; k < controls; ++k)
	{
		const double* row = band + size_t(k) * width;
		double* r = rhs + size_t(k) * columns;
		for (int c = 0; c < columns; ++c)
			r[c] /= row[0];
		for (int i = 1; i <= degree && k + i < controls; ++i)
			for (int c = 0; c < columns; ++c)
				rhs[size_t(k + i) * columns + c] -= row[i] * r[c];
	}
	for (int k = controls - 1; k >= 0; --k)
	{
		const double* row = band + size_t(k) * width;
		double* r = rhs + size_t(k) * columns;
		for (int i = 1; i <= degree && k + i < controls; ++i)
			for (int c = 0; c < columns; ++c)
				r[c] -= row[i] * rhs[size_t(k + i) * columns + c];
		for (int c = 0; c < columns; ++c)
			r[c] /= row[0];
	}
}

} // namespace

size_t mocpack_bspline_scratch_size(size_t samples, size_t controls, size_t columns, size_t degree)
{
	return sizeof(double) * (controls * (degree + 1) + samples * (degree + 1) + controls * columns) +
		   sizeof(int32_t) * (samples + 1);
}

void mocpack_bspline_basis(const double* knots, size_t controls, size_t degree, const double* times,
						   size_t samples, int32_t* first, double* values)
{
	for (size_t n = 0; n < samples; ++n)
	{
		int span = find_span(knots, int(controls), int(degree), times[n]);
		first[n] = span - int(degree);
		basis_at(knots, span, int(degree), times[n], values + n * (degree + 1));
	}
}

void mocpack_bspline_evaluate(const int32_t* first, const double* values, size_t samples, size_t degree,
							  const double* controls, size_t columns, double* out)
{
	for (size_t n = 0; n < samples; ++n)
	{
		double* o = out + n * columns;
		std::memset(o, 0, sizeof(double) * columns);
		for (size_t i = 0; i <= degree; ++i)
		{
			double b = values[n * (degree + 1) + i];
			const double* c = controls + (size_t(first[n]) + i) * columns;
			for (size_t j = 0; j < columns; ++j)
				o[j] += b * c[j];
		}
	}
}

double mocpack_bspline_fit(const double* knots, size_t controls, size_t degree, const double* times,
						   size_t samples, const double* points, size_t columns, double* fitted,
						   void* scratch)
{
	const size_t width = degree + 1;
	double* band = static_cast<double*>(scratch);
	double* right = band + controls * width;
	double* values = right + controls * columns;
	int32_t* first = reinterpret_cast<int32_t*>(values + samples * width);
	mocpack_bspline_basis(knots, controls, degree, times, samples, first, values);
	std::memset(band, 0, sizeof(double) * controls * width);
	std::memset(right, 0, sizeof(double) * controls * columns);
	for (size_t n = 0; n < samples; ++n)
	{
		const double* b = values + n * width;
		const double* x = points + n * columns;
		for (size_t i = 0; i < width; ++i)
		{
			double* r = right + (size_t(first[n]) + i) * columns;
			for (size_t j = i; j < width; ++j)
				band[(size_t(first[n]) + i) * width + (j - i)] += b[i] * b[j];
			for (size_t c = 0; c < columns; ++c)
				r[c] += b[i] * x[c];
		}
	}
	double largest = 0;
	for (size_t k = 0; k < controls; ++k)
		largest = band[k * width] > largest ? band[k * width] : largest;
	// a ridge term sets control points without samples to zero
	for (size_t k = 0; k < controls; ++k)
		band[k * width] += 1e-10 * largest + 1e-300;
	std::memcpy(fitted, right, sizeof(double) * controls * columns);
	solve_banded(band, fitted, int(controls), int(degree), int(columns));
	// the residual is orthogonal to the spline, so subtract the spline's energy from the points'
	double explained = 0;
	for (size_t k = 0; k < controls * columns; ++k)
		explained += fitted[k] * right[k];
	return explained;
}

void mocpack_bspline_gradient(const double* knots, size_t controls, size_t degree, const double* times,
							  size_t samples, const double* points, size_t columns, const double* fitted,
							  double* gradient, double* doubled)
{
	// the control points are optimal for these knots, so the error's derivative by a knot is the partial one.
	// That of the curve (Piegl and Tiller 1998) is a spline itself, on the knots with this one twice:
	// sum of N_i(t) * (P_{i-1} - P_i) / (t_{i+D} - t_i)
	const int p = int(degree), last = int(controls);
	for (int k = p + 1; k < last; ++k)
		gradient[k - p - 1] = 0;
	for (size_t n = 0; n < samples; ++n)
	{
		const double* x = points + n * columns;
		double b[MAX_DEGREE + 1], along[MAX_DEGREE + 2] = {0};
		const int span = find_span(knots, last, p, times[n]), first = span - p;
		basis_at(knots, span, p, times[n], b);
		const double* near = fitted + size_t(first) * columns;
		for (size_t c = 0; c < columns; ++c)
		{
			double left = x[c];
			for (int i = 0; i <= p; ++i)
				left -= b[i] * near[i * columns + c];
			for (int i = 1; i <= p; ++i)
				along[i] += left * (near[(i - 1) * columns + c] - near[i * columns + c]);
			if (first > 0)
				along[0] += left * (fitted[size_t(first - 1) * columns + c] - near[c]);
			if (span + 1 < last)
				along[p + 1] += left * (near[p * columns + c] - fitted[size_t(span + 1) * columns + c]);
		}
		for (int i = 0; i <= p + 1; ++i)
		{
			double width = knots[first + i + p] - knots[first + i];
			along[i] = width > 0 ? along[i] / width : 0.0;
		}
		for (int k = span - p + 1 > p + 1 ? span - p + 1 : p + 1; k <= span + p && k < last; ++k)
		{
			// only knots near the span are used, so only these are repeated
			for (int i = 0; i <= 2 * p + 2; ++i)
				doubled[i] = knots[first + i <= k ? first + i : first + i - 1];
			const int inside = k <= span ? p + 1 : p;
			double twice[MAX_DEGREE + 1], slope = 0;
			basis_at(doubled, inside, p, times[n], twice);
			for (int i = 0; i <= p; ++i)
			{
				const int function = first + inside - p + i;
				if (function >= k - p && function <= k)
					slope += twice[i] * along[inside - p + i];
			}
			gradient[k - p - 1] -= 2 * slope;
		}
	}
}
