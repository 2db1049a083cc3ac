// C++17 wrapper of mocpack.h: objects that close themselves, and spans with checked sizes. No exceptions.
// EncodedFile, Scene and Archive are new in 0.2.
//
//     mocpack::Motion motion;
//     mocpack::Reader<float> reader;
//     mocpack_Error error;
//     if (motion.open(bytes, &error) != MOCPACK_OK || reader.open(motion, &error) != MOCPACK_OK)
//         return report(error.message);
//     std::vector<float> rotations(4 * motion.joint_count()), translations(3 * motion.joint_count());
//     reader.sample(seconds, rotations, translations);
#ifndef MOCPACK_HPP
#define MOCPACK_HPP

#include <string_view>
#include <type_traits>
#include <utility>

#include "mocpack/mocpack.h"

namespace mocpack
{

// A view of contiguous elements. Vectors and arrays convert to it implicitly.
template <typename T> class Span
{
  public:
	constexpr Span() = default;
	constexpr Span(T* data, size_t size) : data_(data), size_(size)
	{
	}
	template <typename Container, typename = decltype(std::declval<Container&>().data())>
	constexpr Span(Container& all) : data_(all.data()), size_(all.size())
	{
	}

	constexpr T* data() const
	{
		return data_;
	}
	constexpr size_t size() const
	{
		return size_;
	}
	constexpr T* begin() const
	{
		return data_;
	}
	constexpr T* end() const
	{
		return data_ + size_;
	}
	constexpr T& operator[](size_t i) const
	{
		return data_[i];
	}

  private:
	T* data_ = nullptr;
	size_t size_ = 0;
};

// An open file. It can be moved, and shared by any number of threads.
class Motion
{
  public:
	Motion() = default;
	explicit Motion(mocpack_Motion* owned) : motion_(owned)
	{
	}
	Motion(Motion&& other) noexcept : motion_(std::exchange(other.motion_, nullptr))
	{
	}
	Motion& operator=(Motion&& other) noexcept
	{
		std::swap(motion_, other.motion_);
		return *this;
	}
	Motion(const Motion&) = delete;
	Motion& operator=(const Motion&) = delete;
	~Motion()
	{
		mocpack_close(motion_);
	}

	// The bytes must outlive the motion.
	mocpack_Status open(Span<const unsigned char> bytes, mocpack_Error* error = nullptr,
						const mocpack_OpenOptions* options = nullptr)
	{
		close();
		return mocpack_open(bytes.data(), bytes.size(), options, &motion_, error);
	}
	mocpack_Status open(const mocpack_Source& source, mocpack_Error* error = nullptr,
						const mocpack_OpenOptions* options = nullptr)
	{
		close();
		return mocpack_open_source(&source, options, &motion_, error);
	}
	void close()
	{
		mocpack_close(std::exchange(motion_, nullptr));
	}

	explicit operator bool() const
	{
		return motion_ != nullptr;
	}
	const mocpack_Motion* get() const
	{
		return motion_;
	}

	// A motion that is not open has no frames, joints or tracks.
	const mocpack_Info& info() const
	{
		static const mocpack_Info NOTHING = {};
		return motion_ ? *mocpack_info(motion_) : NOTHING;
	}
	uint64_t frame_count() const
	{
		return info().frame_count;
	}
	size_t joint_count() const
	{
		return info().joint_count;
	}
	double duration() const // seconds from the first frame to the last
	{
		const mocpack_Info& i = info();
		if (!i.frame_count)
			return 0;
		return i.times ? i.times[i.frame_count - 1] - i.times[0] : i.frame_time * double(i.frame_count - 1);
	}
	std::string_view name(size_t joint) const // empty if there is no such joint
	{
		if (joint >= joint_count())
			return {};
		const mocpack_Text& text = info().names[joint];
		return {text.bytes, text.size};
	}
	Span<const int32_t> parents() const
	{
		return {info().parents, joint_count()};
	}
	Span<const double> offsets() const // (J, 3)
	{
		return {info().offsets, 3 * joint_count()};
	}
	Span<const mocpack_Hinge> hinges() const
	{
		return {info().hinges, info().hinge_count};
	}
	Span<const mocpack_Track> tracks() const
	{
		return {info().tracks, info().track_count};
	}

