// Every function of mocpack.h and mocpack.hpp with null pointers, NaN and indices out of range: no call does
// harm, and what has a status says that an argument is bad.
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "mocpack/mocpack.hpp"
#include "reader_file.h"

namespace
{

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double INFINITE = std::numeric_limits<double>::infinity();
const size_t NONE = SIZE_MAX; // an index that nothing has
const size_t LABELS = 7;	  // the track of labels in the golden file

Bytes golden(const char* name)
{
	std::ifstream file(std::string(MOCPACK_GOLDEN) + "/" + name, std::ios::binary);
	return Bytes(std::istreambuf_iterator<char>(file), {});
}

mocpack_Status read_bytes(void* user, uint64_t offset, size_t size, void* dst)
{
	const Bytes& bytes = *static_cast<const Bytes*>(user);
	if (offset > bytes.size() || size > bytes.size() - offset)
		return MOCPACK_READ_FAILED;
	std::memcpy(dst, bytes.data() + offset, size);
	return MOCPACK_OK;
}

mocpack_Source source_of(Bytes* bytes)
{
	return {bytes, bytes->size(), read_bytes};
}

void refused(mocpack_Status status, const char* what)
{
	check(status == MOCPACK_BAD_ARGUMENT, what);
}

// A function that opens something says so and sets its pointer to null.
template <typename Open> void refuses(Open open, const char* what)
{
	int other = 0;
	void* opened = &other;
	mocpack_Error error = {};
	refused(open(&opened, &error), what);
	check(!opened && error.status == MOCPACK_BAD_ARGUMENT && error.message[0], what);
	opened = &other;
	refused(open(&opened, nullptr), what);
	check(!opened, what);
}

template <typename T> T** as(void** opened)
{
	return reinterpret_cast<T**>(opened);
}

// Options that no function may take.
std::vector<mocpack_OpenOptions> wrong_options()
{
	static const mocpack_Allocator EMPTY = {};
	mocpack_OpenOptions size = MOCPACK_OPEN_OPTIONS, allocator = size;
	size.struct_size = 0;
	allocator.allocator = &EMPTY;
	return {size, allocator};
}

void files_open_with_right_arguments_only(Bytes* file)
{
	const mocpack_Source source = source_of(file), silent = {file, file->size(), nullptr};
	std::vector<mocpack_OpenOptions> wrong = wrong_options();
	wrong.push_back(MOCPACK_OPEN_OPTIONS);
	wrong.back().flags = 1u << 31;
	for (const mocpack_OpenOptions& options : wrong)
	{
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_open(file->data(), file->size(), &options, as<mocpack_Motion>(out), e); },
				"a file from memory");
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_open_source(&source, &options, as<mocpack_Motion>(out), e); },
				"a file from a source");
	}
	for (const mocpack_Source* one : {static_cast<const mocpack_Source*>(nullptr), &silent})
	{
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_open_source(one, nullptr, as<mocpack_Motion>(out), e); }, "no source");
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_scene_open_source(one, nullptr, as<mocpack_Scene>(out), e); }, "no source");
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_archive_open(one, nullptr, as<mocpack_Archive>(out), e); }, "no source");
	}
	refused(mocpack_open(file->data(), file->size(), nullptr, nullptr, nullptr), "no room for the motion");
	refused(mocpack_open_source(&source, nullptr, nullptr, nullptr), "no room for the motion");
	refused(mocpack_scene_open(file->data(), file->size(), nullptr, nullptr, nullptr),
			"no room for the scene");
	refused(mocpack_scene_open_source(&source, nullptr, nullptr, nullptr), "no room for the scene");
	refused(mocpack_archive_open(&source, nullptr, nullptr, nullptr), "no room for the archive");
	mocpack_Motion* motion;
	mocpack_Scene* scene;
	check(mocpack_open(nullptr, 100, nullptr, &motion, nullptr) == MOCPACK_TRUNCATED && !motion,
		  "null bytes are an empty file");
	check(mocpack_scene_open(nullptr, 100, nullptr, &scene, nullptr) == MOCPACK_OK &&
			  mocpack_scene_open_clip(scene, 0, nullptr, &motion, nullptr) == MOCPACK_TRUNCATED && !motion,
		  "and the only clip of a scene");
	mocpack_scene_close(scene);
	mocpack_close(nullptr);
	mocpack_scene_close(nullptr);
	mocpack_archive_close(nullptr);
	mocpack_reader_close(nullptr);
	check(mocpack_version() && std::string(mocpack_status_name(mocpack_Status(-16))) == "unknown",
		  "an unknown status has a name");
}

