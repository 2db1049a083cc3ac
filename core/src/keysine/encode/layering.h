/* A payload of one layer coded again as several, each with the error it leaves stated.
 *
 * A layer has the coefficients of each track coarser than the next one, by a shift. What hangs on a joint
 * takes back its parents' errors only in the last layer, so a shift costs most in the trunk: shifts are such
 * that every track by itself leaves about the same error. */
#pragma once
#include "keysine/encode/written_payload.h"

namespace mocpack
{
namespace keysine
{

/* Replaces a payload by one of at most target.layers layers, each of at most target.layer_ratio times the
 * error of the next. Every part has its checksum and its end, so that a file of a few hundred bytes has room
 * for fewer. */
bool split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload);

} // namespace keysine
} // namespace mocpack
