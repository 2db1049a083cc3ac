// What a rotation moves: the points whose displacement the encoder of `keysine` has to bound.
#pragma once
#include "common/arena.h"
#include "keysine/decode/plan.h"
#include "keysine/encode/encode.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

struct Point
{
	Vec3 offset;	  // in the frame of the joint that carries it, with the still joints as decoded
	Vec3 local;		  // in the source's frame of `joint`
	int32_t joint;	  // whose source position and rotation give the true place
	double allowance; // meters
	double weight;	  // in the compensation; 0: not aimed at
};

// Weighted sums over the points o that a joint carries, in its frame.
struct Moments
{
	Vec3 first;		  // Σ w o
	double second[9]; // Σ w (|o|² I - o oᵀ), symmetric
};

struct Rig
{
	Point* points;							  // grouped by the joint that carries them
	Moments* moments;						  // (J)
	int32_t* first;							  // (J + 1)
	double* allowance;						  // (J) of each joint's origin, meters
	int32_t most;							  // points of the joint with most
	const double* shares;					  // (J) of the bound, null: all of it
	const mocpack_KeysineJointLimits* limits; // null: the same for all joints

	// Squared allowances that a squared radian away from the source costs a joint besides the usual price.
	double angle_price(int32_t joint) const
	{
		return limits ? limits->angle_prices[joint] : 0.0;
	}
};

// Lays out and fills the rig of a plan; over an empty arena only counts.
// shares: (J) of the allowances that the settings give, for the points of each joint; null: all of them.
void build_rig(Rig* rig, Arena* arena, const Plan& plan, const mocpack_KeysineSettings& settings,
			   const double* shares, const mocpack_KeysineJointLimits* limits);

size_t rig_point_limit(const mocpack_Skeleton& skeleton);

} // namespace keysine
} // namespace mocpack
