#include "live/extrapolation.h"
#include "math/elementary.h"

#include <cmath>
#include <cstring>

namespace mocpack
{
namespace live
{

namespace
{

const int MAX_LOOK_BACK_FRAMES = 12; // frames back
const double MAX_SPEED_M_PER_S = 30; // faster motion counts as a jump

const FixedQuat* rotations_at(const Model& model, const PoseHistory& history, int64_t back)
{
	return history.rotations + size_t(history.count - 1 - back) % HISTORY_FRAMES * model.unit_count;
}

const int64_t* values_at(const Model& model, const PoseHistory& history, int64_t back)
{
	return history.values + size_t(history.count - 1 - back) % HISTORY_FRAMES * model.number_count;
}

bool has_jumped(const Model& model, const State& s, const PoseHistory& history)
{
	const double most = MAX_SPEED_M_PER_S * model.frame_time * s.mode.frame_step * LENGTH_SCALE;
	const int64_t* before = values_at(model, history, 0);
	for (size_t u = 0; u < model.unit_count; ++u)
		for (int k = 0; model.units[u].kind == TRANSLATION && k < model.units[u].count; ++k)
		{
			size_t n = size_t(model.units[u].first + k);
			if (std::fabs(double(s.values[n] - before[n])) > most)
				return true;
		}
	return false;
}

// Returns `rotation` followed by `share` times the rotation `way`.
FixedQuat rotate_further(FixedQuat rotation, FixedQuat way, double share)
{
	double sign = way.w < 0 ? -1 : 1, x = sign * double(way.x), y = sign * double(way.y),
		   z = sign * double(way.z), size = std::sqrt(x * x + y * y + z * z);
	if (size < 1)
		return rotation;
	double half = share * math::atan2(size, sign * double(way.w)), s = math::sin(half) * double(ONE) / size;
	FixedQuat more = {int64_t(s * x), int64_t(s * y), int64_t(s * z), int64_t(math::cos(half) * double(ONE))};
	return live::normalize(multiply(rotation, more));
}

} // namespace

void append_to_history(const Model& model, const State& s, PoseHistory& history)
{
	bool follows = history.count && s.number == history.number + 1 && s.mode.frame_step == history.frame_step;
	bool put = follows && has_jumped(model, s, history);
	if (!follows || put)
		history.count = 0, history.jumped = put;
	++history.count;
	history.number = s.number;
	history.frame_step = s.mode.frame_step;
	size_t at = size_t(history.count - 1) % HISTORY_FRAMES;
	memcpy(history.rotations + at * model.unit_count, s.rotations, model.unit_count * sizeof(FixedQuat));
	memcpy(history.values + at * model.number_count, s.values, model.number_count * sizeof(int64_t));
}

bool extrapolate(const Model& model, const State& s, const PoseHistory& history, int ahead, State& predicted)
{
	int64_t look = 2 * ahead + 2;
	if (history.count < 1)
		return false;
	look = look < MAX_LOOK_BACK_FRAMES ? look : MAX_LOOK_BACK_FRAMES;
	look = look < history.count ? look : history.count - 1;
	const FixedQuat* rotations = rotations_at(model, history, 0);
	const FixedQuat* old_rotations = rotations_at(model, history, look);
	const int64_t *values = values_at(model, history, 0), *old = values_at(model, history, look);
	// with a single frame there is only the velocity of the state
	double share = look ? double(ahead) / double(look) : history.jumped ? 0 : ahead;
	for (size_t u = 0; u < model.unit_count; ++u)
		if (model.units[u].kind == ROTATION)
		{
			const int64_t* r = s.velocities + model.units[u].first;
			FixedQuat way = look ? multiply(conjugate(old_rotations[u]), rotations[u])
								 : from_vector_part(r[0], r[1], r[2]);
			predicted.rotations[u] = rotate_further(rotations[u], way, share);
		}
	for (size_t n = 0; n < model.number_count; ++n)
		predicted.values[n] = clamp(
			values[n] + int64_t(share * double(look ? values[n] - old[n] : s.velocities[n])), MAX_VALUE);
	return true;
}

} // namespace live
} // namespace mocpack
