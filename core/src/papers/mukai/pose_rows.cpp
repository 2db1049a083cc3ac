// Converts rows of numbers to rotations: rotation vectors relative to each joint's mean.
#include <cmath>

#include "math/rotation_vector.h"
#include "papers/mukai/pose_rows.h"

using namespace mocpack;

namespace
{

// Returns the rotation of one joint in `row`; NaN if a quaternion has zero length.
Quat rotation_of(const double* row, int32_t kind, Quat mean, double scale)
{
	if (kind == MOCPACK_ROW_TANGENT)
		return multiply(mean, exponential({row[0] / scale, row[1] / scale, row[2] / scale}));
	double length = std::sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2] + row[3] * row[3]);
	return {row[0] / length, row[1] / length, row[2] / length, row[3] / length};
}

} // namespace

void mocpack_row_rotations(const double* rows, size_t count, size_t width, const int32_t* kinds,
						   const double* means, const double* scales, size_t joints, double* rotations)
{
	for (size_t n = 0; n < count; ++n, rows += width)
	{
		const double* row = rows;
		for (size_t j = 0; j < joints; ++j, rotations += 4)
		{
			Quat mean = load_quat(means + 4 * j);
			bool moves = kinds[j] != MOCPACK_ROW_CONSTANT;
			store(rotations, moves ? rotation_of(row, kinds[j], mean, scales[j]) : mean);
			row += kinds[j] == MOCPACK_ROW_TANGENT ? 3 : moves ? 4 : 0;
		}
	}
}
