// Prints doubles as decimal text: the shortest that reads back the same, or rounded.
#include <charconv>
#include <cstring>

#include "text/numbers.h"

namespace
{

// Drops trailing zeros after the point, and the point itself if nothing is left.
char* trim_zeros(char* start, char* end)
{
	if (memchr(start, '.', size_t(end - start)))
	{
		while (end[-1] == '0')
			--end;
		if (end[-1] == '.')
			--end;
	}
	return end;
}

// Drops the sign of a number that was rounded to zero.
char* drop_zero_sign(char* start, char* end)
{
	if (end - start == 2 && start[0] == '-' && start[1] == '0')
	{
		start[0] = '0';
		--end;
	}
	return end;
}

} // namespace

size_t mocpack_print_numbers(const double* values, const int32_t* decimals, size_t count, char* dst,
							 size_t dst_size)
{
	char* at = dst;
	char* stop = dst + dst_size;
	for (size_t i = 0; i < count; ++i)
	{
		if (stop - at < 2)
			return 0;
		if (i)
			*at++ = ' ';
		std::to_chars_result result =
			decimals[i] < 0 ? std::to_chars(at, stop, values[i], std::chars_format::fixed)
							: std::to_chars(at, stop, values[i], std::chars_format::fixed, decimals[i]);
		if (result.ec != std::errc())
			return 0;
		char* end = trim_zeros(at, result.ptr);
		at = decimals[i] < 0 ? end : drop_zero_sign(at, end);
	}
	return size_t(at - dst);
}
