// Normalizes arrays of quaternions: unit length, continuous signs over time.
#include <cmath>

#include "common/simd_clones.h"
#include "math/quaternion.h"
#include "math/quaternions.h"

using namespace mocpack;

namespace
{

const double ROUNDING = 1e-14;		 // tolerance of the squared length
const float SINGLE_ROUNDING = 5e-7f; // in single precision

// Counts the quaternions that need a change; `before` is the previous frame.
MOCPACK_SIMD_CLONES size_t count_unnormalized(const double* p, const double* before, size_t count)
{
	size_t bad = 0;
	for (size_t i = 0; i < count; ++i, p += 4, before += 4)
	{
		double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
		double along = p[0] * before[0] + p[1] * before[1] + p[2] * before[2] + p[3] * before[3];
		// also rejects NaN
		bad += !(std::fabs(square - 1.0) <= ROUNDING) | !(along >= 0);
	}
	return bad;
}

} // namespace

int mocpack_are_rotations_normalized(const double* rotations, size_t frames, size_t joints)
{
	const double* before = rotations;
	for (size_t t = 0; t < frames; ++t, rotations += 4 * joints)
	{
		if (count_unnormalized(rotations, before, joints))
			return 0;
		before = rotations;
	}
	return 1;
}

int64_t mocpack_normalize_rotations(double* rotations, size_t frames, size_t joints, double tolerance)
{
	for (size_t i = 0; i < frames * joints; ++i)
	{
		double* p = rotations + 4 * i;
		// fast path: most frames need no change
		if (joints && i % joints == 0 && !count_unnormalized(p, i ? p - 4 * joints : p, joints))
		{
			i += joints - 1;
			continue;
		}
		Quat q = load_quat(p);
		double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		// also rejects NaN
		if (!(std::fabs(square - 1.0) <= 2.0 * tolerance))
			return int64_t(i);
		// unit quaternions keep their exact bits, so the function is idempotent
		double scale = std::fabs(square - 1.0) > ROUNDING ? 1.0 / std::sqrt(square) : 1.0;
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

int64_t mocpack_normalize_rotation_rows(float* rows, size_t frames, size_t joints, size_t stride,
										float tolerance)
{
	for (size_t t = 0; t < frames; ++t, rows += stride)
		for (size_t j = 0; j < joints; ++j)
		{
			float* p = rows + 4 * j;
			const float* before = t ? p - stride : p;
			float square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
			float along = p[0] * before[0] + p[1] * before[1] + p[2] * before[2] + p[3] * before[3];
			float off = std::fabs(square - 1.0f);
			if (off <= SINGLE_ROUNDING && along >= 0)
				continue;
			// also rejects NaN
			if (!(off <= 2.0f * tolerance))
				return int64_t(t * joints + j);
			float scale = off > SINGLE_ROUNDING ? 1.0f / std::sqrt(square) : 1.0f;
			scale = along < 0 ? -scale : scale;
			for (size_t c = 0; c < 4; ++c)
				p[c] *= scale;
		}
	return -1;
}
