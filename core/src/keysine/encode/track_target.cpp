// Computes the target of a track in a frame, given its decoded ancestors (closed loop).
#include "keysine/encode/track_target.h"

#include <cmath>
#include <cstring>

#include "keysine/encode/jacobian.h"
#include "keysine/format/limits.h"
#include "math/rotation_vector.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const Quat IDENTITY = {0, 0, 0, 1};

Quat parent_rotation(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t)
{
	int32_t parent = plan.skeleton->parents[joint];
	return parent < 0 ? IDENTITY : pair.decoded_rotation[pair.at(parent, t)];
}

// Returns the decoded world rotation of the joint to which a track is relative.
Quat reference_rotation(const MotionPair& pair, const Track& track, int32_t t)
{
	return track.reference < 0 ? IDENTITY : pair.decoded_rotation[pair.at(track.reference, t)];
}

// The functions below compute with double, or with lanes of frames.
double root_of(double a)
{
	return std::sqrt(a);
}
Lanes root_of(Lanes a)
{
	return square_root(a);
}

// Returns 2 with the sign of a number.
double signed_two(double a)
{
	return a < 0 ? -2.0 : 2.0;
}
Lanes signed_two(Lanes a)
{
	Lanes found;
	for (size_t l = 0; l < lane_count; ++l)
		found[l] = signed_two(a[l]);
	return found;
}

LaneVec logarithm(LaneQuat q)
{
	LaneVec found;
	for (size_t l = 0; l < lane_count; ++l)
	{
		const Vec3 v = mocpack::logarithm(Quat{q.x[l], q.y[l], q.z[l], q.w[l]});
		found.x[l] = v.x, found.y[l] = v.y, found.z[l] = v.z;
	}
	return found;
}
using mocpack::logarithm;

// Solves the symmetric positive system m x = r.
template <typename N> Vec3Of<N> solve(const double* m, Vec3Of<N> r)
{
	Vec3 a = {m[0], m[1], m[2]}, b = {m[3], m[4], m[5]}, c = {m[6], m[7], m[8]};
	Vec3 bc = cross(b, c), ca = cross(c, a), ab = cross(a, b);
	N scale = N{} + 1.0 / dot(a, bc);
	// the matrix is symmetric, so Cramer's rule is a sum of cross products
	return scale * (r.x * all_lanes<N>(bc) + r.y * all_lanes<N>(ca) + r.z * all_lanes<N>(ab));
}

// Returns a rotation by a small vector, exact to second order, like the equations that give the vector.
template <typename N> QuatOf<N> about(Vec3Of<N> v)
{
	N scale = (N{} + 1.0) / root_of(dot(v, v) + 4.0);
	return {scale * v.x, scale * v.y, scale * v.z, 2.0 * scale};
}

// Returns the world rotation vector between two rotations that are near one another, exact to second order.
template <typename N> Vec3Of<N> small_turn(QuatOf<N> from, QuatOf<N> to)
{
	QuatOf<N> q = multiply(to, conjugate(from));
	return signed_two(q.w) * Vec3Of<N>{q.x, q.y, q.z};
}

// Returns the world rotation that brings the points nearest to their source positions, around the decoded
// origin. The inertia keeps it near `faithful`, because a compensated error is noise that costs bits. Solves
// in the joint's frame, where the points are constant.
template <typename N>
QuatOf<N> compensated(const Rig& rig, const MotionPair& pair, int32_t joint, int32_t t, QuatOf<N> faithful,
					  double inertia)
{
	const Moments& moments = rig.moments[joint];
	const QuatOf<N> world = pair.load<N>(pair.rotation, joint, t), back = conjugate(world);
	const double own = 2 * SHELL * SHELL + inertia;
	double m[9];
	std::memcpy(m, moments.second, sizeof m);
	m[0] += own, m[4] += own, m[8] += own;
	const Vec3Of<N> off =
		pair.load<N>(pair.position, joint, t) - pair.load<N>(pair.decoded_position, joint, t);
	Vec3Of<N> r = cross(all_lanes<N>(moments.first), rotate(back, off));
	if (inertia > 0)
		r = r + (N{} + inertia) * rotate(back, small_turn(world, faithful));
	return multiply(world, about(solve(m, r)));
}

