// Codes planes of small integers with adaptive contexts. Most codecs use it for quantized values.
//
// A plane has rows (time or frequency) and columns (channels). The context of a value is the class of its
// column and the magnitudes of its neighbors: one and two rows above, and one column to the left.
#include <cstring>

#include "common/skeleton.h"
#include "entropy/planes.h"
#include "entropy/range_coder.h"

using namespace mocpack;

namespace
{

const int MAGNITUDES = 12;	// classes of neighborhood activity
const int UNARY = 14;		// larger magnitudes escape to Exp-Golomb
const int ESCAPE_BITS = 32; // lengths of an escape code

struct PlaneModels
{
	AdaptiveBit zero[MAGNITUDES];
	AdaptiveBit sign[3];
	AdaptiveBit more[MAGNITUDES][UNARY];
	AdaptiveBit length[ESCAPE_BITS];
};

const size_t MODEL_BITS = sizeof(PlaneModels) / sizeof(AdaptiveBit);

// Initial probability of a one, in 1/65536, by start byte: 0 means unknown; 1 to 63 are even steps of the
// logit, logistic((byte - 32) / 4.5).
const uint16_t START_PROBABILITY[64] = {
	32768, 67,	  83,	 104,	130,   162,	  202,	 252,	315,   393,	  490,	 611,	761,
	947,   1179,  1466,	 1820,	2257,  2795,  3454,	 4258,	5233,  6408,  7812,	 9475,	11422,
	13671, 16231, 19093, 22233, 25604, 29142, 32768, 36394, 39932, 43303, 46443, 49305, 51865,
	54114, 56061, 57724, 59128, 60303, 61278, 62082, 62741, 63279, 63716, 64070, 64357, 64589,
	64775, 64925, 65046, 65143, 65221, 65284, 65334, 65374, 65406, 65432, 65453, 65469};

// Initializes the models of all classes.
PlaneModels* init_models(void* memory, size_t class_count, const uint8_t* start)
{
	PlaneModels* models = static_cast<PlaneModels*>(memory);
	for (size_t c = 0; c < class_count; ++c)
		models[c] = PlaneModels();
	AdaptiveBit* bits = reinterpret_cast<AdaptiveBit*>(models);
	for (size_t k = 0; start && k < class_count * MODEL_BITS; ++k)
		bits[k].fast = bits[k].slow = START_PROBABILITY[start[k] & 63];
	return models;
}

uint32_t magnitude(int32_t value)
{
	return value < 0 ? 0u - uint32_t(value) : uint32_t(value);
}

// 0, 1, 2, 3, 4, 5-6, 7-9, 10-14, 15-22, 23-44, 45-150, more: activity classes.
int activity_class(uint64_t activity)
{
	const uint64_t above[MAGNITUDES - 1] = {0, 1, 2, 3, 4, 6, 9, 14, 22, 44, 150};
	int c = 0;
	while (c < MAGNITUDES - 1 && activity > above[c])
		++c;
	return c;
}

struct Context
{
	int activity;
	int sign;
};

// Encoder and decoder both know the values above and to the left.
Context context_at(const int32_t* values, size_t columns, size_t row, size_t column)
{
	const int32_t* at = values + row * columns + column;
	uint64_t above = row > 0 ? magnitude(at[-ptrdiff_t(columns)]) : 0;
	uint64_t above2 = row > 1 ? magnitude(at[-2 * ptrdiff_t(columns)]) : 0;
	uint64_t left = column > 0 ? magnitude(at[-1]) : 0;
	int32_t before = row > 0 ? at[-ptrdiff_t(columns)] : 0;
	return {activity_class((3 * above + above2 + 2 * left + 1) / 2), before > 0 ? 2 : before < 0 ? 0 : 1};
}

// The bit coder of code_value: writes or reads each bit.
struct EncodeBit
{
	RangeEncoder& coder;

	int operator()(AdaptiveBit& model, int value) const
	{
		encode_bit(coder, model, value);
		return value;
	}
};

struct DecodeBit
{
	RangeDecoder& coder;

