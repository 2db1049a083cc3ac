// The decoder of keysine.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* keysine: key poses, sine series between them, static tables (core/src/keysine,
	 * docs/codecs/keysine.md).
	 *
	 * A payload is a head, key segments and groups, the latter in layers. mocpack_keysine_open reads the
	 * head; a group is then decoded by itself, given the keys at its ends. All of this is safe on untrusted
	 * bytes. */
	typedef struct mocpack_KeysineHead mocpack_KeysineHead;

	// Of a coefficient's step of the same index: what a key's is.
#define MOCPACK_KEYSINE_KEY_STEP 0.8

	// Limits of the unit of a payload, in metres: any float above zero, up to the largest.
#define MOCPACK_KEYSINE_MIN_UNIT 1e-45
#define MOCPACK_KEYSINE_MAX_UNIT 1e6

	// Limits of the format.
	enum
	{
		MOCPACK_KEYSINE_PLAN_COLUMNS = 14,
		MOCPACK_KEYSINE_STEPS = 64,			  // quantiser steps: unit * 2^((8 - index) / 2)
		MOCPACK_KEYSINE_UNIT_STEP = 8,		  // index of the step that is the unit itself
		MOCPACK_KEYSINE_MAX_BLOCK_FRAMES = 512,  // frames
		MOCPACK_KEYSINE_MAX_GROUP_FRAMES = 8192, // frames
		MOCPACK_KEYSINE_MAX_SPLITS = 7,	  // a group has at most 2^7 blocks
		MOCPACK_KEYSINE_MAX_LAYERS = 16,
		MOCPACK_KEYSINE_MAX_SHIFT = 8,
		MOCPACK_KEYSINE_MAX_GRID_CHANNELS = 4096, // each takes a few kilobytes, however short the clip
		MOCPACK_KEYSINE_MAX_INITIAL_SCALE = 31,   // half octaves of 1/32 step
	};

	// Where things stand in a payload: the head, then segments, then groups layer by layer, of these sizes.
	typedef struct mocpack_KeysineLayout
	{
		size_t head_size;
		size_t group_count; // groups have a key at either end; a clip of one frame has none
		size_t groups_per_segment;
		size_t segment_count;
		const uint32_t* sizes; // (segments + layers * groups), bytes
		size_t channel_count;
		size_t track_count;
		size_t layer_count;
		const uint8_t* shifts;	  // (layers - 1, tracks)
		size_t first_frame_alone; // 1 where the first frame is a group by itself
	} mocpack_KeysineLayout;

	// What a head begins with; errors are stated as unit * 2^(number / 8).
	typedef struct mocpack_KeysineFields
	{
		uint32_t mode; // 1: a grid in time; 2: the first frame alone; 4: a thorough grid
		uint32_t layer_count;
		uint32_t fine_bits; // the grid of still values is 2^-bits
		uint32_t tempo;		// 64 times half a second over the length of a group
		float unit;			// metres; only its upper 16 bits may be other than zero
		uint32_t group_count, groups_per_segment, predictor_count;
		uint8_t errors[MOCPACK_KEYSINE_MAX_LAYERS]; // of the keys alone, then of each layer but the last
	} mocpack_KeysineFields;

	/* Reads how many parts a payload has, and how long they are, before any memory is taken for them: the
	 * layout without what is coded (sizes, channels, tracks, shifts). `fault` may be null. */
	mocpack_Status mocpack_keysine_read_layout(const uint8_t* src, size_t src_size, size_t frame_count,
										mocpack_KeysineLayout* layout, mocpack_Fault* fault);

	/* Reads the head at the start of `src` into `memory` of mocpack_keysine_head_memory_size bytes, aligned as
	 * malloc aligns. `skeleton` must outlive the head. `fault` may be null; it is written where the head is
	 * corrupt. The memory is 0 where the head cannot be, and mocpack_keysine_open says why without touching
	 * any. */
	size_t mocpack_keysine_head_memory_size(const uint8_t* src, size_t src_size, size_t joints,
									   size_t frame_count);
	mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
										size_t frame_count, void* memory, mocpack_KeysineHead** head,
										mocpack_Fault* fault);
	mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* head);
	mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* head);
	size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* head, size_t key);

	const int32_t* mocpack_keysine_plan(const mocpack_KeysineHead* head);		// the plan (J, 14)
	const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* head); // (predictors, 4)
	// Of a grid in time, else null: each track's step (tracks), and how far prediction is off at first
	// (channels), in half octaves of 1/32 step.
	const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* head);
	const uint8_t* mocpack_keysine_initial_scales(const mocpack_KeysineHead* head);

	/* Decodes the keys (key_count, channels) of one segment. */
	size_t mocpack_keysine_segment_scratch_size(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
												  const uint8_t* src, size_t size, int32_t* keys,
												  void* scratch);

	// Where in the arrays that come back the joints stand; -1: they are not wanted.
	typedef struct mocpack_KeysineColumns
	{
		const int32_t* rotations;	 // (J)
		const int32_t* translations; // (M)
		size_t rotation_count, translation_count;
	} mocpack_KeysineColumns;

	/* Decodes one group, given the keys at its ends (2, channels), into rotations (T, J, 4) and translations
	 * (T, M, 3) of the frames from its first key up to, but not with, its last. Without layers, the
	 * motion is what the keys alone give; with some, it is coarser than with all. With columns, only the
	 * joints that have one are decoded, into rotations (T, rotation_count, 4) and translations (T,
	 * translation_count, 3). */
	size_t mocpack_keysine_group_scratch_size(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
												const int32_t* keys, const uint8_t* const* layers,
												const size_t* sizes, size_t layer_count,
												const mocpack_KeysineColumns* columns, double* rotations,
												double* translations, void* scratch);

	/* Decodes frames first … stop - 1 of a group alone, counted from its first key, as
	 * mocpack_keysine_decode_group has them; of the other frames nothing is made. `kept` says what the
	 * scratch holds of the group before, of the same head: all zero at first. */
	typedef struct mocpack_KeysineSineCache
	{
		int32_t lengths[2], rows[2];
		int32_t halves;
	} mocpack_KeysineSineCache;
	mocpack_Status mocpack_keysine_decode_span(const mocpack_KeysineHead* head, size_t group, size_t first,
											   size_t stop, const int32_t* keys, const uint8_t* const* layers,
											   const size_t* sizes, size_t layer_count,
											   const mocpack_KeysineColumns* columns, double* rotations,
											   double* translations, mocpack_KeysineSineCache* kept,
											   void* scratch);

	/* Decodes a group of one layer as if its coefficients were known up to `shifts` (tracks) only, as a
	 * coarse layer knows them. */
	mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 const uint8_t* shifts, double* rotations,
												 double* translations, void* scratch);

	/* The pose of one key (channels): rotations (J, 4), translations (M, 3), or those that have a column. */
	void mocpack_keysine_decode_key(const mocpack_KeysineHead* head, const int32_t* key,
							  const mocpack_KeysineColumns* columns, double* rotations, double* translations);

	/* The coded part of the head: plan (J, 14), sizes of all parts, predictors (predictor_count, 4), the
	 * shifts of layers (layer_count - 1, tracks), and of a grid in time the steps of tracks and the initial
	 * scales (channels), else null. */
	size_t mocpack_keysine_head_scratch_size(size_t joints, size_t part_count, size_t predictor_count);
	size_t mocpack_keysine_encode_head(const mocpack_KeysineFields* start, const mocpack_Skeleton* skeleton,
									   int32_t* table, uint32_t* sizes, size_t part_count,
									   int32_t* predictors, uint8_t* shifts, uint8_t* grid_steps,
									   uint8_t* initial_scales, uint8_t* dst, size_t dst_size, void* scratch);

#ifdef __cplusplus
}
#endif