void motions_are_asked_with_right_arguments_only(const mocpack_Motion* motion)
{
	const mocpack_Info& info = *mocpack_info(motion);
	const uint64_t frames = info.frame_count;
	check(!mocpack_info(nullptr), "nothing is known about no motion");
	check(mocpack_key_frame(nullptr, 3) == 0, "no motion has no keys");
	check(mocpack_key_frame(motion, UINT64_MAX) == frames - 1, "keys out of range are the last frame");
	for (const mocpack_Motion* one : {static_cast<const mocpack_Motion*>(nullptr), motion})
		check(std::isnan(mocpack_frame_at(one, NOT_A_NUMBER)), "a time that is none is in no frame");
	check(std::isnan(mocpack_frame_at(nullptr, 0)), "no motion has no frame");
	check(mocpack_frame_at(motion, INFINITE) == double(frames - 1) && !mocpack_frame_at(motion, -INFINITE),
		  "times are clamped");
	std::vector<uint8_t> valid(size_t(frames) * info.joint_count);
	refused(mocpack_valid_mask(nullptr, 0, 1, valid.data(), nullptr), "the mask of no motion");
	refused(mocpack_valid_mask(motion, 0, 1, nullptr, nullptr), "a mask without room");
	refused(mocpack_valid_mask(motion, 0, frames + 1, valid.data(), nullptr), "a mask of too many frames");
	refused(mocpack_valid_mask(motion, 2, 1, valid.data(), nullptr), "a mask of frames backward");
	check(mocpack_valid_mask(motion, frames, frames, nullptr, nullptr) == MOCPACK_OK, "a mask of no frames");
	std::vector<double> values(4 * size_t(info.tracks[0].count));
	refused(mocpack_track_values(nullptr, 0, values.data(), nullptr, nullptr), "a track of no motion");
	refused(mocpack_track_values(motion, 0, nullptr, nullptr, nullptr), "a track without room");
	refused(mocpack_track_values(motion, info.track_count, values.data(), nullptr, nullptr), "no track");
	refused(mocpack_track_values(motion, NONE, values.data(), nullptr, nullptr), "no track");
	size_t count, size;
	mocpack_Text labels[64];
	char text[4096];
	refused(mocpack_track_labels(nullptr, LABELS, &count, &size, nullptr, nullptr, nullptr), "no motion");
	refused(mocpack_track_labels(motion, LABELS, nullptr, &size, nullptr, nullptr, nullptr), "no count");
	refused(mocpack_track_labels(motion, LABELS, &count, nullptr, nullptr, nullptr, nullptr), "no size");
	refused(mocpack_track_labels(motion, LABELS, &count, &size, labels, nullptr, nullptr), "no text");
	refused(mocpack_track_labels(motion, LABELS, &count, &size, nullptr, text, nullptr), "no labels");
	refused(mocpack_track_labels(motion, NONE, &count, &size, labels, text, nullptr), "no track");
	refused(mocpack_track_labels(motion, 0, &count, &size, labels, text, nullptr), "a track of numbers");
	mocpack_Range range;
	check(!mocpack_byte_ranges(nullptr, 0, 1, 0, &range, 1) &&
			  !mocpack_byte_ranges(motion, 0, frames + 1, 0, &range, 1) &&
			  !mocpack_byte_ranges(motion, 1, 1, 0, &range, 1),
		  "no frames need no bytes");
	check(mocpack_byte_ranges(motion, 0, frames, UINT32_MAX - 1, nullptr, 5) ==
			  mocpack_byte_ranges(motion, 0, frames, 0, &range, 1),
		  "ranges without room are counted");
}

// Options that no reader may take.
std::vector<mocpack_ReaderOptions> wrong_reader_options(size_t joints)
{
	static const mocpack_Executor EMPTY = {};
	static const int32_t BELOW[] = {-1}, ABOVE[] = {int32_t(joints)};
	alignas(std::max_align_t) static uint8_t memory[64];
	std::vector<mocpack_ReaderOptions> wrong(8, MOCPACK_READER_OPTIONS);
	wrong[0].struct_size = 0;
	std::memset(&wrong[1].precision, 2, sizeof wrong[1].precision);
	std::memset(&wrong[2].space, 2, sizeof wrong[2].space);
	wrong[3].joints = BELOW, wrong[3].joint_count = 1;
	wrong[4].joints = ABOVE, wrong[4].joint_count = 1;
	wrong[5].joints = ABOVE;
	wrong[6].executor = &EMPTY;
	wrong[7].memory = memory + 1, wrong[7].memory_size = sizeof memory - 1;
	return wrong;
}

