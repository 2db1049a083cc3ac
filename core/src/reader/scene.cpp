// Scenes: files whose CLIP chunks contain a name and the file of a clip.
#include <cstring>
#include <new>

#include "reader/chunks.h"
#include "reader/names.h"

namespace mocpack
{

// A clip of a scene, and the position of its file.
struct SceneClip
{
	mocpack_Text name;
	uint64_t offset, size;
	SceneClip* next;
};

} // namespace mocpack

struct mocpack_Scene
{
	mocpack::Memory memory;
	mocpack::Bytes bytes;
	size_t count = 0;
	mocpack::SceneClip* first = nullptr;
	mocpack::SceneClip** clips = nullptr; // (count)

	explicit mocpack_Scene(const mocpack::Memory& own, const mocpack::Bytes& all) : memory(own), bytes(all)
	{
	}
};

namespace mocpack
{

namespace
{

const uint8_t SCENE_MAGIC[] = {0x93, 'M', 'O', 'C'};
const size_t MAX_CLIP_NAME_BYTES = 1024, MAX_CLIP_NAME_LENGTH_BYTES = 4;

Bytes part_of(const Bytes& bytes, uint64_t offset, uint64_t size)
{
	Bytes part = bytes;
	part.all = bytes.all ? bytes.all + offset : nullptr;
	part.start += offset;
	part.source.size = size;
	return part;
}

// Finds the clips of a scene, chunk by chunk.
struct SceneScan
{
	mocpack_Scene* scene;
	mocpack_Error* error;
	SceneClip** last;

	bool run()
	{
		if (!read_magic(scene->bytes, error))
			return false;
		for (uint64_t at = FIRST_CHUNK; at < scene->bytes.source.size;)
			if (!next(&at))
				return false;
		return list_clips();
	}

  private:
	ErrorMessage fail(mocpack_Status status, uint64_t offset)
	{
		return ErrorMessage(error, status, offset);
	}

	bool next(uint64_t* at)
	{
		const Bytes& bytes = scene->bytes;
		uint8_t tag[4] = {};
		Chunk chunk = {};
		if (!read_chunk_header(bytes, at, tag, &chunk, error))
			return false;
		const uint64_t there = bytes.source.size - *at;
		const bool is_clip = !std::memcmp(tag, "CLIP", 4);
		if (!check_size(tag, chunk, there, error) || (!is_clip && !is_optional(tag, *at, error)))
			return false;
		// do not read everything through the callback for this checksum: each clip has its own
		if (bytes.all && !load_chunk(bytes, tag, &chunk, &scene->memory, error))
			return false;
		if (is_clip && !add_clip(*at, chunk.size))
			return false;
		*at += chunk.size;
		return true;
	}

	bool add_clip(uint64_t offset, uint64_t size)
	{
		uint8_t buffer[MAX_CLIP_NAME_BYTES + MAX_CLIP_NAME_LENGTH_BYTES];
		const size_t some = size < sizeof buffer ? size_t(size) : sizeof buffer;
		const uint8_t* bytes = scene->bytes.view(offset, some, buffer, error);
		if (!bytes)
			return false;
		Fields in("chunk CLIP", bytes, some, offset, error);
		const mocpack_Text name = in.text(MAX_CLIP_NAME_BYTES);
		if (!in.good())
			return false;
		SceneClip* clip = scene->memory.allocate_array<SceneClip>(1);
		if (!clip || !copy_text(name.bytes, name.size, &clip->name, &scene->memory))
			return no_memory(error, "the scene's clips");
		const size_t before = size_t(in.at() - bytes);
		clip->offset = offset + before, clip->size = size - before;
		*last = clip, last = &clip->next;
		++scene->count;
		return check_clip(*clip);
	}

	// Checks that a clip is not a scene.
	bool check_clip(const SceneClip& clip)
	{
		error->status = MOCPACK_OK;
		if (is_scene(part_of(scene->bytes, clip.offset, clip.size), error))
			fail(MOCPACK_CORRUPT, clip.offset).operator<<("clip ").quote(clip.name.bytes, clip.name.size)
				<< " of the scene is a scene, expected a single clip";
		return error->status == MOCPACK_OK;
	}

