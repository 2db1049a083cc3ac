// Opens a .mocp file of any bytes, from memory and by a callback, and decodes the clips that it holds.
#include "fuzz/motion.h"

namespace
{

const size_t MAX_CLIPS = 4; // of a scene, that one input decodes

void decode_clip(const mocpack_Scene* scene, size_t clip, const mocpack_OpenOptions& options)
{
	mocpack_Motion* motion = nullptr;
	mocpack_Error error = {};
	mocpack_Status status = mocpack_scene_open_clip(scene, clip, &options, &motion, &error);
	fuzz::check_error(status, error);
	if (status == MOCPACK_OK)
		fuzz::decode(motion);
	mocpack_close(motion);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
	mocpack_OpenOptions options = fuzz::open_options();
	mocpack_Scene* scene = nullptr;
	mocpack_Error error = {};
	if (size & 1)
		options.flags = MOCPACK_OPEN_ALLOW_TRUNCATED;
	fuzz::Bytes bytes = {data, size};
	mocpack_Source source = fuzz::source_of(&bytes);
	mocpack_Status status = size & 2 ? mocpack_scene_open_source(&source, &options, &scene, &error)
									 : mocpack_scene_open(data, size, &options, &scene, &error);
	fuzz::check_error(status, error);
	size_t count = status == MOCPACK_OK ? mocpack_scene_clip_count(scene) : 0;
	for (size_t clip = 0; clip < count && clip < MAX_CLIPS; ++clip)
	{
		mocpack_Text name = mocpack_scene_clip_name(scene, clip);
		fuzz::require(std::strlen(name.bytes) <= name.size, "names end with a zero");
		decode_clip(scene, clip, options);
	}
	mocpack_scene_close(scene);
	return 0;
}
