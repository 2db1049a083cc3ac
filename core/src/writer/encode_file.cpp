// mocpack_encode: checks a clip, encodes it with keysine, measures the decoded result and writes the file.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>

#include "keysine/encode/encode_clip.h"
#include "math/clip_errors.h"
#include "math/quaternions.h"
#include "reader/error_message.h"
#include "reader/memory.h"
#include "reader/numbers.h"
#include "writer/chunks.h"
#include "writer/deflate.h"
#include "writer/file.h"

using namespace mocpack;

namespace
{

const size_t MAX_FILE_JOINTS = 65535, LONGEST_NAME = 255, LONGEST_HINGE_NAME = 1024;
const size_t MAX_TURNS_PER_JOINT = 2, MAX_SLIDES_PER_JOINT = 3;
const double FARTHEST_POINT_M = 1e6, FARTHEST_PLACE_M = 1e7, LATEST_TIME_S = 1e9;
const double ROTATION_TOLERANCE = 1e-3, HINGE_AXIS_TOLERANCE = 1e-6; // of the length of a unit vector
const double SHELL_M = 0.03;
const uint64_t BITSTREAM_VERSION = 1;
const size_t MAX_WORKERS = 64;
const mocpack_Text CODEC = {"keysine", 7};
// channels of joints whose channels are not given: Z, X and Y rotations of a root after its positions
const mocpack_Text ROOT_CHANNELS = {"\0\1\2\10\7\6", 6}, JOINT_CHANNELS = {"\10\7\6", 3};

class ClipChecker
{
  public:
	ClipChecker(const mocpack_Clip& clip, mocpack_Error* error) : c_(clip), s_(clip.skeleton), error_(error)
	{
	}

	bool run()
	{
		return check_counts() && check_joints() && check_points() && check_hinges() && check_times();
	}

  private:
	ErrorMessage refuse(const char* what)
	{
		return ErrorMessage(error_, MOCPACK_BAD_ARGUMENT) << what;
	}
	bool refuse_joint(size_t joint, const char* what)
	{
		refuse("joint ") << uint64_t(joint) << what;
		return false;
	}

	bool check_counts()
	{
		if (s_.joint_count < 1 || s_.joint_count > MAX_FILE_JOINTS)
			return refuse("the skeleton must have 1 to 65535 joints, got ") << uint64_t(s_.joint_count),
				   false;
		if (!c_.frame_count)
			return refuse("the clip has no frames"), false;
		if (c_.frame_count > SIZE_MAX / 64 / (s_.joint_count + s_.translated_count + 1))
			return refuse("the clip has too many frames for memory"), false;
		if (!s_.names || !s_.parents || !s_.offsets || !c_.rotations ||
			(s_.end_count && (!s_.end_joints || !s_.end_sites)) ||
			(s_.translated_count && (!s_.translated_joints || !c_.translations)) ||
			(s_.hinge_count && !s_.hinges) || (c_.metadata.size && !c_.metadata.bytes))
			return refuse("an array of the clip is null"), false;
		if (s_.end_count > MAX_FILE_JOINTS || s_.hinge_count > MAX_FILE_JOINTS)
			return refuse("the skeleton has more than 65535 end sites or hinges"), false;
		if (!is_frame_time(c_.frame_time))
			return refuse("the frame time must be 1e-6 to 1e6 seconds, got ") << c_.frame_time, false;
		if (s_.unit != 0 && !(s_.unit > 0 && s_.unit < 1e9))
			return refuse("the unit must be a positive length, got ") << s_.unit, false;
		int up; // callers in C can pass any number
		static_assert(sizeof up == sizeof c_.up, "an enumeration is an int");
		std::memcpy(&up, &c_.up, sizeof up);
		if (up < MOCPACK_AXIS_Y || up > MOCPACK_AXIS_Z)
			return refuse("unknown up axis"), false;
		return true;
	}

