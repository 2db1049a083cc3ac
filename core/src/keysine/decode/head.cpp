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

// Reads what stands before the coded part, and leaves `in` at the start of that, up to its end. refined:
// (MOST_LAYERS)
mocpack_Status read_fields(const uint8_t* src, size_t src_size, size_t frame_count, mocpack_KeysineHead* h,
						   uint8_t* refined, Fields* in, mocpack_Fault* fault)
{
	if (fault)
		*fault = {};
	*in = {src, src + src_size};
	h->size = in->varint();
	if (in->short_of || h->size > src_size)
		return MOCPACK_TRUNCATED;
	if (!within(fault, "size", double(h->size), 12, double(src_size)))
		return MOCPACK_CORRUPT;
	uint16_t stated = uint16_t(src[h->size - 2] | src[h->size - 1] << 8);
	if (!within(fault, "checksum", crc16(src, h->size - 2), stated, stated))
		return MOCPACK_CORRUPT;
	in->end = src + h->size - 2;
	uint32_t mode = in->byte();
	h->layer_count = 1 + (mode >> 4);
	h->model = int32_t(in->byte());
	h->fine_bits = int32_t(in->byte());
	h->basis_bits = int32_t(in->byte());
	h->coarse = int32_t(in->byte());
	h->tempo = int32_t(in->byte());
	h->grid = mode & GRID_MODE, h->thorough = mode & THOROUGH_MODE;
	if (!within(fault, "bytes after the tempo", double(in->end - in->at), 4, double(src_size)))
		return MOCPACK_CORRUPT;
	h->unit = double(read_float(in->at));
	in->at += 4;
	h->cut.frames = frame_count;
	h->cut.lead = (mode & FIRST_FRAME_ALONE_MODE) != 0;
	h->cut.blocks = in->varint();
	h->blocks_per_group = in->varint();
	h->groups_per_segment = in->varint();
	for (size_t l = 0; l + 1 < h->layer_count; ++l)
		refined[l] = uint8_t(in->byte());
	if (in->short_of || !plausible(*h, mode, fault))
		return MOCPACK_CORRUPT;
	h->group_count = (h->cut.blocks + h->blocks_per_group - 1) / h->blocks_per_group;
	h->segment_count =
		h->group_count ? (h->group_count + h->groups_per_segment - 1) / h->groups_per_segment : 1;
	h->plan.unit = h->unit;
	h->plan.fine = std::ldexp(1.0, -h->fine_bits);
	h->plan.basis_grid = std::ldexp(1.0, -h->basis_bits);
	return MOCPACK_OK;
}

// Segments, and groups of each layer.
uint64_t part_count(const mocpack_KeysineHead& h)
{
	return h.segment_count + uint64_t(h.layer_count) * h.group_count;
}

// What of a head stands in memory of its own.
struct Rooms
{
	mocpack_KeysineHead* head;
	int32_t* table;
	uint32_t* sizes;
	uint8_t *refined, *shifts, *grid_steps, *scales, *plan;
	Models* models;

	Rooms(const mocpack_KeysineHead& h, size_t joints, Arena* arena)
	{
		head = arena->take<mocpack_KeysineHead>(1);
		table = arena->take<int32_t>(joints * PLAN_COLUMNS);
		sizes = arena->take<uint32_t>(size_t(part_count(h)));
		refined = arena->take<uint8_t>(MOST_LAYERS);
		shifts = arena->take<uint8_t>((h.layer_count - 1) * 2 * joints);
		grid_steps = arena->take<uint8_t>(2 * joints);
		scales = arena->take<uint8_t>(7 * joints);
		plan = arena->take<uint8_t>(plan_size(joints));
		models = arena->take<Models>(1);
	}
};

