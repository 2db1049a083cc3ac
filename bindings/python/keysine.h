// What the bindings of keysine's encoder and decoder share.
#pragma once
#include "arrays.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "parallel.h"
#include "skeleton.h"

const size_t PLAN_COLUMNS = MOCPACK_KEYSINE_PLAN_COLUMNS;
using Room = std::unique_ptr<uint8_t[]>;
using Predictors = Array<int32_t, nb::shape<-1, 4>>;

inline Room allocate(size_t size)
{
	return Room(new uint8_t[size + 64]);
}

// Kernels that vectorise want 32-byte alignment.
inline void* start_of(const Room& memory)
{
	return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.get()) + 31) / 32 * 32);
}

// Calls work(i, scratch) for i below count, each thread with scratch of its own.
template <typename Work> void with_scratch(size_t count, size_t threads, size_t scratch_size, Work work)
{
	in_threads(count, std::max<size_t>(threads, 1),
			   [&](auto take)
			   {
				   Room scratch = allocate(scratch_size);
				   for (size_t i = take(); i < count; i = take())
					   work(i, start_of(scratch));
			   });
}
