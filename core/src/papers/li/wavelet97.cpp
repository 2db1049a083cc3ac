// Cohen-Daubechies-Feauveau 9/7 wavelet by lifting, along the rows of a matrix.
//
// Mirror extension at both ends, any number of rows; scaled so that white noise stays nearly white.
#include <cstring>

#include "papers/li/wavelet97.h"

namespace
{

const double LIFTS[4] = {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971};
const double SCALE = 1.149604398860241;

// Adds `factor` times both neighbors to every second row, starting at `start`.
void lift(double* rows, size_t count, size_t columns, size_t start, double factor)
{
	for (size_t r = start; r < count; r += 2)
	{
		const double* above = rows + (r > 0 ? r - 1 : 1) * columns;
		const double* below = rows + (r + 1 < count ? r + 1 : count - 2) * columns;
		double* at = rows + r * columns;
		for (size_t c = 0; c < columns; ++c)
			at[c] += factor * (above[c] + below[c]);
	}
}

void scale(double* values, size_t count, double factor)
{
	for (size_t k = 0; k < count; ++k)
		values[k] *= factor;
}

size_t halved(size_t rows, size_t times)
{
	while (times-- > 0)
		rows = rows - rows / 2;
	return rows;
}

} // namespace

void mocpack_wavelet97(double* values, size_t rows, size_t columns, size_t levels, double* scratch)
{
	for (size_t level = 0; level < levels && rows > 1; ++level)
	{
		for (size_t k = 0; k < 4; ++k)
			lift(values, rows, columns, (k + 1) % 2, LIFTS[k]);
		size_t low = rows - rows / 2;
		for (size_t r = 0; r < rows; ++r)
			memcpy(scratch + (r % 2 ? low + r / 2 : r / 2) * columns, values + r * columns,
				   columns * sizeof(double));
		memcpy(values, scratch, rows * columns * sizeof(double));
		scale(values, low * columns, SCALE);
		scale(values + low * columns, (rows - low) * columns, 1 / SCALE);
		rows = low;
	}
}

void mocpack_wavelet97_inverse(double* values, size_t rows, size_t columns, size_t levels, double* scratch)
{
	for (size_t level = levels; level-- > 0;)
	{
		size_t count = halved(rows, level), low = count - count / 2;
		if (count < 2)
			continue;
		scale(values, low * columns, 1 / SCALE);
		scale(values + low * columns, (count - low) * columns, SCALE);
		for (size_t r = 0; r < count; ++r)
			memcpy(scratch + r * columns, values + (r % 2 ? low + r / 2 : r / 2) * columns,
				   columns * sizeof(double));
		memcpy(values, scratch, count * columns * sizeof(double));
		for (size_t k = 4; k-- > 0;)
			lift(values, count, columns, (k + 1) % 2, -LIFTS[k]);
	}
}
