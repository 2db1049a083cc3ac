// The pose that both ends of a stream hold, and how a row of whole numbers takes it to the next.
#pragma once
#include "live/fixed_quaternion.h"
#include "live/model.h"

namespace mocpack
{
namespace live
{

// How a stream is coded from an intra frame to the next.
struct Mode
{
	uint32_t bound = 0; // micrometres
	uint8_t frame_step = 1;	// frames of the source that one step of this stream is
	uint8_t twist = 1;	// whether twist is coded that moves nothing but the skin
};

const int W_INDEX = 3;		  // where an intra turn says which of its numbers is left out
const int VELOCITY_STEP_PARTS = 4;			  // of a step, that rates of an intra frame are told in
const int64_t MAX_ANGULAR_VELOCITY = ONE / 2; // a frame
const int64_t MAX_VALUE = int64_t(1) << 40;
const int MAX_REFINEMENT = 6;

struct State
{
	Mode mode;
	int64_t number = -1; // of the frame
	FixedQuat* rotations;	 // (units) world rotations of free turns
	int64_t* values;	 // (numbers) of places and hinges
	int64_t* velocities;		 // (numbers) change a frame that is expected to go on
	int64_t* steps;		 // (numbers) of the mode
	uint8_t* age;		 // (units) frames since its last news, at most 15
	uint8_t* history;	 // (units) bits: whether it had news in the last frames, latest lowest
	int8_t* signs;		 // (numbers) of the last news
};

inline State allocate_state(const Model& model, Arena& arena)
{
	State s;
	s.rotations = arena.allocate<FixedQuat>(model.unit_count);
	s.values = arena.allocate<int64_t>(model.number_count);
	s.velocities = arena.allocate<int64_t>(model.number_count);
	s.steps = arena.allocate<int64_t>(model.number_count);
	s.age = arena.allocate<uint8_t>(model.unit_count);
	s.history = arena.allocate<uint8_t>(model.unit_count);
	s.signs = arena.allocate<int8_t>(model.number_count);
	return s;
}

// Nothing moves, nothing is turned.
void reset_state(const Model& model, State& s);

// What one frame says: for each number how far from its prediction, in steps; of an intra frame the numbers
// themselves, and rates.
struct Row
{
	bool keyframe;
	int refinement;	  // steps are 2^refined finer
	int32_t* residuals;	  // (numbers)
	int32_t* velocities;	  // (numbers) of intra frames
	uint8_t* largest; // (units) of intra frames: which number of a turn is left out
};

inline Row allocate_row(const Model& model, Arena& arena)
{
	Row row = {};
	row.residuals = arena.allocate<int32_t>(model.number_count);
	row.velocities = arena.allocate<int32_t>(model.number_count);
	row.largest = arena.allocate<uint8_t>(model.unit_count);
	return row;
}

inline int64_t clamp(int64_t value, int64_t most)
{
	return value > most ? most : value < -most ? -most : value;
}

inline int64_t get_step(const State& s, size_t number, int refinement)
{
	int64_t step = s.steps[number] >> refinement;
	return step ? step : 1;
}

// Of an intra frame: all numbers of a turn have the step of its finest.
inline int64_t keyframe_step(const Unit& unit, const State& s, int refinement)
{
	int64_t least = get_step(s, size_t(unit.first), refinement);
	for (int k = 1; k < unit.count; ++k)
	{
		int64_t step = get_step(s, size_t(unit.first + k), refinement);
		least = step < least ? step : least;
	}
	return least;
}

// Where a free turn goes on to if nothing is said.
inline FixedQuat predict_rotation(const State& s, const Unit& unit, size_t u)
{
	const int64_t* r = s.velocities + unit.first;
	return live::normalize(multiply(s.rotations[u], from_vector_part(r[0], r[1], r[2])));
}

// The vector part that three numbers along a unit's axes come to.
inline void combine_axes(const Unit& unit, const int64_t (&numbers)[3], int64_t (&vector)[3])
{
	for (int c = 0; c < 3; ++c)
		vector[c] =
			(numbers[0] * unit.basis[0][c] + numbers[1] * unit.basis[1][c] + numbers[2] * unit.basis[2][c]) >>
			BASIS_BITS;
}

// A free turn `residuals` steps from its prediction.
inline FixedQuat correct_rotation(const State& s, const Unit& unit, FixedQuat predicted, const int32_t* residuals,
								int refinement, int64_t (&vector)[3])
{
	int64_t numbers[3];
	for (int k = 0; k < 3; ++k)
		numbers[k] = clamp(residuals[k] * get_step(s, size_t(unit.first + k), refinement), ONE);
	combine_axes(unit, numbers, vector);
	return live::normalize(multiply(predicted, from_vector_part(vector[0], vector[1], vector[2])));
}

// A turn told by three numbers of its quaternion against its anchor; the one left out is the largest.
FixedQuat decode_rotation(const State& s, const Unit& unit, const int32_t* numbers, int largest, int refinement);

// Takes the state on by a row. What a row that was not made by an encoder holds does no harm.
void advance(const Model& model, State& s, const Row& row);

// The pose: local rotations (J, 4), translations (M, 3). `world_rotations` (bodies) is room to work in.
void compute_pose(const Model& model, const State& s, Quat* world_rotations, double* rotations, double* translations);

// CRC-32 of the whole numbers.
uint32_t compute_checksum(const Model& model, const State& s);

// Turn of a hinged body against its parent at these angles.
Quat compute_hinge_rotation(const Body& body, const Unit& unit, const int64_t* values);

// Translation at these ways.
Vec3 compute_translation(const Unit& unit, const int64_t* values);

} // namespace live
} // namespace mocpack
