// Counts the bits of an attempt track by track, and ends it early once it needs many more than the cheapest
// one.
#pragma once
#include <algorithm>
#include <cstring>

#include "keysine/encode/search.h"
#include "keysine/encode/spans.h"
#include "keysine/format/group.h"

namespace mocpack
{
namespace keysine
{

// Counts the bits that a writer would write.
class BitCounter
{
  public:
	static constexpr bool READS = false;

	int symbol(const uint16_t* starts, int, int value)
	{
		total += share_bits(starts, value);
		return value;
	}

	int choice(uint32_t zero, int value)
	{
		const uint16_t starts[] = {0, uint16_t(zero), TABLE_TOTAL};
		return symbol(starts, 2, value);
	}

	uint32_t bits(int count, uint32_t value)
	{
		total += count;
		return value;
	}

	double total = 0;
};

class BitBudget
{
  public:
	// spent (2, tracks): bits up to and including each track, of the cheapest attempt and of the last count
	BitBudget(const Constants& constants, const Plan& plan, const GroupSymbols& symbols, double* spent)
		: c_(constants), symbols_(counter_, plan, symbols.shape, symbols.rows), spent_(spent),
		  tracks_(plan.track_count)
	{
	}

	// Returns the bits of a span in a block with its current rows.
	double bits_of(const Span& span, int32_t b)
	{
		counter_.total = 0;
		for (size_t t = span.first_track; t < span.end_track; ++t)
			symbols_.block(int32_t(t), b), spent_[tracks_ + t] = counter_.total;
		return counter_.total;
	}

	// Makes the last count the one to beat.
	void keep()
	{
		std::memcpy(spent_, spent_ + tracks_, tracks_ * sizeof *spent_);
	}

	// Starts an attempt at block b, which falls_behind checks after each track. If `to_beat` is NOTHING, it
	// never falls behind.
	void begin(int32_t b, double to_beat)
	{
		counter_.total = 0, b_ = b, to_beat_ = to_beat;
	}

	void end()
	{
		to_beat_ = NOTHING;
	}

	// Returns whether the tracks so far need many more bits than those of the cheapest attempt.
	bool falls_behind(size_t t)
	{
		if (to_beat_ >= NOTHING)
			return false;
		symbols_.block(int32_t(t), b_);
		return counter_.total > spent_[t] + std::max(c_.abandon_share * to_beat_, c_.abandon_bits);
	}

	static constexpr double NOTHING = 1e300; // bits to beat while there is no other attempt

  private:
	const Constants& c_;
	BitCounter counter_;
	CoefficientSymbols<BitCounter> symbols_;
	double* spent_;
	size_t tracks_;
	int32_t b_ = 0;
	double to_beat_ = NOTHING;
};

} // namespace keysine
} // namespace mocpack
