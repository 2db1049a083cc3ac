// One track in one frame, as the encoder of `keysine` sees it.
#include "keysine/encode/pose.h"

#include "keysine/decode/curves.h"
#include "keysine/encode/guards.h"

namespace mocpack
{
namespace keysine
{

void lay_out_problem(PoseProblem* problem, const mocpack_KeysineEncoder& e, Arena* arena)
{
	size_t points = size_t(e.rig.most > 1 ? e.rig.most : 1) + size_t(most_guards(e));
	problem->start = arena->allocate<double>(3 * points);
	problem->moves = arena->allocate<double>(12 * points);
	problem->guards = arena->allocate<Guard>(size_t(most_guards(e)));
}

namespace
{

// Guards stand after the points of the rig.
void add_guards(PoseProblem* problem, int32_t first, int32_t count)
{
	const Guard* guards = problem->guards;
	for (int32_t i = 0; i < count; ++i)
	{
		store(problem->start + 3 * (first + i), guards[i].start);
		for (int32_t c = 0; c < problem->channels; ++c)
			store(problem->moves + 3 * (c * problem->points + first + i), guards[i].moves[c]);
	}
}

void set_position(PoseProblem* problem, const mocpack_KeysineEncoder& e, const Scene& scene,
				  const Track& track, int32_t t)
{
	int32_t first = rig_points(e, track);
	aim_position(e.plan, track, scene, t, problem->target);
	problem->points = first + guard_count(e, track);
	if (track.hinge >= 0)
	{
		Vec3 local = load_vec(track.base);
		double scale = 1.0 / e.rig.allowance[track.joint];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			local = local + problem->target[c] * load_vec(track.axes + 3 * c);
			if (first)
				store(problem->moves + 3 * c * problem->points, scale * shift_of(e.plan, track, scene, t, c));
		}
		if (first)
			store(problem->start, scale * (placed(e.plan, scene, track.joint, t, local) -
										   scene.position[scene.at(track.joint, t)]));
	}
	else
		for (int c = 0; c < 3 && first; ++c)
		{
			problem->start[c] = 0;
			for (int a = 0; a < 3; ++a)
				problem->moves[3 * c * problem->points + a] =
					a == c ? track.axes[0] / e.rig.allowance[track.joint] : 0.0;
		}
	set_guards(e, scene, track, t, problem->target, problem->guards);
	add_guards(problem, first, guard_count(e, track));
}

} // namespace

void set_problem(PoseProblem* problem, const mocpack_KeysineEncoder& e, const Scene& scene,
				 const Track& track, int32_t t, bool compensate)
{
	problem->channels = track.channels;
	if (track.kind == POSITION_TRACK)
		return set_position(problem, e, scene, track, t);
	const double* inverse_axes = e.inverse_axes + 9 * (&track - e.plan.tracks);
	Aim aim = aim_rotation(e.plan, e.rig, track, inverse_axes, scene, t, compensate, e.leeway);
	Vec3 origin = scene.decoded_position[scene.at(track.joint, t)];
	int32_t first = e.rig.first[track.joint], count = rig_points(e, track);
	problem->points = count + guard_count(e, track);
	for (int c = 0; c < track.channels; ++c)
		problem->target[c] = aim.channels[c];
	for (int32_t i = 0; i < count; ++i)
	{
		const Point& point = e.rig.points[first + i];
		Vec3 arm = rotate(aim.world, point.offset);
		double scale = 1.0 / point.allowance;
		store(problem->start + 3 * i, scale * (origin + arm - scene.place(first + i, t)));
		for (int c = 0; c < track.channels; ++c)
			store(problem->moves + 3 * (c * problem->points + i), scale * cross(aim.turn[c], arm));
	}
	set_guards(e, scene, track, t, aim, problem->guards);
	add_guards(problem, count, guard_count(e, track));
}

double settle_pose(const mocpack_KeysineEncoder& e, const Scene& scene, const Track& track, int32_t t,
				   const double* values)
{
	size_t at = scene.at(track.joint, t);
	if (track.kind == POSITION_TRACK)
	{
		Vec3 local;
		track_translations(track, values, 1, 1, &local);
		scene.decoded_position[at] = placed(e.plan, scene, track.joint, t, local);
		double own = origin_excess(e.rig, scene, track.joint, t),
			   guarded = guard_excess(e, scene, track, t, values);
		return guarded > own ? guarded : own;
	}
	Quat local;
	track_rotations(track, values, 1, 1, &local);
	int32_t parent = e.plan.skeleton->parents[track.joint];
	scene.decoded_rotation[at] =
		parent < 0 ? local : multiply(scene.decoded_rotation[scene.at(parent, t)], local);
	double own = worst_point(e.rig, scene, track.joint, t),
		   guarded = guard_excess(e, scene, track, t, values);
	return guarded > own ? guarded : own;
}

} // namespace keysine
} // namespace mocpack
