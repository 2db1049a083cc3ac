// Decodes frames of one group of a keysine payload.
#include "reader/keysine_groups.h"

#include "common/small_build.h"
#include "keysine/decode/rows.h"

namespace mocpack
{

bool load_keys(const mocpack_Motion& m, GroupLane* lane, size_t segment, mocpack_Error* error)
{
	if (lane->segment == segment)
		return true;
	lane->segment = NO_GROUP;
	size_t size = m.layout.sizes[segment];
	const uint8_t* src = lane->bytes.view(m.part_offsets[segment], size, lane->input, error);
	if (!src)
		return false;
	mocpack_Status status = mocpack_keysine_decode_segment(m.head, m.keys_in_segment(segment), src, size,
														   lane->keys, lane->scratch);
	if (status == MOCPACK_OK)
		lane->segment = segment;
	else
		ErrorMessage(error, status, m.part_offsets[segment])
			<< "keysine key segment " << uint64_t(segment)
			<< (status == MOCPACK_TRUNCATED ? " ends too early" : " is corrupt");
	return status == MOCPACK_OK;
}

bool load_layers(const mocpack_Motion& m, const GroupLane& lane, size_t group, size_t max_layers,
				 GroupLayers* layers, mocpack_Error* error)
{
	uint8_t* buffer = lane.input;
	layers->count = m.whole_layers(group, max_layers);
	for (size_t l = 0; l < layers->count; ++l)
	{
		const size_t part = m.group_part(l, group), size = m.layout.sizes[part];
		layers->sizes[l] = size;
		layers->bytes[l] = lane.bytes.view(m.part_offsets[part], size, buffer, error);
		if (!layers->bytes[l])
			return false;
		buffer += lane.bytes.all ? 0 : size;
	}
	return true;
}

size_t find_ranges(const mocpack_Motion& m, size_t first, size_t last, size_t max_layers, bool with_keys,
				   mocpack_Range* ranges)
{
	size_t count = 0;
	auto add = [&](size_t part, size_t end_part)
	{
		const uint64_t from = m.part_offsets[part], end = m.part_offsets[end_part],
					   to = end < m.payload_end ? end : m.payload_end;
		if (from < to)
			ranges[count++] = {from, to - from};
	};
	if (with_keys)
		add(m.segment_of(first), m.segment_of(last) + 1);
	for (size_t l = 0; m.layout.group_count && l < max_layers; ++l)
		add(m.group_part(l, first), m.group_part(l, last) + 1);
	return count;
}

bool decode_group_frames(const mocpack_Motion& m, GroupLane* lane, size_t group, size_t first, size_t stop,
						 size_t max_layers, const FrameArrays& out, mocpack_Error* error)
{
	GroupLayers layers;
	if (!load_keys(m, lane, m.segment_of(group), error) ||
		!load_layers(m, *lane, group, max_layers, &layers, error))
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
	if (status != MOCPACK_OK)
		ErrorMessage(error, status, m.part_offsets[m.group_part(0, group)])
			<< "keysine group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group))
			<< (status == MOCPACK_TRUNCATED ? ", ends too early" : ", is corrupt");
	return status == MOCPACK_OK;
}

void decode_key(const mocpack_Motion& m, const int32_t* key, const FrameArrays& out)
{
	if (!SMALL_BUILD && out.rows)
		mocpack_keysine_decode_key_row(m.head, key, out.columns, out.rows, out.rotations_only);
	else
		mocpack_keysine_decode_key(m.head, key, out.columns, out.rotations, out.translations);
}

} // namespace mocpack
