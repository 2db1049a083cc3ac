// How hard the encoder searches, and what bits and errors cost it, for each kind of target.
#include "keysine/encode/settings.h"

#include <algorithm>
#include <cmath>

#include "keysine/decode/plan.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Interpolates between two values, linearly in the logarithm of the step.
double interpolate(double step, const double (&steps)[2], const double (&values)[2])
{
	const double low = std::log(steps[0]), high = std::log(steps[1]);
	const double share = std::min(std::max((std::log(step) - low) / (high - low), 0.0), 1.0);
	return values[0] + share * (values[1] - values[0]);
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
	s.origin_falloff = c.origin_falloff;
	s.shell_factor = 1.0;
	s.key_share = c.key_share;
	s.room = TYPICAL_RESIDUAL;
	s.turn_price = c.turn_price;
	s.angle_price = 1.0;
	s.max_angle = c.angle_share * max_angle;
	s.world_angle = strictness.world_share * max_angle;
	s.excess_penalty = float(c.excess_penalty);
	// an even error is worth more, the tighter the bound
	s.quartic_penalty =
		float(c.quartic_penalty * std::pow(std::min(1.0, c.quartic_bound / bound), c.quartic_exponent) *
			  (hinged ? c.hinge_quartic : 1.0));
	s.rounding = float(hinged ? c.hinge_rounding : c.rounding);
	s.jitter_penalty = float(jitter_factor * c.jitter_penalty);
	s.jitter_from = float(std::min(1.0, 2 * c.jitter_hertz / task.clip.frame_rate));
	s.sweeps = int32_t(c.sweeps[effort]);
	s.repairs = int32_t(c.repairs);
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
	mocpack_KeysineSettings s = bounded_settings(task, effort, task.target.max_error, 1.0, USUAL_STRICTNESS);
	s.origin_share = c.grid_origin_share;
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
	// origins weigh by their descendants, bone ends a third
	s.bound = std::sqrt(3.0) * step;
	s.origin_share = std::sqrt(1.0 / 3.0);
	s.origin_falloff = c.free_falloff;
	s.shell_factor = interpolate(step, c.free_steps, c.free_shells);
	s.key_share = 0;
	s.key_price = interpolate(step, c.free_steps, c.free_key_prices);
	s.turn_price = interpolate(step, c.free_steps, c.free_turn_prices);
	s.excess_penalty = s.quartic_penalty = 0;
	s.squared_penalty = float(interpolate(step, c.free_steps, c.free_penalties));
	s.rounding = float(interpolate(step, c.free_steps, c.free_roundings));
	s.repairs = 0;
	s.sweeps = searches ? std::max(s.sweeps, int32_t(c.free_sweeps)) : 0;
	s.greedy = !searches;
	s.exhaustive = s.split_tries > 0; // sketches without a bound tell little
	s.coarsest_step = int32_t(c.free_range[0]), s.finest_step = int32_t(c.free_range[1]);
	s.max_angle = s.world_angle = 0;
	return s;
}

int32_t free_key_step(const EncodeTask& task, double step)
{
	// the step's half where it is fine; four times the step, the keys' is half as large beside it
	const double finer = std::nearbyint(0.5 * std::log2(step / task.constants.free_key_unit));
	return UNIT_STEP + 2 + int32_t(std::min(std::max(finer, 0.0), 3.0));
}

double usual_block_seconds(const EncodeTask& task, double step)
{
	const Constants& c = task.constants;
	return step > c.loose_bound ? 1.0 : step > c.tight_bound ? 0.5 : 0.25;
}

} // namespace keysine
} // namespace mocpack
