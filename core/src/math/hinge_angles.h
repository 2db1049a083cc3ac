// Angles of a motion about its skeleton's hinges.
#pragma once
#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Angles and ways (T, H) of a motion, in the order of the skeleton's hinges: where a joint leaves them,
	 * of the nearest turn. An angle between limits less than a turn apart is the one nearest to their middle,
	 * any other begins in [-pi, pi] and goes on without jumps. rotations: (T, J, 4) local; translations: (T,
	 * M, 3) of the skeleton's translated joints. */
	void mocpack_compute_hinge_angles(const mocpack_Skeleton* skeleton, const double* rotations,
							  const double* translations, size_t frames, double* angles);

#ifdef __cplusplus
}
#endif
