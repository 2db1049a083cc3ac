// Codes rows of integers with an adaptive binary arithmetic coder, which is reset at each keyframe. The same
// code writes and reads; docs/live-packets.md describes the bits.
#pragma once
#include <cstring>

#include "entropy/logistic.h"
#include "entropy/range_coder.h"
#include "live/state.h"

namespace mocpack
{
namespace live
{

const int MAX_UNARY = 12;		 // larger residuals use an escape code
const uint16_t SLOW_LIMIT = 160; // adaptation limits: larger adapts more slowly
const uint16_t FAST_LIMIT = 60;

// Probabilities learned since the last keyframe, shared by all units.
struct SharedContexts
{
	Counter by_past[3][6][3][5]; // kind, age, residual of the unit above, residuals of the units before
	Counter by_history[3][32][3];
	Mixer<3> any[3];
	Counter zero[3][3][3][3]; // kind, number, nonzero numbers before it, last sign
	Counter sign[3][3][3];
	Counter larger[3][MAX_UNARY];
	Counter refinement;
	AdaptiveBit absolute[3][2][40]; // kind, values or velocities, bit
	AdaptiveBit escape[40];
};

struct Contexts
{
	SharedContexts* shared;
	Counter (*own)[4];	 // (units) by age
	Counter (*parts)[3]; // (units) whether each number is zero
};

inline Contexts allocate_contexts(const Model& model, Arena& arena)
{
	Contexts l;
	l.shared = arena.allocate<SharedContexts>(1);
	l.own = arena.allocate<Counter[4]>(model.unit_count);
	l.parts = arena.allocate<Counter[3]>(model.unit_count);
	return l;
}

void reset_contexts(const Model& model, Contexts& contexts);

// Returns the size limit of a row in bytes.
inline size_t compute_max_row_bytes(const Model& model)
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

inline Probability clamp_probability(uint32_t one)
{
	return one < 48 ? 48 : one > 65488 ? 65488 : one;
}

template <typename Bit> struct RowCoder
{
	const Model& model;
	const State& state; // before the row
	Contexts& contexts;
	Bit& bit;

	int code_raw_bit(int value)
	{
		return bit(32768, value);
	}

	int code_bit(Counter& counter, int value, uint16_t limit)
	{
		value = bit(clamp_probability(counter.one), value);
		counter.update(value, limit);
		return value;
	}

	// Codes a nonnegative number: its bit length, then the bits below the first one.
	uint32_t code_magnitude(AdaptiveBit* lengths, uint32_t value)
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
			found = found << 1 | uint32_t(code_raw_bit(int(value >> k & 1)));
		return found;
	}

	int32_t code_integer(AdaptiveBit* lengths, int32_t value)
	{
		uint32_t size = code_magnitude(lengths, uint32_t(value < 0 ? -int64_t(value) : value));
		size = size > 0x7fffffff ? 0x7fffffff : size;
		if (!size)
			return 0;
		return code_raw_bit(value < 0) ? -int32_t(size) : int32_t(size);
	}

	void code_keyframe(Row& row)
	{
		SharedContexts& shared = *contexts.shared;
		for (size_t u = 0; u < model.unit_count; ++u)
		{
			const Unit& unit = model.units[u];
			if (unit.kind == ROTATION)
			{
				int low = code_raw_bit(row.largest[u] & 1), high = code_raw_bit(row.largest[u] >> 1);
				row.largest[u] = uint8_t(low | high << 1);
			}
			for (int k = 0; k < unit.count; ++k)
				row.residuals[unit.first + k] =
					code_integer(shared.absolute[unit.kind][0], row.residuals[unit.first + k]);
			for (int k = 0; k < unit.count; ++k)
				row.velocities[unit.first + k] =
					code_integer(shared.absolute[unit.kind][1], row.velocities[unit.first + k]);
		}
	}

