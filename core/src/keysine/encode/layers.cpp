// Chooses the shifts of layers, and recodes a payload of one layer as several.
#include "keysine/encode/layers.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/layer_shifts.h"
#include "keysine/encode/payload_writer.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int TRIES = 12;			 // attempts to end layers where they should
const double END_MARGIN = 0.995; // factor on the share of the file at which a layer should end
const double NEAR_END = 0.98;	 // factor on that share, from which an end is near enough

// Chooses the shifts of all layers and codes the payload again.
class LayerSplit
{
  public:
	explicit LayerSplit(EncodeTask* task) : task_(*task), search_(task, &own_)
	{
	}

	bool run(Buffer<uint8_t>* payload)
	{
		if (!own_.open(&task_, payload->data(), payload->size()))
			return false;
		size_ = payload->size(), tracks_ = own_.layout().track_count;
		if (!own_.layout().group_count || !tracks_)
			return true;
		return search_.measure(tracks_) && find_ends(payload);
	}

  private:
	// Chooses the sizes of layers so that layer l of n ends at l / n of the file or just before. The first
	// attempts show how far the estimated rates are off.
	bool find_ends(Buffer<uint8_t>* payload)
	{
		const size_t wanted = size_t(task_.target.layers);
		double aims[MOCPACK_KEYSINE_MAX_LAYERS], early[MOCPACK_KEYSINE_MAX_LAYERS] = {},
												 late[MOCPACK_KEYSINE_MAX_LAYERS], least = HUGE_VAL;
		Buffer<uint8_t> best;
		size_t best_layers = 1;
		for (size_t l = 0; l < wanted; ++l)
			aims[l] = END_MARGIN * double(l + 1) / double(wanted), late[l] = HUGE_VAL;
		for (int i = 0; i < TRIES; ++i)
		{
			Buffer<uint8_t> made;
			size_t ends[MOCPACK_KEYSINE_MAX_LAYERS];
			mocpack_KeysineError none[MOCPACK_KEYSINE_MAX_LAYERS] = {};
			if (!choose_shifts(aims))
				return false;
			if (layers_ == 1)
				return true;
			if (!write(none, &made, ends))
				return false;
			bool is_near = true;
			double off = 0; // one late end counts more than all early ones
			for (size_t l = 0; l + 1 < layers_; ++l)
			{
				const double goal = double(l + 1) / double(wanted),
							 end = double(ends[l]) / double(made.size());
				off += end > goal ? 1 + end - goal : goal - end;
				if (end <= goal && end >= NEAR_END * goal)
					continue;
				(end > goal ? late : early)[l] = aims[l], is_near = false;
				aims[l] *= END_MARGIN * goal / end;
				if (!(aims[l] > early[l] && aims[l] < late[l]))
					aims[l] = 0.5 * (early[l] + std::min(late[l], 1.0));
			}
			if (off < least)
			{
				least = off, best_layers = layers_;
				if (!task_.copy(&best, shifts_.data(), shifts_.size()))
					return false;
			}
			if (layers_ < wanted || is_near)
				break; // a layer that would change nothing was left out, or all end where they should
		}
		layers_ = best_layers;
		return task_.copy(&shifts_, best.data(), best.size()) && write_with_errors(payload);
	}

	bool choose_shifts(const double* aims)
	{
		const size_t width = 2 * tracks_, wanted = size_t(task_.target.layers);
		if (!task_.take(&shifts_, wanted * width))
			return false;
		layers_ = 1;
		const double head = double(own_.layout().head_size) / double(size_);
		for (size_t l = 0; l + 1 < wanted; ++l)
		{
			uint8_t *shifts = shifts_.data() + (layers_ - 1) * width,
					*before = layers_ > 1 ? shifts - width : nullptr;
			if (!search_.best_shifts(search_.whole_bits() * std::max(aims[l] - head, 0.0) / (1 - head),
									 before, shifts))
				return false;
			layers_ += std::any_of(shifts, shifts + width, [](uint8_t s) { return s > 0; }) &&
					   !(before && std::equal(shifts, shifts + width, before));
		}
		return true;
	}

