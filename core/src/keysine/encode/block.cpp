// Codes one block of a `keysine` group track by track. Each track has a target that depends on its decoded
// ancestors.
#include "keysine/encode/block.h"

#include <cmath>

#include "keysine/encode/joint_bounds.h"

namespace mocpack
{
namespace keysine
{

BlockCoder::BlockCoder(const Encoder* encoder, Arena* arena)
	: e_(*encoder), plan_(encoder->plan), rig_(encoder->rig),
	  near_(encoder->plan, symbols_.shape, symbols_.rows)
{
	size_t group = e_.grouping.longest_group(),
		   longest = group < size_t(MAX_BLOCK_FRAMES) ? group : size_t(MAX_BLOCK_FRAMES);
	stride_ = padded(int32_t(longest));
	size_t stride = size_t(stride_),
		   points = size_t(rig_.most > 1 ? rig_.most : 1) + size_t(most_extra_bounds(e_));
	lay_out_motion_pair(&pair_, arena, e_, int32_t(longest));
	lay_out_group(plan_, group, &symbols_, arena);
	frames_ = arena->allocate<size_t>(stride);
	sines_ = arena->allocate<double>(longest * stride);
	waves_ = arena->allocate<float>(longest * stride);
	aims_ = arena->allocate<double>(4 * stride);
	ahead_ = arena->allocate<double>(4 * stride);
	curve_ = arena->allocate<double>(4 * stride);
	series_ = arena->allocate<double>(plan_.channel_count * stride);
	extents_ = arena->allocate<int32_t>(plan_.channel_count);
	turns_ = arena->allocate<Quat>(stride);
	start_ = arena->allocate<float>(3 * points * stride);
	moves_ = arena->allocate<float>(12 * points * stride);
	scaled_start_ = arena->allocate<float>(3 * points * stride);
	scaled_moves_ = arena->allocate<float>(12 * points * stride);
	wanted_ = arena->allocate<float>(4 * stride);
	found_ = arena->allocate<int32_t>(4 * stride);
	strained_ = arena->allocate<uint8_t>(stride);
	strained_before_ = arena->allocate<uint8_t>(stride);
	hinges_before_ = lay_out_saved_hinges(arena);
	extra_bounds_ = arena->allocate<ExtraBound>(size_t(most_extra_bounds(e_)));
	search_ = SearchMemory(stride_, 4, int32_t(points), arena);
	if (e_.record.wanted)
		seen_wanted_ = arena->allocate<float>(plan_.channel_count * group),
		seen_series_ = arena->allocate<float>(plan_.channel_count * group),
		seen_steps_ = arena->allocate<float>(plan_.channel_count * group);
}

bool BlockCoder::begin(size_t group, const int32_t* keys, int splits)
{
	group_ = group, length_of_group_ = e_.grouping.length(group);
	errors_ = 0, filled_ = nullptr;
	if (!shape_group(plan_, length_of_group_, splits, e_.job.tempo, &symbols_))
		return false;
	near_.set_lengths();
	size_t blocks = size_t(1) << splits, apart = size_t(1) << (e_.job.splits - splits),
		   channels = plan_.channel_count;
	for (size_t b = 0; b <= blocks; ++b)
		std::memcpy(symbols_.keys + b * channels, keys + b * apart * channels, channels * sizeof(int32_t));
	return true;
}

void BlockCoder::set_variant(const Variant& variant)
{
	weight_ = float(std::ldexp(1.0, variant.doublings)), rounding_ = variant.rounding,
	hinge_variant_ = variant.hinges;
}

SavedBlock BlockCoder::lay_out_saved_block(Arena* arena) const
{
	const size_t channels = plan_.channel_count, cells = channels * size_t(row_stride(stride_));
	return {arena->allocate<int32_t>(plan_.track_count),
			arena->allocate<int32_t>(cells),
			arena->allocate<uint8_t>(cells),
			arena->allocate<uint8_t>(channels),
			arena->allocate<double>(channels * size_t(stride_)),
			arena->allocate<int32_t>(channels),
			arena->allocate<Vec3>(plan_.skeleton->joint_count * size_t(stride_)),
			arena->allocate<Quat>(plan_.skeleton->joint_count * size_t(stride_))};
}

void BlockCoder::copy_span(const SavedBlock& saved, const Span& span, bool saves) const
{
	if (span.empty())
		return;
	const Shape& shape = symbols_.shape;
	const Rows& rows = symbols_.rows;
	const size_t stride = size_t(shape.stride);
	auto copy = [saves](auto* own, auto* copied, size_t count)
	{ std::memcpy(saves ? copied : own, saves ? own : copied, count * sizeof(*own)); };
	for (size_t t = span.first_track; t < span.end_track; ++t)
		copy(rows.steps + t * size_t(shape.blocks) + size_t(b_), saved.steps + t, 1);
	const Track& last = plan_.tracks[span.end_track - 1];
	for (size_t c = size_t(plan_.tracks[span.first_track].first_channel);
		 c < size_t(last.first_channel + last.channels); ++c)
	{
		size_t row = size_t(shape.row(int32_t(c), b_)) - MARGIN;
		copy(rows.values + row, saved.values + c * stride, stride);
		copy(rows.levels + row, saved.levels + c * stride, stride);
		copy(rows.reaches + c * size_t(shape.blocks) + size_t(b_), saved.reaches + c, 1);
		copy(series_ + c * size_t(stride_), saved.series + c * size_t(stride_), size_t(stride_));
		copy(extents_ + c, saved.extents + c, 1);
	}
	const size_t from = pair_.at(span.first_joint, 0), to = pair_.at(span.end_joint, 0);
	copy(pair_.decoded_position + from, saved.positions + from, to - from);
	copy(pair_.decoded_rotation + from, saved.rotations + from, to - from);
}

void BlockCoder::report() const
{
	const CoefficientRecord& record = e_.record;
	if (!record.wanted)
		return;
	size_t from = e_.grouping.key_frame(group_), length = length_of_group_;
	for (size_t c = 0; c < plan_.channel_count; ++c)
	{
		size_t to = c * e_.job.motion.frames + from;
		std::memcpy(record.wanted + to, seen_wanted_ + c * length, length * sizeof(float));
		std::memcpy(record.series + to, seen_series_ + c * length, length * sizeof(float));
		std::memcpy(record.steps + to, seen_steps_ + c * length, length * sizeof(float));
	}
	for (int32_t b = 0; b < symbols_.shape.blocks; ++b)
	{
		size_t at = from + block_frame(length, symbols_.splits, size_t(b));
		for (int32_t k = 0; k <= symbols_.lengths[b]; ++k)
			record.paces[at + size_t(k)] = k ? normalized_frequency(k, symbols_.shape.tempo) : 0;
	}
}

bool BlockCoder::code(size_t b)
{
	size_t from = block_frame(length_of_group_, symbols_.splits, b);
	int32_t length = symbols_.lengths[b] + 1;
	b_ = int32_t(b), from_ = from, keys_ = symbols_.keys + b * plan_.channel_count;
	set_length(length);
	pair_.count = length - 1;
	for (int32_t t = 0; t + 1 < length; ++t)
		frames_[t] = e_.grouping.key_frame(group_) + from + size_t(t) + 1;
	if (filled_ != keys_)
		fill_source(&pair_, e_, frames_);
	filled_ = keys_;
	set_hinge_variant(); // the attempts below change it
	tracks_left_ =
		size_t(e_.constants.block_tries) * plan_.track_count + 1; // 1: a block without tracks is coded once
	for (int tries = 0; tries < (e_.hinged ? int(e_.constants.block_tries) : 1) && tracks_left_ > 0; ++tries)
	{
		if (all_tracks() && !strained())
			return true;
		for (int32_t t = 0; t < n_ && e_.hinged; ++t)
			relieve(e_, pair_, t, strained_[t], tries);
	}
	return false;
}

bool BlockCoder::tracks_of(const Span& span, bool may_strain)
{
	next_predictor_ = 0;
	const size_t count = span.end_track - span.first_track;
	tracks_left_ -= count < tracks_left_ ? count : tracks_left_;
	size_t t = span.first_track;
	int32_t first = t < plan_.track_count ? plan_.tracks[t].first_channel : 0;
	while (next_predictor_ < e_.job.predictor_count && e_.job.predictors[4 * next_predictor_] < first)
		++next_predictor_;
	std::memset(strained_, 0, size_t(n_));
	for (int32_t j = span.first_joint; j < span.end_joint; ++j)
	{
		if (!moves(plan_, t, j))
			place_still(plan_, pair_, j);
		else if (!track(t) || behind(t++))
			return false;
		if (!turns(plan_, t, j))
			turn_still(plan_, pair_, j);
		else if (!track(t) || behind(t++))
			return false;
		if (!may_strain && strained())
			return false;
	}
	return true;
}

void BlockCoder::set_length(int32_t length)
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

SeriesBlock BlockCoder::series_block() const
{
	return {reinterpret_cast<const Predictor*>(e_.job.predictors),
			e_.job.predictor_count,
			symbols_.shape.tempo,
			stride_,
			series_,
			extents_};
}

bool BlockCoder::track(size_t t)
{
	const Track& track = plan_.tracks[t];
	int32_t* step = symbols_.rows.steps + t * size_t(symbols_.shape.blocks) + size_t(b_);
	*step = -1;
	prepare(track, Target::PRICED);
	if (strained_here_)
		return round_strained_track(track, step);
	bool inside = search_inside(track, step);
	const bool has_targets =
		track.kind != POSITION_TRACK && track.kind != HINGE_TRACK && !is_near_hinge(e_, track);
	const int32_t hard_step = step_for(e_.job.limits, size_t(track.joint), int32_t(e_.constants.hard_step));
	if (inside && *step > hard_step && has_targets && !sketches() && !budget_ &&
		e_.job.settings.excess_penalty > 0)
		inside = search_elsewhere(track, step);
	return (inside || round_track(track, step)) && finish(track, *step);
}

bool BlockCoder::search_inside(const Track& track, int32_t* step)
{
	double scale = 1.0;
	for (int attempt = 0; attempt < int(e_.constants.search_retries); ++attempt)
	{
		*step = search_track(track, scale);
		double worst = decode_track(track, *step);
		if (worst <= 1.0 || e_.job.settings.excess_penalty <= 0)
			return true;
		scale *= e_.constants.retry_margin * std::sqrt(worst);
	}
	return false;
}

bool BlockCoder::search_elsewhere(const Track& track, int32_t* step)
{
	Target best = Target::PRICED, last = best;
	float least = cost_;
	const Target others[] = {Target::NEAREST, Target::SOURCE};
	for (Target target : others)
	{
		prepare(track, target);
		last = target;
		if (search_inside(track, step) && cost_ < least)
			least = cost_, best = target;
	}
	if (best == last)
		return true;
	prepare(track, best);
	return search_inside(track, step);
}

bool BlockCoder::round_strained_track(const Track& track, int32_t* step)
{
	*step = step_for(e_.job.limits, size_t(track.joint),
					 UNIT_STEP + 2 * int32_t(e_.constants.compensated_octaves));
	for (int32_t c = 0; c < track.channels; ++c)
		round_channel(track, c, e_.steps[*step]);
	decode_track(track, *step);
	return finish(track, *step);
}

bool BlockCoder::finish(const Track& track, int32_t step)
{
	int32_t last = track.first_channel + track.channels;
	while (next_predictor_ < e_.job.predictor_count && e_.job.predictors[4 * next_predictor_] < last)
		++next_predictor_;
	store_levels(track, step);
	errors_ += e_.job.settings.excess_penalty > 0 ? 0.0 : double(e_.job.settings.squared_penalty) * sum_;
	for (int32_t c = 0; c < track.channels && seen_wanted_; ++c)
		for (int32_t k = 0; k <= n_; ++k)
		{
			size_t channel = size_t(track.first_channel + c),
				   at = channel * length_of_group_ + from_ + size_t(k);
			const double* own = series_ + channel * size_t(stride_);
			seen_wanted_[at] = k ? wanted_[c * width_ + k - 1] + float(predicted_[c][k]) : 0.0f;
			seen_series_[at] = k && k <= extents_[channel] ? float(own[k]) : 0.0f;
			seen_steps_[at] = step < 0 ? 0.0f : float(e_.steps[step]);
		}
	return true;
}

void BlockCoder::store_levels(const Track& track, int32_t step)
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
		symbols_.rows.reaches[at * symbols_.shape.blocks + b_] = uint8_t(step < 0 ? 0 : reach_symbol(reach));
	}
}

