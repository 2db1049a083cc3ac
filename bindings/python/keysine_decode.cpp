// keysine's decoder: an open payload, of which frames, windows and key poses are read. Converts arrays and
// errors; the core does the rest.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "motion_rows.h"
#include "python_source.h"
#include "reader/keysine_frames.h"
#include "window_plan.h"
#include "work.h"

namespace
{

using mocpack::KeysineFrames;
using Motion = std::tuple<NewArray<double, 3>, NewArray<double, 3>>;

const size_t MAX_KEPT_NUMBERS = 1 << 14; // of key poses that are kept for the next call

// Key poses of the segment that was decoded last. A clip that is read window after window needs them again.
struct Keys
{
	size_t segment, count;
	std::vector<int32_t> numbers;
};

struct Close
{
	void operator()(mocpack_Motion* motion) const
	{
		mocpack_close(motion);
	}
};

using Numbers = Array<int64_t, nb::ndim<1>>;

// New arrays of some frames.
struct MotionArrays
{
	NewArray<double, 3> rotations, translations;
	mocpack::FrameArrays out;

	MotionArrays(size_t frames, const mocpack_KeysineColumns& columns)
		: rotations(new_array<double, 3>({frames, columns.rotation_count, 4})),
		  translations(new_array<double, 3>({frames, columns.translation_count, 3})),
		  out{columns.rotations ? &columns : nullptr, columns.rotation_count, columns.translation_count,
			  rotations.data(), translations.data()}
	{
	}
};

class Payload
{
	const Skeleton& skeleton;
	nb::object skeleton_owner;
	PythonSource source;
	const uint64_t limit;
	mocpack_Motion* motion;
	std::shared_ptr<const Keys> kept; // null at first; changed only with the GIL

  public:
	Payload(const Skeleton& skeleton_, size_t frames, nb::handle given, uint64_t offset,
			std::optional<uint64_t> size, uint64_t missing, bool partial,
			std::optional<uint64_t> memory_limit)
		: skeleton(skeleton_), skeleton_owner(nb::find(skeleton_)), source(given),
		  limit(memory_limit.value_or(UINT64_MAX))
	{
		const uint64_t there = source.bytes.source.size;
		if (offset > there || (size && *size > there - offset) || frames < 1)
			throw nb::value_error("the source has no such payload");
		mocpack_Error error = {};
		motion = mocpack::open_keysine_payload(
			skeleton.view, frames, source.bytes, {offset, size.value_or(there - offset), missing, 0},
			partial ? uint32_t(MOCPACK_OPEN_ALLOW_TRUNCATED) : 0, limit, &error);
		if (!motion)
			source.raise(error);
	}

	// Another file with the skeleton and codec of `like`, whose file is `like_file`; has no motion if it
	// differs.
	Payload(nb::bytes file, const mocpack_Motion& like_file, const Payload& like)
		: skeleton(like.skeleton), skeleton_owner(like.skeleton_owner), source(file), limit(like.limit),
		  motion(
			  mocpack::open_keysine_alike(source.bytes, like_file, skeleton.view, like.motion->head, limit))
	{
	}

	// Opens another file of which windows can be written like those of this payload; null if it needs more
	// care. `own_file` is the file of this payload.
	std::unique_ptr<Payload> open_alike(nb::handle own_file, nb::bytes file) const
	{
		auto payload = std::make_unique<Payload>(file, parsed_file(own_file), *this);
		return payload->motion ? std::move(payload) : nullptr;
	}

	~Payload()
	{
		mocpack_close(motion);
	}

	const mocpack_KeysineLayout& layout() const
	{
		return motion->layout;
	}

	// Offsets in the payload and sizes of the bytes that frames start … stop - 1 need: keys, then each layer.
	std::vector<std::pair<uint64_t, uint64_t>> ranges(size_t start, size_t stop) const
	{
		check_frames(start, stop);
		mocpack_Range ranges[mocpack::MAX_RANGES];
		std::vector<std::pair<uint64_t, uint64_t>> pairs(
			mocpack::find_ranges(*motion, motion->group_at(start), motion->group_at(stop - 1),
								 motion->layout.layer_count, true, ranges));
		for (size_t i = 0; i < pairs.size(); ++i)
			pairs[i] = {ranges[i].offset - motion->payload.offset, ranges[i].size};
		return pairs;
	}

	// The end of each layer in the payload, and its largest and mean error; 0: not stated.
	std::vector<std::tuple<uint64_t, double, double>> layers() const
	{
		std::vector<std::tuple<uint64_t, double, double>> rows;
		for (size_t i = 0; i < motion->layout.layer_count; ++i)
			rows.emplace_back(motion->layer_end(i) - motion->payload.offset, motion->info.layers[i].max_error,
							  motion->info.layers[i].mean_error);
		return rows;
	}

