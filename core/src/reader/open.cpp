// Opens a file: reads everything except the poses.
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>

#include "common/small_build.h"
#include "reader/chunks.h"
#include "reader/json.h"

namespace mocpack
{

const uint8_t* Bytes::view(uint64_t offset, uint64_t size, void* buffer, mocpack_Error* error) const
{
	if (all)
		return all + offset;
	static const uint8_t NOTHING = 0;
	if (!size)
		return &NOTHING;
	offset += start;
	mocpack_Status status = source.read(source.user, offset, size_t(size), buffer);
	if (status == MOCPACK_OK)
		return static_cast<uint8_t*>(buffer);
	if (status == MOCPACK_NEEDS_BYTES)
		ErrorMessage(error, status, offset, size)
			<< "bytes " << offset << " to " << offset + size << " must be fetched first";
	else
		ErrorMessage(error, MOCPACK_READ_FAILED, offset, size)
			<< "bytes " << offset << " to " << offset + size << " cannot be read";
	return nullptr;
}

const uint8_t* Bytes::load(uint64_t offset, uint64_t size, const char* what, Memory* memory,
						   mocpack_Error* error) const
{
	if (all)
		return all + offset;
	uint8_t* buffer = memory->allocate_array<uint8_t>(size + 1);
	if (!buffer)
		no_memory(error, what, offset);
	return buffer && view(offset, size, buffer, error) ? buffer : nullptr;
}

namespace
{

// Indexed by `Codec`.
const struct
{
	const char* bitstream; // begins with the codec's name
	size_t name_size;
	uint32_t newest_bitstream;
} CODECS[] = {{"keysine bitstream", 7, 1}, {"raw bitstream", 3, 1}, {"lossless bitstream", 8, 1}};
const size_t CODEC_COUNT = sizeof CODECS / sizeof *CODECS;

const double SPAN_SECONDS = 1;		 // length of a group, for codecs without groups
const uint64_t SPAN_BYTES = 1 << 20; // maximum size of a decoded group of several frames

struct Opening
{
	mocpack_Motion* motion;
	mocpack_Error* error;
	const mocpack_Motion* like; // opened before, without its payload; null: none
	Chunks chunks;
	mocpack_Text needed;

	ErrorMessage fail(mocpack_Status status, uint64_t offset)
	{
		return ErrorMessage(error, status, offset);
	}

	bool run(uint32_t flags, bool header_alone)
	{
		mocpack_Info& info = motion->info;
		info.file_size = motion->bytes.source.size;
		if (!find_chunks(motion, flags, &chunks, error, like ? like->chunks : nullptr) ||
			!read_head(chunks, motion, &needed, error))
			return false;
		const Chunk& data = chunks.data;
		motion->payload = {data.offset, data.size, chunks.missing, data.checksum};
		info.missing_size = chunks.missing;
		motion->shares_metadata = like && chunks.meta.found && is_same(chunks.meta, like->chunks->meta);
		if (chunks.meta.found && !motion->shares_metadata && !read_metadata(chunks.meta, motion, error))
			return false;
		if (motion->is_vertices)
			return header_alone ? read_vertices() : reject_vertices();
		if (!read_joints() || !check_counts(info.joint_count) || (!header_alone && !check_codec()) ||
			!read_take())
			return false;
		if (header_alone)
			return true;
		if (!(flags & MOCPACK_OPEN_SKIP_CHECKSUM) && !check_data(chunks, error))
			return false;
		if (!build_codec_skeleton() || !apply_constant_scales(motion, error))
			return false;
		if (motion->codec == KEYSINE)
			return open_keysine(motion, flags, error);
		split_into_groups();
		return (motion->codec == RAW ? read_raw : read_lossless)(chunks, motion, error);
	}

	// Reads the skeleton and the playback settings.
	bool read_joints()
	{
		if (!chunks.skeleton.found)
		{
			fail(MOCPACK_CORRUPT, 0) << "the SKEL chunk is missing";
			return false;
		}
		motion->shares_skeleton = like && shares_skeleton(*like->chunks);
		if (motion->shares_skeleton)
			motion->info.joint_count = like->info.joint_count;
		return (motion->shares_skeleton || read_skeleton_chunks(chunks, motion, error)) &&
			   (!chunks.time.found || read_start(chunks.time, motion, error)) &&
			   (!chunks.play.found || read_play(chunks.play, motion, error));
	}

