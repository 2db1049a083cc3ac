// The decoder of `keysine` as JavaScript sees it: a clip behind its address, parts in, frames out.
//
// One call, one check: whatever numbers a file or a caller gives, nothing outside the clip's own memory is
// touched. Results below zero are of mocpack_Status; addresses stay below 2^31, since memory ends long
// before.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "mocpack/core.h"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace
{

const uint64_t LARGEST_PIECE = 1u << 28; // bytes of one allocation
const uint32_t LONGEST_CLIP = 1u << 26;	 // frames: JavaScript finds keys exactly up to here
const uint32_t LARGEST_HEAD = 1u << 21;	 // bytes
const double UNIT_TOLERANCE = 1e-3;		 // of a quaternion's length
const double FARTHEST = 1e7;			 // metres
const size_t NO_SEGMENT = size_t(-1);

struct Clip
{
	mocpack_Skeleton skeleton;
	mocpack_KeysineHead* head;
	mocpack_KeysineLayout layout;
	size_t frame_count;
	size_t segment; // whose keys are at hand
	void *points, *indices, *head_memory, *scratch;
	int32_t* keys;					  // of one segment
	double *rotations, *translations; // of one group
};

void* take(uint64_t size)
{
	return size <= LARGEST_PIECE ? std::malloc(size_t(size ? size : 1)) : nullptr;
}

bool increasing(const int32_t* joints, size_t count, size_t limit, bool strictly)
{
	for (size_t i = 0; i < count; ++i)
		if (joints[i] < 0 || size_t(joints[i]) >= limit ||
			(i && joints[i] < joints[i - 1] + (strictly ? 1 : 0)))
			return false;
	return true;
}

bool sound(const mocpack_Skeleton& s)
{
	if (!s.joint_count || s.parents[0] != -1)
		return false;
	for (size_t j = 1; j < s.joint_count; ++j)
		if (s.parents[j] < 0 || size_t(s.parents[j]) >= j)
			return false;
	return increasing(s.end_joints, s.end_count, s.joint_count, false) &&
		   increasing(s.translated_joints, s.translated_count, s.joint_count, true);
}

uint64_t blocks_per_segment(const mocpack_KeysineLayout& l)
{
	uint64_t blocks = uint64_t(l.blocks_per_group) * l.groups_per_segment;
	return blocks < l.block_count ? blocks : l.block_count;
}

// Frames of the longest group, the key at its end included.
uint64_t longest_group(const Clip& clip)
{
	const mocpack_KeysineLayout& l = clip.layout;
	uint64_t blocks = l.blocks_per_group < l.block_count ? l.blocks_per_group : l.block_count;
	return l.block_count ? blocks * ((clip.frame_count - 1 + l.block_count - 1) / l.block_count) + 1 : 1;
}

// Whether sizes that the core counts in 32 bits stay far from wrapping.
bool countable(const Clip& clip)
{
	const mocpack_KeysineLayout& l = clip.layout;
	uint64_t padding = 8 * uint64_t(l.blocks_per_group);
	return l.channel_count * (longest_group(clip) + padding) * sizeof(int32_t) < LARGEST_PIECE;
}

mocpack_Status take_rooms(Clip* clip)
{
	const mocpack_KeysineLayout& l = clip->layout;
	if (!countable(*clip))
		return MOCPACK_NO_MEMORY;
	uint64_t scratch = mocpack_keysine_group_scratch(clip->head);
	if (scratch < mocpack_keysine_segment_scratch(clip->head))
		scratch = mocpack_keysine_segment_scratch(clip->head);
	uint64_t frames = longest_group(*clip);
	clip->scratch = take(scratch);
	clip->keys = static_cast<int32_t*>(take((blocks_per_segment(l) + 1) * l.channel_count * sizeof(int32_t)));
	clip->rotations = static_cast<double*>(take(frames * clip->skeleton.joint_count * 4 * sizeof(double)));
	clip->translations =
		static_cast<double*>(take(frames * clip->skeleton.translated_count * 3 * sizeof(double)));
	return clip->scratch && clip->keys && clip->rotations && clip->translations ? MOCPACK_OK
																				: MOCPACK_NO_MEMORY;
}

mocpack_Status open_head(Clip* clip, const uint8_t* src, uint32_t size)
{
	if (!sound(clip->skeleton) || !clip->frame_count || size > LARGEST_HEAD)
		return MOCPACK_CORRUPT;
	if (clip->frame_count > LONGEST_CLIP)
		return MOCPACK_NO_MEMORY;
	clip->head_memory = take(mocpack_keysine_head_memory(size, clip->skeleton.joint_count));
	if (!clip->head_memory)
		return MOCPACK_NO_MEMORY;
	mocpack_Status status =
		mocpack_keysine_open(src, size, &clip->skeleton, clip->frame_count, clip->head_memory, &clip->head);
	if (status != MOCPACK_OK)
		return status;
	clip->layout = mocpack_keysine_layout(clip->head);
	return take_rooms(clip);
}

bool near_enough(const double* translations, size_t count)
{
	for (size_t i = 0; i < count; ++i)
		if (!(translations[i] < FARTHEST && translations[i] > -FARTHEST)) // NaN too
			return false;
	return true;
}

} // namespace

EXPORT(allocate) void* allocate(uint32_t size)
{
	return take(size);
}

