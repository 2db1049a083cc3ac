// Bindings of the series coder.
#include "arrays.h"

#include <memory>

#include "common/skeleton.h"
#include "entropy/series.h"

namespace
{

using Doubles = Array<double, nb::ndim<1>>;
using Bytes = Array<uint8_t, nb::ndim<1>>;
using Indices = Array<int32_t, nb::ndim<1>>;
using Counts = Array<uint32_t, nb::ndim<1>>;

// Owns the arrays a mocpack_SeriesModel points to.
struct SeriesModel
{
	Doubles forgetting;
	Bytes periods;
	Counts starts;
	Indices columns;
	Bytes lags;
	Counts sizes;
	mocpack_SeriesModel view;

	SeriesModel(size_t column_count, Doubles forgetting_, Bytes periods_, uint32_t warm, double caution,
				double blend_forgetting, double blend_pull, uint8_t blend_period, Counts starts_,
				Indices columns_, Bytes lags_, Counts sizes_)
		: forgetting(forgetting_), periods(periods_), starts(starts_), columns(columns_), lags(lags_),
		  sizes(sizes_)
	{
		view = {column_count,
				forgetting.size(),
				forgetting.data(),
				periods.data(),
				warm,
				caution,
				blend_forgetting,
				blend_pull,
				blend_period,
				starts.data(),
				columns.data(),
				lags.data(),
				sizes.size() ? sizes.data() : nullptr};
		size_t count = column_count * forgetting.size();
		bool good = periods.size() == forgetting.size() && starts.size() == count + 1 &&
					columns.size() == lags.size() && starts.data()[count] <= columns.size() &&
					(sizes.size() == 0 || sizes.size() == column_count) && mocpack_series_valid(&view);
		if (!good)
			throw nb::value_error("invalid series model: a column or lag of an input is out of range");
	}
};

std::unique_ptr<double[]> scratch_of(const SeriesModel& model)
{
	return std::unique_ptr<double[]>(new double[mocpack_series_scratch_size(&model.view) / 8 + 1]);
}

nb::bytes series_encode(const SeriesModel& model, Array<int32_t, nb::ndim<2>> values)
{
	size_t rows = values.shape(0), size;
	if (values.shape(1) != model.view.column_count)
		throw nb::value_error("values must have one column per column of the model");
	size_t bound = mocpack_series_bound(rows, values.shape(1));
	std::unique_ptr<uint8_t[]> buffer(new uint8_t[bound]);
	auto scratch = scratch_of(model);
	{
		nb::gil_scoped_release release;
		size = mocpack_series_encode(buffer.get(), bound, values.data(), rows, &model.view, scratch.get());
	}
	return nb::bytes(buffer.get(), size);
}

NewArray<int32_t, 2> series_decode(const SeriesModel& model, nb::bytes data, size_t rows)
{
	auto values = new_array<int32_t, 2>({rows, model.view.column_count});
	auto scratch = scratch_of(model);
	mocpack_Status status;
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		size_t size = data.size();
		nb::gil_scoped_release release;
		status = mocpack_series_decode(values.data(), rows, &model.view, scratch.get(), src, size);
	}
	check_status(status, "a coded series");
	return values;
}

} // namespace

void register_series(nb::module_& m)
{
	nb::class_<SeriesModel>(m, "SeriesModel")
		.def(nb::init<size_t, Doubles, Bytes, uint32_t, double, double, double, uint8_t, Counts, Indices,
					  Bytes, Counts>(),
			 "column_count"_a, "forgetting"_a, "periods"_a, "warm"_a, "caution"_a, "blend_forgetting"_a,
			 "blend_pull"_a, "blend_period"_a, "starts"_a, "columns"_a, "lags"_a, "sizes"_a);
	m.def("series_encode", &series_encode, "model"_a, "values"_a);
	m.def("series_decode", &series_decode, "model"_a, "data"_a, "rows"_a);
}
