// The decoder of `keysine` as JavaScript sees it: parts of a payload in, frames out.
//
// An instance plays one clip: memory is handed out once, and goes when the instance goes. Whatever numbers a
// file gives, nothing but that memory is touched. Results below zero are of mocpack_Status.
#include <cstdint>
#include <cstring>

#include "common/skeleton.h"
#include "kernels/quaternions.h"
#include "keysine/decode/decode.h"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

extern "C" uint8_t __heap_base; // where the linker's part of memory ends

namespace
{

const uint64_t PAGE = 65536;
const uint64_t LARGEST_PIECE = 1u << 28; // bytes handed out at once
const uint32_t LONGEST_CLIP = 1u << 26;	 // frames: JavaScript finds keys exactly up to here
const uint32_t LARGEST_HEAD = 1u << 21;	 // bytes
const double UNIT_TOLERANCE = 1e-3;		 // of a quaternion's length
const double FARTHEST = 1e7;			 // metres
const size_t MOST_LAYERS = 16;
const uint32_t NO_SEGMENT = 0xffffffffu;

struct Clip
{
	mocpack_Skeleton skeleton;
	mocpack_KeysineHead* head;
	mocpack_KeysineLayout layout;
	size_t frame_count;
	uint32_t segment; // whose keys are at hand
	void* scratch;
	int32_t* keys;					  // of one segment
	double *rotations, *translations; // of one group
};

Clip clip;
uint64_t heap_end = 0; // of what was handed out
uint64_t most_memory = 1000000000;

// Memory that is never given back, of any content; null where there is too little.
void* take(uint64_t size)
{
	uint64_t first = (reinterpret_cast<uintptr_t>(&__heap_base) + 31) / 32 * 32;
	uint64_t start = heap_end ? heap_end : first;
	uint64_t end = start + (size + 31) / 32 * 32, have = PAGE * __builtin_wasm_memory_size(0);
	if (size > LARGEST_PIECE || end - first > most_memory)
		return nullptr;
	if (end > have && __builtin_wasm_memory_grow(0, size_t((end - have + PAGE - 1) / PAGE)) == size_t(-1))
		return nullptr;
	heap_end = end;
	return reinterpret_cast<void*>(uintptr_t(start));
}

bool increasing(const int32_t* joints, size_t count, size_t limit, int32_t step)
{
	for (size_t i = 0; i < count; ++i)
		if (joints[i] < 0 || size_t(joints[i]) >= limit || (i && joints[i] < joints[i - 1] + step))
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
	return increasing(s.end_joints, s.end_count, s.joint_count, 0) &&
		   increasing(s.translated_joints, s.translated_count, s.joint_count, 1);
}

uint64_t groups_per_segment(const mocpack_KeysineLayout& l)
{
	return l.groups_per_segment < l.group_count ? l.groups_per_segment : l.group_count;
}

// Frames of the longest group, the key at its end included.
uint64_t longest_group(const mocpack_KeysineLayout& l)
{
	uint64_t even = l.group_count - l.first_frame_alone,
			 intervals = clip.frame_count - 1 - l.first_frame_alone;
	return l.group_count ? (intervals + even - 1) / even + 1 : 1;
}

mocpack_Status take_rooms()
{
	const mocpack_KeysineLayout& l = clip.layout;
	const uint64_t frames = longest_group(l), padding = 16 << MOCPACK_KEYSINE_MOST_SPLITS;
	// sizes that the core counts in 32 bits must stay far from wrapping
	if (l.channel_count * (frames + padding) * sizeof(int32_t) > LARGEST_PIECE)
		return MOCPACK_NO_MEMORY;
	size_t for_group = mocpack_keysine_group_scratch(clip.head);
	size_t for_segment = mocpack_keysine_segment_scratch(clip.head);
	clip.scratch = take(for_group > for_segment ? for_group : for_segment);
	clip.keys = static_cast<int32_t*>(take((groups_per_segment(l) + 1) * l.channel_count * sizeof(int32_t)));
	clip.rotations = static_cast<double*>(take(frames * clip.skeleton.joint_count * 4 * sizeof(double)));
	clip.translations =
		static_cast<double*>(take(frames * clip.skeleton.translated_count * 3 * sizeof(double)));
	return clip.scratch && clip.keys && clip.rotations && clip.translations ? MOCPACK_OK : MOCPACK_NO_MEMORY;
}

struct Layers
{
	const uint8_t* src[MOST_LAYERS];
	size_t sizes[MOST_LAYERS];
};

// Where each layer of a group begins; false where they do not make up exactly these bytes.
bool find_layers(uint32_t group, const uint8_t* src, uint32_t size, Layers* layers)
{
	const mocpack_KeysineLayout& l = clip.layout;
	uint64_t at = 0;
	for (size_t i = 0; i < l.layer_count && i < MOST_LAYERS && l.group_count; ++i)
	{
		layers->src[i] = src + at;
		layers->sizes[i] = l.sizes[l.segment_count + i * l.group_count + group];
		at += layers->sizes[i];
		if (at > size)
			return false;
	}
	return at == size;
}

// Settles what was decoded, as a Clip in Python does; false where it is no motion.
bool settle(size_t frames)
{
	size_t joints = clip.skeleton.joint_count, count = 3 * frames * clip.skeleton.translated_count;
	for (size_t i = 0; i < count; ++i)
		if (!(clip.translations[i] < FARTHEST && clip.translations[i] > -FARTHEST)) // NaN too
			return false;
	return mocpack_rotations_settled(clip.rotations, frames, joints) ||
		   mocpack_settle_rotations(clip.rotations, frames, joints, UNIT_TOLERANCE) < 0;
}

} // namespace

