// WebAssembly exports of the reader for JavaScript.
//
// An instance plays one file, or lists the clips of one archive. The import `read` provides bytes of the
// file. It may return MOCPACK_NEEDS_BYTES; JavaScript then fetches them and repeats the call. Negative
// results are a mocpack_Status; message() has the text.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mocpack/mocpack.h"
#include "reader/archive.h"
#include "reader/reader.h"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

extern "C" uint8_t __heap_base; // end of the linker's memory
extern "C" void __wasm_call_ctors();

// Copies bytes of the file to `dst`. Offsets are doubles, as in JavaScript.
extern "C" __attribute__((import_module("env"), import_name("read"))) int32_t read_file(double offset,
																						uint32_t size,
																						void* dst);

namespace
{

const uint64_t PAGE = 65536, ALIGNMENT = 32;
const size_t CACHE = 1 << 22;  // bytes of decoded groups
const size_t OUTPUT = 1 << 20; // maximum bytes of poses per call, but at least one frame
const size_t MAX_RANGES = 64;

mocpack_Motion* motion;
mocpack_Reader* reader;
mocpack_Error fault;
uint64_t heap_end; // end of the allocated memory
mocpack_Poses poses;
size_t max_frames; // per call
size_t track_room_size, track_texts_size;

// Samples of the last track: values (count, width), times (count) and the texts of labels.
struct
{
	double *values, *times;
	mocpack_Text* texts;
	size_t text_count;
} samples;

// The open archive, and what JavaScript reads of it.
mocpack_Archive* archive;
struct
{
	const mocpack::ArchivedClip* clips;
	size_t clip_count;
	const mocpack::Shard* shards;
	uint32_t max_kind;
} clips;

uint64_t heap_start()
{
	return (reinterpret_cast<uintptr_t>(&__heap_base) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t round_up(uint64_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Allocates uninitialized memory; null if there is too little.
void* take(void*, size_t size)
{
	uint64_t start = heap_end ? heap_end : heap_start(), end = start + round_up(size);
	uint64_t have = PAGE * __builtin_wasm_memory_size(0);
	if (end > have && (end > UINT32_MAX ||
					   __builtin_wasm_memory_grow(0, size_t((end - have + PAGE - 1) / PAGE)) == size_t(-1)))
		return nullptr;
	heap_end = end;
	return reinterpret_cast<void*>(uintptr_t(start));
}

// Frees only the latest allocation; other memory is freed with the instance.
void release(void*, void* memory, size_t size)
{
	uint64_t start = reinterpret_cast<uintptr_t>(memory);
	if (memory && start + round_up(size) == heap_end)
		heap_end = start;
}

const mocpack_Allocator ALLOCATOR = {nullptr, take, release};

mocpack_Status read_source(void*, uint64_t offset, size_t size, void* dst)
{
	return mocpack_Status(read_file(double(offset), uint32_t(size), dst));
}

mocpack_OpenOptions open_options(double memory_limit)
{
	mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
	options.allocator = &ALLOCATOR;
	options.memory_limit = uint64_t(memory_limit);
	return options;
}

// Creates the reader of an open file and its output arrays.
int32_t start_reading(mocpack_Status status)
{
	if (status != MOCPACK_OK)
		return status;
	const mocpack_Info& info = *mocpack_info(motion);
	const bool scaled = info.scales || info.scaled_count;
	const size_t joints = info.joint_count, frame = (scaled ? 10 : 7) * sizeof(double) * joints;
	// the cache is optional: if it exceeds the limit, keep one group
	for (size_t cache = CACHE;; cache = 0)
	{
		mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
		options.precision = MOCPACK_FLOAT64;
		options.cache_size = cache;
		status = mocpack_reader_open(motion, &options, &reader, &fault);
		if (status != MOCPACK_NO_MEMORY || !cache)
			break;
	}
	if (status != MOCPACK_OK)
		return status;
	max_frames = frame < OUTPUT ? OUTPUT / frame : 1;
	double* output = static_cast<double*>(take(nullptr, max_frames * frame));
	if (!output)
	{
		fault.message[0] = 0;
		return MOCPACK_NO_MEMORY;
	}
	poses = mocpack_poses_dense(output, output + 4 * joints * max_frames, joints);
	if (scaled)
		poses.scales = output + 7 * joints * max_frames;
	return MOCPACK_OK;
}

// A field of a struct: its offset and its type. Texts are passed by address.
enum Kind : uint8_t
{
	WORD,
	LONG,
	DOUBLE,
	ADDRESS,
};

struct Field
{
	uint16_t offset;
	Kind kind;
};

template <typename T> constexpr Kind kind_of()
{
	return std::is_same_v<T, mocpack_Text> ? ADDRESS
		   : std::is_same_v<T, double>	   ? DOUBLE
		   : sizeof(T) == 8				   ? LONG
										   : WORD;
}

#define INFO(name) {offsetof(mocpack_Info, name), kind_of<decltype(mocpack_Info::name)>()}
#define TRACK(name) {offsetof(mocpack_Track, name), kind_of<decltype(mocpack_Track::name)>()}

const Field INFO_FIELDS[] = {
	INFO(frame_count),
	INFO(frame_time),
	INFO(start_time),
	INFO(joint_count),
	INFO(end_count),
	INFO(translated_count),
	INFO(declared_error),
	INFO(is_measured),
	INFO(measured_max),
	INFO(measured_mean),
	INFO(measured_rms),
	INFO(measured_p99),
	INFO(key_count),
	INFO(layer_count),
	INFO(whole_layer_count),
	INFO(keys_error),
	INFO(is_looping),
	INFO(is_left_handed),
	INFO(is_interpolated),
	INFO(up),
	INFO(has_gaps),
	INFO(track_count),
	INFO(file_size),
	INFO(skeleton_size),
	INFO(metadata_size),
	INFO(times),
	INFO(names),
	INFO(parents),
	INFO(offsets),
	INFO(rest_rotations),
	INFO(end_joints),
	INFO(end_sites),
	INFO(translated_joints),
	INFO(layers),
	INFO(codec),
	INFO(parameters),
	INFO(metadata),
	INFO(hinge_count),
	INFO(hinges),
	INFO(declared_angle_error),
	INFO(measured_angle_error),
	INFO(scales),
	INFO(scaled_count),
	INFO(scaled_joints),
	INFO(joint_bounds),
};
const Field TRACK_FIELDS[] = {
	TRACK(name),	   TRACK(unit),		  TRACK(kind),	TRACK(has_times),  TRACK(count),
	TRACK(frame_time), TRACK(start_time), TRACK(bound), TRACK(chunk_size),
};

// header.ts and decoder.ts rely on these offsets
static_assert(sizeof(mocpack_Hinge) == 56 && offsetof(mocpack_Hinge, joint) == 8 &&
				  offsetof(mocpack_Hinge, slides) == 12 && offsetof(mocpack_Hinge, axis) == 16 &&
				  offsetof(mocpack_Hinge, upper_limit) == 48,
			  "layout of mocpack_Hinge");
static_assert(offsetof(mocpack_Error, offset) == 8 && offsetof(mocpack_Error, message) == 24 &&
				  offsetof(mocpack_Poses, translations) == 4 && offsetof(mocpack_Poses, scales) == 32,
			  "layout of mocpack_Error and mocpack_Poses");
static_assert(sizeof(mocpack_JointBounds) == 32, "layout of mocpack_JointBounds");

const size_t MAX_NUMBERS = sizeof INFO_FIELDS / sizeof *INFO_FIELDS + 1;

// Converts the fields of a struct to numbers, with room for one more.
__attribute__((noinline)) double* numbers_of(const void* whole, const Field* fields, size_t count)
{
	static double numbers[MAX_NUMBERS];
	for (size_t i = 0; i < count; ++i)
	{
		const uint8_t* at = static_cast<const uint8_t*>(whole) + fields[i].offset;
		if (fields[i].kind == WORD)
			numbers[i] = *reinterpret_cast<const uint32_t*>(at);
		else if (fields[i].kind == LONG)
			numbers[i] = double(*reinterpret_cast<const uint64_t*>(at));
		else if (fields[i].kind == DOUBLE)
			numbers[i] = *reinterpret_cast<const double*>(at);
		else
			numbers[i] = double(reinterpret_cast<uintptr_t>(at));
	}
	return numbers;
}

} // namespace

/* Computes the tables. Call it first. */
EXPORT(_initialize) void initialize()
{
	__wasm_call_ctors();
}

/* Allocates memory for input bytes; null if there is too little. */
EXPORT(allocate) void* allocate(uint32_t size)
{
	return take(nullptr, size);
}

/* Returns the end of the memory to copy to a new instance after initialization. */
EXPORT(image_size) const void* image_size()
{
	return &__heap_base;
}

/* Returns the last error: its message, or the byte range that is needed after MOCPACK_NEEDS_BYTES. */
EXPORT(last_error) const mocpack_Error* last_error()
{
	return &fault;
}

/* Opens a file of `size` bytes: in memory, where they must not change, or through the import if `bytes` is
 * null. */
EXPORT(open_file) int32_t open_file(const uint8_t* bytes, double size, double memory_limit)
{
	const mocpack_OpenOptions options = open_options(memory_limit);
	if (!bytes)
		heap_end = 0; // an earlier failed call left nothing to keep
	const mocpack::Bytes file = {bytes, {nullptr, uint64_t(size), read_source}, 0};
	return start_reading(mocpack::open_clip(file, &options, false, &motion, &fault));
}

/* Opens an archive of `size` bytes through the import. */
EXPORT(open_archive) int32_t open_archive(double size, double memory_limit)
{
	const mocpack_OpenOptions options = open_options(memory_limit);
	const mocpack_Source source = {nullptr, uint64_t(size), read_source};
	heap_end = 0;
	return mocpack_archive_open(&source, &options, &archive, &fault);
}

/* Returns the clips of the archive, their number, its shards, and the greatest kind of clip that opens, as
 * archive.ts reads them. */
EXPORT(archive_clips) const void* archive_clips()
{
	static_assert(sizeof(mocpack::ArchivedClip) == 104 && sizeof(mocpack::Shard) == 16,
				  "archive.ts knows these sizes");
	clips = {archive->clips, archive->clip_count, archive->shards, mocpack::MAX_CLIP_KIND};
	return &clips;
}

/* Describes the file as numbers and addresses, in the order of header.ts. */
EXPORT(describe) const double* describe()
{
	const size_t count = sizeof INFO_FIELDS / sizeof *INFO_FIELDS;
	double* numbers = numbers_of(mocpack_info(motion), INFO_FIELDS, count);
	numbers[count] = double(max_frames);
	return numbers;
}

/* Describes a track, in the order of header.ts. */
EXPORT(describe_track) const double* describe_track(uint32_t index)
{
	return numbers_of(mocpack_info(motion)->tracks + index, TRACK_FIELDS,
					  sizeof TRACK_FIELDS / sizeof *TRACK_FIELDS);
}

/* Reads a track. Its samples are valid until the next call. */
EXPORT(read_track) int32_t read_track(uint32_t index)
{
	const size_t WIDTHS[] = {1, 1, 1, 3, 4};
	const mocpack_Track& track = mocpack_info(motion)->tracks[index];
	const uint64_t count = track.count, width = WIDTHS[track.kind];
	const uint64_t size = 8 * count * (width + 1), most = UINT32_MAX / 2;
	release(nullptr, samples.texts, track_texts_size);
	release(nullptr, samples.values, track_room_size);
	samples = {};
	track_room_size = track_texts_size = 0;
	fault.message[0] = 0;
	void* room = count < most && size < most ? take(nullptr, size_t(size)) : nullptr;
	if (!room)
		return MOCPACK_NO_MEMORY;
	samples.values = static_cast<double*>(room), track_room_size = size_t(size);
	samples.times = samples.values + size_t(count * width);
	mocpack_Status status = mocpack_track_values(motion, index, samples.values, samples.times, &fault);
	size_t text_size = 0;
	if (status != MOCPACK_OK || track.kind != MOCPACK_TRACK_LABEL ||
		(status = mocpack_track_labels(motion, index, &samples.text_count, &text_size, nullptr, nullptr,
									   &fault)) != MOCPACK_OK)
		return status;
	track_texts_size = samples.text_count * sizeof(mocpack_Text) + text_size;
	samples.texts = static_cast<mocpack_Text*>(take(nullptr, track_texts_size));
	if (!samples.texts)
		return MOCPACK_NO_MEMORY;
	return mocpack_track_labels(motion, index, &samples.text_count, &text_size, samples.texts,
								reinterpret_cast<char*>(samples.texts + samples.text_count), &fault);
}

EXPORT(track_samples) const void* track_samples()
{
	return &samples;
}

/* Writes which joints were captured in frames first … stop - 1, (frames, J). */
EXPORT(valid_mask) int32_t valid_mask(uint32_t first, uint32_t stop, uint8_t* out)
{
	return mocpack_valid_mask(motion, first, stop, out, &fault);
}

/* Returns the frame of a key pose. */
EXPORT(key_frame) double key_frame(uint32_t key)
{
	return double(mocpack_key_frame(motion, key));
}

/* Writes offset and size of each byte range that frames need, at most 64, and returns their number. */
EXPORT(byte_ranges) uint32_t byte_ranges(uint32_t first, uint32_t stop, uint32_t layers, double* out)
{
	mocpack_Range found[MAX_RANGES];
	size_t count = mocpack_byte_ranges(motion, first, stop, layers, found, MAX_RANGES);
	count = count < MAX_RANGES ? count : MAX_RANGES;
	for (size_t i = 0; i < count; ++i)
	{
		out[2 * i] = double(found[i].offset);
		out[2 * i + 1] = double(found[i].size);
	}
	return uint32_t(count);
}

/* Decodes frames first … stop - 1, at most the number that `describe` returns, with this many layers. */
EXPORT(read_frames) int32_t read_frames(uint32_t first, uint32_t stop, uint32_t layers)
{
	if (reader->layers != layers)
		for (size_t i = 0; i < reader->slot_count; ++i)
			reader->slots[i].group = mocpack::NO_GROUP;
	reader->layers = layers;
	return mocpack_frames(reader, first, stop, &poses, &fault);
}

/* Decodes key poses first … stop - 1, with the same maximum. */
EXPORT(read_keys) int32_t read_keys(uint32_t first, uint32_t stop)
{
	return mocpack_preview(reader, first, stop, &poses, &fault);
}

/* Returns the poses of the last call: (T, J, 4), (T, J, 3), and scales (T, J, 3), null if there are none. */
EXPORT(last_poses) const mocpack_Poses* last_poses()
{
	return &poses;
}
