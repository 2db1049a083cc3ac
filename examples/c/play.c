// Plays a .mocp file: prints its description, a few poses in sequence, and one after seeking.
//
//     cc play.c $(pkg-config --cflags --libs mocpack) -lm -o play
//     ./play walk.mocp
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char* whole_file(const char* path, size_t* size)
{
	FILE* file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		return NULL;
	*size = (size_t)ftell(file);
	rewind(file);
	unsigned char* bytes = malloc(*size + 1);
	*size = bytes ? fread(bytes, 1, *size, file) : 0;
	fclose(file);
	return bytes;
}

static int report_error(const mocpack_Error* error)
{
	fprintf(stderr, "play: %s: %s\n", mocpack_status_name(error->status), error->message);
	return 1;
}

int main(int argc, char** argv)
{
	size_t size = 0;
	unsigned char* bytes = argc == 2 ? whole_file(argv[1], &size) : NULL;
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_Error error;
	if (!bytes)
		return fprintf(stderr, "play: name a .mocp file\n"), 1;
	if (mocpack_open(bytes, size, NULL, &motion, &error) != MOCPACK_OK)
		return report_error(&error);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.space = MOCPACK_WORLD;
	if (mocpack_reader_open(motion, &options, &reader, &error) != MOCPACK_OK)
		return report_error(&error);

	const mocpack_Info* info = mocpack_info(motion);
	double seconds = info->frame_time * (double)(info->frame_count - 1);
	printf("%zu joints, %.2f s, within %.3f mm\n", info->joint_count, seconds, 1e3 * info->declared_error);
	float* places = malloc(info->joint_count * 3 * sizeof *places);
	mocpack_Poses pose = mocpack_poses_dense(NULL, places, info->joint_count);
	for (double time = 0; time <= seconds; time += 0.5)
	{
		if (mocpack_sample(reader, info->start_time + time, &pose, &error) != MOCPACK_OK)
			return report_error(&error);
		printf("%5.2f s: %s at %.3f %.3f %.3f\n", time, info->names[0].bytes, places[0], places[1],
			   places[2]);
	}
	uint64_t middle = info->frame_count / 2;
	if (mocpack_frames(reader, middle, middle + 1, &pose, &error) != MOCPACK_OK)
		return report_error(&error);
	for (size_t j = 0; j < info->joint_count; ++j)
		printf("frame %llu: %s at %.6f %.6f %.6f\n", (unsigned long long)middle, info->names[j].bytes,
			   places[3 * j], places[3 * j + 1], places[3 * j + 2]);
	free(places);
	mocpack_reader_close(reader);
	mocpack_close(motion);
	free(bytes);
	return 0;
}
