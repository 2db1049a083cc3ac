// The key poses of a `keysine` clip: quantised joint by joint, each pulled towards the key before it as far
// as its allowance lets it.
#include <cmath>

#include "keysine/encode/pose.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const int32_t FARTHEST_KEY = 1 << 29;
const int ATTEMPTS = 40;

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

// Moves channels one unit at a time towards the key before while nothing leaves `share` of its allowance.
void pull(const PoseProblem& p, double step, double share, const int32_t* before, int32_t* key, double* gap)
{
	for (int32_t i = 0; i < 3 * p.points; ++i)
	{
		gap[i] = p.start[i];
		for (int32_t c = 0; c < p.channels; ++c)
			gap[i] += p.moves[3 * c * p.points + i] * (key[c] * step - p.target[c]);
	}
	for (int attempt = 0; attempt < 40; ++attempt)
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

class KeyCoder
{
  public:
	KeyCoder(const mocpack_KeysineEncoder* encoder, size_t count, Arena* arena)
		: e_(*encoder), plan_(encoder->plan), rig_(encoder->rig), count_(int32_t(count))
	{
		lay_out_scene(&scene_, arena, plan_.skeleton->joint_count, count_);
		frames_ = arena->take<size_t>(count);
		size_t points = size_t(rig_.most > 1 ? rig_.most : 1);
		lay_out_problem(&problem_, rig_, arena);
		gap_ = arena->take<double>(3 * points);
	}

	bool run(int32_t* keys)
	{
		for (int32_t k = 0; k < count_; ++k)
			frames_[k] = e_.cut.key_frame(size_t(k));
		fill_scene(&scene_, e_.job, frames_);
		size_t t = 0;
		for (int32_t j = 0; j < int32_t(plan_.skeleton->joint_count); ++j)
		{
			if (!moves(plan_, t, j))
				place_still(plan_, scene_, j);
			else if (!track(t++, keys))
				return false;
			if (!turns(plan_, t, j))
				turn_still(plan_, scene_, j);
			else if (!track(t++, keys))
				return false;
		}
		return true;
	}

  private:
	// Tries ever closer keys, then finer steps, until the exact pose keeps its allowances.
	bool track(size_t t, int32_t* keys)
	{
		Track& track = plan_.tracks[t];
		int32_t* row = e_.job.table + PLAN_COLUMNS * track.joint;
		int32_t* index = row + (track.kind == POSITION_TRACK ? TRANSLATION_KEY_STEP : ROTATION_KEY_STEP);
		double share = e_.job.settings.key_share;
		for (int attempt = 0; attempt < ATTEMPTS; ++attempt)
		{
			bool good = true;
			for (int32_t k = 0; k < count_; ++k)
				good = code(track, k, attempt < 3 ? share : 0.0, attempt < 12, keys) && good;
			if (good)
				return true;
			share *= 0.8;
			if (attempt >= 2 && ++*index >= STEPS)
				return false;
			track.key_step = key_step_of(plan_.unit, *index);
		}
		return false;
	}

	bool code(const Track& track, int32_t k, double share, bool compensate, int32_t* keys)
	{
		int32_t* key = keys + size_t(k) * plan_.channel_count + track.first_channel;
		set_problem(&problem_, e_, scene_, track, k, compensate);
		for (int32_t c = 0; c < track.channels; ++c)
		{
			double units = problem_.target[c] / track.key_step;
			if (!(std::fabs(units) < FARTHEST_KEY))
				return false;
			key[c] = int32_t(std::floor(units + 0.5));
		}
		if (k && share > 0)
			pull(problem_, track.key_step, share, key - plan_.channel_count, key, gap_);
		return settle(track, k, key) <= 1.0 || e_.job.settings.excess_penalty <= 0;
	}

	// Sets the decoded pose of the key and returns its largest excess.
	double settle(const Track& track, int32_t k, const int32_t* key)
	{
		double values[4];
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[c];
		return settle_pose(e_, scene_, track, k, values);
	}

	const mocpack_KeysineEncoder& e_;
	const Plan& plan_; // whose tracks' key steps, and those of the job's table, are refined
	const Rig& rig_;
	int32_t count_;
	Scene scene_;
	size_t* frames_;
	PoseProblem problem_;
	double* gap_;
};

} // namespace

size_t mocpack_keysine_keys_scratch(const mocpack_KeysineEncoder* encoder)
{
	Arena arena(nullptr);
	KeyCoder(encoder, encoder->job.block_count + 1, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_encode_keys(mocpack_KeysineEncoder* encoder, int32_t* keys, void* scratch)
{
	Arena arena(scratch);
	KeyCoder coder(encoder, encoder->job.block_count + 1, &arena);
	return coder.run(keys) ? MOCPACK_OK : MOCPACK_UNREACHABLE;
}
