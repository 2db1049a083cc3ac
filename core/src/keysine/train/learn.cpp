// Training of the models of `keysine`: follows the symbols of payloads, and says what they would cost.
#include <cmath>
#include <cstring>

#include "common/crc16.h"
#include "keysine/decode/curves.h"
#include "keysine/decode/head.h"
#include "keysine/decode/head_symbols.h"
#include "keysine/decode/symbols.h"
#include "keysine/encode/search.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// Codes nowhere: learns, and adds up the bits.
struct Trainer
{
	uint32_t count_limit;
	double bits = 0;

	void pay(int value, double one)
	{
		bits -= std::log2((value ? one : 65536.0 - one) / 65536.0);
	}
	int bit(const Contexts& c, uint32_t level, int value)
	{
		Mixed m = mix(c, level);
		pay(value, m.one);
		learn(c, level, m, value, count_limit);
		return value;
	}
	int bit(uint32_t& state, int value)
	{
		pay(value, one_of(state));
		learn(&state, value);
		return value;
	}
	int coin(int value)
	{
		bits += 1;
		return value;
	}
};

} // namespace

size_t mocpack_keysine_models_size(void)
{
	return sizeof(Models);
}

void mocpack_keysine_models_start(int32_t model, void* models)
{
	start_models(static_cast<Models*>(models), model);
}

double mocpack_keysine_learn_head(const mocpack_KeysineHead* head, void* models)
{
	Trainer trainer = {COUNT_LIMIT};
	HeadSymbols<Trainer> symbols(trainer, *static_cast<Models*>(models));
	symbols.sizes(head->sizes, head->segment_count, SEGMENT_SIZE);
	symbols.sizes(head->sizes + head->segment_count, head->group_count, GROUP_SIZE);
	symbols.plan(head->table, *head->plan.skeleton);
	return trainer.bits;
}

double mocpack_keysine_learn_segment(const mocpack_KeysineHead* head, int32_t* keys, size_t key_count,
									 void* models, int32_t count_limit, void* scratch)
{
	Trainer trainer = {uint32_t(count_limit)};
	Symbols<Trainer>(trainer, *static_cast<Models*>(models), head->plan)
		.keys(keys, key_count, static_cast<uint8_t*>(scratch));
	return trainer.bits;
}

double mocpack_keysine_learn_group(const mocpack_KeysineHead* head, size_t group, const uint8_t* src,
								   size_t size, void* models, int32_t count_limit, double* counts,
								   void* scratch)
{
	const Plan& plan = head->plan;
	GroupSymbols symbols;
	if (head->layer_count != 1 ||
		read_group(head, group, &src, &size, 1, plan.track_count, &symbols, scratch) != MOCPACK_OK)
		return -1;
	Trainer trainer = {uint32_t(count_limit)};
	Shape shape = {symbols.blocks, symbols.stride, symbols.lengths, head->tempo};
	Symbols<Trainer>(trainer, *static_cast<Models*>(models), plan)
		.group(shape, plan.track_count, symbols.steps, symbols.values, symbols.reaches);
	for (size_t c = 0; counts && c < plan.channel_count; ++c)
		for (int32_t b = 0; b < symbols.blocks; ++b)
		{
			const int32_t* row = symbols.values + (int32_t(c) * symbols.blocks + b) * symbols.stride;
			const int32_t* before = b ? row - symbols.stride : nullptr;
			for (int32_t k = 1; k <= symbols.lengths[b]; ++k)
			{
				int32_t one = lesser(magnitude(row[k - 1]), 9),
						two = k > 1 ? lesser(magnitude(row[k - 2]), 9) : 0;
				int32_t was = !before ? 0
									  : 2 * lesser(magnitude(before[k]), 9) +
											lesser(magnitude(before[k - 1]), 9) +
											lesser(magnitude(before[k + 1]), 9);
				size_t at =
					size_t((band_of(k, head->tempo) * RATE_NEAR + lesser(2 * one + two, 7)) * RATE_BEFORE +
						   lesser(was, 7));
				counts[at * RATE_SIZES + size_t(lesser(magnitude(row[k]), RATE_SIZES - 1))] += 1;
			}
		}
	return trainer.bits;
}
