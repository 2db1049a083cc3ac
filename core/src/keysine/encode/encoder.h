// Data that all parts of the `keysine` encoder share: the clip, its plan and rig, and the settings.
#pragma once
#include "keysine/encode/constants.h"
#include "keysine/encode/encode.h"
#include "keysine/encode/search.h"
#include "keysine/encode/track_target.h"
#include "keysine/format/group.h"

struct mocpack_KeysineEncoder
{
	mocpack_KeysineJob job;
	mocpack::keysine::Constants constants;
	mocpack::keysine::Grouping grouping;
	mocpack::keysine::Plan plan;
	mocpack::keysine::Rig rig;
	double* inverse_axes; // (tracks, 9)
	bool hinged;		  // whether a track moves along hinges, or is clamped to their limits
	// a linked list per parent of its children with a hinge in their subtree; -1 ends it
	int32_t *first_hinged, *next_hinged; // (J)
	int32_t most_hinged;				 // length of the longest list
	mocpack::keysine::Leeway leeway;
	double steps[mocpack::keysine::STEPS];
	mocpack::keysine::Bits bits;
	int least_splits;					 // minimum halvings of a group, so that no block is too long
	uint8_t* usable_splits;				 // (groups) maximum halvings for which all keys are valid
	float *wanted, *series, *used_steps; // (channels, frames) outputs of mocpack_keysine_watch, or null
	int32_t* paces;						 // (frames)
};

namespace mocpack
{
namespace keysine
{

// Returns whether the caller has stopped the search.
inline bool is_stopped(const mocpack_KeysineEncoder& encoder)
{
	return encoder.job.is_stopped && encoder.job.is_stopped(encoder.job.user);
}

// Writes the checksum of a body that begins two bytes after `dst`. Returns the size of both, 0 if the body is
// empty.
size_t sealed(uint8_t* dst, size_t body_size);

const size_t KEY_SHARES = 6;  // maximum symbol intervals of a number of a key
const size_t CELL_SHARES = 5; // and of a coefficient; the margins have room for those of blocks and channels

// Returns the maximum number of symbol intervals of a group.
inline size_t group_shares(const Plan& plan, size_t length)
{
	return 64 + CELL_SHARES * plan.channel_count * widest_row(length);
}

// Returns the maximum number of bytes of a group. A group in grid mode has a number and digits per channel
// and frame.
inline size_t group_bytes(const mocpack_KeysineEncoder& encoder)
{
	size_t length = encoder.grouping.longest_group();
	return 256 + (encoder.job.grid_steps ? 12 * (encoder.plan.channel_count + 1) * (length + 8)
										 : 2 * group_shares(encoder.plan, length));
}

// Writes how a group is split, then the keys (blocks + 1, channels) between those at its ends, then its
// coefficients.
bool write_group(TableWriter& writer, const Plan& plan, int32_t* keys, GroupSymbols* symbols);

void lay_out_motion_pair(MotionPair* pair, Arena* arena, const mocpack_KeysineEncoder& encoder,
						 int32_t count);

// Return whether track t is the joint's translation, or its rotation.
inline bool moves(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind == POSITION_TRACK;
}
inline bool turns(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind != POSITION_TRACK;
}

// Grid mode instead of sine series: keysine/encode/grid_search.cpp. encode_grid returns the number of bytes,
// 0 on failure.
size_t grid_scratch(const mocpack_KeysineEncoder* encoder);
size_t encode_grid(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys, uint8_t* dst,
				   size_t dst_size, void* scratch);

// Fills the source's side of the pair with the frames `frames[t]`.
void fill_source(MotionPair* pair, const mocpack_KeysineEncoder& encoder, const size_t* frames);

// Set the decoded position of a joint whose translation does not move, before its rotation is coded: in one
// frame, or in all.
void place_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);
void place_still(const Plan& plan, const MotionPair& pair, int32_t joint);

// Set the decoded rotation of a joint that does not rotate: in one frame, or in all.
void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);
void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint);

// Returns the largest ratio of squared displacement to squared allowance among the points that a joint
// carries in a frame. Adds the ratios of all points to `sum`, if it is not null.
double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t, double* sum = nullptr);

// Returns the largest ratio of all frames.
double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint);

// Returns the same ratio for a joint's own origin.
double origin_excess(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t);

// Returns the largest ratio of the points of a joint that slides but does not rotate, and sets its decoded
// rotation. Returns 0 if the joint rotates; its rotation track checks these points then.
double slid_excess(const Plan& plan, const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t);

} // namespace keysine
} // namespace mocpack
