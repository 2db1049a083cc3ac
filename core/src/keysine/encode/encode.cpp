// The groups of a `keysine` clip: closed loop down the skeleton in each block, then the symbols.
#include <cmath>
#include <cstring>

#include "keysine/decode/curves.h"
#include "keysine/decode/rotation.h"
#include "keysine/decode/symbols.h"
#include "keysine/encode/encoder.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const int RETRIES = 6; // of the search, each aiming further inside
const int FINER = 40;  // plain rounding with ever finer steps, after those

class GroupCoder
{
  public:
	GroupCoder(const mocpack_KeysineEncoder* encoder, Arena* arena)
		: e_(*encoder), plan_(encoder->plan), rig_(encoder->rig)
	{
		const mocpack_KeysineJob& job = e_.job;
		longest_ = int32_t(e_.cut.longest_block());
		stride_ = padded(longest_);
		size_t stride = size_t(stride_), blocks = job.blocks_per_group,
			   points = size_t(rig_.most > 1 ? rig_.most : 1);
		lay_out_scene(&scene_, arena, plan_.skeleton->joint_count, longest_);
		frames_ = arena->take<size_t>(stride);
		values_ = arena->take<int32_t>(plan_.channel_count * blocks * stride);
		steps_ = arena->take<int32_t>(plan_.track_count * blocks);
		lengths_ = arena->take<int32_t>(blocks);
		reaches_ = arena->take<uint8_t>(plan_.channel_count * blocks);
		models_ = arena->take<Models>(1);
		sines_ = arena->take<double>(size_t(longest_) * stride);
		waves_ = arena->take<float>(size_t(longest_) * stride);
		bands_ = arena->take<uint8_t>(stride);
		aims_ = arena->take<double>(4 * stride);
		curve_ = arena->take<double>(4 * stride);
		turns_ = arena->take<Quat>(stride);
		before_ = arena->take<uint8_t>(4 * stride);
		start_ = arena->take<float>(3 * points * stride);
		moves_ = arena->take<float>(12 * points * stride);
		scaled_start_ = arena->take<float>(3 * points * stride);
		scaled_moves_ = arena->take<float>(12 * points * stride);
		wanted_ = arena->take<float>(4 * stride);
		found_ = arena->take<int32_t>(4 * stride);
		search_ = arena->take<uint8_t>(search_scratch(stride_, 4, int32_t(points)));
	}

	size_t run(size_t group, const int32_t* keys, uint8_t* dst, size_t dst_size)
	{
		const mocpack_KeysineJob& job = e_.job;
		size_t first = group * job.blocks_per_group;
		blocks_ = int32_t(job.blocks_per_group);
		if (first + job.blocks_per_group > job.block_count)
			blocks_ = int32_t(job.block_count - first);
		std::memset(values_, 0, sizeof(int32_t) * plan_.channel_count * size_t(blocks_) * size_t(stride_));
		for (int32_t b = 0; b < blocks_; ++b)
			if (!block(first + size_t(b), b, keys + size_t(b) * plan_.channel_count))
				return 0;
		start_models(models_, job.model);
		Writer writer = {RangeEncoder(dst + 2, dst_size - 2)};
		Shape shape = {blocks_, stride_, lengths_, job.tempo};
		if (!Symbols<Writer>(writer, *models_, plan_)
				 .group(shape, plan_.track_count, steps_, values_, reaches_))
			return 0;
		return sealed(dst, writer.coder.finish());
	}

  private:
	bool block(size_t index, int32_t b, const int32_t* keys)
	{
		size_t from = e_.cut.key_frame(index);
		int32_t length = int32_t(e_.cut.key_frame(index + 1) - from);
		lengths_[b] = length - 1;
		b_ = b, keys_ = keys;
		set_length(length);
		scene_.count = length - 1;
		for (int32_t t = 0; t + 1 < length; ++t)
			frames_[t] = from + size_t(t) + 1;
		fill_scene(&scene_, e_.job, frames_);
		size_t t = 0;
		for (int32_t j = 0; j < int32_t(plan_.skeleton->joint_count); ++j)
		{
			if (!moves(plan_, t, j))
				place_still(plan_, scene_, j);
			else if (!track(t++))
				return false;
			if (!turns(plan_, t, j))
				turn_still(plan_, scene_, j);
			else if (!track(t++))
				return false;
		}
		return true;
	}

