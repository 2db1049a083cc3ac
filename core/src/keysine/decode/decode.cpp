// Decodes key segments and groups to local rotations and translations.
#include <cstring>

#include "coding/checksum.h"
#include "coding/crc16.h"
#include "common/arena.h"
#include "keysine/decode/columns.h"
#include "keysine/decode/curves.h"
#include "keysine/decode/grid.h"
#include "keysine/decode/head.h"
#include "keysine/decode/refinement.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// Verifies the checksum at the start of a part. Returns the bytes after it, or null.
const uint8_t* verify_checksum(const uint8_t* src, size_t size)
{
	if (size < 2 || !checksum_matches(crc16(src + 2, size - 2), uint16_t(src[0] | src[1] << 8)))
		return nullptr;
	return src + 2;
}

// The output arrays.
struct Output
{
	Columns columns;
	double *rotations, *translations;

	double* turn(size_t t, int32_t column) const
	{
		return rotations + 4 * (t * columns.turn_count() + size_t(column));
	}
	double* place(size_t t, int32_t column) const
	{
		return translations + 3 * (t * columns.place_count() + size_t(column));
	}
	Output from(size_t frame) const
	{
		return {columns, turn(frame, 0), place(frame, 0)};
	}
};

void store_constants(const Plan& plan, size_t count, const Output& out)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	for (int32_t j = 0; j < int32_t(s.joint_count); ++j)
	{
		int32_t column = out.columns.turn(j);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + ROTATION_KIND] < VECTOR_ROTATION)
			for (size_t t = 0; t < count; ++t)
				store(out.turn(t, column), load_quat(plan.still + 7 * j));
	}
	for (size_t m = 0; m < s.translated_count; ++m)
	{
		size_t j = size_t(s.translated_joints[m]);
		int32_t column = out.columns.place(m);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + TRANSLATION_KIND] < MOVING_TRANSLATION)
			for (size_t t = 0; t < count; ++t)
				store(out.place(t, column), load_vec(plan.still + 7 * j + 4));
	}
}

// Writes `count` frames of one track, given its channels (C, stride), to the output.
void store_track(const Track& track, const double* values, int32_t stride, int32_t count, Quat* turns,
				 const Output& out)
{
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns);
		int32_t column = out.columns.place_of(track.joint);
		track_translations(track, values, stride, count, places);
		for (int32_t t = 0; t < count; ++t)
			store(out.place(size_t(t), column), places[t]);
		return;
	}
	int32_t column = out.columns.turn(track.joint);
	track_rotations(track, values, stride, count, turns);
	for (int32_t t = 0; t < count; ++t)
		store(out.turn(size_t(t), column), turns[t]);
}

} // namespace

void mocpack::keysine::lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena)
{
	size_t blocks = 1, row = 0; // at most
	for (int splits = 0; splits <= MAX_SPLITS && size_t(1) << splits <= length; ++splits)
	{
		blocks = size_t(1) << splits;
		size_t longest = longest_block(length, splits);
		if (longest <= size_t(MAX_BLOCK_FRAMES) && blocks * size_t(row_stride(int32_t(longest))) > row)
			row = blocks * size_t(row_stride(int32_t(longest)));
	}
	size_t cells = plan.channel_count * row;
	symbols->keys = arena->allocate<int32_t>((blocks + 1) * plan.channel_count);
	symbols->rows.keys = symbols->keys;
	symbols->lengths = arena->allocate<int32_t>(blocks);
	symbols->found = arena->allocate<uint8_t>(plan.channel_count);
	symbols->rows.steps = arena->allocate<int32_t>(plan.track_count * blocks);
	symbols->rows.reaches = arena->allocate<uint8_t>(plan.channel_count * blocks);
	symbols->rows.extents = arena->allocate<int16_t>(plan.channel_count * blocks);
	symbols->rows.levels = arena->allocate<uint8_t>(cells);
	symbols->rows.values = arena->allocate<int32_t>(cells);
}

