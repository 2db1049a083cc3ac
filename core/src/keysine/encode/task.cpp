// Progress, cancellation and hinge angles, which all parts of one encode share.
#include "keysine/encode/task.h"

#include <algorithm>
#include <cmath>

#include "math/hinge_angles.h"

namespace mocpack
{
namespace keysine
{

void Progress::expect(double units)
{
	Level& level = levels_[depth_];
	level.total = level.total > level.done + units ? level.total : level.done + units;
}

void Progress::begin(double units)
{
	expect(units);
	levels_[depth_].units = units;
	if (depth_ + 1 < MAX_DEPTH)
		levels_[++depth_] = {};
}

void Progress::end()
{
	if (depth_)
		--depth_;
	levels_[depth_].done += levels_[depth_].units, levels_[depth_].units = 0;
}

double Progress::share(double share) const
{
	if (levels_[depth_].total > 0) // between units
		share = levels_[depth_].done / levels_[depth_].total;
	for (int d = depth_ - 1; d >= 0; --d)
		share = levels_[d].total > 0 ? (levels_[d].done + levels_[d].units * share) / levels_[d].total : 0.0;
	return share < 1 ? share : 1.0;
}

EncodeTask::EncodeTask(const SourceClip& clip_, const ClipTarget& target_, const WorkContext& work_,
					   const Constants& constants_)
	: clip(clip_), skeleton(*clip_.skeleton), target(target_), work(work_), constants(constants_)
{
	const double poses = double(clip.frame_count) * double(skeleton.joint_count);
	budget_ = work_left = constants.max_work * std::max(poses, constants.max_work_poses);
}

bool EncodeTask::stop(mocpack_Status status)
{
	int expected = MOCPACK_OK;
	status_.compare_exchange_strong(expected, int(status));
	return false;
}

bool EncodeTask::poll(double share)
{
	reported_share_ = progress.share(share);
	return poll();
}

bool EncodeTask::poll()
{
	if (!stopped() && work.progress && work.progress(work.user, reported_share_))
		stop(MOCPACK_CANCELED);
	return stopped();
}

bool unwrapped_angles(EncodeTask* task, const double* rotations, const double* translations, size_t frames,
					  Buffer<double>* angles)
{
	const mocpack_Skeleton& s = task->skeleton;
	const double turn = 6.28318530717958647692; // radians
	if (!task->take(angles, frames * s.hinge_count))
		return false;
	mocpack_compute_hinge_angles(&s, rotations, translations, frames, angles->data());
	for (size_t h = 0; h < s.hinge_count; ++h)
		for (size_t t = 1; t < frames && !s.hinge_slides[h]; ++t)
		{
			double *now = angles->data() + t * s.hinge_count + h, before = now[-ptrdiff_t(s.hinge_count)];
			now[0] -= turn * std::nearbyint((now[0] - before) / turn);
		}
	return true;
}

} // namespace keysine
} // namespace mocpack