	bool check_joints()
	{
		for (size_t j = 0; j < s_.joint_count; ++j)
		{
			if (s_.parents[j] < -1 || s_.parents[j] >= int32_t(j))
				return refuse_joint(j, ": its parent must be an earlier joint, or -1");
			if (s_.names[j].size > LONGEST_NAME || (s_.names[j].size && !s_.names[j].bytes))
				return refuse_joint(j, ": its name must have at most 255 bytes");
			if (s_.channels && (s_.channels[j].size > 9 || (s_.channels[j].size && !s_.channels[j].bytes)))
				return refuse_joint(j, ": its channels are not those of a file");
			if (s_.rest_rotations && !is_unit(s_.rest_rotations + 4 * j, 4, ROTATION_TOLERANCE))
				return refuse_joint(j, ": its rest rotation is not a unit quaternion");
			if (s_.channel_frames && !is_unit(s_.channel_frames + 4 * j, 4, HINGE_AXIS_TOLERANCE))
				return refuse_joint(j, ": the frame of its channels is not a unit quaternion");
		}
		for (size_t m = 0; m < s_.translated_count; ++m)
			if (s_.translated_joints[m] <= (m ? s_.translated_joints[m - 1] : -1) ||
				size_t(s_.translated_joints[m]) >= s_.joint_count)
				return refuse("translated joints must be joints in increasing order"), false;
		for (size_t e = 0; e < s_.end_count; ++e)
			if (s_.end_joints[e] < (e ? s_.end_joints[e - 1] : 0) ||
				size_t(s_.end_joints[e]) >= s_.joint_count)
				return refuse("joints of end sites must be joints in order"), false;
		return true;
	}

	bool check_points()
	{
		if (!are_within(s_.offsets, 3 * s_.joint_count, FARTHEST_POINT_M) ||
			!are_within(s_.end_sites, 3 * s_.end_count, FARTHEST_POINT_M))
			return refuse("offsets and end sites must be finite, and within 1e6 meters"), false;
		if (!are_within(c_.translations, size_t(c_.frame_count) * 3 * s_.translated_count, FARTHEST_PLACE_M))
			return refuse("translations must be finite, and within 1e7 meters"), false;
		return true;
	}

	bool check_hinges()
	{
		for (size_t h = 0; h < s_.hinge_count; ++h)
		{
			const mocpack_Hinge& hinge = s_.hinges[h];
			if (hinge.joint < 0 || size_t(hinge.joint) >= s_.joint_count)
				return refuse("hinge ") << uint64_t(h) << ": its joint does not exist", false;
			if (!is_unit(hinge.axis, 3, HINGE_AXIS_TOLERANCE))
				return refuse("hinge ") << uint64_t(h) << ": its axis is not a unit vector", false;
			if (!(hinge.lower_limit <= hinge.upper_limit))
				return refuse("hinge ") << uint64_t(h) << ": its limits are not in order", false;
			if (hinge.name.size > LONGEST_HINGE_NAME || (hinge.name.size && !hinge.name.bytes))
				return refuse("hinge ") << uint64_t(h) << ": its name must have at most 1024 bytes", false;
		}
		return true;
	}

	bool check_times()
	{
		if (!(std::fabs(c_.start_time) <= LATEST_TIME_S))
			return refuse("the start time must be within 1e9 seconds, got ") << c_.start_time, false;
		for (size_t t = 0; c_.times && t < c_.frame_count; ++t)
			if (!(std::fabs(c_.times[t]) <= LATEST_TIME_S) || (t && !(c_.times[t] > c_.times[t - 1])))
				return refuse("times must increase, and be within 1e9 seconds: frame ") << uint64_t(t), false;
		return true;
	}

	static bool are_within(const double* numbers, size_t count, double most)
	{
		return std::all_of(numbers, numbers + count, [most](double n) { return std::fabs(n) <= most; });
	}

	static bool is_unit(const double* vector, size_t size, double tolerance)
	{
		double square = 0;
		for (size_t i = 0; i < size; ++i)
			square += vector[i] * vector[i];
		return std::fabs(std::sqrt(square) - 1) <= tolerance;
	}

	const mocpack_Clip& c_;
	const mocpack_ClipSkeleton& s_;
	mocpack_Error* error_;
};

// The executor of the caller, with a number for every task that runs at the same time as others.
class Workers
{
  public:
	explicit Workers(const mocpack_Executor* executor)
	{
		if (executor && executor->max_concurrency > 1)
			executor_ = *executor;
		count_ = executor_.run ? std::min(executor_.max_concurrency, MAX_WORKERS) : 1;
	}
	size_t count() const
	{
		return count_;
	}

