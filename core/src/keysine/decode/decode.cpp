// The decoder of `keysine`: head, key segments and groups to local rotations and translations.
#include <cstring>

#include "common/arena.h"
#include "common/crc16.h"
#include "keysine/decode/curves.h"
#include "keysine/decode/grid.h"
#include "keysine/decode/head.h"
#include "keysine/decode/refinement.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

int32_t longest_block(const mocpack_KeysineHead& head)
{
	return int32_t(head.cut.longest_block());
}

// The body of a chunk that begins with the checksum of its other bytes; null if that is wrong.
const uint8_t* checked(const uint8_t* src, size_t size)
{
	if (size < 2 || crc16(src + 2, size - 2) != uint16_t(src[0] | src[1] << 8))
		return nullptr;
	return src + 2;
}

// The arrays that a decoder fills, and where in them each joint stands; -1: nowhere.
struct Output
{
	const mocpack_Skeleton& skeleton;
	const mocpack_KeysineColumns* columns; // null: all joints
	double *rotations, *translations;

	int32_t turn_column(int32_t joint) const
	{
		return columns ? columns->rotations[joint] : joint;
	}
	int32_t place_column(size_t m) const
	{
		return columns ? columns->translations[m] : int32_t(m);
	}
	double* turn(size_t t, int32_t column) const
	{
		return rotations +
			   4 * (t * (columns ? columns->rotation_count : skeleton.joint_count) + size_t(column));
	}
	double* place(size_t t, int32_t column) const
	{
		return translations +
			   3 * (t * (columns ? columns->translation_count : skeleton.translated_count) + size_t(column));
	}
	Output from(size_t frame) const
	{
		return {skeleton, columns, turn(frame, 0), place(frame, 0)};
	}
	bool wants(const Track& track) const
	{
		return turn_column(track.joint) >= 0;
	}
};

void store_still(const Plan& plan, size_t count, const Output& out)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	for (int32_t j = 0; j < int32_t(s.joint_count); ++j)
	{
		int32_t column = out.turn_column(j);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + ROTATION_KIND] < VECTOR_ROTATION)
			for (size_t t = 0; t < count; ++t)
				store(out.turn(t, column), load_quat(plan.still + 7 * j));
	}
	for (size_t m = 0; m < s.translated_count; ++m)
	{
		size_t j = size_t(s.translated_joints[m]);
		int32_t column = out.place_column(m);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + TRANSLATION_KIND] != MOVING_TRANSLATION)
			for (size_t t = 0; t < count; ++t)
				store(out.place(t, column), load_vec(plan.still + 7 * j + 4));
	}
}

size_t translated_column(const mocpack_Skeleton& skeleton, int32_t joint)
{
	size_t m = 0;
	while (m + 1 < skeleton.translated_count && skeleton.translated_joints[m] != joint)
		++m;
	return m;
}

// Writes `count` frames of one track, whose channels (C, stride) are given, into the clip's arrays.
void store_track(const Plan& plan, const Track& track, const double* values, int32_t stride, int32_t count,
				 Quat* turns, const Output& out)
{
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns);
		int32_t column = out.place_column(translated_column(*plan.skeleton, track.joint));
		track_translations(track, values, stride, count, places);
		for (int32_t t = 0; t < count; ++t)
			store(out.place(size_t(t), column), places[t]);
		return;
	}
	int32_t column = out.turn_column(track.joint);
	track_rotations(track, values, stride, count, turns);
	for (int32_t t = 0; t < count; ++t)
		store(out.turn(size_t(t), column), turns[t]);
}

// Tracks up to the last that is wanted: those after it need not be read.
size_t tracks_wanted(const Plan& plan, const Output& out)
{
	size_t count = plan.track_count;
	while (count && !out.wants(plan.tracks[count - 1]))
		--count;
	return count;
}

} // namespace

void mocpack::keysine::lay_out_group(const mocpack_KeysineHead* head, GroupSymbols* symbols, Arena* arena)
{
	size_t channels = head->plan.channel_count, blocks = head->blocks_per_group;
	symbols->stride = padded(longest_block(*head));
	symbols->models = arena->take<Models>(1);
	symbols->values = arena->take<int32_t>(channels * blocks * size_t(symbols->stride));
	symbols->reaches = arena->take<uint8_t>(channels * blocks);
	symbols->steps = arena->take<int32_t>(head->plan.track_count * blocks);
	symbols->lengths = arena->take<int32_t>(blocks);
}

