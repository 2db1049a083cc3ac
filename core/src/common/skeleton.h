// Types shared by all kernels.
//
// Kernels are plain functions over the caller's arrays, used by the bindings and the file reader. Encoders
// return the bytes written, 0 if `dst` is too small. Decoders return a mocpack_Status and are safe on
// untrusted bytes: they never read past `src` or write past `dst`. Lengths are in meters, angles in radians;
// quaternions are (x, y, z, w); arrays are dense and frame-major.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mocpack/mocpack.h"

/* A value that violates the format, as in "plan of joint 7: rotation key step 80 is outside 0..63". The
 * texts are static. `part` is null if there is only one, `field` if nothing more is known. */
struct mocpack_Fault
{
	const char* part;
	int64_t index; // of the part
	const char* field;
	double value, low, high;
};

// A skeleton. Parents come before their children; parents[0] is -1.
struct mocpack_Skeleton
{
	size_t joint_count;
	const int32_t* parents; // (J)
	const double* offsets;	// (J, 3) rest position in the parent's frame
	size_t end_count;
	const int32_t* end_joints; // (E) joint of each end site
	const double* end_sites;   // (E, 3) in that joint's frame
	size_t translated_count;
	const int32_t* translated_joints; // (M) increasing; their translation replaces the offset
	/* Hinges: a joint turns about at most two fixed axes, or slides along at most three. Its rotation is
	 * rest * rotation(axis 1) * rotation(axis 2), its position offset + rest * sum of axis * distance.
	 * All may be null if hinge_count is 0. */
	const double* rest; // (J, 4)
	size_t hinge_count;
	const int32_t* hinge_joints; // (H) sorted; sliding hinges of a joint come before turning ones
	const uint8_t* hinge_slides; // (H) nonzero if it slides
	const double* hinge_axes;	 // (H, 3) unit vectors in the frame after the rest rotation
	const double* hinge_limits;	 // (H, 2) lower and upper limit, infinite for none
};
