// Computes how the position error of a motion changes with each of its signals.
//
// Rotating a joint moves all descendants as one rigid body. The squared error after the rotation follows
// exactly from the body's moments: its weight, the weighted sums of target and current points, and the 3 x 3
// sum of their outer products. One pass down the tree computes positions, one pass up sums the moments. Then
// each signal costs only a few operations.
#include <cmath>

#include "common/skeleton.h"
#include "papers/beaudoin/matrix.h"
#include "papers/beaudoin/pose_error.h"
#include "papers/beaudoin/signals.h"

using namespace mocpack;

namespace
{

// Moments of weighted pairs of points, target x and current y.
struct Moments
{
	double weight;
	Vec3 target, current; // sums of w x, of w y
	Mat3 outer;			  // sum of w x yᵀ
};

// Data of one joint in a frame; points are relative to the root's current position.
struct Body
{
	Vec3 position;
	Mat3 base, world; // of the parent, of the joint
	Moments own;	  // of the joint's center
	Moments below;	  // of the points that move when the joint rotates
};

const size_t body_doubles = sizeof(Body) / sizeof(double);

void add(Moments& sum, const Moments& more)
{
	sum.weight += more.weight;
	sum.target = sum.target + more.target;
	sum.current = sum.current + more.current;
	for (int i = 0; i < 3; ++i)
		for (int k = 0; k < 3; ++k)
			sum.outer.m[i][k] += more.outer.m[i][k];
}

Moments pair(double w, Vec3 x, Vec3 y)
{
	Vec3 wx = w * x;
	return {w,
			wx,
			w * y,
			{{{wx.x * y.x, wx.x * y.y, wx.x * y.z},
			  {wx.y * y.x, wx.y * y.y, wx.y * y.z},
			  {wx.z * y.x, wx.z * y.y, wx.z * y.z}}}};
}

// Returns the outer products about center c: sum of w (x - c)(y - c)ᵀ.
Mat3 outer_about(const Moments& sum, Vec3 c)
{
	double cs[3] = {c.x, c.y, c.z};
	double xs[3] = {sum.target.x, sum.target.y, sum.target.z};
	double ys[3] = {sum.current.x, sum.current.y, sum.current.z};
	Mat3 out;
	for (int i = 0; i < 3; ++i)
		for (int k = 0; k < 3; ++k)
			out.m[i][k] = sum.outer.m[i][k] - xs[i] * cs[k] - cs[i] * ys[k] + sum.weight * cs[i] * cs[k];
	return out;
}

Quat quat_of_rotvec(Vec3 v)
{
	double angle = std::sqrt(dot(v, v));
	double scale = angle > 1e-8 ? std::sin(0.5 * angle) / angle : 0.5;
	return {scale * v.x, scale * v.y, scale * v.z, std::cos(0.5 * angle)};
}

// Returns the local rotation of a quaternion or rotation vector signal.
Mat3 free_rotation(const double* values, int kind)
{
	Quat q = kind == MOCPACK_SIGNAL_QUATERNION ? load_quat(values) : quat_of_rotvec(load_vec(values));
	double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
	return square > 1e-24 ? matrix_of_any_length(q) : identity_matrix;
}

// sin(x) and 1 - cos(x); the series is accurate to rounding for typical steps.
void small_turn(double x, double* sine, double* versine)
{
	double y = x * x;
	if (y > 0.0625)
	{
		*sine = std::sin(x);
		*versine = 1.0 - std::cos(x);
		return;
	}
	const double s3 = -1.0 / 6, s5 = 1.0 / 120, s7 = -1.0 / 5040, s9 = 1.0 / 362880, s11 = -1.0 / 39916800;
	const double c4 = -1.0 / 24, c6 = 1.0 / 720, c8 = -1.0 / 40320, c10 = 1.0 / 3628800,
				 c12 = -1.0 / 479001600;
	*sine = x * (1 + y * (s3 + y * (s5 + y * (s7 + y * (s9 + y * s11)))));
	*versine = y * (0.5 + y * (c4 + y * (c6 + y * (c8 + y * (c10 + y * c12)))));
}

// Returns the index of the first rotation signal of joint j.
size_t rotation_start(const mocpack_Signals& signals, size_t j)
{
	size_t s = signals.first[j], end = signals.first[j + 1];
	while (s < end && signals.kinds[s] <= MOCPACK_SIGNAL_PLACE_Z)
		++s;
	return s;
}

// Computes the world frame of joint j and the world axis of each of its angles.
Mat3 turned_frame(const mocpack_Signals& signals, size_t j, const Mat3& base, const double* values,
				  const double* phases, Vec3* axes)
{
	size_t s = rotation_start(signals, j), end = signals.first[j + 1];
	if (s == end)
		return base;
	if (signals.kinds[s] >= MOCPACK_SIGNAL_QUATERNION)
		return multiply(base, free_rotation(values + s, signals.kinds[s]));
	bool tilted = signals.axes != nullptr;
	Mat3 axis = tilted ? matrix_of_any_length(load_quat(signals.axes + 4 * j)) : identity_matrix;
	Mat3 frame = tilted ? multiply(base, axis) : base;
	for (; s < end; ++s)
	{
		int k = signals.kinds[s] - MOCPACK_SIGNAL_ANGLE_X;
		axes[s] = column(frame, k);
		rotate_about(frame, k, phases[2 * s], phases[2 * s + 1]);
	}
	return tilted ? multiply(frame, transpose(axis)) : frame;
}

// Computes the position of every joint relative to the root.
Vec3 place_joints(const mocpack_Skeleton& skeleton, const mocpack_Signals& signals, const double* values,
				  const double* phases, Body* bodies, Vec3* axes)
{
	Vec3 origin = {0, 0, 0};
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		Body& body = bodies[j];
		int32_t parent = skeleton.parents[j];
		body.base = parent < 0 ? identity_matrix : bodies[parent].world;
		double place[3] = {skeleton.offsets[3 * j], skeleton.offsets[3 * j + 1], skeleton.offsets[3 * j + 2]};
		size_t rotation = rotation_start(signals, j);
		for (size_t s = signals.first[j]; s < rotation; ++s)
		{
			axes[s] = column(body.base, signals.kinds[s]);
			place[signals.kinds[s]] = values[s];
		}
		if (parent < 0)
			origin = load_vec(place), body.position = {0, 0, 0};
		else
			body.position = bodies[parent].position + apply(body.base, load_vec(place));
		body.world = turned_frame(signals, j, body.base, values, phases, axes);
		body.below = {};
	}
	return origin;
}

