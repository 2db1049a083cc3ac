/* Which channels predict which: the list of predictors that a head holds.
 *
 * The coefficients of a channel are often a fixed multiple of those of another, of an earlier track: limbs
 * swing together, and a joint takes back what its parent's rounding moved. */
#pragma once
#include "keysine/encode/draft.h"

namespace mocpack
{
namespace keysine
{

/* Chooses predictors greedily, channel by channel. repeats: how many times as long as what was seen the clip
 * is that shares their cost. False where the task is stopped. */
bool choose_predictors(EncodeTask* task, const Observation& seen, size_t frames, double repeats,
					   Predictors* predictors);

} // namespace keysine
} // namespace mocpack
