// Settings of the search for each kind of target: effort, and prices of bits and errors.
#pragma once
#include "keysine/encode/task.h"

namespace mocpack
{
namespace keysine
{

// How much stricter than usual a search is, for clips that the usual settings cannot encode.
struct Strictness
{
	double bound_share; // share of the bound on displacements that it aims at
	/* Bound on the error of rotations in the world, as a share of the bound on local rotations; 0: none. If
	 * it is at most one half, joints can always compensate the rotation errors of their ancestors. */
	double world_share;
};
const Strictness USUAL_STRICTNESS = {1.0, 0.0};

// How far the arithmetic of a conforming decoder may move a point, meters: docs/codecs/keysine.md, Tolerance.
const double DECODER_MARGIN = 1e-6;
double decoder_margin(double bound);
// Returns the part of a bound that the search may use. The rest is a margin for rounding.
double allowance_within(const Constants& constants, double bound);

// Returns the settings for a bound on the largest error, in meters.
SearchSettings bounded_settings(const EncodeTask& task, int effort, double bound, double jitter_factor,
								Strictness strictness);

// Returns the settings for grid mode within the target's bound.
SearchSettings grid_settings(const EncodeTask& task);

// Returns the settings for a step in meters: errors have a penalty but no bound.
SearchSettings free_settings(const EncodeTask& task, int effort, double step);

// Returns the index of the key step for a uniform step, in meters.
int32_t free_key_step(const EncodeTask& task, double step);

// Returns the initial block length in seconds: shorter for finer steps.
double usual_block_seconds(const EncodeTask& task, double step);

} // namespace keysine
} // namespace mocpack
