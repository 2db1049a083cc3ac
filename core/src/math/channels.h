// Converts Euler angles to rotations.
#pragma once
#include <cstddef>
#include <cstdint>

// Maps the columns of a channel matrix to the rotations of joints.
struct mocpack_Channels
{
	size_t joint_count;
	size_t column_count;
	const int8_t* axes;		// (J, 3) distinct axes 0..2 of each joint, outermost first; then -1
	const int32_t* columns; // (J, 3) column of each angle
	const double* frames;	// (J, 4) unit quaternion of the frame in which the joint rotates
};

/* Converts Euler angles to rotations (channels.cpp).
 *
 * matrix (T, column_count), radians; rotations (T, J, 4) receives local unit quaternions. */
void mocpack_channels_to_rotations(const mocpack_Channels* channels, const double* matrix, size_t frames,
								   double* rotations);
