// The groups of a `keysine` clip: closed loop down the skeleton in each block, then the symbols.
#include <cmath>
#include <cstring>

#include "keysine/decode/curves.h"
#include "keysine/decode/rotation.h"
#include "keysine/encode/guards.h"
#include "keysine/encode/spans.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const int RETRIES = 6; // of the search, each aiming further inside
const int32_t SKETCH_STEPS[2] = {7, 9};
const int ALL_WEIGHTS = 3; // tries from which on all are made
const double NEAR_BEST = 1.04;
// Roundings that are tried besides, where all is; where there are hinges, the first few always.
const float OTHER_ROUNDINGS[] = {-0.1f, 0.1f, -0.2f, -0.05f, 0.05f, -0.15f};
// Other shares of what may remain above hinges, and prices of taking it back.
struct HingeWay
{
	double slack, price;
};
const HingeWay OTHER_HINGE_WAYS[] = {{1, 0.3}, {1.5, 1}, {1, 3}, {0.7, 1}, {1.5, 0.3}, {2.2, 1}};
const int MOST_KEPT_WAYS = 2; // for a block with hinges, from which its limbs are chosen
const int FEW_ROUNDINGS = 2;  // of all efforts but the longest, the first few
// Other prices of taking errors back, where there are no hinges.
const double OTHER_TURN_PRICES[] = {3};
const double BEHIND = 0.03, LEAST_BEHIND = 16; // of a block's bits; bits: a try that falls so far behind ends
const int FINER = 40;						   // plain rounding with ever finer steps, after those
const int HINGE_FINER = 30;					   // of them, after which those above leave less to a hinge

// Counts the bits that a writer would write.
class BitCounter
{
  public:
	static constexpr bool READS = false;

	int symbol(const uint16_t* starts, int, int value)
	{
		total += share_bits(starts, value);
		return value;
	}

	int choice(uint32_t zero, int value)
	{
		const uint16_t starts[] = {0, uint16_t(zero), TABLE_WHOLE};
		return symbol(starts, 2, value);
	}

	uint32_t bits(int count, uint32_t value)
	{
		total += count;
		return value;
	}

	double total = 0;
};

// The rows of a block, put aside while another way to write it is tried.
struct KeptBlock
{
	int32_t *steps, *values;   // (tracks); (channels, stride)
	uint8_t *levels, *reaches; // (channels, stride); (channels)
	double* series;			   // (channels, stride), where spans are chosen one by one
	int32_t* extents;		   // (channels)
};

// How a block, or a limb of it, is searched.
struct Way
{
	int doublings; // of the penalty of errors within the bound
	float rounding;
	HingeWay hinges;
};

// A way to search a block, what it cost, and what frames that strained had left in the end.
struct KeptWay
{
	Way way;
	double cost;
	double *slack, *price; // (frames)
};

class GroupCoder
{
  public:
	GroupCoder(const mocpack_KeysineEncoder* encoder, Arena* arena)
		: e_(*encoder), plan_(encoder->plan), rig_(encoder->rig),
		  near_(encoder->plan, symbols_.shape, symbols_.rows)
	{
		size_t group = e_.cut.longest_group(),
			   longest = group < size_t(LONGEST_BLOCK) ? group : size_t(LONGEST_BLOCK);
		stride_ = padded(int32_t(longest));
		size_t stride = size_t(stride_),
			   points = size_t(rig_.most > 1 ? rig_.most : 1) + size_t(most_guards(e_));
		lay_out_scene(&scene_, arena, e_, int32_t(longest));
		lay_out_group(plan_, group, &symbols_, arena);
		room_ = group_shares(plan_, group);
		shares_ = arena->take<Share>(room_);
		spare_ = arena->take<uint8_t>(group_bytes(*encoder));
		frames_ = arena->take<size_t>(stride);
		sines_ = arena->take<double>(longest * stride);
		waves_ = arena->take<float>(longest * stride);
		aims_ = arena->take<double>(4 * stride);
		ahead_ = arena->take<double>(4 * stride);
		curve_ = arena->take<double>(4 * stride);
		series_ = arena->take<double>(plan_.channel_count * stride);
		extents_ = arena->take<int32_t>(plan_.channel_count);
		turns_ = arena->take<Quat>(stride);
		start_ = arena->take<float>(3 * points * stride);
		moves_ = arena->take<float>(12 * points * stride);
		scaled_start_ = arena->take<float>(3 * points * stride);
		scaled_moves_ = arena->take<float>(12 * points * stride);
		wanted_ = arena->take<float>(4 * stride);
		found_ = arena->take<int32_t>(4 * stride);
		strained_ = arena->take<uint8_t>(stride);
		guards_ = arena->take<Guard>(size_t(most_guards(e_)));
		kept_ = lay_out_kept(arena), kept_limb_ = lay_out_kept(arena);
		for (KeptWay& kept : kept_ways_)
			kept = {{0, 0, {1, 1}}, 1e300, arena->take<double>(stride), arena->take<double>(stride)};
		spans_ = arena->take<Span>(plan_.skeleton->joint_count);
		branches_ = arena->take<int32_t>(plan_.skeleton->joint_count);
		spent_ = arena->take<double>(2 * plan_.track_count);
		search_ = arena->take<uint8_t>(search_scratch(stride_, 4, int32_t(points)));
		if (e_.wanted)
			seen_wanted_ = arena->take<float>(plan_.channel_count * group),
			seen_series_ = arena->take<float>(plan_.channel_count * group),
			seen_steps_ = arena->take<float>(plan_.channel_count * group);
	}

