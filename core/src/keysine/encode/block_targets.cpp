// Computes the target of a track in every frame of a block, and how the points that it carries depend on its
// channels.
#include "keysine/encode/block.h"
#include "keysine/encode/squares.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Stores the number of one frame, or of all lanes.
template <typename To> void put(To* at, double value)
{
	*at = To(value);
}
template <typename To> void put(To* at, Lanes values)
{
	for (size_t l = 0; l < lane_count; ++l)
		at[l] = To(values[l]);
}

} // namespace

template <typename N> void BlockCoder::put_vector(float* at, Vec3Of<N> v) const
{
	put(at, v.x), put(at + width_, v.y), put(at + 2 * width_, v.z);
}

void BlockCoder::prepare(const Track& track, Target target)
{
	points_ = rig_points(e_, track) + extra_bound_count(e_, track);
	if (turns_freely(e_, track))
		for (int32_t t = 0; t < n_; t += int32_t(lane_count))
			prepare_free_rotations(track, t, target);
	else
		for (int32_t t = 0; t < n_; ++t)
			if (track.kind == POSITION_TRACK)
				prepare_position(track, t);
			else
				prepare_rotation(track, t, target);
	clear_ends(start_, 3 * points_);
	clear_ends(moves_, 3 * points_ * track.channels);
	strained_here_ = false;
	if (is_near_hinge(e_, track) && e_.job.settings.excess_penalty > 0)
		find_strains(rig_points(e_, track));
	for (int32_t c = 0; c < track.channels; ++c)
		prepare_channel(track, c);
}

void BlockCoder::clear_ends(float* rows, int32_t count) const
{
	for (int32_t r = 0; r < count; ++r)
		for (int32_t t = n_; t < width_; ++t)
			rows[r * width_ + t] = 0;
}

void BlockCoder::prepare_position(const Track& track, int32_t t)
{
	double channels[3];
	target_position(plan_, track, pair_, t, channels);
	int32_t first = rig_points(e_, track);
	double scale = 1.0 / rig_.allowance[track.joint];
	Vec3 local = load_vec(track.base);
	for (int32_t c = 0; c < track.channels; ++c)
	{
		aims_[c * stride_ + t] = channels[c];
		if (!first)
			continue;
		// a freely moving joint has one channel per coordinate
		Vec3 axis = load_vec(track.axes + 3 * c);
		local = local + channels[c] * axis;
		put_vector(moves_ + 3 * c * points_ * width_ + t,
				   scale * (track.hinge < 0 ? axis : shift_of(plan_, track, pair_, t, c)));
	}
	if (first)
		put_vector(start_ + t, track.hinge < 0 ? Vec3{0, 0, 0}
											   : scale * (placed(plan_, pair_, track.joint, t, local) -
														  pair_.position[pair_.at(track.joint, t)]));
	set_extra_bounds(e_, pair_, track, t, channels, extra_bounds_);
	put_extra_bounds(track, t);
}

void BlockCoder::put_extra_bounds(const Track& track, int32_t t)
{
	const ExtraBound* extra_bounds = extra_bounds_;
	int32_t first = rig_points(e_, track);
	for (int32_t i = first; i < points_; ++i, ++extra_bounds)
	{
		put_vector(start_ + 3 * i * width_ + t, extra_bounds->start);
		for (int32_t c = 0; c < track.channels; ++c)
			put_vector(moves_ + 3 * (c * points_ + i) * width_ + t, extra_bounds->moves[c]);
	}
}

void BlockCoder::prepare_rotation(const Track& track, int32_t t, Target target)
{
	Leeway leeway = e_.leeway;
	if (target == Target::NEAREST)
		leeway.inertia = 0;
	TrackTarget aim =
		target_rotation(plan_, rig_, track, inverse_axes(track), pair_, t, target != Target::SOURCE, leeway);
	set_extra_bounds(e_, pair_, track, t, aim, extra_bounds_);
	put_extra_bounds(track, t);
	put_points(track, t, aim);
}

void BlockCoder::prepare_free_rotations(const Track& track, int32_t t, Target target)
{
	put_points(track, t,
			   target_free_rotations(rig_, track, inverse_axes(track), pair_, t, target != Target::SOURCE,
									 target == Target::NEAREST ? 0.0 : e_.leeway.inertia));
}

template <typename N> void BlockCoder::put_points(const Track& track, int32_t t, const TrackTargetOf<N>& aim)
{
	const Vec3Of<N> origin = pair_.load<N>(pair_.decoded_position, track.joint, t);
	const MatrixOf<N> world = as_matrix(aim.world);
	for (int32_t c = 0; c < track.channels; ++c)
		put(aims_ + c * stride_ + t, aim.channels[c]);
	for (int32_t i = 0, first = rig_.first[track.joint], count = rig_points(e_, track); i < count; ++i)
	{
		const Point& point = rig_.points[first + i];
		const Vec3Of<N> arm = rotate(world, all_lanes<N>(point.offset));
		const N scale = N{} + 1.0 / point.allowance;
		put_vector(start_ + 3 * i * width_ + t,
				   scale * (origin + arm - pair_.load<N>(pair_.places, first + i, t)));
		for (int32_t c = 0; c < track.channels; ++c)
			put_vector(moves_ + 3 * (c * points_ + i) * width_ + t, scale * cross(aim.turn[c], arm));
	}
}

void BlockCoder::prepare_channel(const Track& track, int32_t c)
{
	float rest[MAX_BLOCK_FRAMES + 8] = {};
	int32_t channel = track.first_channel + c;
	series_block().predict_series(channel, n_, next_predictor_);
	const double* predicted = series_ + channel * stride_;
	block_values(ahead_ + c * stride_, sines_, length_, 0, length_, 0, 0, predicted, extents_[channel]);
	for (int32_t k = 0; k <= n_ && seen_wanted_; ++k)
		predicted_[c][k] = k && k <= extents_[channel] ? predicted[k] : 0.0;
	for (int32_t t = 0; t < n_; ++t)
		rest[t] = float(aims_[c * stride_ + t] - line(track, c, t + 1) - ahead_[c * stride_ + t + 1]);
	for (int32_t k = 0; k < width_; ++k)
		wanted_[c * width_ + k] = k < n_ ? inner_product(waves_ + k * width_, rest, width_) : 0.0f;
	add_wave(start_, moves_ + 3 * c * points_ * width_, rest, -1.0f, width_, points_);
}

} // namespace keysine
} // namespace mocpack
