// One track in one frame, as the encoder of `keysine` sees it: where it should go, and what its points feel.
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
	double* start;			  // (I, 3) at the target, over the allowance
	double* moves;			  // (C, I, 3)
	ExtraBound* extra_bounds; // room for those of a track
};

void lay_out_problem(PoseProblem* problem, const mocpack_KeysineEncoder& encoder, Arena* arena);

// Target and derivatives in frame t of the pair, given what was decoded above.
void set_problem(PoseProblem* problem, const mocpack_KeysineEncoder& encoder, const MotionPair& pair,
				 const Track& track, int32_t t, bool compensate);

// Sets the decoded pose that the channels give, and returns the largest excess: squared, over the allowance.
double settle_pose(const mocpack_KeysineEncoder& encoder, const MotionPair& pair, const Track& track,
				   int32_t t, const double* values);

} // namespace keysine
} // namespace mocpack
