// WebAssembly interface of a live receiver: a hello and packets in, poses out.
//
// An instance receives one stream. `receive` returns a mocpack_LivePacketStatus.
#include <cstdint>

#include "live/live.h"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

extern "C" uint8_t __heap_base; // end of the linker's static memory
extern "C" void __wasm_call_ctors();

namespace
{

const uint64_t PAGE = 65536, ALIGNMENT = 32;
uint64_t heap_end;
mocpack_LiveReceiver* receiver;
mocpack_LiveHead head;
double *rotations, *translations;

void* allocate_bytes(size_t size)
{
	if (!heap_end)
		heap_end = (reinterpret_cast<uintptr_t>(&__heap_base) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	uint64_t start = heap_end, end = start + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	uint64_t have = PAGE * __builtin_wasm_memory_size(0);
	if (end > have && (end > UINT32_MAX ||
					   __builtin_wasm_memory_grow(0, size_t((end - have + PAGE - 1) / PAGE)) == size_t(-1)))
		return nullptr;
	heap_end = end;
	return reinterpret_cast<void*>(uintptr_t(start));
}

} // namespace

/* Computes the tables. Call it first. */
EXPORT(_initialize) void initialize()
{
	__wasm_call_ctors();
}

/* Allocates memory for a hello or packets; null if there is too little. */
EXPORT(allocate) void* allocate(uint32_t size)
{
	return allocate_bytes(size);
}

/* Opens the model of a hello. Returns 0, or -1 if it is invalid or needs too much memory. */
EXPORT(open_hello) int32_t open_hello(const uint8_t* hello, uint32_t size, int32_t patience)
{
	size_t bytes = mocpack_live_receiver_size(hello, size);
	mocpack_LiveShape shape;
	mocpack_Fault fault;
	if (mocpack_live_read_shape(hello, size, &shape, &fault) != MOCPACK_OK)
		return -1;
	void* memory = allocate_bytes(bytes);
	rotations = static_cast<double*>(allocate_bytes(4 * sizeof(double) * shape.joint_count));
	translations = static_cast<double*>(allocate_bytes(3 * sizeof(double) * shape.translated_count));
	if (!memory || !rotations || !translations)
		return -1;
	receiver = mocpack_live_receiver_open(hello, size, patience, memory);
	return receiver ? 0 : -1;
}

EXPORT(receive) int32_t receive(const uint8_t* packet, uint32_t size)
{
	return mocpack_live_receive(receiver, packet, size);
}

/* Decodes the next frame; returns 0 if there is none. */
EXPORT(next) int32_t next()
{
	return mocpack_live_next(receiver, &head, rotations, translations);
}

/* Extrapolates the pose `ahead` frames after the last; returns 0 before the first. */
EXPORT(predict) int32_t predict(int32_t ahead)
{
	return mocpack_live_predict(receiver, ahead, rotations, translations);
}

EXPORT(rotations_at) const double* rotations_at()
{
	return rotations;
}

EXPORT(translations_at) const double* translations_at()
{
	return translations;
}

EXPORT(frame_number) double frame_number()
{
	return double(head.number);
}

/* Time of the last decoded frame, in microseconds. */
EXPORT(frame_micros) double frame_micros()
{
	return double(head.time);
}

EXPORT(waiting) int32_t waiting()
{
	return mocpack_live_is_waiting(receiver);
}

/* Error bound of the last decoded frame, in micrometers. */
EXPORT(bound) uint32_t bound()
{
	return mocpack_live_mode(receiver).bound;
}

EXPORT(frame_step) uint32_t frame_step()
{
	return mocpack_live_mode(receiver).frame_step;
}

/* The first missing frame; -1 if a keyframe is needed. */
EXPORT(first_missing) double first_missing()
{
	int64_t first, last;
	mocpack_live_missing(receiver, &first, &last);
	return double(first);
}

/* Whether a frame was decoded, or its row is stored. */
EXPORT(has_frame) int has_frame(double number)
{
	return mocpack_live_has_frame(receiver, int64_t(number));
}

/* The newest known frame; -1 before the first. */
EXPORT(newest) double newest()
{
	int64_t first, last;
	mocpack_live_missing(receiver, &first, &last);
	return double(last);
}
