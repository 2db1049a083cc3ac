// Codes one track of a block: searches its coefficients, decodes it, and searches again where points are
// outside.
#include "keysine/encode/track_search.h"

#include <cmath>
#include <initializer_list>

#include "keysine/encode/joint_bounds.h"

namespace mocpack
{
namespace keysine
{

TrackSearch::TrackSearch(BlockState* state, Arena* arena)
	: s_(*state), e_(state->encoder), targets_(state, arena),
	  memory_(state->stride, 4, int32_t(most_points(state->encoder)), arena)
{
	const size_t stride = size_t(s_.stride), points = most_points(e_),
				 cells = e_.plan.channel_count * e_.grouping.longest_group();
	found_ = arena->allocate<int32_t>(4 * stride);
	scaled_start_ = arena->allocate<float>(3 * points * stride);
	scaled_moves_ = arena->allocate<float>(12 * points * stride);
	curve_ = arena->allocate<double>(4 * stride);
	turns_ = arena->allocate<Quat>(stride);
	if (e_.record.wanted)
		seen_ = {arena->allocate<float>(cells), arena->allocate<float>(cells), arena->allocate<float>(cells),
				 nullptr};
}

bool TrackSearch::code(size_t t, bool tries_targets, double* errors)
{
	const Track& track = e_.plan.tracks[t];
	const SearchSettings& settings = e_.job.settings;
	int32_t* step = s_.symbols.rows.steps + t * size_t(s_.symbols.shape.blocks) + size_t(s_.b);
	*step = -1;
	Coded coded;
	if (targets_.prepare(track, Target::PRICED))
		coded = round_strained_track(track, step);
	else
	{
		coded = search_inside(track, step);
		const bool has_targets =
			track.kind != POSITION_TRACK && track.kind != HINGE_TRACK && !is_near_hinge(e_, track);
		const int32_t hard_step =
			step_for(e_.job.limits, size_t(track.joint), int32_t(e_.constants.hard_step));
		if (coded.is_inside && *step > hard_step && has_targets && tries_targets && !sketches() &&
			settings.excess_penalty > 0)
			coded = search_elsewhere(track, coded, step);
		if (!coded.is_inside)
			coded = round_track(track, step);
	}
	if (!coded.is_inside)
		return false;
	const int32_t end = track.first_channel + track.channels;
	while (s_.next_predictor < e_.job.predictor_count && e_.job.predictors[4 * s_.next_predictor] < end)
		++s_.next_predictor;
	store_levels(track, *step);
	if (settings.excess_penalty <= 0)
		*errors += double(settings.squared_penalty) * coded.errors;
	if (seen_.wanted)
		record_track(track, *step);
	return true;
}

TrackSearch::Coded TrackSearch::search_inside(const Track& track, int32_t* step)
{
	double scale = 1.0;
	for (int attempt = 0; attempt < int(e_.constants.search_retries); ++attempt)
	{
		const float cost = search_track(track, scale, step);
		const Decoded decoded = decode_track(track, *step);
		if (decoded.worst <= 1.0 || e_.job.settings.excess_penalty <= 0)
			return {true, cost, decoded.errors};
		scale *= e_.constants.retry_margin * std::sqrt(decoded.worst);
	}
	return {};
}

TrackSearch::Coded TrackSearch::search_elsewhere(const Track& track, const Coded& first, int32_t* step)
{
	Target best = Target::PRICED, last = best;
	float least = first.cost;
	Coded coded;
	for (Target target : {Target::NEAREST, Target::SOURCE})
	{
		targets_.prepare(track, target);
		last = target;
		coded = search_inside(track, step);
		if (coded.is_inside && coded.cost < least)
			least = coded.cost, best = target;
	}
	if (best == last)
		return coded;
	targets_.prepare(track, best);
	return search_inside(track, step);
}

TrackSearch::Coded TrackSearch::round_strained_track(const Track& track, int32_t* step)
{
	*step = step_for(e_.job.limits, size_t(track.joint),
					 UNIT_STEP + 2 * int32_t(e_.constants.compensated_octaves));
	for (int32_t c = 0; c < track.channels; ++c)
		round_channel(track, c, e_.steps[*step]);
	return {true, 0, decode_track(track, *step).errors};
}

TrackSearch::Coded TrackSearch::round_track(const Track& track, int32_t* step)
{
	const int32_t first = step_for(e_.job.limits, size_t(track.joint), UNIT_STEP),
				  uncompensated = first + 2 * int32_t(e_.constants.compensated_octaves);
	for (*step = first; *step < FINEST_STEP; ++*step)
	{
		if (*step == uncompensated && !is_near_hinge(e_, track))
			targets_.prepare(track, Target::SOURCE);
		for (int32_t c = 0; c < track.channels; ++c)
			round_channel(track, c, e_.steps[*step]);
		const Decoded decoded = decode_track(track, *step);
		if (decoded.worst <= 1.0)
			return {true, 0, decoded.errors};
	}
	std::memset(s_.strained, POINT_STRAIN, size_t(s_.n));
	return {};
}

void TrackSearch::round_channel(const Track& track, int32_t c, double size)
{
	int32_t* row = s_.row_of(track, c);
	work_ += 4.0 * s_.n * s_.n;
	for (int32_t k = 1; k <= s_.n; ++k)
	{
		double sum = 0;
		for (int32_t t = 1; t <= s_.n; ++t)
			sum += s_.sines[k * s_.width + t] * (targets_.aims[c * s_.stride + t - 1] - s_.line(track, c, t) -
												 targets_.ahead[c * s_.stride + t]);
		double units = sum / size;
		units = units > 5e8 ? 5e8 : units < -5e8 ? -5e8 : units;
		row[k] = int32_t(std::floor(units + 0.5));
	}
}

float TrackSearch::search_track(const Track& track, double scale, int32_t* step)
{
	int32_t size = 3 * targets_.points * s_.width;
	const float *start = targets_.start, *moves = targets_.moves;
	if (scale != 1.0)
	{
		for (int32_t i = 0; i < size; ++i)
			scaled_start_[i] = float(scale) * targets_.start[i];
		for (int32_t i = 0; i < size * track.channels; ++i)
			scaled_moves_[i] = float(scale) * targets_.moves[i];
		start = scaled_start_, moves = scaled_moves_;
	}
	Problem problem = {s_.n,
					   s_.width,
					   track.channels,
					   targets_.points,
					   s_.waves,
					   moves,
					   start,
					   targets_.wanted,
					   int32_t(e_.job.settings.jitter_from * float(s_.length())),
					   &e_.bits,
					   &s_.context,
					   int32_t(&track - e_.plan.tracks),
					   s_.b,
					   s_.sums};
	SearchSettings settings = e_.job.settings;
	settings.quartic_penalty *= weight_;
	settings.rounding += rounding_;
	settings.coarsest_step = step_for(e_.job.limits, size_t(track.joint), settings.coarsest_step);
	settings.finest_step = step_for(e_.job.limits, size_t(track.joint), settings.finest_step);
	const bool sketch = sketches();
	if (sketch && settings.excess_penalty > 0)
		settings.sweeps = 0, settings.greedy = 1, ++settings.coarsest_step;
	else if (sketch)
		settings.sweeps = 1;
	SearchResult result = search_block(problem, settings, e_.constants, e_.steps, found_, memory_);
	work_ += result.work;
	bool any = false;
	for (int32_t c = 0; c < track.channels; ++c)
		for (int32_t k = 0; k < s_.n; ++k)
		{
			s_.row_of(track, c)[k + 1] = found_[c * s_.width + k];
			any = any || found_[c * s_.width + k];
		}
	*step = any ? result.step : -1;
	return result.cost;
}

TrackSearch::Decoded TrackSearch::decode_track(const Track& track, int32_t step)
{
	const double size = step < 0 ? 0 : e_.steps[step];
	double worst = 0, sum = 0;
	work_ += double(track.channels) * s_.n * s_.n;
	size_t predictor = s_.next_predictor;
	for (int32_t c = 0; c < track.channels; ++c)
	{
		size_t channel = size_t(track.first_channel + c);
		predictor = s_.series.fill(int32_t(channel), s_.row_of(track, c), s_.n, s_.n, size, predictor);
		block_values(curve_ + c * s_.stride, s_.sines, s_.length(), 0, s_.length(),
					 track.key_step * s_.keys[channel],
					 track.key_step * s_.keys[e_.plan.channel_count + channel],
					 s_.series.series + channel * size_t(s_.stride), s_.series.extents[channel]);
	}
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns_);
		track_translations(track, curve_ + 1, s_.stride, s_.n, places);
		for (int32_t t = 0; t < s_.n; ++t)
		{
			s_.pair.decoded_position[s_.pair.at(track.joint, t)] =
				placed(e_.plan, s_.pair, track.joint, t, places[t]);
			double u = origin_excess(e_.rig, s_.pair, track.joint, t);
			worst = u > worst ? u : worst;
			sum += u;
			worst = with_extra_bounds(track, t, worst);
		}
		return {worst, sum};
	}
	track_rotations(track, curve_ + 1, s_.stride, s_.n, turns_);
	for (int32_t t = 0; t < s_.n; ++t)
		s_.pair.decoded_rotation[s_.pair.at(track.joint, t)] = world_rotation(s_.pair, track, turns_[t], t);
	if (e_.job.settings.excess_penalty > 0 && !extra_bound_count(e_, track))
		return {worst_point(e_.rig, s_.pair, track.joint), 0};
	for (int32_t t = 0; t < s_.n; ++t)
	{
		double u = worst_point(e_.rig, s_.pair, track.joint, t, &sum);
		worst = u > worst ? u : worst;
		worst = with_extra_bounds(track, t, worst);
	}
	return {worst, sum};
}

