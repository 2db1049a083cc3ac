// Encodes one block of a group in a closed loop, track by track from the root outward.
#pragma once
#include "keysine/encode/bit_budget.h"
#include "keysine/encode/extra_bounds.h"
#include "keysine/format/curves.h"

namespace mocpack
{
namespace keysine
{

// Factors of the error that may remain above hinges, and of the price of compensating it.
struct HingeVariant
{
	double slack, price;
};

// A variant of the search of a block or of one of its limbs.
struct Variant
{
	int doublings; // doublings of the penalty of errors within the bound
	float rounding;
	HingeVariant hinges;
};

// The rows of a block, saved while another variant is tried.
struct SavedBlock
{
	int32_t *steps, *values;   // (tracks); (channels, stride)
	uint8_t *levels, *reaches; // (channels, stride); (channels)
	double* series;			   // (channels, stride)
	int32_t* extents;		   // (channels)
	Vec3* positions;		   // (joints, stride) of the decoded motion
	Quat* rotations;		   // (joints, stride)
};

// The slack and the price of each frame after the retries of a block.
struct SavedHinges
{
	double *slack, *price; // (frames)
};

// The target of a rotation. PRICED: carried points near their positions, with a price for rotating away from
// the source's own rotation. NEAREST: the same without a price. SOURCE: the source's rotation.
enum class Target
{
	PRICED,
	NEAREST,
	SOURCE
};

class BlockCoder
{
  public:
	BlockCoder(const Encoder* encoder, Arena* arena);

	// Splits a group into 2^splits blocks and clears their coefficients. keys: all keys that the group may
	// have. Returns false if the group cannot be split this way.
	bool begin(size_t group, const int32_t* keys, int splits);
	GroupSymbols* symbols()
	{
		return &symbols_;
	}

	// Set how later blocks are searched. A sketch is a shorter search: with a bound, only rounding and
	// repair. A budget can end an attempt early.
	void set_variant(const Variant& variant);
	void set_sketch(bool sketch)
	{
		sketch_ = sketch;
	}
	// Sets the spans of all joints, in order. If only the hinges of one limb fail, only that limb is coded
	// again, not the whole block.
	void set_spans(const Span* spans, size_t count)
	{
		spans_ = spans, span_count_ = count;
	}
	void set_budget(BitBudget* budget)
	{
		budget_ = budget;
	}

	// Codes all tracks of a block. Returns false if they cannot keep their bounds, or exceed the budget.
	bool code(size_t b);
	// Codes the tracks of a span of the current block, given the tracks before it. saved: slack and prices of
	// a variant of the whole block; null: those of this variant.
	bool code_span(const Span& span, const Variant& variant, const SavedHinges* saved = nullptr);

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

	// Returns the price of the errors of all blocks so far; 0 if errors have a bound.
	double errors() const
	{
		return errors_;
	}
	void set_errors(double errors)
	{
		errors_ = errors;
	}

	SavedBlock lay_out_saved_block(Arena* arena) const;
	// Copy the rows and the decoded motion of a span of the current block to `saved`, and back.
	void save_span(const SavedBlock& saved, const Span& span) const
	{
		copy_span(saved, span, true);
	}
	void restore_span(const SavedBlock& saved, const Span& span) const
	{
		copy_span(saved, span, false);
	}
	SavedHinges lay_out_saved_hinges(Arena* arena) const;
	void save_hinges(const SavedHinges& saved) const;

	// Writes target coefficients, coefficients and steps to the encoder's record.
	void report() const;

