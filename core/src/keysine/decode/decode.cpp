// Decodes groups to local rotations and translations.
#include <cstring>
#include <initializer_list>

#include "common/arena.h"
#include "keysine/decode/columns.h"
#include "keysine/decode/grid.h"
#include "keysine/decode/group_symbols.h"
#include "keysine/format/curves.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

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

// Writes `count` frames of one track, given its channels (C, stride), to the output. `turns` receives its
// rotations relative to its reference. above: those of the track above, if it shares its reference.
void store_track(const Plan& plan, const Track& track, const double* values, int32_t stride, int32_t count,
				 const Quat* above, Quat* turns, const Output& out)
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
	if (column < 0)
		return;
	for (int32_t t = 0; t < count; ++t)
		store(out.turn(size_t(t), column),
			  track.shares_reference ? local_rotation(plan, track, above[t], turns[t]) : turns[t]);
}

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
			store_track(head.plan, track, curves + span.first, group.stride, int32_t(span.count()), nullptr,
						turns, out);
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
	Quat* turns; // of one track; of all tracks if some share references
	size_t turn_stride;

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
		turn_stride = head.plan.shares_references ? width : 0;
		turns = arena->allocate<Quat>(width + (head.plan.track_count - 1) * turn_stride);
	}

	Quat* turns_of(size_t track) const
	{
		return turns + track * turn_stride;
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
	{
		kept->lengths[0] = kept->lengths[1] = kept->rows[0] = kept->rows[1] = 0;
		kept->halves = int32_t(!whole);
	}
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
			// of unselected joints, others may need the rotation
			bool wanted =
				out.columns.is_selected(track) || (plan.shares_references && track.kind != POSITION_TRACK);
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
				store_track(plan, track, s.curve + first, width, count,
							track.shares_reference ? s.turns_of(size_t(track.parent)) : nullptr,
							s.turns_of(t), out.from(done));
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
	BundleSymbols(*head, &arena);
	Synthesis(*head, &arena);
	Arena other(nullptr);
	if (head->grid)
		other.allocate<Quat>(size_t(GridGroup(*head, &other).stride));
	return arena.used() > other.used() ? arena.used() : other.used();
}

mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* keys, const uint8_t* const* parts,
											const size_t* sizes, size_t layer_count,
											const mocpack_KeysineColumns* columns, double* rotations,
											double* translations, void* scratch)
{
	mocpack_KeysineSineCache kept = {};
	return mocpack_keysine_decode_span(head, group, 0, head->grouping.length(group), keys, parts, sizes,
									   layer_count, columns, rotations, translations, &kept, scratch);
}

mocpack_Status mocpack_keysine_decode_span(const mocpack_KeysineHead* head, size_t group, size_t first,
										   size_t stop, const int32_t* keys, const uint8_t* const* parts,
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
		return decode_grid(*head, group, keys, parts[0], sizes[0], span, out, scratch);
	}
	Arena arena(scratch);
	BundleSymbols bundle(*head, &arena);
	GroupSymbols* symbols;
	size_t track_count = out.columns.selected_track_count(head->plan);
	mocpack_Status status =
		read_group(head, group, keys, parts, sizes, layer_count, track_count, kept, &bundle, &symbols);
	if (status == MOCPACK_OK)
		synthesize(*head, *symbols, track_count, span, out, Synthesis(*head, &arena), kept);
	return status;
}

namespace
{

// Writes nothing and returns the values that it is given.
struct IdleCoder
{
	int symbol(const uint16_t*, int, int value)
	{
		return value;
	}
	int choice(uint32_t, int value)
	{
		return value;
	}
	uint32_t bits(int, uint32_t value)
	{
		return value;
	}
};

} // namespace

size_t mocpack_keysine_coarse_scratch_size(const mocpack_KeysineHead* head)
{
	Arena symbols(nullptr);
	BundleSymbols(*head, &symbols);
	return symbols.used() + mocpack_keysine_group_scratch_size(head);
}

mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 const uint8_t* shifts, bool is_read, double* rotations,
											 double* translations, void* scratch)
{
	Arena arena(scratch);
	BundleSymbols bundle(*head, &arena);
	const size_t symbols_size = arena.used();
	uint8_t* whole = arena.allocate<uint8_t>(symbols_size); // symbols as they were read
	GroupSymbols* symbols = bundle.groups;
	const Plan& plan = head->plan;
	mocpack_KeysineSineCache kept = {};
	if (is_read)
		std::memcpy(scratch, whole, symbols_size);
	else
	{
		mocpack_Status status =
			read_group(head, group, keys, &src, &size, 1, plan.track_count, &kept, &bundle, &symbols);
		if (status != MOCPACK_OK)
			return status;
		std::memcpy(whole, scratch, symbols_size);
	}
	const uint8_t *key_shifts = shifts, *value_shifts = shifts + plan.track_count;
	IdleCoder coder;
	find_residuals(plan, symbols->keys, symbols->splits, symbols->residuals);
	for (size_t end : {size_t(0), size_t(symbols->shape.blocks) * plan.channel_count})
		coarsen_keys(plan, key_shifts, key_shifts, symbols->keys + end, 1, symbols->keys + end);
	if (!InnerKeys<IdleCoder>(coder, plan, symbols->found)
			 .layer(nullptr, key_shifts, symbols->splits, symbols->keys, symbols->residuals,
					symbols->residuals))
		return MOCPACK_CORRUPT;
	shift_values(plan, *symbols, value_shifts, symbols->rows.values);
	use_midpoints(plan, value_shifts, symbols);
	Output out = {{*plan.skeleton, nullptr}, rotations, translations};
	synthesize(*head, *symbols, plan.track_count, {0, head->grouping.length(group)}, out,
			   Synthesis(*head, &arena), &kept);
	return MOCPACK_OK;
}

void mocpack_keysine_decode_key(const mocpack_KeysineHead* head, const int32_t* key,
								const mocpack_KeysineColumns* columns, double* rotations,
								double* translations)
{
	Output out = {{*head->plan.skeleton, columns}, rotations, translations};
	const Plan& plan = head->plan;
	double values[4];
	auto values_of = [&](const Track& track)
	{
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[track.first_channel + c];
		return values;
	};
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		const Track& track = plan.tracks[t];
		Quat above, turn;
		if (!out.columns.is_selected(track))
			continue;
		if (track.shares_reference)
			track_rotations(plan.tracks[track.parent], values_of(plan.tracks[track.parent]), 1, 1, &above);
		store_track(plan, track, values_of(track), 1, 1, &above, &turn, out);
	}
	store_constants(plan, 1, out);
}
