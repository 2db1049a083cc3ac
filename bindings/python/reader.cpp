// Bindings of the core's reader: parses files up to their payload. Codecs decode the frames.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/checksum.h"
#include "common/crc32.h"
#include "python_source.h"
#include "reader/archive.h"
#include "reader/chunks.h"
#include "reader/numbers.h"

using mocpack::Chunk;
using mocpack::Chunks;
using mocpack::Memory;

PythonSource::PythonSource(nb::handle source) : owner(nb::borrow(source))
{
	nb::object data = nb::isinstance<nb::bytes>(source) ? owner : nb::object(owner.attr("data"));
	if (data.is_none())
	{
		bytes.source = {this, nb::cast<uint64_t>(owner.attr("size")), read};
		start = nb::cast<nb::bytes>(owner.attr("start"));
		return;
	}
	owner = data;
	nb::bytes all = nb::cast<nb::bytes>(data);
	bytes.all = static_cast<const uint8_t*>(all.data());
	bytes.source.size = all.size();
}

mocpack_Status PythonSource::read(void* user, uint64_t offset, size_t size, void* dst)
{
	PythonSource& self = *static_cast<PythonSource*>(user);
	if (self.bytes.all)
	{
		std::memcpy(dst, self.bytes.all + offset, size);
		return MOCPACK_OK;
	}
	const nb::bytes& start = static_cast<const nb::bytes&>(self.start);
	if (offset <= start.size() && size <= start.size() - offset)
	{
		std::memcpy(dst, static_cast<const uint8_t*>(start.data()) + offset, size);
		return MOCPACK_OK;
	}
	try
	{
		nb::bytes found = nb::cast<nb::bytes>(self.owner.attr("read")(offset, size));
		if (found.size() == size)
		{
			std::memcpy(dst, found.data(), size);
			return MOCPACK_OK;
		}
		check_status(MOCPACK_TRUNCATED, "the file");
	}
	catch (...)
	{
		self.pending_exception = std::current_exception();
	}
	return MOCPACK_READ_FAILED;
}

mocpack_Source PythonSource::callback()
{
	return {this, bytes.source.size, read};
}

void PythonSource::raise(const mocpack_Error& error)
{
	if (error.status == MOCPACK_READ_FAILED && pending_exception)
	{
		std::exception_ptr found = pending_exception;
		pending_exception = nullptr;
		std::rethrow_exception(found);
	}
	raise_error(error);
}

namespace
{

template <typename T, size_t N> nb::object to_array(const T* values, const size_t (&shape)[N])
{
	return nb::cast(copy_array(values, shape));
}

nb::str to_str(const mocpack_Text& text)
{
	return nb::str(text.bytes, text.size);
}

nb::bytes to_bytes(const mocpack_Text& text)
{
	return nb::bytes(text.bytes, text.size);
}

nb::tuple to_tuple(const int32_t* joints, size_t count)
{
	nb::list found;
	for (size_t i = 0; i < count; ++i)
		found.append(joints[i]);
	return nb::tuple(found);
}

// Owns a motion and its memory.
struct OwnedMotion
{
	mocpack_Motion* motion = nullptr;

