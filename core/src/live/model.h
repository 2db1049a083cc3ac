// Model of a live stream, known to both ends before the first frame: its skeleton as bodies, units and
// levers.
//
// A body is a joint that moves by itself, with all joints rigidly attached to it. Units of one to three
// integers move it: a translation, a free rotation, or hinge angles. docs/live-packets.md explains the terms.
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
const double SKIN_DISTANCE_M = 0.03;   // assumed distance of the skin from a joint
const int64_t ONE = 1 << 30;		   // fixed-point one of quaternions
const double LENGTH_SCALE = 1048576.0; // units per meter
const double ANGLE_SCALE = 67108864.0; // units per radian
const int BASIS_BITS = 14;
const int MAX_NUMBERS = 3; // of a unit
const uint32_t MAX_BOUND_UM = 1000000;

enum UnitKind : uint8_t
{
	TRANSLATION, // coordinates along axes
	ROTATION,	 // a free rotation, in world space
	HINGE,		 // angles about one or two axes, relative to the parent
};

struct Unit
{
	UnitKind kind;
	uint8_t count;			 // numbers
	uint8_t skin_only_twist; // of a rotation: whether its twist moves only the skin
	int32_t body;
	int32_t first;	// index of its first number
	int32_t column; // of a translation: its index
	int32_t anchor; // of a rotation: the free rotation above, to which keyframes are relative; -1
	int32_t above;	// the next unit above, whose residuals make its own likelier; -1
	Vec3 base;		// of a translation: origin of its coordinates
	Vec3 axes[MAX_NUMBERS];
	double levers[MAX_NUMBERS];				 // meters that points move per radian or meter of each number
	int32_t basis[MAX_NUMBERS][MAX_NUMBERS]; // of a rotation: its axes in units of 2^-14
};

// A point for which the error bound holds.
struct Point
{
	Vec3 at;			  // in the body's frame
	Vec3 own;			  // in the frame of `joint`
	int32_t joint;		  // the joint that it moves with
	uint8_t skin;		  // whether it is a skin point
	uint8_t carries_body; // whether another body starts there, which inherits its error
};

struct Body
{
	int32_t joint, parent;		   // parent -1: the world
	Vec3 at;					   // in the parent body's frame, unless it has a translation
	Quat rest;					   // rest rotation of its hinges
	int32_t translation, rotation; // unit indices; -1 for none
	int32_t first_point, point_count;
	Vec3 axis;			 // from the joint to its furthest point
	double far_distance; // distance of that point; 0 if there is none
};

struct Model
{
	uint32_t hello_checksum; // CRC-32 of the hello
	uint32_t bound;			 // micrometers
	double frame_time;
	int32_t velocity_gain, velocity_decay; // in 1/65536
	size_t joint_count, translated_count, body_count, unit_count, number_count, point_count;
	size_t point_room;	  // points of the largest body, at most
	int32_t* parents;	  // (J)
	int32_t* body_of;	  // (J) the body it belongs to
	uint8_t* starts_body; // (J) whether a body starts at the joint
	double* offsets;	  // (J, 3)
	int32_t* columns;	  // (J) index of its translation; -1
	Body* bodies;
	Unit* units;
	Point* points;
};

// Computes the quantizer steps of all numbers, in their fixed point.
void compute_steps(const Model& model, uint32_t bound, int refinement, int64_t* steps);

// Parses a hello into `model`, with memory from `arena`; an arena without memory only counts bytes. Returns
// MOCPACK_CORRUPT and the fault if the hello is invalid.
mocpack_Status read_model(const uint8_t* hello, size_t size, Arena& arena, Model* model,
						  mocpack_Fault* fault);

} // namespace live
} // namespace mocpack
