// What the parts of the `keysine` encoder share: the clip, its plan and rig, and the settings.
#pragma once
#include "keysine/decode/head.h"
#include "keysine/encode/constants.h"
#include "keysine/encode/encode.h"
#include "keysine/encode/search.h"
#include "keysine/encode/track_target.h"

struct mocpack_KeysineEncoder
{
	mocpack_KeysineJob job;
	mocpack::keysine::Constants constants;
	mocpack::keysine::Grouping grouping;
	mocpack::keysine::Plan plan;
	mocpack::keysine::Rig rig;
	double* inverse_axes; // (tracks, 9)
	bool hinged;		  // whether a track moves along hinges
	// where there are hinges: joints on which one hangs, as a list for each parent (-1: none, or the last)
	int32_t *first_hinged, *next_hinged; // (J)
	int32_t most_hinged;				 // of one parent
	mocpack::keysine::Leeway leeway;
	double steps[mocpack::keysine::STEPS];
	mocpack::keysine::Bits bits;
	int least_splits;					 // so that no block is too long
	uint8_t* usable_splits;				 // (groups): for which there are keys
	float *wanted, *series, *used_steps; // (channels, frames) to write for those who watch, or null
	int32_t* paces;						 // (frames)
};

namespace mocpack
{
namespace keysine
{

// Whether the caller wants the search to end.
inline bool is_stopped(const mocpack_KeysineEncoder& encoder)
{
	return encoder.job.is_stopped && encoder.job.is_stopped(encoder.job.user);
}

// Writes the checksum of a body that stands two bytes after `dst`; returns the size of both, 0 if it is
// empty.
size_t sealed(uint8_t* dst, size_t body_size);

const size_t KEY_SHARES = 6;  // that a number of a key takes at most, and
const size_t CELL_SHARES = 5; // a coefficient; what belongs to a block or channel has room in the margins

// Shares that a writer of a group takes at most.
inline size_t group_shares(const Plan& plan, size_t length)
{
	return 64 + CELL_SHARES * plan.channel_count * widest_row(length);
}

// Bytes that a group takes at most: those of the grid are few, a number and digits for each channel.
inline size_t group_bytes(const mocpack_KeysineEncoder& encoder)
{
	size_t length = encoder.grouping.longest_group();
	return 256 + (encoder.job.grid_steps ? 12 * (encoder.plan.channel_count + 1) * (length + 8)
										 : 2 * group_shares(encoder.plan, length));
}

// How a group is split, the keys (blocks + 1, channels) between those at its ends, and its coefficients.
bool write_group(TableWriter& writer, const Plan& plan, int32_t* keys, GroupSymbols* symbols);

void lay_out_motion_pair(MotionPair* pair, Arena* arena, const mocpack_KeysineEncoder& encoder,
						 int32_t count);

// Whether track t is the joint's translation, and whether it is its rotation.
inline bool moves(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind == POSITION_TRACK;
}
inline bool turns(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind != POSITION_TRACK;
}

// The grid in time in place of the sine series: keysine/encode/grid_search.cpp.
size_t grid_scratch(const mocpack_KeysineEncoder* encoder);
size_t encode_grid(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys, uint8_t* dst,
				   size_t dst_size, void* scratch);

// Fills the source's side of the pair with the frames `frames[t]`.
void fill_source(MotionPair* pair, const mocpack_KeysineEncoder& encoder, const size_t* frames);

// Sets the decoded place of what does not move by itself, before its rotation is coded; in one frame, or all.
void place_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);
void place_still(const Plan& plan, const MotionPair& pair, int32_t joint);

// Sets the decoded rotation of a joint that does not turn.
void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);
void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint);

// Largest squared displacement over allowance among the points that a joint carries in a frame; adds all of
// them to `sum`, if there is one.
double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t, double* sum = nullptr);

// The largest of all frames.
double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint);

// The same of a joint's own origin.
double origin_excess(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t);

// That of what a joint carries which slides and does not turn; 0 where it turns, which is looked at then.
double slid_excess(const Plan& plan, const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t);

} // namespace keysine
} // namespace mocpack
