// One block of a group: closed loop down the skeleton, track by track.
#pragma once
#include "keysine/decode/curves.h"
#include "keysine/encode/bit_budget.h"
#include "keysine/encode/extra_bounds.h"

namespace mocpack
{
namespace keysine
{

// Shares of what may remain above hinges, and prices of taking it back.
struct HingeWay
{
	double slack, price;
};

// How a block, or a limb of it, is searched.
struct Way
{
	int doublings; // of the penalty of errors within the bound
	float rounding;
	HingeWay hinges;
};

// The rows of a block, put aside while another way to write it is tried.
struct KeptBlock
{
	int32_t *steps, *values;   // (tracks); (channels, stride)
	uint8_t *levels, *reaches; // (channels, stride); (channels)
	double* series;			   // (channels, stride), where spans are chosen one by one
	int32_t* extents;		   // (channels)
	Vec3* positions;		   // (joints, stride) of the decoded motion
	Quat* rotations;		   // (joints, stride)
};

// What frames that strained had left in the end, and the prices there.
struct KeptHinges
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
	void set_way(const Way& way);
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
	// Chooses the tracks of a span of the present block, of which all before stand decided: in a way of its
	// own, or with what a way for the whole block had left for hinges.
	bool code_span(const Span& span, const Way& way, const KeptHinges* kept = nullptr);

	// Price of the errors of all blocks so far, where they have one.
	double errors() const
	{
		return errors_;
	}
	void set_errors(double errors)
	{
		errors_ = errors;
	}

	KeptBlock lay_out_kept(Arena* arena) const;
	// Copies the rows and the decoded motion of a span to where they are kept, or back.
	void put_aside(const KeptBlock& kept, const Span& span, bool away) const;
	KeptHinges lay_out_hinges(Arena* arena) const;
	void keep_hinges(const KeptHinges& kept) const;

	// Hands over what the coefficients should have been, and what they are.
	void report() const;

  private:
	void set_hinge_way();
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
	// Any way to go on from a joint that cannot keep its bounds, so that those after it are looked at too.
	bool roughly(const Track& track, int32_t* step);
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
	void note(const Track& track, int32_t step);
	// The last resort: plain rounding, first towards the compensated target, then towards the true one,
	// which leaves every point at most where its joint's origin already is.
	bool rounded(const Track& track, int32_t* step);
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
	int32_t searched(const Track& track, double scale);
	// Decodes the track in all frames and returns the largest excess.
	double settle(const Track& track, int32_t step);
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
	HingeWay hinge_way_ = {1, 1};
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
	KeptHinges hinges_before_;
	ExtraBound* extra_bounds_;
	bool strained_here_ = false;
	double *sines_, *aims_, *ahead_, *curve_, *series_;
	Quat* turns_;
	float *waves_, *start_, *moves_, *scaled_start_, *scaled_moves_, *wanted_;
	uint8_t* search_;
};

} // namespace keysine
} // namespace mocpack
