// The encoder of keysine.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* What the keysine encoder may displace, what bits and errors cost it, and how hard it searches. u is a
	 * point's squared displacement over its squared allowance; penalties are bits. */
	typedef struct mocpack_KeysineSettings
	{
		double bound; // allowance of every point, meters
		// joint origins: min(max_origin_share, origin_share * n^-falloff), n descendants
		double origin_share, max_origin_share, origin_falloff;
		double shell_factor; // on the allowance of shell points
		double key_share;	 // of its allowance, that a key may use to come nearer to the key before
		double
			key_price; // where nothing is bounded: in how many times the frames between keys its error counts
		/* Where there are hinges, which cannot take back every error above them: what may remain of all u of
		 * a limb when they have done what they can. */
		double room;
		/* What a joint pays for turning away from the source's own rotation to take back errors above it: a
		 * squared radian costs so many squares of the shell, and a turn by max_angle angle_price. */
		double turn_price, angle_price;
		double max_angle; // radians that a joint's local rotation may be off; 0: any
		/* Radians that a joint's rotation in the world may be off; 0: any. At most half of max_angle, the
		 * joints below can always turn back without breaking max_angle themselves. */
		double world_angle;
		float excess_penalty;				// for each unit of u above 1; 0: nothing is bounded
		float quartic_penalty;				// for u²
		float squared_penalty;				// for u
		float rounding;						// added before truncation
		float jitter_penalty;				// for a squared step of energy that the source does not have,
		float jitter_from;					// above this share of the highest frequency
		int32_t sweeps;						// rounds of repair and descent; 0: rounding and repair only
		int32_t repairs;					// changes of one repair
		int32_t coarsest_step, finest_step; // tried
		int32_t greedy; // nonzero: stop at the first step that is worse than the one before
		/* Of a group: 2^splits blocks are tried first, then up to split_tries times more and fewer, then up
		 * to weight_tries halvings or doublings of quartic_penalty, each while it is smaller; exhaustive: all
		 * of the former, whatever the first ones give. */
		int32_t splits, split_tries, weight_tries, exhaustive;
		int32_t thorough; // the longest search: all block lengths and ways; of a grid, the longer forecast
		// a grid in time
		int32_t beam_width;		   // ways to write a frame that are kept side by side, at least 1
		double grid_error_penalty; // for using up a whole allowance
	} mocpack_KeysineSettings;

	// Limits of single joints, (J) each.
	typedef struct mocpack_KeysineJointLimits
	{
		const double* shares;		  // of the allowances, for the points of a joint
		const double* track_shares;	  // the smallest share of a joint and its descendants
		const int32_t* coarser_steps; // by how many indices the steps of its tracks are coarser than usual
		const double* max_angles;	  // radians, in place of the settings' max_angle
		const double* angle_prices;	  // squared allowances per squared radian, beside the settings' prices
	} mocpack_KeysineJointLimits;

	// A clip to encode. Arrays must outlive the encoder; `table` (J, 14) receives refined key steps.
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
		const double* shares; // (J) of the allowances, for what hangs on each joint; null: all
		const mocpack_KeysineJointLimits* limits; // null: all joints have those of the settings
		mocpack_KeysineSettings settings;
		const double* constants; // as for mocpack_keysine_encode_clip; null: the usual ones
		// A grid in time in place of sine series: steps (tracks), null for none; initial scales (channels).
		const uint8_t* grid_steps;
		const uint8_t* initial_scales;
		// Nonzero ends the search, which then finds nothing. Called many times per group; null: it never
		// ends.
		int (*is_stopped)(void* user);
		void* user;
	} mocpack_KeysineJob;

	typedef struct mocpack_KeysineEncoder mocpack_KeysineEncoder;

	/* What a plan's table (J, 14) makes of the joints whose rotations are vectors: their means (J, 4) and the
	 * axes of their channels (J, 9), column by column; the others' are left as they are. False where a number
	 * of the table is out of range: `fault`, which may be null, says which.
	 * scratch: mocpack_keysine_axes_scratch(joints) bytes. */
	size_t mocpack_keysine_axes_scratch(size_t joints);
	int mocpack_keysine_axes(const mocpack_Skeleton* skeleton, const int32_t* table, double unit, double fine,
							 double* means, double* axes, void* scratch, mocpack_Fault* fault);

	/* Encodes a clip: keys first, then segments and groups in any order, on any threads. The keys are
	 * (group_count * 2^splits + 1, channels), all that a group may have; a segment is given those at the ends
	 * of its groups, a group all of its own.
	 *
	 * prepare returns null where a number of the table is out of range. encode_keys is MOCPACK_BOUND_NOT_MET
	 * where no key step keeps the allowances, and so is encode_group where nothing is found; a group of one
	 * frame has no bytes. encode_segment returns the bytes written, 0 on failure. */
	size_t mocpack_keysine_encoder_size(const mocpack_KeysineJob* job);
	mocpack_KeysineEncoder* mocpack_keysine_prepare(const mocpack_KeysineJob* job, void* memory);
	size_t mocpack_keysine_channel_count(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_track_count(const mocpack_KeysineEncoder* encoder);
	/* From now on groups also write, by channel and frame (C, T), what their coefficients should have been,
	 * what they are, and their steps; coefficient k of a block stands k frames after its first. paces (T):
	 * their frequencies. */
	void mocpack_keysine_watch(mocpack_KeysineEncoder* encoder, float* wanted, float* series, float* steps,
							   int32_t* paces);
	size_t mocpack_keysine_keys_scratch(const mocpack_KeysineEncoder* encoder);
	mocpack_Status mocpack_keysine_encode_keys(mocpack_KeysineEncoder* encoder, int32_t* keys, void* scratch);
	size_t mocpack_keysine_segment_encode_scratch(const mocpack_KeysineEncoder* encoder, size_t count);
	size_t mocpack_keysine_encode_segment(const mocpack_KeysineEncoder* encoder, int32_t* keys, size_t count,
										  uint8_t* dst, size_t dst_size, void* scratch);
	size_t mocpack_keysine_group_encode_scratch(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_group_bytes(const mocpack_KeysineEncoder* encoder); // enough for any group
	mocpack_Status mocpack_keysine_encode_group(const mocpack_KeysineEncoder* encoder, size_t group,
												const int32_t* keys, uint8_t* dst, size_t dst_size,
												size_t* size, void* scratch);

	/* Adds to sums (channels) about how far prediction was off at the end of a group of a grid in time, in
	 * 1/256 of a step; false where the group fails. scratch as for encode_group. */
	int mocpack_keysine_grid_errors(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys,
									double* sums, void* scratch);

	/* Code parts of a payload of one layer again as layer_count layers with `shifts` (layer_count - 1, 2,
	 * tracks): the keys (key_count, channels) of a segment, and a bundle of `count` groups. Parts are written
	 * to dst one after another: that of each layer, or those of the groups and then of each further layer.
	 * scratch: mocpack_keysine_split_scratch bytes. */
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
