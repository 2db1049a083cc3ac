// Decodes any frames of a keysine payload into arrays, with groups on the caller's threads.
#include "reader/keysine_frames.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "keysine/decode/rows.h"
#include "reader/chunks.h"

namespace mocpack
{

namespace
{

const size_t ALIGNMENT = 32; // bytes, for vectorized loops

void* align(void* memory)
{
	return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory) + ALIGNMENT - 1) / ALIGNMENT *
								   ALIGNMENT);
}

} // namespace

mocpack_Motion* open_keysine_payload(const mocpack_Skeleton& skeleton, uint64_t frame_count,
									 const Bytes& bytes, const PayloadPlace& place, uint32_t flags,
									 uint64_t memory_limit, mocpack_Error* error,
									 const mocpack_KeysineHead* like)
{
	Memory memory(default_allocator(), memory_limit);
	mocpack_Motion* motion = make_motion(memory);
	if (!motion)
	{
		ErrorMessage(error, MOCPACK_NO_MEMORY) << "out of memory";
		return nullptr;
	}
	motion->bytes = bytes;
	motion->payload = place;
	motion->codec = KEYSINE;
	motion->tree = skeleton;
	motion->info.frame_count = frame_count;
	motion->info.joint_count = skeleton.joint_count;
	if (open_keysine(motion, flags, error, like))
		return motion;
	mocpack_close(motion);
	return nullptr;
}

mocpack_Motion* open_keysine_alike(const Bytes& bytes, const mocpack_Motion& like_file,
								   const mocpack_Skeleton& skeleton, const mocpack_KeysineHead* like,
								   uint64_t memory_limit)
{
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.memory_limit = memory_limit;
	mocpack_Motion* file = nullptr;
	mocpack_Error error = {};
	if (open_clip(bytes, &options, true, &file, &error, &like_file) != MOCPACK_OK)
		return nullptr;
	const mocpack_Info &own = file->info, &other = like_file.info;
	const uint64_t numbers_per_frame = 4 * skeleton.joint_count + 3 * skeleton.translated_count;
	const bool alike = file->shares_skeleton && !own.times && !file->needed.size &&
					   own.frame_count <= memory_limit / (2 * sizeof(double) * numbers_per_frame) &&
					   own.bitstream_version == other.bitstream_version &&
					   own.codec.size == other.codec.size &&
					   !std::memcmp(own.codec.bytes, other.codec.bytes, own.codec.size);
	const uint64_t frames = own.frame_count;
	const PayloadPlace payload = file->payload;
	mocpack_close(file); // windows need only the payload
	return alike ? open_keysine_payload(skeleton, frames, bytes, payload, 0, memory_limit, &error, like)
				 : nullptr;
}

bool select_joints(const mocpack_Skeleton& skeleton, const int32_t* joints, size_t joint_count,
				   int32_t* rotations, int32_t* translations, mocpack_KeysineColumns* columns)
{
	*columns = {rotations, translations, 0, 0};
	std::fill_n(rotations, skeleton.joint_count, -1);
	for (size_t i = 0; i < joint_count; ++i)
	{
		if (joints[i] < 0 || size_t(joints[i]) >= skeleton.joint_count)
			return false;
		rotations[joints[i]] = 0;
	}
	for (size_t j = 0; j < skeleton.joint_count; ++j)
		rotations[j] = rotations[j] < 0 ? -1 : int32_t(columns->rotation_count++);
	for (size_t m = 0; m < skeleton.translated_count; ++m)
		translations[m] =
			rotations[skeleton.translated_joints[m]] < 0 ? -1 : int32_t(columns->translation_count++);
	return true;
}

KeysineFrames::KeysineFrames(const mocpack_Motion& motion, uint64_t first, uint64_t stop,
							 const WorkContext& work, const SegmentKeys& known)
	: motion_(motion), work_(work), known_(known), first_(first), stop_(stop)
{
	if (motion.layout.layer_count > 1)
		known_.segment = NO_GROUP; // groups of a truncated file differ in their layers, and so do their keys
	first_group_ = motion.group_at(first);
	const size_t last = motion.group_at(stop - 1), segment = motion.segment_of(first_group_);
	group_count_ = motion.layout.group_count ? last + 1 - first_group_ : 0;
	task_count_ = work.parallel_for ? std::max<size_t>(1, std::min(group_count_, work.workers)) : 1;
	const size_t last_key = first_group_ + group_count_ - segment * motion.layout.groups_per_segment;
	const bool needs_keys =
		known_.segment != segment || segment != motion.segment_of(last) || known_.count <= last_key;
	range_count_ = motion.bytes.all ? 0
									: find_ranges(motion, first_group_, last, motion.layout.layer_count,
												  needs_keys, ranges_);
}

