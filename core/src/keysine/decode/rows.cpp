// Reconstructs rows of floats from the symbols of a group: the sums of curves.cpp in single precision, eight
// frames at a time, only for requested frames.
#include "keysine/decode/rows.h"

#include <cmath>

#include "common/simd_clones.h"
#include "keysine/decode/columns.h"
#include "keysine/decode/group_symbols.h"
#include "keysine/format/curves.h"
#include "math/elementary.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const int32_t LANES = 8, MAX_WIDTH = MAX_BLOCK_FRAMES + LANES;
const float NEAR = 1.0f; // squared half angle up to which five terms are accurate to float rounding

// Working memory to reconstruct rows from symbols.
struct Room
{
	size_t longest, width;
	float *sines, *periods; // tables for even and odd lengths, and one period of sines for each
	float *curve, *quats;	// (4, MAX_WIDTH), and (5, MAX_WIDTH): the last are squared half angles
	double *series, *wide;	// (channels, width), (4, MAX_WIDTH)
	int32_t* extents;
	Quat* turns;

	Room(const mocpack_KeysineHead& head, Arena* arena)
	{
		size_t group = head.grouping.longest_group(), most = size_t(MAX_BLOCK_FRAMES);
		longest = group < most ? group : most;
		width = size_t(padded(int32_t(longest)));
		sines = arena->allocate<float>(2 * table_size());
		periods = arena->allocate<float>(4 * longest);
		curve = arena->allocate<float>(4 * MAX_WIDTH);
		quats = arena->allocate<float>(5 * MAX_WIDTH);
		series = arena->allocate<double>(head.plan.channel_count * width);
		wide = arena->allocate<double>(4 * MAX_WIDTH);
		extents = arena->allocate<int32_t>(head.plan.channel_count);
		turns = arena->allocate<Quat>(width);
	}

	size_t table_size() const
	{
		return (longest + 1) * width;
	}
};

// Fills rows `first` to `end` - 1 of a table: row k, column t, is entry k t of the period.
MOCPACK_SIMD_CLONES void pick_sines(float* table, const float* period, int32_t length, int32_t first,
									int32_t end)
{
	int32_t stride = padded(length), whole = 2 * length;
	for (int32_t k = first; k < end; ++k)
	{
		int32_t at[LANES], step = LANES * k % whole;
		for (int32_t l = 0; l < LANES; ++l)
			at[l] = l * k % whole;
		float* row = table + k * stride;
		for (int32_t t = 0; t < stride; t += LANES)
			for (int32_t l = 0; l < LANES; ++l)
			{
				row[t + l] = period[at[l]];
				at[l] += step;
				at[l] -= at[l] >= whole ? whole : 0;
			}
	}
}

// Returns the table for blocks of `length` frames with all rows below `end`. Block lengths differ by at most
// one frame, so the tables for even and odd lengths rarely change.
const float* sines_of(const Room& room, int32_t length, int32_t end, mocpack_KeysineSineCache* kept)
{
	const size_t which = size_t(length & 1);
	float *table = room.sines + which * room.table_size(), *period = room.periods + which * 2 * room.longest;
	if (kept->lengths[which] != length)
	{
		double scale = std::sqrt(2.0 / length);
		for (int32_t t = 0; t < length; ++t)
		{
			period[t] = float(scale * math::sin(math::PI * double(t) / double(length)));
			period[length + t] = -period[t];
		}
		kept->lengths[which] = length, kept->rows[which] = 1; // row 0 is unused
	}
	if (end > kept->rows[which])
	{
		pick_sines(table, period, length, kept->rows[which], end);
		kept->rows[which] = end;
	}
	return table;
}

// Like block_values, for frames from … to - 1, both multiples of LANES.
MOCPACK_SIMD_CLONES void float_values(float* values, const float* sines, int32_t stride, int32_t from,
									  int32_t to, float key, float slope, const double* series,
									  int32_t extent)
{
	for (int32_t t = from; t < to; ++t)
		values[t] = key + slope * float(t);
	int32_t k = 1;
	for (; k + 3 <= extent; k += 4)
	{
		const float* row = sines + k * stride;
		float a = float(series[k]), b = float(series[k + 1]), c = float(series[k + 2]),
			  d = float(series[k + 3]);
		for (int32_t t = from; t < to; ++t)
			values[t] +=
				(a * row[t] + b * row[stride + t]) + (c * row[2 * stride + t] + d * row[3 * stride + t]);
	}
	for (; k <= extent; ++k)
	{
		const float* row = sines + k * stride;
		float size = float(series[k]);
		for (int32_t t = from; t < to; ++t)
			values[t] += size * row[t];
	}
}

