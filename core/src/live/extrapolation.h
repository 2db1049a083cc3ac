// Where a stream goes on to when a frame is missing: as it went on average over the last few.
//
// The rates of a state are made for few bits, not for looking ahead: corrections within the bound shake them.
// Over more frames that noise matters less, the way the motion bends matters more; the further ahead, the
// more frames are looked back.
#pragma once
#include "live/state.h"

namespace mocpack
{
namespace live
{

const int HISTORY_FRAMES = 16; // frames that are kept

// The last frames that followed one another evenly.
struct PoseHistory
{
	FixedQuat* rotations; // (PAST, units)
	int64_t* values;  // (PAST, numbers)
	int64_t count;	  // frames so far, of which the last PAST are kept
	int64_t number;	  // of the newest
	uint8_t frame_step;	  // of its mode
	bool jumped;		  // whether the first of them was put there: its rates say nothing
};

inline PoseHistory allocate_history(const Model& model, Arena& arena)
{
	PoseHistory history = {};
	history.rotations = arena.allocate<FixedQuat>(HISTORY_FRAMES * model.unit_count);
	history.values = arena.allocate<int64_t>(HISTORY_FRAMES * model.number_count);
	return history;
}

// Adds the frame of a state; what came before a gap, a leap or another frame rate is forgotten.
void append_to_history(const Model& model, const State& s, PoseHistory& history);

/* The state `ahead` frames after the newest, if all goes on as it did; turns and values only. False where no
 * frame is known. */
bool extrapolate(const Model& model, const State& s, const PoseHistory& history, int ahead, State& predicted);

} // namespace live
} // namespace mocpack
