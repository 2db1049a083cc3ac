// Decodes frames of one group of a keysine payload.
#include "reader/keysine_groups.h"

#include "common/small_build.h"
#include "keysine/decode/rows.h"

namespace mocpack
{

bool load_keys(const mocpack_Motion& m, GroupLane* lane, size_t segment, size_t layers, mocpack_Error* error)
{
	layers = layers ? layers : m.whole_key_layers(segment);
	const size_t all = m.keys_in_segment(segment),
				 last = lane->last_key - segment * m.layout.groups_per_segment;
	// bundles of groups need all keys
	size_t keys = last < all && m.layout.layer_count == 1 ? last + 1 : all;
	if (lane->segment == segment && lane->key_layers == layers && lane->key_count >= keys)
		return true;
	keys = lane->segment == segment ? all : keys;
	lane->segment = NO_GROUP;
	lane->sines.bundle_end = 0; // the keys use the same scratch
	for (size_t l = 0; l < layers; ++l)
	{
		const size_t part = m.parts().segment(l, segment), size = m.layout.sizes[part];
		const uint8_t* src = lane->bytes.view(m.part_offsets[part], size, lane->input, error);
		if (!src)
			return false;
		const mocpack_Status status =
			l ? mocpack_keysine_refine_segment(m.head, l, keys, src, size, lane->keys)
			  : mocpack_keysine_decode_segment(m.head, keys, keys == all, src, size, lane->keys,
											   lane->scratch);
		if (status != MOCPACK_OK)
		{
			ErrorMessage(error, status, m.part_offsets[part])
				<< "keysine key segment " << uint64_t(segment)
				<< (status == MOCPACK_TRUNCATED ? " ends too early" : " is corrupt");
			return false;
		}
	}
	lane->segment = segment, lane->key_layers = layers, lane->key_count = keys;
	return true;
}

namespace
{

// The bytes of a group's parts with `count` layers.
struct GroupLayers
{
	size_t count;
	const uint8_t* bytes[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
	size_t sizes[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
};

bool load_layers(const mocpack_Motion& m, const GroupLane& lane, size_t group, size_t count,
				 GroupLayers* layers, mocpack_Error* error)
{
	uint8_t* buffer = lane.input;
	size_t parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
	layers->count = count;
	const size_t part_count = mocpack_keysine_group_parts(m.head, group, count, parts);
	for (size_t i = 0; i < part_count; ++i)
	{
		const size_t size = m.layout.sizes[parts[i]];
		layers->sizes[i] = size;
		layers->bytes[i] = lane.bytes.view(m.part_offsets[parts[i]], size, buffer, error);
		if (!layers->bytes[i])
			return false;
		buffer += lane.bytes.all ? 0 : size;
	}
	return true;
}

} // namespace

size_t find_ranges(const mocpack_Motion& m, size_t first, size_t last, size_t max_layers, bool with_keys,
				   mocpack_Range* ranges)
{
	size_t count = 0;
	auto add = [&](size_t part, size_t last_part)
	{
		const uint64_t from = m.part_offsets[part], end = m.part_offsets[last_part + 1],
					   to = end < m.payload_end ? end : m.payload_end;
		if (from < to)
			ranges[count++] = {from, to - from};
	};
	const keysine::PartOrder order = m.parts();
	const size_t segment = m.segment_of(first), last_segment = m.segment_of(last);
	// the range of streamed groups includes the keys of all segments but the first
	if (with_keys)
		add(order.segment(0, segment),
			order.segment(0, order.streamed && max_layers ? segment : last_segment));
	// the parts of later layers lie between those of keys
	for (size_t l = 1; !max_layers && l < m.layout.layer_count; ++l)
		add(order.segment(l, segment), order.segment(l, last_segment));
	if (!m.layout.group_count || !max_layers)
		return count;
	const bool bundled = max_layers > 1;
	add(order.group(0, bundled ? order.first_of_bundle(first) : first),
		order.group(0, bundled ? order.end_of_bundle(last) - 1 : last));
	for (size_t l = 1; l < max_layers; ++l)
	{
		if (with_keys)
			add(order.segment(l, segment), order.segment(l, segment));
		add(order.group(l, first), order.group(l, last));
	}
	return count;
}

bool fail_group(const mocpack_Motion& m, size_t group, mocpack_Status status, const char* reason,
				mocpack_Error* error)
{
	ErrorMessage(error, status, m.part_offsets[m.layout.group_count ? m.parts().group(0, group) : 0])
		<< "keysine group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group)) << reason;
	return false;
}

bool decode_group_frames(const mocpack_Motion& m, GroupLane* lane, size_t group, size_t first, size_t stop,
						 size_t max_layers, const FrameArrays& out, mocpack_Error* error)
{
	GroupLayers layers;
	const size_t whole = m.whole_layers(group, max_layers);
	if (!load_keys(m, lane, m.segment_of(group), whole, error) ||
		!load_layers(m, *lane, group, whole, &layers, error))
		return false;
	const int32_t* keys = key_of(m, *lane, group);
	const mocpack_Status status =
		!SMALL_BUILD && out.rows
			? mocpack_keysine_decode_rows(m.head, group, first, stop, keys, layers.bytes, layers.sizes,
										  layers.count, out.columns, out.rows, out.stride, out.rotations_only,
										  &lane->sines, lane->scratch)
			: mocpack_keysine_decode_span(m.head, group, first, stop, keys, layers.bytes, layers.sizes,
										  layers.count, out.columns, out.rotations, out.translations,
										  &lane->sines, lane->scratch);
	return status == MOCPACK_OK ||
		   fail_group(m, group, status, status == MOCPACK_TRUNCATED ? ", ends too early" : ", is corrupt",
					  error);
}

void decode_key(const mocpack_Motion& m, const int32_t* key, const FrameArrays& out)
{
	if (!SMALL_BUILD && out.rows)
		mocpack_keysine_decode_key_row(m.head, key, out.columns, out.rows, out.rotations_only);
	else
		mocpack_keysine_decode_key(m.head, key, out.columns, out.rotations, out.translations);
}

} // namespace mocpack