KeysineFrames::~KeysineFrames()
{
	if (memory_)
		work_.allocator.release(work_.allocator.user, memory_, memory_size_);
}

void KeysineFrames::lay_out(Arena* arena)
{
	const mocpack_Motion& m = motion_;
	for (size_t i = 0; i < range_count_; ++i)
		fetched_[i] = arena->allocate<uint8_t>(size_t(ranges_[i].size));
	const size_t scratch =
		std::max({mocpack_keysine_group_scratch_size(m.head), mocpack_keysine_rows_scratch_size(m.head),
				  mocpack_keysine_segment_scratch_size(m.head)});
	tasks_ = arena->allocate<Task>(task_count_);
	for (size_t i = 0; i < task_count_; ++i)
	{
		Task task = {};
		task.keys = arena->allocate<int32_t>(m.keys_in_segment(0) * m.layout.channel_count);
		task.input = arena->allocate<uint8_t>(m.bytes.all ? 0 : m.largest_input);
		task.scratch = arena->allocate<uint8_t>(scratch);
		task.segment = NO_GROUP, task.last_key = end_of_task(i);
		task.bytes = m.bytes.all ? m.bytes : Bytes{nullptr, {this, m.bytes.source.size, read_fetched}, 0};
		if (tasks_)
			tasks_[i] = task;
	}
}

size_t KeysineFrames::memory_size()
{
	Arena counting(nullptr);
	lay_out(&counting);
	return counting.used() + ALIGNMENT;
}

bool KeysineFrames::fetch(mocpack_Error* error)
{
	memory_size_ = memory_size();
	memory_ = work_.allocator.allocate(work_.allocator.user, memory_size_);
	if (!memory_)
		return no_memory(error, "keysine frames");
	Arena arena(align(memory_));
	lay_out(&arena);
	for (size_t i = 0; i < range_count_; ++i)
		if (!motion_.bytes.view(ranges_[i].offset, ranges_[i].size, fetched_[i], error))
			return false;
	if (known_.segment == NO_GROUP)
		return true;
	const size_t size = known_.count * motion_.layout.channel_count;
	for (size_t i = 0; i < task_count_; ++i)
	{
		std::memcpy(tasks_[i].keys, known_.keys, size * sizeof(int32_t));
		tasks_[i].segment = known_.segment, tasks_[i].key_layers = 1, tasks_[i].key_count = known_.count;
	}
	return true;
}

mocpack_Status KeysineFrames::read_fetched(void* user, uint64_t offset, size_t size, void* dst)
{
	const KeysineFrames& self = *static_cast<KeysineFrames*>(user);
	for (size_t i = 0; i < self.range_count_; ++i)
	{
		const mocpack_Range& range = self.ranges_[i];
		if (offset < range.offset || offset + size > range.offset + range.size)
			continue;
		std::memcpy(dst, self.fetched_[i] + (offset - range.offset), size);
		return MOCPACK_OK;
	}
	return MOCPACK_READ_FAILED;
}

// Each task decodes neighboring groups, so that it loads few segments.
bool KeysineFrames::run_task(size_t index, const FrameArrays& out, bool keys_only)
{
	const mocpack_Motion& m = motion_;
	Task& task = tasks_[index];
	const size_t end = end_of_task(index);
	size_t group = index ? end_of_task(index - 1) : first_group_;
	for (; group < end; ++group)
	{
		if (is_canceled(&task))
			return false;
		const uint64_t start = m.key_frame(group), from = std::max(start, first_),
					   to = std::min<uint64_t>(m.key_frame(group + 1), stop_);
		if (keys_only && load_keys(m, &task, m.segment_of(group), 0, &task.error))
			decode_key(m, key_of(m, task, group), out.after(group - first_group_));
		else if (keys_only)
			return false;
		else if (from < to &&
				 !decode_group_frames(m, &task, group, size_t(from - start), size_t(to - start),
									  m.layout.layer_count, out.after(size_t(from - first_)), &task.error))
			return false;
	}
	const uint64_t last = m.key_frame(group); // the closing key pose
	if (index + 1 < task_count_ || (!keys_only && last >= stop_))
		return true;
	const size_t last_group = group ? group - 1 : 0;
	const size_t layers = keys_only || !group_count_ ? 0 : m.whole_layers(last_group, m.layout.layer_count);
	if (!load_keys(m, &task, m.segment_of(last_group), layers, &task.error))
		return false;
	decode_key(m, key_of(m, task, group), out.after(keys_only ? group_count_ : size_t(last - first_)));
	return true;
}

