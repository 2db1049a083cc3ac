// Elementary functions that return the same bits on every machine.
//
// Platforms' libraries differ in the last bit, and so would encoded files. Here all steps are IEEE
// operations, which are equal everywhere if compilers do not fuse them (-ffp-contract=off). Arguments are
// reduced until a Taylor series needs few terms. Errors are below 3 ulp; below 4 ulp for asin and acos; for
// pow(x, y) they grow with |y log x|.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace mocpack
{
namespace math
{

const double PI = 3.14159265358979323846;
const double LN2_HIGH = 0.693147180369123816490; // its last 21 bits are 0, so small multiples of it are exact
const double LN2_LOW = 1.90821492927058770002e-10;
const double LN2 = 0.693147180559945309417;

// 2^n, n within -1022 … 1023.
inline double power_of_two(int64_t n)
{
	const uint64_t bits = uint64_t(n + 1023) << 52;
	double x;
	std::memcpy(&x, &bits, sizeof x);
	return x;
}

// The sum rounds x to a whole number, whose last bits are those of the sum. |x| < 2^51.
const double ROUNDER = 6755399441055744.0; // 1.5 * 2^52

// An angle: at most π/4 radians, and quarter turns of which the last two bits count.
struct ReducedAngle
{
	double rest;
	unsigned quarters;
};

inline ReducedAngle reduce_angle(double x)
{
	// the parts of π/2: whole multiples of the first two are exact
	const double first = 1.57079632673412561417, second = 6.07710050630396597660e-11,
				 third = 2.02226624879595063154e-21;
	while (std::fabs(x) > 1e5)
		x -= std::floor(x / (2 * PI)) * (2 * PI);
	const double sum = x * (2 / PI) + ROUNDER, n = sum - ROUNDER;
	uint64_t bits;
	std::memcpy(&bits, &sum, sizeof bits);
	return {((x - n * first) - n * second) - n * third, unsigned(bits)};
}

// The series 1/first! + x/(first + step)! + x²/(first + 2 step)! … 1/last!. Compilers unroll it, unless they
// save code.
inline double factorial_series(double x, int first, int last, int step)
{
	double factorial = 1, sum = 0;
	for (int k = 2; k <= last; ++k)
		factorial *= k;
	for (int k = last; k >= first; k -= step)
	{
		sum = sum * x + 1 / factorial;
		factorial /= step == 2 ? k * (k - 1) : k;
	}
	return sum;
}

// The series 1/3 + x/5 + x²/7 … 1/last.
inline double odd_series(double x, int last)
{
	double sum = 0;
	for (int k = last; k >= 3; k -= 2)
		sum = sum * x + 1.0 / k;
	return sum;
}

// sin and cos of angles of at most π/4.
inline double sine_series(double x)
{
	const double xx = x * x;
	return x - x * (xx * factorial_series(-xx, 3, 17, 2));
}

inline double cosine_series(double x)
{
	const double xx = x * x;
	const double half = 0.5 * xx, whole = 1 - half;
	return whole + (((1 - whole) - half) + xx * xx * factorial_series(-xx, 4, 16, 2));
}

// Returns sin(x + quarters π/2). Angles above 100,000 radians are reduced by a rounded π, which moves them by
// about their ulp.
inline double sine_from(double x, unsigned quarters)
{
	const ReducedAngle a = reduce_angle(x);
	quarters += a.quarters;
	const double size = quarters & 1 ? cosine_series(a.rest) : sine_series(a.rest);
	return quarters & 2 ? -size : size;
}

inline double sin(double x)
{
	return sine_from(x, 0);
}

inline double cos(double x)
{
	return sine_from(x, 1);
}

// atan(y / x) in the quadrant of the point (x, y).
inline double atan2(double y, double x)
{
	// atan(n / 8)
	static const double ANGLES[] = {0.0,
									0.12435499454676143816,
									0.24497866312686414347,
									0.35877067027057225057,
									0.46364760900080609352,
									0.55859931534356243597,
									0.64350110879328437062,
									0.71882999962162454190,
									PI / 4};
	const double across = std::fabs(x), up = std::fabs(y);
	const bool steep = up > across;
	const double far = steep ? up : across, slope = far == 0 ? 0 : (steep ? across : up) / far;
	const int eighths = slope > 0 ? int(8 * slope + 0.5) : 0; // 0 for NaN
	const double near = 0.125 * eighths, t = (slope - near) / (1 + slope * near), tt = t * t;
	double angle = ANGLES[eighths] + (t - t * (tt * odd_series(-tt, 15)));
	angle = steep ? PI / 2 - angle : angle;
	angle = x < 0 ? PI - angle : angle;
	return std::copysign(angle, y);
}

// Arguments within -1 … 1.
inline double acos(double x)
{
	return atan2(std::sqrt((1 - x) * (1 + x)), x);
}

inline double asin(double x)
{
	return atan2(x, std::sqrt((1 - x) * (1 + x)));
}

// A positive number, as exponent and log(mantissa), with a mantissa within 1/√2 … √2.
struct SplitLogarithm
{
	double exponent, rest;
};

inline SplitLogarithm split_logarithm(double x)
{
	const double tiny = x < 2.2250738585072014e-308 ? 54 : 0; // subnormal numbers have no exponent
	x = tiny > 0 ? x * 18014398509481984.0 : x;
	uint64_t bits;
	std::memcpy(&bits, &x, sizeof bits);
	// the exponent counts from 1/√2 on
	const uint64_t apart = bits - 0x3fe6a09e667f3bcdu;
	const int64_t exponent = int64_t(apart) >> 52;
	bits -= uint64_t(exponent) << 52;
	double m;
	std::memcpy(&m, &bits, sizeof m);
	// log m = 2 atanh(z) = 2 (z + z³/3 + z⁵/5 …)
	const double f = m - 1, z = f / (2 + f), zz = z * z;
	// 2 z = f - f²/2 + z f²/2, where f is exact
	const double half = 0.5 * f * f;
	return {double(exponent) - tiny, f - (half - z * (half + 2 * zz * odd_series(zz, 21)))};
}

// Returns the logarithm of 0, infinity, NaN or a negative number.
inline double special_logarithm(double x)
{
	return x == 0 ? -HUGE_VAL : x < 0 ? NAN : x;
}

inline double log(double x)
{
	if (!(x > 0 && x < HUGE_VAL))
		return special_logarithm(x);
	const SplitLogarithm l = split_logarithm(x);
	return l.exponent * LN2_HIGH + (l.rest + l.exponent * LN2_LOW);
}

// Exact for powers of two.
inline double log2(double x)
{
	if (!(x > 0 && x < HUGE_VAL))
		return special_logarithm(x);
	const SplitLogarithm l = split_logarithm(x);
	return l.exponent + l.rest * (1 / LN2);
}

// exp(r) for r within ± log(2) / 2.
inline double exponential_series(double r)
{
	return 1 + (r + r * r * factorial_series(r, 2, 13, 1));
}

// Results below the normal numbers are 0.
inline double exp2(double x)
{
	if (!(x > -1022 && x < 1023.5))
		return x < 0 ? 0 : x > 0 ? HUGE_VAL : x;
	const double n = x + ROUNDER - ROUNDER;
	return exponential_series((x - n) * LN2) * power_of_two(int64_t(n));
}

inline double exp(double x)
{
	if (!(x > -708 && x < 709))
		return x < 0 ? 0 : x > 0 ? HUGE_VAL : x;
	const double n = x * (1 / LN2) + ROUNDER - ROUNDER;
	return exponential_series((x - n * LN2_HIGH) - n * LN2_LOW) * power_of_two(int64_t(n));
}

// x is not negative.
inline double pow(double x, double y)
{
	return y == 0 ? 1 : exp2(y * log2(x));
}

} // namespace math
} // namespace mocpack
