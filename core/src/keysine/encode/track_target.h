// The closed loop of `keysine`: where a track should go in a frame, given what was decoded above it.
#pragma once
#include <type_traits>

#include "keysine/encode/cost_to_go.h"
#include "math/lanes.h"

namespace mocpack
{
namespace keysine
{

// Source and decoded motion of `count` frames, joint by joint: positions and world rotations (J, count).
struct MotionPair
{
	int32_t count;
	Vec3 *position, *decoded_position;
	Quat *rotation, *decoded_rotation;
	Quat* local;  // (J, count) source, continuous in time: decides the sign of quaternions
	Vec3* places; // (points of the rig, count) where the source has them
	// where there are hinges, else null:
	double* angles;			 // (H, count) source, radians or meters
	Remainder* after_turn;	 // (J, count) of an error, once a joint's rotation is decided
	Remainder* after_place;	 // and once its translation is
	Remainder* below_parent; // of an error of the parent's rotation, in this joint and what hangs on it
	double* work;			 // of fill_costs
	double* slack;			 // (count) share of what may remain
	double* turn_price;		 // (count) squared allowances that a squared radian away from the source costs
	double strained_price; // a turn_price above this says that what was left to hinges was too much for them
	const int32_t* first_hinged; // (J) of the encoder: -1 where no hinge hangs on a joint

	size_t at(int32_t joint, int32_t t) const
	{
		return size_t(joint) * size_t(count) + size_t(t);
	}

	Vec3 place(int32_t point, int32_t t) const
	{
		return places[size_t(point) * size_t(count) + size_t(t)];
	}

	// Of rows such as `position`: what a joint, or a point of `places`, has in frame t; or by lanes in frame
	// t and those that follow.
	template <typename N, typename Row> auto load(const Row* rows, int32_t row, int32_t t) const
	{
		const Row* own = rows + size_t(row) * size_t(count);
		if constexpr (std::is_same<N, Lanes>::value)
			return load_lanes(own, size_t(t), size_t(count));
		else
			return own[t];
	}
};

// Target of a rotation track in one frame, or in several by lanes, and how its points depend on it.
template <typename N> struct TrackTargetOf
{
	N channels[4];	   // what to code
	QuatOf<N> world;   // of the joint, at the target
	Vec3Of<N> turn[4]; // world rotation vector of a unit of each channel
};
using TrackTarget = TrackTargetOf<double>;

// How far rotations may be turned to take back errors above, and at what price.
struct Leeway
{
	double max_angle;	// radians; 0: any
	double inertia;		// square meters that a squared radian stands for, away from the source's own rotation
	double price;		// the same in squared allowances, where hinges are in play, at first
	double world_angle; // radians between a joint's rotation in the world and the source's; 0: any
	double share;		// of max_angle and world_angle, that a target may be turned
	double max_turn;	// radians that a hinge is turned, where max_angle is 0
	const double* max_angles; // (J) in place of max_angle; null: the same for all joints

	double angle(int32_t joint) const
	{
		return max_angles ? max_angles[joint] : max_angle;
	}
};

// The rotation track's target: with `compensate`, turned so that what it carries lands nearest to its place.
TrackTarget target_rotation(const Plan& plan, const Rig& rig, const Track& track, const double* inverse_axes,
							const MotionPair& pair, int32_t t, bool compensate, const Leeway& leeway);

// What target_rotation finds for a track with three axes that nothing but points bounds, in frame t and those
// that follow.
TrackTargetOf<Lanes> target_free_rotations(const Plan& plan, const Rig& rig, const Track& track,
										   const double* inverse_axes, const MotionPair& pair, int32_t t,
										   bool compensate, double inertia);

// A rotation track's joint in the world if its own rotation is the source's, given what was decoded above.
Quat faithful_world(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t);

// The turn (world rotation vector) by which one rotation differs from another.
Vec3 turn_between(Quat from, Quat to);

// The position track's target, in channels.
void target_position(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t,
					 double* channels);

// World translation of a unit of a position track's channel.
Vec3 shift_of(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t, int32_t channel);

// The turn by which what was decoded above a joint is off.
Vec3 turn_above(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);

// Decoded position of a joint from its parent's and a local translation.
Vec3 placed(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t, Vec3 local);

// The inverse of a 3x3 matrix whose columns follow one another.
void inverse(const double* m, double* out);

} // namespace keysine
} // namespace mocpack
