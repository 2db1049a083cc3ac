// Creates readers: selects joints and lays out memory.
#include "reader/reader.h"

#include <cstddef>
#include <cstring>
#include <new>

#include "common/arena.h"
#include "common/small_build.h"
#include "keysine/decode/rows.h"

using namespace mocpack;

namespace
{

const size_t MAX_TASKS = 1024;

// Returns whether an enumeration is 0 or 1. C++ may not read the others, which a caller in C can set.
bool is_flag(const void* choice)
{
	unsigned number;
	static_assert(sizeof(mocpack_Precision) == sizeof number && sizeof(mocpack_Space) == sizeof number, "");
	std::memcpy(&number, choice, sizeof number);
	return number <= 1;
}

bool are_options_valid(const mocpack_Motion& motion, const mocpack_ReaderOptions& o)
{
	if (o.struct_size != sizeof o || !is_flag(&o.precision) || !is_flag(&o.space) ||
		(o.joints && !o.joint_count) || (o.executor && (!o.executor->run || !o.executor->max_concurrency)) ||
		(o.memory && uintptr_t(o.memory) % alignof(std::max_align_t)))
		return false;
	if (SMALL_BUILD && (o.precision != MOCPACK_FLOAT64 || o.space != MOCPACK_LOCAL || o.executor))
		return false;
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		if (o.joints[i] < 0 || size_t(o.joints[i]) >= motion.info.joint_count)
			return false;
	return true;
}

// Array sizes of a reader; joint counts are upper bounds.
struct ReaderCounts
{
	size_t joints, kept, moving, decoded, written, frames, row_bytes, slots, lanes;
	bool decodes_floats;
	bool scaled;

	ReaderCounts(const mocpack_Motion& m, const mocpack_ReaderOptions& o)
	{
		joints = m.info.joint_count;
		written = o.joints ? o.joint_count : joints;
		kept = o.space == MOCPACK_WORLD || written > joints ? joints : written;
		moving = m.info.translated_count < kept ? m.info.translated_count : kept;
		decoded = kept + m.origins;
		frames = m.longest_group + 1;
		row_bytes = (o.precision == MOCPACK_FLOAT32 ? 4 : 8) * (4 * decoded + 3 * moving);
		decodes_floats = !SMALL_BUILD && m.codec == KEYSINE && o.precision == MOCPACK_FLOAT32 &&
						 mocpack_keysine_decodes_rows(m.head);
		scaled = m.info.scales || m.info.scaled_count;
		lanes = o.executor
					? (o.executor->max_concurrency < MAX_TASKS ? o.executor->max_concurrency : MAX_TASKS)
					: 1;
		size_t group = row_bytes * frames, groups = m.group_count();
		slots = group ? o.cache_size / group : 1;
		slots = slots < 1 ? 1 : slots > groups ? groups : slots;
	}
};

// Returns whether all sizes below fit in size_t.
bool fits_size_t(const mocpack_Motion& m, const ReaderCounts& n)
{
	const uint64_t padding = 16u << MOCPACK_KEYSINE_MAX_SPLITS;
	uint64_t scratch = uint64_t(m.layout.channel_count) * (n.frames + padding) * 16;
	uint64_t group = uint64_t(n.frames) * (n.decoded + 1) * 64 + (n.scaled ? 256 * uint64_t(n.decoded) : 0);
	uint64_t keys = uint64_t(m.layout.channel_count) * (uint64_t(m.keys_in_segment(0)) + 1) * 4;
	uint64_t lane = scratch + 2 * group + keys + m.largest_input;
	uint64_t slots = uint64_t(n.slots) * (group + 64), most = SIZE_MAX / 8;
	return scratch < most && group < most && keys < most && lane < most / n.lanes &&
		   slots / n.slots >= group && slots < most;
}

size_t lane_scratch(const mocpack_Motion& m, bool decodes_floats)
{
	if (m.codec != KEYSINE)
		return m.channel_count * sizeof(double);
	size_t group = decodes_floats ? mocpack_keysine_rows_scratch_size(m.head)
								  : mocpack_keysine_group_scratch_size(m.head),
		   segment = mocpack_keysine_segment_scratch_size(m.head);
	return group > segment ? group : segment;
}

// Lays out a reader in an arena; without memory, only counts bytes.
struct ReaderMemory
{
	mocpack_Reader* reader;
	uint8_t *kept, *turned;
	int32_t *numbers, *parents, *moving, *written, *rotation_columns, *translation_columns;
	double *offsets, *scales, *translation_factors;
	int32_t* scaling;
	Slot* slots;
	Lane* lanes;

