// Codes a `keysine` head: its numbers, the sizes of segments and groups, and the plan.
#pragma once
#include "keysine/format/grid.h"
#include "keysine/format/refinement.h"

namespace mocpack
{
namespace keysine
{

// Maps each channel to the first channel of its track, using only the kinds in a plan's table (J,
// PLAN_COLUMNS).
struct TrackChannels
{
	int32_t* first; // (channels), at most seven per joint
	int32_t channel_count, track_count;

	TrackChannels(const int32_t* table, const mocpack_Skeleton& skeleton, int32_t* memory)
		: first(memory), channel_count(0), track_count(0)
	{
		HingeCursor hinges(skeleton);
		for (size_t j = 0; j < skeleton.joint_count; ++j, table += PLAN_COLUMNS)
		{
			JointHinges own = hinges.at(j);
			add(table[TRANSLATION_KIND] == MOVING_TRANSLATION	 ? 3
				: table[TRANSLATION_KIND] == SLIDING_TRANSLATION ? own.slides
																 : 0);
			add(table[ROTATION_KIND] == QUATERNION_ROTATION ? 4
				: table[ROTATION_KIND] == VECTOR_ROTATION	? 3
				: table[ROTATION_KIND] == HINGE_ROTATION	? own.turns
															: 0);
		}
	}

