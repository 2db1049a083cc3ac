// Decodes groups directly to rows of floats, for speed.
#pragma once
#include "keysine/decode/decode.h"

/* Decodes frames first … stop - 1 of a group, counted from its first key pose, into rows of `stride`
 * floats: 4 per joint for rotations, then, unless `rotations_only`, 3 per translated joint. With columns,
 * only selected joints. Uses single precision where that is accurate enough: rows equal those of
 * mocpack_keysine_decode_group to a few units in the last place. decodes_rows: grids and shared
 * references are MOCPACK_UNSUPPORTED here.
 *
 * `kept` describes the sine tables in the scratch from an earlier group of the same head; initialize it
 * with zeros. */
int mocpack_keysine_decodes_rows(const mocpack_KeysineHead* head);
size_t mocpack_keysine_rows_scratch_size(const mocpack_KeysineHead* head);
mocpack_Status mocpack_keysine_decode_rows(const mocpack_KeysineHead* head, size_t group, size_t first,
										   size_t stop, const int32_t* keys, const uint8_t* const* parts,
										   const size_t* sizes, size_t layer_count,
										   const mocpack_KeysineColumns* columns, float* rows, size_t stride,
										   int rotations_only, mocpack_KeysineSineCache* kept, void* scratch);

// Decodes one key pose (channels) to such a row.
void mocpack_keysine_decode_key_row(const mocpack_KeysineHead* head, const int32_t* key,
									const mocpack_KeysineColumns* columns, float* row, int rotations_only);
