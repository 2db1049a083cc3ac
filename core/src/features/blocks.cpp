// A seqlock over blocks in memory shared between processes.
#include "features/blocks.h"

#include <atomic>

namespace
{

using Mark = std::atomic<int64_t>;
static_assert(sizeof(Mark) == sizeof(int64_t), "a mark is a plain number");

const Mark& mark_at(const int64_t* mark)
{
	return *reinterpret_cast<const Mark*>(mark);
}

} // namespace

size_t mocpack_blocks_read_begin(const int64_t* marks, size_t count, int64_t* seen)
{
	for (size_t i = 0; i < count; ++i)
		if (!(seen[i] = mark_at(marks + i).load(std::memory_order_acquire)))
			return i;
	return count;
}

int mocpack_blocks_read_end(const int64_t* marks, size_t count, const int64_t* seen)
{
	// rows must be read before their mark is checked again
	std::atomic_thread_fence(std::memory_order_acquire);
	for (size_t i = 0; i < count; ++i)
		if (mark_at(marks + i).load(std::memory_order_relaxed) != seen[i])
			return 0;
	return 1;
}

void mocpack_block_set_mark(int64_t* mark, int64_t value)
{
	reinterpret_cast<Mark*>(mark)->store(value, std::memory_order_release);
	// other processes must see a cleared mark before the rows change
	std::atomic_thread_fence(std::memory_order_seq_cst);
}

void mocpack_block_set_used(int64_t* used, int64_t time)
{
	reinterpret_cast<Mark*>(used)->store(time, std::memory_order_relaxed);
}