	OwnedMotion() = default;
	OwnedMotion(const OwnedMotion&) = delete;
	OwnedMotion& operator=(const OwnedMotion&) = delete;
	~OwnedMotion()
	{
		mocpack_close(motion);
	}
};

// Returns values (N, width) and times (N,) of a track; `fail` raises an error.
template <typename Fail> nb::tuple track_values(const mocpack_Motion& motion, size_t index, Fail fail)
{
	const size_t widths[] = {1, 1, 1, 3, 4};
	const mocpack_Track& t = motion.info.tracks[index];
	auto values = new_array<double, 2>({size_t(t.count), widths[t.kind]});
	auto times = new_array<double, 1>({size_t(t.count)});
	mocpack_Error error = {};
	if (mocpack_track_values(&motion, index, values.data(), times.data(), &error) != MOCPACK_OK)
		fail(error);
	return nb::make_tuple(values, times);
}

nb::list make_hinges(const mocpack_Info& info)
{
	nb::list found;
	for (size_t h = 0; h < info.hinge_count; ++h)
	{
		const mocpack_Hinge& hinge = info.hinges[h];
		found.append(nb::make_tuple(hinge.joint, nb::make_tuple(hinge.axis[0], hinge.axis[1], hinge.axis[2]),
									nb::make_tuple(hinge.lower_limit, hinge.upper_limit), bool(hinge.slides),
									to_str(hinge.name)));
	}
	return found;
}

// Returns the skeleton of SKEL, REST, HING and SCAL by field name; channels as their codes in SKEL.
nb::dict make_skeleton(const mocpack_Motion& motion)
{
	const mocpack_Info& info = motion.info;
	const size_t joints = info.joint_count;
	nb::list names, channels;
	for (size_t j = 0; j < joints; ++j)
	{
		const mocpack::ChannelLayout& layout = motion.layouts[motion.layout_of[j]];
		names.append(to_str(info.names[j]));
		channels.append(nb::bytes(layout.codes, layout.count));
	}
	nb::dict found;
	found["names"] = nb::tuple(names);
	found["parents"] = to_tuple(info.parents, joints);
	found["offsets"] = to_array(info.offsets, {joints, size_t(3)});
	found["end_sites"] = to_array(info.end_sites, {info.end_count, size_t(3)});
	found["end_site_joints"] = to_tuple(info.end_joints, info.end_count);
	found["channels"] = channels;
	found["axes"] =
		motion.channel_frames ? to_array(motion.channel_frames, {joints, size_t(4)}) : nb::object(nb::none());
	found["rest"] =
		info.rest_rotations ? to_array(info.rest_rotations, {joints, size_t(4)}) : nb::object(nb::none());
	found["scales"] = info.scales ? to_array(info.scales, {joints, size_t(3)}) : nb::object(nb::none());
	found["hinges"] = make_hinges(info);
	found["translated_joints"] = to_tuple(info.translated_joints, info.translated_count);
	found["unit"] = info.unit;
	return found;
}

Chunk make_chunk(const std::optional<nb::bytes>& body)
{
	Chunk chunk = {};
	if (body)
		chunk.found = true, chunk.body = static_cast<const uint8_t*>(body->data()), chunk.size = body->size();
	return chunk;
}

// Returns the skeleton from the bodies of its chunks.
nb::dict read_skeleton(nb::bytes skeleton, const std::optional<nb::bytes>& rest,
					   const std::optional<nb::bytes>& hinges, const std::optional<nb::bytes>& scales)
{
	OwnedMotion owned;
	owned.motion = mocpack::make_motion(Memory(mocpack::default_allocator(), mocpack::DEFAULT_LIMIT));
	if (!owned.motion)
		throw std::bad_alloc();
	Chunks chunks = {};
	chunks.skeleton = make_chunk(skeleton), chunks.rest = make_chunk(rest);
	chunks.hinges = make_chunk(hinges), chunks.scales = make_chunk(scales);
	mocpack_Error error = {};
	if (!mocpack::read_skeleton_chunks(chunks, owned.motion, &error))
		raise_error(error);
	return make_skeleton(*owned.motion);
}

// Returns name, kind, samples, frame time or None, start, whether it has times, bound, unit, bytes.
nb::tuple make_track_head(const mocpack_Track& t)
{
	return nb::make_tuple(to_str(t.name), int(t.kind), t.count,
						  t.frame_time > 0 ? nb::object(nb::float_(t.frame_time)) : nb::none(), t.start_time,
						  bool(t.has_times), t.bound, to_str(t.unit), t.chunk_size);
}

// A single `trak` chunk.
class TrackChunk
{
	OwnedMotion owned;
	nb::bytes body;
	Chunk chunk;

