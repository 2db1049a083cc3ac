// Euler angles to rotations.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	// How the columns of a matrix of degrees of freedom turn the joints of a skeleton.
	typedef struct mocpack_Channels
	{
		size_t joint_count;
		size_t column_count;
		const int8_t* axes;		// (J, 3) axes 0..2 that a joint turns about, all different, outermost first;
								// then -1
		const int32_t* columns; // (J, 3) column of each angle, below column_count
		const double* frames;	// (J, 4) unit quaternion of the frame in which the joint turns
	} mocpack_Channels;

	/* Euler angles to rotations (channels.cpp).
	 *
	 * matrix (T, column_count), radians; rotations (T, J, 4) receives local unit quaternions. */
	void mocpack_channels_to_rotations(const mocpack_Channels* channels, const double* matrix, size_t frames,
									   double* rotations);

#ifdef __cplusplus
}
#endif
