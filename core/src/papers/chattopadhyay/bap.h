// Codes rows of body animation parameters.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Indexed and sparse rows of body animation parameters (bap.cpp; docs/codecs/bap-index.md).
	 *
	 * A row has a code per column: float32 for the first `fixed` columns, a table index of 1 byte (bits <= 8)
	 * or 2 bytes for the others, or float32 if bits is 0. Columns starting at first_masked have a code only
	 * if their bit is set in the mask before the codes (one bit per column, lowest first). If first_masked
	 * equals columns, there is no mask. table has 2^bits sorted entries; bits is at most 16. */
	typedef struct mocpack_BapRows
	{
		size_t columns;
		size_t fixed;
		size_t first_masked;
		int bits;
		const float* table;
	} mocpack_BapRows;

	// Selects the columns to transmit: those whose change differs from means[column] by more than
	// limits[column]. A negative limit transmits all changes; columns without a mask bit need one.
	typedef struct mocpack_BapEncoder
	{
		int closed_loop;
		const double* means;
		const double* limits;
	} mocpack_BapEncoder;

	enum
	{
		MOCPACK_BAP_LEVELS = 64 // maximum level of a column; the minimum is 1
	};

	/* Sorts differences (rows, columns) into 2^bits buckets of equal frequency, and averages each.
	 *
	 * Numbers are rounded to 1 / resolution; equal numbers share a bucket. The entry of a bucket is the mean
	 * of its numbers, weighted by levels[column]^-eta; with infinite eta, only the lowest level counts.
	 * scratch has mocpack_bap_scratch_size bytes, aligned as by malloc. table (2^bits) receives the sorted
	 * entries, indices (rows, columns) the bucket of each number. */
	size_t mocpack_bap_scratch_size(size_t rows, size_t columns);
	void mocpack_bap_lookup(const double* differences, size_t rows, size_t columns, const int32_t* levels,
							int bits, double resolution, double eta, void* scratch, float* table,
							uint16_t* indices);

	/* Writes `count` rows. Returns the bytes written; dst must have mocpack_bap_rows_bound bytes.
	 *
	 * Open loop: values (count, columns) are differences, indices (count, columns - fixed) their buckets, and
	 * state (columns) the accumulated untransmitted changes, initially 0. Closed loop: values are positions,
	 * indices may be null, and state holds the decoder's values, initially the first pose. */
	size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count);
	size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
								   const double* values, const uint16_t* indices, size_t count,
								   double* state);

	/* Reads `count` rows: one table lookup and addition per column. Safe on untrusted bytes.
	 *
	 * state (columns) is the previous pose and receives the last one; values (count, columns) receives all
	 * poses. *used receives the bytes read. */
	mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
										   double* state, const uint8_t* src, size_t src_size, size_t* used);

#ifdef __cplusplus
}
#endif
