// Data that all parts of one encode share: the clip, the target, constants, memory, workers and progress.
#pragma once
#include <atomic>

#include "common/arena.h"
#include "common/buffer.h"
#include "keysine/encode/constants.h"
#include "keysine/encode/encode_clip.h"
#include "keysine/encode/job.h"
#include "keysine/encode/joint_bounds.h"

namespace mocpack
{
namespace keysine
{

// The progress of the work. Each level counts in its own units: an encoder that tries three settings has
// three units, independent of the units inside them.
class Progress
{
  public:
	// Announces that this many units follow at the current level.
	void expect(double units);

	// Begin and end units of the current level.
	void begin(double units);
	void end();

	// Returns the share of all work that is done, given the done share of the innermost units.
	double share(double share) const;

  private:
	static const int MAX_DEPTH = 8;
	struct Level
	{
		double total, done, units; // `units` are in progress
	};
	Level levels_[MAX_DEPTH] = {};
	int depth_ = 0;
};

class EncodeTask
{
  public:
	EncodeTask(const SourceClip& clip_, const ClipTarget& target_, const WorkContext& work_,
			   const Constants& constants_);

	const SourceClip& clip;
	const mocpack_Skeleton& skeleton;
	ClipTarget target;
	const WorkContext& work;
	Constants constants;
	JointBounds joint_bounds;
	Motion motion = {};
	Progress progress;
	double work_left; // of the budget of the whole encode, in units of TrackSearch::work()

	// Takes work from that budget. A little always remains: no limit at all is 0.
	void spend(double amount)
	{
		work_left = work_left > amount + 1 ? work_left - amount : 1.0;
	}
	// Returns the spent share of that budget.
	double work_share() const
	{
		return 1 - work_left / budget_;
	}

	// Returns whether all work must stop: no memory, a callback that stopped it, or a payload that the
	// decoder rejects.
	bool stopped() const
	{
		return status_ != MOCPACK_OK;
	}
	mocpack_Status status() const
	{
		return mocpack_Status(status_.load());
	}
	// Stops all work. Returns false, for callers to return. Only the first status is kept.
	bool stop(mocpack_Status status);
	// Returns whether a step succeeded. A search that finds nothing stops no work; other failures do.
	bool accept(mocpack_Status status)
	{
		return status == MOCPACK_OK || (status != MOCPACK_BOUND_NOT_MET && stop(status));
	}

	// Report the progress of the innermost unit of work, or no new progress. Return whether all work must
	// stop. Called by all workers.
	bool poll(double share);
	bool poll();

	template <typename T> bool take(Buffer<T>* buffer, size_t count)
	{
		return buffer->take(work.allocator, count) || stop(MOCPACK_NO_MEMORY);
	}
	template <typename T> bool take_room(Buffer<T>* buffer, size_t count)
	{
		return buffer->take_room(work.allocator, count) || stop(MOCPACK_NO_MEMORY);
	}
	template <typename T> bool copy(Buffer<T>* buffer, const T* source, size_t count)
	{
		return buffer->copy(work.allocator, source, count) || stop(MOCPACK_NO_MEMORY);
	}

	bool is_hinged() const
	{
		return skeleton.hinge_count > 0;
	}

	// Calls run(i, worker) for i below count, on one worker or all.
	template <typename Run> void parallel_for(size_t count, bool alone, Run run)
	{
		if (alone || !work.parallel_for || work.workers < 2)
		{
			for (size_t i = 0; i < count; ++i)
				run(i, size_t(0));
			return;
		}
		work.parallel_for(
			work.user, count,
			[](void* context, size_t i, size_t worker) { (*static_cast<Run*>(context))(i, worker); }, &run);
	}

	// Returns the number of workers of such a loop.
	size_t worker_count(size_t count, bool alone) const
	{
		const size_t most = alone || !work.parallel_for || !work.workers ? 1 : work.workers;
		return count < most ? (count ? count : 1) : most;
	}

  private:
	std::atomic<int> status_{MOCPACK_OK};
	std::atomic<double> reported_share_{0};
	double budget_; // work_left at first
};

// Calls run(arena) twice: without memory, so that it only measures what it allocates, then with it.
template <typename Run> mocpack_Status with_arena(const mocpack_Allocator& allocator, Run run)
{
	Arena measuring(nullptr);
	run(&measuring);
	Buffer<uint8_t> memory;
	if (!memory.take_room(allocator, measuring.used()))
		return MOCPACK_NO_MEMORY;
	Arena arena(memory.data());
	return run(&arena);
}

// Memory for each worker. run(arena) only measures what it allocates.
class WorkerArenas
{
  public:
	template <typename Run> bool take(EncodeTask* task, size_t workers, Run run)
	{
		Arena measuring(nullptr);
		run(&measuring);
		stride_ = (measuring.used() + 63) / 64 * 64;
		return task->take_room(&memory_, workers * stride_);
	}
	Arena of(size_t worker)
	{
		return Arena(memory_.data() + worker * stride_);
	}

  private:
	Buffer<uint8_t> memory_;
	size_t stride_ = 0;
};

// Computes the unwrapped angles (T, H) of a motion's hinges.
bool unwrapped_angles(EncodeTask* task, const double* rotations, const double* translations, size_t frames,
					  Buffer<double>* angles);

} // namespace keysine
} // namespace mocpack
