// Sets up the prediction of numbers in grid mode.
#include "keysine/format/grid.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const double BLEND_FORGETTING = 0.98, BLEND_PULL = 100.0;
const size_t MAX_INPUTS =
	4 + 2 * (3 + 4 + 4); // own lags, then two per channel of the track, its parent and grandparent

// A track has at most four channels, each used with two lags.
size_t max_inputs(size_t own, size_t reach)
{
	return own + 2 * 3 + 2 * 4 * (reach - 1);
}

// Returns the most informative track: the parent's rotation; for the root's rotation, its translation.
int32_t track_above(const Plan& plan, int32_t t)
{
	const Track& track = plan.tracks[t];
	if (track.kind != POSITION_TRACK && track.parent >= 0)
		return track.parent;
	if (track.kind != POSITION_TRACK)
		return t > 0 && track.joint == 0 ? t - 1 : -1;
	for (int32_t j = plan.skeleton->parents[track.joint]; j >= 0; j = plan.skeleton->parents[j])
		for (int32_t other = t; other-- > 0;)
			if (plan.tracks[other].joint == j && plan.tracks[other].kind != POSITION_TRACK)
				return other;
	return -1;
}

// Inputs of a predictor of one column.
struct Inputs
{
	size_t count = 0;
	int32_t columns[MAX_INPUTS];
	uint8_t lags[MAX_INPUTS];

	void add(int32_t column, int32_t lag)
	{
		columns[count] = column, lags[count++] = uint8_t(lag);
	}
	void add_recent(const Track& track, int32_t own)
	{
		for (int32_t c = track.first_channel; c < track.first_channel + track.channels; ++c)
		{
			if (c < own)
				add(c, 0);
			if (c != own)
				add(c, 1);
		}
	}
};

// `above` (tracks) holds parent tracks.
Inputs inputs_of(const Plan& plan, const int32_t* above, int32_t t, int32_t column, int32_t own,
				 int32_t reach)
{
	Inputs inputs;
	for (int32_t lag = 1; lag <= own; ++lag)
		inputs.add(column, lag);
	for (int32_t relative = t; reach > 0 && relative >= 0; relative = above[relative], --reach)
		inputs.add_recent(plan.tracks[relative], column);
	return inputs;
}

} // namespace

const Forecast& forecast_of(bool thorough)
{
	static const Forecast forecasts[2] = {
		{1, {0.99}, {3}, {2}, {4}, 30, 10.0},
		{2, {0.98, 0.998}, {4, 3}, {1, 3}, {2, 1}, 30, 4.0},
	};
	return forecasts[thorough];
}

GridSeries::GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena)
{
	const Forecast& f = forecast_of(thorough);
	size_t channels = plan.channel_count, most = channels * f.predictors;
	uint32_t* starts = arena->allocate<uint32_t>(most + 1);
	int32_t* columns = arena->allocate<int32_t>(most * MAX_INPUTS);
	uint8_t* lags = arena->allocate<uint8_t>(most * MAX_INPUTS);
	above = arena->allocate<int32_t>(plan.track_count);
	means = arena->allocate<uint32_t>(channels);
	surprises = arena->allocate<int32_t>(channels);
	uint32_t* sizes = arena->allocate<uint32_t>(channels);
	model = {channels, f.predictors, f.forgetting, f.periods, f.warm, f.caution, BLEND_FORGETTING, BLEND_PULL,
			 1,		   starts,		 columns,	   lags,	  sizes};
	if (!starts)
	{
		size_t doubles = 0; // upper bound
		for (size_t p = 0; p < f.predictors; ++p)
			doubles += channels * RecursiveLeastSquares::doubles(max_inputs(f.own[p], f.reach[p]));
		arena->allocate<uint8_t>(series::Forecaster::fixed_size(channels) + doubles * sizeof(double));
		return;
	}
	for (size_t c = 0; c < channels; ++c)
		sizes[c] = expected_error(initial_scales[c]);
	for (int32_t t = 0; t < int32_t(plan.track_count); ++t)
		above[t] = track_above(plan, t);
	size_t at = 0;
	uint32_t* start = starts;
	for (int32_t t = 0; t < int32_t(plan.track_count); ++t)
		for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
			for (size_t p = 0; p < f.predictors; ++p)
			{
				int32_t column = plan.tracks[t].first_channel + c;
				Inputs inputs;
				if (initial_scales[column] > MAX_UNPREDICTED_SCALE)
					inputs = inputs_of(plan, above, t, column, f.own[p], f.reach[p]);
				*start++ = uint32_t(at);
				for (size_t i = 0; i < inputs.count; ++i, ++at)
					columns[at] = inputs.columns[i], lags[at] = inputs.lags[i];
			}
	*start = uint32_t(at);
	scratch = arena->allocate<uint8_t>(series::Forecaster::scratch_size(&model));
}

} // namespace keysine
} // namespace mocpack