  public:
	explicit TrackChunk(nb::bytes body_) : body(body_), chunk(make_chunk(body_))
	{
		owned.motion = mocpack::make_motion(Memory(mocpack::default_allocator(), mocpack::DEFAULT_LIMIT));
		if (!owned.motion)
			throw std::bad_alloc();
		owned.motion->bytes.all = chunk.body;
		owned.motion->bytes.source.size =
			LARGE; // the size of the file that will contain the chunk is not known
		Chunks chunks = {};
		chunks.tracks = &chunk, chunks.track_count = 1;
		mocpack_Error error = {};
		if (!mocpack::read_tracks(chunks, owned.motion, &error))
			raise_error(error);
	}

	nb::tuple head() const
	{
		return make_track_head(owned.motion->info.tracks[0]);
	}

	nb::tuple values() const
	{
		return track_values(*owned.motion, 0, [](const mocpack_Error& error) { raise_error(error); });
	}

  private:
	static const uint64_t LARGE = uint64_t(1) << 40;
};

nb::tuple track_head(nb::bytes body)
{
	return TrackChunk(body).head();
}

nb::tuple read_track(nb::bytes body)
{
	return TrackChunk(body).values();
}

// Decodes numbers (rows, columns) of a track; `step` is the grid step if it is not stored, else 0.
NewArray<double, 2> read_numbers(nb::bytes body, size_t rows, size_t columns, double step)
{
	auto numbers = new_array<double, 2>({rows, columns});
	Memory memory(mocpack::default_allocator(), mocpack::DEFAULT_LIMIT);
	mocpack_Error error = {};
	mocpack::Fields in("numbers", static_cast<const uint8_t*>(body.data()), body.size(), 0, &error);
	const bool good =
		mocpack::read_numbers(&in, rows, columns, numbers.data(), &memory, step, &mocpack::SERIES_CODERS);
	memory.release_all();
	if (!good)
		raise_error(error);
	return numbers;
}

// Returns rotations (J, 4) of channel axes from Euler angles (J, 3) in degrees about z, y and x.
NewArray<double, 2> axis_frames(Array<double, nb::shape<-1, 3>> degrees)
{
	auto frames = new_array<double, 2>({degrees.shape(0), 4});
	for (size_t j = 0; j < degrees.shape(0); ++j)
		mocpack::write_axis_frame(degrees.data() + 3 * j, frames.data() + 4 * j);
	return frames;
}

// An open file, parsed up to its payload.
class File
{
	PythonSource source;
	OwnedMotion owned;

	const mocpack_Info& info() const
	{
		return owned.motion->info;
	}

	nb::object chunk_body(const Chunk& chunk) const
	{
		return chunk.found ? nb::object(nb::bytes(chunk.body, size_t(chunk.size))) : nb::none();
	}

	void check(mocpack_Status status, const mocpack_Error& error)
	{
		if (status != MOCPACK_OK)
			source.raise(error);
	}

  public:
	File(nb::handle given, bool partial, std::optional<uint64_t> memory_limit, const File* like)
		: source(given)
	{
		mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
		options.memory_limit = memory_limit ? std::max<uint64_t>(*memory_limit, 1) : UINT64_MAX;
		options.flags = partial ? uint32_t(MOCPACK_OPEN_ALLOW_TRUNCATED) : 0;
		mocpack_Error error = {};
		check(mocpack::open_clip(source.bytes, &options, true, &owned.motion, &error,
								 like ? like->owned.motion : nullptr),
			  error);
	}

