// The limits of a keysine payload, its first fields and its layout.
#pragma once
#include <cstddef>
#include <cstdint>

// Quantizer step of a key, relative to that of a coefficient with the same index.
#define MOCPACK_KEYSINE_KEY_STEP 0.8

// Limits of the unit of a payload, in meters.
#define MOCPACK_KEYSINE_MIN_UNIT 1e-45
#define MOCPACK_KEYSINE_MAX_UNIT 1e6

// Limits of the format.
enum
{
	MOCPACK_KEYSINE_PLAN_COLUMNS = 15,
	MOCPACK_KEYSINE_STEPS = 64,				 // quantizer steps: unit * 2^((8 - index) / 2)
	MOCPACK_KEYSINE_UNIT_STEP = 8,			 // index of the step that equals the unit
	MOCPACK_KEYSINE_MAX_BLOCK_FRAMES = 512,	 // frames
	MOCPACK_KEYSINE_MAX_GROUP_FRAMES = 8192, // frames
	MOCPACK_KEYSINE_MAX_SPLITS = 7,			 // a group has at most 2^7 blocks
	MOCPACK_KEYSINE_MAX_LAYERS = 16,
	MOCPACK_KEYSINE_MAX_SHIFT = 8,
	MOCPACK_KEYSINE_BUNDLE_GROUPS = 4, // groups that are refined by one part
	MOCPACK_KEYSINE_MAX_GROUP_PARTS = MOCPACK_KEYSINE_BUNDLE_GROUPS + MOCPACK_KEYSINE_MAX_LAYERS - 1,
	MOCPACK_KEYSINE_MAX_GRID_CHANNELS = 4096, // each needs a few kilobytes, even for short clips
	MOCPACK_KEYSINE_MAX_INITIAL_SCALE = 31,	  // half octaves of 1/32 step
};

// Layout of a payload: the head, then its parts in the order of parts.h.
typedef struct mocpack_KeysineLayout
{
	size_t head_size;
	size_t group_count; // groups have a key pose at both ends; a clip of one frame has no group
	size_t groups_per_segment;
	size_t segment_count;
	size_t part_count;
	const uint32_t* sizes; // (parts), bytes
	size_t channel_count;
	size_t track_count;
	size_t layer_count;
	const uint8_t* shifts;	  // (layers - 1, 2, tracks): of keys, then of coefficients
	size_t first_frame_alone; // 1 if the first frame is a separate group
	size_t group_frames;	  // of a streamed payload; 0: groups divide the clip evenly
} mocpack_KeysineLayout;

// The error that a motion leaves: unit * 2^((number - 64) / 8) meters, rounded up.
typedef struct mocpack_KeysineError
{
	uint8_t max;  // of joints, end sites and shell points
	uint8_t mean; // of joints
} mocpack_KeysineError;

// First fields of a head.
typedef struct mocpack_KeysineFields
{
	uint32_t mode; // bit 1: grid mode; 2: separate first frame; 4: thorough prediction of a grid, else
				   // shared references
	uint32_t layer_count;
	uint32_t fine_bits; // constant values are multiples of 2^-bits
	uint32_t tempo;		// 64 · 0.5 s / length of a group
	float unit;			// meters; only its upper 16 bits are stored
	uint32_t group_count, groups_per_segment, predictor_count;
	uint8_t keys_error; // with keys only: at most unit * 2^(number / 8) meters
	mocpack_KeysineError errors[MOCPACK_KEYSINE_MAX_LAYERS]; // with each layer, if there are several
	uint32_t group_frames; // of a streamed payload; 0: groups divide the clip evenly
} mocpack_KeysineFields;
