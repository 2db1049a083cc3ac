/* What is tried against artifacts.
 *
 * Each artifact has a remedy of its own, which costs few bytes: jitter is penalized higher, and a planted
 * foot that skates is a matter of its leg alone, so that its joint is given a smaller share of the bound.
 * Only where these do not help, all joints aim at a smaller bound. */
#pragma once
#include "keysine/encode/artifacts.h"

namespace mocpack
{
namespace keysine
{

// How a try differs from a plain one.
struct RetryPolicy
{
	int level = 0;		   // all joints aim at bound_ratio^level of the bound
	int jitter_level = 0;  // the penalty of jitter is jitter_ratio^jitter_level times the usual one
	Buffer<double> shares; // (J) of the bound, for feet that skated; empty: all have all
};

// Makes of a policy the one to try after these artifacts, by their cause or against any of them. False after
// the last.
bool next_policy(EncodeTask* task, bool by_cause, const Artifacts& artifacts, RetryPolicy* policy);

} // namespace keysine
} // namespace mocpack