bool BlockCoder::round_track(const Track& track, int32_t* step)
{
	const int32_t first = step_for(e_.job.limits, size_t(track.joint), UNIT_STEP),
				  uncompensated = first + 2 * int32_t(e_.constants.compensated_octaves);
	for (*step = first; *step < FINEST_STEP; ++*step)
	{
		if (*step == uncompensated && !is_near_hinge(e_, track))
			prepare(track, Target::SOURCE);
		for (int32_t c = 0; c < track.channels; ++c)
			round_channel(track, c, e_.steps[*step]);
		if (decode_track(track, *step) <= 1.0)
			return true;
	}
	std::memset(strained_, POINT_STRAIN, size_t(n_));
	return false;
}

void BlockCoder::round_channel(const Track& track, int32_t c, double size)
{
	int32_t* row = row_of(track, c);
	work_ += 4.0 * n_ * n_;
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

int32_t BlockCoder::search_track(const Track& track, double scale)
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
	SearchResult result = search_block(problem, settings, e_.constants, e_.steps, found_, search_);
	cost_ = result.cost, work_ += result.work;
	bool any = false;
	for (int32_t c = 0; c < track.channels; ++c)
		for (int32_t k = 0; k < n_; ++k)
		{
			row_of(track, c)[k + 1] = found_[c * width_ + k];
			any = any || found_[c * width_ + k];
		}
	return any ? result.step : -1;
}

