// Reads frames, interpolated poses and key poses.
#include <cmath>

#include "common/small_build.h"
#include "reader/reader.h"

using namespace mocpack;

namespace
{

template <typename Number> struct Writer
{
	const mocpack_Reader& r;
	const mocpack_Poses& poses;

	void write(const Number* row, const MovingScales& scales, Lane* lane, uint64_t frame) const
	{
		write_pose(r.rig, r.space, row, scales, lane->world, poses, frame);
	}

	// Writes frames from … to - 1 of a group's rows, which start at frame `first`, to output frames `at` and
	// later.
	void write_all(const void* rows, Lane* lane, uint64_t first, uint64_t from, uint64_t to,
				   uint64_t at) const
	{
		for (; from < to; ++from, ++at)
			write(r.row_of<Number>(rows, from - first), r.scales_at(from), lane, at);
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
			align_quaternion_signs<Number>(poses, r->rig.written_count, at - first, end - first);
		at = end;
		// sequential reading does not need this group again: evict it first
		if (slot->first >= first && end == slot->stop)
			slot->used = 0;
	}
	return MOCPACK_OK;
}

// Groups to decode; each task takes every task_count-th group.
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
		r->lanes[i].failed_group = NO_GROUP;
	r->slots[0].group = NO_GROUP; // the first task uses this slot
	r->executor.run(r->executor.user, run_task<Number>, &work, work.task_count);
	const Lane* worst = &r->lanes[0];
	for (size_t i = 1; i < r->lane_count; ++i)
		worst = r->lanes[i].failed_group < worst->failed_group ? &r->lanes[i] : worst;
	if (worst->failed_group != NO_GROUP)
	{
		*error = worst->error;
		return error->status;
	}
	for (size_t g = group + 1; g < group + count; ++g)
	{
		uint64_t end = g + 1 >= m.group_count() ? m.info.frame_count : m.key_frame(g + 1);
		align_quaternion_signs<Number>(poses, r->rig.written_count, m.key_frame(g) - first,
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
	const Number *row = r->row_of<Number>(slot->rows, frame - slot->first), *shown = row;
	if (at > double(frame)) // so there is a next frame
	{
		blend_rows(r->rig, row, row + r->row_stride(), at - double(frame), static_cast<Number*>(lane->row));
		shown = static_cast<Number*>(lane->row);
	}
	Writer<Number>{*r, pose}.write(shown, r->scales_at(frame, at - double(frame)), lane, 0);
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
		if (m.codec != KEYSINE)
		{
			const uint64_t frame = m.key_frame(size_t(key));
			Slot* slot = slot_at(r, frame, error);
			if (!slot)
				return error->status;
			writer.write(r->row_of<Number>(slot->rows, frame - slot->first), r->scales_at(frame), lane,
						 key - first);
			if (key > first)
				align_quaternion_signs<Number>(poses, r->rig.written_count, key - first, key - first + 1);
			continue;
		}
		size_t k = size_t(key), group = k < m.group_count() ? k : m.group_count() - 1;
		if (!load_keys(m, lane, m.segment_of(group), 0, error))
			return error->status;
		if (!finish_rows(*r, *lane, key_of(m, *lane, k), 0, lane->row))
			return ErrorMessage(error, MOCPACK_CORRUPT, m.part_offsets[m.parts().segment(0, lane->segment)])
				   << "key pose " << key << ": invalid rotations or translations";
		writer.write(r->row_of<Number>(lane->row, 0), r->scales_at(m.key_frame(k)), lane, key - first);
		if (key > first)
			align_quaternion_signs<Number>(poses, r->rig.written_count, key - first, key - first + 1);
	}
	return MOCPACK_OK;
}

mocpack_Status fail_outside(mocpack_Error* error, const char* what, uint64_t first, uint64_t stop,
							uint64_t count)
{
	return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
		   << what << " " << first << " to " << stop << " are outside the motion, which has " << count;
}

// Returns whether an argument is null, and sets the error.
bool are_null(const mocpack_Reader* reader, const mocpack_Poses* poses, mocpack_Error* error)
{
	const bool null = CHECKS_ARGUMENTS && (!reader || !poses);
	if (null)
		ErrorMessage(error, MOCPACK_BAD_ARGUMENT) << "the reader or the poses are null";
	return null;
}

} // namespace

