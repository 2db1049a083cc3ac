// Codes the groups of a `keysine` clip. Chooses the number of blocks in each group, and the variants by which
// they are searched.
#include <cmath>
#include <utility>

#include "keysine/encode/block.h"
#include "keysine/encode/spans.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int MAX_KEPT_VARIANTS = 2; // of a block with hinges; its limbs are searched from each of them

// A variant of the search of a whole block, and its cost.
struct KeptVariant
{
	Variant variant;
	double cost;
	SavedHinges hinges;
};

// The cheapest encoding of a group so far; its size is 0 if there is none.
struct Attempt
{
	uint8_t* bytes;
	size_t size;
	double cost;
	int splits;
};

// How often a group may be halved.
struct SplitRange
{
	int least, most;
};

class GroupCoder
{
  public:
	GroupCoder(const Encoder* encoder, Arena* arena)
		: e_(*encoder), block_(encoder, arena), symbols_(block_.state().symbols)
	{
		room_ = group_shares(e_.plan, e_.grouping.longest_group());
		shares_ = arena->allocate<SymbolInterval>(room_);
		best_.bytes = arena->allocate<uint8_t>(group_bytes(*encoder));
		spare_ = arena->allocate<uint8_t>(group_bytes(*encoder));
		kept_ = block_.state().lay_out_saved_block(arena),
		kept_limb_ = block_.state().lay_out_saved_block(arena);
		for (KeptVariant& kept : kept_variants_)
			kept = {{0, 0, {1, 1}}, BitBudget::NOTHING, block_.lay_out_saved_hinges(arena)};
		spans_ = arena->allocate<Span>(e_.plan.skeleton->joint_count);
		branches_ = arena->allocate<int32_t>(e_.plan.skeleton->joint_count);
		spent_ = arena->allocate<double>(2 * e_.plan.track_count);
	}

	// Finds the smallest encoding of a group. keys (2^splits + 1, channels) are all keys that it can use.
	mocpack_Status run(size_t group, const int32_t* keys, EncodedGroup* encoded)
	{
		const size_t size = find(group, keys);
		*encoded = {{best_.bytes, size}, block_.search().work()};
		return size ? MOCPACK_OK : MOCPACK_BOUND_NOT_MET;
	}

  private:
	// Returns the size of the smallest encoding in bytes, 0 if there is none.
	size_t find(size_t group, const int32_t* keys)
	{
		group_ = group, all_keys_ = keys;
		const size_t length = e_.grouping.length(group);
		splits_.least = e_.least_splits, splits_.most = e_.usable_splits[group];
		while (splits_.most > splits_.least && size_t(e_.constants.min_block_frames) << splits_.most > length)
			--splits_.most;
		best_.cost = 1e300, best_.size = 0;
		if (splits_.most < splits_.least) // too few keys are valid for blocks that are short enough
			return 0;
		failed_ = 0;
		const double work = e_.job.work_per_frame;
		block_.search().set_work_limit(work > 0 ? work * double(length) : HUGE_VAL);
		span_count_ = find_spans(e_.plan, spans_, branches_);
		block_.set_spans(spans_, span_count_);
		const SearchSettings& s = e_.job.settings;
		const bool tries_all = s.exhaustive && s.thorough && s.excess_penalty > 0;
		if (tries_all)
			find_all();
		else
		{
			find_splits();
			if (by_limb() && best_.size)
				attempt_by_block(best_.splits);
			else if (s.excess_penalty > 0)
				find_weight();
		}
		// if nothing has kept the allowances so far, try every number of blocks
		for (int splits = splits_.least; splits <= splits_.most && !best_.size && !tries_all; ++splits)
			attempt(splits, 0);
		return best_.size;
	}

