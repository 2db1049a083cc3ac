// Decodes poses of an open file, for one thread: groups as they are needed, the last of them remembered.
#include <cmath>
#include <cstring>
#include <new>

#include "common/arena.h"
#include "common/quaternion.h"
#include "common/small.h"
#include "kernels/quaternions.h"
#include "reader/motion.h"
#include "reader/pose.h"

namespace mocpack
{

namespace
{

const double UNIT_TOLERANCE = 1e-3;	 // of a quaternion's length
const double FARTHEST_DECODED = 2e7; // metres, as in Python
const size_t NONE = SIZE_MAX, MOST_LAYERS = MOCPACK_KEYSINE_MOST_LAYERS;
const size_t MOST_TASKS = 1024;

// What decoding a group takes, for one task at a time.
struct Lane
{
	size_t segment; // whose keys are at hand
	int32_t* keys;
	void* scratch;
	double *rotations, *translations;
	uint8_t* input;
	void* rows;	 // of a group, in the reader's numbers; null for the first lane, which decodes into slots
	void* row;	 // of one pose
	void* world; // what writing one in the world takes
	mocpack_Error error;
	size_t failed_group;
};

// A group that was decoded.
struct Slot
{
	size_t group;
	uint64_t first, stop; // frames; that of the key at its end is there too
	uint64_t used;		  // by the reader's clock
	void* rows;
};

} // namespace

} // namespace mocpack

using namespace mocpack;

struct mocpack_Reader
{
	const mocpack_Motion* motion;
	bool owned; // its memory is to be given back
	size_t memory_size;
	mocpack_Number number;
	mocpack_Space space;
	size_t layers;
	Rig rig;
	size_t decoded_count;		 // joints that the codec decodes, an origin included
	const uint8_t* turned_roots; // (rig.count) 1 where an origin's turn goes to the joint; null without one
	mocpack_KeysineColumns columns; // of the codec's joints
	bool all_columns;
	size_t most_frames; // of a group, with the key at its end
	size_t slot_count, lane_count;
	Slot* slots;
	Lane* lanes;
	size_t last_slot;
	uint64_t clock;
	mocpack_Tasks tasks;

	const mocpack_KeysineColumns* decoded_columns() const
	{
		return all_columns ? nullptr : &columns;
	}
	size_t number_size() const
	{
		return number == MOCPACK_FLOAT32 ? 4 : 8;
	}
};

namespace
{

bool options_good(const mocpack_Motion& motion, const mocpack_ReaderOptions& o)
{
	if (o.struct_size != sizeof o || (o.number != MOCPACK_FLOAT32 && o.number != MOCPACK_FLOAT64) ||
		(o.space != MOCPACK_LOCAL && o.space != MOCPACK_WORLD) || (o.joints && !o.joint_count) ||
		(o.tasks && (!o.tasks->run || !o.tasks->most)))
		return false;
	if (SMALL && (o.number != MOCPACK_FLOAT64 || o.space != MOCPACK_LOCAL || o.tasks))
		return false;
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		if (o.joints[i] < 0 || size_t(o.joints[i]) >= motion.info.joint_count)
			return false;
	return true;
}

// How many there are of what a reader is made of; of joints, the most that there can be.
struct ReaderCounts
{
	size_t joints, kept, moving, decoded, written, frames, row_bytes, slots, lanes;