	bool list_clips()
	{
		const size_t count = scene->count;
		scene->clips = scene->memory.allocate_array<SceneClip*>(uint64_t(count) + 1);
		const mocpack_Text** names = scene->memory.allocate_array<const mocpack_Text*>(uint64_t(count) + 1);
		if (!scene->clips || !names)
			return no_memory(error, "the scene's clips");
		size_t at = 0;
		for (SceneClip* clip = scene->first; clip; clip = clip->next, ++at)
			scene->clips[at] = clip, names[at] = &clip->name;
		const mocpack_Text* twice = find_duplicate(names, count);
		if (twice)
			fail(MOCPACK_CORRUPT, 0)
				.operator<<("the scene has two clips named ")
				.quote(twice->bytes, twice->size);
		scene->memory.release(names);
		return !twice;
	}
};

// Lists a file with one clip as a scene of one unnamed clip.
bool list_file(mocpack_Scene* scene, mocpack_Error* error)
{
	scene->clips = scene->memory.allocate_array<SceneClip*>(1);
	scene->first = scene->memory.allocate_array<SceneClip>(1);
	if (!scene->clips || !scene->first)
		return no_memory(error, "the scene's clips");
	*scene->first = {{"", 0}, 0, scene->bytes.source.size, nullptr};
	scene->clips[0] = scene->first;
	scene->count = 1;
	return true;
}

} // namespace

bool is_scene(const Bytes& bytes, mocpack_Error* error)
{
	uint8_t buffer[9];
	if (bytes.source.size < sizeof buffer)
		return false;
	const uint8_t* start = bytes.view(0, sizeof buffer, buffer, error);
	return start && !std::memcmp(start, SCENE_MAGIC, 4) && !std::memcmp(start + 5, "CLIP", 4);
}

ClipPlace scene_place(const mocpack_Scene* scene, size_t clip)
{
	return {scene->clips[clip]->offset, scene->clips[clip]->size};
}

mocpack_Status open_scene(const Bytes& bytes, const mocpack_OpenOptions* options, mocpack_Scene** scene,
						  mocpack_Error* error)
{
	const mocpack_OpenOptions defaults = MOCPACK_OPEN_OPTIONS;
	const mocpack_OpenOptions& given = options ? *options : defaults;
	if (scene)
		*scene = nullptr;
	if (!scene || given.struct_size != sizeof given ||
		(given.allocator && (!given.allocator->allocate || !given.allocator->release)))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_scene_open: invalid options (wrong struct_size or allocator), or null";
	Memory memory(given.allocator ? *given.allocator : default_allocator(),
				  given.memory_limit ? given.memory_limit : DEFAULT_LIMIT);
	void* place = memory.allocate(sizeof(mocpack_Scene));
	if (!place)
		return ErrorMessage(error, MOCPACK_NO_MEMORY) << "out of memory";
	mocpack_Scene* made = new (place) mocpack_Scene(memory, bytes);
	error->status = MOCPACK_OK;
	const bool several = is_scene(bytes, error);
	const bool good = error->status == MOCPACK_OK &&
					  (several ? SceneScan{made, error, &made->first}.run() : list_file(made, error));
	if (good)
	{
		*scene = made;
		return MOCPACK_OK;
	}
	Memory all = made->memory;
	all.release_all();
	return error->status;
}

} // namespace mocpack

using namespace mocpack;

mocpack_Status mocpack_scene_open(const void* bytes, size_t size, const mocpack_OpenOptions* options,
								  mocpack_Scene** scene, mocpack_Error* error)
{
	mocpack_Error ignored;
	static const uint8_t NOTHING = 0;
	const Bytes all = {
		bytes ? static_cast<const uint8_t*>(bytes) : &NOTHING, {nullptr, bytes ? size : 0, nullptr}, 0};
	return open_scene(all, options, scene, error ? error : &ignored);
}

mocpack_Status mocpack_scene_open_source(const mocpack_Source* source, const mocpack_OpenOptions* options,
										 mocpack_Scene** scene, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (scene)
		*scene = nullptr;
	if (source && source->read)
		return open_scene({nullptr, *source, 0}, options, scene, error);
	return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
		   << "mocpack_scene_open_source: the source or its `read` is null";
}

void mocpack_scene_close(mocpack_Scene* scene)
{
	if (!scene)
		return;
	Memory all = scene->memory;
	all.release_all();
}

size_t mocpack_scene_clip_count(const mocpack_Scene* scene)
{
	return scene ? scene->count : 0;
}

mocpack_Text mocpack_scene_clip_name(const mocpack_Scene* scene, size_t clip)
{
	return scene && clip < scene->count ? scene->clips[clip]->name : mocpack_Text{"", 0};
}

size_t mocpack_scene_find_clip(const mocpack_Scene* scene, const char* name)
{
	if (!scene || !name)
		return mocpack_scene_clip_count(scene);
	size_t size = 0;
	while (name[size])
		++size;
	for (size_t n = 0; n < scene->count; ++n)
		if (scene->clips[n]->name.size == size && !std::memcmp(scene->clips[n]->name.bytes, name, size))
			return n;
	return scene->count;
}

mocpack_Status mocpack_scene_open_clip(const mocpack_Scene* scene, size_t clip,
									   const mocpack_OpenOptions* options, mocpack_Motion** motion,
									   mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (motion)
		*motion = nullptr;
	if (clip >= mocpack_scene_clip_count(scene))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "clip index " << uint64_t(clip) << " is outside the scene, which has "
			   << uint64_t(mocpack_scene_clip_count(scene)) << " clips, or is null";
	const SceneClip& found = *scene->clips[clip];
	return open_clip(part_of(scene->bytes, found.offset, found.size), options, false, motion, error);
}
