// Encodes a clip within a bound, without artifacts if possible.
#include "keysine/encode/bounded.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/payload_writer.h"
#include "keysine/encode/predictors.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

double Encoding::cost() const
{
	const double worst = std::max(1.0, artifacts.worst());
	return double(payload.size()) * worst * worst;
}

bool BoundedEncoder::fits_grid() const
{
	const mocpack_Skeleton& s = task_.skeleton;
	return 4 * s.joint_count + 3 * s.translated_count <= MOCPACK_KEYSINE_MAX_GRID_CHANNELS;
}

bool BoundedEncoder::run(Encoding* best)
{
	const ClipTarget& target = task_.target;
	const bool grid_alone = target.mode == MOCPACK_KEYSINE_GRID;
	if (grid_alone && !fits_grid())
		return task_.stop(MOCPACK_UNSUPPORTED);
	const bool grid_may_pay = target.max_error <= c_.grid_bound && target.effort != MOCPACK_KEYSINE_FAST &&
							  target.layers == 1 && target.mode == MOCPACK_KEYSINE_AUTO && fits_grid();
	const bool on_grid = grid_alone || grid_may_pay;
	task_.progress.expect(double(!grid_alone) + on_grid);
	Predictors predictors;
	if (!grid_alone)
	{
		ClipPlan plan;
		const double bound = target.max_error;
		if (target.effort != MOCPACK_KEYSINE_FAST &&
			(!statistics_.make_plan(&task_, bound, UNIT_STEP, int(c_.axes_precision), &plan) ||
			 !find_predictors(&task_, plan,
							  bounded_settings(task_, MOCPACK_KEYSINE_FAST, bound, 1.0, USUAL_STRICTNESS),
							  bound, &predictors)))
			return false;
		encode_transform(&predictors, USUAL_STRICTNESS, int(c_.max_encodes), best);
		if (!best->found() && (predictors.count || statistics_.shares_references()))
		{
			statistics_.forbid_sharing();
			encode_transform(nullptr, USUAL_STRICTNESS, int(c_.max_encodes), best);
		}
	}
	const bool failed = !grid_alone && !best->found();
	Encoding grid;
	if (on_grid)
		encode_first(GRID, int(c_.max_encodes), &grid);
	if (!best->found() && !grid.found() && !grid_alone)
		encode_strictly(on_grid, best);
	// only the cheaper mode is encoded again to remove artifacts
	if (grid.found() && (!best->found() || grid.cost() < best->cost()))
		std::swap(*best, grid);
	remove_artifacts(best);
	if (grid.found() && grid.cost() < best->cost())
		*best = std::move(grid);
	best->transform_failed = failed;
	return !task_.stopped();
}

void BoundedEncoder::encode_transform(const Predictors* predictors, Strictness strictness, int levels,
									  Encoding* encoding)
{
	predictors_ = predictors, strictness_ = strictness;
	encode_first(TRANSFORM, levels, encoding);
}

/* Encodes a clip with stricter settings, after the usual ones have failed. Each setting is stricter than the
 * one before and makes larger files, so the search ends at the first success. A grid in time competes with
 * the first setting, unless it has failed already. Effort `fast` and loose bounds do not try a grid
 * otherwise. */
void BoundedEncoder::encode_strictly(bool grid_failed, Encoding* best)
{
	Encoding grid;
	if (!grid_failed && task_.target.mode == MOCPACK_KEYSINE_AUTO && fits_grid())
		encode_first(GRID, int(c_.max_encodes), &grid);
	const bool by_angle = task_.joint_bounds.least_angle(task_.target.max_angle) > 0;
	for (int i = 0; i < int(c_.strict_levels) && !task_.stopped(); ++i)
	{
		// with a bound on angles, the first attempt limits only rotations in the world
		const double share = math::pow(c_.strict_ratio, by_angle ? i : i + 1);
		encode_transform(nullptr, {share, by_angle ? c_.strict_world_share : 0}, 1, best);
		if (grid.found() && (!best->found() || grid.cost() <= best->cost()))
			*best = std::move(grid);
		if (best->found())
			return;
	}
}

// Makes up to `levels` attempts until one keeps the bound. Each aims at a smaller share of the bound than the
// one before, or uses a finer grid.
void BoundedEncoder::encode_first(Method method, int levels, Encoding* encoding)
{
	RetryPolicy policy;
	while (!attempt(method, policy, encoding) && ++policy.level < levels && !task_.stopped())
		++policy.grid_level;
}

// Repeats an encoding that has artifacts. Takes the first result without any, otherwise the result of least
// cost.
void BoundedEncoder::remove_artifacts(Encoding* best)
{
	const Method method = best->is_grid ? GRID : TRANSFORM;
	RetryPolicy policy;
	const Artifacts* seen = &best->artifacts;
	Encoding candidates[2];
	for (int tried = 1; retries_ && best->found() && seen->worst() > 1 && tried < int(c_.max_encodes);
		 ++tried)
	{
		Encoding& now = candidates[tried % 2];
		if (!next_policy(&task_, tried, *seen, &policy) || !attempt(method, policy, &now))
			return;
		const bool is_better = now.artifacts.worst() <= 1 || now.cost() < best->cost();
		if (is_better)
			std::swap(*best, now);
		seen = is_better ? &best->artifacts : &now.artifacts;
	}
}

