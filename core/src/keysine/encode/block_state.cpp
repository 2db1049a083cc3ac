// Sets up the groups and blocks that an encoder searches, and saves parts of them.
#include "keysine/encode/block_state.h"

#include <cstring>

namespace mocpack
{
namespace keysine
{

BlockState::BlockState(const Encoder& encoder_, Arena* arena)
	: encoder(encoder_), context(encoder_.plan, symbols.shape, symbols.rows)
{
	const Job& job = encoder.job;
	const size_t longest_group = encoder.grouping.longest_group(), channels = encoder.plan.channel_count,
				 longest =
					 longest_group < size_t(MAX_BLOCK_FRAMES) ? longest_group : size_t(MAX_BLOCK_FRAMES);
	stride = padded(int32_t(longest));
	lay_out_motion_pair(&pair, arena, encoder, int32_t(longest));
	lay_out_group(encoder.plan, longest_group, &symbols, arena);
	frames_ = arena->allocate<size_t>(size_t(stride));
	sines = arena->allocate<double>(longest * size_t(stride));
	waves = arena->allocate<float>(longest * size_t(stride));
	series = {reinterpret_cast<const Predictor*>(job.predictors),
			  job.predictor_count,
			  0,
			  stride,
			  arena->allocate<double>(channels * size_t(stride)),
			  arena->allocate<int32_t>(channels)};
	strained = arena->allocate<uint8_t>(size_t(stride));
}

bool BlockState::begin_group(size_t group_, const int32_t* all_keys, int splits)
{
	const Job& job = encoder.job;
	group = group_, group_length = encoder.grouping.length(group), filled_ = nullptr;
	if (!shape_group(encoder.plan, group_length, splits, job.tempo, &symbols))
		return false;
	context.set_lengths();
	series.tempo = symbols.shape.tempo;
	const size_t blocks = size_t(1) << splits, apart = size_t(1) << (job.splits - splits),
				 channels = encoder.plan.channel_count;
	for (size_t k = 0; k <= blocks; ++k)
		std::memcpy(symbols.keys + k * channels, all_keys + k * apart * channels, channels * sizeof(int32_t));
	return true;
}

void BlockState::begin_block(size_t b_)
{
	first_frame = block_frame(group_length, symbols.splits, b_);
	b = int32_t(b_), keys = symbols.keys + b_ * encoder.plan.channel_count;
	set_length(symbols.lengths[b] + 1);
	pair.count = n;
	for (int32_t t = 0; t < n; ++t)
		frames_[t] = encoder.grouping.key_frame(group) + first_frame + size_t(t) + 1;
	if (filled_ != keys)
		fill_source(&pair, encoder, frames_);
	filled_ = keys;
}

void BlockState::set_length(int32_t length)
{
	for (RowSums& own : sums)
		own.set_bands(length - 1, symbols.shape.tempo);
	if (n + 1 == length && width)
		return;
	n = length - 1, width = padded(length);
	fill_sines(sines, length, 0, length);
	for (int32_t k = 1; k < length; ++k)
		for (int32_t t = 0; t < width; ++t)
			waves[(k - 1) * width + t] = t < n ? float(sines[k * width + t + 1]) : 0.0f;
}

SavedBlock BlockState::lay_out_saved_block(Arena* arena) const
{
	const size_t channels = encoder.plan.channel_count, cells = channels * size_t(row_stride(stride));
	return {arena->allocate<int32_t>(encoder.plan.track_count),
			arena->allocate<int32_t>(cells),
			arena->allocate<uint8_t>(cells),
			arena->allocate<uint8_t>(channels),
			arena->allocate<double>(channels * size_t(stride)),
			arena->allocate<int32_t>(channels),
			arena->allocate<Vec3>(encoder.plan.skeleton->joint_count * size_t(stride)),
			arena->allocate<Quat>(encoder.plan.skeleton->joint_count * size_t(stride))};
}

void BlockState::copy_span(const SavedBlock& saved, const Span& span, bool saves) const
{
	if (span.empty())
		return;
	const Shape& shape = symbols.shape;
	const Rows& rows = symbols.rows;
	const size_t cells = size_t(shape.stride);
	auto copy = [saves](auto* own, auto* copied, size_t count)
	{ std::memcpy(saves ? copied : own, saves ? own : copied, count * sizeof(*own)); };
	for (size_t t = span.first_track; t < span.end_track; ++t)
		copy(rows.steps + t * size_t(shape.blocks) + size_t(b), saved.steps + t, 1);
	const Track& last = encoder.plan.tracks[span.end_track - 1];
	for (size_t c = size_t(encoder.plan.tracks[span.first_track].first_channel);
		 c < size_t(last.first_channel + last.channels); ++c)
	{
		size_t row = size_t(shape.row(int32_t(c), b)) - MARGIN;
		copy(rows.values + row, saved.values + c * cells, cells);
		copy(rows.levels + row, saved.levels + c * cells, cells);
		copy(rows.reaches + c * size_t(shape.blocks) + size_t(b), saved.reaches + c, 1);
		copy(series.series + c * size_t(stride), saved.series + c * size_t(stride), size_t(stride));
		copy(series.extents + c, saved.extents + c, 1);
	}
	const size_t from = pair.at(span.first_joint, 0), to = pair.at(span.end_joint, 0);
	copy(pair.decoded_position + from, saved.positions + from, to - from);
	copy(pair.decoded_rotation + from, saved.rotations + from, to - from);
}

} // namespace keysine
} // namespace mocpack
