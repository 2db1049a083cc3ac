// Codes one track of a block in a closed loop, so that every point it carries stays within its allowance.
#pragma once
#include "keysine/encode/block_targets.h"

namespace mocpack
{
namespace keysine
{

class TrackSearch
{
  public:
	TrackSearch(BlockState* state, Arena* arena);

	// Chooses the track's coefficients in the block, decodes it and advances to the next track.
	// tries_targets: where it takes a fine step, other targets are tried too. errors: the price of its errors
	// is added; only without a bound. Returns false if it cannot keep its bounds.
	bool code(size_t t, bool tries_targets, double* errors);

	// weight: factor on the penalty of errors within the bound; rounding: added to that of the settings.
	void set_variant(float weight, float rounding)
	{
		weight_ = weight, rounding_ = rounding;
	}
	// A sketch is a shorter search: with a bound, only rounding and repair.
	void set_sketch(bool sketch)
	{
		sketch_ = sketch;
	}
	// Sets the work after which the group is only sketched and its result no longer improved.
	void set_work_limit(double limit)
	{
		work_ = 0, work_limit_ = limit;
	}
	// Returns the work on the group so far: the numbers that its searches have computed. It measures time,
	// but is the same on all machines.
	double work() const
	{
		return work_;
	}
	bool is_spent() const
	{
		return work_ > work_limit_;
	}
	bool sketches() const
	{
		return sketch_ || is_spent();
	}

	// Writes target coefficients, coefficients and steps of the group to the encoder's record.
	void report() const;

  private:
	// The result of a search. errors: sum of squared displacements over squared allowances.
	struct Coded
	{
		bool is_inside = false;
		float cost = 0;
		double errors = 0;
	};
	struct Decoded
	{
		double worst, errors;
	};

	// Searches repeatedly, each time with smaller allowances.
	Coded search_inside(const Track& track, int32_t* step);
	// Searches the other targets too, one of which may be easier to reach. Uses the cheapest result,
	// including `first`.
	Coded search_elsewhere(const Track& track, const Coded& first, int32_t* step);
	// Searches once and returns the cost.
	float search_track(const Track& track, double scale, int32_t* step);
	// Rounds plainly, as a last resort: first toward the compensated target, then toward the source's
	// rotation. With fine steps, the latter leaves no point farther off than its joint's origin.
	Coded round_track(const Track& track, int32_t* step);
	// Rounds a track whose joint cannot keep its bounds, so that later tracks are checked too.
	Coded round_strained_track(const Track& track, int32_t* step);
	void round_channel(const Track& track, int32_t c, double size);
	// Decodes the track in all frames.
	Decoded decode_track(const Track& track, int32_t step);
	// Returns the larger of `worst` and the excess of the extra bounds in decoded frame t.
	double with_extra_bounds(const Track& track, int32_t t, double worst) const;
	// Stores the levels and reaches that predict later rows.
	void store_levels(const Track& track, int32_t step);
	void record_track(const Track& track, int32_t step);

	BlockState& s_;
	const Encoder& e_;
	BlockTargets targets_;
	SearchMemory memory_;
	int32_t* found_;					  // (channels, width) coefficients of the last search
	float *scaled_start_, *scaled_moves_; // the targets' displacements with smaller allowances
	double* curve_;						  // (channels, stride) decoded values
	Quat* turns_;						  // (stride) decoded rotations, or translations
	float weight_ = 1, rounding_ = 0;
	bool sketch_ = false;
	double work_ = 0, work_limit_ = HUGE_VAL;
	CoefficientRecord seen_ = {}; // of the current attempt
};

} // namespace keysine
} // namespace mocpack