  private:
	void add(int32_t channels)
	{
		for (int32_t c = 0; c < channels; ++c)
			first[channel_count + c] = channel_count;
		channel_count += channels, track_count += channels > 0;
	}
};

template <typename Coder> class HeadSymbols
{
  public:
	explicit HeadSymbols(Coder& coder) : coder_(coder)
	{
	}

	uint32_t count(uint32_t value)
	{
		return uint32_t(number(COUNT_NUMBER, false, int32_t(value)));
	}

	uint32_t bits(int count, uint32_t value)
	{
		return coder_.bits(count, value);
	}

	// Codes sizes; each symbol as a difference to the previous one.
	bool sizes(uint32_t* sizes, size_t count)
	{
		int before = 0;
		for (size_t i = 0; i < count; ++i)
		{
			int symbol = symbol_of(int32_t(sizes[i]), COARSE), change = symbol - before;
			int found = coder_.symbol(HEAD_TABLES[SIZE_NUMBER], SYMBOLS,
									  lesser(change > 0 ? 2 * change - 1 : -2 * change, ESCAPE));
			if (found == ESCAPE)
				symbol = int(coder_.bits(5, uint32_t(symbol)));
			else
				symbol = before + (found & 1 ? (found + 1) / 2 : -found / 2);
			if (symbol < 0 || symbol > ESCAPE)
				return false;
			int32_t size = rest_of(coder_, symbol, COARSE, int32_t(sizes[i]));
			if (size < 0)
				return false;
			sizes[i] = uint32_t(size);
			before = symbol;
		}
		return true;
	}

	// Codes the plan (J, PLAN_COLUMNS). Columns that a joint does not use become zero. shared: whether
	// rotations can share references.
	void plan(int32_t* table, const mocpack_Skeleton& skeleton, bool grid, bool shared)
	{
		int32_t last_turn = 0, last_place = 0, last_step = UNIT_STEP;
		precision_ = 0, precisions_ = PRECISION_NUMBER + 2 * grid, shared_ = shared;
		HingeCursor hinges(skeleton);
		size_t m = 0;
		for (size_t j = 0; j < skeleton.joint_count; ++j)
		{
			int32_t* row = table + PLAN_COLUMNS * j;
			JointHinges own = hinges.at(j);
			if (!own.turns || !hinged(HINGE_ROTATION, row + ROTATION_KIND))
				last_turn = row[ROTATION_KIND] = kind(KIND_STARTS[last_turn], row[ROTATION_KIND]);
			turn(row, own, &last_step);
			bool translated = m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j;
			m += translated;
			if (!translated)
				row[TRANSLATION_KIND] = REST_TRANSLATION;
			else if (!own.slides || !hinged(SLIDING_TRANSLATION, row + TRANSLATION_KIND))
				last_place = row[TRANSLATION_KIND] =
					kind(KIND_STARTS[ROTATION_KINDS + last_place], row[TRANSLATION_KIND]);
			place(row, own, &last_step);
		}
	}

	// Codes predictors, sorted by the channel they predict. Returns false if one is invalid.
	bool predictors(Predictor* predictors, size_t count, const TrackChannels& tracks)
	{
		int32_t channel = 0;
		for (size_t i = 0; i < count; ++i)
		{
			Predictor& p = predictors[i];
			channel += number(CHANNEL_NUMBER, false, p.channel - channel);
			bool known = channel < tracks.channel_count;
			int32_t first = known ? tracks.first[channel] : 0;
			int32_t source = first - 1 - number(SOURCE_NUMBER, false, first - 1 - p.source);
			int32_t band = direct(BAND_NUMBER, p.band);
			int32_t factor = number(FACTOR_NUMBER, true, p.factor);
			if (!known || source < 0 || source >= first || band > FAST_BAND)
				return false;
			if (!Coder::READS && (channel != p.channel || source != p.source))
				return false; // not sorted by channel, or both channels are in the same track
			p = {channel, source, band, factor};
		}
		return true;
	}

	// Codes the coarseness of each layer except the last: shifts (count, 2, tracks). Those of the first layer
	// are differences to the previous track, those of later layers at most those of the layer before. Returns
	// false if a shift is out of range.
	bool shifts(uint8_t* shifts, size_t count, size_t tracks)
	{
		for (size_t i = 0; i < 2 * count * tracks; ++i)
		{
			int32_t shift = shifts[i];
			if (i >= 2 * tracks)
				shift = at_most(shifts[i - 2 * tracks], shift);
			else
				shift = first_shift(i % tracks ? shifts[i - 1] : 0, shift);
			if (shift < 0 || shift > MAX_SHIFT)
				return false;
			shifts[i] = uint8_t(shift);
		}
		return true;
	}

	// Codes a shift of the first layer. before: that of the previous track, 0 for the first.
	int32_t first_shift(int32_t before, int32_t shift)
	{
		return before + number(KEY_STEP_NUMBER, true, shift - before);
	}

	// Codes the fields of grid mode: steps (tracks), as differences to the previous one, and the initial
	// prediction errors initial_scales (channels). Returns false if they are out of range.
	bool grid(uint8_t* steps, size_t track_count, uint8_t* initial_scales, const TrackChannels& tracks)
	{
		int32_t step = UNIT_STEP;
		for (size_t t = 0; t < track_count; ++t)
		{
			step += number(KEY_STEP_NUMBER, true, steps[t] - step);
			if (step < 0 || step >= STEPS)
				return false;
			steps[t] = uint8_t(step);
		}
		for (int32_t c = 0; c < tracks.channel_count; ++c)
		{
			if (!Coder::READS && initial_scales[c] > MOCPACK_KEYSINE_MAX_INITIAL_SCALE)
				return false;
			initial_scales[c] = uint8_t(direct(SCALE_NUMBER + c - tracks.first[c], initial_scales[c]));
		}
		return true;
	}

  private:
	// Codes a shift from 0 to `most`, all equally likely.
	int32_t at_most(int32_t most, int32_t value)
	{
		const int32_t count = 2 * TABLE_STEP; // at least MAX_SHIFT + 1
		uint16_t starts[count + 1];
		for (int32_t i = 0; i <= count; ++i)
			starts[i] = uint16_t(lesser(i, most + 1) * int32_t(TABLE_TOTAL) / (most + 1));
		return coder_.symbol(starts, count, value);
	}

	int32_t number(int what, bool has_sign, int32_t value)
	{
		int32_t found = coded_number(coder_, HEAD_TABLES[what], has_sign, value);
		return found > -MAX_MAGNITUDE && found < MAX_MAGNITUDE ? found : 0;
	}

	// Codes a number from 0 to 31 as one symbol.
	int direct(int what, int value)
	{
		return coder_.symbol(HEAD_TABLES[what], SYMBOLS, value < 0 || value > ESCAPE ? ESCAPE : value);
	}

	int32_t kind(const uint16_t* starts, int32_t value)
	{
		return coder_.symbol(starts, KINDS, value);
	}

	// Codes the kind of a joint with hinges: rest, constant, or moving along them. Returns false if it moves
	// freely.
	bool hinged(int32_t moving, int32_t* kind)
	{
		static const uint16_t STARTS[KINDS + 1] = {0, 128, 384, 3968, 4096, 4096, 4096, 4096, 4096};
		const int FREE = 3;
		bool free = *kind > STILL_ROTATION && *kind != moving;
		int found = coder_.symbol(STARTS, KINDS, free ? FREE : *kind == moving ? 2 : *kind);
		if (found == FREE)
			return false;
		*kind = found == 2 ? moving : found;
		return true;
	}

	// Codes which hinges, starting at `first`, clamp the joint to their limits. Turning limits can clamp a
	// freely moving joint only if a pose alone determines whether it is within them.
	void clamped(const JointHinges& own, int32_t first, int32_t count, bool moves, bool along, int32_t* rows)
	{
		for (int32_t i = first; i < first + count; ++i)
		{
			const bool can_hold = moves && (along || i < own.slides ? own.limited(i) : own.narrow(i));
			const int32_t bit = can_hold ? int32_t(coder_.bits(1, uint32_t(*rows >> i & 1))) : 0;
			*rows = (*rows & ~(1 << i)) | bit << i;
		}
	}

	void turn(int32_t* row, const JointHinges& own, int32_t* last_step)
	{
		const int32_t hinges = own.turns;
		bool still = row[ROTATION_KIND] == STILL_ROTATION, vector = row[ROTATION_KIND] == VECTOR_ROTATION,
			 hinge = row[ROTATION_KIND] == HINGE_ROTATION;
		int count = vector ? 3 : still ? (hinges ? hinges : 3) : hinge ? hinges : 0;
		for (int a = 0; a < 3; ++a)
			row[MEAN + a] = a < count ? number(still ? STILL_NUMBER : MEAN_NUMBER, true, row[MEAN + a]) : 0;
		for (int a = 0; a < 3; ++a)
			row[BASIS + a] = vector ? row[BASIS + a] : 0;
		if (vector)
			axes(row + BASIS);
		const bool moves = row[ROTATION_KIND] >= VECTOR_ROTATION;
		row[SHARES_REFERENCE] =
			moves && shared_ ? int32_t(coder_.bits(1, uint32_t(row[SHARES_REFERENCE]))) : 0;
		row[CLAMPED_HINGES] &= (1 << (own.slides + hinges)) - 1;
		clamped(own, own.slides, hinges, moves, hinge, row + CLAMPED_HINGES);
		row[ROTATION_KEY_STEP] = key_step(moves, last_step, row[ROTATION_KEY_STEP]);
	}

	// Codes the rotation of axes: its precision in bits below a radian, 0 for none, and its numbers.
	void axes(int32_t* turn)
	{
		const int32_t any = turn[0] | turn[1] | turn[2];
		int precision = any ? AXES_BITS : 0;
		while (precision > 1 && !(any >> (AXES_BITS - precision) & 1))
			--precision;
		precision_ = precision = lesser(direct(precisions_ + !precision_, precision), AXES_BITS);
		for (int a = 0; a < 3; ++a)
		{
			const int shift = AXES_BITS - precision;
			int32_t found = precision ? number(TURN_NUMBER + precision - 1, true, turn[a] >> shift) : 0;
			turn[a] = magnitude(found) < MAX_MAGNITUDE >> AXES_BITS ? found * (1 << shift) : 0;
		}
	}

	void place(int32_t* row, const JointHinges& own, int32_t* last_step)
	{
		const int32_t hinges = own.slides;
		bool still = row[TRANSLATION_KIND] == STILL_TRANSLATION,
			 moves = row[TRANSLATION_KIND] == MOVING_TRANSLATION,
			 slides = row[TRANSLATION_KIND] == SLIDING_TRANSLATION;
		for (int a = 0; a < 3; ++a)
			row[ORIGIN + a] = still && (!hinges || a < hinges) ? number(PLACE_NUMBER, true, row[ORIGIN + a])
							  : moves						   ? number(ORIGIN_NUMBER, true, row[ORIGIN + a])
															   : 0;
		clamped(own, 0, hinges, moves || slides, slides, row + CLAMPED_HINGES);
		row[TRANSLATION_KEY_STEP] = key_step(moves || slides, last_step, row[TRANSLATION_KEY_STEP]);
	}

	// Codes a key step as the difference to the previous track; UNIT_STEP if nothing moves.
	int32_t key_step(bool moves, int32_t* last, int32_t value)
	{
		if (!moves)
			return UNIT_STEP;
		return *last += number(KEY_STEP_NUMBER, true, value - *last);
	}

	Coder& coder_;
	int precision_ = 0;	 // of the previous rotation of axes
	int precisions_ = 0; // first table of precisions
	bool shared_ = false;
};

// Codes the first fields; the same template reads and writes.
template <typename Coder> void code_start(HeadSymbols<Coder>& symbols, mocpack_KeysineFields* s)
{
	s->mode = symbols.bits(4, s->mode);
	s->layer_count = 1 + symbols.bits(4, s->layer_count - 1);
	s->fine_bits = symbols.bits(6, s->fine_bits);
	// a tempo of 0 announces a streamed payload
	const uint32_t tempo = symbols.bits(8, s->group_frames ? 0 : s->tempo);
	if (tempo)
		s->tempo = tempo;
	else
	{
		s->group_frames = 1 + symbols.count(s->group_frames - 1);
		s->tempo = symbols.bits(8, s->tempo);
	}
	uint32_t unit;
	std::memcpy(&unit, &s->unit, 4);
	unit = symbols.bits(16, unit >> 16) << 16;
	std::memcpy(&s->unit, &unit, 4);
	s->group_count = symbols.count(s->group_count);
	s->groups_per_segment = symbols.count(s->groups_per_segment);
	s->predictor_count = symbols.count(s->predictor_count);
	s->keys_error = uint8_t(symbols.bits(8, s->keys_error));
	for (uint32_t l = 0; l < s->layer_count && s->layer_count > 1; ++l)
	{
		s->errors[l].max = uint8_t(symbols.bits(8, s->errors[l].max));
		s->errors[l].mean = uint8_t(symbols.bits(8, s->errors[l].mean));
	}
}

} // namespace keysine
} // namespace mocpack
