// Inverse kinematics of limbs.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_IkKind
	{
		MOCPACK_IK_BALL = 0,   // rotates freely
		MOCPACK_IK_BEFORE = 1, // about an axis fixed in the parent's frame
		MOCPACK_IK_AFTER = 2,  // about an axis fixed in the joint's own frame
	} mocpack_IkKind;

	// One rotation of a joint; a joint with two axes has two of them.
	typedef struct mocpack_IkTurn
	{
		int32_t joint;
		int32_t kind; // mocpack_IkKind
		double axis[3];
	} mocpack_IkTurn;

	// A limb of two bones. `axis` is the middle joint's hinge axis in its parent's frame, or zero if it bends
	// freely.
	typedef struct mocpack_IkLimb
	{
		int32_t start, middle, end;
		double axis[3];
	} mocpack_IkLimb;

	/* Move limbs' ends (E) by shifts (T, E, 3) in the world, changing rotations (T, J, 4) in place
	 * (limb_ik.cpp).
	 *
	 * ccd: multiple-constraint cyclic coordinate descent, at most 30 sweeps over `turns`, until every end is
	 * within 0.1 mm; joints lists all joints from each end up to its highest rotating ancestor. two_bone:
	 * closed form. Unreachable targets are approached. scratch has mocpack_ik_scratch_size(J, E) doubles. */
	size_t mocpack_ik_scratch_size(size_t joint_count, size_t end_count);
	void mocpack_ik_ccd(const mocpack_Skeleton* skeleton, const mocpack_IkTurn* turns, size_t turn_count,
						const int32_t* joints, size_t joint_count, const int32_t* ends, size_t end_count,
						const double* shifts, const double* translations, size_t frames, double* scratch,
						double* rotations);
	void mocpack_ik_two_bone(const mocpack_Skeleton* skeleton, const mocpack_IkLimb* limbs, size_t limb_count,
							 const double* shifts, const double* translations, size_t frames, double* scratch,
							 double* rotations);

#ifdef __cplusplus
}
#endif
