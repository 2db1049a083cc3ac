// What every kernel shares: how a call ends, what is wrong with bytes, a skeleton as kernels see it.
//
// Kernels: plain functions over the caller's arrays, for our own bindings and for the reader of files.
// Encoders return the bytes written, 0 if `dst` is too small. Decoders return a mocpack_Status and are safe
// on untrusted bytes: they read nothing past `src` and write nothing past `dst`. Lengths are metres, angles
// radians, quaternions (x, y, z, w); arrays are dense, frame-major.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "mocpack/mocpack.h"

// An encoder finds nothing that keeps what was asked.
#define MOCPACK_BOUND_NOT_MET ((mocpack_Status) - 4)

#ifdef __cplusplus
extern "C"
{
#endif

	/* What contradicts its specification, as in "plan of joint 7: rotation key step 80 is outside 0..63". The
	 * texts are static; `part` is null where there is only one, `field` where nothing more is known. */
	typedef struct mocpack_Fault
	{
		const char* part;
		int64_t index; // of the part
		const char* field;
		double value, low, high;
	} mocpack_Fault;

	// A skeleton as the kernels see it. Parents come before their children; parents[0] is -1.
	typedef struct mocpack_Skeleton
	{
		size_t joint_count;
		const int32_t* parents; // (J)
		const double* offsets;	// (J, 3) rest position in the parent's frame
		size_t end_count;
		const int32_t* end_joints; // (E) joint that carries the end site
		const double* end_sites;   // (E, 3) in that joint's frame
		size_t translated_count;
		const int32_t* translated_joints; // (M) increasing; their translation replaces the offset
		/* Joints that turn about fixed axes, at most two, or slide along them, at most three. A joint turns
		 * from its rest rotation: rest * turn(axis 1) * turn(axis 2); it stands at offset + rest * sum of
		 * axis * way. All may be null where hinge_count is 0. */
		const double* rest; // (J, 4)
		size_t hinge_count;
		const int32_t* hinge_joints; // (H) not decreasing; of one joint, what slides before what turns
		const uint8_t* hinge_slides; // (H) nonzero: slides
		const double* hinge_axes;	 // (H, 3) unit vectors in the frame that the rest rotation leads to
		const double* hinge_limits;	 // (H, 2) lowest and highest angle or way, infinite where there is none
	} mocpack_Skeleton;

#ifdef __cplusplus
}
#endif
