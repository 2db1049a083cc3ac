// The wavelet round-trips for every length and writes nothing past its signals.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "papers/beaudoin/lifting.h"

int main()
{
	std::mt19937 random(1);
	std::normal_distribution<double> normal;
	int failures = 0;
	for (size_t length = 0; length < 140; ++length)
		for (mocpack_LiftingUpdate update : {MOCPACK_UPDATE_NONE, MOCPACK_UPDATE_42, MOCPACK_UPDATE_44})
		{
			std::vector<double> signals(2 * length), scratch(length);
			for (double& sample : signals)
				sample = normal(random);
			std::vector<double> before = signals;
			mocpack_lifting_forward(signals.data(), 2, length, update, scratch.data());
			mocpack_lifting_inverse(signals.data(), 2, length, update, scratch.data());
			double worst = 0;
			for (size_t i = 0; i < signals.size(); ++i)
				worst = std::fmax(worst, std::fabs(signals[i] - before[i]));
			if (!(worst < 1e-12))
				printf("failed: length %zu, update %d, off by %g\n", length, int(update), worst), ++failures;
		}
	return failures != 0;
}
