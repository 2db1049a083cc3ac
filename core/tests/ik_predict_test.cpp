// The closed loop: both sides agree, hostile integers do no harm, rows survive damage.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "common/skeleton.h"
#include "entropy/planes.h"
#include "papers/li/ik_predict.h"

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

// A root that moves, a chain of three bones on it, and a body of its own at the end.
struct Limb
{
	int32_t joints[5] = {0, 1, 2, 3, 4}, parents[5] = {-1, 0, 1, 2, 3}, slides[5] = {0, -1, -1, -1, -1};
	double frames[20], attachments[15] = {0, 0, 0, 0.1, 0, 0, 0, -0.4, 0, 0, -0.4, 0, 0, -0.1, 0};
	double axes[15], lengths[5] = {0.1, 0.4, 0.4, 0.1, 0.05}, steps[5], twists[5];
	uint8_t twist_places[5] = {1, 0, 0, 0, 0};
	int32_t sizes[3] = {1, 3, 1}, order[5] = {0, 1, 2, 3, 4};
	mocpack_Limbs limbs;

	Limb()
	{
		for (int b = 0; b < 5; ++b)
		{
			double identity[4] = {0, 0, 0, 1}, down[3] = {b ? 0.0 : 1.0, b ? -1.0 : 0.0, 0};
			memcpy(frames + 4 * b, identity, sizeof identity);
			memcpy(axes + 3 * b, down, sizeof down);
			steps[b] = 0.005, twists[b] = 0.02;
		}
		limbs = mocpack_Limbs();
		limbs.body_count = 5, limbs.translated_count = 1;
		limbs.joints = joints, limbs.parents = parents, limbs.frames = frames;
		limbs.attachments = attachments, limbs.slides = slides, limbs.axes = axes;
		limbs.lengths = lengths, limbs.direction_steps = steps, limbs.twist_steps = twists;
		limbs.twist_places = twist_places, limbs.segment_count = 3;
		limbs.segment_sizes = sizes, limbs.order = order;
		limbs.effector_step = 0.001, limbs.slide_step = 0.001, limbs.k = 1, limbs.memory = 0.9;
		limbs.damping = 1e-3, limbs.rounding = 0.3, limbs.compensate = 1, limbs.extrapolate = 1;
	}
};

const size_t PLACES = 3 + 2 + 1 + 3 + 4 + 2, TWISTS = 4;

void turn(double* q, double x, double y, double z)
{
	double n = std::sqrt(1 + x * x + y * y + z * z);
	q[0] = x / n, q[1] = y / n, q[2] = z / n, q[3] = 1 / n;
}

void both_sides_agree_for_ever()
{
	Limb limb;
	std::vector<double> sender(mocpack_ik_state_size(&limb.limbs)), receiver(sender);
	double world[20], translations[3] = {0, 1, 0}, rotations[20], back[20], moved[3];
	memcpy(world, limb.frames, sizeof world);
	mocpack_ik_reset(&limb.limbs, sender.data(), world, translations);
	mocpack_ik_reset(&limb.limbs, receiver.data(), world, translations);
	std::vector<int32_t> places(PLACES), twists(TWISTS);
	bool same = true, near = true;
	for (int t = 0; t < 20000; ++t)
	{
		for (int b = 0; b < 5; ++b)
			turn(rotations + 4 * b, 0.4 * std::sin(0.03 * t + b), 0.2 * std::sin(0.011 * t), 0.1 * b);
		translations[0] = 0.01 * t;
		same = mocpack_ik_encode(&limb.limbs, sender.data(), rotations, translations, places.data(),
								 twists.data()) == MOCPACK_OK &&
			   same;
		mocpack_ik_decode(&limb.limbs, receiver.data(), places.data(), twists.data());
		same = same && !memcmp(sender.data(), receiver.data(), 23 * sizeof(double));
		mocpack_ik_pose(&limb.limbs, receiver.data(), back, moved);
		near = near && std::fabs(moved[0] - translations[0]) < 0.001;
		for (int k = 0; k < 20; ++k)
			near = near && std::fabs(back[k] - rotations[k]) < 0.05;
	}
	check(same, "encoder and decoder hold the same numbers");
	check(near, "and these are near the motion");
}

void any_integers_do()
{
	Limb limb;
	std::mt19937 random(1);
	std::vector<double> state(mocpack_ik_state_size(&limb.limbs));
	double world[20], translations[3] = {0, 0, 0}, rotations[20];
	memcpy(world, limb.frames, sizeof world);
	mocpack_ik_reset(&limb.limbs, state.data(), world, translations);
	std::vector<int32_t> places(PLACES), twists(TWISTS);
	bool finite = true;
	for (int t = 0; t < 2000; ++t)
	{
		for (int32_t& value : places)
			value = int32_t(random());
		for (int32_t& value : twists)
			value = int32_t(random());
		mocpack_ik_decode(&limb.limbs, state.data(), places.data(), t % 3 ? twists.data() : nullptr);
		mocpack_ik_pose(&limb.limbs, state.data(), rotations, translations);
		for (double value : rotations)
			finite = finite && std::isfinite(value);
	}
	check(finite, "hostile integers give finite rotations");
}

} // namespace

int main()
{
	both_sides_agree_for_ever();
	any_integers_do();
	return failures ? 1 : 0;
}
