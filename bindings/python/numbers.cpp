// Numbers in text.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "mocpack/core.h"

namespace
{

// Returns (numbers read, offset where reading stopped).
std::tuple<size_t, size_t> parse_numbers(nb::bytes text, size_t start,
										 MutableArray<double, nb::ndim<1>> values)
{
	if (start > text.size())
		throw nb::value_error("start lies past the end of the text");
	size_t end = 0, count;
	const char* data = text.c_str() + start;
	size_t size = text.size() - start;
	{
		nb::gil_scoped_release release;
		count = mocpack_parse_numbers(data, size, values.data(), values.size(), &end);
	}
	return {count, start + end};
}

} // namespace

void register_numbers(nb::module_& m)
{
	m.def("parse_numbers", &parse_numbers, "text"_a, "start"_a, "values"_a);
}
