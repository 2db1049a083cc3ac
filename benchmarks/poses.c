// Pose times of libmocpack on one core: poses FILE prints lines of name and nanoseconds, and what is taken of
// memory, in bytes.
//
// Compiled and run by bench_library.py. CPU times, the least of several rounds; `raw` is the same motion as
// float32 arrays in memory, which is what a pose costs where nothing is compressed.
#include <math.h>
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
	ROUNDS = 7,
	RANDOM_POSES = 200000
};

static const double WINDOW = 10.0; // seconds

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void check(mocpack_Status status, const mocpack_Error* error)
{
	if (status == MOCPACK_OK)
		return;
	fprintf(stderr, "%s: %s\n", mocpack_status_name(status), error->message);
	exit(1);
}

static unsigned char* whole_file(const char* path, size_t* size)
{
	FILE* file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		exit(1);
	*size = (size_t)ftell(file);
	rewind(file);
	unsigned char* bytes = malloc(*size);
	if (!bytes || fread(bytes, 1, *size, file) != *size)
		exit(1);
	fclose(file);
	return bytes;
}

// The same times for everyone, within the first seconds of the motion.
static double* random_times(double seconds)
{
	double* times = malloc(RANDOM_POSES * sizeof *times);
	uint64_t state = 1;
	for (int i = 0; i < RANDOM_POSES; ++i)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		times[i] = seconds * (double)(state >> 11) / 9007199254740992.0;
	}
	return times;
}

static size_t held; // bytes

static void* allocate(void* user, size_t size)
{
	(void)user;
	held += size;
	return malloc(size);
}

static void release(void* user, void* memory, size_t size)
{
	(void)user;
	held -= size;
	free(memory);
}

typedef struct Bench
{
	const mocpack_Motion* motion;
	const mocpack_Info* info;
	float *rotations, *translations; // of one pose
	float *all_rotations, *all_translations;
	const double* times;
	double sum; // so that nothing is left out as unused
	mocpack_Error error;
} Bench;

static mocpack_Reader* reader_of(Bench* b, mocpack_Space space, size_t cache)
{
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	mocpack_Reader* reader;
	options.space = space, options.cache_size = cache;
	check(mocpack_reader_open(b->motion, &options, &reader, &b->error), &b->error);
	return reader;
}

static mocpack_Poses one_pose(Bench* b)
{
	return mocpack_poses_dense(b->rotations, b->translations, b->info->joint_count);
}

static double in_sequence(Bench* b, mocpack_Space space, int at_times)
{
	mocpack_Reader* reader = reader_of(b, space, 0);
	mocpack_Poses pose = one_pose(b);
	double start = now();
	for (uint64_t t = 0; t + 1 < b->info->frame_count; ++t)
	{
		if (at_times)
			check(mocpack_sample(reader, b->info->frame_time * ((double)t + 0.3), &pose, &b->error),
				  &b->error);
		else
			check(mocpack_frames(reader, t, t + 1, &pose, &b->error), &b->error);
		b->sum += (double)b->rotations[3];
	}
	double taken = (now() - start) / (double)(b->info->frame_count - 1);
	mocpack_reader_close(reader);
	return taken;
}

static double all_at_once(Bench* b)
{
	mocpack_Reader* reader = reader_of(b, MOCPACK_LOCAL, 0);
	mocpack_Poses poses = mocpack_poses_dense(b->all_rotations, b->all_translations, b->info->joint_count);
	double start = now();
	check(mocpack_frames(reader, 0, b->info->frame_count, &poses, &b->error), &b->error);
	double taken = (now() - start) / (double)b->info->frame_count;
	mocpack_reader_close(reader);
	return taken;
}

static double at_random(Bench* b, mocpack_Space space)
{
	mocpack_Reader* reader = reader_of(b, space, 1000000);
	mocpack_Poses pose = one_pose(b);
	double taken = 0;
	for (int warm = 0; warm < 2; ++warm)
	{
		double start = now();
		for (int i = 0; i < RANDOM_POSES; ++i)
		{
			check(mocpack_sample(reader, b->times[i], &pose, &b->error), &b->error);
			b->sum += (double)b->rotations[3];
		}
		taken = (now() - start) / RANDOM_POSES;
	}
	mocpack_reader_close(reader);
	return taken;
}

// A group that was not decoded yet, its keys included.
static double cold(Bench* b)
{
	mocpack_Poses pose = one_pose(b);
	double least = 1e30;
	for (uint64_t key = 0; key + 1 < b->info->key_count; ++key)
	{
		mocpack_Reader* reader = reader_of(b, MOCPACK_LOCAL, 0);
		uint64_t frame = mocpack_key_frame(b->motion, key);
		double start = now();
		check(mocpack_frames(reader, frame, frame + 1, &pose, &b->error), &b->error);
		double taken = now() - start;
		least = taken < least ? taken : least;
		mocpack_reader_close(reader);
	}
	return least;
}