	// Bytes that decoding frames start … stop - 1 takes besides the arrays that it returns; without frames,
	// those that opening took.
	uint64_t memory_needed(size_t start, size_t stop, size_t threads) const
	{
		const uint64_t head = limit - motion->memory.left();
		if (start == stop)
			return head;
		check_frames(start, stop);
		Work work(nb::none(), threads);
		return head +
			   KeysineFrames(*motion, start, stop, work.view, {mocpack::NO_GROUP, 0, nullptr}).memory_size();
	}

	// Rotations and translations of frames start … stop - 1: of `joints` alone, where they are named.
	// `normalized` rotations are unit and of one sign in time.
	Motion decode(size_t start, size_t stop, const std::optional<std::vector<int32_t>>& joints,
				  size_t threads, bool normalized)
	{
		const mocpack_Skeleton& s = skeleton.view;
		std::vector<int32_t> rotations(s.joint_count), translations(s.translated_count);
		mocpack_KeysineColumns columns = {nullptr, nullptr, s.joint_count, s.translated_count};
		if (joints && !mocpack::select_joints(s, joints->data(), joints->size(), rotations.data(),
											  translations.data(), &columns))
			throw nb::value_error("no such joint");
		check_frames(start, stop);
		MotionArrays arrays(stop - start, columns);
		run(start, stop, threads, [&](KeysineFrames& frames, mocpack_Error* error)
			{ return frames.decode(arrays.out, normalized, error); });
		return {arrays.rotations, arrays.translations};
	}

	// Rotations and translations of the key poses at the ends of all groups.
	Motion poses()
	{
		const mocpack_Skeleton& s = skeleton.view;
		MotionArrays poses(motion->layout.group_count + 1,
						   {nullptr, nullptr, s.joint_count, s.translated_count});
		run(0, motion->info.frame_count, 1, [&](KeysineFrames& frames, mocpack_Error* error)
			{ return frames.decode_keys(poses.out, error); });
		return {poses.rotations, poses.translations};
	}

	// Frames start … stop - 1, as windows.h makes a window of them.
	void write(const WindowPlan& plan, size_t start, size_t stop, WindowOut out)
	{
		if (plan.parents.size() != skeleton.view.joint_count ||
			plan.translated.size() != skeleton.view.translated_count)
			throw nb::value_error("the plan is for another skeleton");
		check_frames(start, stop);
		check_window(plan, stop - start, 0, out);
		run(start, stop, 1,
			[&](KeysineFrames& frames, mocpack_Error* error)
			{
				return frames.write_window(plan.view, plan.step, plan.rate, out.shape(0), out.data(), error);
			});
	}

	// Stores the rows of other files with the skeleton and codec of this payload, whose file is `own_file`:
	// `frames` of each file, as clip `clips` from word `first_words` on. Returns the indices of files that
	// need more care, whose rows are not stored.
	std::vector<size_t> store_rows(nb::handle own_file, const std::vector<nb::bytes>& files,
								   const WindowPlan& plan, const RowLayout& layout, const RowStore& store,
								   Numbers clips, Numbers first_words, Numbers frames) const
	{
		const size_t count = files.size(), width = plan.width();
		if (plan.parents.size() != skeleton.view.joint_count ||
			plan.translated.size() != skeleton.view.translated_count)
			throw nb::value_error("the plan is for another skeleton");
		bool good = clips.size() == count && first_words.size() == count && frames.size() == count;
		for (size_t c = 0; good && c < layout.columns.size(); ++c)
			good = size_t(layout.columns.data()[c]) < width;
		for (size_t i = 0; good && i < count; ++i)
			good = frames.data()[i] > 0;
		if (!good || layout.columns.size() != layout.view.width)
			throw nb::value_error("each file needs its clip, first word and frames, and rows their columns");
		std::vector<mocpack::Bytes> bytes(count);
		std::vector<uint8_t*> out(count);
		for (size_t i = 0; i < count; ++i)
		{
			bytes[i].all = static_cast<const uint8_t*>(files[i].data());
			bytes[i].source.size = files[i].size();
			out[i] = store.at(layout, size_t(clips.data()[i]), size_t(first_words.data()[i]),
							  size_t(frames.data()[i]));
		}
		const mocpack_Motion& like_file = parsed_file(own_file);
		bool is_whole = width == layout.view.width; // the window is the rows
		for (size_t c = 0; c < layout.columns.size(); ++c)
			is_whole = is_whole && size_t(layout.columns.data()[c]) == c;
		std::vector<size_t> left;
		std::vector<float> window, selected;
		Work work(nb::none(), 1);
		work.view.progress = nullptr; // Ctrl-C stops the thread that waits for this one
		nb::gil_scoped_release release;
		for (size_t i = 0; i < count; ++i)
		{
			const size_t length = size_t(frames.data()[i]);
			const std::unique_ptr<mocpack_Motion, Close> other(
				mocpack::open_keysine_alike(bytes[i], like_file, skeleton.view, motion->head, limit));
			if (!other || other->info.frame_count != length)
			{
				left.push_back(i);
				continue;
			}
			const bool is_direct = is_whole && !store.are_halves;
			if (!is_direct)
				window.resize(std::max(window.size(), length * width));
			float* rows = is_direct ? reinterpret_cast<float*>(out[i]) : window.data();
			KeysineFrames decoder(*other, 0, length, work.view, {mocpack::NO_GROUP, 0, nullptr});
			mocpack_Error error = {};
			if (!decoder.fetch(&error) ||
				!decoder.write_window(plan.view, plan.step, plan.rate, length, rows, &error))
			{
				left.push_back(i);
				continue;
			}
			if (!is_whole)
			{
				selected.resize(std::max(selected.size(), length * layout.view.width));
				layout.select(rows, width, length, selected.data());
				rows = selected.data();
			}
			store.report(size_t(clips.data()[i]), layout.store(rows, length, out[i], store.are_halves));
		}
		return left;
	}

