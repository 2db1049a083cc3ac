// Fills the source and decoded motion of some frames, joint by joint, for the search of `keysine`.
#include <cmath>

#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

void lay_out_motion_pair(MotionPair* pair, Arena* arena, const Encoder& encoder, int32_t count)
{
	const mocpack_Skeleton& skeleton = *encoder.plan.skeleton;
	size_t size = skeleton.joint_count * size_t(count);
	pair->count = count;
	pair->position = arena->allocate<Vec3>(size);
	pair->decoded_position = arena->allocate<Vec3>(size);
	pair->rotation = arena->allocate<Quat>(size);
	pair->decoded_rotation = arena->allocate<Quat>(size);
	pair->source = arena->allocate<Quat>(size);
	pair->places = arena->allocate<Vec3>(size_t(encoder.rig.first[skeleton.joint_count]) * size_t(count));
	pair->angles = nullptr, pair->after_turn = pair->after_place = pair->below_parent = nullptr;
	pair->work = pair->slack = pair->turn_price = nullptr, pair->first_hinged = nullptr;
	pair->strained_price = 0;
	if (!encoder.hinged)
		return;
	pair->angles = arena->allocate<double>(skeleton.hinge_count * size_t(count));
	pair->after_turn = arena->allocate<Remainder>(size);
	pair->after_place = arena->allocate<Remainder>(size);
	pair->below_parent = arena->allocate<Remainder>(size);
	pair->work = arena->allocate<double>(cost_work(skeleton.joint_count));
	pair->slack = arena->allocate<double>(size_t(count));
	pair->turn_price = arena->allocate<double>(size_t(count));
	pair->first_hinged = encoder.first_hinged;
}

namespace
{

// Computes the source positions of all points of the rig once, because targets and error checks use them
// often.
void place_points(const Rig& rig, int32_t joints, MotionPair* pair)
{
	for (int32_t i = 0; i < rig.first[joints]; ++i)
	{
		const Point& point = rig.points[i];
		Vec3* places = pair->places + size_t(i) * size_t(pair->count);
		bool origin = dot(point.local, point.local) == 0;
		for (int32_t t = 0; t < pair->count; ++t)
		{
			size_t at = pair->at(point.joint, t);
			places[t] =
				origin ? pair->position[at] : pair->position[at] + rotate(pair->rotation[at], point.local);
		}
	}
}

} // namespace

void fill_source(MotionPair* pair, const Encoder& encoder, const size_t* frames)
{
	const Job& job = encoder.job;
	const mocpack_Skeleton& s = *job.skeleton;
	size_t m = 0;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		bool translated = m < s.translated_count && size_t(s.translated_joints[m]) == j;
		int32_t parent = s.parents[j];
		for (int32_t t = 0; t < pair->count; ++t)
		{
			size_t frame = frames[t], at = pair->at(int32_t(j), t);
			Quat local = load_quat(job.motion.rotations + 4 * (frame * s.joint_count + j));
			Vec3 place = load_vec(translated ? job.motion.translations + 3 * (frame * s.translated_count + m)
											 : s.offsets + 3 * j);
			pair->source[at] = local;
			pair->position[at] = place;
			pair->rotation[at] = local;
			if (parent >= 0)
			{
				Quat above = pair->rotation[pair->at(parent, t)];
				pair->position[at] = pair->position[pair->at(parent, t)] + rotate(above, place);
				pair->rotation[at] = multiply(above, local);
			}
		}
		m += translated;
	}
	for (size_t i = 0; i < encoder.plan.track_count; ++i)
	{
		const Track& track = encoder.plan.tracks[i];
		for (int32_t t = 0; t < pair->count && track.shares_reference; ++t)
		{
			const size_t at = pair->at(track.joint, t);
			pair->source[at] = pair->rotation[at];
			if (track.reference >= 0)
				pair->source[at] =
					multiply(conjugate(pair->rotation[pair->at(track.reference, t)]), pair->rotation[at]);
		}
	}
	place_points(encoder.rig, int32_t(s.joint_count), pair);
	if (!encoder.hinged)
		return;
	const double shell = SHELL / job.settings.bound;
	pair->strained_price = encoder.constants.max_retry_price * (encoder.leeway.price + shell * shell);
	for (int32_t t = 0; t < pair->count; ++t)
		pair->slack[t] = 1.0, pair->turn_price[t] = encoder.leeway.price;
	for (size_t h = 0; h < s.hinge_count; ++h)
		for (int32_t t = 0; t < pair->count; ++t)
			pair->angles[h * size_t(pair->count) + size_t(t)] =
				job.motion.angles[frames[t] * s.hinge_count + h];
	for (int32_t t = 0; t < pair->count; ++t)
		fill_costs(encoder.plan, encoder.rig, job.settings, *pair, t);
}