	// Finds the number of blocks that gives the smallest group. Begins with the expected number, then doubles
	// or halves it while the group shrinks. Compares sketches, unless the settings are exhaustive: then all
	// numbers in the range are searched in full.
	void find_splits()
	{
		const SearchSettings& s = e_.job.settings;
		int first = s.splits < splits_.least  ? splits_.least
					: s.splits > splits_.most ? splits_.most
											  : s.splits;
		const bool sketch = !s.exhaustive && s.split_tries > 0;
		block_.search().set_sketch(sketch);
		attempt(first, 0);
		bool up = false;
		for (int splits = first + 1, tried = 0; splits <= splits_.most && tried < s.split_tries;
			 ++splits, ++tried)
		{
			bool better = attempt(splits, 0);
			up = up || better;
			if (!better && !s.exhaustive)
				break;
		}
		for (int splits = first - 1, tried = 0;
			 splits >= splits_.least && tried < s.split_tries && (!up || s.exhaustive); --splits, ++tried)
			if (!attempt(splits, 0) && !s.exhaustive)
				break;
		if (!sketch)
			return;
		block_.search().set_sketch(false);
		best_.cost = 1e300;
		first = best_.size ? best_.splits : first;
		best_.size = 0;
		attempt(first, 0);
	}

	// Returns whether a block with hinges is coded as a whole in one variant only, and then its limbs in
	// several. Limbs gain most from variants. Only the longest search also tries several variants of the
	// whole block.
	bool by_limb() const
	{
		const SearchSettings& s = e_.job.settings;
		return e_.hinged && s.weight_tries && !s.thorough && s.excess_penalty > 0;
	}

	// Tries every number of blocks. For those that come near the smallest size, tries several variants of
	// every block.
	void find_all()
	{
		double costs[MAX_SPLITS + 1];
		for (int splits = splits_.least; splits <= splits_.most; ++splits)
			attempt(splits, 0), costs[splits] = cost_;
		double near = e_.constants.near_best_ratio * best_.cost;
		for (int splits = splits_.least; splits <= splits_.most; ++splits)
			if (costs[splits] <= near)
				attempt_by_block(splits);
	}

	// Tries repeated halvings, then doublings, of the penalty of errors within the bound, with the best
	// number of blocks.
	void find_weight()
	{
		const SearchSettings& s = e_.job.settings;
		int splits = best_.splits;
		bool cheaper = false;
		for (int k = 1; k <= s.weight_tries && best_.size; ++k)
		{
			if (!attempt(splits, -k))
				break;
			cheaper = true;
		}
		for (int k = 1; k <= s.weight_tries && best_.size && !cheaper; ++k)
			if (!attempt(splits, k))
				break;
	}

	// Codes the group in 2^splits blocks, with the penalty doubled `doublings` times. Keeps the result and
	// returns true if it is the best so far.
	bool attempt(int splits, int doublings)
	{
		cost_ = BitBudget::NOTHING;
		// a full search that failed would fail again
		if ((best_.size && block_.search().is_spent()) || (!doublings && failed_ >> splits & 1))
			return false;
		block_.set_variant({doublings, 0, {1, 1}});
		if (!begin_attempt(splits))
			return false;
		for (size_t b = 0; b < size_t(symbols_.shape.blocks); ++b)
			if (is_stopped(e_) || !block_.code(b))
			{
				if (!doublings && !block_.search().sketches())
					failed_ |= 1 << splits;
				return false;
			}
		return finish_attempt();
	}

	// Does the same, but takes the cheapest of several variants for each block. Blocks hardly depend on one
	// another.
	bool attempt_by_block(int splits)
	{
		if ((best_.size && block_.search().is_spent()) || !begin_attempt(splits))
			return false;
		BitBudget budget(e_.constants, e_.plan, symbols_, spent_);
		block_.set_budget(&budget);
		bool found = true;
		for (int32_t b = 0; b < symbols_.shape.blocks && found; ++b)
			found = best_block(b, budget);
		block_.set_budget(nullptr);
		block_.set_variant({0, 0, {1, 1}});
		return found && finish_attempt();
	}

	bool finish_attempt()
	{
		TableWriter writer(shares_, room_);
		if (!write_group(writer, e_.plan, symbols_.keys, &symbols_))
			return false;
		const size_t size = seal(spare_, writer.finish(spare_ + 2, group_bytes(e_) - 2)).size;
		if (!size)
			return false;
		cost_ = (8.0 * double(size) + block_.errors()) * (1 + e_.job.settings.split_cost * symbols_.splits);
		if (cost_ >= best_.cost)
			return false;
		std::swap(best_.bytes, spare_);
		best_.cost = cost_, best_.size = size, best_.splits = symbols_.splits;
		block_.search().report();
		return true;
	}

