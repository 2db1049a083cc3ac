// The memory and the shape of the symbols of a group.
#include "keysine/format/group.h"

#include <cstring>

namespace mocpack
{
namespace keysine
{

void lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena)
{
	size_t blocks = 1, row = 0; // maxima over all splits
	for (int splits = 0; splits <= MAX_SPLITS && size_t(1) << splits <= length; ++splits)
	{
		blocks = size_t(1) << splits;
		size_t longest = longest_block(length, splits);
		if (longest <= size_t(MAX_BLOCK_FRAMES) && blocks * size_t(row_stride(int32_t(longest))) > row)
			row = blocks * size_t(row_stride(int32_t(longest)));
	}
	size_t cells = plan.channel_count * row;
	symbols->keys = arena->allocate<int32_t>((blocks + 1) * plan.channel_count);
	symbols->residuals = arena->allocate<int32_t>((blocks + 1) * plan.channel_count);
	symbols->rows.keys = symbols->keys;
	symbols->lengths = arena->allocate<int32_t>(blocks);
	symbols->found = arena->allocate<uint8_t>(plan.channel_count);
	symbols->rows.steps = arena->allocate<int32_t>(plan.track_count * blocks);
	symbols->rows.reaches = arena->allocate<uint8_t>(plan.channel_count * blocks);
	symbols->rows.extents = arena->allocate<int16_t>(plan.channel_count * blocks);
	symbols->rows.levels = arena->allocate<uint8_t>(cells);
	symbols->rows.values = arena->allocate<int32_t>(cells);
}

bool shape_group(const Plan& plan, size_t length, int splits, int32_t tempo, GroupSymbols* symbols)
{
	size_t blocks = size_t(1) << splits, longest = longest_block(length, splits);
	if (splits > MAX_SPLITS || blocks > length || longest > size_t(MAX_BLOCK_FRAMES))
		return false;
	symbols->splits = splits;
	symbols->shape = {int32_t(blocks), row_stride(int32_t(longest)), symbols->lengths, tempo << splits};
	for (size_t b = 0; b < blocks; ++b)
		symbols->lengths[b] =
			int32_t(block_frame(length, splits, b + 1) - block_frame(length, splits, b)) - 1;
	size_t cells = plan.channel_count * blocks * size_t(symbols->shape.stride);
	std::memset(symbols->rows.values, 0, cells * sizeof(int32_t));
	std::memset(symbols->rows.levels, 0, cells);
	std::memset(symbols->rows.reaches, 0, plan.channel_count * blocks);
	std::memset(symbols->rows.extents, 0, plan.channel_count * blocks * sizeof(int16_t));
	for (size_t i = 0; i < plan.track_count * blocks; ++i)
		symbols->rows.steps[i] = -1;
	symbols->part = 1.0;
	return true;
}

} // namespace keysine
} // namespace mocpack
