// Bindings of the plain series coder.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <vector>

#include "entropy/plain_series.h"

namespace
{

std::unique_ptr<double[]> scratch_for(size_t columns)
{
	return std::unique_ptr<double[]>(new double[mocpack_plain_series_scratch_size(columns) / 8 + 1]);
}

using Floors = Array<int32_t, nb::ndim<1>>;

void check_order(int order, const Floors& floors, size_t columns)
{
	if (order < 0 || order > 3)
		throw nb::value_error("order must be 0, 1, 2 or 3");
	if (order == 3 && floors.shape(0) != columns)
		throw nb::value_error("order 3 needs one floor per column");
}

// Returns (depths of the columns, coded bytes).
std::tuple<nb::bytes, nb::bytes> plain_series_encode(Array<int32_t, nb::ndim<2>> values, int order,
													 Floors floors)
{
	size_t rows = values.shape(0), columns = values.shape(1), size;
	check_order(order, floors, columns);
	std::vector<uint8_t> depths(columns + 1), buffer(mocpack_plain_series_bound(rows, columns));
	auto scratch = scratch_for(columns);
	{
		nb::gil_scoped_release release;
		mocpack_plain_series_depths(depths.data(), values.data(), rows, columns, order, floors.data());
		size = mocpack_plain_series_encode(buffer.data(), buffer.size(), values.data(), rows, columns, order,
										   floors.data(), depths.data(), scratch.get());
	}
	return {nb::bytes(depths.data(), columns), nb::bytes(buffer.data(), size)};
}

NewArray<int32_t, 2> plain_series_decode(nb::bytes data, size_t rows, nb::bytes depths, int order,
										 Floors floors)
{
	size_t columns = depths.size();
	check_order(order, floors, columns);
	const uint8_t* told = static_cast<const uint8_t*>(depths.data());
	for (size_t c = 0; c < columns; ++c)
		if (told[c] > 33)
			throw nb::value_error("depths must be at most 33");
	auto values = new_array<int32_t, 2>({rows, columns});
	auto scratch = scratch_for(columns);
	const uint8_t* src = static_cast<const uint8_t*>(data.data());
	size_t size = data.size();
	mocpack_Status status;
	{
		nb::gil_scoped_release release;
		status = mocpack_plain_series_decode(values.data(), rows, columns, order, floors.data(), told,
											 scratch.get(), src, size);
	}
	check_status(status, "a coded series");
	return values;
}

} // namespace

void register_plain_series(nb::module_& m)
{
	m.def("plain_series_encode", &plain_series_encode, "values"_a, "order"_a, "floors"_a);
	m.def("plain_series_decode", &plain_series_decode, "data"_a, "rows"_a, "depths"_a, "order"_a, "floors"_a);
}
