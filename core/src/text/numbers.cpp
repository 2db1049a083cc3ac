// Parses decimal text to the nearest double, with a fast path for short text.
#include <charconv>
#include <cmath>
#include <cstring>

#include "text/numbers.h"

namespace
{

// 10^0 .. 10^22 are exact doubles, so multiplying or dividing an exact integer by one rounds only once.
const double powers_of_ten[] = {1e0,  1e1,	1e2,  1e3,	1e4,  1e5,	1e6,  1e7,	1e8,  1e9,	1e10, 1e11,
								1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool is_digit(char c)
{
	return unsigned(c - '0') < 10u;
}

// Reads [sign] digits [. digits] [e [sign] digits]; returns the end of the token, or null.
const char* parse_number(const char* at, const char* end, double* value)
{
	const char* start = at;
	bool negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		++at;
	const char* unsigned_start = at;
	uint64_t mantissa = 0;
	int digits = 0, exponent = 0;
	for (; at < end && is_digit(*at); ++at, ++digits)
		mantissa = mantissa * 10 + uint64_t(*at - '0');
	if (at < end && *at == '.')
		for (++at; at < end && is_digit(*at); ++at, ++digits, --exponent)
			mantissa = mantissa * 10 + uint64_t(*at - '0');
	if (!digits)
		return nullptr;
	if (at < end && (*at == 'e' || *at == 'E'))
	{
		const char* mark = at++;
		bool down = at < end && *at == '-';
		if (at < end && (*at == '-' || *at == '+'))
			++at;
		if (at == end || !is_digit(*at))
			at = mark;
		int power = 0;
		for (; at != mark && at < end && is_digit(*at); ++at)
			power = power < 100000 ? power * 10 + (*at - '0') : power;
		exponent += down ? -power : power;
	}
	if (at < end && !is_space(*at))
		return nullptr;
	// Up to 19 digits do not overflow the mantissa; up to 2^53 it is an exact double.
	if (digits <= 19 && mantissa <= (uint64_t(1) << 53) && exponent >= -22 && exponent <= 22)
	{
		double magnitude = double(mantissa);
		magnitude = exponent < 0 ? magnitude / powers_of_ten[-exponent] : magnitude * powers_of_ten[exponent];
		*value = negative ? -magnitude : magnitude;
		return at;
	}
	double magnitude = 0;
	std::from_chars_result result = std::from_chars(unsigned_start, at, magnitude);
	if (result.ec == std::errc::result_out_of_range && mantissa != 0 && exponent + digits > 0)
		return nullptr; // too large for a double
	if (result.ec == std::errc::result_out_of_range)
		magnitude = 0;
	*value = start != unsigned_start && negative ? -magnitude : magnitude;
	return at;
}

} // namespace

size_t mocpack_parse_numbers(const char* text, size_t size, double* values, size_t capacity, size_t* end)
{
	const char* at = text;
	const char* stop = text + size;
	size_t count = 0;
	for (;;)
	{
		while (at < stop && is_space(*at))
			++at;
		if (at == stop || count == capacity)
			break;
		const char* next = parse_number(at, stop, values + count);
		if (!next)
			break;
		at = next;
		++count;
	}
	*end = size_t(at - text);
	return count;
}