	const mocpack_Motion& motion() const
	{
		return *owned.motion;
	}
	// Whether skeleton and metadata equal those of `like`. They were then not parsed.
	bool shares_skeleton() const
	{
		return motion().shares_skeleton;
	}
	bool shares_metadata() const
	{
		return motion().shares_metadata;
	}
	bool is_vertices() const
	{
		return motion().is_vertices;
	}
	uint64_t frame_count() const
	{
		return info().frame_count;
	}
	double frame_time() const
	{
		return info().frame_time;
	}
	nb::str codec_id() const
	{
		return to_str(info().codec);
	}
	uint32_t bitstream_version() const
	{
		return info().bitstream_version;
	}
	// JSON texts, empty for none: parameters, and parameters that decoding needs.
	nb::bytes params() const
	{
		return to_bytes(info().parameters);
	}
	nb::bytes needed() const
	{
		return to_bytes(motion().needed);
	}
	nb::bytes metadata() const
	{
		return to_bytes(info().metadata);
	}
	// Declared, max, mean, rms, p99; declared and measured angle; None for missing values.
	nb::tuple errors() const
	{
		const mocpack_Info& i = info();
		auto stated = [](double value, bool is_stated)
		{ return is_stated ? nb::object(nb::float_(value)) : nb::none(); };
		return nb::make_tuple(stated(i.declared_error, i.declared_error >= 0),
							  stated(i.measured_max, i.is_measured), stated(i.measured_mean, i.is_measured),
							  stated(i.measured_rms, i.is_measured), stated(i.measured_p99, i.is_measured),
							  stated(i.declared_angle_error, i.declared_angle_error >= 0),
							  stated(i.measured_angle_error, i.measured_angle_error >= 0));
	}
	// The bounds of each joint (J, 4): error bound, measured error, angle bound, measured angle; negative for
	// none. None if all joints have the same.
	nb::object joint_bounds() const
	{
		const mocpack_JointBounds* all = info().joint_bounds;
		return all ? to_array(&all->max_error, {info().joint_count, size_t(4)}) : nb::none();
	}
	// Bodies of the skeleton's chunks: SKEL, REST, HING and SCAL.
	nb::tuple skeleton_chunks() const
	{
		const Chunks& c = *motion().chunks;
		return nb::make_tuple(chunk_body(c.skeleton), chunk_body(c.rest), chunk_body(c.hinges),
							  chunk_body(c.scales));
	}
	// Vertex count and triangles (faces, 3).
	nb::tuple mesh() const
	{
		const mocpack::Mesh& m = motion().mesh;
		return nb::make_tuple(m.vertex_count, to_array(m.faces, {size_t(m.face_count), size_t(3)}));
	}
	nb::tuple scaled_joints() const
	{
		return to_tuple(info().scaled_joints, info().scaled_count);
	}
	// Whether the file has take data besides the poses.
	bool has_take_data() const
	{
		return info().times || motion().moving_scales || motion().chunks->gaps.found || info().track_count;
	}
	// Start time, loop, up axis, left-handed, interpolated.
	nb::tuple playback() const
	{
		const mocpack_Info& i = info();
		return nb::make_tuple(i.start_time, bool(i.is_looping), int(i.up), bool(i.is_left_handed),
							  bool(i.is_interpolated));
	}
	nb::object times() const
	{
		return info().times ? to_array(info().times, {size_t(info().frame_count)}) : nb::none();
	}
	nb::object moving_scales() const
	{
		const mocpack_Motion& m = motion();
		return m.moving_scales
				   ? to_array(m.moving_scales, {size_t(m.info.frame_count), m.info.scaled_count, size_t(3)})
				   : nb::none();
	}
	// Whether joints were tracked (T, J); None if all were.
	nb::object valid()
	{
		if (!motion().chunks->gaps.found)
			return nb::none();
		const size_t frames = size_t(info().frame_count);
		auto seen = new_array<uint8_t, 2>({frames, info().joint_count});
		mocpack_Error error = {};
		check(mocpack_valid_mask(&motion(), 0, frames, seen.data(), &error), error);
		return nb::cast(seen);
	}

