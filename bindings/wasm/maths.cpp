// Powers and sines without the tables of a C library, which would be a tenth of the wasm file.
//
// To a few units in the last place over what the decoder asks: powers of positive numbers, sines of angles
// between 0 and 2π. Symbols never depend on them, since those are integers.
#include <cmath>

namespace
{

const double LN2 = 0.693147180559945309417;
const double PI = 3.14159265358979323846;

// log(x) = e log 2 + 2 atanh((m - 1) / (m + 1)), m within 1/√2 … √2.
double logarithm(double x)
{
	int exponent;
	double m = std::frexp(x, &exponent);
	if (m < 0.70710678118654752440)
		m *= 2, --exponent;
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
	return std::ldexp(sum, int(n));
}

} // namespace

extern "C" double pow(double x, double y)
{
	return exponential(y * logarithm(x));
}

// What compilers make of powers of two.
extern "C" double exp2(double x)
{
	return exponential(x * LN2);
}

// Folded to within π/2 of zero, then by its series.
extern "C" double sin(double x)
{
	double halves = std::floor(x / PI + 0.5), r = x - halves * PI, sum = 1;
	for (int k = 24; k > 0; k -= 2)
		sum = 1 - sum * r * r / (k * (k + 1));
	return (halves - 2 * std::floor(halves / 2) != 0 ? -r : r) * sum;
}

extern "C" double cos(double x)
{
	return sin(x + PI / 2);
}
