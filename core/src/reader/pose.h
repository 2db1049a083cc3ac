// Poses of the joints that a reader keeps: between two frames, in the world, and into the caller's arrays.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mocpack/mocpack.h"

namespace mocpack
{

// Which joints a reader keeps of a file's, in their order, and which of them it writes. A row of numbers is a
// pose: rotations (count, 4), then translations (moving_count, 3) of those that move in their parent's frame.
struct Rig
{
	size_t count, moving_count;
	const int32_t* parents; // (count) among those kept, -1 for a root
	const int32_t* moving;	// (count) which translation of a row, -1 for none
	const double* offsets;	// (count, 3)
	const int32_t* written; // (written_count) among those kept
	size_t written_count;
	bool is_scaled;
	const double* scales;	// (count, 3) constant ones
	const int32_t* scaling; // (count) which of a frame's moving scales, -1 for none

	size_t row_size() const
	{
		return 4 * count + 3 * moving_count;
	}
};

// The scales of a pose that move, (S, 3) each: `part` of the way from those of one frame to another's. Null:
// none.
struct MovingScales
{
	const double *from, *to;
	double part;
};

// A row between two others, t of the way, by slerp: the shorter way round.
void blend_rows(const Rig& rig, const float* a, const float* b, double t, float* out);
void blend_rows(const Rig& rig, const double* a, const double* b, double t, double* out);

// Numbers for each joint kept that write_pose needs as scratch: those of a pose in the world.
const size_t WORLD_NUMBERS = 7, SCALED_WORLD_NUMBERS = 16;

// Writes a row as the caller's frame `frame`. Scratch is of the row's numbers, of doubles where joints have
// scales.
void write_pose(const Rig& rig, mocpack_Space space, const float* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame);
void write_pose(const Rig& rig, mocpack_Space space, const double* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame);

// Turns quaternions of frames `first` to `stop` round where those of the frame before them are of the other
// sign.
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