	nb::list track_heads() const
	{
		nb::list found;
		for (size_t i = 0; i < info().track_count; ++i)
			found.append(make_track_head(info().tracks[i]));
		return found;
	}
	nb::tuple track(size_t index)
	{
		track_at(index);
		return track_values(motion(), index, [this](const mocpack_Error& error) { source.raise(error); });
	}
	nb::list track_words(size_t index)
	{
		track_at(index);
		size_t count = 0, size = 0;
		mocpack_Error error = {};
		check(mocpack_track_labels(&motion(), index, &count, &size, nullptr, nullptr, &error), error);
		std::vector<mocpack_Text> words(count + 1);
		std::vector<char> text(size + 1);
		check(mocpack_track_labels(&motion(), index, &count, &size, words.data(), text.data(), &error),
			  error);
		nb::list found;
		for (size_t i = 0; i < count; ++i)
			found.append(to_str(words[i]));
		return found;
	}

	// Tag and size with header of each chunk, in file order.
	nb::list chunk_sizes()
	{
		nb::list found;
		mocpack_Error error = {};
		for (uint64_t at = mocpack::FIRST_CHUNK; at < source.bytes.source.size;)
		{
			uint8_t tag[5] = {};
			Chunk chunk = {};
			if (!mocpack::read_chunk_header(source.bytes, &at, tag, &chunk, &error))
				source.raise(error);
			at += chunk.size;
			found.append(nb::make_tuple(std::string(reinterpret_cast<char*>(tag)), chunk.whole));
		}
		return found;
	}
	// Tag and body of the chunks with take data.
	nb::list take_chunks() const
	{
		const Chunks& c = *motion().chunks;
		const std::pair<const char*, const Chunk*> all[] = {{"REST", &c.rest},	 {"HING", &c.hinges},
															{"SCAL", &c.scales}, {"TIME", &c.time},
															{"play", &c.play},	 {"vald", &c.gaps}};
		nb::list found;
		for (auto [tag, chunk] : all)
			if (chunk->found)
				found.append(nb::make_tuple(tag, chunk_body(*chunk)));
		for (const Chunk* chunk = c.tracks; chunk; chunk = chunk->next)
			found.append(nb::make_tuple("trak", chunk_body(*chunk)));
		return found;
	}

	// Offset, size, missing bytes and checksum.
	std::tuple<uint64_t, uint64_t, uint64_t, uint32_t> payload() const
	{
		const mocpack::PayloadPlace& p = motion().payload;
		return {p.offset, p.size, p.missing, p.checksum};
	}