	bool shares_skeleton(const Chunks& others) const
	{
		return !chunks.scales.found && !others.scales.found && is_same(chunks.skeleton, others.skeleton) &&
			   is_same(chunks.rest, others.rest) && is_same(chunks.hinges, others.hinges);
	}

	// Reads everything that changes over time except the poses.
	bool read_take()
	{
		return (!chunks.scales.found || read_moving_scales(chunks.scales, motion, error)) &&
			   (!chunks.time.found || read_times(chunks.time, motion, error)) &&
			   (!chunks.gaps.found || read_gaps(chunks.gaps, motion, error)) &&
			   (!chunks.bounds.found || read_joint_bounds(chunks.bounds, motion, error)) &&
			   read_tracks(chunks, motion, error);
	}

	bool read_vertices()
	{
		const Chunk* without[] = {&chunks.rest, &chunks.hinges, &chunks.scales, &chunks.time};
		for (const Chunk* chunk : without)
			if (chunk->found)
			{
				fail(MOCPACK_CORRUPT, chunk->offset)
					<< "a vertex animation must not contain a REST, HING, SCAL or TIME chunk";
				return false;
			}
		return read_mesh(chunks.mesh, motion, error) && check_counts(size_t(motion->mesh.vertex_count));
	}

	bool reject_vertices()
	{
		const mocpack_Text& codec = motion->info.codec;
		fail(MOCPACK_UNSUPPORTED, chunks.head.offset)
			.operator<<("chunk HEAD: this library does not decode vertex animations of codec ")
			.quote(codec.bytes, codec.size);
		return false;
	}

	// A small file must not claim an arbitrary number of frames. `width` is the number of joints or vertices.
	bool check_counts(size_t width)
	{
		const mocpack_Info& info = motion->info;
		uint64_t frames = info.frame_count, size = info.file_size + info.missing_size;
		uint64_t most = size < UINT64_MAX / SAMPLES_PER_BYTE ? size * SAMPLES_PER_BYTE : UINT64_MAX;
		if ((frames - 1) / FRAMES_PER_BYTE >= size || frames > most / width)
		{
			fail(MOCPACK_CORRUPT, chunks.head.offset)
				<< "chunk HEAD: " << frames << " frames are more than " << size << " bytes can hold";
			return false;
		}
		if (frames > SIZE_MAX / 64)
		{
			fail(MOCPACK_NO_MEMORY, chunks.head.offset)
				<< "chunk HEAD: " << frames << " frames exceed the address space";
			return false;
		}
		return true;
	}

	bool check_codec()
	{
		const mocpack_Info& info = motion->info;
		uint64_t at = chunks.head.offset;
		size_t n = 0;
		while (n < CODEC_COUNT && (info.codec.size != CODECS[n].name_size ||
								   std::memcmp(info.codec.bytes, CODECS[n].bitstream, CODECS[n].name_size)))
			++n;
		if (n == CODEC_COUNT)
			fail(MOCPACK_UNSUPPORTED, at).operator<<("codec ").quote(info.codec.bytes, info.codec.size)
				<< " is not supported by this library";
		else if (check_version(CODECS[n].bitstream, info.bitstream_version, CODECS[n].newest_bitstream, at,
							   error))
		{
			motion->codec = Codec(n);
			return check_required_parameters(at);
		}
		return false;
	}

	// Splits the frames into groups of about one second, for codecs without groups.
	void split_into_groups()
	{
		mocpack_Info& info = motion->info;
		const uint64_t frames = info.frame_count - 1, most = SPAN_BYTES / (56 * info.joint_count);
		const double second = SPAN_SECONDS / info.frame_time;
		uint64_t span = second < double(most) ? uint64_t(second + 0.5) : most;
		span = span < frames ? span : frames;
		span = span ? span : 1;
		motion->frames_per_group = size_t(span);
		motion->layout.group_count = size_t((frames + span - 1) / span);
		motion->longest_group = frames ? size_t(span) : 0;
		info.key_count = uint64_t(motion->layout.group_count) + 1;
	}

