// Python bindings of the Acclaim motion parser.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "text/amc.h"

namespace
{

using Numbers = Array<uint32_t, nb::ndim<1>>;

const char* begin_of(nb::bytes text, size_t start)
{
	if (start > text.size())
		throw nb::value_error("start must not exceed the length of the text");
	return text.c_str() + start;
}

size_t count_amc_frames(nb::bytes text, size_t start)
{
	const char* begin = begin_of(text, start);
	size_t size = text.size() - start;
	nb::gil_scoped_release release;
	return mocpack_count_amc_frames(begin, size);
}

mocpack_amc_bones bones_of(nb::bytes names, const Numbers& starts, const Numbers& by_name,
						   const Numbers& columns)
{
	size_t count = by_name.size();
	bool fits = starts.size() == count + 1 && columns.size() == count + 1;
	if (!fits || starts.data()[count] != names.size() || columns.data()[0] != 0 ||
		!std::is_sorted(starts.data(), starts.data() + count + 1) ||
		!std::is_sorted(columns.data(), columns.data() + count + 1) ||
		!std::all_of(by_name.data(), by_name.data() + count, [=](uint32_t bone) { return bone < count; }))
		throw nb::value_error("starts, by_name and columns must describe the same bones");
	return {names.c_str(), starts.data(), by_name.data(), columns.data(), uint32_t(count)};
}

// Returns (status of mocpack_parse_amc, frames read, offset of the wrong line).
std::tuple<int, size_t, size_t> parse_amc(nb::bytes text, size_t start, nb::bytes names, Numbers starts,
										  Numbers by_name, Numbers columns, bool complete,
										  MutableArray<double, nb::ndim<2>> values)
{
	const char* begin = begin_of(text, start);
	size_t size = text.size() - start, frames = 0, fault = 0;
	mocpack_amc_bones bones = bones_of(names, starts, by_name, columns);
	if (values.shape(1) != bones.columns[bones.count])
		throw nb::value_error("values must have as many columns as all bones together");
	std::vector<uint64_t> seen(bones.count);
	int status;
	{
		nb::gil_scoped_release release;
		status = mocpack_parse_amc(begin, size, &bones, complete, values.data(), values.shape(0), seen.data(),
								   &frames, &fault);
	}
	return {status, frames, start + fault};
}

} // namespace

void register_amc(nb::module_& m)
{
	m.def("count_amc_frames", &count_amc_frames, "text"_a, "start"_a);
	m.def("parse_amc", &parse_amc, "text"_a, "start"_a, "names"_a, "starts"_a, "by_name"_a, "columns"_a,
		  "complete"_a, "values"_a);
}
