// Layers of `keysine`: the symbols of a group that is one layer, coded again as several.
#include <cstring>

#include "common/arena.h"
#include "keysine/decode/head.h"
#include "keysine/decode/refinement.h"
#include "keysine/encode/encoder.h"

using namespace mocpack;
using namespace mocpack::keysine;

void mocpack::keysine::shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts,
									int32_t* out)
{
	size_t row = size_t(whole.blocks) * size_t(whole.stride);
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t first = size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = first; i < first + size_t(plan.tracks[t].channels) * row; ++i)
			out[i] = shifts ? shifted(whole.values[i], shifts[t]) : whole.values[i];
	}
}

namespace
{

// Steps (tracks, blocks) as a layer knows them: where it has no coefficients, the track does not move.
void still_steps(const Plan& plan, const GroupSymbols& whole, const int32_t* values, int32_t* steps)
{
	size_t blocks = size_t(whole.blocks), stride = size_t(whole.stride);
	for (size_t t = 0; t < plan.track_count; ++t)
		for (size_t b = 0; b < blocks; ++b)
		{
			bool moves = false;
			for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
			{
				const int32_t* row =
					values + (size_t(plan.tracks[t].first_channel + c) * blocks + b) * stride;
				for (size_t k = 0; k < stride; ++k)
					moves = moves || row[k];
			}
			steps[t * blocks + b] = moves ? whole.steps[t * blocks + b] : -1;
		}
}

} // namespace

size_t mocpack_keysine_split_scratch(const mocpack_KeysineHead* head)
{
	if (!head->cut.blocks)
		return 64;
	Arena arena(nullptr);
	GroupSymbols symbols;
	for (int i = 0; i < 3; ++i)
		lay_out_group(head, &symbols, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_split(const mocpack_KeysineHead* head, size_t group, const uint8_t* src,
									 size_t size, const uint8_t* shifts, size_t layer_count, uint8_t* dst,
									 size_t dst_size, size_t* sizes, void* scratch)
{
	GroupSymbols whole, made, goal;
	if (head->layer_count != 1 || group >= head->group_count)
		return MOCPACK_UNREACHABLE;
	const Plan& plan = head->plan;
	mocpack_Status status = read_group(head, group, &src, &size, 1, plan.track_count, &whole, scratch);
	if (status != MOCPACK_OK)
		return status;
	Arena arena(scratch);
	lay_out_group(head, &made, &arena);
	lay_out_group(head, &made, &arena);
	lay_out_group(head, &goal, &arena);
	Shape shape = {whole.blocks, whole.stride, whole.lengths, head->tempo};
	start_models(made.models, head->model);
	for (size_t l = 0; l < layer_count; ++l)
	{
		const uint8_t* to = l + 1 < layer_count ? shifts + l * plan.track_count : nullptr;
		if (dst_size < 8)
			return MOCPACK_NO_MEMORY;
		Writer writer = {RangeEncoder(dst + 2, dst_size - 2)};
		shift_values(plan, whole, to, l ? goal.values : made.values);
		still_steps(plan, whole, l ? goal.values : made.values, l ? goal.steps : made.steps);
		bool good = l ? Refinement<Writer>(writer, *made.models, plan)
							.layer(shape, shifts + (l - 1) * plan.track_count, to, plan.track_count,
								   made.steps, goal.steps, made.values, goal.values, made.reaches)
					  : Symbols<Writer>(writer, *made.models, plan)
							.group(shape, plan.track_count, made.steps, made.values, made.reaches);
		sizes[l] = good ? sealed(dst, writer.coder.finish()) : 0;
		if (!sizes[l])
			return MOCPACK_NO_MEMORY;
		dst += sizes[l], dst_size -= sizes[l];
	}
	return MOCPACK_OK;
}
