// The head of a `keysine` payload, parsed: what the decoder needs to know before it can read a group.
#pragma once
#include "common/arena.h"
#include "keysine/decode/symbols.h"

struct mocpack_KeysineHead
{
	mocpack::keysine::Plan plan;
	mocpack::keysine::Grouping grouping;
	size_t groups_per_segment;
	size_t segment_count;
	size_t layer_count;
	const uint32_t* sizes; // of the segments, then of the groups, layer by layer
	const uint8_t* shifts; // (layers - 1, tracks): how coarse each layer is, but the last
	size_t size;		   // of the head itself
	double unit;
	int32_t tempo;								 // 64 times half a second over the length of a group
	uint8_t errors[MOCPACK_KEYSINE_MAX_LAYERS]; // of the keys alone, then of each layer but the last
	uint8_t fine_bits;
	const mocpack::keysine::Predictor* predictors; // by channel
	size_t predictor_count;
	bool grid, thorough;		   // numbers on a grid in time, and how they are predicted
	const uint8_t* grid_steps;	   // (tracks) index of each track's step there
	const uint8_t* initial_scales; // (channels) how far prediction is off at first, as expected_error
};

namespace mocpack
{
namespace keysine
{

// The symbols of one group, in the caller's scratch.
struct GroupSymbols
{
	Shape shape;
	Rows rows;
	int splits;
	int32_t* keys;	  // (blocks + 1, channels)
	int32_t* lengths; // (blocks) coefficients of each
	uint8_t* found;	  // (channels) scratch
	double part;	  // of a step, that the values count
};

// More than the coefficients of one channel of a group of so many frames, however it is split, and what is
// said of each block.
inline size_t widest_row(size_t length)
{
	size_t blocks = length < size_t(1) << MAX_SPLITS ? length : size_t(1) << MAX_SPLITS;
	return length + blocks * (2 * MARGIN + 8);
}

// The longest block of a group of so many frames that is split in two so often.
inline size_t longest_block(size_t length, int splits)
{
	return (length + (size_t(1) << splits) - 1) >> splits;
}

// Takes room for the symbols of a group of at most `length` frames.
void lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena);

// Sets the shape of a group of so many frames, and all coefficients to zero. False where it cannot be split.
bool shape_group(const Plan& plan, size_t length, int splits, int32_t tempo, GroupSymbols* symbols);

// Checks a group's first layers and reads their first tracks: coefficients in halves of their steps where not
// all layers are read. edges (2, channels) are the keys at its ends; scratch holds
// mocpack_keysine_group_scratch_size bytes.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const int32_t* edges,
						  const uint8_t* const* src, const size_t* sizes, size_t layer_count,
						  size_t track_count, GroupSymbols* symbols, void* scratch);

// Values (channels, blocks, stride) of a group as a layer of these shifts knows them; null: as they are.
void shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts, int32_t* out);

} // namespace keysine
} // namespace mocpack
