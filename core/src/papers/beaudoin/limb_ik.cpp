// Inverse kinematics of limbs: moves their ends to targets, starting from the current pose.
#include <cmath>

#include "common/skeleton.h"
#include "math/kinematics.h"
#include "math/quaternion.h"
#include "papers/beaudoin/limb_ik.h"

using namespace mocpack;

namespace
{

// part of the format of the codecs that correct poses when decoding: never change these
const int most_sweeps = 30;
const double close_enough = 1e-4; // meters
const double overshoot = 1.3;	  // factor on the best rotation of each joint; saves a third of the sweeps

const double full_turn = 6.283185307179586;
const double smallest = 1e-12; // shorter vectors have no direction

// A world pose, and the local rotations that the solver modifies.
struct Pose
{
	const mocpack_Skeleton& skeleton;
	double* positions; // (J, 3)
	double* world;	   // (J, 4)
	double* local;	   // (J, 4)
};

bool is_below(const mocpack_Skeleton& skeleton, int32_t joint, int32_t ancestor)
{
	while (joint > ancestor)
		joint = skeleton.parents[joint];
	return joint == ancestor;
}

Quat rotate_about(Vec3 axis, double angle)
{
	double s = std::sin(0.5 * angle);
	return {s * axis.x, s * axis.y, s * axis.z, std::cos(0.5 * angle)};
}

Quat unit(Quat q)
{
	double scale = 1.0 / std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return {scale * q.x, scale * q.y, scale * q.z, scale * q.w};
}

// Normalizes a vector; a very short one becomes zero.
Vec3 direction(Vec3 v)
{
	double length = std::sqrt(dot(v, v));
	return length > smallest ? (1.0 / length) * v : Vec3{0, 0, 0};
}

Quat parent_world(const Pose& pose, int32_t joint)
{
	int32_t parent = pose.skeleton.parents[joint];
	return parent < 0 ? Quat{0, 0, 0, 1} : load_quat(pose.world + 4 * parent);
}

// Rotates a joint by `angle` about a world axis, and its descendants among `joints`.
void apply_turn(Pose& pose, int32_t joint, Vec3 axis, double angle, const int32_t* joints, size_t count)
{
	Quat turn = rotate_about(axis, angle);
	Vec3 center = load_vec(pose.positions + 3 * joint);
	Quat above = parent_world(pose, joint);
	Quat world = unit(multiply(turn, load_quat(pose.world + 4 * joint)));
	store(pose.world + 4 * joint, world);
	store(pose.local + 4 * joint, multiply(conjugate(above), world));
	for (size_t k = 0; k < count; ++k)
	{
		int32_t other = joints[k];
		if (other == joint || !is_below(pose.skeleton, other, joint))
			continue;
		Vec3 arm = load_vec(pose.positions + 3 * other) - center;
		store(pose.positions + 3 * other, center + rotate(turn, arm));
		store(pose.world + 4 * other, unit(multiply(turn, load_quat(pose.world + 4 * other))));
	}
}

Vec3 world_axis(const Pose& pose, const mocpack_IkTurn& turn)
{
	bool after = turn.kind == MOCPACK_IK_AFTER;
	Quat frame = after ? load_quat(pose.world + 4 * turn.joint) : parent_world(pose, turn.joint);
	return rotate(frame, load_vec(turn.axis));
}

// Rotates one joint so that the ends below it come as close as possible to their targets.
void descend(Pose& pose, const mocpack_IkTurn& turn, const int32_t* ends, size_t end_count,
			 const double* targets, const int32_t* joints, size_t joint_count)
{
	Vec3 center = load_vec(pose.positions + 3 * turn.joint);
	Vec3 swirl = {0, 0, 0};
	for (size_t k = 0; k < end_count; ++k)
		if (is_below(pose.skeleton, ends[k], turn.joint))
			swirl = swirl + cross(load_vec(pose.positions + 3 * ends[k]) - center,
								  load_vec(targets + 3 * k) - center);
	Vec3 axis = turn.kind == MOCPACK_IK_BALL ? direction(swirl) : world_axis(pose, turn);
	double sine = dot(axis, swirl), cosine = 0;
	for (size_t k = 0; k < end_count; ++k)
		if (is_below(pose.skeleton, ends[k], turn.joint))
		{
			Vec3 arm = load_vec(pose.positions + 3 * ends[k]) - center;
			Vec3 wanted = load_vec(targets + 3 * k) - center;
			cosine += dot(arm, wanted) - dot(axis, arm) * dot(axis, wanted);
		}
	if (sine != 0.0)
		apply_turn(pose, turn.joint, axis, overshoot * std::atan2(sine, cosine), joints, joint_count);
}

double worst_distance(const Pose& pose, const int32_t* ends, size_t end_count, const double* targets)
{
	double worst = 0;
	for (size_t k = 0; k < end_count; ++k)
	{
		Vec3 gap = load_vec(targets + 3 * k) - load_vec(pose.positions + 3 * ends[k]);
		double square = dot(gap, gap);
		worst = square > worst ? square : worst;
	}
	return std::sqrt(worst);
}

void set_targets(const Pose& pose, const int32_t* ends, size_t end_count, const double* shifts,
				 double* targets)
{
	for (size_t k = 0; k < end_count; ++k)
		store(targets + 3 * k, load_vec(pose.positions + 3 * ends[k]) + load_vec(shifts + 3 * k));
}

// Returns the angle about `axis` that puts the end of `arm` at the requested distance from the limb's start,
// which is `from_start` away from the arm's root: the smaller of two solutions, or the closest if there is
// none.
double reaching_angle(Vec3 from_start, Vec3 arm, Vec3 axis, double wanted)
{
	double along = dot(axis, from_start) * dot(axis, arm);
	double p = dot(from_start, arm) - along, q = dot(from_start, cross(axis, arm));
	double amplitude = std::sqrt(p * p + q * q);
	if (amplitude < smallest)
		return 0;
	double needed = 0.5 * (wanted * wanted - dot(from_start, from_start) - dot(arm, arm)) - along;
	double share = needed / amplitude;
	double half = std::acos(share > 1 ? 1 : share < -1 ? -1 : share);
	double middle = std::atan2(q, p);
	double a = std::remainder(middle + half, full_turn), b = std::remainder(middle - half, full_turn);
	return std::fabs(a) < std::fabs(b) ? a : b;
}

void reach(Pose& pose, const mocpack_IkLimb& limb, Vec3 target)
{
	const int32_t joints[3] = {limb.start, limb.middle, limb.end};
	Vec3 start = load_vec(pose.positions + 3 * limb.start),
		 middle = load_vec(pose.positions + 3 * limb.middle);
	Vec3 upper = middle - start, lower = load_vec(pose.positions + 3 * limb.end) - middle;
	Vec3 own = load_vec(limb.axis);
	bool hinge = dot(own, own) > smallest;
	Vec3 axis = hinge ? rotate(parent_world(pose, limb.middle), own) : direction(cross(upper, lower));
	Vec3 aim = target - start;
	double angle = reaching_angle(upper, lower, axis, std::sqrt(dot(aim, aim)));
	if (angle != 0.0)
		apply_turn(pose, limb.middle, axis, angle, joints, 3);
	Vec3 arm = load_vec(pose.positions + 3 * limb.end) - start;
	Vec3 swirl = cross(arm, aim);
	double sine = std::sqrt(dot(swirl, swirl));
	if (sine > smallest)
		apply_turn(pose, limb.start, direction(swirl), std::atan2(sine, dot(arm, aim)), joints, 3);
}

} // namespace

