/* Chooses which channels predict which: the predictors in a head.
 *
 * The coefficients of a channel are often a fixed multiple of those of a channel of an earlier track. Limbs
 * swing together, and a joint compensates the rounding error of its parent. */
#pragma once
#include "keysine/encode/draft.h"

namespace mocpack
{
namespace keysine
{

/* Chooses predictors greedily, channel by channel. repeats: length of the clip over that of the observed
 * sample; the clip shares the cost of the predictors. Returns false if the task is stopped. */
bool choose_predictors(EncodeTask* task, const Observation& seen, size_t frames, double repeats,
					   Predictors* predictors);

} // namespace keysine
} // namespace mocpack
