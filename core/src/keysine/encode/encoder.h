// Data that all parts of the `keysine` encoder share: the clip, its plan and rig, and the settings.
#pragma once
#include "common/buffer.h"
#include "keysine/encode/job.h"
#include "keysine/encode/search.h"
#include "keysine/encode/track_target.h"
#include "keysine/format/group.h"

namespace mocpack
{
namespace keysine
{

struct Bytes
{
	uint8_t* data;
	size_t size;
};

// Coefficients by channel and frame (channels, frames): those of the targets, those coded, and their
// quantizer steps. Coefficient k of a block is stored k frames after the first frame of the block.
struct CoefficientRecord
{
	float *wanted, *series, *steps;
	int32_t* paces; // (frames) frequencies of the coefficients, hertz
};

/* Encodes a motion: first the keys, then segments and groups in any order, on any threads.
 *
 * Functions that take an arena without memory only measure what they need. They return MOCPACK_BOUND_NOT_MET
 * if they find no encoding. */
struct Encoder
{
	// Returns MOCPACK_BOUND_NOT_MET if the groups or a number of the table are out of the format's range.
	mocpack_Status open(const mocpack_Allocator& allocator, const Job& job_);

	Job job;
	Constants constants;
	Grouping grouping;
	Plan plan;
	Rig rig;
	double* inverse_axes; // (tracks, 9)
	bool hinged;		  // whether a track moves along hinges, or is clamped to their limits
	// a linked list per parent of its children with a hinge in their subtree; -1 ends it
	int32_t *first_hinged, *next_hinged; // (J)
	int32_t most_hinged;				 // length of the longest list
	Leeway leeway;
	double steps[STEPS];
	Bits bits;
	int least_splits;		  // minimum halvings of a group, so that no block is too long
	uint8_t* usable_splits;	  // (groups) maximum halvings for which all keys are valid
	CoefficientRecord record; // that groups fill, if it is not empty

	size_t key_count() const
	{
		return (job.group_count << job.splits) + 1;
	}

  private:
	bool lay_out(Arena* arena);

	Buffer<uint8_t> memory_;
};

// Finds all keys (key_count, channels) that groups may have. Refines the key steps of the table and of the
// plan.
mocpack_Status encode_keys(Encoder* encoder, int32_t* keys, Arena* arena);

// Writes the keys (count, channels) at the ends of the groups of a segment.
mocpack_Status encode_segment(const Encoder& encoder, int32_t* keys, size_t count, Arena* arena,
							  Bytes* segment);

// The bytes of a group, in the arena's memory; none for a group of one frame.
struct EncodedGroup
{
	Bytes bytes;
	double work; // the numbers that its searches have computed
};

// Encodes a group. keys: all that it may have, from the one at its start on.
mocpack_Status encode_group(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
							EncodedGroup* encoded);

// Encodes a group on a grid in time: keysine/encode/grid_search.cpp.
mocpack_Status encode_grid(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
						   Bytes* bytes);

// Computes the mean prediction errors (channels) of a group in grid mode over its frames, in 1/256 step.
mocpack_Status measure_grid(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
							double* errors);

// Returns whether the task has stopped the search.
bool is_stopped(const Encoder& encoder);

// Writes the checksum of a body that begins two bytes after `dst`. Returns both; nothing if the body is
// empty.
Bytes seal(uint8_t* dst, size_t body_size);

const size_t KEY_SHARES = 6;  // maximum symbol intervals of a number of a key
const size_t CELL_SHARES = 5; // and of a coefficient; the margins have room for those of blocks and channels

// Returns the maximum number of symbol intervals of a group.
inline size_t group_shares(const Plan& plan, size_t length)
{
	return 64 + CELL_SHARES * plan.channel_count * widest_row(length);
}

// Returns the maximum number of bytes of a group. A group in grid mode has a number and digits per channel
// and frame.
inline size_t group_bytes(const Encoder& encoder)
{
	size_t length = encoder.grouping.longest_group();
	return 256 + (encoder.job.grid_steps ? 12 * (encoder.plan.channel_count + 1) * (length + 8)
										 : 2 * group_shares(encoder.plan, length));
}

// Writes how a group is split, then the keys (blocks + 1, channels) between those at its ends, then its
// coefficients.
bool write_group(TableWriter& writer, const Plan& plan, int32_t* keys, GroupSymbols* symbols);

void lay_out_motion_pair(MotionPair* pair, Arena* arena, const Encoder& encoder, int32_t count);

// Return whether track t is the joint's translation, or its rotation.
inline bool moves(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind == POSITION_TRACK;
}
inline bool turns(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind != POSITION_TRACK;
}

// Fills the source's side of the pair with the frames `frames[t]`.
void fill_source(MotionPair* pair, const Encoder& encoder, const size_t* frames);

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
