// A stand-in for the CUDA driver, for tests on machines without a GPU: "device" memory is that of the
// process, and a launch computes the states with the CPU's form of the kernels. It checks what the real
// driver would.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "features/motion_states_cpu.h"

namespace
{

int allocations = 0, contexts = 0;
const int INVALID_VALUE = 1, NO_CONTEXT = 201;

struct Function
{
	std::string name;
	int max_shared = 48 << 10;
};

} // namespace

extern "C"
{
	int fake_allocations()
	{
		return allocations;
	}

	int cuInit(unsigned)
	{
		return 0;
	}

	int cuGetErrorString(int status, const char** text)
	{
		*text = status == NO_CONTEXT ? "no context" : "invalid value";
		return 0;
	}

	int cuDeviceGet(int* device, int index)
	{
		*device = index;
		return index == 0 ? 0 : INVALID_VALUE;
	}

	int cuDevicePrimaryCtxRetain(void** context, int)
	{
		*context = &contexts;
		return 0;
	}

	int cuDeviceGetName(char* name, int size, int)
	{
		std::snprintf(name, size_t(size), "fake");
		return 0;
	}

	int cuCtxPushCurrent_v2(void* context)
	{
		++contexts;
		return context == &contexts ? 0 : INVALID_VALUE;
	}

	int cuCtxPopCurrent_v2(void** context)
	{
		*context = &contexts;
		return contexts-- > 0 ? 0 : NO_CONTEXT;
	}

	int cuCtxSynchronize()
	{
		return contexts ? 0 : NO_CONTEXT;
	}

	int cuMemAlloc_v2(unsigned long long* pointer, size_t size)
	{
		*pointer = reinterpret_cast<unsigned long long>(std::malloc(size));
		++allocations;
		return !contexts ? NO_CONTEXT : size ? 0 : INVALID_VALUE;
	}

	int cuMemFree_v2(unsigned long long pointer)
	{
		std::free(reinterpret_cast<void*>(pointer));
		--allocations;
		return contexts ? 0 : NO_CONTEXT;
	}

	int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t size)
	{
		std::memcpy(reinterpret_cast<void*>(to), from, size);
		return contexts ? 0 : NO_CONTEXT;
	}

	int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t size)
	{
		std::memcpy(to, reinterpret_cast<const void*>(from), size);
		return contexts ? 0 : NO_CONTEXT;
	}

	int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values)
	{
		*module = strdup(static_cast<const char*>(image)); // as the driver, which compiles it
		const bool is_ptx = std::strstr(static_cast<const char*>(image), ".visible .entry") != nullptr;
		if (!is_ptx && count == 2 && options[0] == 5 && options[1] == 6)
			std::snprintf(static_cast<char*>(values[0]), reinterpret_cast<size_t>(values[1]),
						  "no kernel inside");
		return is_ptx && contexts ? 0 : INVALID_VALUE;
	}

	int cuModuleGetFunction(void** function, void* module, const char* name)
	{
		const std::string entry = std::string(".entry ") + name + "(";
		*function = new Function{name};
		return std::strstr(static_cast<const char*>(module), entry.c_str()) ? 0 : INVALID_VALUE;
	}

	int cuFuncSetAttribute(void* function, int attribute, int value)
	{
		static_cast<Function*>(function)->max_shared = value;
		return attribute == 8 && value <= 227 << 10 ? 0 : INVALID_VALUE;
	}

	int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
					   unsigned, unsigned shared, void*, void** arguments, void**)
	{
		const auto& call = *static_cast<const mocpack::states::Call*>(arguments[0]);
		const auto& own = *static_cast<Function*>(function);
		const size_t floats = mocpack_states_scratch_floats(&call), groups = threads / 8;
		if (!contexts || y != 1 || z != 1 || threads > 128 || threads % 32 || int(shared) > own.max_shared ||
			shared < groups * floats * sizeof(float) || (unsigned long long)(call.count) > x * groups ||
			(own.name.rfind("bodies", 0) == 0) != (call.velocity->is_of_bodies != 0))
			return INVALID_VALUE;
		std::vector<float> scratch(floats);
		mocpack_write_states(&call, own.name.find("float16") != std::string::npos, 0, call.count,
							 scratch.data());
		return 0;
	}
}
