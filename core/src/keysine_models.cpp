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
	for (AdaptiveBit* bits = models->step_same; bits != models->escape + 32; ++bits)
		*bits = AdaptiveBit();
}

} // namespace keysine
} // namespace mocpack

using namespace mocpack::keysine;

void mocpack_keysine_model_counts(size_t* states, size_t* weights)
{
	*states = size_t(STATE_COUNT);
	*weights = size_t(WEIGHT_COUNT);
}

size_t mocpack_keysine_model_scratch(void)
{
	return sizeof(Models);
}

void mocpack_keysine_model_start(int32_t model, uint32_t* states, int32_t* weights, void* scratch)
{
	Models* models = static_cast<Models*>(scratch);
	start_models(models, model);
	std::memcpy(states, models->states, sizeof(models->states));
	std::memcpy(weights, models->weights, sizeof(models->weights));
}
