// Measures rate and distortion of shifts, and chooses the shifts of a layer.
#include "keysine/encode/layer_shifts.h"

#include <algorithm>
#include <cmath>

#include "keysine/decode/head_symbols.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t MAX_POINTS = 4096; // approximate number of points whose errors are measured
const int ROUNDS = 3; // rounds of the search for a layer's shifts; the first minimizes squared errors

// Counts the bits that symbols would take.
class BitCounter
{
  public:
	static constexpr bool READS = false;

	int symbol(const uint16_t* starts, int, int value)
	{
		++symbols_;
		add(double(starts[value + 1] - starts[value]) / TABLE_TOTAL);
		return value;
	}
	int choice(uint32_t zero, int value)
	{
		add(double(value ? TABLE_TOTAL - zero : zero) / TABLE_TOTAL);
		return value;
	}
	uint32_t bits(int count, uint32_t value)
	{
		add_to(count);
		return value;
	}

	// From now on, adds each symbol and the bits after it to the next of `count` sums, in cycles. The first
	// `skipped` symbols go to the last sums.
	void count_by_symbol(double* sums, size_t count, size_t skipped)
	{
		sums_ = sums, sum_count_ = count, symbols_ = count - skipped;
	}
	double total() const
	{
		return total_;
	}

  private:
	void add(double share)
	{
		add_to(-std::log2(std::max(share, 1e-9)));
	}
	void add_to(double bits)
	{
		total_ += bits;
		if (sum_count_)
			sums_[(symbols_ - 1) % sum_count_] += bits;
	}

	double* sums_ = nullptr;
	size_t sum_count_ = 0, symbols_ = 0;
	double total_ = 0;
};

} // namespace

bool ShiftSearch::measure(size_t tracks)
{
	tracks_ = tracks;
	find_sample();
	measure_head();
	return task_.take(&path_, 2 * tracks_ * SHIFTS) && measure_rates() && measure_distortions();
}

double ShiftSearch::whole_bits() const
{
	double bits = 0;
	for (size_t i = 0; i < 2 * tracks_; ++i)
		bits += rates_[i * SHIFTS];
	return bits;
}

// Chooses the groups on which rate and distortion are measured, from the middle of the clip.
void ShiftSearch::find_sample()
{
	const size_t groups = own_.layout().group_count;
	size_t longest = 1;
	for (size_t g = 0; g < groups; ++g)
		longest = std::max(longest, own_.key_frame(g + 1) - own_.key_frame(g));
	sample_count_ = std::min(std::max<size_t>(1, size_t(task_.constants.layer_frames) / longest), groups);
	sample_first_ = (groups - sample_count_) / 2;
}

// Measures the bits that shifts of the first layer take in the head. The sample pays its share of them.
void ShiftSearch::measure_head()
{
	const double share = double(sample_count_) / double(own_.layout().group_count);
	for (size_t before = 0; before < SHIFTS; ++before)
		for (size_t shift = 0; shift < SHIFTS; ++shift)
		{
			BitCounter counter;
			HeadSymbols<BitCounter>(counter).first_shift(int32_t(before), int32_t(shift));
			head_[before][shift] = share * counter.total();
		}
}

