// Recodes parts of a payload of one layer as several layers.
#include "keysine/encode/layer_writer.h"

#include <algorithm>

#include "keysine/encode/encoder.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const size_t REFINEMENT_SHARES = 2; // upper limit on symbols of a refinement, over those of its group

// Appends parts of a payload to a buffer, and stores their sizes.
struct PartSink
{
	uint8_t* dst;
	size_t room;
	size_t* sizes;

	bool add(TableWriter* writer, bool good)
	{
		*sizes = good && room > 8 ? sealed(dst, writer->finish(dst + 2, room - 2)) : 0;
		dst += *sizes, room -= *sizes;
		return *sizes++ > 0;
	}
	bool add_empty()
	{
		*sizes++ = 0;
		return true;
	}
};

size_t bundle_shares(const mocpack_KeysineHead& head)
{
	return REFINEMENT_SHARES * BUNDLE_GROUPS * group_shares(head.plan, head.grouping.longest_group());
}

} // namespace

size_t mocpack_keysine_split_scratch(const mocpack_KeysineHead* head)
{
	const size_t keys = std::min(head->groups_per_segment, head->grouping.groups) + 1;
	Arena arena(nullptr), other(nullptr);
	for (size_t i = 0; i < BUNDLE_GROUPS; ++i)
		SplitGroup(*head, &arena);
	arena.allocate<SymbolInterval>(bundle_shares(*head));
	other.allocate<int32_t>(keys * head->plan.channel_count);
	other.allocate<uint8_t>(head->plan.channel_count);
	other.allocate<SymbolInterval>(KEY_SHARES * keys * head->plan.channel_count);
	return std::max(arena.used(), other.used());
}

mocpack_Status mocpack_keysine_split_segment(const mocpack_KeysineHead* head, const int32_t* keys,
											 size_t key_count, const uint8_t* shifts, size_t layer_count,
											 uint8_t* dst, size_t dst_size, size_t* sizes, void* scratch)
{
	const Plan& plan = head->plan;
	const ShiftTable table = {shifts, layer_count, plan.track_count};
	const uint8_t* first = table.of(0).keys;
	Arena arena(scratch);
	int32_t* made = arena.allocate<int32_t>(key_count * plan.channel_count);
	uint8_t* found = arena.allocate<uint8_t>(plan.channel_count);
	const size_t room = KEY_SHARES * key_count * plan.channel_count;
	SymbolInterval* shares = arena.allocate<SymbolInterval>(room);
	PartSink sink = {dst, dst_size, sizes};
	coarsen_keys(plan, first, first, keys, key_count, made);
	for (size_t l = 0; l < layer_count; ++l)
	{
		TableWriter writer(shares, room);
		const bool good =
			l ? refine_keys(writer, plan, first, table.of(l - 1).keys, table.of(l).keys, made, key_count,
							keys)
			  : code_coarse_keys(
					plan, first, made, key_count,
					[&] { return KeySymbols<TableWriter>(writer, plan, found).sequence(made, key_count); });
		if (!sink.add(&writer, good))
			return MOCPACK_NO_MEMORY;
	}
	return MOCPACK_OK;
}

mocpack_Status mocpack_keysine_split_bundle(const mocpack_KeysineHead* head, size_t first, size_t count,
											const int32_t* keys, const uint8_t* const* src,
											const size_t* src_sizes, const uint8_t* shifts,
											size_t layer_count, uint8_t* dst, size_t dst_size, size_t* sizes,
											void* scratch)
{
	const Plan& plan = head->plan;
	const ShiftTable table = {shifts, layer_count, plan.track_count};
	if (head->layer_count != 1 || !count || count > BUNDLE_GROUPS || first + count > head->grouping.groups)
		return MOCPACK_BAD_ARGUMENT;
	Arena arena(scratch);
	SplitGroup groups[BUNDLE_GROUPS] = {{*head, &arena}, {*head, &arena}, {*head, &arena}, {*head, &arena}};
	const size_t room = bundle_shares(*head);
	SymbolInterval* shares = arena.allocate<SymbolInterval>(room);
	PartSink sink = {dst, dst_size, sizes};
	bool moves = false;
	for (size_t i = 0; i < count; ++i)
	{
		const size_t length = head->grouping.length(first + i);
		const mocpack_Status status =
			groups[i].open(*head, first + i, keys + i * plan.channel_count, src[i], src_sizes[i]);
		if (status != MOCPACK_OK)
			return status;
		TableWriter writer(shares, room);
		groups[i].coarsen(*head, length, table.of(0));
		if (length == 1 ? !sink.add_empty() : !sink.add(&writer, groups[i].write(writer, plan, table.of(0))))
			return MOCPACK_NO_MEMORY;
		moves = moves || length > 1;
	}
	for (size_t l = 1; l < layer_count; ++l)
	{
		TableWriter writer(shares, room);
		bool good = true;
		for (size_t i = 0; i < count && good; ++i)
			if (head->grouping.length(first + i) > 1)
				good = groups[i].refine(writer, plan, table, l);
		if (moves ? !sink.add(&writer, good) : !sink.add_empty())
			return MOCPACK_NO_MEMORY;
	}
	return MOCPACK_OK;
}
