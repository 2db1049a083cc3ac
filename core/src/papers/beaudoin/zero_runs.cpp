// Codes sparse signals as 16-bit words: values, runs of zeros, and ends of signals.
#include "papers/beaudoin/zero_runs.h"
#include "common/skeleton.h"

namespace
{

// part of the format: never change these
// (magnitudes are at most MOCPACK_LARGEST_WORD, so words 1025..65535 are values)
const int32_t longest_run = 1023; // words 1..1023 are runs of that many zeros; 0 ends a signal
const int32_t center = 33280;	  // word that stands for value 0

size_t signal_end(const int32_t* values, size_t length)
{
	while (length > 0 && values[length - 1] == 0)
		--length;
	return length;
}

} // namespace

size_t mocpack_zero_runs_encode(uint16_t* words, const int32_t* values, size_t count, size_t length)
{
	uint16_t* out = words;
	for (size_t s = 0; s < count; ++s, values += length)
	{
		int32_t zeros = 0;
		for (size_t i = 0, end = signal_end(values, length); i < end; ++i)
		{
			if (values[i] == 0 && ++zeros < longest_run)
				continue;
			if (zeros)
				*out++ = uint16_t(zeros);
			zeros = 0;
			if (values[i] != 0)
				*out++ = uint16_t(center + values[i]);
		}
		*out++ = 0;
	}
	return size_t(out - words);
}

mocpack_Status mocpack_zero_runs_decode(int32_t* values, size_t count, size_t length, const uint16_t* words,
										size_t word_count)
{
	size_t at = 0;
	for (size_t s = 0; s < count; ++s, values += length)
	{
		size_t i = 0;
		for (;; ++at)
		{
			if (at == word_count)
				return MOCPACK_TRUNCATED;
			uint16_t word = words[at];
			size_t step = word > longest_run ? 1 : word;
			if (word == 0)
				break;
			if (step > length - i || int32_t(word) == longest_run + 1)
				return MOCPACK_CORRUPT;
			for (size_t k = 0; k < step; ++k)
				values[i++] = word > longest_run ? int32_t(word) - center : 0;
		}
		++at;
		while (i < length)
			values[i++] = 0;
	}
	return at == word_count ? MOCPACK_OK : MOCPACK_CORRUPT;
}