double BlockCoder::decode_track(const Track& track, int32_t step)
{
	double size = step < 0 ? 0 : e_.steps[step], worst = 0;
	sum_ = 0, work_ += double(track.channels) * n_ * n_;
	size_t predictor = next_predictor_;
	for (int32_t c = 0; c < track.channels; ++c)
	{
		size_t channel = size_t(track.first_channel + c);
		predictor = series_block().fill(int32_t(channel), row_of(track, c), n_, n_, size, predictor);
		block_values(curve_ + c * stride_, sines_, length_, 0, length_, track.key_step * keys_[channel],
					 track.key_step * keys_[plan_.channel_count + channel],
					 series_ + channel * size_t(stride_), extents_[channel]);
	}
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns_);
		track_translations(track, curve_ + 1, stride_, n_, places);
		for (int32_t t = 0; t < n_; ++t)
		{
			pair_.decoded_position[pair_.at(track.joint, t)] =
				placed(plan_, pair_, track.joint, t, places[t]);
			double u = origin_excess(rig_, pair_, track.joint, t);
			worst = u > worst ? u : worst;
			sum_ += u;
			worst = with_extra_bounds(track, t, worst);
		}
		return worst;
	}
	track_rotations(track, curve_ + 1, stride_, n_, turns_);
	for (int32_t t = 0; t < n_; ++t)
		pair_.decoded_rotation[pair_.at(track.joint, t)] = world_rotation(pair_, track, turns_[t], t);
	if (e_.job.settings.excess_penalty > 0 && !extra_bound_count(e_, track))
		return worst_point(rig_, pair_, track.joint);
	for (int32_t t = 0; t < n_; ++t)
	{
		double u = worst_point(rig_, pair_, track.joint, t, &sum_);
		worst = u > worst ? u : worst;
		worst = with_extra_bounds(track, t, worst);
	}
	return worst;
}

double BlockCoder::with_extra_bounds(const Track& track, int32_t t, double worst) const
{
	double values[4];
	for (int32_t c = 0; c < track.channels; ++c)
		values[c] = curve_[c * stride_ + t + 1];
	double u = extra_bound_excess(e_, pair_, track, t, values);
	return u > worst ? u : worst;
}

} // namespace keysine
} // namespace mocpack
