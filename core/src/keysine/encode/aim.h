// The closed loop of `keysine`: where a track should go in a frame, given what was decoded above it.
#pragma once
#include "keysine/encode/rig.h"

namespace mocpack
{
namespace keysine
{

// Source and decoded motion of `count` frames, joint by joint: positions and world rotations (J, count).
struct Scene
{
	int32_t count;
	Vec3 *position, *decoded_position;
	Quat *rotation, *decoded_rotation;
	Quat* local; // (J, count) source, continuous in time: decides the sign of quaternions

	size_t at(int32_t joint, int32_t t) const
	{
		return size_t(joint) * size_t(count) + size_t(t);
	}
};

// Target of a track in one frame, and how its points depend on it.
struct Aim
{
	double channels[4]; // what to code
	Quat world;			// of the joint, at the target
	Vec3 turn[4];		// world rotation vector of a unit of each channel
};

// The rotation track's target: with `compensate`, turned so that what it carries lands nearest to its place.
Aim aim_rotation(const Plan& plan, const Rig& rig, const Track& track, const double* inverse_axes,
				 const Scene& scene, int32_t t, bool compensate);

// The position track's target, in channels.
void aim_position(const Plan& plan, const Track& track, const Scene& scene, int32_t t, double* channels);

// Decoded position of a joint from its parent's and a local translation.
Vec3 placed(const Plan& plan, const Scene& scene, int32_t joint, int32_t t, Vec3 local);

// The inverse of a 3x3 matrix whose columns follow one another.
void inverse(const double* m, double* out);

} // namespace keysine
} // namespace mocpack