	// Writes the layers, measures the errors of each, and writes these into the head. Drops first layers with
	// errors that the head cannot state.
	bool write_with_errors(Buffer<uint8_t>* payload)
	{
		const size_t width = 2 * tracks_;
		for (; layers_ > 1; --layers_)
		{
			mocpack_KeysineError errors[MOCPACK_KEYSINE_MAX_LAYERS] = {};
			size_t ends[MOCPACK_KEYSINE_MAX_LAYERS];
			Buffer<uint8_t> made; // not in place: the second write reads the payload of one layer again
			double largest;
			if (!write(errors, &made, ends) || !measure_layers(made, errors, &largest))
				return false;
			if (largest <= max_layer_error(own_.fields().unit))
			{
				if (!write(errors, &made, ends))
					return false;
				*payload = std::move(made);
				return true;
			}
			std::copy(shifts_.data() + width, shifts_.data() + (layers_ - 1) * width, shifts_.data());
		}
		return true;
	}

	bool write(const mocpack_KeysineError* errors, Buffer<uint8_t>* payload, size_t* ends)
	{
		const mocpack_KeysineLayout& l = own_.layout();
		const PartOrder order = {l.group_count, l.groups_per_segment, l.segment_count, layers_};
		Draft draft;
		Parts parts;
		Buffer<Bytes> views;
		const uint8_t keys_error = own_.fields().keys_error; // all layers together have the same keys
		if (!copy_head(&draft) || !parts.take(&task_, size_t(order.count())) ||
			!task_.take(&views, parts.count()) || !split(order, &parts))
			return false;
		for (size_t i = 0; i < views.size(); ++i)
			views[i] = parts[i];
		const LayerStatements layers = {layers_, shifts_.data(), tracks_, errors};
		if (!write_payload(&task_, draft, views.data(), views.size(), keys_error, layers, payload))
			return false;
		ends[layers_ - 1] = payload->size();
		for (size_t i = layers_ - 1; i > 0; --i)
		{
			ends[i - 1] = ends[i];
			for (size_t p = order.start(i); p < order.start(i + 1); ++p)
				ends[i - 1] -= parts[p].size;
		}
		return true;
	}

	// Codes all parts again in layers.
	bool split(const PartOrder& order, Parts* parts)
	{
		const size_t most_keys = std::min(order.groups_per_segment, order.groups) + 1;
		size_t room = (8 * most_keys * own_.layout().channel_count + 64) * layers_;
		for (size_t first = 0; first < order.groups; first = order.end_of_bundle(first))
		{
			size_t own = 0;
			for (size_t g = first; g < order.end_of_bundle(first); ++g)
				own += 2 * own_.group(g).size + 4096 + 64 * layers_;
			room = std::max(room, own);
		}
		const ShiftTable table = {shifts_.data(), layers_, tracks_};
		return task_.accept(with_arena(task_.work.allocator,
									   [&](Arena* arena)
									   {
										   LayerWriter writer(*own_.head(), table, room, arena);
										   return arena->has_memory() ? split(order, &writer, parts)
																	  : MOCPACK_OK;
									   }));
	}

