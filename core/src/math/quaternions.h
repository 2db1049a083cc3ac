// Arrays of quaternions made fit to be trusted.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* Make quaternions (T, J, 4) unit and continuous in time, in place (quaternions.cpp).
	 *
	 * Each takes the sign nearest to the frame before. Returns -1, or the index of the first quaternion
	 * that is not finite or whose length is further than `tolerance` from 1. */
	int64_t mocpack_normalize_rotations(double* rotations, size_t frames, size_t joints, double tolerance);

	/* The same in single precision: quaternions (T, J, 4) whose frames are `stride` numbers apart. */
	int64_t mocpack_normalize_rotation_rows(float* rows, size_t frames, size_t joints, size_t stride,
										 float tolerance);

	// Whether settling would change nothing.
	int mocpack_are_rotations_normalized(const double* rotations, size_t frames, size_t joints);

#ifdef __cplusplus
}
#endif
