// A payload of one layer coded again as several, each with the error it leaves stated.
#include "keysine/encode/layering.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/payload_writer.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const size_t MIN_GROUP_BYTES = 3;	  // of a layer of a group: its checksum, and the end of its coder
const size_t MAX_KNOWN_ERRORS = 4096; // that are not measured twice
const size_t SHIFTS = MOCPACK_KEYSINE_MAX_SHIFT + 1;
const size_t LAYERS = MOCPACK_KEYSINE_MAX_LAYERS;

class Layering
{
  public:
	explicit Layering(EncodeTask* task) : task_(*task), c_(task->constants)
	{
	}

	bool run(Buffer<uint8_t>* payload)
	{
		if (!own_.open(&task_, payload->data(), payload->size()))
			return false;
		size_ = payload->size(), tracks_ = own_.layout().track_count;
		const size_t groups = own_.layout().group_count;
		if (!groups || !tracks_)
			return true;
		find_middle();
		if (!task_.take(&known_shifts_, MAX_KNOWN_ERRORS * (tracks_ + 1)) ||
			!task_.take(&known_errors_, MAX_KNOWN_ERRORS) || !task_.take(&alone_, tracks_ * SHIFTS) ||
			!task_.take(&shifts_, LAYERS * tracks_) || !task_.take(&work_, 4 * tracks_))
			return false;
		const double error = error_of(work_.data(), false); // without any shift
		const double keys_error = own_.fields().unit * std::exp2(own_.fields().errors[0] / 8.0);
		const double widest = std::max(c_.layer_keys_share * keys_error / std::max(error, 1e-12), 1.0);
		// layers whose checksums alone are too large are not tried
		const double spare = (c_.max_layers_ratio - 1) * double(size_);
		const size_t most = 1 + size_t(spare / double(MIN_GROUP_BYTES * groups));
		for (size_t count = std::min(size_t(task_.target.layers), most); count > 1; --count)
		{
			const double even = std::pow(widest, 1.0 / double(count - 1)), ratio = task_.target.layer_ratio;
			const double steps[2] = {std::min(ratio, even), std::min(std::min(ratio, c_.close_layers), even)};
			for (size_t i = 0; i < (steps[0] == steps[1] ? 1u : 2u); ++i)
			{
				// nor errors that could not lie apart below that of the keys: such a layer would be empty
				if (steps[i] >= c_.min_layer_step && make_layers(count, steps[i], error, payload))
					return true;
				if (task_.stopped())
					return false;
			}
		}
		return !task_.stopped();
	}

  private:
	// Some groups from the middle, by which the error of each track is measured.
	void find_middle()
	{
		const size_t groups = own_.layout().group_count;
		size_t longest = 1;
		for (size_t g = 0; g < groups; ++g)
			longest = std::max(longest, own_.key_frame(g + 1) - own_.key_frame(g));
		middle_count_ = std::min(std::max<size_t>(1, size_t(c_.layer_frames) / longest), groups);
		middle_first_ = (groups - middle_count_) / 2;
	}

	// The largest error of the clip, or of its middle, with coefficients so coarse (tracks).
	double error_of(const uint8_t* shifts, bool middle)
	{
		for (size_t i = 0; i < known_count_; ++i)
		{
			const uint8_t* known = known_shifts_.data() + i * (tracks_ + 1);
			if (known[tracks_] == middle && std::equal(shifts, shifts + tracks_, known))
				return known_errors_[i];
		}
		DecodedMotion motion;
		const size_t first = middle ? middle_first_ : 0,
					 count = middle ? middle_count_ : own_.layout().group_count;
		if (!own_.decode(&task_, first, count, 1, shifts, &motion))
			return 1e300;
		const double error = largest_error(&task_, motion.first, motion);
		if (known_count_ < MAX_KNOWN_ERRORS)
		{
			uint8_t* known = known_shifts_.data() + known_count_ * (tracks_ + 1);
			std::copy(shifts, shifts + tracks_, known), known[tracks_] = middle;
			known_errors_[known_count_++] = error;
		}
		return error;
	}

	// Errors (tracks, shifts) of the middle in which one track is coarse; infinite beyond the first above
	// goal.
	void measure_alone(double goal)
	{
		uint8_t* shifts = work_.data() + tracks_;
		for (size_t t = 0; t < tracks_ && !task_.stopped(); ++t)
		{
			double* found = alone_.data() + t * SHIFTS;
			std::fill(found, found + SHIFTS, HUGE_VAL);
			std::fill(shifts, shifts + tracks_, uint8_t(0));
			found[0] = 0;
			for (size_t shift = 1; shift < SHIFTS; ++shift)
			{
				shifts[t] = uint8_t(shift);
				found[shift] = error_of(shifts, true);
				const bool is_empty = found[shift] == found[shift - 1]; // nothing is left of the track
				if (is_empty)
					std::fill(found + shift, found + SHIFTS, found[shift]);
				if (found[shift] > goal || is_empty)
					break;
			}
		}
	}

	// The largest shifts found that together leave an error within the goal.
	void find_shifts(double goal, double evenness, uint8_t* best)
	{
		uint8_t *shifts = work_.data() + 2 * tracks_, *sorted = work_.data() + 3 * tracks_;
		double low = 0, high = 1;
		std::fill(best, best + tracks_, uint8_t(0));
		for (int i = 0; i < int(c_.layer_halvings) && !task_.stopped(); ++i)
		{
			const double share = 0.5 * (low + high);
			align_shifts(share * goal, shifts);
			std::copy(shifts, shifts + tracks_, sorted);
			std::sort(sorted, sorted + tracks_);
			const double at = evenness * double(tracks_ - 1);
			const size_t below = size_t(at), above = std::min(below + 1, tracks_ - 1);
			const uint8_t limit =
				uint8_t(sorted[below] + (at - double(below)) * double(sorted[above] - sorted[below]));
			for (size_t t = 0; t < tracks_; ++t)
				shifts[t] = std::min(shifts[t], limit);
			if (error_of(shifts, false) <= goal)
				low = share, std::copy(shifts, shifts + tracks_, best);
			else
				high = share;
		}
	}

