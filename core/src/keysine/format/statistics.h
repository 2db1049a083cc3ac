// Static statistics of `keysine` symbols: context classes, and a table for each. Integers only, so that
// symbols decode identically everywhere; trained by tools/train_keysine.py.
#pragma once
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#include "entropy/table_coder.h"
#include "keysine/format/plan.h"

namespace mocpack
{
namespace keysine
{

const int FAMILIES = 10;
const int SYMBOLS = 32; // of a magnitude; the last one is the escape
const int ESCAPE = SYMBOLS - 1;
const int32_t MAX_MAGNITUDE = 1 << 30;
const int MAX_SPLITS = MOCPACK_KEYSINE_MAX_SPLITS;

// Magnitude symbols: one per value below 2^(m + 1), then 2^m per octave.
const int FINE = 2;	  // m of coefficients
const int COARSE = 1; // m of everything else

inline int32_t magnitude(int32_t value)
{
	return value < 0 ? -value : value;
}

inline int32_t lesser(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

inline int bit_length(uint32_t value)
{
#if defined(_MSC_VER) && !defined(__clang__)
	unsigned long highest;
	return _BitScanReverse(&highest, value) ? int(highest) + 1 : 0;
#else
	return value ? 32 - __builtin_clz(value) : 0;
#endif
}

// Returns the number of raw bits after a symbol.
constexpr int plain_bits(int symbol, int m)
{
	return symbol >> m > 1 ? (symbol >> m) - 1 : 0;
}

// Returns the smallest magnitude of a symbol.
constexpr int32_t symbol_floor(int symbol, int m)
{
	int bits = plain_bits(symbol, m);
	return (symbol - (bits << m)) << bits;
}

inline int symbol_of(int32_t size, int m)
{
	int bits = bit_length(uint32_t(size)) - m - 1;
	bits = bits < 0 ? 0 : bits;
	return lesser((bits << m) + (size >> bits), ESCAPE);
}

// Ends of the frequency bands, in hertz.
const int BANDS = 16, BAND_GROUP = 4, BAND_GROUPS = BANDS / BAND_GROUP;
constexpr uint8_t BAND_ENDS[BANDS - 1] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58};

// Returns coefficient index k scaled to a block of 0.5 s, about the frequency in hertz. tempo / 64 is 0.5 s /
// block length.
inline int32_t normalized_frequency(int32_t k, int32_t tempo)
{
	return (k * tempo + 32) >> 6;
}

// Coefficients: a weighted sum of neighbors in 1/256, two classes per octave, with offsets.
const int MAGNITUDE_CLASSES = 26, REACH_LEFT = 4;
const int FIRST_LIFTED = 4, LIFTED_STEPS = 10;
// Reaches (last nonzero index) and keys: weighted sums in 1/256, two classes per unit.
const int REACH_CLASSES = 32, REACHES = 24;
const int KEY_CLASSES = 48;
const int STEP_GUESSES = 8, FIRST_GUESS = 5, STEP_SYMBOLS = 24;
const int SPLITS = 8;

enum HeadNumber
{
	MEAN_NUMBER,
	STILL_NUMBER,
	KEY_STEP_NUMBER,
	ORIGIN_NUMBER,
	PLACE_NUMBER,
	SIZE_NUMBER,
	COUNT_NUMBER,
	CHANNEL_NUMBER,
	SOURCE_NUMBER,
	BAND_NUMBER,
	FACTOR_NUMBER,
	PRECISION_NUMBER,					 // of a rotation of axes: 4 tables
	SCALE_NUMBER = PRECISION_NUMBER + 4, // grid mode, by channel: 4 tables
	TURN_NUMBER = SCALE_NUMBER + 4,		 // of a rotation of axes, by precision
	HEAD_NUMBERS = TURN_NUMBER + AXES_BITS,
};
const int ROTATION_KINDS = 5, TRANSLATION_KINDS = 3, KIND_TABLES = ROTATION_KINDS + TRANSLATION_KINDS,
		  KINDS = 8;

#ifdef MOCPACK_TABLES_AT_START
#include <packed_tables.h> // from pack_tables.py: compressed, to keep the wasm file small
#else
#include "keysine/format/tables.inc"
#endif

inline int class_of(int32_t sum, int classes)
{
	return sum < 0 ? 0 : lesser(sum >> 7, classes - 1);
}

} // namespace keysine
} // namespace mocpack
