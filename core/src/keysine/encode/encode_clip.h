// The keysine encoder in one call: from a clip's arrays and a target to the bytes of a payload.
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
		const char* const* joint_names; // (J) that identify feet; null: the lowest leaves are feet
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
		MOCPACK_KEYSINE_AUTO,	   // the smaller one
		MOCPACK_KEYSINE_TRANSFORM, // key poses and sine series
		MOCPACK_KEYSINE_GRID,	   // integers on a grid in time; only with max_error
	};

	typedef struct mocpack_KeysineTarget
	{
		double max_error;	  // meters
		double mean_error;	  // meters, replaces max_error; 0: none
		double step;		  // quantizer step in meters, replaces both bounds; 0: none
		double max_angle;	  // radians, in addition to max_error; 0: none
		int32_t effort, mode; // mocpack_KeysineEffort, mocpack_KeysineMode
		double group_seconds; // maximum distance between seek points
		double block_seconds; // distance between key poses; 0: chosen for each group
		int32_t layers;		  // maximum number of layers that refine one another
		int32_t streamed;	  // 1: part order that can be written in one pass; one layer
		// (J) bounds of single joints: of their centers, shell points and bone ends; null: the bounds above
		const double* joint_errors; // meters, replace max_error
		const double* joint_angles; // radians, replace max_angle; 0: none
	} mocpack_KeysineTarget;

	// How the encoder gets memory and threads, and reports progress.
	typedef struct mocpack_KeysineWork
	{
		mocpack_Allocator allocator; // called by all workers
		void* user;
		size_t workers; // at least 1
		/* Calls run(context, i, worker) for every i below count and returns when all are done. `worker` is
		 * below `workers`. Calls that run at the same time have different ones. Null: one call after another.
		 */
		void (*parallel_for)(void* user, size_t count, void (*run)(void* context, size_t i, size_t worker),
							 void* context);
		/* Receives the share of the work that is done, 0 to 1. The share may decrease if work must be
		 * repeated. Called by all workers, many times per second. Returns nonzero to stop the encoder. May be
		 * null. */
		int (*progress)(void* user, double share);
		/* Measures a decoded motion of all frames against the source of the file, if that differs from the
		 * clip, for example by scales: the largest error of each frame (T), and the mean error of its joint
		 * centers (T), in meters. Payloads state these errors. Returns nonzero to stop the encoder. Called by
		 * the caller's thread. Null: the errors of the clip. */
		int (*measure)(void* user, const double* rotations, const double* translations, double* largest,
					   double* mean);
	} mocpack_KeysineWork;

	// The result, in memory of the work's allocator. mocpack_keysine_release frees it.
	typedef struct mocpack_KeysineEncoded
	{
		uint8_t* payload;
		size_t payload_size;
		double* rotations;	  // (T, J, 4) decoded from the payload
		double* translations; // (T, M, 3)
		void* memory;
		double work_share; // of the budget of work that is spent; also set if nothing keeps the target
	} mocpack_KeysineEncoded;

	/* Encodes a clip, decodes the payload and measures it against the target.
	 *
	 * Returns MOCPACK_BAD_ARGUMENT if an argument is invalid; MOCPACK_BOUND_NOT_MET if no encoding keeps the
	 * target; MOCPACK_UNSUPPORTED if grid mode is requested and the clip has too many channels for it;
	 * MOCPACK_CORRUPT if the decoder rejects the result; MOCPACK_CANCELED; MOCPACK_NO_MEMORY. `constants`, in
	 * the order of constants.inc, are for tools; null: the default ones. */
	mocpack_Status mocpack_keysine_encode_clip(const mocpack_KeysineClip* clip,
											   const mocpack_KeysineTarget* target,
											   const mocpack_KeysineWork* work, const double* constants,
											   mocpack_KeysineEncoded* encoded);
	void mocpack_keysine_release(const mocpack_KeysineWork* work, mocpack_KeysineEncoded* encoded);

	// Returns the number of values in the table of constants.
	size_t mocpack_keysine_constant_count(void);
	/* Reads row `index` of the table of constants: name, description and default values. Returns the number
	 * of values, 0 past the last row. */
	size_t mocpack_keysine_constant(size_t index, const char** name, const char** text, double* values);

#ifdef __cplusplus
}
#endif
