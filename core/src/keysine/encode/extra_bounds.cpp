// Expresses the bounds of a track besides those of its points as extra points: on remaining errors of
// descendants and on angles.
#include "keysine/encode/extra_bounds.h"

#include <cmath>

namespace mocpack
{
namespace keysine
{

namespace
{

bool bounded(const Encoder& e)
{
	return e.job.settings.excess_penalty > 0;
}

// Returns one over the square root of the error that a track may still leave, in squared allowances. y is the
// half of the error that the track does not decide. Returns 1 if nothing is bounded.
double scale_of(const Encoder& e, const MotionPair& pair, int32_t t, const Remainder& after, Vec3 y)
{
	if (!bounded(e))
		return 1.0;
	double room = e.job.settings.room * pair.slack[t], left = room - after.remaining(y);
	const double least = e.constants.min_hinge_room * room;
	return 1.0 / std::sqrt(left > least ? left : least);
}

Vec3 moved(const MotionPair& pair, int32_t joint, int32_t t)
{
	return pair.decoded_position[pair.at(joint, t)] - pair.position[pair.at(joint, t)];
}

// Visits the remaining errors below a rotation track: of each child whose subtree has hinges, or of all
// descendants together if nothing is bounded.
template <typename Visit>
void visit_remainders(const Encoder& e, const MotionPair& pair, const Track& track, int32_t t, Visit visit)
{
	if (e.hinged && !bounded(e))
		visit(pair.after_turn[pair.at(track.joint, t)]);
	else if (e.hinged)
		for (int32_t j = e.first_hinged[track.joint]; j >= 0; j = e.next_hinged[j])
			visit(pair.below_parent[pair.at(j, t)]);
}

double unit_of(const Track& track, int32_t c)
{
	Vec3 axis = load_vec(track.axes + 3 * c);
	return std::sqrt(dot(axis, axis));
}

double hinge_error(const MotionPair& pair, const Track& track, int32_t c, int32_t t, double value)
{
	double angle = pair.angles[size_t(track.hinge + c) * size_t(pair.count) + size_t(t)];
	return track.angles[c] + track.held(c, value) * unit_of(track, c) - angle;
}

} // namespace

// If points are outside, the ancestors may leave less error in this frame. If that does not help, hinges
// would have to turn too far: near poses whose axes align, rotations are far from linear. A higher price then
// leaves less to the hinges, and finally nothing. If only an extra bound is exceeded and no point is outside,
// the bound is too strict and is relaxed.
void relieve(const Encoder& e, const MotionPair& pair, int32_t t, int strain, int tries)
{
	if (strain == NO_STRAIN)
		return;
	const Constants& c = e.constants;
	if (strain == EXTRA_BOUND_STRAIN && tries < int(c.limb_tries))
	{
		pair.slack[t] /= c.hinge_room_ratio;
		return;
	}
	pair.slack[t] *= c.hinge_room_ratio;
	if (tries < int(c.room_tries))
		return;
	double shell = SHELL / e.job.settings.bound;
	pair.turn_price[t] = c.retry_price_ratio * (pair.turn_price[t] + shell * shell);
	fill_costs(e.plan, e.rig, e.job.settings, pair, t);
}

int32_t rig_points(const Encoder& e, const Track& track)
{
	if (e.hinged && !bounded(e))
		return 0;
	return track.kind == POSITION_TRACK ? 1 : e.rig.first[track.joint + 1] - e.rig.first[track.joint];
}

int32_t extra_bound_count(const Encoder& e, const Track& track)
{
	if (track.kind == POSITION_TRACK)
		return e.hinged;
	int32_t count = e.leeway.angle(track.joint) <= 0 ? 0 : track.kind == HINGE_TRACK ? track.channels : 1;
	count += e.job.settings.world_angle > 0 && track.kind != HINGE_TRACK;
	if (e.hinged && !bounded(e))
		return count + 1;
	for (int32_t j = e.hinged ? e.first_hinged[track.joint] : -1; j >= 0; j = e.next_hinged[j])
		++count;
	return count;
}

void set_extra_bounds(const Encoder& e, const MotionPair& pair, const Track& track, int32_t t,
					  const TrackTarget& aim, ExtraBound* extra_bounds)
{
	size_t at = pair.at(track.joint, t);
	Vec3 shift = moved(pair, track.joint, t), turn = {0, 0, 0};
	if (e.hinged)
		turn = turn_between(pair.rotation[at], aim.world);
	visit_remainders(e, pair, track, t,
					 [&](const Remainder& after)
					 {
						 double scale = scale_of(e, pair, t, after, shift);
						 extra_bounds->start = scale * after.scaled(turn + after.led(shift));
						 for (int32_t c = 0; c < track.channels; ++c)
							 extra_bounds->moves[c] = scale * after.scaled(aim.turn[c]);
						 ++extra_bounds;
					 });
	double most = e.leeway.angle(track.joint);
	if (most > 0 && track.kind != HINGE_TRACK)
	{
		extra_bounds->start = 1.0 / most * turn_between(faithful_world(track, pair, t), aim.world);
		for (int32_t c = 0; c < track.channels; ++c)
			extra_bounds->moves[c] = 1.0 / most * aim.turn[c];
		++extra_bounds;
	}
	double world = e.job.settings.world_angle;
	if (world > 0 && track.kind != HINGE_TRACK)
	{
		extra_bounds->start = 1.0 / world * turn_between(pair.rotation[at], aim.world);
		for (int32_t c = 0; c < track.channels; ++c)
			extra_bounds->moves[c] = 1.0 / world * aim.turn[c];
	}
	for (int32_t c = 0; c < track.channels && most > 0 && track.kind == HINGE_TRACK; ++c, ++extra_bounds)
	{
		extra_bounds->start = {hinge_error(pair, track, c, t, aim.channels[c]) / most, 0, 0};
		for (int32_t d = 0; d < track.channels; ++d)
			extra_bounds->moves[d] = {d == c ? unit_of(track, c) / most : 0.0, 0, 0};
	}
}

void set_extra_bounds(const Encoder& e, const MotionPair& pair, const Track& track, int32_t t,
					  const double* channels, ExtraBound* extra_bounds)
{
	if (!e.hinged)
		return;
	const Remainder& after = pair.after_place[pair.at(track.joint, t)];
	Vec3 local = load_vec(track.base), above = turn_above(e.plan, pair, track.joint, t);
	for (int32_t c = 0; c < track.channels; ++c)
		local = local + channels[c] * load_vec(track.axes + 3 * c);
	Vec3 off = placed(e.plan, pair, track.joint, t, local) - pair.position[pair.at(track.joint, t)];
	double scale = scale_of(e, pair, t, after, above);
	extra_bounds->start = scale * after.scaled(off + after.led(above));
	for (int32_t c = 0; c < track.channels; ++c)
		extra_bounds->moves[c] = scale * after.scaled(shift_of(e.plan, track, pair, t, c));
}

double extra_bound_excess(const Encoder& e, const MotionPair& pair, const Track& track, int32_t t,
						  const double* values)
{
	size_t at = pair.at(track.joint, t);
	double worst = 0, most = e.leeway.angle(track.joint);
	Vec3 shift = moved(pair, track.joint, t);
	if (e.hinged && track.kind == POSITION_TRACK)
	{
		const Remainder& after = pair.after_place[at];
		Vec3 above = turn_above(e.plan, pair, track.joint, t);
		Vec3 r = scale_of(e, pair, t, after, above) * after.scaled(shift + after.led(above));
		worst = dot(r, r);
	}
	else if (e.hinged)
	{
		Vec3 turn = turn_between(pair.rotation[at], pair.decoded_rotation[at]);
		visit_remainders(e, pair, track, t,
						 [&](const Remainder& after)
						 {
							 Vec3 r =
								 scale_of(e, pair, t, after, shift) * after.scaled(turn + after.led(shift));
							 worst = dot(r, r) > worst ? dot(r, r) : worst;
						 });
	}
	if (track.kind == POSITION_TRACK)
	{
		double slid = track.hinge >= 0 ? slid_excess(e.plan, e.rig, pair, track.joint, t) : 0.0;
		return slid > worst ? slid : worst;
	}
	if (track.kind == HINGE_TRACK)
	{
		for (int32_t c = 0; c < track.channels && most > 0; ++c)
		{
			double off = hinge_error(pair, track, c, t, values[c]) / most;
			worst = off * off > worst ? off * off : worst;
		}
		return worst;
	}
	const double world = e.job.settings.world_angle;
	if (most > 0)
	{
		Vec3 turn = turn_between(faithful_world(track, pair, t), pair.decoded_rotation[at]);
		double square = dot(turn, turn) / (most * most);
		worst = square > worst ? square : worst;
	}
	if (world > 0)
	{
		Vec3 turn = turn_between(pair.rotation[at], pair.decoded_rotation[at]);
		double square = dot(turn, turn) / (world * world);
		worst = square > worst ? square : worst;
	}
	return worst;
}

} // namespace keysine
} // namespace mocpack
