// Live streams: encodes poses into packets and decodes them, frame by frame. Used by the bindings for Python
// and browsers.
//
// The caller provides the memory: query the size, then open in that many bytes, aligned like malloc's.
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
		size_t max_row_bytes;	 // size limit of a row
		uint32_t hello_checksum; // CRC-32 of the hello
		double max_error;		 // meters
		double frame_time;
	} mocpack_LiveShape;

	// Coding mode from the next keyframe on.
	typedef struct mocpack_LiveMode
	{
		uint32_t bound;		// micrometers
		uint8_t frame_step; // source frames per sent frame
		uint8_t twist;		// 0: twist that moves only the skin is not sent
	} mocpack_LiveMode;

	// Header of a packet.
	typedef struct mocpack_LiveHead
	{
		int64_t number; // number of its newest frame, from 0
		int64_t time;	// of that frame, in microseconds on the sender's clock
		int full;		// whether number and time are complete
	} mocpack_LiveHead;

	typedef struct mocpack_LiveRow
	{
		uint32_t offset; // frames before the packet's newest frame
		int keyframe;
		const uint8_t* bytes;
		size_t size;
	} mocpack_LiveRow;

	typedef enum mocpack_LivePacketStatus
	{
		MOCPACK_LIVE_NEW = 0,			 // it holds new rows
		MOCPACK_LIVE_REDUNDANT = 1,		 // a duplicate, or too late
		MOCPACK_LIVE_NEEDS_KEYFRAME = 2, // it cannot be decoded before a keyframe arrives
		MOCPACK_LIVE_DAMAGED = 3,		 // it fails its checksum or cannot be parsed
		MOCPACK_LIVE_OTHER_STREAM = 4	 // it belongs to another stream, or a restarted sender
	} mocpack_LivePacketStatus;

	// Reads the shape of a hello. Returns MOCPACK_CORRUPT (with `fault`) or MOCPACK_TRUNCATED if it is
	// invalid.
	mocpack_Status mocpack_live_read_shape(const uint8_t* hello, size_t size, mocpack_LiveShape* shape,
										   mocpack_Fault* fault);

	size_t mocpack_live_encoder_size(const uint8_t* hello, size_t size);
	mocpack_LiveEncoder* mocpack_live_encoder_open(const uint8_t* hello, size_t size, void* memory);

	/* Encodes a pose, local rotations (J, 4) and translations (M, 3), as the next frame, and keeps the last
	 * 64 rows. Only a keyframe uses `mode`. `error` receives the largest error of joints, end sites and skin
	 * in meters. Returns MOCPACK_BOUND_NOT_MET if the pose is invalid, or farther from its hinges
	 * than the bound. */
	mocpack_Status mocpack_live_encode(mocpack_LiveEncoder* encoder, const double* rotations,
									   const double* translations, int64_t time, int keyframe,
									   const mocpack_LiveMode* mode, double* error);
	// Returns the row of a frame; null if it is no longer kept.
	const mocpack_LiveRow* mocpack_live_row(mocpack_LiveEncoder* encoder, int64_t number, int64_t* time);
	// Writes the pose that receivers decode from the last frame.
	void mocpack_live_encoded_pose(mocpack_LiveEncoder* encoder, double* rotations, double* translations);

	/* Writes a packet; returns its size, or 0 if it does not fit. Offsets are at most 65535. */
	size_t mocpack_live_pack(uint32_t hello_checksum, const mocpack_LiveHead* head,
							 const mocpack_LiveRow* rows, size_t count, uint8_t* dst, size_t room);
	/* Reads a packet. `near` is the newest known frame, or null. `rows` has room for `room` rows, and `count`
	 * receives their number. */
	mocpack_LivePacketStatus mocpack_live_unpack(uint32_t hello_checksum, const mocpack_LiveHead* near,
												 const uint8_t* packet, size_t size, mocpack_LiveHead* head,
												 mocpack_LiveRow* rows, size_t room, size_t* count);

	size_t mocpack_live_receiver_size(const uint8_t* hello, size_t size);
	// `patience`: frames to wait for a missing one before skipping to a later keyframe.
	mocpack_LiveReceiver* mocpack_live_receiver_open(const uint8_t* hello, size_t size, int patience,
													 void* memory);
	mocpack_LivePacketStatus mocpack_live_receive(mocpack_LiveReceiver* receiver, const uint8_t* packet,
												  size_t size);
	/* Decodes the next frame; returns 0 if there is none. `head` receives its number and time. */
	int mocpack_live_next(mocpack_LiveReceiver* receiver, mocpack_LiveHead* head, double* rotations,
						  double* translations);
	// Whether the next frame is missing and no later keyframe can replace it.
	int mocpack_live_is_waiting(const mocpack_LiveReceiver* receiver);
	// Returns the mode of the last decoded frame; writes the first missing and the newest known frame.
	mocpack_LiveMode mocpack_live_mode(const mocpack_LiveReceiver* receiver);
	void mocpack_live_missing(const mocpack_LiveReceiver* receiver, int64_t* first, int64_t* newest);
	// Whether a frame was decoded, or its row is stored.
	int mocpack_live_has_frame(const mocpack_LiveReceiver* receiver, int64_t number);
	/* Extrapolates the pose `ahead` frames (fewer than 64) after the last decoded one. Returns 0 before the
	 * first frame. */
	int mocpack_live_predict(mocpack_LiveReceiver* receiver, int ahead, double* rotations,
							 double* translations);
	// Returns the CRC-32 of the integer state after the last frame, equal at both ends.
	uint32_t mocpack_live_receiver_checksum(const mocpack_LiveReceiver* receiver);
	uint32_t mocpack_live_encoder_checksum(const mocpack_LiveEncoder* encoder);

#ifdef __cplusplus
}
#endif