// Measures the bits of each track in the sample, as a first layer in which all tracks have the same shift.
bool ShiftSearch::measure_rates()
{
	const mocpack_KeysineHead& head = *own_.head();
	const Plan& plan = head.plan;
	Buffer<uint8_t> scratch, shifts, found, from;
	Buffer<int32_t> keys;
	Buffer<double> channels;
	Arena none(nullptr);
	SplitGroup(head, &none);
	if (!task_.take(&scratch, none.used()) || !task_.take(&shifts, tracks_) ||
		!task_.take(&found, plan.channel_count) || !task_.take(&from, tracks_) ||
		!task_.take(&keys, (sample_count_ + 1) * plan.channel_count) ||
		!task_.take(&channels, plan.channel_count) || !task_.take(&rates_, 2 * tracks_ * SHIFTS) ||
		!task_.take(&growth_, 2 * tracks_ * SHIFTS))
		return false;
	for (size_t shift = 0; shift < SHIFTS; ++shift)
	{
		std::fill(shifts.data(), shifts.data() + tracks_, uint8_t(shift));
		std::fill(channels.data(), channels.data() + plan.channel_count, 0.0);
		const LayerShifts to = {shifts.data(), shifts.data()};
		BitCounter counter;
		counter.count_by_symbol(channels.data(), plan.channel_count, 0);
		coarsen_keys(plan, to.keys, to.keys, own_.keys_of(sample_first_), sample_count_ + 1, keys.data());
		code_coarse_keys(plan, to.keys, keys.data(), sample_count_ + 1,
						 [&]
						 {
							 return KeySymbols<BitCounter>(counter, plan, found.data())
								 .sequence(keys.data(), sample_count_ + 1);
						 });
		for (size_t g = sample_first_; g < sample_first_ + sample_count_; ++g)
		{
			const size_t length = own_.key_frame(g + 1) - own_.key_frame(g);
			if (length == 1)
				continue;
			Arena arena(scratch.data());
			SplitGroup group(head, &arena);
			if (group.open(head, g, own_.keys_of(g), own_.group(g).data, own_.group(g).size) != MOCPACK_OK)
				return task_.stop(MOCPACK_CORRUPT);
			group.coarsen(head, length, to);
			counter.count_by_symbol(channels.data(), plan.channel_count, 1); // skip the symbol of splits
			group.code_keys(counter, plan, to);
			BitCounter own;
			CoefficientSymbols<BitCounter> symbols(own, plan, group.made.shape, group.made.rows,
												   to.coefficients);
			for (size_t t = 0; t < tracks_; ++t)
			{
				const double before = own.total();
				for (int32_t b = 0; b < group.made.shape.blocks; ++b)
					symbols.block(int32_t(t), b);
				row(&rates_, 1, t)[shift] += own.total() - before;
			}
			if (shift && !add_refinement(&group, shift, &from))
				return false;
			if (task_.poll())
				return false;
		}
		for (size_t t = 0; t < tracks_; ++t)
			for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
				row(&rates_, 0, t)[shift] += channels[size_t(plan.tracks[t].first_channel + c)];
		for (size_t t = 0; t < tracks_; ++t)
		{
			row(&growth_, 0, t)[shift] +=
				double(shift * (sample_count_ + 1) * size_t(plan.tracks[t].channels));
			for (size_t kind = 0; kind < 2; ++kind)
				row(&growth_, kind, t)[shift] += row(&rates_, kind, t)[shift] - row(&rates_, kind, t)[0];
		}
	}
	return true;
}

// Adds to growth_ the bits that refine a group's inner keys and coefficients from a shift to full precision,
// in one layer. `from`: (tracks) zeros.
bool ShiftSearch::add_refinement(SplitGroup* group, size_t shift, Buffer<uint8_t>* from)
{
	const Plan& plan = own_.head()->plan;
	BitCounter counter;
	group->goal.shape = group->made.shape;
	shift_values(plan, *group->whole, nullptr, group->goal.rows.values);
	still_steps(plan, *group->whole, group->goal.rows.values, group->goal.rows.steps);
	Refinement<BitCounter> refinement(counter, plan, group->made.shape, group->made.rows, nullptr);
	for (size_t t = 0; t < tracks_; ++t)
	{
		double before = counter.total();
		(*from)[t] = uint8_t(shift);
		bool good = InnerKeys<BitCounter>(counter, plan, group->made.found)
						.layer(from->data(), nullptr, group->made.splits, group->made.keys,
							   group->made.residuals, group->whole->residuals);
		row(&growth_, 0, t)[shift] += counter.total() - before;
		before = counter.total();
		good =
			good && refinement.layer(from->data(), tracks_, group->goal.rows.steps, group->goal.rows.values);
		(*from)[t] = 0;
		if (!good)
			return task_.stop(MOCPACK_CORRUPT);
		row(&growth_, 1, t)[shift] += counter.total() - before;
	}
	return true;
}

// Measures how much a shift of one track alone adds to the squared errors of the sample's points.
bool ShiftSearch::measure_distortions()
{
	const size_t frames = own_.key_frame(sample_first_ + sample_count_) - own_.key_frame(sample_first_) + 1,
				 joints = task_.skeleton.joint_count;
	stride_ = std::max<size_t>(1, frames * joints / MAX_POINTS);
	points_ = (frames + stride_ - 1) / stride_ * joints;
	Buffer<uint8_t> shifts;
	if (!task_.take(&shifts, 2 * tracks_) || !task_.take(&least_, points_) ||
		!task_.take(&squares_, 2 * tracks_ * SHIFTS * points_) ||
		!squared_errors(shifts.data(), least_.data()))
		return false;
	for (size_t i = 0; i < 2 * tracks_; ++i)
	{
		for (size_t shift = 1; shift < SHIFTS; ++shift)
		{
			float* own = squares_of(i, shift);
			shifts[i] = uint8_t(shift);
			if (!squared_errors(shifts.data(), own))
				return false;
			for (size_t p = 0; p < points_; ++p)
				own[p] = std::max(own[p] - least_[p], 0.0f);
		}
		shifts[i] = 0;
	}
	return true;
}

