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

int stop_search(void* user)
{
	return static_cast<EncodeTask*>(user)->poll();
}

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
		mocpack_KeysineJob job = {&s,
								  request_.motion.rotations,
								  request_.motion.translations,
								  request_.motion.angles,
								  request_.motion.frames,
								  group_count,
								  request_.groups.first_frame_alone,
								  request_.groups.group_frames,
								  splits_,
								  draft_.table.data(),
								  plan.unit,
								  plan.fine(),
								  request_.groups.tempo,
								  draft_.predictors.data(),
								  draft_.predictor_count,
								  request_.shares,
								  task_.joint_bounds.limits(),
								  request_.settings,
								  reinterpret_cast<const double*>(&task_.constants),
								  request_.on_grid ? draft_.grid_steps.data() : nullptr,
								  draft_.initial_scales.data(),
								  stop_search,
								  &task_,
								  work_per_frame_};
		if (!task_.take(&memory_, mocpack_keysine_encoder_size(&job)))
			return false;
		encoder_ = mocpack_keysine_prepare(&job, memory_.data());
		if (!encoder_)
			return false;
		channels_ = encoder_->plan.channel_count;
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
		for (size_t t = 0; t < encoder_->plan.track_count; ++t)
		{
			const Track& track = encoder_->plan.tracks[t];
			for (int32_t c = 0; c < track.channels; ++c)
				seen->first_channels[size_t(track.first_channel + c)] = track.first_channel;
		}
		mocpack_keysine_watch(encoder_, seen->wanted.data(), seen->series.data(), seen->steps.data(),
							  seen->paces.data());
		return true;
	}

	bool encode_keys()
	{
		Buffer<uint8_t> scratch;
		return task_.take(&keys_, channels_ * ((request_.groups.count << splits_) + 1)) &&
			   task_.take_room(&scratch, mocpack_keysine_keys_scratch(encoder_)) &&
			   mocpack_keysine_encode_keys(encoder_, keys_.data(), scratch.data()) == MOCPACK_OK &&
			   !task_.poll();
	}

	// Encodes the keys at the ends of groups, segment by segment.
	bool encode_segments()
	{
		const size_t per = size_t(task_.constants.groups_per_segment), count = draft_.segment_count,
					 most = std::min(per, request_.groups.count) + 1, room = 64 + 12 * channels_ * most,
					 workers = task_.worker_count(count, request_.alone);
		WorkerScratch scratch, own_keys, bytes;
		if (!scratch.take(&task_, workers, mocpack_keysine_segment_encode_scratch(encoder_, most)) ||
			!own_keys.take(&task_, workers, 4 * most * channels_) || !bytes.take(&task_, workers, room))
			return false;
		std::atomic<bool> good{true};
		task_.parallel_for(count, request_.alone,
						   [&](size_t i, size_t worker)
						   {
							   const size_t first = i * per,
											keys = std::min(per, request_.groups.count - first) + 1;
							   int32_t* own = static_cast<int32_t*>(own_keys.of(worker));
							   uint8_t* dst = static_cast<uint8_t*>(bytes.of(worker));
							   for (size_t k = 0; k < keys; ++k)
								   std::copy_n(keys_.data() + ((first + k) << splits_) * channels_, channels_,
											   own + k * channels_);
							   const size_t size = mocpack_keysine_encode_segment(encoder_, own, keys, dst,
																				  room, scratch.of(worker));
							   if (!size || !draft_.parts.set(i, dst, size))
								   good = false;
						   });
		return good;
	}

	// Finds the initial prediction error of each channel on a grid in time, in half octaves above 1/32 step.
	bool find_scales()
	{
		const size_t groups = request_.groups.count,
					 count = std::min(groups, size_t(task_.constants.grid_scale_groups)),
					 workers = task_.worker_count(count, request_.alone);
		if (!request_.on_grid || !groups)
			return true;
		WorkerScratch scratch;
		Buffer<double> errors;
		if (!scratch.take(&task_, workers, mocpack_keysine_group_encode_scratch(encoder_)) ||
			!task_.take(&errors, count * channels_))
			return false;
		std::atomic<bool> good{true};
		task_.parallel_for(count, request_.alone,
						   [&](size_t i, size_t worker)
						   {
							   const size_t group = i * groups / count;
							   if (task_.poll() || !mocpack_keysine_grid_errors(
													   encoder_, group, keys_.data() + group * channels_,
													   errors.data() + i * channels_, scratch.of(worker)))
								   good = false;
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
		const size_t count = request_.groups.count, room = mocpack_keysine_group_bytes(encoder_),
					 workers = task_.worker_count(count, request_.alone);
		WorkerScratch scratch, bytes;
		if (!scratch.take(&task_, workers, mocpack_keysine_group_encode_scratch(encoder_)) ||
			!bytes.take(&task_, workers, room))
			return false;
		std::atomic<bool> good{true};
		std::atomic<size_t> done{0};
		task_.parallel_for(
			count, request_.alone,
			[&](size_t i, size_t worker)
			{
				if (!good || task_.stopped())
					return;
				size_t size;
				double work;
				uint8_t* dst = static_cast<uint8_t*>(bytes.of(worker));
				if (mocpack_keysine_encode_group(encoder_, i, keys_.data() + (i << splits_) * channels_, dst,
												 room, &size, &work, scratch.of(worker)) != MOCPACK_OK ||
					!draft_.parts.set(draft_.segment_count + i, dst, size))
					good = false;
				work_ += uint64_t(work);
				task_.poll(double(++done) / double(count));
			});
		return good && !task_.stopped();
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
	Buffer<uint8_t> memory_;
	mocpack_KeysineEncoder* encoder_ = nullptr;
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

bool Parts::set(size_t i, const uint8_t* data, size_t size)
{
	if (!size)
		return true;
	const mocpack_Allocator& allocator = task_->work.allocator;
	uint8_t* own = static_cast<uint8_t*>(allocator.allocate(allocator.user, size));
	if (!own)
		return task_->stop(MOCPACK_NO_MEMORY);
	std::memcpy(own, data, size);
	parts_[i] = {own, size};
	return true;
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
