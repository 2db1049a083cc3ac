// Reads the head of a `keysine` payload.
#include "keysine/decode/decode.h"

#include <cmath>
#include <cstring>

#include "common/checksum.h"
#include "common/crc16.h"
#include "keysine/format/head.h"
#include "keysine/format/head_symbols.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const uint32_t MAX_NUMBER = 0x7fffffff; // products fit 64 bits, and numbers a 32-bit size_t
const size_t MAX_LAYERS = MOCPACK_KEYSINE_MAX_LAYERS;

// Reads the size of the head, including this number and the checksum; 0 if truncated or too large.
size_t read_size(const uint8_t* src, size_t src_size, size_t* bytes)
{
	uint64_t value = 0;
	for (*bytes = 0; *bytes < src_size && *bytes < 5;)
	{
		uint8_t byte = src[*bytes];
		value |= uint64_t(byte & 127) << 7 * (*bytes)++;
		if (byte < 128)
			return value <= MAX_NUMBER ? size_t(value) : 0;
	}
	return 0;
}

bool check_fields(const mocpack_KeysineHead& h, mocpack_Fault* fault)
{
	// longest_group() divides by the number of groups, so check that first
	const Grouping& grouping = h.grouping;
	const double intervals = double(grouping.frames - 1);
	const double streamed_groups =
		grouping.group_frames ? std::ceil(intervals / double(grouping.group_frames)) : 0;
	return check_range(fault, "unit", h.unit, MOCPACK_KEYSINE_MIN_UNIT, MOCPACK_KEYSINE_MAX_UNIT) &&
		   check_range(fault, "tempo", h.tempo, 1, 255) &&
		   check_range(fault, "fine bits", h.fine_bits, 0, 60) &&
		   check_range(fault, "groups in a segment", double(h.groups_per_segment), 1, MAX_NUMBER) &&
		   (grouping.group_frames
				? check_range(fault, "streamed groups", double(grouping.groups), streamed_groups,
							  streamed_groups)
				: check_range(fault, "groups", double(grouping.groups),
							  grouping.frames > 1 ? 1 + double(grouping.lead) : 0, intervals)) &&
		   check_range(fault, "frames before the first group", double(grouping.lead), 0,
					   grouping.frames > 2 && !grouping.group_frames) &&
		   check_range(fault, "frames in a group",
					   double(grouping.group_frames ? grouping.group_frames : grouping.longest_group()), 0,
					   h.grid ? MOCPACK_KEYSINE_MAX_BLOCK_FRAMES : MOCPACK_KEYSINE_MAX_GROUP_FRAMES) &&
		   check_range(fault, "layers", double(h.layer_count), 1,
					   h.grid || grouping.group_frames ? 1 : MAX_LAYERS);
}

// Reads the fields before the sizes, and leaves the reader there.
mocpack_Status read_start(const uint8_t* src, size_t src_size, size_t frame_count, mocpack_KeysineHead* h,
						  TableReader* reader, mocpack_Fault* fault)
{
	size_t skipped;
	h->size = read_size(src, src_size, &skipped);
	if (h->size > src_size || (!h->size && skipped == src_size))
		return MOCPACK_TRUNCATED;
	if (h->size < skipped + 3 ||
		!checksum_matches(crc16(src, h->size - 2), uint16_t(src[h->size - 2] | src[h->size - 1] << 8)))
		return MOCPACK_CORRUPT;
	size_t bytes = h->size - 2 - skipped;
	*reader = TableReader(src + skipped, bytes);
	HeadSymbols<TableReader> symbols(*reader);
	mocpack_KeysineFields s = {};
	code_start(symbols, &s);
	h->layer_count = s.layer_count, h->fine_bits = uint8_t(s.fine_bits);
	h->tempo = int32_t(s.tempo), h->unit = double(s.unit);
	h->keys_error = s.keys_error;
	std::memcpy(h->errors, s.errors, sizeof h->errors);
	h->grid = s.mode & GRID_MODE, h->thorough = h->grid && s.mode & THOROUGH_MODE;
	h->shared = !h->grid && s.mode & SHARED_MODE;
	h->grouping = {frame_count, s.group_count, (s.mode & FIRST_FRAME_MODE) != 0, s.group_frames};
	h->groups_per_segment = s.groups_per_segment, h->predictor_count = s.predictor_count;
	// reserved: a foot lock would change poses
	if (!check_range(fault, "foot lock", s.mode & FOOT_LOCK_MODE ? 1 : 0, 0, 0))
		return MOCPACK_CORRUPT;
	if (!check_fields(*h, fault) || reader->exhausted())
		return MOCPACK_CORRUPT;
	h->segment_count =
		h->grouping.groups ? (h->grouping.groups + h->groups_per_segment - 1) / h->groups_per_segment : 1;
	// sizes and predictors need at least one bit each, so the bytes limit their number
	if (!check_range(fault, "parts", double(h->parts().count()), 0, 8.0 * double(bytes)) ||
		!check_range(fault, "predictors", double(h->predictor_count), 0, 8.0 * double(bytes)))
		return MOCPACK_CORRUPT;
	return MOCPACK_OK;
}

// Memory layout of a parsed head.
struct HeadMemory
{
	mocpack_KeysineHead* head;
	int32_t* table;
	uint32_t* sizes;
	uint8_t *shifts, *grid_steps, *initial_scales, *plan;
	Predictor* predictors;
	int32_t* first_channels;

