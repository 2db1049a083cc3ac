// Computes the cost of a joint's error after its descendants have compensated what they can.
#include "keysine/encode/cost_to_go.h"

#include <cmath>
#include <cstring>

#include "keysine/encode/track_target.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const double ALMOST = 1e-9; // share of the trace added to a diagonal to keep it positive

// Returns the trace of a cost block that counts as zero. A displacement by the bound (half 0), or a rotation
// by a tenth of a radian (half 3), then costs 1e-6 at most. Such costs are rounding errors: if descendants
// compensate everything, large numbers cancel.
double negligible(int half, double over_bound)
{
	return half ? 1e-4 : 1e-6 * over_bound;
}

// Returns the costs as seen by a track that decides on displacement (from: 0) or rotation (from: 3).
// over_bound is one over the squared bound.
Remainder remainder_of(const Costs& costs, int from, double over_bound)
{
	Remainder found = {};
	const int other = 3 - from;
	double f[9] = {}, lead[9];
	double own = costs.at(from, from) + costs.at(from + 1, from + 1) + costs.at(from + 2, from + 2);
	if (own <= negligible(from, over_bound)) // the track does not affect the costs
	{
		for (int r = 0, i = 0; r < 3; ++r)
			for (int c = 0; c <= r; ++c, ++i)
				found.remains[i] = float(costs.at(other + r, other + c));
		return found;
	}
	const double least = ALMOST * own + 1e-3 * negligible(from, over_bound);
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c <= r; ++c)
		{
			double sum = costs.at(from + r, from + c) + (r == c ? least : 0);
			for (int k = 0; k < c; ++k)
				sum -= f[3 * r + k] * f[3 * c + k];
			f[3 * r + c] = r == c ? std::sqrt(sum > least ? sum : least) : sum / f[4 * c];
		}
	for (int c = 0; c < 3; ++c) // solve with both triangular factors, column by column
	{
		double y[3];
		for (int r = 0; r < 3; ++r)
		{
			y[r] = costs.at(from + r, other + c);
			for (int k = 0; k < r; ++k)
				y[r] -= f[3 * r + k] * y[k];
			y[r] /= f[4 * r];
		}
		for (int r = 3; r-- > 0;)
		{
			for (int k = r + 1; k < 3; ++k)
				y[r] -= f[3 * k + r] * y[k];
			y[r] /= f[4 * r];
			lead[3 * r + c] = y[r];
		}
	}
	for (int r = 0, i = 0; r < 3; ++r)
		for (int c = 0; c <= r; ++c, ++i)
		{
			double left = costs.at(other + r, other + c);
			for (int k = 0; k < 3; ++k)
				left -= costs.at(other + r, from + k) * lead[3 * k + c];
			found.factor[i] = float(f[3 * r + c]);
			found.remains[i] = float(left);
		}
	for (int i = 0; i < 9; ++i)
		found.lead[i] = float(lead[i]);
	return found;
}

double over_square(double allowance)
{
	return 1.0 / (allowance * allowance);
}

// Adds the costs of the joint's own origin, shell points and bone ends.
void add_own(const Plan& plan, const Rig& rig, const SearchSettings& s, const MotionPair& pair, int32_t joint,
			 int32_t t, size_t* end, const Costs& costs)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	Quat world = pair.rotation[pair.at(joint, t)];
	double bound = s.bound * (rig.shares ? rig.shares[joint] : 1.0), shell = s.shell_factor * bound;
	double origin = s.excess_penalty > 0 ? ORIGIN_WEIGHT : over_square(s.origin_share);
	costs.add_point({0, 0, 0}, origin * over_square(bound));
	for (int a = 0; a < 3; ++a)
	{
		Vec3 axis = {a == 0 ? SHELL : 0, a == 1 ? SHELL : 0, a == 2 ? SHELL : 0};
		costs.add_point(rotate(world, axis), SHELL_WEIGHT * over_square(shell));
	}
	for (; *end > 0 && skeleton.end_joints[*end - 1] == joint; --*end)
		costs.add_point(rotate(world, load_vec(skeleton.end_sites + 3 * (*end - 1))),
						END_WEIGHT * over_square(bound));
}

const double LEAST_ROOM = 1e-12; // radians or meters

// Returns the price of relying on a clamped hinge, per squared radian or meter. Moving from the source's
// value to the nearer limit costs as much as an error of the bound. Nothing can be compensated beyond the
// limit.
double limit_price(const JointHinges& hinges, int32_t clamped_hinges, int32_t i, double value)
{
	if (!(clamped_hinges >> i & 1))
		return 0.0;
	const double lowest = hinges.limits[2 * i], highest = hinges.limits[2 * i + 1];
	if (hinges.narrow(i))
		value -= FULL_TURN * std::floor((value - 0.5 * (lowest + highest)) / FULL_TURN + 0.5);
	const double below = value - lowest, above = highest - value, room = below < above ? below : above;
	return over_square(room > LEAST_ROOM ? room : LEAST_ROOM);
}

