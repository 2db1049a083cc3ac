/* What an encode is repeated with against artifacts.
 *
 * Each artifact has a remedy of its own, which costs few bytes: jitter is penalized higher, and a planted
 * foot that skates is a matter of its leg alone, so that its joint is given a smaller share of the bound.
 * Only if that does not suffice, all joints aim at a smaller bound too. */
#pragma once
#include "keysine/encode/artifacts.h"

namespace mocpack
{
namespace keysine
{

// How an encode differs from the first.
struct RetryPolicy
{
	int level = 0;			 // all joints aim at bound_ratio^level of the bound
	double jitter_ratio = 1; // penalty of jitter, over the usual one
	int grid_level = 0;		 // a grid's step is grid_step_ratio^grid_level of the first one
	Buffer<double>
		shares; // (J) of the bound, less for feet that skated; empty: those of the joints' own bounds
};

// Makes of a policy the one to try after these artifacts. tried: encodes so far.
bool next_policy(EncodeTask* task, int tried, const Artifacts& artifacts, RetryPolicy* policy);

} // namespace keysine
} // namespace mocpack
