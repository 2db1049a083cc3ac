// Opens a .mocps archive of any bytes, and decodes its first clips.
#include "fuzz/motion.h"

namespace
{

const size_t MAX_CLIPS = 4; // that one input decodes
const size_t MAX_READ = 1 << 16;

void read_clip(const mocpack_Archive* archive, size_t clip)
{
	static uint8_t buffer[MAX_READ];
	const mocpack_ArchiveClip* entry = mocpack_archive_clip_info(archive, clip);
	fuzz::require(entry && entry->name.size <= 1024, "a clip has a name");
	size_t size = entry->size < MAX_READ ? size_t(entry->size) : MAX_READ;
	mocpack_archive_read_clip(archive, clip, 0, size, buffer);
	mocpack_archive_read_clip(archive, clip, entry->size - size / 2, size / 2, buffer);
	mocpack_OpenOptions options = fuzz::open_options();
	mocpack_Motion* motion = nullptr;
	mocpack_Error error = {};
	mocpack_Status status = mocpack_archive_open_clip(archive, clip, &options, &motion, &error);
	fuzz::check_error(status, error);
	if (status == MOCPACK_OK)
		fuzz::decode(motion);
	mocpack_close(motion);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
	fuzz::Bytes bytes = {data, size};
	mocpack_Source source = fuzz::source_of(&bytes);
	mocpack_OpenOptions options = fuzz::open_options();
	mocpack_Archive* archive = nullptr;
	mocpack_Error error = {};
	mocpack_Status status = mocpack_archive_open(&source, &options, &archive, &error);
	fuzz::check_error(status, error);
	if (status != MOCPACK_OK)
		return 0;
	size_t count = mocpack_archive_clip_count(archive);
	fuzz::require(mocpack_archive_find_clip(archive, "no clip") <= count, "a name is a clip or none");
	for (size_t clip = 0; clip < count && clip < MAX_CLIPS; ++clip)
		read_clip(archive, clip);
	mocpack_archive_close(archive);
	return 0;
}
