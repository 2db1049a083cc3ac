// Squared displacements of points over time, what they cost, and how a change of one coefficient moves them.
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

// Sum of products of two rows.
float inner_product(const float* a, const float* b, int32_t stride);

// Squared displacements and how they depend on the channels, point by point and frame by frame: with w of
// channel c, the square is now + w (2 along[c] + w across[c][c]). The search asks this far more often than it
// changes anything.
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

// Price of the squares after `size` times `wave` of one channel; gives up above `limit`.
float price(const float* now, const float* along, const float* across, const float* wave, float size,
			int32_t stride, int32_t points, float excess, float quartic, float squared, float limit);

// Price of the squares as they are.
float price_of(const float* now, int32_t cells, float excess, float quartic, float squared);

// now += w (2 along + w across), w = size * wave
void change_squares(float* now, const float* along, const float* across, const float* wave, float size,
					int32_t stride, int32_t points);

// along += w across
void change_products(float* along, const float* across, const float* wave, float size, int32_t stride,
					 int32_t points);

float largest(const float* now, int32_t cells);

// Gradient by time (stride) of the price of points outside their allowance, over twice the excess penalty.
void pull_of(const float* now, const float* along, int32_t stride, int32_t points, float* pull);

} // namespace keysine
} // namespace mocpack
