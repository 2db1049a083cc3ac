/* Chooses how an encode is repeated to remove artifacts.
 *
 * Each artifact has its own remedy, which costs few bytes. Jitter gets a higher penalty. A planted foot that
 * skates depends on its leg alone, so its joint gets a smaller share of the bound. If that is not enough, all
 * joints aim at a smaller bound too. */
#pragma once
#include "keysine/encode/artifacts.h"

namespace mocpack
{
namespace keysine
{

// How a repeated encode differs from the first one.
struct RetryPolicy
{
	int level = 0;			 // all joints aim at bound_ratio^level of the bound
	double jitter_ratio = 1; // penalty of jitter, relative to the usual one
	int grid_level = 0;		 // a grid's step is grid_step_ratio^grid_level of the first one
	Buffer<double> shares;	 // (J) of the bound, less for feet that skated; empty: JointBounds::shares()
};

// Changes a policy to the one to try after these artifacts. tried: number of encodes so far. Returns false if
// there is no memory.
bool next_policy(EncodeTask* task, int tried, const Artifacts& artifacts, RetryPolicy* policy);

} // namespace keysine
} // namespace mocpack
