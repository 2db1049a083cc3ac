// Codes limbs again whose hinges cannot compensate the errors of their ancestors. In the frames that fail,
// less error is left to the hinges.
#include "keysine/encode/block.h"

namespace mocpack
{
namespace keysine
{

SavedHinges BlockCoder::lay_out_saved_hinges(Arena* arena) const
{
	return {arena->allocate<double>(size_t(state_.stride)), arena->allocate<double>(size_t(state_.stride))};
}

void BlockCoder::save_hinges(const SavedHinges& saved) const
{
	for (int32_t t = 0; t < state_.n && e_.hinged; ++t)
		saved.slack[t] = state_.pair.slack[t], saved.price[t] = state_.pair.turn_price[t];
}

bool BlockCoder::code_span(const Span& span, const Variant& variant, const SavedHinges* saved)
{
	set_variant(variant);
	if (!saved)
		set_hinge_variant();
	for (int32_t t = 0; t < state_.n && saved && e_.hinged; ++t)
		set_frame(t, saved->slack[t], saved->price[t]);
	if (!saved || !span.limb)
		return tracks_of(span);
	// when the whole block was coded with this slack and price, its limbs were retried too
	tracks_left_ = size_t(e_.constants.limb_tries) * e_.plan.track_count;
	return tracks_of(span, true) && (!state_.is_strained() || relieve_limb(span)) && !state_.is_strained();
}

bool BlockCoder::all_tracks()
{
	if (!e_.hinged || !span_count_)
		return tracks_of(whole_span(e_.plan), true);
	std::memset(strained_before_, 0, size_t(state_.n));
	for (size_t i = 0; i < span_count_; ++i)
	{
		if (!tracks_of(spans_[i], true) ||
			(spans_[i].limb && state_.is_strained() && !relieve_limb(spans_[i])))
			return false;
		for (int32_t t = 0; t < state_.n; ++t)
			strained_before_[t] = uint8_t(strained_before_[t] | state_.strained[t]);
	}
	std::memcpy(state_.strained, strained_before_, size_t(state_.n));
	return true;
}

bool BlockCoder::relieve_limb(const Span& limb)
{
	bool inside = true;
	save_hinges(hinges_before_);
	for (int tries = 0;
		 tries < int(e_.constants.limb_tries) && inside && state_.is_strained() && tracks_left_ > 0; ++tries)
	{
		for (int32_t t = 0; t < state_.n; ++t)
			relieve(e_, state_.pair, t, state_.strained[t], tries);
		inside = tracks_of(limb, true);
	}
	for (int32_t t = 0; t < state_.n; ++t)
		set_frame(t, hinges_before_.slack[t], hinges_before_.price[t]);
	return inside;
}

void BlockCoder::set_hinge_variant()
{
	for (int32_t t = 0; t < state_.n && e_.hinged; ++t)
		set_frame(t, hinge_variant_.slack, e_.leeway.price * hinge_variant_.price);
}

void BlockCoder::set_frame(int32_t t, double slack, double price)
{
	state_.pair.slack[t] = slack;
	if (state_.pair.turn_price[t] == price)
		return;
	state_.pair.turn_price[t] = price;
	fill_costs(e_.plan, e_.rig, e_.job.settings, state_.pair, t);
}

} // namespace keysine
} // namespace mocpack
