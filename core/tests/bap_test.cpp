// Rows of body animation parameters: a hand-made row, every cut, and random bytes, under the sanitizers.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/skeleton.h"
#include "papers/chattopadhyay/bap.h"
#include "papers/chattopadhyay/bytes.h"

namespace
{

int failures = 0;

void check(bool good, const std::string& what)
{
	if (!good)
		printf("failed: %s\n", what.c_str()), ++failures;
}

struct Decoded
{
	mocpack_Status status;
	size_t used;
	std::vector<double> values;
};

// The bytes in memory of their own size, so that the address sanitizer sees a read past their end.
Decoded decode(const mocpack_BapRows& layout, size_t rows, const std::vector<uint8_t>& bytes)
{
	std::vector<uint8_t> exact(bytes);
	exact.shrink_to_fit();
	Decoded found = {MOCPACK_OK, 0, std::vector<double>(rows * layout.columns)};
	std::vector<double> state(layout.columns, 0.0);
	found.status = mocpack_bap_decode_rows(found.values.data(), &layout, rows, state.data(), exact.data(),
										   exact.size(), &found.used);
	return found;
}

void hand_made_rows()
{
	const float table[4] = {-1.0f, 0.25f, 0.5f, 2.0f};
	mocpack_BapRows dense = {3, 1, 3, 2, table};
	// 1.5f is 0x3fc00000; then entries 3 and 0, and the same again
	std::vector<uint8_t> bytes = {0, 0, 0xc0, 0x3f, 3, 0, 0, 0, 0xc0, 0x3f, 3, 0};
	Decoded found = decode(dense, 2, bytes);
	check(found.status == MOCPACK_OK && found.used == bytes.size(), "dense rows are read whole");
	check(found.values == std::vector<double>{1.5, 2.0, -1.0, 3.0, 4.0, -2.0}, "dense rows add up");

	mocpack_BapRows sparse = {3, 0, 0, 2, table};
	found = decode(sparse, 3, {0x5, 1, 2, 0x0, 0x2, 3});
	check(found.status == MOCPACK_OK && found.used == 6, "sparse rows are read whole");
	check(found.values == std::vector<double>{0.25, 0, 0.5, 0.25, 0, 0.5, 0.25, 2.0, 0.5},
		  "columns without a bit stay");
	check(decode(sparse, 1, {0x1, 4}).status == MOCPACK_CORRUPT, "an entry beyond the table is corrupt");
	check(decode(sparse, 1, {0x8, 0}).status == MOCPACK_CORRUPT &&
			  decode(sparse, 1, {0xff, 0, 0, 0, 0, 0, 0, 0, 0}).status == MOCPACK_CORRUPT,
		  "a bit beyond the last column is corrupt");
}

void nothing_is_read_past_the_end()
{
	std::mt19937 random(1);
	std::vector<float> table(1 << 10, 0.5f);
	for (int bits : {0, 3, 8, 10})
		for (size_t first_masked : {0, 1, 2, 11})
			for (size_t size = 0; size < 80; ++size)
			{
				mocpack_BapRows layout = {11, 2, first_masked, bits, table.data()};
				std::vector<uint8_t> bytes(size);
				for (uint8_t& byte : bytes)
					byte = uint8_t(random());
				Decoded found = decode(layout, 3, bytes);
				check(found.status != MOCPACK_OK || found.used <= size, "no more is used than there is");
			}
}

void bytes_come_back()
{
	std::mt19937 random(2);
	const uint16_t classes[3] = {0, 1, 0};
	std::vector<uint8_t> values(3 * 200), models(mocpack_bytes_models_size(2)), back(values.size());
	for (size_t i = 0; i < values.size(); ++i)
		values[i] = uint8_t(i % 3 == 1 ? random() : random() % 3);
	std::vector<uint8_t> code(mocpack_bytes_bound(200, 3));
	code.resize(
		mocpack_bytes_encode(code.data(), code.size(), values.data(), 200, 3, classes, 2, models.data()));
	code.shrink_to_fit();
	auto status =
		mocpack_bytes_decode(back.data(), 200, 3, classes, 2, models.data(), code.data(), code.size());
	check(status == MOCPACK_OK && back == values, "bytes come back");
	std::vector<uint8_t> cut(code.begin(), code.begin() + long(code.size() / 2));
	status = mocpack_bytes_decode(back.data(), 200, 3, classes, 2, models.data(), cut.data(), cut.size());
	check(status == MOCPACK_TRUNCATED, "half of the code is too little");
	check(mocpack_bytes_encode(code.data(), 4, values.data(), 200, 3, classes, 2, models.data()) == 0,
		  "an encoder without room says so");
}

} // namespace

int main()
{
	hand_made_rows();
	nothing_is_read_past_the_end();
	bytes_come_back();
	return failures != 0;
}
