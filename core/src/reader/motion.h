// Internal view of an open file, which is immutable.
#pragma once
#include <new>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "keysine/format/parts.h"
#include "reader/error_message.h"
#include "reader/memory.h"

namespace mocpack
{

// The bytes of a file, in memory or behind a callback.
struct Bytes
{
	const uint8_t* all; // null: use the callback
	mocpack_Source source;
	uint64_t start; // offset of the file in the callback's bytes; above 0 for a clip of a scene

	// Returns bytes offset … offset + size - 1, which must lie inside the file: a pointer into memory, or a
	// copy in `buffer`. Returns null and sets the error on failure.
	const uint8_t* view(uint64_t offset, uint64_t size, void* buffer, mocpack_Error* error) const;

	// Returns the same bytes, copied to allocated memory if the file is not in memory. `what` names them in
	// errors. `unload` frees them.
	const uint8_t* load(uint64_t offset, uint64_t size, const char* what, Memory* memory,
						mocpack_Error* error) const;
	void unload(const uint8_t* bytes, Memory* memory) const
	{
		if (!all)
			memory->release(const_cast<uint8_t*>(bytes));
	}
};

// When joints were captured: the flag of joint `joints[i]` starts as `first[i]` and flips at each of its
// changes.
struct Gaps
{
	size_t joint_count;
	int32_t* joints;
	uint8_t* first;
	size_t* starts;	   // (joint_count + 1) index of the first change of each joint
	uint64_t* changes; // frames, increasing
};

// The rotation channels of a joint, outermost first, numbered as in SKEL. Codes are kept for at most two.
struct RotationChannels
{
	uint8_t turns, codes[2];

	static const uint8_t FIRST = 6,
						 FIRST_FIXED = 9; // first codes of BVH, whose axes turn with the joint, and of ASF

	int axis(int i) const // 0 x, 1 y, 2 z
	{
		return (codes[i] - FIRST) % 3;
	}
};

// The channels of a joint in source order, numbered as in SKEL.
struct ChannelLayout
{
	static const size_t MOST = 12;
	uint8_t count, codes[MOST];
};

// The codec of a file.
enum Codec : uint8_t
{
	KEYSINE,
	RAW,
	LOSSLESS,
};

// A raw payload: the channels stored per frame, and the constant values of the others.
struct RawPayload
{
	const int32_t* stored; // (stored_count) channels, increasing
	size_t stored_count;
	const double* still;  // (channel_count) constant values; 0 for stored channels
	uint64_t rows_offset; // offset of the first frame in the file

	uint64_t row_size() const // bytes per frame
	{
		return 4 * uint64_t(stored_count);
	}
};

// Position of the payload in the file.
struct PayloadPlace
{
	uint64_t offset, size; // of the bytes that exist
	uint64_t missing;	   // bytes missing from a truncated file
	uint32_t checksum;	   // of the chunk
};

// The mesh of a vertex animation.
struct Mesh
{
	uint64_t vertex_count, face_count;
	const int32_t* faces; // (faces, 3)
};

struct Chunks;

// A decoded lossless payload; only one of the arrays is set.
struct LosslessPayload
{
	double* channels; // (frames, column_count) in the source's units and degrees
	double* motion;	  // (frames, column_count) rotations, then translations of the codec's joints
	size_t column_count;
};

} // namespace mocpack

