// Computes the error between two motions of one skeleton.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

// Errors in meters. promised_max is the largest displacement of joint centers, end sites and the points
// at distance `shell` along the three axes of each joint.
struct mocpack_ClipErrors
{
	double promised_max;
	double joint_max;
	double joint_mean;
	double joint_rms;
	int64_t worst_frame; // of promised_max
	int64_t worst_joint;
};

/* Compares two motions of one skeleton (clip_errors.cpp).
 *
 * frame_max (T) and joint_max (J) receive the maximum error per frame and per joint, frame_mean (T) the
 * mean error of joint centers per frame, distances (T, J) that of each joint center; each may be null.
 * scratch has mocpack_clip_errors_scratch_size(J) bytes, aligned as by malloc. */
size_t mocpack_clip_errors_scratch_size(size_t joint_count);
void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
						 const double* translations_a, const double* rotations_b,
						 const double* translations_b, size_t frames, double shell, void* scratch,
						 mocpack_ClipErrors* errors, double* frame_max, double* frame_mean, double* joint_max,
						 double* distances);

/* Displacements of all joints in every stride-th frame: rows (4, ⌈T / stride⌉, J) with x, y and z of the
 * center in the frame of the original joint, and the largest squared displacement of all points of the
 * joint. */
void mocpack_displacements(const mocpack_Skeleton* skeleton, const double* rotations_a,
						   const double* translations_a, const double* rotations_b,
						   const double* translations_b, size_t frames, size_t stride, double shell,
						   void* scratch, float* rows);
