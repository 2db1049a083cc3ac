// Clamps freely moving joints to the limits of their hinges.
#pragma once
#include "keysine/format/hinges.h"

namespace mocpack
{
namespace keysine
{

// Clamps local rotations to the limits of the turning hinges whose bits are set in `held`.
void clamp_rotations(const JointHinges& hinges, int32_t held, int32_t count, Quat* rotations);

// Clamps translations to the limits of the sliding hinges whose bits are set in `held`.
void clamp_places(const JointHinges& hinges, int32_t held, int32_t count, Vec3* places);

} // namespace keysine
} // namespace mocpack
