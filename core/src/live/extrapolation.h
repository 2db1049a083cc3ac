// Extrapolates missing frames from the mean velocity of the last frames.
//
// The velocities of the state are tuned for small rows and are noisy, since corrections within the bound
// shake them. A mean over more frames is less noisy but follows curved motion less. The further ahead, the
// more frames it uses.
#pragma once
#include "live/state.h"

namespace mocpack
{
namespace live
{

const int HISTORY_FRAMES = 16;

// The last consecutive frames.
struct PoseHistory
{
	FixedQuat* rotations; // (PAST, units)
	int64_t* values;	  // (PAST, numbers)
	int64_t count;		  // frames so far; the last HISTORY_FRAMES are kept
	int64_t number;		  // of the newest
	uint8_t frame_step;	  // of its mode
	bool jumped;		  // whether the first frame is a jump, which makes its velocities invalid
};

inline PoseHistory allocate_history(const Model& model, Arena& arena)
{
	PoseHistory history = {};
	history.rotations = arena.allocate<FixedQuat>(HISTORY_FRAMES * model.unit_count);
	history.values = arena.allocate<int64_t>(HISTORY_FRAMES * model.number_count);
	return history;
}

// Appends the frame of a state. A gap, a jump or a new frame step clears the frames before it.
void append_to_history(const Model& model, const State& s, PoseHistory& history);

/* Extrapolates rotations and values `ahead` frames after the newest. Returns false if no frame is known. */
bool extrapolate(const Model& model, const State& s, const PoseHistory& history, int ahead, State& predicted);

} // namespace live
} // namespace mocpack
