// Adaptive linear prediction: recursive least squares with forgetting.
//
// Uses only + - * / of IEEE doubles in a fixed order (four running sums, then their sum), so that every
// machine computes the same predictions. Compile with contraction off. The caller provides the memory.
#pragma once
#include <cstddef>

#include "common/small_build.h"

namespace mocpack
{

const size_t LANES = 4; // part of the format: the number of running sums affects rounding

inline size_t pad_to_lanes(size_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

inline double dot(const double* a, const double* b, size_t n)
{
	double sums[LANES] = {0, 0, 0, 0};
	for (size_t i = 0; i < n; i += LANES)
		for (size_t k = 0; k < LANES; ++k)
			sums[k] += a[i + k] * b[i + k];
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Predicts a number from n inputs; keeps the weights and the inverse of the inputs' covariance.
struct RecursiveLeastSquares
{
	size_t n = 0, stride = 0; // stride is n padded; inputs and weights after n stay 0
	double forgetting = 1, caution = 1;
	double* weights = nullptr; // (stride)
	double* gain = nullptr;	   // (stride)
	double* inverse = nullptr; // (n, stride), scaled by
	double scale = 1;

	static size_t doubles(size_t n)
	{
		return (n + 2) * pad_to_lanes(n);
	}

	double* place(size_t count, double forget, double doubt, double* memory)
	{
		n = count;
		stride = pad_to_lanes(n);
		forgetting = forget;
		caution = doubt;
		weights = memory;
		gain = weights + stride;
		inverse = gain + stride;
		for (size_t i = 0; i < 2 * stride; ++i)
			weights[i] = 0;
		reset();
		return memory + doubles(n);
	}

	double predict(const double* inputs) const
	{
		return dot(weights, inputs, stride);
	}

	// `predicted` is the result of predict(inputs), `actual` the true value.
	void learn(const double* inputs, double predicted, double actual);

  private:
	void forget(double trace)
	{
		// the inverse would grow without limit if inputs stay 0
		if (trace * caution < double(n))
			scale /= forgetting;
		if (scale < 1048576)
			return;
		for (size_t i = 0; i < n * stride; ++i)
			inverse[i] *= scale;
		scale = 1;
	}

	void reset()
	{
		scale = 1;
		for (size_t i = 0; i < n; ++i)
			for (size_t j = 0; j < stride; ++j)
				inverse[i * stride + j] = i == j ? 1 / caution : 0;
	}
};

// Blends a few predictions of one number: least squares, regularized towards the initial weights.
template <int MOST> struct Blend
{
	int n = 0;
	double forgetting = 1, pull = 1;
	double weights[MOST] = {}, start[MOST] = {};
	double moments[MOST][MOST] = {}, products[MOST] = {};

	double predict(const double* inputs) const
	{
		double sum = 0;
		for (int i = 0; i < n; ++i)
			sum += weights[i] * inputs[i];
		return sum;
	}

	void learn(const double* inputs, double actual)
	{
		// a constant count lets the compiler unroll; results are the same
		switch (SMALL_BUILD ? 0 : n)
		{
		case 3:
			return learn_of<3>(inputs, actual);
		case 4:
			return learn_of<4>(inputs, actual);
		case 5:
			return learn_of<5>(inputs, actual);
		default:
			return learn_of<0>(inputs, actual);
		}
	}

  private:
	// Solves (moments + pull) weights = products + pull start by L D Lᵀ; COUNT is n, or 0 if not constant
	template <int COUNT> void learn_of(const double* inputs, double actual)
	{
		const int count = COUNT ? COUNT : n;
		for (int i = 0; i < count; ++i)
		{
			for (int j = 0; j <= i; ++j)
				moments[i][j] = forgetting * moments[i][j] + inputs[i] * inputs[j];
			products[i] = forgetting * products[i] + inputs[i] * actual;
		}
		double lower[MOST][MOST], diagonal[MOST], y[MOST];
		for (int j = 0; j < count; ++j)
		{
			double own = moments[j][j] + pull, d = own;
			for (int k = 0; k < j; ++k)
				d -= lower[j][k] * lower[j][k] * diagonal[k];
			diagonal[j] = d > 1e-6 * own ? d : 1e-6 * own;
			for (int i = j + 1; i < count; ++i)
			{
				double sum = moments[i][j];
				for (int k = 0; k < j; ++k)
					sum -= lower[i][k] * lower[j][k] * diagonal[k];
				lower[i][j] = sum / diagonal[j];
			}
		}
		for (int i = 0; i < count; ++i)
		{
			y[i] = products[i] + pull * start[i];
			for (int k = 0; k < i; ++k)
				y[i] -= lower[i][k] * y[k];
		}
		for (int i = count - 1; i >= 0; --i)
		{
			weights[i] = y[i] / diagonal[i];
			for (int k = i + 1; k < count; ++k)
				weights[i] -= lower[k][i] * weights[k];
		}
	}
};

} // namespace mocpack