// Sums the moments of each joint's descendants. Returns the weighted squared error of the frame.
double gather_moments(const mocpack_Skeleton& skeleton, const double* targets, const double* weights,
					  Vec3 origin, Body* bodies)
{
	size_t joints = skeleton.joint_count;
	double error = 0;
	for (size_t e = 0; e < skeleton.end_count; ++e)
	{
		Body& body = bodies[skeleton.end_joints[e]];
		Vec3 x = load_vec(targets + 3 * (joints + e)) - origin;
		Vec3 y = body.position + apply(body.world, load_vec(skeleton.end_sites + 3 * e));
		error += weights[joints + e] * dot(x - y, x - y);
		add(body.below, pair(weights[joints + e], x, y));
	}
	for (size_t j = joints; j-- > 0;)
	{
		Body& body = bodies[j];
		Vec3 x = load_vec(targets + 3 * j) - origin;
		error += weights[j] * dot(x - body.position, x - body.position);
		body.own = pair(weights[j], x, body.position);
		if (j == 0)
			break;
		Moments& above = bodies[skeleton.parents[j]].below;
		add(above, body.below);
		add(above, body.own);
	}
	return error;
}

// Returns the change of the squared error when joint j and its descendants shift along a world axis.
double shift_change(const Body& body, Vec3 axis, double step)
{
	Vec3 missing = body.below.target - body.below.current + (body.own.target - body.own.current);
	return step * (step * (body.below.weight + body.own.weight) - 2.0 * dot(axis, missing));
}

// Returns the change of the squared error when a joint's descendants rotate about a world axis through it.
double turn_change(const Mat3& outer, Vec3 axis, double step)
{
	double sine, versine;
	small_turn(step, &sine, &versine);
	Vec3 swirl = {outer.m[2][1] - outer.m[1][2], outer.m[0][2] - outer.m[2][0],
				  outer.m[1][0] - outer.m[0][1]};
	return -2.0 * (sine * dot(axis, swirl) + versine * (dot(axis, apply(outer, axis)) - trace(outer)));
}

// Adds the changes for the components of a quaternion or rotation vector, which have no fixed axis: the error
// of a local rotation R is a constant minus twice its inner product with `pull`.
void add_free_changes(const Body& body, const Mat3& outer, int kind, size_t first, size_t end,
					  const double* values, const double* steps, double* changes)
{
	Mat3 pull = multiply(transpose(body.base), multiply(outer, body.world));
	double now = trace(outer);
	double changed[4] = {0, 0, 0, 0};
	for (size_t s = first; s < end; ++s)
		changed[s - first] = values[s];
	for (size_t s = first; s < end; ++s)
	{
		changed[s - first] = values[s] + steps[s];
		if (steps[s] != 0.0)
			changes[s] -= 2.0 * (inner(free_rotation(changed, kind), pull) - now);
		changed[s - first] = values[s];
	}
}

void add_changes(const mocpack_Skeleton& skeleton, const mocpack_Signals& signals, const Body* bodies,
				 const Vec3* axes, const double* values, const double* steps, double* changes)
{
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		size_t s = signals.first[j], rotation = rotation_start(signals, j), end = signals.first[j + 1];
		for (; s < rotation; ++s)
			changes[s] += shift_change(bodies[j], axes[s], steps[s]);
		if (s == end)
			continue;
		Mat3 outer = outer_about(bodies[j].below, bodies[j].position);
		if (signals.kinds[s] >= MOCPACK_SIGNAL_QUATERNION)
			add_free_changes(bodies[j], outer, signals.kinds[s], s, end, values, steps, changes);
		else
			for (; s < end; ++s)
				if (steps[s] != 0.0)
					changes[s] += turn_change(outer, axes[s], steps[s]);
	}
}

} // namespace

size_t mocpack_pose_error_scratch_size(size_t joint_count, size_t signal_count)
{
	return joint_count * body_doubles + 3 * signal_count;
}

double mocpack_pose_error_changes(const mocpack_Skeleton* skeleton, const mocpack_Signals* signals,
								  const double* values, const double* phases, const double* steps,
								  const double* targets, const double* weights, size_t frames,
								  double* scratch, double* changes)
{
	Body* bodies = reinterpret_cast<Body*>(scratch);
	Vec3* axes = reinterpret_cast<Vec3*>(scratch + skeleton->joint_count * body_doubles);
	size_t count = signals->first[skeleton->joint_count];
	size_t points = skeleton->joint_count + skeleton->end_count;
	double error = 0;
	for (size_t s = 0; s < count; ++s)
		changes[s] = 0;
	for (size_t t = 0; t < frames; ++t)
	{
		const double* now = values + t * count;
		Vec3 origin = place_joints(*skeleton, *signals, now, phases + 2 * t * count, bodies, axes);
		error += gather_moments(*skeleton, targets + 3 * t * points, weights, origin, bodies);
		add_changes(*skeleton, *signals, bodies, axes, now, steps + t * count, changes);
	}
	return error;
}
