// The cost of a joint's error after its descendants compensate as much as they can.
//
// A joint with three axes compensates any rotation error of its ancestors; a hinge only compensates rotation
// about its axis. A track above hinges must therefore know which errors they cannot compensate.
// decode/costs.h describes the method. It is applied here in every frame, to squared displacements over
// squared allowances.
#pragma once
#include "keysine/encode/rig.h"
#include "keysine/format/costs.h"

namespace mocpack
{
namespace keysine
{

// ξᵀ Q ξ for a track that chooses three numbers of ξ, x, when the other three, y, are known. It is equal to
// |factorᵀ (x + lead y)|² + yᵀ remains y.
struct Remainder
{
	float factor[6];  // lower triangle, by rows
	float lead[9];	  // by rows
	float remains[6]; // lower triangle, by rows

	// factorᵀ v
	Vec3 scaled(Vec3 v) const
	{
		const float* f = factor;
		return {f[0] * v.x + f[1] * v.y + f[3] * v.z, f[2] * v.y + f[4] * v.z, f[5] * v.z};
	}
	// factor factorᵀ, by rows
	void square(double* m) const
	{
		const double f[9] = {factor[0], 0, 0, factor[1], factor[2], 0, factor[3], factor[4], factor[5]};
		for (int r = 0; r < 3; ++r)
			for (int c = 0; c < 3; ++c)
				m[3 * r + c] =
					f[3 * r] * f[3 * c] + f[3 * r + 1] * f[3 * c + 1] + f[3 * r + 2] * f[3 * c + 2];
	}
	Vec3 led(Vec3 y) const
	{
		const float* l = lead;
		return {l[0] * y.x + l[1] * y.y + l[2] * y.z, l[3] * y.x + l[4] * y.y + l[5] * y.z,
				l[6] * y.x + l[7] * y.y + l[8] * y.z};
	}
	double remaining(Vec3 y) const
	{
		const float* m = remains;
		return m[0] * y.x * y.x + m[2] * y.y * y.y + m[5] * y.z * y.z +
			   2 * (m[1] * y.x * y.y + m[3] * y.x * y.z + m[4] * y.y * y.z);
	}
};

struct MotionPair;

// Returns the size of the work memory of `fill_costs`, in doubles.
inline size_t cost_work(size_t joints)
{
	return 36 * joints;
}

// Fills the remainders of a pair in frame t, at the source's pose.
void fill_costs(const Plan& plan, const Rig& rig, const SearchSettings& settings, const MotionPair& pair,
				int32_t t);

} // namespace keysine
} // namespace mocpack
