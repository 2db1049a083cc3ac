// Fuzzes the live receiver: a hello, then packets, each preceded by its size (u16).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "live/live.h"

namespace
{

const size_t MAX_JOINTS = 64; // larger skeletons only slow down the fuzzer
const int PATIENCE = 2;		  // frames
const int MAX_POSES = 200;	  // per input

void require(bool has_frame, const char* what)
{
	if (has_frame)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

// Splits the input into parts, each preceded by its size; the last one may be cut.
struct Parts
{
	const uint8_t *at, *end;

	bool next(const uint8_t** bytes, size_t* size)
	{
		if (end - at < 2)
			return false;
		*size = size_t(at[0] | at[1] << 8);
		at += 2;
		*bytes = at;
		*size = *size < size_t(end - at) ? *size : size_t(end - at);
		at += *size;
		return true;
	}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
	Parts parts = {data, data + size};
	const uint8_t *hello, *packet;
	size_t hello_size, packet_size;
	mocpack_LiveShape shape = {};
	mocpack_Fault fault = {};
	if (!parts.next(&hello, &hello_size) ||
		mocpack_live_read_shape(hello, hello_size, &shape, &fault) != MOCPACK_OK ||
		shape.joint_count > MAX_JOINTS)
		return 0;
	// exact sizes, so that the address sanitizer detects reads beyond them
	std::unique_ptr<uint8_t[]> memory(new uint8_t[mocpack_live_receiver_size(hello, hello_size)]);
	std::vector<double> rotations(4 * shape.joint_count), translations(3 * shape.translated_count);
	mocpack_LiveReceiver* receiver = mocpack_live_receiver_open(hello, hello_size, PATIENCE, memory.get());
	if (!receiver)
		return 0;
	int poses = 0;
	while (parts.next(&packet, &packet_size) && poses < MAX_POSES)
	{
		std::vector<uint8_t> own(packet, packet + packet_size);
		mocpack_live_receive(receiver, own.data(), own.size());
		mocpack_LiveHead head;
		for (; poses < MAX_POSES && mocpack_live_next(receiver, &head, rotations.data(), translations.data());
			 ++poses)
			for (double number : rotations)
				require(std::isfinite(number), "rotations are finite");
		mocpack_live_predict(receiver, 1 + poses % 63, rotations.data(), translations.data());
		int64_t first, newest;
		mocpack_live_missing(receiver, &first, &newest);
		mocpack_live_is_waiting(receiver);
		mocpack_live_has_frame(receiver, newest);
	}
	return 0;
}
