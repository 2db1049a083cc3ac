// Computes the error between two motions without computing world poses.
//
// All quantities are in the frame of the original joint. Let D be the rotation of the decoded joint relative
// to the original one, and s its displacement. Then a point x of the joint moves by s + (D - 1) x. For a
// child with translation t and local rotation R (decoded: t', R'), the displacement is R^-1 (s + D t' - t)
// and the rotation R^-1 D R'. This needs no world rotations and loses no precision far from the origin.
#include "math/clip_errors.h"
#include "common/skeleton.h"
#include "math/lanes.h"

using namespace mocpack;

namespace
{

struct Matrix
{
	LaneVec rows[3];
};

struct Joint
{
	LaneQuat turn;		  // D
	Matrix turn_less_one; // D - 1
	LaneVec shift;		  // s
	Lanes all;			  // largest |displacement|² of center, shell points and end sites
};

// Sums and maxima over the joints of a few frames.
struct Poses
{
	Lanes sum, squares, largest, all;
};

struct Motion
{
	const double* rotations[lane_count];
	const double* translations[lane_count];
};

// Returns pointers to consecutive frames; past the end, the last frame is repeated.
Motion frames_of(const mocpack_Skeleton& skeleton, const double* rotations, const double* translations,
				 size_t first, size_t count)
{
	Motion motion;
	for (size_t l = 0; l < lane_count; ++l)
	{
		size_t t = first + l < count ? first + l : count - 1;
		motion.rotations[l] = rotations + 4 * skeleton.joint_count * t;
		motion.translations[l] = translations + 3 * skeleton.translated_count * t;
	}
	return motion;
}

LaneVec apply(const Matrix& m, LaneVec v)
{
	return {dot(m.rows[0], v), dot(m.rows[1], v), dot(m.rows[2], v)};
}

Matrix subtract_identity(LaneQuat q)
{
	Lanes x = q.x + q.x, y = q.y + q.y, z = q.z + q.z;
	Lanes xx = q.x * x, yy = q.y * y, zz = q.z * z;
	Lanes xy = q.x * y, xz = q.x * z, yz = q.y * z;
	Lanes xw = q.w * x, yw = q.w * y, zw = q.w * z;
	return {{{-(yy + zz), xy - zw, xz + yw}, {xy + zw, -(xx + zz), yz - xw}, {xz - yw, yz + xw, -(xx + yy)}}};
}

// Returns the largest squared displacement of the center and the points at distance `shell` along the three
// axes.
Lanes max_shell_displacement(LaneVec s, const Matrix& m, Lanes shell)
{
	LaneVec x = {s.x + shell * m.rows[0].x, s.y + shell * m.rows[1].x, s.z + shell * m.rows[2].x};
	LaneVec y = {s.x + shell * m.rows[0].y, s.y + shell * m.rows[1].y, s.z + shell * m.rows[2].y};
	LaneVec z = {s.x + shell * m.rows[0].z, s.y + shell * m.rows[1].z, s.z + shell * m.rows[2].z};
	return larger(larger(dot(s, s), dot(x, x)), larger(dot(y, y), dot(z, z)));
}

// Computes the errors of all joints in a few frames into `joints`, and returns their sums and maxima.
Poses measure(const mocpack_Skeleton& skeleton, const Motion& a, const Motion& b, double shell, Joint* joints)
{
	Poses poses = {};
	size_t m = 0, e = 0;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		LaneVec place = spread(load_vec(skeleton.offsets + 3 * j)), shift = {};
		if (m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j)
		{
			place = gather_vec(b.translations, 3 * m);
			shift = place - gather_vec(a.translations, 3 * m++);
		}
		LaneQuat back = conjugate(gather_quat(a.rotations, 4 * j)), turn = back;
		if (skeleton.parents[j] >= 0)
		{
			const Joint& parent = joints[skeleton.parents[j]];
			shift = shift + parent.shift + apply(parent.turn_less_one, place);
			turn = multiply(back, parent.turn);
		}
		turn = multiply(turn, gather_quat(b.rotations, 4 * j));
		shift = rotate(back, shift);
		Matrix matrix = subtract_identity(turn);
		Lanes center = dot(shift, shift), all = max_shell_displacement(shift, matrix, spread(shell));
		for (; e < skeleton.end_count && size_t(skeleton.end_joints[e]) == j; ++e)
		{
			LaneVec end = shift + apply(matrix, spread(load_vec(skeleton.end_sites + 3 * e)));
			all = larger(all, dot(end, end));
		}
		joints[j] = {turn, matrix, shift, all};
		poses.sum += square_root(center);
		poses.squares += center;
		poses.largest = larger(poses.largest, center);
		poses.all = larger(poses.all, all);
	}
	return poses;
}

