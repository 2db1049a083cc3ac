// Numbers in error messages, under the sanitizers: any double that a file can hold.
#include "reader/error_message.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace
{

int failures = 0;

std::string printed(double number)
{
	mocpack_Error error = {};
	mocpack::ErrorMessage(&error, MOCPACK_CORRUPT, 0) << number;
	return error.message;
}

void expect(double number, const char* text)
{
	if (printed(number) == text)
		return;
	printf("%g is printed as %s, not as %s\n", number, printed(number).c_str(), text);
	++failures;
}

void test_numbers_are_printed()
{
	expect(0, "0");
	expect(-1.5, "-1.5");
	expect(0.000001, "0.000001");
	expect(0.9999999, "1");
	expect(1.9999999, "2");
	expect(123456.25, "123456.25");
	expect(58274100000000.0, "58274100000000"); // a millionth of it overflows 64 bits
	expect(-999999999999999.0, "-999999999999999");
	expect(1e15, "about 2^50");
	expect(1e-9, "about 2^-29");
	expect(1.7976931348623157e308, "about 2^1024");
	expect(std::numeric_limits<double>::infinity(), "infinity");
	expect(-std::numeric_limits<double>::infinity(), "-infinity");
	expect(std::numeric_limits<double>::quiet_NaN(), "not a number");
}

void test_any_bits_are_printed()
{
	std::mt19937_64 random(7);
	for (int i = 0; i < 100000; ++i)
	{
		uint64_t bits = random();
		double number;
		std::memcpy(&number, &bits, sizeof number);
		failures += printed(number).empty();
		failures += printed(std::ldexp(1 + double(random() % 1000) / 1000, int(random() % 120) - 60)).empty();
	}
}

} // namespace

int main()
{
	test_numbers_are_printed();
	test_any_bits_are_printed();
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