bool KeysineFrames::is_canceled(Task* task) const
{
	if (!work_.progress || !work_.progress(work_.user, 0))
		return false;
	ErrorMessage(&task->error, MOCPACK_CANCELED) << "decoding was canceled";
	return true;
}

bool KeysineFrames::run(const FrameArrays& out, bool keys_only, mocpack_Error* error)
{
	struct Call
	{
		KeysineFrames* self;
		const FrameArrays& out;
		bool keys_only;
	} call = {this, out, keys_only};
	auto run_one = [](void* context, size_t index, size_t)
	{
		const Call& own = *static_cast<Call*>(context);
		own.self->tasks_[index].good = own.self->run_task(index, own.out, own.keys_only);
	};
	if (task_count_ > 1)
		work_.parallel_for(work_.user, task_count_, run_one, &call);
	else
		run_one(&call, 0, 0);
	for (size_t i = 0; i < task_count_; ++i)
		if (!tasks_[i].good)
		{
			*error = tasks_[i].error;
			return false;
		}
	return true;
}

bool KeysineFrames::normalize(const FrameArrays& out, size_t frames, mocpack_Error* error) const
{
	if (normalize_frames(out.rotations, out.translations, frames, out.rotation_count, out.translation_count))
		return true;
	ErrorMessage(error, MOCPACK_CORRUPT, motion_.part_offsets[0])
		<< "keysine group " << uint64_t(first_group_) << " or one of the " << uint64_t(group_count_)
		<< " from it contains invalid rotations or translations";
	return false;
}

bool KeysineFrames::decode(const FrameArrays& out, bool normalized, mocpack_Error* error)
{
	return run(out, false, error) && (!normalized || normalize(out, size_t(stop_ - first_), error));
}

bool KeysineFrames::decode_keys(const FrameArrays& out, mocpack_Error* error)
{
	return run(out, true, error) && normalize(out, group_count_ + 1, error);
}

bool KeysineFrames::write_window(const mocpack_WindowPlan& plan, double step, double rate, size_t rows,
								 float* out, mocpack_Error* error)
{
	const size_t frames = size_t(stop_ - first_), joints = motion_.tree.joint_count,
				 moving = motion_.tree.translated_count, turns = 4 * joints * frames,
				 places = 3 * moving * frames, width = mocpack_window_width(&plan);
	FrameArrays arrays = {nullptr, joints, moving, nullptr, nullptr, out, width, width == 4 * joints};
	if (rows == frames && mocpack_window_is_copy(&plan, step) && mocpack_keysine_decodes_rows(motion_.head))
		return run(arrays, false, error);
	const mocpack_Allocator& allocator = work_.allocator;
	const size_t size = (turns + places) * sizeof(double) + mocpack_window_scratch_size(&plan, rows);
	double* memory = static_cast<double*>(allocator.allocate(allocator.user, size));
	if (!memory)
		return no_memory(error, "window");
	arrays.rotations = memory, arrays.translations = memory + turns, arrays.rows = nullptr;
	const bool good = run(arrays, false, error);
	if (good)
		mocpack_window_from_double(&plan, memory, 4 * joints, memory + turns, 3 * moving, frames, 0.0, step,
								   rows, rate, out, width, memory + turns + places);
	allocator.release(allocator.user, memory, size);
	return good;
}

SegmentKeys KeysineFrames::last_keys() const
{
	const Task& task = tasks_[task_count_ - 1];
	return {task.segment, task.key_count, task.keys};
}

} // namespace mocpack
