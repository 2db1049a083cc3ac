// Numbers read from text are those of strtod, bit for bit; numbers printed read back the same.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "text/numbers.h"

namespace
{

int failures = 0;

void check(bool good, const std::string& what)
{
	if (!good)
		printf("failed: %s\n", what.substr(0, 200).c_str()), ++failures;
}

// The text in memory of its own size, so that the address sanitizer sees a read past its end.
struct Parsed
{
	size_t count, end;
	std::vector<double> values;
};

Parsed parse(const std::string& text, size_t capacity)
{
	std::vector<char> exact(text.begin(), text.end());
	Parsed parsed = {0, 0, std::vector<double>(capacity)};
	parsed.count =
		mocpack_parse_numbers(exact.data(), exact.size(), parsed.values.data(), capacity, &parsed.end);
	return parsed;
}

bool same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

void check_like_strtod(const std::string& text)
{
	Parsed parsed = parse(text, 1);
	check(parsed.count == 1 && same_bits(parsed.values[0], strtod(text.c_str(), nullptr)), text);
	check(parsed.end == text.size(), "end of " + text);
}

std::string digits(std::mt19937_64& random, int count)
{
	std::string text;
	for (int i = 0; i < count; ++i)
		text += char('0' + random() % 10);
	return text;
}

void random_decimals_read_as_strtod_reads_them()
{
	std::mt19937_64 random(1);
	const char* signs[] = {"", "-", "+"};
	for (int i = 0; i < 100000; ++i)
	{
		std::string text = signs[random() % 3];
		int whole = int(random() % 5), part = int(random() % 12);
		if (i % 100 == 0) // more digits than a double has
			whole = int(random() % 30), part = int(random() % 400);
		if (!whole && !part)
			whole = 1;
		text += digits(random, whole);
		if (part || random() % 4 == 0)
			text += "." + digits(random, part);
		if (random() % 8 == 0)
			text += (random() % 2 ? "e" : "E") + std::string(signs[random() % 3]) +
					std::to_string(random() % (i % 3 ? 20 : 320));
		if (std::isfinite(strtod(text.c_str(), nullptr)))
			check_like_strtod(text);
	}
}

void random_doubles_read_as_strtod_reads_them()
{
	std::mt19937_64 random(2);
	for (int i = 0; i < 70000; ++i)
	{
		uint64_t bits = random();
		double value;
		memcpy(&value, &bits, sizeof value);
		if (!std::isfinite(value))
			continue;
		char text[64];
		for (int precision : {16, 17, 5})
		{
			snprintf(text, sizeof text, "%.*e", precision, value);
			if (std::isfinite(strtod(text, nullptr)))
				check_like_strtod(text);
		}
	}
}

void hard_cases_read_as_strtod_reads_them()
{
	for (const char* text : {"0",
							 "-0",
							 "+0",
							 "-0.0",
							 ".5",
							 "5.",
							 "-.5",
							 "1e22",
							 "1e23",
							 "1e-22",
							 "1e-23",
							 "9007199254740992",
							 "9007199254740993",
							 "9007199254740993.0000000000000000000000000001",
							 "18446744073709551615",
							 "18446744073709551616",
							 "99999999999999999999",
							 "1.7976931348623157e308",
							 "2.2250738585072014e-308",
							 "2.2250738585072011e-308",
							 "4.9e-324",
							 "2.4703282292062327e-324",
							 "2.4703282292062328e-324",
							 "1e-400",
							 "0e999999999",
							 "0.000000000000000000000000000000000000000000000001",
							 "123456789012345678e-30",
							 "7.62852e-016",
							 "-1.6201e-014",
							 "0.1e1",
							 "1e0",
							 "1e+0",
							 "1e-0",
							 "1e00000000000000000001"})
		check_like_strtod(text);
	std::string zeros(5000, '0');
	check_like_strtod("0." + zeros + "1e5001");
	check_like_strtod("1" + zeros + "e-5000");
	check_like_strtod(zeros + zeros + "7");
}

void what_is_no_number_stops_the_reader()
{
	for (const char* text :
		 {"nan", "inf", "-inf", "Infinity", "1e309", "-1e400", "0x10", "1,5", "1.2.3", "--1",  "+-1",  "1e",
		  "1e+", "e5",	".",	"-",		"+",	 "-.",	   "1f",   "1_0", "{",	   "\x01", "1\x80"})
	{
		Parsed parsed = parse(std::string("7 ") + text, 4);
		check(parsed.count == 1 && parsed.end == 2, std::string("accepted ") + text);
	}
}

void white_space_of_any_kind_parts_numbers()
{
	Parsed parsed = parse(" \t1\r\n2\r3\f4\v5\n\n", 9);
	check(parsed.count == 5 && parsed.values[4] == 5, "white space");
	check(parsed.end == 14, "end after white space");
	check(parse("", 3).count == 0, "no text");
	parsed = parse("1 2 3", 2);
	check(parsed.count == 2 && parsed.end == 4, "stops when full, at the next token");
	parsed = parse("1 2", 0);
	check(parsed.count == 0 && parsed.end == 0, "no room at all");
}

void text_of_random_bytes_is_safe()
{
	std::mt19937_64 random(3);
	const char alphabet[] = "0123456789.-+eE \n\t\rxn\x00\xff";
	for (int i = 0; i < 100000; ++i)
	{
		std::string text;
		for (size_t k = random() % 40; k > 0; --k)
			text += alphabet[random() % (sizeof alphabet - 1)];
		Parsed parsed = parse(text, 16);
		check(parsed.count <= 16 && parsed.end <= text.size(), "bounds");
	}
}

std::string printed(double value, int32_t decimals)
{
	std::vector<char> text(MOCPACK_MAX_PRINTED_BYTES);
	size_t size = mocpack_print_numbers(&value, &decimals, 1, text.data(), text.size());
	return std::string(text.data(), size);
}

void printed_numbers_read_back_the_same()
{
	std::mt19937_64 random(4);
	for (int i = 0; i < 70000; ++i)
	{
		uint64_t bits = random();
		double value;
		memcpy(&value, &bits, sizeof value);
		if (i % 2)
			value = double(int64_t(random() % 2000000) - 1000000) / 10000.0;
		if (!std::isfinite(value))
			continue;
		std::string text = printed(value, -1);
		check(!text.empty() && strtod(text.c_str(), nullptr) == value, "printed " + text);
		check(text.find('e') == std::string::npos, "e-notation " + text);
	}
	check(printed(0.1, -1) == "0.1", "0.1");
	check(printed(-0.0, -1) == "-0", "minus zero");
	check(printed(-0.0, 3) == "0", "minus zero, rounded");
	check(printed(100, -1) == "100", "100");
	check(printed(1e21, -1) == "1000000000000000000000", "1e21");
	check(printed(2.5000004, 6) == "2.5", "rounded and trimmed");
	check(printed(-0.0000001, 3) == "0", "rounded to zero");
	check(printed(1234.5678, 0) == "1235", "no decimals");
	check(printed(-1.7976931348623157e308, 7).size() == 310, "the largest number");
}

void printing_stops_at_the_end_of_its_room()
{
	double values[] = {1.25, -3.5};
	int32_t decimals[] = {-1, 2};
	for (size_t size = 0; size < 12; ++size)
	{
		std::vector<char> room(size);
		size_t written = mocpack_print_numbers(values, decimals, 2, room.data(), size);
		check(written == 0 || std::string(room.data(), written) == "1.25 -3.5",
			  "room of " + std::to_string(size));
		check(size < 10 || written == 9, "enough room");
	}
}

} // namespace

int main()
{
	random_decimals_read_as_strtod_reads_them();
	random_doubles_read_as_strtod_reads_them();
	hard_cases_read_as_strtod_reads_them();
	what_is_no_number_stops_the_reader();
	white_space_of_any_kind_parts_numbers();
	text_of_random_bytes_is_safe();
	printed_numbers_read_back_the_same();
	printing_stops_at_the_end_of_its_room();
	printf("numbers: %d failures\n", failures);
	return failures != 0;
}
