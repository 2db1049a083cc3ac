// Recodes parts of a payload of one layer as several layers.
#include "keysine/encode/layer_writer.h"

#include <algorithm>

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t REFINEMENT_SHARES = 2; // upper limit on symbols of a refinement, over those of its group

} // namespace

LayerWriter::LayerWriter(const mocpack_KeysineHead& head, const ShiftTable& table, size_t room, Arena* arena)
	: head_(head), table_(table), groups_{{head, arena}, {head, arena}, {head, arena}, {head, arena}},
	  room_(room)
{
	const size_t channels = head.plan.channel_count;
	key_count_ = std::min(head.groups_per_segment, head.grouping.groups) + 1;
	intervals_ =
		std::max(REFINEMENT_SHARES * BUNDLE_GROUPS * group_shares(head.plan, head.grouping.longest_group()),
				 KEY_SHARES * key_count_ * channels);
	memory_ = arena->allocate<SymbolInterval>(intervals_);
	keys_ = arena->allocate<int32_t>(key_count_ * channels);
	found_ = arena->allocate<uint8_t>(channels);
	dst_ = arena->allocate<uint8_t>(room);
}

mocpack_Status LayerWriter::add(TableWriter* writer, bool good, Bytes* part)
{
	*part = seal(at_, good && left_ > 8 ? writer->finish(at_ + 2, left_ - 2) : 0);
	at_ += part->size, left_ -= part->size;
	return part->size ? MOCPACK_OK : MOCPACK_CORRUPT;
}

mocpack_Status LayerWriter::split_segment(const int32_t* keys, size_t key_count, Bytes* parts)
{
	const Plan& plan = head_.plan;
	const uint8_t* first = table_.of(0).keys;
	at_ = dst_, left_ = room_;
	coarsen_keys(plan, first, first, keys, key_count, keys_);
	mocpack_Status status = MOCPACK_OK;
	for (size_t l = 0; l < table_.layers && status == MOCPACK_OK; ++l)
	{
		TableWriter own = writer();
		const bool good =
			l ? refine_keys(own, plan, first, table_.of(l - 1).keys, table_.of(l).keys, keys_, key_count,
							keys)
			  : code_coarse_keys(
					plan, first, keys_, key_count,
					[&] { return KeySymbols<TableWriter>(own, plan, found_).sequence(keys_, key_count); });
		status = add(&own, good, parts + l);
	}
	return status;
}

mocpack_Status LayerWriter::split_bundle(size_t first, size_t count, const int32_t* keys, const Bytes* src,
										 Bytes* parts)
{
	const Plan& plan = head_.plan;
	at_ = dst_, left_ = room_;
	mocpack_Status status = MOCPACK_OK;
	bool moves = false;
	for (size_t i = 0; i < count && status == MOCPACK_OK; ++i)
	{
		const size_t length = head_.grouping.length(first + i);
		status = groups_[i].open(head_, first + i, keys + i * plan.channel_count, src[i].data, src[i].size);
		if (status != MOCPACK_OK)
			return status;
		groups_[i].coarsen(head_, length, table_.of(0));
		parts[i] = {at_, 0};
		if (length == 1)
			continue;
		TableWriter own = writer();
		status = add(&own, groups_[i].write(own, plan, table_.of(0)), parts + i);
		moves = true;
	}
	for (size_t l = 1; l < table_.layers && status == MOCPACK_OK; ++l)
	{
		Bytes* part = parts + count + l - 1;
		*part = {at_, 0};
		if (!moves)
			continue;
		TableWriter own = writer();
		bool good = true;
		for (size_t i = 0; i < count && good; ++i)
			if (head_.grouping.length(first + i) > 1)
				good = groups_[i].refine(own, plan, table_, l);
		status = add(&own, good, part);
	}
	return status;
}

} // namespace keysine
} // namespace mocpack
