// The pose that both ends of a stream hold, and how a row of whole numbers takes it to the next.
#pragma once
#include "live/fixed_turn.h"
#include "live/model.h"

namespace mocpack
{
namespace live
{

// How a stream is coded from an intra frame to the next.
struct Mode
{
	uint32_t bound = 0; // micrometres
	uint8_t every = 1;	// frames of the source that one step of this stream is
	uint8_t twist = 1;	// whether twist is coded that moves nothing but the skin
};

const int LARGEST_INDEX = 3;		  // where an intra turn says which of its numbers is left out
const int RATE_PARTS = 4;			  // of a step, that rates of an intra frame are told in
const int64_t FASTEST_TURN = ONE / 2; // a frame
const int64_t LARGEST = int64_t(1) << 40;
const int MOST_REFINED = 6;

struct State
{
	Mode mode;
	int64_t number = -1; // of the frame
	FixedQuat* turns;	 // (units) world rotations of free turns
	int64_t* values;	 // (numbers) of places and hinges
	int64_t* rates;		 // (numbers) change a frame that is expected to go on
	int64_t* steps;		 // (numbers) of the mode
	uint8_t* age;		 // (units) frames since its last news, at most 15
	uint8_t* history;	 // (units) bits: whether it had news in the last frames, latest lowest
	int8_t* signs;		 // (numbers) of the last news
};

inline State place_state(const Model& model, Arena& arena)
{
	State s;
	s.turns = arena.take<FixedQuat>(model.unit_count);
	s.values = arena.take<int64_t>(model.number_count);
	s.rates = arena.take<int64_t>(model.number_count);
	s.steps = arena.take<int64_t>(model.number_count);
	s.age = arena.take<uint8_t>(model.unit_count);
	s.history = arena.take<uint8_t>(model.unit_count);
	s.signs = arena.take<int8_t>(model.number_count);
	return s;
}

// Nothing moves, nothing is turned.
void clear_state(const Model& model, State& s);

// What one frame says: for each number how far from its prediction, in steps; of an intra frame the numbers
// themselves, and rates.
struct Row
{
	bool intra;
	int refined;	  // steps are 2^refined finer
	int32_t* news;	  // (numbers)
	int32_t* rates;	  // (numbers) of intra frames
	uint8_t* largest; // (units) of intra frames: which number of a turn is left out
};

inline Row place_row(const Model& model, Arena& arena)
{
	Row row = {};
	row.news = arena.take<int32_t>(model.number_count);
	row.rates = arena.take<int32_t>(model.number_count);
	row.largest = arena.take<uint8_t>(model.unit_count);
	return row;
}

inline int64_t clamped(int64_t value, int64_t most)
{
	return value > most ? most : value < -most ? -most : value;
}

inline int64_t step_of(const State& s, size_t number, int refined)
{
	int64_t step = s.steps[number] >> refined;
	return step ? step : 1;
}

// Of an intra frame: all numbers of a turn have the step of its finest.
inline int64_t intra_step(const Unit& unit, const State& s, int refined)
{
	int64_t least = step_of(s, size_t(unit.first), refined);
	for (int k = 1; k < unit.count; ++k)
	{
		int64_t step = step_of(s, size_t(unit.first + k), refined);
		least = step < least ? step : least;
	}
	return least;
}

// Where a free turn goes on to if nothing is said.
inline FixedQuat predicted_turn(const State& s, const Unit& unit, size_t u)
{
	const int64_t* r = s.rates + unit.first;
	return live::unit(multiply(s.turns[u], with_vector(r[0], r[1], r[2])));
}

// The vector part that three numbers along a unit's axes come to.
inline void along_axes(const Unit& unit, const int64_t (&numbers)[3], int64_t (&vector)[3])
{
	for (int c = 0; c < 3; ++c)
		vector[c] =
			(numbers[0] * unit.basis[0][c] + numbers[1] * unit.basis[1][c] + numbers[2] * unit.basis[2][c]) >>
			BASIS_BITS;
}

// A free turn `news` steps from its prediction.
inline FixedQuat corrected_turn(const State& s, const Unit& unit, FixedQuat predicted, const int32_t* news,
								int refined, int64_t (&vector)[3])
{
	int64_t numbers[3];
	for (int k = 0; k < 3; ++k)
		numbers[k] = clamped(news[k] * step_of(s, size_t(unit.first + k), refined), ONE);
	along_axes(unit, numbers, vector);
	return live::unit(multiply(predicted, with_vector(vector[0], vector[1], vector[2])));
}

// A turn told by three numbers of its quaternion against its anchor; the one left out is the largest.
FixedQuat told_turn(const State& s, const Unit& unit, const int32_t* numbers, int largest, int refined);

// Takes the state on by a row. What a row that was not made by an encoder holds does no harm.
void advance(const Model& model, State& s, const Row& row);

// The pose: local rotations (J, 4), translations (M, 3). `worlds` (bodies) is room to work in.
void pose_of(const Model& model, const State& s, Quat* worlds, double* rotations, double* translations);

// CRC-32 of the whole numbers.
uint32_t checksum_of(const Model& model, const State& s);

// Turn of a hinged body against its parent at these angles.
Quat hinge_turn(const Body& body, const Unit& unit, const int64_t* values);

// Translation at these ways.
Vec3 place_of(const Unit& unit, const int64_t* values);

} // namespace live
} // namespace mocpack
