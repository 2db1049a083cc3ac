// Encodings by a plain step, and the search for the step whose mean error keeps a bound.
#pragma once
#include "keysine/encode/bounded.h"

namespace mocpack
{
namespace keysine
{

// The payload of a step in meters, whatever its error; not found where the step is too fine for the clip.
bool encode_step(EncodeTask* task, ClipStatistics* statistics, double step, Encoding* encoding);

// The payload of about the coarsest step whose mean error keeps target.mean_error.
bool encode_within_mean(EncodeTask* task, ClipStatistics* statistics, Encoding* best);

} // namespace keysine
} // namespace mocpack