	// The smallest way found to write a group; keys (2^splits + 1, channels) are all that it may have.
	// Returns its bytes, 0 if there is none.
	size_t run(size_t group, const int32_t* keys, uint8_t* dst, size_t dst_size)
	{
		group_ = group, all_keys_ = keys, dst_ = dst, dst_size_ = dst_size;
		length_of_group_ = e_.cut.length(group);
		least_ = e_.least_splits, most_ = e_.usable_splits[group];
		while (most_ > least_ && size_t(4) << most_ > length_of_group_)
			--most_;
		best_cost_ = 1e300, best_size_ = 0;
		span_count_ = find_spans(plan_, spans_, branches_);
		const mocpack_KeysineSettings& s = e_.job.settings;
		if (s.exhaustive && s.weight_tries >= ALL_WEIGHTS && s.excess_penalty > 0)
			find_all();
		else
		{
			find_splits();
			if (s.excess_penalty > 0 && e_.hinged && s.weight_tries && best_size_)
				attempt_by_block(best_splits_);
			else if (s.excess_penalty > 0)
				find_weight();
		}
		// where nothing else keeps the allowances
		for (int splits = least_; splits <= most_ && !best_size_; ++splits)
			attempt(splits, 0);
		return best_size_;
	}

  private:
	// Finds how many blocks are smallest: the expected number, then twice or half as many as long as that is
	// smaller. Unless all are to be tried in earnest, sketches tell.
	void find_splits()
	{
		const mocpack_KeysineSettings& s = e_.job.settings;
		int first = s.splits < least_ ? least_ : s.splits > most_ ? most_ : s.splits;
		sketch_ = !s.exhaustive && s.split_tries > 0;
		attempt(first, 0);
		bool up = false;
		for (int splits = first + 1, tried = 0; splits <= most_ && tried < s.split_tries; ++splits, ++tried)
		{
			bool better = attempt(splits, 0);
			up = up || better;
			if (!better && !s.exhaustive)
				break;
		}
		for (int splits = first - 1, tried = 0;
			 splits >= least_ && tried < s.split_tries && (!up || s.exhaustive); --splits, ++tried)
			if (!attempt(splits, 0) && !s.exhaustive)
				break;
		if (!sketch_)
			return;
		sketch_ = false;
		best_cost_ = 1e300;
		first = best_size_ ? best_splits_ : first;
		best_size_ = 0;
		attempt(first, 0);
	}

	// Every number of blocks; then with those that come near the smallest, every block in several ways.
	void find_all()
	{
		double costs[MOST_SPLITS + 1];
		for (int splits = least_; splits <= most_; ++splits)
			attempt(splits, 0), costs[splits] = cost_;
		double near = NEAR_BEST * best_cost_;
		for (int splits = least_; splits <= most_; ++splits)
			if (costs[splits] <= near)
				attempt_by_block(splits);
	}

	// Tries half or twice the penalty of errors within the bound, with the number of blocks that was best.
	void find_weight()
	{
		const mocpack_KeysineSettings& s = e_.job.settings;
		int splits = best_splits_;
		bool cheaper = false;
		for (int k = 1; k <= s.weight_tries && best_size_; ++k)
		{
			if (!attempt(splits, -k))
				break;
			cheaper = true;
		}
		for (int k = 1; k <= s.weight_tries && best_size_ && !cheaper; ++k)
			if (!attempt(splits, k))
				break;
	}

	// Codes the group in so many blocks, with the penalty so often doubled; keeps it if it is the best so
	// far, and says so.
	bool attempt(int splits, int doublings)
	{
		weight_ = float(std::ldexp(1.0, doublings));
		if (!begin_attempt(splits))
			return false;
		for (size_t b = 0; b < size_t(symbols_.shape.blocks); ++b)
			if (!block(b))
				return false;
		return finish_attempt();
	}

	// The same, of each block the cheapest of several penalties and roundings: blocks hardly depend on one
	// another.
	bool attempt_by_block(int splits)
	{
		if (!begin_attempt(splits))
			return false;
		BitCounter counter;
		CoefficientSymbols<BitCounter> symbols(counter, plan_, symbols_.shape, symbols_.rows);
		bool found = true;
		for (int32_t b = 0; b < symbols_.shape.blocks && found; ++b)
			found = best_block(b, counter, symbols);
		set_way({0, 0, {1, 1}});
		return found && finish_attempt();
	}

	bool begin_attempt(int splits)
	{
		errors_ = 0, cost_ = 1e300, filled_ = nullptr;
		if (!shape_group(plan_, length_of_group_, splits, e_.job.tempo, &symbols_))
			return false;
		near_.set_lengths();
		size_t blocks = size_t(1) << splits, apart = size_t(1) << (e_.job.splits - splits),
			   channels = plan_.channel_count;
		for (size_t b = 0; b <= blocks; ++b)
			std::memcpy(symbols_.keys + b * channels, all_keys_ + b * apart * channels,
						channels * sizeof(int32_t));
		return true;
	}

	bool finish_attempt()
	{
		TableWriter writer(shares_, room_);
		if (!write_group(writer, plan_, symbols_.keys, &symbols_))
			return false;
		size_t size = sealed(spare_, writer.finish(spare_ + 2, group_bytes(e_) - 2));
		if (!size || size > dst_size_)
			return false;
		cost_ = 8.0 * double(size) + errors_;
		if (cost_ >= best_cost_)
			return false;
		std::memcpy(dst_, spare_, size);
		best_cost_ = cost_, best_size_ = size, best_splits_ = symbols_.splits;
		report();
		return true;
	}

