// The encoder of keysine.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "keysine/format/payload.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Settings of a keysine search: allowances, prices of bits and errors, and effort. u is a point's squared
	 * displacement divided by its squared allowance. Penalties are in bits. */
	typedef struct mocpack_KeysineSettings
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
		float excess_penalty;  // per unit of u above 1; 0: nothing is bounded
		float quartic_penalty; // per unit of u²
		float squared_penalty; // per unit of u
		float rounding;		   // added before truncation
		float jitter_penalty;  // per squared step of energy that the source does not have
		float jitter_from;	   // share of the highest frequency above which such energy is jitter
		int32_t sweeps;		   // rounds of repair and descent; 0: rounding and repair only
		int32_t repairs;	   // maximum changes of one repair
		int32_t coarsest_step, finest_step; // range of step indices to try
		int32_t greedy; // nonzero: stop at the first step that is worse than the one before
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
	} mocpack_KeysineSettings;

	// Limits of single joints, (J) each.
	typedef struct mocpack_KeysineJointLimits
	{
		const double* shares;		  // of the allowances of a joint's points
		const double* track_shares;	  // the smallest share of a joint and its descendants
		const int32_t* coarser_steps; // step indices by which its tracks are coarser than usual
		const double* max_angles;	  // radians, in place of the settings' max_angle
		const double* angle_prices;	  // squared allowances per squared radian, added to the settings'
	} mocpack_KeysineJointLimits;

	// A clip to encode. Arrays must outlive the encoder; `table` (J, 15) receives refined key steps.
	typedef struct mocpack_KeysineJob
	{
		const mocpack_Skeleton* skeleton;
		const double* rotations;
		const double* translations;
		const double* angles; // (T, H) of the skeleton's hinges, radians or meters, without jumps
		size_t frame_count, group_count;
		size_t first_frame_alone; // 1: the first frame is a group by itself
		size_t group_frames;	  // of a streamed payload; 0: groups divide the clip evenly
		int32_t splits;			  // a group is cut into at most 2^splits blocks
		int32_t* table;
		double unit, fine;
		int32_t tempo;			   // as in the head
		const int32_t* predictors; // (predictor_count, 4): channel, source, band, factor
		size_t predictor_count;
		const double* shares; // (J) shares of the allowances of each joint's points; null: all 1
		const mocpack_KeysineJointLimits* limits; // null: all joints have the limits of the settings
		mocpack_KeysineSettings settings;
		const double* constants; // as for mocpack_keysine_encode_clip; null: the default ones
		// Grid mode instead of sine series: steps (tracks), null for none; initial scales (channels).
		const uint8_t* grid_steps;
		const uint8_t* initial_scales;
		// Returns nonzero to end the search, which then finds nothing. Called many times per group; null: the
		// search never ends early.
		int (*is_stopped)(void* user);
		void* user;
		double work_per_frame; // after so much work per frame, a group is only sketched; 0: never
	} mocpack_KeysineJob;

	struct mocpack_KeysineHead;
	typedef struct mocpack_KeysineEncoder mocpack_KeysineEncoder;

	/* Computes the means (J, 4) and the channel axes (J, 9), by columns, of joints with rotation vectors in a
	 * plan's table (J, 15). Leaves those of other joints unchanged. Returns false if a number of the table is
	 * out of range, and fills `fault`, which may be null. scratch: mocpack_keysine_axes_scratch(joints)
	 * bytes. */
	size_t mocpack_keysine_axes_scratch(size_t joints);
	int mocpack_keysine_axes(const mocpack_Skeleton* skeleton, const int32_t* table, double unit, double fine,
							 double* means, double* axes, void* scratch, mocpack_Fault* fault);

	/* Encode a clip: first the keys, then segments and groups in any order, on any threads. The keys are
	 * (group_count * 2^splits + 1, channels): all that groups may have. A segment receives the keys at the
	 * ends of its groups, a group all of its own.
	 *
	 * prepare returns null if the groups or a number of the table are invalid. encode_keys returns
	 * MOCPACK_BOUND_NOT_MET if no key step keeps the allowances. So does encode_group if it finds no
	 * encoding. `work` is the number of numbers that its searches have computed. A group of one frame has no
	 * bytes. encode_segment returns the number of bytes written, 0 on
	 * failure. */
	size_t mocpack_keysine_encoder_size(const mocpack_KeysineJob* job);
	mocpack_KeysineEncoder* mocpack_keysine_prepare(const mocpack_KeysineJob* job, void* memory);
	size_t mocpack_keysine_channel_count(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_track_count(const mocpack_KeysineEncoder* encoder);
	/* Makes groups also write their target coefficients, coefficients and steps, by channel and frame (C, T).
	 * Coefficient k of a block is stored k frames after the first frame of the block. paces (T): frequencies
	 * of the coefficients, hertz. */
	void mocpack_keysine_watch(mocpack_KeysineEncoder* encoder, float* wanted, float* series, float* steps,
							   int32_t* paces);
	size_t mocpack_keysine_keys_scratch(const mocpack_KeysineEncoder* encoder);
	mocpack_Status mocpack_keysine_encode_keys(mocpack_KeysineEncoder* encoder, int32_t* keys, void* scratch);
	size_t mocpack_keysine_segment_encode_scratch(const mocpack_KeysineEncoder* encoder, size_t count);
	size_t mocpack_keysine_encode_segment(const mocpack_KeysineEncoder* encoder, int32_t* keys, size_t count,
										  uint8_t* dst, size_t dst_size, void* scratch);
	size_t mocpack_keysine_group_encode_scratch(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_group_bytes(const mocpack_KeysineEncoder* encoder); // maximum of all groups
	mocpack_Status mocpack_keysine_encode_group(const mocpack_KeysineEncoder* encoder, size_t group,
												const int32_t* keys, uint8_t* dst, size_t dst_size,
												size_t* size, double* work, void* scratch);

	/* Adds the running mean prediction errors of a group in grid mode, averaged over its frames, to sums
	 * (channels), in 1/256 step. Returns false if the group cannot be encoded. scratch: as for encode_group.
	 */
	int mocpack_keysine_grid_errors(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys,
									double* sums, void* scratch);

	/* Code parts of a payload of one layer again as layer_count layers with `shifts` (layer_count - 1, 2,
	 * tracks). The parts are the keys (key_count, channels) of a segment, or a bundle of `count` groups. The
	 * new parts are written to dst one after another. A segment has one part per layer. A bundle has one part
	 * per group, then one per later layer. scratch: mocpack_keysine_split_scratch bytes. */
	size_t mocpack_keysine_split_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_split_segment(const mocpack_KeysineHead* head, const int32_t* keys,
												 size_t key_count, const uint8_t* shifts, size_t layer_count,
												 uint8_t* dst, size_t dst_size, size_t* sizes, void* scratch);
	mocpack_Status mocpack_keysine_split_bundle(const mocpack_KeysineHead* head, size_t first, size_t count,
												const int32_t* keys, const uint8_t* const* src,
												const size_t* src_sizes, const uint8_t* shifts,
												size_t layer_count, uint8_t* dst, size_t dst_size,
												size_t* sizes, void* scratch);

#ifdef __cplusplus
}
#endif