	void run(size_t count, void (*task)(void* context, size_t i, size_t worker), void* context)
	{
		if (!executor_.run || count < 2)
		{
			for (size_t i = 0; i < count; ++i)
				task(context, i, 0);
			return;
		}
		// an executor that runs more tasks at a time than it says gets only as many indices as it has workers
		struct Share
		{
			std::atomic<size_t> next{0};
			size_t count;
			void (*task)(void*, size_t, size_t);
			void* context;
		} share;
		share.count = count, share.task = task, share.context = context;
		executor_.run(
			executor_.user,
			[](void* own, size_t worker)
			{
				Share& all = *static_cast<Share*>(own);
				for (size_t i = all.next++; i < all.count; i = all.next++)
					all.task(all.context, i, worker);
			},
			&share, std::min(count_, count));
	}

  private:
	mocpack_Executor executor_ = {};
	size_t count_;
};

// What the callbacks of one call need.
struct Callbacks
{
	Workers workers;
	const mocpack_EncodeOptions& options;

	static void parallel_for(void* user, size_t count, void (*task)(void*, size_t, size_t), void* context)
	{
		static_cast<Callbacks*>(user)->workers.run(count, task, context);
	}
	static int progress(void* user, double share)
	{
		const mocpack_EncodeOptions& own = static_cast<Callbacks*>(user)->options;
		return own.progress ? own.progress(own.user, share) : 0;
	}
};

// A clip as the codec encodes it: one tree of joints, with a joint at the origin if there are several roots.
class CodecClip
{
  public:
	// Returns false and sets the error if a rotation is not a unit quaternion, hinges cannot be encoded or
	// there is no memory.
	bool prepare(const mocpack_Clip& clip, const mocpack_Allocator& memory, mocpack_Error* error)
	{
		const mocpack_ClipSkeleton& s = clip.skeleton;
		added_ = std::count(s.parents, s.parents + s.joint_count, -1) > 1;
		frames_ = size_t(clip.frame_count);
		skeleton_.joint_count = s.joint_count + added_;
		skeleton_.end_count = s.end_count, skeleton_.translated_count = s.translated_count;
		skeleton_.hinge_count = s.hinge_count;
		return (lay_out_tree(s, memory) && lay_out_poses(clip, memory)) || no_memory(error, "the clip")
				   ? check_rotations(clip, error) && sort_hinges(s, error)
				   : false;
	}

	const mocpack_Skeleton& skeleton() const
	{
		return skeleton_;
	}
	size_t added() const
	{
		return added_;
	}
	const double* rest() const // (J) of the file's joints
	{
		return rest_.data();
	}
	keysine::SourceClip view(double frame_time) const
	{
		return {&skeleton_, names_.data(), rotations_.data(), translations_, frames_, 1.0 / frame_time};
	}

  private:
	bool lay_out_tree(const mocpack_ClipSkeleton& s, const mocpack_Allocator& memory)
	{
		const size_t joints = skeleton_.joint_count;
		size_t text_size = 1;
		for (size_t j = 0; j < s.joint_count; ++j)
			text_size += s.names[j].size + 1;
		if (!parents_.take(memory, joints) || !offsets_.take(memory, 3 * joints) ||
			!ends_.take(memory, s.end_count) || !translated_.take(memory, s.translated_count) ||
			!rest_.take(memory, 4 * s.joint_count) || !codec_rest_.take(memory, 4 * joints) ||
			!names_.take(memory, joints) || !text_.take(memory, text_size) ||
			!hinge_joints_.take(memory, s.hinge_count) || !slides_.take(memory, s.hinge_count) ||
			!axes_.take(memory, 3 * s.hinge_count) || !limits_.take(memory, 2 * s.hinge_count))
			return false;
		for (size_t j = 0; j < s.joint_count; ++j)
			rest_[4 * j + 3] = 1;
		if (s.rest_rotations)
			round_rest(s.rest_rotations, s.joint_count, rest_.data());
		const int32_t shift = int32_t(added_);
		parents_[0] = -1;
		for (size_t j = 0; j < joints; ++j)
			codec_rest_[4 * j + 3] = 1;
		names_[0] = text_.data(); // an empty name
		char* text = text_.data() + 1;
		for (size_t j = 0; j < s.joint_count; ++j)
		{
			parents_[j + added_] = added_ || s.parents[j] >= 0 ? s.parents[j] + shift : -1;
			std::copy_n(s.offsets + 3 * j, 3, offsets_.data() + 3 * (j + added_));
			// without hinges, codecs ignore rest rotations
			if (s.hinge_count)
				std::copy_n(rest_.data() + 4 * j, 4, codec_rest_.data() + 4 * (j + added_));
			names_[j + added_] = text;
			text = std::copy_n(s.names[j].bytes, s.names[j].size, text) + 1;
		}
		for (size_t e = 0; e < s.end_count; ++e)
			ends_[e] = s.end_joints[e] + shift;
		for (size_t m = 0; m < s.translated_count; ++m)
			translated_[m] = s.translated_joints[m] + shift;
		skeleton_.parents = parents_.data(), skeleton_.offsets = offsets_.data();
		skeleton_.end_joints = ends_.data(), skeleton_.end_sites = s.end_sites;
		skeleton_.translated_joints = translated_.data(), skeleton_.rest = codec_rest_.data();
		skeleton_.hinge_joints = hinge_joints_.data(), skeleton_.hinge_slides = slides_.data();
		skeleton_.hinge_axes = axes_.data(), skeleton_.hinge_limits = limits_.data();
		return true;
	}

