// The parsed head of a `keysine` payload.
#pragma once
#include "common/arena.h"
#include "keysine/format/parts.h"
#include "keysine/format/refinement.h"

struct mocpack_KeysineHead
{
	mocpack::keysine::Plan plan;
	mocpack::keysine::Grouping grouping;
	size_t groups_per_segment;
	size_t segment_count;
	size_t layer_count;
	const uint32_t* sizes; // bytes of the parts
	const uint8_t* shifts; // (layers - 1, 2, tracks): coarseness of each layer except the last
	size_t size;		   // bytes of the head
	double unit;
	int32_t tempo;											 // 64 · 0.5 s / length of a group
	uint8_t keys_error;										 // with keys only
	mocpack_KeysineError errors[MOCPACK_KEYSINE_MAX_LAYERS]; // with each layer
	uint8_t fine_bits;
	const mocpack::keysine::Predictor* predictors; // sorted by channel
	size_t predictor_count;
	bool grid, thorough;		   // grid mode, and its prediction
	bool shared;				   // rotations can share references
	const uint8_t* grid_steps;	   // (tracks) step index in grid mode
	const uint8_t* initial_scales; // (channels) expected initial prediction error, see expected_error

	mocpack::keysine::PartOrder parts() const
	{
		return {grouping.groups, groups_per_segment, segment_count, layer_count, grouping.group_frames != 0};
	}

	// Returns the shifts of a layer; null for the last one.
	mocpack::keysine::LayerShifts shifts_of(size_t layer) const
	{
		if (layer + 1 >= layer_count)
			return {nullptr, nullptr};
		const uint8_t* own = shifts + 2 * layer * plan.track_count;
		return {own, own + plan.track_count};
	}
};

namespace mocpack
{
namespace keysine
{

// Bits of a payload's mode. 4 has one meaning for grids and another for transforms.
const uint32_t GRID_MODE = 1, FIRST_FRAME_MODE = 2, THOROUGH_MODE = 4, SHARED_MODE = 4, FOOT_LOCK_MODE = 8;

} // namespace keysine
} // namespace mocpack
