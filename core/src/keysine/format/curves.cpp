// Reconstructs motion: lines between key poses, plus sine series, converted to rotations.
#include "keysine/format/curves.h"

#include <cmath>
#include <cstring>

#include "common/simd_clones.h"
#include "common/small_build.h"
#include "keysine/format/limits.h"
#include "math/elementary.h"
#include "math/lanes.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Taylor terms of sine and cosine that are accurate to rounding, by the squared half angle: for rotations up
// to 0.6, 2 and 2π radians.
const double NEAR = 0.09, FAR = 1.0;
const int NEAR_TERMS = 6, FAR_TERMS = 9, MAX_TERMS = 13;

// sin(sqrt(s)) / sqrt(s) and cos(sqrt(s)) by Taylor series in s. Only sums and products, so that every
// machine computes the same numbers; no branches, so that the compiler can vectorize.
inline void sine_cosine(int terms, double s, double* sine_over, double* cosine)
{
	double a = 1.0, b = 1.0;
	for (int i = terms; i > 0; --i)
	{
		a = 1.0 - a * s * (1.0 / double(2 * i * (2 * i + 1)));
		b = 1.0 - b * s * (1.0 / double(2 * i * (2 * i - 1)));
	}
	*sine_over = a;
	*cosine = b;
}

// Half rotation vectors of several frames, and their squared lengths.
struct Halves
{
	double x[MAX_BLOCK_FRAMES], y[MAX_BLOCK_FRAMES], z[MAX_BLOCK_FRAMES], square[MAX_BLOCK_FRAMES];
};

MOCPACK_SIMD_CLONES void halve(const double* m, const double* x, int32_t stride, int32_t count,
							   Halves* __restrict out)
{
	if (SMALL_BUILD) // process pairs; rows have room for one extra frame
		count = (count + 1) & ~1;
	const double *x0 = x, *x1 = x + stride, *x2 = x + 2 * stride;
	for (int32_t t = 0; t < count; ++t)
	{
		double a = 0.5 * (m[0] * x0[t] + m[3] * x1[t] + m[6] * x2[t]);
		double b = 0.5 * (m[1] * x0[t] + m[4] * x1[t] + m[7] * x2[t]);
		double c = 0.5 * (m[2] * x0[t] + m[5] * x1[t] + m[8] * x2[t]);
		out->x[t] = a, out->y[t] = b, out->z[t] = c;
		out->square[t] = a * a + b * b + c * c;
	}
}

// Factors of the terms of the two series above.
struct SeriesParts
{
	double sine[MAX_TERMS + 1], cosine[MAX_TERMS + 1];
};

constexpr SeriesParts series_parts()
{
	SeriesParts parts{};
	for (int i = 1; i <= MAX_TERMS; ++i)
	{
		parts.sine[i] = 1.0 / double(2 * i * (2 * i + 1));
		parts.cosine[i] = 1.0 / double(2 * i * (2 * i - 1));
	}
	return parts;
}

// Neighboring frames: as many as vectors of AVX2 have doubles. Other processors compute them in two vectors.
#if MOCPACK_VECTOR_TYPES && !defined(MOCPACK_SMALL)
typedef double Frames __attribute__((vector_size(32)));
const int32_t WIDTH = 4;
#else
using Frames = Lanes;
const int32_t WIDTH = int32_t(lane_count);
#endif
const int32_t MANY = SMALL_BUILD ? 1 : 4; // independent chains, for instruction-level parallelism

// Like sine_cosine for several frames, and computes the rotations relative to `base`.
MOCPACK_SIMD_CLONES void exponentials(int terms, const Halves& halves, const double* base, int32_t count,
									  Quat* rotations)
{
	static constexpr SeriesParts PARTS = series_parts();
	const Frames one = Frames{} + 1.0;
	const QuatOf<Frames> first = {Frames{} + base[0], Frames{} + base[1], Frames{} + base[2],
								  Frames{} + base[3]};
	for (int32_t from = 0; from < count; from += MANY * WIDTH)
	{
		Frames square[MANY], sine[MANY], cosine[MANY];
		std::memcpy(square, halves.square + from, sizeof square);
		MOCPACK_UNROLL for (int32_t k = 0; k < MANY; ++k) sine[k] = cosine[k] = one;
		for (int i = terms; i > 0; --i)
			MOCPACK_UNROLL for (int32_t k = 0; k < MANY; ++k)
			{
				sine[k] = one - sine[k] * square[k] * PARTS.sine[i];
				cosine[k] = one - cosine[k] * square[k] * PARTS.cosine[i];
			}
		MOCPACK_UNROLL for (int32_t k = 0; k < MANY; ++k)
		{
			const int32_t t = from + k * WIDTH;
			QuatOf<Frames> q;
			std::memcpy(&q.x, halves.x + t, sizeof q.x);
			std::memcpy(&q.y, halves.y + t, sizeof q.y);
			std::memcpy(&q.z, halves.z + t, sizeof q.z);
			q = multiply(first, QuatOf<Frames>{sine[k] * q.x, sine[k] * q.y, sine[k] * q.z, cosine[k]});
			for (int32_t l = 0; l < WIDTH && t + l < count; ++l)
				rotations[t + l] = {q.x[l], q.y[l], q.z[l], q.w[l]};
		}
	}
}