	bool lay_out_poses(const mocpack_Clip& clip, const mocpack_Allocator& memory)
	{
		const size_t joints = clip.skeleton.joint_count;
		translations_ = clip.translations;
		if (!rotations_.take_room(memory, 4 * frames_ * (joints + added_)))
			return false;
		double* to = rotations_.data();
		for (size_t t = 0; t < frames_; ++t)
		{
			for (size_t c = 0; c < 4 * added_; ++c)
				*to++ = c == 3;
			to = std::copy_n(clip.rotations + 4 * joints * t, 4 * joints, to);
		}
		return true;
	}

	bool check_rotations(const mocpack_Clip& clip, mocpack_Error* error)
	{
		if (mocpack_are_rotations_normalized(rotations_.data(), frames_, skeleton_.joint_count))
			return true;
		const int64_t bad = mocpack_normalize_rotations(rotations_.data(), frames_, skeleton_.joint_count,
														ROTATION_TOLERANCE);
		if (bad < 0)
			return true;
		const uint64_t joint = uint64_t(bad) % skeleton_.joint_count - added_;
		ErrorMessage message(error, MOCPACK_BAD_ARGUMENT);
		message << "frame " << uint64_t(bad) / skeleton_.joint_count << ": the rotation of joint ";
		message.quote(clip.skeleton.names[joint].bytes, clip.skeleton.names[joint].size)
			<< " is not a unit quaternion";
		return false;
	}

	// Sorts hinges by joint. Those of one joint keep their order.
	bool sort_hinges(const mocpack_ClipSkeleton& s, mocpack_Error* error)
	{
		size_t to = 0;
		for (size_t j = 0; j < s.joint_count && s.hinge_count; ++j)
		{
			size_t turns = 0, slides = 0;
			for (size_t h = 0; h < s.hinge_count; ++h)
			{
				const mocpack_Hinge& hinge = s.hinges[h];
				if (size_t(hinge.joint) != j)
					continue;
				++(hinge.slides ? slides : turns);
				if ((hinge.slides && turns) || turns > MAX_TURNS_PER_JOINT || slides > MAX_SLIDES_PER_JOINT)
				{
					ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
						<< "joint " << uint64_t(j)
						<< ": a joint has at most three sliding hinges before at most two turning ones";
					return false;
				}
				hinge_joints_[to] = int32_t(j + added_), slides_[to] = hinge.slides != 0;
				std::copy_n(hinge.axis, 3, axes_.data() + 3 * to);
				limits_[2 * to] = hinge.lower_limit, limits_[2 * to + 1] = hinge.upper_limit;
				++to;
			}
		}
		return true;
	}