	// Reads the samples of a track (count, width) and their times (count); leave `times` empty to skip them.
	mocpack_Status track_values(size_t track, Span<double> values, Span<double> times = {},
								mocpack_Error* error = nullptr) const
	{
		if (track >= tracks().size())
			return MOCPACK_BAD_ARGUMENT;
		const mocpack_Track& t = tracks()[track];
		const size_t width = t.kind == MOCPACK_TRACK_QUATERNION ? 4 : t.kind == MOCPACK_TRACK_VEC3 ? 3 : 1;
		if (values.size() / width < t.count || (times.data() && times.size() < t.count))
			return MOCPACK_BAD_ARGUMENT;
		return mocpack_track_values(motion_, track, values.data(), times.data(), error);
	}

  private:
	mocpack_Motion* motion_ = nullptr;
};

// Decodes a motion, for one thread at a time. The motion must outlive the reader and must not be moved.
template <typename Number = float> class Reader
{
	static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, double>, "float or double");

  public:
	Reader() = default;
	Reader(Reader&& other) noexcept : reader_(std::exchange(other.reader_, nullptr)), joints_(other.joints_)
	{
	}
	Reader& operator=(Reader&& other) noexcept
	{
		std::swap(reader_, other.reader_);
		std::swap(joints_, other.joints_);
		return *this;
	}
	Reader(const Reader&) = delete;
	Reader& operator=(const Reader&) = delete;
	~Reader()
	{
		mocpack_reader_close(reader_);
	}

	// The template argument overrides options.precision.
	mocpack_Status open(const Motion& motion, mocpack_Error* error = nullptr,
						mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS)
	{
		close();
		options.precision = std::is_same_v<Number, float> ? MOCPACK_FLOAT32 : MOCPACK_FLOAT64;
		joints_ = options.joints ? options.joint_count : motion.joint_count();
		return mocpack_reader_open(motion.get(), &options, &reader_, error);
	}
	void close()
	{
		mocpack_reader_close(std::exchange(reader_, nullptr));
	}

	explicit operator bool() const
	{
		return reader_ != nullptr;
	}
	mocpack_Reader* get() const
	{
		return reader_;
	}
	size_t joint_count() const // joints in the output
	{
		return joints_;
	}

	// Writes rotations (J, 4) and translations (J, 3); an empty span is skipped.
	mocpack_Status sample(double seconds, Span<Number> rotations, Span<Number> translations,
						  mocpack_Error* error = nullptr)
	{
		if (!fits(1, rotations, translations))
			return MOCPACK_BAD_ARGUMENT;
		mocpack_Poses pose = mocpack_poses_dense(rotations.data(), translations.data(), joints_);
		return mocpack_sample(reader_, seconds, &pose, error);
	}

	// Writes rotations (stop - first, J, 4) and translations (stop - first, J, 3).
	mocpack_Status frames(uint64_t first, uint64_t stop, Span<Number> rotations, Span<Number> translations,
						  mocpack_Error* error = nullptr)
	{
		if (first > stop || !fits(stop - first, rotations, translations))
			return MOCPACK_BAD_ARGUMENT;
		mocpack_Poses poses = mocpack_poses_dense(rotations.data(), translations.data(), joints_);
		return mocpack_frames(reader_, first, stop, &poses, error);
	}

  private:
	mocpack_Reader* reader_ = nullptr;
	size_t joints_ = 0;

	bool fits(uint64_t frames, Span<Number> rotations, Span<Number> translations) const
	{
		auto holds = [&](Span<Number> span, uint64_t width)
		{ return !span.data() || span.size() / width / joints_ >= frames; };
		return reader_ && joints_ && holds(rotations, 4) && holds(translations, 3);
	}
};

// An open scene: several clips on one clock. The bytes must outlive it and the motions of its clips.
class Scene
{
  public:
	Scene() = default;
	Scene(Scene&& other) noexcept : scene_(std::exchange(other.scene_, nullptr))
	{
	}
	Scene& operator=(Scene&& other) noexcept
	{
		std::swap(scene_, other.scene_);
		return *this;
	}
	Scene(const Scene&) = delete;
	Scene& operator=(const Scene&) = delete;
	~Scene()
	{
		mocpack_scene_close(scene_);
	}

	mocpack_Status open(Span<const unsigned char> bytes, mocpack_Error* error = nullptr,
						const mocpack_OpenOptions* options = nullptr)
	{
		close();
		return mocpack_scene_open(bytes.data(), bytes.size(), options, &scene_, error);
	}
	mocpack_Status open(const mocpack_Source& source, mocpack_Error* error = nullptr,
						const mocpack_OpenOptions* options = nullptr)
	{
		close();
		return mocpack_scene_open_source(&source, options, &scene_, error);
	}
	void close()
	{
		mocpack_scene_close(std::exchange(scene_, nullptr));
	}