void readers_open_with_right_arguments_only(const mocpack_Motion* motion)
{
	mocpack_Reader* reader = nullptr;
	for (const mocpack_ReaderOptions& options : wrong_reader_options(mocpack_info(motion)->joint_count))
	{
		check(!mocpack_reader_size(motion, &options), "the size of a reader with wrong options");
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_reader_open(motion, &options, as<mocpack_Reader>(out), e); },
				"a reader with wrong options");
	}
	check(!mocpack_reader_size(nullptr, nullptr) && mocpack_reader_size(motion, nullptr), "sizes of readers");
	refuses([&](void** out, mocpack_Error* e)
			{ return mocpack_reader_open(nullptr, nullptr, as<mocpack_Reader>(out), e); },
			"a reader of no motion");
	refused(mocpack_reader_open(motion, nullptr, nullptr, nullptr), "a reader without room");
	mocpack_ReaderOptions small = MOCPACK_READER_OPTIONS;
	alignas(std::max_align_t) uint8_t memory[64];
	small.memory = memory, small.memory_size = sizeof memory, small.cache_size = SIZE_MAX;
	check(mocpack_reader_open(motion, &small, &reader, nullptr) == MOCPACK_NO_MEMORY && !reader,
		  "a reader with too little memory");
}

void poses_are_read_with_right_arguments_only(const mocpack_Motion* motion)
{
	const mocpack_Info& info = *mocpack_info(motion);
	const uint64_t frames = info.frame_count;
	std::vector<double> transforms(7 * info.joint_count * size_t(frames));
	double* const none = nullptr;
	mocpack_Poses poses = mocpack_poses_interleaved_f64(transforms.data(), info.joint_count, 4, 7);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = MOCPACK_FLOAT64;
	mocpack_Reader* reader;
	check(mocpack_reader_open(motion, &options, &reader, nullptr) == MOCPACK_OK, "the reader opens");
	for (mocpack_Reader* one : {static_cast<mocpack_Reader*>(nullptr), reader})
	{
		const mocpack_Poses* other = one ? nullptr : &poses;
		refused(mocpack_frames(one, 0, 1, other, nullptr), "frames");
		refused(mocpack_sample(one, 0, other, nullptr), "a sample");
		refused(mocpack_preview(one, 0, 1, other, nullptr), "a preview");
	}
	mocpack_Error error = {};
	refused(mocpack_sample(reader, NOT_A_NUMBER, &poses, &error), "a sample at no time");
	check(error.status == MOCPACK_BAD_ARGUMENT && error.message[0], "says why");
	for (double time : {INFINITE, -INFINITE, 1e308, -1e308})
		check(mocpack_sample(reader, time, &poses, nullptr) == MOCPACK_OK, "times are clamped");
	refused(mocpack_frames(reader, 0, frames + 1, &poses, nullptr), "too many frames");
	refused(mocpack_frames(reader, UINT64_MAX, UINT64_MAX, &poses, nullptr), "frames far away");
	refused(mocpack_frames(reader, 1, 0, &poses, nullptr), "frames backward");
	refused(mocpack_preview(reader, 0, info.key_count + 1, &poses, nullptr), "too many keys");
	refused(mocpack_preview(reader, 1, 0, &poses, nullptr), "keys backward");
	// null arrays are skipped
	for (const mocpack_Poses& empty :
		 {mocpack_poses_dense(nullptr, nullptr, 9), mocpack_poses_soa(nullptr, nullptr, 9),
		  mocpack_poses_interleaved_f64(none, 9, 4, 7), mocpack_poses_interleaved_f32(nullptr, 9, 4, 7)})
	{
		check(mocpack_frames(reader, 0, frames, &empty, nullptr) == MOCPACK_OK, "frames of no arrays");
		check(mocpack_sample(reader, 0.01, &empty, nullptr) == MOCPACK_OK, "a sample of no arrays");
		check(mocpack_preview(reader, 0, 1, &empty, nullptr) == MOCPACK_OK, "a preview of no arrays");
		std::vector<double> angles(info.hinge_count, 7);
		mocpack_hinge_angles(motion, &empty, 1, angles.data());
		check(angles[0] == 7, "angles of no arrays are not written");
	}
	std::vector<double> angles(info.hinge_count * size_t(frames));
	check(mocpack_frames(reader, 0, frames, &poses, nullptr) == MOCPACK_OK, "all frames");
	mocpack_hinge_angles(nullptr, &poses, size_t(frames), angles.data());
	mocpack_hinge_angles(motion, nullptr, size_t(frames), angles.data());
	mocpack_hinge_angles(motion, &poses, size_t(frames), nullptr);
	check(angles == std::vector<double>(angles.size(), 0), "no angles are written");
	transforms[0] = NOT_A_NUMBER;
	mocpack_hinge_angles(motion, &poses, size_t(frames), angles.data());
	mocpack_reader_close(reader);
}