	size_t added_ = 0, frames_ = 0;
	mocpack_Skeleton skeleton_ = {};
	Buffer<int32_t> parents_, ends_, translated_, hinge_joints_;
	Buffer<double> offsets_, rest_, codec_rest_, axes_, limits_, rotations_;
	Buffer<uint8_t> slides_;
	Buffer<const char*> names_;
	Buffer<char> text_;
	const double* translations_ = nullptr;
};

// Returns the q-th part of sorted numbers, interpolated as numpy does. Reorders them.
double quantile(double* numbers, size_t count, double q)
{
	const double at = q * double(count - 1);
	const size_t below = size_t(at);
	std::nth_element(numbers, numbers + below, numbers + count);
	const double low = numbers[below],
				 high = below + 1 < count ? *std::min_element(numbers + below + 1, numbers + count) : low,
				 share = at - double(below);
	return share >= 0.5 ? high - (high - low) * (1 - share) : low + (high - low) * share;
}

// Measures the decoded clip. Distances count the joints of the file.
bool measure(const CodecClip& clip, const keysine::SourceClip& source, const keysine::EncodedClip& made,
			 const mocpack_Allocator& memory, mocpack_EncodedFile* file)
{
	const size_t joints = clip.skeleton().joint_count, added = clip.added(), frames = source.frame_count,
				 count = frames * (joints - added);
	mocpack_ClipErrors errors;
	Buffer<double> distances;
	Buffer<uint8_t> scratch;
	if (!distances.take(memory, frames * joints) ||
		!scratch.take(memory, mocpack_clip_errors_scratch_size(joints)))
		return false;
	mocpack_clip_errors(&clip.skeleton(), source.rotations, source.translations, made.rotations.data(),
						made.translations.data(), frames, SHELL_M, scratch.data(), &errors, nullptr, nullptr,
						nullptr, distances.data());
	double sum = 0, squares = 0;
	for (size_t i = 0, to = 0; i < frames * joints; ++i)
		if (i % joints >= added)
		{
			sum += distances[i], squares += distances[i] * distances[i];
			distances[to++] = distances[i];
		}
	file->measured_max = errors.promised_max;
	file->measured_mean = added ? sum / double(count) : errors.joint_mean;
	file->measured_rms = added ? std::sqrt(squares / double(count)) : errors.joint_rms;
	file->measured_p99 = quantile(distances.data(), count, 0.99);
	return true;
}

class FileBuilder
{
  public:
	FileBuilder(const mocpack_Clip& clip, const CodecClip& codec_clip, const mocpack_Allocator& memory)
		: c_(clip), s_(clip.skeleton), codec_clip_(codec_clip), memory_(memory)
	{
	}

	void write(const mocpack_EncodeOptions& options, const keysine::EncodedClip& made,
			   const mocpack_EncodedFile& errors, FieldWriter* out)
	{
		const mocpack_Text empty = {"", 0};
		FieldWriter head(memory_), skeleton(memory_), rest(memory_), hinges(memory_), times(memory_),
			play(memory_), gaps(memory_), meta(memory_);
		write_head({false,
					c_.frame_count,
					c_.frame_time,
					CODEC,
					BITSTREAM_VERSION,
					empty,
					empty,
					options.max_error,
					{errors.measured_max, errors.measured_mean, errors.measured_rms, errors.measured_p99},
					NO_ERROR_BOUND,
					NO_ERROR_BOUND},
				   &head);
		add("HEAD", head);
		write_own_skeleton(&skeleton);
		add("SKEL", skeleton);
		const double* rotations = codec_clip_.rest();
		if (std::any_of(rotations, rotations + 4 * s_.joint_count,
						[](double x) { return x != 0 && x != 1; }) ||
			has_turned_rest())
		{
			write_rest(rotations, s_.joint_count, &rest);
			add("REST", rest);
		}
		if (s_.hinge_count)
		{
			write_own_hinges(&hinges);
			add("HING", hinges);
		}
		if (c_.start_time != 0 || c_.times)
		{
			write_times(c_.start_time, c_.times, size_t(c_.frame_count), &times);
			add("TIME", times);
		}
		if (c_.metadata.size)
		{
			deflate(reinterpret_cast<const uint8_t*>(c_.metadata.bytes), c_.metadata.size, &meta);
			add("meta", meta);
		}
		const unsigned flags =
			unsigned(c_.is_looping != 0) | unsigned(c_.up) << 1 | (c_.is_left_handed ? 8u : 0u);
		if (flags)
		{
			play.u8(flags);
			add("play", play);
		}
		if (c_.valid && !std::all_of(c_.valid, c_.valid + c_.frame_count * s_.joint_count,
									 [](uint8_t valid) { return valid != 0; }))
		{
			write_gaps(c_.valid, size_t(c_.frame_count), s_.joint_count, &gaps);
			add("vald", gaps);
		}
		chunks_[count_++] = {{'D', 'A', 'T', 'A'}, made.payload.data(), made.payload.size()};
		if (!good_)
			return out->fail();
		write_file(chunks_, count_, {c_.frame_count, s_.joint_count}, out);
	}

