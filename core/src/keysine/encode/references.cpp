// Chooses which rotations of a payload with several layers share the reference of the rotation above.
#include <algorithm>

#include "keysine/encode/clip_plan.h"

namespace mocpack
{
namespace keysine
{

/* Chooses which rotations share the reference of the rotation above, given which joints rotate: those right
 * below the topmost rotation, and large parts of limbs that carry about as much as the part above. Relative
 * to the rotation above, they would have its error in a motion without its last layers. */
bool ClipStatistics::choose_references(EncodeTask* task, double fine, int32_t* table)
{
	const Constants& c = task->constants;
	const bool bounds_angles = task->joint_bounds.least_angle(task->target.max_angle) > 0;
	if (!may_share_ || task->target.layers == 1 || task->is_hinged() || bounds_angles ||
		task->target.effort == MOCPACK_KEYSINE_FAST)
		return measure_references(task, table);
	Plan plan = {};
	Buffer<uint8_t> memory;
	plan.skeleton = &task->skeleton, plan.table = table, plan.unit = 1.0, plan.fine = fine;
	if (!task->take(&memory, plan_size(task->skeleton.joint_count)))
		return false;
	if (!build_plan(&plan, memory.data(), nullptr))
		return task->stop(MOCPACK_CORRUPT);
	auto inertia_of = [&](const Track& track)
	{
		const double* m = plan.inertia + 9 * track.joint;
		return m[0] + m[4] + m[8];
	};
	double largest = 0;
	for (size_t t = 0; t < plan.track_count; ++t)
		if (plan.tracks[t].kind != POSITION_TRACK)
			largest = std::max(largest, inertia_of(plan.tracks[t]));
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		const Track& track = plan.tracks[t];
		if (track.parent < 0)
			continue;
		const Track& above = plan.tracks[track.parent];
		const double own = inertia_of(track);
		const bool carries = own >= c.sharing_ratio * inertia_of(above) && own >= c.sharing_share * largest;
		// the parts below the topmost rotation are relative to the world with it, unless it turns far there
		const bool turns_far = turns_[size_t(above.joint)].farthest > c.max_vector_turn;
		table[PLAN_COLUMNS * size_t(track.joint) + SHARES_REFERENCE] =
			above.parent < 0 ? !turns_far : carries;
	}
	return measure_references(task, table);
}

// Measures the means relative to the references of a plan's table (J, 15), if they have changed.
bool ClipStatistics::measure_references(EncodeTask* task, const int32_t* table)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t joints = s.joint_count;
	Buffer<int32_t> above, references; // (J) nearest ancestor that rotates, -1 if there is none
	Buffer<double> world;
	if (!task->take(&above, joints) || !task->take(&references, joints) || !task->take(&world, 4 * joints))
		return false;
	bool are_parents = true;
	for (size_t j = 0; j < joints; ++j)
	{
		const int32_t parent = s.parents[j];
		const bool rotates =
			parent >= 0 && table[PLAN_COLUMNS * size_t(parent) + ROTATION_KIND] >= VECTOR_ROTATION;
		above[j] = parent < 0 || rotates ? parent : above[size_t(parent)];
		references[j] = table[PLAN_COLUMNS * j + SHARES_REFERENCE] ? references[size_t(above[j])] : parent;
		are_parents = are_parents && references[j] == parent;
	}
	if (references_.size() ? std::equal(references.data(), references.data() + joints, references_.data())
						   : are_parents)
		return true;
	if (!task->copy(&references_, references.data(), joints) ||
		!task->take(&relative_, 4 * joints * task->motion.frames))
		return false;
	for (size_t t = 0; t < task->motion.frames; ++t)
		for (size_t j = 0; j < joints; ++j)
		{
			const size_t at = 4 * (joints * t + j);
			const int32_t parent = s.parents[j], reference = references[j];
			Quat own = load_quat(task->motion.rotations + at);
			const Quat turn = parent < 0 ? own : multiply(load_quat(world.data() + 4 * parent), own);
			store(world.data() + 4 * j, turn);
			if (reference != parent)
				own =
					reference < 0 ? turn : multiply(conjugate(load_quat(world.data() + 4 * reference)), turn);
			store(relative_.data() + at, own);
		}
	axes_ = AxesChooser();
	measure_means(*task);
	return true;
}

} // namespace keysine
} // namespace mocpack
