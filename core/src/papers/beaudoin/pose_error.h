// The effect of a signal on the position error.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "papers/beaudoin/signals.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Computes how changing one signal of a motion affects its squared position error (pose_error.cpp).
	 *
	 * values (T, S) are the signals; phases (T, S, 2) holds cosine and sine of angle signals; steps (T, S)
	 * are the changes. targets (T, J + E, 3) are the desired world positions of joints, then of end sites,
	 * with weights (J + E). changes (S) receives the exact increase of the sum of weighted squared distances
	 * over all frames if only that signal changes by its steps. Returns the sum without changes. scratch has
	 * mocpack_pose_error_scratch_size(J, S) doubles. */
	size_t mocpack_pose_error_scratch_size(size_t joint_count, size_t signal_count);
	double mocpack_pose_error_changes(const mocpack_Skeleton* skeleton, const mocpack_Signals* signals,
									  const double* values, const double* phases, const double* steps,
									  const double* targets, const double* weights, size_t frames,
									  double* scratch, double* changes);

#ifdef __cplusplus
}
#endif
