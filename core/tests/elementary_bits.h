// The bits of math/elementary.h over many arguments, for the tests of all platforms.
#pragma once
#include <cstddef>

#include "math/elementary.h"

namespace elementary_bits
{

struct Function
{
	const char* name;
	uint64_t expected; // hash of the results
	double (*compute)(double share);
};

// Maps 0 … 1 to arguments of all sizes and both signs.
inline double argument(double share, double least, double most)
{
	const double number = least * mocpack::math::exp2(share * 2 * mocpack::math::log2(most / least));
	return number > most ? -number / most * least : number;
}

namespace math = mocpack::math;

inline const Function* functions(size_t* count)
{
	static const Function all[] = {
		{"sin", 0x5697306d54ac1c7e, [](double s) { return math::sin(argument(s, 1e-9, 1e9)); }},
		{"cos", 0xc7e3990ff77b2593, [](double s) { return math::cos(argument(s, 1e-9, 1e9)); }},
		{"atan2", 0xe631a3461fa99e6a, [](double s) { return math::atan2(argument(s, 1e-9, 1e9), 0.7 - s); }},
		{"acos", 0x014ea0b953699997, [](double s) { return math::acos(2 * s - 1); }},
		{"asin", 0x5714c2d79fa00672, [](double s) { return math::asin(2 * s - 1); }},
		{"log", 0x56e12e5ced116e46,
		 [](double s) { return math::log(argument(s, 1e-9, 1e9) * argument(s, 1e-9, 1e9)); }},
		{"log2", 0xad3d689a9d5811e4, [](double s) { return math::log2(0.5 + s); }},
		{"exp", 0x8712e4e931d1db12, [](double s) { return math::exp(1400 * (s - 0.5)); }},
		{"exp2", 0xa99759e067c6e7b9, [](double s) { return math::exp2(2000 * (s - 0.5)); }},
		{"pow", 0x2fe9526d060a84cb, [](double s) { return math::pow(100 * s, s - 0.5); }},
	};
	*count = sizeof all / sizeof *all;
	return all;
}

// FNV-1a over the results for 20,000 arguments.
inline uint64_t hash(const Function& function)
{
	uint64_t hash = 14695981039346656037u;
	for (int i = 0; i < 20000; ++i)
	{
		const double result = function.compute(i / 20000.0);
		uint64_t bits;
		std::memcpy(&bits, &result, sizeof bits);
		for (int byte = 0; byte < 8; ++byte)
			hash = (hash ^ (bits >> (8 * byte) & 255)) * 1099511628211u;
	}
	return hash;
}

} // namespace elementary_bits
