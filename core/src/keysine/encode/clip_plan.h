// Choices for a whole clip before anything is searched: what moves, about which mean, in which axes, in which
// groups.
#pragma once
#include "keysine/encode/axes.h"
#include "keysine/encode/task.h"

namespace mocpack
{
namespace keysine
{

// How a clip is cut into groups of blocks.
struct Groups
{
	size_t count;			// 0 for a clip of one frame
	int32_t tempo;			// 64 times half a second over the length of a group
	int32_t splits;			// a group has at most 2^splits blocks
	bool first_frame_alone; // as a group
	double seconds;			// of a group
	size_t group_frames;	// of a streamed payload; 0: groups divide the clip evenly

	// How often a group is halved so that its blocks come nearest to so long.
	int32_t splits_for(double block_seconds) const;
};

// Cuts a motion into groups of at most target.group_seconds and max_frames frames: even ones, or for a
// streamed payload the longest ones.
bool cut_motion(EncodeTask* task, const Motion& motion, size_t max_frames, Groups* groups);

// What is decided for a whole clip.
struct ClipPlan
{
	double unit; // meters; what steps are multiples of
	uint32_t fine_bits;
	Buffer<int32_t> table; // (J, 14)

	double fine() const;
};

// What the rotations, translations and hinges of a clip do over time, whatever its bound.
class ClipStatistics
{
  public:
	bool measure(EncodeTask* task);

	/* The plan for a unit of `size` meters (the bound, or a plain step). key_step: index of the keys' step to
	 * begin with; precision: bits below a radian of turns of axes, at most. */
	bool make_plan(EncodeTask* task, double size, int32_t key_step, int precision, ClipPlan* plan);

	// Of a rotation, or of a translation, over time.
	struct Turn
	{
		double first[4], spread; // largest change of a component since the first frame
		int32_t mean[3];		 // rotation vector, in units of MEAN_GRID
		double farthest;		 // radians from that mean
	};
	struct Place
	{
		double first[3], mean[3], spread;
	};
	struct Hinge
	{
		double lowest, highest;	 // angle or way
		double first, mean, off; // without jumps; how far the joint stands from its hinges, at most
		double unwrapped_lowest, unwrapped_highest;
	};

  private:
	void measure_turns(const EncodeTask& task);
	void measure_places(const EncodeTask& task);
	bool measure_hinges(EncodeTask* task);
	bool measure_axes(EncodeTask* task);
	void choose_hinges(const EncodeTask& task, double unit, double fine, int32_t* table,
					   bool* is_hinged) const;
	void choose_turns(const EncodeTask& task, double fine, const bool* is_hinged, int32_t* table) const;

	Buffer<Turn> turns_;
	Buffer<Place> places_;
	Buffer<Hinge> hinges_;
	double reach_ = 0; // meters from the root to the end of the longest limb, at most
	AxesChooser axes_;
};

} // namespace keysine
} // namespace mocpack
