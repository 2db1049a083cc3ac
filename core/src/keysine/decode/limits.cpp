// Limits of hinges for joints that do not move along them.
#include "keysine/decode/limits.h"

#include <cmath>

#include "common/hinge_angles.h"
#include "common/small.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Sine and cosine of half an angle, times any positive number: what a quaternion has of a turn about an axis.
struct HalfAngle
{
	double sine, cosine;
};

MOCPACK_COLD HalfAngle half_of(double angle)
{
	angle -= FULL_TURN * std::floor(angle / FULL_TURN);
	return {std::sin(0.5 * angle), std::cos(0.5 * angle)};
}

// From the sine and cosine of the whole angle, times any positive number.
HalfAngle half_of(double sine, double cosine)
{
	const double length = std::sqrt(sine * sine + cosine * cosine);
	if (cosine >= 0)
		return {sine, length + cosine};
	return {length - cosine, sine}; // the same, and no difference of near numbers
}

MOCPACK_COLD Quat multiply(Quat a, Quat b)
{
	return mocpack::multiply(a, b);
}

MOCPACK_COLD Quat turn_about(Vec3 axis, HalfAngle half)
{
	const double scale = 1.0 / std::sqrt(half.sine * half.sine + half.cosine * half.cosine);
	return {scale * half.sine * axis.x, scale * half.sine * axis.y, scale * half.sine * axis.z,
			scale * half.cosine};
}

// Limits that are less than a full turn apart.
class TurnLimits
{
  public:
	TurnLimits(const double* limits, bool held)
		: held_(held), middle_(half_of(0.5 * limits[0] + 0.5 * limits[1])),
		  edge_(half_of(0.5 * (limits[1] - limits[0])))
	{
	}

	// Whether an angle is past a limit; `back` is then the turn from it to the nearer one.
	MOCPACK_COLD bool is_passed(HalfAngle angle, HalfAngle* back) const
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
	HalfAngle middle_, edge_; // what lies between, and from there to a limit
};

HalfAngle twist_of(Quat q, Vec3 axis)
{
	return {q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w};
}

// The turn from rest of a joint of one axis; a turn about the axis after it changes the angle alone. Returns
// whether it was past its limits.
bool clamp_single(Vec3 axis, const TurnLimits& limits, Quat* turn)
{
	HalfAngle back;
	if (!limits.is_passed(twist_of(*turn, axis), &back))
		return false;
	*turn = multiply(*turn, turn_about(axis, back));
	return true;
}

// Of two axes: a turn about the first before it, or about the second after it, changes that angle alone.
bool clamp_double(const Vec3* axes, const TurnLimits* limits, Quat* turn)
{
	const Vec3 flat = axes[1] - dot(axes[1], axes[0]) * axes[0], there = rotate(*turn, axes[1]);
	const HalfAngle outer = half_of(dot(cross(flat, there), axes[0]), dot(there, flat));
	if (outer.sine == 0 && outer.cosine == 0)
		return false; // the second axis lies along the first: no angle is more right than another
	const Quat inside = multiply(turn_about(axes[0], {-outer.sine, outer.cosine}), *turn);
	HalfAngle back;
	const bool is_inner_passed = limits[1].is_passed(twist_of(inside, axes[1]), &back);
	if (is_inner_passed)
		*turn = multiply(*turn, turn_about(axes[1], back));
	if (!limits[0].is_passed(outer, &back))
		return is_inner_passed;
	*turn = multiply(turn_about(axes[0], back), *turn);
	return true;
}

} // namespace

MOCPACK_COLD void clamp_rotations(const JointHinges& hinges, int32_t held, int32_t count, Quat* rotations)
{
	const int32_t last = hinges.turns - 1; // of one axis or two
	const Vec3 axes[MOST_TURNS] = {hinges.turn_axis(0), hinges.turn_axis(last)};
	const double* own = hinges.limits + 2 * hinges.slides;
	const TurnLimits limits[MOST_TURNS] = {{own, (held & 1) != 0}, {own + 2 * last, (held >> last & 1) != 0}};
	for (int32_t t = 0; t < count; ++t)
	{
		Quat turn = multiply(conjugate(hinges.rest), rotations[t]);
		if (last ? clamp_double(axes, limits, &turn) : clamp_single(axes[0], limits[0], &turn))
			rotations[t] = multiply(hinges.rest, turn);
	}
}

MOCPACK_COLD void clamp_places(const JointHinges& hinges, int32_t held, int32_t count, Vec3* places)
{
	for (int32_t t = 0; t < count; ++t)
	{
		double ways[MOST_SLIDES] = {};
		Vec3 back = {0, 0, 0};
		slid_ways(hinges.axes, size_t(hinges.slides),
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
