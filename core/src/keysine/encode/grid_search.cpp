// Codes a group of a `keysine` clip on a grid in time: frame by frame, joint by joint down the skeleton.
//
// A track may use any grid point around its target that keeps all points it carries within their allowances.
// A beam search keeps the cheapest encodings of the frame so far, called ways in this file. The cost counts
// bits, estimated from the distance between grid points and predictions, and nearness to the bound.
//
// If no grid point is inside, the track's grid is made finer in this frame. A fine enough grid point at the
// true rotation moves the track's points no further than its joint's origin. That origin is inside, so the
// refinement ends.
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "keysine/encode/extra_bounds.h"
#include "keysine/encode/pose.h"
#include "keysine/format/curves.h"
#include "keysine/format/grid.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t MOST_PLACES = 81; // grid points around a target of four channels

// A grid point of the next track, as an extension of one of the encodings in the beam.
struct Proposal
{
	int32_t way;
	double bits; // of that encoding, including this track
	double cost; // bits plus the penalty of its errors
	GridSample place;
};

// The beam: encodings of the tracks of a frame so far, (ways, …) each. Slot w of the pair has the decoded
// pose of encoding w.
struct Ways
{
	MotionPair pair;
	double* bits;		 // (ways)
	double* differences; // (ways, channels) from the previous frame, in steps
	GridSample* places;	 // (ways, tracks)
};

class GridCoder
{
  public:
	GridCoder(const Encoder* encoder, int32_t ways, Arena* arena)
		: e_(*encoder), plan_(encoder->plan),
		  series_(encoder->plan, encoder->job.settings.thorough != 0, encoder->job.initial_scales, arena)
	{
		most_ = ways;
		size_t channels = plan_.channel_count, joints = plan_.skeleton->joint_count, most = size_t(most_);
		size_t points = size_t(e_.rig.most > 1 ? e_.rig.most : 1) + size_t(most_extra_bounds(e_));
		lay_out_motion_pair(&now_.pair, arena, e_, most_);
		then_.pair = now_.pair; // the same source with another decoded pose
		then_.pair.decoded_position = arena->allocate<Vec3>(joints * most);
		then_.pair.decoded_rotation = arena->allocate<Quat>(joints * most);
		for (Ways* side : {&now_, &then_})
		{
			side->bits = arena->allocate<double>(most);
			side->differences = arena->allocate<double>(most * channels);
			side->places = arena->allocate<GridSample>(most * plan_.track_count);
		}
		lay_out_problem(&problem_, e_, arena);
		frames_ = arena->allocate<size_t>(most);
		proposals_ = arena->allocate<Proposal>(most * MOST_PLACES);
		numbers_ = arena->allocate<int32_t>(2 * channels);
		finer_ = arena->allocate<uint8_t>(plan_.track_count);
		gap_ = arena->allocate<double>(3 * points);
		units_ = arena->allocate<double>(12 * points);
	}

	// Writes the rows of a group. Adds the mean prediction error of each channel, in 1/256 step, to errors
	// (channels), unless that is null.
	bool run(size_t group, const int32_t* keys, TableWriter* writer, double* errors)
	{
		size_t from = e_.grouping.key_frame(group), to = e_.grouping.key_frame(group + 1),
			   channels = plan_.channel_count;
		keys_ = keys;
		GridModel model(plan_, series_);
		model_ = &model;
		GridRows<TableWriter> rows(*writer, plan_, model, finer_);
		std::memset(numbers_, 0, 2 * channels * sizeof(int32_t));
		for (size_t frame = from + 1; frame < to; ++frame)
		{
			if (is_stopped(e_) || !find_places(frame))
				return false;
			rows.begin_row();
			for (size_t t = 0; t < plan_.track_count; ++t)
				if (!rows.track(t, numbers_ + channels, now_.places + t))
					return false;
			rows.end_row();
			for (size_t c = 0; errors && c < channels; ++c)
				errors[c] += double(model.levels.mean(c)) / double(to - from - 1);
			std::memcpy(numbers_, numbers_ + channels, channels * sizeof(int32_t));
		}
		return true;
	}

  private:
	// Finds the grid points of all tracks in one frame. Afterwards, the first encoding in now_ is the
	// cheapest.
	bool find_places(size_t frame)
	{
		for (int32_t w = 0; w < most_; ++w)
			frames_[w] = frame;
		fill_source(&now_.pair, e_, frames_);
		for (int tries = 0; tries < (e_.hinged ? int(e_.constants.block_tries) : 1); ++tries)
		{
			if (find_ways())
				return true;
			for (int32_t w = 0; w < most_ && e_.hinged; ++w)
				relieve(e_, now_.pair, w, POINT_STRAIN, tries); // now_ and then_ share these arrays
		}
		return false;
	}

