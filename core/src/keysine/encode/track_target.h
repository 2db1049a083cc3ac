// The closed loop of `keysine`: the target of a track in a frame, given its decoded ancestors.
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
	// (J, count) source, relative to the reference of the joint's rotation, continuous in time: determines
	// the sign of quaternions
	Quat* source;
	Vec3* places; // (points of the rig, count) positions in the source
	// only with hinges, else null:
	double* angles;				 // (H, count) source, radians or meters
	Remainder* after_turn;		 // (J, count) remaining cost, as seen by a joint's rotation track
	Remainder* after_place;		 // the same, as seen by its translation track
	Remainder* below_parent;	 // the same in this joint's subtree, as seen by the parent's rotation track
	double* work;				 // work memory of fill_costs
	double* slack;				 // (count) factor of the error that may remain
	double* turn_price;			 // (count) squared allowances per squared radian away from the source
	double strained_price;		 // turn_price above which a frame has failed several times
	const int32_t* first_hinged; // (J) of the encoder: -1 if a joint has no hinges among its descendants

	size_t at(int32_t joint, int32_t t) const
	{
		return size_t(joint) * size_t(count) + size_t(t);
	}

	Vec3 place(int32_t point, int32_t t) const
	{
		return places[size_t(point) * size_t(count) + size_t(t)];
	}

	// Returns the value of a joint, or of a point of `places`, in frame t from rows such as `position`. With
	// lanes, returns those of frame t and the next ones.
	template <typename N, typename Row> auto load(const Row* rows, int32_t row, int32_t t) const
	{
		const Row* own = rows + size_t(row) * size_t(count);
		if constexpr (std::is_same<N, Lanes>::value)
			return load_lanes(own, size_t(t), size_t(count));
		else
			return own[t];
	}
};

// The target of a rotation track in one frame, or in several by lanes, and how its points depend on it.
template <typename N> struct TrackTargetOf
{
	N channels[4];	   // values to code
	QuatOf<N> world;   // world rotation of the joint at the target
	Vec3Of<N> turn[4]; // world rotation vector per unit of each channel
};
using TrackTarget = TrackTargetOf<double>;

// Limits and prices of rotations that compensate errors of ancestors.
struct Leeway
{
	double max_angle;		  // bound on local rotations, radians; 0: none
	double inertia;			  // price of a squared radian away from the source's own rotation, square meters
	double price;			  // initial price near hinges, squared allowances per squared radian
	double world_angle;		  // bound on rotations in the world, radians; 0: none
	double share;			  // share of max_angle and world_angle that a target may use
	double max_turn;		  // radians that a hinge target may use if max_angle is 0
	const double* max_angles; // (J) replace max_angle; null: the same for all joints

	double angle(int32_t joint) const
	{
		return max_angles ? max_angles[joint] : max_angle;
	}
};

// Returns a rotation track's target. With `compensate`, it brings the carried points nearest to their true
// positions, within the limits and at the prices of `leeway`.
TrackTarget target_rotation(const Plan& plan, const Rig& rig, const Track& track, const double* inverse_axes,
							const MotionPair& pair, int32_t t, bool compensate, const Leeway& leeway);

// Returns the same as target_rotation for a track with three axes that only points bound, in frame t and the
// next ones.
TrackTargetOf<Lanes> target_free_rotations(const Rig& rig, const Track& track, const double* inverse_axes,
										   const MotionPair& pair, int32_t t, bool compensate,
										   double inertia);

// Returns the world rotation of a rotation track's joint if its own rotation is the source's, given its
// decoded ancestors.
Quat faithful_world(const Track& track, const MotionPair& pair, int32_t t);

// Returns the decoded world rotation of a track's joint, given its rotation relative to its reference.
Quat world_rotation(const MotionPair& pair, const Track& track, Quat turn, int32_t t);

// Returns the rotation from one orientation to another, as a world rotation vector.
Vec3 turn_between(Quat from, Quat to);

// Computes a position track's target, in channels.
void target_position(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t,
					 double* channels);

// Returns the world translation per unit of a position track's channel.
Vec3 shift_of(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t, int32_t channel);

// Returns the rotation error of a joint's decoded parent, as a world rotation vector.
Vec3 turn_above(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t);

// Returns the decoded position of a joint from its decoded parent and a local translation.
Vec3 placed(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t, Vec3 local);

// Inverts a 3x3 matrix, stored by columns.
void inverse(const double* m, double* out);

} // namespace keysine
} // namespace mocpack
