// Decodes frames of one group of a keysine payload.
#pragma once
#include "reader/motion.h"

namespace mocpack
{

const size_t NO_GROUP = SIZE_MAX;
const size_t MAX_RANGES = 2 * MOCPACK_KEYSINE_MAX_LAYERS; // of the bytes of neighboring groups

// Working memory to decode groups, for one task at a time.
struct GroupLane
{
	Bytes bytes;	   // of the file
	size_t segment;	   // whose key poses are loaded; NO_GROUP: none
	size_t key_layers; // layers that refined them
	size_t key_count;  // how many of them are loaded
	size_t last_key;   // later key poses are not needed
	int32_t* keys;	   // (keys of the longest segment, channels)
	uint8_t* input;	   // (largest_input) unused if the file is in memory
	void* scratch;
	mocpack_KeysineSineCache sines; // tables in the scratch from the previous group
};

// Where decoded frames are written: as doubles, or as rows of floats.
struct FrameArrays
{
	const mocpack_KeysineColumns* columns; // null: all joints
	size_t rotation_count, translation_count;
	double* rotations;	   // (T, rotation_count, 4)
	double* translations;  // (T, translation_count, 3)
	float* rows = nullptr; // (T, stride) in place of both; null: use doubles
	size_t stride = 0;
	bool rotations_only = false; // rows have no translations

	// Returns the arrays without their first `frames`.
	FrameArrays after(size_t frames) const
	{
		FrameArrays rest = *this;
		rest.rotations += rows ? 0 : 4 * frames * rotation_count;
		rest.translations += rows ? 0 : 3 * frames * translation_count;
		rest.rows += rows ? frames * stride : 0;
		return rest;
	}
};

// Loads the key poses of a segment that a lane needs, refined by this many layers; 0: by all that are
// complete. If it needs more of them later, all are loaded.
bool load_keys(const mocpack_Motion& motion, GroupLane* lane, size_t segment, size_t layers,
			   mocpack_Error* error);

// Returns a loaded key pose (channels).
inline const int32_t* key_of(const mocpack_Motion& motion, const GroupLane& lane, size_t key)
{
	return lane.keys + (key - lane.segment * motion.layout.groups_per_segment) * motion.layout.channel_count;
}

// Finds the byte ranges of groups first … last in the file: of their key poses if `with_keys`, then of each
// layer; without layers, of the key poses in all layers. Returns their number, at most MAX_RANGES.
size_t find_ranges(const mocpack_Motion& motion, size_t first, size_t last, size_t max_layers, bool with_keys,
				   mocpack_Range* ranges);

// Reports what is wrong with a group. Returns false, for callers to return.
bool fail_group(const mocpack_Motion& motion, size_t group, mocpack_Status status, const char* reason,
				mocpack_Error* error);

// Decodes frames first … stop - 1 of a group, counted from its first key pose.
bool decode_group_frames(const mocpack_Motion& motion, GroupLane* lane, size_t group, size_t first,
						 size_t stop, size_t max_layers, const FrameArrays& out, mocpack_Error* error);

// Decodes a loaded key pose.
void decode_key(const mocpack_Motion& motion, const int32_t* key, const FrameArrays& out);

// Normalizes decoded quaternions and makes their signs continuous. Returns false if a value is invalid.
bool normalize_frames(double* rotations, double* translations, size_t frames, size_t joints, size_t moving);

} // namespace mocpack