	explicit operator bool() const
	{
		return scene_ != nullptr;
	}
	size_t size() const // number of clips
	{
		return mocpack_scene_clip_count(scene_);
	}
	std::string_view name(size_t clip) const // empty if there is no such clip
	{
		const mocpack_Text text = mocpack_scene_clip_name(scene_, clip);
		return {text.bytes, text.size};
	}
	size_t find(const char* name) const // size() if there is no such clip
	{
		return mocpack_scene_find_clip(scene_, name);
	}
	// The scene may be closed before the motion.
	mocpack_Status open_clip(size_t clip, Motion* motion, mocpack_Error* error = nullptr,
							 const mocpack_OpenOptions* options = nullptr) const
	{
		if (!motion)
			return MOCPACK_BAD_ARGUMENT;
		mocpack_Motion* opened = nullptr;
		const mocpack_Status status = mocpack_scene_open_clip(scene_, clip, options, &opened, error);
		*motion = Motion(opened);
		return status;
	}

  private:
	mocpack_Scene* scene_ = nullptr;
};

// An open archive of many clips. The data of its source must outlive it and the motions of its clips.
class Archive
{
  public:
	Archive() = default;
	Archive(Archive&& other) noexcept : archive_(std::exchange(other.archive_, nullptr))
	{
	}
	Archive& operator=(Archive&& other) noexcept
	{
		std::swap(archive_, other.archive_);
		return *this;
	}
	Archive(const Archive&) = delete;
	Archive& operator=(const Archive&) = delete;
	~Archive()
	{
		mocpack_archive_close(archive_);
	}

	mocpack_Status open(const mocpack_Source& source, mocpack_Error* error = nullptr,
						const mocpack_OpenOptions* options = nullptr)
	{
		close();
		return mocpack_archive_open(&source, options, &archive_, error);
	}
	void close()
	{
		mocpack_archive_close(std::exchange(archive_, nullptr));
	}

	explicit operator bool() const
	{
		return archive_ != nullptr;
	}
	size_t size() const // number of clips
	{
		return mocpack_archive_clip_count(archive_);
	}
	const mocpack_ArchiveClip* clip(size_t clip) const // null if there is no such clip
	{
		return mocpack_archive_clip_info(archive_, clip);
	}
	std::string_view name(size_t clip) const // empty if there is no such clip
	{
		const mocpack_ArchiveClip* found = this->clip(clip);
		return found ? std::string_view(found->name.bytes, found->name.size) : std::string_view();
	}
	size_t find(const char* name) const // size() if there is no such clip
	{
		return mocpack_archive_find_clip(archive_, name);
	}
	// Close the motion before the archive.
	mocpack_Status open_clip(size_t clip, Motion* motion, mocpack_Error* error = nullptr,
							 const mocpack_OpenOptions* options = nullptr) const
	{
		if (!motion)
			return MOCPACK_BAD_ARGUMENT;
		mocpack_Motion* opened = nullptr;
		const mocpack_Status status = mocpack_archive_open_clip(archive_, clip, options, &opened, error);
		*motion = Motion(opened);
		return status;
	}

  private:
	mocpack_Archive* archive_ = nullptr;
};

// A file that mocpack_encode has written.
class EncodedFile
{
  public:
	EncodedFile() = default;
	EncodedFile(EncodedFile&& other) noexcept : file_(std::exchange(other.file_, {}))
	{
	}
	EncodedFile& operator=(EncodedFile&& other) noexcept
	{
		std::swap(file_, other.file_);
		return *this;
	}
	EncodedFile(const EncodedFile&) = delete;
	EncodedFile& operator=(const EncodedFile&) = delete;
	~EncodedFile()
	{
		mocpack_encoded_release(&file_);
	}

	mocpack_Status encode(const mocpack_Clip& clip, mocpack_Error* error = nullptr,
						  const mocpack_EncodeOptions& options = MOCPACK_ENCODE_OPTIONS)
	{
		mocpack_encoded_release(&file_);
		return mocpack_encode(&clip, &options, &file_, error);
	}

	Span<const unsigned char> bytes() const
	{
		return {file_.bytes, file_.size};
	}
	const mocpack_EncodedFile& errors() const // as measured on the decoded file
	{
		return file_;
	}

  private:
	mocpack_EncodedFile file_ = {};
};

} // namespace mocpack

#endif
