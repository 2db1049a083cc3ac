// Writes the trained start of keysine's models, coded as trained.h says, as a list of bytes for C++.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "trained.h"

namespace mocpack
{
namespace keysine
{
#include "keysine/decode/tables.inc"
} // namespace keysine
} // namespace mocpack

using namespace mocpack;
using namespace mocpack::keysine;

static_assert(sizeof(TRAINED_STATES) / sizeof(TRAINED_STATES[0]) == TRAINED_SETS,
			  "as many sets as there are");

int main()
{
	std::vector<uint16_t> states;
	for (int set = 0; set < TRAINED_SETS; ++set)
	{
		states.insert(states.end(), TRAINED_STATES[set], TRAINED_STATES[set] + STATE_COUNT);
		states.insert(states.end(), TRAINED_SINGLES[set], TRAINED_SINGLES[set] + SINGLE_STATES);
	}
	std::vector<uint16_t> back(states.size());
	std::vector<int16_t> weights(TRAINED_WEIGHTS[0], TRAINED_WEIGHTS[0] + TRAINED_SETS * WEIGHT_COUNT);
	std::vector<int16_t> weights_back(weights.size());
	std::vector<uint8_t> dst(4 * states.size());
	auto models = std::make_unique<TrainedModels>();
	Writer writer = {RangeEncoder(dst.data(), dst.size())};
	Trained<Writer> in(writer, *models);
	in.sets(states.data());
	in.weights(weights.data());
	size_t size = writer.coder.finish();
	Reader reader = {RangeDecoder(dst.data(), size)};
	Trained<Reader> out(reader, *models);
	out.sets(back.data());
	out.weights(weights_back.data());
	if (!size || back != states || weights_back != weights)
	{
		std::fputs("pack_trained: the tables do not come back; trained.h has too few bits for them\n",
				   stderr);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < size; ++i)
		std::printf("%d,%c", dst[i], i % 24 == 23 ? '\n' : ' ');
	return EXIT_SUCCESS;
}
