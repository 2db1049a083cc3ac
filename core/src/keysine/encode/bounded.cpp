// Encodings within a bound, without artifacts where that is possible.
#include "keysine/encode/bounded.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/payload_writer.h"
#include "keysine/encode/predictors.h"

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
	const mocpack_KeysineTarget& target = task_.target;
	const bool grid_alone = target.mode == MOCPACK_KEYSINE_GRID;
	if (grid_alone && !fits_grid())
		return task_.stop(MOCPACK_UNSUPPORTED);
	const bool grid_may_pay = target.max_error <= c_.grid_bound && target.effort != MOCPACK_KEYSINE_FAST &&
							  target.layers == 1 && target.mode == MOCPACK_KEYSINE_AUTO && fits_grid();
	const bool on_grid = grid_alone || grid_may_pay;
	task_.progress.expect(double(!grid_alone) + on_grid);
	if (!grid_alone)
	{
		Predictors predictors;
		ClipPlan plan;
		const double bound = target.max_error;
		if (target.effort != MOCPACK_KEYSINE_FAST &&
			(!statistics_.make_plan(&task_, bound, UNIT_STEP, int(c_.axes_precision), &plan) ||
			 !find_predictors(&task_, plan,
							  bounded_settings(task_, MOCPACK_KEYSINE_FAST, bound, 1.0, USUAL_STRICTNESS),
							  bound, &predictors)))
			return false;
		encode_transform(&predictors, USUAL_STRICTNESS, int(c_.max_retries), best);
		if (!best->found() && predictors.count)
			encode_transform(nullptr, USUAL_STRICTNESS, int(c_.max_retries), best);
	}
	const bool failed = !grid_alone && !best->found();
	if (on_grid)
		encode_grid(best);
	if (!best->found() && !grid_alone)
		encode_strictly(on_grid, best);
	best->transform_failed = failed;
	return !task_.stopped();
}

void BoundedEncoder::encode_transform(const Predictors* predictors, Strictness strictness, int levels,
									  Encoding* best)
{
	predictors_ = predictors, strictness_ = strictness;
	encode_without_artifacts(TRANSFORM, levels, best);
}

// Keeps the cheaper of the best so far and a grid in time.
void BoundedEncoder::encode_grid(Encoding* best)
{
	Encoding grid;
	encode_without_artifacts(GRID, int(c_.max_retries), &grid);
	if (grid.found() && (!best->found() || grid.cost() < best->cost()))
		*best = std::move(grid);
}

/* What stricter settings find, for clips that the usual ones cannot encode. Each setting is stricter, and its
 * files are larger, than the one before: the first that succeeds is the last to be tried. A grid in time,
 * which effort `fast` and loose bounds do not try otherwise, competes with the first. */
void BoundedEncoder::encode_strictly(bool grid_failed, Encoding* best)
{
	Encoding grid;
	if (!grid_failed && task_.target.mode == MOCPACK_KEYSINE_AUTO && fits_grid())
		encode_grid(&grid);
	const bool by_angle = task_.target.max_angle > 0;
	for (int i = 0; i < int(c_.strict_levels) && !task_.stopped(); ++i)
	{
		// a limit of rotations in the world may do by itself
		const double share = std::pow(c_.strict_ratio, by_angle ? i : i + 1);
		encode_transform(nullptr, {share, by_angle ? c_.strict_world_share : 0}, 1, best);
		if (grid.found() && (!best->found() || grid.cost() <= best->cost()))
			*best = std::move(grid);
		if (best->found())
			return;
	}
}

// The first encoding without visible artifacts, else the one of least cost. Up to `levels` shares of the
// bound are aimed at until the bound is kept.
void BoundedEncoder::encode_without_artifacts(Method method, int levels, Encoding* best)
{
	RetryPolicy start;
	Artifacts first;
	while (!attempt(method, start, best))
		if (++start.level >= levels || task_.stopped())
			return;
	if (!retries_ || best->artifacts.worst() <= 1 ||
		!task_.copy(&first.skates, best->artifacts.skates.data(), best->artifacts.skates.size()))
		return;
	first.jitter = best->artifacts.jitter;
	for (const bool by_cause : {true, false})
	{
		RetryPolicy policy;
		Artifacts seen;
		policy.level = start.level;
		seen.jitter = first.jitter;
		if (!task_.copy(&seen.skates, first.skates.data(), first.skates.size()))
			return;
		for (int tried = 0; tried < int(c_.max_retries); ++tried)
		{
			Encoding made;
			if (!next_policy(&task_, by_cause, seen, &policy) || !attempt(method, policy, &made))
				break;
			const bool is_clean = made.artifacts.worst() <= 1;
			seen.jitter = made.artifacts.jitter;
			if (!task_.copy(&seen.skates, made.artifacts.skates.data(), made.artifacts.skates.size()))
				return;
			if (is_clean || made.cost() < best->cost())
				*best = std::move(made);
			if (is_clean || task_.stopped())
				return;
		}
	}
}

