// Ends of limbs reach their targets, and the predicted effect of a signal's step on the error is the measured
// one.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/skeleton.h"
#include "math/kinematics.h"
#include "papers/beaudoin/limb_ik.h"
#include "papers/beaudoin/pose_error.h"
#include "papers/beaudoin/signals.h"

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

// A root, a thigh and a shin of 0.4 m, a foot with an end.
const int32_t parents[] = {-1, 0, 1, 2};
const double offsets[] = {0, 0, 0, 0.1, 0, 0, 0, -0.4, 0, 0, -0.4, 0};
const int32_t end_joints[] = {3};
const double end_sites[] = {0, 0, 0.1};
const int32_t translated[] = {0};
const mocpack_Skeleton skeleton = {4, parents, offsets, 1, end_joints, end_sites, 1, translated};

std::vector<double> bent_leg()
{
	std::vector<double> rotations(16, 0.0);
	for (int j = 0; j < 4; ++j)
		rotations[4 * j + 3] = 1.0;
	rotations[8] = std::sin(0.5), rotations[11] = std::cos(0.5);
	return rotations;
}

void foot_position(const std::vector<double>& rotations, double* foot)
{
	std::vector<double> positions(12), world(16), root(3, 0.0);
	mocpack_forward_kinematics(&skeleton, rotations.data(), root.data(), 1, positions.data(), world.data());
	for (int k = 0; k < 3; ++k)
		foot[k] = positions[9 + k];
}

double missed(const std::vector<double>& rotations, const double* from, const double* shift)
{
	double foot[3], sum = 0;
	foot_position(rotations, foot);
	for (int k = 0; k < 3; ++k)
		sum += std::pow(foot[k] - from[k] - shift[k], 2);
	return std::sqrt(sum);
}

void check_limbs()
{
	const double shift[3] = {0.01, 0.02, -0.01}, root[3] = {0, 0, 0};
	double from[3];
	std::vector<double> ccd = bent_leg(), closed = bent_leg(), scratch(mocpack_ik_scratch_size(4, 1));
	foot_position(ccd, from);
	const mocpack_IkTurn turns[] = {{1, MOCPACK_IK_BALL, {0, 0, 0}}, {2, MOCPACK_IK_BEFORE, {1, 0, 0}}};
	const int32_t joints[] = {1, 2, 3}, ends[] = {3};
	mocpack_ik_ccd(&skeleton, turns, 2, joints, 3, ends, 1, shift, root, 1, scratch.data(), ccd.data());
	check(missed(ccd, from, shift) < 1e-4, "descent reaches");
	check(ccd[9] == 0.0 && ccd[10] == 0.0, "a hinge stays a hinge");
	const mocpack_IkLimb limb = {1, 2, 3, {1, 0, 0}};
	mocpack_ik_two_bone(&skeleton, &limb, 1, shift, root, 1, scratch.data(), closed.data());
	check(missed(closed, from, shift) < 1e-12, "the closed form reaches");
}

void check_changes()
{
	const int32_t first[] = {0, 3, 6, 7, 11};
	const int32_t kinds[] = {0, 1, 2, 5, 4, 3, 3, 6, 6, 6, 6};
	const mocpack_Signals signals = {first, kinds, nullptr};
	std::mt19937 random(1);
	std::uniform_real_distribution<double> uniform(-1, 1);
	std::vector<double> values(11), steps(11), phases(22), none(11, 0.0), targets(15), changes(11),
		unused(11);
	std::vector<double> weights(5, 1.0), scratch(mocpack_pose_error_scratch_size(4, 11));
	for (auto* list : {&values, &steps, &targets})
		for (double& number : *list)
			number = uniform(random);
	auto error = [&](const std::vector<double>& now, const std::vector<double>& by, std::vector<double>& out)
	{
		for (int s = 0; s < 11; ++s)
			phases[2 * s] = std::cos(now[s]), phases[2 * s + 1] = std::sin(now[s]);
		return mocpack_pose_error_changes(&skeleton, &signals, now.data(), phases.data(), by.data(),
										  targets.data(), weights.data(), 1, scratch.data(), out.data());
	};
	double before = error(values, steps, changes);
	for (int s = 0; s < 11; ++s)
	{
		std::vector<double> now = values;
		now[s] += steps[s];
		check(std::fabs(error(now, none, unused) - before - changes[s]) < 1e-12, "a change is exact");
	}
}

} // namespace

int main()
{
	check_limbs();
	check_changes();
	return failures != 0;
}
