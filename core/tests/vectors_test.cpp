// The vectors for compilers without vector types do what those of this compiler do, bit for bit.
#include "math/vectors.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#if MOCPACK_VECTOR_TYPES

namespace
{

const size_t LANES = 8;
using Plain = mocpack::PlainVector<float, LANES>;
typedef float Native __attribute__((vector_size(4 * LANES)));

uint32_t state = 1;

float next()
{
	state = state * 1664525u + 1013904223u;
	return (float(state >> 8) / float(1 << 24) - 0.5f) * float(1 << (state >> 3) % 12);
}

bool same(const Plain& plain, const Native& native)
{
	return std::memcmp(&plain, &native, sizeof plain) == 0;
}

} // namespace

int main()
{
	int wrong = 0;
	for (int round = 0; round < 1000; ++round)
	{
		Plain a, b;
		for (size_t l = 0; l < LANES; ++l)
			a[l] = next(), b[l] = next();
		Native x, y;
		std::memcpy(&x, &a, sizeof x), std::memcpy(&y, &b, sizeof y);
		wrong += !same(a + b, x + y) + !same(a - b, x - y) + !same(a * b, x * y) + !same(a / b, x / y);
		wrong += !same(-a, -x) + !same(2.0f * a, 2.0f * x) + !same(a * 3.0f, x * 3.0f);
		wrong += !same(a - 1.0f, x - 1.0f) + !same(1.0f + a, 1.0f + x);
		wrong += !same(mocpack::larger(a, b), x > y ? x : y);
		Plain c = a;
		Native z = x;
		c += b, z += y, c *= a, z *= x, c -= b, z -= y;
		wrong += !same(c, z);
	}
	if (wrong)
		std::printf("%d results differ\n", wrong);
	return wrong != 0;
}

#else

int main()
{
	return 0; // nothing to compare with
}

#endif