	ReaderCounts(const mocpack_Motion& m, const mocpack_ReaderOptions& o)
	{
		joints = m.info.joint_count;
		written = o.joints ? o.joint_count : joints;
		kept = o.space == MOCPACK_WORLD || written > joints ? joints : written;
		moving = m.info.translated_count < kept ? m.info.translated_count : kept;
		decoded = kept + m.origins;
		frames = m.longest_group + 1;
		row_bytes = (o.number == MOCPACK_FLOAT32 ? 4 : 8) * (4 * kept + 3 * moving);
		lanes = o.tasks ? (o.tasks->most < MOST_TASKS ? o.tasks->most : MOST_TASKS) : 1;
		size_t group = row_bytes * frames, groups = m.group_count();
		slots = group ? o.cache_size / group : 1;
		slots = slots < 1 ? 1 : slots > groups ? groups : slots;
	}
};

// Whether everything that is counted below stays far from what a size_t holds.
bool countable(const mocpack_Motion& m, const ReaderCounts& n)
{
	const uint64_t padding = 16u << MOCPACK_KEYSINE_MOST_SPLITS;
	uint64_t scratch = uint64_t(m.layout.channel_count) * (n.frames + padding) * 16;
	uint64_t group = uint64_t(n.frames) * (n.decoded + 1) * 64;
	uint64_t keys = uint64_t(m.layout.channel_count) * (uint64_t(m.keys_in_segment(0)) + 1) * 4;
	uint64_t lane = scratch + 2 * group + keys + m.largest_input;
	uint64_t slots = uint64_t(n.slots) * (group + 64), most = SIZE_MAX / 8;
	return scratch < most && group < most && keys < most && lane < most / n.lanes &&
		   slots / n.slots >= group && slots < most;
}

// Hands out the parts of a reader; over no memory, counts how much they take.
struct ReaderRooms
{
	mocpack_Reader* reader;
	uint8_t *kept, *turned;
	int32_t *numbers, *parents, *moving, *written, *rotation_columns, *translation_columns;
	double* offsets;
	Slot* slots;
	Lane* lanes;

	ReaderRooms(const mocpack_Motion& m, const ReaderCounts& n, Arena* arena)
	{
		reader = arena->take<mocpack_Reader>(1);
		kept = arena->take<uint8_t>(n.joints);
		turned = arena->take<uint8_t>(n.joints);
		numbers = arena->take<int32_t>(n.joints);
		parents = arena->take<int32_t>(n.kept);
		moving = arena->take<int32_t>(n.kept);
		written = arena->take<int32_t>(n.written);
		rotation_columns = arena->take<int32_t>(m.tree.joint_count);
		translation_columns = arena->take<int32_t>(m.tree.translated_count);
		offsets = arena->take<double>(3 * n.kept);
		slots = arena->take<Slot>(n.slots);
		lanes = arena->take<Lane>(n.lanes);
		for (size_t i = 0; i < n.lanes; ++i)
			take_lane(m, n, i, arena);
		for (size_t i = 0; i < n.slots; ++i)
		{
			void* rows = arena->take<uint8_t>(n.row_bytes * n.frames);
			if (slots)
				slots[i] = {NONE, 0, 0, 0, rows};
		}
	}