	// Finds the cheapest encoding of a block: first by variants of the whole block, then by variants of its
	// limbs. Returns false if there is none.
	bool best_block(int32_t b, BitBudget& budget)
	{
		double least = BitBudget::NOTHING, errors = block_.errors(), least_errors = 0;
		const Span whole = whole_span(e_.plan);
		auto cheaper = [&](const Variant& variant)
		{
			if (is_stopped(e_) || (least < BitBudget::NOTHING && block_.search().is_spent()))
				return false;
			block_.set_variant(variant);
			block_.set_errors(errors);
			// blocks with hinges can be coded several times per variant, so none is stopped for its bits
			budget.begin(b, e_.hinged ? BitBudget::NOTHING : least);
			bool found = block_.code(size_t(b));
			budget.end();
			if (!found)
				return false;
			double cost = budget.bits_of(whole, b) + block_.errors() - errors;
			keep_variant(variant, cost);
			if (cost >= least)
				return false;
			least = cost, least_errors = block_.errors();
			budget.keep();
			block_.state().copy_span(kept_, whole, true);
			return true;
		};
		for (KeptVariant& kept : kept_variants_)
			kept.cost = BitBudget::NOTHING;
		if (!by_limb() || !cheaper(Variant{0, 0, {1, 1}}))
			best_way(cheaper);
		block_.set_errors(least_errors);
		if (least >= BitBudget::NOTHING)
			return false;
		const bool limbs = e_.job.settings.excess_penalty > 0 && (span_count_ > 1 || spans_[0].limb);
		for (const KeptVariant& kept : kept_variants_)
		{
			if (!limbs || kept.cost >= BitBudget::NOTHING)
				continue;
			double cost = limb_by_limb(b, kept, budget);
			if (cost >= least)
				continue;
			least = cost;
			block_.state().copy_span(kept_, whole, true);
		}
		block_.state().copy_span(kept_, whole, false);
		return true;
	}

	// Adds a variant of the whole block to the cheapest ones, if it is one of them. They are sorted by cost.
	void keep_variant(const Variant& variant, double cost)
	{
		const int most = e_.hinged && !by_limb() ? MAX_KEPT_VARIANTS : 1;
		if (cost >= kept_variants_[most - 1].cost)
			return;
		KeptVariant kept = {variant, cost, kept_variants_[most - 1].hinges};
		block_.save_hinges(kept.hinges);
		int at = most - 1;
		for (; at > 0 && kept_variants_[at - 1].cost > cost; --at)
			kept_variants_[at] = kept_variants_[at - 1];
		kept_variants_[at] = kept;
	}

	// Tries one variant after another, each based on the cheapest so far.
	template <typename Try> void best_way(Try cheaper) const
	{
		Variant best = {0, 0, {1, 1}};
		const int most = e_.job.settings.weight_tries;
		cheaper(best);
		for (int side = -1; side <= 1; side += 2)
			for (int k = 1; k <= most && best.doublings * side >= 0; ++k)
			{
				if (!cheaper(Variant{side * k, 0, {1, 1}}))
					break;
				best.doublings = side * k;
			}
		try_others(cheaper, &best);
	}

	// Tries other slacks and prices of hinges, then roundings, then penalties.
	template <typename Try> void try_others(Try cheaper, Variant* best) const
	{
		const double price = e_.constants.hinge_price_ratio, slack = e_.constants.hinge_slack_ratio;
		const HingeVariant variants[] = {{1, 1 / price}, {1, price}, {slack, 1}, {1 / slack, 1}};
		int left = !e_.hinged ? 0 : by_limb() ? 2 : 4; // prices come first, because they save most
		for (const HingeVariant& hinges : variants)
			if (left-- > 0 && cheaper(Variant{best->doublings, best->rounding, hinges}))
				best->hinges = hinges;
		const float change = float(e_.constants.rounding_change);
		for (float rounding : {-change, change})
			if (cheaper(Variant{best->doublings, rounding, best->hinges}))
				best->rounding = rounding;
		const int doublings = best->doublings;
		for (int k = -1; k <= 1; k += 2)
			if (cheaper(Variant{doublings + k, best->rounding, best->hinges}))
				best->doublings = doublings + k;
	}

