// Frames of Acclaim motion files.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* The bones that lines of a motion may name. */
	typedef struct mocpack_amc_bones
	{
		const char* names;		 // one after the other
		const uint32_t* starts;	 // (count + 1) where each name begins, and where the last ends
		const uint32_t* by_name; // (count) bones in the order of their names' bytes
		const uint32_t* columns; // (count + 1) first column of each bone, and how many columns there are
		uint32_t count;
	} mocpack_amc_bones;

	/* What is wrong with a motion, and where: at the start of the line that says it. */
	enum
	{
		MOCPACK_AMC_OK = 0,
		MOCPACK_AMC_BAD_NUMBER = 1,	 // a line where a frame's number, the next one, should stand
		MOCPACK_AMC_BAD_BONE = 2,	 // a line that is no bone with as many numbers as it has columns
		MOCPACK_AMC_BONE_TWICE = 3,	 // a frame (its number's line)
		MOCPACK_AMC_BONE_MISSING = 4 // a frame (its number's line) of a motion that should be complete
	};

	/* Return how many lines hold a frame's number and nothing else. Lines end with \n. */
	size_t mocpack_count_amc_frames(const char* text, size_t size);

	/* Read the frames of a motion (amc.cpp): lines of numbers after a frame's own, what follows # left out.
	 *
	 * values (capacity, columns); a bone that a frame leaves out keeps its numbers, of the first frame zeros,
	 * unless the motion should be `complete`. seen (count) is for the kernel. Frames beyond the capacity are
	 * not read. Returns one of the above; *frames receives how many were read whole, *fault the offset of the
	 * line at fault. */
	int mocpack_parse_amc(const char* text, size_t size, const mocpack_amc_bones* bones, int complete,
						  double* values, size_t capacity, uint64_t* seen, size_t* frames, size_t* fault);

#ifdef __cplusplus
}
#endif