  private:
	const mocpack_Track& track_at(size_t index) const
	{
		if (index >= info().track_count)
			throw nb::index_error("track index is out of range");
		return info().tracks[index];
	}
};

// Returns the trailer of an archive: its offset, shards (name, size), bases, clip names, columns (N, 9)
// and fronts, as pack_index writes them, and the catalog's bytes or None.
nb::tuple read_archive(nb::handle given, std::optional<uint64_t> memory_limit)
{
	PythonSource source(given);
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.memory_limit = memory_limit ? std::max<uint64_t>(*memory_limit, 1) : UINT64_MAX;
	mocpack_Source by_callback = source.callback();
	mocpack_Archive* archive = nullptr;
	mocpack_Error error = {};
	if (mocpack_archive_open(&by_callback, &options, &archive, &error) != MOCPACK_OK)
		source.raise(error);
	std::unique_ptr<mocpack_Archive, void (*)(mocpack_Archive*)> owned(archive, mocpack_archive_close);
	nb::list files, bases, names;
	for (size_t i = 0; i < archive->shard_count; ++i)
	{
		const mocpack::Shard& shard = archive->shards[i];
		files.append(nb::make_tuple(to_str(shard.name), shard.size));
	}
	for (size_t i = 0; i < archive->base_count; ++i)
		bases.append(nb::bytes(archive->bases[i].bytes, archive->bases[i].size));
	auto columns = new_array<int64_t, 2>({archive->clip_count, 9});
	std::string fronts;
	for (size_t n = 0; n < archive->clip_count; ++n)
	{
		const mocpack::ArchivedClip& clip = archive->clips[n];
		const mocpack_ArchiveClip& entry = clip.entry;
		names.append(to_str(entry.name));
		int64_t bits;
		std::memcpy(&bits, &entry.frame_time, 8);
		const int64_t row[] = {int64_t(clip.base_number),  int64_t(entry.shard),
							   int64_t(entry.offset),	   int64_t(entry.stored_size),
							   int64_t(entry.base_offset), int64_t(clip.front.size),
							   int64_t(entry.frame_count), bits,
							   int64_t(entry.kind)};
		std::copy(row, row + 9, columns.data() + 9 * n);
		fronts.append(reinterpret_cast<const char*>(clip.front.bytes), clip.front.size);
	}
	nb::object table = nb::none();
	if (archive->table.found)
	{
		const mocpack::Chunk& chunk = archive->table;
		std::string found(size_t(chunk.size), '\0');
		if (chunk.size &&
			by_callback.read(by_callback.user, chunk.offset, size_t(chunk.size), &found[0]) != MOCPACK_OK)
		{
			error.status = MOCPACK_READ_FAILED;
			source.raise(error);
		}
		const uint8_t tag[] = {'t', 'a', 'b', 'l'};
		const uint32_t sum = mocpack::crc32(mocpack::crc32(0, tag, 4),
											reinterpret_cast<const uint8_t*>(found.data()), found.size());
		if (!mocpack::checksum_matches(sum, chunk.checksum))
			raise_corrupt("chunk 'tabl': its checksum is wrong");
		table = nb::bytes(found.data(), found.size());
	}
	return nb::make_tuple(archive->trailer, nb::tuple(files), nb::tuple(bases), nb::tuple(names), columns,
						  nb::bytes(fronts.data(), fronts.size()), table);
}

// Returns bytes with others inserted at an offset, at most at the end. Slices and sums would copy them twice.
nb::bytes insert_bytes(nb::bytes data, size_t at, nb::bytes inserted)
{
	const size_t size = data.size(), more = inserted.size();
	at = std::min(at, size);
	nb::bytes found = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(size + more)));
	if (!found.is_valid())
		throw nb::python_error();
	uint8_t* to = static_cast<uint8_t*>(const_cast<void*>(found.data()));
	const uint8_t* from = static_cast<const uint8_t*>(data.data());
	std::memcpy(to, from, at);
	std::memcpy(to + at, inserted.data(), more);
	std::memcpy(to + at + more, from + at, size - at);
	return found;
}

// Returns name, offset and size of each clip of a scene; None if the file is not a scene.
nb::object scene_clips(nb::handle given)
{
	PythonSource source(given);
	mocpack_Error error = {};
	error.status = MOCPACK_OK;
	if (!mocpack::is_scene(source.bytes, &error))
	{
		if (error.status != MOCPACK_OK)
			source.raise(error);
		return nb::none();
	}
	mocpack_Scene* scene = nullptr;
	if (mocpack::open_scene(source.bytes, nullptr, &scene, &error) != MOCPACK_OK)
		source.raise(error);
	nb::list found;
	for (size_t n = 0; n < mocpack_scene_clip_count(scene); ++n)
	{
		mocpack::ClipPlace place = mocpack::scene_place(scene, n);
		found.append(nb::make_tuple(to_str(mocpack_scene_clip_name(scene, n)), place.offset, place.size));
	}
	mocpack_scene_close(scene);
	return found;
}

} // namespace

const mocpack_Motion& parsed_file(nb::handle file)
{
	return nb::cast<const File&>(file).motion();
}