	ReaderMemory(const mocpack_Motion& m, const ReaderCounts& n, Arena* arena)
	{
		reader = arena->allocate<mocpack_Reader>(1);
		kept = arena->allocate<uint8_t>(n.joints);
		turned = arena->allocate<uint8_t>(n.joints);
		numbers = arena->allocate<int32_t>(n.joints);
		parents = arena->allocate<int32_t>(n.kept);
		moving = arena->allocate<int32_t>(n.kept);
		written = arena->allocate<int32_t>(n.written);
		rotation_columns = arena->allocate<int32_t>(m.tree.joint_count);
		translation_columns = arena->allocate<int32_t>(m.tree.translated_count);
		offsets = arena->allocate<double>(3 * n.kept);
		scales = arena->allocate<double>(n.scaled ? 3 * n.kept : 0);
		scaling = arena->allocate<int32_t>(n.scaled ? n.kept : 0);
		translation_factors = arena->allocate<double>(m.translation_factors ? m.tree.translated_count : 0);
		slots = arena->allocate<Slot>(n.slots);
		lanes = arena->allocate<Lane>(n.lanes);
		for (size_t i = 0; i < n.lanes; ++i)
			take_lane(m, n, i, arena);
		for (size_t i = 0; i < n.slots; ++i)
		{
			void* rows = arena->allocate<uint8_t>(n.row_bytes * n.frames);
			if (slots)
				slots[i] = {NO_GROUP, 0, 0, 0, rows};
		}
	}

	void take_lane(const mocpack_Motion& m, const ReaderCounts& n, size_t i, Arena* arena)
	{
		Lane lane = {};
		lane.bytes = m.bytes;
		lane.segment = NO_GROUP, lane.last_key = SIZE_MAX;
		lane.keys =
			arena->allocate<int32_t>(m.codec == KEYSINE ? m.keys_in_segment(0) * m.layout.channel_count : 0);
		const bool decodes_floats = !SMALL_BUILD && n.decodes_floats;
		lane.scratch = arena->allocate<uint8_t>(lane_scratch(m, decodes_floats));
		lane.rotations = arena->allocate<double>(decodes_floats ? 0 : 4 * n.decoded * n.frames);
		lane.translations = arena->allocate<double>(decodes_floats ? 0 : 3 * n.moving * n.frames);
		lane.input = arena->allocate<uint8_t>(m.bytes.all ? 0 : m.largest_input);
		lane.rows = i ? arena->allocate<uint8_t>(n.row_bytes * n.frames) : nullptr;
		lane.row = arena->allocate<uint8_t>(n.row_bytes);
		lane.world = arena->allocate<double>((n.scaled ? SCALED_WORLD_NUMBERS : WORLD_NUMBERS) * n.kept);
		if (lanes)
			lanes[i] = lane;
	}
};

// Returns the bytes that a reader needs; 0 if they do not fit in size_t.
size_t reader_size(const mocpack_Motion& motion, const ReaderCounts& counts)
{
	if (!fits_size_t(motion, counts))
		return 0;
	Arena arena(nullptr);
	ReaderMemory(motion, counts, &arena);
	return arena.used();
}

// Selects the joints to keep, and the columns that the codec decodes them to.
void choose_joints(const mocpack_Motion& m, const mocpack_ReaderOptions& o, const ReaderMemory& rooms,
				   mocpack_Reader* r)
{
	const mocpack_Info& info = m.info;
	std::memset(rooms.kept, !o.joints, info.joint_count);
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		rooms.kept[o.joints[i]] = 1;
	// world poses need all ancestors
	for (size_t j = info.joint_count; o.space == MOCPACK_WORLD && j-- > 0;)
		if (rooms.kept[j] && info.parents[j] >= 0)
			rooms.kept[info.parents[j]] = 1;
	size_t count = 0, moved = 0, next = 0, next_scaled = 0;
	for (size_t j = 0; j < m.tree.joint_count; ++j)
		rooms.rotation_columns[j] = -1;
	if (m.origins)
		rooms.rotation_columns[0] = 0;
	for (size_t j = 0; j < info.joint_count; ++j)
	{
		bool translated = next < info.translated_count && size_t(info.translated_joints[next]) == j;
		if (translated)
			rooms.translation_columns[next++] = rooms.kept[j] ? int32_t(moved) : -1;
		const bool scales = next_scaled < info.scaled_count && size_t(info.scaled_joints[next_scaled]) == j;
		const int32_t scaling = scales ? int32_t(next_scaled++) : -1;
		if (!rooms.kept[j])
			continue;
		if (r->rig.is_scaled)
		{
			rooms.scaling[count] = scaling;
			for (size_t c = 0; c < 3; ++c)
				rooms.scales[3 * count + c] = info.scales ? info.scales[3 * j + c] : 1.0;
		}
		if (translated && m.translation_factors)
			rooms.translation_factors[moved] = m.translation_factors[next - 1];
		rooms.moving[count] = translated ? int32_t(moved++) : -1;
		rooms.parents[count] = info.parents[j] < 0 ? -1 : rooms.numbers[info.parents[j]];
		rooms.turned[count] = info.parents[j] < 0;
		std::memcpy(rooms.offsets + 3 * count, info.offsets + 3 * j, 3 * sizeof(double));
		rooms.rotation_columns[j + m.origins] = int32_t(count + m.origins);
		rooms.numbers[j] = int32_t(count++);
	}
	r->rig = {count,		 moved, rooms.parents,	  rooms.moving, rooms.offsets,
			  rooms.written, 0,		r->rig.is_scaled, rooms.scales, rooms.scaling};
	r->translation_factors = m.translation_factors ? rooms.translation_factors : nullptr;
	r->rig.written_count = o.joints ? o.joint_count : info.joint_count;
	for (size_t i = 0; i < r->rig.written_count; ++i)
		rooms.written[i] = rooms.numbers[o.joints ? size_t(o.joints[i]) : i];
	r->decoded_count = count + m.origins;
	r->origin_roots = m.origins ? rooms.turned : nullptr;
	r->columns = {rooms.rotation_columns, rooms.translation_columns, r->decoded_count, moved};
	r->all_columns = count == info.joint_count;
}

} // namespace

