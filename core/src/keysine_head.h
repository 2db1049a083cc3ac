// The head of a `keysine` payload, parsed: what the decoder needs to know before it can read a group.
#pragma once
#include "arena.h"
#include "keysine_plan.h"

struct mocpack_KeysineHead
{
	mocpack::keysine::Plan plan;
	size_t frame_count, block_count, blocks_per_group, groups_per_segment;
	size_t segment_count, group_count;
	const uint32_t* sizes; // of the segments, then of the groups
	size_t size;		   // of the head itself
	double unit;
	int32_t model, tempo;
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
	uint8_t* reaches; // (channels, blocks)
	struct Models* models;
};

void lay_out_group(const mocpack_KeysineHead* head, GroupSymbols* symbols, Arena* arena);

// Checks a group and reads its first tracks; scratch holds mocpack_keysine_group_scratch bytes.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const uint8_t* src, size_t size,
						  size_t track_count, GroupSymbols* symbols, void* scratch);

} // namespace keysine
} // namespace mocpack
