// Expresses bounds of single joints as shares of the one bound that the search uses.
#include "keysine/encode/joint_bounds.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/search.h"
#include "keysine/encode/settings.h"
#include "keysine/format/plan.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

bool JointBounds::set(const mocpack_Skeleton& skeleton, const Constants& constants,
					  const mocpack_Allocator& allocator, ClipTarget* target)
{
	const size_t joints = skeleton.joint_count;
	const double *errors = target->joint_errors, *angles = target->joint_angles;
	if (!errors && !angles)
		return true;
	for (Buffer<double>* own :
		 {&errors_, &angles_, &shares_, &track_shares_, &angle_allowances_, &angle_prices_})
		if (!own->take(allocator, joints))
			return false;
	if (!coarser_steps_.take(allocator, joints))
		return false;
	for (size_t j = 0; j < joints; ++j)
	{
		shares_[j] = errors_[j] = errors ? errors[j] : target->max_error;
		angles_[j] = angles ? angles[j] : target->max_angle;
	}
	std::nth_element(shares_.data(), shares_.data() + joints / 2, shares_.data() + joints);
	target->max_error = shares_[joints / 2];
	for (size_t j = 0; j < joints; ++j)
	{
		shares_[j] = allowance_within(constants, errors_[j]) / allowance_within(constants, target->max_error);
		track_shares_[j] = shares_[j];
		least_share_ = std::min(least_share_, shares_[j]);
	}
	for (size_t j = joints; j-- > 1;)
	{
		double& above = track_shares_[size_t(skeleton.parents[j])];
		above = std::min(above, track_shares_[j]);
	}
	for (size_t j = 0; j < joints; ++j)
		coarser_steps_[j] = int32_t(std::nearbyint(2 * math::log2(track_shares_[j])));
	set_angles(constants, target);
	limits_ = {shares_.data(), track_shares_.data(), coarser_steps_.data(), angle_allowances_.data(),
			   angle_prices_.data()};
	return true;
}

void JointBounds::set_angles(const Constants& constants, ClipTarget* target)
{
	double loosest = 0;
	bool all = true;
	for (size_t j = 0; j < angles_.size(); ++j)
	{
		const double angle = angles_[j];
		angle_allowances_[j] = (1 - constants.rounding_margin) * angle;
		all = all && angle > 0;
		loosest = std::max(loosest, angle);
		if (angle > 0 && !(least_angle_ > 0 && least_angle_ < angle))
			least_angle_ = angle;
	}
	target->max_angle = all ? loosest : 0;
	const double usual = (1 - constants.rounding_margin) * target->max_angle;
	// subtract the price that all joints pay already
	for (size_t j = 0; j < angles_.size(); ++j)
	{
		const double own = angle_allowances_[j];
		angle_prices_[j] = own > 0 ? 1 / (own * own) - (usual > 0 ? 1 / (usual * usual) : 0.0) : 0.0;
	}
}

int32_t step_for(const JointLimits* limits, size_t joint, int32_t usual)
{
	return limits ? std::min(std::max(usual - limits->coarser_steps[joint], 0), FINEST_STEP - 1) : usual;
}

} // namespace keysine
} // namespace mocpack
