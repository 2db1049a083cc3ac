// One block of a group: closed loop down the skeleton, track by track.
#pragma once
#include "keysine/decode/curves.h"
#include "keysine/encode/bit_budget.h"
#include "keysine/encode/extra_bounds.h"

namespace mocpack
{
namespace keysine
{

// Factors of what may remain above hinges, and of the price of taking it back.
struct HingeVariant
{
	double slack, price;
};

// A variant of the search of a block, or of a limb of it.
struct Variant
{
	int doublings; // of the penalty of errors within the bound
	float rounding;
	HingeVariant hinges;
};

// The rows of a block, saved while another variant is tried.
struct SavedBlock
{
	int32_t *steps, *values;   // (tracks); (channels, stride)
	uint8_t *levels, *reaches; // (channels, stride); (channels)
	double* series;			   // (channels, stride), where spans are chosen one by one
	int32_t* extents;		   // (channels)
	Vec3* positions;		   // (joints, stride) of the decoded motion
	Quat* rotations;		   // (joints, stride)
};

// What frames that strained had left in the end, and the prices there.
struct SavedHinges
{
	double *slack, *price; // (frames)
};

// What a rotation aims at: what it carries near its place, but at a price for each turn away from the
// source's own rotation; the same at no price; or the source's rotation in the world.
enum class Target
{
	PRICED,
	NEAREST,
	SOURCE
};

class BlockCoder
{
  public:
	BlockCoder(const mocpack_KeysineEncoder* encoder, Arena* arena);

	// Cuts a group into 2^splits blocks, all zeros; keys are all that it may have. False where it cannot be.
	bool begin(size_t group, const int32_t* keys, int splits);
	GroupSymbols* symbols()
	{
		return &symbols_;
	}

	// How blocks are searched from now on; sketches are rounding and repair only. A budget may end a try.
	void set_variant(const Variant& variant);
	void set_sketch(bool sketch)
	{
		sketch_ = sketch;
	}
	// The spans of all joints, in their order. If only the hinges of one limb strain, only that limb is coded
	// again, not the whole block.
	void set_spans(const Span* spans, size_t count)
	{
		spans_ = spans, span_count_ = count;
	}
	void set_budget(BitBudget* budget)
	{
		budget_ = budget;
	}

	// Chooses all tracks of a block. False where they cannot keep their bounds, or fall behind.
	bool code(size_t b);
	// Chooses the tracks of a span of the present block; those before it are decided. `saved` is what a
	// variant of the whole block left for hinges; null: what this variant leaves.
	bool code_span(const Span& span, const Variant& variant, const SavedHinges* saved = nullptr);

	// Price of the errors of all blocks so far, where they have one.
	double errors() const
	{
		return errors_;
	}
	void set_errors(double errors)
	{
		errors_ = errors;
	}

	SavedBlock lay_out_saved_block(Arena* arena) const;
	// Copy the rows and the decoded motion of a span of the present block to `saved`, and back.
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

	// Hands over what the coefficients should have been, and what they are.
	void report() const;