	// Rejects parameters that a decoder must know, since this version defines none.
	bool check_required_parameters(uint64_t at)
	{
		if (!needed.size)
			return true;
		JsonObject object = read_json_object(reinterpret_cast<const uint8_t*>(needed.bytes), needed.size);
		if (object.empty)
			return true;
		fail(MOCPACK_UNSUPPORTED, at)
				.operator<<(CODECS[motion->codec].bitstream)
				.operator<<(" requires parameter ")
				.quote(object.first_name, object.first_name_size)
			<< ": use a newer version of mocpack";
		return false;
	}

	// Builds the skeleton that the codec uses. If there are several roots, they become children of an added
	// joint at the origin, which comes first.
	bool build_codec_skeleton()
	{
		mocpack_Info& info = motion->info;
		size_t joints = info.joint_count;
		for (size_t j = 1; j < joints; ++j)
			motion->origins |= info.parents[j] < 0;
		mocpack_Skeleton& tree = motion->tree;
		tree = {joints,
				info.parents,
				info.offsets,
				info.end_count,
				info.end_joints,
				info.end_sites,
				info.translated_count,
				info.translated_joints,
				info.rest_rotations,
				info.hinge_count,
				motion->hinge_joints,
				motion->hinge_slides,
				motion->hinge_axes,
				motion->hinge_limits};
		if (!motion->origins)
			return true;
		Memory& memory = motion->memory;
		int32_t* parents = memory.allocate_array<int32_t>(joints + 1);
		double* offsets = memory.allocate_array<double>(3 * (uint64_t(joints) + 1));
		int32_t* ends = memory.allocate_array<int32_t>(info.end_count + 1);
		int32_t* translated = memory.allocate_array<int32_t>(info.translated_count + 1);
		double* rest = memory.allocate_array<double>(4 * (uint64_t(joints) + 1));
		if (!parents || !offsets || !ends || !translated || !rest)
			return no_memory(error, "the skeleton's joints");
		parents[0] = -1;
		for (size_t j = 0; j < joints; ++j)
			parents[j + 1] = info.parents[j] + 1;
		std::memcpy(offsets + 3, info.offsets, 3 * joints * sizeof(double));
		for (size_t i = 0; i < info.end_count; ++i)
			ends[i] = info.end_joints[i] + 1;
		for (size_t i = 0; i < info.translated_count; ++i)
			translated[i] = info.translated_joints[i] + 1;
		rest[3] = 1;
		for (size_t j = 0; j < joints; ++j)
			if (info.rest_rotations)
				std::memcpy(rest + 4 * (j + 1), info.rest_rotations + 4 * j, 4 * sizeof(double));
			else
				rest[4 * (j + 1) + 3] = 1;
		for (size_t h = 0; h < info.hinge_count; ++h)
			++motion->hinge_joints[h];
		tree.rest = rest;
		tree.joint_count = joints + 1;
		tree.parents = parents, tree.offsets = offsets, tree.end_joints = ends;
		tree.translated_joints = translated;
		return true;
	}

	// Keeps the chunks for callers that want their bytes.
	bool keep_chunks()
	{
		Chunks* kept = motion->memory.allocate_array<Chunks>(1);
		if (!kept || !copy_text(needed.bytes, needed.size, &motion->needed, &motion->memory))
			return no_memory(error, "the file's chunks");
		*kept = chunks;
		motion->chunks = kept;
		return true;
	}

