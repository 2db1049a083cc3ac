// Chooses the shifts of layers, and codes a payload of one layer again as several.
#include "keysine/encode/layers.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/layer_writer.h"
#include "keysine/encode/payload_writer.h"

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const size_t SHIFTS = MOCPACK_KEYSINE_MAX_SHIFT + 1;
const size_t MAX_POINTS = 4096;	 // by which errors are measured, about
const int ROUNDS = 3;			 // of the search for a layer's shifts; the first has the least squared error
const int TRIES = 5;			 // until the layers end where they should
const double END_MARGIN = 0.995; // of the share of the file at which a layer should end

// Adds up the bits that symbols would take.
class BitCounter
{
  public:
	static constexpr bool READS = false;

	int symbol(const uint16_t* starts, int, int value)
	{
		++symbols_;
		add(double(starts[value + 1] - starts[value]) / TABLE_TOTAL);
		return value;
	}
	int choice(uint32_t zero, int value)
	{
		add(double(value ? TABLE_TOTAL - zero : zero) / TABLE_TOTAL);
		return value;
	}
	uint32_t bits(int count, uint32_t value)
	{
		add_to(count);
		return value;
	}

	// From now on, every symbol begins the next of `count` sums; `skipped` symbols count for the last.
	void count_by_symbol(double* sums, size_t count, size_t skipped)
	{
		sums_ = sums, sum_count_ = count, symbols_ = count - skipped;
	}
	double total() const
	{
		return total_;
	}

  private:
	void add(double share)
	{
		add_to(-std::log2(std::max(share, 1e-9)));
	}
	void add_to(double bits)
	{
		total_ += bits;
		if (sum_count_)
			sums_[(symbols_ - 1) % sum_count_] += bits;
	}

	double* sums_ = nullptr;
	size_t sum_count_ = 0, symbols_ = 0;
	double total_ = 0;
};

// Chooses the shifts of all layers and codes the payload again.
class LayerSplit
{
  public:
	explicit LayerSplit(EncodeTask* task) : task_(*task)
	{
	}

	bool run(Buffer<uint8_t>* payload)
	{
		if (!own_.open(&task_, payload->data(), payload->size()))
			return false;
		size_ = payload->size(), tracks_ = own_.layout().track_count;
		if (!own_.layout().group_count || !tracks_)
			return true;
		find_sample();
		return measure_rates() && measure_distortions() && find_ends(payload);
	}

  private:
	// Groups from the middle, by which rate and distortion are measured.
	void find_sample()
	{
		const size_t groups = own_.layout().group_count;
		size_t longest = 1;
		for (size_t g = 0; g < groups; ++g)
			longest = std::max(longest, own_.key_frame(g + 1) - own_.key_frame(g));
		sample_count_ = std::min(std::max<size_t>(1, size_t(task_.constants.layer_frames) / longest), groups);
		sample_first_ = (groups - sample_count_) / 2;
	}

	// Row of a track in rates and distortions: kind 0 has keys, 1 coefficients.
	double* row(Buffer<double>* table, size_t kind, size_t t)
	{
		return table->data() + (kind * tracks_ + t) * SHIFTS;
	}