  private:
	void copy_span(const SavedBlock& saved, const Span& span, bool saves) const;
	void set_hinge_variant();
	// Sets the share of error that may remain in a frame, and the price of compensating it.
	void set_frame(int32_t t, double slack, double price);
	// Codes the tracks of a span, given the tracks before it. With `may_strain`, continues after a joint that
	// cannot keep its bounds; otherwise returns false then.
	bool tracks_of(const Span& span, bool may_strain = false);
	// Codes all tracks of the block, span by span. Afterward, strained_ marks the frames of all spans in
	// which a joint still cannot keep its bounds.
	bool all_tracks();
	// Codes a limb again, with less error left to its own hinges in the failing frames, until no frame fails.
	bool relieve_limb(const Span& limb);
	bool behind(size_t t)
	{
		return budget_ && budget_->falls_behind(t);
	}
	void set_length(int32_t length);
	SeriesBlock series_block() const;
	int32_t* row_of(const Track& track, int32_t c) const
	{
		return symbols_.rows.values + symbols_.shape.row(track.first_channel + c, b_);
	}
	// Chooses the track's coefficients in this block so that every point it carries stays within its
	// allowance.
	bool track(size_t t);
	// Searches repeatedly, each time with smaller allowances. Returns false if points stay outside.
	bool search_inside(const Track& track, int32_t* step);
	// Searches the other targets too, one of which may be easier to reach. Uses the cheapest result,
	// including the previous one.
	bool search_elsewhere(const Track& track, int32_t* step);
	// Rounds a track whose joint cannot keep its bounds, so that later tracks are checked too.
	bool round_strained_track(const Track& track, int32_t* step);
	// Returns whether a joint cannot keep its bounds in some frame.
	bool strained() const
	{
		bool any = false;
		for (int32_t t = 0; t < n_; ++t)
			any = any || strained_[t];
		return any;
	}
	// Stores the results of a track and advances to the next one.
	bool finish(const Track& track, int32_t step);
	// Stores the levels and reaches that predict later rows.
	void store_levels(const Track& track, int32_t step);
	// Rounds plainly, as a last resort: first toward the compensated target, then toward the source's
	// rotation. With fine steps, the latter leaves no point farther off than its joint's origin.
	bool round_track(const Track& track, int32_t* step);
	void round_channel(const Track& track, int32_t c, double size);
	// Returns the line between the keys at frame t of the block.
	double line(const Track& track, int32_t c, int32_t t) const
	{
		double key = track.key_step * keys_[track.first_channel + c];
		double next = track.key_step * keys_[plan_.channel_count + size_t(track.first_channel + c)];
		return key + (next - key) / length_ * t;
	}
	// Computes targets in all frames, and how the displacements of the points depend on the channels.
	void prepare(const Track& track, Target target);
	// Marks the frames in which a point or an extra bound is outside even at the target. extra_bounds: index
	// of the first extra bound.
	void find_strains(int32_t extra_bounds);
	// Clears each row after its last frame.
	void clear_ends(float* rows, int32_t count) const;
	void prepare_position(const Track& track, int32_t t);
	// Stores the extra bounds after the points of the rig.
	void put_extra_bounds(const Track& track, int32_t t);
	void prepare_rotation(const Track& track, int32_t t, Target target);
	// Does the same for frame t and the next ones, one per lane, of a track that rotates freely.
	void prepare_free_rotations(const Track& track, int32_t t, Target target);
	// Stores the points of the rig at a rotation's target.
	template <typename N> void put_points(const Track& track, int32_t t, const TrackTargetOf<N>& aim);
	const double* inverse_axes(const Track& track) const
	{
		return e_.inverse_axes + 9 * (&track - plan_.tracks);
	}
	template <typename N> void put_vector(float* at, Vec3Of<N> v) const;
	// Computes the target coefficients of a channel, and the displacements without any coefficients.
	void prepare_channel(const Track& track, int32_t c);
	int32_t search_track(const Track& track, double scale);
	// Decodes the track in all frames and returns the largest excess.
	double decode_track(const Track& track, int32_t step);
	// Returns the larger of `worst` and the excess of the extra bounds in decoded frame t.
	double with_extra_bounds(const Track& track, int32_t t, double worst) const;

	const Encoder& e_;
	const Plan& plan_;
	const Rig& rig_;
	MotionPair pair_;
	GroupSymbols symbols_;
	CoefficientContext near_;
	RowSums sums_[4];
	// of the current group
	size_t group_ = 0, length_of_group_ = 0;
	double errors_ = 0, sum_ = 0, work_ = 0, work_limit_ = HUGE_VAL;
	float cost_ = 0; // of the last search
	float weight_ = 1, rounding_ = 0;
	HingeVariant hinge_variant_ = {1, 1};
	bool sketch_ = false;
	BitBudget* budget_ = nullptr;
	const Span* spans_ = nullptr;
	size_t span_count_ = 0, tracks_left_ = 0; // tracks that may still be coded in the current block
	float *seen_wanted_ = nullptr, *seen_series_ = nullptr, *seen_steps_ = nullptr; // (channels, frames)
	double predicted_[4][MAX_BLOCK_FRAMES];
	// of the current block and track
	int32_t stride_, b_ = 0, length_ = 0, n_ = 0, width_ = 0, points_ = 0;
	size_t from_ = 0, next_predictor_ = 0;
	const int32_t *keys_ = nullptr,
				  *filled_ = nullptr; // filled_: those of the block that the pair holds
	size_t* frames_;
	int32_t *found_, *extents_;
	uint8_t *strained_, *strained_before_; // (frames)
	SavedHinges hinges_before_;
	ExtraBound* extra_bounds_;
	bool strained_here_ = false;
	double *sines_, *aims_, *ahead_, *curve_, *series_;
	Quat* turns_;
	float *waves_, *start_, *moves_, *scaled_start_, *scaled_moves_, *wanted_;
	SearchMemory search_;
};

} // namespace keysine
} // namespace mocpack
