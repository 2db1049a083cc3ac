// The reader: a file comes back as it was made, from memory and by ranges; nothing is allocated once it is
// open; no bytes do harm, and none take more memory than the limit.
#include <new>
#include <random>

#include "reader/inflate.h"
#include "reader/motion.h"
#include "reader_file.h"

namespace
{

struct Pose
{
	std::vector<double> rotations, translations;
	mocpack_Poses arrays;

	explicit Pose(size_t frames, size_t joints = JOINTS)
		: rotations(4 * joints * frames), translations(3 * joints * frames),
		  arrays(mocpack_poses_dense(rotations.data(), translations.data(), joints))
	{
	}
};

mocpack_ReaderOptions doubles()
{
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = MOCPACK_FLOAT64;
	return options;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b)
{
	double most = a.size() == b.size() ? 0 : 1e9;
	for (size_t i = 0; i < a.size() && i < b.size(); ++i)
		most = std::max(most, std::fabs(a[i] - b[i]));
	return most;
}

struct Opened
{
	mocpack_Motion* motion = nullptr;
	mocpack_Reader* reader = nullptr;
	mocpack_Error error = {};

	explicit Opened(const Bytes& file, mocpack_ReaderOptions options = doubles(), uint32_t flags = 0)
	{
		mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
		how.flags = flags;
		if (mocpack_open(file.data(), file.size(), &how, &motion, &error) == MOCPACK_OK)
			mocpack_reader_open(motion, &options, &reader, &error);
		if (!reader)
			printf("not opened: %s\n", error.message);
	}
	~Opened()
	{
		mocpack_reader_close(reader);
		mocpack_close(motion);
	}
	Opened(const Opened&) = delete;
	Opened& operator=(const Opened&) = delete;
};

// How far local rotations are from the body's, as quaternions that may have either sign.
double rotation_error(const Body& body, const Pose& pose)
{
	double most = 0;
	for (size_t i = 0; i < JOINTS * FRAMES; ++i)
	{
		double dot = 0;
		for (size_t c = 0; c < 4; ++c)
			dot += pose.rotations[4 * i + c] * body.rotations[4 * i + c];
		most = std::max(most, 1 - std::fabs(dot));
	}
	return most;
}

void a_file_says_what_it_holds(const Bytes& file)
{
	Opened opened(file);
	const mocpack_Info& info = *mocpack_info(opened.motion);
	check(info.frame_count == FRAMES && info.joint_count == JOINTS,
		  "frames and joints are those of the body");
	check(std::string(info.names[2].bytes) == "hand" && info.names[2].size == 4, "joints have their names");
	check(info.parents[2] == 1 && info.offsets[6] == 0.3 && info.unit == 0.01, "the skeleton is the body's");
	check(info.end_count == 1 && info.end_joints[0] == 2 && info.end_sites[0] == 0.25, "end sites are there");
	check(std::fabs(info.declared_error - BOUND) < 1e-9 && !info.is_measured, "the error is declared");
	check(std::string(info.metadata.bytes).substr(0, 6) == "{\"who\"", "metadata is text");
	check(info.times && info.times[0] == 0.5 && info.times[1] == 0.54 && info.times[2] == 0.57,
		  "frames have times");
	check(info.is_looping && info.up == MOCPACK_AXIS_Y && info.is_left_handed && info.is_interpolated,
		  "flags of the chunk play are read");
	check(info.track_count == 1 && std::string(info.tracks[0].unit.bytes) == "N", "tracks have a unit");
	uint8_t seen[JOINTS * 20];
	check(mocpack_valid_mask(opened.motion, 5, 25, seen, nullptr) == MOCPACK_OK, "gaps are reported");
	check(seen[2] == 1 && seen[JOINTS * 5 + 2] == 0 && seen[JOINTS * 10 + 2] == 1 && seen[1] == 1,
		  "a joint is unseen between two changes");
	check(std::string(mocpack_version()) == "0.1.0", "the library has a version");
}

void a_track_has_its_samples(const Bytes& file)
{
	mocpack_Motion* motion;
	check(mocpack_open(file.data(), file.size(), nullptr, &motion, nullptr) == MOCPACK_OK, "it opens");
	double values[4], times[4];
	mocpack_Status status = mocpack_track_values(motion, 0, values, times, nullptr);
	check(status == MOCPACK_OK, "samples are read");
	const double expected[4] = {1.5, 1.6, -1.4, -1.2};
	for (int i = 0; i < 4 && status == MOCPACK_OK; ++i)
		check(values[i] == expected[i] && std::fabs(times[i] - i / 30.0) < 1e-12, "and are those");
	check(mocpack_track_values(motion, 1, values, times, nullptr) == MOCPACK_BAD_ARGUMENT, "there is one");
	size_t count, size;
	check(mocpack_track_labels(motion, 0, &count, &size, nullptr, nullptr, nullptr) == MOCPACK_BAD_ARGUMENT,
		  "which has no words");
	mocpack_close(motion);
}

void motion_comes_back(const Body& body, const Bytes& file)
{
	Opened opened(file);
	Pose all(FRAMES);
	check(mocpack_frames(opened.reader, 0, FRAMES, &all.arrays, nullptr) == MOCPACK_OK, "all frames decode");
	check(rotation_error(body, all) < 1e-2, "rotations are near the body's");
	Pose one(1), last(1);
	for (size_t t = FRAMES; t-- > 0;)
	{
		check(mocpack_frames(opened.reader, t, t + 1, &one.arrays, nullptr) == MOCPACK_OK, "a frame decodes");
		std::vector<double> own(all.rotations.begin() + long(4 * JOINTS * t),
								all.rotations.begin() + long(4 * JOINTS * (t + 1)));
		check(farthest(own, one.rotations) < 1e-12, "a frame by itself is that of all");
	}
	check(mocpack_frames(opened.reader, 3, FRAMES + 1, &one.arrays, &opened.error) == MOCPACK_BAD_ARGUMENT,
		  "frames beyond the end are refused");
	mocpack_sample(opened.reader, -5, &last.arrays, nullptr);
	check(farthest(last.rotations, one.rotations) < 1e-12, "before the start is the first frame");
	double between = mocpack_info(opened.motion)->times[1] - 0.5;
	mocpack_sample(opened.reader, 0.5 + between / 2, &one.arrays, nullptr);
	for (size_t c = 0; c < 3; ++c)
		check(std::fabs(one.translations[c] - (all.translations[c] + all.translations[3 * JOINTS + c]) / 2) <
				  1e-12,
			  "between two frames is the middle");
}

void layouts_agree(const Bytes& file)
{
	Opened opened(file);
	mocpack_ReaderOptions singles = MOCPACK_READER_OPTIONS;
	Opened other(file, singles);
	Pose dense(9);
	mocpack_frames(opened.reader, 40, 49, &dense.arrays, nullptr);
	std::vector<double> planes(4 * JOINTS * 9), places(3 * JOINTS * 9);
	mocpack_Poses soa = mocpack_poses_soa(planes.data(), places.data(), JOINTS);
	mocpack_frames(opened.reader, 40, 49, &soa, nullptr);
	std::vector<float> transforms(8 * JOINTS * 9, -9.0f);
	mocpack_Poses interleaved = mocpack_poses_interleaved_f32(transforms.data(), JOINTS, 4, 8);
	mocpack_frames(other.reader, 40, 49, &interleaved, nullptr);
	for (size_t t = 0; t < 9; ++t)
		for (size_t j = 0; j < JOINTS; ++j)
		{
			for (size_t c = 0; c < 4; ++c)
			{
				double q = dense.rotations[4 * (JOINTS * t + j) + c];
				check(planes[4 * JOINTS * t + JOINTS * c + j] == q, "structures of arrays hold the same");
				check(std::fabs(double(transforms[8 * (JOINTS * t + j) + c]) - q) < 1e-6, "and so do floats");
			}
			check(transforms[8 * (JOINTS * t + j) + 7] == -9.0f, "gaps between transforms are unchanged");
		}
}

// A joint's place in the world is its parent's place plus its own, turned as the parent is turned.
void places_in_the_world_follow_from_local_poses(const Body& body, const Bytes& file)
{
	mocpack_ReaderOptions options = doubles();
	Opened local(file, options);
	options.space = MOCPACK_WORLD;
	Opened world(file, options);
	Pose own(FRAMES), all(FRAMES);
	mocpack_frames(local.reader, 0, FRAMES, &own.arrays, nullptr);
	check(mocpack_frames(world.reader, 0, FRAMES, &all.arrays, nullptr) == MOCPACK_OK, "the world decodes");
	std::vector<double> expected(3 * JOINTS * FRAMES);
	for (size_t t = 0; t < FRAMES; ++t)
		for (size_t j = 0; j < JOINTS; ++j)
		{
			const double* p = own.translations.data() + 3 * (JOINTS * t + j);
			double* place = expected.data() + 3 * (JOINTS * t + j);
			if (body.parents[j] < 0)
			{
				std::copy(p, p + 3, place);
				continue;
			}
			const size_t parent = JOINTS * t + size_t(body.parents[j]);
			const double* q = all.rotations.data() + 4 * parent;
			const double x = q[0], y = q[1], z = q[2], w = q[3];
			const double matrix[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
										 {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
										 {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
			for (int c = 0; c < 3; ++c)
				place[c] = expected[3 * parent + size_t(c)] + matrix[c][0] * p[0] + matrix[c][1] * p[1] +
						   matrix[c][2] * p[2];
		}
	check(farthest(all.translations, expected) < 1e-12, "joints are where their parents put them");
}

void some_joints_are_those_of_all(const Bytes& file)
{
	const int32_t wanted[] = {2, 0};
	for (mocpack_Space space : {MOCPACK_LOCAL, MOCPACK_WORLD})
	{
		mocpack_ReaderOptions options = doubles();
		options.space = space;
		Opened all(file, options);
		options.joints = wanted, options.joint_count = 2;
		Opened some(file, options);
		Pose whole(FRAMES), part(FRAMES, 2);
		mocpack_frames(all.reader, 0, FRAMES, &whole.arrays, nullptr);
		check(mocpack_frames(some.reader, 0, FRAMES, &part.arrays, nullptr) == MOCPACK_OK,
			  "some joints decode");
		for (size_t t = 0; t < FRAMES; ++t)
			for (size_t i = 0; i < 2; ++i)
				for (size_t c = 0; c < 3; ++c)
					check(std::fabs(part.translations[3 * (2 * t + i) + c] -
									whole.translations[3 * (JOINTS * t + size_t(wanted[i])) + c]) < 1e-9,
						  "some joints stand where they do among all");
	}
	mocpack_ReaderOptions wrong = doubles();
	const int32_t none[] = {int32_t(JOINTS)};
	wrong.joints = none, wrong.joint_count = 1;
	Opened opened(file);
	mocpack_Reader* reader;
	check(mocpack_reader_open(opened.motion, &wrong, &reader, nullptr) == MOCPACK_BAD_ARGUMENT && !reader,
		  "a joint that is not there is refused");
}

void options_of_another_version_are_refused(const Bytes& file)
{
	mocpack_OpenOptions other = MOCPACK_OPEN_OPTIONS;
	other.struct_size -= 1;
	mocpack_Scene* scene = nullptr;
	check(mocpack_scene_open(file.data(), file.size(), &other, &scene, nullptr) == MOCPACK_BAD_ARGUMENT,
		  "a scene is not opened with options of another size");
	mocpack_scene_close(scene);
	mocpack_Motion* motion = nullptr;
	check(mocpack_open(file.data(), file.size(), &other, &motion, nullptr) == MOCPACK_BAD_ARGUMENT,
		  "a file is not opened with options of another size");
	mocpack_close(motion);
}

void names_of_codecs_are_ascii(const Body& body, const Payload& payload)
{
	std::vector<TestChunk> chunks = test_chunks(body, payload);
	Bytes& head = chunks[0].body;
	auto name = std::search(head.begin(), head.end(), "keysine", "keysine" + 7);
	check(name != head.end(), "the first chunk names the codec");
	*name |= 128;
	const Bytes file = file_of(chunks);
	mocpack_Motion* motion = nullptr;
	check(mocpack_open(file.data(), file.size(), nullptr, &motion, nullptr) == MOCPACK_CORRUPT,
		  "a codec's name of other letters is corrupt, and not unknown");
	mocpack_close(motion);
}

void keys_are_frames(const Bytes& file)
{
	Opened opened(file);
	uint64_t keys = mocpack_info(opened.motion)->key_count;
	Pose key(1), frame(1);
	check(keys == GROUPS + 1, "there is a key at either end of each group");
	for (uint64_t k = 0; k < keys; ++k)
	{
		uint64_t t = mocpack_key_frame(opened.motion, k);
		check(mocpack_preview(opened.reader, k, k + 1, &key.arrays, nullptr) == MOCPACK_OK, "a key decodes");
		mocpack_frames(opened.reader, t, t + 1, &frame.arrays, nullptr);
		check(farthest(key.translations, frame.translations) < 1e-9, "a key is the frame where it stands");
	}
}

// A file that is fetched piece by piece.
struct Fetched
{
	const Bytes* file;
	Bytes here;
	size_t reads = 0;

	static mocpack_Status read(void* user, uint64_t offset, size_t size, void* dst)
	{
		Fetched* self = static_cast<Fetched*>(user);
		++self->reads;
		check(offset + size <= self->file->size(), "nothing beyond the file is requested");
		for (size_t i = 0; i < size; ++i)
			if (!self->here[size_t(offset) + i])
				return MOCPACK_NEEDS_BYTES;
		memcpy(dst, self->file->data() + offset, size);
		return MOCPACK_OK;
	}
	void fetch(uint64_t offset, uint64_t size)
	{
		std::fill_n(here.begin() + long(offset), long(size), uint8_t(1));
	}
};

void a_file_is_read_by_ranges(const Bytes& file)
{
	Fetched from = {&file, Bytes(file.size())};
	mocpack_Source source = {&from, file.size(), Fetched::read};
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_Error error;
	mocpack_Status status;
	Counter counter;
	mocpack_Allocator allocator = counter.allocator();
	mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
	how.allocator = &allocator;
	while ((status = mocpack_open_source(&source, &how, &motion, &error)) == MOCPACK_NEEDS_BYTES)
	{
		check(error.size > 0 && counter.held == 0,
			  "missing bytes have a size, and no memory stays allocated");
		from.fetch(error.offset, error.size);
	}
	check(status == MOCPACK_OK, "a file opens by ranges");
	mocpack_ReaderOptions options = doubles();
	mocpack_reader_open(motion, &options, &reader, &error);
	Pose pose(FRAMES), same(FRAMES);
	check(mocpack_frames(reader, 0, 1, &pose.arrays, &error) == MOCPACK_NEEDS_BYTES, "frames need more");
	mocpack_Range ranges[8];
	size_t count = mocpack_byte_ranges(motion, 35, 60, 0, ranges, 8);
	check(count >= 1 && count <= 2, "the ranges of neighbors are joined");
	for (size_t i = 0; i < count; ++i)
		from.fetch(ranges[i].offset, ranges[i].size);
	check(mocpack_frames(reader, 35, 60, &pose.arrays, &error) == MOCPACK_OK,
		  "the ranges are all that is needed");
	while ((status = mocpack_frames(reader, 0, FRAMES, &pose.arrays, &error)) == MOCPACK_NEEDS_BYTES)
		from.fetch(error.offset, error.size);
	Opened opened(file);
	mocpack_frames(opened.reader, 0, FRAMES, &same.arrays, nullptr);
	check(status == MOCPACK_OK && pose.rotations == same.rotations, "by ranges comes what comes from memory");
	mocpack_reader_close(reader);
	mocpack_close(motion);
	check(counter.held == 0, "everything is given back");
}

void nothing_is_allocated_once_it_is_open(const Bytes& file)
{
	Counter counter;
	mocpack_Allocator allocator = counter.allocator();
	mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
	how.allocator = &allocator;
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_open(file.data(), file.size(), &how, &motion, nullptr);
	size_t before = counter.calls;
	mocpack_ReaderOptions options = doubles();
	options.cache_size = 100000;
	Memory memory(mocpack_reader_size(motion, &options));
	options.memory = memory.at, options.memory_size = mocpack_reader_size(motion, &options) - 1;
	check(mocpack_reader_open(motion, &options, &reader, nullptr) == MOCPACK_NO_MEMORY,
		  "a byte too little is too little");
	++options.memory_size;
	check(mocpack_reader_open(motion, &options, &reader, nullptr) == MOCPACK_OK,
		  "a reader lives in given memory");
	Pose pose(FRAMES);
	mocpack_frames(reader, 0, FRAMES, &pose.arrays, nullptr);
	for (int i = 0; i < 50; ++i)
		mocpack_sample(reader, 0.13 * i, &pose.arrays, nullptr);
	mocpack_preview(reader, 0, 2, &pose.arrays, nullptr);
	mocpack_reader_close(reader);
	check(counter.calls == before, "reading allocates nothing");
	mocpack_close(motion);
	check(counter.held == 0, "everything is given back");
}

// Opens and reads a whole file; the result does not matter, only that nothing crashes.
mocpack_Status read_through(const Bytes& file, Counter* counter, uint64_t limit, uint32_t flags,
							bool by_source)
{
	Bytes own(file); // of just its size
	mocpack_Allocator allocator = counter->allocator();
	mocpack_OpenOptions how = MOCPACK_OPEN_OPTIONS;
	how.allocator = &allocator, how.memory_limit = limit, how.flags = flags;
	mocpack_Motion* motion = nullptr;
	mocpack_Error error = {};
	Fetched from = {&own, Bytes(own.size(), 1)};
	mocpack_Source source = {&from, own.size(), Fetched::read};
	mocpack_Status status = by_source ? mocpack_open_source(&source, &how, &motion, &error)
									  : mocpack_open(own.data(), own.size(), &how, &motion, &error);
	check((status == MOCPACK_OK) == (motion != nullptr), "a motion is open, or there is none");
	check(status == MOCPACK_OK || (error.status == status && error.message[0]),
		  "an error has a status and a message");
	if (status != MOCPACK_OK)
		return status;
	mocpack_Reader* reader;
	mocpack_ReaderOptions options = doubles();
	options.space = MOCPACK_WORLD;
	status = mocpack_reader_open(motion, &options, &reader, &error);
	const mocpack_Info& info = *mocpack_info(motion);
	Pose pose(1, info.joint_count);
	std::vector<uint8_t> seen(info.joint_count);
	uint64_t step = info.frame_count / 60 + 1;
	for (uint64_t t = 0; t < info.frame_count && status == MOCPACK_OK; t += step)
	{
		status = mocpack_frames(reader, t, t + 1, &pose.arrays, &error);
		mocpack_valid_mask(motion, t, t + 1, seen.data(), nullptr);
		for (double value : pose.translations)
			check(status != MOCPACK_OK || std::isfinite(value), "decoded values are finite");
	}
	if (status == MOCPACK_OK)
		mocpack_preview(reader, 0, 1, &pose.arrays, &error);
	if (status == MOCPACK_OK)
		status = read_tracks(motion, &error);
	mocpack_reader_close(reader);
	mocpack_close(motion);
	return status;
}

void check_missing_memory(const Bytes& file)
{
	for (bool by_source : {false, true})
		for (size_t n = 0;; ++n)
		{
			Counter counter;
			counter.fail_at = n;
			mocpack_Status status = read_through(file, &counter, 0, 0, by_source);
			check(counter.held == 0, "all memory is released");
			if (status == MOCPACK_OK)
				break;
			check(status == MOCPACK_NO_MEMORY && n < 200, "missing memory has its own status");
		}
}

void the_limit_holds(const Bytes& file)
{
	bool was = false;
	for (uint64_t limit = 500; limit < 4000000; limit += limit / 6)
	{
		Counter counter;
		mocpack_Status status = read_through(file, &counter, limit, 0, true);
		check(status == MOCPACK_OK || status == MOCPACK_NO_MEMORY,
			  "a limit that is too low has its own status");
		check(counter.most <= limit && counter.held == 0, "memory stays within the limit");
		check(!was || status == MOCPACK_OK, "a larger limit also suffices");
		was = status == MOCPACK_OK;
	}
	check(was, "in four megabytes it fits");
}

// Damages some bytes of a chunk, or cuts it; keysine's own checksums are made right as well where they can
// be.
void damage(std::vector<TestChunk>* chunks, std::mt19937* random)
{
	TestChunk& chunk = (*chunks)[(*random)() % chunks->size()];
	size_t changes = 1 + (*random)() % 3;
	for (size_t i = 0; i < changes && !chunk.body.empty(); ++i)
		chunk.body[(*random)() % chunk.body.size()] = uint8_t((*random)());
	if ((*random)() % 8 == 0)
		chunk.body.resize((*random)() % (chunk.body.size() + 1));
	if ((*random)() % 16 == 0)
		chunk.body.push_back(uint8_t((*random)()));
	if ((*random)() % 32 == 0)
		chunk.tag = "ZzZz";
}

void no_bytes_do_harm(const Body& body, const Payload& payload, unsigned seed, int tries)
{
	std::mt19937 random(seed);
	const uint64_t LIMIT = 30000000;
	int good = 0, statuses[16] = {};
	for (int i = 0; i < tries; ++i)
	{
		Payload own = payload;
		if (i % 2) // parts with their checksums right, so that what is inside them is looked at
		{
			bool head = random() % 3 == 0;
			Bytes& part = head			 ? own.head
						  : random() % 2 ? own.groups[random() % own.groups.size()]
										 : own.segments[random() % own.segments.size()];
			if (part.size() > 4)
			{
				part[2 + random() % (part.size() - 4)] = uint8_t(random());
				if (head)
					seal_head(&part);
				else
					seal(part.data(), part.size());
			}
		}
		std::vector<TestChunk> chunks = test_chunks(body, own);
		if (i % 2 == 0)
			damage(&chunks, &random);
		Bytes file = file_of(chunks);
		if (i % 16 == 0)
			file.resize(random() % (file.size() + 1));
		if (i % 16 == 2)
			file[random() % file.size()] ^= uint8_t(1 << random() % 8);
		Counter counter;
		mocpack_Status status =
			read_through(file, &counter, LIMIT, i % 5 == 0 ? MOCPACK_OPEN_ALLOW_TRUNCATED : 0, i % 3 == 0);
		check(counter.held == 0 && counter.most <= LIMIT, "memory is bounded and given back");
		good += status == MOCPACK_OK;
		++statuses[-status];
	}
	check(good > 0 && statuses[1] && statuses[2] && statuses[6],
		  "some files are good, and some are bad in all ways");
}

// A cut inside the first layer leaves poses that are too far off to be shown.
void a_cut_file_of_one_layer_is_truncated_even_where_cuts_are_allowed(const Body& body,
																	  const Payload& payload)
{
	Bytes file = file_of(test_chunks(body, payload));
	size_t without = payload.groups.back().size() + 1;
	Bytes cut(file.begin(), file.end() - long(without));
	for (uint32_t flags : {uint32_t(0), uint32_t(MOCPACK_OPEN_ALLOW_TRUNCATED)})
	{
		mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
		options.flags = flags;
		mocpack_Motion* motion;
		check(mocpack_open(cut.data(), cut.size(), &options, &motion, nullptr) == MOCPACK_TRUNCATED,
			  "a cut file is refused");
		check(mocpack_open(file.data(), file.size(), &options, &motion, nullptr) == MOCPACK_OK,
			  "a whole file opens");
		mocpack_close(motion);
	}
}

// Deflate: a block with codes of its own, as zlib makes it.
const uint8_t DEFLATED[] = {
	53,	 82,  215, 113, 64,	 49,  12,  90,	229, 45,  16,  159, 154, 85,  246, 95,	44,	 32,  39,  95,	62,
	171, 33,  64,  114, 180, 231, 179, 115, 69,	 190, 31,  61,	157, 254, 233, 153, 190, 223, 143, 156, 171,
	189, 143, 249, 231, 167, 102, 62,  57,	174, 155, 145, 78,	148, 197, 101, 167, 221, 216, 80,  26,	66,
	90,	 201, 49,  19,	197, 88,  249, 166, 154, 65,  59,  153, 232, 245, 35,  90,	124, 254, 218, 162, 182,
	210, 99,  231, 102, 40,	 64,  212, 123, 235, 75,  25,  211, 75,	 224, 40,  34,	94,	 49,  142, 207, 177,
	157, 203, 157, 227, 136, 239, 234, 34,	197, 159, 143, 179, 185, 125, 119, 19,	103, 44,  132, 172, 238,
	20,	 6,	  229, 205, 69,	 178, 139, 207, 232, 32,  33,  247, 162, 86,  102, 225, 34,	 149, 211, 180, 131,
	143, 201, 44,  159, 242, 229, 56,  139, 116, 203, 80,  175, 190, 60,  10,  64,	192, 211, 174, 45,	148,
	36,	 160, 66,  31,	199, 126, 151, 159, 214, 165, 120, 115, 43,	 228, 10,  82,	174, 198, 230, 1,	69,
	244, 198, 98,  69,	46,	 136, 235, 130, 120, 80,  79,  107, 229, 116, 171, 251, 164, 104, 44,  93,	32,
	234, 39,  153, 225, 112, 197, 135, 67,	97,	 222, 44,  181, 201, 229, 201, 49,	248, 184, 33,  111, 16,
	5,	 212, 192, 150, 12,	 253, 17,  125, 66,	 132, 108, 157, 95,	 39,  106, 1,	1,	 235, 63,  139, 218,
	176, 100, 29,  211, 85,	 219, 98,  235, 223, 168, 122, 126, 133, 204, 139, 37,	17,	 225, 47,  20,	240,
	101, 251, 183, 75,	197, 10,  129, 93,	193, 60,  229, 105, 169, 128, 200, 104, 90,	 114, 215, 79,	173,
	53,	 220, 131, 78,	211, 38,  122, 156, 177, 186, 242, 224, 112, 158, 179, 133, 162, 84,  222, 222, 17,
	54,	 5,	  133, 211, 67,	 15,  221, 123, 47,	 135, 64,  217, 141, 42,  154, 78,	98,	 111, 31,  27,	121,
	14,	 62,  61,  243, 191, 199, 176, 98,	240, 176, 163, 223, 57,	 190, 203, 55,	249, 5};
const size_t PLAIN_SIZE = 793;
const uint32_t PLAIN_CHECKSUM = 2367249402u;

void streams_inflate(void)
{
	Bytes out(PLAIN_SIZE);
	mocpack::Inflated found = mocpack::inflate(DEFLATED, sizeof DEFLATED, nullptr, 0, nullptr, 1000);
	check(found.status == MOCPACK_OK && found.size == PLAIN_SIZE, "the size is found first");
	mocpack::inflate(DEFLATED, sizeof DEFLATED, nullptr, 0, out.data(), out.size());
	check(mocpack::crc32(0, out.data(), out.size()) == PLAIN_CHECKSUM,
		  "a stream inflates to what was deflated");
	check(mocpack::inflate(DEFLATED, sizeof DEFLATED, nullptr, 0, nullptr, PLAIN_SIZE - 1).status ==
			  MOCPACK_CORRUPT,
		  "more than the limit is refused");
	for (size_t size = 0; size < sizeof DEFLATED; ++size)
		check(mocpack::inflate(DEFLATED, size, nullptr, 0, nullptr, 1000).status == MOCPACK_TRUNCATED,
			  "a cut stream is unfinished");
}

// A block of Deflate's fixed codes, bit by bit.
struct FixedBlock
{
	Bytes bytes;
	size_t bit_count = 0;

	void bits(uint32_t value, int count)
	{
		for (int i = 0; i < count; ++i, ++bit_count)
		{
			if (bit_count % 8 == 0)
				bytes.push_back(0);
			bytes.back() = uint8_t(bytes.back() | (value >> i & 1) << bit_count % 8);
		}
	}

	// Codes come with their highest bit first.
	void code(uint32_t value, int count)
	{
		for (int i = count; i-- > 0;)
			bits(value >> i & 1, 1);
	}

	void symbol(uint32_t s)
	{
		if (s < 144)
			code(0x30 + s, 8);
		else if (s < 256)
			code(0x190 + s - 144, 9);
		else if (s < 280)
			code(s - 256, 7);
		else
			code(0xc0 + s - 280, 8);
	}
};

// Copies bytes from `distance` before the end.
void repeat(Bytes* plain, uint32_t length, uint32_t distance)
{
	for (uint32_t i = 0; i < length; ++i)
		plain->push_back((*plain)[plain->size() - distance]);
}

// The longest and the shortest length and distance of every code of RFC 1951.
void every_length_and_distance_inflates(void)
{
	FixedBlock block;
	Bytes plain;
	std::mt19937 random(3);
	block.bits(1, 1), block.bits(1, 2);
	for (size_t i = 0; i < 32768; ++i)
	{
		plain.push_back(uint8_t(random()));
		block.symbol(plain.back());
	}
	for (uint32_t c = 0; c < 30 * 29; ++c)
	{
		const uint32_t d = c % 30, l = c / 30, most = c % 2 ? ~0u : 0u;
		const int l_bits = l < 8 || l == 28 ? 0 : int(l / 4) - 1, d_bits = d < 4 ? 0 : int(d / 2) - 1;
		const uint32_t l_extra = most & ((1u << l_bits) - 1), d_extra = ~most & ((1u << d_bits) - 1);
		const uint32_t l_base = l == 28 ? 258 : l < 8 ? l + 3 : ((4 + l % 4) << l_bits) + 3;
		const uint32_t d_base = d < 4 ? d + 1 : ((2 + d % 2) << d_bits) + 1;
		block.symbol(257 + l), block.bits(l_extra, l_bits);
		block.code(d, 5), block.bits(d_extra, d_bits);
		repeat(&plain, l_base + l_extra, d_base + d_extra);
	}
	block.symbol(256);
	Bytes out(plain.size());
	mocpack::Inflated found =
		mocpack::inflate(block.bytes.data(), block.bytes.size(), nullptr, 0, out.data(), out.size());
	check(found.status == MOCPACK_OK && found.size == plain.size() && out == plain,
		  "every length and distance is copied");
}

// Two lengths and two distances have codes and no meaning.
void codes_without_meaning_are_refused(void)
{
	for (uint32_t code : {30u, 31u, 286u, 287u})
	{
		FixedBlock block;
		block.bits(1, 1), block.bits(1, 2);
		block.symbol('a');
		block.symbol(code < 32 ? 257 : code);
		if (code < 32) // and nothing after it, which would be refused as well
			block.code(code, 5);
		check(mocpack::inflate(block.bytes.data(), block.bytes.size(), nullptr, 0, nullptr, 1000).status ==
				  MOCPACK_CORRUPT,
			  "a code without meaning is refused");
	}
}

void no_stream_does_harm(unsigned seed, int tries)
{
	std::mt19937 random(seed);
	const uint8_t dictionary[] = "a dictionary of few words";
	for (int i = 0; i < tries; ++i)
	{
		Bytes stream(DEFLATED, DEFLATED + sizeof DEFLATED);
		if (i % 3 == 0)
		{
			stream.resize(random() % 60);
			for (uint8_t& byte : stream)
				byte = uint8_t(random());
		}
		else
			for (int n = 0; n < 1 + i % 4; ++n)
				stream[random() % stream.size()] ^= uint8_t(1 << random() % 8);
		const size_t most = random() % 5000;
		mocpack::Inflated found =
			mocpack::inflate(stream.data(), stream.size(), dictionary, sizeof dictionary - 1, nullptr, most);
		check(found.size <= most, "the output stays within its limit");
		Bytes out(found.size);
		mocpack::Inflated again = mocpack::inflate(stream.data(), stream.size(), dictionary,
												   sizeof dictionary - 1, out.data(), out.size());
		check(found.status != MOCPACK_OK || again.status == MOCPACK_OK, "the counted bytes are inflated");
	}
}

// Compilers may drop what was written to an object's memory before its constructor, as zeros are.
void a_motion_does_not_need_zeroed_memory()
{
	alignas(mocpack_Motion) uint8_t room[sizeof(mocpack_Motion)];
	std::fill(room, room + sizeof room, uint8_t(0xa5));
	mocpack_Motion* m = new (room) mocpack_Motion();
	check(!m->bytes.all && !m->bytes.start && !m->info.frame_count && !m->info.joint_bounds &&
			  !m->payload.size && !m->is_vertices && !m->mesh.faces && !m->needed.size && !m->chunks &&
			  !m->shares_skeleton && !m->shares_metadata && !m->gaps.joint_count && !m->channels &&
			  !m->layouts && !m->layout_of && !m->channel_count && !m->hinge_joints && !m->moving_scales &&
			  !m->translation_factors && !m->track_offsets && !m->tree.joint_count && !m->origins &&
			  m->codec == mocpack::KEYSINE && !m->raw.stored && !m->lossless.channels &&
			  !m->frames_per_group && !m->head && !m->layout.group_count && !m->part_offsets &&
			  !m->payload_end && !m->longest_group && !m->largest_input,
		  "a new motion is empty");
	m->~mocpack_Motion();
}

} // namespace

int main()
{
	Body body, grid;
	Payload payload = encoded(&body);
	grid.take_grid(false);
	Payload on_grid = encoded(&grid);
	Bytes file = file_of(test_chunks(body, payload));
	a_file_says_what_it_holds(file);
	a_track_has_its_samples(file);
	motion_comes_back(body, file);
	motion_comes_back(grid, file_of(test_chunks(grid, on_grid)));
	layouts_agree(file);
	places_in_the_world_follow_from_local_poses(body, file);
	some_joints_are_those_of_all(file);
	options_of_another_version_are_refused(file);
	names_of_codecs_are_ascii(body, payload);
	keys_are_frames(file);
	a_file_is_read_by_ranges(file);
	nothing_is_allocated_once_it_is_open(file);
	check_missing_memory(file);
	the_limit_holds(file);
	a_cut_file_of_one_layer_is_truncated_even_where_cuts_are_allowed(body, payload);
	a_motion_does_not_need_zeroed_memory();
	streams_inflate();
	every_length_and_distance_inflates();
	codes_without_meaning_are_refused();
	no_stream_does_harm(7, 20000);
	no_bytes_do_harm(body, payload, 1, 3000);
	no_bytes_do_harm(grid, on_grid, 2, 1000);
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