	// Codes whether a unit has any nonzero residual.
	int code_has_residual(size_t u, const Unit& unit, int above, int before, int value)
	{
		SharedContexts& shared = *contexts.shared;
		int age = state.age[u];
		int six = age < 4 ? age : age < 8 ? 4 : 5;
		Counter* counters[3] = {&contexts.own[u][age < 2   ? age
												 : age < 5 ? 2
														   : 3],
								&shared.by_past[unit.kind][six][above][before],
								&shared.by_history[unit.kind][state.history[u] & 31][above]};
		int logits[3];
		for (int i = 0; i < 3; ++i)
			logits[i] = counters[i]->logit();
		Probability one = shared.any[unit.kind].mix(logits);
		value = bit(clamp_probability(one), value);
		shared.any[unit.kind].update(logits, value, one);
		counters[0]->update(value, FAST_LIMIT);
		counters[1]->update(value, SLOW_LIMIT);
		counters[2]->update(value, SLOW_LIMIT);
		return value;
	}

	int32_t code_residual(const Unit& unit, size_t u, int k, int others, bool certain, int32_t value)
	{
		SharedContexts& shared = *contexts.shared;
		int last = state.signs[unit.first + k] + 1;
		if (!certain)
		{
			Counter& wide = shared.zero[unit.kind][k][others][last];
			Counter& own = contexts.parts[u][k];
			uint32_t one = (uint32_t(wide.one) + own.one) / 2;
			int some = bit(clamp_probability(one), value != 0);
			wide.update(some, SLOW_LIMIT);
			own.update(some, FAST_LIMIT);
			if (!some)
				return 0;
		}
		int negative = code_bit(shared.sign[unit.kind][k][last], value < 0, SLOW_LIMIT);
		int32_t size = 1, wanted = value < 0 ? -value : value;
		int rung = 0;
		for (; rung < MAX_UNARY; ++rung, ++size)
			if (!code_bit(shared.larger[unit.kind][rung], wanted > size, SLOW_LIMIT))
				break;
		if (rung == MAX_UNARY)
		{
			uint32_t more = code_magnitude(shared.escape, uint32_t(wanted - size));
			size = int32_t(more > 0x3fffffff ? 0x3fffffff : more) + size;
		}
		return negative ? -size : size;
	}

	void code_residuals(Row& row)
	{
		SharedContexts& shared = *contexts.shared;
		row.refinement = int(code_bit(shared.refinement, row.refinement > 0, SLOW_LIMIT));
		if (row.refinement)
			code_refinement(row);
		uint32_t before = 0; // one bit per earlier unit: whether it had a residual
		for (size_t u = 0; u < model.unit_count; ++u)
		{
			const Unit& unit = model.units[u];
			int32_t* own = row.residuals + unit.first;
			int count = unit.count - (!state.mode.twist && unit.skin_only_twist);
			int above = unit.above < 0 ? 2 : has_residual(row, unit.above);
			int near = int(before & 1) + int(before >> 1 & 1) + int(before >> 2 & 1) + int(before >> 3 & 1);
			int wanted = own[0] || (count > 1 && own[1]) || (count > 2 && own[2]);
			int some = code_has_residual(u, unit, above, near, wanted);
			before = before << 1 | uint32_t(some);
			int others = 0;
			for (int k = 0; k < unit.count; ++k)
			{
				bool certain = k + 1 == count && !others;
				own[k] = some && k < count
							 ? code_residual(unit, u, k, others < 2 ? others : 2, certain, own[k])
							 : 0;
				others += own[k] != 0;
			}
		}
	}

	int wanted_refinement = 0;

	void code_refinement(Row& row)
	{
		int level = 1;
		while (level < MAX_REFINEMENT && code_raw_bit(wanted_refinement > level))
			++level;
		row.refinement = level;
	}

	int has_residual(const Row& row, int32_t u) const
	{
		const Unit& unit = model.units[u];
		for (int k = 0; k < unit.count; ++k)
			if (row.residuals[unit.first + k])
				return 1;
		return 0;
	}
};

// Writes a row and updates the contexts. Returns its size, or 0 if it does not fit.
size_t write_row(const Model& model, const State& before, Contexts& contexts, Row& row, uint8_t* dst,
				 size_t room);

// Reads a keyframe: sets the mode and steps of the state, and resets the contexts.
mocpack_Status read_keyframe(const Model& model, State& state, Contexts& contexts, const uint8_t* src,
							 size_t size, Row& row);

// Reads a row that is not a keyframe. Invalid bytes are safe.
mocpack_Status read_row(const Model& model, const State& before, Contexts& contexts, const uint8_t* src,
						size_t size, Row& row);

} // namespace live
} // namespace mocpack