	// Finds the cheapest way to write a block: first the penalty, then the rounding. False if there is none.
	bool best_block(int32_t b, BitCounter& counter, CoefficientSymbols<BitCounter>& symbols)
	{
		double least = 1e300, errors = errors_, least_errors = 0;
		const Span whole = whole_span(plan_);
		auto cheaper = [&](const Way& way)
		{
			set_way(way);
			errors_ = errors;
			begin_race(e_.hinged ? nullptr : &counter, &symbols,
					   least); // where hinges strain, it is begun anew
			bool found = block(size_t(b));
			end_race();
			if (!found)
				return false;
			double cost = bits_of(whole, b, counter, symbols) + errors_ - errors;
			keep_way(way, cost);
			if (cost >= least)
				return false;
			least = cost, least_errors = errors_;
			keep_spent();
			put_aside(kept_, whole, b, true);
			return true;
		};
		for (KeptWay& kept : kept_ways_)
			kept.cost = 1e300;
		best_way(cheaper);
		errors_ = least_errors;
		if (least >= 1e300)
			return false;
		const bool limbs = e_.job.settings.excess_penalty > 0 && (span_count_ > 1 || spans_[0].limb);
		for (const KeptWay& kept : kept_ways_)
		{
			if (!limbs || kept.cost >= 1e300)
				continue;
			double cost = limb_by_limb(b, kept, counter, symbols);
			if (cost >= least)
				continue;
			least = cost;
			put_aside(kept_, whole, b, true);
		}
		put_aside(kept_, whole, b, false);
		return true;
	}

	// Keeps a way for the whole block among the cheapest, as it was in the end, cheapest first.
	void keep_way(const Way& way, double cost)
	{
		const int most = e_.hinged ? MOST_KEPT_WAYS : 1;
		if (cost >= kept_ways_[most - 1].cost)
			return;
		KeptWay kept = kept_ways_[most - 1];
		kept.way = way, kept.cost = cost;
		for (int32_t t = 0; t < n_ && e_.hinged; ++t)
			kept.slack[t] = scene_.slack[t], kept.price[t] = scene_.turn_price[t];
		int at = most - 1;
		for (; at > 0 && kept_ways_[at - 1].cost > cost; --at)
			kept_ways_[at] = kept_ways_[at - 1];
		kept_ways_[at] = kept;
	}

	// Tries ways one after another, keeping what is cheaper; returns the last that was.
	template <typename Try> Way best_way(Try cheaper) const
	{
		Way best = {0, 0, {1, 1}};
		const int most = e_.job.settings.weight_tries;
		cheaper(best);
		for (int side = -1; side <= 1; side += 2)
			for (int k = 1; k <= most && best.doublings * side >= 0; ++k)
			{
				if (!cheaper(Way{side * k, 0, {1, 1}}))
					break;
				best.doublings = side * k;
			}
		try_others(cheaper, &best, e_.hinged && most >= ALL_WEIGHTS ? 100 : FEW_ROUNDINGS);
		return best;
	}

	// Other shares and prices of what hinges take back, then roundings, then penalties.
	template <typename Try> void try_others(Try cheaper, Way* best, int few) const
	{
		for (const HingeWay& hinges : OTHER_HINGE_WAYS)
			if (e_.hinged && cheaper(Way{best->doublings, best->rounding, hinges}))
				best->hinges = hinges;
		for (double price : OTHER_TURN_PRICES)
			if (!e_.hinged && cheaper(Way{best->doublings, best->rounding, {1, price}}))
				best->hinges = {1, price};
		int tried = 0;
		for (float rounding : OTHER_ROUNDINGS)
			if (tried++ < few && cheaper(Way{best->doublings, rounding, best->hinges}))
				best->rounding = rounding;
		const int doublings = best->doublings;
		for (int k = -1; k <= 1; k += 2)
			if (cheaper(Way{doublings + k, best->rounding, best->hinges}))
				best->doublings = doublings + k;
	}

	double bits_of(const Span& span, int32_t b, BitCounter& counter,
				   CoefficientSymbols<BitCounter>& symbols) const
	{
		counter.total = 0;
		for (size_t t = span.first_track; t < span.end_track; ++t)
			symbols.block(int32_t(t), b), spent_[plan_.track_count + t] = counter.total;
		return counter.total;
	}

	// Limbs depend on nothing but what is above them and what foretells them: of each the cheapest of several
	// ways, where all else is as in a way for the whole block. Returns the bits.
	double limb_by_limb(int32_t b, const KeptWay& kept, BitCounter& counter,
						CoefficientSymbols<BitCounter>& symbols)
	{
		double total = 0;
		const Way& whole = kept.way;
		kept_way_ = &kept;
		for (size_t i = 0; i < span_count_; ++i)
		{
			if (!span_in_way(spans_[i], whole, true))
				return 1e300;
			total += spans_[i].limb && !spans_[i].empty() ? best_limb(spans_[i], b, whole, counter, symbols)
														  : bits_of(spans_[i], b, counter, symbols);
		}
		return total;
	}

