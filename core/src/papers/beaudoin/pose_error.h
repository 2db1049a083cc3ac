// What changing a signal does to a pose.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "papers/beaudoin/signals.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* What changing one signal of a motion does to its squared positional error (pose_error.cpp).
	 *
	 * values (T, S) pose the skeleton; phases (T, S, 2) holds cosine and sine of those that are angles;
	 * steps (T, S) are the changes to judge, each by itself. targets (T, J + E, 3) are world positions of the
	 * joints, then of the end sites, as they should be; weights (J + E) says how much each counts.
	 * changes (S) receives, exactly, how much the sum over frames of the weighted squared distances grows
	 * when that signal alone takes its steps. Returns the sum without any. scratch holds
	 * mocpack_pose_error_scratch_size(J, S) doubles. */
	size_t mocpack_pose_error_scratch_size(size_t joint_count, size_t signal_count);
	double mocpack_pose_error_changes(const mocpack_Skeleton* skeleton, const mocpack_Signals* signals,
									  const double* values, const double* phases, const double* steps,
									  const double* targets, const double* weights, size_t frames,
									  double* scratch, double* changes);

#ifdef __cplusplus
}
#endif
