// Frames of Acclaim motions: whole ones are read, and no text makes the reader leave its memory.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "text/amc.h"

namespace
{

int failures = 0;

void check(bool good, const std::string& what)
{
	if (!good)
		printf("failed: %s\n", what.substr(0, 200).c_str()), ++failures;
}

// root with two columns, hip with none, arm with one
const char names[] = "roothiparm";
const uint32_t starts[] = {0, 4, 7, 10}, by_name[] = {2, 1, 0}, columns[] = {0, 2, 2, 3};
const mocpack_amc_bones bones = {names, starts, by_name, columns, 3};

struct Parsed
{
	int status;
	size_t frames, fault;
	std::vector<double> values;
};

// The text in memory of its own size, so that the address sanitizer sees a read past its end.
Parsed parse(const std::string& text, bool complete, size_t capacity)
{
	std::vector<char> exact(text.begin(), text.end());
	Parsed parsed = {0, 0, 0, std::vector<double>(capacity * 3)};
	std::vector<uint64_t> seen(3);
	parsed.status = mocpack_parse_amc(exact.data(), exact.size(), &bones, complete, parsed.values.data(),
									  capacity, seen.data(), &parsed.frames, &parsed.fault);
	return parsed;
}

void frames_are_read_in_any_order_of_bones()
{
	Parsed parsed = parse("7\nroot 1 2\narm 3\n\n8 # next\n arm -4 \nhip\nroot 5e0 6", true, 2);
	check(parsed.status == MOCPACK_AMC_OK && parsed.frames == 2, "two frames");
	check(parsed.values == std::vector<double>({1, 2, 3, 5, 6, -4}), "their numbers");
}

void what_is_left_out_stays()
{
	Parsed parsed = parse("1\nroot 1 2\n2\narm 3\n", false, 2);
	check(parsed.values == std::vector<double>({1, 2, 0, 1, 2, 3}), "bones left out");
}

void faults_say_where()
{
	struct
	{
		const char* text;
		int status;
		size_t fault;
	} cases[] = {
		{"root 1 2\n", MOCPACK_AMC_BAD_NUMBER, 0},	  {"1\nroot 1 2\narm 1\n3\n", MOCPACK_AMC_BAD_NUMBER, 17},
		{"1\nroot 1 2 3\n", MOCPACK_AMC_BAD_BONE, 2}, {"1\nroot 1\n", MOCPACK_AMC_BAD_BONE, 2},
		{"1\nroo 1 2\n", MOCPACK_AMC_BAD_BONE, 2},	  {"1\narm 1\narm 1\n", MOCPACK_AMC_BONE_TWICE, 0},
		{"1\narm 1\n", MOCPACK_AMC_BONE_MISSING, 0},  {"1234567890123456\n", MOCPACK_AMC_BAD_NUMBER, 0},
	};
	for (auto& one : cases)
	{
		Parsed parsed = parse(one.text, true, 4);
		check(parsed.status == one.status && parsed.fault == one.fault, one.text);
	}
}

void random_text_stays_in_its_memory()
{
	std::mt19937_64 random(1);
	const char* pieces[] = {"1",   "2", "\n", "root", "arm", "hip",	  " ",
							"1 2", "#", "\t", "-",	  "x",	 "\n1\n", "\n2\n"};
	for (int i = 0; i < 20000; ++i)
	{
		std::string text;
		for (uint64_t n = random() % 40; n > 0; --n)
			text += pieces[random() % 14];
		size_t frames = mocpack_count_amc_frames(text.data(), text.size());
		Parsed parsed = parse(text, random() % 2, random() % (frames + 1));
		check(parsed.fault <= text.size() && parsed.frames <= frames, text);
	}
}

} // namespace

int main()
{
	frames_are_read_in_any_order_of_bones();
	what_is_left_out_stays();
	faults_say_where();
	random_text_stays_in_its_memory();
	return failures != 0;
}
