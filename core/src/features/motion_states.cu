// The kernels of the trainers' motion library, for NVRTC: a group of lanes computes one state.
#include "motion_states.h"

using namespace mocpack::states;

// Few joints have the same depth, so small groups keep more lanes busy than a warp per state.
#define LANES 8
#define THREADS 128

struct Group
{
	int index, count;
	unsigned mask;

	__device__ void sync() const
	{
		__syncwarp(mask);
	}
};

template <bool OF_BODIES, class Rows> __device__ void write_states(const Call& call, Rows rows)
{
	extern __shared__ float scratch[];
	const int lane = threadIdx.x % 32, own = threadIdx.x / LANES;
	const Group group = {lane % LANES, LANES, ((1u << LANES) - 1) << (lane - lane % LANES)};
	const long long at = (long long)blockIdx.x * (blockDim.x / LANES) + own;
	if (at < call.count)
		write_state<OF_BODIES>(group, call, rows, at,
							   scratch + own * scratch_floats(call.scratch_joints, *call.velocity));
}

#define KERNEL(name, OF_BODIES, Rows, Word)                                                                  \
	extern "C" __global__ void __launch_bounds__(THREADS) name(Call call)                                    \
	{                                                                                                        \
		write_states<OF_BODIES>(call, Rows{static_cast<const Word*>(call.words)});                           \
	}

KERNEL(joints_float32, false, FloatRows, float)
KERNEL(joints_float16, false, HalfRows, unsigned short)
KERNEL(bodies_float32, true, FloatRows, float)
KERNEL(bodies_float16, true, HalfRows, unsigned short)