double larger_of(double a, double b)
{
	return a > b ? a : b;
}

size_t worst_joint(const Joint* joints, size_t count, size_t lane)
{
	size_t worst = 0;
	for (size_t j = 1; j < count; ++j)
		if (joints[j].all[lane] > joints[worst].all[lane])
			worst = j;
	return worst;
}

} // namespace

size_t mocpack_clip_errors_scratch_size(size_t joint_count)
{
	return joint_count * sizeof(Joint);
}

void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
						 const double* translations_a, const double* rotations_b,
						 const double* translations_b, size_t frames, double shell, void* scratch,
						 mocpack_ClipErrors* errors, double* frame_max, double* frame_mean, double* joint_max,
						 double* distances)
{
	size_t count = skeleton->joint_count;
	Joint* joints = static_cast<Joint*>(scratch);
	double promised = 0, largest = 0, sum = 0, squares = 0; // the first two squared
	*errors = {};
	for (size_t j = 0; joint_max && j < count; ++j)
		joint_max[j] = 0;
	for (size_t t = 0; t < frames; t += lane_count)
	{
		Motion a = frames_of(*skeleton, rotations_a, translations_a, t, frames);
		Motion b = frames_of(*skeleton, rotations_b, translations_b, t, frames);
		Poses poses = measure(*skeleton, a, b, shell, joints);
		for (size_t l = 0; l < lane_count && t + l < frames; ++l)
		{
			sum += poses.sum[l];
			squares += poses.squares[l];
			largest = larger_of(largest, poses.largest[l]);
			for (size_t j = 0; joint_max && j < count; ++j)
				joint_max[j] = larger_of(joint_max[j], joints[j].all[l]);
			for (size_t j = 0; distances && j < count; ++j)
				distances[(t + l) * count + j] = std::sqrt(dot(joints[j].shift, joints[j].shift)[l]);
			if (frame_max)
				frame_max[t + l] = std::sqrt(poses.all[l]);
			if (frame_mean)
				frame_mean[t + l] = poses.sum[l] / double(count);
			if (poses.all[l] > promised)
			{
				promised = poses.all[l];
				errors->worst_frame = int64_t(t + l);
				errors->worst_joint = int64_t(worst_joint(joints, count, l));
			}
		}
	}
	for (size_t j = 0; joint_max && j < count; ++j)
		joint_max[j] = std::sqrt(joint_max[j]);
	double all = frames && count ? double(frames) * double(count) : 1.0;
	errors->promised_max = std::sqrt(promised);
	errors->joint_max = std::sqrt(largest);
	errors->joint_mean = sum / all;
	errors->joint_rms = std::sqrt(squares / all);
}

void mocpack_displacements(const mocpack_Skeleton* skeleton, const double* rotations_a,
						   const double* translations_a, const double* rotations_b,
						   const double* translations_b, size_t frames, size_t stride, double shell,
						   void* scratch, float* rows)
{
	const size_t count = skeleton->joint_count, points = (frames + stride - 1) / stride * count;
	Joint* joints = static_cast<Joint*>(scratch);
	for (size_t t = 0; t < frames; t += stride * lane_count)
	{
		Motion a, b;
		for (size_t l = 0; l < lane_count; ++l)
		{
			const size_t frame = t + l * stride < frames ? t + l * stride : t;
			a.rotations[l] = rotations_a + 4 * count * frame;
			b.rotations[l] = rotations_b + 4 * count * frame;
			a.translations[l] = translations_a + 3 * skeleton->translated_count * frame;
			b.translations[l] = translations_b + 3 * skeleton->translated_count * frame;
		}
		measure(*skeleton, a, b, shell, joints);
		for (size_t l = 0; l < lane_count && t + l * stride < frames; ++l)
			for (size_t j = 0; j < count; ++j)
			{
				float* own = rows + (t / stride + l) * count + j;
				own[0] = float(joints[j].shift.x[l]), own[points] = float(joints[j].shift.y[l]);
				own[2 * points] = float(joints[j].shift.z[l]), own[3 * points] = float(joints[j].all[l]);
			}
	}
}
