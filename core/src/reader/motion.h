// An open file, as the parts of the reader see it. Nothing changes it once it is open.
#pragma once
#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "reader/memory.h"
#include "reader/error_message.h"

namespace mocpack
{

// The bytes of a file: at hand, or by a callback.
struct Bytes
{
	const uint8_t* all; // null: by the callback
	mocpack_Source source;
	uint64_t start; // of the file in the callback's bytes: that of a scene's clip begins later

	// Bytes offset … offset + size - 1, which lie within the file: where they stand, or copied to `buffer`.
	// Null, and an error, where they cannot be had.
	const uint8_t* view(uint64_t offset, uint64_t size, void* buffer, mocpack_Error* error) const;
};

// When joints were seen: joint `joints[i]` first as `first[i]` says, then the other way from each of its
// changes on.
struct Gaps
{
	size_t joint_count;
	int32_t* joints;
	uint8_t* first;
	size_t* starts;	   // (joint_count + 1) where each one's changes begin
	uint64_t* changes; // frames, increasing
};

// The rotation channels of a joint, outermost first, as SKEL numbers them; of more than two, only how many.
struct RotationChannels
{
	uint8_t turns, codes[2];

	static const uint8_t FIRST = 6, FIRST_FIXED = 9; // those of BVH, which turn with the joint; those of ASF

	int axis(int i) const // 0 x, 1 y, 2 z
	{
		return (codes[i] - FIRST) % 3;
	}
};

// The channels of a joint in the order of the source, as SKEL numbers them.
struct ChannelLayout
{
	static const size_t MOST = 12;
	uint8_t count, codes[MOST];
};

// What decodes the frames of a file.
enum Codec : uint8_t
{
	KEYSINE,
	RAW,
	LOSSLESS,
};

// A raw payload: which channels it stores for every frame, and the value of the others.
struct RawPayload
{
	const int32_t* stored; // (stored_count) channels, increasing
	size_t stored_count;
	const double* still;  // (channel_count) 0 where a channel is stored
	uint64_t rows_offset; // where in the file the first frame stands

	uint64_t row_size() const // bytes of a frame
	{
		return 4 * uint64_t(stored_count);
	}
};

// Where the payload stands in the file.
struct PayloadPlace
{
	uint64_t offset, size; // of what there is
	uint64_t missing;	   // bytes that a cut file lacks
	uint32_t checksum;	   // of the chunk
};

// What a vertex animation moves.
struct Mesh
{
	uint64_t vertex_count, face_count;
	const int32_t* faces; // (faces, 3)
};

struct Chunks;

// A lossless payload, decoded: one of the two.
struct LosslessPayload
{
	double* channels; // (frames, column_count) in the source's units and degrees
	double* motion;	  // (frames, column_count) rotations, then translations of the codec's joints
	size_t column_count;
};

} // namespace mocpack

struct mocpack_Motion
{
	mocpack::Memory memory;
	mocpack::Bytes bytes;
	mocpack_Info info;
	mocpack::PayloadPlace payload;
	// Of a file that was opened up to its payload only.
	bool is_vertices;
	mocpack::Mesh mesh;
	mocpack_Text needed;		   // parameters without which the payload cannot be decoded
	const mocpack::Chunks* chunks; // with their bodies
	mocpack::Gaps gaps;
	mocpack::RotationChannels* channels; // (J)
	double* channel_frames;				 // (J, 4) that channels turn in; null: none
	mocpack::ChannelLayout* layouts;
	int32_t* layout_of;	   // (J) which of these a joint has
	size_t channel_count;  // of all joints
	int32_t* hinge_joints; // as in mocpack_Skeleton: by joint, those of one joint in their order
	int32_t* hinge_rows;   // which of the source's rows each one is
	uint8_t* hinge_slides;
	double* hinge_axes;
	double* hinge_limits;
	double* moving_scales;	 // (frames, S, 3) of info.scaled_joints; null: none move
	double* translation_factors;	 // (M) from the codec's translations to the clip's; null: all 1
	uint64_t* track_offsets; // (tracks) where in the file the body of each one's chunk stands

	// What the codec knows: one tree, below a joint at the origin where the file has several.
	mocpack_Skeleton tree;
	size_t origins; // 1 where there is such a joint, else 0
	mocpack::Codec codec;
	mocpack::RawPayload raw;
	mocpack::LosslessPayload lossless;
	// Frames of a group, of codecs other than keysine: their groups are spans of frames. `layout` has only
	// their number.
	size_t frames_per_group;
	mocpack_KeysineHead* head;
	mocpack_KeysineLayout layout;
	uint64_t*
		part_offsets;	  // (parts + 1) where in the file each segment, and each group of each layer, begins
	uint64_t payload_end; // of what there is of the payload, in the file
	size_t longest_group; // frames, without the key at its end
	size_t largest_input; // bytes of a segment, or of all layers of a group

	explicit mocpack_Motion(const mocpack::Memory& own) : memory(own)
	{
	}

	size_t group_part(size_t layer, size_t group) const
	{
		return layout.segment_count + layer * layout.group_count + group;
	}

	// Groups, of which a clip of one frame has one without bytes.
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

	// Keys that a segment holds, the one at the end of its last group included.
	size_t keys_in_segment(size_t segment) const
	{
		size_t most = layout.groups_per_segment, left = layout.group_count - segment * most;
		return (left < most ? left : most) + 1;
	}

	size_t segment_of(size_t group) const
	{
		return layout.group_count ? group / layout.groups_per_segment : 0;
	}

	// Layers of a group whose bytes are all there, up to `most`.
	size_t whole_layers(size_t group, size_t most) const
	{
		size_t count = 0;
		while (count < most && part_offsets[group_part(count, group) + 1] <= payload_end)
			++count;
		return count;
	}
};