const double TWO_PI = 6.28318530717958647692, PI_SQUARED = 9.86960440108935861883;

// Wraps half angles above π, since coarse steps may produce vectors beyond a full turn, where the series are
// inaccurate.
MOCPACK_COLD void wrap(int32_t count, Halves* halves)
{
	for (int32_t t = 0; t < count; ++t)
	{
		if (!(halves->square[t] > PI_SQUARED))
			continue;
		double half = std::sqrt(halves->square[t]), wrapped = half - TWO_PI * std::floor(half / TWO_PI + 0.5),
			   scale = wrapped / half;
		halves->x[t] *= scale, halves->y[t] *= scale, halves->z[t] *= scale;
		halves->square[t] = wrapped * wrapped;
	}
}

// Applies rotations about a hinge axis after the existing ones.
MOCPACK_COLD void rotate_about(const Track& track, int32_t c, const double* x, int32_t count, Quat* rotations)
{
	Vec3 axis = load_vec(track.axes + 3 * c);
	double unit = std::sqrt(dot(axis, axis));
	axis = 1.0 / unit * axis;
	for (int32_t t = 0; t < count; ++t)
	{
		double half = 0.5 * (track.angles[c] + unit * track.held(c, x[t])), sine_over, cosine;
		half -= TWO_PI * std::floor(half / TWO_PI + 0.5); // wheels may rotate many times
		sine_cosine(MAX_TERMS, half * half, &sine_over, &cosine);
		double sine = sine_over * half;
		rotations[t] = multiply(rotations[t], Quat{sine * axis.x, sine * axis.y, sine * axis.z, cosine});
	}
}

MOCPACK_COLD void hinge_rotations(const Track& track, const double* x, int32_t stride, int32_t count,
								  Quat* rotations)
{
	for (int32_t t = 0; t < count; ++t)
		rotations[t] = load_quat(track.base);
	for (int32_t c = 0; c < track.channels; ++c)
		rotate_about(track, c, x + c * stride, count, rotations);
}

void vector_rotations(const Track& track, const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	Halves halves;
	halve(track.axes, x, stride, count, &halves);
	double largest = 0;
	for (int32_t t = 0; t < count; ++t)
		largest = halves.square[t] > largest ? halves.square[t] : largest;
	if (largest > PI_SQUARED)
		wrap(count, &halves);
	for (int32_t t = count; t % (MANY * WIDTH); ++t) // padding after the last frame
		halves.x[t] = halves.y[t] = halves.z[t] = halves.square[t] = 0;
	exponentials(largest <= NEAR  ? NEAR_TERMS
				 : largest <= FAR ? FAR_TERMS
								  : MAX_TERMS,
				 halves, track.base, count, rotations);
}

MOCPACK_COLD void quaternion_rotations(const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	for (int32_t t = 0; t < count; ++t)
	{
		Quat q = {x[t], x[stride + t], x[2 * stride + t], x[3 * stride + t]};
		double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		double scale = square > 0 ? 1.0 / std::sqrt(square) : 0.0;
		rotations[t] = {scale * q.x, scale * q.y, scale * q.z, square > 0 ? scale * q.w : 1.0};
	}
}

} // namespace

