// Rows of body animation parameters.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Rows of body animation parameters, indexed and sparse (bap.cpp; docs/codecs/bap-index.md).
	 *
	 * A row holds a code for each column: float32 for the `fixed` first ones, and for the others the number
	 * of a table entry in 1 byte (bits <= 8) or 2, or float32 too where bits is 0. Columns from first_masked
	 * on have a code only if their bit is set in the mask before the codes, one bit a column, lowest first;
	 * where first_masked equals columns there is no mask. table has 2^bits entries, ascending; bits is at
	 * most 16. */
	typedef struct mocpack_BapRows
	{
		size_t columns;
		size_t fixed;
		size_t first_masked;
		int bits;
		const float* table;
	} mocpack_BapRows;

	// How rows are chosen. A column is let through when its change is further from means[column] than
	// limits[column]; a negative limit lets all through, and columns without a mask bit must have one.
	typedef struct mocpack_BapEncoder
	{
		int closed_loop;
		const double* means;
		const double* limits;
	} mocpack_BapEncoder;

	enum
	{
		MOCPACK_BAP_LEVELS = 64 // the largest level of a column; 1 is the least
	};

	/* Sort differences (rows, columns) into 2^bits buckets of equal frequency, and average each.
	 *
	 * Numbers are rounded to 1 / resolution; equal ones share a bucket. A bucket's entry is the mean of its
	 * numbers weighted by levels[column]^-eta; with eta infinite, of those of its least level alone.
	 * scratch has mocpack_bap_scratch_size bytes, aligned as malloc aligns. table (2^bits) receives the
	 * entries, ascending; indices (rows, columns) the bucket of each number. */
	size_t mocpack_bap_scratch_size(size_t rows, size_t columns);
	void mocpack_bap_lookup(const double* differences, size_t rows, size_t columns, const int32_t* levels,
							int bits, double resolution, double eta, void* scratch, float* table,
							uint16_t* indices);

	/* Write `count` rows. Returns the bytes written, at most mocpack_bap_rows_bound, which dst must have.
	 *
	 * Open loop: values (count, columns) are differences, indices (count, columns - fixed) their buckets, and
	 * state (columns) what is frozen so far, 0 at the start. Closed loop: values are positions, indices may
	 * be null, and state is where the decoder has each column, the initial pose at the start. */
	size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count);
	size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
								   const double* values, const uint16_t* indices, size_t count,
								   double* state);

	/* Read `count` rows: a table look-up and an addition for each column. Safe on untrusted bytes.
	 *
	 * state (columns) is the pose before, and receives the last; values (count, columns) receives all.
	 * *used receives the bytes read. */
	mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
										   double* state, const uint8_t* src, size_t src_size, size_t* used);

#ifdef __cplusplus
}
#endif
