// Words of sparse signals come back, and no list of words makes the decoder write past its end.
#include <cstdio>
#include <random>
#include <vector>

#include "common/skeleton.h"
#include "papers/beaudoin/zero_runs.h"

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

void check_round_trip(std::mt19937& random, size_t count, size_t length, int density)
{
	std::vector<int32_t> values(count * length), back(count * length, -1);
	for (int32_t& value : values)
		value = int(random() % 100) < density ? int32_t(random() % 64511) - MOCPACK_LARGEST_WORD : 0;
	std::vector<uint16_t> words(count * (length + 1));
	words.resize(mocpack_zero_runs_encode(words.data(), values.data(), count, length));
	mocpack_Status status = mocpack_zero_runs_decode(back.data(), count, length, words.data(), words.size());
	check(status == MOCPACK_OK && values == back, "round trip");
	if (!words.empty())
		check(mocpack_zero_runs_decode(back.data(), count, length, words.data(), words.size() - 1) ==
				  MOCPACK_TRUNCATED,
			  "the last word cut off");
}

// In memory of their exact size, so that the address sanitizer sees a step too far.
void check_random_words(std::mt19937& random)
{
	std::vector<uint16_t> words(random() % 12);
	for (uint16_t& word : words)
		word = uint16_t(random() % 3 ? random() % 1100 : random());
	std::vector<int32_t> values(3 * 70);
	mocpack_zero_runs_decode(values.data(), 3, 70, words.data(), words.size());
}

} // namespace

int main()
{
	std::mt19937 random(1);
	for (size_t length : {0, 1, 2, 70, 1023, 1024, 5000})
		for (int density : {0, 1, 30, 100})
			check_round_trip(random, 3, length, density);
	for (int k = 0; k < 20000; ++k)
		check_random_words(random);
	return failures != 0;
}
