// Layers of `keysine`: the symbols of a group that is one layer, coded again as several.
#include <cstring>

#include "common/arena.h"
#include "keysine/decode/head.h"
#include "keysine/decode/refinement.h"
#include "keysine/encode/encoder.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// Steps (tracks, blocks) as a layer knows them: where it has no coefficients, the track does not move.
void still_steps(const Plan& plan, const GroupSymbols& whole, const int32_t* values, int32_t* steps)
{
	size_t blocks = size_t(whole.shape.blocks), stride = size_t(whole.shape.stride);
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
			steps[t * blocks + b] = moves ? whole.rows.steps[t * blocks + b] : -1;
		}
}

} // namespace

size_t mocpack_keysine_split_scratch(const mocpack_KeysineHead* head)
{
	if (!head->grouping.groups)
		return 64;
	Arena arena(nullptr);
	GroupSymbols symbols;
	for (int i = 0; i < 3; ++i)
		lay_out_group(head->plan, head->grouping.longest_group(), &symbols, &arena);
	arena.allocate<SymbolInterval>(group_shares(head->plan, head->grouping.longest_group()));
	return arena.used();
}

mocpack_Status mocpack_keysine_split(const mocpack_KeysineHead* head, size_t group, const int32_t* keys,
									 const uint8_t* src, size_t size, const uint8_t* shifts,
									 size_t layer_count, uint8_t* dst, size_t dst_size, size_t* sizes,
									 void* scratch)
{
	GroupSymbols whole, made, goal;
	if (head->layer_count != 1 || group >= head->grouping.groups)
		return MOCPACK_BOUND_NOT_MET;
	const Plan& plan = head->plan;
	mocpack_Status status = read_group(head, group, keys, &src, &size, 1, plan.track_count, &whole, scratch);
	for (size_t l = 0; l < layer_count; ++l)
		sizes[l] = 0;
	if (status != MOCPACK_OK || head->grouping.length(group) == 1)
		return status;
	Arena arena(scratch);
	lay_out_group(plan, head->grouping.longest_group(), &made, &arena); // where the whole stands
	lay_out_group(plan, head->grouping.longest_group(), &made, &arena);
	lay_out_group(plan, head->grouping.longest_group(), &goal, &arena);
	size_t room = group_shares(plan, head->grouping.longest_group());
	SymbolInterval* shares = arena.allocate<SymbolInterval>(room);
	shape_group(plan, head->grouping.length(group), whole.splits, head->tempo, &made);
	made.rows.keys = whole.keys;
	for (size_t l = 0; l < layer_count; ++l)
	{
		const uint8_t* to = l + 1 < layer_count ? shifts + l * plan.track_count : nullptr;
		if (dst_size < 8)
			return MOCPACK_NO_MEMORY;
		TableWriter writer(shares, room);
		GroupSymbols& wanted = l ? goal : made;
		shift_values(plan, whole, to, wanted.rows.values);
		still_steps(plan, whole, wanted.rows.values, wanted.rows.steps);
		bool good;
		if (l)
			good = Refinement<TableWriter>(writer, plan, made.shape, made.rows)
					   .layer(shifts + (l - 1) * plan.track_count, to, plan.track_count, goal.rows.steps,
							  goal.rows.values);
		else
			good = write_group(writer, plan, whole.keys, &made);
		sizes[l] = good ? sealed(dst, writer.finish(dst + 2, dst_size - 2)) : 0;
		if (!sizes[l])
			return MOCPACK_NO_MEMORY;
		dst += sizes[l], dst_size -= sizes[l];
	}
	return MOCPACK_OK;
}
