// Computes hinge angles and slider positions from poses.
#include "math/hinge_angle.h"
#include "reader/motion.h"

namespace mocpack
{

namespace
{

// The hinges of a joint in the order in which they apply, sliders first.
struct JointRows
{
	const int32_t* rows; // indices in the order of the source
	size_t slides, turns;
};

// Computes the positions of up to three sliders that are closest to a displacement.
void solve_sliders(const mocpack_Hinge* hinges, const JointRows& own, Vec3 displacement, double* angles)
{
	double axes[9], ways[3];
	for (size_t i = 0; i < own.slides; ++i)
		store(axes + 3 * i, load_vec(hinges[own.rows[i]].axis));
	solve_slider_positions(axes, own.slides, displacement, ways);
	for (size_t i = 0; i < own.slides; ++i)
		angles[own.rows[i]] = ways[i];
}

Quat quaternion_at(const mocpack_Poses& poses, size_t frame, size_t joint)
{
	const mocpack_Strides& s = poses.rotation_strides;
	const double* at = static_cast<const double*>(poses.rotations) + frame * s.frame + joint * s.joint;
	return {at[0], at[s.component], at[2 * s.component], at[3 * s.component]};
}

Vec3 translation_at(const mocpack_Poses& poses, size_t frame, size_t joint)
{
	const mocpack_Strides& s = poses.translation_strides;
	const double* at = static_cast<const double*>(poses.translations) + frame * s.frame + joint * s.joint;
	return {at[0], at[s.component], at[2 * s.component]};
}

void solve_joint(const mocpack_Info& info, const mocpack_Poses& poses, size_t frame, const JointRows& own,
				 double* angles)
{
	const size_t joint = size_t(info.hinges[own.rows[0]].joint);
	const Quat back =
		info.rest_rotations ? conjugate(load_quat(info.rest_rotations + 4 * joint)) : Quat{0, 0, 0, 1};
	if (own.slides)
		solve_sliders(info.hinges, own,
					  rotate(back, translation_at(poses, frame, joint) - load_vec(info.offsets + 3 * joint)),
					  angles);
	if (!own.turns)
		return;
	const int32_t first = own.rows[own.slides], last = own.rows[own.slides + own.turns - 1];
	solve_hinge_angles(multiply(back, quaternion_at(poses, frame, joint)), load_vec(info.hinges[first].axis),
					   own.turns > 1 ? info.hinges[last].axis : nullptr, angles + first, angles + last);
}

// Computes the angles of one frame, modulo full turns.
void solve_frame(const mocpack_Motion& motion, const mocpack_Poses& poses, size_t frame, double* angles)
{
	for (size_t h = 0; h < motion.info.hinge_count;)
	{
		JointRows own = {motion.hinge_rows + h, 0, 0};
		for (const int32_t joint = motion.hinge_joints[h];
			 h < motion.info.hinge_count && motion.hinge_joints[h] == joint; ++h)
			++(motion.hinge_slides[h] ? own.slides : own.turns);
		solve_joint(motion.info, poses, frame, own, angles);
	}
}

} // namespace

} // namespace mocpack

using namespace mocpack;

void mocpack_hinge_angles(const mocpack_Motion* motion, const mocpack_Poses* poses, size_t frames,
						  double* angles)
{
	if (!motion || !poses || !angles)
		return;
	const mocpack_Info& info = motion->info;
	for (size_t h = 0; h < info.hinge_count; ++h)
		if (!(info.hinges[h].slides ? poses->translations : poses->rotations))
			return;
	for (size_t t = 0; t < frames; ++t)
	{
		double* row = angles + t * info.hinge_count;
		solve_frame(*motion, *poses, t, row);
		for (size_t h = 0; h < info.hinge_count; ++h)
			if (!info.hinges[h].slides)
				row[h] = unwrap_hinge_angle(row[h], info.hinges[h].lower_limit, info.hinges[h].upper_limit,
											t ? row + h - info.hinge_count : nullptr);
	}
}
