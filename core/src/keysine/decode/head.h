// The parsed head of a `keysine` payload.
#pragma once
#include "common/arena.h"
#include "keysine/decode/parts.h"
#include "keysine/decode/refinement.h"

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

// The symbols of a group, or of all groups of a bundle if there are several layers. Everything is in the
// arena's memory, so that the next call can reuse it.
struct BundleSymbols
{
	GroupSymbols* groups;

	BundleSymbols(const mocpack_KeysineHead& head, Arena* arena)
	{
		const size_t count = head.layer_count > 1 ? BUNDLE_GROUPS : 1;
		groups = arena->allocate<GroupSymbols>(count);
		GroupSymbols own;
		for (size_t i = 0; i < count; ++i)
			lay_out_group(head.plan, head.grouping.longest_group(), groups ? groups + i : &own, arena);
	}
};

// Verifies a group's first layers and reads their first tracks. Coefficients are in half steps if not all
// layers are read. edges (2, channels): key poses at its ends; src and sizes: its parts. `symbols` receives
// the symbols of the group.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const int32_t* edges,
						  const uint8_t* const* src, const size_t* sizes, size_t layer_count,
						  size_t track_count, mocpack_KeysineSineCache* kept, BundleSymbols* bundle,
						  GroupSymbols** symbols);

// Verifies the checksum at the start of a part. Returns the bytes after it, or null.
const uint8_t* verify_checksum(const uint8_t* src, size_t size);

// Replaces coefficients by the middle of their interval, in half steps, if finer layers are missing.
void use_midpoints(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols);

// Coarsens the values (channels, blocks, stride) of a group by the shifts of a layer; null: copies them.
void shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts, int32_t* out);

} // namespace keysine
} // namespace mocpack
