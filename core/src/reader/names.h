// Finds duplicates among names.
#pragma once
#include <cstring>

#include "mocpack/mocpack.h"

namespace mocpack
{

inline bool is_less(const mocpack_Text& a, const mocpack_Text& b)
{
	const size_t common = a.size < b.size ? a.size : b.size;
	const int found = common ? std::memcmp(a.bytes, b.bytes, common) : 0;
	return found ? found < 0 : a.size < b.size;
}

// Sifts a name down a max-heap.
inline void sift_down(const mocpack_Text** heap, size_t at, size_t count)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child)
	{
		child += child + 1 < count && is_less(*heap[child], *heap[child + 1]);
		if (!is_less(*heap[at], *heap[child]))
			return;
		const mocpack_Text* moved = heap[at];
		heap[at] = heap[child], heap[child] = moved;
	}
}

// Returns a name that occurs twice, or null. Uses heapsort, since quadratic time would be too slow for many
// names.
inline const mocpack_Text* find_duplicate(const mocpack_Text** names, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(names, i, count);
	const mocpack_Text* later = nullptr;
	for (size_t left = count; left; sift_down(names, 0, left))
	{
		const mocpack_Text* greatest = names[0];
		names[0] = names[--left];
		if (later && !is_less(*greatest, *later))
			return later;
		later = greatest;
	}
	return nullptr;
}

} // namespace mocpack
