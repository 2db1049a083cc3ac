// Clamps freely moving joints to the limits of their hinges.
#include "keysine/format/limits.h"

#include <cmath>

#include "common/small_build.h"
#include "math/elementary.h"
#include "math/hinge_angle.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Sine and cosine of a half angle, times any positive factor, as in a quaternion.
struct HalfAngle
{
	double sine, cosine;
};

HalfAngle half_of(double angle)
{
	angle -= FULL_TURN * std::floor(angle / FULL_TURN);
	return {math::sin(0.5 * angle), math::cos(0.5 * angle)};
}

// Converts sine and cosine of a full angle, times any positive factor, to the half angle.
HalfAngle half_of(double sine, double cosine)
{
	const double length = std::sqrt(sine * sine + cosine * cosine);
	if (cosine >= 0)
		return {sine, length + cosine};
	return {length - cosine, sine}; // equivalent, without cancellation
}

MOCPACK_NOINLINE Quat rotate_about(Vec3 axis, HalfAngle half)
{
	const double scale = 1.0 / std::sqrt(half.sine * half.sine + half.cosine * half.cosine);
	return {scale * half.sine * axis.x, scale * half.sine * axis.y, scale * half.sine * axis.z,
			scale * half.cosine};
}

// Limits less than a full turn apart.
class TurnLimits
{
  public:
	TurnLimits(const double* limits, bool held)
		: held_(held), middle_(half_of(0.5 * limits[0] + 0.5 * limits[1])),
		  edge_(half_of(0.5 * (limits[1] - limits[0])))
	{
	}

	// Returns whether an angle exceeds a limit; `back` is then the rotation to the closer limit.
	bool is_passed(HalfAngle angle, HalfAngle* back) const
	{
		double sine = angle.sine * middle_.cosine - angle.cosine * middle_.sine,
			   cosine = angle.cosine * middle_.cosine + angle.sine * middle_.sine;
		if (cosine < 0) // the same rotation
			sine = -sine, cosine = -cosine;
		if (!held_ || !(std::fabs(sine) * edge_.cosine > cosine * edge_.sine))
			return false;
		const double to = sine < 0 ? -edge_.sine : edge_.sine;
		*back = {to * cosine - edge_.cosine * sine, edge_.cosine * cosine + to * sine};
		return true;
	}

  private:
	bool held_;
	HalfAngle middle_, edge_; // middle of the limits, and angle from there to a limit
};

HalfAngle twist_of(Quat q, Vec3 axis)
{
	return {q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w};
}

} // namespace

// A rotation about the last axis, applied after the joint's rotation, changes only the last angle. With two
// axes, a rotation about the first axis, applied before it, changes only the first angle. If both axes
// coincide, the angles are NaN and exceed no limit.
MOCPACK_COLD void clamp_rotations(const JointHinges& hinges, int32_t held, int32_t count, Quat* rotations)
{
	const int32_t last = hinges.turns - 1; // of one or two axes
	const Vec3 first = hinges.turn_axis(0), axis = hinges.turn_axis(last);
	const Vec3 flat = axis - dot(axis, first) * first;
	const double* limits = hinges.limits + 2 * hinges.slides;
	const TurnLimits outer_limits(limits, last && held & 1),
		inner_limits(limits + 2 * last, held >> last & 1);
	for (int32_t t = 0; t < count; ++t)
	{
		Quat turn = multiply(conjugate(hinges.rest), rotations[t]), inside = turn;
		HalfAngle outer = {0, 1}, back;
		if (last)
		{
			const Vec3 there = rotate(turn, axis);
			outer = half_of(dot(cross(flat, there), first), dot(there, flat));
			inside = multiply(rotate_about(first, {-outer.sine, outer.cosine}), turn);
		}
		const bool is_inner_passed = inner_limits.is_passed(twist_of(inside, axis), &back);
		if (is_inner_passed)
			turn = multiply(turn, rotate_about(axis, back));
		const bool is_outer_passed = outer_limits.is_passed(outer, &back);
		if (is_outer_passed)
			turn = multiply(rotate_about(first, back), turn);
		if (is_inner_passed || is_outer_passed)
			rotations[t] = multiply(hinges.rest, turn);
	}
}

MOCPACK_COLD void clamp_places(const JointHinges& hinges, int32_t held, int32_t count, Vec3* places)
{
	for (int32_t t = 0; t < count; ++t)
	{
		double ways[MAX_SLIDES] = {};
		Vec3 back = {0, 0, 0};
		solve_slider_positions(hinges.axes, size_t(hinges.slides),
							   rotate(conjugate(hinges.rest), places[t] - hinges.offset), ways);
		for (int32_t i = 0; i < hinges.slides; ++i)
		{
			const double lowest = hinges.limits[2 * i], highest = hinges.limits[2 * i + 1];
			const double to = ways[i] < lowest ? lowest : ways[i] > highest ? highest : ways[i];
			if (held >> i & 1)
				back = back + (to - ways[i]) * hinges.slide_axis(i);
		}
		places[t] = places[t] + rotate(hinges.rest, back);
	}
}

} // namespace keysine
} // namespace mocpack
