// The closed loop of `keysine`: where a track should go in a frame, given what was decoded above it.
#include "keysine/encode/aim.h"

#include "keysine/decode/rotation.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const Quat IDENTITY = {0, 0, 0, 1};

Quat parent_rotation(const Plan& plan, const Scene& scene, int32_t joint, int32_t t)
{
	int32_t parent = plan.skeleton->parents[joint];
	return parent < 0 ? IDENTITY : scene.decoded_rotation[scene.at(parent, t)];
}

// Solves the symmetric positive system m x = r.
Vec3 solve(const double* m, Vec3 r)
{
	Vec3 a = {m[0], m[1], m[2]}, b = {m[3], m[4], m[5]}, c = {m[6], m[7], m[8]};
	Vec3 bc = cross(b, c), ca = cross(c, a), ab = cross(a, b);
	double scale = 1.0 / dot(a, bc);
	// rows are columns, so Cramer's rule is a sum of cross products
	return scale * (r.x * bc + r.y * ca + r.z * ab);
}

// The turn after which the points lie nearest to their places, around the decoded origin.
Quat compensated(const Rig& rig, const Scene& scene, int32_t joint, int32_t t)
{
	Quat world = scene.rotation[scene.at(joint, t)];
	Vec3 origin = scene.decoded_position[scene.at(joint, t)];
	double m[9] = {2 * SHELL * SHELL, 0, 0, 0, 2 * SHELL * SHELL, 0, 0, 0, 2 * SHELL * SHELL};
	Vec3 r = {0, 0, 0};
	for (int32_t i = rig.first[joint]; i < rig.first[joint + 1]; ++i)
	{
		const Point& point = rig.points[i];
		if (point.weight == 0)
			continue;
		Vec3 v = rotate(world, point.offset);
		Vec3 place = scene.position[scene.at(point.joint, t)] +
					 rotate(scene.rotation[scene.at(point.joint, t)], point.local);
		double square = dot(v, v), w = point.weight;
		r = r + w * cross(v, place - origin - v);
		m[0] += w * (square - v.x * v.x), m[4] += w * (square - v.y * v.y), m[8] += w * (square - v.z * v.z);
		m[1] -= w * v.x * v.y, m[2] -= w * v.x * v.z, m[5] -= w * v.y * v.z;
	}
	m[3] = m[1], m[6] = m[2], m[7] = m[5];
	return multiply(exponential(solve(m, r)), world);
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

Aim aim_rotation(const Plan& plan, const Rig& rig, const Track& track, const double* inverse_axes,
				 const Scene& scene, int32_t t, bool compensate)
{
	Aim aim;
	Quat above = parent_rotation(plan, scene, track.joint, t);
	aim.world =
		compensate ? compensated(rig, scene, track.joint, t) : scene.rotation[scene.at(track.joint, t)];
	if (track.kind == QUATERNION_TRACK)
	{
		Quat q = multiply(conjugate(above), aim.world), like = scene.local[scene.at(track.joint, t)];
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
	Quat base = multiply(above, load_quat(track.base));
	Vec3 v = logarithm(multiply(conjugate(base), aim.world));
	if (track.kind == HINGE_TRACK)
	{
		Vec3 axis = load_vec(track.axes);
		aim.channels[0] = dot(v, axis) / dot(axis, axis);
		aim.world = multiply(base, exponential(aim.channels[0] * axis));
		aim.turn[0] = rotate(base, axis);
		return aim;
	}
	const double* w = inverse_axes;
	double jacobian[9];
	right_jacobian(v, jacobian);
	for (int c = 0; c < 3; ++c)
	{
		const double* a = track.axes + 3 * c;
		aim.channels[c] = w[c] * v.x + w[3 + c] * v.y + w[6 + c] * v.z;
		Vec3 turn = {jacobian[0] * a[0] + jacobian[1] * a[1] + jacobian[2] * a[2],
					 jacobian[3] * a[0] + jacobian[4] * a[1] + jacobian[5] * a[2],
					 jacobian[6] * a[0] + jacobian[7] * a[1] + jacobian[8] * a[2]};
		aim.turn[c] = rotate(aim.world, turn);
	}
	return aim;
}

Vec3 placed(const Plan& plan, const Scene& scene, int32_t joint, int32_t t, Vec3 local)
{
	int32_t parent = plan.skeleton->parents[joint];
	if (parent < 0)
		return local;
	return scene.decoded_position[scene.at(parent, t)] +
		   rotate(scene.decoded_rotation[scene.at(parent, t)], local);
}

void aim_position(const Plan& plan, const Track& track, const Scene& scene, int32_t t, double* channels)
{
	int32_t parent = plan.skeleton->parents[track.joint];
	Vec3 place = scene.position[scene.at(track.joint, t)];
	if (parent >= 0)
		place = rotate(conjugate(scene.decoded_rotation[scene.at(parent, t)]),
					   place - scene.decoded_position[scene.at(parent, t)]);
	channels[0] = (place.x - track.base[0]) / track.axes[0];
	channels[1] = (place.y - track.base[1]) / track.axes[0];
	channels[2] = (place.z - track.base[2]) / track.axes[0];
}

} // namespace keysine
} // namespace mocpack
