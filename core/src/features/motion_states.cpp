// Computes states of motions on the CPU.
#include "features/motion_states_cpu.h"

using namespace mocpack::states;

namespace
{

struct OneLane
{
	int index = 0, count = 1;

	void sync() const
	{
	}
};

template <class Rows>
void write_all(const Call& call, Rows rows, long long first, long long stop, float* scratch)
{
	for (long long at = first; at < stop; ++at)
		if (call.velocity->is_of_bodies)
			write_state<true>(OneLane(), call, rows, at, scratch);
		else
			write_state<false>(OneLane(), call, rows, at, scratch);
}

} // namespace

size_t mocpack_states_scratch_floats(const Call* call)
{
	return size_t(scratch_floats(call->scratch_joints, *call->velocity));
}

void mocpack_write_states(const Call* call, int are_halves, long long first, long long stop, float* scratch)
{
	if (are_halves)
		write_all(*call, HalfRows{static_cast<const unsigned short*>(call->words)}, first, stop, scratch);
	else
		write_all(*call, FloatRows{static_cast<const float*>(call->words)}, first, stop, scratch);
}
