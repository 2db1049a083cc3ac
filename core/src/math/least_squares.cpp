// Recursive least squares: the update, which dominates the run time.
#include "math/least_squares.h"

#include "common/simd_clones.h"

namespace mocpack
{

MOCPACK_SIMD_CLONES void RecursiveLeastSquares::learn(const double* inputs, double predicted, double actual)
{
	if (!n)
		return;
	double trace = 0;
	for (size_t i = 0; i < n; ++i)
	{
		gain[i] = dot(inverse + i * stride, inputs, stride);
		trace += inverse[i * stride + i];
	}
	double energy = forgetting + scale * dot(gain, inputs, stride);
	trace *= scale;
	// the negated comparisons are also true for NaN
	if (!(energy > 0) || !(trace > 0) || !(trace * caution < 1e3 * double(n)))
		return reset();
	double step = scale / energy, error = actual - predicted;
	for (size_t i = 0; i < n; ++i)
	{
		double move = gain[i] * step;
		weights[i] += move * error;
		double* row = inverse + i * stride;
		for (size_t j = 0; j < stride; ++j)
			row[j] -= move * gain[j];
	}
	forget(trace);
}

} // namespace mocpack
