// The pose that both ends of a stream hold, and how a row of integers advances it.
#pragma once
#include "live/fixed_quaternion.h"
#include "live/model.h"

namespace mocpack
{
namespace live
{

// Coding mode from one keyframe to the next.
struct Mode
{
	uint32_t bound = 0;		// micrometers
	uint8_t frame_step = 1; // source frames per sent frame
	uint8_t twist = 1;		// whether twist that moves only the skin is sent
};

const int W_INDEX = 3;						  // of a quaternion (x, y, z, w)
const int VELOCITY_STEP_PARTS = 4;			  // keyframes store velocities in quarters of a step
const int64_t MAX_ANGULAR_VELOCITY = ONE / 2; // a frame
const int64_t MAX_VALUE = int64_t(1) << 40;
const int MAX_REFINEMENT = 6;

struct State
{
	Mode mode;
	int64_t number = -1;  // frame number
	FixedQuat* rotations; // (units) world rotations of rotation units
	int64_t* values;	  // (numbers) of translation and hinge units
	int64_t* velocities;  // (numbers) predicted change per frame
	int64_t* steps;		  // (numbers) quantizer steps of the mode
	uint8_t* age;		  // (units) frames since the last residual, at most 15
	uint8_t* history;	  // (units) bits: which of the last frames had a residual, newest lowest
	int8_t* signs;		  // (numbers) sign of the last residual
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

// Resets the state to the identity pose at rest.
void reset_state(const Model& model, State& s);

// The integers of one frame: residuals in steps from the prediction. A keyframe has values and velocities
// instead.
struct Row
{
	bool keyframe;
	int refinement;		 // steps are 2^refined finer
	int32_t* residuals;	 // (numbers)
	int32_t* velocities; // (numbers) of keyframes
	uint8_t* largest;	 // (units) of keyframes: the omitted number of a rotation
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

// Returns the step of a unit in a keyframe: the smallest of its numbers.
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

// Returns the rotation of the next frame if there is no residual.
inline FixedQuat predict_rotation(const State& s, const Unit& unit, size_t u)
{
	const int64_t* r = s.velocities + unit.first;
	return live::normalize(multiply(s.rotations[u], from_vector_part(r[0], r[1], r[2])));
}

// Converts three numbers along a unit's axes to a vector part.
inline void combine_axes(const Unit& unit, const int64_t (&numbers)[3], int64_t (&vector)[3])
{
	for (int c = 0; c < 3; ++c)
		vector[c] =
			(numbers[0] * unit.basis[0][c] + numbers[1] * unit.basis[1][c] + numbers[2] * unit.basis[2][c]) >>
			BASIS_BITS;
}

// Returns the predicted rotation corrected by `residuals` steps.
inline FixedQuat correct_rotation(const State& s, const Unit& unit, FixedQuat predicted,
								  const int32_t* residuals, int refinement, int64_t (&vector)[3])
{
	int64_t numbers[3];
	for (int k = 0; k < 3; ++k)
		numbers[k] = clamp(residuals[k] * get_step(s, size_t(unit.first + k), refinement), ONE);
	combine_axes(unit, numbers, vector);
	return live::normalize(multiply(predicted, from_vector_part(vector[0], vector[1], vector[2])));
}

// Decodes a rotation of a keyframe: three numbers of its quaternion relative to its anchor; the largest is
// omitted.
FixedQuat decode_rotation(const State& s, const Unit& unit, const int32_t* numbers, int largest,
						  int refinement);

// Advances the state by a row. Rows that no encoder made are safe.
void advance(const Model& model, State& s, const Row& row);

// Writes the pose: local rotations (J, 4) and translations (M, 3). `world_rotations` (bodies) is working
// memory.
void compute_pose(const Model& model, const State& s, Quat* world_rotations, double* rotations,
				  double* translations);

// Returns the CRC-32 of the integer state.
uint32_t compute_checksum(const Model& model, const State& s);

// Returns the rotation of a hinged body relative to its parent at these angles.
Quat compute_hinge_rotation(const Body& body, const Unit& unit, const int64_t* values);

// Returns the translation at these coordinates.
Vec3 compute_translation(const Unit& unit, const int64_t* values);

} // namespace live
} // namespace mocpack
