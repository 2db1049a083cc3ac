// What else is bounded beside the points that a track carries, as points of their own: what remains of errors
// below it when the joints there have done what they can, and how far a rotation is from the source's.
#pragma once
#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

// Extra bounds that a track has at most.
inline int32_t most_extra_bounds(const mocpack_KeysineEncoder& encoder)
{
	return encoder.most_hinged + 1 + MAX_TURNS;
}

enum Strain
{
	NO_STRAIN = 0,
	EXTRA_BOUND_STRAIN = 1, // of extra_bounds alone
	POINT_STRAIN = 2,
};

// Changes what may remain in frame t, after so many tries of which the last was strained so.
void relieve(const mocpack_KeysineEncoder& encoder, const MotionPair& pair, int32_t t, int strain, int tries);

// A displacement over its allowance, linear in the channels around the target.
struct ExtraBound
{
	Vec3 start;
	Vec3 moves[4];
};

// Whether a track is a hinge or stands above one, so that there may be errors that nothing takes back.
inline bool is_near_hinge(const mocpack_KeysineEncoder& encoder, const Track& track)
{
	return encoder.hinged && (track.hinge >= 0 || encoder.first_hinged[track.joint] >= 0);
}

// Points of the rig that bound a track: none where the extra_bounds tell all, since nothing is bounded
// exactly.
int32_t rig_points(const mocpack_KeysineEncoder& encoder, const Track& track);

int32_t extra_bound_count(const mocpack_KeysineEncoder& encoder, const Track& track);

// Whether a track has three axes, and nothing but points bounds it.
inline bool turns_freely(const mocpack_KeysineEncoder& encoder, const Track& track)
{
	return track.kind == VECTOR_TRACK && !track.clamped_hinges && !extra_bound_count(encoder, track);
}

// The extra_bounds of a rotation or a position track around its target in frame t.
void set_extra_bounds(const mocpack_KeysineEncoder& encoder, const MotionPair& pair, const Track& track,
					  int32_t t, const TrackTarget& aim, ExtraBound* extra_bounds);
void set_extra_bounds(const mocpack_KeysineEncoder& encoder, const MotionPair& pair, const Track& track,
					  int32_t t, const double* channels, ExtraBound* extra_bounds);

// The largest of their squares once a track stands decoded in the pair; values (channels) are its channels.
double extra_bound_excess(const mocpack_KeysineEncoder& encoder, const MotionPair& pair, const Track& track,
						  int32_t t, const double* values);

} // namespace keysine
} // namespace mocpack