	mocpack_Status split(const PartOrder& order, LayerWriter* writer, Parts* parts)
	{
		Bytes made[MOCPACK_KEYSINE_MAX_GROUP_PARTS], src[BUNDLE_GROUPS];
		mocpack_Status status = MOCPACK_OK;
		for (size_t s = 0; s < order.segments && status == MOCPACK_OK; ++s)
		{
			const size_t first = s * order.groups_per_segment,
						 count = std::min(order.groups_per_segment, order.groups - first) + 1;
			status = writer->split_segment(own_.keys_of(first), count, made);
			for (size_t l = 0; l < layers_ && status == MOCPACK_OK; ++l)
				status = parts->set(order.segment(l, s), made[l]);
		}
		for (size_t first = 0; first < order.groups && status == MOCPACK_OK;
			 first = order.end_of_bundle(first))
		{
			const size_t count = order.end_of_bundle(first) - first;
			for (size_t i = 0; i < count; ++i)
				src[i] = own_.group(first + i);
			status = writer->split_bundle(first, count, own_.keys_of(first), src, made);
			for (size_t i = 0; i < count + layers_ - 1 && status == MOCPACK_OK; ++i)
				status = parts->set(i < count ? order.group(0, first + i) : order.group(i - count + 1, first),
									made[i]);
		}
		return status;
	}

	// Measures what each layer states: the largest errors of a file that is cut anywhere after the layer. A
	// later layer can have larger errors than an earlier one.
	bool measure_layers(const Buffer<uint8_t>& made, mocpack_KeysineError* errors, double* largest)
	{
		WrittenPayload layered;
		double mean = 0;
		*largest = 0;
		if (!layered.open(&task_, made.data(), made.size()))
			return false;
		FrameErrors finer;
		for (size_t l = layers_; l-- > 0;)
		{
			DecodedMotion motion;
			FrameErrors own;
			if (!layered.decode(&task_, 0, layered.layout().group_count, l + 1, &motion) ||
				!measure_frames(&task_, motion, &own))
				return false;
			for (size_t t = 0; t < own.largest.size(); ++t)
				*largest = std::max(*largest, own.largest[t]);
			mean = std::max(mean, largest_mean_of_cuts(own.mean, l + 1 < layers_ ? finer.mean : own.mean));
			errors[l] = {layer_error_statement(own_.fields().unit, *largest),
						 layer_error_statement(own_.fields().unit, mean)};
			finer = std::move(own);
		}
		return true;
	}

	// Returns the largest mean error of files that play their first bundles with the finer layer too. means
	// (T): of each frame.
	double largest_mean_of_cuts(const Buffer<double>& means, const Buffer<double>& finer) const
	{
		const mocpack_KeysineLayout& layout = own_.layout();
		const PartOrder order = {layout.group_count, layout.groups_per_segment, layout.segment_count,
								 layers_};
		double sum = 0;
		for (size_t t = 0; t < means.size(); ++t)
			sum += means[t];
		double most = sum;
		for (size_t t = 0, end = order.end_of_bundle(0); end < order.groups; end = order.end_of_bundle(end))
		{
			for (; t < own_.key_frame(end); ++t)
				sum += finer[t] - means[t];
			most = std::max(most, sum);
		}
		return most / double(means.size());
	}

	// Copies the payload's head into a draft.
	bool copy_head(Draft* draft)
	{
		const mocpack_KeysineLayout& l = own_.layout();
		const mocpack_KeysineFields& f = own_.fields();
		draft->groups = {l.group_count, int32_t(f.tempo), 0, bool(l.first_frame_alone), 1.0, 0};
		draft->unit = f.unit, draft->fine_bits = f.fine_bits;
		draft->predictor_count = f.predictor_count, draft->segment_count = l.segment_count;
		return task_.copy(&draft->table, mocpack_keysine_plan(own_.head()),
						  PLAN_COLUMNS * task_.skeleton.joint_count) &&
			   task_.copy(&draft->predictors, mocpack_keysine_predictors(own_.head()), 4 * f.predictor_count);
	}

	EncodeTask& task_;
	WrittenPayload own_;
	ShiftSearch search_;
	size_t size_ = 0, tracks_ = 0, layers_ = 1;
	Buffer<uint8_t> shifts_; // (layers - 1, 2, tracks)
};

} // namespace

bool split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload)
{
	return LayerSplit(task).run(payload);
}

} // namespace keysine
} // namespace mocpack
