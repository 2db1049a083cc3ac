// Writes a .mocp file: five seconds of a pendulum of two bones, within 1 mm.
//
//     cc encode.c $(pkg-config --cflags --libs mocpack) -lm -o encode
//     ./encode pendulum.mocp
#include <math.h>
#include <mocpack/mocpack.h>
#include <stdio.h>

#define JOINTS 2
#define FRAMES 300

int main(int argc, char** argv)
{
	static double rotations[FRAMES][JOINTS][4]; // x, y, z, w, relative to the parent
	const double offsets[JOINTS][3] = {{0, 2, 0}, {0, -0.5, 0}}, end[3] = {0, -0.5, 0}; // meters
	const mocpack_Text names[JOINTS] = {{"upper", 5}, {"lower", 5}};
	const int32_t parents[JOINTS] = {-1, 0}, end_joint = 1;
	for (int t = 0; t < FRAMES; ++t)
		for (int j = 0; j < JOINTS; ++j)
		{
			const double angle = (0.8 - 0.3 * j) * cos((2.2 + j) * t / 60.0);
			rotations[t][j][2] = sin(angle / 2), rotations[t][j][3] = cos(angle / 2);
		}

	mocpack_Clip clip = {0};
	clip.skeleton.joint_count = JOINTS, clip.skeleton.names = names, clip.skeleton.parents = parents;
	clip.skeleton.offsets = offsets[0];
	clip.skeleton.end_count = 1, clip.skeleton.end_joints = &end_joint, clip.skeleton.end_sites = end;
	clip.frame_count = FRAMES, clip.frame_time = 1 / 60.0, clip.rotations = rotations[0][0];
	mocpack_EncodeOptions options = MOCPACK_ENCODE_OPTIONS;
	options.max_error = 0.001;
	mocpack_EncodedFile made;
	mocpack_Error error;
	if (mocpack_encode(&clip, &options, &made, &error) != MOCPACK_OK)
		return fprintf(stderr, "encode: %s\n", error.message), 1;
	FILE* file = argc == 2 ? fopen(argv[1], "wb") : NULL;
	const int is_written = file && fwrite(made.bytes, 1, made.size, file) == made.size && !fclose(file);
	printf("%zu bytes, %.3f mm\n", made.size, 1e3 * made.measured_max);
	mocpack_encoded_release(&made);
	return is_written ? 0 : (fprintf(stderr, "encode: name a file to write\n"), 1);
}
