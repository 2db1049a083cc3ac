// Normalizes arrays of quaternions.
#pragma once
#include <cstddef>
#include <cstdint>

/* Normalizes quaternions (T, J, 4) in place: unit length, continuous signs (quaternions.cpp).
 *
 * Each quaternion gets the sign closer to the previous frame. Returns -1, or the index of the first
 * quaternion that is not finite or whose length differs from 1 by more than `tolerance`. */
int64_t mocpack_normalize_rotations(double* rotations, size_t frames, size_t joints, double tolerance);

/* The same in single precision; frames are `stride` numbers apart. */
int64_t mocpack_normalize_rotation_rows(float* rows, size_t frames, size_t joints, size_t stride,
										float tolerance);

// Returns whether normalizing would change nothing.
int mocpack_are_rotations_normalized(const double* rotations, size_t frames, size_t joints);
