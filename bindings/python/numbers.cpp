// Python bindings of the number parser and printer.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <vector>

#include "text/numbers.h"

namespace
{

// Returns (numbers read, offset where reading stopped).
std::tuple<size_t, size_t> parse_numbers(nb::bytes text, size_t start,
										 MutableArray<double, nb::ndim<1>> values)
{
	if (start > text.size())
		throw nb::value_error("start must not exceed the length of the text");
	size_t end = 0, count;
	const char* data = text.c_str() + start;
	size_t size = text.size() - start;
	{
		nb::gil_scoped_release release;
		count = mocpack_parse_numbers(data, size, values.data(), values.size(), &end);
	}
	return {count, start + end};
}

// Returns the rows of a matrix as lines of text; `decimals` as in mocpack_print_numbers.
nb::bytes print_numbers(Array<double, nb::ndim<2>> matrix, Array<int32_t, nb::ndim<1>> decimals)
{
	size_t rows = matrix.shape(0), columns = matrix.shape(1);
	if (decimals.shape(0) != columns)
		throw nb::value_error("decimals must have as many entries as the matrix has columns");
	std::string text;
	{
		nb::gil_scoped_release release;
		std::vector<char> line(columns * MOCPACK_MAX_PRINTED_BYTES + 1);
		for (size_t row = 0; row < rows; ++row)
		{
			size_t size = mocpack_print_numbers(matrix.data() + row * columns, decimals.data(), columns,
												line.data(), line.size());
			line[size] = '\n';
			text.append(line.data(), size + 1);
		}
	}
	return nb::bytes(text.data(), text.size());
}

} // namespace

void register_numbers(nb::module_& m)
{
	m.def("parse_numbers", &parse_numbers, "text"_a, "start"_a, "values"_a);
	m.def("print_numbers", &print_numbers, "matrix"_a, "decimals"_a);
}
