// Measures rate and distortion of shifts, and chooses the shifts of a layer.
#include "keysine/encode/layer_shifts.h"

#include <algorithm>
#include <cmath>

#include "keysine/format/head_symbols.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t MAX_POINTS = 4096;		// points whose displacements are measured
const size_t MAX_CHANGES = 1 << 23; // coordinates of changes that are kept
const size_t SUM_LANES = 8;			// partial sums, which a processor computes side by side
const double FIRST_PRICE = 0.1;		// of bits, relative to the error of all points per bit of the payload
const double PRICE_RATIO = 0.8;		// of a price of bits to the next higher one
const int MAX_PRICES = 100;
const double NUMBERS_PER_POSE = 50; // decoding and measuring a joint of a frame, in BlockCoder::work()

// Returns the sum of errors of n points after their displacements have changed by `to` (4, n) instead of
// `from`. now: 4 rows, `stride` apart.
double sum_of_errors(const float* now, size_t stride, const float* from, const float* to, size_t n)
{
	auto error_of = [&](size_t p)
	{
		const size_t y = n + p, z = 2 * n + p, shell = 3 * n + p;
		const float dx = now[p] + (to[p] - from[p]), dy = now[stride + p] + (to[y] - from[y]),
					dz = now[2 * stride + p] + (to[z] - from[z]),
					square = now[3 * stride + p] + (to[shell] - from[shell]);
		return std::sqrt(dx * dx + dy * dy + dz * dz + std::max(square, 0.0f));
	};
	float sums[SUM_LANES] = {};
	const size_t rest = n / SUM_LANES * SUM_LANES;
	for (size_t p = 0; p < rest; p += SUM_LANES)
		for (size_t l = 0; l < SUM_LANES; ++l)
			sums[l] += error_of(p + l);
	double sum = 0;
	for (size_t p = rest; p < n; ++p)
		sum += double(error_of(p));
	for (float part : sums)
		sum += double(part);
	return sum;
}

// Counts the bits that symbols would take.
class SymbolBitCounter
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
		add_to(-math::log2(std::max(share, 1e-9)));
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
	return measure_rates() && measure_distortions();
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
			SymbolBitCounter counter;
			HeadSymbols<SymbolBitCounter>(counter).first_shift(int32_t(before), int32_t(shift));
			head_[before][shift] = share * counter.total();
		}
}