	bool find_ways()
	{
		count_ = 1, now_.bits[0] = 0;
		size_t t = 0;
		for (int32_t j = 0; j < int32_t(plan_.skeleton->joint_count); ++j)
		{
			if (moves(plan_, t, j))
			{
				if (!extend(t++))
					return false;
			}
			else
				for (int32_t w = 0; w < count_; ++w)
					place_still(plan_, now_.pair, j, w);
			if (turns(plan_, t, j))
			{
				if (!extend(t++))
					return false;
			}
			else
				for (int32_t w = 0; w < count_; ++w)
					turn_still(plan_, now_.pair, j, w);
		}
		return true;
	}

	// Extends all encodings by one track and keeps the cheapest. Returns false if none is left.
	bool extend(size_t t)
	{
		int32_t kept = 0;
		// the linear estimate can accept grid points that turn out to be outside
		for (int32_t finer = 0; finer <= MAX_REFINEMENT && !kept; ++finer)
		{
			proposed_ = 0;
			for (int32_t w = 0; w < count_; ++w)
				propose(t, w, finer);
			kept = keep_best(t);
		}
		Ways other = now_;
		now_ = then_, then_ = other;
		count_ = kept;
		return kept > 0;
	}

	int32_t keep_best(size_t t)
	{
		const Track& track = plan_.tracks[t];
		int32_t kept = 0;
		while (kept < most_ && proposed_)
		{
			Proposal best = take_best();
			copy_way(best.way, kept);
			double values[4];
			for (int32_t c = 0; c < track.channels; ++c)
			{
				size_t channel = size_t(track.first_channel + c);
				values[c] =
					track.key_step * keys_[channel] + e_.steps[e_.job.grid_steps[t]] * best.place.steps(c);
				then_.differences[size_t(kept) * plan_.channel_count + channel] =
					double(best.place.number[c]) - double(numbers_[channel]);
			}
			if (settle_pose(e_, then_.pair, track, kept, values) > 1.0)
				continue;
			then_.bits[kept] = best.bits;
			then_.places[size_t(kept) * plan_.track_count + t] = best.place;
			++kept;
		}
		return kept;
	}

	void copy_way(int32_t from, int32_t to)
	{
		size_t channels = plan_.channel_count, tracks = plan_.track_count;
		for (int32_t j = 0; j < int32_t(plan_.skeleton->joint_count); ++j)
		{
			size_t a = now_.pair.at(j, from), b = now_.pair.at(j, to);
			then_.pair.decoded_position[b] = now_.pair.decoded_position[a];
			then_.pair.decoded_rotation[b] = now_.pair.decoded_rotation[a];
		}
		std::memcpy(then_.differences + size_t(to) * channels, now_.differences + size_t(from) * channels,
					channels * sizeof(double));
		std::memcpy(then_.places + size_t(to) * tracks, now_.places + size_t(from) * tracks,
					tracks * sizeof(GridSample));
	}

	Proposal take_best()
	{
		size_t best = 0;
		for (size_t i = 1; i < proposed_; ++i)
			if (proposals_[i].cost < proposals_[best].cost)
				best = i;
		Proposal found = proposals_[best];
		proposals_[best] = proposals_[--proposed_];
		return found;
	}

	// Adds the grid points that encoding w may use, on the coarsest grid that has any, from `finer` on.
	void propose(size_t t, int32_t w, int32_t finer)
	{
		const Track& track = plan_.tracks[t];
		predict(track, w);
		size_t before = proposed_;
		const int32_t uncompensated = int32_t(e_.constants.compensated_octaves);
		set_problem(&problem_, e_, now_.pair, track, w, finer < uncompensated || e_.hinged);
		for (; finer <= MAX_REFINEMENT && proposed_ == before; ++finer)
		{
			if (finer == uncompensated && !e_.hinged)
				set_problem(&problem_, e_, now_.pair, track, w, false);
			add_places(track, e_.steps[e_.job.grid_steps[t]], finer, w);
		}
	}

	// Predicts the track's channels. Each prediction assumes that the channels before it have their predicted
	// values.
	void predict(const Track& track, int32_t w)
	{
		double* differences = now_.differences + size_t(w) * plan_.channel_count;
		std::memcpy(&model_->forecast.difference(0, 0), differences,
					size_t(track.first_channel) * sizeof(double));
		for (int32_t c = 0; c < track.channels; ++c)
		{
			size_t column = size_t(track.first_channel + c);
			double change = model_->forecast.predict(column);
			model_->forecast.difference(0, column) = change;
			expected_[c] = double(numbers_[column]) + change;
			double error = double(model_->levels.mean(column)) / 256.0;
			rate_[c] = 1.0 / (error > e_.constants.grid_min_error ? error : e_.constants.grid_min_error);
		}
	}