void register_reader(nb::module_& m)
{
	nb::class_<File>(m, "File")
		.def(nb::init<nb::handle, bool, std::optional<uint64_t>, const File*>(), "source"_a,
			 "partial"_a = false, "memory_limit"_a.none() = nb::none(), "like"_a.none() = nb::none(),
			 nb::sig("def __init__(self, source: object, partial: bool = False, memory_limit: int | None = "
					 "None, like: File | None = None) -> None"))
		.def_prop_ro("shares_skeleton", &File::shares_skeleton)
		.def_prop_ro("shares_metadata", &File::shares_metadata)
		.def_prop_ro("is_vertices", &File::is_vertices)
		.def_prop_ro("frame_count", &File::frame_count)
		.def_prop_ro("frame_time", &File::frame_time)
		.def_prop_ro("codec_id", &File::codec_id)
		.def_prop_ro("bitstream_version", &File::bitstream_version)
		.def_prop_ro("params", &File::params)
		.def_prop_ro("needed", &File::needed)
		.def_prop_ro("metadata", &File::metadata)
		.def_prop_ro("errors", &File::errors, nb::sig("def errors(self) -> tuple[float | None, ...]"))
		.def_prop_ro("scaled_joints", &File::scaled_joints,
					 nb::sig("def scaled_joints(self) -> tuple[int, ...]"))
		.def_prop_ro("has_take_data", &File::has_take_data)
		.def_prop_ro("playback", &File::playback,
					 nb::sig("def playback(self) -> tuple[float, bool, int, bool, bool]"))
		.def_prop_ro("payload", &File::payload)
		.def("skeleton_chunks", &File::skeleton_chunks,
			 nb::sig("def skeleton_chunks(self) -> tuple[bytes, bytes | None, bytes | None, bytes | None]"))
		.def("joint_bounds", &File::joint_bounds, nb::sig("def joint_bounds(self) -> typing.Any"))
		.def("mesh", &File::mesh, nb::sig("def mesh(self) -> tuple[int, typing.Any]"))
		.def("times", &File::times, nb::sig("def times(self) -> typing.Any"))
		.def("moving_scales", &File::moving_scales, nb::sig("def moving_scales(self) -> typing.Any"))
		.def("valid", &File::valid, nb::sig("def valid(self) -> typing.Any"))
		.def("track_heads", &File::track_heads,
			 nb::sig("def track_heads(self) -> list[tuple[typing.Any, ...]]"))
		.def("track", &File::track, "index"_a,
			 nb::sig("def track(self, index: int) -> tuple[typing.Any, typing.Any]"))
		.def("track_words", &File::track_words, "index"_a,
			 nb::sig("def track_words(self, index: int) -> list[str]"))
		.def("chunk_sizes", &File::chunk_sizes, nb::sig("def chunk_sizes(self) -> list[tuple[str, int]]"))
		.def("take_chunks", &File::take_chunks, nb::sig("def take_chunks(self) -> list[tuple[str, bytes]]"));
	m.def(
		"read_skeleton", &read_skeleton, "skeleton"_a, "rest"_a.none() = nb::none(),
		"hinges"_a.none() = nb::none(), "scales"_a.none() = nb::none(),
		nb::sig("def read_skeleton(skeleton: bytes, rest: bytes | None = None, hinges: bytes | None = None, "
				"scales: bytes | None = None) -> dict[str, typing.Any]"));
	m.def("track_head", &track_head, "body"_a,
		  nb::sig("def track_head(body: bytes) -> tuple[typing.Any, ...]"));
	m.def("read_track", &read_track, "body"_a,
		  nb::sig("def read_track(body: bytes) -> tuple[typing.Any, typing.Any]"));
	m.def("read_numbers", &read_numbers, "body"_a, "rows"_a, "columns"_a, "step"_a = 0.0);
	m.def("axis_frames", &axis_frames, "degrees"_a);
	m.def("insert_bytes", &insert_bytes, "data"_a, "at"_a, "inserted"_a);
	m.def("read_archive", &read_archive, "source"_a, "memory_limit"_a.none() = nb::none(),
		  nb::sig(
			  "def read_archive(source: object, memory_limit: int | None = None) -> tuple[typing.Any, ...]"));
	m.def("scene_clips", &scene_clips, "source"_a,
		  nb::sig("def scene_clips(source: object) -> list[tuple[str, int, int]] | None"));
}
