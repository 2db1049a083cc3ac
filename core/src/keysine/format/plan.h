// The plan of a `keysine` clip: the channels of each joint, and how numbers become meters and rotations. It
// is built from integers, so that encoder and decoder build identical tracks.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"
#include "keysine/format/hinges.h"
#include "keysine/format/payload.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

const double SHELL = 0.03;		// meters
const double SPREAD = 0.3;		// exponent of the number of descendants in the weights
const double MEAN_GRID = 0.125; // radians, unit of mean rotations
const int AXES_BITS = 12;		// rotations of axes are multiples of 2^-12 radians
const double ORIGIN_GRID = 1.0; // meters, unit of translation origins
const int32_t STEPS = MOCPACK_KEYSINE_STEPS, UNIT_STEP = MOCPACK_KEYSINE_UNIT_STEP;

// Weights of a joint's origin, shell points and end sites in the cost of errors above hinges. They are chosen
// so that the sum over a limb is about its maximum. TYPICAL_RESIDUAL is the typical sum that remains.
const double ORIGIN_WEIGHT = 0.25, SHELL_WEIGHT = 0.25, END_WEIGHT = 1.0, TYPICAL_RESIDUAL = 1.5;

enum RotationKind
{
	REST_ROTATION = 0,	// identity
	STILL_ROTATION = 1, // constant
	VECTOR_ROTATION = 2,
	QUATERNION_ROTATION = 3,
	HINGE_ROTATION = 4, // about the joint's hinge axes
};

enum TranslationKind
{
	REST_TRANSLATION = 0, // the skeleton's offset
	STILL_TRANSLATION = 1,
	MOVING_TRANSLATION = 2,
	SLIDING_TRANSLATION = 3, // along the joint's hinge axes
};

// Columns of the plan, one row per joint.
enum PlanColumn
{
	ROTATION_KIND,
	TRANSLATION_KIND,
	MEAN,			  // three: mean or constant rotation vector, in grid units; for hinges, angles
	BASIS = MEAN + 3, // three: rotation of the axes
	ROTATION_KEY_STEP = BASIS + 3,
	ORIGIN, // three: origin of a moving translation, or the constant one; positions of a constant slider
	TRANSLATION_KEY_STEP = ORIGIN + 3,
	CLAMPED_HINGES,	  // bit i: the joint is clamped to the limits of its hinge i
	SHARES_REFERENCE, // 1: the rotation is relative to the same joint as the rotation above it
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

// The limits of a hinge's channel, infinite for none, and the size of a full turn, 0 if full turns differ.
struct ChannelLimits
{
	double lowest, highest, turn;

	// Clamps a value to the limits. Keeps full turns, so that values do not jump.
	double clamp(double value) const
	{
		if (value >= lowest && value <= highest)
			return value;
		double turns = turn > 0 ? turn * std::floor((value - 0.5 * lowest - 0.5 * highest) / turn + 0.5) : 0;
		double near = value - turns;
		return turns + (near < lowest ? lowest : near > highest ? highest : near);
	}
};

// A moving translation or rotation: one to four channels.
struct Track
{
	int32_t joint;
	int32_t kind;
	int32_t channels;
	int32_t first_channel;
	int32_t parent; // rotation track of the nearest ancestor that has one; -1 if none, and for translations
	int32_t family; // class for the statistics: 0..9
	int32_t hinge;	// its first hinge in the skeleton, -1 if none
	int32_t reference; // joint that the rotation is relative to: the parent, or that of the track `parent`
	bool shares_reference; // with the track `parent`
	double base[4];		   // mean or rest rotation, or origin
	double axes[9];		   // rotation vector or translation per unit of each channel, by columns
	double angles[2];	   // of a hinge when its channels are zero
	int32_t key_index;	   // index of the key step
	double key_step;
	ChannelLimits limits[MAX_SLIDES]; // of a hinge's channels
	// For a freely moving joint: its hinges, and bits of the hinges whose limits clamp it.
	const JointHinges* own;
	int32_t clamped_hinges;