double TrackSearch::with_extra_bounds(const Track& track, int32_t t, double worst) const
{
	double values[4];
	for (int32_t c = 0; c < track.channels; ++c)
		values[c] = curve_[c * s_.stride + t + 1];
	double u = extra_bound_excess(e_, s_.pair, track, t, values);
	return u > worst ? u : worst;
}

void TrackSearch::store_levels(const Track& track, int32_t step)
{
	for (int32_t c = 0; c < track.channels; ++c)
	{
		const int32_t *row = s_.row_of(track, c), at = track.first_channel + c;
		uint8_t* levels = s_.symbols.rows.levels + s_.symbols.shape.row(at, s_.b);
		int32_t reach = s_.n;
		while (reach > 0 && !row[reach])
			levels[reach--] = 0;
		for (int32_t k = 1; k <= reach; ++k)
			levels[k] = level_of(symbol_of(magnitude(row[k]), FINE));
		s_.symbols.rows.reaches[at * s_.symbols.shape.blocks + s_.b] =
			uint8_t(step < 0 ? 0 : reach_symbol(reach));
	}
}

void TrackSearch::record_track(const Track& track, int32_t step)
{
	for (int32_t c = 0; c < track.channels; ++c)
		for (int32_t k = 0; k <= s_.n; ++k)
		{
			const size_t channel = size_t(track.first_channel + c),
						 at = channel * s_.group_length + s_.first_frame + size_t(k);
			const double* own = s_.series.series + channel * size_t(s_.stride);
			seen_.wanted[at] =
				k ? targets_.wanted[c * s_.width + k - 1] + float(targets_.predicted[c][k]) : 0.0f;
			seen_.series[at] = k && k <= s_.series.extents[channel] ? float(own[k]) : 0.0f;
			seen_.steps[at] = step < 0 ? 0.0f : float(e_.steps[step]);
		}
}

void TrackSearch::report() const
{
	const CoefficientRecord& record = e_.record;
	if (!record.wanted)
		return;
	size_t from = e_.grouping.key_frame(s_.group), length = s_.group_length;
	for (size_t c = 0; c < e_.plan.channel_count; ++c)
	{
		size_t to = c * e_.job.motion.frames + from;
		std::memcpy(record.wanted + to, seen_.wanted + c * length, length * sizeof(float));
		std::memcpy(record.series + to, seen_.series + c * length, length * sizeof(float));
		std::memcpy(record.steps + to, seen_.steps + c * length, length * sizeof(float));
	}
	for (int32_t b = 0; b < s_.symbols.shape.blocks; ++b)
	{
		size_t at = from + block_frame(length, s_.symbols.splits, size_t(b));
		for (int32_t k = 0; k <= s_.symbols.lengths[b]; ++k)
			record.paces[at + size_t(k)] = k ? normalized_frequency(k, s_.symbols.shape.tempo) : 0;
	}
}

} // namespace keysine
} // namespace mocpack
