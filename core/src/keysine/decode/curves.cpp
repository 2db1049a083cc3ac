// From integers to motion: straight lines between keys, sine series on top, and the rotations they mean.
#include "keysine/decode/curves.h"

#include <cmath>

#include "common/small.h"
#include "common/wide.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// How many terms the series of sine and cosine take to be exact to rounding while the square of the half
// turn is at most so much: turns up to 0.6, 2 and 2π radians.
const double NEAR = 0.09, FAR = 1.0;
const int NEAR_TERMS = 6, FAR_TERMS = 9, MOST_TERMS = 13;

// sin(sqrt(s)) / sqrt(s) and cos(sqrt(s)) by their Taylor series in s: sums and products alone, so that
// every machine finds the same numbers, and no branch, so that the compiler can take several at once.
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

// Half the rotation vectors of several frames, and their squares.
struct Halves
{
	double x[LONGEST_BLOCK], y[LONGEST_BLOCK], z[LONGEST_BLOCK], square[LONGEST_BLOCK];
};

MOCPACK_WIDE void halve(const double* m, const double* x, int32_t stride, int32_t count, Halves* out)
{
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

inline void exponentials(int terms, const Halves& halves, const double* base, int32_t count, Quat* rotations)
{
	Quat first = load_quat(base);
	for (int32_t t = 0; t < count; ++t)
	{
		double scale, cosine;
		sine_cosine(terms, halves.square[t], &scale, &cosine);
		rotations[t] =
			multiply(first, Quat{scale * halves.x[t], scale * halves.y[t], scale * halves.z[t], cosine});
	}
}

// The same numbers, by loops that a small build need not write out: a term of all frames, then the next.
MOCPACK_COLD void put_rotations(const Halves& halves, const double* scale, const double* cosine,
								const double* base, int32_t count, Quat* rotations)
{
	Quat first = load_quat(base);
	for (int32_t t = 0; t < count; ++t)
		rotations[t] = multiply(
			first, Quat{scale[t] * halves.x[t], scale[t] * halves.y[t], scale[t] * halves.z[t], cosine[t]});
}

void exponentials_by_terms(int terms, const Halves& halves, const double* base, int32_t count,
						   Quat* rotations)
{
	double scale[LONGEST_BLOCK], cosine[LONGEST_BLOCK];
	for (int32_t t = 0; t < count; ++t)
		scale[t] = cosine[t] = 1.0;
	for (int i = terms; i > 0; --i)
	{
		const double sine_part = 1.0 / double(2 * i * (2 * i + 1)),
					 cosine_part = 1.0 / double(2 * i * (2 * i - 1));
		for (int32_t t = 0; t < count; ++t)
		{
			scale[t] = 1.0 - scale[t] * halves.square[t] * sine_part;
			cosine[t] = 1.0 - cosine[t] * halves.square[t] * cosine_part;
		}
	}
	put_rotations(halves, scale, cosine, base, count, rotations);
}

MOCPACK_WIDE void near_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials(NEAR_TERMS, h, base, count, rotations);
}

MOCPACK_WIDE void far_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials(FAR_TERMS, h, base, count, rotations);
}

MOCPACK_WIDE void all_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials(MOST_TERMS, h, base, count, rotations);
}

const double TWO_PI = 6.28318530717958647692;

// Turns about an axis of a hinge, after the rotations that are there.
MOCPACK_COLD void turn_about(const Track& track, int32_t c, const double* x, int32_t count, Quat* rotations)
{
	Vec3 axis = load_vec(track.axes + 3 * c);
	double unit = std::sqrt(dot(axis, axis));
	axis = 1.0 / unit * axis;
	for (int32_t t = 0; t < count; ++t)
	{
		double half = 0.5 * (track.angles[c] + unit * track.held(c, x[t])), sine_over, cosine;
		half -= TWO_PI * std::floor(half / TWO_PI + 0.5); // wheels turn many times
		sine_cosine(MOST_TERMS, half * half, &sine_over, &cosine);
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
		turn_about(track, c, x + c * stride, count, rotations);
}

void vector_rotations(const Track& track, const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	Halves halves;
	halve(track.axes, x, stride, count, &halves);
	double largest = 0;
	for (int32_t t = 0; t < count; ++t)
		largest = halves.square[t] > largest ? halves.square[t] : largest;
	if (SMALL)
		return exponentials_by_terms(largest <= NEAR  ? NEAR_TERMS
									 : largest <= FAR ? FAR_TERMS
													  : MOST_TERMS,
									 halves, track.base, count, rotations);
	auto turn = largest <= NEAR ? near_exponentials : largest <= FAR ? far_exponentials : all_exponentials;
	turn(halves, track.base, count, rotations);
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
	const double PI = 3.14159265358979323846;
	if (end <= first)
		return first;
	int32_t stride = padded(length);
	double* turn = table + stride; // row 1 is every sine there is: the others pick from it
	if (first < 2)
	{
		double scale = std::sqrt(2.0 / length);
		for (int32_t t = 0; t < stride; ++t)
			table[t] = 0.0, turn[t] = t < length ? scale * std::sin(PI * double(t) / double(length)) : 0.0;
	}
	for (int32_t k = first < 2 ? 2 : first; k < end; ++k)
		for (int32_t t = 0, at = 0; t < stride; ++t)
		{
			// sin(x + π) = - sin(x)
			table[k * stride + t] = t >= length ? 0.0 : at < length ? turn[at] : -turn[at - length];
			at += k;
			at -= at >= 2 * length ? 2 * length : 0;
		}
	return end < 2 ? 2 : end;
}

namespace
{

// Where the frequencies of a predictor's band begin and end, in half hertz.
const int32_t SLOW = 5, FAST = 15;

bool in_band(int32_t band, int32_t pace)
{
	return band == 0 || (band == 1 ? pace <= SLOW : band == 2 ? pace > SLOW : pace > FAST);
}

} // namespace

MOCPACK_COLD size_t SeriesBlock::foretell(int32_t channel, int32_t n, size_t next) const
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
		while (k <= end && !in_band(p.band, pace(k, tempo)))
			++k;
		for (; extent < end; ++extent)
			row[extent + 1] = 0;
		for (; k <= end && in_band(p.band, pace(k, tempo)); ++k)
			row[k] += factor * source[k];
	}
	extents[channel] = extent;
	return next;
}

size_t SeriesBlock::fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
						 size_t next) const
{
	double* row = series + channel * width;
	next = foretell(channel, n, next);
	int32_t extent = extents[channel], last = step > 0 ? reach : 0;
	for (; extent < last; ++extent)
		row[extent + 1] = 0;
	for (int32_t k = 1; k <= last; ++k)
		row[k] += step * double(values[k]);
	extents[channel] = extent;
	return next;
}

MOCPACK_WIDE void block_values(double* values, const double* sines, int32_t length, int32_t first,
							   int32_t stop, double key, double next_key, const double* series,
							   int32_t extent)
{
	int32_t stride = padded(length);
	double slope = (next_key - key) / double(length);
	for (int32_t t = first; t < stop; ++t)
		values[t] = key + slope * double(t);
	int32_t k = 1;
	for (; k + 3 <= extent; k += 4) // four at once, so that the values are fetched and put back less often
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
}

} // namespace keysine
} // namespace mocpack
