// Computes the hinge angles of a motion.
#pragma once
#include "common/skeleton.h"

/* Writes angles and slider positions (H) of a pose in the order of the skeleton's hinges. If a rotation
 * is not possible with the hinges, the closest angles are used. If the limits of a hinge are less than a
 * full turn apart, its angle is closest to their middle. Other angles are closest to those of the pose
 * before, or in [-pi, pi] if `before` is null. rotations: (J, 4) local; translations: (M, 3). */
void mocpack_compute_pose_angles(const mocpack_Skeleton* skeleton, const double* rotations,
								 const double* translations, const double* before, double* angles);

// Writes the angles (T, H) of a motion. rotations: (T, J, 4) local; translations: (T, M, 3).
void mocpack_compute_hinge_angles(const mocpack_Skeleton* skeleton, const double* rotations,
								  const double* translations, size_t frames, double* angles);