// Computes quaternions (4, MAX_WIDTH) and squared half angles from the channels (3, MAX_WIDTH) of a rotation
// track. Returns how many angles exceed NEAR, where the quaternion is invalid. Constant strides let the
// compiler vectorize.
MOCPACK_SIMD_CLONES int32_t near_quats(const Track& track, const float* __restrict x, int32_t from,
									   int32_t to, float* __restrict out)
{
	float m[9];
	int32_t far = 0;
	for (int i = 0; i < 9; ++i)
		m[i] = float(0.5 * track.axes[i]);
	const float bx = float(track.base[0]), by = float(track.base[1]), bz = float(track.base[2]),
				bw = float(track.base[3]);
	for (int32_t t = from; t < to; ++t)
	{
		float x0 = x[t], x1 = x[MAX_WIDTH + t], x2 = x[2 * MAX_WIDTH + t];
		float a = m[0] * x0 + m[3] * x1 + m[6] * x2;
		float b = m[1] * x0 + m[4] * x1 + m[7] * x2;
		float c = m[2] * x0 + m[5] * x1 + m[8] * x2;
		float s = a * a + b * b + c * c;
		far += s > NEAR;
		float sine = 1 - s * (1.0f / 6) *
							 (1 - s * (1.0f / 20) *
									  (1 - s * (1.0f / 42) * (1 - s * (1.0f / 72) * (1 - s * (1.0f / 110)))));
		float w = 1 - s * 0.5f *
						  (1 - s * (1.0f / 12) *
								   (1 - s * (1.0f / 30) * (1 - s * (1.0f / 56) * (1 - s * (1.0f / 90)))));
		out[4 * MAX_WIDTH + t] = s;
		a *= sine, b *= sine, c *= sine;
		out[t] = bw * a + bx * w + by * c - bz * b;
		out[MAX_WIDTH + t] = bw * b - bx * c + by * w + bz * a;
		out[2 * MAX_WIDTH + t] = bw * c + bx * b - by * a + bz * w;
		out[3 * MAX_WIDTH + t] = bw * w - bx * a - by * b - bz * c;
	}
	return far;
}

#if defined(__GNUC__)
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int FourPlaces __attribute__((vector_size(16)));

Four picked(Four a, Four b, FourPlaces places)
{
#if defined(__clang__)
	Four found;
	for (int i = 0; i < 4; ++i)
		found[i] = places[i] < 4 ? a[places[i]] : b[places[i] - 4];
	return found;
#else
	return __builtin_shuffle(a, b, places);
#endif
}
#endif

// Writes quaternions (4, MAX_WIDTH) of frames first … stop - 1 to a column of rows.
void put_quats(const float* quats, int32_t first, int32_t stop, float* column, size_t apart)
{
	const float *x = quats, *y = x + MAX_WIDTH, *z = y + MAX_WIDTH, *w = z + MAX_WIDTH;
	int32_t t = first;
#if defined(__GNUC__)
	for (; t + 4 <= stop; t += 4, column += 4 * apart) // transposed in registers
	{
		const Four a = *reinterpret_cast<const Four*>(x + t), b = *reinterpret_cast<const Four*>(y + t),
				   c = *reinterpret_cast<const Four*>(z + t), d = *reinterpret_cast<const Four*>(w + t);
		const Four ab = picked(a, b, FourPlaces{0, 4, 1, 5}), cd = picked(c, d, FourPlaces{0, 4, 1, 5}),
				   ef = picked(a, b, FourPlaces{2, 6, 3, 7}), gh = picked(c, d, FourPlaces{2, 6, 3, 7});
		*reinterpret_cast<Four*>(column) = picked(ab, cd, FourPlaces{0, 1, 4, 5});
		*reinterpret_cast<Four*>(column + apart) = picked(ab, cd, FourPlaces{2, 3, 6, 7});
		*reinterpret_cast<Four*>(column + 2 * apart) = picked(ef, gh, FourPlaces{0, 1, 4, 5});
		*reinterpret_cast<Four*>(column + 3 * apart) = picked(ef, gh, FourPlaces{2, 3, 6, 7});
	}
#endif
	for (; t < stop; ++t, column += apart)
		column[0] = x[t], column[1] = y[t], column[2] = z[t], column[3] = w[t];
}

