// Decodes meshoptimizer's vertex streams, as specified by the glTF extensions. Rows come in blocks. Each byte
// of a row is a column of differences, packed in groups of 16 with 0, 1, 2, 4 or 8 bits and escapes.
#include <algorithm>
#include <cstring>

#include "common/skeleton.h"
#include "entropy/meshopt.h"

namespace
{

const size_t group_size = 16, block_bytes = 8192, block_rows = 256;
const uint8_t magic = 0xa0;
const int widths[] = {0, 1, 2, 4, 8}; // version 1 uses the first four, or the last four, by a control bit
const int old_widths[] = {0, 2, 4, 8};

struct Input
{
	const uint8_t* at;
	const uint8_t* end;

	// Returns the next `count` bytes, or null if there are fewer.
	const uint8_t* take(size_t count)
	{
		if (size_t(end - at) < count)
			return nullptr;
		at += count;
		return at - count;
	}
};

// Reads 16 values of `bits` bits. The largest value is an escape: a whole byte follows.
bool decode_group(Input& input, int bits, uint8_t* values)
{
	if (bits == 0)
	{
		memset(values, 0, group_size);
		return true;
	}
	const uint8_t* packed = input.take(group_size * size_t(bits) / 8);
	if (!packed)
		return false;
	if (bits == 8)
	{
		memcpy(values, packed, group_size);
		return true;
	}
	const unsigned escape = (1u << bits) - 1;
	for (size_t i = 0; i < group_size; ++i)
	{
		size_t place = i * size_t(bits);
		// single bits are packed from the lowest bit, others from the highest
		int shift = bits == 1 ? int(place % 8) : 8 - bits - int(place % 8);
		unsigned value = (unsigned(packed[place / 8]) >> shift) & escape;
		if (value == escape)
		{
			const uint8_t* whole = input.take(1);
			if (!whole)
				return false;
			value = *whole;
		}
		values[i] = uint8_t(value);
	}
	return true;
}

bool decode_column(Input& input, const int* bits, size_t padded, uint8_t* values)
{
	const uint8_t* head = input.take((padded / group_size + 3) / 4);
	if (!head)
		return false;
	for (size_t g = 0; g < padded / group_size; ++g)
		if (!decode_group(input, bits[(head[g / 4] >> (g % 4 * 2)) & 3], values + g * group_size))
			return false;
	return true;
}

template <typename T> T load(const uint8_t* bytes, size_t apart)
{
	T value = 0;
	for (size_t b = 0; b < sizeof(T); ++b)
		value = T(value | T(T(bytes[b * apart]) << (8 * b)));
	return value;
}

template <typename T> void store(T value, uint8_t* bytes)
{
	for (size_t b = 0; b < sizeof(T); ++b)
		bytes[b] = uint8_t(value >> (8 * b));
}

// Undoes zigzag-coded differences.
template <typename T>
void undo_differences(const uint8_t* columns, size_t padded, size_t count, uint8_t* rows, size_t stride,
					  const uint8_t* before)
{
	for (size_t k = 0; k < 4; k += sizeof(T))
	{
		T value = load<T>(before + k, 1);
		for (size_t i = 0; i < count; ++i)
		{
			T coded = load<T>(columns + k * padded + i, padded);
			value = T(value + T(T(coded >> 1) ^ T(0 - T(coded & 1))));
			store(value, rows + i * stride + k);
		}
	}
}

// Undoes XOR coding, whose bits are rotated so that changed bits are low.
void undo_changes(const uint8_t* columns, size_t padded, size_t count, uint8_t* rows, size_t stride,
				  const uint8_t* before, unsigned turn)
{
	uint32_t value = load<uint32_t>(before, 1);
	for (size_t i = 0; i < count; ++i)
	{
		uint32_t coded = load<uint32_t>(columns + i, padded);
		value ^= coded << turn | coded >> ((32 - turn) & 31);
		store(value, rows + i * stride);
	}
}

struct Stream
{
	int version;
	size_t stride;
	const uint8_t* channels; // version 1: coding of each four bytes of a row
};

// Decodes up to 256 rows; `before` is the previous row.
int decode_block(const Stream& stream, Input& input, uint8_t* rows, size_t count, const uint8_t* before)
{
	uint8_t columns[4 * block_rows];
	const size_t padded = (count + group_size - 1) / group_size * group_size;
	const uint8_t* control = input.take(stream.version ? stream.stride / 4 : 0);
	if (!control)
		return MOCPACK_TRUNCATED;
	for (size_t k = 0; k < stream.stride; k += 4)
	{
		for (size_t j = 0; j < 4; ++j)
		{
			int how = stream.version ? control[k / 4] >> (j * 2) & 3 : 0;
			uint8_t* column = columns + j * padded;
			if (how == 2)
				memset(column, 0, padded);
			else if (how == 3)
			{
				const uint8_t* plain = input.take(count);
				if (!plain)
					return MOCPACK_TRUNCATED;
				memcpy(column, plain, count);
			}
			else if (!decode_column(input, stream.version ? widths + how : old_widths, padded, column))
				return MOCPACK_TRUNCATED;
		}
		uint8_t channel = stream.version ? stream.channels[k / 4] : 0;
		if ((channel & 3) == 0)
			undo_differences<uint8_t>(columns, padded, count, rows + k, stream.stride, before + k);
		else if ((channel & 3) == 1)
			undo_differences<uint16_t>(columns, padded, count, rows + k, stream.stride, before + k);
		else if ((channel & 3) == 2)
			undo_changes(columns, padded, count, rows + k, stream.stride, before + k,
						 (32u - (channel >> 4)) & 31u);
		else
			return MOCPACK_CORRUPT;
	}
	return MOCPACK_OK;
}

} // namespace

int mocpack_decode_meshopt(const uint8_t* data, size_t size, uint8_t* rows, size_t count, size_t stride)
{
	if (stride == 0 || stride % 4 || stride > MOCPACK_MESHOPT_MAX_STRIDE)
		return MOCPACK_CORRUPT;
	if (size < 1)
		return MOCPACK_TRUNCATED;
	Stream stream = {data[0] & 15, stride, nullptr};
	if ((data[0] & 0xf0) != magic || stream.version > 1)
		return MOCPACK_CORRUPT;
	// the tail: zero padding, the initial row, and the coding of channels
	const size_t tail_data = stride + (stream.version ? stride / 4 : 0);
	const size_t tail = std::max(tail_data, size_t(stream.version ? 24 : 32));
	if (size < 1 + tail)
		return MOCPACK_TRUNCATED;
	const uint8_t* before = data + size - tail_data;
	stream.channels = before + stride;
	Input input = {data + 1, data + size - tail};
	const size_t most = std::min(block_bytes / stride / group_size * group_size, block_rows);
	for (size_t at = 0; at < count; at += most)
	{
		uint8_t* block = rows + at * stride;
		if (int status = decode_block(stream, input, block, std::min(most, count - at), before))
			return status;
		before = block + (std::min(most, count - at) - 1) * stride;
	}
	return input.at == input.end ? MOCPACK_OK : MOCPACK_CORRUPT;
}
