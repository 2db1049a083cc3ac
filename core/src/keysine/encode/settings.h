// How hard the encoder searches, and what bits and errors cost it, for each kind of target.
#pragma once
#include "keysine/encode/task.h"

namespace mocpack
{
namespace keysine
{

// How much stricter than usual a search is, for clips that the usual settings cannot encode.
struct Strictness
{
	double bound_share; // of the bound on displacements, that it aims at
	/* Share of the bound on local rotations that rotations in the world may be off; 0: no limit. At one half
	 * or less, joints can always turn back what is off above them. */
	double world_share;
};
const Strictness USUAL_STRICTNESS = {1.0, 0.0};

// Meters that the arithmetic of a conforming decoder may move a point: docs/codecs/keysine.md, Tolerance.
const double DECODER_MARGIN = 1e-6;
double decoder_margin(double bound);
// What the search may use of a bound, so that rounding stays inside.
double allowance_within(const Constants& constants, double bound);

// Aims at a bound on the largest error, in meters.
mocpack_KeysineSettings bounded_settings(const EncodeTask& task, int effort, double bound,
										 double jitter_factor, Strictness strictness);

// A grid in time within the target's bound.
mocpack_KeysineSettings grid_settings(const EncodeTask& task);

// A step, in meters: errors have a penalty and no bound.
mocpack_KeysineSettings free_settings(const EncodeTask& task, int effort, double step);

// Index of the keys' step that goes with a plain step, in meters.
int32_t free_key_step(const EncodeTask& task, double step);

// Length of blocks to begin with, in seconds: the finer, the shorter.
double usual_block_seconds(const EncodeTask& task, double step);

} // namespace keysine
} // namespace mocpack
