// Codes one block of a `keysine` group track by track. Each track has a target that depends on its decoded
// ancestors.
#include "keysine/encode/block.h"

#include <cmath>
#include <cstring>

namespace mocpack
{
namespace keysine
{

BlockCoder::BlockCoder(const Encoder* encoder, Arena* arena)
	: e_(*encoder), state_(*encoder, arena), search_(&state_, arena)
{
	strained_before_ = arena->allocate<uint8_t>(size_t(state_.stride));
	hinges_before_ = lay_out_saved_hinges(arena);
}

void BlockCoder::set_variant(const Variant& variant)
{
	search_.set_variant(float(std::ldexp(1.0, variant.doublings)), variant.rounding);
	hinge_variant_ = variant.hinges;
}

bool BlockCoder::code(size_t b)
{
	state_.begin_block(b);
	set_hinge_variant(); // the attempts below change it
	tracks_left_ =
		size_t(e_.constants.block_tries) * e_.plan.track_count + 1; // 1: a block without tracks is coded once
	for (int tries = 0; tries < (e_.hinged ? int(e_.constants.block_tries) : 1) && tracks_left_ > 0; ++tries)
	{
		if (all_tracks() && !state_.is_strained())
			return true;
		for (int32_t t = 0; t < state_.n && e_.hinged; ++t)
			relieve(e_, state_.pair, t, state_.strained[t], tries);
	}
	return false;
}

bool BlockCoder::tracks_of(const Span& span, bool may_strain)
{
	state_.next_predictor = 0;
	const size_t count = span.end_track - span.first_track;
	tracks_left_ -= count < tracks_left_ ? count : tracks_left_;
	size_t t = span.first_track;
	int32_t first = t < e_.plan.track_count ? e_.plan.tracks[t].first_channel : 0;
	while (state_.next_predictor < e_.job.predictor_count &&
		   e_.job.predictors[4 * state_.next_predictor] < first)
		++state_.next_predictor;
	std::memset(state_.strained, 0, size_t(state_.n));
	for (int32_t j = span.first_joint; j < span.end_joint; ++j)
	{
		if (!moves(e_.plan, t, j))
			place_still(e_.plan, state_.pair, j);
		else if (!track(t++))
			return false;
		if (!turns(e_.plan, t, j))
			turn_still(e_.plan, state_.pair, j);
		else if (!track(t++))
			return false;
		if (!may_strain && state_.is_strained())
			return false;
	}
	return true;
}

bool BlockCoder::track(size_t t)
{
	return search_.code(t, !budget_, &errors_) && !(budget_ && budget_->falls_behind(t));
}

} // namespace keysine
} // namespace mocpack
