// The head of a `keysine` payload, parsed: what the decoder needs to know before it can read a group.
#pragma once
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