	void add_places(const Track& track, double step, int32_t finer, int32_t w)
	{
		int32_t points3 = 3 * problem_.points, parts = 1 << finer, count = 1;
		double size = step / parts, nearest[4];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			double key = track.key_step * keys_[track.first_channel + c];
			nearest[c] = std::floor((problem_.target[c] - key) / size + 0.5);
			if (!(std::fabs(nearest[c]) < 1e9))
				return;
			double away = key + nearest[c] * size - problem_.target[c];
			for (int32_t i = 0; i < points3; ++i)
			{
				double move = problem_.moves[c * points3 + i];
				gap_[i] = (c ? gap_[i] : problem_.start[i]) + move * away;
				units_[c * points3 + i] = move * size;
			}
			count *= 3;
		}
		double start =
			now_.bits[w] + (finer ? e_.constants.grid_finer_bits + double(finer * track.channels) : 0.0);
		for (int32_t k = 0; k < count; ++k)
		{
			int32_t offsets[4], rest = k;
			for (int32_t c = 0; c < track.channels; ++c, rest /= 3)
				offsets[c] = rest % 3 - 1;
			double worst = excess(track.channels, offsets);
			if (worst > e_.constants.grid_inside)
				continue;
			Proposal* p = proposals_ + proposed_++;
			p->way = w, p->bits = start, p->place = {};
			p->place.finer = finer;
			for (int32_t c = 0; c < track.channels; ++c)
			{
				int32_t fine = int32_t(nearest[c]) + offsets[c];
				p->place.number[c] = (fine + (parts >> 1)) >> finer;
				p->place.digits[c] = fine - p->place.number[c] * parts;
				p->bits += rate_[c] * std::fabs(double(p->place.number[c]) - expected_[c]);
			}
			p->cost = p->bits + e_.job.settings.grid_error_penalty * worst;
		}
	}

	double excess(int32_t channels, const int32_t* offsets) const
	{
		int32_t points3 = 3 * problem_.points;
		double worst = 0;
		for (int32_t i = 0; i < points3; i += 3)
		{
			double u = 0;
			for (int32_t a = i; a < i + 3; ++a)
			{
				double d = gap_[a];
				for (int32_t c = 0; c < channels; ++c)
					d += units_[c * points3 + a] * offsets[c];
				u += d * d;
			}
			worst = u > worst ? u : worst;
		}
		return worst;
	}

	const Encoder& e_;
	const Plan& plan_;
	GridSeries series_;
	GridModel* model_ = nullptr;
	Ways now_, then_;
	int32_t most_, count_ = 0; // encodings in the beam: limit, and current number
	Proposal* proposals_;
	size_t proposed_ = 0;
	PoseProblem problem_;
	const int32_t* keys_ = nullptr;
	size_t* frames_;
	int32_t* numbers_; // (2, channels): of the previous frame, then of the current one
	uint8_t* finer_;
	double *gap_, *units_;
	double expected_[4], rate_[4]; // of the current track: predictions, and bits per step of distance
};

// Returns the largest number of symbol intervals in a group. A number has a symbol, an escape, low bits and
// digits. A track also has its refinement.
size_t most_shares(const Encoder& encoder)
{
	const size_t number = 1 + 4 + 2 + 2;
	return encoder.grouping.longest_group() *
		   (number * encoder.plan.channel_count + size_t(1 + MAX_REFINEMENT) * encoder.plan.track_count);
}

} // namespace

mocpack_Status encode_grid(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
						   Bytes* bytes)
{
	const size_t room = most_shares(encoder), size = group_bytes(encoder);
	GridCoder coder(&encoder, encoder.job.settings.beam_width, arena);
	TableWriter writer(arena->allocate<SymbolInterval>(room), room);
	uint8_t* dst = arena->allocate<uint8_t>(size);
	if (!dst)
		return MOCPACK_OK;
	if (!coder.run(group, keys, &writer, nullptr))
		return MOCPACK_BOUND_NOT_MET;
	*bytes = seal(dst, writer.finish(dst + 2, size - 2));
	return bytes->size ? MOCPACK_OK : MOCPACK_BOUND_NOT_MET;
}

mocpack_Status measure_grid(const Encoder& encoder, size_t group, const int32_t* keys, Arena* arena,
							double* errors)
{
	GridCoder coder(&encoder, 1, arena);
	TableWriter writer(nullptr, 0);
	return !arena->has_memory() || coder.run(group, keys, &writer, errors) ? MOCPACK_OK
																		   : MOCPACK_BOUND_NOT_MET;
}

} // namespace keysine
} // namespace mocpack
