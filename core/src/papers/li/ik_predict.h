// Prediction by inverse kinematics.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	// A skeleton as chains of bones, for the prediction by inverse kinematics (ik_predict.cpp). A body is
	// a rotating joint with the joints rigidly attached to it; parents come before children.
	typedef struct mocpack_Limbs
	{
		size_t body_count;
		size_t translated_count;	   // (M) translations of a pose
		const int32_t* joints;		   // (B) joint that turns the body
		const int32_t* parents;		   // (B) body it hangs on, -1 for the first
		const double* frames;		   // (B, 4) from the parent body's frame to that of the joint's rotation
		const double* attachments;	   // (B, 3) where it hangs, or from where its translation is counted
		const int32_t* slides;		   // (B) which translation moves it, -1 for none
		const double* axes;			   // (B, 3) unit direction of its bone, in its own frame
		const double* lengths;		   // (B) of its bone
		const double* direction_steps; // (B) radians
		const double* twist_steps;	   // (B) radians
		const uint8_t* twist_places;   // (B) whether twist moves any point
		size_t segment_count;
		const int32_t* segment_sizes; // (G) 1: a body by itself; more: a chain
		const int32_t* order;		  // (B) the bodies, segment after segment, parents first
		double effector_step;		  // meters
		double slide_step;			  // meters
		double k;					  // how much of the last change of a bone's direction goes on
		double memory;				  // smoothing of predictions
		double damping;				  // of the pseudo-inverse, relative to its trace
		double rounding;			  // of the encoder: from which part of a step on it rounds up
		int compensate;				  // whether the encoder aims bones from their decoded places
		int extrapolate;			  // whether the end of a chain is predicted to keep its velocity
		int spherical;				  // whether directions are the paper's two angles, not arcs
	} mocpack_Limbs;

	/* Prediction by inverse kinematics, frame by frame; encoder and decoder keep the same state.
	 *
	 * state holds mocpack_ik_state_size doubles and begins with the world rotations (B, 4) and
	 * translations (M, 3) of the frame decoded last. reset sets these, as an intra frame does.
	 * encode takes a pose, rotations (J, 4) local and translations (M, 3), and writes a row of integers:
	 * 3 for each translation that slides, 3 for each chain's end, 2 for each bone but a chain's last, 1 for
	 * each twist that places something, in the order of the segments; and a row of the other twists, or none
	 * if `twists` is null. It answers MOCPACK_NO_MEMORY if an integer would exceed 2^30.
	 * decode reads such rows; any integers do. pose writes the pose decoded last. */
	size_t mocpack_ik_state_size(const mocpack_Limbs* limbs);
	void mocpack_ik_reset(const mocpack_Limbs* limbs, double* state, const double* world,
						  const double* translations);
	mocpack_Status mocpack_ik_encode(const mocpack_Limbs* limbs, double* state, const double* rotations,
									 const double* translations, int32_t* places, int32_t* twists);
	void mocpack_ik_decode(const mocpack_Limbs* limbs, double* state, const int32_t* places,
						   const int32_t* twists);
	void mocpack_ik_pose(const mocpack_Limbs* limbs, const double* state, double* rotations,
						 double* translations);

#ifdef __cplusplus
}
#endif