// Reads sizes in runs, so that a head too short for what it announces costs no more than its bytes can say.
bool read_sizes(Reader& reader, HeadSymbols<Reader>* symbols, uint32_t* sizes, size_t count, HeadNumber what)
{
	const size_t RUN = 256;
	for (size_t i = 0; i < count; i += RUN)
	{
		size_t run = count - i < RUN ? count - i : RUN;
		std::memset(sizes + i, 0, run * sizeof(uint32_t));
		symbols->sizes(sizes + i, run, what);
		if (reader.coder.exhausted())
			return false;
	}
	return true;
}

} // namespace

mocpack_Status mocpack_keysine_peek(const uint8_t* src, size_t src_size, size_t frame_count,
									mocpack_KeysineLayout* layout, mocpack_Fault* fault)
{
	mocpack_KeysineHead h = {};
	uint8_t refined[MOST_LAYERS];
	Fields in;
	mocpack_Status status = read_fields(src, src_size, frame_count, &h, refined, &in, fault);
	if (status == MOCPACK_OK)
		*layout = mocpack_keysine_layout(&h);
	return status;
}

size_t mocpack_keysine_head_memory(const uint8_t* src, size_t src_size, size_t joints, size_t frame_count)
{
	mocpack_KeysineHead h = {};
	uint8_t refined[MOST_LAYERS];
	Fields in;
	if (read_fields(src, src_size, frame_count, &h, refined, &in, nullptr) != MOCPACK_OK)
		return 0;
	if (part_count(h) > SIZE_MAX / 16)
		return SIZE_MAX;
	Arena arena(nullptr);
	Rooms(h, joints, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
									size_t frame_count, void* memory, mocpack_KeysineHead** head,
									mocpack_Fault* fault)
{
	mocpack_KeysineHead found = {};
	uint8_t refined[MOST_LAYERS] = {};
	Fields in;
	mocpack_Status status = read_fields(src, src_size, frame_count, &found, refined, &in, fault);
	if (status != MOCPACK_OK)
		return status;
	Arena arena(memory);
	Rooms rooms(found, skeleton->joint_count, &arena);
	mocpack_KeysineHead* h = rooms.head;
	*h = found;
	start_models(rooms.models, h->model);
	std::memcpy(rooms.refined, refined, sizeof refined);
	std::memset(rooms.table, 0, skeleton->joint_count * PLAN_COLUMNS * sizeof(int32_t));
	std::memset(rooms.shifts, 0, (h->layer_count - 1) * 2 * skeleton->joint_count);
	std::memset(rooms.grid_steps, 0, 2 * skeleton->joint_count);
	std::memset(rooms.scales, 0, 7 * skeleton->joint_count);
	Reader reader = {RangeDecoder(in.at, size_t(in.end - in.at))};
	HeadSymbols<Reader> symbols(reader, *rooms.models);
	if (!read_sizes(reader, &symbols, rooms.sizes, h->segment_count, SEGMENT_SIZE) ||
		!read_sizes(reader, &symbols, rooms.sizes + h->segment_count, h->layer_count * h->group_count,
					GROUP_SIZE))
		return MOCPACK_CORRUPT;
	symbols.plan(rooms.table, *skeleton);
	h->sizes = rooms.sizes;
	h->shifts = rooms.shifts;
	h->refined = rooms.refined;
	h->grid_steps = rooms.grid_steps;
	h->initial_scales = rooms.scales;
	h->table = rooms.table;
	h->plan.skeleton = skeleton;
	h->plan.table = rooms.table;
	if (!build_plan(&h->plan, rooms.plan, fault) ||
		!symbols.shifts(rooms.shifts, h->layer_count - 1, h->plan.track_count, fault))
		return MOCPACK_CORRUPT;
	size_t channels = h->plan.channel_count;
	if (h->grid && (!within(fault, "channels of a grid in time", double(channels), 0,
							MOCPACK_KEYSINE_MOST_GRID_CHANNELS) ||
					!symbols.grid(rooms.grid_steps, h->plan.track_count, rooms.scales, channels, fault)))
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
