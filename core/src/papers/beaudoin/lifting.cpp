// Cubic interpolating wavelet (Deslauriers-Dubuc) by lifting, for signals of any length.
#include "papers/beaudoin/lifting.h"

namespace
{

// Lagrange weights that predict the sample half a step after even sample `p` of a window of
// 1, 2, 3 or 4 even samples; the last row of each extrapolates past the window's end.
const double constant_weights[1][4] = {{1.0, 0, 0, 0}};
const double linear_weights[2][4] = {{0.5, 0.5, 0, 0}, {-0.5, 1.5, 0, 0}};
const double quadratic_weights[3][4] = {
	{0.375, 0.75, -0.125, 0}, {-0.125, 0.75, 0.375, 0}, {0.375, -1.25, 1.875, 0}};
const double cubic_weights[4][4] = {{0.3125, 0.9375, -0.3125, 0.0625},
									{-0.0625, 0.5625, 0.5625, -0.0625},
									{0.0625, -0.3125, 0.9375, 0.3125},
									{-0.3125, 1.3125, -2.1875, 2.1875}};

const double (*weights_of(size_t window))[4]
{
	const double (*const tables[4])[4] = {constant_weights, linear_weights, quadratic_weights, cubic_weights};
	return tables[window - 1];
}

// Predicts odd sample i near an end of the signal, or if fewer than four even samples exist.
double predict_edge(const double* evens, size_t even_count, size_t i)
{
	size_t window = even_count < 4 ? even_count : 4;
	size_t first = i > 0 ? i - 1 : 0;
	if (first > even_count - window)
		first = even_count - window;
	const double* w = weights_of(window)[i - first];
	double sum = 0;
	for (size_t k = 0; k < window; ++k)
		sum += w[k] * evens[first + k];
	return sum;
}

// Add `sign` times the prediction from the even samples to each odd one.
void predict(const double* evens, size_t even_count, double* odds, size_t odd_count, double sign)
{
	for (size_t i = 0; i < odd_count; ++i)
	{
		bool inside = i >= 1 && i + 2 < even_count;
		double guess = inside ? 0.5625 * (evens[i] + evens[i + 1]) - 0.0625 * (evens[i - 1] + evens[i + 2])
							  : predict_edge(evens, even_count, i);
		odds[i] += sign * guess;
	}
}

// Add `sign` times the update from the details to each even sample; details past an end are zero.
void update(double* evens, size_t even_count, const double* odds, size_t odd_count,
			mocpack_LiftingUpdate kind, double sign)
{
	if (kind == MOCPACK_UPDATE_NONE)
		return;
	double near = kind == MOCPACK_UPDATE_42 ? 0.25 : 0.28125;
	double far = kind == MOCPACK_UPDATE_42 ? 0.0 : -0.03125;
	for (size_t i = 0; i < even_count; ++i)
	{
		double left = i >= 1 ? odds[i - 1] : 0.0, right = i < odd_count ? odds[i] : 0.0;
		double left2 = i >= 2 ? odds[i - 2] : 0.0, right2 = i + 1 < odd_count ? odds[i + 1] : 0.0;
		evens[i] += sign * (near * (left + right) + far * (left2 + right2));
	}
}

void forward(double* signal, size_t length, mocpack_LiftingUpdate kind, double* scratch)
{
	for (size_t size = length; size > 1; size = (size + 1) / 2)
	{
		size_t evens = (size + 1) / 2, odds = size / 2;
		for (size_t i = 0; i < size; ++i)
			scratch[i % 2 ? evens + i / 2 : i / 2] = signal[i];
		predict(scratch, evens, scratch + evens, odds, -1.0);
		update(scratch, evens, scratch + evens, odds, kind, 1.0);
		for (size_t i = 0; i < size; ++i)
			signal[i] = scratch[i];
	}
}

void inverse_step(double* signal, size_t size, mocpack_LiftingUpdate kind, double* scratch)
{
	size_t evens = (size + 1) / 2, odds = size / 2;
	for (size_t i = 0; i < size; ++i)
		scratch[i] = signal[i];
	update(scratch, evens, scratch + evens, odds, kind, -1.0);
	predict(scratch, evens, scratch + evens, odds, 1.0);
	for (size_t i = 0; i < size; ++i)
		signal[i] = scratch[i % 2 ? evens + i / 2 : i / 2];
}

// Band lengths are rounded up when halved, so the inverse must recompute them.
void inverse(double* signal, size_t length, mocpack_LiftingUpdate kind, double* scratch)
{
	int levels = 0;
	for (size_t size = length; size > 1; size = (size + 1) / 2)
		++levels;
	for (int level = levels - 1; level >= 0; --level)
	{
		size_t size = length;
		for (int k = 0; k < level; ++k)
			size = (size + 1) / 2;
		inverse_step(signal, size, kind, scratch);
	}
}

} // namespace

void mocpack_lifting_forward(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
							 double* scratch)
{
	for (size_t s = 0; s < count; ++s)
		forward(signals + s * length, length, kind, scratch);
}

void mocpack_lifting_inverse(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
							 double* scratch)
{
	for (size_t s = 0; s < count; ++s)
		inverse(signals + s * length, length, kind, scratch);
}
