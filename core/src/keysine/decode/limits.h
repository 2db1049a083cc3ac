// Limits of hinges for joints that do not move along them: poses are turned or moved back to the limit.
#pragma once
#include "keysine/decode/hinges.h"

namespace mocpack
{
namespace keysine
{

// Turns local rotations back by as much as their angles pass limits of the turns whose bits are set in
// `held`.
void clamp_rotations(const JointHinges& hinges, int32_t held, int32_t count, Quat* rotations);

// Moves places back by as much as they pass limits of the slides whose bits are set in `held`.
void clamp_places(const JointHinges& hinges, int32_t held, int32_t count, Vec3* places);

} // namespace keysine
} // namespace mocpack