	void set_length(int32_t length)
	{
		if (length_ == length)
			return;
		length_ = length, n_ = length - 1, width_ = padded(length);
		fill_sines(sines_, length);
		// column t of the search is frame t + 1, and row k - 1 is frequency k
		for (int32_t k = 1; k < length; ++k)
			for (int32_t t = 0; t < width_; ++t)
				waves_[(k - 1) * width_ + t] = t < n_ ? float(sines_[k * width_ + t + 1]) : 0.0f;
		for (int32_t k = 0; k < n_; ++k)
			bands_[k] = uint8_t(band_of(k + 1, e_.job.tempo));
	}

	int32_t* row_of(const Track& track, int32_t c) const
	{
		return values_ + ((track.first_channel + c) * blocks_ + b_) * stride_;
	}

	// Chooses the track's coefficients in this block so that every point it carries stays inside.
	bool track(size_t t)
	{
		const Track& track = plan_.tracks[t];
		int32_t* step = steps_ + t * size_t(blocks_) + size_t(b_);
		*step = -1;
		if (!n_)
			return true;
		double scale = 1.0;
		prepare(track, true);
		gather_before(track);
		for (int attempt = 0; attempt < RETRIES; ++attempt)
		{
			*step = searched(track, expected_step(t), scale);
			double worst = settle(track, *step);
			if (worst <= 1.0 || e_.job.settings.excess_penalty <= 0)
				return true;
			scale *= 1.02 * std::sqrt(worst);
			if (scale > 8.0)
				break;
		}
		return rounded(track, step);
	}

	// The last resort: plain rounding, first towards the compensated target, then towards the true one,
	// which leaves every point at most where its joint's origin already is.
	bool rounded(const Track& track, int32_t* step)
	{
		for (int attempt = 0; attempt < FINER; ++attempt)
		{
			if (attempt == FINER / 4)
				prepare(track, false);
			*step = attempt + 8 < STEPS - 1 ? attempt + 8 : STEPS - 1;
			for (int32_t c = 0; c < track.channels; ++c)
				round_channel(track, c, e_.steps[*step]);
			if (settle(track, *step) <= 1.0)
				return true;
		}
		return false;
	}

	void round_channel(const Track& track, int32_t c, double size)
	{
		int32_t* row = row_of(track, c);
		for (int32_t k = 1; k <= n_; ++k)
		{
			double sum = 0;
			for (int32_t t = 1; t <= n_; ++t)
				sum += sines_[k * width_ + t] * (aims_[c * stride_ + t - 1] - line(track, c, t));
			double units = sum / size;
			units = units > 5e8 ? 5e8 : units < -5e8 ? -5e8 : units;
			row[k] = int32_t(std::floor(units + 0.5));
		}
	}

	// The straight line between the keys, at frame t of the block.
	double line(const Track& track, int32_t c, int32_t t) const
	{
		double key = track.key_step * keys_[track.first_channel + c];
		double next = track.key_step * keys_[plan_.channel_count + size_t(track.first_channel + c)];
		return key + (next - key) / length_ * t;
	}

	int32_t expected_step(size_t t) const
	{
		for (int32_t e = b_; e-- > 0;)
			if (steps_[t * size_t(blocks_) + size_t(e)] >= 0)
				return steps_[t * size_t(blocks_) + size_t(e)];
		for (int32_t a = plan_.tracks[t].parent; a >= 0; a = plan_.tracks[a].parent)
			if (steps_[a * blocks_ + b_] >= 0)
				return steps_[a * blocks_ + b_];
		return UNIT_STEP;
	}

