// What keys and groups are encoded from.
#pragma once
#include "common/skeleton.h"
#include "keysine/encode/constants.h"
#include "keysine/format/payload.h"

namespace mocpack
{
namespace keysine
{

/* Settings of a keysine search: allowances, prices of bits and errors, and effort. u is a point's squared
 * displacement divided by its squared allowance. Penalties are in bits. */
struct SearchSettings
{
	double bound; // allowance of every point, meters
	// allowance of joint origins: min(max_origin_share, origin_share * n^-falloff) of the bound, where n
	// is the number of descendants, including the joint
	double origin_share, max_origin_share, origin_falloff;
	double shell_factor; // factor on the allowance of shell points
	double key_share;	 // share of its allowance that a key may use to come nearer to its prediction
	double key_price;	 // weight of a key's error, per frame between keys; only without a bound
	/* Hinges cannot compensate every error of their ancestors. This is the sum of u of a limb that may
	 * remain after its hinges compensate as much as they can. */
	double room;
	/* Prices of rotating a joint away from the source's own rotation to compensate errors of its
	 * ancestors. A squared radian costs turn_price times the squared shell radius. Near hinges, a
	 * rotation by max_angle costs another angle_price squared allowances. */
	double turn_price, angle_price;
	double max_angle; // bound on the error of local rotations, radians; 0: none
	/* Bound on the error of rotations in the world, radians; 0: none. If it is at most half of max_angle,
	 * descendants can always rotate back within their own max_angle. */
	double world_angle;
	float excess_penalty;				// per unit of u above 1; 0: nothing is bounded
	float quartic_penalty;				// per unit of u²
	float squared_penalty;				// per unit of u
	float rounding;						// added before truncation
	float jitter_penalty;				// per squared step of energy that the source does not have
	float jitter_from;					// share of the highest frequency above which such energy is jitter
	int32_t sweeps;						// rounds of repair and descent; 0: rounding and repair only
	int32_t repairs;					// maximum changes of one repair
	int32_t coarsest_step, finest_step; // range of step indices to try
	int32_t greedy;						// nonzero: stop at the first step that is worse than the one before
	/* The search of a group first tries 2^splits blocks. It then tries up to split_tries more halvings,
	 * or as many fewer, while the group becomes smaller. It then halves or doubles quartic_penalty up to
	 * weight_tries times, while the group becomes smaller. exhaustive: it tries all these numbers of
	 * halvings, even after one that is larger. */
	int32_t splits, split_tries, weight_tries, exhaustive;
	double split_cost; // share of a group's cost that is added per halving of its blocks
	int32_t thorough;  // longest search: all block lengths and variants; in grid mode, better prediction
	// grid mode
	int32_t beam_width;		   // encodings of a frame that the beam search keeps, at least 1
	double grid_error_penalty; // for an error as large as the allowance
};

// Limits of single joints, (J) each.
struct JointLimits
{
	const double* shares;		  // of the allowances of a joint's points
	const double* track_shares;	  // the smallest share of a joint and its descendants
	const int32_t* coarser_steps; // step indices by which its tracks are coarser than usual
	const double* max_angles;	  // radians, in place of the settings' max_angle
	const double* angle_prices;	  // squared allowances per squared radian, added to the settings'
};

// A sequence of frames, and the angles (T, H) of its hinges: radians or meters, without jumps.
struct Motion
{
	const double *rotations, *translations, *angles;
	size_t frames;
};

class EncodeTask;

// A motion to encode. Arrays must outlive the encoder.
struct Job
{
	const mocpack_Skeleton* skeleton = nullptr;
	Motion motion = {};
	SearchSettings settings = {};
	Constants constants;
	// how the motion is cut
	size_t group_count = 0;
	size_t first_frame_alone = 0; // 1: the first frame is a group by itself
	size_t group_frames = 0;	  // of a streamed payload; 0: groups divide the motion evenly
	int32_t splits = 0;			  // a group is cut into at most 2^splits blocks
	int32_t tempo = 0;			  // as in the head
	// the plan
	int32_t* table = nullptr; // (J, 15), receives refined key steps
	double unit = 0, fine = 0;
	const int32_t* predictors = nullptr; // (predictor_count, 4): channel, source, band, factor
	size_t predictor_count = 0;
	const double* shares = nullptr;		 // (J) shares of the allowances of each joint's points; null: all 1
	const JointLimits* limits = nullptr; // null: all joints have the limits of the settings
	// grid mode instead of sine series: steps (tracks), null for none; initial scales (channels)
	const uint8_t* grid_steps = nullptr;
	const uint8_t* initial_scales = nullptr;
	EncodeTask* task = nullptr; // polled many times per group; if it stops, nothing is found; null: none
	double work_per_frame = 0;	// after so much work per frame, a group is only sketched; 0: never
};

} // namespace keysine
} // namespace mocpack
