// The keysine encoder in one call: from a clip's arrays and a target to the bytes of a payload.
#pragma once
#include "common/buffer.h"
#include "common/skeleton.h"
#include "common/work.h"
#include "keysine/encode/constants.h"

enum mocpack_KeysineEffort
{
	MOCPACK_KEYSINE_FAST,
	MOCPACK_KEYSINE_DEFAULT,
	MOCPACK_KEYSINE_BEST,
};

enum mocpack_KeysineMode
{
	MOCPACK_KEYSINE_AUTO,	   // the smaller one
	MOCPACK_KEYSINE_TRANSFORM, // key poses and sine series
	MOCPACK_KEYSINE_GRID,	   // integers on a grid in time; only with max_error
};

namespace mocpack
{
namespace keysine
{

// A clip. Rotations are unit and continuous in time.
struct SourceClip
{
	const mocpack_Skeleton* skeleton;
	const char* const* joint_names; // (J) that identify feet; null: the lowest leaves are feet
	const double* rotations;		// (T, J, 4) local
	const double* translations;		// (T, M, 3) of the translated joints, meters
	size_t frame_count;				// at least 1
	double frame_rate;				// hertz
};

struct ClipTarget
{
	double max_error = 1e-3; // meters
	double mean_error = 0;	 // meters, replaces max_error; 0: none
	double step = 0;		 // quantizer step in meters, replaces both bounds; 0: none
	double max_angle = 0;	 // radians, in addition to max_error; 0: none
	int32_t effort = MOCPACK_KEYSINE_DEFAULT;
	int32_t mode = MOCPACK_KEYSINE_AUTO;
	double group_seconds = 1; // maximum distance between seek points
	double block_seconds = 0; // distance between key poses; 0: chosen for each group
	int32_t layers = 1;		  // maximum number of layers that refine one another
	int32_t streamed = 0;	  // 1: part order that can be written in one pass; one layer
	// (J) bounds of single joints: of their centers, shell points and bone ends; null: the bounds above
	const double* joint_errors = nullptr; // meters, replace max_error
	const double* joint_angles = nullptr; // radians, replace max_angle; 0: none
};

struct EncodedClip
{
	Buffer<uint8_t> payload;
	Buffer<double> rotations, translations; // (T, J, 4) and (T, M, 3) decoded from the payload
	double work_share = 0; // of the budget of work that is spent; also set if nothing keeps the target
};

/* Encodes a clip, decodes the payload and measures it against the target.
 *
 * Returns MOCPACK_BAD_ARGUMENT if an argument is invalid; MOCPACK_BOUND_NOT_MET if no encoding keeps the
 * target; MOCPACK_UNSUPPORTED if grid mode is requested and the clip has too many channels for it;
 * MOCPACK_CORRUPT if the decoder rejects the result; MOCPACK_CANCELED; MOCPACK_NO_MEMORY. */
mocpack_Status encode_clip(const SourceClip& clip, const ClipTarget& target, const WorkContext& work,
						   const Constants& constants, EncodedClip* encoded);

} // namespace keysine
} // namespace mocpack
