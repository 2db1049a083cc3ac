// Rows as bytes. An intra row begins with its mode: bound (varint, micrometres), every, and bits for twist
// and refinement.
#include "live/row_coder.h"

#include <new>

namespace mocpack
{
namespace live
{

namespace
{

const int TWIST_BIT = 8; // beside three bits of refinement

size_t put_mode(const Mode& mode, int refined, uint8_t* dst)
{
	size_t size = 0;
	uint32_t bound = mode.bound;
	for (; bound > 127; bound >>= 7)
		dst[size++] = uint8_t(bound | 128);
	dst[size++] = uint8_t(bound);
	dst[size++] = mode.every;
	dst[size++] = uint8_t(refined | (mode.twist ? TWIST_BIT : 0));
	return size;
}

// Returns the size, 0 where it is no mode.
size_t get_mode(const uint8_t* src, size_t size, Mode* mode, int* refined)
{
	size_t at = 0;
	mode->bound = 0;
	for (int shift = 0; shift < 21 && at < size; shift += 7)
	{
		mode->bound |= uint32_t(src[at] & 127) << shift;
		if (src[at++] < 128)
			break;
	}
	if (size - at < 2 || mode->bound < 1 || mode->bound > MOST_BOUND || !src[at] || src[at + 1] > 15)
		return 0;
	mode->every = src[at];
	mode->twist = (src[at + 1] & TWIST_BIT) != 0;
	*refined = src[at + 1] & 7;
	return *refined > MOST_REFINED ? 0 : at + 2;
}

} // namespace

void forget(const Model& model, Learned& learned)
{
	new (learned.shared) Shared();
	for (size_t u = 0; u < model.unit_count; ++u)
	{
		for (Counter& c : learned.own[u])
			c = Counter();
		for (Counter& c : learned.parts[u])
			c = Counter();
	}
	learned.shared->refined.one = 1024;
}

size_t write_row(const Model& model, const State& before, Learned& learned, Row& row, uint8_t* dst,
				 size_t room)
{
	size_t head = 0;
	if (row.intra)
	{
		if (room < 8)
			return 0;
		head = put_mode(before.mode, row.refined, dst);
		forget(model, learned);
	}
	BitWriter bits = {RangeEncoder(dst + head, room - head)};
	RowCoder<BitWriter> coder = {model, before, learned, bits};
	coder.refined_wanted = row.refined;
	if (row.intra)
		coder.intra(row);
	else
		coder.news(row);
	size_t size = bits.coder.finish();
	return size ? head + size : 0;
}

mocpack_Status read_row(const Model& model, const State& before, Learned& learned, const uint8_t* src,
						size_t size, Row& row)
{
	BitReader bits = {RangeDecoder(src, size)};
	RowCoder<BitReader> coder = {model, before, learned, bits};
	coder.news(row);
	return bits.coder.exhausted() ? MOCPACK_TRUNCATED : bits.coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

mocpack_Status read_intra(const Model& model, State& state, Learned& learned, const uint8_t* src, size_t size,
						  Row& row)
{
	Mode mode;
	size_t head = get_mode(src, size, &mode, &row.refined);
	if (!head)
		return MOCPACK_CORRUPT;
	state.mode = mode;
	steps_of(model, mode.bound, 0, state.steps);
	forget(model, learned);
	BitReader bits = {RangeDecoder(src + head, size - head)};
	RowCoder<BitReader> coder = {model, state, learned, bits};
	coder.intra(row);
	return bits.coder.exhausted() ? MOCPACK_TRUNCATED : bits.coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace live
} // namespace mocpack
