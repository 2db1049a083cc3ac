/* Codes a payload of one layer again as several layers that refine one another.
 *
 * In a layer, the keys and coefficients of each track are coarser than in the next layer, by shifts.
 * Descendants compensate their ancestors' errors only with all layers, so a shift costs most in the trunk.
 * Shifts are chosen by rate and distortion: for each layer, those with the least error at its size. */
#pragma once
#include "keysine/encode/written_payload.h"

namespace mocpack
{
namespace keysine
{

// Replaces a payload by one with at most target.layers layers, without layers that would change nothing.
bool split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload);

} // namespace keysine
} // namespace mocpack
