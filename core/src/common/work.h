// How long calls get memory and threads, and report progress.
#pragma once
#include <cstddef>

#include "mocpack/mocpack.h"

// A callback asked the call to stop.
#define MOCPACK_CANCELED ((mocpack_Status) - 10)

namespace mocpack
{

struct WorkContext
{
	mocpack_Allocator allocator; // called by all workers
	void* user;
	size_t workers; // at least 1
	// Calls run(context, i, worker) for every i below count and returns when all are done. `worker` is below
	// `workers`. Calls that run at the same time have different ones. Null: one call after another.
	void (*parallel_for)(void* user, size_t count, void (*run)(void* context, size_t i, size_t worker),
						 void* context);
	// Receives the share of the work that is done, 0 to 1. The share may decrease if work must be repeated.
	// Called by all workers, many times per second. Returns nonzero to stop the call. May be null.
	int (*progress)(void* user, double share);
	// Encoders only: measures a decoded motion of all frames against the source of the file, if that differs
	// from the clip, for example by scales: the largest error of each frame (T), and the mean error of its
	// joint centers (T), in meters. Payloads state these errors. Returns nonzero to stop the encoder. Called
	// by the caller's thread. Null: the errors of the clip.
	int (*measure)(void* user, const double* rotations, const double* translations, double* largest,
				   double* mean);
};

} // namespace mocpack
