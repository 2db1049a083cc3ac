// Computes the hinge angles of a motion.
#include "math/hinge_angles.h"

#include "math/hinge_angle.h"

using namespace mocpack;

namespace
{

// The hinges of one joint, starting at row h: sliding, then turning ones.
struct JointRows
{
	size_t joint, slides, turns;

	JointRows(const mocpack_Skeleton& skeleton, size_t h)
		: joint(size_t(skeleton.hinge_joints[h])), slides(0), turns(0)
	{
		for (; h < skeleton.hinge_count && size_t(skeleton.hinge_joints[h]) == joint; ++h)
			++(skeleton.hinge_slides[h] ? slides : turns);
	}
};

// Returns the translation column of a joint; translated_count if it has none.
size_t translated_column(const mocpack_Skeleton& skeleton, size_t joint)
{
	size_t m = 0;
	while (m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) != joint)
		++m;
	return m;
}

} // namespace

void mocpack_compute_pose_angles(const mocpack_Skeleton* skeleton, const double* rotations,
								 const double* translations, const double* before, double* angles)
{
	const mocpack_Skeleton& s = *skeleton;
	for (size_t h = 0; h < s.hinge_count;)
	{
		const JointRows own(s, h);
		const Quat back = conjugate(load_quat(s.rest + 4 * own.joint));
		const double* axes = s.hinge_axes + 3 * h;
		const double* turning = axes + 3 * own.slides;
		const size_t column = own.slides ? translated_column(s, own.joint) : 0, first = h + own.slides;
		for (size_t i = 0; i < own.slides; ++i)
			angles[h + i] = 0;
		if (own.slides && column < s.translated_count)
		{
			Vec3 away = load_vec(translations + 3 * column) - load_vec(s.offsets + 3 * own.joint);
			solve_slider_positions(axes, own.slides, rotate(back, away), angles + h);
		}
		if (own.turns)
			solve_hinge_angles(multiply(back, load_quat(rotations + 4 * own.joint)), load_vec(turning),
							   own.turns > 1 ? turning + 3 : nullptr, angles + first, angles + first + 1);
		for (size_t i = first; i < first + own.turns; ++i)
			angles[i] = unwrap_hinge_angle(angles[i], s.hinge_limits[2 * i], s.hinge_limits[2 * i + 1],
										   before ? before + i : nullptr);
		h += own.slides + own.turns;
	}
}

void mocpack_compute_hinge_angles(const mocpack_Skeleton* skeleton, const double* rotations,
								  const double* translations, size_t frames, double* angles)
{
	const mocpack_Skeleton& s = *skeleton;
	for (size_t t = 0; t < frames; ++t, angles += s.hinge_count)
		mocpack_compute_pose_angles(skeleton, rotations + 4 * t * s.joint_count,
									translations + 3 * t * s.translated_count,
									t ? angles - s.hinge_count : nullptr, angles);
}
