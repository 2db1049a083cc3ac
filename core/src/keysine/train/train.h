// Access to symbols and tables for training.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Reads the symbols of a group of one layer: its shape, and, if keys is not null, keys (blocks + 1,
	 * channels), steps (tracks, blocks), lengths (blocks) and coefficients (channels, blocks, longest).
	 * scratch as for decode_group. */
	typedef struct mocpack_KeysineGroup
	{
		size_t blocks, longest;
		int32_t tempo;
		int32_t *keys, *steps, *lengths, *values;
	} mocpack_KeysineGroup;
	mocpack_Status mocpack_keysine_group_symbols(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 mocpack_KeysineGroup* found, void* scratch);
	/* Reads the numbers of a group in grid mode: found (frames - 1, channels, MOCPACK_KEYSINE_GRID_COLUMNS)
	 * receives the inputs of the residual estimate, the fractional part of the prediction (0 … 3), and the
	 * signed residual. scratch: twice that of decode_group. */
#define MOCPACK_KEYSINE_GRID_COLUMNS 8
	mocpack_Status mocpack_keysine_grid_numbers(const mocpack_KeysineHead* head, size_t group,
												const uint8_t* src, size_t size, int32_t* found,
												void* scratch);
	/* Returns trained table `index`, or 0 after the last: cumulative frequencies or weights. */
	typedef struct mocpack_KeysineTable
	{
		const char* name;
		const uint16_t* starts;
		const int16_t* weights;
		size_t size;
	} mocpack_KeysineTable;
	int mocpack_keysine_trained_table(size_t index, mocpack_KeysineTable* table);
	/* Writes channels, first channel, parent track or -1, family and key step index of track t. */
	void mocpack_keysine_track(const mocpack_KeysineHead* head, size_t t, int32_t* row);

#ifdef __cplusplus
}
#endif
