// What libmocpack says of files, for the tests: read LIMIT ACCESS FILE... prints a line for each, its status
// and either a digest or the sentence; ACCESS is memory, source (a read callback) or needs (one that lacks
// bytes at first). read metadata FILE prints its metadata. read dump WHAT FILE... writes the frames of each
// file as float64, read dump32 WHAT FILE... as float32, after their count as uint64: WHAT is local, world,
// keys, or a time; scales, then scales alone. read tracks ACCESS FILE prints every track: its name, kind,
// then times, values and words. read hinges FILE prints every hinge, then the angles of all frames. read
// clips FILE... prints the status and the sentence of each archive and its first clip.
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bytes
{
	unsigned char* at;
	size_t size;
	unsigned char* here; // flags of available bytes, or null
} Bytes;

static Bytes whole_file(const char* path)
{
	Bytes bytes = {NULL, 0, NULL};
	FILE* file = fopen(path, "rb");
	if (!file)
		exit(2);
	fseek(file, 0, SEEK_END);
	bytes.size = (size_t)ftell(file);
	rewind(file);
	bytes.at = malloc(bytes.size + 1);
	if (fread(bytes.at, 1, bytes.size, file) != bytes.size)
		exit(2);
	fclose(file);
	return bytes;
}

static mocpack_Status read_bytes(void* user, uint64_t offset, size_t size, void* dst)
{
	Bytes* bytes = user;
	if (offset + size > bytes->size)
		abort(); // the library must not read outside the file
	for (size_t i = 0; bytes->here && i < size; ++i)
		if (!bytes->here[offset + i])
			return MOCPACK_NEEDS_BYTES;
	memcpy(dst, bytes->at + offset, size);
	return MOCPACK_OK;
}

// Makes the needed bytes available; returns whether to repeat the call.
static int fetched(Bytes* bytes, mocpack_Status status, const mocpack_Error* error)
{
	if (status != MOCPACK_NEEDS_BYTES)
		return 0;
	memset(bytes->here + error->offset, 1, (size_t)error->size);
	return 1;
}

static mocpack_Status open_motion(Bytes* bytes, const char* access, const mocpack_OpenOptions* options,
								  mocpack_Motion** motion, mocpack_Error* error)
{
	mocpack_Source source = {bytes, bytes->size, read_bytes};
	mocpack_Status status;
	if (!strcmp(access, "memory"))
		return mocpack_open(bytes->at, bytes->size, options, motion, error);
	if (!strcmp(access, "needs"))
		bytes->here = calloc(1, bytes->size + 1);
	do
		status = mocpack_open_source(&source, options, motion, error);
	while (fetched(bytes, status, error));
	return status;
}

static mocpack_Status read_all(Bytes* bytes, mocpack_Motion* motion, double* sum, mocpack_Error* error)
{
	const mocpack_Info* info = mocpack_info(motion);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = MOCPACK_FLOAT64;
	mocpack_Reader* reader;
	mocpack_Status status = mocpack_reader_open(motion, &options, &reader, error);
	if (status != MOCPACK_OK)
		return status;
	double* numbers = malloc(7 * sizeof(double) * info->joint_count);
	mocpack_Poses pose = mocpack_poses_interleaved_f64(numbers, info->joint_count, 4, 7);
	for (uint64_t t = 0; t < info->frame_count && status == MOCPACK_OK; ++t)
	{
		do
			status = mocpack_frames(reader, t, t + 1, &pose, error);
		while (fetched(bytes, status, error));
		for (size_t i = 0; status == MOCPACK_OK && i < 7 * info->joint_count; ++i)
			*sum += numbers[i] < 0 ? -numbers[i] : numbers[i];
	}
	free(numbers);
	mocpack_reader_close(reader);
	return status;
}

