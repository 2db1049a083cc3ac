// Encodes one block of a group track by track from the root outward.
#pragma once
#include "keysine/encode/bit_budget.h"
#include "keysine/encode/track_search.h"

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

// The slack and the price of each frame after the retries of a block.
struct SavedHinges
{
	double *slack, *price; // (frames)
};

class BlockCoder
{
  public:
	BlockCoder(const Encoder* encoder, Arena* arena);

	BlockState& state()
	{
		return state_;
	}
	TrackSearch& search()
	{
		return search_;
	}

	// Splits a group into 2^splits blocks. keys: all keys that the group may have. Returns false if the group
	// cannot be split this way.
	bool begin(size_t group, const int32_t* keys, int splits)
	{
		errors_ = 0;
		return state_.begin_group(group, keys, splits);
	}

	// Set how later blocks are searched. A budget can end an attempt early.
	void set_variant(const Variant& variant);
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

	// Returns the price of the errors of all blocks so far; 0 if errors have a bound.
	double errors() const
	{
		return errors_;
	}
	void set_errors(double errors)
	{
		errors_ = errors;
	}

	SavedHinges lay_out_saved_hinges(Arena* arena) const;
	void save_hinges(const SavedHinges& saved) const;

  private:
	void set_hinge_variant();
	// Sets the share of error that may remain in a frame, and the price of compensating it.
	void set_frame(int32_t t, double slack, double price);
	// Codes the tracks of a span, given the tracks before it. With `may_strain`, continues after a joint that
	// cannot keep its bounds; otherwise returns false then.
	bool tracks_of(const Span& span, bool may_strain = false);
	bool track(size_t t);
	// Codes all tracks of the block, span by span. Afterward, the state marks the frames of all spans in
	// which a joint still cannot keep its bounds.
	bool all_tracks();
	// Codes a limb again, with less error left to its own hinges in the failing frames, until no frame fails.
	bool relieve_limb(const Span& limb);

	const Encoder& e_;
	BlockState state_;
	TrackSearch search_;
	HingeVariant hinge_variant_ = {1, 1};
	BitBudget* budget_ = nullptr;
	const Span* spans_ = nullptr;
	size_t span_count_ = 0, tracks_left_ = 0; // tracks that may still be coded in the current block
	double errors_ = 0;
	uint8_t* strained_before_; // (frames) by earlier spans
	SavedHinges hinges_before_;
};

} // namespace keysine
} // namespace mocpack