	void take_lane(const mocpack_Motion& m, const ReaderCounts& n, size_t i, Arena* arena)
	{
		Lane lane = {};
		lane.segment = NONE;
		lane.keys = arena->take<int32_t>(m.keys_in_segment(0) * m.layout.channel_count);
		size_t scratch = mocpack_keysine_group_scratch(m.head),
			   other = mocpack_keysine_segment_scratch(m.head);
		lane.scratch = arena->take<uint8_t>(scratch > other ? scratch : other);
		lane.rotations = arena->take<double>(4 * n.decoded * n.frames);
		lane.translations = arena->take<double>(3 * n.moving * n.frames);
		lane.input = arena->take<uint8_t>(m.bytes.all ? 0 : m.largest_input);
		lane.rows = i ? arena->take<uint8_t>(n.row_bytes * n.frames) : nullptr;
		lane.row = arena->take<uint8_t>(n.row_bytes);
		lane.world = arena->take<double>(7 * n.kept);
		if (lanes)
			lanes[i] = lane;
	}
};

size_t size_of_reader(const mocpack_Motion& motion, const mocpack_ReaderOptions& options)
{
	if (!options_good(motion, options))
		return 0;
	ReaderCounts counts(motion, options);
	if (!countable(motion, counts))
		return 0;
	Arena arena(nullptr);
	ReaderRooms(motion, counts, &arena);
	return arena.used();
}

// Chooses which joints are kept, and where the codec is to put them.
void choose_joints(const mocpack_Motion& m, const mocpack_ReaderOptions& o, const ReaderRooms& rooms,
				   mocpack_Reader* r)
{
	const mocpack_Info& info = m.info;
	std::memset(rooms.kept, !o.joints, info.joint_count);
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		rooms.kept[o.joints[i]] = 1;
	// in the world a joint stands where all that it hangs on put it
	for (size_t j = info.joint_count; o.space == MOCPACK_WORLD && j-- > 0;)
		if (rooms.kept[j] && info.parents[j] >= 0)
			rooms.kept[info.parents[j]] = 1;
	size_t count = 0, moved = 0, next = 0;
	for (size_t j = 0; j < m.tree.joint_count; ++j)
		rooms.rotation_columns[j] = -1;
	if (m.origins)
		rooms.rotation_columns[0] = 0;
	for (size_t j = 0; j < info.joint_count; ++j)
	{
		bool translated = next < info.translated_count && size_t(info.translated_joints[next]) == j;
		if (translated)
			rooms.translation_columns[next++] = rooms.kept[j] ? int32_t(moved) : -1;
		if (!rooms.kept[j])
			continue;
		rooms.moving[count] = translated ? int32_t(moved++) : -1;
		rooms.parents[count] = info.parents[j] < 0 ? -1 : rooms.numbers[info.parents[j]];
		rooms.turned[count] = info.parents[j] < 0;
		std::memcpy(rooms.offsets + 3 * count, info.offsets + 3 * j, 3 * sizeof(double));
		rooms.rotation_columns[j + m.origins] = int32_t(count + m.origins);
		rooms.numbers[j] = int32_t(count++);
	}
	r->rig = {count, moved, rooms.parents, rooms.moving, rooms.offsets, rooms.written, 0};
	r->rig.written_count = o.joints ? o.joint_count : info.joint_count;
	for (size_t i = 0; i < r->rig.written_count; ++i)
		rooms.written[i] = rooms.numbers[o.joints ? size_t(o.joints[i]) : i];
	r->decoded_count = count + m.origins;
	r->turned_roots = m.origins ? rooms.turned : nullptr;
	r->columns = {rooms.rotation_columns, rooms.translation_columns, r->decoded_count, moved};
	r->all_columns = count == info.joint_count;
}

Sentence failed(mocpack_Error* error, mocpack_Status status, uint64_t offset = 0)
{
	return Sentence(error, status, offset);
}

// Brings the keys of a segment into a lane.
bool load_keys(const mocpack_Motion& m, Lane* lane, size_t segment, mocpack_Error* error)
{
	if (lane->segment == segment)
		return true;
	lane->segment = NONE;
	size_t size = m.layout.sizes[segment];
	const uint8_t* src = m.bytes.view(m.part_offsets[segment], size, lane->input, error);
	if (!src)
		return false;
	mocpack_Status status = mocpack_keysine_decode_segment(m.head, m.keys_in_segment(segment), src, size,
														   lane->keys, lane->scratch);
	if (status == MOCPACK_OK)
		lane->segment = segment;
	else
		failed(error, status, m.part_offsets[segment])
			<< "key segment " << uint64_t(segment)
			<< (status == MOCPACK_TRUNCATED ? " ends too early" : " is damaged");
	return status == MOCPACK_OK;
}

const int32_t* key_of(const mocpack_Motion& m, const Lane& lane, size_t key)
{
	return lane.keys + (key - lane.segment * m.layout.groups_per_segment) * m.layout.channel_count;
}

// What was decoded, as the file's joints have it: unit, of one sign in time, no joint above the roots.
bool settle(const mocpack_Reader& r, Lane* lane, size_t frames)
{
	const size_t moving = r.rig.moving_count;
	double farthest = 0;
	for (size_t i = 0; i < 3 * frames * moving; ++i)
		farthest = std::fabs(lane->translations[i]) <= farthest ? farthest : std::fabs(lane->translations[i]);
	if (!(farthest < FARTHEST_DECODED) ||
		mocpack_settle_rotations(lane->rotations, frames, r.decoded_count, UNIT_TOLERANCE) >= 0)
		return false;
	for (size_t t = 0; r.turned_roots && t < frames; ++t)
	{
		double* turns = lane->rotations + 4 * t * r.decoded_count;
		Quat origin = load_quat(turns);
		if (origin.x == 0 && origin.y == 0 && origin.z == 0 && origin.w == 1)
			continue;
		for (size_t j = 0; j < r.rig.count; ++j)
		{
			if (!r.turned_roots[j])
				continue;
			store(turns + 4 * (j + 1), multiply(origin, load_quat(turns + 4 * (j + 1))));
			if (r.rig.moving[j] >= 0)
			{
				double* place = lane->translations + 3 * (t * moving + size_t(r.rig.moving[j]));
				store(place, rotate(origin, load_vec(place)));
			}
		}
	}
	return true;
}

template <typename Number>
void copy_rows(const mocpack_Reader& r, const Lane& lane, size_t frames, Number* rows)
{
	const size_t turns = 4 * r.rig.count, places = 3 * r.rig.moving_count,
				 skipped = 4 * r.decoded_count - turns;
	const double *from = lane.rotations, *place = lane.translations;
	for (size_t t = 0; t < frames; ++t)
	{
		from += skipped;
		for (size_t i = 0; i < turns; ++i)
			rows[i] = Number(from[i]);
		for (size_t i = 0; i < places; ++i)
			rows[turns + i] = Number(place[i]);
		from += turns, place += places, rows += turns + places;
	}
}

void copy_decoded(const mocpack_Reader& r, const Lane& lane, size_t frames, void* rows)
{
	if (!SMALL && r.number == MOCPACK_FLOAT32)
		copy_rows(r, lane, frames, static_cast<float*>(rows));
	else
		copy_rows(r, lane, frames, static_cast<double*>(rows));
}

// The bytes of a group's layers, as many as are wanted and there.
bool find_layers(const mocpack_Reader& r, const Lane& lane, size_t group, const uint8_t** src, size_t* sizes,
				 size_t* count, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	uint8_t* buffer = lane.input;
	*count = m.whole_layers(group, r.layers);
	for (size_t l = 0; l < *count; ++l)
	{
		size_t part = m.group_part(l, group);
		sizes[l] = m.layout.sizes[part];
		src[l] = m.bytes.view(m.part_offsets[part], sizes[l], buffer, error);
		if (!src[l])
			return false;
		buffer += m.bytes.all ? 0 : sizes[l];
	}
	return true;
}

// Decodes a group, and the key at its end, into rows of the reader's numbers.
bool decode_group(const mocpack_Reader& r, Lane* lane, size_t group, void* rows, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	if (!load_keys(m, lane, m.segment_of(group), error))
		return false;
	size_t frames = 0, layers = 0, sizes[MOST_LAYERS];
	const uint8_t* src[MOST_LAYERS];
	const int32_t* keys = key_of(m, *lane, group);
	if (m.layout.group_count)
	{
		frames = m.key_frame(group + 1) - m.key_frame(group);
		if (!find_layers(r, *lane, group, src, sizes, &layers, error))
			return false;
		mocpack_Status status =
			mocpack_keysine_decode_group(m.head, group, keys, src, sizes, layers, r.decoded_columns(),
										 lane->rotations, lane->translations, lane->scratch);
		if (status != MOCPACK_OK)
		{
			failed(error, status, m.part_offsets[m.group_part(0, group)])
				<< "group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group))
				<< (status == MOCPACK_TRUNCATED ? ", ends too early" : ", is damaged");
			return false;
		}
		keys += m.layout.channel_count;
	}
	mocpack_keysine_pose(m.head, keys, r.decoded_columns(), lane->rotations + 4 * frames * r.decoded_count,
						 lane->translations + 3 * frames * r.rig.moving_count);
	if (!settle(r, lane, frames + 1))
	{
		failed(error, MOCPACK_CORRUPT, m.part_offsets[m.layout.group_count ? m.group_part(0, group) : 0])
			<< "group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group))
			<< ", is no motion";
		return false;
	}
	copy_decoded(r, *lane, frames + 1, rows);
	return true;
}

bool holds(const Slot& slot, uint64_t frame)
{
	return slot.group != NONE && slot.first <= frame && frame < slot.stop;
}

// The slot of the group that a frame lies in, decoded now if it is not there; null, and an error, where it
// cannot be.
Slot* slot_at(mocpack_Reader* r, uint64_t frame, mocpack_Error* error)
{
	Slot* found = &r->slots[r->last_slot];
	if (holds(*found, frame))
		return found;
	size_t oldest = 0;
	for (size_t i = 0; i < r->slot_count; ++i)
	{
		if (holds(r->slots[i], frame))
		{
			r->last_slot = i;
			r->slots[i].used = ++r->clock;
			return &r->slots[i];
		}
		if (r->slots[i].used < r->slots[oldest].used)
			oldest = i;
	}
	const mocpack_Motion& m = *r->motion;
	found = &r->slots[oldest];
	size_t group = m.group_at(frame);
	found->group = NONE;
	found->used = 0;
	if (!decode_group(*r, &r->lanes[0], group, found->rows, error))
		return nullptr;
	bool last = group + 1 >= m.group_count();
	found->group = group;
	found->first = m.key_frame(group);
	found->stop = last ? m.info.frame_count : m.key_frame(group + 1);
	found->used = ++r->clock;
	r->last_slot = oldest;
	return found;
}

template <typename Number> struct Writer
{
	const mocpack_Reader& r;
	const mocpack_Poses& poses;

	void write(const Number* row, Lane* lane, uint64_t frame) const
	{
		write_pose(r.rig, r.space, row, static_cast<Number*>(lane->world), poses, frame);
	}

	// Frames from … to of a group's rows, whose first is frame `first`, as frames at … of the caller's.
	void write_all(const void* rows, Lane* lane, uint64_t first, uint64_t from, uint64_t to,
				   uint64_t at) const
	{
		const size_t size = r.rig.row_size();
		const Number* row = static_cast<const Number*>(rows) + size_t(from - first) * size;
		for (; from < to; ++from, ++at, row += size)
			write(row, lane, at);
	}
};

template <typename Number>
mocpack_Status read_frames(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						   mocpack_Error* error)
{
	Writer<Number> writer = {*r, poses};
	for (uint64_t at = first; at < stop;)
	{
		Slot* slot = slot_at(r, at, error);
		if (!slot)
			return error->status;
		uint64_t end = stop < slot->stop ? stop : slot->stop;
		writer.write_all(slot->rows, &r->lanes[0], slot->first, at, end, at - first);
		if (at > first)
			join_signs<Number>(poses, r->rig.written_count, at - first, end - first);
		at = end;
		// all of it is written, so that others are worth more to remember
		if (slot->first >= first && end == slot->stop)
			slot->used = 0;
	}
	return MOCPACK_OK;
}

// Groups that tasks decode, every so many-th each.
struct Work
{
	mocpack_Reader* r;
	const mocpack_Poses* poses;
	uint64_t first, stop;
	size_t first_group, group_count, task_count;
};

template <typename Number> void run_task(void* context, size_t index)
{
	const Work& work = *static_cast<Work*>(context);
	mocpack_Reader* r = work.r;
	const mocpack_Motion& m = *r->motion;
	Lane* lane = &r->lanes[index];
	void* rows = lane->rows ? lane->rows : r->slots[0].rows;
	Writer<Number> writer = {*r, *work.poses};
	for (size_t g = index; g < work.group_count; g += work.task_count)
	{
		size_t group = work.first_group + g;
		if (!decode_group(*r, lane, group, rows, &lane->error))
		{
			lane->failed_group = group;
			return;
		}
		uint64_t start = m.key_frame(group);
		uint64_t end = group + 1 >= m.group_count() ? m.info.frame_count : m.key_frame(group + 1);
		uint64_t from = start > work.first ? start : work.first, to = end < work.stop ? end : work.stop;
		writer.write_all(rows, lane, start, from, to, from - work.first);
	}
}

template <typename Number>
mocpack_Status run_tasks(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						 mocpack_Error* error)
{
	const mocpack_Motion& m = *r->motion;
	size_t group = m.group_at(first), count = m.group_at(stop - 1) + 1 - group;
	Work work = {r, &poses, first, stop, group, count, r->lane_count < count ? r->lane_count : count};
	for (size_t i = 0; i < r->lane_count; ++i)
		r->lanes[i].failed_group = NONE;
	r->slots[0].group = NONE; // the first task decodes there
	r->tasks.run(r->tasks.user, run_task<Number>, &work, work.task_count);
	const Lane* worst = &r->lanes[0];
	for (size_t i = 1; i < r->lane_count; ++i)
		worst = r->lanes[i].failed_group < worst->failed_group ? &r->lanes[i] : worst;
	if (worst->failed_group != NONE)
	{
		*error = worst->error;
		return error->status;
	}
	for (size_t g = group + 1; g < group + count; ++g)
	{
		uint64_t end = g + 1 >= m.group_count() ? m.info.frame_count : m.key_frame(g + 1);
		join_signs<Number>(poses, r->rig.written_count, m.key_frame(g) - first,
						   (end < stop ? end : stop) - first);
	}
	return MOCPACK_OK;
}

template <typename Number>
mocpack_Status read_sample(mocpack_Reader* r, double seconds, const mocpack_Poses& pose, mocpack_Error* error)
{
	double at = mocpack_frame_at(r->motion, seconds);
	uint64_t frame = uint64_t(at);
	Slot* slot = slot_at(r, frame, error);
	if (!slot)
		return error->status;
	Lane* lane = &r->lanes[0];
	const size_t size = r->rig.row_size();
	const Number *row = static_cast<const Number*>(slot->rows) + size_t(frame - slot->first) * size,
				 *shown = row;
	if (at > double(frame)) // then there is a frame after it
	{
		blend_rows(r->rig, row, row + size, at - double(frame), static_cast<Number*>(lane->row));
		shown = static_cast<Number*>(lane->row);
	}
	Writer<Number>{*r, pose}.write(shown, lane, 0);
	return MOCPACK_OK;
}

template <typename Number>
mocpack_Status read_keys(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						 mocpack_Error* error)
{
	const mocpack_Motion& m = *r->motion;
	Lane* lane = &r->lanes[0];
	Writer<Number> writer = {*r, poses};
	for (uint64_t key = first; key < stop; ++key)
	{
		size_t k = size_t(key), group = k < m.group_count() ? k : m.group_count() - 1;
		if (!load_keys(m, lane, m.segment_of(group), error))
			return error->status;
		mocpack_keysine_pose(m.head, key_of(m, *lane, k), r->decoded_columns(), lane->rotations,
							 lane->translations);
		if (!settle(*r, lane, 1))
			return failed(error, MOCPACK_CORRUPT, m.part_offsets[lane->segment])
				   << "key " << key << " is no pose";
		copy_decoded(*r, *lane, 1, lane->row);
		writer.write(static_cast<Number*>(lane->row), lane, key - first);
		if (key > first)
			join_signs<Number>(poses, r->rig.written_count, key - first, key - first + 1);
	}
	return MOCPACK_OK;
}

mocpack_Status outside(mocpack_Error* error, const char* what, uint64_t first, uint64_t stop, uint64_t count)
{
	return failed(error, MOCPACK_BAD_ARGUMENT)
		   << what << " " << first << " to " << stop << " do not lie in a motion that has " << count;
}

size_t layers_of(const mocpack_Motion& m, uint32_t layers)
{
	size_t all = m.layout.layer_count;
	return layers == MOCPACK_KEYS_ONLY ? 0 : layers && layers < all ? layers : all;
}

} // namespace

