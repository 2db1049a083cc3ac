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

	/* Reads the symbols of a group of one layer as `count` integers; without `numbers`, only counts them.
	 * `keys` (2, channels) are the key poses at its ends. scratch: twice that of decode_group.
	 *
	 * Blocks, longest (coefficients of a channel and block), tempo; then keys (blocks + 1, channels), steps
	 * (tracks, blocks), lengths (blocks) and coefficients (channels, blocks, longest).
	 * In grid mode (frames - 1, channels, MOCPACK_KEYSINE_GRID_COLUMNS): the inputs of the residual estimate,
	 * the fractional part of the prediction (0 … 3), and the signed residual. */
#define MOCPACK_KEYSINE_GRID_COLUMNS 8
	mocpack_Status mocpack_keysine_group_symbols(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 int32_t* numbers, size_t* count, void* scratch);
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
