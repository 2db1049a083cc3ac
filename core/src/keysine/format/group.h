// The symbols of one group: how it is split, its keys and its coefficients.
#pragma once
#include "common/arena.h"
#include "keysine/format/symbols.h"

namespace mocpack
{
namespace keysine
{

// The symbols of one group, in the caller's scratch memory.
struct GroupSymbols
{
	Shape shape;
	Rows rows;
	int splits;
	int32_t* keys;		// (blocks + 1, channels)
	int32_t* residuals; // (blocks + 1, channels) of the keys inside the group, in the layers so far
	int32_t* lengths;	// (blocks) number of coefficients
	uint8_t* found;		// (channels) scratch
	double part;		// unit of the values, relative to the step
};

// An upper bound of the coefficients of one channel in a group of `length` frames, for any split, including
// margins.
inline size_t widest_row(size_t length)
{
	size_t blocks = length < size_t(1) << MAX_SPLITS ? length : size_t(1) << MAX_SPLITS;
	return length + blocks * (2 * MARGIN + 8);
}

// Returns the longest block of a group of `length` frames after `splits` halvings.
inline size_t longest_block(size_t length, int splits)
{
	return (length + (size_t(1) << splits) - 1) >> splits;
}

// Allocates the symbols of a group of at most `length` frames.
void lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena);

// Sets the shape of a group of `length` frames and clears its coefficients. Returns false if it cannot be
// split.
bool shape_group(const Plan& plan, size_t length, int splits, int32_t tempo, GroupSymbols* symbols);

} // namespace keysine
} // namespace mocpack