	// Frees chunks that were read through the callback.
	void release_chunks()
	{
		for (const Chunk* chunk = chunks.tracks; chunk;)
		{
			const Chunk* next = chunk->next;
			motion->bytes.unload(chunk->body, &motion->memory);
			motion->memory.release(const_cast<Chunk*>(chunk));
			chunk = next;
		}
		for (const Chunk* chunk :
			 {&chunks.head, &chunks.skeleton, &chunks.hinges, &chunks.scales, &chunks.rest, &chunks.time,
			  &chunks.meta, &chunks.play, &chunks.gaps, &chunks.bounds})
			motion->bytes.unload(chunk->body, &motion->memory);
	}
};

} // namespace

mocpack_Status open_clip(const Bytes& bytes, const mocpack_OpenOptions* options, bool header_alone,
						 mocpack_Motion** motion, mocpack_Error* error, const mocpack_Motion* like)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	const mocpack_OpenOptions defaults = MOCPACK_OPEN_OPTIONS;
	const mocpack_OpenOptions& given = options ? *options : defaults;
	if (CHECKS_ARGUMENTS && (!motion || given.struct_size != sizeof given ||
							 (given.allocator && (!given.allocator->allocate || !given.allocator->release)) ||
							 given.flags > (MOCPACK_OPEN_ALLOW_TRUNCATED | MOCPACK_OPEN_SKIP_CHECKSUM)))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_open: invalid options (wrong struct_size, allocator or flags), or null";
	*motion = nullptr;
	const Memory memory(given.allocator ? *given.allocator : default_allocator(),
						given.memory_limit ? given.memory_limit : DEFAULT_LIMIT);
	const uint32_t flags = SMALL_BUILD ? 0 : given.flags; // JavaScript sets none
	mocpack_Motion* made = make_motion(memory);
	if (!made)
		return ErrorMessage(error, MOCPACK_NO_MEMORY) << "out of memory";
	made->bytes = bytes;
	Opening opening = {made, error, like, {}, {nullptr, 0}};
	bool good = opening.run(flags, header_alone);
	if (good && header_alone)
		good = opening.keep_chunks();
	if (!good)
	{
		Memory all = made->memory; // a copy, since the motion itself lives in this memory
		all.release_all();
		return error->status;
	}
	if (!header_alone)
		opening.release_chunks();
	*motion = made;
	return MOCPACK_OK;
}

namespace
{

// Opens a file, or a scene with one clip.
mocpack_Status open_bytes(const Bytes& bytes, const mocpack_OpenOptions* options, mocpack_Motion** motion,
						  mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	error->status = MOCPACK_OK;
	if (motion)
		*motion = nullptr;
	if (SMALL_BUILD) // JavaScript finds the clips of a scene
		return open_clip(bytes, options, false, motion, error);
	if (!is_scene(bytes, error))
		return error->status == MOCPACK_OK ? open_clip(bytes, options, false, motion, error) : error->status;
	mocpack_Scene* scene = nullptr;
	if (open_scene(bytes, options, &scene, error) != MOCPACK_OK)
		return error->status;
	const size_t clips = mocpack_scene_clip_count(scene);
	mocpack_Status status = clips == 1 ? mocpack_scene_open_clip(scene, 0, options, motion, error)
									   : mocpack_Status(ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
														<< "the file is a scene with " << uint64_t(clips)
														<< " clips: use mocpack_scene_open");
	mocpack_scene_close(scene);
	return status;
}

} // namespace

} // namespace mocpack

using namespace mocpack;

mocpack_Status mocpack_open(const void* bytes, size_t size, const mocpack_OpenOptions* options,
							mocpack_Motion** motion, mocpack_Error* error)
{
	static const uint8_t NOTHING = 0;
	Bytes all = {
		bytes ? static_cast<const uint8_t*>(bytes) : &NOTHING, {nullptr, bytes ? size : 0, nullptr}, 0};
	return open_bytes(all, options, motion, error);
}

mocpack_Status mocpack_open_source(const mocpack_Source* source, const mocpack_OpenOptions* options,
								   mocpack_Motion** motion, mocpack_Error* error)
{
	if (motion)
		*motion = nullptr;
	if (source && source->read)
		return open_bytes({nullptr, *source, 0}, options, motion, error);
	mocpack_Error ignored;
	return ErrorMessage(error ? error : &ignored, MOCPACK_BAD_ARGUMENT)
		   << "mocpack_open_source: the source or its `read` is null";
}

void mocpack_close(mocpack_Motion* motion)
{
	if (!motion)
		return;
	Memory all = motion->memory;
	all.release_all();
}