// Sets the channels of a track with three axes, and the rotations by their units, at aim->world. above: world
// rotation of the reference.
template <typename N>
void set_vector_channels(const Track& track, const double* inverse_axes, QuatOf<N> above,
						 TrackTargetOf<N>* aim)
{
	const QuatOf<N> base = multiply(above, all_lanes<N>(load_quat(track.base)));
	const Vec3Of<N> v = logarithm(multiply(conjugate(base), aim->world));
	const double* w = inverse_axes;
	N jacobian[9];
	right_jacobian(v, jacobian);
	const MatrixOf<N> world = as_matrix(aim->world);
	for (int c = 0; c < 3; ++c)
	{
		const double* a = track.axes + 3 * c;
		aim->channels[c] = w[c] * v.x + w[3 + c] * v.y + w[6 + c] * v.z;
		const Vec3Of<N> turn = {jacobian[0] * a[0] + jacobian[1] * a[1] + jacobian[2] * a[2],
								jacobian[3] * a[0] + jacobian[4] * a[1] + jacobian[5] * a[2],
								jacobian[6] * a[0] + jacobian[7] * a[1] + jacobian[8] * a[2]};
		aim->turn[c] = rotate(world, turn);
	}
}

// Returns the rotation on the path from one to another that is at most `most` radians from the first.
Quat near(Quat from, Quat to, double most)
{
	Vec3 turn = turn_between(from, to);
	double angle = std::sqrt(dot(turn, turn));
	return angle > most ? multiply(exponential(most / angle * turn), from) : to;
}

double true_channel(const Track& track, const MotionPair& pair, int32_t c, int32_t t)
{
	double angle = pair.angles[size_t(track.hinge + c) * size_t(pair.count) + size_t(t)];
	Vec3 axis = load_vec(track.axes + 3 * c);
	double from = track.kind == HINGE_TRACK ? track.angles[c] : 0.0;
	return (angle - from) / std::sqrt(dot(axis, axis));
}

Quat hinge_turn(const Track& track, int32_t c, double channel)
{
	Vec3 axis = load_vec(track.axes + 3 * c);
	double unit = std::sqrt(dot(axis, axis));
	return exponential((track.held(c, channel) + track.angles[c] / unit) * axis);
}

// Sets the world rotation of a hinge, and the rotations by units of its channels, from the channels.
void stand(const Track& track, Quat base, TrackTarget* aim)
{
	aim->world = base;
	for (int32_t c = 0; c < track.channels; ++c)
	{
		Vec3 axis = load_vec(track.axes + 3 * c);
		aim->turn[c] = rotate(aim->world, axis);
		aim->world = multiply(aim->world, hinge_turn(track, c, aim->channels[c]));
	}
}

// A sum of squares of linear functions of one or two numbers, and its minimum.
struct HingeSquares
{
	int32_t count;
	double a = 0, b = 0, c = 0, p = 0, q = 0;

	// |off + Σ moves·x|²
	void add(Vec3 off, const Vec3* moves)
	{
		a += dot(moves[0], moves[0]), p -= dot(moves[0], off);
		if (count < 2)
			return;
		b += dot(moves[0], moves[1]), c += dot(moves[1], moves[1]), q -= dot(moves[1], off);
	}

	void least(double* x) const
	{
		double whole = a * c - b * b;
		bool both = count == 2 && whole > 1e-9 * a * c;
		x[0] = both ? (c * p - b * q) / whole : a > 0 ? p / a : 0.0;
		x[1] = both ? (a * q - b * p) / whole : 0.0;
	}
};

// Returns the error that remains below a hinge around its true angles, plus the price of turning away from
// them.
HingeSquares remaining(const Track& track, const MotionPair& pair, int32_t t, const TrackTarget& aim,
					   double price)
{
	size_t at = pair.at(track.joint, t);
	const Remainder& after = pair.after_turn[at];
	Vec3 off = turn_between(pair.rotation[at], aim.world),
		 moved = pair.decoded_position[at] - pair.position[at], moves[MAX_TURNS];
	HingeSquares squares = {track.channels};
	for (int32_t c = 0; c < track.channels; ++c)
		moves[c] = after.scaled(aim.turn[c]);
	squares.add(after.scaled(off + after.led(moved)), moves);
	squares.a += price * dot(aim.turn[0], aim.turn[0]);
	squares.c += track.channels > 1 ? price * dot(aim.turn[1], aim.turn[1]) : 0.0;
	return squares;
}

// Returns the hinge angles that leave the least error after the descendants have compensated what they can.
TrackTarget target_hinge(const Plan& plan, const Rig& rig, const Track& track, const MotionPair& pair,
						 int32_t t, bool compensate, const Leeway& leeway)
{
	TrackTarget aim;
	Quat base = multiply(parent_rotation(plan, pair, track.joint, t), load_quat(track.base));
	for (int32_t c = 0; c < track.channels; ++c)
		aim.channels[c] = true_channel(track, pair, c, t);
	stand(track, base, &aim);
	if (!compensate)
		return aim;
	double change[MAX_TURNS];
	remaining(track, pair, t, aim, pair.turn_price[t] + rig.angle_price(track.joint)).least(change);
	const double max_angle = leeway.angle(track.joint);
	for (int32_t c = 0; c < track.channels; ++c)
	{
		double unit = std::sqrt(dot(aim.turn[c], aim.turn[c]));
		double most = (max_angle > 0 ? leeway.share * max_angle : leeway.max_turn) / unit;
		aim.channels[c] += change[c] > most ? most : change[c] < -most ? -most : change[c];
		aim.channels[c] = track.held(c, aim.channels[c]);
	}
	stand(track, base, &aim);
	return aim;
}

