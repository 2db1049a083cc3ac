// Interpolates poses, transforms them to world space, and writes them to the caller's arrays.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mocpack/mocpack.h"

namespace mocpack
{

// The joints that a reader keeps, in file order, and those it writes. A pose is a row of numbers: rotations
// (count, 4), then translations (moving_count, 3) of the joints that have one.
struct Rig
{
	size_t count, moving_count;
	const int32_t* parents; // (count) indices of kept joints, -1 for a root
	const int32_t* moving;	// (count) index of the translation in a row, -1 for none
	const double* offsets;	// (count, 3)
	const int32_t* written; // (written_count) indices of kept joints
	size_t written_count;
	bool is_scaled;
	const double* scales;	// (count, 3) constant scales
	const int32_t* scaling; // (count) index of the moving scale in a frame, -1 for none

	size_t row_size() const
	{
		return 4 * count + 3 * moving_count;
	}
};

// Moving scales of a pose, (S, 3) each, interpolated by `part` from one frame to the next. Null: none.
struct MovingScales
{
	const double *from, *to;
	double part;
};

// Interpolates between two rows with slerp, along the shorter arc.
void blend_rows(const Rig& rig, const float* a, const float* b, double t, float* out);
void blend_rows(const Rig& rig, const double* a, const double* b, double t, double* out);

// Scratch numbers per kept joint for write_pose: the world pose.
const size_t WORLD_NUMBERS = 7, SCALED_WORLD_NUMBERS = 16;

// Writes a row to frame `frame` of the caller's arrays. Scratch has the row's number type, or doubles if
// joints are scaled.
void write_pose(const Rig& rig, mocpack_Space space, const float* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame);
void write_pose(const Rig& rig, mocpack_Space space, const double* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame);

// Negates the quaternions of frames `first` to `stop` if the previous frame has the opposite sign.
template <typename Number>
void align_quaternion_signs(const mocpack_Poses& poses, size_t joints, uint64_t first, uint64_t stop)
{
	Number* all = static_cast<Number*>(poses.rotations);
	const mocpack_Strides& s = poses.rotation_strides;
	for (size_t j = 0; all && first && j < joints; ++j)
	{
		Number* at = all + size_t(first) * s.frame + j * s.joint;
		Number dot = 0;
		for (size_t c = 0; c < 4; ++c)
			dot += at[c * s.component] * (at - s.frame)[c * s.component];
		for (uint64_t t = first; dot < 0 && t < stop; ++t, at += s.frame)
			for (size_t c = 0; c < 4; ++c)
				at[c * s.component] = -at[c * s.component];
	}
}

} // namespace mocpack
