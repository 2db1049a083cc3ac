// Live streams: poses in, packets out, and back, frame by frame. For our own bindings (Python, browsers).
//
// Memory is the caller's: ask for a size, then open in that many bytes, aligned as malloc aligns.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	typedef struct mocpack_LiveEncoder mocpack_LiveEncoder;
	typedef struct mocpack_LiveReceiver mocpack_LiveReceiver;

	typedef struct mocpack_LiveShape
	{
		size_t joint_count, translated_count;
		size_t max_row_bytes;  // bytes that no row exceeds
		uint32_t hello_checksum;	  // CRC-32 of the hello
		double max_error; // metres
		double frame_time;
	} mocpack_LiveShape;

	// How frames are coded from the next intra frame on.
	typedef struct mocpack_LiveMode
	{
		uint32_t bound; // micrometres
		uint8_t frame_step;	// frames of the source that a step of the stream is
		uint8_t twist;	// 0: twist that moves nothing but the skin is left out
	} mocpack_LiveMode;

	// What a packet says of itself.
	typedef struct mocpack_LiveHead
	{
		int64_t number; // of its newest frame, from 0
		int64_t time;	// of it, microseconds on the sender's clock
		int full;		// whether it says both whole, and needs nothing known before
	} mocpack_LiveHead;

	typedef struct mocpack_LiveRow
	{
		uint32_t offset; // frames before the packet's newest
		int keyframe;
		const uint8_t* bytes;
		size_t size;
	} mocpack_LiveRow;

	typedef enum mocpack_LivePacketStatus
	{
		MOCPACK_LIVE_NEW = 0,		 // it brought rows that were not known
		MOCPACK_LIVE_REDUNDANT = 1,		 // a duplicate, or too late
		MOCPACK_LIVE_NEEDS_KEYFRAME = 2,	 // fits nothing known: a whole packet is waited for
		MOCPACK_LIVE_DAMAGED = 3,	 // its checksum, or its form, is wrong
		MOCPACK_LIVE_OTHER_STREAM = 4 // it belongs to another hello: another stream, or a restarted sender
	} mocpack_LivePacketStatus;

	// Reads a hello; MOCPACK_CORRUPT or MOCPACK_TRUNCATED and what is wrong with it, or its shape.
	mocpack_Status mocpack_live_read_shape(const uint8_t* hello, size_t size, mocpack_LiveShape* shape,
									  mocpack_Fault* fault);

	size_t mocpack_live_encoder_size(const uint8_t* hello, size_t size);
	mocpack_LiveEncoder* mocpack_live_encoder_open(const uint8_t* hello, size_t size, void* memory);

	/* Codes a pose, rotations (J, 4) local and translations (M, 3), as the next frame, and keeps its row
	 * among the last 64. An intra frame takes `mode`, others leave it aside. `error` receives how far joints,
	 * end sites and skin are off, in metres. MOCPACK_BOUND_NOT_MET: the skeleton's hinges cannot take this pose
	 * within the bound, or it is no pose. */
	mocpack_Status mocpack_live_encode(mocpack_LiveEncoder* encoder, const double* rotations,
									   const double* translations, int64_t time, int keyframe,
									   const mocpack_LiveMode* mode, double* error);
	// The row of a frame; null once it is forgotten.
	const mocpack_LiveRow* mocpack_live_row(mocpack_LiveEncoder* encoder, int64_t number, int64_t* time);
	// The pose that receivers have after the last frame.
	void mocpack_live_encoded_pose(mocpack_LiveEncoder* encoder, double* rotations, double* translations);

	/* Writes a packet; returns its size, 0 if it does not fit. The first row may be of any frame; offsets are
	 * at most 65535. */
	size_t mocpack_live_pack(uint32_t hello_checksum, const mocpack_LiveHead* head, const mocpack_LiveRow* rows,
							 size_t count, uint8_t* dst, size_t room);
	/* Reads one. `near` is the newest frame known, with its time, or null; `rows` has room for `room`, and
	 * `count` receives how many there are. */
	mocpack_LivePacketStatus mocpack_live_unpack(uint32_t hello_checksum, const mocpack_LiveHead* near,
										   const uint8_t* packet, size_t size, mocpack_LiveHead* head,
										   mocpack_LiveRow* rows, size_t room, size_t* count);

	size_t mocpack_live_receiver_size(const uint8_t* hello, size_t size);
	// `patience`: for how many frames a missing one is waited for, where an intra frame could stand in.
	mocpack_LiveReceiver* mocpack_live_receiver_open(const uint8_t* hello, size_t size, int patience,
													 void* memory);
	mocpack_LivePacketStatus mocpack_live_receive(mocpack_LiveReceiver* receiver, const uint8_t* packet,
											size_t size);
	/* Decodes the next frame that can be; returns 0 if none can. `head` receives its number and time. */
	int mocpack_live_next(mocpack_LiveReceiver* receiver, mocpack_LiveHead* head, double* rotations,
						  double* translations);
	// Whether the next frame is missing and nothing held can stand in for it.
	int mocpack_live_is_waiting(const mocpack_LiveReceiver* receiver);
	// The mode of the frames decoded last, and the first frame that is missing, up to the newest heard of.
	mocpack_LiveMode mocpack_live_mode(const mocpack_LiveReceiver* receiver);
	void mocpack_live_missing(const mocpack_LiveReceiver* receiver, int64_t* first, int64_t* newest);
	// Whether the row of a frame is held, or was decoded.
	int mocpack_live_has_frame(const mocpack_LiveReceiver* receiver, int64_t number);
	/* The pose `ahead` frames after the last decoded, if all goes on as it did; fewer than 64. Returns 0
	 * before the first frame. */
	int mocpack_live_predict(mocpack_LiveReceiver* receiver, int ahead, double* rotations,
						   double* translations);
	// CRC-32 of the whole numbers that the frame decoded last left, to hold both ends equal.
	uint32_t mocpack_live_receiver_checksum(const mocpack_LiveReceiver* receiver);
	uint32_t mocpack_live_encoder_checksum(const mocpack_LiveEncoder* encoder);

#ifdef __cplusplus
}
#endif
