// Bounds of a track besides the points that it carries, expressed as further points. They bound the error
// that remains after the descendants compensate, and the angle between a rotation and the source's.
#pragma once
#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

// Returns the maximum number of extra bounds of a track.
inline int32_t most_extra_bounds(const Encoder& encoder)
{
	return encoder.most_hinged + 1 + MAX_TURNS;
}

enum Strain
{
	NO_STRAIN = 0,
	EXTRA_BOUND_STRAIN = 1, // a track cannot keep an extra bound
	POINT_STRAIN = 2,
};

// Changes how much error may remain in frame t, and the price of compensating it, after an attempt that
// failed with this strain. tries: number of earlier attempts.
void relieve(const Encoder& encoder, const MotionPair& pair, int32_t t, int strain, int tries);

// A displacement divided by its allowance, linear in the channels around the target.
struct ExtraBound
{
	Vec3 start;
	Vec3 moves[4];
};

// Returns whether a track moves along hinges or has hinges among its descendants, so that some errors cannot
// be compensated.
inline bool is_near_hinge(const Encoder& encoder, const Track& track)
{
	return encoder.hinged && (track.hinge >= 0 || encoder.first_hinged[track.joint] >= 0);
}

// Returns the number of rig points that bound a track. It is 0 if there are hinges but no bound, since extra
// bounds then represent all errors.
int32_t rig_points(const Encoder& encoder, const Track& track);

int32_t extra_bound_count(const Encoder& encoder, const Track& track);

// Returns whether a track has three axes, is not clamped, and is bounded only by points.
inline bool turns_freely(const Encoder& encoder, const Track& track)
{
	return track.kind == VECTOR_TRACK && !track.clamped_hinges && !extra_bound_count(encoder, track);
}

// Set the extra bounds of a rotation or position track around its target in frame t.
void set_extra_bounds(const Encoder& encoder, const MotionPair& pair, const Track& track, int32_t t,
					  const TrackTarget& aim, ExtraBound* extra_bounds);
void set_extra_bounds(const Encoder& encoder, const MotionPair& pair, const Track& track, int32_t t,
					  const double* channels, ExtraBound* extra_bounds);

// Returns the largest square of the extra bounds after a track is decoded in the pair. values (channels): its
// channels.
double extra_bound_excess(const Encoder& encoder, const MotionPair& pair, const Track& track, int32_t t,
						  const double* values);

} // namespace keysine
} // namespace mocpack
