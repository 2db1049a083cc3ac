// How hard the encoder searches, and what bits and errors cost it, for each kind of target.
#include "keysine/encode/settings.h"

#include <algorithm>
#include <cmath>

namespace mocpack
{
namespace keysine
{

namespace
{

// Interpolates between values at increasing bounds, linearly in the bound's logarithm.
double interpolate(double bound, const double* bounds, const double* values, size_t count)
{
	const double x = std::log(bound);
	if (x <= std::log(bounds[0]))
		return values[0];
	for (size_t i = 0; i + 1 < count; ++i)
	{
		const double low = std::log(bounds[i]), high = std::log(bounds[i + 1]);
		if (x < high)
			return (values[i + 1] - values[i]) / (high - low) * (x - low) + values[i];
	}
	return values[count - 1];
}

template <size_t N> double interpolate(double bound, const double (&bounds)[N], const double (&values)[N])
{
	return interpolate(bound, bounds, values, N);
}

} // namespace

mocpack_KeysineSettings bounded_settings(const EncodeTask& task, int effort, double bound,
										 double jitter_factor, Strictness strictness)
{
	const Constants& c = task.constants;
	const bool hinged = task.is_hinged();
	const double max_angle = task.target.max_angle;
	mocpack_KeysineSettings s = {};
	// so that rounding stays inside
	s.bound = bound - std::max(5e-4 * bound, std::min(c.decoder_margin, 0.02 * bound));
	s.origin_share = 1.0;
	s.origin_falloff = hinged ? c.hinge_falloff : c.origin_falloff;
	s.shell_factor = 1.0;
	s.key_share = c.key_share;
	s.room = c.room;
	s.turn_price = hinged ? c.hinge_turn_price : c.turn_price;
	s.angle_price = c.angle_price;
	s.max_angle = c.angle_share * max_angle;
	s.world_angle = strictness.world_share * max_angle;
	s.excess_penalty = float(c.excess_penalty);
	s.quartic_penalty = float(interpolate(bound, c.quartic_bounds, c.quartic_penalties) *
							  (hinged ? c.hinge_quartic : 1.0));
	s.rounding = float(hinged ? c.hinge_rounding : c.rounding);
	s.jitter_penalty = float(jitter_factor * c.jitter_penalty);
	s.jitter_from = float(std::min(1.0, 2 * c.jitter_hertz / task.clip.frame_rate));
	s.sweeps = int32_t(c.sweeps[effort]);
	s.repairs = int32_t(c.repairs[effort]);
	s.coarsest_step = int32_t(c.coarsest_step[effort]);
	s.finest_step = int32_t(c.finest_step[effort]);
	s.greedy = 1;
	s.split_tries = int32_t(c.split_tries[effort]);
	s.weight_tries = int32_t(c.weight_tries[effort]);
	// where a group has few bytes, or hinges, sketches do not tell how to split it
	const bool sketches_tell = bound <= c.loose_bound && !hinged;
	s.exhaustive = effort == MOCPACK_KEYSINE_BEST || (!sketches_tell && s.split_tries > 0);
	s.beam_width = 1;
	return s;
}

mocpack_KeysineSettings grid_settings(const EncodeTask& task)
{
	const Constants& c = task.constants;
	const int effort = task.target.effort;
	mocpack_KeysineSettings s =
		bounded_settings(task, effort, task.target.max_error, 1.0, USUAL_STRICTNESS);
	s.origin_share = c.grid_origin_share;
	s.origin_falloff = c.grid_origin_falloff;
	s.thorough = effort == MOCPACK_KEYSINE_BEST;
	s.beam_width = int32_t(c.beam_width[effort]);
	s.grid_error_penalty = c.grid_error_penalty;
	return s;
}

mocpack_KeysineSettings free_settings(const EncodeTask& task, int effort, double step)
{
	const Constants& c = task.constants;
	mocpack_KeysineSettings s = bounded_settings(task, effort, step, 1.0, USUAL_STRICTNESS);
	const bool searches = s.sweeps > 0;
	const double* range = step > c.rough_step ? c.rough_range : c.free_range;
	// origins weigh by their descendants, bone ends a third
	s.bound = std::sqrt(3.0) * step;
	s.origin_share = std::sqrt(1.0 / 3.0);
	s.origin_falloff = c.free_falloff;
	s.shell_factor = interpolate(step, c.free_steps, c.free_shells);
	s.key_share = 0;
	s.key_price = interpolate(step, c.free_steps, c.free_key_prices);
	s.turn_price = interpolate(step, c.free_steps, c.free_turn_prices);
	s.excess_penalty = s.quartic_penalty = 0;
	s.squared_penalty = float(interpolate(step, c.free_penalty_steps, c.free_penalties));
	s.rounding = float(interpolate(step, c.free_steps, c.free_roundings));
	s.repairs = 0;
	s.sweeps = searches ? std::max(s.sweeps, int32_t(c.free_sweeps)) : 0;
	s.greedy = !searches;
	s.exhaustive = s.split_tries > 0; // sketches without a bound tell little
	s.coarsest_step = int32_t(range[0]), s.finest_step = int32_t(range[1]);
	s.max_angle = s.world_angle = 0;
	return s;
}

int32_t free_key_step(const EncodeTask& task, double step)
{
	const Constants& c = task.constants;
	size_t i = 0;
	while (i < 3 && step > c.free_key_limits[i])
		++i;
	return int32_t(c.free_key_steps[i]);
}

double usual_block_seconds(const EncodeTask& task, double step)
{
	const Constants& c = task.constants;
	return step > c.loose_bound ? 1.0 : step > c.tight_bound ? 0.5 : 0.25;
}

} // namespace keysine
} // namespace mocpack
