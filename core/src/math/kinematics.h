// Forward kinematics.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

/* Forward kinematics of `frames` poses (kinematics.cpp).
 *
 * rotations (T, J, 4) local unit quaternions; translations (T, M, 3).
 * positions (T, J, 3) receives world positions, world_rotations (T, J, 4) world rotations. */
void mocpack_forward_kinematics(const mocpack_Skeleton* skeleton, const double* rotations,
								const double* translations, size_t frames, double* positions,
								double* world_rotations);
