// The tracks of a skeleton as limbs and what is between them: what can be searched one after another.
#pragma once
#include "keysine/decode/plan.h"

namespace mocpack
{
namespace keysine
{

// Joints that follow one another, and their tracks.
struct Span
{
	int32_t first_joint, end_joint;
	size_t first_track, end_track;
	bool limb; // on which nothing outside of it hangs, and which does not branch

	bool empty() const
	{
		return first_track == end_track;
	}
};

inline Span whole_span(const Plan& plan)
{
	return {0, int32_t(plan.skeleton->joint_count), 0, plan.track_count, false};
}

// Cuts all joints into spans, in their order, and returns how many there are. A chain is one limb; a skeleton
// whose joints do not stand limb by limb has none. spans, scratch: (J)
size_t find_spans(const Plan& plan, Span* spans, int32_t* scratch);

// The upper joints of a limb, with about half of its tracks; empty where nothing would be left below.
Span upper_half(const Plan& plan, const Span& limb);

} // namespace keysine
} // namespace mocpack
