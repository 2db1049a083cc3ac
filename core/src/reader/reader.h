// Internal view of a reader: its options and the groups it has decoded.
#pragma once
#include "reader/keysine_groups.h"
#include "reader/pose.h"

namespace mocpack
{

// Working memory to decode a group, for one task at a time. The scratch of a raw payload is one row of
// channels.
struct Lane : GroupLane
{
	double *rotations,
		*translations; // of a group and its closing key pose; unused if rows are decoded as floats
	void* rows;		   // of a group, in output precision; null for the first lane, which decodes into slots
	void* row;		   // one pose
	void* world;	   // scratch of write_pose
	mocpack_Error error;
	size_t failed_group;
};

// A cached group.
struct Slot
{
	size_t group;
	uint64_t first, stop; // frames; the rows also contain the closing key pose
	uint64_t used;		  // time of last use, by the reader's clock
	void* rows;
};

} // namespace mocpack

struct mocpack_Reader
{
	const mocpack_Motion* motion;
	bool owned; // whether closing frees its memory
	size_t memory_size;
	mocpack_Precision precision;
	mocpack_Space space;
	bool decodes_floats; // rows are decoded directly as floats, and not as doubles
	size_t layers;
	mocpack::Rig rig;
	size_t decoded_count;		 // joints that the codec decodes, including an added origin
	const uint8_t* origin_roots; // (rig.count) 1 for roots that inherit the rotation of an added origin; null
								 // without one
	mocpack_KeysineColumns columns; // of the codec's joints
	bool all_columns;
	size_t max_frames; // of a group, including the closing key pose
	size_t slot_count, lane_count;
	mocpack::Slot* slots;
	mocpack::Lane* lanes;
	size_t last_slot;
	uint64_t clock;
	mocpack_Executor executor;

	const double* translation_factors; // (rig.moving_count) factors from the codec's translations to the
									   // file's; null: all 1

	// Moving scales, interpolated by `part` from a frame to the next.
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
	// Numbers from one row of a group to the next. An added origin comes before the row of the rig.
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

// Decodes a group and its closing key pose into rows in output precision. Returns false and sets the error on
// failure.
bool decode_group(const mocpack_Reader& reader, Lane* lane, size_t group, void* rows, mocpack_Error* error);

// Decodes the frames of a group and the frame after it from a raw payload, into a lane's rotations and
// translations.
bool decode_raw(const mocpack_Reader& reader, const Lane& lane, size_t group, mocpack_Error* error);

// The same for a lossless payload.
bool decode_lossless(const mocpack_Reader& reader, const Lane& lane, size_t group);

// Writes the pose of a row of channels (channel_count), in meters and radians, for the joints that have a
// column.
void write_channel_pose(const mocpack_Motion& motion, const mocpack_KeysineColumns& columns,
						const double* row, double* rotations, double* translations);

// Appends a key pose to the frames of a group that were just decoded, and converts them to rows in output
// precision: normalized quaternions with continuous signs, without an added origin. Returns false if a value
// is invalid.
bool finish_rows(const mocpack_Reader& reader, const Lane& lane, const int32_t* key, size_t frames,
				 void* rows);

// Returns the slot with the group of a frame, decoding it if needed. Returns null and sets the error on
// failure.
Slot* slot_at(mocpack_Reader* reader, uint64_t frame, mocpack_Error* error);

// Returns the number of layers to decode for the option `layers`.
inline size_t layers_of(const mocpack_Motion& motion, uint32_t layers)
{
	size_t all = motion.layout.layer_count;
	return layers == MOCPACK_KEYS_ONLY ? 0 : layers && layers < all ? layers : all;
}

} // namespace mocpack