// The output rows and their columns.
struct Rows32
{
	Columns columns;
	float* rows;
	size_t stride;
	bool rotations_only;

	float* turn(size_t t, int32_t column) const
	{
		return rows + t * stride + 4 * size_t(column);
	}
	float* place(size_t t, int32_t column) const
	{
		return rows + t * stride + 4 * columns.turn_count() + 3 * size_t(column);
	}
	bool is_selected(const Track& track) const
	{
		return columns.is_selected(track) && (track.kind != POSITION_TRACK || !rotations_only);
	}
};

void put(float* out, Quat q)
{
	out[0] = float(q.x), out[1] = float(q.y), out[2] = float(q.z), out[3] = float(q.w);
}

void put(float* out, Vec3 v)
{
	out[0] = float(v.x), out[1] = float(v.y), out[2] = float(v.z);
}

// Writes `count` frames of any track from channels (C, stride) in double precision to rows starting at `row`.
void put_track(const Track& track, const double* values, int32_t stride, int32_t count, Quat* turns,
			   const Rows32& out, size_t row)
{
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns);
		const int32_t column = out.columns.place_of(track.joint);
		track_translations(track, values, stride, count, places);
		for (int32_t t = 0; t < count; ++t)
			put(out.place(row + size_t(t), column), places[t]);
		return;
	}
	track_rotations(track, values, stride, count, turns);
	for (int32_t t = 0; t < count; ++t)
		put(out.turn(row + size_t(t), out.columns.turn(track.joint)), turns[t]);
}

void put_still(const Plan& plan, size_t count, const Rows32& out)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	for (int32_t j = 0; j < int32_t(s.joint_count); ++j)
	{
		const int32_t column = out.columns.turn(j);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + ROTATION_KIND] < VECTOR_ROTATION)
			for (size_t t = 0; t < count; ++t)
				put(out.turn(t, column), load_quat(plan.still + 7 * j));
	}
	for (size_t m = 0; m < s.translated_count && !out.rotations_only; ++m)
	{
		const size_t j = size_t(s.translated_joints[m]);
		const int32_t column = out.columns.place(m);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + TRANSLATION_KIND] < MOVING_TRANSLATION)
			for (size_t t = 0; t < count; ++t)
				put(out.place(t, column), load_vec(plan.still + 7 * j + 4));
	}
}

