// Chooses which channels predict which: the list of predictors in a head.
#include "keysine/encode/predictors.h"

#include <algorithm>
#include <cmath>

#include "common/simd_clones.h"
#include "keysine/format/curves.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t PREDICTOR_BANDS = FAST_BAND + 1;
const int32_t MAX_PACE = 255;
const double SIXTEENTHS = 16;
const size_t MAX_SOURCES = 8; // sources per band whose saving is computed exactly

struct Candidate
{
	size_t band, source;
	double factor;
};

// Computes the sum of weights * a * b for each band. weights[band] is zero outside the band.
MOCPACK_SIMD_CLONES void weighted_products(const double* const* weights, const double* a, const double* b,
										   size_t count, double* sums)
{
	for (size_t band = 0; band < PREDICTOR_BANDS; ++band)
	{
		double lanes[8] = {};
		const double* w = weights[band];
		size_t t = 0;
		for (; t + 8 <= count; t += 8)
			for (size_t l = 0; l < 8; ++l)
				lanes[l] += w[t + l] * a[t + l] * b[t + l];
		for (; t < count; ++t)
			lanes[0] += w[t] * a[t] * b[t];
		sums[band] =
			((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
	}
}

// Returns half the sum of log2(y² + floor). Takes one logarithm for eight numbers, to save time.
MOCPACK_SIMD_CLONES double bits_of(const double* y, size_t count, double floor)
{
	double bits = 0;
	size_t t = 0;
	for (; t + 8 <= count; t += 8)
	{
		double product = 1;
		for (size_t l = 0; l < 8; ++l)
			product *= y[t + l] * y[t + l] + floor;
		bits += math::log2(product);
	}
	for (; t < count; ++t)
		bits += math::log2(y[t] * y[t] + floor);
	return 0.5 * bits;
}

MOCPACK_SIMD_CLONES void subtract(const double* y, const double* source, const double* band, double factor,
								  size_t count, double* left)
{
	for (size_t t = 0; t < count; ++t)
		left[t] = y[t] - factor * band[t] * source[t];
}

class PredictorSearch
{
  public:
	PredictorSearch(EncodeTask* task, const Observation& seen, size_t frames, double repeats)
		: task_(*task), c_(task->constants), seen_(seen), frames_(frames),
		  least_(task->constants.predictor_bits / repeats)
	{
	}

	bool run(Predictors* predictors)
	{
		const size_t channels = seen_.channel_count, most = size_t(c_.predictors_per_channel);
		predictors->count = 0;
		if (!task_.take(&predictors->rows, 4 * most * channels))
			return false;
		double usual;
		if (!usual_step(&usual))
			return false;
		if (!(usual > 0))
			return true;
		if (!scale_rows(usual))
			return false;
		for (size_t c = 0; c < channels; ++c)
		{
			const size_t first = size_t(seen_.first_channels[c]);
			if (task_.poll())
				return false;
			if (first)
				predict(c, first, predictors);
		}
		return true;
	}

  private:
	// Finds the median of the steps, 0 if there are none.
	bool usual_step(double* usual)
	{
		const size_t count = seen_.channel_count * frames_;
		Buffer<float> steps;
		if (!task_.take(&steps, count))
			return false;
		size_t found = 0;
		for (size_t c = 0; c < seen_.channel_count; ++c)
			for (size_t t = 0; t < frames_; ++t)
				if (seen_.paces[t] > 0 && seen_.steps[c * frames_ + t] > 0)
					steps[found++] = seen_.steps[c * frames_ + t];
		*usual = 0;
		if (!found)
			return true;
		float *middle = steps.data() + found / 2, *end = steps.data() + found;
		std::nth_element(steps.data(), middle, end);
		*usual = *middle;
		if (found % 2 == 0)
			*usual = 0.5 * (*usual + double(*std::max_element(steps.data(), middle)));
		return true;
	}

	// Copies the coefficients, in units of the usual step. Skips frames that have none (pace 0).
	bool scale_rows(double usual)
	{
		const size_t channels = seen_.channel_count;
		count_ = 0;
		for (size_t t = 0; t < frames_; ++t)
			count_ += seen_.paces[t] > 0;
		if (!task_.take(&wanted_, channels * count_) || !task_.take(&decoded_, channels * count_) ||
			!task_.take(&bands_, PREDICTOR_BANDS * count_) ||
			!task_.take(&weights_, PREDICTOR_BANDS * count_) || !task_.take(&paces_, count_) ||
			!task_.take(&residuals_, 3 * count_) || !task_.take(&energies_, PREDICTOR_BANDS * channels) ||
			!task_.take(&along_, PREDICTOR_BANDS * channels))
			return false;
		size_t at = 0;
		for (size_t t = 0; t < frames_; ++t)
		{
			const int32_t normalized_frequency = seen_.paces[t];
			if (normalized_frequency <= 0)
				continue;
			for (size_t b = 0; b < PREDICTOR_BANDS; ++b)
				bands_[b * count_ + at] = in_band(int32_t(b), normalized_frequency);
			for (size_t c = 0; c < channels; ++c)
			{
				wanted_[c * count_ + at] = double(seen_.wanted[c * frames_ + t]) / usual;
				decoded_[c * count_ + at] = double(seen_.series[c * frames_ + t]) / usual;
			}
			paces_[at++] = std::min(normalized_frequency, MAX_PACE);
		}
		for (size_t b = 0; b < PREDICTOR_BANDS; ++b)
			weight_rows_[b] = weights_.data() + b * count_;
		return true;
	}

	// Sets a channel's weights: the less energy a frequency has, the more it counts.
	void set_weights(const double* y)
	{
		double energies[MAX_PACE + 1] = {}, counts[MAX_PACE + 1] = {};
		for (size_t t = 0; t < count_; ++t)
			energies[paces_[t]] += y[t] * y[t], counts[paces_[t]] += 1;
		for (int32_t p = 0; p <= MAX_PACE; ++p)
			energies[p] = 1 / (energies[p] / std::max(counts[p], 1.0) + c_.min_square);
		for (size_t b = 0; b < PREDICTOR_BANDS; ++b)
			for (size_t t = 0; t < count_; ++t)
				weights_[b * count_ + t] = bands_[b * count_ + t] * energies[paces_[t]];
	}

	// Adds the predictors of a channel. Each saves at least least_ bits.
	void predict(size_t channel, size_t sources, Predictors* predictors)
	{
		const double* y = wanted_.data() + channel * count_;
		double *trial = residuals_.data(), *best = trial + count_, *spare = best + count_;
		set_weights(y);
		for (size_t s = 0; s < sources; ++s)
			weighted_products(weight_rows_, source(s), source(s), count_,
							  energies_.data() + PREDICTOR_BANDS * s);
		double cost = bits_of(y, count_, c_.min_square);
		for (int n = 0; n < int(c_.predictors_per_channel); ++n)
		{
			for (size_t s = 0; s < sources; ++s)
				weighted_products(weight_rows_, y, source(s), count_, along_.data() + PREDICTOR_BANDS * s);
			Candidate winner = {};
			double least = 1e300;
			for (size_t band = 0; band < PREDICTOR_BANDS; ++band)
				for (const Candidate& tried : nearest(band, sources))
				{
					if (tried.factor == 0)
						continue;
					subtract(y, source(tried.source), bands_.data() + band * count_,
							 tried.factor / SIXTEENTHS, count_, trial);
					const double bits = bits_of(trial, count_, c_.min_square);
					if (bits < least)
						least = bits, winner = tried, std::swap(trial, best);
				}
			if (least > cost - least_)
				return;
			cost = least, y = best, std::swap(best, spare);
			int32_t* row = predictors->rows.data() + 4 * predictors->count++;
			row[0] = int32_t(channel), row[1] = int32_t(winner.source);
			row[2] = int32_t(winner.band), row[3] = int32_t(winner.factor);
		}
	}

	// The sources in a band whose best factors explain most of the energy. A factor that is out of range
	// becomes 0.
	struct Nearest
	{
		Candidate found[MAX_SOURCES];
		size_t count = 0;

		const Candidate* begin() const
		{
			return found;
		}
		const Candidate* end() const
		{
			return found + count;
		}
	};
	Nearest nearest(size_t band, size_t sources) const
	{
		Nearest kept;
		double gains[MAX_SOURCES];
		const size_t most = std::min(MAX_SOURCES, size_t(c_.exact_sources));
		for (size_t s = 0; s < sources; ++s)
		{
			const double along = along_[PREDICTOR_BANDS * s + band],
						 energy = energies_[PREDICTOR_BANDS * s + band] + 1e-12,
						 gain = along * along / energy;
			size_t at = kept.count;
			while (at > 0 && gain >= gains[at - 1])
				--at;
			if (at >= most)
				continue;
			kept.count = std::min(kept.count + 1, most);
			for (size_t i = kept.count; --i > at;)
				kept.found[i] = kept.found[i - 1], gains[i] = gains[i - 1];
			const double factor = std::nearbyint(SIXTEENTHS * along / energy);
			kept.found[at] = {band, s, std::fabs(factor) <= c_.max_factor ? factor : 0.0};
			gains[at] = gain;
		}
		return kept;
	}

	const double* source(size_t s) const
	{
		return decoded_.data() + s * count_;
	}

	EncodeTask& task_;
	const Constants& c_;
	const Observation& seen_;
	size_t frames_, count_ = 0;		  // observed frames, and those with coefficients
	double least_;					  // bits that a predictor must save
	Buffer<double> wanted_, decoded_; // (C, count)
	Buffer<double> bands_, weights_;  // (4, count)
	Buffer<double> residuals_;		  // (3, count)
	Buffer<double> energies_, along_; // (C, 4) of sources: weighted squares, and products with the channel
	Buffer<int32_t> paces_;
	const double* weight_rows_[PREDICTOR_BANDS] = {};
};

} // namespace

bool choose_predictors(EncodeTask* task, const Observation& seen, size_t frames, double repeats,
					   Predictors* predictors)
{
	return PredictorSearch(task, seen, frames, repeats).run(predictors);
}

} // namespace keysine
} // namespace mocpack
