// Converts the Euler channels of a clip to quaternions.
#include "math/channels.h"
#include "math/euler.h"

using namespace mocpack;

void mocpack_channels_to_rotations(const mocpack_Channels* channels, const double* matrix, size_t frames,
								   double* rotations)
{
	for (size_t t = 0; t < frames; ++t)
	{
		const double* row = matrix + t * channels->column_count;
		for (size_t j = 0; j < channels->joint_count; ++j, rotations += 4)
		{
			const int8_t* axes = channels->axes + 3 * j;
			const int32_t* columns = channels->columns + 3 * j;
			Quat q = {0, 0, 0, 1};
			for (int a = 0; a < 3 && axes[a] >= 0; ++a)
				q = rotate_about(q, axes[a], row[columns[a]]);
			Quat frame = load_quat(channels->frames + 4 * j);
			if (frame.w != 1)
				q = multiply(multiply(frame, q), conjugate(frame));
			store(rotations, q);
		}
	}
}