static void dump(const char* what, const char* path, int single)
{
	Bytes bytes = whole_file(path);
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = single ? MOCPACK_FLOAT32 : MOCPACK_FLOAT64;
	options.space = strcmp(what, "world") ? MOCPACK_LOCAL : MOCPACK_WORLD;
	mocpack_OpenOptions open = MOCPACK_OPEN_OPTIONS;
	open.flags = MOCPACK_OPEN_ALLOW_TRUNCATED;
	if (mocpack_open(bytes.at, bytes.size, &open, &motion, NULL) != MOCPACK_OK ||
		mocpack_reader_open(motion, &options, &reader, NULL) != MOCPACK_OK)
		exit(3);
	const mocpack_Info* info = mocpack_info(motion);
	int keys = !strcmp(what, "keys"), at_time = what[0] >= '0' && what[0] <= '9';
	uint64_t count = at_time ? 1 : keys ? info->key_count : info->frame_count;
	const int scales = !strcmp(what, "scales");
	const uint64_t total = count * info->joint_count * (scales ? 3 : 7);
	const size_t size = single ? sizeof(float) : sizeof(double);
	void* numbers = malloc((size_t)total * size);
	mocpack_Poses poses = scales   ? mocpack_poses_dense(NULL, NULL, info->joint_count)
						  : single ? mocpack_poses_interleaved_f32(numbers, info->joint_count, 4, 7)
								   : mocpack_poses_interleaved_f64(numbers, info->joint_count, 4, 7);
	if (scales)
		poses.scales = numbers;
	mocpack_Status status = at_time ? mocpack_sample(reader, strtod(what, NULL), &poses, NULL)
							: keys	? mocpack_preview(reader, 0, count, &poses, NULL)
									: mocpack_frames(reader, 0, count, &poses, NULL);
	if (status != MOCPACK_OK)
		exit(4);
	fwrite(&total, sizeof total, 1, stdout);
	fwrite(numbers, size, (size_t)total, stdout);
	free(numbers);
	mocpack_reader_close(reader);
	mocpack_close(motion);
	free(bytes.at);
}

static void print_metadata(const char* path)
{
	Bytes bytes = whole_file(path);
	mocpack_Motion* motion;
	if (mocpack_open(bytes.at, bytes.size, NULL, &motion, NULL) != MOCPACK_OK)
		exit(3);
	fwrite(mocpack_info(motion)->metadata.bytes, 1, mocpack_info(motion)->metadata.size, stdout);
	mocpack_close(motion);
	free(bytes.at);
}

static void print_text(mocpack_Text text)
{
	printf("%zu ", text.size);
	fwrite(text.bytes, 1, text.size, stdout);
	putchar('\n');
}

static void print_numbers(const double* numbers, size_t count)
{
	for (size_t i = 0; i < count; ++i)
		printf("%.17g ", numbers[i]);
	putchar('\n');
}

static void print_words(const mocpack_Motion* motion, size_t track)
{
	size_t count, size;
	if (mocpack_track_labels(motion, track, &count, &size, NULL, NULL, NULL) != MOCPACK_OK)
		exit(4);
	mocpack_Text* words = malloc((count + 1) * sizeof *words);
	char* text = malloc(size + 1);
	if (mocpack_track_labels(motion, track, &count, &size, words, text, NULL) != MOCPACK_OK)
		exit(4);
	printf("%zu\n", count);
	for (size_t w = 0; w < count; ++w)
		print_text(words[w]);
	free(text);
	free(words);
}

static void print_tracks(const char* access, const char* path)
{
	const size_t widths[] = {1, 1, 1, 3, 4};
	Bytes bytes = whole_file(path);
	mocpack_Motion* motion;
	mocpack_Error error = {0};
	mocpack_Status opened = open_motion(&bytes, access, NULL, &motion, &error);
	if (opened != MOCPACK_OK)
	{
		printf("\n%s\n", mocpack_status_name(opened));
		free(bytes.at);
		return;
	}
	const mocpack_Info* info = mocpack_info(motion);
	for (size_t i = 0; i < info->track_count; ++i)
	{
		const mocpack_Track* track = &info->tracks[i];
		size_t count = (size_t)track->count, width = widths[track->kind];
		double* values = malloc((count * width + 1) * sizeof(double));
		double* times = malloc((count + 1) * sizeof(double));
		mocpack_Status status;
		print_text(track->name);
		do
			status = mocpack_track_values(motion, i, values, times, &error);
		while (fetched(&bytes, status, &error));
		printf("%s %d\n", mocpack_status_name(status), (int)track->kind);
		if (status != MOCPACK_OK)
			continue;
		print_numbers(times, count);
		print_numbers(values, count * width);
		if (track->kind == MOCPACK_TRACK_LABEL)
			print_words(motion, i);
		free(times);
		free(values);
	}
	mocpack_close(motion);
	free(bytes.here);
	free(bytes.at);
}