// Returns the world rotation of a joint with three axes that leaves the least error after the hinges below
// have compensated what they can.
Quat above_hinges(const MotionPair& pair, int32_t joint, int32_t t, Quat faithful, double price)
{
	size_t at = pair.at(joint, t);
	const Remainder& after = pair.after_turn[at];
	Vec3 off =
		turn_between(pair.rotation[at], faithful) + after.led(pair.decoded_position[at] - pair.position[at]);
	double m[9];
	after.square(m);
	Vec3 r = {-(m[0] * off.x + m[1] * off.y + m[2] * off.z), -(m[3] * off.x + m[4] * off.y + m[5] * off.z),
			  -(m[6] * off.x + m[7] * off.y + m[8] * off.z)};
	m[0] += price, m[4] += price, m[8] += price;
	return multiply(exponential(solve(m, r)), faithful);
}

// Finds the slider positions that leave the least error: the true ones, plus a change that compensates errors
// of the ancestors.
void target_slider(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t, double* channels)
{
	size_t at = pair.at(track.joint, t);
	const Remainder& after = pair.after_place[at];
	Vec3 place = load_vec(track.base), moves[MAX_SLIDES];
	for (int32_t c = 0; c < track.channels; ++c)
	{
		Vec3 axis = load_vec(track.axes + 3 * c);
		channels[c] = true_channel(track, pair, c, t);
		place = place + channels[c] * axis;
		moves[c] = after.scaled(shift_of(plan, track, pair, t, c));
	}
	Vec3 off = placed(plan, pair, track.joint, t, place) - pair.position[at];
	off = after.scaled(off + after.led(turn_above(plan, pair, track.joint, t)));
	double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, r[3] = {};
	for (int32_t c = 0; c < track.channels; ++c)
	{
		for (int32_t d = 0; d < track.channels; ++d)
			m[3 * c + d] = dot(moves[c], moves[d]);
		r[c] = -dot(moves[c], off);
	}
	Vec3 change = solve(m, Vec3{r[0], r[1], r[2]});
	const double changes[MAX_SLIDES] = {change.x, change.y, change.z};
	for (int32_t c = 0; c < track.channels; ++c)
		channels[c] = track.held(c, channels[c] + changes[c]);
}

} // namespace

void inverse(const double* m, double* out)
{
	Vec3 a = load_vec(m), b = load_vec(m + 3), c = load_vec(m + 6);
	Vec3 bc = cross(b, c), ca = cross(c, a), ab = cross(a, b);
	double scale = 1.0 / dot(a, bc);
	Vec3 rows[3] = {scale * bc, scale * ca, scale * ab};
	for (int r = 0; r < 3; ++r)
		out[r] = rows[r].x, out[3 + r] = rows[r].y, out[6 + r] = rows[r].z;
}

Vec3 turn_between(Quat from, Quat to)
{
	return logarithm(multiply(to, conjugate(from)));
}

Quat world_rotation(const MotionPair& pair, const Track& track, Quat turn, int32_t t)
{
	return track.reference < 0 ? turn : multiply(reference_rotation(pair, track, t), turn);
}

Quat faithful_world(const Track& track, const MotionPair& pair, int32_t t)
{
	Quat world = reference_rotation(pair, track, t);
	if (track.kind != HINGE_TRACK)
		return multiply(world, pair.source[pair.at(track.joint, t)]);
	world = multiply(world, load_quat(track.base));
	for (int32_t c = 0; c < track.channels; ++c)
		world = multiply(world, hinge_turn(track, c, true_channel(track, pair, c, t)));
	return world;
}

Vec3 turn_above(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t)
{
	int32_t parent = plan.skeleton->parents[joint];
	return parent < 0
			   ? Vec3{0, 0, 0}
			   : turn_between(pair.rotation[pair.at(parent, t)], pair.decoded_rotation[pair.at(parent, t)]);
}