namespace
{

mocpack_Status read_layer(const mocpack_KeysineHead& head, const Shape& shape, size_t l, const uint8_t* src,
						  size_t size, size_t track_count, GroupSymbols* symbols)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	const Plan& plan = head.plan;
	const uint8_t* from = l ? head.shifts + (l - 1) * plan.track_count : nullptr;
	const uint8_t* to = l + 1 < head.layer_count ? head.shifts + l * plan.track_count : nullptr;
	Reader reader = {RangeDecoder(body, size - 2)};
	bool good = l ? Refinement<Reader>(reader, *symbols->models, plan)
						.layer(shape, from, to, track_count, symbols->steps, symbols->steps, symbols->values,
							   symbols->values, symbols->reaches)
				  : Symbols<Reader>(reader, *symbols->models, plan)
						.group(shape, track_count, symbols->steps, symbols->values, symbols->reaches);
	if (!good || (track_count == plan.track_count && !reader.coder.all_read()))
		return MOCPACK_CORRUPT;
	return reader.coder.exhausted() ? MOCPACK_TRUNCATED : MOCPACK_OK;
}

// Where finer layers are not read, coefficients stand in the middle of what they may be.
void take_middles(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols)
{
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t row = size_t(symbols->blocks) * size_t(symbols->stride);
		int32_t* values = symbols->values + size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = 0; i < size_t(plan.tracks[t].channels) * row; ++i)
			values[i] = doubled_middle(values[i], shifts[t]);
	}
	symbols->part = 0.5;
}

} // namespace

mocpack_Status mocpack::keysine::read_group(const mocpack_KeysineHead* head, size_t group,
											const uint8_t* const* src, const size_t* sizes,
											size_t layer_count, size_t track_count, GroupSymbols* symbols,
											void* scratch)
{
	if (head->grid && layer_count)
		return MOCPACK_CORRUPT; // those who ask know sine series only
	Arena arena(scratch);
	lay_out_group(head, symbols, &arena);
	const Plan& plan = head->plan;
	size_t first = group * head->blocks_per_group, blocks = head->blocks_per_group;
	if (first + blocks > head->cut.blocks)
		blocks = head->cut.blocks - first;
	symbols->blocks = int32_t(blocks);
	for (size_t b = 0; b < blocks; ++b)
		symbols->lengths[b] =
			int32_t(head->cut.key_frame(first + b + 1) - head->cut.key_frame(first + b)) - 1;
	std::memset(symbols->values, 0, plan.channel_count * blocks * size_t(symbols->stride) * sizeof(int32_t));
	std::memset(symbols->steps, 0, plan.track_count * blocks * sizeof(int32_t));
	symbols->part = 1.0;
	start_models(symbols->models, head->model);
	Shape shape = {symbols->blocks, symbols->stride, symbols->lengths, head->tempo};
	for (size_t l = 0; l < layer_count; ++l)
	{
		// the models go on learning from layer to layer, so that only the last may stop early
		size_t tracks = l + 1 < layer_count ? plan.track_count : track_count;
		mocpack_Status status = read_layer(*head, shape, l, src[l], sizes[l], tracks, symbols);
		if (status != MOCPACK_OK)
			return status;
	}
	if (layer_count && layer_count < head->layer_count)
		take_middles(plan, head->shifts + (layer_count - 1) * plan.track_count, symbols);
	return MOCPACK_OK;
}

size_t mocpack_keysine_segment_scratch(const mocpack_KeysineHead* head)
{
	Arena arena(nullptr);
	arena.take<Models>(1);
	arena.take<uint8_t>(head->plan.channel_count);
	return arena.used();
}

mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
											  const uint8_t* src, size_t size, int32_t* keys, void* scratch)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	Models* models = arena.take<Models>(1);
	uint8_t* exponents = arena.take<uint8_t>(head->plan.channel_count);
	start_models(models, head->model);
	std::memset(keys, 0, key_count * head->plan.channel_count * sizeof(int32_t));
	Reader reader = {RangeDecoder(body, size - 2)};
	bool good = Symbols<Reader>(reader, *models, head->plan).keys(keys, key_count, exponents);
	if (!good || !reader.coder.all_read())
		return MOCPACK_CORRUPT;
	return reader.coder.exhausted() ? MOCPACK_TRUNCATED : MOCPACK_OK;
}

namespace
{

mocpack_Status decode_grid(const mocpack_KeysineHead& head, size_t index, const int32_t* key,
						   const uint8_t* src, size_t size, const Output& out, void* scratch)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	GridGroup group(head, &arena);
	Quat* turns = arena.take<Quat>(size_t(group.stride));
	int32_t length = int32_t(head.cut.key_frame(index + 1) - head.cut.key_frame(index));
	mocpack_Status status = read_grid(head, key, length, body, size - 2, &group);
	if (status != MOCPACK_OK)
		return status;
	for (size_t t = 0; t < head.plan.track_count; ++t)
	{
		const Track& track = head.plan.tracks[t];
		const double* curves = group.curves + size_t(track.first_channel) * size_t(group.stride);
		if (out.wants(track))
			store_track(head.plan, track, curves, group.stride, length, turns, out);
	}
	store_still(head.plan, size_t(length), out);
	return MOCPACK_OK;
}

} // namespace