  private:
	void add(const char* tag, const FieldWriter& body)
	{
		FileChunk& chunk = chunks_[count_++];
		std::copy_n(tag, 4, chunk.tag);
		chunk.body = body.data(), chunk.size = body.size();
		good_ = good_ && body.good();
	}

	bool has_turned_rest() const
	{
		for (size_t j = 0; j < s_.joint_count; ++j)
			if (codec_clip_.rest()[4 * j + 3] != 1)
				return true;
		return false;
	}

	void write_own_skeleton(FieldWriter* out)
	{
		Buffer<mocpack_Text> channels;
		if (!channels.take(memory_, s_.joint_count))
			return out->fail();
		for (size_t j = 0; j < s_.joint_count; ++j)
			channels[j] = s_.channels ? s_.channels[j] : s_.parents[j] < 0 ? ROOT_CHANNELS : JOINT_CHANNELS;
		write_skeleton({s_.joint_count, s_.names, s_.parents, channels.data(), s_.translated_count,
						s_.translated_joints, s_.end_count, s_.end_joints, s_.unit > 0 ? s_.unit : 1.0,
						s_.offsets, s_.end_sites, s_.channel_frames},
					   out);
	}

	void write_own_hinges(FieldWriter* out)
	{
		Buffer<int32_t> joints;
		Buffer<uint8_t> slides;
		Buffer<mocpack_Text> names;
		Buffer<double> axes, limits;
		const size_t count = s_.hinge_count;
		if (!joints.take(memory_, count) || !slides.take(memory_, count) || !names.take(memory_, count) ||
			!axes.take(memory_, 3 * count) || !limits.take(memory_, 2 * count))
			return out->fail();
		for (size_t h = 0; h < count; ++h)
		{
			const mocpack_Hinge& hinge = s_.hinges[h];
			joints[h] = hinge.joint, slides[h] = hinge.slides != 0, names[h] = hinge.name;
			std::copy_n(hinge.axis, 3, axes.data() + 3 * h);
			limits[2 * h] = hinge.lower_limit, limits[2 * h + 1] = hinge.upper_limit;
		}
		write_hinges({count, joints.data(), slides.data(), names.data(), axes.data(), limits.data(), false},
					 s_.names, s_.joint_count, out);
	}