	// Bits of each track in the sample, as a first layer, if all tracks have the same shift.
	bool measure_rates()
	{
		const mocpack_KeysineHead& head = *own_.head();
		const Plan& plan = head.plan;
		Buffer<uint8_t> scratch, shifts, found;
		Buffer<int32_t> keys;
		Buffer<double> channels;
		Arena none(nullptr);
		SplitGroup(head, &none);
		if (!task_.take(&scratch, none.used()) || !task_.take(&shifts, tracks_) ||
			!task_.take(&found, plan.channel_count) ||
			!task_.take(&keys, (sample_count_ + 1) * plan.channel_count) ||
			!task_.take(&channels, plan.channel_count) || !task_.take(&rates_, 2 * tracks_ * SHIFTS))
			return false;
		for (size_t shift = 0; shift < SHIFTS; ++shift)
		{
			std::fill(shifts.data(), shifts.data() + tracks_, uint8_t(shift));
			std::fill(channels.data(), channels.data() + plan.channel_count, 0.0);
			const LayerShifts to = {shifts.data(), shifts.data()};
			BitCounter counter;
			counter.count_by_symbol(channels.data(), plan.channel_count, 0);
			coarsen_keys(plan, to.keys, to.keys, own_.keys_of(sample_first_), sample_count_ + 1, keys.data());
			code_coarse_keys(plan, to.keys, keys.data(), sample_count_ + 1,
							 [&]
							 {
								 return KeySymbols<BitCounter>(counter, plan, found.data())
									 .sequence(keys.data(), sample_count_ + 1);
							 });
			for (size_t g = sample_first_; g < sample_first_ + sample_count_; ++g)
			{
				const size_t length = own_.key_frame(g + 1) - own_.key_frame(g);
				if (length == 1)
					continue;
				Arena arena(scratch.data());
				SplitGroup group(head, &arena);
				if (group.open(head, g, own_.keys_of(g), own_.group(g).data, own_.group(g).size) !=
					MOCPACK_OK)
					return task_.stop(MOCPACK_CORRUPT);
				group.coarsen(head, length, to);
				counter.count_by_symbol(channels.data(), plan.channel_count, 1); // how it is split
				group.code_keys(counter, plan, to);
				BitCounter own;
				CoefficientSymbols<BitCounter> symbols(own, plan, group.made.shape, group.made.rows,
													   to.coefficients);
				for (size_t t = 0; t < tracks_; ++t)
				{
					const double before = own.total();
					for (int32_t b = 0; b < group.made.shape.blocks; ++b)
						symbols.block(int32_t(t), b);
					row(&rates_, 1, t)[shift] += own.total() - before;
				}
				if (task_.poll())
					return false;
			}
			for (size_t t = 0; t < tracks_; ++t)
				for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
					row(&rates_, 0, t)[shift] += channels[size_t(plan.tracks[t].first_channel + c)];
		}
		return true;
	}

	// Squared errors of the sample's points if one track alone is coarse.
	bool measure_distortions()
	{
		const size_t frames =
						 own_.key_frame(sample_first_ + sample_count_) - own_.key_frame(sample_first_) + 1,
					 joints = task_.skeleton.joint_count;
		stride_ = std::max<size_t>(1, frames * joints / MAX_POINTS);
		points_ = (frames + stride_ - 1) / stride_ * joints;
		Buffer<uint8_t> shifts;
		if (!task_.take(&shifts, 2 * tracks_) || !task_.take(&least_, points_) ||
			!task_.take(&squares_, 2 * tracks_ * SHIFTS * points_) ||
			!squared_errors(shifts.data(), least_.data()))
			return false;
		for (size_t i = 0; i < 2 * tracks_; ++i)
		{
			for (size_t shift = 1; shift < SHIFTS; ++shift)
			{
				float* own = squares_of(i, shift);
				shifts[i] = uint8_t(shift);
				if (!squared_errors(shifts.data(), own))
					return false;
				for (size_t p = 0; p < points_; ++p)
					own[p] = std::max(own[p] - least_[p], 0.0f);
			}
			shifts[i] = 0;
		}
		return true;
	}

	float* squares_of(size_t i, size_t shift)
	{
		return squares_.data() + (i * SHIFTS + shift) * points_;
	}

