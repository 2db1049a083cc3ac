// Plays two .mocp files of one skeleton and cross-fades from the first to the second, with mocpack.hpp.
//
//     c++ -std=c++17 blend.cpp $(pkg-config --cflags --libs mocpack) -o blend
//     ./blend walk.mocp run.mocp
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include <mocpack/mocpack.hpp>

namespace
{

// A file, its motion, and a pose.
struct Clip
{
	std::vector<unsigned char> bytes;
	mocpack::Motion motion;
	mocpack::Reader<float> reader;
	std::vector<float> rotations, translations;

	bool open(const char* path, mocpack_Error* error)
	{
		std::ifstream file(path, std::ios::binary);
		bytes.assign(std::istreambuf_iterator<char>(file), {});
		if (motion.open(bytes, error) != MOCPACK_OK || reader.open(motion, error) != MOCPACK_OK)
			return false;
		rotations.resize(4 * motion.joint_count());
		translations.resize(3 * motion.joint_count());
		return true;
	}

	// Samples the clip in a loop.
	bool pose(double seconds, mocpack_Error* error)
	{
		double length = motion.duration();
		double time = length > 0 ? std::fmod(seconds, length) : 0;
		return reader.sample(motion.info().start_time + time, rotations, translations, error) == MOCPACK_OK;
	}
};

// Blends `into` with `other` by `share`, with normalized linear interpolation.
void blend(std::vector<float>& into, const std::vector<float>& other, float share)
{
	for (size_t j = 0; j < into.size(); j += 4)
	{
		float dot = 0, square = 0;
		for (size_t c = j; c < j + 4; ++c)
			dot += into[c] * other[c];
		for (size_t c = j; c < j + 4; ++c)
			into[c] += share * ((dot < 0 ? -other[c] : other[c]) - into[c]), square += into[c] * into[c];
		for (size_t c = j; c < j + 4; ++c)
			into[c] /= std::sqrt(square);
	}
}

} // namespace

int main(int argc, char** argv)
{
	Clip from, to;
	mocpack_Error error = {};
	if (argc != 3)
		return std::fprintf(stderr, "blend: name two .mocp files of one skeleton\n"), 1;
	if (!from.open(argv[1], &error) || !to.open(argv[2], &error))
		return std::fprintf(stderr, "blend: %s\n", error.message), 1;
	if (from.motion.joint_count() != to.motion.joint_count())
		return std::fprintf(stderr, "blend: the skeletons are not the same\n"), 1;
	for (int i = 0; i <= 10; ++i)
	{
		double time = 0.1 * i;
		if (!from.pose(time, &error) || !to.pose(time, &error))
			return std::fprintf(stderr, "blend: %s\n", error.message), 1;
		blend(from.rotations, to.rotations, float(i) / 10);
		const float* q = from.rotations.data();
		std::printf("%.1f s: %s turned by %.4f %.4f %.4f %.4f\n", time, from.motion.name(0).data(),
					double(q[0]), double(q[1]), double(q[2]), double(q[3]));
	}
}
