// Makes the parts of a payload of one layer: keys by segment, groups, and their fields of the head.
#pragma once
#include <utility>

#include "keysine/encode/clip_plan.h"
#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

// The segments, then the groups of a payload, each in its own memory.
class Parts
{
  public:
	Parts() = default;
	Parts(Parts&& other) noexcept : parts_(std::move(other.parts_)), task_(other.task_)
	{
	}
	Parts& operator=(Parts&& other) noexcept
	{
		parts_ = std::move(other.parts_);
		task_ = other.task_ ? other.task_ : task_;
		return *this;
	}
	~Parts();

	bool take(EncodeTask* task, size_t count);
	// Copies a part. Several workers may do this at the same time.
	mocpack_Status set(size_t i, const Bytes& bytes);
	size_t count() const
	{
		return parts_.size();
	}
	const Bytes& operator[](size_t i) const
	{
		return parts_[i];
	}
	// Returns the total size of the parts from `first` on, in bytes.
	size_t size_from(size_t first) const;

  private:
	void release();

	Buffer<Bytes> parts_;
	EncodeTask* task_ = nullptr;
};

// Predictors (count, 4): channel, source, band, factor.
struct Predictors
{
	Buffer<int32_t> rows;
	size_t count = 0;
};

// A payload that is not written yet. Many drafts are only compared by their size; those that are kept are
// written.
struct Draft
{
	Buffer<int32_t> table; // (J, 15) with the refined key steps
	Buffer<int32_t> predictors;
	Buffer<uint8_t> grid_steps, initial_scales; // grid mode only: (tracks), (channels)
	size_t predictor_count = 0, segment_count = 0;
	Groups groups = {};
	double unit = 0;
	uint32_t fine_bits = 0;
	bool is_grid = false, is_thorough = false;
	Parts parts;

	size_t group_bytes() const
	{
		return parts.size_from(segment_count);
	}
};

// Coefficients of an encode, from which predictors are chosen. Coefficient k of a block is stored k frames
// after the first frame of the block.
struct Observation
{
	// (C, T): target coefficients, coefficients, and their quantizer steps
	Buffer<float> wanted, series, steps;
	Buffer<int32_t> paces;				// (T) frequencies of the coefficients, hertz
	Buffer<int32_t> first_channels;		// (C) the first channel of the same track
	size_t channel_count = 0, size = 0; // bytes of the groups
};

struct DraftRequest
{
	Motion motion;
	const ClipPlan* plan; // of this motion, or of one that contains it
	SearchSettings settings;
	Groups groups;
	const Predictors* predictors; // null: none
	const double* shares;		  // (J) shares of the bound for the points of each joint; null: all 1
	bool on_grid;
	bool alone; // use only one worker
};

// Makes the parts of a payload. Returns false if the search finds none. Fills `seen`, if it is not null.
bool make_draft(EncodeTask* task, const DraftRequest& request, Draft* draft, Observation* seen = nullptr);

} // namespace keysine
} // namespace mocpack
