// Forward kinematics.
#include "math/kinematics.h"
#include "common/skeleton.h"
#include "math/quaternion.h"

using namespace mocpack;

namespace
{

// Computes world positions and rotations of one pose.
void solve_pose(const mocpack_Skeleton& skeleton, const double* rotations, const double* translations,
				double* positions, double* world)
{
	size_t m = 0;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const double* local = skeleton.offsets + 3 * j;
		if (m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j)
			local = translations + 3 * m++;
		int32_t parent = skeleton.parents[j];
		Quat rotation = load_quat(rotations + 4 * j);
		Vec3 position = load_vec(local);
		if (parent >= 0)
		{
			Quat base = load_quat(world + 4 * parent);
			position = load_vec(positions + 3 * parent) + rotate(base, position);
			rotation = multiply(base, rotation);
		}
		store(positions + 3 * j, position);
		store(world + 4 * j, rotation);
	}
}

} // namespace

void mocpack_forward_kinematics(const mocpack_Skeleton* skeleton, const double* rotations,
								const double* translations, size_t frames, double* positions,
								double* world_rotations)
{
	size_t joints = skeleton->joint_count;
	for (size_t t = 0; t < frames; ++t)
		solve_pose(*skeleton, rotations + 4 * joints * t, translations + 3 * skeleton->translated_count * t,
				   positions + 3 * joints * t, world_rotations + 4 * joints * t);
}
