// The head of a `keysine` payload, parsed: what the decoder needs to know before it can read a group.
#pragma once
#include "common/arena.h"
#include "keysine/decode/plan.h"

struct mocpack_KeysineHead
{
	mocpack::keysine::Plan plan;
	mocpack::keysine::Cut cut;
	size_t blocks_per_group, groups_per_segment;
	size_t segment_count, group_count;
	size_t layer_count;
	uint32_t* sizes;	   // of the segments, then of the groups, layer by layer
	const uint8_t* shifts; // (layers - 1, tracks): how coarse each layer is, but the last
	size_t size;		   // of the head itself
	double unit;
	int32_t model, tempo, fine_bits, basis_bits;
	int32_t coarse;				   // stated error of the keys alone
	const uint8_t* refined;		   // (layers - 1) of the layers but the last
	int32_t* table;				   // the plan's
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
	int32_t blocks, stride;
	int32_t* lengths; // (blocks) coefficients of each
	int32_t* steps;	  // (tracks, blocks)
	int32_t* values;  // (channels, blocks, stride)
	double part;	  // of a step, that the values count
	uint8_t* reaches; // (channels, blocks)
	struct Models* models;
};

void lay_out_group(const mocpack_KeysineHead* head, GroupSymbols* symbols, Arena* arena);

// Checks a group's first layers and reads their first tracks: coefficients in halves of their steps where not
// all layers are read. scratch holds mocpack_keysine_group_scratch bytes.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const uint8_t* const* src,
						  const size_t* sizes, size_t layer_count, size_t track_count, GroupSymbols* symbols,
						  void* scratch);

// Values (channels, blocks, stride) of a group as a layer of these shifts knows them; null: as they are.
void shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts, int32_t* out);

} // namespace keysine
} // namespace mocpack
