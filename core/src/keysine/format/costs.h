// The cost of a small error of a joint after its descendants compensate as much as they can.
//
// Let ξ be the displacement of a joint's origin and the small rotation of its frame. If the descendants move
// with it rigidly, a weighted sum of their squared displacements is ξᵀ Q ξ. If the descendants rotate to
// minimize that sum, it is again a quadratic form, with a smaller Q. Q is computed from the ends of limbs to
// the root: the Q of a joint's own points, plus what remains of each child's Q after the child's own
// rotation. A free joint compensates everything except the displacement of its origin; a hinge only
// compensates rotation about its axis.
#pragma once
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

// A symmetric 6 × 6 matrix over (displacement, rotation), by rows.
struct Costs
{
	double* q;

	double& at(int r, int c) const
	{
		return q[6 * r + c];
	}

	// Adds a point at `arm` from the origin; its displacement is that of the origin + rotation × arm.
	void add_point(Vec3 arm, double weight) const
	{
		const double v[3] = {arm.x, arm.y, arm.z}, square = dot(arm, arm);
		const double cross_of[9] = {0, arm.z, -arm.y, -arm.z, 0, arm.x, arm.y, -arm.x, 0}; // rotation × arm
		for (int r = 0; r < 3; ++r)
		{
			at(r, r) += weight;
			for (int c = 0; c < 3; ++c)
			{
				at(r, 3 + c) += weight * cross_of[3 * r + c];
				at(3 + c, r) += weight * cross_of[3 * r + c];
				at(3 + r, 3 + c) += weight * ((r == c ? square : 0.0) - v[r] * v[c]);
			}
		}
	}

	// Adds a child at `arm`, given its own costs.
	void add_child(const Costs& child, Vec3 arm) const
	{
		const double x[9] = {0, arm.z, -arm.y, -arm.z, 0, arm.x, arm.y, -arm.x, 0};
		double half[36]; // child costs times the Jacobian of the child's motion
		for (int r = 0; r < 6; ++r)
			for (int c = 0; c < 3; ++c)
			{
				half[6 * r + c] = child.at(r, c);
				half[6 * r + 3 + c] = child.at(r, 3 + c) + child.at(r, 0) * x[c] + child.at(r, 1) * x[3 + c] +
									  child.at(r, 2) * x[6 + c];
			}
		for (int c = 0; c < 6; ++c)
			for (int r = 0; r < 3; ++r)
			{
				at(r, c) += half[6 * r + c];
				at(3 + r, c) +=
					half[6 * (3 + r) + c] + x[r] * half[c] + x[3 + r] * half[6 + c] + x[6 + r] * half[12 + c];
			}
	}

	// Eliminates the best move along `way` of a displacement (`from` 0) or rotation (3), which costs `price`.
	void eliminate(int from, Vec3 way, double price) const
	{
		double along[6], whole = price;
		for (int r = 0; r < 6; ++r)
			along[r] = at(r, from) * way.x + at(r, from + 1) * way.y + at(r, from + 2) * way.z;
		whole += along[from] * way.x + along[from + 1] * way.y + along[from + 2] * way.z;
		if (!(whole > 0))
			return;
		for (int r = 0; r < 6; ++r)
			for (int c = 0; c < 6; ++c)
				at(r, c) -= along[r] * along[c] / whole;
	}

	// Eliminates the whole displacement or rotation, which costs `price` in each direction.
	void eliminate(int from, double price = 0.0) const
	{
		for (int a = 0; a < 3; ++a)
		{
			double way[3] = {0, 0, 0};
			way[a] = 1;
			eliminate(from, load_vec(way), price);
		}
		for (int r = 0; r < 6 && !(price > 0); ++r)
			for (int c = from; c < from + 3; ++c)
				at(r, c) = at(c, r) = 0;
	}
};

} // namespace keysine
} // namespace mocpack
