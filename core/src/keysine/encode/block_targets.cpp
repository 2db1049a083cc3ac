// Computes the target of a track in every frame of a block, and how the points that it carries depend on its
// channels.
#include "keysine/encode/block_targets.h"

#include "keysine/encode/squares.h"

namespace mocpack
{
namespace keysine
{

size_t most_points(const Encoder& encoder)
{
	return size_t(encoder.rig.most > 1 ? encoder.rig.most : 1) + size_t(most_extra_bounds(encoder));
}

BlockTargets::BlockTargets(BlockState* state, Arena* arena) : s_(*state), e_(state->encoder)
{
	const size_t stride = size_t(s_.stride), most = most_points(e_);
	aims = arena->allocate<double>(4 * stride);
	ahead = arena->allocate<double>(4 * stride);
	start = arena->allocate<float>(3 * most * stride);
	moves = arena->allocate<float>(12 * most * stride);
	wanted = arena->allocate<float>(4 * stride);
	extra_bounds_ = arena->allocate<ExtraBound>(size_t(most_extra_bounds(e_)));
}

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

template <typename N> void BlockTargets::put_vector(float* at, Vec3Of<N> v) const
{
	put(at, v.x), put(at + s_.width, v.y), put(at + 2 * s_.width, v.z);
}

bool BlockTargets::prepare(const Track& track, Target target)
{
	points = rig_points(e_, track) + extra_bound_count(e_, track);
	if (turns_freely(e_, track))
		for (int32_t t = 0; t < s_.n; t += int32_t(lane_count))
			prepare_free_rotations(track, t, target);
	else
		for (int32_t t = 0; t < s_.n; ++t)
			if (track.kind == POSITION_TRACK)
				prepare_position(track, t);
			else
				prepare_rotation(track, t, target);
	clear_ends(start, 3 * points);
	clear_ends(moves, 3 * points * track.channels);
	const bool strains =
		is_near_hinge(e_, track) && e_.job.settings.excess_penalty > 0 && find_strains(rig_points(e_, track));
	for (int32_t c = 0; c < track.channels; ++c)
		prepare_channel(track, c);
	return strains;
}

void BlockTargets::clear_ends(float* rows, int32_t count) const
{
	for (int32_t r = 0; r < count; ++r)
		for (int32_t t = s_.n; t < s_.width; ++t)
			rows[r * s_.width + t] = 0;
}

void BlockTargets::prepare_position(const Track& track, int32_t t)
{
	double channels[3];
	target_position(e_.plan, track, s_.pair, t, channels);
	int32_t first = rig_points(e_, track);
	double scale = 1.0 / e_.rig.allowance[track.joint];
	Vec3 local = load_vec(track.base);
	for (int32_t c = 0; c < track.channels; ++c)
	{
		aims[c * s_.stride + t] = channels[c];
		if (!first)
			continue;
		// a freely moving joint has one channel per coordinate
		Vec3 axis = load_vec(track.axes + 3 * c);
		local = local + channels[c] * axis;
		put_vector(moves + 3 * c * points * s_.width + t,
				   scale * (track.hinge < 0 ? axis : shift_of(e_.plan, track, s_.pair, t, c)));
	}
	if (first)
		put_vector(start + t, track.hinge < 0 ? Vec3{0, 0, 0}
											  : scale * (placed(e_.plan, s_.pair, track.joint, t, local) -
														 s_.pair.position[s_.pair.at(track.joint, t)]));
	set_extra_bounds(e_, s_.pair, track, t, channels, extra_bounds_);
	put_extra_bounds(track, t);
}

void BlockTargets::put_extra_bounds(const Track& track, int32_t t)
{
	const ExtraBound* extra_bounds = extra_bounds_;
	int32_t first = rig_points(e_, track);
	for (int32_t i = first; i < points; ++i, ++extra_bounds)
	{
		put_vector(start + 3 * i * s_.width + t, extra_bounds->start);
		for (int32_t c = 0; c < track.channels; ++c)
			put_vector(moves + 3 * (c * points + i) * s_.width + t, extra_bounds->moves[c]);
	}
}

void BlockTargets::prepare_rotation(const Track& track, int32_t t, Target target)
{
	Leeway leeway = e_.leeway;
	if (target == Target::NEAREST)
		leeway.inertia = 0;
	TrackTarget aim = target_rotation(e_.plan, e_.rig, track, e_.inverse_axes + 9 * (&track - e_.plan.tracks),
									  s_.pair, t, target != Target::SOURCE, leeway);
	set_extra_bounds(e_, s_.pair, track, t, aim, extra_bounds_);
	put_extra_bounds(track, t);
	put_points(track, t, aim);
}

void BlockTargets::prepare_free_rotations(const Track& track, int32_t t, Target target)
{
	put_points(track, t,
			   target_free_rotations(e_.rig, track, e_.inverse_axes + 9 * (&track - e_.plan.tracks), s_.pair,
									 t, target != Target::SOURCE,
									 target == Target::NEAREST ? 0.0 : e_.leeway.inertia));
}

template <typename N>
void BlockTargets::put_points(const Track& track, int32_t t, const TrackTargetOf<N>& aim)
{
	const Vec3Of<N> origin = s_.pair.load<N>(s_.pair.decoded_position, track.joint, t);
	const MatrixOf<N> world = as_matrix(aim.world);
	for (int32_t c = 0; c < track.channels; ++c)
		put(aims + c * s_.stride + t, aim.channels[c]);
	for (int32_t i = 0, first = e_.rig.first[track.joint], count = rig_points(e_, track); i < count; ++i)
	{
		const Point& point = e_.rig.points[first + i];
		const Vec3Of<N> arm = rotate(world, all_lanes<N>(point.offset));
		const N scale = N{} + 1.0 / point.allowance;
		put_vector(start + 3 * i * s_.width + t,
				   scale * (origin + arm - s_.pair.load<N>(s_.pair.places, first + i, t)));
		for (int32_t c = 0; c < track.channels; ++c)
			put_vector(moves + 3 * (c * points + i) * s_.width + t, scale * cross(aim.turn[c], arm));
	}
}

void BlockTargets::prepare_channel(const Track& track, int32_t c)
{
	float rest[MAX_BLOCK_FRAMES + 8] = {};
	int32_t channel = track.first_channel + c;
	s_.series.predict_series(channel, s_.n, s_.next_predictor);
	const double* row = s_.series.series + channel * s_.stride;
	block_values(ahead + c * s_.stride, s_.sines, s_.length(), 0, s_.length(), 0, 0, row,
				 s_.series.extents[channel]);
	for (int32_t k = 0; k <= s_.n && e_.record.wanted; ++k)
		predicted[c][k] = k && k <= s_.series.extents[channel] ? row[k] : 0.0;
	for (int32_t t = 0; t < s_.n; ++t)
		rest[t] = float(aims[c * s_.stride + t] - s_.line(track, c, t + 1) - ahead[c * s_.stride + t + 1]);
	for (int32_t k = 0; k < s_.width; ++k)
		wanted[c * s_.width + k] = k < s_.n ? inner_product(s_.waves + k * s_.width, rest, s_.width) : 0.0f;
	add_wave(start, moves + 3 * c * points * s_.width, rest, -1.0f, s_.width, points);
}

bool BlockTargets::find_strains(int32_t first_extra_bound)
{
	bool any = false;
	for (int32_t i = 0; i < points; ++i)
		for (int32_t t = 0; t < s_.n; ++t)
		{
			const float* at = start + 3 * i * s_.width + t;
			float u = at[0] * at[0] + at[s_.width] * at[s_.width] + at[2 * s_.width] * at[2 * s_.width];
			if (!(u > float(e_.constants.strain_excess)))
				continue;
			any = true;
			s_.strained[t] =
				uint8_t(s_.strained[t] | (i < first_extra_bound ? POINT_STRAIN : EXTRA_BOUND_STRAIN));
		}
	return any;
}

} // namespace keysine
} // namespace mocpack
