// Angles of hinges, and ways of sliders, from poses.
#include <cmath>

#include "common/quaternion.h"
#include "reader/motion.h"

namespace mocpack
{

namespace
{

const double TURN = 6.28318530717958647692; // radians

// The rows of a joint in the order in which they apply, sliders before turns.
struct JointRows
{
	const int32_t* rows; // of the source
	size_t slides, turns;
};

double twist(Quat q, Vec3 axis)
{
	return 2 * std::atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w);
}

// Angles about one or two axes of a turn from rest.
void turned(Quat turn, Vec3 first, const double* second_axis, double* outer, double* inner)
{
	if (!second_axis)
	{
		*outer = twist(turn, first);
		return;
	}
	const Vec3 second = load_vec(second_axis), there = rotate(turn, second),
			   flat = second - dot(second, first) * first;
	*outer = std::atan2(dot(cross(flat, there), first), dot(there, flat));
	const double sine = std::sin(-0.5 * *outer);
	const Quat back = {sine * first.x, sine * first.y, sine * first.z, std::cos(0.5 * *outer)};
	*inner = twist(multiply(back, turn), second);
}

// The ways along up to three axes that come nearest to a displacement: least squares, by elimination.
void slid(const mocpack_Hinge* hinges, const JointRows& own, Vec3 displacement, double* angles)
{
	double m[3][3], rest[3];
	const size_t n = own.slides;
	for (size_t i = 0; i < n; ++i)
	{
		const Vec3 axis = load_vec(hinges[own.rows[i]].axis);
		for (size_t k = 0; k < n; ++k)
			m[i][k] = dot(axis, load_vec(hinges[own.rows[k]].axis));
		rest[i] = dot(axis, displacement);
	}
	for (size_t i = 0; i < n; ++i)
		for (size_t r = i + 1; r < n; ++r)
		{
			const double share = m[r][i] / m[i][i];
			for (size_t k = i; k < n; ++k)
				m[r][k] -= share * m[i][k];
			rest[r] -= share * rest[i];
		}
	for (size_t i = n; i-- > 0;)
	{
		for (size_t k = i + 1; k < n; ++k)
			rest[i] -= m[i][k] * angles[own.rows[k]];
		angles[own.rows[i]] = rest[i] / m[i][i];
	}
}

Quat quaternion_at(const mocpack_Poses& poses, size_t frame, size_t joint)
{
	const mocpack_Strides& s = poses.rotation;
	const double* at = static_cast<const double*>(poses.rotations) + frame * s.frame + joint * s.joint;
	return {at[0], at[s.component], at[2 * s.component], at[3 * s.component]};
}

Vec3 place_at(const mocpack_Poses& poses, size_t frame, size_t joint)
{
	const mocpack_Strides& s = poses.translation;
	const double* at = static_cast<const double*>(poses.translations) + frame * s.frame + joint * s.joint;
	return {at[0], at[s.component], at[2 * s.component]};
}

void find_joint(const mocpack_Info& info, const mocpack_Poses& poses, size_t frame, const JointRows& own,
				double* angles)
{
	const size_t joint = size_t(info.hinges[own.rows[0]].joint);
	const Quat back =
		info.rest_rotations ? conjugate(load_quat(info.rest_rotations + 4 * joint)) : Quat{0, 0, 0, 1};
	if (own.slides)
		slid(info.hinges, own,
			 rotate(back, place_at(poses, frame, joint) - load_vec(info.offsets + 3 * joint)), angles);
	if (!own.turns)
		return;
	const int32_t first = own.rows[own.slides], last = own.rows[own.slides + own.turns - 1];
	turned(multiply(back, quaternion_at(poses, frame, joint)), load_vec(info.hinges[first].axis),
		   own.turns > 1 ? info.hinges[last].axis : nullptr, angles + first, angles + last);
}

// Angles of one frame, up to full turns.
void find_angles(const mocpack_Motion& motion, const mocpack_Poses& poses, size_t frame, double* angles)
{
	for (size_t h = 0; h < motion.info.hinge_count;)
	{
		JointRows own = {motion.hinge_rows + h, 0, 0};
		for (const int32_t joint = motion.hinge_joints[h];
			 h < motion.info.hinge_count && motion.hinge_joints[h] == joint; ++h)
			++(motion.hinge_slides[h] ? own.slides : own.turns);
		find_joint(motion.info, poses, frame, own, angles);
	}
}

// Puts an angle on the branch that its limits allow, or that is nearest to the frame before: null for the
// first.
double settled(double angle, const mocpack_Hinge& hinge, const double* before)
{
	const bool narrow = hinge.highest - hinge.lowest < TURN;
	const double near = narrow ? 0.5 * hinge.lowest + 0.5 * hinge.highest : before ? *before : 0;
	return angle - TURN * std::nearbyint((angle - near) / TURN);
}

} // namespace

} // namespace mocpack

using namespace mocpack;

void mocpack_angles(const mocpack_Motion* motion, const mocpack_Poses* poses, size_t frames, double* angles)
{
	const mocpack_Info& info = motion->info;
	for (size_t t = 0; t < frames; ++t)
	{
		double* row = angles + t * info.hinge_count;
		find_angles(*motion, *poses, t, row);
		for (size_t h = 0; h < info.hinge_count; ++h)
			if (!info.hinges[h].slides)
				row[h] = settled(row[h], info.hinges[h], t ? row + h - info.hinge_count : nullptr);
	}
}