	/* The largest shifts of each track alone within an error, as the track before where that changes next to
	 * nothing: a track of which nothing is left at some shift has the same error at every larger one, but the
	 * less a shift leaves open, the fewer bits the next layer takes. */
	void align_shifts(double error, uint8_t* shifts) const
	{
		for (size_t t = 0; t < tracks_; ++t)
		{
			const double* alone = alone_.data() + t * SHIFTS;
			size_t most = 0, least = 0;
			for (size_t shift = 1; shift < SHIFTS; ++shift)
				most += alone[shift] <= error;
			while (alone[least] != alone[most])
				++least;
			const size_t before = t ? shifts[t - 1] : 0;
			shifts[t] = uint8_t(std::min(std::min(std::max(before, least), least + 1), most));
		}
	}

	// Makes a payload of so many layers that differ enough and are not too large; with all, `error` is left.
	bool make_layers(size_t count, double step, double error, Buffer<uint8_t>* payload)
	{
		measure_alone(error * std::pow(step, double(count - 1)));
		for (double evenness : c_.layer_evenness)
		{
			uint8_t stated[LAYERS];
			double before = HUGE_VAL;
			bool good = true;
			for (size_t row = 0; row + 1 < count && good && !task_.stopped(); ++row)
			{
				uint8_t* shifts = shifts_.data() + row * tracks_;
				find_shifts(error * std::pow(step, double(count - 1 - row)), evenness, shifts);
				for (size_t t = 0; row && t < tracks_; ++t)
					shifts[t] = std::min(shifts[t], shifts[t - tracks_]);
				const double left = error_of(shifts, false),
							 least = error * std::pow(c_.min_layer_step, double(count - 1 - row));
				good = least <= left && left <= before / c_.min_layer_step;
				stated[row] = error_statement(own_.fields().unit, left), before = left;
			}
			Buffer<uint8_t> made;
			if (task_.stopped() || (good && !write(count, stated, &made)))
				return false;
			if (good && double(made.size()) <= c_.max_layers_ratio * double(size_))
			{
				*payload = std::move(made);
				return true;
			}
		}
		return false;
	}

	bool write(size_t count, const uint8_t* stated, Buffer<uint8_t>* made)
	{
		const size_t groups = own_.layout().group_count;
		Draft draft;
		Buffer<uint8_t> scratch, dst;
		Parts parts;
		Buffer<Bytes> views;
		if (!copy_head(&draft) || !parts.take(&task_, count * groups) ||
			!task_.take(&views, count * groups) ||
			!task_.take(&scratch, mocpack_keysine_split_scratch(own_.head())))
			return false;
		for (size_t g = 0; g < groups; ++g)
		{
			const Bytes group = own_.group(0, g);
			const size_t room = 2 * group.size + 4096 + 64 * count;
			size_t sizes[LAYERS];
			if (!task_.take(&dst, room))
				return false;
			if (mocpack_keysine_split(own_.head(), g, own_.keys_of(g), group.data, group.size, shifts_.data(),
									  count, dst.data(), room, sizes, scratch.data()) != MOCPACK_OK)
				return task_.stop(MOCPACK_CORRUPT);
			const uint8_t* at = dst.data();
			for (size_t layer = 0; layer < count; at += sizes[layer++])
				if (!parts.set(layer * groups + g, at, sizes[layer]))
					return false;
		}
		for (size_t i = 0; i < views.size(); ++i)
			views[i] = parts[i];
		const LayerStatements statements = {count, shifts_.data(), tracks_, stated};
		return write_payload(&task_, draft, views.data(), views.size(), own_.fields().errors[0], statements,
							 made);
	}

	// What the payload's head says, and its segments.
	bool copy_head(Draft* draft)
	{
		const mocpack_KeysineLayout& l = own_.layout();
		const mocpack_KeysineFields& f = own_.fields();
		draft->groups = {l.group_count, int32_t(f.tempo), 0, bool(l.first_frame_alone), 1.0};
		draft->unit = f.unit, draft->fine_bits = f.fine_bits;
		draft->predictor_count = f.predictor_count, draft->segment_count = l.segment_count;
		if (!task_.copy(&draft->table, mocpack_keysine_plan(own_.head()),
						PLAN_COLUMNS * task_.skeleton.joint_count) ||
			!task_.copy(&draft->predictors, mocpack_keysine_predictors(own_.head()), 4 * f.predictor_count) ||
			!draft->parts.take(&task_, l.segment_count))
			return false;
		for (size_t s = 0; s < l.segment_count; ++s)
			if (!draft->parts.set(s, own_.segment(s).data, own_.segment(s).size))
				return false;
		return true;
	}

	EncodeTask& task_;
	const Constants& c_;
	WrittenPayload own_;
	size_t size_ = 0, tracks_ = 0, middle_first_ = 0, middle_count_ = 0, known_count_ = 0;
	Buffer<uint8_t> known_shifts_; // (known, tracks + 1), the last of which says whether of the middle
	Buffer<double> known_errors_;
	Buffer<double> alone_;	 // (tracks, shifts)
	Buffer<uint8_t> shifts_; // (layers - 1, tracks)
	Buffer<uint8_t> work_;	 // (4, tracks); the first row stays zero
};

} // namespace

bool split_into_layers(EncodeTask* task, Buffer<uint8_t>* payload)
{
	return Layering(task).run(payload);
}

} // namespace keysine
} // namespace mocpack