size_t mocpack_keysine_group_scratch(const mocpack_KeysineHead* head)
{
	if (!head->cut.blocks)
		return 64;
	Arena arena(nullptr);
	GroupSymbols symbols;
	lay_out_group(head, &symbols, &arena);
	size_t longest = size_t(longest_block(*head)), stride = size_t(padded(int32_t(longest)));
	arena.take<double>(4 * stride);
	arena.take<Quat>(stride);
	arena.take<double>(longest * stride);
	arena.take<double>(longest * stride);
	Arena other(nullptr);
	if (head->grid)
		GridGroup(*head, &other), other.take<Quat>(stride);
	return arena.used() > other.used() ? arena.used() : other.used();
}

namespace
{

// Turns the symbols of a group into motion, block by block. The arena stands behind them.
void synthesise(const mocpack_KeysineHead& head, const GroupSymbols& symbols, const int32_t* keys,
				size_t track_count, const Output& out, Arena* arena)
{
	const Plan& plan = head.plan;
	size_t channels = plan.channel_count, blocks = size_t(symbols.blocks), stride = size_t(symbols.stride);
	int32_t longest = longest_block(head);
	double* curve = arena->take<double>(4 * stride);
	Quat* turns = arena->take<Quat>(stride);
	double* first_sines = arena->take<double>(size_t(longest) * stride);
	double* sines[2] = {first_sines, arena->take<double>(size_t(longest) * stride)};
	int32_t filled[2] = {0, 0}; // lengths of the two tables: blocks differ by at most one frame
	size_t frame = 0;
	for (size_t b = 0; b < blocks; ++b)
	{
		int32_t length = symbols.lengths[b] + 1, which = length == longest;
		if (filled[which] != length)
			fill_sines(sines[which], length), filled[which] = length;
		for (size_t t = 0; t < track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			if (!out.wants(track))
				continue;
			int32_t index = symbols.steps[t * blocks + b];
			double step = index < 0 ? 0 : symbols.part * step_of(head.unit, index);
			for (int32_t c = 0; c < track.channels; ++c)
			{
				size_t channel = size_t(track.first_channel + c);
				const int32_t* key = keys + b * channels + channel;
				block_values(curve + size_t(c) * stride, sines[which], length, track.key_step * key[0],
							 track.key_step * key[channels], symbols.values + (channel * blocks + b) * stride,
							 step);
			}
			store_track(plan, track, curve, symbols.stride, length, turns, out.from(frame));
		}
		frame += size_t(length);
	}
	store_still(plan, frame, out);
}

} // namespace

mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* keys, const uint8_t* const* layers,
											const size_t* sizes, size_t layer_count,
											const mocpack_KeysineColumns* columns, double* rotations,
											double* translations, void* scratch)
{
	Output out = {*head->plan.skeleton, columns, rotations, translations};
	if (head->grid && layer_count)
		return decode_grid(*head, group, keys, layers[0], sizes[0], out, scratch);
	Arena arena(scratch);
	GroupSymbols symbols;
	lay_out_group(head, &symbols, &arena);
	size_t track_count = tracks_wanted(head->plan, out);
	mocpack_Status status =
		read_group(head, group, layers, sizes, layer_count, track_count, &symbols, scratch);
	if (status == MOCPACK_OK)
		synthesise(*head, symbols, keys, track_count, out, &arena);
	return status;
}

mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 const uint8_t* shifts, double* rotations, double* translations,
											 void* scratch)
{
	Arena arena(scratch);
	GroupSymbols symbols;
	lay_out_group(head, &symbols, &arena);
	const Plan& plan = head->plan;
	mocpack_Status status = read_group(head, group, &src, &size, 1, plan.track_count, &symbols, scratch);
	if (status != MOCPACK_OK)
		return status;
	shift_values(plan, symbols, shifts, symbols.values);
	take_middles(plan, shifts, &symbols);
	Output out = {*plan.skeleton, nullptr, rotations, translations};
	synthesise(*head, symbols, keys, plan.track_count, out, &arena);
	return MOCPACK_OK;
}

void mocpack_keysine_pose(const mocpack_KeysineHead* head, const int32_t* key,
						  const mocpack_KeysineColumns* columns, double* rotations, double* translations)
{
	Output out = {*head->plan.skeleton, columns, rotations, translations};
	for (size_t t = 0; t < head->plan.track_count; ++t)
	{
		const Track& track = head->plan.tracks[t];
		double values[4];
		Quat turn;
		if (!out.wants(track))
			continue;
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[track.first_channel + c];
		store_track(head->plan, track, values, 1, 1, &turn, out);
	}
	store_still(head->plan, 1, out);
}
