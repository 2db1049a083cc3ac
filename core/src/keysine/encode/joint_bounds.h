// Bounds of single joints, as shares of the one bound that the search uses.
#pragma once
#include "common/buffer.h"
#include "keysine/encode/constants.h"
#include "keysine/encode/encode_clip.h"
#include "keysine/encode/job.h"

namespace mocpack
{
namespace keysine
{

class JointBounds
{
  public:
	/* Sets the bounds from the target's bounds of joints, if there are any. The target's max_error then
	 * becomes the median of the joints' error bounds. Its max_angle becomes the loosest bound on angles, or 0
	 * if a joint has none. Returns false if there is no memory. */
	bool set(const mocpack_Skeleton& skeleton, const Constants& constants, const mocpack_Allocator& allocator,
			 ClipTarget* target);

	// Returns the limits for the encoder of groups; null if joints have no bounds of their own.
	const JointLimits* limits() const
	{
		return limits_.shares ? &limits_ : nullptr;
	}
	// Returns the shares (J) of the allowances; null: all 1.
	const double* shares() const
	{
		return limits_.shares;
	}
	double share(size_t joint) const
	{
		return limits_.shares ? limits_.shares[joint] : 1.0;
	}
	// Returns the smallest share, at most 1.
	double least_share() const
	{
		return least_share_;
	}
	// Return the bounds of a joint in meters and radians, or `otherwise` if joints have no bounds of their
	// own. 0: no bound on its angle.
	double max_error(size_t joint, double otherwise) const
	{
		return errors_.size() ? errors_[joint] : otherwise;
	}
	double max_angle(size_t joint, double otherwise) const
	{
		return angles_.size() ? angles_[joint] : otherwise;
	}
	// Returns the tightest bound on an angle; 0: none.
	double least_angle(double otherwise) const
	{
		return angles_.size() ? least_angle_ : otherwise;
	}

  private:
	void set_angles(const Constants& constants, ClipTarget* target);

	Buffer<double> errors_, angles_; // (J) as the target states them
	Buffer<double> shares_, track_shares_, angle_allowances_, angle_prices_;
	Buffer<int32_t> coarser_steps_;
	double least_share_ = 1, least_angle_ = 0;
	JointLimits limits_ = {};
};

// Returns the step index of a joint's tracks, given the usual index.
int32_t step_for(const JointLimits* limits, size_t joint, int32_t usual);

} // namespace keysine
} // namespace mocpack
