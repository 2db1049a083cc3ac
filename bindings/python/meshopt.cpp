// Binding of the decoder for glTF's meshopt extensions.
#include "arrays.h"

#include "entropy/meshopt.h"

namespace
{

// Returns the rows (count, stride) of a compressed view; filters are not applied.
NewArray<uint8_t, 2> decode_meshopt(nb::bytes data, size_t count, size_t stride)
{
	if (stride == 0 || stride % 4 || stride > MOCPACK_MESHOPT_MAX_STRIDE)
		throw nb::value_error("stride must be a multiple of 4 up to 256");
	NewArray<uint8_t, 2> rows = new_array<uint8_t, 2>({count, stride});
	int status;
	{
		const uint8_t* begin = reinterpret_cast<const uint8_t*>(data.c_str());
		size_t size = data.size();
		nb::gil_scoped_release release;
		status = mocpack_decode_meshopt(begin, size, rows.data(), count, stride);
	}
	check_status(status, "the packed view");
	return rows;
}

} // namespace

void register_meshopt(nb::module_& m)
{
	m.def("decode_meshopt", &decode_meshopt, "data"_a, "count"_a, "stride"_a);
}
