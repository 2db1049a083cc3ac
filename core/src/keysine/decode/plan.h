// What a `keysine` header says, and the tracks that follow from it: which channels each joint has, and how
// numbers become metres and rotations. Integers in, so that encoder and decoder build the very same tracks.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "keysine/decode/hinges.h"

namespace mocpack
{
namespace keysine
{

const double SHELL = 0.03;		// metres
const double SPREAD = 0.3;		// exponent of descendants in the weights
const double MEAN_GRID = 0.125; // radians, of a joint's mean rotation
const int AXES_BITS = 12;		// turns of axes are multiples of 2^-12 radians
const double ORIGIN_GRID = 1.0; // metres, of a translation's origin
const int32_t STEPS = MOCPACK_KEYSINE_STEPS, UNIT_STEP = MOCPACK_KEYSINE_UNIT_STEP;

// Weights of a joint's origin, of each of its shell points, which stand for one turn, and of its bone ends,
// in what errors above hinges cost: chosen so that the sum over a limb is about its largest. And what may be
// left.
const double ORIGIN_WEIGHT = 0.25, SHELL_WEIGHT = 0.25, END_WEIGHT = 1.0, TYPICAL_RESIDUAL = 1.5;

enum RotationKind
{
	REST_ROTATION = 0,	// none: the identity
	STILL_ROTATION = 1, // the same in all frames
	VECTOR_ROTATION = 2,
	QUATERNION_ROTATION = 3,
	HINGE_ROTATION = 4, // about the axes that the skeleton has for the joint
};

enum TranslationKind
{
	REST_TRANSLATION = 0, // the skeleton's offset
	STILL_TRANSLATION = 1,
	MOVING_TRANSLATION = 2,
	SLIDING_TRANSLATION = 3, // along the axes that the skeleton has for the joint
};

// Columns of the plan, one row for each joint.
enum PlanColumn
{
	ROTATION_KIND,
	TRANSLATION_KIND,
	MEAN, // three: mean or still rotation as a rotation vector, in grid units; of hinges, such angles
	BASIS = MEAN + 3, // three: turn of the axes
	ROTATION_KEY_STEP = BASIS + 3,
	ORIGIN, // three: origin of a moving translation, or the still one; the ways of a still slider
	TRANSLATION_KEY_STEP = ORIGIN + 3,
	CLAMPED_HINGES, // bit i: the joint's hinge i, slides before turns, is held within its limits
	PLAN_COLUMNS,
};
static_assert(int(PLAN_COLUMNS) == MOCPACK_KEYSINE_PLAN_COLUMNS, "columns of the plan");

enum TrackKind
{
	POSITION_TRACK,
	QUATERNION_TRACK,
	VECTOR_TRACK,
	HINGE_TRACK,
};

// The limits of a hinge's channel, infinite where there are none, and how much of it is a full turn, 0 if
// full turns are not the same.
struct ChannelLimits
{
	double lowest, highest, turn;

	// The value, or the limit that it is past. Full turns stay, so that values do not jump.
	double clamp(double value) const
	{
		if (value >= lowest && value <= highest)
			return value;
		double turns = turn > 0 ? turn * std::floor((value - 0.5 * lowest - 0.5 * highest) / turn + 0.5) : 0;
		double near = value - turns;
		return turns + (near < lowest ? lowest : near > highest ? highest : near);
	}
};

// A translation or a rotation that moves: one to four channels.
struct Track
{
	int32_t joint;
	int32_t kind;
	int32_t channels;
	int32_t first_channel;
	int32_t parent;	   // the nearest ancestor's track of the same kind of thing, -1 if none
	int32_t family;	   // what it is, for the models: 0..9
	int32_t hinge;	   // the first of the skeleton's that it moves, -1 if none
	double base[4];	   // mean or rest rotation, or origin
	double axes[9];	   // rotation vector (or translation) of a unit of each channel, column by column
	double angles[2];  // of a hinge, where its channels are zero
	int32_t key_index; // of the keys' step
	double key_step;
	ChannelLimits limits[MAX_SLIDES]; // of a hinge's channels
	// Of a joint that moves freely: its hinges, and which of those that it slides along, or turns about, hold
	// it within their limits all the same, a bit for each.
	const JointHinges* own;
	int32_t clamped_hinges;

