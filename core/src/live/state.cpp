// Takes the pose of a stream from frame to frame. Whole numbers only; floating point begins at `pose_of`.
#include "live/state.h"

#include <cstring>

#include "coding/crc32.h"

namespace mocpack
{
namespace live
{

namespace
{

Quat turn_about(Vec3 axis, double angle)
{
	double s = std::sin(0.5 * angle);
	return {s * axis.x, s * axis.y, s * axis.z, std::cos(0.5 * angle)};
}

// A rate follows what was not expected: an error that took longer to grow says less of it.
int64_t followed(const Model& model, int64_t rate, int64_t surprise, int age)
{
	rate -= (rate * model.fade + 32768) >> 16;
	return rate + ((surprise * model.gain / (age + 2) + 32768) >> 16);
}

void remember(State& s, const Unit& unit, size_t u, const int32_t* news)
{
	bool any = false;
	for (int k = 0; k < unit.count; ++k)
		if (news[k])
		{
			any = true;
			s.signs[unit.first + k] = int8_t(news[k] > 0 ? 1 : -1);
		}
	s.age[u] = uint8_t(any ? 0 : s.age[u] < 15 ? s.age[u] + 1 : 15);
	s.history[u] = uint8_t(s.history[u] << 1 | int(any));
}

void advance_turn(const Model& model, State& s, const Unit& unit, size_t u, const Row& row)
{
	const int32_t* news = row.news + unit.first;
	FixedQuat predicted = predicted_turn(s, unit, u);
	int64_t vector[3] = {0, 0, 0};
	s.turns[u] = news[0] || news[1] || news[2] ? corrected_turn(s, unit, predicted, news, row.refined, vector)
											   : predicted;
	for (int k = 0; k < 3; ++k)
	{
		int64_t& rate = s.rates[unit.first + k];
		rate = clamped(followed(model, rate, vector[k], s.age[u]), FASTEST_TURN);
	}
}

void advance_values(const Model& model, State& s, const Unit& unit, size_t u, const Row& row)
{
	for (int k = 0; k < unit.count; ++k)
	{
		size_t n = size_t(unit.first + k);
		int64_t surprise = clamped(int64_t(row.news[n]) * step_of(s, n, row.refined), LARGEST);
		s.values[n] = clamped(s.values[n] + s.rates[n] + surprise, LARGEST);
		s.rates[n] = clamped(followed(model, s.rates[n], surprise, s.age[u]), LARGEST);
	}
}

void restart_unit(State& s, const Unit& unit, size_t u, const Row& row)
{
	if (unit.kind == TURN)
		s.turns[u] = told_turn(s, unit, row.news + unit.first, row.largest[u], row.refined);
	int64_t most = unit.kind == TURN ? FASTEST_TURN : LARGEST;
	for (int k = 0; k < unit.count; ++k)
	{
		size_t n = size_t(unit.first + k);
		int64_t step = step_of(s, n, 0);
		if (unit.kind != TURN)
			s.values[n] = clamped(int64_t(row.news[n]) * step_of(s, n, row.refined), LARGEST);
		s.rates[n] = clamped(int64_t(row.rates[n]) * step / RATE_PARTS, most);
		s.signs[n] = 0;
	}
	s.age[u] = 15;
	s.history[u] = 0;
}

} // namespace

void clear_state(const Model& model, State& s)
{
	for (size_t u = 0; u < model.unit_count; ++u)
		s.turns[u] = {0, 0, 0, ONE}, s.age[u] = 15, s.history[u] = 0;
	memset(s.values, 0, model.number_count * sizeof(int64_t));
	memset(s.rates, 0, model.number_count * sizeof(int64_t));
	memset(s.signs, 0, model.number_count);
	steps_of(model, model.bound, 0, s.steps);
}

FixedQuat told_turn(const State& s, const Unit& unit, const int32_t* numbers, int largest, int refined)
{
	int64_t step = intra_step(unit, s, refined), parts[3];
	for (int k = 0; k < 3; ++k)
		parts[k] = clamped(numbers[k] * step, ONE);
	FixedQuat q = with_vector(parts[0], parts[1], parts[2]); // the largest stands in w
	if (largest != LARGEST_INDEX)
	{
		int64_t* at[4] = {&q.x, &q.y, &q.z, &q.w};
		int64_t other = *at[largest];
		*at[largest] = q.w;
		q.w = other;
	}
	return live::unit(unit.anchor < 0 ? q : multiply(s.turns[unit.anchor], q));
}

void advance(const Model& model, State& s, const Row& row)
{
	for (size_t u = 0; u < model.unit_count; ++u)
	{
		const Unit& unit = model.units[u];
		if (row.intra)
			restart_unit(s, unit, u, row);
		else
		{
			if (unit.kind == TURN)
				advance_turn(model, s, unit, u, row);
			else
				advance_values(model, s, unit, u, row);
			remember(s, unit, u, row.news + unit.first);
		}
	}
}

uint32_t checksum_of(const Model& model, const State& s)
{
	uint32_t sum = 0;
	for (size_t u = 0; u < model.unit_count; ++u)
		if (model.units[u].kind == TURN)
			sum = crc32(sum, reinterpret_cast<const uint8_t*>(s.turns + u), sizeof(FixedQuat));
		else
			sum = crc32(sum, reinterpret_cast<const uint8_t*>(s.values + model.units[u].first),
						model.units[u].count * sizeof(int64_t));
	return crc32(sum, reinterpret_cast<const uint8_t*>(s.rates), model.number_count * sizeof(int64_t));
}

Quat hinge_turn(const Body& body, const Unit& unit, const int64_t* values)
{
	Quat turn = body.rest;
	for (int k = 0; k < unit.count; ++k)
		turn = multiply(turn, turn_about(unit.axes[k], double(values[k]) / ANGLE_SCALE));
	return turn;
}

Vec3 place_of(const Unit& unit, const int64_t* values)
{
	Vec3 at = unit.base;
	for (int k = 0; k < unit.count; ++k)
		at = at + (double(values[k]) / LENGTH_SCALE) * unit.axes[k];
	return at;
}

void pose_of(const Model& model, const State& s, Quat* worlds, double* rotations, double* translations)
{
	for (size_t j = 0; j < model.joint_count; ++j)
	{
		Quat local = {0, 0, 0, 1};
		if (model.moves[j])
		{
			int32_t b = model.body_of[j];
			const Body& body = model.bodies[b];
			Quat base = body.parent < 0 ? Quat{0, 0, 0, 1} : worlds[body.parent];
			if (body.place >= 0)
			{
				const Unit& unit = model.units[body.place];
				store(translations + 3 * unit.column, place_of(unit, s.values + unit.first));
			}
			worlds[b] = base;
			if (body.turn >= 0)
			{
				const Unit& unit = model.units[body.turn];
				if (unit.kind == TURN)
				{
					worlds[b] = as_quat(s.turns[body.turn]);
					local = multiply(conjugate(base), worlds[b]);
				}
				else
				{
					local = hinge_turn(body, unit, s.values + unit.first);
					worlds[b] = multiply(base, local);
				}
			}
		}
		store(rotations + 4 * j, local);
	}
}

} // namespace live
} // namespace mocpack