	void gather_before(const Track& track)
	{
		std::memset(before_, 0, size_t(4 * width_));
		if (!b_)
			return;
		for (int32_t c = 0; c < track.channels; ++c)
		{
			const int32_t* row = row_of(track, c) - stride_;
			for (int32_t k = 1; k <= n_; ++k)
			{
				int32_t sum = 2 * lesser(magnitude(row[k]), 9) + lesser(magnitude(row[k - 1]), 9) +
							  (k < n_ ? lesser(magnitude(row[k + 1]), 9) : 0);
				before_[c * width_ + k - 1] = uint8_t(lesser(sum, 7));
			}
		}
	}

	// Targets in all frames, and displacements of the points as they depend on the channels.
	void prepare(const Track& track, bool compensate)
	{
		int32_t first = rig_.first[track.joint];
		points_ = track.kind == POSITION_TRACK ? 1 : rig_.first[track.joint + 1] - first;
		clear_ends(start_, 3 * points_);
		clear_ends(moves_, 3 * points_ * track.channels);
		if (track.kind == POSITION_TRACK) // whose channels move one coordinate each
			std::memset(start_, 0, sizeof(float) * size_t(3 * width_)),
				std::memset(moves_, 0, sizeof(float) * size_t(9 * width_));
		for (int32_t t = 0; t < n_; ++t)
			if (track.kind == POSITION_TRACK)
				prepare_position(track, t);
			else
				prepare_rotation(track, first, t, compensate);
		for (int32_t c = 0; c < track.channels; ++c)
			prepare_channel(track, c);
	}

	// Zeros past the last frame of each row.
	void clear_ends(float* rows, int32_t count) const
	{
		for (int32_t r = 0; r < count; ++r)
			for (int32_t t = n_; t < width_; ++t)
				rows[r * width_ + t] = 0;
	}

	void prepare_position(const Track& track, int32_t t)
	{
		double channels[3];
		aim_position(plan_, track, scene_, t, channels);
		for (int32_t c = 0; c < 3; ++c)
		{
			aims_[c * stride_ + t] = channels[c];
			moves_[(3 * c + c) * width_ + t] = float(track.axes[0] / rig_.allowance[track.joint]);
		}
	}

	void prepare_rotation(const Track& track, int32_t first, int32_t t, bool compensate)
	{
		const double* inverse_axes = e_.inverse_axes + 9 * (&track - plan_.tracks);
		Aim aim = aim_rotation(plan_, rig_, track, inverse_axes, scene_, t, compensate);
		Vec3 origin = scene_.decoded_position[scene_.at(track.joint, t)];
		double world[9];
		matrix_of(aim.world, world);
		for (int32_t c = 0; c < track.channels; ++c)
			aims_[c * stride_ + t] = aim.channels[c];
		for (int32_t i = 0; i < points_; ++i)
		{
			const Point& point = rig_.points[first + i];
			size_t source = scene_.at(point.joint, t);
			Vec3 o = point.offset;
			Vec3 arm = {world[0] * o.x + world[1] * o.y + world[2] * o.z,
						world[3] * o.x + world[4] * o.y + world[5] * o.z,
						world[6] * o.x + world[7] * o.y + world[8] * o.z};
			double scale = 1.0 / point.allowance;
			put(start_ + 3 * i * width_ + t, scale * (origin + arm - scene_.position[source] -
													  rotate(scene_.rotation[source], point.local)));
			for (int32_t c = 0; c < track.channels; ++c)
				put(moves_ + 3 * (c * points_ + i) * width_ + t, scale * cross(aim.turn[c], arm));
		}
	}

	void put(float* at, Vec3 v) const
	{
		at[0] = float(v.x), at[width_] = float(v.y), at[2 * width_] = float(v.z);
	}

	// The wanted coefficients of a channel, and the displacements while it has none.
	void prepare_channel(const Track& track, int32_t c)
	{
		float rest[LONGEST_BLOCK + 8] = {};
		for (int32_t t = 0; t < n_; ++t)
			rest[t] = float(aims_[c * stride_ + t] - line(track, c, t + 1));
		for (int32_t k = 0; k < width_; ++k)
			wanted_[c * width_ + k] = k < n_ ? inner_product(waves_ + k * width_, rest, width_) : 0.0f;
		add_wave(start_, moves_ + 3 * c * points_ * width_, rest, -1.0f, width_, points_);
	}

