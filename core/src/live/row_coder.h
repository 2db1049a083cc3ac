// A row of whole numbers as bytes: a binary arithmetic coder whose probabilities learn from intra frame to
// intra frame. One text codes both ways; docs/live-packets.md has the bits.
#pragma once
#include <cstring>

#include "coding/logistic.h"
#include "coding/range_coder.h"
#include "live/state.h"

namespace mocpack
{
namespace live
{

const int LADDER = 12;		// sizes that are counted; what is larger escapes
const uint16_t LIMIT = 160; // how slowly probabilities follow, once learned
const uint16_t QUICK = 60;

// What has been learned since the last intra frame.
struct Shared
{
	Counter by_past[3][6][3][5]; // kind, age, news above, news of the units before
	Counter by_history[3][32][3];
	Mixer<3> any[3];
	Counter zero[3][3][3][3]; // kind, number, those before it, last sign
	Counter sign[3][3][3];
	Counter larger[3][LADDER];
	Counter refined;
	AdaptiveBit absolute[3][2][40]; // kind, values or rates, bits
	AdaptiveBit escape[40];
};

struct Learned
{
	Shared* shared;
	Counter (*own)[4];	 // (units) by age
	Counter (*parts)[3]; // (units) whether each number is zero
};

inline Learned place_learned(const Model& model, Arena& arena)
{
	Learned l;
	l.shared = arena.take<Shared>(1);
	l.own = arena.take<Counter[4]>(model.unit_count);
	l.parts = arena.take<Counter[3]>(model.unit_count);
	return l;
}

void forget(const Model& model, Learned& learned);

// Bytes that no row exceeds.
inline size_t row_room_of(const Model& model)
{
	return 64 + 18 * model.number_count;
}

struct BitWriter
{
	static constexpr bool READS = false;
	RangeEncoder coder;

	int operator()(Probability one, int bit)
	{
		coder.encode(bit, one);
		return bit;
	}
};

struct BitReader
{
	static constexpr bool READS = true;
	RangeDecoder coder;

