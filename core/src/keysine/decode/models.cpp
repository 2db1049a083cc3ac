// Where the models of `keysine` start.
#include "keysine/decode/symbols.h"

#include <cstring>

#include "mocpack/core.h"

namespace mocpack
{
namespace keysine
{

namespace
{

#include "keysine/decode/tables.inc"

const int32_t EVEN_WEIGHT = 65536 * 3 / 10;
const int SETS = int(sizeof(TRAINED_STATES) / sizeof(TRAINED_STATES[0]));

// Twelve bits of probability, four of half the count.
constexpr uint32_t expanded(uint32_t packed)
{
	return packed >> 4 << 20 | 1u << 19 | (packed & 15) * 2;
}

template <size_t Count> constexpr std::array<uint32_t, Count> expand(const uint16_t (&packed)[Count])
{
	std::array<uint32_t, Count> states{};
	for (size_t i = 0; i < Count; ++i)
		states[i] = expanded(packed[i]);
	return states;
}

// Expanded by the compiler, since every group starts with a copy.
constexpr std::array<uint32_t, STATE_COUNT> STARTS[SETS] = {
	expand(TRAINED_STATES[0]), expand(TRAINED_STATES[1]), expand(TRAINED_STATES[2])};

void start_untrained(Models* models)
{
	for (uint32_t& state : models->states)
		state = HALF_STATE;
	for (int i = 0; i < WEIGHT_COUNT; ++i)
		models->weights[i] = i < PLAIN_WEIGHTS ? EVEN_WEIGHT : 0;
	for (uint32_t& state : models->singles)
		state = HALF_STATE;
}

} // namespace

int model_sets()
{
	return SETS;
}

void start_models(Models* models, int set)
{
	if (set < 0 || set >= SETS)
		return start_untrained(models);
	std::memcpy(models->states, STARTS[set].data(), sizeof(models->states));
	for (int i = 0; i < WEIGHT_COUNT; ++i)
		models->weights[i] = TRAINED_WEIGHTS[set][i] * 256;
	for (int i = 0; i < SINGLE_STATES; ++i)
		models->singles[i] = expanded(TRAINED_SINGLES[set][i]);
}

} // namespace keysine
} // namespace mocpack

using namespace mocpack::keysine;

void mocpack_keysine_model_counts(size_t* counts)
{
	counts[0] = size_t(STATE_COUNT);
	counts[1] = size_t(WEIGHT_COUNT);
	counts[2] = size_t(SINGLE_STATES);
}

void mocpack_keysine_model_start(int32_t model, uint32_t* states, int32_t* weights, uint32_t* singles,
								 void* scratch)
{
	Models* models = static_cast<Models*>(scratch);
	start_models(models, model);
	std::memcpy(states, models->states, sizeof(models->states));
	std::memcpy(weights, models->weights, sizeof(models->weights));
	std::memcpy(singles, models->singles, sizeof(models->singles));
}