  private:
	void copy_span(const SavedBlock& saved, const Span& span, bool saves) const;
	void set_hinge_variant();
	// What may remain of errors in a frame, and what it costs to take them back.
	void set_frame(int32_t t, double slack, double price);
	// Chooses the tracks of a span, of which all before stand decided. False if there is a strain, unless
	// that may be.
	bool tracks_of(const Span& span, bool may_strain = false);
	// Chooses all tracks of the block, span by span. Afterwards strained_ has the frames of all spans in
	// which a joint still cannot keep its bounds.
	bool all_tracks();
	// Codes a limb again, with less error left to its own hinges in the frames that strain, until none does.
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
	// Chooses the track's coefficients in this block so that every point it carries stays inside.
	bool track(size_t t);
	// Searches, each time aiming further inside; false if points stay outside.
	bool search_inside(const Track& track, int32_t* step);
	// The same with the other targets, of which one may lie further inside: the cheapest of all is taken,
	// what was searched before among them.
	bool search_elsewhere(const Track& track, int32_t* step);
	// Rounds a track whose joint cannot keep its bounds, so that the tracks after it are looked at too.
	bool round_strained_track(const Track& track, int32_t* step);
	// Whether a joint cannot keep its bounds in some frame, whatever it does.
	bool strained() const
	{
		bool any = false;
		for (int32_t t = 0; t < n_; ++t)
			any = any || strained_[t];
		return any;
	}
	// Goes on to the next track.
	bool finish(const Track& track, int32_t step);
	// Leaves what predicts later rows.
	void store_levels(const Track& track, int32_t step);
	// The last resort: plain rounding, first towards the compensated target, then towards the true one,
	// which leaves every point at most where its joint's origin already is.
	bool round_track(const Track& track, int32_t* step);
	void round_channel(const Track& track, int32_t c, double size);
	// The straight line between the keys, at frame t of the block.
	double line(const Track& track, int32_t c, int32_t t) const
	{
		double key = track.key_step * keys_[track.first_channel + c];
		double next = track.key_step * keys_[plan_.channel_count + size_t(track.first_channel + c)];
		return key + (next - key) / length_ * t;
	}
	// Targets in all frames, and displacements of the points as they depend on the channels.
	void prepare(const Track& track, Target target);
	// Frames in which a point, or after the first so many an extra bound, is outside even at the target.
	void find_strains(int32_t extra_bounds);
	// Zeros past the last frame of each row.
	void clear_ends(float* rows, int32_t count) const;
	void prepare_position(const Track& track, int32_t t);
	// After the points of the rig.
	void put_extra_bounds(const Track& track, int32_t t);
	void prepare_rotation(const Track& track, int32_t t, Target target);
	// The same of frame t and those that follow, as many as there are lanes, for a track that turns freely.
	void prepare_free_rotations(const Track& track, int32_t t, Target target);
	// The points of the rig where a rotation's target is.
	template <typename N> void put_points(const Track& track, int32_t t, const TrackTargetOf<N>& aim);
	const double* inverse_axes(const Track& track) const
	{
		return e_.inverse_axes + 9 * (&track - plan_.tracks);
	}
	template <typename N> void put_vector(float* at, Vec3Of<N> v) const;
	// The wanted coefficients of a channel, and the displacements while it has none.
	void prepare_channel(const Track& track, int32_t c);
	int32_t search_track(const Track& track, double scale);
	// Decodes the track in all frames and returns the largest excess.
	double decode_track(const Track& track, int32_t step);
	// The larger of `worst` and what the extra_bounds say of frame t as it is decoded.
	double with_extra_bounds(const Track& track, int32_t t, double worst) const;

	const mocpack_KeysineEncoder& e_;
	const Plan& plan_;
	const Rig& rig_;
	MotionPair pair_;
	GroupSymbols symbols_;
	CoefficientContext near_;
	RowSums sums_[4];
	// of the present group
	size_t group_ = 0, length_of_group_ = 0;
	double errors_ = 0, sum_ = 0;
	float cost_ = 0; // of what was searched last
	float weight_ = 1, rounding_ = 0;
	HingeVariant hinge_variant_ = {1, 1};
	bool sketch_ = false;
	BitBudget* budget_ = nullptr;
	const Span* spans_ = nullptr;
	size_t span_count_ = 0, tracks_left_ = 0; // tracks that may still be coded in the present block
	float *seen_wanted_ = nullptr, *seen_series_ = nullptr, *seen_steps_ = nullptr; // (channels, frames)
	double predicted_[4][MAX_BLOCK_FRAMES];
	// of the present block and track
	int32_t stride_, b_ = 0, length_ = 0, n_ = 0, width_ = 0, points_ = 0;
	size_t from_ = 0, next_predictor_ = 0;
	const int32_t *keys_ = nullptr, *filled_ = nullptr; // of the block that the pair shows
	size_t* frames_;
	int32_t *found_, *extents_;
	uint8_t *strained_, *strained_before_; // (frames)
	SavedHinges hinges_before_;
	ExtraBound* extra_bounds_;
	bool strained_here_ = false;
	double *sines_, *aims_, *ahead_, *curve_, *series_;
	Quat* turns_;
	float *waves_, *start_, *moves_, *scaled_start_, *scaled_moves_, *wanted_;
	uint8_t* search_;
};

} // namespace keysine
} // namespace mocpack
