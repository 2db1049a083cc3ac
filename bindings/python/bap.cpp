// Bindings of the body animation parameter codec and the adaptive byte coder.
#include "arrays.h"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "common/skeleton.h"
#include "papers/chattopadhyay/bap.h"
#include "papers/chattopadhyay/bytes.h"

namespace
{

using Vector = Array<double, nb::ndim<1>>;
using Matrix = Array<double, nb::ndim<2>>;
using State = MutableArray<double, nb::ndim<1>>;
using Table = Array<float, nb::ndim<1>>;
using Indices = Array<uint16_t, nb::ndim<2>>;

// The kernels do not check these sizes, so they are checked here.
mocpack_BapRows check_rows(const State& state, const Table& table, size_t fixed, size_t first_masked,
						   int bits)
{
	size_t columns = state.size();
	if (fixed > columns || first_masked > columns || bits < 0 || bits > 16 ||
		(bits && table.size() != size_t(1) << bits))
		throw nb::value_error("fixed and first_masked must be at most the number of columns, and the table "
							  "must have 2^bits entries");
	return {columns, fixed, first_masked, bits, table.data()};
}

std::tuple<NewArray<float, 1>, NewArray<uint16_t, 2>>
bap_lookup(Matrix differences, Array<int32_t, nb::ndim<1>> levels, int bits, double resolution, double eta)
{
	size_t rows = differences.shape(0), columns = differences.shape(1);
	bool good = levels.size() == columns && bits >= 1 && bits <= 16 && resolution > 0 && eta >= 0 &&
				rows * columns < UINT32_MAX;
	for (size_t c = 0; good && c < columns; ++c)
		good = levels.data()[c] >= 1 && levels.data()[c] <= MOCPACK_BAP_LEVELS;
	for (size_t i = 0; good && i < rows * columns; ++i)
		good = std::fabs(differences.data()[i] * resolution) < 9e18; // also false for NaN
	if (!good)
		throw nb::value_error(
			"levels must be 1..64 for each column, bits 1..16, and differences must be finite");
	auto table = new_array<float, 1>({size_t(1) << bits});
	auto indices = new_array<uint16_t, 2>({rows, columns});
	std::unique_ptr<uint8_t[]> scratch(new uint8_t[mocpack_bap_scratch_size(rows, columns)]);
	{
		nb::gil_scoped_release release;
		mocpack_bap_lookup(differences.data(), rows, columns, levels.data(), bits, resolution, eta,
						   scratch.get(), table.data(), indices.data());
	}
	return {table, indices};
}

nb::bytes bap_encode_rows(Matrix values, Indices indices, State state, Table table, size_t fixed,
						  size_t first_masked, int bits, bool closed_loop, Vector means, Vector limits)
{
	mocpack_BapRows layout = check_rows(state, table, fixed, first_masked, bits);
	size_t rows = values.shape(0), columns = layout.columns, coded = columns - fixed, size;
	bool good = values.shape(1) == columns && means.size() == columns && limits.size() == columns;
	for (size_t c = 0; good && c < first_masked; ++c)
		good = limits.data()[c] < 0;
	if (bits && !closed_loop)
	{
		good = good && indices.shape(0) == rows && indices.shape(1) == coded;
		for (size_t i = 0; good && i < rows * coded; ++i)
			good = indices.data()[i] >> bits == 0;
	}
	if (!good)
		throw nb::value_error("values, indices, means and limits must have one entry per column");
	mocpack_BapEncoder how = {closed_loop, means.data(), limits.data()};
	std::unique_ptr<uint8_t[]> buffer(new uint8_t[mocpack_bap_rows_bound(&layout, rows) + 1]);
	{
		nb::gil_scoped_release release;
		size = mocpack_bap_encode_rows(buffer.get(), &layout, &how, values.data(), indices.data(), rows,
									   state.data());
	}
	return nb::bytes(buffer.get(), size);
}

std::tuple<NewArray<double, 2>, size_t> bap_decode_rows(nb::bytes data, size_t at, size_t rows, State state,
														Table table, size_t fixed, size_t first_masked,
														int bits)
{
	mocpack_BapRows layout = check_rows(state, table, fixed, first_masked, bits);
	if (at > data.size())
		throw nb::value_error("start must be inside the data");
	auto values = new_array<double, 2>({rows, layout.columns});
	size_t used = 0;
	mocpack_Status status;
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data()) + at;
		size_t size = data.size() - at;
		nb::gil_scoped_release release;
		status = mocpack_bap_decode_rows(values.data(), &layout, rows, state.data(), src, size, &used);
	}
	check_status(status, "an indexed segment");
	return {values, used};
}

nb::bytes bytes_encode(Array<uint8_t, nb::ndim<2>> values, Array<uint16_t, nb::ndim<1>> classes,
					   size_t class_count)
{
	size_t rows = values.shape(0), columns = values.shape(1), size;
	check_classes(classes, columns, class_count);
	size_t bound = mocpack_bytes_bound(rows, columns);
	std::unique_ptr<uint8_t[]> buffer(new uint8_t[bound]);
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_bytes_models_size(class_count) + 1]);
	{
		nb::gil_scoped_release release;
		size = mocpack_bytes_encode(buffer.get(), bound, values.data(), rows, columns, classes.data(),
									class_count, models.get());
	}
	return nb::bytes(buffer.get(), size);
}

NewArray<uint8_t, 2> bytes_decode(nb::bytes data, size_t rows, size_t columns,
								  Array<uint16_t, nb::ndim<1>> classes, size_t class_count)
{
	check_classes(classes, columns, class_count);
	auto values = new_array<uint8_t, 2>({rows, columns});
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_bytes_models_size(class_count) + 1]);
	mocpack_Status status;
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		size_t size = data.size();
		nb::gil_scoped_release release;
		status = mocpack_bytes_decode(values.data(), rows, columns, classes.data(), class_count, models.get(),
									  src, size);
	}
	check_status(status, "coded bytes");
	return values;
}

} // namespace

void register_bap(nb::module_& m)
{
	m.def("bap_lookup", &bap_lookup, "differences"_a, "levels"_a, "bits"_a, "resolution"_a, "eta"_a);
	m.def("bap_encode_rows", &bap_encode_rows, "values"_a, "indices"_a, "state"_a, "table"_a, "fixed"_a,
		  "first_masked"_a, "bits"_a, "closed_loop"_a, "means"_a, "limits"_a);
	m.def("bap_decode_rows", &bap_decode_rows, "data"_a, "at"_a, "rows"_a, "state"_a, "table"_a, "fixed"_a,
		  "first_masked"_a, "bits"_a);
	m.def("bytes_encode", &bytes_encode, "values"_a, "classes"_a, "class_count"_a);
	m.def("bytes_decode", &bytes_decode, "data"_a, "rows"_a, "columns"_a, "classes"_a, "class_count"_a);
}
