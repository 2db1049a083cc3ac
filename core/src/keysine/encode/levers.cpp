// How far a turn of each hinge moves what hangs on it and cannot be taken back below: the units of its
// channels, so that one step fits all tracks.
#include <cmath>

#include "keysine/encode/guards.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// Mean over the frames of a scene of what remains of a unit of a channel, squared, over what may.
double mean_remainder(const mocpack_KeysineEncoder& e, const Scene& scene, const Track& track, int32_t c)
{
	double sum = 0;
	for (int32_t t = 0; t < scene.count; ++t)
	{
		Aim aim = aim_rotation(e.plan, e.rig, track, nullptr, scene, t, false, e.leeway);
		Vec3 r = scene.after_turn[scene.at(track.joint, t)].scaled(aim.turn[c]);
		sum += dot(r, r);
	}
	return sum / (scene.count * e.room[track.joint]);
}

} // namespace

size_t mocpack_keysine_levers_size(const mocpack_KeysineJob* job)
{
	Arena arena(nullptr);
	mocpack_KeysineEncoder e = {};
	e.plan.skeleton = job->skeleton, e.hinged = true;
	Scene scene;
	arena.take<uint8_t>(mocpack_keysine_encoder_size(job));
	lay_out_scene(&scene, &arena, e, int32_t(job->frame_count));
	arena.take<size_t>(job->frame_count);
	return arena.used();
}

int mocpack_keysine_levers(const mocpack_KeysineJob* job, void* memory)
{
	Arena arena(memory);
	mocpack_KeysineEncoder* e =
		mocpack_keysine_prepare(job, arena.take<uint8_t>(mocpack_keysine_encoder_size(job)));
	if (!e || !e->hinged)
		return e != nullptr;
	Scene scene;
	lay_out_scene(&scene, &arena, *e, int32_t(job->frame_count));
	size_t* frames = arena.take<size_t>(job->frame_count);
	for (size_t t = 0; t < job->frame_count; ++t)
		frames[t] = t;
	fill_scene(&scene, *e, frames);
	for (size_t i = 0; i < job->skeleton->joint_count * job->frame_count; ++i)
		scene.decoded_position[i] = scene.position[i], scene.decoded_rotation[i] = scene.rotation[i];
	for (size_t t = 0; t < e->plan.track_count; ++t)
	{
		const Track& track = e->plan.tracks[t];
		for (int32_t c = 0; c < track.channels && track.kind == HINGE_TRACK; ++c)
		{
			double longer = std::log2(mean_remainder(*e, scene, track, c) * job->unit * job->unit);
			double lever = job->table[PLAN_COLUMNS * track.joint + LEVER + c] + std::floor(longer + 0.5);
			lever = lever < -LONGEST_LEVER ? -LONGEST_LEVER : lever > LONGEST_LEVER ? LONGEST_LEVER : lever;
			job->table[PLAN_COLUMNS * track.joint + LEVER + c] = int32_t(lever);
		}
	}
	return 1;
}
