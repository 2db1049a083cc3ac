// Encodes a clip in one call: arrays and a target in, the bytes of a payload out.
#include "keysine/encode/encode_clip.h"

#include <algorithm>
#include <new>

#include "keysine/encode/bounded.h"
#include "keysine/encode/layers.h"
#include "keysine/encode/mean_search.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Encodes one clip, and keeps the measurements that all attempts share.
struct ClipEncoder
{
	EncodeTask& task;
	ClipStatistics statistics;
	ArtifactMeter meter;

	// Encodes the clip in the requested number of layers. A grid in time has one layer.
	bool encode(bool retries, Encoding* encoding)
	{
		const ClipTarget& target = task.target;
		bool good;
		if (target.step > 0)
			good = encode_step(&task, &statistics, target.step, encoding);
		else if (target.mean_error > 0)
			good = encode_within_mean(&task, &statistics, encoding);
		else
			good = BoundedEncoder(&task, &statistics, &meter, retries).run(encoding);
		if (!good || !encoding->found() || target.layers == 1 || encoding->is_grid)
			return good && encoding->found();
		return split_into_layers(&task, &encoding->payload) && check_layers(encoding);
	}

	// Decodes all layers and compares the rotations with those of one layer. They must be equal, because the
	// symbols are the same.
	bool check_layers(Encoding* encoding)
	{
		WrittenPayload own;
		DecodedMotion decoded;
		if (!own.open(&task, encoding->payload.data(), encoding->payload.size()) ||
			!own.decode(&task, 0, own.layout().group_count, own.layout().layer_count, &decoded))
			return false;
		const double* turns = decoded.rotations.data();
		if (!std::equal(turns, turns + decoded.rotations.size(), encoding->decoded.rotations.data()))
			return task.stop(MOCPACK_CORRUPT);
		return true;
	}

	/* Takes the result of the longest search, unless the default search finds a smaller file. If the default
	 * search of a transform fails, the longest one would fail too, after many times the work. Then only a
	 * grid in time is searched further. */
	bool encode_best(Encoding* encoding)
	{
		task.progress.expect(1 + task.constants.best_work);
		task.target.effort = MOCPACK_KEYSINE_DEFAULT;
		task.progress.begin(1);
		const bool found = encode(true, encoding);
		task.progress.end();
		task.target.effort = MOCPACK_KEYSINE_BEST;
		if (!found || (encoding->transform_failed && !encoding->is_grid))
			return found;
		if (encoding->transform_failed)
			task.target.mode = MOCPACK_KEYSINE_GRID, task.target.layers = 1;
		// if the default search could not remove artifacts, the longest search does not retry either
		const bool retries = encoding->artifacts.worst() <= 1;
		Encoding longest;
		task.progress.begin(task.constants.best_work);
		const bool is_better = encode(retries, &longest) &&
							   longest.payload.size() <= encoding->payload.size() &&
							   longest.cost() < encoding->cost();
		task.progress.end();
		if (is_better)
			*encoding = std::move(longest);
		return !task.stopped();
	}
};

bool is_length(double meters)
{
	return meters > 0 && meters < 1e300;
}

// Returns whether the bounds of single joints are valid lengths and angles.
bool are_valid(const ClipTarget& target, size_t joints)
{
	for (size_t j = 0; j < joints; ++j)
		if ((target.joint_errors && !is_length(target.joint_errors[j])) ||
			(target.joint_angles && !(target.joint_angles[j] >= 0)))
			return false;
	return true;
}

// Returns whether the arguments are valid. Does not check the arrays of the clip.
bool is_valid(const SourceClip& clip, const ClipTarget& target, const WorkContext& work)
{
	const bool bounded = !(target.mean_error > 0) && !(target.step > 0);
	return clip.frame_count > 0 && clip.frame_rate > 0 && work.workers > 0 && is_length(target.max_error) &&
		   target.mean_error >= 0 && target.step >= 0 && target.max_angle >= 0 &&
		   (bounded || (target.max_angle == 0 && target.mode != MOCPACK_KEYSINE_GRID &&
						!target.joint_errors && !target.joint_angles)) &&
		   are_valid(target, clip.skeleton->joint_count) && target.effort >= MOCPACK_KEYSINE_FAST &&
		   target.effort <= MOCPACK_KEYSINE_BEST && target.mode >= MOCPACK_KEYSINE_AUTO &&
		   target.mode <= MOCPACK_KEYSINE_GRID && target.group_seconds > 0 && target.block_seconds >= 0 &&
		   target.layers >= 1 && target.layers <= MOCPACK_KEYSINE_MAX_LAYERS;
}

bool prepare(EncodeTask* task, Buffer<double>* angles)
{
	const SourceClip& clip = task->clip;
	if (!task->joint_bounds.set(task->skeleton, task->constants, task->work.allocator, &task->target))
		return task->stop(MOCPACK_NO_MEMORY);
	if (!unwrapped_angles(task, clip.rotations, clip.translations, clip.frame_count, angles))
		return false;
	task->motion = {clip.rotations, clip.translations, angles->data(), clip.frame_count};
	return true;
}

} // namespace

mocpack_Status encode_clip(const SourceClip& clip, const ClipTarget& target, const WorkContext& work,
						   const Constants& constants, EncodedClip* encoded)
{
	encoded->work_share = 0;
	if (!is_valid(clip, target, work))
		return MOCPACK_BAD_ARGUMENT;
	EncodeTask task(clip, target, work, constants);
	Buffer<double> angles;
	Encoding encoding;
	ClipEncoder encoder = {task, {}, {}};
	const bool found = prepare(&task, &angles) && encoder.statistics.measure(&task) &&
					   (target.effort == MOCPACK_KEYSINE_BEST ? encoder.encode_best(&encoding)
															  : encoder.encode(true, &encoding));
	if (task.stopped())
		return task.status();
	encoded->work_share = task.work_share();
	if (!found)
		return MOCPACK_BOUND_NOT_MET;
	encoded->payload = std::move(encoding.payload);
	encoded->rotations = std::move(encoding.decoded.rotations);
	encoded->translations = std::move(encoding.decoded.translations);
	return MOCPACK_OK;
}

} // namespace keysine
} // namespace mocpack