	// Finds the cheapest way for a limb that stands as in the way for the whole block; then, its upper half
	// left as it is, for the lower half, and so on. Returns the bits.
	double best_limb(Span span, int32_t b, Way way, BitCounter& counter,
					 CoefficientSymbols<BitCounter>& symbols)
	{
		double total = 0;
		for (bool as_kept = true;;)
		{
			double least = bits_of(span, b, counter, symbols);
			keep_spent();
			put_aside(kept_limb_, span, b, true);
			auto cheaper = [&](const Way& other)
			{
				begin_race(&counter, &symbols, least);
				bool found = span_in_way(span, other, false);
				end_race();
				if (!found)
					return false;
				double cost = bits_of(span, b, counter, symbols);
				if (cost >= least)
					return false;
				least = cost, as_kept = false;
				keep_spent();
				put_aside(kept_limb_, span, b, true);
				return true;
			};
			try_others(cheaper, &way, e_.job.settings.weight_tries >= ALL_WEIGHTS ? 100 : FEW_ROUNDINGS);
			Span upper = upper_half(plan_, span);
			if (upper.empty())
			{
				put_aside(kept_limb_, span, b, false);
				return total + least;
			}
			span_in_way(upper, way, as_kept);
			total += bits_of(upper, b, counter, symbols);
			span.first_joint = upper.end_joint, span.first_track = upper.end_track;
			span_in_way(span, way, as_kept);
		}
	}

	// Codes a span in a way of its own, or as it was kept for the whole block, with what was changed there.
	// False where a joint cannot keep its bounds.
	bool span_in_way(const Span& span, const Way& way, bool as_kept)
	{
		set_way(way);
		if (!as_kept)
			set_hinge_way();
		for (int32_t t = 0; t < n_ && as_kept && e_.hinged; ++t)
			set_frame(t, kept_way_->slack[t], kept_way_->price[t]);
		return tracks_of(span);
	}

	void set_way(const Way& way)
	{
		weight_ = float(std::ldexp(1.0, way.doublings)), rounding_ = way.rounding, hinge_way_ = way.hinges;
	}

	KeptBlock lay_out_kept(Arena* arena) const
	{
		const size_t channels = plan_.channel_count, cells = channels * size_t(row_stride(stride_));
		return {arena->take<int32_t>(plan_.track_count),
				arena->take<int32_t>(cells),
				arena->take<uint8_t>(cells),
				arena->take<uint8_t>(channels),
				arena->take<double>(channels * size_t(stride_)),
				arena->take<int32_t>(channels)};
	}

	// Copies the rows of a span to where they are kept, or back.
	void put_aside(const KeptBlock& kept, const Span& span, int32_t b, bool away) const
	{
		if (span.empty())
			return;
		const Shape& shape = symbols_.shape;
		const Rows& rows = symbols_.rows;
		const size_t stride = size_t(shape.stride);
		auto copy = [away](auto* own, auto* aside, size_t count)
		{ std::memcpy(away ? aside : own, away ? own : aside, count * sizeof(*own)); };
		for (size_t t = span.first_track; t < span.end_track; ++t)
			copy(rows.steps + t * size_t(shape.blocks) + size_t(b), kept.steps + t, 1);
		const Track& last = plan_.tracks[span.end_track - 1];
		for (size_t c = size_t(plan_.tracks[span.first_track].first_channel);
			 c < size_t(last.first_channel + last.channels); ++c)
		{
			size_t row = size_t(shape.row(int32_t(c), b)) - MARGIN;
			copy(rows.values + row, kept.values + c * stride, stride);
			copy(rows.levels + row, kept.levels + c * stride, stride);
			copy(rows.reaches + c * size_t(shape.blocks) + size_t(b), kept.reaches + c, 1);
			copy(series_ + c * size_t(stride_), kept.series + c * size_t(stride_), size_t(stride_));
			copy(extents_ + c, kept.extents + c, 1);
		}
	}

	// Hands over what the coefficients should have been, and what they are.
	void report() const
	{
		if (!e_.wanted)
			return;
		size_t from = e_.cut.key_frame(group_), length = length_of_group_;
		for (size_t c = 0; c < plan_.channel_count; ++c)
		{
			size_t to = c * e_.job.frame_count + from;
			std::memcpy(e_.wanted + to, seen_wanted_ + c * length, length * sizeof(float));
			std::memcpy(e_.series + to, seen_series_ + c * length, length * sizeof(float));
			std::memcpy(e_.used_steps + to, seen_steps_ + c * length, length * sizeof(float));
		}
		for (int32_t b = 0; b < symbols_.shape.blocks; ++b)
		{
			size_t at = from + block_frame(length, symbols_.splits, size_t(b));
			for (int32_t k = 0; k <= symbols_.lengths[b]; ++k)
				e_.paces[at + size_t(k)] = k ? pace(k, symbols_.shape.tempo) : 0;
		}
	}

	bool block(size_t b)
	{
		size_t from = block_frame(length_of_group_, symbols_.splits, b);
		int32_t length = symbols_.lengths[b] + 1;
		b_ = int32_t(b), from_ = from, keys_ = symbols_.keys + b * plan_.channel_count;
		set_length(length);
		scene_.count = length - 1;
		for (int32_t t = 0; t + 1 < length; ++t)
			frames_[t] = e_.cut.key_frame(group_) + from + size_t(t) + 1;
		if (filled_ != keys_)
			fill_scene(&scene_, e_, frames_);
		filled_ = keys_;
		set_hinge_way(); // which the tries below change
		for (int tries = 0; tries < (e_.hinged ? MOST_TRIES : 1); ++tries)
		{
			if (all_tracks() && !strained())
				return true;
			for (int32_t t = 0; t < n_ && e_.hinged; ++t)
				relieve(e_, scene_, t, strained_[t], tries);
		}
		return false;
	}

