// Series of integers that follow a motion.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	// How the columns of a series are predicted: by least squares over recent differences of some columns.
	typedef struct mocpack_SeriesModel
	{
		size_t column_count;
		size_t predictor_count;	  // of each column, at most 6
		const double* forgetting; // (P) what each keeps of its past at each row it learns from, 0 to 1
		const uint8_t* periods;	  // (P) each learns from every so many-th row, once warm
		uint32_t warm;			  // rows of which all are learnt from
		double caution;			  // how much each doubts what it learns first, above 0
		double blend_forgetting;  // of the last least squares, which weighs the predictors
		double blend_pull;		  // of its weights to equal shares
		uint8_t blend_period;	  // and it, too, learns from every so many-th row, once warm
		const uint32_t* starts;	  // (C * P + 1) first feature of each column's each predictor; 64 at most
		const int32_t* columns;	  // of each feature; lag 0 only of columns before
		const uint8_t* lags;	  // of each feature: rows before this one, at most 7
		const uint32_t* sizes;	  // (C) expected error of each column at first, in 1/256; may be null
	} mocpack_SeriesModel;

	/* Series of integers (rows, columns) that follow a motion (series.cpp).
	 *
	 * mocpack_series_valid says whether a model keeps the limits above; the others trust it.
	 * scratch needs mocpack_series_scratch_size(model) bytes, aligned as malloc aligns.
	 * dst needs mocpack_series_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	int mocpack_series_valid(const mocpack_SeriesModel* model);
	size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model);
	size_t mocpack_series_bound(size_t rows, size_t columns);
	size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 const mocpack_SeriesModel* model, void* scratch);
	mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
										 void* scratch, const uint8_t* src, size_t src_size);

#ifdef __cplusplus
}
#endif
