#include "live/guess.h"

#include <cmath>
#include <cstring>

namespace mocpack
{
namespace live
{

namespace
{

const int LONGEST_LOOK = 12; // frames back
const double LEAP = 30;		 // metres a second: what moves faster was put there

const FixedQuat* turns_at(const Model& model, const Past& past, int64_t back)
{
	return past.turns + size_t(past.count - 1 - back) % PAST * model.unit_count;
}

const int64_t* values_at(const Model& model, const Past& past, int64_t back)
{
	return past.values + size_t(past.count - 1 - back) % PAST * model.number_count;
}

bool leapt(const Model& model, const State& s, const Past& past)
{
	const double most = LEAP * model.frame_time * s.mode.every * LENGTH_SCALE;
	const int64_t* before = values_at(model, past, 0);
	for (size_t u = 0; u < model.unit_count; ++u)
		for (int k = 0; model.units[u].kind == PLACE && k < model.units[u].count; ++k)
		{
			size_t n = size_t(model.units[u].first + k);
			if (std::fabs(double(s.values[n] - before[n])) > most)
				return true;
		}
	return false;
}

// A turn, and `share` times a way after it.
FixedQuat turned_on(FixedQuat turn, FixedQuat way, double share)
{
	double sign = way.w < 0 ? -1 : 1, x = sign * double(way.x), y = sign * double(way.y),
		   z = sign * double(way.z), size = std::sqrt(x * x + y * y + z * z);
	if (size < 1)
		return turn;
	double half = share * std::atan2(size, sign * double(way.w)), s = std::sin(half) * double(ONE) / size;
	FixedQuat more = {int64_t(s * x), int64_t(s * y), int64_t(s * z), int64_t(std::cos(half) * double(ONE))};
	return live::unit(multiply(turn, more));
}

} // namespace

void keep_past(const Model& model, const State& s, Past& past)
{
	bool follows = past.count && s.number == past.number + 1 && s.mode.every == past.every;
	bool put = follows && leapt(model, s, past);
	if (!follows || put)
		past.count = 0, past.leapt = put;
	++past.count;
	past.number = s.number;
	past.every = s.mode.every;
	size_t at = size_t(past.count - 1) % PAST;
	memcpy(past.turns + at * model.unit_count, s.turns, model.unit_count * sizeof(FixedQuat));
	memcpy(past.values + at * model.number_count, s.values, model.number_count * sizeof(int64_t));
}

bool guess_ahead(const Model& model, const State& s, const Past& past, int ahead, State& guess)
{
	int64_t look = 2 * ahead + 2;
	if (past.count < 1)
		return false;
	look = look < LONGEST_LOOK ? look : LONGEST_LOOK;
	look = look < past.count ? look : past.count - 1;
	const FixedQuat* turns = turns_at(model, past, 0);
	const FixedQuat* old_turns = turns_at(model, past, look);
	const int64_t *values = values_at(model, past, 0), *old = values_at(model, past, look);
	// of a single frame the rates are all there is
	double share = look ? double(ahead) / double(look) : past.leapt ? 0 : ahead;
	for (size_t u = 0; u < model.unit_count; ++u)
		if (model.units[u].kind == TURN)
		{
			const int64_t* r = s.rates + model.units[u].first;
			FixedQuat way =
				look ? multiply(conjugate(old_turns[u]), turns[u]) : with_vector(r[0], r[1], r[2]);
			guess.turns[u] = turned_on(turns[u], way, share);
		}
	for (size_t n = 0; n < model.number_count; ++n)
		guess.values[n] =
			clamped(values[n] + int64_t(share * double(look ? values[n] - old[n] : s.rates[n])), LARGEST);
	return true;
}

} // namespace live
} // namespace mocpack
