// One track in one frame, as the encoder of `keysine` sees it.
#include "keysine/encode/pose.h"

#include "keysine/decode/curves.h"

namespace mocpack
{
namespace keysine
{

void lay_out_problem(PoseProblem* problem, const Rig& rig, Arena* arena)
{
	size_t points = size_t(rig.most > 1 ? rig.most : 1);
	problem->start = arena->take<double>(3 * points);
	problem->moves = arena->take<double>(12 * points);
}

void set_problem(PoseProblem* problem, const mocpack_KeysineEncoder& e, const Scene& scene,
				 const Track& track, int32_t t, bool compensate)
{
	problem->channels = track.channels;
	if (track.kind == POSITION_TRACK)
	{
		aim_position(e.plan, track, scene, t, problem->target);
		problem->points = 1;
		for (int i = 0; i < 9; ++i)
			problem->moves[i] = i % 4 == 0 ? track.axes[0] / e.rig.allowance[track.joint] : 0.0;
		for (int i = 0; i < 3; ++i)
			problem->start[i] = 0;
		return;
	}
	const double* inverse_axes = e.inverse_axes + 9 * (&track - e.plan.tracks);
	Aim aim = aim_rotation(e.plan, e.rig, track, inverse_axes, scene, t, compensate);
	Vec3 origin = scene.decoded_position[scene.at(track.joint, t)];
	int32_t first = e.rig.first[track.joint];
	problem->points = e.rig.first[track.joint + 1] - first;
	for (int c = 0; c < track.channels; ++c)
		problem->target[c] = aim.channels[c];
	for (int32_t i = 0; i < problem->points; ++i)
	{
		const Point& point = e.rig.points[first + i];
		size_t source = scene.at(point.joint, t);
		Vec3 arm = rotate(aim.world, point.offset);
		double scale = 1.0 / point.allowance;
		store(problem->start + 3 * i,
			  scale * (origin + arm - scene.position[source] - rotate(scene.rotation[source], point.local)));
		for (int c = 0; c < track.channels; ++c)
			store(problem->moves + 3 * (c * problem->points + i), scale * cross(aim.turn[c], arm));
	}
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
		return origin_excess(e.rig, scene, track.joint, t);
	}
	Quat local;
	track_rotations(track, values, 1, 1, &local);
	int32_t parent = e.plan.skeleton->parents[track.joint];
	scene.decoded_rotation[at] =
		parent < 0 ? local : multiply(scene.decoded_rotation[scene.at(parent, t)], local);
	return worst_point(e.rig, scene, track.joint, t);
}

} // namespace keysine
} // namespace mocpack
