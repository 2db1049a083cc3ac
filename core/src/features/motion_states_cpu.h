// Computes states of motions on the CPU (motion_states.h).
#pragma once
#include <stddef.h>

#include "features/motion_states.h"

// Returns the floats of scratch memory that mocpack_write_states needs.
size_t mocpack_states_scratch_floats(const mocpack::states::Call* call);

// Writes states `first` to `stop` - 1 of a call. are_halves: whether words have 16 bits.
void mocpack_write_states(const mocpack::states::Call* call, int are_halves, long long first, long long stop,
						  float* scratch);
