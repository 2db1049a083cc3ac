// Sets how long the encoder searches, and the prices of bits and errors, for each kind of target.
#include "keysine/encode/settings.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/artifacts.h"
#include "keysine/format/plan.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

double decoder_margin(double bound)
{
	return std::min(DECODER_MARGIN, 0.02 * bound);
}

double allowance_within(const Constants& c, double bound)
{
	return bound - std::max(c.rounding_margin * bound, decoder_margin(bound));
}

SearchSettings bounded_settings(const EncodeTask& task, int effort, double bound, double jitter_factor,
								Strictness strictness)
{
	const Constants& c = task.constants;
	const bool hinged = task.is_hinged();
	const double max_angle = task.target.max_angle;
	SearchSettings s = {};
	s.bound = allowance_within(c, bound);
	s.origin_share = 1.0;
	s.max_origin_share = c.max_origin_share;
	s.origin_falloff = c.origin_falloff;
	s.shell_factor = 1.0;
	s.key_share = c.key_share;
	s.room = TYPICAL_RESIDUAL;
	s.turn_price = c.turn_price;
	s.angle_price = 1.0;
	s.max_angle = (1 - c.rounding_margin) * max_angle;
	s.world_angle = strictness.world_share * task.joint_bounds.least_angle(max_angle);
	s.excess_penalty = float(c.excess_penalty);
	// the tighter the bound, the more it pays to distribute errors evenly
	s.quartic_penalty =
		float(c.quartic_penalty * math::pow(std::min(1.0, c.quartic_bound / bound), c.quartic_exponent) *
			  (hinged ? c.hinge_quartic : 1.0));
	s.rounding = float(hinged ? c.hinge_rounding : c.rounding);
	s.jitter_penalty = float(jitter_factor * c.jitter_penalty);
	s.jitter_from = float(std::min(1.0, 2 * JITTER_HERTZ / task.clip.frame_rate));
	s.sweeps = effort * int32_t(c.sweeps);
	s.repairs = int32_t(c.repairs);
	// each effort tries one more coarser step and two more finer steps than the one below
	s.coarsest_step = int32_t(c.first_step) - effort;
	s.finest_step = int32_t(c.first_step) + 2 * effort;
	s.greedy = 1;
	s.split_tries = effort ? int32_t(c.split_tries) : 0;
	s.split_cost = task.target.layers > 1 ? c.layer_split_cost : 0;
	s.weight_tries = effort ? int32_t(c.weight_tries[effort - 1]) : 0;
	s.thorough = effort == MOCPACK_KEYSINE_BEST;
	// if groups have few bytes or hinges, sketches do not show how to split them best
	const bool sketches_tell = bound <= c.loose_bound && !hinged;
	s.exhaustive = s.thorough || (!sketches_tell && s.split_tries > 0);
	s.beam_width = 1;
	return s;
}

SearchSettings grid_settings(const EncodeTask& task)
{
	const Constants& c = task.constants;
	const int effort = task.target.effort;
	SearchSettings s = bounded_settings(task, effort, task.target.max_error, 1.0, USUAL_STRICTNESS);
	s.beam_width = int32_t(c.beam_width * math::pow(c.beam_growth, effort));
	s.grid_error_penalty = c.grid_error_penalty;
	return s;
}

SearchSettings free_settings(const EncodeTask& task, int effort, double step)
{
	const Constants& c = task.constants;
	SearchSettings s = bounded_settings(task, effort, step, 1.0, USUAL_STRICTNESS);
	const bool searches = s.sweeps > 0;
	// the weight of an origin grows with its descendants; bone ends have less weight
	s.bound = std::sqrt(c.free_origin_weight) * step;
	s.origin_share = std::sqrt(1 / c.free_origin_weight);
	s.origin_falloff = c.free_falloff;
	s.shell_factor = c.free_shell;
	s.key_share = 0;
	s.key_price = c.free_key_price;
	s.excess_penalty = s.quartic_penalty = 0;
	s.squared_penalty = float(c.free_penalty);
	s.rounding = float(c.free_rounding);
	s.repairs = 0;
	s.sweeps *= 2; // without repair, more descent pays off
	s.greedy = !searches;
	s.exhaustive = s.split_tries > 0; // without a bound, sketches say little
	s.coarsest_step = int32_t(c.free_range[0]), s.finest_step = int32_t(c.free_range[1]);
	s.max_angle = s.world_angle = 0;
	return s;
}

int32_t free_key_step(const EncodeTask& task, double step)
{
	// half of the step up to free_key_unit; above, one index (half an octave) finer per factor of four
	const double finer = std::nearbyint(0.5 * math::log2(step / task.constants.free_key_unit));
	return UNIT_STEP + 2 + int32_t(std::min(std::max(finer, 0.0), 3.0));
}

double usual_block_seconds(const EncodeTask& task, double step)
{
	const Constants& c = task.constants;
	return step > c.loose_bound ? 1.0 : step > c.tight_bound ? 0.5 : 0.25;
}

} // namespace keysine
} // namespace mocpack
