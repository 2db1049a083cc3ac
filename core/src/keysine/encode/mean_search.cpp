// Encodes with a plain step, and searches for the step whose mean error keeps a bound.
#include "keysine/encode/mean_search.h"
#include "math/elementary.h"

#include <algorithm>
#include <cmath>

namespace mocpack
{
namespace keysine
{

namespace
{

// A step in meters and its mean error.
struct Known
{
	double step, error;
};

bool free_plan(EncodeTask* task, ClipStatistics* statistics, double step, ClipPlan* plan)
{
	return statistics->make_plan(task, step, free_key_step(*task, step), int(task->constants.axes_precision),
								 plan);
}

bool free_predictors(EncodeTask* task, ClipStatistics* statistics, double step, Predictors* predictors)
{
	ClipPlan plan;
	predictors->count = 0;
	if (task->target.effort == MOCPACK_KEYSINE_FAST)
		return true;
	return free_plan(task, statistics, step, &plan) &&
		   find_predictors(task, plan, free_settings(*task, MOCPACK_KEYSINE_FAST, step), step, predictors);
}

bool encode_with(EncodeTask* task, ClipStatistics* statistics, double step, const Predictors& predictors,
				 Encoding* encoding)
{
	ClipPlan plan;
	Draft draft;
	DraftRequest request = {task->motion, &plan,	   free_settings(*task, task->target.effort, step),
							{},			  &predictors, nullptr,
							false,		  false};
	return free_plan(task, statistics, step, &plan) &&
		   cut_for(task, task->motion, step, &request.settings, &request.groups) &&
		   make_draft_of_few_keys(task, request, &draft) && write_and_decode(task, draft, encoding);
}

// Returns the step whose error is likely to be `aim`, from a step within the bound and one outside it. A step
// of 0 is unknown.
double next_step(const Constants& c, Known inside, Known outside, double aim)
{
	if (!(inside.step > 0) || !(outside.step > 0))
	{
		const Known known = inside.step > 0 ? inside : outside;
		return known.step * math::pow(aim / known.error, 1 / c.mean_error_exponent);
	}
	const double low = math::log(inside.step), high = math::log(outside.step),
				 least = math::log(inside.error), most = math::log(outside.error);
	const double share = most > least ? (math::log(aim) - least) / (most - least) : 0.5;
	return math::exp(low + std::min(std::max(share, c.bracket_margin), 1 - c.bracket_margin) * (high - low));
}

} // namespace

bool encode_step(EncodeTask* task, ClipStatistics* statistics, double step, Encoding* encoding)
{
	Predictors predictors;
	return free_predictors(task, statistics, step, &predictors) &&
		   encode_with(task, statistics, step, predictors, encoding);
}

/* Estimates the next step by two rules. The mean error grows about as the step to the power of mean_slope.
 * Between a step within the bound and one outside it, log error is about linear in log step. A clip that
 * hardly moves may never come near the bound. There, the search ends at the first coarser step that saves no
 * byte. */
bool encode_within_mean(EncodeTask* task, ClipStatistics* statistics, Encoding* best)
{
	const Constants& c = task->constants;
	const double bound = task->target.mean_error;
	double step = c.mean_step * bound, fitted = 0;
	Known inside = {0, 0},
		  outside = {0, 0}; // the coarsest step that keeps the bound, the finest that does not
	Predictors predictors;
	task->progress.expect(c.mean_work);
	for (int i = 0; i < int(c.mean_tries); ++i)
	{
		if (!(fitted / c.refit_step_ratio <= step && step <= fitted * c.refit_step_ratio))
		{
			if (!free_predictors(task, statistics, step, &predictors))
				return false;
			fitted = step;
		}
		Encoding encoding;
		task->progress.begin(1);
		const bool found = encode_with(task, statistics, step, predictors, &encoding);
		task->progress.end();
		if (!found)
			return false;
		const double error = std::max(clip_errors(task, 0, encoding.decoded).joint_mean, 1e-3 * bound);
		if (error <= bound)
		{
			const bool saved = !best->found() || encoding.payload.size() < best->payload.size();
			if (saved)
				*best = std::move(encoding);
			if (error >= c.mean_accept_share * bound || !(saved || outside.step > 0))
				break;
			inside = {step, error};
		}
		else
			outside = {step, error};
		// errors jump by some percent from step to step, so an outside step must be clearly coarser to be
		// useful
		if (inside.step > 0 && outside.step > 0 && c.mean_accept_share * outside.step < inside.step)
			outside = {0, 0};
		step = next_step(c, inside, outside, 0.5 * (1 + c.mean_accept_share) * bound);
	}
	return best->found();
}

} // namespace keysine
} // namespace mocpack