// Measures the bits of each track in the sample, as a first layer in which all tracks have the same shift.
bool ShiftSearch::measure_rates()
{
	const mocpack_KeysineHead& head = *own_.head();
	const Plan& plan = head.plan;
	Buffer<uint8_t> scratch, shifts, found;
	Buffer<int32_t> keys;
	Buffer<double> channels;
	Arena none(nullptr);
	SplitGroup(head, &none);
	if (!task_.take(&scratch, none.used()) || !task_.take(&shifts, tracks_) ||
		!task_.take(&found, plan.channel_count) ||
		!task_.take(&keys, (sample_count_ + 1) * plan.channel_count) ||
		!task_.take(&channels, plan.channel_count) || !task_.take(&rates_, 2 * tracks_ * SHIFTS))
		return false;
	for (size_t shift = 0; shift < SHIFTS; ++shift)
	{
		std::fill(shifts.data(), shifts.data() + tracks_, uint8_t(shift));
		std::fill(channels.data(), channels.data() + plan.channel_count, 0.0);
		const LayerShifts to = {shifts.data(), shifts.data()};
		SymbolBitCounter counter;
		counter.count_by_symbol(channels.data(), plan.channel_count, 0);
		coarsen_keys(plan, to.keys, to.keys, own_.keys_of(sample_first_), sample_count_ + 1, keys.data());
		code_coarse_keys(plan, to.keys, keys.data(), sample_count_ + 1,
						 [&]
						 {
							 return KeySymbols<SymbolBitCounter>(counter, plan, found.data())
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
			SymbolBitCounter own;
			CoefficientSymbols<SymbolBitCounter> symbols(own, plan, group.made.shape, group.made.rows,
														 to.coefficients);
			for (size_t t = 0; t < tracks_; ++t)
			{
				const double before = own.total();
				for (int32_t b = 0; b < group.made.shape.blocks; ++b)
					symbols.block(int32_t(t), b);
				rates_of(1, t)[shift] += own.total() - before;
			}
			if (task_.poll())
				return false;
		}
		for (size_t t = 0; t < tracks_; ++t)
			for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
				rates_of(0, t)[shift] += channels[size_t(plan.tracks[t].first_channel + c)];
	}
	return true;
}

// Measures how much a shift of one track alone adds to the displacements of the sample's points.
bool ShiftSearch::measure_distortions()
{
	const size_t frames = own_.key_frame(sample_first_ + sample_count_) - own_.key_frame(sample_first_) + 1,
				 joints = task_.skeleton.joint_count;
	const size_t most =
		std::max(std::min(MAX_POINTS, MAX_CHANGES / (8 * tracks_ * SHIFTS)) / joints, size_t(1));
	stride_ = (frames + most - 1) / most; // at least one frame
	points_ = (frames + stride_ - 1) / stride_ * joints;
	Buffer<uint8_t> shifts;
	Buffer<float> all; // (shifts, 4, points) changes by the shifts of a track
	if (!task_.take(&shifts, 2 * tracks_) || !task_.take(&least_, 4 * points_) ||
		!task_.take(&now_, 4 * points_) || !task_.take(&all, SHIFTS * 4 * points_) ||
		!task_.take(&reaches_, 2 * tracks_) ||
		!task_.take_room(&changes_, 2 * tracks_ * SHIFTS * 4 * points_) ||
		!displacements(shifts.data(), least_.data()))
		return false;
	float* end = changes_.data();
	for (size_t i = 0; i < 2 * tracks_; ++i)
	{
		size_t first = points_, last = 0;
		for (size_t shift = 1; shift < SHIFTS; ++shift)
		{
			float* own = all.data() + shift * 4 * points_;
			shifts[i] = uint8_t(shift);
			if (!displacements(shifts.data(), own))
				return false;
			for (size_t p = 0; p < 4 * points_; ++p)
			{
				own[p] -= least_[p];
				if (own[p] != 0)
					first = std::min(first, p % points_), last = std::max(last, p % points_);
			}
		}
		shifts[i] = 0;
		const size_t count = first > last ? 0 : last - first + 1;
		reaches_[i] = {count ? first : 0, count, end};
		for (size_t row = 0; row < SHIFTS * 4; ++row)
			end = std::copy_n(all.data() + row * points_ + reaches_[i].first, count, end);
	}
	return true;
}

// Computes the displacements (4, points) of the sample's joints with these shifts (2, tracks). The last row
// is the square of the largest one, with a small weight, to preserve twist.
bool ShiftSearch::displacements(const uint8_t* shifts, float* rows)
{
	const mocpack_Skeleton& s = task_.skeleton;
	if (!own_.decode_coarse(&task_, sample_first_, sample_count_, shifts, &decoded_) ||
		!task_.take_room(&scratch_, mocpack_clip_errors_scratch_size(s.joint_count)) ||
		!task_.take_room(&by_frame_, 4 * points_))
		return false;
	task_.spend(NUMBERS_PER_POSE * double(decoded_.frames * s.joint_count));
	mocpack_displacements(&s, task_.motion.rotations + 4 * s.joint_count * decoded_.first,
						  task_.motion.translations + 3 * s.translated_count * decoded_.first,
						  decoded_.rotations.data(), decoded_.translations.data(), decoded_.frames, stride_,
						  SHELL, scratch_.data(), by_frame_.data());
	// by joint, so that the points of a joint and its descendants are next to one another
	const size_t joints = s.joint_count, frames = points_ / joints;
	for (size_t row = 0; row < 4; ++row)
	{
		const float weight = row == 3 ? float(task_.constants.layer_shell_weight) : 1.0f;
		for (size_t p = 0; p < points_; ++p)
			rows[row * points_ + p] = weight * by_frame_[row * points_ + p % frames * joints + p / frames];
	}
	return true;
}

double ShiftSearch::error_with(size_t i, size_t from, size_t to)
{
	const Reach& reach = reaches_[i];
	return sum_of_errors(now_.data() + reach.first, points_, change_of(i, from), change_of(i, to),
						 reach.count);
}

void ShiftSearch::set_shift(size_t i, size_t to, uint8_t* shifts)
{
	const Reach& reach = reaches_[i];
	const float *old = change_of(i, shifts[i]), *own = change_of(i, to);
	for (size_t row = 0; row < 4; ++row)
		for (size_t p = 0; p < reach.count; ++p)
			now_[row * points_ + reach.first + p] += own[row * reach.count + p] - old[row * reach.count + p];
	shifts[i] = uint8_t(to);
}

// Returns the bits of a shift. In the first layer, those in the head depend on the shifts before and after
// it.
double ShiftSearch::cost_of(size_t i, size_t shift, bool first_layer, const uint8_t* shifts) const
{
	const size_t row = i / tracks_ * tracks_;
	double head = 0;
	if (first_layer)
	{
		head = head_[i > row ? shifts[i - 1] : 0][shift];
		if (i + 1 < row + tracks_)
			head += head_[shift][shifts[i + 1]];
	}
	return rates_[i * SHIFTS + shift] + head;
}

// Gives each track in turn the shift of least error + price · bits. Returns the bits of all.
double ShiftSearch::descend(double price, const uint8_t* before, uint8_t* shifts)
{
	double bits = 0;
	for (size_t i = 0; i < 2 * tracks_; ++i)
	{
		double least = HUGE_VAL;
		size_t best = shifts[i];
		for (size_t shift = 0; shift < SHIFTS && (!before || shift <= before[i]); ++shift)
		{
			const double cost = price * cost_of(i, shift, !before, shifts) + error_with(i, shifts[i], shift);
			if (cost < least)
				least = cost, best = shift;
		}
		if (best != shifts[i])
			set_shift(i, best, shifts);
		bits += rates_[i * SHIFTS + best];
	}
	return bits;
}

// Makes the track finer that gains most per bit and needs at most the bits that are left. Returns false if
// there is none.
bool ShiftSearch::refine(double* left, bool first_layer, uint8_t* shifts)
{
	const double min_bits = 1e-3;
	double most = 0;
	size_t best = 0, to = 0;
	for (size_t i = 0; i < 2 * tracks_; ++i)
	{
		const double own = cost_of(i, shifts[i], first_layer, shifts), *rates = rates_.data() + i * SHIFTS,
					 error = error_with(i, shifts[i], shifts[i]);
		for (size_t shift = 0; shift < shifts[i]; ++shift)
		{
			if (rates[shift] - rates[shifts[i]] > *left)
				continue;
			const double more = std::max(cost_of(i, shift, first_layer, shifts) - own, min_bits),
						 gain = (error - error_with(i, shifts[i], shift)) / more;
			if (gain > most)
				most = gain, best = i, to = shift;
		}
	}
	if (most <= 0)
		return false;
	*left -= rates_[best * SHIFTS + to] - rates_[best * SHIFTS + shifts[best]];
	set_shift(best, to, shifts);
	return true;
}

bool ShiftSearch::best_shifts(double goal, const uint8_t* before, uint8_t* shifts)
{
	std::fill(shifts, shifts + 2 * tracks_, uint8_t(0));
	std::copy(least_.data(), least_.data() + least_.size(), now_.data());
	const float* none = now_.data(); // the same change from and to
	const double error = std::max(sum_of_errors(none, points_, none, none, points_), 1e-9),
				 bits_of_all = std::max(whole_bits(), 1.0); // a price of 0 would not grow
	double price = FIRST_PRICE * error / bits_of_all, bits = HUGE_VAL;
	for (int i = 0; i < MAX_PRICES && bits > goal; ++i, price /= PRICE_RATIO)
	{
		bits = descend(price, before, shifts);
		if (task_.poll())
			return false;
	}
	double left = goal - bits;
	while (refine(&left, !before, shifts))
		if (task_.poll())
			return false;
	return true;
}

} // namespace keysine
} // namespace mocpack
