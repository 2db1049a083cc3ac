// The target of one track in one frame, and how the points of the track depend on its channels.
#pragma once
#include "keysine/encode/extra_bounds.h"

namespace mocpack
{
namespace keysine
{

// Displacements of the points that a track carries, linear in its channels around the target.
struct PoseProblem
{
	int32_t channels, points;
	double target[4];
	double* start;			  // (I, 3) at the target, divided by the allowance
	double* moves;			  // (C, I, 3)
	ExtraBound* extra_bounds; // scratch for the extra bounds of a track
};

void lay_out_problem(PoseProblem* problem, const Encoder& encoder, Arena* arena);

// Computes target and derivatives in frame t of the pair, given the decoded ancestors.
void set_problem(PoseProblem* problem, const Encoder& encoder, const MotionPair& pair, const Track& track,
				 int32_t t, bool compensate);

// Sets the decoded pose from the channels. Returns the largest squared displacement over squared allowance.
double settle_pose(const Encoder& encoder, const MotionPair& pair, const Track& track, int32_t t,
				   const double* values);

} // namespace keysine
} // namespace mocpack
