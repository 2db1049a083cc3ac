// Quantizes within a bound: chooses the integers of one track in one block.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/arena.h"
#include "keysine/encode/constants.h"
#include "keysine/encode/job.h"
#include "keysine/encode/squares.h"
#include "keysine/format/symbols.h"

namespace mocpack
{
namespace keysine
{

// Bits of symbols by their tables, including raw bits and signs.
struct Bits
{
	float of[MAGNITUDE_CLASSES][REACH_LEFT][SYMBOLS];
	float of_reach[REACH_CLASSES * 4][REACHES];
};
// Returns the bits of a symbol by its table; 24 if the table has no frequency for it.
float share_bits(const uint16_t* starts, int symbol);

void fill_bits(Bits* bits);

// One track in one block: `channels` series of n numbers, and `points` displacements that depend on them.
// Arrays over time have `stride` columns, a multiple of 8, zero past n. Column t is frame t + 1.
struct Problem
{
	int32_t n, stride, channels, points;
	const float* sines;	 // (n, stride): row k - 1 has frequency k
	const float* moves;	 // (C, I, 3, stride): displacement of point i by a unit of channel c
	const float* start;	 // (I, 3, stride): displacement without any coefficient
	const float* wanted; // (C, stride): coefficients of the target
	int32_t jitter_from; // index k from which energy that the source does not have is jitter
	const Bits* bits;
	const CoefficientContext* near; // context of track t in block b
	int32_t t, b;
	RowSums* sums; // (C)
};

// End of the step indices that the encoder uses. Only last resorts use the finest ones.
const int32_t FINEST_STEP = STEPS - 2;

struct SearchResult
{
	float cost;
	float worst; // largest u
	int32_t step;
	double work = 0; // numbers that the search has computed
};

// What a search of up to `points` displacements works in, (stride) columns each.
struct SearchMemory
{
	float* gap; // (I, 3, stride) displacements
	Squares squares;
	float *pull, *slope; // (stride); (C, stride)
	int32_t* values;	 // (C, stride)

	SearchMemory() = default;
	SearchMemory(int32_t stride, int32_t channels, int32_t points, Arena* arena);
};

// Finds coefficients (C, stride) with the best step. steps: step sizes by index.
SearchResult search_block(const Problem& problem, const SearchSettings& settings, const Constants& constants,
						  const double* steps, int32_t* coefficients, const SearchMemory& memory);

} // namespace keysine
} // namespace mocpack