bool mocpack::keysine::shape_group(const Plan& plan, size_t length, int splits, int32_t tempo,
								   GroupSymbols* symbols)
{
	size_t blocks = size_t(1) << splits, longest = longest_block(length, splits);
	if (splits > MAX_SPLITS || blocks > length || longest > size_t(MAX_BLOCK_FRAMES))
		return false;
	symbols->splits = splits;
	symbols->shape = {int32_t(blocks), row_stride(int32_t(longest)), symbols->lengths, tempo << splits};
	for (size_t b = 0; b < blocks; ++b)
		symbols->lengths[b] =
			int32_t(block_frame(length, splits, b + 1) - block_frame(length, splits, b)) - 1;
	size_t cells = plan.channel_count * blocks * size_t(symbols->shape.stride);
	std::memset(symbols->rows.values, 0, cells * sizeof(int32_t));
	std::memset(symbols->rows.levels, 0, cells);
	std::memset(symbols->rows.reaches, 0, plan.channel_count * blocks);
	std::memset(symbols->rows.extents, 0, plan.channel_count * blocks * sizeof(int16_t));
	for (size_t i = 0; i < plan.track_count * blocks; ++i)
		symbols->rows.steps[i] = -1;
	symbols->part = 1.0;
	return true;
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
	std::memset(symbols->keys, 0, (blocks + 1) * channels * sizeof(int32_t));
	std::memcpy(symbols->keys, edges, channels * sizeof(int32_t));
	std::memcpy(symbols->keys + blocks * channels, edges + channels, channels * sizeof(int32_t));
	return KeySymbols<TableReader>(*reader, plan, symbols->found).between(symbols->keys, splits);
}

mocpack_Status read_layer(const mocpack_KeysineHead& head, size_t length, size_t l, const int32_t* edges,
						  const uint8_t* src, size_t size, size_t track_count, GroupSymbols* symbols)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	const Plan& plan = head.plan;
	const uint8_t* from = l ? head.shifts + (l - 1) * plan.track_count : nullptr;
	const uint8_t* to = l + 1 < head.layer_count ? head.shifts + l * plan.track_count : nullptr;
	TableReader reader(body, size - 2);
	bool good = l || read_keys(head, length, edges, &reader, symbols);
	if (good && l)
		good = Refinement<TableReader>(reader, plan, symbols->shape, symbols->rows)
				   .layer(from, to, track_count, symbols->rows.steps, symbols->rows.values);
	else if (good)
		good =
			CoefficientSymbols<TableReader>(reader, plan, symbols->shape, symbols->rows).group(track_count);
	if (reader.exhausted())
		return MOCPACK_TRUNCATED;
	return good && (track_count < plan.track_count || reader.all_read()) ? MOCPACK_OK : MOCPACK_CORRUPT;
}

// If finer layers are missing, uses the middle of each coefficient's interval.
void use_midpoints(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols)
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

} // namespace

mocpack_Status mocpack::keysine::read_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* edges, const uint8_t* const* src,
											const size_t* sizes, size_t layer_count, size_t track_count,
											GroupSymbols* symbols, void* scratch)
{
	if (head->grid && layer_count && head->grouping.length(group) > 1)
		return MOCPACK_CORRUPT; // callers expect sine series
	Arena arena(scratch);
	const Plan& plan = head->plan;
	lay_out_group(plan, head->grouping.longest_group(), symbols, &arena);
	size_t length = head->grouping.length(group);
	if (length == 1) // only the key pose
	{
		for (size_t l = 0; l < layer_count; ++l)
			if (sizes[l])
				return MOCPACK_CORRUPT;
		layer_count = 0;
	}
	if (!layer_count)
	{
		// only a line: split until no block is too long
		int splits = 0;
		while (!shape_group(plan, length, splits, head->tempo, symbols))
			++splits;
		size_t channels = plan.channel_count, blocks = size_t(1) << splits;
		for (size_t b = 0; b <= blocks; ++b)
			for (size_t c = 0; c < channels; ++c)
				symbols->keys[b * channels + c] = int32_t(
					edges[c] + (int64_t(edges[channels + c]) - edges[c]) * int64_t(b) / int64_t(blocks));
	}
	for (size_t l = 0; l < layer_count; ++l)
	{
		// all coarser values predict finer ones, so only the last layer may stop early
		size_t tracks = l + 1 < layer_count ? plan.track_count : track_count;
		mocpack_Status status = read_layer(*head, length, l, edges, src[l], sizes[l], tracks, symbols);
		if (status != MOCPACK_OK)
			return status;
	}
	if (layer_count && layer_count < head->layer_count)
		use_midpoints(plan, head->shifts + (layer_count - 1) * plan.track_count, symbols);
	return MOCPACK_OK;
}

size_t mocpack_keysine_segment_scratch_size(const mocpack_KeysineHead* head)
{
	Arena arena(nullptr);
	arena.allocate<uint8_t>(head->plan.channel_count);
	return arena.used();
}

mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
											  const uint8_t* src, size_t size, int32_t* keys, void* scratch)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	uint8_t* found = arena.allocate<uint8_t>(head->plan.channel_count);
	std::memset(keys, 0, key_count * head->plan.channel_count * sizeof(int32_t));
	TableReader reader(body, size - 2);
	bool good = KeySymbols<TableReader>(reader, head->plan, found).sequence(keys, key_count);
	if (reader.exhausted())
		return MOCPACK_TRUNCATED;
	return good && reader.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

