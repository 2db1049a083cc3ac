// Where the models of `keysine` start.
#include "keysine_symbols.h"

#include <cstring>

#include "mocpack/core.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int32_t EVEN_WEIGHT = 65536 * 3 / 10;

void start_untrained(Models* models)
{
	for (uint32_t& state : models->states)
		state = HALF_STATE;
	for (int32_t& weight : models->weights)
		weight = EVEN_WEIGHT;
}

} // namespace

void start_models(Models* models, int)
{
	start_untrained(models);
	for (uint32_t& state : models->singles)
		state = HALF_STATE;
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