	const mocpack_Clip& c_;
	const mocpack_ClipSkeleton& s_;
	const CodecClip& codec_clip_;
	const mocpack_Allocator& memory_;
	FileChunk chunks_[9] = {};
	size_t count_ = 0;
	bool good_ = true;
};

// Owns an encoded file, in memory of its allocator.
struct OwnedFile
{
	mocpack_Allocator allocator;
	FieldWriter bytes;
};

// Opens the file as its readers do, so that none is returned that they refuse.
bool opens(const FieldWriter& bytes, const mocpack_Allocator& memory, mocpack_Error* error)
{
	mocpack_Motion* motion = nullptr;
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.allocator = &memory, options.memory_limit = UINT64_MAX;
	const mocpack_Status status = mocpack_open(bytes.data(), bytes.size(), &options, &motion, error);
	mocpack_close(motion);
	if (status != MOCPACK_OK && status != MOCPACK_NO_MEMORY)
		error->status = MOCPACK_BAD_ARGUMENT; // the message says which part of the clip no file can hold
	return status == MOCPACK_OK;
}

mocpack_Status encode(const mocpack_Clip& clip, const mocpack_EncodeOptions& options,
					  const mocpack_Allocator& memory, mocpack_EncodedFile* file, mocpack_Error* error)
{
	if (!ClipChecker(clip, error).run())
		return error->status;
	CodecClip codec_clip;
	if (!codec_clip.prepare(clip, memory, error))
		return error->status;
	Callbacks callbacks = {Workers(options.executor), options};
	const keysine::SourceClip source = codec_clip.view(clip.frame_time);
	keysine::ClipTarget target;
	target.max_error = options.max_error, target.streamed = options.is_streamed != 0;
	target.effort = options.effort == MOCPACK_EFFORT_FAST ? MOCPACK_KEYSINE_FAST : MOCPACK_KEYSINE_DEFAULT;
	const WorkContext work = {
		memory, &callbacks, callbacks.workers.count(), Callbacks::parallel_for, Callbacks::progress, nullptr};
	keysine::EncodedClip made;
	const mocpack_Status status = keysine::encode_clip(source, target, work, keysine::Constants(), &made);
	if (status == MOCPACK_NO_MEMORY)
		return no_memory(error, "the encoder"), status;
	if (status == MOCPACK_CANCELED)
		return ErrorMessage(error, status) << "the progress callback canceled the call";
	if (status == MOCPACK_BOUND_NOT_MET)
		return ErrorMessage(error, status)
			   << "keysine cannot keep this clip within " << options.max_error << " m";
	if (status != MOCPACK_OK)
		return ErrorMessage(error, status) << "keysine cannot encode this clip";
	mocpack_EncodedFile found = {};
	mocpack_Status result = MOCPACK_NO_MEMORY;
	void* room = memory.allocate(memory.user, sizeof(OwnedFile));
	OwnedFile* owned = room ? new (room) OwnedFile{memory, FieldWriter(memory)} : nullptr;
	found.memory = owned;
	if (!owned || !measure(codec_clip, source, made, memory, &found))
		no_memory(error, "the file");
	else if (found.measured_max > options.max_error)
		result = ErrorMessage(error, MOCPACK_BOUND_NOT_MET)
				 << "the error of the decoded clip is " << found.measured_max << " m, more than "
				 << options.max_error << " m";
	else
	{
		FileBuilder(clip, codec_clip, memory).write(options, made, found, &owned->bytes);
		if (!owned->bytes.good())
			no_memory(error, "the file");
		else
			result = opens(owned->bytes, memory, error) ? MOCPACK_OK : error->status;
	}
	if (result == MOCPACK_OK)
		found.bytes = owned->bytes.data(), found.size = owned->bytes.size(), *file = found;
	else
		mocpack_encoded_release(&found);
	return result;
}

} // namespace

mocpack_Status mocpack_encode(const mocpack_Clip* clip, const mocpack_EncodeOptions* options,
							  mocpack_EncodedFile* file, mocpack_Error* error)
{
	mocpack_Error unused;
	error = error ? error : &unused;
	if (file)
		*file = {};
	if (!clip || !file)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT) << "the clip or the file is null";
	const mocpack_EncodeOptions defaults = MOCPACK_ENCODE_OPTIONS;
	const mocpack_EncodeOptions& own = options ? *options : defaults;
	if (own.struct_size != sizeof own)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "the options are not those of MOCPACK_ENCODE_OPTIONS";
	if ((own.allocator && (!own.allocator->allocate || !own.allocator->release)) ||
		(own.executor && !own.executor->run))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "a function of the allocator or the executor is null";
	if (!(own.max_error > 0 && own.max_error < 1e6))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "max_error must be a positive length in meters, got " << own.max_error;
	int effort; // callers in C can pass any number
	static_assert(sizeof effort == sizeof own.effort, "an enumeration is an int");
	std::memcpy(&effort, &own.effort, sizeof effort);
	if (effort != MOCPACK_EFFORT_FAST && effort != MOCPACK_EFFORT_DEFAULT)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT) << "unknown effort";
	const mocpack_Allocator memory = own.allocator ? *own.allocator : default_allocator();
	return encode(*clip, own, memory, file, error);
}

void mocpack_encoded_release(mocpack_EncodedFile* file)
{
	if (!file)
		return;
	OwnedFile* owned = static_cast<OwnedFile*>(file->memory);
	*file = {};
	if (!owned)
		return;
	const mocpack_Allocator memory = owned->allocator;
	owned->~OwnedFile();
	memory.release(memory.user, owned, sizeof(OwnedFile));
}