void scenes_are_asked_with_right_arguments_only(const Bytes& file)
{
	for (const mocpack_OpenOptions& options : wrong_options())
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_scene_open(file.data(), file.size(), &options, as<mocpack_Scene>(out), e); },
				"a scene with wrong options");
	mocpack_Scene* scene;
	check(mocpack_scene_open(file.data(), file.size(), nullptr, &scene, nullptr) == MOCPACK_OK, "a scene");
	for (const mocpack_Scene* one : {static_cast<mocpack_Scene*>(nullptr), scene})
	{
		const size_t count = mocpack_scene_clip_count(one);
		check(count == size_t(one == scene), "the clips of a scene");
		check(!mocpack_scene_clip_name(one, NONE).size && mocpack_scene_clip_name(one, NONE).bytes,
			  "a clip out of range has an empty name");
		check(mocpack_scene_find_clip(one, nullptr) == count, "no name is not found");
		check(mocpack_scene_find_clip(one, "other") == count, "another name is not found");
		for (size_t clip : {count, NONE})
			refuses([&](void** out, mocpack_Error* e)
					{ return mocpack_scene_open_clip(one, clip, nullptr, as<mocpack_Motion>(out), e); },
					"no clip");
	}
	refused(mocpack_scene_open_clip(scene, 0, nullptr, nullptr, nullptr), "no room for a clip");
	mocpack_scene_close(scene);
}

void archives_are_asked_with_right_arguments_only(Bytes* file)
{
	const mocpack_Source source = source_of(file);
	for (const mocpack_OpenOptions& options : wrong_options())
		refuses([&](void** out, mocpack_Error* e)
				{ return mocpack_archive_open(&source, &options, as<mocpack_Archive>(out), e); },
				"an archive with wrong options");
	mocpack_Archive* archive;
	check(mocpack_archive_open(&source, nullptr, &archive, nullptr) == MOCPACK_OK, "an archive");
	uint8_t byte;
	for (const mocpack_Archive* one : {static_cast<mocpack_Archive*>(nullptr), archive})
	{
		const size_t count = mocpack_archive_clip_count(one);
		check((count > 0) == (one == archive), "the clips of an archive");
		check(mocpack_archive_find_clip(one, nullptr) == count, "no name is not found");
		check(mocpack_archive_find_clip(one, "other") == count, "another name is not found");
		for (size_t clip : {count, NONE})
		{
			check(!mocpack_archive_clip_info(one, clip), "no clip has no entry");
			refused(mocpack_archive_read_clip(one, clip, 0, 1, &byte), "bytes of no clip");
			refuses([&](void** out, mocpack_Error* e)
					{ return mocpack_archive_open_clip(one, clip, nullptr, as<mocpack_Motion>(out), e); },
					"no clip");
		}
	}
	const uint64_t size = mocpack_archive_clip_info(archive, 0)->size;
	refused(mocpack_archive_read_clip(archive, 0, 0, 1, nullptr), "bytes without room");
	refused(mocpack_archive_read_clip(archive, 0, size, 1, &byte), "bytes after the clip");
	refused(mocpack_archive_read_clip(archive, 0, UINT64_MAX, 2, &byte), "bytes far away");
	refused(mocpack_archive_read_clip(archive, 0, 1, SIZE_MAX, &byte), "too many bytes");
	check(mocpack_archive_read_clip(archive, 0, size, 0, nullptr) == MOCPACK_OK, "no bytes need no room");
	refused(mocpack_archive_open_clip(archive, 0, nullptr, nullptr, nullptr), "no room for a clip");
	mocpack_archive_close(archive);
}

