// Squared displacements of points over time, their price, and how a change of one coefficient changes them.
#pragma once
#include <cstdint>

namespace mocpack
{
namespace keysine
{

// Arrays over time have `stride` columns, a multiple of 8, zero past the end.

// Adds `size` times `wave` of one channel to the displacements (I, 3, stride).
void add_wave(float* gap, const float* move, const float* wave, float size, int32_t stride, int32_t points);

// sum += size * row
void add_row(float* sum, const float* row, float size, int32_t stride);

// Returns the inner product of two rows.
float inner_product(const float* a, const float* b, int32_t stride);

// Squared displacements, and how they depend on the channels, by point and frame. If channel c changes by w,
// the square becomes now + w (2 along[c] + w across[c][c]). The search evaluates this far more often than it
// changes coefficients.
struct Squares
{
	float* now;	   // (I, stride)
	float* along;  // (C, I, stride) displacement times move
	float* across; // (pairs of channels, I, stride) move times move
	int32_t cells; // I * stride
	int32_t channels;

	float* of_pair(int32_t c, int32_t d) const
	{
		return across + ((c < d ? d * (d + 1) / 2 + c : c * (c + 1) / 2 + d)) * cells;
	}
};

void multiply_rows(const float* a, const float* b, int32_t stride, int32_t points, float* out);

// Returns the price of the squares after `size` times `wave` is added to one channel. Stops early above
// `limit`. evaluated: receives the number of points whose squares it has computed.
float price(const float* now, const float* along, const float* across, const float* wave, float size,
			int32_t stride, int32_t points, float excess, float quartic, float squared, float limit,
			int32_t* evaluated);

// Returns the price of the current squares.
float price_of(const float* now, int32_t cells, float excess, float quartic, float squared);

// now += w (2 along + w across), w = size * wave
void change_squares(float* now, const float* along, const float* across, const float* wave, float size,
					int32_t stride, int32_t points);

// along += w across
void change_products(float* along, const float* across, const float* wave, float size, int32_t stride,
					 int32_t points);

float largest(const float* now, int32_t cells);

// Computes the gradient by time (stride) of the price of points outside their allowance, divided by twice the
// excess penalty.
void pull_of(const float* now, const float* along, int32_t stride, int32_t points, float* pull);

} // namespace keysine
} // namespace mocpack