// Computes the squared errors (points) of the sample's joints with these shifts (2, tracks). Adds those of
// their shells with a small weight, to preserve twist.
bool ShiftSearch::squared_errors(const uint8_t* shifts, float* found)
{
	const mocpack_Skeleton& s = task_.skeleton;
	DecodedMotion motion;
	Buffer<uint8_t> scratch;
	Buffer<float> largest;
	if (!own_.decode(&task_, sample_first_, sample_count_, 1, shifts, &motion) ||
		!task_.take(&scratch, mocpack_clip_errors_scratch_size(s.joint_count)) ||
		!task_.take(&largest, points_))
		return false;
	mocpack_squared_errors(&s, task_.motion.rotations + 4 * s.joint_count * motion.first,
						   task_.motion.translations + 3 * s.translated_count * motion.first,
						   motion.rotations.data(), motion.translations.data(), motion.frames, stride_, SHELL,
						   scratch.data(), found, largest.data());
	const float weight = float(task_.constants.layer_shell_weight);
	for (size_t p = 0; p < points_; ++p)
		found[p] += weight * largest[p];
	return true;
}

/* Finds the shifts (2, tracks) of least distortion + price · bits, at most those of the layer before. Bits
 * that a shift adds to the whole file count too, with a weight. In the first layer, the bits of a shift in
 * the head depend on the previous track, so the cheapest sequence is found by dynamic programming. Returns
 * the bits of the layer without the head. */
double ShiftSearch::cheapest(double price, const double* distortions, const uint8_t* before, uint8_t* shifts)
{
	const double growth_weight = task_.constants.layer_growth_weight;
	double costs[SHIFTS] = {}, last[SHIFTS];
	for (size_t i = 0; i < 2 * tracks_; ++i)
	{
		const double *rate = rates_.data() + i * SHIFTS, *error = distortions + i * SHIFTS,
					 *growth = growth_.data() + i * SHIFTS;
		std::copy(costs, costs + SHIFTS, last);
		for (size_t shift = 0; shift < SHIFTS; ++shift)
		{
			costs[shift] = HUGE_VAL;
			if (before && shift > before[i])
				continue;
			for (size_t previous = 0; previous < SHIFTS; ++previous)
			{
				const double head = before ? 0 : head_[i % tracks_ ? previous : 0][shift];
				const double cost = last[previous] + price * (1 + growth_weight) * head;
				if (cost < costs[shift])
					costs[shift] = cost, path_[i * SHIFTS + shift] = uint8_t(previous);
			}
			costs[shift] += error[shift] + price * (rate[shift] + growth_weight * growth[shift]);
		}
	}
	size_t shift = size_t(std::min_element(costs, costs + SHIFTS) - costs);
	double bits = 0;
	for (size_t i = 2 * tracks_; i-- > 0; shift = path_[i * SHIFTS + shift])
		shifts[i] = uint8_t(shift), bits += rates_[i * SHIFTS + shift];
	return bits;
}

bool ShiftSearch::best_shifts(double goal, const uint8_t* before, uint8_t* shifts)
{
	const size_t width = 2 * tracks_;
	Buffer<double> distortions;
	Buffer<float> weights, errors;
	Buffer<uint8_t> tried;
	if (!task_.take(&distortions, width * SHIFTS) || !task_.take(&weights, points_) ||
		!task_.take(&errors, points_) || !task_.take(&tried, width))
		return false;
	std::fill(weights.data(), weights.data() + points_, 1.0f);
	double least = HUGE_VAL;
	for (int turn = 0; turn < ROUNDS; ++turn)
	{
		for (size_t i = 0; i < width * SHIFTS; ++i)
		{
			const float* own = squares_.data() + i * points_;
			float sum = 0;
			for (size_t p = 0; p < points_; ++p)
				sum += weights[p] * own[p];
			distortions[i] = double(sum);
		}
		double low = -100, high = 60; // of the price, as powers of two
		auto bits_at = [&](double power)
		{ return cheapest(std::exp2(power), distortions.data(), before, tried.data()); };
		for (int i = 0; i < 40; ++i)
		{
			const double middle = 0.5 * (low + high);
			(bits_at(middle) > goal ? low : high) = middle;
		}
		bits_at(high);
		std::copy(least_.data(), least_.data() + points_, errors.data());
		for (size_t i = 0; i < width; ++i)
			for (size_t p = 0; p < points_; ++p)
				errors[p] += squares_of(i, tried[i])[p];
		double mean = 0;
		for (size_t p = 0; p < points_; ++p)
		{
			const float error = std::sqrt(errors[p]);
			mean += error, weights[p] = 1 / std::max(error, 1e-9f);
		}
		if (mean < least)
			least = mean, std::copy(tried.data(), tried.data() + width, shifts);
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