	// Clamps the value of a hinge's channel to its limits.
	double held(int32_t c, double value) const
	{
		return limits[c].clamp(value);
	}
};

const int32_t FAST_BAND = 3;

// Predicts the coefficients of a channel from a channel of an earlier track, times factor / 16.
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
	double fine;		  // unit of constant rotations and translations
	double* still;		  // (J, 7) constant rotations and translations
	int32_t* descendants; // (J) including the joint itself
	// Joint k is rigidly attached, through joints that do not rotate, to joint carrier[k] (-1 for none), at
	// carried_offset[k] in its frame. carried_rotation[k] is the constant rotation from the joint that
	// rotates above it, whether attached or not.
	int32_t* carrier;		  // (J)
	double* carried_offset;	  // (J, 3)
	double* carried_rotation; // (J, 4)
	double* inertia;		  // (J, 9)
	double* inverse_root;	  // (J, 9) inverse square root of the inertia, of joints with rotation vectors
	double* shift_cost;		  // (J) squared displacement of points per that of the joint, if there are hinges
							  // hinges
	JointHinges* hinges;	  // (J)
	Track* tracks;
	size_t track_count;
	size_t channel_count;
	bool shares_references; // of any track
};

// How a clip is divided into groups with a key pose at both ends: evenly, after an optional separate first
// frame (lead 1). In a streamed payload all groups have `group_frames` frames, except that the last may be
// shorter.
struct Grouping
{
	size_t frames, groups, lead;
	size_t group_frames = 0; // 0: evenly

	// Returns the frame of key g, the first frame of group g, rounded half up.
	size_t key_frame(size_t g) const
	{
		if (g < lead || !groups)
			return 0;
		if (group_frames)
			return g < groups ? g * group_frames : frames - 1;
		// 64 bits, even if size_t has 32
		uint64_t intervals = frames - 1 - lead, even = groups - lead;
		return lead + size_t((2 * uint64_t(g - lead) * intervals + even) / (2 * even));
	}

	size_t length(size_t g) const
	{
		return key_frame(g + 1) - key_frame(g);
	}

	size_t longest_group() const
	{
		if (group_frames && groups)
			return group_frames < frames ? group_frames : frames - 1;
		return groups > lead ? (frames - 1 - lead + groups - lead - 1) / (groups - lead) : 0;
	}

	// Returns whether there are enough frames for the groups.
	bool valid() const
	{
		if (frames == 1)
			return !groups && !lead;
		if (group_frames)
			return !lead && groups == (frames - 1 + group_frames - 1) / group_frames;
		return lead <= 1 && groups > lead && groups < frames && frames > 1 + lead;
	}
};

// Returns the first frame of block b in a group of `length` frames and 2^splits blocks.
inline size_t block_frame(size_t length, int splits, size_t b)
{
	return (2 * b * length + (size_t(1) << splits)) >> (splits + 1);
}

inline double step_of(double unit, int32_t index)
{
	// unit * 2^((8 - index) / 2), without pow, so that every machine agrees
	double step = unit * 16.0;
	for (int32_t i = 0; i + 1 < index; i += 2)
		step *= 0.5;
	return index & 1 ? step * 0.70710678118654752440 : step;
}

inline double key_step_of(double unit, int32_t index)
{
	return MOCPACK_KEYSINE_KEY_STEP * step_of(unit, index);
}

// Returns whether a number is in its range; otherwise fills `fault`, which may be null.
inline bool check_range(mocpack_Fault* fault, const char* part, int64_t index, const char* field,
						double value, double low, double high)
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

// Returns the local rotation of a track that shares its reference, given its own rotation and that of the
// track above, relative to the reference.
Quat local_rotation(const Plan& plan, const Track& track, Quat above, Quat turn);

// Returns the bytes of a plan's arrays.
size_t plan_size(size_t joints);

// Fills `plan` from its table, skeleton, unit and fine grid; memory has plan_size(J) bytes. Returns false if
// a number of the table is out of range, and fills `fault`, which may be null. `like` is the plan of another
// clip of the same skeleton, or null: equal inertia and its inverse roots are copied from it.
bool build_plan(Plan* plan, uint8_t* memory, mocpack_Fault* fault, const Plan* like = nullptr);

} // namespace keysine
} // namespace mocpack