	// The squared errors (points) of the sample with these shifts (2, tracks): of joints, and of their shells
	// to keep twist.
	bool squared_errors(const uint8_t* shifts, float* found)
	{
		const mocpack_Skeleton& s = task_.skeleton;
		DecodedMotion motion;
		Buffer<uint8_t> scratch;
		Buffer<float> largest;
		if (!own_.decode(&task_, sample_first_, sample_count_, 1, shifts, &motion) ||
			!task_.take(&scratch, mocpack_clip_errors_scratch_size(s.joint_count)) ||
			!task_.take(&largest, points_))
			return false;
		mocpack_squared_errors(&s, task_.motion.rotations + 4 * s.joint_count * motion.first,
							   task_.motion.translations + 3 * s.translated_count * motion.first,
							   motion.rotations.data(), motion.translations.data(), motion.frames, stride_,
							   SHELL, scratch.data(), found, largest.data());
		const float weight = float(task_.constants.layer_shell_weight);
		for (size_t p = 0; p < points_; ++p)
			found[p] += weight * largest[p];
		return true;
	}

	// The shifts (2, tracks) of least distortion + price · bits, at most those of `limits`; returns their
	// bits.
	double cheapest(double price, const double* distortions, const uint8_t* limits, uint8_t* shifts)
	{
		double bits = 0;
		for (size_t i = 0; i < 2 * tracks_; ++i)
		{
			const double *rate = rates_.data() + i * SHIFTS, *error = distortions + i * SHIFTS;
			size_t best = 0;
			for (size_t shift = 1; shift <= limits[i]; ++shift)
				if (error[shift] + price * rate[shift] < error[best] + price * rate[best])
					best = shift;
			shifts[i] = uint8_t(best), bits += rate[best];
		}
		return bits;
	}

	/* The shifts (2, tracks) of least mean error that take so many bits. Squared errors of tracks add up, and
	 * the mean error is a sum of squares divided by errors: weights that follow from the shifts before. */
	bool best_shifts(double goal, const uint8_t* limits, uint8_t* shifts)
	{
		const size_t width = 2 * tracks_;
		Buffer<double> distortions;
		Buffer<float> weights, errors;
		Buffer<uint8_t> tried;
		if (!task_.take(&distortions, width * SHIFTS) || !task_.take(&weights, points_) ||
			!task_.take(&errors, points_) || !task_.take(&tried, width))
			return false;
		std::fill(weights.data(), weights.data() + points_, 1.0f);
		double least = HUGE_VAL;
		for (int turn = 0; turn < ROUNDS; ++turn)
		{
			for (size_t i = 0; i < width * SHIFTS; ++i)
			{
				const float* own = squares_.data() + i * points_;
				float sum = 0;
				for (size_t p = 0; p < points_; ++p)
					sum += weights[p] * own[p];
				distortions[i] = double(sum);
			}
			double low = -100, high = 60; // powers of two
			for (int i = 0; i < 40; ++i)
			{
				const double middle = 0.5 * (low + high);
				(cheapest(std::exp2(middle), distortions.data(), limits, tried.data()) > goal ? low : high) =
					middle;
			}
			cheapest(std::exp2(high), distortions.data(), limits, tried.data());
			std::copy(least_.data(), least_.data() + points_, errors.data());
			for (size_t i = 0; i < width; ++i)
				for (size_t p = 0; p < points_; ++p)
					errors[p] += squares_of(i, tried[i])[p];
			double mean = 0;
			for (size_t p = 0; p < points_; ++p)
			{
				const float error = std::sqrt(errors[p]);
				mean += error, weights[p] = 1 / std::max(error, 1e-9f);
			}
			if (mean < least)
				least = mean, std::copy(tried.data(), tried.data() + width, shifts);
		}
		return true;
	}

	// Layer l of n should end at l / n of the file. The first tries show how far rates are off.
	bool find_ends(Buffer<uint8_t>* payload)
	{
		const size_t wanted = size_t(task_.target.layers);
		double aims[MOCPACK_KEYSINE_MAX_LAYERS], least = HUGE_VAL;
		Buffer<uint8_t> best;
		for (size_t l = 0; l < wanted; ++l)
			aims[l] = END_MARGIN * double(l + 1) / double(wanted);
		for (int i = 0; i < TRIES; ++i)
		{
			Buffer<uint8_t> made;
			size_t ends[MOCPACK_KEYSINE_MAX_LAYERS];
			if (!choose_shifts(aims))
				return false;
			if (layers_ == 1)
				return true;
			if (!write(&made, ends))
				return false;
			double off = 0; // an end too late is worse than all ends too early
			for (size_t l = 0; l + 1 < layers_; ++l)
			{
				const double goal = double(l + 1) / double(wanted),
							 end = double(ends[l]) / double(made.size());
				off += end > goal ? 1 + end - goal : goal - end;
				aims[l] *= END_MARGIN * goal / end;
			}
			if (off < least)
				best = std::move(made), least = off;
			if (layers_ < wanted)
				break; // a layer that would change nothing was left out
		}
		*payload = std::move(best);
		return true;
	}