namespace
{

// Frames of a group, counted from its first key pose.
struct FrameSpan
{
	size_t first, stop;

	// Returns the intersection with frames from … from + length - 1, relative to `from`.
	FrameSpan within(size_t from, size_t length) const
	{
		FrameSpan found = {first > from ? first - from : 0, stop > from ? stop - from : 0};
		found.stop = found.stop < length ? found.stop : length;
		return found;
	}

	size_t count() const
	{
		return stop > first ? stop - first : 0;
	}
};

mocpack_Status decode_grid(const mocpack_KeysineHead& head, size_t index, const int32_t* key,
						   const uint8_t* src, size_t size, FrameSpan span, const Output& out, void* scratch)
{
	const uint8_t* body = verify_checksum(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	GridGroup group(head, &arena);
	Quat* turns = arena.allocate<Quat>(size_t(group.stride));
	int32_t length = int32_t(head.grouping.length(index));
	mocpack_Status status = read_grid(head, key, length, body, size - 2, &group);
	if (status != MOCPACK_OK)
		return status;
	for (size_t t = 0; t < head.plan.track_count; ++t)
	{
		const Track& track = head.plan.tracks[t];
		const double* curves = group.curves + size_t(track.first_channel) * size_t(group.stride);
		if (out.columns.is_selected(track))
			store_track(track, curves + span.first, group.stride, int32_t(span.count()), turns, out);
	}
	store_constants(head.plan, span.count(), out);
	return MOCPACK_OK;
}

size_t smaller_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

// Returns the size of the sine table of a block of `length` frames.
size_t sines_of(size_t length)
{
	return (length + 1) * size_t(padded(int32_t(length)));
}

// Working memory to reconstruct motion from symbols.
struct Synthesis
{
	double *sines, *series, *curve;
	size_t sine_count;
	int32_t* extents;
	Quat* turns;

	Synthesis(const mocpack_KeysineHead& head, Arena* arena)
	{
		size_t group = head.grouping.longest_group(), longest = smaller_size(group, size_t(MAX_BLOCK_FRAMES));
		size_t width = size_t(padded(int32_t(longest)));
		// an unsplit group has one block length, others have two
		size_t whole = sines_of(longest), halves = 2 * sines_of(smaller_size((group + 1) / 2, longest));
		sine_count = whole > halves ? whole : halves;
		sines = arena->allocate<double>(sine_count);
		series = arena->allocate<double>(head.plan.channel_count * width);
		curve = arena->allocate<double>(4 * width);
		extents = arena->allocate<int32_t>(head.plan.channel_count);
		turns = arena->allocate<Quat>(width);
	}
};

// A sine table and the number of its filled rows. Groups of one block use one table, others two, since their
// blocks differ by at most one frame.
struct Sines
{
	double* table;
	int32_t* rows;
};

Sines sines_for(int32_t length, bool whole, const Synthesis& s, mocpack_KeysineSineCache* kept)
{
	int32_t which = whole ? 0 : length & 1;
	if (kept->halves == int32_t(whole)) // the other layout of tables
		*kept = {{0, 0}, {0, 0}, int32_t(!whole)};
	if (kept->lengths[which] != length)
		kept->lengths[which] = length, kept->rows[which] = 0;
	return {s.sines + (which ? s.sine_count / 2 : 0), kept->rows + which};
}

// Reconstructs some frames of a group from its symbols, block by block.
void synthesize(const mocpack_KeysineHead& head, const GroupSymbols& symbols, size_t track_count,
				FrameSpan span, const Output& out, const Synthesis& s, mocpack_KeysineSineCache* kept)
{
	const Plan& plan = head.plan;
	const Shape& shape = symbols.shape;
	size_t channels = plan.channel_count, blocks = size_t(shape.blocks), frame = 0, done = 0;
	for (size_t b = 0; b < blocks; ++b)
	{
		int32_t length = shape.lengths[b] + 1, width = padded(length);
		FrameSpan part = span.within(frame, size_t(length));
		int32_t first = int32_t(part.first), count = int32_t(part.count());
		frame += size_t(length);
		if (!count)
			continue;
		Sines sines = sines_for(length, blocks == 1, s, kept);
		SeriesBlock block = {head.predictors, head.predictor_count, shape.tempo, width, s.series, s.extents};
		size_t predictor = 0;
		for (size_t t = 0; t < track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			bool wanted = out.columns.is_selected(track);
			if (!wanted && !head.predictor_count)
				continue;
			int32_t index = symbols.rows.steps[t * blocks + b];
			double step = index < 0 ? 0 : symbols.part * step_of(head.unit, index);
			for (int32_t c = 0; c < track.channels; ++c)
			{
				int32_t channel = track.first_channel + c;
				const int32_t* key = symbols.keys + b * channels + channel;
				predictor = block.fill(channel, symbols.rows.values + shape.row(channel, int32_t(b)),
									   symbols.rows.extents[size_t(channel) * blocks + b], shape.lengths[b],
									   step, predictor);
				if (s.extents[channel])
					*sines.rows = fill_sines(sines.table, length, *sines.rows, s.extents[channel] + 1);
				if (wanted)
					block_values(s.curve + c * width, sines.table, length, first, first + count,
								 track.key_step * key[0], track.key_step * key[channels],
								 s.series + channel * width, s.extents[channel]);
			}
			if (wanted)
				store_track(track, s.curve + first, width, count, s.turns, out.from(done));
		}
		done += size_t(count);
	}
	store_constants(plan, done, out);
}

} // namespace

size_t mocpack_keysine_group_scratch_size(const mocpack_KeysineHead* head)
{
	if (!head->grouping.groups)
		return 64;
	Arena arena(nullptr);
	GroupSymbols symbols;
	lay_out_group(head->plan, head->grouping.longest_group(), &symbols, &arena);
	Synthesis(*head, &arena);
	Arena other(nullptr);
	if (head->grid)
		other.allocate<Quat>(size_t(GridGroup(*head, &other).stride));
	return arena.used() > other.used() ? arena.used() : other.used();
}

mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* keys, const uint8_t* const* layers,
											const size_t* sizes, size_t layer_count,
											const mocpack_KeysineColumns* columns, double* rotations,
											double* translations, void* scratch)
{
	mocpack_KeysineSineCache kept = {};
	return mocpack_keysine_decode_span(head, group, 0, head->grouping.length(group), keys, layers, sizes,
									   layer_count, columns, rotations, translations, &kept, scratch);
}