void objects_of_cpp_are_used_with_right_arguments_only(Bytes* file)
{
	mocpack::Motion motion;
	mocpack::Reader<double> reader;
	double room[4] = {};
	check(!motion && !motion.frame_count() && !motion.joint_count() && motion.duration() == 0 &&
			  motion.name(0).empty() && !motion.parents().size() && !motion.offsets().size() &&
			  !motion.hinges().size() && !motion.tracks().size(),
		  "a motion that is not open is empty");
	refused(motion.track_values(0, {room, 4}), "a track of a closed motion");
	refused(reader.open(motion), "a reader of a closed motion");
	refused(reader.sample(0, {}, {}), "a sample of a closed reader");
	refused(reader.frames(0, 1, {}, {}), "frames of a closed reader");
	check(motion.open(mocpack::Span<const unsigned char>()) == MOCPACK_TRUNCATED && !motion,
		  "no bytes are an empty file");
	refused(motion.open(mocpack_Source{}), "a source that reads nothing");
	check(motion.open(source_of(file)) == MOCPACK_OK && reader.open(motion) == MOCPACK_OK, "a file opens");
	refused(motion.track_values(0, {room, 0}), "a track without room");
	refused(motion.track_values(NONE, {room, 4}), "no track");
	check(motion.name(NONE).empty(), "no joint has no name");
	refused(reader.sample(NOT_A_NUMBER, {}, {}), "a sample at no time");
	refused(reader.sample(0, {room, 4}, {}), "a sample without room");
	refused(reader.frames(1, 0, {}, {}), "frames backward");
	refused(reader.frames(0, UINT64_MAX, {}, {}), "too many frames");
	check(reader.sample(0, {}, {}) == MOCPACK_OK, "empty spans are skipped");
	mocpack::Scene scene;
	mocpack::Archive archive;
	mocpack::Motion clip;
	check(!scene && !scene.size() && scene.name(0).empty() && !scene.find("x") && !archive &&
			  !archive.size() && archive.name(0).empty() && !archive.clip(0) && !archive.find("x"),
		  "scenes and archives that are not open are empty");
	refused(scene.open_clip(0, &clip), "a clip of a closed scene");
	refused(archive.open_clip(0, &clip), "a clip of a closed archive");
	check(scene.open(*file) == MOCPACK_OK && scene.size() == 1, "a scene opens");
	refused(scene.open_clip(0, nullptr), "no room for a clip");
	refused(archive.open_clip(0, nullptr), "no room for a clip");
	check(scene.open_clip(0, &clip) == MOCPACK_OK && clip.frame_count(), "and its clip");
}

void clips_are_encoded_with_right_arguments_only()
{
	const mocpack_Allocator no_functions = {};
	const mocpack_Executor no_function = {};
	const mocpack_Clip clip = {};
	mocpack_EncodedFile file;
	std::vector<mocpack_EncodeOptions> wrong(5, MOCPACK_ENCODE_OPTIONS);
	wrong[0].struct_size = 0;
	wrong[1].max_error = NOT_A_NUMBER;
	std::memset(&wrong[2].effort, 7, sizeof wrong[2].effort);
	wrong[3].allocator = &no_functions;
	wrong[4].executor = &no_function;
	for (const mocpack_EncodeOptions& options : wrong)
		refused(mocpack_encode(&clip, &options, &file, nullptr), "wrong options");
	refused(mocpack_encode(&clip, nullptr, &file, nullptr), "an empty clip");
	refused(mocpack_encode(nullptr, nullptr, &file, nullptr), "no clip");
	refused(mocpack_encode(&clip, nullptr, nullptr, nullptr), "no room for a file");
	check(!file.bytes && !file.size, "nothing is encoded");
	mocpack_encoded_release(&file);
	mocpack_encoded_release(nullptr);
	mocpack::EncodedFile encoded;
	refused(encoded.encode(clip), "an empty clip");
	check(!encoded.bytes().size() && encoded.errors().measured_max == 0, "has no bytes");
}

} // namespace

int main()
{
	Bytes file = golden("keysine/v1-take/file.mocp"), archive = golden("archive/file.mocps");
	mocpack_Motion* motion;
	check(mocpack_open(file.data(), file.size(), nullptr, &motion, nullptr) == MOCPACK_OK, "the file opens");
	check(mocpack_info(motion)->tracks[LABELS].kind == MOCPACK_TRACK_LABEL, "a track of labels");
	check(mocpack_info(motion)->hinge_count > 0, "hinges");
	files_open_with_right_arguments_only(&file);
	motions_are_asked_with_right_arguments_only(motion);
	readers_open_with_right_arguments_only(motion);
	poses_are_read_with_right_arguments_only(motion);
	mocpack_close(motion);
	scenes_are_asked_with_right_arguments_only(file);
	archives_are_asked_with_right_arguments_only(&archive);
	objects_of_cpp_are_used_with_right_arguments_only(&file);
	clips_are_encoded_with_right_arguments_only();
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
