// Converts signals to local rotations: Euler angles, quaternions of any length, rotation vectors.
#include <cmath>

#include "math/quaternion.h"
#include "papers/beaudoin/signals.h"

using namespace mocpack;

namespace
{

// Rotates q about one of its own axes.
Quat turned(Quat q, int axis, double angle)
{
	double c = std::cos(0.5 * angle), s = std::sin(0.5 * angle);
	Quat turn = {axis == 0 ? s : 0.0, axis == 1 ? s : 0.0, axis == 2 ? s : 0.0, c};
	return multiply(q, turn);
}

Quat unit(Quat q)
{
	double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
	if (!(square > 1e-24))
		return {0, 0, 0, 1};
	double scale = 1.0 / std::sqrt(square);
	return {scale * q.x, scale * q.y, scale * q.z, scale * q.w};
}

Quat angles_to_quat(const int32_t* kinds, const double* values, size_t count)
{
	Quat q = {0, 0, 0, 1};
	for (size_t s = 0; s < count; ++s)
		q = turned(q, kinds[s] - MOCPACK_SIGNAL_ANGLE_X, values[s]);
	return q;
}

Quat rotvec_to_quat(Vec3 v)
{
	double angle = std::sqrt(dot(v, v));
	double scale = angle > 1e-8 ? std::sin(0.5 * angle) / angle : 0.5;
	return unit({scale * v.x, scale * v.y, scale * v.z, std::cos(0.5 * angle)});
}

Quat local_rotation(const int32_t* kinds, const double* values, size_t count, const double* axis)
{
	if (!count)
		return {0, 0, 0, 1};
	if (kinds[0] == MOCPACK_SIGNAL_QUATERNION)
		return unit(load_quat(values));
	if (kinds[0] == MOCPACK_SIGNAL_ROTVEC)
		return rotvec_to_quat(load_vec(values));
	Quat q = angles_to_quat(kinds, values, count);
	return axis ? multiply(multiply(load_quat(axis), q), conjugate(load_quat(axis))) : q;
}

} // namespace

void mocpack_signal_rotations(const mocpack_Signals* signals, size_t joint_count, const double* values,
							  size_t frames, double* rotations)
{
	size_t count = signals->first[joint_count];
	for (size_t j = 0; j < joint_count; ++j)
	{
		size_t first = signals->first[j], end = signals->first[j + 1];
		while (first < end && signals->kinds[first] <= MOCPACK_SIGNAL_PLACE_Z)
			++first;
		for (size_t t = 0; t < frames; ++t)
			store(rotations + 4 * (t * joint_count + j),
				  local_rotation(signals->kinds + first, values + t * count + first, end - first,
								 signals->axes ? signals->axes + 4 * j : nullptr));
	}
}
