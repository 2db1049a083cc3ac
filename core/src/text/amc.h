// Parses the frames of Acclaim motion files.
#pragma once
#include <cstddef>
#include <cstdint>

/* The bones of the skeleton. */
struct mocpack_amc_bones
{
	const char* names;		 // concatenated
	const uint32_t* starts;	 // (count + 1) offset of each name, and the end of the last
	const uint32_t* by_name; // (count) bones sorted by the bytes of their names
	const uint32_t* columns; // (count + 1) first column of each bone, and the number of columns
	uint32_t count;
};

/* Result of parsing. *fault is the start of the line that is wrong. */
enum
{
	MOCPACK_AMC_OK = 0,
	MOCPACK_AMC_BAD_NUMBER = 1,	 // expected the next frame number
	MOCPACK_AMC_BAD_BONE = 2,	 // unknown bone, or wrong number of values
	MOCPACK_AMC_BONE_TWICE = 3,	 // a frame lists a bone twice; the line is the frame's
	MOCPACK_AMC_BONE_MISSING = 4 // a frame of a complete motion omits a bone; the line is the frame's
};

/* Return the number of lines that hold only a frame number. Lines end with \n. */
size_t mocpack_count_amc_frames(const char* text, size_t size);

/* Read the frames of a motion. Comments start with #.
 *
 * values (capacity, columns). A bone that a frame omits keeps its numbers (zeros in the first frame),
 * unless the motion must be `complete`. seen (count) is scratch memory. Frames beyond the capacity are
 * not read. Returns one of the above; *frames receives the number of valid frames, *fault the offset of
 * the line at fault. */
int mocpack_parse_amc(const char* text, size_t size, const mocpack_amc_bones* bones, int complete,
					  double* values, size_t capacity, uint64_t* seen, size_t* frames, size_t* fault);