/* The most bytes that a clip may take. */
EXPORT(limit_memory) void limit_memory(uint32_t bytes)
{
	most_memory = bytes;
}

/* Memory for what the other functions read; null where there is too little. */
EXPORT(allocate) void* allocate(uint32_t size)
{
	return take(size);
}

/* Where the part of memory ends that a copy of a started instance needs. */
EXPORT(image_size) const void* image_size()
{
	return &__heap_base;
}

/* Opens a payload by its head. points (J + E, 3): offsets, then end sites; indices: parents (J), joints of
 * the end sites (E), translated joints (M). Both must stay as they are. */
EXPORT(open_clip)
int32_t open_clip(uint32_t joints, uint32_t ends, uint32_t moving, const double* points,
				  const int32_t* indices, uint32_t frame_count, const uint8_t* head, uint32_t head_size)
{
	clip.skeleton = {joints,		   indices,
					 points,		   ends,
					 indices + joints, points + 3 * size_t(joints),
					 moving,		   indices + joints + ends};
	clip.frame_count = frame_count;
	clip.segment = NO_SEGMENT;
	if (!sound(clip.skeleton) || !frame_count || head_size > LARGEST_HEAD)
		return MOCPACK_CORRUPT;
	if (frame_count > LONGEST_CLIP)
		return MOCPACK_NO_MEMORY;
	void* memory = take(mocpack_keysine_head_memory(head, head_size, joints, frame_count));
	if (!memory)
		return MOCPACK_NO_MEMORY;
	mocpack_Status status =
		mocpack_keysine_open(head, head_size, &clip.skeleton, frame_count, memory, &clip.head, nullptr);
	if (status != MOCPACK_OK)
		return status;
	clip.layout = mocpack_keysine_layout(clip.head);
	return take_rooms();
}

/* Where things stand, as mocpack_KeysineLayout has it, in numbers of 32 bits. */
EXPORT(describe_clip) const mocpack_KeysineLayout* describe_clip()
{
	return &clip.layout;
}

/* Reads the keys of a segment, which its groups need. */
EXPORT(read_segment) int32_t read_segment(uint32_t segment, const uint8_t* src, uint32_t size)
{
	const mocpack_KeysineLayout& l = clip.layout;
	clip.segment = NO_SEGMENT;
	if (segment >= l.segment_count || size != l.sizes[segment])
		return MOCPACK_TRUNCATED;
	uint64_t most = groups_per_segment(l), left = l.group_count - segment * most;
	mocpack_Status status = mocpack_keysine_decode_segment(clip.head, size_t(left < most ? left : most) + 1,
														   src, size, clip.keys, clip.scratch);
	clip.segment = status == MOCPACK_OK ? segment : NO_SEGMENT;
	return status;
}

/* Decodes a group whose segment has been read, from its layers one after another. The last group has the
 * clip's last frame as well; a clip of one frame has a group without bytes. Returns how many frames stand
 * ready, or a status. */
EXPORT(read_group) int32_t read_group(uint32_t group, const uint8_t* src, uint32_t size)
{
	const mocpack_KeysineLayout& l = clip.layout;
	const bool last = size_t(group) + 1 >= l.group_count;
	if (group && group >= l.group_count)
		return MOCPACK_CORRUPT;
	if (clip.segment == NO_SEGMENT || clip.segment != group / l.groups_per_segment)
		return MOCPACK_CORRUPT;
	Layers layers;
	if (!find_layers(group, src, size, &layers))
		return MOCPACK_TRUNCATED;
	const int32_t* keys = clip.keys + (group - clip.segment * groups_per_segment(l)) * l.channel_count;
	size_t end = l.group_count ? group + 1 : 0;
	size_t frames = mocpack_keysine_key_frame(clip.head, end) - mocpack_keysine_key_frame(clip.head, group);
	mocpack_Status status = MOCPACK_OK;
	if (frames)
		status = mocpack_keysine_decode_group(clip.head, group, keys, layers.src, layers.sizes, l.layer_count,
											  nullptr, clip.rotations, clip.translations, clip.scratch);
	if (status != MOCPACK_OK)
		return status;
	if (last)
	{
		mocpack_keysine_pose(clip.head, keys + (end - group) * l.channel_count, nullptr,
							 clip.rotations + 4 * frames * clip.skeleton.joint_count,
							 clip.translations + 3 * frames * clip.skeleton.translated_count);
		++frames;
	}
	return settle(frames) ? int32_t(frames) : int32_t(MOCPACK_CORRUPT);
}

/* Where the frames of the last group stand: (T, J, 4) and (T, M, 3). */
EXPORT(rotations) const double* rotations()
{
	return clip.rotations;
}

EXPORT(translations) const double* translations()
{
	return clip.translations;
}