  private:
	void check_frames(size_t start, size_t stop) const
	{
		if (start >= stop || stop > motion->info.frame_count)
			throw nb::value_error("the clip has no such frames");
	}

	// Fetches frames, calls decode(frames, error) without the GIL, and keeps the last key poses.
	template <typename Decode> void run(size_t start, size_t stop, size_t threads, Decode decode)
	{
		const std::shared_ptr<const Keys> known = kept;
		Work work(nb::none(), threads);
		const mocpack::SegmentKeys keys =
			known ? mocpack::SegmentKeys{known->segment, known->count, known->numbers.data()}
				  : mocpack::SegmentKeys{mocpack::NO_GROUP, 0, nullptr};
		KeysineFrames frames(*motion, start, stop, work.view, keys);
		mocpack_Error error = {};
		if (!frames.fetch(&error))
			source.raise(error);
		bool good;
		{
			nb::gil_scoped_release release;
			good = decode(frames, &error);
		}
		work.raise_if_stopped();
		if (!good)
			raise_error(error);
		const mocpack::SegmentKeys last = frames.last_keys();
		const size_t size = last.count * motion->layout.channel_count;
		if ((last.segment != keys.segment || last.count > keys.count) && size <= MAX_KEPT_NUMBERS)
			kept = std::make_shared<Keys>(Keys{last.segment, last.count, {last.keys, last.keys + size}});
	}
};

} // namespace

void register_keysine_decode(nb::module_& m)
{
	nb::class_<Payload>(m, "KeysinePayload")
		.def(nb::init<const Skeleton&, size_t, nb::handle, uint64_t, std::optional<uint64_t>, uint64_t, bool,
					  std::optional<uint64_t>>(),
			 "skeleton"_a, "frame_count"_a, "source"_a, "offset"_a = 0, "size"_a.none() = nb::none(),
			 "missing"_a = 0, "partial"_a = false, "memory_limit"_a.none() = nb::none())
		.def("open_alike", &Payload::open_alike, "own_file"_a, "file"_a,
			 nb::sig("def open_alike(self, own_file: File, file: bytes) -> KeysinePayload | None"))
		.def_prop_ro("head_size", [](const Payload& p) { return p.layout().head_size; })
		.def_prop_ro("group_count", [](const Payload& p) { return p.layout().group_count; })
		.def_prop_ro("part_count", [](const Payload& p) { return p.layout().part_count; })
		.def_prop_ro("layers", &Payload::layers)
		.def("ranges", &Payload::ranges, "start"_a, "stop"_a)
		.def("decode", &Payload::decode, "start"_a, "stop"_a, "joints"_a.none() = nb::none(), "threads"_a = 1,
			 "normalized"_a = true)
		.def("memory_needed", &Payload::memory_needed, "start"_a, "stop"_a, "threads"_a = 1)
		.def("poses", &Payload::poses)
		.def("write", &Payload::write, "plan"_a, "start"_a, "stop"_a, "out"_a)
		.def("store_rows", &Payload::store_rows, "own_file"_a, "files"_a, "plan"_a, "layout"_a, "store"_a,
			 "clips"_a, "first_words"_a, "frames"_a,
			 nb::sig("def store_rows(self, own_file: File, files: Sequence[bytes], plan: WindowPlan, "
					 "layout: RowLayout, store: RowStore, "
					 "clips: Annotated[NDArray[numpy.int64], dict(shape=(None,))], "
					 "first_words: Annotated[NDArray[numpy.int64], dict(shape=(None,))], "
					 "frames: Annotated[NDArray[numpy.int64], dict(shape=(None,))]) -> list[int]"));
}
