// Computes the target and the point displacements of one track in one frame, and its decoded pose.
#include "keysine/encode/pose.h"

#include "keysine/encode/extra_bounds.h"
#include "keysine/format/curves.h"

namespace mocpack
{
namespace keysine
{

void lay_out_problem(PoseProblem* problem, const Encoder& e, Arena* arena)
{
	size_t points = size_t(e.rig.most > 1 ? e.rig.most : 1) + size_t(most_extra_bounds(e));
	problem->start = arena->allocate<double>(3 * points);
	problem->moves = arena->allocate<double>(12 * points);
	problem->extra_bounds = arena->allocate<ExtraBound>(size_t(most_extra_bounds(e)));
}

namespace
{

// Adds the extra bounds after the points of the rig.
void add_extra_bounds(PoseProblem* problem, int32_t first, int32_t count)
{
	const ExtraBound* extra_bounds = problem->extra_bounds;
	for (int32_t i = 0; i < count; ++i)
	{
		store(problem->start + 3 * (first + i), extra_bounds[i].start);
		for (int32_t c = 0; c < problem->channels; ++c)
			store(problem->moves + 3 * (c * problem->points + first + i), extra_bounds[i].moves[c]);
	}
}

void set_position(PoseProblem* problem, const Encoder& e, const MotionPair& pair, const Track& track,
				  int32_t t)
{
	int32_t first = rig_points(e, track);
	target_position(e.plan, track, pair, t, problem->target);
	problem->points = first + extra_bound_count(e, track);
	if (track.hinge >= 0)
	{
		Vec3 local = load_vec(track.base);
		double scale = 1.0 / e.rig.allowance[track.joint];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			local = local + problem->target[c] * load_vec(track.axes + 3 * c);
			if (first)
				store(problem->moves + 3 * c * problem->points, scale * shift_of(e.plan, track, pair, t, c));
		}
		if (first)
			store(problem->start, scale * (placed(e.plan, pair, track.joint, t, local) -
										   pair.position[pair.at(track.joint, t)]));
	}
	else
		for (int c = 0; c < 3 && first; ++c)
		{
			problem->start[c] = 0;
			for (int a = 0; a < 3; ++a)
				problem->moves[3 * c * problem->points + a] =
					a == c ? track.axes[0] / e.rig.allowance[track.joint] : 0.0;
		}
	set_extra_bounds(e, pair, track, t, problem->target, problem->extra_bounds);
	add_extra_bounds(problem, first, extra_bound_count(e, track));
}

} // namespace

void set_problem(PoseProblem* problem, const Encoder& e, const MotionPair& pair, const Track& track,
				 int32_t t, bool compensate)
{
	problem->channels = track.channels;
	if (track.kind == POSITION_TRACK)
		return set_position(problem, e, pair, track, t);
	const double* inverse_axes = e.inverse_axes + 9 * (&track - e.plan.tracks);
	TrackTarget aim = target_rotation(e.plan, e.rig, track, inverse_axes, pair, t, compensate, e.leeway);
	Vec3 origin = pair.decoded_position[pair.at(track.joint, t)];
	int32_t first = e.rig.first[track.joint], count = rig_points(e, track);
	problem->points = count + extra_bound_count(e, track);
	for (int c = 0; c < track.channels; ++c)
		problem->target[c] = aim.channels[c];
	for (int32_t i = 0; i < count; ++i)
	{
		const Point& point = e.rig.points[first + i];
		Vec3 arm = rotate(aim.world, point.offset);
		double scale = 1.0 / point.allowance;
		store(problem->start + 3 * i, scale * (origin + arm - pair.place(first + i, t)));
		for (int c = 0; c < track.channels; ++c)
			store(problem->moves + 3 * (c * problem->points + i), scale * cross(aim.turn[c], arm));
	}
	set_extra_bounds(e, pair, track, t, aim, problem->extra_bounds);
	add_extra_bounds(problem, count, extra_bound_count(e, track));
}

double settle_pose(const Encoder& e, const MotionPair& pair, const Track& track, int32_t t,
				   const double* values)
{
	size_t at = pair.at(track.joint, t);
	if (track.kind == POSITION_TRACK)
	{
		Vec3 local;
		track_translations(track, values, 1, 1, &local);
		pair.decoded_position[at] = placed(e.plan, pair, track.joint, t, local);
		double own = origin_excess(e.rig, pair, track.joint, t),
			   is_near_hinge = extra_bound_excess(e, pair, track, t, values);
		return is_near_hinge > own ? is_near_hinge : own;
	}
	Quat turn;
	track_rotations(track, values, 1, 1, &turn);
	pair.decoded_rotation[at] = world_rotation(pair, track, turn, t);
	double own = worst_point(e.rig, pair, track.joint, t),
		   is_near_hinge = extra_bound_excess(e, pair, track, t, values);
	return is_near_hinge > own ? is_near_hinge : own;
}

} // namespace keysine
} // namespace mocpack
