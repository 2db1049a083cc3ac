// Bindings of the zero-run coder.
#include "arrays.h"

#include <algorithm>
#include <memory>

#include "common/skeleton.h"
#include "papers/beaudoin/zero_runs.h"

namespace
{

NewArray<uint16_t, 1> zero_runs_encode(Array<int32_t, nb::ndim<2>> values)
{
	size_t count = values.shape(0), length = values.shape(1), size;
	for (size_t i = 0; i < values.size(); ++i)
		if (values.data()[i] < -MOCPACK_LARGEST_WORD || values.data()[i] > MOCPACK_LARGEST_WORD)
			throw nb::value_error("values must be within ±32255");
	std::unique_ptr<uint16_t[]> buffer(new uint16_t[count * (length + 1) + 1]);
	{
		nb::gil_scoped_release release;
		size = mocpack_zero_runs_encode(buffer.get(), values.data(), count, length);
	}
	auto words = new_array<uint16_t, 1>({size});
	std::copy(buffer.get(), buffer.get() + size, words.data());
	return words;
}

NewArray<int32_t, 2> zero_runs_decode(Array<uint16_t, nb::ndim<1>> words, size_t count, size_t length)
{
	auto values = new_array<int32_t, 2>({count, length});
	mocpack_Status status;
	{
		nb::gil_scoped_release release;
		status = mocpack_zero_runs_decode(values.data(), count, length, words.data(), words.size());
	}
	check_status(status, "a list of words");
	return values;
}

} // namespace

void register_zero_runs(nb::module_& m)
{
	m.def("zero_runs_encode", &zero_runs_encode, "values"_a);
	m.def("zero_runs_decode", &zero_runs_decode, "words"_a, "count"_a, "length"_a);
}
