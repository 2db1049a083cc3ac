// Decodes a payload that the encoder has just written with the format's own decoder, and measures it.
#pragma once
#include "keysine/decode/decode.h"
#include "keysine/encode/draft.h"
#include "math/clip_errors.h"

namespace mocpack
{
namespace keysine
{

// Frames of a decoded motion.
struct DecodedMotion
{
	size_t first = 0, frames = 0;
	Buffer<double> rotations, translations;
};

class WrittenPayload
{
  public:
	// Reads the head and the keys. The bytes must outlive this. Groups may have no bytes.
	bool open(EncodeTask* task, const uint8_t* bytes, size_t size);

	const mocpack_KeysineLayout& layout() const
	{
		return layout_;
	}
	const mocpack_KeysineFields& fields() const
	{
		return fields_;
	}
	size_t key_frame(size_t key) const
	{
		return mocpack_keysine_key_frame(head_, key);
	}
	const mocpack_KeysineHead* head() const
	{
		return head_;
	}
	const int32_t* keys_of(size_t group) const
	{
		return keys_.data() + group * layout_.channel_count;
	}
	// Returns the bytes of a group in the first layer.
	Bytes group(size_t group) const;

	// Decodes groups `first` to `first + count - 1` and the key after them, with this many layers (0: only
	// lines between the keys).
	bool decode(EncodeTask* task, size_t first, size_t count, size_t layers, DecodedMotion* motion);
	// Decodes groups of a payload of one layer that is coarsened to these shifts (2, tracks). Keeps their
	// symbols for the next call, which must name the same groups.
	bool decode_coarse(EncodeTask* task, size_t first, size_t count, const uint8_t* shifts,
					   DecodedMotion* motion);

  private:
	// Decodes groups and the key after them. decode_group(group, frame, turn, place, worker) returns a
	// status.
	template <typename DecodeGroup>
	bool decode_groups(EncodeTask* task, size_t first, size_t count, DecodeGroup decode_group,
					   DecodedMotion* motion);
	Bytes part(size_t part) const;
	bool decode_keys(EncodeTask* task, size_t layers);

	const uint8_t* bytes_ = nullptr;
	Buffer<uint8_t> memory_;
	mocpack_KeysineHead* head_ = nullptr;
	mocpack_KeysineLayout layout_ = {};
	mocpack_KeysineFields fields_ = {};
	Buffer<size_t> offsets_; // (parts + 1)
	Buffer<int32_t> keys_;	 // (groups + 1, channels)
	size_t key_layers_ = 0;	 // layers with which the keys were decoded
	WorkerArenas coarse_;	 // of the groups of decode_coarse
	bool is_read_ = false;	 // whether coarse_ holds their symbols
};

// Measures the errors of a decoded motion against the clip's frames from `first` on. joint_max (J), if not
// null, receives the largest error of each joint.
mocpack_ClipErrors clip_errors(EncodeTask* task, size_t first, const DecodedMotion& decoded,
							   double* joint_max = nullptr);

// The largest and the mean error of each frame (T), in meters.
struct FrameErrors
{
	Buffer<double> largest, mean;
};

// Measures a decoded motion of all frames as its file states errors: by the caller's measure, if there is
// one.
bool measure_frames(EncodeTask* task, const DecodedMotion& decoded, FrameErrors* errors);

// Returns whether a decoded motion of all frames keeps the bounds of every joint. Half of the decoder's
// margin must remain in bounds on displacements.
bool keeps_bounds(EncodeTask* task, const DecodedMotion& decoded);

} // namespace keysine
} // namespace mocpack