void place_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t)
{
	Vec3 local = load_vec(plan.still + 7 * joint + 4);
	pair.decoded_position[pair.at(joint, t)] = placed(plan, pair, joint, t, local);
}

void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t)
{
	int32_t parent = plan.skeleton->parents[joint];
	Quat local = load_quat(plan.still + 7 * joint);
	pair.decoded_rotation[pair.at(joint, t)] =
		parent < 0 ? local : multiply(pair.decoded_rotation[pair.at(parent, t)], local);
}

void place_still(const Plan& plan, const MotionPair& pair, int32_t joint)
{
	for (int32_t t = 0; t < pair.count; ++t)
		place_still(plan, pair, joint, t);
}

void turn_still(const Plan& plan, const MotionPair& pair, int32_t joint)
{
	for (int32_t t = 0; t < pair.count; ++t)
		turn_still(plan, pair, joint, t);
}

double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t, double* sum)
{
	Vec3 origin = pair.decoded_position[pair.at(joint, t)];
	const MatrixOf<double> world = as_matrix(pair.decoded_rotation[pair.at(joint, t)]);
	double worst = 0;
	for (int32_t i = rig.first[joint]; i < rig.first[joint + 1]; ++i)
	{
		const Point& point = rig.points[i];
		Vec3 d = origin + rotate(world, point.offset) - pair.place(i, t);
		double u = dot(d, d) / (point.allowance * point.allowance);
		worst = u > worst ? u : worst;
		if (sum)
			*sum += u;
	}
	return worst;
}

double worst_point(const Rig& rig, const MotionPair& pair, int32_t joint)
{
	Lanes worst = {};
	for (int32_t t = 0; t < pair.count; t += int32_t(lane_count))
	{
		const LaneVec origin = pair.load<Lanes>(pair.decoded_position, joint, t);
		const MatrixOf<Lanes> world = as_matrix(pair.load<Lanes>(pair.decoded_rotation, joint, t));
		for (int32_t i = rig.first[joint]; i < rig.first[joint + 1]; ++i)
		{
			const Point& point = rig.points[i];
			const LaneVec d =
				origin + rotate(world, spread(point.offset)) - pair.load<Lanes>(pair.places, i, t);
			worst = larger(dot(d, d) / spread(point.allowance * point.allowance), worst);
		}
	}
	double most = 0;
	for (size_t l = 0; l < lane_count; ++l)
		most = worst[l] > most ? worst[l] : most;
	return most;
}

double origin_excess(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t)
{
	Vec3 d = pair.decoded_position[pair.at(joint, t)] - pair.position[pair.at(joint, t)];
	return dot(d, d) / (rig.allowance[joint] * rig.allowance[joint]);
}

double slid_excess(const Plan& plan, const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t)
{
	if (plan.table[PLAN_COLUMNS * joint + ROTATION_KIND] >= VECTOR_ROTATION)
		return 0.0;
	turn_still(plan, pair, joint, t);
	return worst_point(rig, pair, joint, t);
}

} // namespace keysine
} // namespace mocpack