EXPORT(release) void release(void* memory)
{
	std::free(memory);
}

EXPORT(close_clip) void close_clip(Clip* clip)
{
	void* pieces[] = {clip->points, clip->indices,	 clip->head_memory,	 clip->scratch,
					  clip->keys,	clip->rotations, clip->translations, clip};
	for (void* piece : pieces)
		std::free(piece);
}

/* Opens a payload by its head. points (J + E, 3): offsets, then end sites; indices: parents (J), joints of
 * the end sites (E), translated joints (M). Both come from `allocate` and belong to the clip from then on.
 * Returns the clip's address, or a status. */
EXPORT(open_clip)
intptr_t open_clip(uint32_t joints, uint32_t ends, uint32_t moving, double* points, int32_t* indices,
				   uint32_t frame_count, const uint8_t* head, uint32_t head_size)
{
	Clip* clip = static_cast<Clip*>(std::calloc(1, sizeof(Clip)));
	if (!clip)
		return MOCPACK_NO_MEMORY;
	clip->points = points;
	clip->indices = indices;
	clip->skeleton = {joints,			indices,
					  points,			ends,
					  indices + joints, points + 3 * size_t(joints),
					  moving,			indices + joints + ends};
	clip->frame_count = frame_count;
	clip->segment = NO_SEGMENT;
	mocpack_Status status = open_head(clip, head, head_size);
	if (status == MOCPACK_OK)
		return reinterpret_cast<intptr_t>(clip);
	close_clip(clip);
	return status;
}

/* Seven numbers of 32 bits: blocks, blocks in a group, groups in a segment, segments, groups, and the address
 * of the sizes of segments and groups; then the size of the head. */
EXPORT(describe_clip) void describe_clip(const Clip* clip, uint32_t* numbers)
{
	const mocpack_KeysineLayout& l = clip->layout;
	const size_t all[] = {l.block_count,   l.blocks_per_group, l.groups_per_segment,
						  l.segment_count, l.group_count,	   reinterpret_cast<size_t>(l.sizes),
						  l.head_size};
	for (size_t i = 0; i < 7; ++i)
		numbers[i] = uint32_t(all[i]);
}

/* Reads the keys of a segment, which its groups need. */
EXPORT(read_segment) int32_t read_segment(Clip* clip, uint32_t segment, const uint8_t* src, uint32_t size)
{
	const mocpack_KeysineLayout& l = clip->layout;
	clip->segment = NO_SEGMENT;
	if (segment >= l.segment_count)
		return MOCPACK_CORRUPT;
	if (size != l.sizes[segment])
		return MOCPACK_TRUNCATED;
	uint64_t per_segment = blocks_per_segment(l), first = segment * per_segment;
	uint64_t blocks = l.block_count - first < per_segment ? l.block_count - first : per_segment;
	mocpack_Status status =
		mocpack_keysine_decode_segment(clip->head, size_t(blocks) + 1, src, size, clip->keys, clip->scratch);
	clip->segment = status == MOCPACK_OK ? segment : NO_SEGMENT;
	return status;
}

/* Decodes a group whose segment has been read; the last one has the clip's last frame as well, and a clip of
 * one frame has a group without bytes. Returns how many frames stand ready, or a status. */
EXPORT(read_group) int32_t read_group(Clip* clip, uint32_t group, const uint8_t* src, uint32_t size)
{
	const mocpack_KeysineLayout& l = clip->layout;
	bool last = size_t(group) + 1 >= l.group_count;
	if (group > 0 && group >= l.group_count)
		return MOCPACK_CORRUPT;
	if (clip->segment == NO_SEGMENT || clip->segment != group / l.groups_per_segment)
		return MOCPACK_CORRUPT;
	if (size != (l.group_count ? l.sizes[l.segment_count + group] : 0))
		return MOCPACK_TRUNCATED;
	size_t first = group * l.blocks_per_group;
	size_t end = last ? l.block_count : first + l.blocks_per_group;
	const int32_t* keys = clip->keys + (first - clip->segment * blocks_per_segment(l)) * l.channel_count;
	size_t frames = mocpack_keysine_key_frame(clip->head, end) - mocpack_keysine_key_frame(clip->head, first);
	if (frames)
	{
		mocpack_Status status = mocpack_keysine_decode_group(
			clip->head, group, keys, src, size, clip->rotations, clip->translations, clip->scratch);
		if (status != MOCPACK_OK)
			return status;
	}
	size_t joints = clip->skeleton.joint_count, moving = clip->skeleton.translated_count;
	if (last)
	{
		mocpack_keysine_pose(clip->head, keys + (end - first) * l.channel_count,
							 clip->rotations + 4 * frames * joints, clip->translations + 3 * frames * moving);
		++frames;
	}
	if (mocpack_settle_rotations(clip->rotations, frames, joints, UNIT_TOLERANCE) >= 0 ||
		!near_enough(clip->translations, 3 * frames * moving))
		return MOCPACK_CORRUPT;
	return int32_t(frames);
}

/* Where the frames of the last group stand: (T, J, 4) and (T, M, 3). */
EXPORT(rotations_of) const double* rotations_of(const Clip* clip)
{
	return clip->rotations;
}

EXPORT(translations_of) const double* translations_of(const Clip* clip)
{
	return clip->translations;
}
