// Encodes with a uniform step, and searches for the step whose mean error is within a bound.
#pragma once
#include "keysine/encode/bounded.h"

namespace mocpack
{
namespace keysine
{

// Encodes with a step in meters, with no bound on the error. Returns false if the step is too fine for the
// clip.
bool encode_step(EncodeTask* task, ClipStatistics* statistics, double step, Encoding* encoding);

// Encodes with about the coarsest step whose mean error is at most target.mean_error. Returns false if none
// is found.
bool encode_within_mean(EncodeTask* task, ClipStatistics* statistics, Encoding* best);

} // namespace keysine
} // namespace mocpack