double source_value(const JointHinges& hinges, const MotionPair& pair, int32_t i, int32_t t)
{
	return pair.angles[(hinges.first + size_t(i)) * size_t(pair.count) + size_t(t)];
}

// Returns the same for a freely moving joint: the highest price of its hinges, which applies in every
// direction.
double free_price(const JointHinges& hinges, int32_t clamped_hinges, int32_t first, int32_t count,
				  const MotionPair& pair, int32_t t)
{
	double dearest = 0;
	for (int32_t i = first; i < first + count; ++i)
	{
		const double price = limit_price(hinges, clamped_hinges, i, source_value(hinges, pair, i, t));
		dearest = price > dearest ? price : dearest;
	}
	return dearest;
}

// Returns the hinges, as bits, whose limits have a price. There are none until a frame has failed several
// times, because a price costs bits.
int32_t limiting_rows(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t)
{
	return pair.turn_price[t] > pair.strained_price ? plan.table[PLAN_COLUMNS * joint + CLAMPED_HINGES] : 0;
}

// Eliminates the axes of a joint's hinges from the costs: those that it turns about, or those that it slides
// along. Uses their world directions in the source.
void take_out_hinges(const Plan& plan, const JointHinges& hinges, const MotionPair& pair, int32_t joint,
					 int32_t t, bool turns, double price, const Costs& costs)
{
	const int32_t clamped_hinges = limiting_rows(plan, pair, joint, t);
	int32_t parent = plan.skeleton->parents[joint];
	Quat frame = parent < 0 ? hinges.rest : multiply(pair.rotation[pair.at(parent, t)], hinges.rest);
	for (int32_t i = 0; i < hinges.slides && !turns; ++i)
		costs.eliminate(0, rotate(frame, hinges.slide_axis(i)),
						limit_price(hinges, clamped_hinges, i, source_value(hinges, pair, i, t)));
	for (int32_t i = 0; i < hinges.turns && turns; ++i)
	{
		double angle = source_value(hinges, pair, hinges.slides + i, t);
		costs.eliminate(3, rotate(frame, hinges.turn_axis(i)),
						price + limit_price(hinges, clamped_hinges, hinges.slides + i, angle));
		frame = multiply(frame, exponential(angle * hinges.turn_axis(i)));
	}
}

} // namespace

void fill_costs(const Plan& plan, const Rig& rig, const SearchSettings& settings, const MotionPair& pair,
				int32_t t)
{
	double *work = pair.work, turn_price = pair.turn_price[t];
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	size_t end = skeleton.end_count;
	std::memset(work, 0, cost_work(skeleton.joint_count) * sizeof(double));
	for (int32_t j = int32_t(skeleton.joint_count); j-- > 0;)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		Costs costs = {work + 36 * j};
		JointHinges hinges = plan.hinges[j];
		const int32_t clamped_hinges = limiting_rows(plan, pair, j, t);
		add_own(plan, rig, settings, pair, j, t, &end, costs);
		if (row[ROTATION_KIND] >= VECTOR_ROTATION)
			pair.after_turn[pair.at(j, t)] = remainder_of(costs, 3, over_square(settings.bound));
		if (row[ROTATION_KIND] == HINGE_ROTATION)
			take_out_hinges(plan, hinges, pair, j, t, true, turn_price + rig.angle_price(j), costs);
		else if (row[ROTATION_KIND] >= VECTOR_ROTATION)
			costs.eliminate(3, turn_price + rig.angle_price(j) +
								   free_price(hinges, clamped_hinges, hinges.slides, hinges.turns, pair, t));
		if (row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
			pair.after_place[pair.at(j, t)] = remainder_of(costs, 0, over_square(settings.bound));
		if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
			take_out_hinges(plan, hinges, pair, j, t, false, 0.0, costs);
		else if (row[TRANSLATION_KIND] == MOVING_TRANSLATION)
			costs.eliminate(0, free_price(hinges, clamped_hinges, 0, hinges.slides, pair, t));
		int32_t parent = skeleton.parents[j];
		if (parent < 0)
			continue;
		double seen[36] = {};
		Costs{seen}.add_child(costs, pair.position[pair.at(j, t)] - pair.position[pair.at(parent, t)]);
		pair.below_parent[pair.at(j, t)] = remainder_of(Costs{seen}, 3, over_square(settings.bound));
		for (int i = 0; i < 36; ++i)
			work[36 * parent + i] += seen[i];
	}
}

} // namespace keysine
} // namespace mocpack