	int32_t searched(const Track& track, int32_t expected, double scale)
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
		Problem problem = {n_,
						   width_,
						   track.channels,
						   points_,
						   waves_,
						   moves,
						   start,
						   wanted_,
						   bands_,
						   before_,
						   static_cast<const Rates*>(e_.job.rates),
						   int32_t(e_.job.settings.jitter_from * float(length_))};
		Found found = search_block(problem, e_.job.settings, e_.steps, expected, found_, search_);
		bool any = false;
		for (int32_t c = 0; c < track.channels; ++c)
			for (int32_t k = 0; k < n_; ++k)
			{
				row_of(track, c)[k + 1] = found_[c * width_ + k];
				any = any || found_[c * width_ + k];
			}
		return any ? found.step : -1;
	}

	// Decodes the track in all frames and returns the largest excess.
	double settle(const Track& track, int32_t step)
	{
		double size = step < 0 ? 0 : e_.steps[step], worst = 0;
		for (int32_t c = 0; c < track.channels; ++c)
		{
			size_t channel = size_t(track.first_channel + c);
			block_values(curve_ + c * stride_, sines_, length_, track.key_step * keys_[channel],
						 track.key_step * keys_[plan_.channel_count + channel], row_of(track, c), size);
		}
		if (track.kind == POSITION_TRACK)
		{
			Vec3* places = reinterpret_cast<Vec3*>(turns_);
			track_translations(track, curve_ + 1, stride_, n_, places);
			for (int32_t t = 0; t < n_; ++t)
			{
				scene_.decoded_position[scene_.at(track.joint, t)] =
					placed(plan_, scene_, track.joint, t, places[t]);
				double u = origin_excess(rig_, scene_, track.joint, t);
				worst = u > worst ? u : worst;
			}
			return worst;
		}
		track_rotations(track, curve_ + 1, stride_, n_, turns_);
		int32_t parent = plan_.skeleton->parents[track.joint];
		for (int32_t t = 0; t < n_; ++t)
		{
			scene_.decoded_rotation[scene_.at(track.joint, t)] =
				parent < 0 ? turns_[t] : multiply(scene_.decoded_rotation[scene_.at(parent, t)], turns_[t]);
			double u = worst_point(rig_, scene_, track.joint, t);
			worst = u > worst ? u : worst;
		}
		return worst;
	}

	const mocpack_KeysineEncoder& e_;
	const Plan& plan_;
	const Rig& rig_;
	Scene scene_;
	int32_t longest_, stride_, blocks_ = 0, b_ = 0;
	int32_t length_ = 0, n_ = 0, width_ = 0, points_ = 0; // of the present block and track
	const int32_t* keys_ = nullptr;
	size_t* frames_;
	int32_t *values_, *steps_, *lengths_, *found_;
	uint8_t *reaches_, *bands_, *before_;
	Models* models_;
	double *sines_, *aims_, *curve_;
	Quat* turns_;
	float *waves_, *start_, *moves_, *scaled_start_, *scaled_moves_, *wanted_;
	uint8_t* search_;
};

} // namespace

size_t mocpack_keysine_group_encode_scratch(const mocpack_KeysineEncoder* encoder)
{
	if (encoder->job.grid_steps)
		return grid_scratch(encoder);
	Arena arena(nullptr);
	GroupCoder(encoder, &arena);
	return arena.used();
}

size_t mocpack_keysine_encode_group(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys,
									uint8_t* dst, size_t dst_size, void* scratch)
{
	if (encoder->job.grid_steps)
		return encode_grid(encoder, group, keys, dst, dst_size, scratch);
	Arena arena(scratch);
	GroupCoder coder(encoder, &arena);
	return coder.run(group, keys, dst, dst_size);
}
