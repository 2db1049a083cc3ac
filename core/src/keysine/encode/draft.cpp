// Makes the parts of a payload of one layer on all workers: keys by segment, then groups.
#include "keysine/encode/draft.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/encoder.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const double WORK_SHARE = 0.5;	// of the work that is left, for one draft
const uint8_t FIRST_SCALE = 12; // in half octaves above 1/32 step: two steps

class Drafting
{
  public:
	Drafting(EncodeTask* task, const DraftRequest& request, Draft* draft)
		: task_(*task), request_(request), draft_(*draft)
	{
	}

	bool run(Observation* seen)
	{
		const double most = WORK_SHARE * task_.work_left;
		work_per_frame_ = most / double(request_.motion.frames);
		const bool good = prepare() && observe(seen) && encode_keys() && encode_segments() && find_scales() &&
						  encode_groups() && finish(seen);
		// which groups a draft that fails has begun depends on the threads, so it costs its whole share
		task_.spend(good ? std::min(double(work_), most) : most);
		return good;
	}

  private:
	bool prepare()
	{
		const mocpack_Skeleton& s = task_.skeleton;
		const ClipPlan& plan = *request_.plan;
		const size_t group_count = request_.groups.count, per = size_t(task_.constants.groups_per_segment);
		draft_.groups = request_.groups;
		draft_.unit = plan.unit, draft_.fine_bits = plan.fine_bits;
		draft_.is_grid = request_.on_grid, draft_.is_thorough = request_.settings.thorough;
		draft_.segment_count = group_count ? (group_count + per - 1) / per : 1;
		draft_.predictor_count = request_.predictors ? request_.predictors->count : 0;
		const int32_t* rows = request_.predictors ? request_.predictors->rows.data() : nullptr;
		if (!task_.copy(&draft_.table, plan.table.data(), plan.table.size()) ||
			!task_.copy(&draft_.predictors, rows, 4 * draft_.predictor_count) ||
			!task_.take(&draft_.initial_scales, 7 * s.joint_count) || !take_grid_steps() ||
			!draft_.parts.take(&task_, draft_.segment_count + group_count))
			return false;
		std::fill(draft_.initial_scales.data(), draft_.initial_scales.data() + 7 * s.joint_count,
				  FIRST_SCALE);
		splits_ = request_.on_grid ? 0 : request_.groups.splits;
		Job job;
		job.skeleton = &s, job.motion = request_.motion;
		job.settings = request_.settings, job.constants = task_.constants;
		job.group_count = group_count, job.first_frame_alone = request_.groups.first_frame_alone;
		job.group_frames = request_.groups.group_frames;
		job.splits = splits_, job.tempo = request_.groups.tempo;
		job.table = draft_.table.data(), job.unit = plan.unit, job.fine = plan.fine();
		job.predictors = draft_.predictors.data(), job.predictor_count = draft_.predictor_count;
		job.shares = request_.shares, job.limits = task_.joint_bounds.limits();
		job.grid_steps = request_.on_grid ? draft_.grid_steps.data() : nullptr;
		job.initial_scales = draft_.initial_scales.data();
		job.task = &task_, job.work_per_frame = work_per_frame_;
		if (!task_.accept(encoder_.open(task_.work.allocator, job)))
			return false;
		channels_ = encoder_.plan.channel_count;
		return true;
	}

