// Reads the head of a `keysine` payload.
#include "keysine/decode/head.h"

#include <cmath>
#include <cstring>

#include "common/arena.h"
#include "common/crc16.h"
#include "keysine/decode/curves.h"
#include "keysine/decode/head_symbols.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const uint64_t LARGEST_NUMBER = 0x7fffffff; // so that products fit 64 bits, and numbers a 32-bit size_t
const size_t MOST_LAYERS = MOCPACK_KEYSINE_MOST_LAYERS;
const uint32_t GRID_MODE = 1, FIRST_FRAME_ALONE_MODE = 2, THOROUGH_MODE = 4; // lower bits of the mode
const float SMALLEST_UNIT = 1e-45f;											 // the least float above zero
const uint32_t MODE_BITS = GRID_MODE | FIRST_FRAME_ALONE_MODE | THOROUGH_MODE;

// Reads fields and remembers whether it ran past the end.
struct Fields
{
	const uint8_t *at, *end;
	bool short_of = false;

	uint32_t byte()
	{
		if (at < end)
			return *at++;
		short_of = true;
		return 0;
	}

	size_t varint()
	{
		uint64_t value = 0;
		for (int shift = 0; shift < 63; shift += 7)
		{
			uint32_t b = byte();
			value |= uint64_t(b & 127) << shift;
			if (b < 128 && value <= LARGEST_NUMBER)
				return size_t(value);
			if (b < 128)
				break;
		}
		short_of = true;
		return 0;
	}
};

float read_float(const uint8_t* p)
{
	uint32_t bits = uint32_t(p[0]) | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
	float value;
	std::memcpy(&value, &bits, 4);
	return value;
}

// Whether the fields before the coded part are in their ranges.
bool plausible(const mocpack_KeysineHead& h, uint32_t mode, mocpack_Fault* fault)
{
	if (!within(fault, "mode", mode & 15, 0, MODE_BITS) ||
		!within(fault, "thorough forecast without a grid in time", h.thorough, 0, h.grid) ||
		!within(fault, "fine grid's bits", h.fine_bits, 0, 60) ||
		!within(fault, "axes' bits", h.basis_bits, 0, 20) ||
		!within(fault, "model set", h.model, 0, model_sets() - 1) ||
		!within(fault, "tempo", h.tempo, 1, 255) || !within(fault, "unit", h.unit, SMALLEST_UNIT, 1e6))
		return false;
	double frames = double(h.cut.frames), lead = double(h.cut.lead);
	if (!within(fault, "frames before even blocks", lead, 0, frames > 2) ||
		!within(fault, "blocks", double(h.cut.blocks), frames > 1 ? 1 + lead : 0, frames - 1))
		return false;
	double longest = double(h.cut.longest_block());
	if (!within(fault, "frames of a block", longest, 0, MOCPACK_KEYSINE_LONGEST_BLOCK))
		return false;
	double most = h.grid		? 1
				  : longest > 0 ? std::floor(MOCPACK_KEYSINE_LONGEST_GROUP / longest)
								: double(LARGEST_NUMBER);
	return within(fault, "blocks of a group", double(h.blocks_per_group), 1, most) &&
		   within(fault, "groups of a segment", double(h.groups_per_segment), 1, double(LARGEST_NUMBER)) &&
		   within(fault, "layers", double(h.layer_count), 1, h.grid ? 1 : double(MOST_LAYERS));
}

} // namespace

size_t mocpack_keysine_head_memory(size_t src_size, size_t joints)
{
	return sizeof(mocpack_KeysineHead) + plan_size(joints) + joints * PLAN_COLUMNS * sizeof(int32_t) +
		   MOST_LAYERS * (1 + 2 * joints) + 9 * joints + 32 * src_size + sizeof(Models) + 20 * 64;
}

mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
									size_t frame_count, void* memory, mocpack_KeysineHead** head,
									mocpack_Fault* fault)
{
	Arena arena(memory);
	mocpack_KeysineHead* h = arena.take<mocpack_KeysineHead>(1);
	if (fault)
		*fault = {};
	Fields in = {src, src + src_size};
	h->size = in.varint();
	if (in.short_of || h->size > src_size)
		return MOCPACK_TRUNCATED;
	if (!within(fault, "size", double(h->size), 12, double(src_size)))
		return MOCPACK_CORRUPT;
	uint16_t stated = uint16_t(src[h->size - 2] | src[h->size - 1] << 8);
	if (!within(fault, "checksum", crc16(src, h->size - 2), stated, stated))
		return MOCPACK_CORRUPT;
	in.end = src + h->size - 2;
	uint32_t mode = in.byte();
	h->layer_count = 1 + (mode >> 4);
	h->model = int32_t(in.byte());
	h->fine_bits = int32_t(in.byte());
	h->basis_bits = int32_t(in.byte());
	h->coarse = int32_t(in.byte());
	h->tempo = int32_t(in.byte());
	h->grid = mode & GRID_MODE, h->thorough = mode & THOROUGH_MODE;
	if (!within(fault, "bytes after the tempo", double(in.end - in.at), 4, double(src_size)))
		return MOCPACK_CORRUPT;
	h->unit = double(read_float(in.at));
	in.at += 4;
	h->cut.frames = frame_count;
	h->cut.lead = (mode & FIRST_FRAME_ALONE_MODE) != 0;
	h->cut.blocks = in.varint();
	h->blocks_per_group = in.varint();
	h->groups_per_segment = in.varint();
	uint8_t* refined = arena.take<uint8_t>(MOST_LAYERS);
	for (size_t l = 0; l + 1 < h->layer_count; ++l)
		refined[l] = uint8_t(in.byte());
	if (in.short_of || !plausible(*h, mode, fault))
		return MOCPACK_CORRUPT;
	h->group_count = (h->cut.blocks + h->blocks_per_group - 1) / h->blocks_per_group;
	h->segment_count =
		h->group_count ? (h->group_count + h->groups_per_segment - 1) / h->groups_per_segment : 1;
	// a size costs more than a bit, so this many bytes bound how many there are; neither product overflows,
	// since there are fewer groups than frames and at most 16 layers
	size_t count = h->segment_count + h->layer_count * h->group_count, bytes = size_t(in.end - in.at);
	if (!within(fault, "segments and groups", double(count), 0, 8.0 * double(bytes)))
		return MOCPACK_CORRUPT;
	int32_t* table = arena.take<int32_t>(skeleton->joint_count * PLAN_COLUMNS);
	uint32_t* sizes = arena.take<uint32_t>(count);
	uint8_t* shifts = arena.take<uint8_t>((h->layer_count - 1) * 2 * skeleton->joint_count);
	uint8_t* grid_steps = arena.take<uint8_t>(2 * skeleton->joint_count);
	uint8_t* scales = arena.take<uint8_t>(7 * skeleton->joint_count);
	Models* models = arena.take<Models>(1);
	start_models(models, h->model);
	std::memset(table, 0, skeleton->joint_count * PLAN_COLUMNS * sizeof(int32_t));
	std::memset(sizes, 0, count * sizeof(uint32_t));
	std::memset(shifts, 0, (h->layer_count - 1) * 2 * skeleton->joint_count);
	std::memset(grid_steps, 0, 2 * skeleton->joint_count);
	std::memset(scales, 0, 7 * skeleton->joint_count);
	Reader reader = {RangeDecoder(in.at, bytes)};
	HeadSymbols<Reader> symbols(reader, *models);
	symbols.sizes(sizes, h->segment_count, SEGMENT_SIZE);
	symbols.sizes(sizes + h->segment_count, h->layer_count * h->group_count, GROUP_SIZE);
	symbols.plan(table, *skeleton);
	h->sizes = sizes;
	h->shifts = shifts;
	h->refined = refined;
	h->grid_steps = grid_steps;
	h->initial_scales = scales;
	h->table = table;
	h->plan.skeleton = skeleton;
	h->plan.table = table;
	h->plan.unit = h->unit;
	h->plan.fine = std::ldexp(1.0, -h->fine_bits);
	h->plan.basis_grid = std::ldexp(1.0, -h->basis_bits);
	if (!build_plan(&h->plan, arena.take<uint8_t>(plan_size(skeleton->joint_count)), fault) ||
		!symbols.shifts(shifts, h->layer_count - 1, h->plan.track_count, fault))
		return MOCPACK_CORRUPT;
	size_t channels = h->plan.channel_count;
	if (h->grid && (!within(fault, "channels of a grid in time", double(channels), 0,
							MOCPACK_KEYSINE_MOST_GRID_CHANNELS) ||
					!symbols.grid(grid_steps, h->plan.track_count, scales, channels, fault)))
		return MOCPACK_CORRUPT;
	if (reader.coder.exhausted() || !reader.coder.all_read())
		return MOCPACK_CORRUPT;
	*head = h;
	return MOCPACK_OK;
}

mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* h)
{
	return {h->unit,   h->model,   h->fine_bits, h->basis_bits, h->tempo,
			h->coarse, h->refined, h->grid,		 h->thorough};
}

mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* h)
{
	return {h->size,		h->cut.blocks, h->blocks_per_group,	  h->groups_per_segment, h->segment_count,
			h->group_count, h->sizes,	   h->plan.channel_count, h->plan.track_count,	 h->layer_count,
			h->shifts,		h->cut.lead};
}

size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* h, size_t key)
{
	return h->cut.key_frame(key);
}

size_t mocpack_keysine_encode_head(int32_t model, const mocpack_Skeleton* skeleton, int32_t* table,
								   uint32_t* sizes, size_t segment_count, size_t group_count, uint8_t* shifts,
								   size_t shift_count, size_t track_count, uint8_t* grid_steps,
								   uint8_t* initial_scales, size_t channel_count, uint8_t* dst,
								   size_t dst_size, void* scratch)
{
	Models* models = static_cast<Models*>(scratch);
	start_models(models, model);
	Writer writer = {RangeEncoder(dst, dst_size)};
	HeadSymbols<Writer> symbols(writer, *models);
	symbols.sizes(sizes, segment_count, SEGMENT_SIZE);
	symbols.sizes(sizes + segment_count, group_count, GROUP_SIZE);
	symbols.plan(table, *skeleton);
	if (!symbols.shifts(shifts, shift_count, track_count))
		return 0;
	if (grid_steps && !symbols.grid(grid_steps, track_count, initial_scales, channel_count))
		return 0;
	return writer.coder.finish();
}

const int32_t* mocpack_keysine_table(const mocpack_KeysineHead* h)
{
	return h->plan.table;
}

const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* h)
{
	return h->grid ? h->grid_steps : nullptr;
}

const uint8_t* mocpack_keysine_initial_scales(const mocpack_KeysineHead* h)
{
	return h->grid ? h->initial_scales : nullptr;
}
