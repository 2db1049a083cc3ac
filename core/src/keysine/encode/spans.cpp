// Divides the tracks of a skeleton into limbs and the spans between them, which can be searched one after
// another.
#include "keysine/encode/spans.h"

namespace mocpack
{
namespace keysine
{

namespace
{

size_t end_of_tracks(const Plan& plan, size_t first, int32_t joint)
{
	while (first < plan.track_count && plan.tracks[first].joint == joint)
		++first;
	return first;
}

// Counts the children of each joint whose subtrees have tracks (J). A child with several branches counts
// twice, so the count exceeds 1 if anything below the joint branches.
void count_branches(const Plan& plan, int32_t* branches)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	const int32_t joints = int32_t(skeleton.joint_count);
	for (int32_t j = 0; j < joints; ++j)
		branches[j] = 0;
	size_t left = plan.track_count;
	for (int32_t j = joints; j-- > 0;)
	{
		bool moving = branches[j] > 0;
		for (; left > 0 && plan.tracks[left - 1].joint == j; --left)
			moving = true;
		if (moving && skeleton.parents[j] >= 0)
			branches[skeleton.parents[j]] += branches[j] > 1 ? 2 : 1;
	}
}

} // namespace

size_t find_spans(const Plan& plan, Span* spans, int32_t* branches)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	count_branches(plan, branches);
	size_t count = 0, track = 0;
	for (int32_t j = 0; j < int32_t(skeleton.joint_count); ++j)
	{
		const int32_t parent = skeleton.parents[j];
		const Span* last = count ? spans + count - 1 : nullptr;
		bool inside = last && last->limb && parent >= last->first_joint,
			 limb = parent >= 0 && branches[j] <= 1 && branches[parent] > 1;
		// nothing branches, or this joint continues a limb that another span has interrupted
		if (!inside && !limb && parent >= 0 && branches[parent] <= 1)
		{
			spans[0] = whole_span(plan);
			spans[0].limb = branches[0] <= 1;
			return 1;
		}
		if (!last || (!inside && (limb || last->limb)))
			spans[count++] = {j, j, track, track, limb};
		track = end_of_tracks(plan, track, j);
		spans[count - 1].end_joint = j + 1, spans[count - 1].end_track = track;
	}
	return count;
}

Span upper_half(const Plan& plan, const Span& limb)
{
	const size_t tracks = limb.end_track - limb.first_track;
	const Span none = {limb.first_joint, limb.first_joint, limb.first_track, limb.first_track, true};
	Span upper = none;
	while (upper.end_track - upper.first_track < tracks / 2)
		upper.end_track = end_of_tracks(plan, upper.end_track, upper.end_joint++);
	return upper.end_track < limb.end_track ? upper : none;
}

} // namespace keysine
} // namespace mocpack