	bool choose_shifts(const double* aims)
	{
		const size_t width = 2 * tracks_, wanted = size_t(task_.target.layers);
		Buffer<uint8_t> limits;
		if (!task_.take(&shifts_, wanted * width) || !task_.take(&limits, width))
			return false;
		std::fill(limits.data(), limits.data() + width, uint8_t(SHIFTS - 1));
		layers_ = 1;
		double whole = 0;
		for (size_t i = 0; i < width; ++i)
			whole += rates_[i * SHIFTS];
		const double head = double(own_.layout().head_size) / double(size_);
		for (size_t l = 0; l + 1 < wanted; ++l)
		{
			uint8_t* shifts = shifts_.data() + (layers_ - 1) * width;
			if (!best_shifts(whole * std::max(aims[l] - head, 0.0) / (1 - head), limits.data(), shifts))
				return false;
			const bool is_new = std::any_of(shifts, shifts + width, [](uint8_t s) { return s > 0; }) &&
								!(layers_ > 1 && std::equal(shifts, shifts + width, shifts - width));
			layers_ += is_new;
			if (is_new)
				std::copy(shifts, shifts + width, limits.data());
		}
		return true;
	}

	// Writes the layers, measures what each leaves, and writes that into the head.
	bool write(Buffer<uint8_t>* payload, size_t* ends)
	{
		const mocpack_KeysineLayout& l = own_.layout();
		const PartOrder order = {l.group_count, l.groups_per_segment, l.segment_count, layers_};
		Draft draft;
		Parts parts;
		Buffer<Bytes> views;
		Buffer<uint8_t> made;
		mocpack_KeysineError errors[MOCPACK_KEYSINE_MAX_LAYERS] = {};
		const uint8_t keys_error = own_.fields().keys_error; // all layers together have the same keys
		if (!copy_head(&draft) || !parts.take(&task_, size_t(order.count())) ||
			!task_.take(&views, parts.count()) || !split_segments(order, &parts) ||
			!split_groups(order, &parts))
			return false;
		for (size_t i = 0; i < views.size(); ++i)
			views[i] = parts[i];
		const LayerStatements layers = {layers_, shifts_.data(), tracks_, errors};
		if (!write_payload(&task_, draft, views.data(), views.size(), keys_error, layers, &made) ||
			!measure_layers(made, errors) ||
			!write_payload(&task_, draft, views.data(), views.size(), keys_error, layers, payload))
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

	bool split_segments(const PartOrder& order, Parts* parts)
	{
		const size_t most = std::min(order.groups_per_segment, order.groups) + 1;
		const size_t room = (8 * most * own_.layout().channel_count + 64) * layers_;
		Buffer<uint8_t> scratch, dst;
		if (!task_.take(&scratch, mocpack_keysine_split_scratch(own_.head())) || !task_.take(&dst, room))
			return false;
		for (size_t s = 0; s < order.segments; ++s)
		{
			const size_t first = s * order.groups_per_segment,
						 count = std::min(order.groups_per_segment, order.groups - first) + 1;
			size_t sizes[MOCPACK_KEYSINE_MAX_LAYERS];
			if (mocpack_keysine_split_segment(own_.head(), own_.keys_of(first), count, shifts_.data(),
											  layers_, dst.data(), room, sizes, scratch.data()) != MOCPACK_OK)
				return task_.stop(MOCPACK_CORRUPT);
			const uint8_t* at = dst.data();
			for (size_t l = 0; l < layers_; at += sizes[l++])
				if (!parts->set(order.segment(l, s), at, sizes[l]))
					return false;
		}
		return true;
	}

	bool split_groups(const PartOrder& order, Parts* parts)
	{
		Buffer<uint8_t> scratch, dst;
		if (!task_.take(&scratch, mocpack_keysine_split_scratch(own_.head())))
			return false;
		for (size_t first = 0; first < order.groups; first = order.end_of_bundle(first))
		{
			const size_t count = order.end_of_bundle(first) - first;
			const uint8_t* src[BUNDLE_GROUPS];
			size_t src_sizes[BUNDLE_GROUPS], sizes[MOCPACK_KEYSINE_MAX_GROUP_PARTS], room = 0;
			for (size_t i = 0; i < count; ++i)
			{
				src[i] = own_.group(first + i).data, src_sizes[i] = own_.group(first + i).size;
				room += 2 * src_sizes[i] + 4096 + 64 * layers_;
			}
			if (!task_.take(&dst, room))
				return false;
			if (mocpack_keysine_split_bundle(own_.head(), first, count, own_.keys_of(first), src, src_sizes,
											 shifts_.data(), layers_, dst.data(), room, sizes,
											 scratch.data()) != MOCPACK_OK)
				return task_.stop(MOCPACK_CORRUPT);
			const uint8_t* at = dst.data();
			for (size_t i = 0; i < count + layers_ - 1; at += sizes[i++])
			{
				const size_t part = i < count ? order.group(0, first + i) : order.group(i - count + 1, first);
				if (!parts->set(part, at, sizes[i]))
					return false;
			}
		}
		return true;
	}

	bool measure_layers(const Buffer<uint8_t>& made, mocpack_KeysineError* errors)
	{
		WrittenPayload layered;
		if (!layered.open(&task_, made.data(), made.size()))
			return false;
		for (size_t l = 0; l < layers_; ++l)
		{
			DecodedMotion motion;
			if (!layered.decode(&task_, 0, layered.layout().group_count, l + 1, nullptr, &motion))
				return false;
			const mocpack_ClipErrors found = clip_errors(&task_, 0, motion);
			errors[l] = {layer_error_statement(own_.fields().unit, found.promised_max),
						 layer_error_statement(own_.fields().unit, found.joint_mean)};
		}
		return !task_.stopped();
	}

	// What the payload's head says.
	bool copy_head(Draft* draft)
	{
		const mocpack_KeysineLayout& l = own_.layout();
		const mocpack_KeysineFields& f = own_.fields();
		draft->groups = {l.group_count, int32_t(f.tempo), 0, bool(l.first_frame_alone), 1.0};
		draft->unit = f.unit, draft->fine_bits = f.fine_bits;
		draft->predictor_count = f.predictor_count, draft->segment_count = l.segment_count;
		return task_.copy(&draft->table, mocpack_keysine_plan(own_.head()),
						  PLAN_COLUMNS * task_.skeleton.joint_count) &&
			   task_.copy(&draft->predictors, mocpack_keysine_predictors(own_.head()), 4 * f.predictor_count);
	}

	EncodeTask& task_;
	WrittenPayload own_;
	size_t size_ = 0, tracks_ = 0, layers_ = 1, sample_first_ = 0, sample_count_ = 0;
	size_t stride_ = 1, points_ = 0; // of the sample: frames from one to the next, and their joints
	Buffer<double> rates_;			 // (2, tracks, shifts) bits, of keys and of coefficients
	Buffer<float> least_;			 // (points) squared errors without shifts
	Buffer<float> squares_;			 // (2, tracks, shifts, points) what shifts add, square meters
	Buffer<uint8_t> shifts_;		 // (layers - 1, 2, tracks)
};

} // namespace

bool mocpack::keysine::split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload)
{
	return LayerSplit(task).run(payload);
}
