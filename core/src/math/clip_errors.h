// How far two motions of one skeleton are apart.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	// What mocpack_clip_errors found, in metres. The promised error is the largest displacement of joint
	// centres, end sites and the points `shell` metres along the three axes of each joint's own frame.
	typedef struct mocpack_ClipErrors
	{
		double promised_max;
		double joint_max;
		double joint_mean;
		double joint_rms;
		int64_t worst_frame; // of promised_max
		int64_t worst_joint;
	} mocpack_ClipErrors;

	/* Compare two motions of one skeleton without writing their points out (clip_errors.cpp).
	 *
	 * frame_max (T) and joint_max (J) receive the promised error by frame and by joint; each may be null.
	 * scratch is of mocpack_clip_errors_scratch_size(J) bytes, aligned as malloc aligns. */
	size_t mocpack_clip_errors_scratch_size(size_t joint_count);
	void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
							 const double* translations_a, const double* rotations_b,
							 const double* translations_b, size_t frames, double shell, void* scratch,
							 mocpack_ClipErrors* errors, double* frame_max, double* joint_max);

#ifdef __cplusplus
}
#endif
