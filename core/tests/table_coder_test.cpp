// Static tables: whatever is written comes back, from as few bytes as its shares tell, and no bytes do harm.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "entropy/table_coder.h"

using namespace mocpack;

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

const int SYMBOLS = 12;
// the third symbol never comes, the first has nearly all; the last four fill up the table
const uint16_t STARTS[2 * TABLE_STEP + 1] = {0,	   3000, 3500, 3500, 3800, 3900, 3950, 4000, 4040,
											 4070, 4090, 4095, 4096, 4096, 4096, 4096, 4096};

void everything_comes_back(uint32_t seed, int count)
{
	std::mt19937 random(seed);
	std::vector<int> symbols;
	std::vector<uint32_t> numbers;
	std::vector<SymbolInterval> shares(size_t(6 * count + 8));
	TableWriter writer(shares.data(), shares.size());
	double bits = 0;
	for (int i = 0; i < count; ++i)
	{
		uint32_t slot = random() % TABLE_TOTAL;
		int symbol = 0;
		while (slot >= STARTS[symbol + 1])
			++symbol;
		int length = int(random() % 31);
		uint32_t number = random() & ((1u << length) - 1);
		symbols.push_back(symbol), numbers.push_back(number);
		writer.symbol(STARTS, SYMBOLS, symbol);
		writer.bits(length, number);
		writer.choice(1000, symbol > 0);
		bits += 12 - std::log2(STARTS[symbol + 1] - STARTS[symbol]) + length + 12 -
				std::log2(symbol ? 3096 : 1000);
	}
	std::vector<uint8_t> dst(size_t(8 * count + 16));
	dst.resize(writer.finish(dst.data(), dst.size()));
	check(!dst.empty(), "it is written");
	check(double(dst.size()) <= bits / 8 * 1.001 + 4, "in about as many bits as the shares tell");
	random.seed(seed);
	TableReader reader(dst.data(), dst.size());
	bool same = true;
	for (size_t i = 0; i < symbols.size(); ++i)
	{
		random();
		int length = int(random() % 31);
		random();
		same = same && reader.symbol(STARTS, SYMBOLS, 0) == symbols[i] &&
			   reader.bits(length, 0) == numbers[i] && reader.choice(1000, 0) == (symbols[i] > 0);
	}
	check(same, "and comes back");
	check(reader.all_read() && !reader.exhausted(), "from all of its bytes");
}

void noise_does_no_harm()
{
	std::mt19937 random(5);
	for (int i = 0; i < 2000; ++i)
	{
		std::vector<uint8_t> bytes(random() % 40);
		for (uint8_t& byte : bytes)
			byte = uint8_t(random());
		TableReader reader(bytes.data(), bytes.size());
		for (int k = 0; k < 200; ++k)
		{
			int symbol = reader.symbol(STARTS, SYMBOLS, 0);
			check(symbol >= 0 && symbol < SYMBOLS && symbol != 2, "a symbol that there is");
			reader.bits(int(random() % 31), 0);
		}
		check(reader.exhausted(), "it knows that it read past the end");
	}
}

void what_cannot_be_written_is_refused()
{
	SymbolInterval shares[2];
	uint8_t dst[64];
	TableWriter impossible(shares, 2);
	impossible.symbol(STARTS, SYMBOLS, 2);
	check(!impossible.finish(dst, sizeof dst), "a symbol without a share");
	TableWriter full(shares, 2);
	for (int i = 0; i < 3; ++i)
		full.symbol(STARTS, SYMBOLS, 0);
	check(!full.finish(dst, sizeof dst), "more than there is room for");
	TableWriter narrow(shares, 2);
	narrow.bits(12, 7);
	check(!narrow.finish(dst, 2), "more than fits");
}

} // namespace

int main()
{
	for (int count : {0, 1, 2, 7, 100, 3000})
		everything_comes_back(uint32_t(count), count);
	noise_does_no_harm();
	what_cannot_be_written_is_refused();
	if (!failures)
		printf("table coder: good\n");
	return failures != 0;
}