static double raw_copy(Bench* b)
{
	size_t joints = b->info->joint_count, frames = (size_t)b->info->frame_count;
	double start = now();
	for (size_t t = 0; t < frames; ++t)
	{
		memcpy(b->rotations, b->all_rotations + 4 * joints * t, 16 * joints);
		memcpy(b->translations, b->all_translations + 3 * joints * t, 12 * joints);
		b->sum += (double)b->rotations[3];
	}
	return (now() - start) / (double)frames;
}

// Between two frames by normalized linear interpolation, as engines do with what is raw.
static double raw_random(Bench* b)
{
	size_t joints = b->info->joint_count, last = (size_t)b->info->frame_count - 2;
	double start = now();
	for (int i = 0; i < RANDOM_POSES; ++i)
	{
		double at = b->times[i] / b->info->frame_time;
		size_t t = (size_t)at < last ? (size_t)at : last;
		float part = (float)(at - (double)t);
		const float* p = b->all_rotations + 4 * joints * t;
		const float* q = p + 4 * joints;
		for (size_t j = 0; j < joints; ++j, p += 4, q += 4)
		{
			float* out = b->rotations + 4 * j;
			float dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3], square = 0;
			float to = dot < 0 ? -part : part;
			for (int c = 0; c < 4; ++c)
				out[c] = (1 - part) * p[c] + to * q[c], square += out[c] * out[c];
			float scale = 1 / sqrtf(square);
			for (int c = 0; c < 4; ++c)
				out[c] *= scale;
		}
		const float* u = b->all_translations + 3 * joints * t;
		for (size_t k = 0; k < 3 * joints; ++k)
			b->translations[k] = (1 - part) * u[k] + part * u[k + 3 * joints];
		b->sum += (double)b->rotations[3];
	}
	return (now() - start) / RANDOM_POSES;
}

static double measure(Bench* b, int which)
{
	switch (which)
	{
	case 0:
		return in_sequence(b, MOCPACK_LOCAL, 0);
	case 1:
		return in_sequence(b, MOCPACK_LOCAL, 1);
	case 2:
		return in_sequence(b, MOCPACK_WORLD, 0);
	case 3:
		return all_at_once(b);
	case 4:
		return at_random(b, MOCPACK_LOCAL);
	case 5:
		return at_random(b, MOCPACK_WORLD);
	case 6:
		return cold(b);
	case 7:
		return raw_copy(b);
	default:
		return raw_random(b);
	}
}

int main(int argc, char** argv)
{
	static const char* const NAMES[] = {
		"in sequence, frame by frame", "in sequence, between frames", "in sequence, in the world",
		"all frames in one call",	   "random times, warm",		  "random times, warm, in the world",
		"first pose of a cold group",  "raw float32: a frame copied", "raw float32: random times, nlerp"};
	const int count = sizeof NAMES / sizeof *NAMES;
	Bench b = {0};
	mocpack_Motion* motion;
	size_t size;
	if (argc != 2)
		return 1;
	unsigned char* bytes = whole_file(argv[1], &size);
	mocpack_Allocator allocator = {NULL, allocate, release};
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.allocator = &allocator;
	check(mocpack_open(bytes, size, &options, &motion, &b.error), &b.error);
	printf("memory of a motion\t%zu\nmemory of a reader\t%zu\n", held, mocpack_reader_size(motion, NULL));
	b.motion = motion, b.info = mocpack_info(motion);
	size_t joints = b.info->joint_count, frames = (size_t)b.info->frame_count;
	b.rotations = malloc(16 * joints), b.translations = malloc(12 * joints);
	b.all_rotations = malloc(16 * joints * frames), b.all_translations = malloc(12 * joints * frames);
	double length = b.info->frame_time * (double)(frames - 1);
	double* times = random_times(length < WINDOW ? length : WINDOW);
	b.times = times;
	double least[16];
	for (int i = 0; i < count; ++i)
		least[i] = 1e30;
	all_at_once(&b); // what is raw
	for (int round = 0; round < ROUNDS; ++round)
		for (int i = 0; i < count; ++i)
		{
			double taken = measure(&b, i);
			least[i] = taken < least[i] ? taken : least[i];
		}
	for (int i = 0; i < count; ++i)
		printf("%s\t%.1f\n", NAMES[i], least[i]);
	free(times), free(b.rotations), free(b.translations), free(b.all_rotations), free(b.all_translations);
	mocpack_close(motion);
	free(bytes);
	return b.sum == 0.5; // never
}
