// Reads the symbols of key segments and groups, layer by layer.
#include <cstring>

#include "common/checksum.h"
#include "common/crc16.h"
#include "keysine/decode/group_symbols.h"

using namespace mocpack;
using namespace mocpack::keysine;

const uint8_t* mocpack::keysine::verify_checksum(const uint8_t* src, size_t size)
{
	if (size < 2 || !checksum_matches(crc16(src + 2, size - 2), uint16_t(src[0] | src[1] << 8)))
		return nullptr;
	return src + 2;
}

void mocpack::keysine::shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts,
									int32_t* out)
{
	size_t row = size_t(whole.shape.blocks) * size_t(whole.shape.stride);
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t first = size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = first; i < first + size_t(plan.tracks[t].channels) * row; ++i)
			out[i] = shifts ? shift_magnitude(whole.rows.values[i], shifts[t]) : whole.rows.values[i];
	}
}

void mocpack::keysine::use_midpoints(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols)
{
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t row = size_t(symbols->shape.blocks) * size_t(symbols->shape.stride);
		int32_t* values = symbols->rows.values + size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = 0; i < size_t(plan.tracks[t].channels) * row; ++i)
			values[i] = doubled_midpoint(values[i], shifts[t]);
	}
	symbols->part = 0.5;
}

namespace
{

// Reads how a group is split, and the key poses between its ends.
bool read_keys(const mocpack_KeysineHead& head, size_t length, const int32_t* edges, TableReader* reader,
			   GroupSymbols* symbols)
{
	const Plan& plan = head.plan;
	int splits = reader->symbol(SPLIT_TABLE, SPLITS, 0);
	if (!shape_group(plan, length, splits, head.tempo, symbols))
		return false;
	size_t channels = plan.channel_count, blocks = size_t(1) << splits;
	const LayerShifts first = head.shifts_of(0);
	std::memset(symbols->keys, 0, (blocks + 1) * channels * sizeof(int32_t));
	std::memset(symbols->residuals, 0, (blocks + 1) * channels * sizeof(int32_t));
	coarsen_keys(plan, first.keys, first.keys, edges, 1, symbols->keys);
	coarsen_keys(plan, first.keys, first.keys, edges + channels, 1, symbols->keys + blocks * channels);
	return InnerKeys<TableReader>(*reader, plan, symbols->found)
		.layer(nullptr, first.keys, splits, symbols->keys, symbols->residuals, symbols->residuals);
}

mocpack_Status part_status(const TableReader& reader, bool good, bool reads_all)
{
	if (reader.exhausted())
		return MOCPACK_TRUNCATED;
	return good && (!reads_all || reader.all_read()) ? MOCPACK_OK : MOCPACK_CORRUPT;
}

// Reads a group's part of the first layer.
mocpack_Status read_base(const mocpack_KeysineHead& head, size_t length, const int32_t* edges,
						 const uint8_t* src, size_t size, size_t track_count, GroupSymbols* symbols)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	const Plan& plan = head.plan;
	TableReader reader(body, size - 2);
	bool good = read_keys(head, length, edges, &reader, symbols) &&
				CoefficientSymbols<TableReader>(reader, plan, symbols->shape, symbols->rows,
												head.shifts_of(0).coefficients)
					.group(track_count);
	return part_status(reader, good, track_count == plan.track_count);
}