	void set_hinge_way()
	{
		for (int32_t t = 0; t < n_ && e_.hinged; ++t)
			set_frame(t, hinge_way_.slack, e_.leeway.price * hinge_way_.price);
	}

	// What may remain of errors in a frame, and what it costs to take them back.
	void set_frame(int32_t t, double slack, double price)
	{
		scene_.slack[t] = slack;
		if (scene_.turn_price[t] == price)
			return;
		scene_.turn_price[t] = price;
		fill_costs(plan_, rig_, e_.job.settings, scene_, t);
	}

	// From here on a try ends where it falls behind the cheapest one, whose bits are kept.
	void begin_race(BitCounter* counter, CoefficientSymbols<BitCounter>* symbols, double to_beat)
	{
		counter_ = to_beat < 1e300 ? counter : nullptr, counted_ = symbols, to_beat_ = to_beat;
		if (counter)
			counter->total = 0;
	}

	// What bits_of counted is what others are to beat.
	void keep_spent()
	{
		std::memcpy(spent_, spent_ + plan_.track_count, plan_.track_count * sizeof *spent_);
	}

	void end_race()
	{
		counter_ = nullptr;
	}

	// Whether the tracks so far take much more than those of the cheapest way.
	bool falls_behind(size_t t)
	{
		if (!counter_)
			return false;
		counted_->block(int32_t(t), b_);
		double most = BEHIND * to_beat_ > LEAST_BEHIND ? BEHIND * to_beat_ : LEAST_BEHIND;
		return counter_->total > spent_[t] + most;
	}

	bool all_tracks()
	{
		return tracks_of(whole_span(plan_), true);
	}

	// Chooses the tracks of a span, of which all before stand decided. False if there is a strain, unless
	// that may be.
	bool tracks_of(const Span& span, bool may_strain = false)
	{
		next_predictor_ = 0;
		size_t t = span.first_track;
		int32_t first = t < plan_.track_count ? plan_.tracks[t].first_channel : 0;
		while (next_predictor_ < e_.job.predictor_count && e_.job.predictors[4 * next_predictor_] < first)
			++next_predictor_;
		std::memset(strained_, 0, size_t(n_));
		for (int32_t j = span.first_joint; j < span.end_joint; ++j)
		{
			if (!moves(plan_, t, j))
				place_still(plan_, scene_, j);
			else if (!track(t) || falls_behind(t++))
				return false;
			if (!turns(plan_, t, j))
				turn_still(plan_, scene_, j);
			else if (!track(t) || falls_behind(t++))
				return false;
			if (!may_strain && strained())
				return false;
		}
		return true;
	}

	void set_length(int32_t length)
	{
		for (RowSums& sums : sums_)
			sums.set_bands(length - 1, symbols_.shape.tempo);
		if (length_ == length)
			return;
		length_ = length, n_ = length - 1, width_ = padded(length);
		fill_sines(sines_, length, 0, length);
		// column t of the search is frame t + 1, and row k - 1 is frequency k
		for (int32_t k = 1; k < length; ++k)
			for (int32_t t = 0; t < width_; ++t)
				waves_[(k - 1) * width_ + t] = t < n_ ? float(sines_[k * width_ + t + 1]) : 0.0f;
	}

	SeriesBlock series_block() const
	{
		return {reinterpret_cast<const Predictor*>(e_.job.predictors),
				e_.job.predictor_count,
				symbols_.shape.tempo,
				stride_,
				series_,
				extents_};
	}

	int32_t* row_of(const Track& track, int32_t c) const
	{
		return symbols_.rows.values + symbols_.shape.row(track.first_channel + c, b_);
	}

	// Chooses the track's coefficients in this block so that every point it carries stays inside.
	bool track(size_t t)
	{
		const Track& track = plan_.tracks[t];
		int32_t* step = symbols_.rows.steps + t * size_t(symbols_.shape.blocks) + size_t(b_);
		*step = -1;
		double scale = 1.0;
		prepare(track, true);
		if (strained_here_)
			return roughly(track, step);
		for (int attempt = 0; attempt < RETRIES; ++attempt)
		{
			*step = searched(track, scale);
			double worst = settle(track, *step);
			if (worst <= 1.0 || e_.job.settings.excess_penalty <= 0)
				return finish(track, *step);
			scale *= 1.02 * std::sqrt(worst);
			if (scale > 8.0)
				break;
		}
		return rounded(track, step) && finish(track, *step);
	}

	// Any way to go on from a joint that cannot keep its bounds, so that those after it are looked at too.
	bool roughly(const Track& track, int32_t* step)
	{
		*step = UNIT_STEP + 8;
		for (int32_t c = 0; c < track.channels; ++c)
			round_channel(track, c, e_.steps[*step]);
		settle(track, *step);
		return finish(track, *step);
	}

	// Whether a joint cannot keep its bounds in some frame, whatever it does.
	bool strained() const
	{
		bool any = false;
		for (int32_t t = 0; t < n_; ++t)
			any = any || strained_[t];
		return any;
	}

	// Goes on to the next track.
	bool finish(const Track& track, int32_t step)
	{
		int32_t last = track.first_channel + track.channels;
		while (next_predictor_ < e_.job.predictor_count && e_.job.predictors[4 * next_predictor_] < last)
			++next_predictor_;
		note(track, step);
		errors_ += e_.job.settings.excess_penalty > 0 ? 0.0 : double(e_.job.settings.squared_penalty) * sum_;
		for (int32_t c = 0; c < track.channels && seen_wanted_; ++c)
			for (int32_t k = 0; k <= n_; ++k)
			{
				size_t channel = size_t(track.first_channel + c),
					   at = channel * length_of_group_ + from_ + size_t(k);
				const double* own = series_ + channel * size_t(stride_);
				seen_wanted_[at] = k ? wanted_[c * width_ + k - 1] + float(foretold_[c][k]) : 0.0f;
				seen_series_[at] = k && k <= extents_[channel] ? float(own[k]) : 0.0f;
				seen_steps_[at] = step < 0 ? 0.0f : float(e_.steps[step]);
			}
		return true;
	}