	int operator()(Probability one, int)
	{
		return coder.decode(one);
	}
};

inline Probability kept(uint32_t one)
{
	return one < 48 ? 48 : one > 65488 ? 65488 : one;
}

template <typename Bit> struct RowCoder
{
	const Model& model;
	const State& state; // before the row
	Learned& learned;
	Bit& bit;

	int plain(int value)
	{
		return bit(32768, value);
	}

	int counted(Counter& counter, int value, uint16_t limit)
	{
		value = bit(kept(counter.one), value);
		counter.update(value, limit);
		return value;
	}

	// A number that is not negative: how many bits it has, then the bits below the first.
	uint32_t magnitude(AdaptiveBit* lengths, uint32_t value)
	{
		int length = 0;
		while (!Bit::READS && length < 32 && value >> length)
			++length;
		int n = 0;
		for (; n < 32; ++n)
		{
			int more = bit(lengths[n].one(), n < length);
			lengths[n].update(more);
			if (!more)
				break;
		}
		if (n < 2)
			return uint32_t(n);
		uint32_t found = 1;
		for (int k = n - 2; k >= 0; --k)
			found = found << 1 | uint32_t(plain(int(value >> k & 1)));
		return found;
	}

	int32_t whole(AdaptiveBit* lengths, int32_t value)
	{
		uint32_t size = magnitude(lengths, uint32_t(value < 0 ? -int64_t(value) : value));
		size = size > 0x7fffffff ? 0x7fffffff : size;
		if (!size)
			return 0;
		return plain(value < 0) ? -int32_t(size) : int32_t(size);
	}

	void intra(Row& row)
	{
		Shared& shared = *learned.shared;
		for (size_t u = 0; u < model.unit_count; ++u)
		{
			const Unit& unit = model.units[u];
			if (unit.kind == TURN)
			{
				int low = plain(row.largest[u] & 1), high = plain(row.largest[u] >> 1);
				row.largest[u] = uint8_t(low | high << 1);
			}
			for (int k = 0; k < unit.count; ++k)
				row.news[unit.first + k] = whole(shared.absolute[unit.kind][0], row.news[unit.first + k]);
			for (int k = 0; k < unit.count; ++k)
				row.rates[unit.first + k] = whole(shared.absolute[unit.kind][1], row.rates[unit.first + k]);
		}
	}

	// Whether a unit has news at all.
	int any(size_t u, const Unit& unit, int above, int before, int value)
	{
		Shared& shared = *learned.shared;
		int age = state.age[u];
		int six = age < 4 ? age : age < 8 ? 4 : 5;
		Counter* counters[3] = {&learned.own[u][age < 2	  ? age
												: age < 5 ? 2
														  : 3],
								&shared.by_past[unit.kind][six][above][before],
								&shared.by_history[unit.kind][state.history[u] & 31][above]};
		int opinions[3];
		for (int i = 0; i < 3; ++i)
			opinions[i] = counters[i]->opinion();
		Probability one = shared.any[unit.kind].mix(opinions);
		value = bit(kept(one), value);
		shared.any[unit.kind].update(opinions, value, one);
		counters[0]->update(value, QUICK);
		counters[1]->update(value, LIMIT);
		counters[2]->update(value, LIMIT);
		return value;
	}

	int32_t number(const Unit& unit, size_t u, int k, int others, bool certain, int32_t value)
	{
		Shared& shared = *learned.shared;
		int last = state.signs[unit.first + k] + 1;
		if (!certain)
		{
			Counter& wide = shared.zero[unit.kind][k][others][last];
			Counter& own = learned.parts[u][k];
			uint32_t one = (uint32_t(wide.one) + own.one) / 2;
			int some = bit(kept(one), value != 0);
			wide.update(some, LIMIT);
			own.update(some, QUICK);
			if (!some)
				return 0;
		}
		int negative = counted(shared.sign[unit.kind][k][last], value < 0, LIMIT);
		int32_t size = 1, wanted = value < 0 ? -value : value;
		int rung = 0;
		for (; rung < LADDER; ++rung, ++size)
			if (!counted(shared.larger[unit.kind][rung], wanted > size, LIMIT))
				break;
		if (rung == LADDER)
		{
			uint32_t more = magnitude(shared.escape, uint32_t(wanted - size));
			size = int32_t(more > 0x3fffffff ? 0x3fffffff : more) + size;
		}
		return negative ? -size : size;
	}

	void news(Row& row)
	{
		Shared& shared = *learned.shared;
		row.refined = int(counted(shared.refined, row.refined > 0, LIMIT));
		if (row.refined)
			refinement(row);
		uint32_t before = 0; // bits: which of the units before had news
		for (size_t u = 0; u < model.unit_count; ++u)
		{
			const Unit& unit = model.units[u];
			int32_t* own = row.news + unit.first;
			int count = unit.count - (!state.mode.twist && unit.idle_twist);
			int above = unit.above < 0 ? 2 : had_news(row, unit.above);
			int near = int(before & 1) + int(before >> 1 & 1) + int(before >> 2 & 1) + int(before >> 3 & 1);
			int wanted = own[0] || (count > 1 && own[1]) || (count > 2 && own[2]);
			int some = any(u, unit, above, near, wanted);
			before = before << 1 | uint32_t(some);
			int others = 0;
			for (int k = 0; k < unit.count; ++k)
			{
				bool certain = k + 1 == count && !others;
				own[k] = some && k < count ? number(unit, u, k, others < 2 ? others : 2, certain, own[k]) : 0;
				others += own[k] != 0;
			}
		}
	}

	int refined_wanted = 0;

	void refinement(Row& row)
	{
		int level = 1;
		while (level < MOST_REFINED && plain(refined_wanted > level))
			++level;
		row.refined = level;
	}

	int had_news(const Row& row, int32_t u) const
	{
		const Unit& unit = model.units[u];
		for (int k = 0; k < unit.count; ++k)
			if (row.news[unit.first + k])
				return 1;
		return 0;
	}
};

// Writes a row; what has been learned goes on. Returns its size, 0 if it does not fit.
size_t write_row(const Model& model, const State& before, Learned& learned, Row& row, uint8_t* dst,
				 size_t room);

// Reads an intra row: sets the state's mode and steps, and forgets what was learned.
mocpack_Status read_intra(const Model& model, State& state, Learned& learned, const uint8_t* src, size_t size,
						  Row& row);

// Reads another row that `write_row` wrote; any bytes do no harm.
mocpack_Status read_row(const Model& model, const State& before, Learned& learned, const uint8_t* src,
						size_t size, Row& row);

} // namespace live
} // namespace mocpack
