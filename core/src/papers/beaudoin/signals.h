// Signals that describe poses of a skeleton.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_SignalKind
	{
		MOCPACK_SIGNAL_PLACE_X = 0, // position in the parent's frame
		MOCPACK_SIGNAL_PLACE_Y = 1,
		MOCPACK_SIGNAL_PLACE_Z = 2,
		MOCPACK_SIGNAL_ANGLE_X = 3, // Euler angles, outermost first
		MOCPACK_SIGNAL_ANGLE_Y = 4,
		MOCPACK_SIGNAL_ANGLE_Z = 5,
		MOCPACK_SIGNAL_QUATERNION = 6, // four consecutive signals: x, y, z, w, of any length
		MOCPACK_SIGNAL_ROTVEC = 7,	   // three consecutive signals
	} mocpack_SignalKind;

	// The signals (S) of a skeleton, sorted by joint; positions come before rotations.
	typedef struct mocpack_Signals
	{
		const int32_t* first; // (J + 1) first signal of each joint; the last entry is S
		const int32_t* kinds; // (S) mocpack_SignalKind
		const double* axes;	  // (J, 4) frame of each joint's Euler angles; null if all are identity
	} mocpack_Signals;

	/* Computes local rotations (T, J, 4) of signals (T, S) (signals.cpp). Joints without rotation signals
	 * keep their rest rotation. */
	void mocpack_signal_rotations(const mocpack_Signals* signals, size_t joint_count, const double* values,
								  size_t frames, double* rotations);

#ifdef __cplusplus
}
#endif