// Refines a group. edges: key poses at its ends, of this layer or a finer one.
bool refine_group(const mocpack_KeysineHead& head, size_t l, const int32_t* edges, TableReader* reader,
				  GroupSymbols* symbols)
{
	const Plan& plan = head.plan;
	const size_t channels = plan.channel_count, blocks = size_t(symbols->shape.blocks);
	const LayerShifts from = head.shifts_of(l - 1), to = head.shifts_of(l);
	const uint8_t* first = head.shifts_of(0).keys;
	int32_t* keys = symbols->keys;
	coarsen_keys(plan, first, to.keys, edges, 1, keys);
	coarsen_keys(plan, first, to.keys, edges + channels, 1, keys + blocks * channels);
	return InnerKeys<TableReader>(*reader, plan, symbols->found)
			   .layer(from.keys, to.keys, symbols->splits, keys, symbols->residuals, symbols->residuals) &&
		   Refinement<TableReader>(*reader, plan, symbols->shape, symbols->rows, to.coefficients)
			   .layer(from.coefficients, plan.track_count, symbols->rows.steps, symbols->rows.values);
}

// Groups `first` to `end - 1`, which are refined together.
struct Bundle
{
	const mocpack_KeysineHead& head;
	size_t first, end;
	const int32_t* edges; // (groups + 1, channels)
	GroupSymbols* symbols;

	// Reads the first layer of all groups.
	mocpack_Status read(const uint8_t* const* src, const size_t* sizes) const
	{
		mocpack_Status status = MOCPACK_OK;
		for (size_t g = first; g < end && status == MOCPACK_OK; ++g)
			if (head.grouping.length(g) > 1)
				status = read_base(head, head.grouping.length(g), edges_of(g), src[g - first],
								   sizes[g - first], head.plan.track_count, symbols + (g - first));
			else if (sizes[g - first])
				status = MOCPACK_CORRUPT;
		return status;
	}

	mocpack_Status refine(size_t l, const uint8_t* src, size_t size) const
	{
		bool is_empty = true, good = true;
		for (size_t g = first; g < end; ++g)
			is_empty = is_empty && head.grouping.length(g) == 1;
		if (is_empty)
			return size ? MOCPACK_CORRUPT : MOCPACK_OK;
		const uint8_t* body = verify_checksum(src, size);
		if (!body)
			return MOCPACK_CORRUPT;
		TableReader reader(body, size - 2);
		for (size_t g = first; g < end && good; ++g)
			if (head.grouping.length(g) > 1)
				good = refine_group(head, l, edges_of(g), &reader, symbols + (g - first));
		return part_status(reader, good, true);
	}

  private:
	const int32_t* edges_of(size_t group) const
	{
		return edges + (group - first) * head.plan.channel_count;
	}
};

// Sets symbols without coefficients: a line between the keys, split until no block is too long.
void draw_line(const mocpack_KeysineHead& head, size_t length, const int32_t* edges, GroupSymbols* symbols)
{
	int splits = 0;
	while (!shape_group(head.plan, length, splits, head.tempo, symbols))
		++splits;
	const size_t channels = head.plan.channel_count, blocks = size_t(1) << splits;
	for (size_t b = 0; b <= blocks; ++b)
		for (size_t c = 0; c < channels; ++c)
			symbols->keys[b * channels + c] =
				int32_t(edges[c] + (int64_t(edges[channels + c]) - edges[c]) * int64_t(b) / int64_t(blocks));
}

// Reads all groups of a bundle with at least two layers, unless `kept` says that they are already read.
mocpack_Status read_bundle(const mocpack_KeysineHead& head, size_t group, const int32_t* edges,
						   const uint8_t* const* src, const size_t* sizes, size_t layer_count,
						   mocpack_KeysineSineCache* kept, GroupSymbols* symbols)
{
	const PartOrder parts = head.parts();
	const size_t first = parts.first_of_bundle(group), end = parts.end_of_bundle(group), count = end - first;
	if (kept->bundle_end == end && kept->bundle_layers == layer_count)
		return MOCPACK_OK;
	kept->bundle_end = 0;
	const Bundle bundle = {head, first, end, edges - (group - first) * head.plan.channel_count, symbols};
	mocpack_Status status = bundle.read(src, sizes);
	for (size_t l = 1; l < layer_count && status == MOCPACK_OK; ++l)
		status = bundle.refine(l, src[count + l - 1], sizes[count + l - 1]);
	if (status != MOCPACK_OK)
		return status;
	for (size_t i = 0; i < count && layer_count < head.layer_count; ++i)
		if (head.grouping.length(first + i) > 1)
			use_midpoints(head.plan, head.shifts_of(layer_count - 1).coefficients, symbols + i);
	kept->bundle_end = end, kept->bundle_layers = layer_count;
	return MOCPACK_OK;
}

} // namespace