// Encodes with a policy and measures the result. Returns false if the search finds nothing within the bound.
bool BoundedEncoder::attempt(Method method, const RetryPolicy& policy, Encoding* encoding)
{
	const ClipTarget& target = task_.target;
	Draft draft;
	task_.progress.begin(1);
	bool good = method == GRID ? draft_grid(policy, &draft) : draft_transform(policy, &draft);
	good = good && write_and_decode(&task_, draft, encoding);
	task_.progress.end();
	good = good && keeps_bounds(&task_, encoding->decoded) &&
		   (target.effort == MOCPACK_KEYSINE_FAST ||
			meter_.measure(&task_, encoding->decoded, &encoding->artifacts));
	if (good && !task_.stopped())
		return true;
	*encoding = Encoding();
	return false;
}

const double* BoundedEncoder::shares_of(const RetryPolicy& policy) const
{
	return policy.shares.size() ? policy.shares.data() : task_.joint_bounds.shares();
}

bool BoundedEncoder::draft_transform(const RetryPolicy& policy, Draft* draft)
{
	const double bound =
		math::pow(c_.bound_ratio, policy.level) * strictness_.bound_share * task_.target.max_error;
	ClipPlan plan;
	DraftRequest request = {
		task_.motion,
		&plan,
		bounded_settings(task_, task_.target.effort, bound, policy.jitter_ratio, strictness_),
		{},
		predictors_,
		shares_of(policy),
		false,
		false};
	return statistics_.make_plan(&task_, bound, UNIT_STEP, int(c_.axes_precision), &plan) &&
		   cut_for(&task_, task_.motion, bound, &request.settings, &request.groups) &&
		   make_draft_of_few_keys(&task_, request, draft);
}

// Makes a draft on a grid in time. Each grid level is finer, which also reduces jitter.
bool BoundedEncoder::draft_grid(const RetryPolicy& policy, Draft* draft)
{
	ClipPlan plan;
	const double step = c_.grid_step * math::pow(c_.grid_step_ratio, policy.grid_level);
	DraftRequest request = {task_.motion, &plan, grid_settings(task_), {}, nullptr, shares_of(policy),
							true,		  false};
	return statistics_.make_plan(&task_, step * task_.target.max_error, UNIT_STEP, AXES_BITS, &plan) &&
		   cut_motion(&task_, task_.motion, MOCPACK_KEYSINE_MAX_BLOCK_FRAMES, &request.groups) &&
		   make_draft(&task_, request, draft);
}

bool write_and_decode(EncodeTask* task, const Draft& draft, Encoding* encoding)
{
	WrittenPayload own;
	encoding->is_grid = draft.is_grid;
	return write_draft(task, draft, &encoding->payload) &&
		   own.open(task, encoding->payload.data(), encoding->payload.size()) &&
		   own.decode(task, 0, draft.groups.count, 1, &encoding->decoded);
}

bool make_draft_of_few_keys(EncodeTask* task, DraftRequest request, Draft* draft, Observation* seen)
{
	const int32_t most = request.groups.splits;
	if (!request.settings.split_tries)
		request.groups.splits = request.settings.splits;
	if (make_draft(task, request, draft, seen))
		return true;
	if (request.groups.splits == most || task->stopped())
		return false;
	request.groups.splits = most;
	return make_draft(task, request, draft, seen);
}

bool cut_for(EncodeTask* task, const Motion& motion, double size, SearchSettings* settings, Groups* groups)
{
	if (!cut_motion(task, motion, MOCPACK_KEYSINE_MAX_GROUP_FRAMES, groups))
		return false;
	const double seconds = task->target.block_seconds;
	settings->splits = groups->splits_for(seconds > 0 ? seconds : usual_block_seconds(*task, size));
	if (seconds > 0)
		settings->split_tries = 0;
	return true;
}

bool find_predictors(EncodeTask* task, const ClipPlan& plan, SearchSettings settings, double size,
					 Predictors* predictors)
{
	const Constants& c = task->constants;
	const mocpack_Skeleton& s = task->skeleton;
	const size_t whole = task->motion.frames, sample = size_t(c.sample_frames);
	Motion part = task->motion;
	Buffer<double> angles;
	if (task->target.effort != MOCPACK_KEYSINE_BEST && whole > sample)
	{
		const size_t start = (whole - sample) / 2;
		part.rotations += 4 * s.joint_count * start, part.translations += 3 * s.translated_count * start;
		part.frames = sample;
		if (!unwrapped_angles(task, part.rotations, part.translations, sample, &angles))
			return false;
		part.angles = angles.data();
	}
	DraftRequest request = {part, &plan, settings, {}, nullptr, task->joint_bounds.shares(), false, true};
	Observation seen;
	Draft draft;
	const double repeats = double(whole) / double(part.frames);
	predictors->count = 0;
	if (!cut_for(task, part, size, &request.settings, &request.groups))
		return false;
	task->progress.begin(0); // 0 units: it takes little time compared with the search itself
	if (make_draft_of_few_keys(task, request, &draft, &seen))
		choose_predictors(task, seen, part.frames, repeats, predictors);
	task->progress.end();
	return !task->stopped();
}

} // namespace keysine
} // namespace mocpack
