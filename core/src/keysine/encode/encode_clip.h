// keysine's encoder in one call: a clip's arrays and a target in, the bytes of a payload out.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

// A callback asked the encoder to stop.
#define MOCPACK_CANCELED ((mocpack_Status) - 10)

#ifdef __cplusplus
extern "C"
{
#endif

	// A clip. Rotations are unit and continuous in time.
	typedef struct mocpack_KeysineClip
	{
		const mocpack_Skeleton* skeleton;
		const char* const* joint_names; // (J) by which feet are found; null: the lowest leaves are feet
		const double* rotations;		// (T, J, 4) local
		const double* translations;		// (T, M, 3) of the translated joints, meters
		size_t frame_count;				// at least 1
		double frame_rate;				// hertz
	} mocpack_KeysineClip;

	enum mocpack_KeysineEffort
	{
		MOCPACK_KEYSINE_FAST,
		MOCPACK_KEYSINE_DEFAULT,
		MOCPACK_KEYSINE_BEST,
	};

	enum mocpack_KeysineMode
	{
		MOCPACK_KEYSINE_AUTO,	   // whichever is smaller
		MOCPACK_KEYSINE_TRANSFORM, // key poses and sine series
		MOCPACK_KEYSINE_GRID,	   // whole numbers on a grid in time; keeps max_error only
	};

	typedef struct mocpack_KeysineTarget
	{
		double max_error;	  // meters
		double mean_error;	  // meters, in place of max_error; 0: none
		double step;		  // meters, of the quantizer, in place of both bounds; 0: none
		double max_angle;	  // radians, beside max_error; 0: none
		int32_t effort, mode; // mocpack_KeysineEffort, mocpack_KeysineMode
		double group_seconds; // a seek point at least this often
		double block_seconds; // distance of key poses; 0: chosen by group
		int32_t layers;		  // parts of the file that refine one another, at most
		int32_t streamed;	  // 1: in the order in which an encoder can write it in one pass; one layer
		// (J) bounds of single joints, for their centers, shell points and bone ends; null: as above
		const double* joint_errors; // meters, in place of max_error
		const double* joint_angles; // radians, in place of max_angle; 0: none
	} mocpack_KeysineTarget;

	// How the encoder gets memory and threads, and tells how far it is.
	typedef struct mocpack_KeysineWork
	{
		mocpack_Allocator allocator; // called by all workers
		void* user;
		size_t workers; // at least 1
		/* Calls run(context, i, worker) for every i below count and returns when all are done. `worker` is
		 * below `workers`, and no two calls at a time have the same. Null: one call after another. */
		void (*parallel_for)(void* user, size_t count, void (*run)(void* context, size_t i, size_t worker),
							 void* context);
		/* Receives the share of the work that is done, 0 to 1. It may fall: work that has to be done again
		 * was not expected. Called by all workers, many times per second. Nonzero stops the encoder. May be
		 * null.
		 */
		int (*progress)(void* user, double share);
	} mocpack_KeysineWork;

	// What the encoder made, in memory of the work's allocator: mocpack_keysine_release gives it back.
	typedef struct mocpack_KeysineEncoded
	{
		uint8_t* payload;
		size_t payload_size;
		double* rotations;	  // (T, J, 4) that the decoder makes of these very bytes
		double* translations; // (T, M, 3)
		void* memory;
	} mocpack_KeysineEncoded;

	/* Encodes a clip, decodes the very bytes and measures them against the target.
	 *
	 * MOCPACK_BAD_ARGUMENT if the target makes no sense; MOCPACK_BOUND_NOT_MET if nothing keeps it;
	 * MOCPACK_UNSUPPORTED if mode grid is requested and the clip has too many channels for a grid;
	 * MOCPACK_CORRUPT if the decoder rejects the result; MOCPACK_CANCELED; MOCPACK_NO_MEMORY.
	 * `constants`, in the order of constants.inc, are for tools; null: those of the table. */
	mocpack_Status mocpack_keysine_encode_clip(const mocpack_KeysineClip* clip,
											   const mocpack_KeysineTarget* target,
											   const mocpack_KeysineWork* work, const double* constants,
											   mocpack_KeysineEncoded* encoded);
	void mocpack_keysine_release(const mocpack_KeysineWork* work, mocpack_KeysineEncoded* encoded);

	// Numbers of the table of constants.
	size_t mocpack_keysine_constant_count(void);
	/* Row `index` of the table of constants: name, what it is, values as they are by default. Returns how
	 * many values it has, 0 past the last row. */
	size_t mocpack_keysine_constant(size_t index, const char** name, const char** text, double* values);

#ifdef __cplusplus
}
#endif
