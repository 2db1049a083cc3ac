// Reads many files with libmocpack, for a comparison with other readers: compare LIST, which names a file
// per line. Prints a line for each: the status of opening it and decoding its frames, then the status of its
// tracks; for a .mocps archive the status of its trailer, then that of each clip. The numbers of each good
// file go to the path with ".c" after it, as float64: frames (T, J, 7), scales (T, J, 3) if joints have some,
// angles (T, H), then times and values of each track. The .mocp files of an archive go to such a path, one
// after another.
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bytes
{
	unsigned char* at;
	size_t size;
} Bytes;

static Bytes read_whole(const char* path)
{
	Bytes bytes = {NULL, 0};
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
	if (offset > bytes->size || size > bytes->size - offset)
		abort(); // the library must not read outside the file
	memcpy(dst, bytes->at + offset, size);
	return MOCPACK_OK;
}

static mocpack_Status write_frames(const mocpack_Motion* motion, FILE* out)
{
	const mocpack_Info* info = mocpack_info(motion);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.precision = MOCPACK_FLOAT64;
	mocpack_Reader* reader;
	mocpack_Status status = mocpack_reader_open(motion, &options, &reader, NULL);
	if (status != MOCPACK_OK)
		return status;
	size_t frames = (size_t)info->frame_count, count = 7 * info->joint_count * frames;
	double* numbers = malloc(count * sizeof(double));
	double* angles = malloc((frames * info->hinge_count + 1) * sizeof(double));
	double* scales = malloc(3 * info->joint_count * frames * sizeof(double));
	mocpack_Poses poses = mocpack_poses_interleaved_f64(numbers, info->joint_count, 4, 7);
	poses.scales = scales;
	poses.scale_strides = mocpack_poses_dense(NULL, NULL, info->joint_count).scale_strides;
	status = mocpack_frames(reader, 0, frames, &poses, NULL);
	if (status == MOCPACK_OK && out)
	{
		mocpack_hinge_angles(motion, &poses, frames, angles);
		fwrite(numbers, sizeof(double), count, out);
		if (info->scales || info->scaled_count)
			fwrite(scales, sizeof(double), 3 * info->joint_count * frames, out);
		fwrite(angles, sizeof(double), frames * info->hinge_count, out);
	}
	free(scales);
	free(angles);
	free(numbers);
	mocpack_reader_close(reader);
	return status;
}

static mocpack_Status write_tracks(const mocpack_Motion* motion, FILE* out)
{
	const size_t widths[] = {1, 1, 1, 3, 4};
	const mocpack_Info* info = mocpack_info(motion);
	mocpack_Status status = MOCPACK_OK;
	for (size_t i = 0; i < info->track_count && status == MOCPACK_OK; ++i)
	{
		size_t count = (size_t)info->tracks[i].count, width = widths[info->tracks[i].kind];
		double* values = malloc((count * width + 1) * sizeof(double));
		double* times = malloc((count + 1) * sizeof(double));
		status = mocpack_track_values(motion, i, values, times, NULL);
		if (status == MOCPACK_OK)
		{
			fwrite(times, sizeof(double), count, out);
			fwrite(values, sizeof(double), count * width, out);
		}
		free(times);
		free(values);
	}
	return status;
}

static void compare_file(const char* path, Bytes bytes)
{
	char dumped[4096];
	snprintf(dumped, sizeof dumped, "%s.c", path);
	mocpack_Scene* scene = NULL;
	mocpack_Status status = mocpack_scene_open(bytes.at, bytes.size, NULL, &scene, NULL), tracks = status;
	const size_t clips = status == MOCPACK_OK ? mocpack_scene_clip_count(scene) : 0;
	FILE* out = fopen(dumped, "wb");
	for (size_t clip = 0; clip < clips && tracks == MOCPACK_OK && status == MOCPACK_OK; ++clip)
	{
		mocpack_Motion* motion = NULL;
		status = tracks = mocpack_scene_open_clip(scene, clip, NULL, &motion, NULL);
		if (status == MOCPACK_OK)
		{
			status = write_frames(motion, out);
			tracks = write_tracks(motion, out);
		}
		mocpack_close(motion);
	}
	fclose(out);
	printf("%s %s\n", mocpack_status_name(status), mocpack_status_name(tracks));
	mocpack_scene_close(scene);
}

static mocpack_Status compare_clip(const mocpack_Archive* archive, size_t clip, FILE* out)
{
	const mocpack_ArchiveClip* entry = mocpack_archive_clip_info(archive, clip);
	if (entry->shard)
		return MOCPACK_UNSUPPORTED;
	unsigned char* file = malloc((size_t)entry->size + 1);
	mocpack_Motion* motion = NULL;
	mocpack_Status status = mocpack_archive_read_clip(archive, clip, 0, (size_t)entry->size, file);
	if (status == MOCPACK_OK)
	{
		fwrite(file, 1, (size_t)entry->size, out);
		status = mocpack_open(file, (size_t)entry->size, NULL, &motion, NULL);
	}
	if (status == MOCPACK_OK)
		status = write_frames(motion, NULL);
	mocpack_close(motion);
	free(file);
	return status;
}

static void compare_archive(const char* path, Bytes bytes)
{
	char restored[4096];
	snprintf(restored, sizeof restored, "%s.c", path);
	FILE* out = fopen(restored, "wb");
	mocpack_Source source = {&bytes, bytes.size, read_bytes};
	mocpack_Archive* archive = NULL;
	mocpack_Status status = mocpack_archive_open(&source, NULL, &archive, NULL);
	printf("%s", mocpack_status_name(status));
	for (size_t clip = 0; status == MOCPACK_OK && clip < mocpack_archive_clip_count(archive); ++clip)
		printf(" %s", mocpack_status_name(compare_clip(archive, clip, out)));
	putchar('\n');
	fclose(out);
	mocpack_archive_close(archive);
}

int main(int argc, char** argv)
{
	char path[4000];
	FILE* list = argc == 2 ? fopen(argv[1], "r") : NULL;
	if (!list)
		return 2;
	while (fgets(path, sizeof path, list))
	{
		path[strcspn(path, "\n")] = 0;
		Bytes bytes = read_whole(path);
		size_t length = strlen(path);
		if (length > 6 && !strcmp(path + length - 6, ".mocps"))
			compare_archive(path, bytes);
		else
			compare_file(path, bytes);
		free(bytes.at);
	}
	fclose(list);
	return 0;
}
