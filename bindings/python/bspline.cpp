// Bindings of B-splines; candidates are evaluated on several threads.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <vector>

#include "papers/mukai/bspline.h"
#include "parallel.h"

namespace
{

using Knots = Array<double, nb::ndim<1>>;
using Times = Array<double, nb::ndim<1>>;
using Points = Array<double, nb::ndim<2>>;

// The kernels require sorted, clamped knots, so they are checked here.
size_t check_knots(const double* knots, size_t size, size_t degree)
{
	if (degree < 1 || degree > 5 || size < 2 * (degree + 1))
		throw nb::value_error("degree must be 1 to 5, with at least degree + 1 control points");
	for (size_t k = 1; k < size; ++k)
		if (!(knots[k] >= knots[k - 1]))
			throw nb::value_error("knots must not decrease");
	return size - degree - 1;
}

std::tuple<NewArray<int32_t, 1>, NewArray<double, 2>> bspline_basis(Knots knots, size_t degree, Times times)
{
	size_t controls = check_knots(knots.data(), knots.size(), degree);
	auto first = new_array<int32_t, 1>({times.size()});
	auto values = new_array<double, 2>({times.size(), degree + 1});
	mocpack_bspline_basis(knots.data(), controls, degree, times.data(), times.size(), first.data(),
						  values.data());
	return {first, values};
}

NewArray<double, 2> bspline_evaluate(Knots knots, size_t degree, Times times, Points controls)
{
	size_t count = check_knots(knots.data(), knots.size(), degree), columns = controls.shape(1);
	if (controls.shape(0) != count)
		throw nb::value_error("the number of control points must be len(knots) - degree - 1");
	auto out = new_array<double, 2>({times.size(), columns});
	{
		nb::gil_scoped_release release;
		std::unique_ptr<int32_t[]> first(new int32_t[times.size() + 1]);
		std::unique_ptr<double[]> values(new double[times.size() * (degree + 1) + 1]);
		mocpack_bspline_basis(knots.data(), count, degree, times.data(), times.size(), first.get(),
							  values.get());
		mocpack_bspline_evaluate(first.get(), values.get(), times.size(), degree, controls.data(), columns,
								 out.data());
	}
	return out;
}

std::tuple<NewArray<double, 2>, double> bspline_fit(Knots knots, size_t degree, Times times, Points points)
{
	size_t count = check_knots(knots.data(), knots.size(), degree), columns = points.shape(1);
	if (points.shape(0) != times.size())
		throw nb::value_error("times and points must have the same length");
	auto fitted = new_array<double, 2>({count, columns});
	double squares = 0;
	{
		nb::gil_scoped_release release;
		size_t size = mocpack_bspline_scratch_size(times.size(), count, columns, degree);
		std::unique_ptr<char[]> scratch(new char[size]);
		mocpack_bspline_fit(knots.data(), count, degree, times.data(), times.size(), points.data(), columns,
							fitted.data(), scratch.get());
		// measure the error directly, since rounding would dominate for exact fits
		std::unique_ptr<double[]> row(new double[columns + 1]);
		double values[6];
		int32_t first;
		for (size_t n = 0; n < times.size(); ++n)
		{
			mocpack_bspline_basis(knots.data(), count, degree, times.data() + n, 1, &first, values);
			mocpack_bspline_evaluate(&first, values, 1, degree, fitted.data(), columns, row.get());
			for (size_t c = 0; c < columns; ++c)
			{
				double d = points.data()[n * columns + c] - row[c];
				squares += d * d;
			}
		}
	}
	return {fitted, squares};
}

// Returns the sum of squared distances for each row of knots (S, K + D + 1).
NewArray<double, 1> bspline_errors(Points candidates, size_t degree, Times times, Points points,
								   size_t threads)
{
	size_t rows = candidates.shape(0), size = candidates.shape(1), columns = points.shape(1);
	for (size_t s = 0; s < rows; ++s)
		check_knots(candidates.data() + s * size, size, degree);
	if (points.shape(0) != times.size())
		throw nb::value_error("times and points must have the same length");
	size_t count = size - degree - 1;
	auto errors = new_array<double, 1>({rows});
	{
		nb::gil_scoped_release release;
		double energy = 0;
		for (size_t k = 0; k < times.size() * columns; ++k)
			energy += points.data()[k] * points.data()[k];
		in_threads(rows, threads,
				   [&](auto take)
				   {
					   std::unique_ptr<char[]> scratch(
						   new char[mocpack_bspline_scratch_size(times.size(), count, columns, degree)]);
					   std::unique_ptr<double[]> fitted(new double[count * columns + 1]);
					   for (size_t s = take(); s < rows; s = take())
					   {
						   double explained = mocpack_bspline_fit(candidates.data() + s * size, count, degree,
																  times.data(), times.size(), points.data(),
																  columns, fitted.get(), scratch.get());
						   errors.data()[s] = energy > explained ? energy - explained : 0;
					   }
				   });
	}
	return errors;
}

NewArray<double, 1> bspline_gradient(Knots knots, size_t degree, Times times, Points points, Points fitted)
{
	size_t count = check_knots(knots.data(), knots.size(), degree), columns = points.shape(1);
	if (points.shape(0) != times.size() || fitted.shape(0) != count || fitted.shape(1) != columns)
		throw nb::value_error("shapes of times, points and control points do not match");
	auto gradient = new_array<double, 1>({count - degree - 1});
	{
		nb::gil_scoped_release release;
		double doubled[2 * 5 + 3];
		mocpack_bspline_gradient(knots.data(), count, degree, times.data(), times.size(), points.data(),
								 columns, fitted.data(), gradient.data(), doubled);
	}
	return gradient;
}

} // namespace

void register_bspline(nb::module_& m)
{
	m.def("bspline_basis", &bspline_basis, "knots"_a, "degree"_a, "times"_a);
	m.def("bspline_evaluate", &bspline_evaluate, "knots"_a, "degree"_a, "times"_a, "controls"_a);
	m.def("bspline_fit", &bspline_fit, "knots"_a, "degree"_a, "times"_a, "points"_a);
	m.def("bspline_errors", &bspline_errors, "candidates"_a, "degree"_a, "times"_a, "points"_a, "threads"_a);
	m.def("bspline_gradient", &bspline_gradient, "knots"_a, "degree"_a, "times"_a, "points"_a, "fitted"_a);
}
