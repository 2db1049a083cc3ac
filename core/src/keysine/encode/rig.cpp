// Finds the points that each joint moves, whose displacement the encoder of `keysine` bounds.
#include "keysine/encode/rig.h"
#include "math/elementary.h"

#include <cmath>

namespace mocpack
{
namespace keysine
{

namespace
{

// Returns whether a joint rotates, or slides along hinges. A freely moving joint without hinges also rotates
// if an ancestor does.
bool turns(const Plan& plan, size_t joint)
{
	const int32_t* row = plan.table + PLAN_COLUMNS * joint;
	return row[ROTATION_KIND] >= VECTOR_ROTATION || row[TRANSLATION_KIND] == SLIDING_TRANSLATION;
}

// Visits every point with the joint that carries it. Skips points that no joint carries.
template <typename Visit>
void visit_points(const Plan& plan, const double* allowance, double most, double shell, const double* shares,
				  Visit visit)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	const Vec3 zero = {0, 0, 0};
	size_t e = 0;
	for (size_t k = 0; k < s.joint_count; ++k)
	{
		bool free = turns(plan, k), leaf = plan.descendants[k] == 1;
		double bound = shares ? most * shares[k] : most;
		int32_t carrier = plan.carrier[k];
		Vec3 offset = free ? zero : load_vec(plan.carried_offset + 3 * k);
		Quat turn = free ? Quat{0, 0, 0, 1} : load_quat(plan.carried_rotation + 4 * k);
		if (carrier >= 0)
		{
			Vec3 origin = load_vec(plan.carried_offset + 3 * k);
			double weight = free || leaf ? math::pow(double(plan.descendants[k]), SPREAD) : 0.0;
			double room = !free && leaf ? bound : allowance[k];
			if (dot(origin, origin) > 1e-18)
				visit(carrier, Point{origin, zero, int32_t(k), room, weight});
		}
		int32_t holder = free ? int32_t(k) : carrier;
		for (int a = 0; a < 3; ++a)
		{
			Vec3 axis = {a == 0 ? SHELL : 0, a == 1 ? SHELL : 0, a == 2 ? SHELL : 0};
			if (holder >= 0)
				visit(holder, Point{offset + rotate(turn, axis), axis, int32_t(k), shell * bound, 0.0});
		}
		for (; e < s.end_count && size_t(s.end_joints[e]) == k; ++e)
		{
			Vec3 end = load_vec(s.end_sites + 3 * e);
			if (holder >= 0)
				visit(holder, Point{offset + rotate(turn, end), end, int32_t(k), bound, 1.0});
		}
	}
}

} // namespace

namespace
{

// Returns the share of the allowance that a joint's origin gets. Its error moves all descendants, so the
// smallest share among them applies.
double origin_share(const double* shares, const JointLimits* limits, size_t joint)
{
	double share = shares ? shares[joint] : 1.0;
	return limits && limits->track_shares[joint] < share ? limits->track_shares[joint] : share;
}

Moments moments_of(const Point* point, const Point* end)
{
	Moments found = {};
	for (; point < end; ++point)
	{
		const double o[3] = {point->offset.x, point->offset.y, point->offset.z};
		found.first = found.first + point->weight * point->offset;
		for (int r = 0; r < 3; ++r)
			for (int c = 0; c < 3; ++c)
				found.second[3 * r + c] +=
					point->weight * ((r == c ? dot(point->offset, point->offset) : 0) - o[r] * o[c]);
	}
	return found;
}

} // namespace

size_t rig_point_limit(const mocpack_Skeleton& skeleton)
{
	return 4 * skeleton.joint_count + skeleton.end_count;
}

void build_rig(Rig* rig, Arena* arena, const Plan& plan, const SearchSettings& settings, const double* shares,
			   const JointLimits* limits)
{
	double bound = settings.bound, shell = settings.shell_factor;
	size_t joints = plan.skeleton->joint_count;
	rig->points = arena->allocate<Point>(rig_point_limit(*plan.skeleton));
	rig->moments = arena->allocate<Moments>(joints);
	rig->first = arena->allocate<int32_t>(joints + 1);
	rig->allowance = arena->allocate<double>(joints);
	rig->shares = shares, rig->limits = limits;
	if (!rig->points)
		return;
	for (size_t j = 0; j <= joints; ++j)
		rig->first[j] = 0;
	for (size_t j = 0; j < joints; ++j)
	{
		double share =
			settings.origin_share * math::pow(double(plan.descendants[j]), -settings.origin_falloff);
		rig->allowance[j] = bound * (share < settings.max_origin_share ? share : settings.max_origin_share) *
							origin_share(rig->shares, limits, j);
	}
	// an origin gets at most the allowances of its descendants' origins, because its error moves them
	for (size_t j = joints; j-- > 1;)
	{
		double* above = rig->allowance + plan.skeleton->parents[j];
		if (shares && *above > rig->allowance[j])
			*above = rig->allowance[j];
	}
	visit_points(plan, rig->allowance, bound, shell, shares,
				 [rig](int32_t j, const Point&) { ++rig->first[j + 1]; });
	rig->most = 0;
	for (size_t j = 0; j < joints; ++j)
	{
		rig->most = rig->first[j + 1] > rig->most ? rig->first[j + 1] : rig->most;
		rig->first[j + 1] += rig->first[j];
	}
	// first[j] serves as cursor while filling, which leaves it one joint ahead
	visit_points(plan, rig->allowance, bound, shell, shares,
				 [rig](int32_t j, const Point& point) { rig->points[rig->first[j]++] = point; });
	for (size_t j = joints; j > 0; --j)
		rig->first[j] = rig->first[j - 1];
	rig->first[0] = 0;
	for (size_t j = 0; j < joints; ++j)
		rig->moments[j] = moments_of(rig->points + rig->first[j], rig->points + rig->first[j + 1]);
}

} // namespace keysine
} // namespace mocpack
