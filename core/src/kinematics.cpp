// Forward kinematics, and the error of one motion against another.
#include <cmath>

#include "mocpack/core.h"
#include "quaternion.h"

using namespace mocpack;

namespace
{

// World positions and rotations of one pose.
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

// The columns of the rotation matrix of q.
void matrix_columns(Quat q, Vec3 columns[3])
{
	double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
	double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
	double xw = q.x * q.w, yw = q.y * q.w, zw = q.z * q.w;
	columns[0] = {1 - 2 * (yy + zz), 2 * (xy + zw), 2 * (xz - yw)};
	columns[1] = {2 * (xy - zw), 1 - 2 * (xx + zz), 2 * (yz + xw)};
	columns[2] = {2 * (xz + yw), 2 * (yz - xw), 1 - 2 * (xx + yy)};
}

double larger(double a, double b)
{
	return a > b ? a : b;
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

void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
						 const double* translations_a, const double* rotations_b,
						 const double* translations_b, size_t frames, double shell, double* world,
						 mocpack_ClipErrors* errors, double* frame_max, double* joint_max)
{
	size_t joints = skeleton->joint_count;
	double* position_a = world;
	double* position_b = world + 3 * joints;
	double* rotation_a = world + 6 * joints;
	double* rotation_b = world + 10 * joints;
	double promised = 0, largest = 0, sum = 0, squares = 0;
	*errors = {};
	for (size_t j = 0; joint_max && j < joints; ++j)
		joint_max[j] = 0;
	for (size_t t = 0; t < frames; ++t)
	{
		size_t translated = 3 * skeleton->translated_count * t;
		solve_pose(*skeleton, rotations_a + 4 * joints * t, translations_a + translated, position_a,
				   rotation_a);
		solve_pose(*skeleton, rotations_b + 4 * joints * t, translations_b + translated, position_b,
				   rotation_b);
		double worst = 0; // squared, over this frame
		size_t worst_joint = 0, e = 0;
		for (size_t j = 0; j < joints; ++j)
		{
			Vec3 d = load_vec(position_a + 3 * j) - load_vec(position_b + 3 * j);
			Vec3 a[3], b[3];
			matrix_columns(load_quat(rotation_a + 4 * j), a);
			matrix_columns(load_quat(rotation_b + 4 * j), b);
			double centre = dot(d, d), all = centre;
			for (int k = 0; k < 3; ++k)
			{
				Vec3 point = d + shell * (a[k] - b[k]);
				all = larger(all, dot(point, point));
			}
			for (; e < skeleton->end_count && size_t(skeleton->end_joints[e]) == j; ++e)
			{
				const double* end = skeleton->end_sites + 3 * e;
				Vec3 point = d + end[0] * (a[0] - b[0]) + end[1] * (a[1] - b[1]) + end[2] * (a[2] - b[2]);
				all = larger(all, dot(point, point));
			}
			sum += std::sqrt(centre);
			squares += centre;
			largest = larger(largest, centre);
			if (joint_max)
				joint_max[j] = larger(joint_max[j], all);
			if (all > worst)
				worst = all, worst_joint = j;
		}
		if (frame_max)
			frame_max[t] = std::sqrt(worst);
		if (worst > promised)
		{
			promised = worst;
			errors->worst_frame = int64_t(t);
			errors->worst_joint = int64_t(worst_joint);
		}
	}
	for (size_t j = 0; joint_max && j < joints; ++j)
		joint_max[j] = std::sqrt(joint_max[j]);
	double count = frames && joints ? double(frames) * double(joints) : 1.0;
	errors->promised_max = std::sqrt(promised);
	errors->joint_max = std::sqrt(largest);
	errors->joint_mean = sum / count;
	errors->joint_rms = std::sqrt(squares / count);
}
