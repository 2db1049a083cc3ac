/* Layers: a payload of one layer coded again as several that refine one another.
 *
 * A layer has keys and coefficients of each track coarser than the next layer, by shifts. Descendants
 * compensate their ancestors' errors only with all layers, so a shift costs most in the trunk. Shifts are
 * chosen by rate and distortion: for each layer, those that leave the least squared error at its size. */
#pragma once
#include "keysine/encode/written_payload.h"

namespace mocpack
{
namespace keysine
{

// Replaces a payload by one of at most target.layers layers; fewer if one of them would change nothing.
bool split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload);

} // namespace keysine
} // namespace mocpack