const mocpack_Info* mocpack_info(const mocpack_Motion* motion)
{
	return !CHECKS_ARGUMENTS || motion ? &motion->info : nullptr;
}

uint64_t mocpack_key_frame(const mocpack_Motion* motion, uint64_t key)
{
	if (CHECKS_ARGUMENTS && !motion)
		return 0;
	uint64_t last = motion->layout.group_count;
	return motion->key_frame(size_t(key < last ? key : last));
}

double mocpack_frame_at(const mocpack_Motion* motion, double seconds)
{
	if (CHECKS_ARGUMENTS && (!motion || std::isnan(seconds)))
		return std::numeric_limits<double>::quiet_NaN();
	const mocpack_Info& info = motion->info;
	double last = double(info.frame_count - 1);
	if (!info.times)
	{
		double at = (seconds - info.start_time) / info.frame_time;
		return at > 0 ? (at < last ? at : last) : 0; // NaN: the first frame
	}
	uint64_t low = 0, high = info.frame_count - 1;
	if (!(seconds > info.times[0]))
		return 0;
	if (seconds >= info.times[high])
		return last;
	while (high - low > 1)
	{
		uint64_t middle = low + (high - low) / 2;
		(info.times[middle] <= seconds ? low : high) = middle;
	}
	return double(low) + (seconds - info.times[low]) / (info.times[high] - info.times[low]);
}

mocpack_Status mocpack_valid_mask(const mocpack_Motion* motion, uint64_t first, uint64_t stop, uint8_t* valid,
								  mocpack_Error* error)
{
	mocpack_Error ignored;
	if (CHECKS_ARGUMENTS && (!motion || (!valid && first < stop)))
		return ErrorMessage(error ? error : &ignored, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_valid_mask: `motion` or `valid` is null";
	const mocpack_Info& info = motion->info;
	if (CHECKS_ARGUMENTS && (first > stop || stop > info.frame_count))
		return ErrorMessage(error ? error : &ignored, MOCPACK_BAD_ARGUMENT)
			   << "frames " << first << " to " << stop << " are outside the clip, which has "
			   << info.frame_count << " frames";
	if (first == stop)
		return MOCPACK_OK;
	size_t joints = info.joint_count;
	std::memset(valid, 1, size_t(stop - first) * joints);
	const Gaps& gaps = motion->gaps;
	for (size_t i = 0; i < gaps.joint_count; ++i)
	{
		size_t next = gaps.starts[i], last = gaps.starts[i + 1];
		uint8_t flag = gaps.first[i];
		for (uint64_t t = first; t < stop; ++t)
		{
			for (; next < last && gaps.changes[next] <= t; ++next)
				flag = !flag;
			valid[size_t(t - first) * joints + size_t(gaps.joints[i])] = flag;
		}
	}
	return MOCPACK_OK;
}

const char* mocpack_version(void)
{
#define MOCPACK_TEXT(x) #x
#define MOCPACK_DOTTED(a, b, c) MOCPACK_TEXT(a) "." MOCPACK_TEXT(b) "." MOCPACK_TEXT(c)
	return MOCPACK_DOTTED(MOCPACK_VERSION_MAJOR, MOCPACK_VERSION_MINOR, MOCPACK_VERSION_PATCH);
}

const char* mocpack_status_name(mocpack_Status status)
{
	switch (status)
	{
	case MOCPACK_OK:
		return "ok";
	case MOCPACK_TRUNCATED:
		return "truncated";
	case MOCPACK_CORRUPT:
		return "corrupt";
	case MOCPACK_NO_MEMORY:
		return "memory";
	case MOCPACK_BOUND_NOT_MET:
		return "bound";
	case MOCPACK_NOT_MOCPACK:
		return "format";
	case MOCPACK_UNSUPPORTED:
		return "unsupported";
	case MOCPACK_READ_FAILED:
		return "read";
	case MOCPACK_NEEDS_BYTES:
		return "needs";
	case MOCPACK_BAD_ARGUMENT:
		return "argument";
	case MOCPACK_CANCELED:
		return "canceled";
	}
	return "unknown";
}
