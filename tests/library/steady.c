// Counts and prints the calls of malloc, calloc and realloc while a motion is read.
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <stdlib.h>

static size_t allocations;

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);

void* __wrap_malloc(size_t size)
{
	++allocations;
	return __real_malloc(size);
}

void* __wrap_calloc(size_t count, size_t size)
{
	++allocations;
	return __real_calloc(count, size);
}

void* __wrap_realloc(void* memory, size_t size)
{
	++allocations;
	return __real_realloc(memory, size);
}

int main(int argc, char** argv)
{
	static unsigned char bytes[1 << 22];
	FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.cache_size = 1 << 18;
	if (mocpack_open(bytes, size, NULL, &motion, NULL) != MOCPACK_OK)
		return 1;
	const mocpack_Info* info = mocpack_info(motion);
	float* transforms = malloc(7 * sizeof(float) * info->joint_count * (size_t)info->frame_count);
	options.memory_size = mocpack_reader_size(motion, &options);
	options.memory = malloc(options.memory_size);
	mocpack_Poses poses = mocpack_poses_interleaved_f32(transforms, info->joint_count, 4, 7);
	size_t opening = allocations;
	if (mocpack_reader_open(motion, &options, &reader, NULL) != MOCPACK_OK)
		return 2;
	for (int i = 0; i < 500; ++i)
		if (mocpack_sample(reader, 0.0123 * i, &poses, NULL) != MOCPACK_OK)
			return 3;
	if (mocpack_frames(reader, 0, info->frame_count, &poses, NULL) != MOCPACK_OK ||
		mocpack_preview(reader, 0, info->key_count, &poses, NULL) != MOCPACK_OK)
		return 4;
	mocpack_reader_close(reader);
	printf("%zu when opening, %zu when reading\n", opening, allocations - opening);
	free(options.memory), free(transforms);
	mocpack_close(motion);
	return 0;
}
