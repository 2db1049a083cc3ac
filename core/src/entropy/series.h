// Codes series of integers that follow a motion.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

// Prediction of the columns of a series: least squares over recent differences of selected columns.
struct mocpack_SeriesModel
{
	size_t column_count;
	size_t predictor_count;	  // per column, at most 6
	const double* forgetting; // (P) forgetting factor per update, 0 to 1
	const uint8_t* periods;	  // (P) rows between updates, after the first `warm` rows
	uint32_t warm;			  // rows at the start that are all learned from
	double caution;			  // initial regularization, above 0
	double blend_forgetting;  // forgetting factor of the blend of predictors
	double blend_pull;		  // regularization of the blend towards its initial weights
	uint8_t blend_period;	  // rows between updates of the blend
	const uint32_t* starts;	  // (C * P + 1) first input of each predictor; at most 64 inputs each
	const int32_t* columns;	  // column of each input; lag 0 only for earlier columns
	const uint8_t* lags;	  // lag of each input in rows, at most 7
	const uint32_t* sizes;	  // (C) expected initial error of each column, in 1/256; may be null
};

/* Codes integers (rows, columns) that follow a motion (series.cpp).
 *
 * mocpack_series_valid checks the limits above; the other functions require a valid model. scratch has
 * mocpack_series_scratch_size(model) bytes, aligned as by malloc. dst needs at most
 * mocpack_series_bound(rows, columns) bytes. The decoder is safe on untrusted bytes. */
int mocpack_series_valid(const mocpack_SeriesModel* model);
size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model);
size_t mocpack_series_bound(size_t rows, size_t columns);
size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
							 const mocpack_SeriesModel* model, void* scratch);
mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
									 void* scratch, const uint8_t* src, size_t src_size);
