// Which joints a caller selected, and their columns in its rows.
#pragma once
#include "keysine/decode/decode.h"
#include "keysine/format/plan.h"

namespace mocpack
{
namespace keysine
{

// Columns of rotations and translations; -1 if not selected.
struct Columns
{
	const mocpack_Skeleton& skeleton;
	const mocpack_KeysineColumns* chosen; // null: all joints

	int32_t turn(int32_t joint) const
	{
		return chosen ? chosen->rotations[joint] : joint;
	}
	int32_t place(size_t m) const
	{
		return chosen ? chosen->translations[m] : int32_t(m);
	}
	int32_t place_of(int32_t joint) const
	{
		size_t m = 0;
		while (m + 1 < skeleton.translated_count && skeleton.translated_joints[m] != joint)
			++m;
		return place(m);
	}
	size_t turn_count() const
	{
		return chosen ? chosen->rotation_count : skeleton.joint_count;
	}
	size_t place_count() const
	{
		return chosen ? chosen->translation_count : skeleton.translated_count;
	}
	bool is_selected(const Track& track) const
	{
		return turn(track.joint) >= 0;
	}
	// Returns the number of tracks up to the last selected one; later tracks need not be read.
	size_t selected_track_count(const Plan& plan) const
	{
		size_t count = plan.track_count;
		while (count && !is_selected(plan.tracks[count - 1]))
			--count;
		return count;
	}
};

} // namespace keysine
} // namespace mocpack
