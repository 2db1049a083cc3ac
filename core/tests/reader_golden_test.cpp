// The reader on real files: those of tests/golden as they are, and damaged in thousands of ways with their
// checksums right.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "reader_file.h"

namespace
{

const uint64_t LIMIT = 60000000; // bytes
const size_t MOST_CALLS = 1000;	 // of the allocator, for any golden file

Bytes read_whole(const std::filesystem::path& path)
{
	std::ifstream file(path, std::ios::binary);
	return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Every sixteenth frame, some times between frames and all keys; null where it cannot be opened. Memory runs
// out at one call of the allocator.
mocpack_Status read_some(const Bytes& file, uint64_t* frames, size_t fail_at = SIZE_MAX)
{
	Bytes own(file);
	Counter counter;
	counter.fail_at = fail_at;
	mocpack_Allocator allocator = counter.allocator();
	mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
	how.allocator = &allocator, how.memory_limit = LIMIT;
	mocpack_Motion* motion = nullptr;
	mocpack_Reader* reader = nullptr;
	mocpack_Error error = {};
	mocpack_Status status = mocpack_open(own.data(), own.size(), &how, &motion, &error);
	if (status == MOCPACK_OK)
		status = mocpack_reader_open(motion, nullptr, &reader, &error);
	if (status == MOCPACK_OK)
	{
		const mocpack_Info& info = *mocpack_info(motion);
		*frames = info.frame_count;
		std::vector<float> transforms(7 * info.joint_count);
		mocpack_Poses pose = mocpack_poses_interleaved_f32(transforms.data(), info.joint_count, 4, 7);
		std::vector<float> scales(3 * info.joint_count, -9.0f);
		pose.scales = scales.data(), pose.scale_strides = {3 * info.joint_count, 3, 1};
		for (uint64_t t = 0; t < info.frame_count && status == MOCPACK_OK; t += 1 + info.frame_count / 16)
			status = mocpack_frames(reader, t, t + 1, &pose, &error);
		for (int i = 0; i < 8 && status == MOCPACK_OK; ++i)
			status = mocpack_sample(reader, info.start_time + 0.173 * i, &pose, &error);
		for (uint64_t k = 0; k < info.key_count && k < 16 && status == MOCPACK_OK; ++k)
			status = mocpack_preview(reader, k, k + 1, &pose, &error);
		if (status == MOCPACK_OK)
		{
			check(std::find(scales.begin(), scales.end(), -9.0f) == scales.end(),
				  "every joint has its scales");
			status = read_tracks(motion, &error);
		}
	}
	check(status == MOCPACK_OK || error.message[0], "an error has a message");
	mocpack_reader_close(reader);
	mocpack_close(motion);
	check(counter.held == 0 && counter.most <= LIMIT, "memory is bounded and given back");
	return status;
}

// Reads the last frame in the world, over numbers that no pose has.
void every_joint_has_a_place_in_the_world(const Bytes& file)
{
	mocpack_Motion* motion = nullptr;
	mocpack_Reader* reader = nullptr;
	mocpack_ReaderOptions how = MOCPACK_READER_OPTIONS;
	how.space = MOCPACK_WORLD;
	check(mocpack_open(file.data(), file.size(), nullptr, &motion, nullptr) == MOCPACK_OK &&
			  mocpack_reader_open(motion, &how, &reader, nullptr) == MOCPACK_OK,
		  "a golden file is opened in the world");
	if (reader)
	{
		const mocpack_Info& info = *mocpack_info(motion);
		std::vector<float> transforms(7 * info.joint_count, -9e9f);
		mocpack_Poses pose = mocpack_poses_interleaved_f32(transforms.data(), info.joint_count, 4, 7);
		check(mocpack_frames(reader, info.frame_count - 1, info.frame_count, &pose, nullptr) == MOCPACK_OK,
			  "its last frame is read");
		check(std::find(transforms.begin(), transforms.end(), -9e9f) == transforms.end(),
			  "every joint is written");
	}
	mocpack_reader_close(reader);
	mocpack_close(motion);
}

// A file of which one read fails.
struct FailingFile
{
	const Bytes* bytes;
	size_t fail_at, reads = 0;

	static mocpack_Status read(void* user, uint64_t offset, size_t size, void* dst)
	{
		FailingFile* self = static_cast<FailingFile*>(user);
		if (self->reads++ == self->fail_at)
			return MOCPACK_READ_FAILED;
		std::copy_n(self->bytes->begin() + long(offset), size, static_cast<uint8_t*>(dst));
		return MOCPACK_OK;
	}
};

// Opens every clip of a scene, from memory unless one of its reads is to fail. Memory runs out at one call of
// the allocator.
mocpack_Status read_scene(const Bytes& file, size_t failing_read = SIZE_MAX, size_t fail_at = SIZE_MAX)
{
	const Bytes own(file); // of its exact size, so that the address sanitizer sees a step too far
	FailingFile from = {&own, failing_read};
	mocpack_Source source = {&from, file.size(), FailingFile::read};
	Counter counter;
	counter.fail_at = fail_at;
	mocpack_Allocator allocator = counter.allocator();
	mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
	how.allocator = &allocator, how.memory_limit = LIMIT;
	mocpack_Scene* scene = nullptr;
	mocpack_Status status = failing_read == SIZE_MAX
								? mocpack_scene_open(own.data(), own.size(), &how, &scene, nullptr)
								: mocpack_scene_open_source(&source, &how, &scene, nullptr);
	for (size_t n = 0; scene && n < mocpack_scene_clip_count(scene) && status == MOCPACK_OK; ++n)
	{
		mocpack_Motion* motion = nullptr;
		status = mocpack_scene_open_clip(scene, n, &how, &motion, nullptr);
		mocpack_close(motion);
	}
	mocpack_scene_close(scene);
	check(counter.held == 0, "memory of a scene is given back");
	return status;
}

std::vector<TestChunk> chunks_of(const Bytes& file)
{
	std::vector<TestChunk> found;
	for (size_t at = 5; at < file.size();)
	{
		TestChunk chunk = {std::string(file.begin() + long(at), file.begin() + long(at) + 4), {}};
		size_t size = 0, shift = 0;
		for (at += 4;; shift += 7)
		{
			size |= size_t(file[at] & 127) << shift;
			if (file[at++] < 128)
				break;
		}
		at += 4;
		chunk.body.assign(file.begin() + long(at), file.begin() + long(at + size));
		found.push_back(chunk);
		at += size;
	}
	return found;
}

// Tracks do not depend on the codec, so that every file can have those of another.
std::vector<TestChunk> tracks_of(const Bytes& file)
{
	std::vector<TestChunk> found;
	for (const TestChunk& chunk : chunks_of(file))
		if (chunk.tag == "trak")
			found.push_back(chunk);
	return found;
}

Bytes with_tracks(const Bytes& file, const std::vector<TestChunk>& tracks)
{
	std::vector<TestChunk> chunks = chunks_of(file);
	chunks.insert(chunks.end() - 1, tracks.begin(), tracks.end());
	return file_of(chunks);
}

// Changes bytes of a chunk. Of the motion, the head's checksum is made right as often as not.
void damage(TestChunk* chunk, std::mt19937* random)
{
	Bytes& body = chunk->body;
	if (body.empty())
		return;
	bool is_motion = chunk->tag == "DATA";
	size_t head = 0, bytes = 0;
	for (; is_motion && bytes < 5; ++bytes)
	{
		head |= size_t(body[bytes] & 127) << 7 * bytes;
		if (body[bytes] < 128)
			break;
	}
	size_t most =
		is_motion && (*random)() % 2 && head > bytes + 3 && head <= body.size() ? head - 2 : body.size();
	for (size_t i = 0; i < 1 + (*random)() % 3; ++i)
		body[(*random)() % most] = uint8_t((*random)());
	if (most < body.size())
	{
		uint16_t crc = mocpack::crc16(body.data(), most);
		body[most] = uint8_t(crc), body[most + 1] = uint8_t(crc >> 8);
	}
	if ((*random)() % 10 == 0)
		body.resize((*random)() % (body.size() + 1));
}

std::vector<std::filesystem::path> golden_files(const std::filesystem::path& all)
{
	std::vector<std::filesystem::path> found;
	for (const char* codec : {"keysine", "raw", "lossless"})
		for (const auto& entry : std::filesystem::directory_iterator(all / codec))
			found.push_back(entry.path() / "file.mocp");
	return found;
}

} // namespace

int main(int argc, char** argv)
{
	std::mt19937 random(5);
	std::filesystem::path all = argc > 1 ? argv[1] : MOCPACK_GOLDEN;
	const std::vector<TestChunk> tracks = tracks_of(read_whole(all / "raw" / "v1-take-tracks" / "file.mocp"));
	check(tracks.size() > 5, "tracks of every kind are there");
	int files = 0, good = 0, tries = argc > 2 ? std::atoi(argv[2]) : 150;
	for (const auto& path : golden_files(all))
	{
		Bytes file = read_whole(path);
		uint64_t frames = 0;
		if (path.parent_path().filename() == "v1-mesh")
		{
			check(read_some(file, &frames) == MOCPACK_UNSUPPORTED, "a vertex animation is refused");
			continue;
		}
		if (tracks_of(file).empty())
			file = with_tracks(file, tracks);
		check(read_some(file, &frames) == MOCPACK_OK && frames > 0, "a golden file is read");
		++files;
		every_joint_has_a_place_in_the_world(file);
		size_t calls = 0;
		while (calls < MOST_CALLS && read_some(file, &frames, calls) == MOCPACK_NO_MEMORY)
			++calls;
		check(calls > 3 && calls < MOST_CALLS && read_some(file, &frames, calls) == MOCPACK_OK,
			  "every missing allocation has its own status");
		for (int i = 0; i < tries; ++i)
		{
			std::vector<TestChunk> chunks = chunks_of(file);
			damage(&chunks[random() % chunks.size()], &random);
			good += read_some(file_of(chunks), &frames) == MOCPACK_OK;
		}
	}
	const Bytes scene = read_whole(all / "scene" / "file.mocp");
	check(read_scene(scene) == MOCPACK_OK, "a golden scene is read");
	size_t reads = 0, calls = 0;
	while (reads < MOST_CALLS && read_scene(scene, reads) == MOCPACK_READ_FAILED)
		++reads;
	check(reads > 3 && read_scene(scene, reads) == MOCPACK_OK, "a failed read of a scene has its own status");
	while (calls < MOST_CALLS && read_scene(scene, SIZE_MAX, calls) == MOCPACK_NO_MEMORY)
		++calls;
	check(calls > 3 && read_scene(scene, SIZE_MAX, calls) == MOCPACK_OK, "as is memory that runs out");
	for (int i = 0; i < tries; ++i)
	{
		std::vector<TestChunk> chunks = chunks_of(scene);
		damage(&chunks[random() % chunks.size()], &random);
		read_scene(file_of(chunks));
	}
	check(files > 0 && good < files * tries, "files are there, and damage shows");
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