	// Leaves what foretells later rows.
	void note(const Track& track, int32_t step)
	{
		for (int32_t c = 0; c < track.channels; ++c)
		{
			const int32_t *row = row_of(track, c), at = track.first_channel + c;
			uint8_t* levels = symbols_.rows.levels + symbols_.shape.row(at, b_);
			int32_t reach = n_;
			while (reach > 0 && !row[reach])
				levels[reach--] = 0;
			for (int32_t k = 1; k <= reach; ++k)
				levels[k] = level_of(symbol_of(magnitude(row[k]), FINE));
			symbols_.rows.reaches[at * symbols_.shape.blocks + b_] =
				uint8_t(step < 0 ? 0 : reach_symbol(reach));
		}
	}

	// The last resort: plain rounding, first towards the compensated target, then towards the true one,
	// which leaves every point at most where its joint's origin already is.
	bool rounded(const Track& track, int32_t* step)
	{
		for (int attempt = 0; attempt < FINER; ++attempt)
		{
			if (attempt == FINER / 4 && !guarded(e_, track))
				prepare(track, false);
			*step = attempt + UNIT_STEP < STEPS - 1 ? attempt + UNIT_STEP : STEPS - 1;
			for (int32_t c = 0; c < track.channels; ++c)
				round_channel(track, c, e_.steps[*step]);
			if (settle(track, *step) <= 1.0)
				return true;
			if (guarded(e_, track) && attempt >= HINGE_FINER)
				break;
		}
		std::memset(strained_, POINT_STRAIN, size_t(n_));
		return false;
	}

	void round_channel(const Track& track, int32_t c, double size)
	{
		int32_t* row = row_of(track, c);
		for (int32_t k = 1; k <= n_; ++k)
		{
			double sum = 0;
			for (int32_t t = 1; t <= n_; ++t)
				sum += sines_[k * width_ + t] *
					   (aims_[c * stride_ + t - 1] - line(track, c, t) - ahead_[c * stride_ + t]);
			double units = sum / size;
			units = units > 5e8 ? 5e8 : units < -5e8 ? -5e8 : units;
			row[k] = int32_t(std::floor(units + 0.5));
		}
	}

	// The straight line between the keys, at frame t of the block.
	double line(const Track& track, int32_t c, int32_t t) const
	{
		double key = track.key_step * keys_[track.first_channel + c];
		double next = track.key_step * keys_[plan_.channel_count + size_t(track.first_channel + c)];
		return key + (next - key) / length_ * t;
	}

	// Targets in all frames, and displacements of the points as they depend on the channels.
	void prepare(const Track& track, bool compensate)
	{
		int32_t first = rig_.first[track.joint];
		points_ = rig_points(e_, track) + guard_count(e_, track);
		clear_ends(start_, 3 * points_);
		clear_ends(moves_, 3 * points_ * track.channels);
		for (int32_t t = 0; t < n_; ++t)
			if (track.kind == POSITION_TRACK)
				prepare_position(track, t);
			else
				prepare_rotation(track, first, t, compensate);
		strained_here_ = false;
		if (guarded(e_, track) && e_.job.settings.excess_penalty > 0)
			find_strains(rig_points(e_, track));
		for (int32_t c = 0; c < track.channels; ++c)
			prepare_channel(track, c);
	}

	// Frames in which a point, or after the first so many a guard, is outside even at the target.
	void find_strains(int32_t guards)
	{
		for (int32_t i = 0; i < points_; ++i)
			for (int32_t t = 0; t < n_; ++t)
			{
				const float* at = start_ + 3 * i * width_ + t;
				float u = at[0] * at[0] + at[width_] * at[width_] + at[2 * width_] * at[2 * width_];
				if (!(u > float(STRAINED)))
					continue;
				strained_here_ = true;
				strained_[t] = uint8_t(strained_[t] | (i < guards ? POINT_STRAIN : GUARD_STRAIN));
			}
	}

	// Zeros past the last frame of each row.
	void clear_ends(float* rows, int32_t count) const
	{
		for (int32_t r = 0; r < count; ++r)
			for (int32_t t = n_; t < width_; ++t)
				rows[r * width_ + t] = 0;
	}

	void prepare_position(const Track& track, int32_t t)
	{
		double channels[3];
		aim_position(plan_, track, scene_, t, channels);
		int32_t first = rig_points(e_, track);
		double scale = 1.0 / rig_.allowance[track.joint];
		Vec3 local = load_vec(track.base);
		for (int32_t c = 0; c < track.channels; ++c)
		{
			aims_[c * stride_ + t] = channels[c];
			if (!first)
				continue;
			// what moves freely has one coordinate for each channel
			Vec3 axis = load_vec(track.axes + 3 * c);
			local = local + channels[c] * axis;
			put(moves_ + 3 * c * points_ * width_ + t,
				scale * (track.hinge < 0 ? axis : shift_of(plan_, track, scene_, t, c)));
		}
		if (first)
			put(start_ + t, track.hinge < 0 ? Vec3{0, 0, 0}
											: scale * (placed(plan_, scene_, track.joint, t, local) -
													   scene_.position[scene_.at(track.joint, t)]));
		set_guards(e_, scene_, track, t, channels, guards_);
		put_guards(track, t);
	}

