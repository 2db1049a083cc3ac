// Writes the head of a payload.
#pragma once
#include "common/buffer.h"
#include "common/skeleton.h"
#include "keysine/format/payload.h"

namespace mocpack
{
namespace keysine
{

// What a head states.
struct HeadContents
{
	mocpack_KeysineFields fields;
	const mocpack_Skeleton* skeleton;
	int32_t* table;	 // (J, 15): the plan
	uint32_t* sizes; // bytes of all parts, in their order
	size_t part_count;
	int32_t* predictors; // (fields.predictor_count, 4)
	uint8_t* shifts;	 // (layers - 1, 2, tracks)
	// grid mode: steps of tracks, null for none; initial scales of channels
	uint8_t *grid_steps, *initial_scales;
};

// Writes the size of the head, its body and the checksum. MOCPACK_CORRUPT: a number is out of range.
mocpack_Status write_head(const mocpack_Allocator& allocator, HeadContents contents, Buffer<uint8_t>* head);

} // namespace keysine
} // namespace mocpack