mocpack_Status mocpack::keysine::read_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* edges, const uint8_t* const* src,
											const size_t* sizes, size_t layer_count, size_t track_count,
											mocpack_KeysineSineCache* kept, BundleSymbols* bundle,
											GroupSymbols** symbols)
{
	const size_t length = head->grouping.length(group);
	if (head->grid && layer_count && length > 1)
		return MOCPACK_CORRUPT; // callers expect sine series
	if (layer_count > 1)
	{
		const size_t at = group - head->parts().first_of_bundle(group);
		*symbols = bundle->groups + at;
		mocpack_Status status =
			read_bundle(*head, group, edges, src, sizes, layer_count, kept, bundle->groups);
		if (status == MOCPACK_OK && length == 1) // only the key pose
			draw_line(*head, length, edges, *symbols);
		return status;
	}
	*symbols = bundle->groups;
	kept->bundle_end = 0;
	if (length == 1 && layer_count && sizes[0])
		return MOCPACK_CORRUPT;
	if (length == 1 || !layer_count)
	{
		draw_line(*head, length, edges, *symbols);
		return MOCPACK_OK;
	}
	mocpack_Status status = read_base(*head, length, edges, src[0], sizes[0], track_count, *symbols);
	if (status == MOCPACK_OK && head->layer_count > 1)
		use_midpoints(head->plan, head->shifts_of(0).coefficients, *symbols);
	return status;
}

size_t mocpack_keysine_group_parts(const mocpack_KeysineHead* head, size_t group, size_t layer_count,
								   size_t parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS])
{
	const PartOrder order = head->parts();
	const bool bundled = layer_count > 1;
	size_t count = 0;
	const size_t first = bundled ? order.first_of_bundle(group) : group;
	const size_t end = bundled ? order.end_of_bundle(group) : group + (layer_count > 0);
	for (size_t g = first; g < end; ++g)
		parts[count++] = order.group(0, g);
	for (size_t l = 1; l < layer_count; ++l)
		parts[count++] = order.group(l, group);
	return count;
}

size_t mocpack_keysine_segment_part(const mocpack_KeysineHead* head, size_t layer, size_t segment)
{
	return head->parts().segment(layer, segment);
}

size_t mocpack_keysine_segment_scratch_size(const mocpack_KeysineHead* head)
{
	Arena arena(nullptr);
	arena.allocate<uint8_t>(head->plan.channel_count);
	return arena.used();
}

mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count, int is_whole,
											  const uint8_t* src, size_t size, int32_t* keys, void* scratch)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	uint8_t* found = arena.allocate<uint8_t>(head->plan.channel_count);
	std::memset(keys, 0, key_count * head->plan.channel_count * sizeof(int32_t));
	TableReader reader(body, size - 2);
	KeySymbols<TableReader> coder(reader, head->plan, found);
	bool good = code_coarse_keys(head->plan, head->shifts_of(0).keys, keys, key_count,
								 [&] { return coder.sequence(keys, key_count); });
	return part_status(reader, good, is_whole != 0);
}

mocpack_Status mocpack_keysine_refine_segment(const mocpack_KeysineHead* head, size_t layer, size_t key_count,
											  const uint8_t* src, size_t size, int32_t* keys)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	TableReader reader(body, size - 2);
	bool good = refine_keys(reader, head->plan, head->shifts_of(0).keys, head->shifts_of(layer - 1).keys,
							head->shifts_of(layer).keys, keys, key_count, keys);
	return part_status(reader, good, true);
}