mocpack_Status mocpack_frames(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							  const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (are_null(reader, poses, error))
		return MOCPACK_BAD_ARGUMENT;
	const mocpack_Motion& m = *reader->motion;
	if (CHECKS_ARGUMENTS && (first > stop || stop > m.info.frame_count))
		return fail_outside(error, "frames", first, stop, m.info.frame_count);
	if (first == stop)
		return MOCPACK_OK;
	const bool single = !SMALL_BUILD && reader->precision == MOCPACK_FLOAT32;
	if (!SMALL_BUILD && reader->executor.run && m.group_at(first) < m.group_at(stop - 1))
		return (single ? run_tasks<float> : run_tasks<double>)(reader, first, stop, *poses, error);
	return (single ? read_frames<float> : read_frames<double>)(reader, first, stop, *poses, error);
}

mocpack_Status mocpack_sample(mocpack_Reader* reader, double seconds, const mocpack_Poses* pose,
							  mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (are_null(reader, pose, error))
		return MOCPACK_BAD_ARGUMENT;
	if (CHECKS_ARGUMENTS && std::isnan(seconds))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT) << "mocpack_sample: the time is not a number";
	if (!SMALL_BUILD && reader->precision == MOCPACK_FLOAT32)
		return read_sample<float>(reader, seconds, *pose, error);
	return read_sample<double>(reader, seconds, *pose, error);
}

mocpack_Status mocpack_preview(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							   const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (are_null(reader, poses, error))
		return MOCPACK_BAD_ARGUMENT;
	uint64_t keys = reader->motion->info.key_count;
	if (CHECKS_ARGUMENTS && (first > stop || stop > keys))
		return fail_outside(error, "key poses", first, stop, keys);
	if (!SMALL_BUILD && reader->precision == MOCPACK_FLOAT32)
		return read_keys<float>(reader, first, stop, *poses, error);
	return read_keys<double>(reader, first, stop, *poses, error);
}

size_t mocpack_byte_ranges(const mocpack_Motion* motion, uint64_t first, uint64_t stop, uint32_t layers,
						   mocpack_Range* ranges, size_t capacity)
{
	if (CHECKS_ARGUMENTS && !motion)
		return 0;
	const mocpack_Motion& m = *motion;
	if (first >= stop || stop > m.info.frame_count)
		return 0;
	capacity = !CHECKS_ARGUMENTS || ranges ? capacity : 0;
	size_t group = m.group_at(first), last = m.group_at(stop - 1), count = 0;
	if (m.codec == LOSSLESS) // already decoded
		return 0;
	if (m.codec == RAW)
	{
		const uint64_t start = m.key_frame(group), rows = m.key_frame(last + 1) + 1 - start;
		if (capacity)
			ranges[0] = {m.bytes.start + m.raw.rows_offset + start * m.raw.row_size(),
						 rows * m.raw.row_size()};
		return m.raw.row_size() ? 1 : 0;
	}
	mocpack_Range found[MAX_RANGES];
	const size_t parts = find_ranges(m, group, last, layers_of(m, layers), true, found);
	for (size_t i = 0; i < parts; ++i) // neighbors become one range
		if (count && found[count - 1].offset + found[count - 1].size == found[i].offset)
			found[count - 1].size += found[i].size;
		else
			found[count++] = found[i];
	for (size_t i = 0; i < count && i < capacity; ++i)
		ranges[i] = {m.bytes.start + found[i].offset, found[i].size};
	return count;
}
