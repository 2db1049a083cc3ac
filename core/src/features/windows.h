// Windows of a motion for training: resampled, mirrored, converted to features.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

// Fields of a row, in the order of mocpack_WindowPlan's fields.
enum
{
	MOCPACK_WINDOW_QUATERNION,	   // 4 per joint: local rotation
	MOCPACK_WINDOW_ROTATION6D,	   // 6 per joint: first two columns of the rotation matrix
	MOCPACK_WINDOW_TRANSLATION,	   // 3 per translated joint
	MOCPACK_WINDOW_POSITION,	   // 3 per joint: world position, meters
	MOCPACK_WINDOW_VELOCITY,	   // 3 per joint: world velocity, meters per second; central differences
	MOCPACK_WINDOW_CONTACT,		   // 1 per foot: 1 while it is on the ground
	MOCPACK_WINDOW_ANGLE,		   // 1 per hinge: radians, or meters along a slider
	MOCPACK_WINDOW_ANGLE_VELOCITY, // 1 per hinge: change per second; central differences
	MOCPACK_WINDOW_ROOT,		   // 7: position and rotation of joint 0 in the source's world
	MOCPACK_WINDOW_FIELDS
};

// A skeleton with any number of roots, and the features to compute.
struct mocpack_WindowPlan
{
	size_t joint_count;
	const int32_t* parents; // (J) parents come first; -1 for roots
	const double* offsets;	// (J, 3)
	size_t translated_count;
	const int32_t* translated_joints; // (M) increasing
	size_t field_count;
	const int32_t* fields; // MOCPACK_WINDOW_…
	size_t foot_count;
	const int32_t* feet; // (F) joints
	/* Mirroring; partners is null for none. The rotation of joint j is before * reflect(rotation of
	 * partner) * after. A translated joint is at offset + before * reflect(translation of partner - its
	 * offset), a root at its reflected position. Partners of translated joints must be translated. */
	const int32_t* partners; // (J)
	const double* before;	 // (J, 4)
	const double* after;	 // (J, 4)
	int axis;				 // 0 x, 1 y, 2 z: the axis that mirroring negates
	int relative;			 // nonzero: move the first pose to the origin and remove its heading about y
	double root_rest[4];	 // rest rotation of joint 0, which has heading zero
	double to_source[4];	 // rotation from this world, y up, to the source's
	const mocpack_Skeleton* hinged; // the skeleton with its hinges; null if there are none
	const int32_t* hinge_columns;	// (H) place of each hinge in a row of angles
};

// Returns the floats per row.
size_t mocpack_window_width(const mocpack_WindowPlan* plan);

// Returns whether rows are plain copies of frames: quaternions, then optional translations, at a step of
// one frame.
int mocpack_window_is_copy(const mocpack_WindowPlan* plan, double step);

// Returns the scratch bytes for a window of `count` rows.
size_t mocpack_window_scratch_size(const mocpack_WindowPlan* plan, size_t count);

/* Writes a window (windows.cpp): row i is the pose at frame first + i * step, interpolated with slerp and
 * clamped to the last frame.
 *
 * turns (frames, J, 4) are rotations, places (frames, M, 3) translations, with frames turn_stride and
 * place_stride numbers apart. rate is rows per second. out (count, width) has rows of `out_stride`
 * floats. */
void mocpack_window_from_double(const mocpack_WindowPlan* plan, const double* turns, size_t turn_stride,
								const double* places, size_t place_stride, size_t frames, double first,
								double step, size_t count, double rate, float* out, size_t out_stride,
								void* scratch);
void mocpack_window_from_float(const mocpack_WindowPlan* plan, const float* turns, size_t turn_stride,
							   const float* places, size_t place_stride, size_t frames, double first,
							   double step, size_t count, double rate, float* out, size_t out_stride,
							   void* scratch);
