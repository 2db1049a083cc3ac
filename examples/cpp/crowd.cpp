// A game loop: a thousand characters play clips at 60 frames per second, on one core.
//
//     c++ -std=c++17 -O2 crowd.cpp $(pkg-config --cflags --libs mocpack) -o crowd
//     ./crowd walk.mocp run.mocp wave.mocp
//
// Each character loops a clip, starting at its own time. Characters share one reader per clip, which caches
// decoded groups (CACHE). Nothing is allocated while the game runs. Prints poses per second of CPU time and
// the memory used, for mocpack and for the same clips as raw float32 arrays.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include <mocpack/mocpack.hpp>

namespace
{

const size_t CHARACTERS = 1000;
const size_t CACHE = 1 << 21; // bytes of decoded groups per clip
const double TICK = 1.0 / 60; // seconds

struct Clip
{
	std::vector<unsigned char> bytes;
	mocpack::Motion motion;
	std::vector<unsigned char> memory; // of the reader
	mocpack::Reader<float> reader;
	std::vector<float> rotations, translations; // raw: (T, J, 4) and (T, J, 3)

	bool open(const char* path, mocpack_Error* error)
	{
		std::ifstream file(path, std::ios::binary);
		bytes.assign(std::istreambuf_iterator<char>(file), {});
		if (motion.open(bytes, error) != MOCPACK_OK)
			return false;
		mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
		options.cache_size = CACHE;
		memory.resize(mocpack_reader_size(motion.get(), &options));
		options.memory = memory.data(), options.memory_size = memory.size();
		rotations.resize(4 * motion.joint_count() * motion.frame_count());
		translations.resize(3 * motion.joint_count() * motion.frame_count());
		return reader.open(motion, error, options) == MOCPACK_OK &&
			   reader.frames(0, motion.frame_count(), rotations, translations, error) == MOCPACK_OK;
	}

	size_t raw_bytes() const
	{
		return sizeof(float) * (rotations.size() + translations.size());
	}
};

// Samples a raw clip with normalized linear interpolation.
void raw_pose(const Clip& clip, double time, std::vector<float>& rotations, std::vector<float>& translations)
{
	size_t joints = clip.motion.joint_count(), frames = clip.motion.frame_count();
	double at = time / clip.motion.info().frame_time;
	size_t t = size_t(at) + 1 < frames ? size_t(at) : frames - 1, next = t + 1 < frames ? t + 1 : t;
	float part = float(at - double(t));
	const float *p = &clip.rotations[4 * joints * t], *q = &clip.rotations[4 * joints * next];
	for (size_t j = 0; j < 4 * joints; j += 4)
	{
		float dot = p[j] * q[j] + p[j + 1] * q[j + 1] + p[j + 2] * q[j + 2] + p[j + 3] * q[j + 3];
		float to = dot < 0 ? -part : part, square = 0;
		for (size_t c = j; c < j + 4; ++c)
			rotations[c] = (1 - part) * p[c] + to * q[c], square += rotations[c] * rotations[c];
		for (size_t c = j; c < j + 4; ++c)
			rotations[c] /= std::sqrt(square);
	}
	const float *u = &clip.translations[3 * joints * t], *v = &clip.translations[3 * joints * next];
	for (size_t i = 0; i < 3 * joints; ++i)
		translations[i] = (1 - part) * u[i] + part * v[i];
}

struct Character
{
	Clip* clip;
	double start;

	double time_at(double now) const
	{
		double length = clip->motion.duration();
		return length > 0 ? std::fmod(start + now, length) : 0;
	}
};

// Plays `ticks` of the game and returns seconds of CPU time.
template <typename Pose> double play(std::vector<Character>& crowd, int ticks, Pose pose)
{
	std::clock_t start = std::clock();
	for (int tick = 0; tick < ticks; ++tick)
		for (Character& one : crowd)
			pose(one, one.time_at(TICK * tick));
	return double(std::clock() - start) / CLOCKS_PER_SEC;
}

} // namespace

int main(int argc, char** argv)
{
	std::vector<Clip> clips(size_t(argc > 1 ? argc - 1 : 0));
	mocpack_Error error = {};
	size_t widest = 0, packed = 0, raw = 0, readers = 0;
	for (size_t i = 0; i < clips.size(); ++i)
	{
		if (!clips[i].open(argv[i + 1], &error))
			return std::fprintf(stderr, "crowd: %s: %s\n", argv[i + 1], error.message), 1;
		widest = clips[i].motion.joint_count() > widest ? clips[i].motion.joint_count() : widest;
		packed += clips[i].bytes.size(), raw += clips[i].raw_bytes(), readers += clips[i].memory.size();
	}
	if (clips.empty())
		return std::fprintf(stderr, "crowd: name .mocp files\n"), 1;
	const char* seconds = std::getenv("CROWD_SECONDS");
	int ticks = int((seconds ? std::atof(seconds) : 2.0) / TICK);
	std::vector<Character> crowd(CHARACTERS);
	for (size_t i = 0; i < crowd.size(); ++i)
		crowd[i] = {&clips[i % clips.size()], 0.37 * double(i)};
	std::vector<float> rotations(4 * widest), translations(3 * widest);
	bool good = true;
	double unpacking = play(crowd, ticks,
							[&](Character& one, double time)
							{
								good &=
									one.clip->reader.sample(one.clip->motion.info().start_time + time,
															rotations, translations, &error) == MOCPACK_OK;
							});
	double copying = play(crowd, ticks, [&](Character& one, double time)
						  { raw_pose(*one.clip, time, rotations, translations); });
	if (!good)
		return std::fprintf(stderr, "crowd: %s\n", error.message), 1;
	double poses = double(crowd.size()) * ticks;
	std::printf("%zu characters, %d ticks, %zu clips\n", crowd.size(), ticks, clips.size());
	std::printf("mocpack      %10.0f poses a second, files %.3f MB, readers %.1f MB\n", poses / unpacking,
				1e-6 * double(packed), 1e-6 * double(readers));
	std::printf("raw float32  %10.0f poses a second, clips %.3f MB\n", poses / copying, 1e-6 * double(raw));
	std::printf("a tick takes %.2f ms of the 16.67 that it has\n", 1e3 * unpacking / ticks);
}
