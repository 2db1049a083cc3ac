// Predicts the numbers of a series from earlier ones, for series_coder.h and keysine's grid mode.
//
// Several recursive least squares predict a value's difference to the previous row, each from recent
// differences of other columns. Another, quickly forgetting least squares blends them with two fixed
// extrapolations. Predictions are identical on every machine, since doubles are used as in least_squares.h.
// docs/series.md specifies the arithmetic.
#pragma once
#include <cstdint>
#include <cstring>
#include <new>

#include "entropy/series.h"
#include "math/least_squares.h"

namespace mocpack
{
namespace series
{

const int MAX_PREDICTORS = 6;
const int MAX_LAG = 7;
const size_t MAX_FEATURES = 64;

inline size_t round_up(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

inline size_t features(const mocpack_SeriesModel* model, size_t column, size_t predictor)
{
	size_t at = column * model->predictor_count + predictor;
	return model->starts[at + 1] - model->starts[at];
}

// Converts a prediction to 1/16, rounded down; NaN becomes the minimum.
inline int64_t sixteenths(double prediction)
{
	const double limit = 2147483647.0;
	// the negated comparisons are also true for NaN
	if (!(prediction > -limit))
		prediction = -limit;
	if (!(prediction < limit))
		prediction = limit;
	// floor, computed on a positive number
	return int64_t(prediction * 16 + 68719476736.0) - 68719476736;
}

class Forecaster
{
  public:
	// Lays out and initializes its memory in `scratch`.
	Forecaster(const mocpack_SeriesModel* model, void* scratch) : model_(model)
	{
		size_t count = model->column_count, predictors = model->predictor_count;
		columns_ = static_cast<Column*>(scratch);
		double* doubles = differences_ =
			reinterpret_cast<double*>(static_cast<uint8_t*>(scratch) + round_up(count * sizeof(Column)));
		for (size_t i = 0; i < (MAX_LAG + 1) * count; ++i)
			*doubles++ = 0;
		for (size_t c = 0; c < count; ++c)
		{
			Column* column = new (columns_ + c) Column();
			for (size_t p = 0; p < predictors; ++p)
			{
				doubles = column->predictors[p].place(features(model, c, p), model->forgetting[p],
													  model->caution, doubles);
				column->blend.start[p] = column->blend.weights[p] = 1 / double(predictors);
			}
			column->blend.n = int(predictors) + 2;
			column->blend.forgetting = model->blend_forgetting;
			column->blend.pull = model->blend_pull;
		}
	}

	// Returns the bytes that do not depend on the predictors.
	static size_t fixed_size(size_t columns)
	{
		return round_up(columns * sizeof(Column)) + (MAX_LAG + 1) * columns * sizeof(double);
	}

	// Returns the scratch bytes.
	static size_t scratch_size(const mocpack_SeriesModel* model)
	{
		size_t doubles = 0;
		for (size_t c = 0; c < model->column_count; ++c)
			for (size_t p = 0; p < model->predictor_count; ++p)
				doubles += RecursiveLeastSquares::doubles(features(model, c, p));
		return fixed_size(model->column_count) + doubles * sizeof(double);
	}

	// Differences by lag; those of the current row are known up to the last learned column.
	double& difference(size_t lag, size_t column)
	{
		return differences_[lag * model_->column_count + column];
	}

	void begin_row()
	{
		++row_;
	}

	// Returns the predicted difference. Stores the state for learn().
	double predict(size_t c)
	{
		Column& column = columns_[c];
		size_t count = model_->predictor_count;
		for (size_t p = 0; p < count; ++p)
		{
			RecursiveLeastSquares& predictor = column.predictors[p];
			size_t start = model_->starts[c * count + p];
			for (size_t i = 0; i < predictor.n; ++i)
				inputs_[p][i] = difference(model_->lags[start + i], size_t(model_->columns[start + i]));
			for (size_t i = predictor.n; i < predictor.stride; ++i)
				inputs_[p][i] = 0;
			predictions_[p] = predictor.predict(inputs_[p]);
		}
		predictions_[count] = difference(1, c);
		predictions_[count + 1] = 2 * difference(1, c) - difference(2, c);
		return column.blend.predict(predictions_);
	}

	// `actual` is the true difference of the column that was predicted last.
	void learn(size_t c, double actual)
	{
		Column& column = columns_[c];
		for (size_t p = 0; p < model_->predictor_count; ++p)
			if (is_due(model_->periods[p], c))
				column.predictors[p].learn(inputs_[p], predictions_[p], actual);
		if (is_due(model_->blend_period, c))
			column.blend.learn(predictions_, actual);
		difference(0, c) = actual;
	}

	void end_row()
	{
		size_t bytes = model_->column_count * sizeof(double);
		std::memmove(differences_ + model_->column_count, differences_, MAX_LAG * bytes);
	}

  private:
	struct Column
	{
		RecursiveLeastSquares predictors[MAX_PREDICTORS];
		Blend<MAX_PREDICTORS + 2> blend;
	};

	// Columns update in turn, so that every row takes the same time.
	bool is_due(uint8_t period, size_t c) const
	{
		return row_ < model_->warm || (row_ + c) % period == 0;
	}

	const mocpack_SeriesModel* model_;
	Column* columns_;
	double* differences_; // (MAX_LAG + 1, columns), by lag
	double inputs_[MAX_PREDICTORS][MAX_FEATURES];
	double predictions_[MAX_PREDICTORS + 2];
	size_t row_ = 0;
};

} // namespace series
} // namespace mocpack