size_t mocpack_reader_size(const mocpack_Motion* motion, const mocpack_ReaderOptions* options)
{
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	return size_of_reader(*motion, options ? *options : defaults);
}

mocpack_Status mocpack_reader_open(const mocpack_Motion* motion, const mocpack_ReaderOptions* options,
								   mocpack_Reader** reader, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	const mocpack_ReaderOptions& o = options ? *options : defaults;
	*reader = nullptr;
	if (!options_good(*motion, o))
		return failed(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_reader_open: options of another version, no such joint, tasks that cannot run, or "
				  "what a small build has not";
	size_t size = size_of_reader(*motion, o);
	const mocpack_Allocator& allocator = motion->memory.allocator();
	uint64_t most = o.memory ? o.memory_size : motion->memory.left();
	void* memory = o.memory;
	if (size && size <= most && !memory)
		memory = allocator.allocate(allocator.user, size);
	if (!size || size > most || !memory)
		return failed(error, MOCPACK_NO_MEMORY)
			   << "a reader of " << motion->info.frame_count << " frames of "
			   << uint64_t(motion->info.joint_count) << " joints takes " << uint64_t(size)
			   << " bytes, more than " << most << ", which the memory limit or the caller's memory leaves";
	Arena arena(memory);
	ReaderCounts counts(*motion, o);
	ReaderRooms rooms(*motion, counts, &arena);
	mocpack_Reader* r = new (rooms.reader) mocpack_Reader();
	r->motion = motion;
	r->owned = !o.memory;
	r->memory_size = size;
	r->number = o.number, r->space = o.space;
	r->layers = layers_of(*motion, o.layers);
	r->most_frames = counts.frames;
	r->slot_count = counts.slots, r->lane_count = counts.lanes;
	r->slots = rooms.slots, r->lanes = rooms.lanes;
	if (o.tasks)
		r->tasks = *o.tasks;
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

mocpack_Status mocpack_frames(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							  const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	const mocpack_Motion& m = *reader->motion;
	if (first > stop || stop > m.info.frame_count)
		return outside(error, "frames", first, stop, m.info.frame_count);
	if (first == stop)
		return MOCPACK_OK;
	const bool single = !SMALL && reader->number == MOCPACK_FLOAT32;
	if (!SMALL && reader->tasks.run && m.group_at(first) < m.group_at(stop - 1))
		return (single ? run_tasks<float> : run_tasks<double>)(reader, first, stop, *poses, error);
	return (single ? read_frames<float> : read_frames<double>)(reader, first, stop, *poses, error);
}

mocpack_Status mocpack_sample(mocpack_Reader* reader, double seconds, const mocpack_Poses* pose,
							  mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	if (!SMALL && reader->number == MOCPACK_FLOAT32)
		return read_sample<float>(reader, seconds, *pose, error);
	return read_sample<double>(reader, seconds, *pose, error);
}

mocpack_Status mocpack_preview(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							   const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	uint64_t keys = reader->motion->info.key_count;
	if (first > stop || stop > keys)
		return outside(error, "keys", first, stop, keys);
	if (!SMALL && reader->number == MOCPACK_FLOAT32)
		return read_keys<float>(reader, first, stop, *poses, error);
	return read_keys<double>(reader, first, stop, *poses, error);
}

size_t mocpack_ranges(const mocpack_Motion* motion, uint64_t first, uint64_t stop, uint32_t layers,
					  mocpack_Range* ranges, size_t capacity)
{
	const mocpack_Motion& m = *motion;
	if (first >= stop || stop > m.info.frame_count)
		return 0;
	size_t group = m.group_at(first), last = m.group_at(stop - 1), count = 0;
	mocpack_Range open = {0, 0};
	auto add = [&](size_t part, size_t end_part)
	{
		uint64_t start = m.part_offsets[part], end = m.part_offsets[end_part];
		end = end < m.payload_end ? end : m.payload_end;
		if (end <= start)
			return;
		if (open.size && open.offset + open.size == start)
		{
			open.size += end - start;
			return;
		}
		if (open.size && count++ < capacity)
			ranges[count - 1] = open;
		open = {start, end - start};
	};
	add(m.segment_of(group), m.segment_of(last) + 1);
	for (size_t l = 0; m.layout.group_count && l < layers_of(m, layers); ++l)
		add(m.group_part(l, group), m.group_part(l, last) + 1);
	if (open.size && count++ < capacity)
		ranges[count - 1] = open;
	return count;
}
