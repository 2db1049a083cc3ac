// Decodes any frames of a keysine payload into arrays, with groups on the caller's threads.
#pragma once
#include "common/arena.h"
#include "features/windows.h"
#include "keysine/encode/encode_clip.h"
#include "reader/keysine_groups.h"

namespace mocpack
{

// Opens a payload that is not in a file, or returns null. mocpack_close closes it. `skeleton` must outlive
// it. `like` is the head of another payload of this skeleton, or null.
mocpack_Motion* open_keysine_payload(const mocpack_Skeleton& skeleton, uint64_t frame_count,
									 const Bytes& bytes, const PayloadPlace& place, uint32_t flags,
									 uint64_t memory_limit, mocpack_Error* error,
									 const mocpack_KeysineHead* like = nullptr);

// Opens the payload of the file of a clip that has the skeleton, codec and bitstream of another: of
// `like_file`, which open_clip opened without its payload, and of `like`, its payload. Returns null for any
// other file, for one with uneven frame times, and for one whose decoded frames may exceed the memory limit.
// The skeleton of `like` must outlive it.
mocpack_Motion* open_keysine_alike(const Bytes& bytes, const mocpack_Motion& like_file,
								   const mocpack_Skeleton& skeleton, const mocpack_KeysineHead* like,
								   uint64_t memory_limit);

// Selects joints, in the order of the skeleton: `rotations` (J) and `translations` (M) receive their columns.
// Returns false if a joint does not exist.
bool select_joints(const mocpack_Skeleton& skeleton, const int32_t* joints, size_t joint_count,
				   int32_t* rotations, int32_t* translations, mocpack_KeysineColumns* columns);

// The first key poses (count, channels) of a segment.
struct SegmentKeys
{
	size_t segment; // NO_GROUP: none
	size_t count;
	const int32_t* keys;
};

// Frames first … stop - 1 of a payload: fetch their bytes, then decode them.
class KeysineFrames
{
  public:
	// The frames must exist. `known` are key poses from an earlier call, which need not be read again.
	KeysineFrames(const mocpack_Motion& motion, uint64_t first, uint64_t stop, const WorkContext& work,
				  const SegmentKeys& known);
	~KeysineFrames();
	KeysineFrames(const KeysineFrames&) = delete;
	KeysineFrames& operator=(const KeysineFrames&) = delete;

	// Returns the bytes that `fetch` allocates.
	size_t memory_size();

	// Allocates memory and reads the bytes of the frames, neighboring bytes at once. Only this function calls
	// the source.
	bool fetch(mocpack_Error* error);

	// Decodes the frames. Normalizes quaternions if `normalized`, which rows of floats do not support.
	bool decode(const FrameArrays& out, bool normalized, mocpack_Error* error);

	// Decodes the key poses at the ends of the groups of these frames: one more than there are groups.
	bool decode_keys(const FrameArrays& out, mocpack_Error* error);

	// Writes a window (rows, width of the plan) of these frames.
	bool write_window(const mocpack_WindowPlan& plan, double step, double rate, size_t rows, float* out,
					  mocpack_Error* error);

	// Returns the key poses of the last segment that was decoded.
	SegmentKeys last_keys() const;

  private:
	struct Task : GroupLane
	{
		mocpack_Error error;
		bool good;
	};

	void lay_out(Arena* arena);
	// Returns the group after those of a task, which is also its last key pose.
	size_t end_of_task(size_t index) const
	{
		return first_group_ + group_count_ * (index + 1) / task_count_;
	}
	bool run(const FrameArrays& out, bool keys_only, mocpack_Error* error);
	bool run_task(size_t index, const FrameArrays& out, bool keys_only);
	bool is_canceled(Task* task) const;
	bool normalize(const FrameArrays& out, size_t frames, mocpack_Error* error) const;
	static mocpack_Status read_fetched(void* user, uint64_t offset, size_t size, void* dst);

	const mocpack_Motion& motion_;
	const WorkContext& work_;
	SegmentKeys known_;
	uint64_t first_, stop_;
	size_t first_group_, group_count_; // no group for a clip of one frame
	size_t range_count_, task_count_;
	mocpack_Range ranges_[MAX_RANGES];
	uint8_t* fetched_[MAX_RANGES];
	Task* tasks_ = nullptr;
	void* memory_ = nullptr;
	size_t memory_size_ = 0;
};

} // namespace mocpack