	HeadMemory(const mocpack_KeysineHead& h, size_t joints, Arena* arena)
	{
		head = arena->allocate<mocpack_KeysineHead>(1);
		table = arena->allocate<int32_t>(joints * PLAN_COLUMNS);
		sizes = arena->allocate<uint32_t>(size_t(h.parts().count()));
		shifts = arena->allocate<uint8_t>((h.layer_count - 1) * 4 * joints);
		grid_steps = arena->allocate<uint8_t>(2 * joints);
		initial_scales = arena->allocate<uint8_t>(7 * joints);
		plan = arena->allocate<uint8_t>(plan_size(joints));
		predictors = arena->allocate<Predictor>(h.predictor_count);
		first_channels = arena->allocate<int32_t>(7 * joints);
	}

	void clear(const mocpack_KeysineHead& h, size_t joints)
	{
		std::memset(table, 0, joints * PLAN_COLUMNS * sizeof(int32_t));
		std::memset(sizes, 0, size_t(h.parts().count()) * sizeof(uint32_t));
		std::memset(shifts, 0, (h.layer_count - 1) * 4 * joints);
		std::memset(grid_steps, 0, 2 * joints);
		std::memset(initial_scales, 0, 7 * joints);
		for (size_t i = 0; i < h.predictor_count; ++i)
			predictors[i] = {};
	}
};

} // namespace

size_t mocpack_keysine_head_memory_size(const uint8_t* src, size_t src_size, size_t joints,
										size_t frame_count)
{
	mocpack_KeysineHead h = {};
	TableReader reader(nullptr, 0);
	if (read_start(src, src_size, frame_count, &h, &reader, nullptr) != MOCPACK_OK)
		return 0;
	Arena arena(nullptr);
	HeadMemory(h, joints, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
									size_t frame_count, void* memory, mocpack_KeysineHead** head,
									mocpack_Fault* fault, const mocpack_KeysineHead* like)
{
	mocpack_KeysineHead found = {};
	TableReader reader(nullptr, 0);
	mocpack_Status status = read_start(src, src_size, frame_count, &found, &reader, fault);
	if (status != MOCPACK_OK)
		return status;
	Arena arena(memory);
	HeadMemory rooms(found, skeleton->joint_count, &arena);
	rooms.clear(found, skeleton->joint_count);
	mocpack_KeysineHead* h = rooms.head;
	*h = found;
	h->sizes = rooms.sizes, h->shifts = rooms.shifts, h->grid_steps = rooms.grid_steps,
	h->initial_scales = rooms.initial_scales;
	h->predictors = rooms.predictors;
	h->plan.skeleton = skeleton, h->plan.table = rooms.table, h->plan.unit = h->unit;
	h->plan.fine = std::ldexp(1.0, -int(h->fine_bits));
	HeadSymbols<TableReader> symbols(reader);
	// hinges are relative to the parent
	if (h->shared && !check_range(fault, "hinges", double(skeleton->hinge_count), 0, 0))
		return MOCPACK_CORRUPT;
	if (!symbols.sizes(rooms.sizes, size_t(h->parts().count())))
		return MOCPACK_CORRUPT;
	symbols.plan(rooms.table, *skeleton, h->grid, h->shared);
	TrackChannels tracks(rooms.table, *skeleton, rooms.first_channels);
	if (!build_plan(&h->plan, rooms.plan, fault, like ? &like->plan : nullptr) ||
		!symbols.predictors(rooms.predictors, h->predictor_count, tracks) ||
		!symbols.shifts(rooms.shifts, h->layer_count - 1, h->plan.track_count) ||
		(h->grid && !check_range(fault, "channels of a grid", double(h->plan.channel_count), 0,
								 MOCPACK_KEYSINE_MAX_GRID_CHANNELS)) ||
		(h->grid && !symbols.grid(rooms.grid_steps, h->plan.track_count, rooms.initial_scales, tracks)) ||
		reader.exhausted() || !reader.all_read())
		return MOCPACK_CORRUPT;
	*head = h;
	return MOCPACK_OK;
}

mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* h)
{
	return {h->size,
			h->grouping.groups,
			h->groups_per_segment,
			h->segment_count,
			size_t(h->parts().count()),
			h->sizes,
			h->plan.channel_count,
			h->plan.track_count,
			h->layer_count,
			h->shifts,
			h->grouping.lead,
			h->grouping.group_frames};
}

mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* h)
{
	mocpack_KeysineFields s = {};
	s.mode = (h->grid ? GRID_MODE : 0) | (h->grouping.lead ? FIRST_FRAME_MODE : 0) |
			 (h->thorough ? THOROUGH_MODE : 0) | (h->shared ? SHARED_MODE : 0);
	s.layer_count = uint32_t(h->layer_count), s.fine_bits = h->fine_bits;
	s.tempo = uint32_t(h->tempo), s.unit = float(h->unit);
	s.group_count = uint32_t(h->grouping.groups), s.groups_per_segment = uint32_t(h->groups_per_segment);
	s.predictor_count = uint32_t(h->predictor_count), s.group_frames = uint32_t(h->grouping.group_frames);
	s.keys_error = h->keys_error;
	std::memcpy(s.errors, h->errors, sizeof h->errors);
	return s;
}

size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* h, size_t key)
{
	return h->grouping.key_frame(key);
}

const int32_t* mocpack_keysine_plan(const mocpack_KeysineHead* h)
{
	return h->plan.table;
}

const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* h)
{
	return reinterpret_cast<const int32_t*>(h->predictors);
}

const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* h)
{
	return h->grid ? h->grid_steps : nullptr;
}