MOCPACK_COLD int32_t fill_sines(double* table, int32_t length, int32_t first, int32_t end)
{
	if (end <= first)
		return first;
	int32_t stride = padded(length);
	// row 1 contains all sines; the other rows copy from it and from row 0, since sin(x + π) = - sin(x)
	double* turn = table + stride;
	if (first < 2)
	{
		double scale = std::sqrt(2.0 / length);
		for (int32_t t = 0; t < stride; ++t)
		{
			turn[t] = t < length ? scale * math::sin(math::PI * double(t) / double(length)) : 0.0;
			table[t] = -turn[t];
		}
	}
	for (int32_t k = first < 2 ? 2 : first; k < end; ++k)
	{
		double* row = table + k * stride;
		for (int32_t t = 0, at = 0; t < length; ++t)
		{
			row[t] = table[at < length ? stride + at : at - length]; // without a branch
			at += k;
			at -= at >= 2 * length ? 2 * length : 0;
		}
		for (int32_t t = length; t < stride; ++t)
			row[t] = 0.0;
	}
	return end < 2 ? 2 : end;
}

MOCPACK_COLD size_t SeriesBlock::predict_series(int32_t channel, int32_t n, size_t next) const
{
	double* row = series + channel * width;
	int32_t extent = 0;
	while (next < predictor_count && predictors[next].channel < channel)
		++next;
	for (; next < predictor_count && predictors[next].channel == channel; ++next)
	{
		const Predictor& p = predictors[next];
		const double* source = series + p.source * width;
		double factor = double(p.factor) / 16.0;
		int32_t end = lesser(extents[p.source], n), k = 1;
		while (k <= end && !in_band(p.band, normalized_frequency(k, tempo)))
			++k;
		for (; extent < end; ++extent)
			row[extent + 1] = 0;
		for (; k <= end && in_band(p.band, normalized_frequency(k, tempo)); ++k)
			row[k] += factor * source[k];
	}
	extents[channel] = extent;
	return next;
}

size_t SeriesBlock::fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
						 size_t next) const
{
	double* row = series + channel * width;
	next = predict_series(channel, n, next);
	int32_t extent = extents[channel], last = step > 0 ? reach : 0;
	for (; extent < last; ++extent)
		row[extent + 1] = 0;
	for (int32_t k = 1; k <= last; ++k)
		row[k] += step * double(values[k]);
	extents[channel] = extent;
	return next;
}

MOCPACK_SIMD_CLONES void block_values(double* __restrict values, const double* sines, int32_t length,
									  int32_t first, int32_t stop, double key, double next_key,
									  const double* series, int32_t extent)
{
	int32_t stride = padded(length);
	if (SMALL_BUILD) // as in halve
		first &= ~1, stop = (stop + 1) & ~1;
	double slope = (next_key - key) / double(length);
	for (int32_t t = first; t < stop; ++t)
		values[t] = key + slope * double(t);
	int32_t k = 1;
	for (; k + 3 <= extent; k += 4) // four at a time, to load and store values less often
	{
		const double* row = sines + k * stride;
		double a = series[k], b = series[k + 1], c = series[k + 2], d = series[k + 3];
		for (int32_t t = first; t < stop; ++t)
			values[t] +=
				(a * row[t] + b * row[stride + t]) + (c * row[2 * stride + t] + d * row[3 * stride + t]);
	}
	for (; k <= extent; ++k)
	{
		const double* row = sines + k * stride;
		double size = series[k];
		for (int32_t t = first; t < stop; ++t)
			values[t] += size * row[t];
	}
}

void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count, Quat* rotations)
{
	if (track.kind == HINGE_TRACK)
		hinge_rotations(track, values, stride, count, rotations);
	else if (track.kind == VECTOR_TRACK)
		vector_rotations(track, values, stride, count, rotations);
	else
		quaternion_rotations(values, stride, count, rotations);
	if (track.clamped_hinges && track.kind != HINGE_TRACK)
		clamp_rotations(*track.own, track.clamped_hinges, count, rotations);
}

MOCPACK_COLD void track_translations(const Track& track, const double* values, int32_t stride, int32_t count,
									 Vec3* places)
{
	if (track.hinge >= 0)
	{
		for (int32_t t = 0; t < count; ++t)
			places[t] = load_vec(track.base);
		for (int32_t c = 0; c < track.channels; ++c)
			for (int32_t t = 0; t < count; ++t)
				places[t] = places[t] + track.held(c, values[c * stride + t]) * load_vec(track.axes + 3 * c);
		return;
	}
	double scale = track.axes[0];
	for (int32_t t = 0; t < count; ++t)
		places[t] = {track.base[0] + scale * values[t], track.base[1] + scale * values[stride + t],
					 track.base[2] + scale * values[2 * stride + t]};
	if (track.clamped_hinges)
		clamp_places(*track.own, track.clamped_hinges, count, places);
}

} // namespace keysine
} // namespace mocpack
