// The symbols of `keysine`: key poses and sine coefficients, written and read by one and the same text.
//
// `Coder` is Writer or Reader; a value that is being read comes in as anything and goes out decoded.
#pragma once
#include "keysine/decode/models.h"
#include "keysine/decode/plan.h"

namespace mocpack
{
namespace keysine
{

const int FAMILIES = 10;
const int BANDS = 16;	  // of frequency
const int LEVELS = 8;	  // decisions of one coefficient that have contexts of their own
const int UNARY = 12;	  // larger magnitudes escape
const int REACHES = 20;	  // classes of the last coefficient that is not zero
const int EXPONENTS = 32; // of keys
const int32_t LARGEST = 1 << 30;
const int HEAD_STATES = 8 * 34 + 18;

// States that are used by themselves, without mixing, and where they begin.
const int STEP_SAME = 0, STEP_DOWN = 3, STEP_MORE = 5, REACH_LOW = STEP_MORE + STEPS,
		  KEY_LOW = REACH_LOW + REACHES, ESCAPE = KEY_LOW + EXPONENTS, HEAD = ESCAPE + 32,
		  SINGLE_STATES = HEAD + HEAD_STATES;

// How many states each input of each decision has.
constexpr int COEFFICIENT_STATES[INPUTS] = {12 * BANDS * LEVELS, 9 * 9 * 3 * LEVELS,
											FAMILIES * 4 * BANDS * LEVELS, 16 * 8 * LEVELS,
											9 * 6 * 4 * LEVELS};
constexpr int REACH_STATES[INPUTS] = {FAMILIES * 4 * REACHES, (REACHES + 1) * REACHES,
									  (REACHES + 1) * 4 * REACHES, (REACHES + 1) * REACHES, 16 * 4 * REACHES};
constexpr int KEY_STATES[INPUTS] = {FAMILIES * 4 * 2 * EXPONENTS, 17 * EXPONENTS, 17 * 4 * EXPONENTS,
									17 * EXPONENTS, 16 * 2 * EXPONENTS};
constexpr int MOVES_STATES[INPUTS] = {FAMILIES, 3, 4, 16, 3 * 4};

constexpr int sum_of(const int (&states)[INPUTS])
{
	int sum = 0;
	for (int n : states)
		sum += n;
	return sum;
}

const int STATE_COUNT =
	sum_of(COEFFICIENT_STATES) + sum_of(REACH_STATES) + sum_of(KEY_STATES) + sum_of(MOVES_STATES);
const int COEFFICIENT_SETS = LEVELS * 4, REACH_SETS = REACHES, KEY_SETS = EXPONENTS, MOVES_SETS = 1;
const int CHANNEL_SETS = FAMILIES * 4; // by family and channel
const int PLAIN_WEIGHTS = INPUTS * (COEFFICIENT_SETS + REACH_SETS + KEY_SETS + MOVES_SETS);
const int WEIGHT_COUNT = PLAIN_WEIGHTS + INPUTS * (3 * CHANNEL_SETS + FAMILIES);

// Everything that adapts. It starts afresh in each group and segment.
struct Models
{
	uint32_t states[STATE_COUNT];
	int32_t weights[WEIGHT_COUNT];
	uint32_t singles[SINGLE_STATES];
};

// Whether there is a trained set of that number.
int model_sets();

// Sets every model to its start: trained set number `set`, or nothing known where there is none.
void start_models(Models* models, int set);

inline int32_t magnitude(int32_t value)
{
	return value < 0 ? -value : value;
}

inline int32_t lesser(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

// Classes of 0 … size - 1 by their upper ends: a table, since this is asked for every coefficient.
template <size_t Size, size_t Ends>
constexpr std::array<uint8_t, Size> make_classes(const int32_t (&ends)[Ends])
{
	std::array<uint8_t, Size> table{};
	for (size_t value = 0; value < Size; ++value)
		while (table[value] < Ends && int32_t(value) > ends[table[value]])
			++table[value];
	return table;
}

constexpr int32_t ACTIVITY_ENDS[11] = {0, 1, 2, 3, 4, 6, 9, 14, 22, 38, 70};
constexpr int32_t TOTAL_ENDS[15] = {0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 44, 64, 100};
inline constexpr std::array<uint8_t, 72> ACTIVITY = make_classes<72>(ACTIVITY_ENDS);
inline constexpr std::array<uint8_t, 102> TOTAL = make_classes<102>(TOTAL_ENDS);

inline int32_t activity(int32_t sum)
{
	return ACTIVITY[size_t(lesser(sum, 71))];
}

inline int bit_length(uint32_t value)
{
	int length = 0;
	for (; value; value >>= 1)
		++length;
	return length;
}

// The band of coefficient k (from 1), where `tempo` / 16 is half a second over the block's length.
inline int32_t band_of(int32_t k, int32_t tempo)
{
	const int32_t up_to[BANDS - 1] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58};
	int32_t scaled = (k * tempo + 8) >> 4, band = 0;
	while (band < BANDS - 1 && scaled > up_to[band])
		++band;
	return band;
}

// Classes of a reach: 0, 1, 2, 3, 4, then two to each octave: 5-6, 7-8, 9-12, 13-16, 17-24 …
inline int32_t reach_floor(int32_t c) // smallest reach of class c
{
	return c < 5 ? c : ((2 + (c - 5) % 2) << ((c - 5) / 2 + 1)) + 1;
}

inline int32_t reach_class(int32_t reach)
{
	int32_t c = 0;
	while (c + 1 < REACHES && reach_floor(c + 1) <= reach)
		++c;
	return c;
}

// Shape of a group's arrays: coefficients (channels, blocks, stride), the first of each row unused (zero),
// and at least one zero after the last.
struct Shape
{
	int32_t blocks;
	int32_t stride;
	const int32_t* lengths; // (blocks): coefficients of each block
	int32_t tempo;
};

template <typename Coder> class Symbols
{
  public:
	Symbols(Coder& coder, Models& models, const Plan& plan) : coder_(coder), m_(models), plan_(plan)
	{
		uint32_t* at = m_.states;
		for (int i = 0; i < INPUTS; ++i)
			coefficient_[i] = at, at += COEFFICIENT_STATES[i];
		for (int i = 0; i < INPUTS; ++i)
			reach_[i] = at, at += REACH_STATES[i];
		for (int i = 0; i < INPUTS; ++i)
			key_[i] = at, at += KEY_STATES[i];
		for (int i = 0; i < INPUTS; ++i)
			moves_[i] = at, at += MOVES_STATES[i];
		coefficient_weights_ = m_.weights;
		reach_weights_ = coefficient_weights_ + INPUTS * COEFFICIENT_SETS;
		key_weights_ = reach_weights_ + INPUTS * REACH_SETS;
		moves_weights_ = key_weights_ + INPUTS * KEY_SETS;
		coefficient_families_ = m_.weights + PLAIN_WEIGHTS;
		reach_families_ = coefficient_families_ + INPUTS * CHANNEL_SETS;
		key_families_ = reach_families_ + INPUTS * CHANNEL_SETS;
		moves_families_ = key_families_ + INPUTS * CHANNEL_SETS;
	}

	// Keys (count, channels): the first as it is, the others as differences to the one before.
	// exponents is scratch of channels. False where a key cannot be.
	bool keys(int32_t* keys, size_t count, uint8_t* exponents)
	{
		size_t channels = plan_.channel_count;
		for (size_t c = 0; c < channels; ++c)
			exponents[c] = 0;
		for (size_t k = 0; k < count; ++k)
		{
			int32_t sum = 0, seen = 0; // of exponents in this key
			for (size_t t = 0; t < plan_.track_count; ++t)
				for (int32_t c = 0; c < plan_.tracks[t].channels; ++c)
				{
					size_t at = size_t(plan_.tracks[t].first_channel + c);
					int64_t before = k ? keys[(k - 1) * channels + at] : 0;
					int32_t* key = keys + k * channels + at;
					int64_t value = before + key_value(plan_.tracks[t], c, k != 0, exponents,
													   seen ? sum * 4 / seen : 0, int32_t(*key - before));
					if (value > LARGEST || value < -LARGEST)
						return false;
					*key = int32_t(value);
					sum += exponents[at], ++seen;
				}
		}
		return true;
	}

	// Steps (tracks, blocks) and coefficients of one group's first tracks, track by track. reaches is scratch
	// of (channels, blocks), and so is what steps holds of tracks that do not move: -1.
	bool group(const Shape& shape, size_t track_count, int32_t* steps, int32_t* values, uint8_t* reaches)
	{
		find_bands(shape);
		for (size_t t = 0; t < track_count; ++t)
			for (int32_t b = 0; b < shape.blocks; ++b)
				if (!block(shape, int32_t(t), b, steps, values, reaches))
					return false;
		return true;
	}

  protected:
	// A channel in a block, and the rows that are its contexts: null where there are none.
	struct Rows
	{
		int32_t* own;
		const int32_t *before, *left, *up;
	};

	void find_bands(const Shape& shape)
	{
		for (int32_t b = 0; b < shape.blocks; ++b)
			for (; bands_ready_ <= shape.lengths[b]; ++bands_ready_)
				bands_[bands_ready_] = uint8_t(band_of(bands_ready_, shape.tempo));
	}

	Rows rows_of(const Shape& shape, const Track& track, int32_t b, int32_t c, int32_t* values) const
	{
		int32_t* own = values + ((track.first_channel + c) * shape.blocks + b) * shape.stride;
		const int32_t* up =
			track.parent < 0
				? nullptr
				: values + ((plan_.tracks[track.parent].first_channel + lesser(c, 2)) * shape.blocks + b) *
							   shape.stride;
		return {own, b ? own - shape.stride : nullptr, c ? own - shape.blocks * shape.stride : nullptr, up};
	}

	int32_t key_value(const Track& track, int32_t c, bool later, uint8_t* exponents, int32_t mean,
					  int32_t value)
	{
		size_t at = size_t(track.first_channel + c);
		int32_t own = lesser(exponents[at], 16), left = c ? lesser(exponents[at - 1], 15) + 1 : 0;
		int32_t up = track.parent < 0
						 ? 0
						 : lesser(exponents[plan_.tracks[track.parent].first_channel + lesser(c, 2)], 15) + 1;
		Contexts context = {{key_[0] + ((track.family * 4 + c) * 2 + later) * EXPONENTS,
							 key_[1] + (later ? own : 16) * EXPONENTS, key_[2] + (left * 4 + c) * EXPONENTS,
							 key_[3] + up * EXPONENTS, key_[4] + (lesser(mean, 15) * 2 + later) * EXPONENTS},
							nullptr,
							key_families_ + INPUTS * (track.family * 4 + c)};
		uint32_t size = uint32_t(magnitude(value));
		int length = bit_length(size), found = 0;
		while (found < EXPONENTS - 1)
		{
			context.weights = key_weights_ + INPUTS * found;
			if (!coder_.bit(context, uint32_t(found), length > found))
				break;
			++found;
		}
		exponents[at] = uint8_t(found);
		if (!found)
			return 0;
		uint32_t read = 1;
		for (int k = found - 2; k >= 0; --k)
		{
			int bit = int(size >> k) & 1;
			read = (read << 1) |
				   uint32_t(k == found - 2 ? coder_.bit(m_.singles[KEY_LOW + found], bit) : coder_.coin(bit));
		}
		int32_t result = int32_t(read & 0x7fffffff);
		return coder_.coin(value < 0) ? -result : result;
	}

	bool block(const Shape& shape, int32_t t, int32_t b, int32_t* steps, int32_t* values, uint8_t* reaches)
	{
		if (!step(shape, t, b, steps, reaches))
			return false;
		int32_t found = steps[t * shape.blocks + b];
		for (int32_t c = 0; found >= 0 && c < plan_.tracks[t].channels; ++c)
			if (!channel(shape, t, b, c, found, values, reaches))
				return false;
		return true;
	}

	// Whether the track moves in a block, and by which step.
	bool step(const Shape& shape, int32_t t, int32_t b, int32_t* steps, uint8_t* reaches)
	{
		const Track& track = plan_.tracks[t];
		int32_t* own = steps + t * shape.blocks + b;
		int32_t before = b ? own[-1] : -1;
		int32_t above = track.parent >= 0 ? steps[track.parent * shape.blocks + b] : -1;
		int32_t last = t ? steps[(t - 1) * shape.blocks + b] : -1;
		if (!moves(track, b, before, above, last, *own >= 0))
		{
			*own = -1;
			for (int32_t c = 0; c < track.channels; ++c)
				reaches[(track.first_channel + c) * shape.blocks + b] = 0;
			return true;
		}
		int32_t guess = known_step(steps, shape.blocks, t, b);
		*own = guess + step_change(b > 0 && before >= 0 ? 0 : above >= 0 ? 1 : 2, *own - guess);
		return *own >= 0 && *own < STEPS;
	}

	bool moves(const Track& track, int32_t b, int32_t before, int32_t above, int32_t last, bool value)
	{
		int32_t was = b ? 1 + (before >= 0) : 0, up = track.parent >= 0 ? 1 + (above >= 0) : 0;
		Contexts context = {{moves_[0] + track.family, moves_[1] + was, moves_[2] + up,
							 moves_[3] + (last >= 0 ? 1 + lesser(last / 2, 14) : 0),
							 moves_[4] + was * 4 + up},
							moves_weights_,
							moves_families_ + INPUTS * track.family};
		return coder_.bit(context, 0, value) != 0;
	}

	// The step last used by the track in this group, else by its nearest ancestor, else the unit.
	int32_t known_step(const int32_t* steps, int32_t blocks, int32_t t, int32_t b) const
	{
		for (int32_t e = b; e-- > 0;)
			if (steps[t * blocks + e] >= 0)
				return steps[t * blocks + e];
		for (int32_t a = plan_.tracks[t].parent; a >= 0; a = plan_.tracks[a].parent)
			if (steps[a * blocks + b] >= 0)
				return steps[a * blocks + b];
		return UNIT_STEP;
	}

	int32_t step_change(int context, int32_t value)
	{
		if (coder_.bit(m_.singles[STEP_SAME + context], value == 0))
			return 0;
		int down = coder_.bit(m_.singles[STEP_DOWN + (context != 0)], value < 0);
		int32_t size = 1;
		while (size < STEPS && coder_.bit(m_.singles[STEP_MORE + size - 1], magnitude(value) > size))
			++size;
		return down ? -size : size;
	}

	bool channel(const Shape& shape, int32_t t, int32_t b, int32_t c, int32_t step, int32_t* values,
				 uint8_t* reaches)
	{
		const Track& track = plan_.tracks[t];
		Rows rows = rows_of(shape, track, b, c, values);
		int32_t n = shape.lengths[b], reach = last_of(rows.own, n);
		reach = reach_value(shape, track, b, c, step, 0, reach, reaches);
		if (reach > n)
			return false;
		for (int32_t k = 1; k <= reach; ++k)
			if (!coefficient(track, c, k, reach, rows))
				return false;
		for (int32_t k = reach + 1; k < shape.stride; ++k)
			rows.own[k] = 0;
		return true;
	}

	// The highest frequency up to n that is not zero.
	static int32_t last_of(const int32_t* row, int32_t n)
	{
		while (n > 0 && !row[n])
			--n;
		return n;
	}

	// A reach that is known to be at least `least`; its class goes to `reaches`.
	int32_t reach_value(const Shape& shape, const Track& track, int32_t b, int32_t c, int32_t step,
						int32_t least, int32_t value, uint8_t* reaches)
	{
		uint8_t* own = reaches + (track.first_channel + c) * shape.blocks + b;
		int32_t was = b ? own[-1] + 1 : 0, left = c ? own[-shape.blocks] + 1 : 0, up = 0;
		if (track.parent >= 0)
			up = reaches[(plan_.tracks[track.parent].first_channel + lesser(c, 2)) * shape.blocks + b] + 1;
		int32_t fine = step < 2 ? 0 : lesser(step - 2, 15);
		Contexts context = {{reach_[0] + (track.family * 4 + c) * REACHES, reach_[1] + was * REACHES,
							 reach_[2] + (left * 4 + c) * REACHES, reach_[3] + up * REACHES,
							 reach_[4] + (fine * 4 + c) * REACHES},
							nullptr,
							reach_families_ + INPUTS * (track.family * 4 + c)};
		int32_t wanted = reach_class(value), found = reach_class(least);
		while (found < REACHES - 1)
		{
			context.weights = reach_weights_ + INPUTS * found;
			if (!coder_.bit(context, uint32_t(found), wanted > found))
				break;
			++found;
		}
		*own = uint8_t(found);
		int32_t floor = reach_floor(found), rest = value - floor;
		int bits = found < 5 ? 0 : (found - 5) / 2 + 1;
		int32_t read = 0, low = least > floor ? least - floor : 0;
		for (int k = bits - 1; k >= 0; --k)
		{
			int bit = (rest >> k) & 1;
			if (2 * read + 1 > low >> k) // else a zero would fall below `least`
				bit = k == bits - 1 ? coder_.bit(m_.singles[REACH_LOW + found], bit) : coder_.coin(bit);
			else
				bit = 1;
			read = 2 * read + bit;
		}
		return floor + read;
	}

	bool coefficient(const Track& track, int32_t c, int32_t k, int32_t reach, const Rows& rows)
	{
		Contexts context = contexts_of(track, c, k, reach, rows);
		int32_t value = rows.own[k], size = magnitude(value), found = k == reach ? 1 : 0;
		while (found < UNARY && more(context, k, found, size > found))
			++found;
		if (found == UNARY && !escape(size, &found))
			return false;
		rows.own[k] = !found ? 0 : coder_.coin(value < 0) ? -found : found;
		return true;
	}

	Contexts contexts_of(const Track& track, int32_t c, int32_t k, int32_t reach, const Rows& rows) const
	{
		int32_t one = magnitude(rows.own[k - 1]), two = k > 1 ? magnitude(rows.own[k - 2]) : 0;
		int32_t near = lesser(one, 1000) * 2 + lesser(two, 1000);
		int32_t was = rows.before ? around(rows.before, k) : 0, side = rows.left ? around(rows.left, k) : 0,
				over = rows.up ? around(rows.up, k) : 0;
		int32_t band = bands_[k];
		int32_t all = 2 * near + was + side + over;
		return {
			{coefficient_[0] + (activity(near) * BANDS + band) * LEVELS,
			 coefficient_[1] +
				 ((lesser(activity(was), 8) * 9 + lesser(activity(side), 8)) * 3 + lesser(one, 2)) * LEVELS,
			 coefficient_[2] + ((track.family * 4 + c) * BANDS + band) * LEVELS,
			 coefficient_[3] + (lesser(total(all), 15) * 8 + lesser(reach - k, 7)) * LEVELS,
			 coefficient_[4] +
				 ((lesser(activity(over), 8) * 6 + lesser(activity(near), 5)) * 4 + c) * LEVELS},
			nullptr,
			coefficient_families_ + INPUTS * (track.family * 4 + c)};
	}

	// Whether the magnitude of coefficient k is more than `found`.
	bool more(Contexts& context, int32_t k, int32_t found, bool value)
	{
		int32_t level = lesser(found, LEVELS - 1);
		context.weights = coefficient_weights_ + INPUTS * (level * 4 + lesser(bands_[k] / 3, 3));
		return coder_.bit(context, uint32_t(level), value) != 0;
	}

	static int32_t around(const int32_t* row, int32_t k)
	{
		return 2 * lesser(magnitude(row[k]), 1000) + lesser(magnitude(row[k - 1]), 1000) +
			   lesser(magnitude(row[k + 1]), 1000);
	}

	static int32_t total(int32_t sum)
	{
		return TOTAL[size_t(lesser(sum, 101))];
	}

	// A magnitude of UNARY or more: the rest plus one, as the number of its bits, then those bits.
	bool escape(int32_t size, int32_t* found)
	{
		uint32_t rest = uint32_t(size - UNARY + 1);
		int length = bit_length(rest), read_length = 1;
		while (read_length < 31 && coder_.bit(m_.singles[ESCAPE + read_length], length > read_length))
			++read_length;
		uint32_t read = 1;
		for (int k = read_length - 2; k >= 0; --k)
			read = (read << 1) | uint32_t(coder_.coin(int(rest >> k) & 1));
		if (read > uint32_t(LARGEST))
			return false;
		*found = int32_t(read) + UNARY - 1;
		return true;
	}

	Coder& coder_;
	Models& m_;
	const Plan& plan_;
	uint8_t bands_[513]; // of each frequency up to the longest block's
	int32_t bands_ready_ = 0;
	uint32_t *coefficient_[INPUTS], *reach_[INPUTS], *key_[INPUTS], *moves_[INPUTS];
	int32_t *coefficient_weights_, *reach_weights_, *key_weights_, *moves_weights_;
	int32_t *coefficient_families_, *reach_families_, *key_families_, *moves_families_;
};

} // namespace keysine
} // namespace mocpack