	int operator()(AdaptiveBit& model, int) const
	{
		return decode_bit(coder, model);
	}
};

template <typename Bit> int32_t code_value(Bit&& bit, PlaneModels& m, Context context, int32_t value)
{
	uint32_t size = magnitude(value);
	if (!bit(m.zero[context.activity], size != 0))
		return 0;
	int negative = bit(m.sign[context.sign], value < 0);
	uint32_t found = 1;
	while (found <= UNARY && bit(m.more[context.activity][found - 1], size > found))
		++found;
	if (found > UNARY)
	{
		// Exp-Golomb code of the rest
		uint32_t rest = size - UNARY; // at least 1; unused while decoding
		int length = 0;
		while (length < ESCAPE_BITS - 1 && bit(m.length[length], (uint64_t(rest) >> (length + 1)) != 0))
			++length;
		uint32_t decoded = 1;
		for (int k = length - 1; k >= 0; --k)
		{
			AdaptiveBit even; // these bits are noise: probability 1/2
			decoded = (decoded << 1) | uint32_t(bit(even, int((rest >> k) & 1)));
		}
		found = UNARY + decoded;
	}
	return negative ? int32_t(0u - found) : int32_t(found);
}

} // namespace

size_t mocpack_planes_models_size(size_t class_count)
{
	return class_count * sizeof(PlaneModels);
}

size_t mocpack_planes_start_size(size_t class_count)
{
	return class_count * MODEL_BITS;
}

void mocpack_planes_count(const int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
						  size_t class_count, void* models, uint32_t* counts)
{
	PlaneModels* m = init_models(models, class_count, nullptr);
	const AdaptiveBit* first = reinterpret_cast<AdaptiveBit*>(m);
	auto bit = [first, class_count, counts](AdaptiveBit& model, int value)
	{
		// skip the temporary models of noise bits
		size_t at = (uintptr_t(&model) - uintptr_t(first)) / sizeof(AdaptiveBit);
		if (at < class_count * MODEL_BITS)
			++counts[2 * at + (value ? 1 : 0)];
		return value;
	};
	for (size_t r = 0; r < rows; ++r)
		for (size_t c = 0; c < columns; ++c)
			code_value(bit, m[classes[c]], context_at(values, columns, r, c), values[r * columns + c]);
}

size_t mocpack_planes_bound(size_t rows, size_t columns)
{
	// 2 + UNARY + ESCAPE_BITS modeled bits of at most 10 bits each, and ESCAPE_BITS noise bits
	return rows * columns * ((2 + UNARY + ESCAPE_BITS) * 10 + ESCAPE_BITS) / 8 + 8;
}

size_t mocpack_planes_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
							 size_t columns, const uint16_t* classes, size_t class_count,
							 const uint8_t* start, void* models)
{
	PlaneModels* m = init_models(models, class_count, start);
	RangeEncoder coder(dst, dst_size);
	EncodeBit bit{coder};
	for (size_t r = 0; r < rows; ++r)
		for (size_t c = 0; c < columns; ++c)
			code_value(bit, m[classes[c]], context_at(values, columns, r, c), values[r * columns + c]);
	return coder.finish();
}

mocpack_Status mocpack_planes_decode(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									 size_t class_count, const uint8_t* start, void* models,
									 const uint8_t* src, size_t src_size)
{
	PlaneModels* m = init_models(models, class_count, start);
	RangeDecoder coder(src, src_size);
	DecodeBit bit{coder};
	for (size_t r = 0; r < rows; ++r)
	{
		for (size_t c = 0; c < columns; ++c)
			values[r * columns + c] = code_value(bit, m[classes[c]], context_at(values, columns, r, c), 0);
		if (coder.exhausted())
			return MOCPACK_TRUNCATED;
	}
	return coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

size_t mocpack_planes_decode_truncated(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									   size_t class_count, void* models, const uint8_t* src, size_t src_size)
{
	PlaneModels* m = static_cast<PlaneModels*>(models);
	for (size_t c = 0; c < class_count; ++c)
		m[c] = PlaneModels();
	RangeDecoder coder(src, src_size);
	DecodeBit bit{coder};
	for (size_t r = 0; r < rows; ++r)
	{
		for (size_t c = 0; c < columns; ++c)
			values[r * columns + c] = code_value(bit, m[classes[c]], context_at(values, columns, r, c), 0);
		if (!coder.certain())
			return r;
	}
	return rows;
}