size_t mocpack_ik_scratch_size(size_t joint_count, size_t end_count)
{
	return 7 * joint_count + 3 * end_count;
}

void mocpack_ik_ccd(const mocpack_Skeleton* skeleton, const mocpack_IkTurn* turns, size_t turn_count,
					const int32_t* joints, size_t joint_count, const int32_t* ends, size_t end_count,
					const double* shifts, const double* translations, size_t frames, double* scratch,
					double* rotations)
{
	size_t all = skeleton->joint_count;
	double* targets = scratch + 7 * all;
	for (size_t t = 0; t < frames; ++t)
	{
		Pose pose = {*skeleton, scratch, scratch + 3 * all, rotations + 4 * all * t};
		mocpack_forward_kinematics(skeleton, pose.local, translations + 3 * skeleton->translated_count * t, 1,
								   pose.positions, pose.world);
		set_targets(pose, ends, end_count, shifts + 3 * end_count * t, targets);
		for (int sweep = 0; sweep < most_sweeps; ++sweep)
		{
			if (worst_distance(pose, ends, end_count, targets) <= close_enough)
				break;
			for (size_t k = 0; k < turn_count; ++k)
				descend(pose, turns[k], ends, end_count, targets, joints, joint_count);
		}
	}
}

void mocpack_ik_two_bone(const mocpack_Skeleton* skeleton, const mocpack_IkLimb* limbs, size_t limb_count,
						 const double* shifts, const double* translations, size_t frames, double* scratch,
						 double* rotations)
{
	size_t all = skeleton->joint_count;
	for (size_t t = 0; t < frames; ++t)
	{
		Pose pose = {*skeleton, scratch, scratch + 3 * all, rotations + 4 * all * t};
		mocpack_forward_kinematics(skeleton, pose.local, translations + 3 * skeleton->translated_count * t, 1,
								   pose.positions, pose.world);
		for (size_t k = 0; k < limb_count; ++k)
		{
			Vec3 end = load_vec(pose.positions + 3 * limbs[k].end);
			reach(pose, limbs[k], end + load_vec(shifts + 3 * (limb_count * t + k)));
		}
	}
}
