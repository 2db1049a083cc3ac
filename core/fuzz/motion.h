// Decodes everything that an open motion gives; shared by the fuzz targets of files and archives.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mocpack/mocpack.h"

namespace fuzz
{

const uint64_t MEMORY_LIMIT = 6 << 20; // bytes; a small one keeps inputs fast
const uint64_t MAX_FRAMES = 24;		   // that one input decodes
const uint64_t MAX_KEYS = 8;
const uint64_t MAX_SAMPLES = 1 << 16;	   // of a track
const uint64_t MAX_POSE_NUMBERS = 1 << 16; // in one call

inline void require(bool holds, const char* what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

inline void check_error(mocpack_Status status, const mocpack_Error& error)
{
	if (status == MOCPACK_OK)
		return;
	require(error.status == status && error.message[0], "an error has a status and a message");
	require(std::memchr(error.message, 0, sizeof error.message), "a message ends with a zero");
	require(status != MOCPACK_READ_FAILED && status != MOCPACK_NEEDS_BYTES && status != MOCPACK_BAD_ARGUMENT,
			"the input is at fault, not the caller");
}

struct Bytes
{
	const uint8_t* data;
	size_t size;
};

// Aborts when the library asks for bytes outside the file.
inline mocpack_Status read_bytes(void* user, uint64_t offset, size_t size, void* dst)
{
	const Bytes* bytes = static_cast<const Bytes*>(user);
	require(offset <= bytes->size && size <= bytes->size - offset, "reads are inside the file");
	if (size)
		std::memcpy(dst, bytes->data + offset, size);
	return MOCPACK_OK;
}

inline mocpack_Source source_of(Bytes* bytes)
{
	return {bytes, bytes->size, read_bytes};
}

inline mocpack_OpenOptions open_options()
{
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.memory_limit = MEMORY_LIMIT;
	return options;
}

inline void check_poses(const std::vector<double>& numbers, uint64_t frames, size_t joints)
{
	for (size_t i = 0; i < size_t(frames) * joints; ++i)
	{
		const double* q = numbers.data() + 7 * i;
		double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
		require(std::fabs(length - 1) < 1e-6, "rotations are unit quaternions");
	}
}

inline void decode_poses(const mocpack_Motion* motion, mocpack_Space space, mocpack_Precision number)
{
	const mocpack_Info& info = *mocpack_info(motion);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.space = space, options.precision = number;
	options.cache_size = 1 << 20;
	mocpack_Reader* reader = nullptr;
	mocpack_Error error = {};
	mocpack_Status status = mocpack_reader_open(motion, &options, &reader, &error);
	check_error(status, error);
	if (status != MOCPACK_OK)
		return;
	uint64_t room = MAX_POSE_NUMBERS / (7 * info.joint_count);
	room = room ? room : 1;
	uint64_t frames = room < MAX_FRAMES ? room : MAX_FRAMES;
	frames = frames < info.frame_count ? frames : info.frame_count;
	std::vector<double> numbers(7 * info.joint_count * size_t(frames));
	std::vector<double> scales(3 * info.joint_count * size_t(frames));
	mocpack_Poses poses =
		number == MOCPACK_FLOAT64
			? mocpack_poses_interleaved_f64(numbers.data(), info.joint_count, 4, 7)
			: mocpack_poses_interleaved_f32(reinterpret_cast<float*>(numbers.data()), info.joint_count, 4, 7);
	poses.scales = scales.data(), poses.scale_strides = {3 * info.joint_count, 3, 1};
	for (uint64_t first : {uint64_t(0), info.frame_count - frames})
	{
		status = mocpack_frames(reader, first, first + frames, &poses, &error);
		check_error(status, error);
		if (status != MOCPACK_OK || number != MOCPACK_FLOAT64)
			continue;
		check_poses(numbers, frames, info.joint_count);
		std::vector<double> angles(size_t(frames) * info.hinge_count + 1);
		if (space == MOCPACK_LOCAL)
			mocpack_hinge_angles(motion, &poses, size_t(frames), angles.data());
	}
	for (double seconds :
		 {info.start_time, info.start_time + 2.5 * info.frame_time, 1e300, -1e300, double(NAN)})
		check_error(mocpack_sample(reader, seconds, &poses, &error), error);
	for (uint64_t key = 0; key < info.key_count && key < MAX_KEYS; ++key)
		check_error(mocpack_preview(reader, key, key + 1, &poses, &error), error);
	mocpack_reader_close(reader);
}

inline void decode_tracks(const mocpack_Motion* motion)
{
	const mocpack_Info& info = *mocpack_info(motion);
	for (size_t i = 0; i < info.track_count; ++i)
	{
		const mocpack_Track& track = info.tracks[i];
		if (track.count > MAX_SAMPLES)
			continue;
		mocpack_Error error = {};
		std::vector<double> values(4 * size_t(track.count) + 1), times(size_t(track.count) + 1);
		mocpack_Status status = mocpack_track_values(motion, i, values.data(), times.data(), &error);
		check_error(status, error);
		if (status != MOCPACK_OK || track.kind != MOCPACK_TRACK_LABEL)
			continue;
		size_t count = 0, size = 0;
		status = mocpack_track_labels(motion, i, &count, &size, nullptr, nullptr, nullptr);
		require(status == MOCPACK_OK, "words of readable labels are counted");
		std::vector<mocpack_Text> words(count + 1);
		std::vector<char> text(size + 1);
		status = mocpack_track_labels(motion, i, &count, &size, words.data(), text.data(), nullptr);
		require(status == MOCPACK_OK, "words of readable labels are read");
		for (size_t sample = 0; sample < track.count; ++sample)
			require(values[sample] >= 0 && values[sample] < double(count), "labels are words");
	}
}

inline void decode(const mocpack_Motion* motion)
{
	const mocpack_Info& info = *mocpack_info(motion);
	decode_poses(motion, MOCPACK_LOCAL, MOCPACK_FLOAT64);
	decode_poses(motion, MOCPACK_WORLD, MOCPACK_FLOAT32);
	decode_tracks(motion);
	uint64_t frames = info.frame_count < MAX_FRAMES ? info.frame_count : MAX_FRAMES;
	std::vector<uint8_t> seen(size_t(frames) * info.joint_count);
	require(mocpack_valid_mask(motion, 0, frames, seen.data(), nullptr) == MOCPACK_OK, "gaps are known");
	mocpack_Range ranges[8];
	mocpack_byte_ranges(motion, 0, frames, 0, ranges, 8);
	for (double seconds : {0.0, 1e300, -1e300, double(NAN)})
	{
		double at = mocpack_frame_at(motion, seconds);
		require(at >= 0 && at <= double(info.frame_count - 1), "times are clamped");
	}
}

} // namespace fuzz
