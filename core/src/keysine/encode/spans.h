// Divides the tracks of a skeleton into limbs and the joints between them, which are searched one after
// another.
#pragma once
#include "keysine/format/plan.h"

namespace mocpack
{
namespace keysine
{

// Consecutive joints and their tracks.
struct Span
{
	int32_t first_joint, end_joint;
	size_t first_track, end_track;
	bool limb; // does not branch, and no joint outside of it is its descendant

	bool empty() const
	{
		return first_track == end_track;
	}
};

inline Span whole_span(const Plan& plan)
{
	return {0, int32_t(plan.skeleton->joint_count), 0, plan.track_count, false};
}

// Divides all joints into spans, in order, and returns their number. A chain is one limb. There are no limbs
// if the joints are not ordered limb by limb. spans, scratch: (J)
size_t find_spans(const Plan& plan, Span* spans, int32_t* scratch);

// Returns the upper joints of a limb, with about half of its tracks; empty if no track would be left below.
Span upper_half(const Plan& plan, const Span& limb);

} // namespace keysine
} // namespace mocpack
