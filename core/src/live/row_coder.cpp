// Writes and reads rows. A keyframe starts with its mode: bound (varint, micrometers), frame step, and a byte
// with twist and refinement.
#include "live/row_coder.h"

#include <new>

namespace mocpack
{
namespace live
{

namespace
{

const int TWIST_BIT = 8; // above three bits of refinement

size_t put_mode(const Mode& mode, int refinement, uint8_t* dst)
{
	size_t size = 0;
	uint32_t bound = mode.bound;
	for (; bound > 127; bound >>= 7)
		dst[size++] = uint8_t(bound | 128);
	dst[size++] = uint8_t(bound);
	dst[size++] = mode.frame_step;
	dst[size++] = uint8_t(refinement | (mode.twist ? TWIST_BIT : 0));
	return size;
}

// Returns the size of the mode, or 0 if it is invalid.
size_t get_mode(const uint8_t* src, size_t size, Mode* mode, int* refinement)
{
	size_t at = 0;
	mode->bound = 0;
	for (int shift = 0; shift < 21 && at < size; shift += 7)
	{
		mode->bound |= uint32_t(src[at] & 127) << shift;
		if (src[at++] < 128)
			break;
	}
	if (size - at < 2 || mode->bound < 1 || mode->bound > MAX_BOUND_UM || !src[at] || src[at + 1] > 15)
		return 0;
	mode->frame_step = src[at];
	mode->twist = (src[at + 1] & TWIST_BIT) != 0;
	*refinement = src[at + 1] & 7;
	return *refinement > MAX_REFINEMENT ? 0 : at + 2;
}

} // namespace

void reset_contexts(const Model& model, Contexts& contexts)
{
	new (contexts.shared) SharedContexts();
	for (size_t u = 0; u < model.unit_count; ++u)
	{
		for (Counter& c : contexts.own[u])
			c = Counter();
		for (Counter& c : contexts.parts[u])
			c = Counter();
	}
	contexts.shared->refinement.one = 1024;
}

size_t write_row(const Model& model, const State& before, Contexts& contexts, Row& row, uint8_t* dst,
				 size_t room)
{
	size_t head = 0;
	if (row.keyframe)
	{
		if (room < 8)
			return 0;
		head = put_mode(before.mode, row.refinement, dst);
		reset_contexts(model, contexts);
	}
	BitWriter bits = {RangeEncoder(dst + head, room - head)};
	RowCoder<BitWriter> coder = {model, before, contexts, bits};
	coder.wanted_refinement = row.refinement;
	if (row.keyframe)
		coder.code_keyframe(row);
	else
		coder.code_residuals(row);
	size_t size = bits.coder.finish();
	return size ? head + size : 0;
}

mocpack_Status read_row(const Model& model, const State& before, Contexts& contexts, const uint8_t* src,
						size_t size, Row& row)
{
	BitReader bits = {RangeDecoder(src, size)};
	RowCoder<BitReader> coder = {model, before, contexts, bits};
	coder.code_residuals(row);
	return bits.coder.exhausted() ? MOCPACK_TRUNCATED : bits.coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

mocpack_Status read_keyframe(const Model& model, State& state, Contexts& contexts, const uint8_t* src,
							 size_t size, Row& row)
{
	Mode mode;
	size_t head = get_mode(src, size, &mode, &row.refinement);
	if (!head)
		return MOCPACK_CORRUPT;
	state.mode = mode;
	compute_steps(model, mode.bound, 0, state.steps);
	reset_contexts(model, contexts);
	BitReader bits = {RangeDecoder(src + head, size - head)};
	RowCoder<BitReader> coder = {model, state, contexts, bits};
	coder.code_keyframe(row);
	return bits.coder.exhausted() ? MOCPACK_TRUNCATED : bits.coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace live
} // namespace mocpack
