// Allocates with the caller's allocator, within a limit.
#include "reader/memory.h"

#include <cstring>

#ifndef MOCPACK_NO_MALLOC
#include <cstdlib>
#endif

namespace mocpack
{

namespace
{

void* allocate(void*, size_t size)
{
#ifdef MOCPACK_NO_MALLOC
	(void)size;
	return nullptr;
#else
	return std::malloc(size);
#endif
}

void release(void*, void* memory, size_t)
{
#ifdef MOCPACK_NO_MALLOC
	(void)memory;
#else
	std::free(memory);
#endif
}

} // namespace

mocpack_Allocator default_allocator()
{
	return {nullptr, allocate, release};
}

void* Memory::allocate(uint64_t size)
{
	void* memory = allocate_unfilled(size);
	return memory ? std::memset(memory, 0, size_t(size)) : nullptr;
}

void* Memory::allocate_unfilled(uint64_t size)
{
	static_assert(sizeof(Piece) % (2 * sizeof(void*)) == 0,
				  "memory after the header is aligned as the header");
	uint64_t whole = size + sizeof(Piece);
	if (whole < size || whole > left_ || whole > SIZE_MAX / 2)
		return nullptr;
	Piece* piece = static_cast<Piece*>(allocator_.allocate(allocator_.user, size_t(whole)));
	if (!piece)
		return nullptr;
	*piece = {first_, nullptr, size_t(whole), 0};
	if (first_)
		first_->before = piece;
	first_ = piece;
	left_ -= whole;
	return piece + 1;
}

void Memory::release(void* memory)
{
	if (!memory)
		return;
	Piece* piece = static_cast<Piece*>(memory) - 1;
	(piece->before ? piece->before->next : first_) = piece->next;
	if (piece->next)
		piece->next->before = piece->before;
	left_ += piece->size;
	allocator_.release(allocator_.user, piece, piece->size);
}

void Memory::release_all()
{
	release_after(nullptr);
}

void Memory::release_after(const void* last_allocation)
{
	while (first_ != last_allocation)
		release(first_ + 1);
}

} // namespace mocpack
