// The points that a rotation moves, whose displacements the `keysine` encoder bounds.
#pragma once
#include "common/arena.h"
#include "keysine/encode/job.h"
#include "keysine/format/plan.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

struct Point
{
	Vec3 offset;	  // in the frame of the joint that carries it, with constant joints as decoded
	Vec3 local;		  // in the source's frame of `joint`
	int32_t joint;	  // its source position and rotation give the true position of the point
	double allowance; // meters
	double weight;	  // in position compensation; 0: ignored
};

// Weighted sums over the points o that a joint carries, in its frame.
struct Moments
{
	Vec3 first;		  // Σ w o
	double second[9]; // Σ w (|o|² I - o oᵀ), symmetric
};

struct Rig
{
	Point* points;			   // grouped by the joint that carries them
	Moments* moments;		   // (J)
	int32_t* first;			   // (J + 1)
	double* allowance;		   // (J) of each joint's origin, meters
	int32_t most;			   // largest number of points of a joint
	const double* shares;	   // (J) of the bound; null: all 1
	const JointLimits* limits; // null: the same for all joints

	// Returns the squared allowances that a squared radian away from the source costs a joint, in addition to
	// the usual price.
	double angle_price(int32_t joint) const
	{
		return limits ? limits->angle_prices[joint] : 0.0;
	}
};

// Lays out and fills the rig of a plan; an empty arena only counts bytes. shares: (J) of the settings'
// allowances, for the points of each joint; null: all 1.
void build_rig(Rig* rig, Arena* arena, const Plan& plan, const SearchSettings& settings, const double* shares,
			   const JointLimits* limits);

size_t rig_point_limit(const mocpack_Skeleton& skeleton);

} // namespace keysine
} // namespace mocpack
