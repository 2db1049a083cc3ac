// The state of a block while its tracks are coded: the symbols of its group, and the motion that is decoded
// from them.
#pragma once
#include "keysine/encode/encoder.h"
#include "keysine/encode/spans.h"
#include "keysine/format/curves.h"

namespace mocpack
{
namespace keysine
{

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

struct BlockState
{
	BlockState(const Encoder& encoder_, Arena* arena);

	// Splits a group into 2^splits blocks and clears their coefficients. all_keys: all keys that the group
	// may have. Returns false if the group cannot be split this way.
	bool begin_group(size_t group_, const int32_t* all_keys, int splits);
	// Begins a block with the source's motion.
	void begin_block(size_t b_);

	// Returns the frames of the block, from its first key on.
	int32_t length() const
	{
		return n + 1;
	}
	int32_t* row_of(const Track& track, int32_t c) const
	{
		return symbols.rows.values + symbols.shape.row(track.first_channel + c, b);
	}
	// Returns the line between the keys at frame t of the block.
	double line(const Track& track, int32_t c, int32_t t) const
	{
		double key = track.key_step * keys[track.first_channel + c];
		double next = track.key_step * keys[encoder.plan.channel_count + size_t(track.first_channel + c)];
		return key + (next - key) / length() * t;
	}
	// Returns whether a joint cannot keep its bounds in some frame.
	bool is_strained() const
	{
		bool any = false;
		for (int32_t t = 0; t < n; ++t)
			any = any || strained[t];
		return any;
	}

	SavedBlock lay_out_saved_block(Arena* arena) const;
	// Copies the rows and the decoded motion of a span of the block to `saved`, or back.
	void copy_span(const SavedBlock& saved, const Span& span, bool saves) const;

	const Encoder& encoder;
	MotionPair pair;
	GroupSymbols symbols;
	CoefficientContext context;
	RowSums sums[4];
	size_t group = 0, group_length = 0, first_frame = 0; // of the block in its group
	int32_t stride, b = 0, n = 0, width = 0; // columns of rows; block; frames between its keys, padded
	const int32_t* keys = nullptr;			 // (2, channels) at its ends
	size_t next_predictor = 0;				 // of the next track
	double* sines;
	float* waves; // column t of the search is frame t + 1, and row k - 1 is frequency k
	SeriesBlock series;
	uint8_t* strained; // (frames) Strain

  private:
	void set_length(int32_t length);

	size_t* frames_;
	const int32_t* filled_ = nullptr; // keys of the block that the pair holds
};

} // namespace keysine
} // namespace mocpack
