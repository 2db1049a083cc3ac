// Codes whole series of integers; series_coder.h codes the values.
#include "entropy/series_coder.h"

using namespace mocpack;
using namespace mocpack::series;

namespace
{

template <typename Bit, typename Value> void code_row(Coder& coder, Bit& bit, Value* values, size_t row)
{
	if (row == 0)
		coder.first_row(bit, values);
	else
		coder.next_row(bit, values + row * coder.model->column_count);
}

} // namespace

int mocpack_series_valid(const mocpack_SeriesModel* model)
{
	if (model->predictor_count > size_t(MAX_PREDICTORS) || !(model->caution > 0) || model->blend_period < 1)
		return 0;
	for (size_t p = 0; p < model->predictor_count; ++p)
		if (model->periods[p] < 1)
			return 0;
	for (size_t c = 0; model->sizes && c < model->column_count; ++c)
		if (model->sizes[c] > (1u << 28))
			return 0;
	for (size_t c = 0; c < model->column_count; ++c)
		for (size_t p = 0; p < model->predictor_count; ++p)
		{
			size_t at = c * model->predictor_count + p;
			if (model->starts[at + 1] < model->starts[at] || features(model, c, p) > MAX_FEATURES)
				return 0;
			for (size_t i = model->starts[at]; i < model->starts[at + 1]; ++i)
				if (model->columns[i] < 0 || model->columns[i] >= int32_t(model->column_count) ||
					model->lags[i] > MAX_LAG || (model->lags[i] == 0 && model->columns[i] >= int32_t(c)))
					return 0;
		}
	return 1;
}

size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model)
{
	return scratch_size(model);
}

size_t mocpack_series_bound(size_t rows, size_t columns)
{
	// 3 + STEPS mixed decisions of at most 12 bits, 33 length bits of at most 10, and 64 raw bits
	return rows * columns * ((3 + STEPS) * 12 + 33 * 10 + 64) / 8 + 8;
}

size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
							 const mocpack_SeriesModel* model, void* scratch)
{
	Coder coder = start(model, scratch);
	RangeEncoder range(dst, dst_size);
	auto bit = [&range](Probability one, int value)
	{
		range.encode(value, one);
		return value;
	};
	for (size_t r = 0; r < rows; ++r)
		code_row(coder, bit, values, r);
	return range.finish();
}

mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
									 void* scratch, const uint8_t* src, size_t src_size)
{
	Coder coder = start(model, scratch);
	RangeDecoder range(src, src_size);
	auto bit = [&range](Probability one, int) { return range.decode(one); };
	std::memset(values, 0, rows * model->column_count * sizeof(int32_t));
	for (size_t r = 0; r < rows; ++r)
	{
		code_row(coder, bit, values, r);
		if (range.exhausted())
			return MOCPACK_TRUNCATED;
	}
	return range.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}