// Encodes by a policy and measures; false where the search finds nothing within the bound.
bool BoundedEncoder::attempt(Method method, const RetryPolicy& policy, Encoding* made)
{
	const mocpack_KeysineTarget& target = task_.target;
	const double limit = target.max_error - std::min(c_.decoder_margin, 0.01 * target.max_error);
	Draft own;
	const Draft* draft = &own;
	task_.progress.begin(1);
	bool good = method == GRID ? (draft = draft_grid(policy)) != nullptr : draft_transform(policy, &own);
	good = good && write_and_decode(&task_, *draft, made);
	task_.progress.end();
	good = good && largest_error(&task_, 0, made->decoded) <= limit &&
		   (!(target.max_angle > 0) || largest_angle(&task_, made->decoded) <= target.max_angle) &&
		   (target.effort == MOCPACK_KEYSINE_FAST || meter_.measure(&task_, made->decoded, &made->artifacts));
	if (good && !task_.stopped())
		return true;
	*made = Encoding();
	return false;
}

bool BoundedEncoder::draft_transform(const RetryPolicy& policy, Draft* draft)
{
	const double jitter = std::pow(c_.jitter_ratio, std::min(policy.jitter_level, int(c_.jitter_levels) - 1));
	const double bound =
		std::pow(c_.bound_ratio, policy.level) * strictness_.bound_share * task_.target.max_error;
	ClipPlan plan;
	DraftRequest request = {
		task_.motion, &plan,	   bounded_settings(task_, task_.target.effort, bound, jitter, strictness_),
		{},			  predictors_, policy.shares.data(),
		false,		  false};
	return statistics_.make_plan(&task_, bound, UNIT_STEP, int(c_.axes_precision), &plan) &&
		   cut_for(&task_, task_.motion, bound, &request.settings, &request.groups) &&
		   make_draft_of_few_keys(&task_, request, draft);
}

// A finer grid is what helps against jitter, too: so that several policies are one try.
const Draft* BoundedEncoder::draft_grid(const RetryPolicy& policy)
{
	const int finer = std::max(policy.level, policy.jitter_level);
	const double *shares = policy.shares.data(), *end = shares + policy.shares.size();
	for (size_t i = 0; i < grid_count_; ++i)
		if (grids_[i].finer == finer && grids_[i].shares.size() == policy.shares.size() &&
			std::equal(shares, end, grids_[i].shares.data()))
			return grids_[i].found ? &grids_[i].draft : nullptr;
	if (grid_count_ == MAX_GRIDS)
		return nullptr;
	GridTry& made = grids_[grid_count_++];
	made.finer = finer;
	ClipPlan plan;
	DraftRequest request = {task_.motion, &plan, grid_settings(task_), {}, nullptr, shares, true, false};
	made.found = task_.copy(&made.shares, shares, policy.shares.size()) &&
				 statistics_.make_plan(
					 &task_, c_.grid_step * std::pow(c_.grid_step_ratio, finer) * task_.target.max_error,
					 UNIT_STEP, AXES_BITS, &plan) &&
				 cut_motion(&task_, task_.motion, MOCPACK_KEYSINE_MAX_BLOCK_FRAMES, &request.groups) &&
				 make_draft(&task_, request, &made.draft);
	return made.found ? &made.draft : nullptr;
}

bool write_and_decode(EncodeTask* task, const Draft& draft, Encoding* made)
{
	OwnPayload own;
	made->is_grid = draft.is_grid;
	return write_draft(task, draft, &made->payload) &&
		   own.open(task, made->payload.data(), made->payload.size()) &&
		   own.decode(task, 0, draft.groups.count, 1, nullptr, &made->decoded);
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

bool cut_for(EncodeTask* task, const Motion& motion, double size, mocpack_KeysineSettings* settings,
			 Groups* groups)
{
	if (!cut_motion(task, motion, MOCPACK_KEYSINE_MAX_GROUP_FRAMES, groups))
		return false;
	const double seconds = task->target.block_seconds;
	settings->splits = groups->splits_for(seconds > 0 ? seconds : usual_block_seconds(*task, size));
	if (seconds > 0)
		settings->split_tries = 0;
	return true;
}

bool find_predictors(EncodeTask* task, const ClipPlan& plan, mocpack_KeysineSettings settings, double size,
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
	DraftRequest request = {part, &plan, settings, {}, nullptr, nullptr, false, true};
	Observation seen;
	Draft draft;
	const double repeats = double(whole) / double(part.frames);
	predictors->count = 0;
	if (!cut_for(task, part, size, &request.settings, &request.groups))
		return false;
	task->progress.begin(0); // little beside the rest, and no more for long clips
	if (make_draft_of_few_keys(task, request, &draft, &seen))
		choose_predictors(task, seen, part.frames, repeats, predictors);
	task->progress.end();
	return !task->stopped();
}

} // namespace keysine
} // namespace mocpack
