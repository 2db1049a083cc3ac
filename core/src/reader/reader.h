// A reader, as its parts see it: what it was asked for, and the groups that it has decoded.
#pragma once
#include "reader/motion.h"
#include "reader/pose.h"

namespace mocpack
{

const size_t NO_GROUP = SIZE_MAX;

// What decoding a group takes, for one task at a time.
struct Lane
{
	size_t segment; // whose keys are at hand
	int32_t* keys;
	void* scratch;				// of a raw payload, one row of channels
	mocpack_KeysineSineCache sines; // that the scratch holds of the group before
	double *rotations,
		*translations; // of a group, and the key at its end; none where rows are decoded as such
	uint8_t* input;
	void* rows;	 // of a group, in the reader's numbers; null for the first lane, which decodes into slots
	void* row;	 // of one pose, as a row of a group
	void* world; // what writing one in the world takes
	mocpack_Error error;
	size_t failed_group;
};

// A group that was decoded.
struct Slot
{
	size_t group;
	uint64_t first, stop; // frames; that of the key at its end is there too
	uint64_t used;		  // by the reader's clock
	void* rows;
};

} // namespace mocpack

struct mocpack_Reader
{
	const mocpack_Motion* motion;
	bool owned; // its memory is to be given back
	size_t memory_size;
	mocpack_Precision precision;
	mocpack_Space space;
	bool decodes_floats; // rows are decoded as floats: those of a grid in time go by way of doubles
	size_t layers;
	mocpack::Rig rig;
	size_t decoded_count;		 // joints that the codec decodes, an origin included
	const uint8_t* origin_roots; // (rig.count) 1 where an origin's turn goes to the joint; null without one
	mocpack_KeysineColumns columns; // of the codec's joints
	bool all_columns;
	size_t max_frames; // of a group, with the key at its end
	size_t slot_count, lane_count;
	mocpack::Slot* slots;
	mocpack::Lane* lanes;
	size_t last_slot;
	uint64_t clock;
	mocpack_Executor executor;

	const double*
		translation_factors; // (rig.moving_count) from the codec's translations to the file's; null: all 1

	// The moving scales `part` of the way from a frame to the next.
	mocpack::MovingScales scales_at(uint64_t frame, double part = 0) const
	{
		const size_t width = 3 * motion->info.scaled_count;
		const double* at = motion->moving_scales;
		at = at ? at + size_t(frame) * width : nullptr;
		return {at, part > 0 ? at + width : at, part};
	}

	const mocpack_KeysineColumns* decoded_columns() const
	{
		return all_columns ? nullptr : &columns;
	}
	// Numbers from one row of a group to the next: an origin comes before the row that the rig knows.
	size_t row_stride() const
	{
		return 4 * decoded_count + 3 * rig.moving_count;
	}
	template <typename Number> const Number* row_of(const void* rows, uint64_t index) const
	{
		return static_cast<const Number*>(rows) + size_t(index) * row_stride() +
			   4 * (decoded_count - rig.count);
	}
};

namespace mocpack
{

// Decodes a group, and the key at its end, into rows of the reader's numbers. False, and an error, where it
// cannot be.
bool decode_group(const mocpack_Reader& reader, Lane* lane, size_t group, void* rows, mocpack_Error* error);

// Decodes the frames of a group, and the one after it, into a lane's rotations and translations, of a raw
// payload.
bool decode_raw(const mocpack_Reader& reader, const Lane& lane, size_t group, mocpack_Error* error);

// The same of a lossless payload.
bool decode_lossless(const mocpack_Reader& reader, const Lane& lane, size_t group);

// Writes the pose of a row of channels (channel_count), in metres and radians, of the joints that have a
// column.
void write_channel_pose(const mocpack_Motion& motion, const mocpack_KeysineColumns& columns,
						const double* row, double* rotations, double* translations);

// Brings the keys of a segment into a lane.
bool load_keys(const mocpack_Motion& motion, Lane* lane, size_t segment, mocpack_Error* error);

// One of the keys that a lane holds, (channels).
inline const int32_t* key_of(const mocpack_Motion& motion, const Lane& lane, size_t key)
{
	return lane.keys + (key - lane.segment * motion.layout.groups_per_segment) * motion.layout.channel_count;
}

// After the frames of a group that were just decoded: adds the pose of a key, and makes of them rows of the
// reader's numbers that are what the file's joints have: unit, of one sign in time, no joint above the roots.
// False where they are no motion.
bool finish_rows(const mocpack_Reader& reader, const Lane& lane, const int32_t* key, size_t frames,
				 void* rows);

// The slot of the group that a frame lies in, decoded now if it is not there; null, and an error, where it
// cannot be.
Slot* slot_at(mocpack_Reader* reader, uint64_t frame, mocpack_Error* error);

// How many layers are decoded where so many are asked for.
inline size_t layers_of(const mocpack_Motion& motion, uint32_t layers)
{
	size_t all = motion.layout.layer_count;
	return layers == MOCPACK_KEYS_ONLY ? 0 : layers && layers < all ? layers : all;
}

} // namespace mocpack