// Writes frames first … stop - 1 of a block to rows starting at `row`.
void put_block(const mocpack_KeysineHead& head, const GroupSymbols& symbols, size_t track_count, size_t b,
			   int32_t first, int32_t stop, const Rows32& out, size_t row, const Room& room,
			   mocpack_KeysineSineCache* kept)
{
	const Plan& plan = head.plan;
	const Shape& shape = symbols.shape;
	const int32_t length = shape.lengths[b] + 1, stride = padded(length), from = first / LANES * LANES,
				  to = (stop + LANES - 1) / LANES * LANES;
	const size_t channels = plan.channel_count, blocks = size_t(shape.blocks);
	SeriesBlock block = {head.predictors, head.predictor_count, shape.tempo,
						 stride,		  room.series,			room.extents};
	size_t predictor = 0;
	for (size_t t = 0; t < track_count; ++t)
	{
		const Track& track = plan.tracks[t];
		const bool single = track.kind == VECTOR_TRACK && !track.clamped_hinges,
				   wanted = out.is_selected(track);
		if (!wanted && !head.predictor_count)
			continue;
		int32_t index = symbols.rows.steps[t * blocks + b];
		double step = index < 0 ? 0 : symbols.part * step_of(head.unit, index);
		for (int32_t c = 0; c < track.channels; ++c)
		{
			int32_t channel = track.first_channel + c;
			const int32_t* key = symbols.keys + b * channels + channel;
			predictor = block.fill(channel, symbols.rows.values + shape.row(channel, int32_t(b)),
								   symbols.rows.extents[size_t(channel) * blocks + b], shape.lengths[b], step,
								   predictor);
			if (!wanted)
				continue;
			double start = track.key_step * key[0], end = track.key_step * key[channels];
			const float* sines = sines_of(room, length, room.extents[channel] + 1, kept);
			float* values = room.curve + c * MAX_WIDTH;
			// add the line in double precision if float would lose accuracy
			float_values(values, sines, stride, from, to, single ? float(start) : 0.0f,
						 single ? float((end - start) / length) : 0.0f, room.series + channel * stride,
						 room.extents[channel]);
			for (int32_t i = first; i < stop && !single; ++i)
				room.wide[c * MAX_WIDTH + i] = start + (end - start) / length * i + double(values[i]);
		}
		if (wanted && !single)
			put_track(track, room.wide + first, MAX_WIDTH, stop - first, room.turns, out, row);
		if (!wanted || !single)
			continue;
		int32_t far = near_quats(track, room.curve, from, to, room.quats);
		put_quats(room.quats, first, stop, out.turn(row, out.columns.turn(track.joint)), out.stride);
		// frame by frame, so that a row does not depend on the requested range
		for (int32_t i = first; i < stop && far; ++i)
			if (room.quats[4 * MAX_WIDTH + i] > NEAR)
			{
				double turn[3] = {room.curve[i], room.curve[MAX_WIDTH + i], room.curve[2 * MAX_WIDTH + i]};
				put_track(track, turn, 1, 1, room.turns, out, row + size_t(i - first));
			}
	}
}

} // namespace

int mocpack_keysine_decodes_rows(const mocpack_KeysineHead* head)
{
	return !head->grid && !head->plan.shares_references;
}

size_t mocpack_keysine_rows_scratch_size(const mocpack_KeysineHead* head)
{
	if (!head->grouping.groups)
		return 64;
	Arena arena(nullptr);
	BundleSymbols(*head, &arena);
	Room(*head, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_decode_rows(const mocpack_KeysineHead* head, size_t group, size_t first,
										   size_t stop, const int32_t* keys, const uint8_t* const* parts,
										   const size_t* sizes, size_t layer_count,
										   const mocpack_KeysineColumns* columns, float* rows, size_t stride,
										   int rotations_only, mocpack_KeysineSineCache* kept, void* scratch)
{
	if (!mocpack_keysine_decodes_rows(head))
		return MOCPACK_UNSUPPORTED;
	Arena arena(scratch);
	BundleSymbols bundle(*head, &arena);
	GroupSymbols* found;
	Room room(*head, &arena);
	Rows32 out = {{*head->plan.skeleton, columns}, rows, stride, rotations_only != 0};
	size_t track_count = out.columns.selected_track_count(head->plan);
	mocpack_Status status =
		read_group(head, group, keys, parts, sizes, layer_count, track_count, kept, &bundle, &found);
	if (status != MOCPACK_OK)
		return status;
	const GroupSymbols& symbols = *found;
	size_t frame = 0, row = 0;
	for (size_t b = 0; b < size_t(symbols.shape.blocks); ++b)
	{
		size_t end = frame + size_t(symbols.shape.lengths[b]) + 1;
		size_t from = first > frame ? first : frame, to = stop < end ? stop : end;
		if (from < to)
		{
			put_block(*head, symbols, track_count, b, int32_t(from - frame), int32_t(to - frame), out, row,
					  room, kept);
			row += to - from;
		}
		frame = end;
	}
	put_still(head->plan, row, out);
	return MOCPACK_OK;
}

void mocpack_keysine_decode_key_row(const mocpack_KeysineHead* head, const int32_t* key,
									const mocpack_KeysineColumns* columns, float* row, int rotations_only)
{
	Rows32 out = {{*head->plan.skeleton, columns}, row, 0, rotations_only != 0};
	for (size_t t = 0; t < head->plan.track_count; ++t)
	{
		const Track& track = head->plan.tracks[t];
		double values[4];
		Quat turn;
		if (!out.is_selected(track))
			continue;
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[track.first_channel + c];
		put_track(track, values, 1, 1, &turn, out, 0);
	}
	put_still(head->plan, 1, out);
}