mocpack_Status mocpack_keysine_decode_span(const mocpack_KeysineHead* head, size_t group, size_t first,
										   size_t stop, const int32_t* keys, const uint8_t* const* layers,
										   const size_t* sizes, size_t layer_count,
										   const mocpack_KeysineColumns* columns, double* rotations,
										   double* translations, mocpack_KeysineSineCache* kept,
										   void* scratch)
{
	Output out = {{*head->plan.skeleton, columns}, rotations, translations};
	FrameSpan span = {first, stop};
	if (head->grid && layer_count && head->grouping.length(group) > 1)
	{
		*kept = {}; // the grid decoder overwrites the scratch
		return decode_grid(*head, group, keys, layers[0], sizes[0], span, out, scratch);
	}
	Arena arena(scratch);
	GroupSymbols symbols;
	lay_out_group(head->plan, head->grouping.longest_group(), &symbols, &arena);
	size_t track_count = out.columns.selected_track_count(head->plan);
	mocpack_Status status =
		read_group(head, group, keys, layers, sizes, layer_count, track_count, &symbols, scratch);
	if (status == MOCPACK_OK)
		synthesize(*head, symbols, track_count, span, out, Synthesis(*head, &arena), kept);
	return status;
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

mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 const uint8_t* shifts, double* rotations, double* translations,
											 void* scratch)
{
	Arena arena(scratch);
	GroupSymbols symbols;
	const Plan& plan = head->plan;
	lay_out_group(plan, head->grouping.longest_group(), &symbols, &arena);
	mocpack_Status status =
		read_group(head, group, keys, &src, &size, 1, plan.track_count, &symbols, scratch);
	if (status != MOCPACK_OK)
		return status;
	shift_values(plan, symbols, shifts, symbols.rows.values);
	use_midpoints(plan, shifts, &symbols);
	Output out = {{*plan.skeleton, nullptr}, rotations, translations};
	mocpack_KeysineSineCache kept = {};
	synthesize(*head, symbols, plan.track_count, {0, head->grouping.length(group)}, out,
			   Synthesis(*head, &arena), &kept);
	return MOCPACK_OK;
}

void mocpack_keysine_decode_key(const mocpack_KeysineHead* head, const int32_t* key,
								const mocpack_KeysineColumns* columns, double* rotations,
								double* translations)
{
	Output out = {{*head->plan.skeleton, columns}, rotations, translations};
	for (size_t t = 0; t < head->plan.track_count; ++t)
	{
		const Track& track = head->plan.tracks[t];
		double values[4] = {};
		Quat turn;
		if (!out.columns.is_selected(track))
			continue;
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[track.first_channel + c];
		store_track(track, values, 1, 1, &turn, out);
	}
	store_constants(head->plan, 1, out);
}