	// After the points of the rig.
	void put_guards(const Track& track, int32_t t)
	{
		const Guard* guards = guards_;
		int32_t first = rig_points(e_, track);
		for (int32_t i = first; i < points_; ++i, ++guards)
		{
			put(start_ + 3 * i * width_ + t, guards->start);
			for (int32_t c = 0; c < track.channels; ++c)
				put(moves_ + 3 * (c * points_ + i) * width_ + t, guards->moves[c]);
		}
	}

	void prepare_rotation(const Track& track, int32_t first, int32_t t, bool compensate)
	{
		const double* inverse_axes = e_.inverse_axes + 9 * (&track - plan_.tracks);
		Leeway leeway = e_.leeway;
		leeway.inertia *= e_.hinged ? 1.0 : hinge_way_.price;
		Aim aim = aim_rotation(plan_, rig_, track, inverse_axes, scene_, t, compensate, leeway);
		Vec3 origin = scene_.decoded_position[scene_.at(track.joint, t)];
		double world[9];
		matrix_of(aim.world, world);
		for (int32_t c = 0; c < track.channels; ++c)
			aims_[c * stride_ + t] = aim.channels[c];
		set_guards(e_, scene_, track, t, aim, guards_);
		put_guards(track, t);
		for (int32_t i = 0, count = rig_points(e_, track); i < count; ++i)
		{
			const Point& point = rig_.points[first + i];
			Vec3 o = point.offset;
			Vec3 arm = {world[0] * o.x + world[1] * o.y + world[2] * o.z,
						world[3] * o.x + world[4] * o.y + world[5] * o.z,
						world[6] * o.x + world[7] * o.y + world[8] * o.z};
			double scale = 1.0 / point.allowance;
			put(start_ + 3 * i * width_ + t, scale * (origin + arm - scene_.place(first + i, t)));
			for (int32_t c = 0; c < track.channels; ++c)
				put(moves_ + 3 * (c * points_ + i) * width_ + t, scale * cross(aim.turn[c], arm));
		}
	}

	void put(float* at, Vec3 v) const
	{
		at[0] = float(v.x), at[width_] = float(v.y), at[2 * width_] = float(v.z);
	}

	// The wanted coefficients of a channel, and the displacements while it has none.
	void prepare_channel(const Track& track, int32_t c)
	{
		float rest[LONGEST_BLOCK + 8] = {};
		int32_t channel = track.first_channel + c;
		series_block().foretell(channel, n_, next_predictor_);
		const double* foretold = series_ + channel * stride_;
		block_values(ahead_ + c * stride_, sines_, length_, 0, 0, foretold, extents_[channel]);
		for (int32_t k = 0; k <= n_ && seen_wanted_; ++k)
			foretold_[c][k] = k && k <= extents_[channel] ? foretold[k] : 0.0;
		for (int32_t t = 0; t < n_; ++t)
			rest[t] = float(aims_[c * stride_ + t] - line(track, c, t + 1) - ahead_[c * stride_ + t + 1]);
		for (int32_t k = 0; k < width_; ++k)
			wanted_[c * width_ + k] = k < n_ ? inner_product(waves_ + k * width_, rest, width_) : 0.0f;
		add_wave(start_, moves_ + 3 * c * points_ * width_, rest, -1.0f, width_, points_);
	}

	int32_t searched(const Track& track, double scale)
	{
		int32_t size = 3 * points_ * width_;
		const float *start = start_, *moves = moves_;
		if (scale != 1.0)
		{
			for (int32_t i = 0; i < size; ++i)
				scaled_start_[i] = float(scale) * start_[i];
			for (int32_t i = 0; i < size * track.channels; ++i)
				scaled_moves_[i] = float(scale) * moves_[i];
			start = scaled_start_, moves = scaled_moves_;
		}
		Problem problem = {n_,		 width_,  track.channels,
						   points_,	 waves_,  moves,
						   start,	 wanted_, int32_t(e_.job.settings.jitter_from * float(length_)),
						   &e_.bits, &near_,  int32_t(&track - plan_.tracks),
						   b_,		 sums_};
		mocpack_KeysineSettings settings = e_.job.settings;
		settings.quartic_penalty *= weight_;
		settings.rounding += rounding_;
		if (sketch_ && settings.excess_penalty > 0)
			settings.sweeps = 0, settings.greedy = 1, settings.coarsest_step = SKETCH_STEPS[0],
			settings.finest_step = SKETCH_STEPS[1];
		else if (sketch_)
			settings.sweeps = 1;
		Found found = search_block(problem, settings, e_.steps, found_, search_);
		bool any = false;
		for (int32_t c = 0; c < track.channels; ++c)
			for (int32_t k = 0; k < n_; ++k)
			{
				row_of(track, c)[k + 1] = found_[c * width_ + k];
				any = any || found_[c * width_ + k];
			}
		return any ? found.step : -1;
	}