TrackTarget target_rotation(const Plan& plan, const Rig& rig, const Track& track, const double* inverse_axes,
							const MotionPair& pair, int32_t t, bool compensate, const Leeway& leeway)
{
	TrackTarget aim;
	if (track.kind == HINGE_TRACK)
		return target_hinge(plan, rig, track, pair, t, compensate, leeway);
	Quat above = reference_rotation(pair, track, t);
	const double max_angle = leeway.angle(track.joint);
	bool looks = leeway.inertia > 0 || max_angle > 0 || pair.first_hinged;
	Quat faithful = looks ? faithful_world(track, pair, t) : pair.rotation[pair.at(track.joint, t)];
	bool bounds_local = max_angle > 0 && !(leeway.world_angle > 0);
	aim.world =
		!compensate ? bounds_local ? faithful : pair.rotation[pair.at(track.joint, t)]
		: pair.first_hinged && pair.first_hinged[track.joint] >= 0
			? above_hinges(pair, track.joint, t, faithful, pair.turn_price[t] + rig.angle_price(track.joint))
			: compensated(rig, pair, track.joint, t, faithful, leeway.inertia);
	if (leeway.world_angle > 0 && compensate)
		aim.world =
			near(pair.rotation[pair.at(track.joint, t)], aim.world, leeway.share * leeway.world_angle);
	else if (max_angle > 0 && compensate)
		aim.world = near(faithful, aim.world, leeway.share * max_angle);
	if (track.clamped_hinges)
	{
		Quat local = multiply(conjugate(above), aim.world);
		clamp_rotations(*track.own, track.clamped_hinges, 1, &local);
		aim.world = multiply(above, local);
	}
	if (track.kind == QUATERNION_TRACK)
	{
		Quat q = multiply(conjugate(above), aim.world), like = pair.source[pair.at(track.joint, t)];
		if (q.x * like.x + q.y * like.y + q.z * like.z + q.w * like.w < 0)
			q = {-q.x, -q.y, -q.z, -q.w};
		double unit = track.axes[0], scale = 2 * unit;
		aim.channels[0] = q.x / unit, aim.channels[1] = q.y / unit;
		aim.channels[2] = q.z / unit, aim.channels[3] = q.w / unit;
		// twice the vector part of e_c times the conjugate of q
		aim.turn[0] = rotate(above, scale * Vec3{q.w, q.z, -q.y});
		aim.turn[1] = rotate(above, scale * Vec3{-q.z, q.w, q.x});
		aim.turn[2] = rotate(above, scale * Vec3{q.y, -q.x, q.w});
		aim.turn[3] = rotate(above, scale * Vec3{-q.x, -q.y, -q.z});
		return aim;
	}
	set_vector_channels<double>(track, inverse_axes, above, &aim);
	return aim;
}

TrackTargetOf<Lanes> target_free_rotations(const Rig& rig, const Track& track, const double* inverse_axes,
										   const MotionPair& pair, int32_t t, bool compensate, double inertia)
{
	TrackTargetOf<Lanes> aim;
	const int32_t joint = track.joint;
	const LaneQuat above = track.reference < 0 ? all_lanes<Lanes>(IDENTITY)
											   : pair.load<Lanes>(pair.decoded_rotation, track.reference, t);
	aim.world = compensate ? compensated(rig, pair, joint, t,
										 multiply(above, pair.load<Lanes>(pair.source, joint, t)), inertia)
						   : pair.load<Lanes>(pair.rotation, joint, t);
	set_vector_channels<Lanes>(track, inverse_axes, above, &aim);
	return aim;
}

Vec3 placed(const Plan& plan, const MotionPair& pair, int32_t joint, int32_t t, Vec3 local)
{
	int32_t parent = plan.skeleton->parents[joint];
	if (parent < 0)
		return local;
	return pair.decoded_position[pair.at(parent, t)] +
		   rotate(pair.decoded_rotation[pair.at(parent, t)], local);
}

Vec3 shift_of(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t, int32_t channel)
{
	return rotate(parent_rotation(plan, pair, track.joint, t), load_vec(track.axes + 3 * channel));
}

void target_position(const Plan& plan, const Track& track, const MotionPair& pair, int32_t t,
					 double* channels)
{
	if (track.hinge >= 0)
		return target_slider(plan, track, pair, t, channels);
	int32_t parent = plan.skeleton->parents[track.joint];
	Vec3 place = pair.position[pair.at(track.joint, t)];
	if (parent >= 0)
		place = rotate(conjugate(pair.decoded_rotation[pair.at(parent, t)]),
					   place - pair.decoded_position[pair.at(parent, t)]);
	if (track.clamped_hinges)
		clamp_places(*track.own, track.clamped_hinges, 1, &place);
	channels[0] = (place.x - track.base[0]) / track.axes[0];
	channels[1] = (place.y - track.base[1]) / track.axes[0];
	channels[2] = (place.z - track.base[2]) / track.axes[0];
}

} // namespace keysine
} // namespace mocpack
