// Where the models of `keysine` start, in place of keysine/decode/models.cpp: unpacked when the program
// starts.
#include <cstring>

#include "common/logistic.h"
#include "trained.h"

extern "C" uint8_t __heap_base; // where the linker's part of memory ends

namespace mocpack
{

LogisticTables LOGISTIC;

namespace keysine
{

std::array<uint16_t, 2 * DOMAIN> SQUASH;
std::array<int16_t, 4096> LOGITS;
std::array<uint16_t, 1024> RATES;

namespace
{

const uint8_t PACKED[] = {
#include "trained.inc"
};

uint16_t states[TRAINED_SETS][TRAINED_COUNT];
int16_t weights[TRAINED_SETS][WEIGHT_COUNT];

// Room for a while, in the memory that clips will take.
TrainedModels* room_to_unpack()
{
	__builtin_wasm_memory_grow(0, sizeof(TrainedModels) / 65536 + 1);
	return reinterpret_cast<TrainedModels*>((reinterpret_cast<uintptr_t>(&__heap_base) + 31) / 32 * 32);
}

__attribute__((constructor)) void unpack()
{
	SQUASH = make_squash();
	LOGITS = make_logits();
	RATES = make_rates();
	LOGISTIC = make_logistic_tables();
	Reader reader = {RangeDecoder(PACKED, sizeof(PACKED))};
	Trained<Reader> trained(reader, *room_to_unpack());
	trained.sets(states[0]);
	trained.weights(weights[0]);
}

// Twelve bits of probability, four of half the count.
uint32_t expanded(uint32_t packed)
{
	return packed >> 4 << 20 | 1u << 19 | (packed & 15) * 2;
}

} // namespace

int model_sets()
{
	return TRAINED_SETS;
}

// The decoder asks for sets that there are, and for no other.
void start_models(Models* models, int set)
{
	for (int i = 0; i < STATE_COUNT; ++i)
		models->states[i] = expanded(states[set][i]);
	for (int i = 0; i < WEIGHT_COUNT; ++i)
		models->weights[i] = weights[set][i] * 256;
	for (int i = 0; i < SINGLE_STATES; ++i)
		models->singles[i] = expanded(states[set][STATE_COUNT + i]);
}

} // namespace keysine
} // namespace mocpack
