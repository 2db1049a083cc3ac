// Codes limbs again whose hinges cannot compensate the errors of their ancestors. In the frames that fail,
// less error is left to the hinges.
#include "keysine/encode/block.h"

namespace mocpack
{
namespace keysine
{

SavedHinges BlockCoder::lay_out_saved_hinges(Arena* arena) const
{
	return {arena->allocate<double>(size_t(stride_)), arena->allocate<double>(size_t(stride_))};
}

void BlockCoder::save_hinges(const SavedHinges& saved) const
{
	for (int32_t t = 0; t < n_ && e_.hinged; ++t)
		saved.slack[t] = pair_.slack[t], saved.price[t] = pair_.turn_price[t];
}

bool BlockCoder::code_span(const Span& span, const Variant& variant, const SavedHinges* saved)
{
	set_variant(variant);
	if (!saved)
		set_hinge_variant();
	for (int32_t t = 0; t < n_ && saved && e_.hinged; ++t)
		set_frame(t, saved->slack[t], saved->price[t]);
	if (!saved || !span.limb)
		return tracks_of(span);
	// when the whole block was coded with this slack and price, its limbs were retried too
	tracks_left_ = size_t(e_.constants.limb_tries) * plan_.track_count;
	return tracks_of(span, true) && (!strained() || relieve_limb(span)) && !strained();
}

bool BlockCoder::all_tracks()
{
	if (!e_.hinged || !span_count_)
		return tracks_of(whole_span(plan_), true);
	std::memset(strained_before_, 0, size_t(n_));
	for (size_t i = 0; i < span_count_; ++i)
	{
		if (!tracks_of(spans_[i], true) || (spans_[i].limb && strained() && !relieve_limb(spans_[i])))
			return false;
		for (int32_t t = 0; t < n_; ++t)
			strained_before_[t] = uint8_t(strained_before_[t] | strained_[t]);
	}
	std::memcpy(strained_, strained_before_, size_t(n_));
	return true;
}

bool BlockCoder::relieve_limb(const Span& limb)
{
	bool inside = true;
	save_hinges(hinges_before_);
	for (int tries = 0; tries < int(e_.constants.limb_tries) && inside && strained() && tracks_left_ > 0;
		 ++tries)
	{
		for (int32_t t = 0; t < n_; ++t)
			relieve(e_, pair_, t, strained_[t], tries);
		inside = tracks_of(limb, true);
	}
	for (int32_t t = 0; t < n_; ++t)
		set_frame(t, hinges_before_.slack[t], hinges_before_.price[t]);
	return inside;
}

void BlockCoder::set_hinge_variant()
{
	for (int32_t t = 0; t < n_ && e_.hinged; ++t)
		set_frame(t, hinge_variant_.slack, e_.leeway.price * hinge_variant_.price);
}

void BlockCoder::set_frame(int32_t t, double slack, double price)
{
	pair_.slack[t] = slack;
	if (pair_.turn_price[t] == price)
		return;
	pair_.turn_price[t] = price;
	fill_costs(plan_, rig_, e_.job.settings, pair_, t);
}

void BlockCoder::find_strains(int32_t extra_bounds)
{
	for (int32_t i = 0; i < points_; ++i)
		for (int32_t t = 0; t < n_; ++t)
		{
			const float* at = start_ + 3 * i * width_ + t;
			float u = at[0] * at[0] + at[width_] * at[width_] + at[2 * width_] * at[2 * width_];
			if (!(u > float(e_.constants.strained_share)))
				continue;
			strained_here_ = true;
			strained_[t] = uint8_t(strained_[t] | (i < extra_bounds ? POINT_STRAIN : EXTRA_BOUND_STRAIN));
		}
}

} // namespace keysine
} // namespace mocpack
