// Rows of numbers to rotations.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	// How a row of numbers describes a joint: not at all, by a vector about its mean, by a quaternion.
	typedef enum mocpack_RowKind
	{
		MOCPACK_ROW_CONSTANT = 0,
		MOCPACK_ROW_TANGENT = 1,
		MOCPACK_ROW_QUATERNION = 2,
	} mocpack_RowKind;

	/* Rotations (N, J, 4) of rows (N, width) (pose_rows.cpp).
	 *
	 * Joint by joint a row holds 0, 3 or 4 numbers by its kind; width is at least their sum. A tangent
	 * vector is divided by its joint's scale; a quaternion is made unit. */
	void mocpack_row_rotations(const double* rows, size_t count, size_t width, const int32_t* kinds,
							   const double* means, const double* scales, size_t joints, double* rotations);

#ifdef __cplusplus
}
#endif
