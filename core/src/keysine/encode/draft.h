// The parts of a payload of one layer: keys by segment, groups, and what the head says of them.
#pragma once
#include <utility>

#include "keysine/encode/clip_plan.h"

namespace mocpack
{
namespace keysine
{

struct Bytes
{
	uint8_t* data;
	size_t size;
};

// The segments, then the groups of a payload, each in memory of its own.
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
	// Copies a part; workers may do so at the same time.
	bool set(size_t i, const uint8_t* data, size_t size);
	size_t count() const
	{
		return parts_.size();
	}
	const Bytes& operator[](size_t i) const
	{
		return parts_[i];
	}
	// Bytes of parts `first` to the last.
	size_t size_from(size_t first) const;

  private:
	void release();

	Buffer<Bytes> parts_;
	EncodeTask* task_ = nullptr;
};

// Which channels predict which (count, 4): channel, source, band, factor.
struct Predictors
{
	Buffer<int32_t> rows;
	size_t count = 0;
};

// Many drafts are made to be compared by their size alone; only those that are kept are written.
struct Draft
{
	Buffer<int32_t> table; // (J, 14) with the keys' steps as they were found
	Buffer<int32_t> predictors;
	Buffer<uint8_t> grid_steps, initial_scales; // of a grid in time: (tracks), (channels)
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

// What an encoder saw: coefficient k of a block stands k frames after its first.
struct Observation
{
	// (C, T): what coefficients should be, what they are, and the quantizer's steps there
	Buffer<float> wanted, series, steps;
	Buffer<int32_t> paces;				// (T) frequencies, in half hertz
	Buffer<int32_t> first_channels;		// (C) the first channel of the same track
	size_t channel_count = 0, size = 0; // bytes of the groups
};

struct DraftRequest
{
	Motion motion;
	const ClipPlan* plan; // of this motion, or of one that it is a part of
	mocpack_KeysineSettings settings;
	Groups groups;
	const Predictors* predictors; // null: none
	const double* shares;		  // (J) of the bound, for what hangs on each joint; null: all
	bool on_grid;
	bool alone; // on one worker
};

// Makes the parts of a payload; false where the search finds none. Fills `seen`, if it is not null.
bool make_draft(EncodeTask* task, const DraftRequest& request, Draft* draft, Observation* seen = nullptr);

} // namespace keysine
} // namespace mocpack
