// Groups as rows of floats, for those who want many a second.
#pragma once
#include "keysine/decode/decode.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Decodes frames first … stop - 1 of a group, counted from its first key, into rows of `stride` floats:
	 * 4 of each joint's rotation, then, unless `rotations_only`, 3 of each translated joint; with columns, of
	 * those that have one, in that order. Arithmetic is in
	 * single precision where that is as exact as its result: rows are those of mocpack_keysine_decode_group
	 * to a few units of the last place. Payloads of a grid in time are MOCPACK_UNSUPPORTED here.
	 *
	 * `kept` says what the scratch holds of the group before, of the same head: all zero at first. */
	size_t mocpack_keysine_rows_scratch_size(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_rows(const mocpack_KeysineHead* head, size_t group, size_t first,
											   size_t stop, const int32_t* keys, const uint8_t* const* layers,
											   const size_t* sizes, size_t layer_count,
											   const mocpack_KeysineColumns* columns, float* rows,
											   size_t stride, int rotations_only, mocpack_KeysineSineCache* kept,
											   void* scratch);

	// The pose of one key (channels), as such a row.
	void mocpack_keysine_decode_key_row(const mocpack_KeysineHead* head, const int32_t* key,
							 const mocpack_KeysineColumns* columns, float* row, int rotations_only);

#ifdef __cplusplus
}
#endif
