// The C library functions that the reader and the receiver of live streams need. Powers and sines use no
// tables, which would add a tenth to the wasm file.
//
// They are accurate to a few units in the last place for the decoder's inputs: powers of positive normal
// numbers, and sines of up to a few thousand turns. For larger angles, sine and cosine are still those of the
// same angle. Decoded symbols do not depend on them, since those use integers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace
{

uint64_t bits_of(double x)
{
	uint64_t bits;
	std::memcpy(&bits, &x, sizeof bits);
	return bits;
}

double number_of(uint64_t bits)
{
	double x;
	std::memcpy(&x, &bits, sizeof x);
	return x;
}

// 2^n, n within ± 1022.
double power_of_two(int n)
{
	return number_of(uint64_t(n + 1023) << 52);
}

const double LN2 = 0.693147180559945309417;
const double PI = 3.14159265358979323846;

// log(x) = e log 2 + 2 atanh((m - 1) / (m + 1)), m within 1/√2 … √2.
double logarithm(double x)
{
	int exponent = int(bits_of(x) >> 52) - 1023;
	double m = x * power_of_two(-exponent);
	if (m > 1.41421356237309504880)
		m /= 2, ++exponent;
	double z = (m - 1) / (m + 1), sum = 0;
	for (int k = 21; k > 0; k -= 2)
		sum = sum * z * z + 2.0 / k;
	return exponent * LN2 + z * sum;
}

// exp(x) = 2^n exp(r), r within ± log 2 / 2.
double exponential(double x)
{
	double n = std::floor(x / LN2 + 0.5), r = x - n * LN2, sum = 1;
	for (int k = 16; k > 0; --k)
		sum = 1 + sum * r / k;
	return sum * power_of_two(int(n));
}

} // namespace

// Exact for powers of two.
extern "C" double log2(double x)
{
	const int exponent = int(bits_of(x) >> 52) - 1023;
	return exponent + logarithm(x * power_of_two(-exponent)) / LN2;
}

extern "C" double pow(double x, double y)
{
	return exponential(y * logarithm(x));
}

// For results in the range of double.
extern "C" double ldexp(double x, int n)
{
	return x * power_of_two(n);
}

// Compilers call this for powers of two.
extern "C" double exp2(double x)
{
	return exponential(x * LN2);
}

namespace
{

// Reduces an angle of up to a few thousand turns.
double folded(double x)
{
	while (std::fabs(x) > 1e5)
		x -= std::floor(x / (2 * PI)) * (2 * PI);
	return x;
}

// Reduces the angle to ± π/2, then uses the series.
double sine(double x)
{
	double halves = std::floor(x / PI + 0.5), r = x - halves * PI, sum = 1;
	for (int k = 24; k > 0; k -= 2)
		sum = 1 - sum * r * r / (k * (k + 1));
	return (halves - 2 * std::floor(halves / 2) != 0 ? -r : r) * sum;
}

} // namespace

extern "C" double sin(double x)
{
	return sine(folded(x));
}

extern "C" double cos(double x)
{
	return sine(folded(x) + PI / 2);
}

// For y >= 0 and not both zero. The tangent of an eighth of the angle is small enough for the series.
extern "C" double atan2(double y, double x)
{
	double t = y, cosine = std::fabs(x), sum = 0;
	for (int k = 0; k < 3; ++k)
	{
		t /= cosine + std::sqrt(cosine * cosine + t * t);
		cosine = 1;
	}
	for (int k = 25; k > 0; k -= 2)
		sum = 1.0 / k - sum * t * t;
	return x < 0 ? PI - 8 * t * sum : 8 * t * sum;
}

// Does not handle NaN.
extern "C" double fmax(double a, double b)
{
	return __builtin_wasm_max_f64(a, b);
}

extern "C" int memcmp(const void* a, const void* b, size_t size)
{
	const uint8_t *x = static_cast<const uint8_t*>(a), *y = static_cast<const uint8_t*>(b);
	for (size_t i = 0; i < size; ++i)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}
