// Access to the symbols of a group and the trained tables, for training and the Python decoder.
#include <cstring>
#include <type_traits>

#include "keysine/decode/grid.h"
#include "keysine/decode/head.h"
#include "keysine/train/train.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// Appends `count` integers; returns the end.
int32_t* append(int32_t* end, const int32_t* values, size_t count)
{
	std::memcpy(end, values, count * sizeof(int32_t));
	return end + count;
}

mocpack_Status series_symbols(const mocpack_KeysineHead* head, size_t group, const int32_t* keys,
							  const uint8_t* src, size_t size, int32_t* numbers, size_t* count, void* scratch)
{
	const Plan& plan = head->plan;
	GroupSymbols symbols;
	mocpack_Status status =
		read_group(head, group, keys, &src, &size, 1, plan.track_count, &symbols, scratch);
	if (status != MOCPACK_OK)
		return status;
	const Shape& shape = symbols.shape;
	const size_t blocks = size_t(shape.blocks), channels = plan.channel_count;
	int32_t longest = 1;
	for (size_t b = 0; b < blocks; ++b)
		longest = shape.lengths[b] < longest ? longest : shape.lengths[b] + 1;
	*count =
		3 + (blocks + 1) * channels + (plan.track_count + 1) * blocks + channels * blocks * size_t(longest);
	if (!numbers)
		return MOCPACK_OK;
	const int32_t first[3] = {int32_t(blocks), longest, shape.tempo};
	numbers = append(numbers, first, 3);
	numbers = append(numbers, symbols.keys, (blocks + 1) * channels);
	numbers = append(numbers, symbols.rows.steps, plan.track_count * blocks);
	numbers = append(numbers, shape.lengths, blocks);
	for (size_t i = 0; i < channels * blocks; ++i)
		numbers = append(numbers, symbols.rows.values + i * size_t(shape.stride) + MARGIN, size_t(longest));
	return MOCPACK_OK;
}

mocpack_Status grid_symbols(const mocpack_KeysineHead* head, size_t group, const uint8_t* src, size_t size,
							int32_t* found, size_t* count, void* scratch)
{
	static_assert(MOCPACK_KEYSINE_GRID_COLUMNS == GRID_INPUTS + 2, "columns of a number");
	const Plan& plan = head->plan;
	const size_t frames = head->grouping.length(group);
	*count = (frames - 1) * plan.channel_count * MOCPACK_KEYSINE_GRID_COLUMNS;
	if (!found || frames < 2)
		return MOCPACK_OK;
	if (size < 2)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	GridGroup own(*head, &arena), again(*head, &arena);
	GridModel reading(plan, own.series), model(plan, again.series);
	TableReader reader(src + 2, size - 2); // after the checksum
	GridRows<TableReader> rows(reader, plan, reading, own.finer);
	size_t channels = plan.channel_count;
	std::memset(own.numbers, 0, 2 * channels * sizeof(int32_t));
	for (size_t f = 1; f < frames; ++f)
	{
		rows.begin_row(), model.forecast.begin_row();
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			GridSample place = {};
			if (!rows.track(t, own.numbers + channels, &place))
				return MOCPACK_CORRUPT;
			for (int32_t c = 0; c < plan.tracks[t].channels; ++c, found += MOCPACK_KEYSINE_GRID_COLUMNS)
			{
				size_t channel = size_t(plan.tracks[t].first_channel + c);
				int32_t before = own.numbers[channel], inputs[GRID_INPUTS];
				int64_t predicted = model.predict(channel, before);
				RoundedPrediction side(predicted);
				model.levels.look(int32_t(t), c, inputs);
				std::memcpy(found, inputs, sizeof(inputs));
				found[GRID_INPUTS] = side.fraction;
				found[GRID_INPUTS + 1] = int32_t(side.way(place.number[c]));
				model.learn(channel, predicted, before, place.number[c]);
			}
		}
		rows.end_row(), model.forecast.end_row();
		std::memcpy(own.numbers, own.numbers + channels, channels * sizeof(int32_t));
	}
	return reader.all_read() && !reader.exhausted() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace

mocpack_Status mocpack_keysine_group_symbols(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 int32_t* numbers, size_t* count, void* scratch)
{
	return head->grid ? grid_symbols(head, group, src, size, numbers, count, scratch)
					  : series_symbols(head, group, keys, src, size, numbers, count, scratch);
}

void mocpack_keysine_track(const mocpack_KeysineHead* head, size_t t, int32_t* row)
{
	const Track& track = head->plan.tracks[t];
	row[0] = track.channels, row[1] = track.first_channel, row[2] = track.parent, row[3] = track.family;
	row[4] = track.key_index;
}

namespace
{

template <typename Table> mocpack_KeysineTable table_of(const char* name, const Table& table)
{
	using Number = std::remove_cv_t<std::remove_all_extents_t<Table>>;
	const void* first = &table;
	const bool starts = std::is_unsigned<Number>::value;
	return {name, starts ? static_cast<const uint16_t*>(first) : nullptr,
			starts ? nullptr : static_cast<const int16_t*>(first), sizeof(Table) / sizeof(Number)};
}

} // namespace

int mocpack_keysine_trained_table(size_t index, mocpack_KeysineTable* table)
{
	const mocpack_KeysineTable tables[] = {
		table_of("MAGNITUDE_WEIGHTS", MAGNITUDE_WEIGHTS),
		table_of("MAGNITUDE_CONSTANTS", MAGNITUDE_CONSTANTS),
		table_of("MAGNITUDE_LIFTS", MAGNITUDE_LIFTS),
		table_of("MAGNITUDE_TABLES", MAGNITUDE_TABLES),
		table_of("REACH_WEIGHTS", REACH_WEIGHTS),
		table_of("REACH_FAMILIES", REACH_FAMILIES),
		table_of("REACH_TABLES", REACH_TABLES),
		table_of("STEP_TABLES", STEP_TABLES),
		table_of("KEY_WEIGHTS", KEY_WEIGHTS),
		table_of("KEY_FAMILIES", KEY_FAMILIES),
		table_of("KEY_TABLES", KEY_TABLES),
		table_of("SPLIT_TABLE", SPLIT_TABLE),
		table_of("HEAD_TABLES", HEAD_TABLES),
		table_of("KIND_STARTS", KIND_STARTS),
		table_of("GRID_WEIGHTS", GRID_WEIGHTS),
		table_of("GRID_SIDED_TABLES", GRID_SIDED_TABLES),
		table_of("GRID_TABLES", GRID_TABLES),
	};
	if (index >= sizeof(tables) / sizeof(tables[0]))
		return 0;
	*table = tables[index];
	return 1;
}
