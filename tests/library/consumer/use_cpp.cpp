// Objects close themselves, may be moved, and check the spans that they are given.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mocpack/mocpack.hpp>
#include <vector>

int main(int, char** argv)
{
	std::ifstream file(argv[1], std::ios::binary);
	std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
	mocpack::Motion opened, motion;
	mocpack::Reader<double> reader;
	mocpack_Error error = {};
	if (opened || opened.open(bytes, &error) != MOCPACK_OK)
		return 1;
	motion = std::move(opened);
	if (opened || !motion || reader.open(motion, &error) != MOCPACK_OK)
		return 2;
	std::vector<double> rotations(4 * motion.joint_count()), translations(3 * motion.joint_count());
	if (reader.sample(0, rotations, translations) != MOCPACK_OK ||
		reader.frames(0, 2, rotations, translations) != MOCPACK_BAD_ARGUMENT ||
		reader.frames(0, 1, {}, translations) != MOCPACK_OK || reader.frames(5, 5, {}, {}) != MOCPACK_OK)
		return 3;
	mocpack::Reader<double> other = std::move(reader);
	if (reader || !other)
		return 4;
	std::printf("%.*s %.9f %.9f %.9f\n", int(motion.name(0).size()), motion.name(0).data(), translations[0],
				translations[1], translations[2]);
}
