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

const int PAST = 16; // frames that are kept

// The last frames that followed one another evenly.
struct Past
{
	FixedQuat* turns; // (PAST, units)
	int64_t* values;  // (PAST, numbers)
	int64_t count;	  // frames so far, of which the last PAST are kept
	int64_t number;	  // of the newest
	uint8_t every;	  // of its mode
	bool leapt;		  // whether the first of them was put there: its rates say nothing
};

inline Past place_past(const Model& model, Arena& arena)
{
	Past past = {};
	past.turns = arena.take<FixedQuat>(PAST * model.unit_count);
	past.values = arena.take<int64_t>(PAST * model.number_count);
	return past;
}

// Adds the frame of a state; what came before a gap, a leap or another frame rate is forgotten.
void keep_past(const Model& model, const State& s, Past& past);

/* The state `ahead` frames after the newest, if all goes on as it did; turns and values only. False where no
 * frame is known. */
bool guess_ahead(const Model& model, const State& s, const Past& past, int ahead, State& guess);

} // namespace live
} // namespace mocpack
