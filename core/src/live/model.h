// What both ends of a live stream know before the first frame: its skeleton as bodies, numbers and levers.
//
// A body is a joint that moves by itself, with all that rides on it rigidly. What moves it are units of one
// to three whole numbers: a place, a free turn, or the angles of hinges. docs/live-packets.md has the words.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/arena.h"
#include "common/skeleton.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace live
{

const size_t MAX_JOINTS = 1024;
const size_t MAX_POINTS = 16384;
const double SKIN_DISTANCE_M = 0.03;			   // metres: how far from a joint the skin is taken to be
const int64_t ONE = 1 << 30;		   // of a quaternion's numbers
const double LENGTH_SCALE = 1048576.0; // 2^20 to a metre
const double ANGLE_SCALE = 67108864.0; // 2^26 to a radian
const int BASIS_BITS = 14;
const int MAX_NUMBERS = 3;				 // of a unit, at most
const uint32_t MAX_BOUND_UM = 1000000; // micrometres

enum UnitKind : uint8_t
{
	TRANSLATION, // ways along axes: a translation
	ROTATION,  // a free rotation, in the world
	HINGE, // angles about one axis or two, from the parent
};

struct Unit
{
	UnitKind kind;
	uint8_t count;		// numbers
	uint8_t skin_only_twist; // of a free turn: whether its last number moves nothing but the skin
	int32_t body;
	int32_t first;	// of its numbers, among all
	int32_t column; // of a place: which translation
	int32_t anchor; // of a free turn: the free turn above it, which intra frames count from; -1
	int32_t above;	// the unit next above it, whose news make its own likelier; -1
	Vec3 base;		// of a place: where its ways start
	Vec3 axes[MAX_NUMBERS];
	double levers[MAX_NUMBERS];			 // metres that a radian, or a metre, of each number moves
	int32_t basis[MAX_NUMBERS][MAX_NUMBERS]; // of a free turn: its axes in 2^-14
};

// A point that the bound holds for.
struct Point
{
	Vec3 at;	   // in the body's frame
	Vec3 own;	   // in the frame of `joint`
	int32_t joint; // whose truth it is compared with
	uint8_t skin;  // whether it is one of the shell's, which twist alone may move
	uint8_t carries_body; // whether another body begins there, which is off by as much
};

struct Body
{
	int32_t joint, parent; // -1: the world
	Vec3 at;			   // in the parent body's frame, unless it is placed
	Quat rest;			   // of its hinges
	int32_t place, rotation;   // units; -1 for none
	int32_t first_point, point_count;
	Vec3 axis;	// from the joint to its furthest point
	double far_distance; // and how far that is; 0 where it has none
};

struct Model
{
	uint32_t hello_checksum; // CRC-32 of the hello
	uint32_t bound; // micrometres
	double frame_time;
	int32_t velocity_gain, velocity_decay; // of rates, in 1/65536
	size_t joint_count, translated_count, body_count, unit_count, number_count, point_count;
	size_t point_room; // no body has more
	int32_t* parents;  // (J)
	int32_t* body_of;  // (J) the body that it rides on
	uint8_t* starts_body;	   // (J) whether it is a body
	double* offsets;   // (J, 3)
	int32_t* columns;  // (J) which translation is its own; -1
	Body* bodies;
	Unit* units;
	Point* points;
};

// Steps of all numbers under a bound, in their own fixed point.
void compute_steps(const Model& model, uint32_t bound, int refinement, int64_t* steps);

// Reads a hello. Returns MOCPACK_CORRUPT, with what is wrong, or fills `model` with memory from `arena`;
// over no memory it counts what is needed.
mocpack_Status read_model(const uint8_t* hello, size_t size, Arena& arena, Model* model,
						  mocpack_Fault* fault);

} // namespace live
} // namespace mocpack