	// Sets the grid steps of all tracks. Channels are scaled by how far they move points, so one step fits
	// all. Quaternions use twice that step, because their length moves nothing.
	bool take_grid_steps()
	{
		const mocpack_Skeleton& s = task_.skeleton;
		if (!request_.on_grid)
			return true;
		if (!task_.take(&draft_.grid_steps, 2 * s.joint_count))
			return false;
		size_t tracks = 0;
		for (size_t j = 0; j < s.joint_count; ++j)
		{
			const int32_t* row = request_.plan->table.data() + PLAN_COLUMNS * j;
			const int32_t unit = step_for(task_.joint_bounds.limits(), j, UNIT_STEP);
			if (row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
				draft_.grid_steps[tracks++] = uint8_t(unit);
			if (row[ROTATION_KIND] >= VECTOR_ROTATION)
				draft_.grid_steps[tracks++] =
					uint8_t(std::max(unit - 2 * (row[ROTATION_KIND] == QUATERNION_ROTATION), 0));
		}
		return true;
	}

	bool observe(Observation* seen)
	{
		const size_t frames = request_.motion.frames;
		if (!seen)
			return true;
		if (!task_.take(&seen->wanted, channels_ * frames) ||
			!task_.take(&seen->series, channels_ * frames) || !task_.take(&seen->steps, channels_ * frames) ||
			!task_.take(&seen->paces, frames) || !task_.take(&seen->first_channels, channels_))
			return false;
		seen->channel_count = channels_;
		for (size_t t = 0; t < encoder_.plan.track_count; ++t)
		{
			const Track& track = encoder_.plan.tracks[t];
			for (int32_t c = 0; c < track.channels; ++c)
				seen->first_channels[size_t(track.first_channel + c)] = track.first_channel;
		}
		encoder_.record = {seen->wanted.data(), seen->series.data(), seen->steps.data(), seen->paces.data()};
		return true;
	}

	bool encode_keys()
	{
		return task_.take(&keys_, channels_ * encoder_.key_count()) &&
			   task_.accept(with_arena(task_.work.allocator, [&](Arena* arena)
									   { return keysine::encode_keys(&encoder_, keys_.data(), arena); })) &&
			   !task_.poll();
	}

	// Runs encode(i, arena) for all i below count, on all workers. It measures with an arena without memory.
	template <typename Encode> bool encode_all(size_t count, Encode encode)
	{
		const size_t workers = task_.worker_count(count, request_.alone);
		WorkerArenas arenas;
		if (!arenas.take(&task_, workers, [&](Arena* arena) { encode(size_t(0), arena); }))
			return false;
		std::atomic<bool> good{true};
		task_.parallel_for(count, request_.alone,
						   [&](size_t i, size_t worker)
						   {
							   Arena arena = arenas.of(worker);
							   if (good && !task_.stopped() && !task_.accept(encode(i, &arena)))
								   good = false;
						   });
		return good && !task_.stopped();
	}

	// Encodes the keys at the ends of groups, segment by segment.
	bool encode_segments()
	{
		const size_t per = size_t(task_.constants.groups_per_segment), groups = request_.groups.count;
		return encode_all(draft_.segment_count,
						  [&](size_t i, Arena* arena)
						  {
							  const size_t first = i * per, count = std::min(per, groups - first) + 1;
							  int32_t* own = arena->allocate<int32_t>(count * channels_);
							  for (size_t k = 0; k < count && own; ++k)
								  std::copy_n(keys_.data() + ((first + k) << splits_) * channels_, channels_,
											  own + k * channels_);
							  Bytes segment = {};
							  const mocpack_Status status =
								  encode_segment(encoder_, own, count, arena, &segment);
							  return status == MOCPACK_OK ? draft_.parts.set(i, segment) : status;
						  });
	}

	// Finds the initial prediction error of each channel on a grid in time, in half octaves above 1/32 step.
	bool find_scales()
	{
		const size_t groups = request_.groups.count,
					 count = std::min(groups, size_t(task_.constants.grid_scale_groups));
		if (!request_.on_grid || !groups)
			return true;
		Buffer<double> errors;
		if (!task_.take(&errors, count * channels_))
			return false;
		const bool good =
			encode_all(count,
					   [&](size_t i, Arena* arena)
					   {
						   const size_t group = i * groups / count;
						   return measure_grid(encoder_, group, keys_.data() + group * channels_, arena,
											   errors.data() + i * channels_);
					   });
		for (size_t c = 0; good && c < channels_; ++c)
		{
			double sum = 0;
			for (size_t i = 0; i < count; ++i)
				sum += errors[i * channels_ + c];
			const double octaves = math::log2(std::max(sum / (8.0 * double(count)), 1.0));
			draft_.initial_scales[c] =
				uint8_t(std::min(std::floor(2 * octaves + 0.5), double(MOCPACK_KEYSINE_MAX_INITIAL_SCALE)));
		}
		return good;
	}

	bool encode_groups()
	{
		const size_t count = request_.groups.count;
		std::atomic<size_t> done{0};
		return encode_all(count,
						  [&](size_t i, Arena* arena)
						  {
							  EncodedGroup group = {};
							  const mocpack_Status status = encode_group(
								  encoder_, i, keys_.data() + (i << splits_) * channels_, arena, &group);
							  if (!arena->has_memory())
								  return status;
							  work_ += uint64_t(group.work);
							  task_.poll(double(++done) / double(count));
							  return status == MOCPACK_OK
										 ? draft_.parts.set(draft_.segment_count + i, group.bytes)
										 : status;
						  });
	}

	bool finish(Observation* seen)
	{
		draft_.initial_scales.shorten(request_.on_grid ? channels_ : 0);
		if (seen)
			seen->size = draft_.group_bytes();
		return true;
	}

	EncodeTask& task_;
	const DraftRequest& request_;
	Draft& draft_;
	Encoder encoder_;
	Buffer<int32_t> keys_; // every key that a group can use
	size_t channels_ = 0;
	int32_t splits_ = 0;
	double work_per_frame_ = 0;
	std::atomic<uint64_t> work_{0};
};

} // namespace

Parts::~Parts()
{
	release();
}

void Parts::release()
{
	for (size_t i = 0; i < parts_.size(); ++i)
		if (parts_[i].data)
			task_->work.allocator.release(task_->work.allocator.user, parts_[i].data, parts_[i].size);
	parts_.release();
}

bool Parts::take(EncodeTask* task, size_t count)
{
	release();
	task_ = task;
	return task->take(&parts_, count);
}

mocpack_Status Parts::set(size_t i, const Bytes& bytes)
{
	if (!bytes.size)
		return MOCPACK_OK;
	const mocpack_Allocator& allocator = task_->work.allocator;
	uint8_t* own = static_cast<uint8_t*>(allocator.allocate(allocator.user, bytes.size));
	if (!own)
		return MOCPACK_NO_MEMORY;
	std::memcpy(own, bytes.data, bytes.size);
	parts_[i] = {own, bytes.size};
	return MOCPACK_OK;
}

size_t Parts::size_from(size_t first) const
{
	size_t size = 0;
	for (size_t i = first; i < parts_.size(); ++i)
		size += parts_[i].size;
	return size;
}

bool make_draft(EncodeTask* task, const DraftRequest& request, Draft* draft, Observation* seen)
{
	return Drafting(task, request, draft).run(seen) && !task->stopped();
}

} // namespace keysine
} // namespace mocpack
