// Source and decoded motion of some frames, joint by joint, as the `keysine` encoder sees them.
#include <cmath>

#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

void lay_out_scene(Scene* scene, Arena* arena, const mocpack_KeysineEncoder& encoder, int32_t count)
{
	const mocpack_Skeleton& skeleton = *encoder.plan.skeleton;
	size_t size = skeleton.joint_count * size_t(count);
	scene->count = count;
	scene->position = arena->allocate<Vec3>(size);
	scene->decoded_position = arena->allocate<Vec3>(size);
	scene->rotation = arena->allocate<Quat>(size);
	scene->decoded_rotation = arena->allocate<Quat>(size);
	scene->local = arena->allocate<Quat>(size);
	scene->places = arena->allocate<Vec3>(size_t(encoder.rig.first[skeleton.joint_count]) * size_t(count));
	scene->angles = nullptr, scene->after_turn = scene->after_place = scene->below_parent = nullptr;
	scene->work = scene->slack = scene->turn_price = nullptr, scene->first_hinged = nullptr;
	scene->strained_price = 0;
	if (!encoder.hinged)
		return;
	scene->angles = arena->allocate<double>(skeleton.hinge_count * size_t(count));
	scene->after_turn = arena->allocate<Remainder>(size);
	scene->after_place = arena->allocate<Remainder>(size);
	scene->below_parent = arena->allocate<Remainder>(size);
	scene->work = arena->allocate<double>(cost_work(skeleton.joint_count));
	scene->slack = arena->allocate<double>(size_t(count));
	scene->turn_price = arena->allocate<double>(size_t(count));
	scene->first_hinged = encoder.first_hinged;
}

namespace
{

// They are looked at many times, by aims and for what is decoded.
void place_points(const Rig& rig, int32_t joints, Scene* scene)
{
	for (int32_t i = 0; i < rig.first[joints]; ++i)
	{
		const Point& point = rig.points[i];
		Vec3* places = scene->places + size_t(i) * size_t(scene->count);
		bool origin = dot(point.local, point.local) == 0;
		for (int32_t t = 0; t < scene->count; ++t)
		{
			size_t at = scene->at(point.joint, t);
			places[t] =
				origin ? scene->position[at] : scene->position[at] + rotate(scene->rotation[at], point.local);
		}
	}
}

} // namespace

void fill_scene(Scene* scene, const mocpack_KeysineEncoder& encoder, const size_t* frames)
{
	const mocpack_KeysineJob& job = encoder.job;
	const mocpack_Skeleton& s = *job.skeleton;
	size_t m = 0;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		bool translated = m < s.translated_count && size_t(s.translated_joints[m]) == j;
		int32_t parent = s.parents[j];
		for (int32_t t = 0; t < scene->count; ++t)
		{
			size_t frame = frames[t], at = scene->at(int32_t(j), t);
			Quat local = load_quat(job.rotations + 4 * (frame * s.joint_count + j));
			Vec3 place = load_vec(translated ? job.translations + 3 * (frame * s.translated_count + m)
											 : s.offsets + 3 * j);
			scene->local[at] = local;
			scene->position[at] = place;
			scene->rotation[at] = local;
			if (parent >= 0)
			{
				Quat above = scene->rotation[scene->at(parent, t)];
				scene->position[at] = scene->position[scene->at(parent, t)] + rotate(above, place);
				scene->rotation[at] = multiply(above, local);
			}
		}
		m += translated;
	}
	place_points(encoder.rig, int32_t(s.joint_count), scene);
	if (!encoder.hinged)
		return;
	const double shell = SHELL / job.settings.bound;
	scene->strained_price = encoder.constants.strained_price * (encoder.leeway.price + shell * shell);
	for (int32_t t = 0; t < scene->count; ++t)
		scene->slack[t] = 1.0, scene->turn_price[t] = encoder.leeway.price;
	for (size_t h = 0; h < s.hinge_count; ++h)
		for (int32_t t = 0; t < scene->count; ++t)
			scene->angles[h * size_t(scene->count) + size_t(t)] = job.angles[frames[t] * s.hinge_count + h];
	for (int32_t t = 0; t < scene->count; ++t)
		fill_costs(encoder.plan, encoder.rig, job.settings, *scene, t);
}

void place_still(const Plan& plan, const Scene& scene, int32_t joint, int32_t t)
{
	Vec3 local = load_vec(plan.still + 7 * joint + 4);
	scene.decoded_position[scene.at(joint, t)] = placed(plan, scene, joint, t, local);
}

void turn_still(const Plan& plan, const Scene& scene, int32_t joint, int32_t t)
{
	int32_t parent = plan.skeleton->parents[joint];
	Quat local = load_quat(plan.still + 7 * joint);
	scene.decoded_rotation[scene.at(joint, t)] =
		parent < 0 ? local : multiply(scene.decoded_rotation[scene.at(parent, t)], local);
}

void place_still(const Plan& plan, const Scene& scene, int32_t joint)
{
	for (int32_t t = 0; t < scene.count; ++t)
		place_still(plan, scene, joint, t);
}

void turn_still(const Plan& plan, const Scene& scene, int32_t joint)
{
	for (int32_t t = 0; t < scene.count; ++t)
		turn_still(plan, scene, joint, t);
}

double worst_point(const Rig& rig, const Scene& scene, int32_t joint, int32_t t, double* sum)
{
	Vec3 origin = scene.decoded_position[scene.at(joint, t)];
	const MatrixOf<double> world = as_matrix(scene.decoded_rotation[scene.at(joint, t)]);
	double worst = 0;
	for (int32_t i = rig.first[joint]; i < rig.first[joint + 1]; ++i)
	{
		const Point& point = rig.points[i];
		Vec3 d = origin + rotate(world, point.offset) - scene.place(i, t);
		double u = dot(d, d) / (point.allowance * point.allowance);
		worst = u > worst ? u : worst;
		if (sum)
			*sum += u;
	}
	return worst;
}

double origin_excess(const Rig& rig, const Scene& scene, int32_t joint, int32_t t)
{
	Vec3 d = scene.decoded_position[scene.at(joint, t)] - scene.position[scene.at(joint, t)];
	return dot(d, d) / (rig.allowance[joint] * rig.allowance[joint]);
}

double slid_excess(const Plan& plan, const Rig& rig, const Scene& scene, int32_t joint, int32_t t)
{
	if (plan.table[PLAN_COLUMNS * joint + ROTATION_KIND] >= VECTOR_ROTATION)
		return 0.0;
	turn_still(plan, scene, joint, t);
	return worst_point(rig, scene, joint, t);
}

} // namespace keysine
} // namespace mocpack
