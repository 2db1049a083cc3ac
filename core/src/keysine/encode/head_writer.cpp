// Writes the head of a payload.
#include "keysine/encode/head_writer.h"

#include "common/crc16.h"
#include "keysine/format/head.h"
#include "keysine/format/head_symbols.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Returns the maximum number of symbol intervals of a head.
size_t head_intervals(const HeadContents& h)
{
	return 128 + 4 * h.part_count + 16 * h.fields.predictor_count +
		   h.skeleton->joint_count * (6 * PLAN_COLUMNS + 16 * MOCPACK_KEYSINE_MAX_LAYERS + 64);
}

// Codes the body. Returns false if a number is out of range.
bool code_body(HeadContents* h, TableWriter* writer, int32_t* first_channels)
{
	HeadSymbols<TableWriter> symbols(*writer);
	const float unit = h->fields.unit;
	code_start(symbols, &h->fields);
	if (h->fields.unit != unit || !symbols.sizes(h->sizes, h->part_count))
		return false;
	symbols.plan(h->table, *h->skeleton, h->grid_steps != nullptr,
				 !h->grid_steps && h->fields.mode & SHARED_MODE);
	TrackChannels tracks(h->table, *h->skeleton, first_channels);
	return symbols.predictors(reinterpret_cast<Predictor*>(h->predictors), h->fields.predictor_count,
							  tracks) &&
		   symbols.shifts(h->shifts, h->fields.layer_count - 1, size_t(tracks.track_count)) &&
		   (!h->grid_steps ||
			symbols.grid(h->grid_steps, size_t(tracks.track_count), h->initial_scales, tracks));
}

// Writes a varint and returns its size in bytes.
size_t put_varint(size_t value, uint8_t* dst)
{
	size_t size = 0;
	for (; value >= 128; value >>= 7)
		dst[size++] = uint8_t(value | 128);
	dst[size++] = uint8_t(value);
	return size;
}

} // namespace

mocpack_Status write_head(const mocpack_Allocator& allocator, HeadContents contents, Buffer<uint8_t>* head)
{
	const size_t intervals = head_intervals(contents), margin = 16; // for size and checksum
	Buffer<SymbolInterval> memory;
	Buffer<int32_t> first_channels;
	Buffer<uint8_t> body;
	if (!memory.take_room(allocator, intervals) ||
		!first_channels.take_room(allocator, 7 * contents.skeleton->joint_count) ||
		!body.take_room(allocator, 2 * intervals + margin))
		return MOCPACK_NO_MEMORY;
	TableWriter writer(memory.data(), intervals);
	const size_t body_size =
		code_body(&contents, &writer, first_channels.data()) ? writer.finish(body.data(), body.size()) : 0;
	if (!body_size)
		return MOCPACK_CORRUPT;
	// the size includes this number and the checksum
	size_t digits = 1;
	while (body_size + 2 + digits >= size_t(1) << (7 * digits))
		++digits;
	if (!head->take_room(allocator, body_size + 2 + digits))
		return MOCPACK_NO_MEMORY;
	const size_t at = put_varint(head->size(), head->data());
	std::memcpy(head->data() + at, body.data(), body_size);
	const uint16_t crc = crc16(head->data(), at + body_size);
	(*head)[at + body_size] = uint8_t(crc), (*head)[at + body_size + 1] = uint8_t(crc >> 8);
	return MOCPACK_OK;
}

} // namespace keysine
} // namespace mocpack