	// Decodes the track in all frames and returns the largest excess.
	double settle(const Track& track, int32_t step)
	{
		double size = step < 0 ? 0 : e_.steps[step], worst = 0;
		sum_ = 0;
		size_t predictor = next_predictor_;
		for (int32_t c = 0; c < track.channels; ++c)
		{
			size_t channel = size_t(track.first_channel + c);
			predictor = series_block().fill(int32_t(channel), row_of(track, c), n_, n_, size, predictor);
			block_values(curve_ + c * stride_, sines_, length_, track.key_step * keys_[channel],
						 track.key_step * keys_[plan_.channel_count + channel],
						 series_ + channel * size_t(stride_), extents_[channel]);
		}
		if (track.kind == POSITION_TRACK)
		{
			Vec3* places = reinterpret_cast<Vec3*>(turns_);
			track_translations(track, curve_ + 1, stride_, n_, places);
			for (int32_t t = 0; t < n_; ++t)
			{
				scene_.decoded_position[scene_.at(track.joint, t)] =
					placed(plan_, scene_, track.joint, t, places[t]);
				double u = origin_excess(rig_, scene_, track.joint, t);
				worst = u > worst ? u : worst;
				sum_ += u;
				worst = with_guards(track, t, worst);
			}
			return worst;
		}
		track_rotations(track, curve_ + 1, stride_, n_, turns_);
		int32_t parent = plan_.skeleton->parents[track.joint];
		for (int32_t t = 0; t < n_; ++t)
		{
			scene_.decoded_rotation[scene_.at(track.joint, t)] =
				parent < 0 ? turns_[t] : multiply(scene_.decoded_rotation[scene_.at(parent, t)], turns_[t]);
			double u = worst_point(rig_, scene_, track.joint, t, &sum_);
			worst = u > worst ? u : worst;
			worst = with_guards(track, t, worst);
		}
		return worst;
	}

	// The larger of `worst` and what the guards say of frame t as it is decoded.
	double with_guards(const Track& track, int32_t t, double worst) const
	{
		double values[4];
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = curve_[c * stride_ + t + 1];
		double u = guard_excess(e_, scene_, track, t, values);
		return u > worst ? u : worst;
	}

	const mocpack_KeysineEncoder& e_;
	const Plan& plan_;
	const Rig& rig_;
	Scene scene_;
	GroupSymbols symbols_;
	Surroundings near_;
	RowSums sums_[4];
	Share* shares_;
	size_t room_;
	// of the present group
	size_t group_ = 0, length_of_group_ = 0, dst_size_ = 0, best_size_ = 0;
	const int32_t* all_keys_ = nullptr;
	uint8_t *dst_ = nullptr, *spare_;
	int least_ = 0, most_ = 0, best_splits_ = 0;
	double best_cost_ = 0, cost_ = 0, errors_ = 0, sum_ = 0;
	float weight_ = 1, rounding_ = 0;
	HingeWay hinge_way_ = {1, 1};
	bool sketch_ = false; // rounding and repair only, to compare numbers of blocks
	float *seen_wanted_ = nullptr, *seen_series_ = nullptr, *seen_steps_ = nullptr; // (channels, frames)
	double foretold_[4][LONGEST_BLOCK];
	// of the present block and track
	int32_t stride_, b_ = 0, length_ = 0, n_ = 0, width_ = 0, points_ = 0;
	size_t from_ = 0, next_predictor_ = 0;
	const int32_t *keys_ = nullptr, *filled_ = nullptr; // of the block that the scene shows
	KeptBlock kept_, kept_limb_;
	KeptWay kept_ways_[MOST_KEPT_WAYS];
	const KeptWay* kept_way_ = nullptr; // by which limbs are chosen
	Span* spans_;
	int32_t* branches_; // (J)
	size_t span_count_ = 0;
	double* spent_; // (2, tracks): bits up to each, of the cheapest way and as they were counted last
	BitCounter* counter_ = nullptr; // where a try may end early
	CoefficientSymbols<BitCounter>* counted_ = nullptr;
	double to_beat_ = 0;
	size_t* frames_;
	int32_t *found_, *extents_;
	uint8_t* strained_; // (frames)
	Guard* guards_;
	bool strained_here_ = false;
	double *sines_, *aims_, *ahead_, *curve_, *series_;
	Quat* turns_;
	float *waves_, *start_, *moves_, *scaled_start_, *scaled_moves_, *wanted_;
	uint8_t* search_;
};

} // namespace

bool mocpack::keysine::write_group(TableWriter& writer, const Plan& plan, int32_t* keys,
								   GroupSymbols* symbols)
{
	writer.symbol(SPLIT_TABLE, SPLITS, symbols->splits);
	return KeySymbols<TableWriter>(writer, plan, symbols->found).between(keys, symbols->splits) &&
		   CoefficientSymbols<TableWriter>(writer, plan, symbols->shape, symbols->rows)
			   .group(plan.track_count);
}

size_t mocpack_keysine_group_bytes(const mocpack_KeysineEncoder* encoder)
{
	return group_bytes(*encoder);
}

size_t mocpack_keysine_group_encode_scratch(const mocpack_KeysineEncoder* encoder)
{
	if (encoder->job.grid_steps)
		return grid_scratch(encoder);
	Arena arena(nullptr);
	GroupCoder(encoder, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_encode_group(const mocpack_KeysineEncoder* encoder, size_t group,
											const int32_t* keys, uint8_t* dst, size_t dst_size, size_t* size,
											void* scratch)
{
	*size = 0;
	if (encoder->cut.length(group) == 1) // which is the key alone
		return MOCPACK_OK;
	if (encoder->job.grid_steps)
		*size = encode_grid(encoder, group, keys, dst, dst_size, scratch);
	else
	{
		Arena arena(scratch);
		*size = GroupCoder(encoder, &arena).run(group, keys, dst, dst_size);
	}
	return *size ? MOCPACK_OK : MOCPACK_UNREACHABLE;
}
