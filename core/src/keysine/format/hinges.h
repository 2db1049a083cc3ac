// Hinges of the joints of a skeleton, by joint.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"
#include "math/rotation_vector.h"

namespace mocpack
{
namespace keysine
{

const int32_t MAX_TURNS = 2, MAX_SLIDES = 3;
const double FULL_TURN = 6.28318530717958647692; // radians

// The hinges of one joint: sliding ones first, then turning ones.
struct JointHinges
{
	size_t first; // index among the skeleton's hinges
	int32_t slides, turns;
	const double* axes;	  // (slides + turns, 3)
	const double* limits; // (slides + turns, 2)
	Quat rest;
	Vec3 offset;

	Vec3 slide_axis(int32_t i) const
	{
		return load_vec(axes + 3 * i);
	}
	Vec3 turn_axis(int32_t i) const
	{
		return load_vec(axes + 3 * (slides + i));
	}

	// Returns whether hinge i has a limit.
	bool limited(int32_t i) const
	{
		return limits[2 * i] > -HUGE_VAL || limits[2 * i + 1] < HUGE_VAL;
	}

	// Returns whether the limits of a turning hinge are less than a full turn apart. A pose alone then
	// determines whether it is within them.
	bool narrow(int32_t i) const
	{
		return i >= slides && limits[2 * i + 1] - limits[2 * i] < FULL_TURN;
	}
};

// Iterates over the hinges of joints, in joint order.
class HingeCursor
{
  public:
	explicit HingeCursor(const mocpack_Skeleton& skeleton) : skeleton_(skeleton)
	{
	}

	JointHinges at(size_t joint)
	{
		const mocpack_Skeleton& s = skeleton_;
		while (at_ < s.hinge_count && size_t(s.hinge_joints[at_]) < joint)
			++at_;
		JointHinges found = {at_, 0, 0, nullptr, nullptr, {0, 0, 0, 1}, load_vec(s.offsets + 3 * joint)};
		if (s.hinge_count)
			found.axes = s.hinge_axes + 3 * at_, found.limits = s.hinge_limits + 2 * at_;
		if (s.hinge_count && s.rest)
			found.rest = load_quat(s.rest + 4 * joint);
		for (; at_ < s.hinge_count && size_t(s.hinge_joints[at_]) == joint; ++at_)
			++(s.hinge_slides[at_] ? found.slides : found.turns);
		return found;
	}

  private:
	const mocpack_Skeleton& skeleton_;
	size_t at_ = 0;
};

} // namespace keysine
} // namespace mocpack
