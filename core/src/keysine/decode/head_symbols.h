// The symbols of a `keysine` head: the plan, and the sizes of segments and groups.
#pragma once
#include "keysine/decode/grid.h"
#include "keysine/decode/refinement.h"

namespace mocpack
{
namespace keysine
{

// What a number of the head is, for its statistics.
enum HeadNumber
{
	MEAN_NUMBER,
	STILL_NUMBER,
	BASIS_NUMBER,
	KEY_STEP_NUMBER,
	ORIGIN_NUMBER,
	PLACE_NUMBER,
	SEGMENT_SIZE,
	GROUP_SIZE,
	HEAD_NUMBERS,
};

const int NUMBER_LEVELS = 34; // up to 32 for the length, then the two bits below the highest
const int KIND_STATES = 4 * 3 + 3 * 2;
static_assert(HEAD_STATES == HEAD_NUMBERS * NUMBER_LEVELS + KIND_STATES, "states of the head");

template <typename Coder> class HeadSymbols
{
  public:
	HeadSymbols(Coder& coder, Models& models) : coder_(coder), states_(models.singles + HEAD)
	{
	}

	// The plan (J, PLAN_COLUMNS); columns that a joint's kinds leave unused come out as zero.
	void plan(int32_t* table, const mocpack_Skeleton& skeleton)
	{
		int32_t last_turn = 0, last_place = 0;
		size_t m = 0;
		for (size_t j = 0; j < skeleton.joint_count; ++j)
		{
			int32_t* row = table + PLAN_COLUMNS * j;
			last_turn = row[ROTATION_KIND] = kind(3 * last_turn, 4, row[ROTATION_KIND]);
			turn(row);
			bool translated = m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j;
			m += translated;
			if (translated)
				last_place = row[TRANSLATION_KIND] = kind(12 + 2 * last_place, 3, row[TRANSLATION_KIND]);
			else
				row[TRANSLATION_KIND] = REST_TRANSLATION;
			place(row);
		}
	}

	void sizes(uint32_t* sizes, size_t count, HeadNumber what)
	{
		for (size_t i = 0; i < count; ++i)
			sizes[i] = natural(what, sizes[i]);
	}

	// How coarse each layer but the last is: shifts (count, tracks), each as its difference to the one
	// before. False where they do not fall from layer to layer down to one; `fault` may be null.
	bool shifts(uint8_t* shifts, size_t count, size_t tracks, mocpack_Fault* fault = nullptr)
	{
		for (size_t i = 0; i < count * tracks; ++i)
		{
			int32_t before = i % tracks ? shifts[i - 1] : 0;
			int32_t shift = before + number(MEAN_NUMBER, shifts[i] - before);
			if (!within(fault, "track", int64_t(i % tracks), "a layer's shift", shift, 0,
						i >= tracks ? shifts[i - tracks] : MOST_SHIFT))
				return false;
			shifts[i] = uint8_t(shift);
		}
		return true;
	}

	// Of a grid in time: steps (tracks) and initial scales (channels), each as its difference to the one
	// before. False where they are out of range; `fault` may be null.
	bool grid(uint8_t* steps, size_t tracks, uint8_t* initial_scales, size_t channels,
			  mocpack_Fault* fault = nullptr)
	{
		int32_t step = UNIT_STEP, scale = 16;
		for (size_t t = 0; t < tracks; ++t)
		{
			step += number(KEY_STEP_NUMBER, steps[t] - step);
			if (!within(fault, "track", int64_t(t), "grid step", step, 0, STEPS - 1))
				return false;
			steps[t] = uint8_t(step);
		}
		for (size_t c = 0; c < channels; ++c)
		{
			scale += number(MEAN_NUMBER, initial_scales[c] - scale);
			if (!within(fault, "channel", int64_t(c), "initial scale", scale, 0,
						MOCPACK_KEYSINE_MOST_INITIAL_SCALE))
				return false;
			initial_scales[c] = uint8_t(scale);
		}
		return true;
	}

  private:
	void turn(int32_t* row)
	{
		bool still = row[ROTATION_KIND] == STILL_ROTATION, vector = row[ROTATION_KIND] == VECTOR_ROTATION;
		for (int a = 0; a < 3; ++a)
			row[MEAN + a] = still	 ? number(STILL_NUMBER, row[MEAN + a])
							: vector ? number(MEAN_NUMBER, row[MEAN + a])
									 : 0;
		for (int a = 0; a < 3; ++a)
			row[BASIS + a] = vector ? number(BASIS_NUMBER, row[BASIS + a]) : 0;
		bool moves = row[ROTATION_KIND] >= VECTOR_ROTATION;
		int32_t before = row[ROTATION_KEY_STEP];
		row[ROTATION_KEY_STEP] = UNIT_STEP;
		if (moves)
			row[ROTATION_KEY_STEP] += number(KEY_STEP_NUMBER, before - UNIT_STEP);
	}

	void place(int32_t* row)
	{
		bool still = row[TRANSLATION_KIND] == STILL_TRANSLATION,
			 moves = row[TRANSLATION_KIND] == MOVING_TRANSLATION;
		for (int a = 0; a < 3; ++a)
			row[ORIGIN + a] = still	  ? number(PLACE_NUMBER, row[ORIGIN + a])
							  : moves ? number(ORIGIN_NUMBER, row[ORIGIN + a])
									  : 0;
		int32_t before = row[TRANSLATION_KEY_STEP];
		row[TRANSLATION_KEY_STEP] = UNIT_STEP;
		if (moves)
			row[TRANSLATION_KEY_STEP] += number(KEY_STEP_NUMBER, before - UNIT_STEP);
	}

	// One of `count` kinds, in unary.
	int32_t kind(int context, int32_t count, int32_t value)
	{
		uint32_t* states = states_ + HEAD_NUMBERS * NUMBER_LEVELS + context;
		int32_t found = 0;
		while (found < count - 1 && coder_.bit(states[found], value > found))
			++found;
		return found;
	}

	uint32_t natural(HeadNumber what, uint32_t value)
	{
		uint32_t* states = states_ + what * NUMBER_LEVELS;
		int length = bit_length(value), found = 0;
		while (found < 31 && coder_.bit(states[found], length > found))
			++found;
		if (!found)
			return 0;
		uint32_t read = 1;
		for (int k = found - 2, low = 0; k >= 0; --k, ++low)
		{
			int bit = int(value >> k) & 1;
			read = (read << 1) | uint32_t(low < 1 ? coder_.bit(states[32 + low], bit) : coder_.coin(bit));
		}
		return read;
	}

	int32_t number(HeadNumber what, int32_t value)
	{
		int32_t size = int32_t(natural(what, uint32_t(magnitude(value))) & 0x3fffffff);
		return size && coder_.coin(value < 0) ? -size : size;
	}

	Coder& coder_;
	uint32_t* states_;
};

} // namespace keysine
} // namespace mocpack
