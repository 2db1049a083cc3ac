// Chooses for a whole clip, before the search: what moves, about which mean, in which axes and groups.
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
	size_t count;			  // 0 for a clip of one frame
	int32_t tempo;			  // 64 · 0.5 s / length of a group
	int32_t splits;			  // a group has at most 2^splits blocks
	bool first_frame_alone;	  // the first frame is a group by itself
	double seconds;			  // length of a group
	size_t group_frames;	  // of a streamed payload; 0: groups divide the clip evenly
	int32_t least_splits = 0; // a group has at least 2^least_splits blocks, so that none is too long

	// Returns the number of halvings of a group after which its blocks are closest to this length, of those
	// that are allowed.
	int32_t splits_for(double block_seconds) const;
};

// Cuts a motion into groups of at most target.group_seconds and max_frames frames. Their lengths differ by at
// most one frame, apart from a separate first frame. In a streamed payload, all but the last have the maximum
// length.
bool cut_motion(EncodeTask* task, const Motion& motion, size_t max_frames, Groups* groups);

// The choices for a whole clip.
struct ClipPlan
{
	double unit; // meters; the step with index UNIT_STEP
	uint32_t fine_bits;
	Buffer<int32_t> table; // (J, 15)

	double fine() const;
};

// Statistics of a clip's rotations, translations and hinges over time. They do not depend on its bound.
class ClipStatistics
{
  public:
	bool measure(EncodeTask* task);

	/* Makes the plan for a unit of `size` meters (the bound, or a uniform step). key_step: initial index of
	 * the key steps; precision: maximum bits below a radian of axis rotations. */
	bool make_plan(EncodeTask* task, double size, int32_t key_step, int precision, ClipPlan* plan);

	// Statistics of one rotation, translation or hinge.
	struct Turn
	{
		double first[4], spread; // local rotation; largest change of a component since the first frame
		int32_t mean[3];		 // relative to the reference: rotation vector, in units of MEAN_GRID
		double farthest;		 // largest angle from that mean, radians
	};
	struct Place
	{
		double first[3], mean[3], spread;
	};
	struct Hinge
	{
		double lowest, highest; // angle (radians) or slider position (meters)
		double first, mean,
			off; // first, mean: unwrapped; off: largest distance from a pose of the hinges
		double unwrapped_lowest, unwrapped_highest;
	};

	// Returns whether rotations of the last plan share references.
	bool shares_references() const
	{
		return relative_.size() > 0;
	}
	// Makes later plans without shared references.
	void forbid_sharing()
	{
		may_share_ = false;
	}

  private:
	void measure_spreads(const EncodeTask& task);
	void measure_means(const EncodeTask& task);
	bool choose_references(EncodeTask* task, double fine, int32_t* table);
	bool measure_references(EncodeTask* task, const int32_t* table);
	const double* rotations(const EncodeTask& task) const;
	void measure_places(const EncodeTask& task);
	bool measure_hinges(EncodeTask* task);
	bool measure_axes(EncodeTask* task);
	void choose_hinges(const EncodeTask& task, double unit, double fine, int32_t* table,
					   bool* is_hinged) const;
	bool choose_turns(EncodeTask* task, double fine, const bool* is_hinged, int32_t* table);

	bool may_share_ = true;
	Buffer<int32_t> references_; // (J) of the measured means and axes
	Buffer<double> relative_;	 // (F, J, 4) rotations relative to these; empty: all are local
	Buffer<Turn> turns_;
	Buffer<Place> places_;
	Buffer<Hinge> hinges_;
	double reach_ = 0; // upper bound of the distance from the root to the end of a limb, meters
	AxesChooser axes_;
};

} // namespace keysine
} // namespace mocpack
