// A counting allocator for the reader tests.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "mocpack/mocpack.h"

namespace
{

// Counts allocated bytes, and can fail.
struct Counter
{
	std::atomic<size_t> calls{0}, held{0}, most{0};
	size_t fail_at = SIZE_MAX; // this call and all later ones fail

	static void* allocate(void* user, size_t size)
	{
		Counter* self = static_cast<Counter*>(user);
		if (self->calls++ >= self->fail_at)
			return nullptr;
		self->held += size;
		self->most = self->held > self->most ? size_t(self->held) : size_t(self->most);
		return malloc(size);
	}
	static void release(void* user, void* memory, size_t size)
	{
		static_cast<Counter*>(user)->held -= size;
		free(memory);
	}
	mocpack_Allocator allocator()
	{
		return {this, allocate, release};
	}
};

} // namespace
