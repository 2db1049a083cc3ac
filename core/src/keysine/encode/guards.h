// What else is bounded beside the points that a track carries, as points of their own: what remains of errors
// below it when the joints there have done what they can, and how far a rotation is from the source's.
#pragma once
#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

const int32_t MOST_GUARDS = 1 + MOST_TURNS;

// Shares of what may remain below a track that are tried until every hinge keeps its bounds.
const double SLACKS[] = {1.0, 0.5, 0.2, 0.05, 0.01, 0.001, 1e-5};

// A displacement over its allowance, linear in the channels around the target.
struct Guard
{
	Vec3 start;
	Vec3 moves[4];
};

// Points of the rig that bound a track: none where the guards tell all, since nothing is bounded exactly.
int32_t rig_points(const mocpack_KeysineEncoder& encoder, const Track& track);

int32_t guard_count(const mocpack_KeysineEncoder& encoder, const Track& track);

// The guards of a rotation or a position track around its target in frame t.
void set_guards(const mocpack_KeysineEncoder& encoder, const Scene& scene, const Track& track, int32_t t,
				const Aim& aim, Guard* guards);
void set_guards(const mocpack_KeysineEncoder& encoder, const Scene& scene, const Track& track, int32_t t,
				const double* channels, Guard* guards);

// The largest of their squares once a track stands decoded in the scene; values (channels) are its channels.
double guard_excess(const mocpack_KeysineEncoder& encoder, const Scene& scene, const Track& track, int32_t t,
					const double* values);

} // namespace keysine
} // namespace mocpack