// Prints the name of each clip of a scene and the sum of its numbers, and checks that names find their clips.
static void print_scene(const char* access, const char* path)
{
	Bytes bytes = whole_file(path);
	mocpack_Source source = {&bytes, bytes.size, read_bytes};
	mocpack_Error error = {0};
	mocpack_Scene* scene = NULL;
	mocpack_Status status;
	if (!strcmp(access, "needs"))
		bytes.here = calloc(1, bytes.size + 1);
	do
		status = strcmp(access, "memory") ? mocpack_scene_open_source(&source, NULL, &scene, &error)
										  : mocpack_scene_open(bytes.at, bytes.size, NULL, &scene, &error);
	while (fetched(&bytes, status, &error));
	if (status != MOCPACK_OK)
		exit(3);
	for (size_t clip = 0; clip < mocpack_scene_clip_count(scene); ++clip)
	{
		double sum = 0;
		mocpack_Motion* motion = NULL;
		mocpack_Text name = mocpack_scene_clip_name(scene, clip);
		do
			status = mocpack_scene_open_clip(scene, clip, NULL, &motion, &error);
		while (fetched(&bytes, status, &error));
		if (status != MOCPACK_OK || read_all(&bytes, motion, &sum, &error) != MOCPACK_OK ||
			mocpack_scene_find_clip(scene, name.bytes) != clip)
			exit(4);
		print_text(name);
		printf("%.17g\n", sum);
		mocpack_close(motion);
	}
	mocpack_scene_close(scene);
	free(bytes.here);
	free(bytes.at);
}

static void print_hinges(const char* path)
{
	Bytes bytes = whole_file(path);
	mocpack_Motion* motion;
	mocpack_Reader* reader;
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = MOCPACK_FLOAT64;
	if (mocpack_open(bytes.at, bytes.size, NULL, &motion, NULL) != MOCPACK_OK ||
		mocpack_reader_open(motion, &options, &reader, NULL) != MOCPACK_OK)
		exit(3);
	const mocpack_Info* info = mocpack_info(motion);
	for (size_t h = 0; h < info->hinge_count; ++h)
	{
		const mocpack_Hinge* hinge = &info->hinges[h];
		const double numbers[] = {hinge->joint,	  hinge->slides,	  hinge->axis[0],	 hinge->axis[1],
								  hinge->axis[2], hinge->lower_limit, hinge->upper_limit};
		print_text(hinge->name);
		print_numbers(numbers, 7);
	}
	size_t frames = (size_t)info->frame_count;
	double* numbers = malloc(frames * info->joint_count * 7 * sizeof(double));
	double* angles = malloc((frames * info->hinge_count + 1) * sizeof(double));
	mocpack_Poses poses = mocpack_poses_interleaved_f64(numbers, info->joint_count, 4, 7);
	if (mocpack_frames(reader, 0, frames, &poses, NULL) != MOCPACK_OK)
		exit(4);
	mocpack_hinge_angles(motion, &poses, frames, angles);
	print_numbers(angles, frames * info->hinge_count);
	free(angles);
	free(numbers);
	mocpack_reader_close(reader);
	mocpack_close(motion);
	free(bytes.at);
}

static void print_archive(const char* path)
{
	Bytes bytes = whole_file(path);
	mocpack_Source source = {&bytes, bytes.size, read_bytes};
	mocpack_Archive* archive = NULL;
	mocpack_Motion* motion = NULL;
	mocpack_Error error = {0};
	mocpack_Status status = mocpack_archive_open(&source, NULL, &archive, &error);
	if (status == MOCPACK_OK)
		status = mocpack_archive_open_clip(archive, 0, NULL, &motion, &error);
	printf("%s %s\n", mocpack_status_name(status), error.message);
	mocpack_close(motion);
	mocpack_archive_close(archive);
	free(bytes.at);
}

int main(int argc, char** argv)
{
	if (argc >= 3 && !strcmp(argv[1], "clips"))
	{
		for (int i = 2; i < argc; ++i)
			print_archive(argv[i]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "tracks"))
	{
		print_tracks(argv[2], argv[3]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "scene"))
	{
		print_scene(argv[2], argv[3]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "hinges"))
	{
		print_hinges(argv[2]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "metadata"))
	{
		print_metadata(argv[2]);
		return 0;
	}
	if (argc >= 4 && (!strcmp(argv[1], "dump") || !strcmp(argv[1], "dump32")))
	{
		for (int i = 3; i < argc; ++i)
			dump(argv[2], argv[i], !strcmp(argv[1], "dump32"));
		return 0;
	}
	for (int i = 3; i < argc; ++i)
	{
		Bytes bytes = whole_file(argv[i]);
		mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
		options.memory_limit = strtoull(argv[1], NULL, 10);
		mocpack_Motion* motion = NULL;
		mocpack_Error error = {0};
		double sum = 0;
		mocpack_Status status = open_motion(&bytes, argv[2], &options, &motion, &error);
		if (status == MOCPACK_OK)
			status = read_all(&bytes, motion, &sum, &error);
		if (status == MOCPACK_OK)
			printf("ok %.17g\n", sum);
		else
			printf("%s %s\n", mocpack_status_name(status), error.message);
		mocpack_close(motion);
		free(bytes.here);
		free(bytes.at);
	}
	return 0;
}
