// Packed rows of glTF: no bytes make the decoder leave its memory. The results are compared with
// the decoder of three.js by tests/js/test_meshopt.py.
#include <cstdio>
#include <random>
#include <vector>

#include "entropy/meshopt.h"
#include "mocpack/mocpack.h"

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

int decode(const std::vector<uint8_t>& data, std::vector<uint8_t>& rows, size_t count, size_t stride)
{
	rows.assign(count * stride, 0xee);
	return mocpack_decode_meshopt(data.data(), data.size(), rows.data(), count, stride);
}

// Sixteen rows of four bytes: columns of no bits, so that every row is the one in the tail.
void still_rows_are_the_first_one()
{
	std::vector<uint8_t> data = {0xa0, 0, 0, 0, 0}, rows;
	data.resize(data.size() + 28);
	for (uint8_t value : {1, 2, 3, 4})
		data.push_back(value);
	check(decode(data, rows, 16, 4) == MOCPACK_OK, "still rows");
	for (size_t i = 0; i < rows.size(); ++i)
		check(rows[i] == i % 4 + 1, "their bytes");
	data.insert(data.begin() + 5, 0);
	check(decode(data, rows, 16, 4) == MOCPACK_CORRUPT, "a byte too many");
	data.resize(20);
	check(decode(data, rows, 16, 4) == MOCPACK_TRUNCATED, "bytes too few");
}

void any_bytes_are_answered()
{
	std::mt19937_64 random(1);
	std::vector<uint8_t> rows;
	for (int i = 0; i < 20000; ++i)
	{
		std::vector<uint8_t> data(random() % 600);
		for (uint8_t& byte : data)
			byte = uint8_t(random() % 3 ? random() & random() : random());
		if (!data.empty() && random() % 8)
			data[0] = uint8_t(0xa0 | random() % 2);
		decode(data, rows, random() % 600, 4 * (1 + random() % 64));
	}
	for (size_t stride : {0, 2, 260})
		check(decode(std::vector<uint8_t>(300, 0xa0), rows, 1, stride) == MOCPACK_CORRUPT, "stride");
}

} // namespace

int main()
{
	still_rows_are_the_first_one();
	any_bytes_are_answered();
	return failures != 0;
}
