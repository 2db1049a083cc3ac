// Quantizes the key poses of a `keysine` clip joint by joint. Each key moves towards its prediction as far as
// its allowance permits. These are all keys that groups can use. How many of them a group uses is decided
// later and changes no key.
#include <cmath>
#include <cstring>

#include "keysine/encode/extra_bounds.h"
#include "keysine/encode/pose.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int32_t FARTHEST_KEY = 1 << 29;
const double SHARES[] = {1.0, 0.5, 0.0}; // factors on key_share, tried in this order

double worst_after(const PoseProblem& p, const double* gap, int32_t channel, double change)
{
	double worst = 0;
	const double* m = p.moves + 3 * channel * p.points;
	for (int32_t i = 0; i < p.points; ++i)
	{
		double u = 0;
		for (int32_t a = 0; a < 3; ++a)
		{
			double d = gap[3 * i + a] + m[3 * i + a] * change;
			u += d * d;
		}
		worst = u > worst ? u : worst;
	}
	return worst;
}

// Returns the largest excess if the channels differ from the target by `change`. Stops as soon as it reaches
// `limit`.
double worst_of(const PoseProblem& p, const double* change, double limit)
{
	double worst = 0;
	for (int32_t i = 0; i < p.points && worst < limit; ++i)
	{
		double u = 0;
		for (int32_t a = 3 * i; a < 3 * i + 3; ++a)
		{
			double d = p.start[a];
			for (int32_t c = 0; c < p.channels; ++c)
				d += p.moves[3 * c * p.points + a] * change[c];
			u += d * d;
		}
		worst = u > worst ? u : worst;
	}
	return worst;
}

// Computes the displacements of all points for a key, over their allowances.
void displace(const PoseProblem& p, double step, const int32_t* key, double* gap)
{
	for (int32_t i = 0; i < 3 * p.points; ++i)
	{
		gap[i] = p.start[i];
		for (int32_t c = 0; c < p.channels; ++c)
			gap[i] += p.moves[3 * c * p.points + i] * (key[c] * step - p.target[c]);
	}
}

// Moves channels towards their predictions, one unit at a time, while all points stay within `share` of their
// allowances.
void pull(const PoseProblem& p, double step, double share, int moves, const int32_t* before, int32_t* key,
		  double* gap)
{
	displace(p, step, key, gap);
	for (int attempt = 0; attempt < moves; ++attempt)
	{
		double best = 1e300;
		int32_t chosen = -1;
		for (int32_t c = 0; c < p.channels; ++c)
		{
			int32_t apart = key[c] - before[c];
			if (!apart)
				continue;
			double worst = worst_after(p, gap, c, apart > 0 ? -step : step);
			double score = worst * std::abs(apart); // small differences save most
			if (worst <= share * share && score < best)
				best = score, chosen = c;
		}
		if (chosen < 0)
			return;
		int32_t unit = key[chosen] > before[chosen] ? -1 : 1;
		key[chosen] += unit;
		for (int32_t i = 0; i < 3 * p.points; ++i)
			gap[i] += p.moves[3 * chosen * p.points + i] * unit * step;
	}
}

// Estimates the bits of the difference between a key and its prediction.
double key_bits(const Constants& c, int32_t apart)
{
	return apart ? 1.0 + c.octave_bits * math::log2(1.0 + std::abs(apart)) : 0.0;
}

// Returns by how much the sum of squared displacements changes if one channel changes.
double squares_after(const PoseProblem& p, const double* gap, int32_t channel, double change)
{
	double sum = 0;
	const double* m = p.moves + 3 * channel * p.points;
	for (int32_t i = 0; i < 3 * p.points; ++i)
		sum += m[i] * change * (2 * gap[i] + m[i] * change);
	return sum;
}

// Moves channels towards their predictions, by one unit or all the way, while this saves more bits than the
// displacements cost. price: bits per squared allowance.
void trade(const Constants& c, const PoseProblem& p, double step, double price, const int32_t* before,
		   int32_t* key, double* gap)
{
	displace(p, step, key, gap);
	for (int attempt = 0; attempt < int(c.repairs); ++attempt)
	{
		double best = 0;
		int32_t chosen = -1, units = 0;
		for (int32_t channel = 0; channel < p.channels; ++channel)
		{
			int32_t apart = key[channel] - before[channel];
			const int32_t ways[] = {apart > 0 ? -1 : 1, -apart};
			for (int32_t tried : ways)
			{
				double cost = apart ? price * squares_after(p, gap, channel, tried * step) +
										  key_bits(c, apart + tried) - key_bits(c, apart)
									: 0.0;
				if (cost < best)
					best = cost, chosen = channel, units = tried;
			}
		}
		if (chosen < 0)
			return;
		key[chosen] += units;
		for (int32_t i = 0; i < 3 * p.points; ++i)
			gap[i] += p.moves[3 * chosen * p.points + i] * units * step;
	}
}

