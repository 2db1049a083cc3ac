// What training looks at.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* The symbols of a group of one layer, for training: first its shape, then, where there is room, keys
	 * (blocks + 1, channels), steps (tracks, blocks), lengths (blocks) and coefficients (channels, blocks,
	 * longest), k at k. scratch as for decode_group. */
	typedef struct mocpack_KeysineGroup
	{
		size_t blocks, longest;
		int32_t tempo;
		int32_t *keys, *steps, *lengths, *values;
	} mocpack_KeysineGroup;
	mocpack_Status mocpack_keysine_group_symbols(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 mocpack_KeysineGroup* found, void* scratch);
	/* The numbers of a group on a grid in time, for training: found (frames - 1, channels,
	 * MOCPACK_KEYSINE_GRID_COLUMNS) has what foretells how far each is from its prediction, on which side of
	 * the nearest number that stands (0 … 3), and how far the number is from there, on that side. scratch:
	 * twice that of decode_group. */
#define MOCPACK_KEYSINE_GRID_COLUMNS 8
	mocpack_Status mocpack_keysine_grid_numbers(const mocpack_KeysineHead* head, size_t group,
												const uint8_t* src, size_t size, int32_t* found,
												void* scratch);
	/* The trained tables one after another, false past the last: either starts of shares or weights. */
	typedef struct mocpack_KeysineTable
	{
		const char* name;
		const uint16_t* starts;
		const int16_t* weights;
		size_t size;
	} mocpack_KeysineTable;
	int mocpack_keysine_trained_table(size_t index, mocpack_KeysineTable* table);
	/* Of track t: channels, first channel, the track above or -1, family, index of the keys' step. */
	void mocpack_keysine_track(const mocpack_KeysineHead* head, size_t t, int32_t* row);

#ifdef __cplusplus
}
#endif
