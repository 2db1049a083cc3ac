// Codes a group in the layers of a payload.
#pragma once
#include <initializer_list>

#include "common/arena.h"
#include "keysine/decode/group_symbols.h"
#include "keysine/encode/encoder.h"

namespace mocpack
{
namespace keysine
{

// Shifts (layers - 1, 2, tracks) of keys and coefficients.
struct ShiftTable
{
	const uint8_t* shifts;
	size_t layers, tracks;

	LayerShifts of(size_t layer) const
	{
		if (layer + 1 >= layers)
			return {nullptr, nullptr};
		return {shifts + 2 * layer * tracks, shifts + (2 * layer + 1) * tracks};
	}
};

// Computes the steps (tracks, blocks) of a layer. A track without nonzero coefficients does not move: -1.
inline void still_steps(const Plan& plan, const GroupSymbols& whole, const int32_t* values, int32_t* steps)
{
	size_t blocks = size_t(whole.shape.blocks), stride = size_t(whole.shape.stride);
	for (size_t t = 0; t < plan.track_count; ++t)
		for (size_t b = 0; b < blocks; ++b)
		{
			bool moves = false;
			for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
			{
				const int32_t* row =
					values + (size_t(plan.tracks[t].first_channel + c) * blocks + b) * stride;
				for (size_t k = 0; k < stride; ++k)
					moves = moves || row[k];
			}
			steps[t * blocks + b] = moves ? whole.rows.steps[t * blocks + b] : -1;
		}
}

// The symbols of a group: all of them (whole), those of the layers so far (made), and those of the next layer
// (goal).
struct SplitGroup
{
	BundleSymbols read;
	GroupSymbols made, goal;
	GroupSymbols* whole = nullptr;

	SplitGroup(const mocpack_KeysineHead& head, Arena* arena) : read(head, arena)
	{
		lay_out_group(head.plan, head.grouping.longest_group(), &made, arena);
		lay_out_group(head.plan, head.grouping.longest_group(), &goal, arena);
	}

	mocpack_Status open(const mocpack_KeysineHead& head, size_t group, const int32_t* keys,
						const uint8_t* src, size_t size)
	{
		mocpack_KeysineSineCache kept = {};
		return read_group(&head, group, keys, &src, &size, 1, head.plan.track_count, &kept, &read, &whole);
	}

	// Prepares the symbols of a first layer.
	void coarsen(const mocpack_KeysineHead& head, size_t length, const LayerShifts& to)
	{
		const Plan& plan = head.plan;
		shape_group(plan, length, whole->splits, head.tempo, &made);
		find_residuals(plan, whole->keys, whole->splits, whole->residuals);
		coarsen_ends(plan, to.keys, to.keys);
		shift_values(plan, *whole, to.coefficients, made.rows.values);
		still_steps(plan, *whole, made.rows.values, made.rows.steps);
	}

	// Codes how the group is split, and its keys, as a first layer.
	template <typename Coder> bool code_keys(Coder& coder, const Plan& plan, const LayerShifts& to)
	{
		coder.symbol(SPLIT_TABLE, SPLITS, made.splits);
		return InnerKeys<Coder>(coder, plan, made.found)
			.layer(nullptr, to.keys, made.splits, made.keys, made.residuals, whole->residuals);
	}

	bool write(TableWriter& writer, const Plan& plan, const LayerShifts& to)
	{
		return code_keys(writer, plan, to) &&
			   CoefficientSymbols<TableWriter>(writer, plan, made.shape, made.rows, to.coefficients)
				   .group(plan.track_count);
	}

	bool refine(TableWriter& writer, const Plan& plan, const ShiftTable& table, size_t l)
	{
		const LayerShifts from = table.of(l - 1), to = table.of(l);
		goal.shape = made.shape;
		shift_values(plan, *whole, to.coefficients, goal.rows.values);
		still_steps(plan, *whole, goal.rows.values, goal.rows.steps);
		coarsen_ends(plan, table.of(0).keys, to.keys);
		return InnerKeys<TableWriter>(writer, plan, made.found)
				   .layer(from.keys, to.keys, made.splits, made.keys, made.residuals, whole->residuals) &&
			   Refinement<TableWriter>(writer, plan, made.shape, made.rows, to.coefficients)
				   .layer(from.coefficients, plan.track_count, goal.rows.steps, goal.rows.values);
	}

  private:
	// Prepares the keys at the ends of the group for a layer.
	void coarsen_ends(const Plan& plan, const uint8_t* first, const uint8_t* to)
	{
		for (size_t end : {size_t(0), size_t(made.shape.blocks) * plan.channel_count})
			coarsen_keys(plan, first, to, whole->keys + end, 1, made.keys + end);
	}
};

// Codes parts of a payload of one layer again as several. The new parts are in its memory until the next
// call.
class LayerWriter
{
  public:
	// room: for the new parts of a segment or bundle, in bytes
	LayerWriter(const mocpack_KeysineHead& head, const ShiftTable& table, size_t room, Arena* arena);

	// Codes the keys (key_count, channels) of a segment: one part per layer.
	mocpack_Status split_segment(const int32_t* keys, size_t key_count, Bytes* parts);
	// Codes a bundle of `count` groups: one part per group, then one per later layer.
	mocpack_Status split_bundle(size_t first, size_t count, const int32_t* keys, const Bytes* src,
								Bytes* parts);

  private:
	// Ends a part. Without symbols, it is empty.
	mocpack_Status add(TableWriter* writer, bool good, Bytes* part);
	TableWriter writer() const
	{
		return TableWriter(memory_, intervals_);
	}

	const mocpack_KeysineHead& head_;
	const ShiftTable table_;
	SplitGroup groups_[BUNDLE_GROUPS];
	size_t key_count_, intervals_, room_, left_ = 0;
	SymbolInterval* memory_;
	int32_t* keys_;
	uint8_t *found_, *dst_, *at_ = nullptr;
};

} // namespace keysine
} // namespace mocpack