class KeyCoder
{
  public:
	KeyCoder(const Encoder* encoder, size_t count, Arena* arena)
		: e_(*encoder), plan_(encoder->plan), rig_(encoder->rig), count_(int32_t(count))
	{
		lay_out_motion_pair(&pair_, arena, e_, count_);
		frames_ = arena->allocate<size_t>(count);
		size_t points = size_t(rig_.most > 1 ? rig_.most : 1) + size_t(most_extra_bounds(e_));
		lay_out_problem(&problem_, e_, arena);
		gap_ = arena->allocate<double>(3 * points);
		failed_ = arena->allocate<uint8_t>(encoder->job.group_count);
		strained_ = arena->allocate<uint8_t>(count);
		first_steps_ = arena->allocate<int32_t>(plan_.track_count);
	}

	bool run(int32_t* keys)
	{
		size_t blocks = size_t(1) << e_.job.splits;
		for (int32_t k = 0; k < count_; ++k)
		{
			size_t group = size_t(k) / blocks, from = e_.grouping.key_frame(group);
			size_t length = size_t(k) % blocks ? e_.grouping.length(group) : 0;
			frames_[k] = from + (length ? block_frame(length, e_.job.splits, size_t(k) % blocks) : 0);
		}
		fill_source(&pair_, e_, frames_);
		if (!e_.hinged)
			return all_tracks(keys);
		for (size_t t = 0; t < plan_.track_count; ++t)
			first_steps_[t] = *key_step(plan_.tracks[t]);
		for (int tries = 0; tries < int(e_.constants.block_tries); ++tries)
		{
			std::memset(strained_, 0, size_t(count_));
			bool good = all_tracks(keys), strained = false;
			for (int32_t k = 0; k < count_; ++k)
				strained = strained || strained_[k], relieve(e_, pair_, k, strained_[k], tries);
			if (good && !strained)
				return true;
			for (int32_t k = 0; k < count_ && !strained; ++k)
				relieve(e_, pair_, k, POINT_STRAIN, tries);
			start_again();
		}
		return false;
	}

  private:
	int32_t* key_step(const Track& track) const
	{
		int32_t* row = e_.job.table + PLAN_COLUMNS * track.joint;
		return row + (track.kind == POSITION_TRACK ? TRANSLATION_KEY_STEP : ROTATION_KEY_STEP);
	}

	void start_again()
	{
		for (size_t t = 0; t < plan_.track_count; ++t)
		{
			*key_step(plan_.tracks[t]) = first_steps_[t];
			plan_.tracks[t].key_index = first_steps_[t];
			plan_.tracks[t].key_step = key_step_of(plan_.unit, first_steps_[t]);
		}
		std::memset(e_.usable_splits, e_.job.splits, e_.job.group_count);
	}

	bool all_tracks(int32_t* keys)
	{
		size_t t = 0;
		for (int32_t j = 0; j < int32_t(plan_.skeleton->joint_count); ++j)
		{
			if (!moves(plan_, t, j))
				place_still(plan_, pair_, j);
			else if (!track(t++, keys))
				return false;
			if (!turns(plan_, t, j))
				turn_still(plan_, pair_, j);
			else if (!track(t++, keys))
				return false;
		}
		return true;
	}

	// Codes all keys of a track. Tries ever finer steps until enough keys stay within their allowances.
	bool track(size_t t, int32_t* keys)
	{
		Track& track = plan_.tracks[t];
		int32_t* index = key_step(track);
		for (int attempt = 0; !is_stopped(e_); ++attempt)
		{
			if (all(track, attempt < 2 * e_.constants.compensated_octaves || is_near_hinge(e_, track), keys))
				return true;
			if (++*index >= STEPS)
				return false;
			track.key_index = *index, track.key_step = key_step_of(plan_.unit, *index);
		}
		return false;
	}

	// Codes the keys at the ends of groups in order, then those between them by repeated halving. A few of
	// the latter may fail; their groups then have fewer blocks.
	bool all(const Track& track, bool compensate, int32_t* keys)
	{
		const size_t groups = e_.job.group_count;
		int32_t blocks = 1 << e_.job.splits, level = 0;
		for (int32_t k = 0; k < count_; k += blocks)
			if (!code(track, k, k - blocks, k - blocks, compensate, keys))
				return false;
		std::memset(failed_, MOCPACK_KEYSINE_MAX_SPLITS, groups);
		size_t failures = 0;
		for (int32_t half = blocks / 2; half; half /= 2, ++level)
			for (int32_t k = half; k < count_; k += 2 * half)
				if (!code(track, k, k - half, k + half, compensate, keys))
				{
					uint8_t* own = failed_ + k / blocks;
					*own = uint8_t(*own < level ? *own : level);
					failures += level < int32_t(e_.constants.common_key_levels);
					if (level < e_.least_splits ||
						failures > groups / size_t(e_.constants.groups_per_missing_key))
						return false;
				}
		for (size_t g = 0; g < groups; ++g)
			e_.usable_splits[g] = failed_[g] < e_.usable_splits[g] ? failed_[g] : e_.usable_splits[g];
		return true;
	}