	// The value of a hinge's channel, held within its limits.
	double held(int32_t c, double value) const
	{
		return limits[c].clamp(value);
	}
};

const int32_t FAST_BAND = 3;

// Foretells the coefficients of a channel from those of another, of an earlier track: so many sixteenths.
struct Predictor
{
	int32_t channel, source;
	int32_t band; // 0: all frequencies; 1: slow ones; 2: the others; FAST_BAND: fast ones
	int32_t factor;
};

struct Plan
{
	const mocpack_Skeleton* skeleton;
	const int32_t* table; // (J, PLAN_COLUMNS)
	double unit;
	double fine;		  // grid of still rotations and translations
	double* still;		  // (J, 7) rotation and translation of what does not move
	int32_t* descendants; // (J) itself included
	// What a rotation carries along rigidly: joint k hangs, through joints that do not turn, at
	// carried_offset[k], turned by carried_rotation[k], in the frame of joint carrier[k]; -1 if at none.
	int32_t* carrier;		  // (J)
	double* carried_offset;	  // (J, 3)
	double* carried_rotation; // (J, 4)
	double* inertia;		  // (J, 9)
	double* shift_cost;		  // (J) square metres, of a metre that a joint shifts, where there are hinges
	JointHinges* hinges;	  // (J)
	Track* tracks;
	size_t track_count;
	size_t channel_count;
};

// How a clip is cut into groups with a key at either end: evenly, after a first frame that stands apart (lead
// is 1) or not (0).
struct Grouping
{
	size_t frames, groups, lead;

	// The frame of key g, which is the first of group g: rounded half up.
	size_t key_frame(size_t g) const
	{
		if (g < lead || !groups)
			return 0;
		// in 64 bits, also where size_t has 32
		uint64_t intervals = frames - 1 - lead, even = groups - lead;
		return lead + size_t((2 * uint64_t(g - lead) * intervals + even) / (2 * even));
	}

	size_t length(size_t g) const
	{
		return key_frame(g + 1) - key_frame(g);
	}

	size_t longest_group() const
	{
		return groups > lead ? (frames - 1 - lead + groups - lead - 1) / (groups - lead) : 0;
	}

	// Whether there are as many frames as groups need.
	bool valid() const
	{
		if (frames == 1)
			return !groups && !lead;
		return lead <= 1 && groups > lead && groups < frames && frames > 1 + lead;
	}
};

// The first frame of block b of the 2^splits of a group of so many frames; that of the next group, after the
// last.
inline size_t block_frame(size_t length, int splits, size_t b)
{
	return (2 * b * length + (size_t(1) << splits)) >> (splits + 1);
}

inline double step_of(double unit, int32_t index)
{
	// unit * 2^((8 - index) / 2), from a table so that every machine agrees
	double step = unit * 16.0;
	for (int32_t i = 0; i + 1 < index; i += 2)
		step *= 0.5;
	return index & 1 ? step * 0.70710678118654752440 : step;
}

inline double key_step_of(double unit, int32_t index)
{
	return MOCPACK_KEYSINE_KEY_STEP * step_of(unit, index);
}

// Whether a number is in its range; where it is not, `fault`, which may be null, says so.
inline bool check_range(mocpack_Fault* fault, const char* part, int64_t index, const char* field, double value,
				   double low, double high)
{
	if (value >= low && value <= high)
		return true;
	if (fault)
		*fault = {part, index, field, value, low, high};
	return false;
}

inline bool check_range(mocpack_Fault* fault, const char* field, double value, double low, double high)
{
	return check_range(fault, nullptr, 0, field, value, low, high);
}

// Room for the arrays of a plan of so many joints, in bytes.
size_t plan_size(size_t joints);

// Fills `plan` from its table, skeleton, unit and fine grid; memory holds plan_size(J) bytes.
// False where a number of the table is out of range; `fault`, which may be null, says which.
bool build_plan(Plan* plan, void* memory, mocpack_Fault* fault);

} // namespace keysine
} // namespace mocpack
