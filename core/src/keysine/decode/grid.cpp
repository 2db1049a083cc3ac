// Decodes groups in grid mode.
#include "keysine/decode/grid.h"

#include "keysine/format/curves.h"

namespace mocpack
{
namespace keysine
{

GridGroup::GridGroup(const mocpack_KeysineHead& head, Arena* arena)
	: series(head.plan, head.thorough, head.initial_scales, arena)
{
	size_t channels = head.plan.channel_count;
	stride = padded(int32_t(head.grouping.longest_group()));
	numbers = arena->allocate<int32_t>(2 * channels);
	finer = arena->allocate<uint8_t>(head.plan.track_count);
	curves = arena->allocate<double>(channels * size_t(stride));
}

mocpack_Status read_grid(const mocpack_KeysineHead& head, const int32_t* key, int32_t length,
						 const uint8_t* body, size_t size, GridGroup* group)
{
	const Plan& plan = head.plan;
	size_t channels = plan.channel_count;
	GridModel model(plan, group->series);
	TableReader reader(body, size);
	GridRows<TableReader> rows(reader, plan, model, group->finer);
	std::memset(group->numbers, 0, 2 * channels * sizeof(int32_t));
	for (int32_t f = 0; f < length; ++f)
	{
		if (f)
			rows.begin_row();
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			GridSample place = {};
			if (f && !rows.track(t, group->numbers + channels, &place))
				return reader.exhausted() ? MOCPACK_TRUNCATED : MOCPACK_CORRUPT;
			double step = step_of(head.unit, head.grid_steps[t]);
			for (int32_t c = 0; c < track.channels; ++c)
			{
				size_t channel = size_t(track.first_channel + c);
				group->curves[channel * size_t(group->stride) + size_t(f)] =
					track.key_step * key[channel] + step * place.steps(c);
			}
		}
		if (f)
			rows.end_row();
		std::memcpy(group->numbers, group->numbers + channels, channels * sizeof(int32_t));
		if (reader.exhausted())
			return MOCPACK_TRUNCATED;
	}
	return reader.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace keysine
} // namespace mocpack