	// Codes key k, predicted as the mean of keys `from` and `to`. There is no prediction if `from` is
	// negative.
	bool code(const Track& track, int32_t k, int32_t from, int32_t to, bool compensate, int32_t* keys)
	{
		const size_t channels = plan_.channel_count;
		int32_t* key = keys + size_t(k) * channels + track.first_channel;
		int32_t rounded[4], predicted[4];
		set_problem(&problem_, e_, pair_, track, k, compensate);
		if (is_near_hinge(e_, track) && e_.job.settings.excess_penalty > 0 && !strained_[k])
			strained_[k] = strain_of(rig_points(e_, track));
		for (int32_t c = 0; c < track.channels; ++c)
		{
			double units = problem_.target[c] / track.key_step;
			if (!(std::fabs(units) < FARTHEST_KEY))
				return false;
			rounded[c] = int32_t(std::floor(units + 0.5));
			if (from >= 0)
				predicted[c] = (keys[size_t(from) * channels + size_t(track.first_channel + c)] +
								keys[size_t(to) * channels + size_t(track.first_channel + c)]) >>
							   1;
		}
		if (e_.job.settings.excess_penalty <= 0)
		{
			std::memcpy(key, rounded, sizeof(int32_t) * size_t(track.channels));
			double price = e_.job.settings.key_price * double(e_.job.settings.squared_penalty);
			if (from >= 0 && price > 0)
				trade(e_.constants, problem_, track.key_step, price * double(frames_[k] - frames_[from]),
					  predicted, key, gap_);
			decode_key(track, k, key);
			return true;
		}
		for (double part : SHARES)
		{
			double share = part * e_.job.settings.key_share;
			std::memcpy(key, rounded, sizeof(int32_t) * size_t(track.channels));
			if (from >= 0 && share > 0)
				pull(problem_, track.key_step, share, int(e_.constants.repairs), predicted, key, gap_);
			if (decode_key(track, k, key) <= 1.0)
				return true;
		}
		// if a bound cannot be kept even at the target, no step helps: go on, and code all keys again later
		return nudge(track, k, rounded, key) || (is_near_hinge(e_, track) && strained_[k]);
	}

	// Returns which bounds (Strain) are exceeded even at the target. The first `extra_bounds` points are
	// points of the rig, the others are extra bounds.
	uint8_t strain_of(int32_t extra_bounds) const
	{
		int strain = NO_STRAIN;
		for (int32_t i = 0; i < problem_.points; ++i)
		{
			Vec3 off = load_vec(problem_.start + 3 * i);
			if (dot(off, off) > e_.constants.strain_excess)
				strain |= i < extra_bounds ? POINT_STRAIN : EXTRA_BOUND_STRAIN;
		}
		return uint8_t(strain);
	}

	// Searches the neighbors of the rounded key for one within the allowances.
	bool nudge(const Track& track, int32_t k, const int32_t* rounded, int32_t* key)
	{
		double best = 1e300;
		int32_t found[4] = {}, ways = 1;
		for (int32_t c = 0; c < track.channels; ++c)
			ways *= 3;
		for (int32_t way = 0; way < ways; ++way)
		{
			int32_t tried[4];
			double change[4];
			for (int32_t c = 0, rest = way; c < track.channels; ++c, rest /= 3)
			{
				tried[c] = rounded[c] + rest % 3 - 1;
				change[c] = tried[c] * track.key_step - problem_.target[c];
			}
			double worst = worst_of(problem_, change, best);
			if (worst < best)
				best = worst, std::memcpy(found, tried, sizeof found);
		}
		std::memcpy(key, found, sizeof(int32_t) * size_t(track.channels));
		return decode_key(track, k, key) <= 1.0;
	}

	// Sets the decoded pose of the key and returns its largest excess.
	double decode_key(const Track& track, int32_t k, const int32_t* key)
	{
		double values[4];
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[c];
		return settle_pose(e_, pair_, track, k, values);
	}

	const Encoder& e_;
	const Plan& plan_; // the key steps of its tracks and of the job's table are refined
	const Rig& rig_;
	int32_t count_;
	MotionPair pair_;
	size_t* frames_;
	PoseProblem problem_;
	double* gap_;
	uint8_t* failed_;	   // (groups) first level at which a key fails
	uint8_t* strained_;	   // (keys) Strain: bounds that cannot be kept even at the target
	int32_t* first_steps_; // (tracks)
};

} // namespace

mocpack_Status encode_keys(Encoder* encoder, int32_t* keys, Arena* arena)
{
	KeyCoder coder(encoder, encoder->key_count(), arena);
	if (!arena->has_memory())
		return MOCPACK_OK;
	return coder.run(keys) ? MOCPACK_OK : MOCPACK_BOUND_NOT_MET;
}

} // namespace keysine
} // namespace mocpack
