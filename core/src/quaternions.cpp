// Making arrays of quaternions fit to be trusted: unit length, one hemisphere in time.
#include <cmath>

#include "mocpack/core.h"
#include "quaternion.h"

using namespace mocpack;

int64_t mocpack_settle_rotations(double* rotations, size_t frames, size_t joints, double tolerance)
{
	for (size_t i = 0; i < frames * joints; ++i)
	{
		double* p = rotations + 4 * i;
		Quat q = load_quat(p);
		double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		// false for NaN too
		if (!(std::fabs(square - 1.0) <= 2.0 * tolerance))
			return int64_t(i);
		// a quaternion that is unit already keeps its exact bits, so settling twice changes nothing
		double scale = std::fabs(square - 1.0) > 1e-14 ? 1.0 / std::sqrt(square) : 1.0;
		if (i >= joints)
		{
			const double* before = p - 4 * joints;
			if (q.x * before[0] + q.y * before[1] + q.z * before[2] + q.w * before[3] < 0)
				scale = -scale;
		}
		if (scale != 1.0)
			store(p, Quat{scale * q.x, scale * q.y, scale * q.z, scale * q.w});
	}
	return -1;
}
