// The inner loops of the search: squared displacements of points over time.
#include "keysine/encode/squares.h"

#include "common/simd_clones.h"
#include "math/vectors.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int LANES = 8;

// Vectors of eight floats, because compilers do not vectorize loops with a choice or a sum by themselves.
#if MOCPACK_VECTOR_TYPES
typedef float Eight __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline void keep_larger(Eight* a, const Eight& b)
{
	*a = b > *a ? b : *a;
}
#else
using Eight = PlainVector<float, LANES>;

inline void keep_larger(Eight* a, const Eight& b)
{
	*a = larger(b, *a);
}
#endif

inline const Eight& eight(const float* at)
{
	return *reinterpret_cast<const Eight*>(at);
}

inline float sum_of(const Eight& lanes)
{
	return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

} // namespace

MOCPACK_SIMD_CLONES void add_wave(float* gap, const float* move, const float* wave, float size,
								  int32_t stride, int32_t points)
{
	for (int32_t r = 0; r < 3 * points; ++r)
		for (int32_t t = 0; t < stride; ++t)
			gap[r * stride + t] += move[r * stride + t] * (size * wave[t]);
}

MOCPACK_SIMD_CLONES void add_row(float* sum, const float* row, float size, int32_t stride)
{
	for (int32_t t = 0; t < stride; t += LANES)
		for (int32_t l = t; l < t + LANES; ++l)
			sum[l] += size * row[l];
}

MOCPACK_SIMD_CLONES float inner_product(const float* a, const float* b, int32_t stride)
{
	Eight lanes = {};
	for (int32_t t = 0; t < stride; t += LANES)
		lanes += eight(a + t) * eight(b + t);
	return sum_of(lanes);
}

MOCPACK_SIMD_CLONES void multiply_rows(const float* a, const float* b, int32_t stride, int32_t points,
									   float* out)
{
	for (int32_t i = 0; i < points; ++i, a += 3 * stride, b += 3 * stride, out += stride)
		for (int32_t t = 0; t < stride; ++t)
			out[t] = a[t] * b[t] + a[stride + t] * b[stride + t] + a[2 * stride + t] * b[2 * stride + t];
}

MOCPACK_SIMD_CLONES float price(const float* now, const float* along, const float* across, const float* wave,
								float size, int32_t stride, int32_t points, float excess, float quartic,
								float squared, float limit, int32_t* evaluated)
{
	float total = 0;
	*evaluated = 0;
	for (int32_t i = 0; i < points; ++i, now += stride, along += stride, across += stride)
	{
		Eight lanes = {};
		for (int32_t t = 0; t < stride; t += LANES)
		{
			Eight w = size * eight(wave + t);
			Eight u = eight(now + t) + w * (2.0f * eight(along + t) + w * eight(across + t));
			Eight beyond = u - 1.0f;
			keep_larger(&beyond, Eight{});
			lanes += excess * beyond + u * (squared + quartic * u);
		}
		total += sum_of(lanes);
		*evaluated = i + 1;
		if (total > limit)
			break;
	}
	return total;
}

MOCPACK_SIMD_CLONES float price_of(const float* now, int32_t cells, float excess, float quartic,
								   float squared)
{
	Eight lanes = {};
	for (int32_t i = 0; i < cells; i += LANES)
	{
		Eight u = eight(now + i), beyond = u - 1.0f;
		keep_larger(&beyond, Eight{});
		lanes += excess * beyond + u * (squared + quartic * u);
	}
	return sum_of(lanes);
}

MOCPACK_SIMD_CLONES void change_squares(float* now, const float* along, const float* across,
										const float* wave, float size, int32_t stride, int32_t points)
{
	for (int32_t i = 0; i < points; ++i, now += stride, along += stride, across += stride)
		for (int32_t t = 0; t < stride; ++t)
		{
			float w = size * wave[t];
			now[t] += w * (2.0f * along[t] + w * across[t]);
		}
}

MOCPACK_SIMD_CLONES void change_products(float* along, const float* across, const float* wave, float size,
										 int32_t stride, int32_t points)
{
	for (int32_t i = 0; i < points; ++i, along += stride, across += stride)
		for (int32_t t = 0; t < stride; ++t)
			along[t] += size * wave[t] * across[t];
}

MOCPACK_SIMD_CLONES float largest(const float* now, int32_t cells)
{
	Eight lanes = {};
	for (int32_t i = 0; i < cells; i += LANES)
		keep_larger(&lanes, eight(now + i));
	float most = 0;
	for (int l = 0; l < LANES; ++l)
		most = lanes[l] > most ? lanes[l] : most;
	return most;
}

MOCPACK_SIMD_CLONES void pull_of(const float* now, const float* along, int32_t stride, int32_t points,
								 float* pull)
{
	for (int32_t t = 0; t < stride; ++t)
		pull[t] = 0;
	for (int32_t i = 0; i < points; ++i, now += stride, along += stride)
		for (int32_t t = 0; t < stride; ++t)
			pull[t] += now[t] > 1.0f ? along[t] : 0.0f;
}

} // namespace keysine
} // namespace mocpack
