// Opens a .mocp file of any bytes, from memory and by a callback, and decodes what it holds.
#include "fuzz/motion.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
	mocpack_OpenOptions options = fuzz::open_options();
	mocpack_Motion* motion = nullptr;
	mocpack_Error error = {};
	if (size & 1)
		options.flags = MOCPACK_OPEN_CUT;
	fuzz::Bytes bytes = {data, size};
	mocpack_Source source = fuzz::source_of(&bytes);
	mocpack_Status status = size & 2 ? mocpack_open_source(&source, &options, &motion, &error)
									 : mocpack_open(data, size, &options, &motion, &error);
	fuzz::check_error(status, error);
	if (status == MOCPACK_OK)
		fuzz::decode(motion);
	mocpack_close(motion);
	return 0;
}
