// Windows of a motion as those who learn from it want them: resampled, mirrored, as features.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	// What a row of a window holds, in the order of mocpack_WindowPlan's fields.
	enum
	{
		MOCPACK_WINDOW_QUATERNION,	// 4 a joint: local rotation
		MOCPACK_WINDOW_ROTATION6D,	// 6 a joint: the first two columns of its matrix, the first column first
		MOCPACK_WINDOW_TRANSLATION, // 3 a translated joint
		MOCPACK_WINDOW_POSITION,	// 3 a joint: in the world, metres
		MOCPACK_WINDOW_VELOCITY,	// 3 a joint: in the world, metres a second; central differences
		MOCPACK_WINDOW_CONTACT,		// 1 a foot: 1 while it stands on the ground
		MOCPACK_WINDOW_FIELDS
	};

	// A skeleton of any number of roots, and what is made of its motion.
	typedef struct mocpack_WindowPlan
	{
		size_t joint_count;
		const int32_t* parents; // (J) before their children, -1 for roots
		const double* offsets;	// (J, 3)
		size_t translated_count;
		const int32_t* translated_joints; // (M) increasing
		size_t field_count;
		const int32_t* fields; // MOCPACK_WINDOW_…
		size_t foot_count;
		const int32_t* feet; // (F) joints
		/* Mirroring; partner is null for none. Joint j is before * reflected(rotation of partner) * after; a
		 * translated joint stands at own + before * reflected(place of partner - its offset), roots at
		 * the reflected place. Partners of translated joints are translated. */
		const int32_t* partners; // (J)
		const double* before;	 // (J, 4)
		const double* after;	 // (J, 4)
		int axis;				 // 0 x, 1 y, 2 z: turned round by the mirror
		int relative; // nonzero: the first pose stands over the origin, unturned about the vertical axis y
	} mocpack_WindowPlan;

	// Floats of a row.
	size_t mocpack_window_width(const mocpack_WindowPlan* plan);

	// Whether rows are what the motion's frames are, number for number: 4 a joint, then 3 a translated joint
	// or none, at steps of a frame.
	int mocpack_window_is_copy(const mocpack_WindowPlan* plan, double step);

	// Bytes of scratch for windows of so many rows.
	size_t mocpack_window_scratch_size(const mocpack_WindowPlan* plan, size_t count);

	/* Write a window (windows.cpp): row i is the pose at frame first + i * step of the motion, slerped
	 * between frames; frames past the last are the last.
	 *
	 * turns (frames, J, 4) and places (frames, M, 3), frames being turn_stride and place_stride numbers
	 * apart; rate is rows a second; out (count, width), rows of `out_stride` floats. */
	void mocpack_window_from_double(const mocpack_WindowPlan* plan, const double* turns, size_t turn_stride,
									const double* places, size_t place_stride, size_t frames, double first,
									double step, size_t count, double rate, float* out, size_t out_stride,
									void* scratch);
	void mocpack_window_from_float(const mocpack_WindowPlan* plan, const float* turns, size_t turn_stride,
								   const float* places, size_t place_stride, size_t frames, double first,
								   double step, size_t count, double rate, float* out, size_t out_stride,
								   void* scratch);

#ifdef __cplusplus
}
#endif