// `mocpack_Motion()` is all zeros, whatever its memory held.
struct mocpack_Motion
{
	mocpack::Memory memory;
	mocpack::Bytes bytes;
	mocpack_Info info;
	mocpack::PayloadPlace payload;
	// The next six fields are for files opened without their payload.
	bool is_vertices;
	mocpack::Mesh mesh;
	mocpack_Text needed;		   // parameters that a decoder must know
	const mocpack::Chunks* chunks; // including their bodies
	bool shares_skeleton;		   // with the clip that open_clip was given; only joints were counted
	bool shares_metadata;
	mocpack::Gaps gaps;
	mocpack::RotationChannels* channels; // (J)
	double* channel_frames;				 // (J, 4) frames in which channels rotate; null: none
	mocpack::ChannelLayout* layouts;
	int32_t* layout_of;	   // (J) index of each joint's layout
	size_t channel_count;  // of all joints
	int32_t* hinge_joints; // as in mocpack_Skeleton: sorted by joint
	int32_t* hinge_rows;   // index of each hinge in the order of the source
	uint8_t* hinge_slides;
	double* hinge_axes;
	double* hinge_limits;
	double* moving_scales;		 // (frames, S, 3) of info.scaled_joints; null: none
	double* translation_factors; // (M) factors from the codec's translations to the clip's; null: all 1
	uint64_t* track_offsets;	 // (tracks) offset of each chunk's body in the file

	// The codec's skeleton: one tree. Several roots become children of an added joint at the origin.
	mocpack_Skeleton tree;
	size_t origins; // 1 if there is an added origin, else 0
	mocpack::Codec codec;
	mocpack::RawPayload raw;
	mocpack::LosslessPayload lossless;
	// Frames per group, for codecs other than keysine. `layout` then holds only the number of groups.
	size_t frames_per_group;
	mocpack_KeysineHead* head;
	mocpack_KeysineLayout layout;
	uint64_t* part_offsets; // (parts + 1) file offset of each part
	uint64_t payload_end;	// end of the existing payload bytes in the file
	size_t longest_group;	// frames, without the closing key pose
	size_t largest_input;	// maximum bytes of a segment's part, or of all parts of a group

	mocpack::keysine::PartOrder parts() const
	{
		return {layout.group_count, layout.groups_per_segment, layout.segment_count, layout.layer_count,
				layout.group_frames != 0};
	}

	// A clip of one frame has one group without bytes.
	size_t group_count() const
	{
		return layout.group_count ? layout.group_count : 1;
	}

	size_t key_frame(size_t key) const
	{
		if (codec == mocpack::KEYSINE)
			return mocpack_keysine_key_frame(head, key);
		const size_t last = size_t(info.frame_count) - 1;
		return key < layout.group_count ? key * frames_per_group : last;
	}

	size_t group_at(uint64_t frame) const
	{
		size_t low = 0, high = group_count() - 1;
		while (low < high)
		{
			size_t middle = high - (high - low) / 2;
			if (key_frame(middle) <= frame)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	// Returns the number of key poses of a segment, including the closing one of its last group.
	size_t keys_in_segment(size_t segment) const
	{
		size_t most = layout.groups_per_segment, left = layout.group_count - segment * most;
		return (left < most ? left : most) + 1;
	}

	size_t segment_of(size_t group) const
	{
		return layout.group_count ? group / layout.groups_per_segment : 0;
	}

	// Returns the number of complete layers of a group, at most `most`.
	size_t whole_layers(size_t group, size_t most) const
	{
		size_t count = 0;
		while (count < most && part_offsets[parts().group(count, group) + 1] <= payload_end)
			++count;
		return count;
	}

	// Returns the number of layers of which the key poses of a segment are complete.
	size_t whole_key_layers(size_t segment) const
	{
		size_t count = 1;
		while (count < layout.layer_count && part_offsets[parts().segment(count, segment) + 1] <= payload_end)
			++count;
		return count;
	}

	// Returns the end of a layer, counted like the part offsets.
	uint64_t layer_end(size_t layer) const
	{
		return part_offsets[parts().start(layer + 1)];
	}
};

namespace mocpack
{

// Allocates a motion, whose other fields are zero; null if there is too little memory.
inline mocpack_Motion* make_motion(Memory memory)
{
	void* place = memory.allocate(sizeof(mocpack_Motion));
	if (!place)
		return nullptr;
	mocpack_Motion* motion = new (place) mocpack_Motion();
	motion->memory = memory;
	return motion;
}

} // namespace mocpack