	// Codes a block span by span with a kept variant, and takes the cheapest of several variants for each
	// limb. Limbs can be chosen one by one because they depend only on their ancestors and predictors.
	// Returns the bits.
	double limb_by_limb(int32_t b, const KeptVariant& kept, BitBudget& budget)
	{
		double total = 0;
		for (size_t i = 0; i < span_count_; ++i)
		{
			// earlier limbs can predict this one, and have changed since
			if (!block_.code_span(spans_[i], kept.variant, &kept.hinges))
				return BitBudget::NOTHING;
			total += spans_[i].limb && !spans_[i].empty() ? best_limb(spans_[i], b, kept, budget)
														  : budget.bits_of(spans_[i], b);
		}
		return total;
	}

	// Finds the cheapest variant of a limb that is already coded with the variant of the whole block. Then
	// keeps its upper half and searches the lower half, and so on, unless by_limb(). Returns the bits.
	double best_limb(Span span, int32_t b, const KeptVariant& kept, BitBudget& budget)
	{
		double total = 0;
		Variant variant = kept.variant;
		for (;;)
		{
			double least = budget.bits_of(span, b);
			budget.keep();
			block_.state().copy_span(kept_limb_, span, true);
			auto cheaper = [&](const Variant& other)
			{
				if (is_stopped(e_) || block_.search().is_spent())
					return false;
				budget.begin(b, least);
				bool found = block_.code_span(span, other);
				budget.end();
				if (!found)
					return false;
				double cost = budget.bits_of(span, b);
				if (cost >= least)
					return false;
				least = cost;
				budget.keep();
				block_.state().copy_span(kept_limb_, span, true);
				return true;
			};
			try_others(cheaper, &variant);
			block_.state().copy_span(kept_limb_, span, false);
			Span upper = upper_half(e_.plan, span);
			if (upper.empty() || by_limb())
				return total + least;
			total += budget.bits_of(upper, b);
			span.first_joint = upper.end_joint, span.first_track = upper.end_track;
		}
	}

	bool begin_attempt(int splits)
	{
		cost_ = BitBudget::NOTHING;
		return block_.begin(group_, all_keys_, splits);
	}

	const Encoder& e_;
	BlockCoder block_;
	GroupSymbols& symbols_;
	SymbolInterval* shares_;
	size_t room_;
	SavedBlock kept_, kept_limb_;
	KeptVariant kept_variants_[MAX_KEPT_VARIANTS];
	Span* spans_;
	int32_t* branches_; // (J)
	size_t span_count_ = 0;
	double* spent_; // (2, tracks) memory of a BitBudget
	// of the current group
	size_t group_ = 0;
	const int32_t* all_keys_ = nullptr;
	SplitRange splits_ = {};
	Attempt best_ = {};
	uint8_t* spare_;  // bytes of the current attempt
	double cost_ = 0; // of the current attempt
	int failed_ = 0;  // numbers of splits that a full search could not code, one bit each
};

} // namespace

bool write_group(TableWriter& writer, const Plan& plan, int32_t* keys, GroupSymbols* symbols)
{
	writer.symbol(SPLIT_TABLE, SPLITS, symbols->splits);
	return KeySymbols<TableWriter>(writer, plan, symbols->found).between(keys, symbols->splits) &&
		   CoefficientSymbols<TableWriter>(writer, plan, symbols->shape, symbols->rows)
			   .group(plan.track_count);
}

mocpack_Status encode_group(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
							EncodedGroup* encoded)
{
	const bool is_key = arena->has_memory() && encoder.grouping.length(group) == 1;
	if (is_key)
		*encoded = {};
	if (is_key)
		return MOCPACK_OK;
	if (encoder.job.grid_steps)
		return encode_grid(encoder, group, keys, arena, encoded ? &encoded->bytes : nullptr);
	GroupCoder coder(&encoder, arena);
	return arena->has_memory() ? coder.run(group, keys, encoded) : MOCPACK_OK;
}

} // namespace keysine
} // namespace mocpack
