// Elementary functions return the same bits on every machine, and those are right.
#include "elementary_bits.h"

#include <cinttypes>
#include <cstdio>

namespace
{

int wrong = 0;

// The platform's library is right to 1 ulp or so.
void check(const char* name, double found, double expected, double max_ulp)
{
	const double ulp = std::nextafter(std::fabs(expected), HUGE_VAL) - std::fabs(expected);
	if (std::fabs(found - expected) <= max_ulp * ulp || (found != found && expected != expected) ||
		found == expected)
		return;
	std::printf("%s: expected %.17g, got %.17g\n", name, expected, found);
	++wrong;
}

void check_accuracy()
{
	for (int i = 1; i < 20000; ++i)
	{
		const double x = i * 0.001, share = i / 20000.0;
		using namespace mocpack;
		check("sin", math::sin(x - 10), std::sin(x - 10), 3);
		check("cos", math::cos(x - 10), std::cos(x - 10), 3);
		check("atan2", math::atan2(x - 10, 3 - x), std::atan2(x - 10, 3 - x), 3);
		check("acos", math::acos(2 * share - 1), std::acos(2 * share - 1), 4);
		check("asin", math::asin(2 * share - 1), std::asin(2 * share - 1), 4);
		check("log", math::log(x), std::log(x), 3);
		check("log2", math::log2(x), std::log2(x), 3);
		check("exp", math::exp(x - 10), std::exp(x - 10), 3);
		check("exp2", math::exp2(x - 10), std::exp2(x - 10), 3);
		check("pow", math::pow(x, 2 * share), std::pow(x, 2 * share), 12);
	}
}

void check_special_values()
{
	using namespace mocpack;
	const double infinite = HUGE_VAL, none = NAN, zero = 0;
	check("sin of infinity", math::sin(infinite), none, 0);
	check("sin of NaN", math::sin(none), none, 0);
	check("atan2 of zeros", math::atan2(zero, zero), 0, 0);
	check("atan2 to the left", math::atan2(zero, -1.0), std::atan2(zero, -1.0), 0);
	check("atan2 to the left from below", math::atan2(-zero, -1.0), std::atan2(-zero, -1.0), 0);
	check("atan2 of NaN", math::atan2(none, 1.0), none, 0);
	check("atan2 by NaN", math::atan2(1.0, none), none, 0);
	check("atan2 of infinity", math::atan2(infinite, 1.0), std::atan2(infinite, 1.0), 0);
	check("log of zero", math::log(zero), -infinite, 0);
	check("log2 of infinity", math::log2(infinite), infinite, 0);
	check("log2 of a negative number", math::log2(-1.0), none, 0);
	check("log2 of a subnormal number", math::log2(0x1p-1070), -1070, 0);
	check("exp of a large number", math::exp(1e9), infinite, 0);
	check("exp of a small number", math::exp(-1e9), 0, 0);
	check("exp2 of NaN", math::exp2(none), none, 0);
	check("power of zero", math::pow(zero, 0.5), 0, 0);
	check("power zero", math::pow(zero, zero), 1, 0);
	for (int n = -1021; n < 1024; ++n)
	{
		check("exp2 of a whole number", math::exp2(n), std::ldexp(1.0, n), 0);
		check("log2 of a power of two", math::log2(std::ldexp(1.0, n)), n, 0);
	}
}

} // namespace

int main()
{
	size_t count;
	const elementary_bits::Function* functions = elementary_bits::functions(&count);
	for (size_t i = 0; i < count; ++i)
	{
		const uint64_t found = elementary_bits::hash(functions[i]);
		if (found != functions[i].expected)
			std::printf("%s: expected the bits 0x%016" PRIx64 ", got 0x%016" PRIx64 "\n", functions[i].name,
						functions[i].expected, found);
		wrong += found != functions[i].expected;
	}
	check_accuracy();
	check_special_values();
	return wrong != 0;
}
