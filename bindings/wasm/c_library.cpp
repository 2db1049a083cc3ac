// The C library functions that the reader and the receiver of live streams need.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Exact for normal results.
extern "C" double ldexp(double x, int n)
{
	const uint64_t bits = uint64_t(n + 1023) << 52;
	double power;
	std::memcpy(&power, &bits, sizeof power);
	return x * power;
}

// Does not handle NaN.
extern "C" double fmax(double a, double b)
{
	return __builtin_wasm_max_f64(a, b);
}

extern "C" int memcmp(const void* a, const void* b, size_t size)
{
	const uint8_t *x = static_cast<const uint8_t*>(a), *y = static_cast<const uint8_t*>(b);
	for (size_t i = 0; i < size; ++i)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}