size_t mocpack_reader_size(const mocpack_Motion* motion, const mocpack_ReaderOptions* options)
{
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	const mocpack_ReaderOptions& given = options ? *options : defaults;
	if (CHECKS_ARGUMENTS && !motion)
		return 0;
	return are_options_valid(*motion, given) ? reader_size(*motion, ReaderCounts(*motion, given)) : 0;
}

mocpack_Status mocpack_reader_open(const mocpack_Motion* motion, const mocpack_ReaderOptions* options,
								   mocpack_Reader** reader, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	const mocpack_ReaderOptions& o = options ? *options : defaults;
	if (reader)
		*reader = nullptr;
	if (CHECKS_ARGUMENTS && (!motion || !reader))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_reader_open: `motion` or `reader` is null";
	if (!are_options_valid(*motion, o))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_reader_open: invalid options (wrong struct_size, joint index, memory or executor)";
	const ReaderCounts counts(*motion, o);
	size_t size = reader_size(*motion, counts);
	const mocpack_Allocator& allocator = motion->memory.allocator();
	uint64_t most = o.memory ? o.memory_size : motion->memory.left();
	void* memory = o.memory;
	if (size && size <= most && !memory)
		memory = allocator.allocate(allocator.user, size);
	if (!size || size > most || !memory)
		return ErrorMessage(error, MOCPACK_NO_MEMORY)
			   << "a reader of " << motion->info.frame_count << " frames of "
			   << uint64_t(motion->info.joint_count) << " joints needs " << uint64_t(size)
			   << " bytes, but the memory limit or the caller's memory has only " << most;
	Arena arena(memory);
	ReaderMemory rooms(*motion, counts, &arena);
	mocpack_Reader* r = new (rooms.reader) mocpack_Reader();
	r->motion = motion;
	r->owned = !o.memory;
	r->memory_size = size;
	r->precision = o.precision, r->space = o.space;
	r->decodes_floats = counts.decodes_floats;
	r->layers = layers_of(*motion, o.layers);
	r->max_frames = counts.frames;
	r->slot_count = counts.slots, r->lane_count = counts.lanes;
	r->slots = rooms.slots, r->lanes = rooms.lanes;
	if (o.executor)
		r->executor = *o.executor;
	r->rig.is_scaled = counts.scaled;
	choose_joints(*motion, o, rooms, r);
	*reader = r;
	return MOCPACK_OK;
}

void mocpack_reader_close(mocpack_Reader* reader)
{
	if (!reader || !reader->owned)
		return;
	const mocpack_Allocator& allocator = reader->motion->memory.allocator();
	allocator.release(allocator.user, reader, reader->memory_size);
}
