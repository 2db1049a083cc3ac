// keysine's decoder: one open payload, of which frames, windows and keys are read; groups on as many threads
// as asked. The core's reader opens it, so that C and JavaScript find the same faults.
#include "keysine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "keysine/decode/rows.h"
#include "keysine/train/train.h"
#include "math/quaternions.h"
#include "python_source.h"
#include "reader/chunks.h"
#include "window_plan.h"

namespace
{

using Motion = std::tuple<NewArray<double, 3>, NewArray<double, 3>>;
using Joints = std::optional<std::vector<int32_t>>;

const double UNIT_TOLERANCE = 1e-3; // of a quaternion's length
const double MAX_DECODED_M = 2e7;	// meters
const size_t MOST_KEPT = 1 << 14;	// numbers of keys that are kept for the next call

// The first part, in the file's order, that some thread could not read.
class Failures
{
  public:
	void note(size_t part, int status)
	{
		if (status == MOCPACK_OK)
			return;
		std::lock_guard<std::mutex> held(mutex_);
		if (status_ == MOCPACK_OK || part < part_)
			part_ = part, status_ = status;
	}

	bool none() const
	{
		return status_ == MOCPACK_OK;
	}

	void check(const char* what) const
	{
		check_status(status_, (what + (" " + std::to_string(part_))).c_str());
	}

  private:
	std::mutex mutex_;
	size_t part_ = 0;
	int status_ = MOCPACK_OK;
};

// Columns of the joints that are wanted, in their order; all where none are named.
struct Columns
{
	std::vector<int32_t> rotations, translations;
	mocpack_KeysineColumns view = {};

	Columns(const mocpack_Skeleton& skeleton, const Joints& joints)
		: rotations(skeleton.joint_count, joints ? -1 : 0),
		  translations(skeleton.translated_count, joints ? -1 : 0)
	{
		if (joints)
			for (int32_t j : *joints)
			{
				if (j < 0 || size_t(j) >= skeleton.joint_count)
					throw nb::value_error("no such joint");
				rotations[size_t(j)] = 0;
			}
		for (int32_t& column : rotations)
			column = column < 0 ? -1 : int32_t(view.rotation_count++);
		for (size_t m = 0; m < translations.size(); ++m)
			if (rotations[size_t(skeleton.translated_joints[m])] >= 0)
				translations[m] = int32_t(view.translation_count++);
		view.rotations = rotations.data();
		view.translations = translations.data();
	}
};

// Bytes of a payload, at hand or copied.
struct Part
{
	std::vector<uint8_t> copy;
	const uint8_t* bytes;
	uint64_t offset;
};

// Groups that hold some frames of a clip.
struct Groups
{
	size_t first, count;
};

// Keys of some segments, one after another.
struct Keys
{
	size_t first, count; // segments
	size_t layers;		 // that refined them
	std::vector<int32_t> numbers;
};

// The parts of some groups with `count` layers: (groups, MOST) where each begins and how long it is.
struct Layers
{
	static const size_t MOST = MOCPACK_KEYSINE_MAX_GROUP_PARTS;
	size_t count;
	std::vector<Part> parts;
	std::vector<const uint8_t*> bytes;
	std::vector<size_t> sizes;
};

// False for what is not finite, too.
bool are_near(const double* translations, size_t count)
{
	double farthest = 0;
	for (size_t i = 0; i < count; ++i)
		farthest = std::fabs(translations[i]) <= farthest ? farthest : std::fabs(translations[i]);
	return farthest < MAX_DECODED_M;
}

class Payload
{
	const Skeleton& skeleton;
	PythonSource source;
	mocpack_Motion* motion = nullptr;
	mocpack_KeysineFields fields{};
	Columns all;
	// The keys that were decoded last: of a clip that is read window after window they are the same. Only
	// threads that hold the GIL look at them.
	std::shared_ptr<const Keys> kept;

	const mocpack_KeysineLayout& layout() const
	{
		return motion->layout;
	}

  public:
	Payload(const Skeleton& skeleton_, size_t frames, nb::handle given, uint64_t offset,
			std::optional<uint64_t> size, uint64_t missing, bool partial,
			std::optional<uint64_t> memory_limit)
		: skeleton(skeleton_), source(given), all(skeleton_.view, std::nullopt)
	{
		const uint64_t there = source.bytes.source.size;
		if (offset > there || (size && *size > there - offset) || frames < 1)
			throw nb::value_error("the source has no such payload");
		mocpack::Memory memory(mocpack::default_allocator(), memory_limit ? *memory_limit : UINT64_MAX);
		void* place = memory.allocate(sizeof(mocpack_Motion));
		if (!place)
			check_status(MOCPACK_NO_MEMORY, "a payload");
		motion = new (place) mocpack_Motion(memory);
		motion->bytes = source.bytes;
		motion->payload = {offset, size ? *size : there - offset, missing, 0};
		motion->codec = mocpack::KEYSINE;
		motion->tree = skeleton.view;
		motion->info.frame_count = frames;
		motion->info.joint_count = skeleton.view.joint_count;
		mocpack_Error error = {};
		if (!mocpack::open_keysine(motion, partial ? uint32_t(MOCPACK_OPEN_ALLOW_TRUNCATED) : 0, &error))
		{
			mocpack_close(motion);
			motion = nullptr;
			source.raise(error);
		}
		fields = mocpack_keysine_fields(motion->head);
	}

	~Payload()
	{
		mocpack_close(motion);
	}

	// ---- what the head says

	const mocpack_KeysineLayout& shape() const
	{
		return motion->layout;
	}
	const mocpack_KeysineFields& said() const
	{
		return fields;
	}
	size_t longest_group() const
	{
		return motion->longest_group;
	}
	size_t key_frame(size_t key) const
	{
		return motion->key_frame(std::min(key, layout().group_count));
	}

	// The plan (J, 14).
	NewArray<int32_t, 2> table() const
	{
		auto found = new_array<int32_t, 2>({skeleton.view.joint_count, PLAN_COLUMNS});
		const int32_t* own = mocpack_keysine_plan(motion->head);
		std::copy(own, own + found.size(), found.data());
		return found;
	}

	// Of each layer but the last: of keys, then of coefficients.
	NewArray<uint8_t, 3> shifts() const
	{
		auto found = new_array<uint8_t, 3>({layout().layer_count - 1, 2, layout().track_count});
		std::copy(layout().shifts, layout().shifts + found.size(), found.data());
		return found;
	}

	std::vector<uint32_t> sizes() const
	{
		return std::vector<uint32_t>(layout().sizes, layout().sizes + layout().part_count);
	}

	// The end of each layer in the payload, and its largest and mean error, as they are stated; 0: they are
	// not.
	std::vector<std::tuple<uint64_t, double, double>> layers() const
	{
		std::vector<std::tuple<uint64_t, double, double>> found;
		for (size_t i = 0; i < layout().layer_count; ++i)
		{
			const mocpack_Layer& layer = motion->info.layers[i];
			found.emplace_back(motion->layer_end(i) - motion->payload.offset, layer.max_error,
							   layer.mean_error);
		}
		return found;
	}

	// The same as the head has them.
	std::vector<std::pair<int, int>> layer_errors() const
	{
		std::vector<std::pair<int, int>> found;
		for (size_t i = 0; i < layout().layer_count; ++i)
			found.emplace_back(fields.errors[i].max, fields.errors[i].mean);
		return found;
	}

	NewArray<int32_t, 2> predictors() const
	{
		auto found = new_array<int32_t, 2>({fields.predictor_count, 4});
		const int32_t* own = mocpack_keysine_predictors(motion->head);
		std::copy(own, own + found.size(), found.data());
		return found;
	}

	// Of a grid in time, else empty.
	std::vector<uint8_t> grid_steps() const
	{
		const uint8_t* steps = mocpack_keysine_grid_steps(motion->head);
		return std::vector<uint8_t>(steps, steps ? steps + layout().track_count : steps);
	}

	std::vector<uint8_t> initial_scales() const
	{
		const uint8_t* scales = mocpack_keysine_initial_scales(motion->head);
		return std::vector<uint8_t>(scales, scales ? scales + layout().channel_count : scales);
	}

	// Offsets in the payload and sizes of the bytes that frames start … stop - 1 need: keys, then each layer.
	std::vector<std::pair<uint64_t, uint64_t>> ranges(size_t start, size_t stop) const
	{
		check_frames(start, stop);
		std::vector<std::pair<uint64_t, uint64_t>> found;
		auto add = [&](size_t first, size_t end)
		{
			const uint64_t from = motion->part_offsets[first],
						   to = std::min(motion->part_offsets[end], motion->payload_end);
			if (from < to)
				found.emplace_back(from - motion->payload.offset, to - from);
		};
		const Groups groups = groups_of(start, stop);
		const size_t last = groups.first + (groups.count ? groups.count - 1 : 0);
		mocpack::add_ranges(*motion, groups.first, last, layout().layer_count, add);
		return found;
	}

	// ---- motion

	// Rotations and translations of frames start … stop - 1: of `joints` alone, where they are named.
	// Rotations are made unit and of one sign in time, unless `settled` is false.
	Motion decode(size_t start, size_t stop, const Joints& joints, size_t threads, bool settled)
	{
		check_frames(start, stop);
		std::optional<Columns> some;
		if (joints)
			some.emplace(skeleton.view, joints);
		const Columns& columns = some ? *some : all;
		auto rotations = new_array<double, 3>({stop - start, columns.view.rotation_count, 4});
		auto translations = new_array<double, 3>({stop - start, columns.view.translation_count, 3});
		decode_runs(start, stop, threads, columns, rotations.data(), translations.data());
		if (settled && !settle(rotations, translations))
			check_status(MOCPACK_CORRUPT,
						 ("keysine group " + std::to_string(motion->group_at(start))).c_str());
		return {rotations, translations};
	}

	// Rotations and translations of the keys alone, of all segments.
	Motion poses()
	{
		const size_t count = layout().group_count + 1, joints = skeleton.view.joint_count,
					 moving = skeleton.view.translated_count;
		const auto keys =
			keys_for({0, layout().group_count}, motion->whole_key_layers(layout().segment_count - 1), 1);
		auto rotations = new_array<double, 3>({count, joints, 4});
		auto translations = new_array<double, 3>({count, moving, 3});
		for (size_t k = 0; k < count; ++k)
			mocpack_keysine_decode_key(motion->head, keys->numbers.data() + k * layout().channel_count,
									   nullptr, rotations.data() + 4 * k * joints,
									   translations.data() + 3 * k * moving);
		if (!settle(rotations, translations))
			raise_corrupt("a key of the keysine payload is no pose");
		return {rotations, translations};
	}

	// Frames start … stop - 1, as windows.h makes a window of them.
	void write(const WindowPlan& plan, size_t start, size_t stop, WindowOut out)
	{
		if (plan.parents.size() != skeleton.view.joint_count ||
			plan.translated.size() != skeleton.view.translated_count)
			throw nb::value_error("the plan is for another skeleton");
		check_frames(start, stop);
		check_window(plan, stop - start, 0, out);
		const bool is_grid = fields.mode & 1;
		if (is_grid || stop - start != out.shape(0) || !mocpack_window_is_copy(&plan.view, plan.step))
			return put_features(plan, start, stop, out);
		for (size_t from = start, to; from < stop; from = to)
		{
			const Run run = run_of(from, stop);
			const auto keys = keys_for(run.groups, run.layers, 1);
			const Layers layers = layers_of(run.groups, run.layers);
			Failures failures;
			to = run.stop;
			{
				nb::gil_scoped_release release;
				put_rows(run.groups, own_keys(*keys, run.groups), layers, from, to,
						 out.data() + (from - start) * out.shape(1), out.shape(1), &failures);
			}
			failures.check("keysine group");
		}
	}

	// ---- for training

	// Everything that a payload of one layer codes: tracks (channels, first channel, parent, family), keys at
	// the ends of groups, and of each group its keys, steps, coefficients, lengths and tempo.
	nb::tuple symbols()
	{
		const mocpack_KeysineLayout& l = layout();
		auto edges = new_array<int32_t, 2>({l.group_count + 1, l.channel_count});
		const auto keys = keys_for({0, l.group_count}, 1, 1);
		std::copy(keys->numbers.begin(), keys->numbers.end(), edges.data());
		Room scratch = allocate(mocpack_keysine_group_scratch_size(motion->head));
		nb::list tracks, found;
		for (size_t t = 0; t < l.track_count; ++t)
		{
			int32_t row[5];
			mocpack_keysine_track(motion->head, t, row);
			tracks.append(nb::make_tuple(row[0], row[1], row[2], row[3], row[4]));
		}
		for_groups([&](size_t i, const int32_t* own, const uint8_t* bytes, size_t size)
				   { found.append(group_symbols(i, own, bytes, size, start_of(scratch))); });
		return nb::make_tuple(tracks, edges, found);
	}

	// The numbers of each group on a grid in time (frames - 1, channels, columns): train.h says which
	// columns.
	nb::list grid_numbers()
	{
		Room scratch = allocate(2 * mocpack_keysine_group_scratch_size(motion->head));
		nb::list found;
		for_groups(
			[&](size_t i, const int32_t*, const uint8_t* bytes, size_t size)
			{
				size_t frames = motion->key_frame(i + 1) - motion->key_frame(i);
				auto numbers = new_array<int32_t, 3>(
					{frames - 1, layout().channel_count, size_t(MOCPACK_KEYSINE_GRID_COLUMNS)});
				if (frames > 1)
					check_status(mocpack_keysine_grid_numbers(motion->head, i, bytes, size, numbers.data(),
															  start_of(scratch)),
								 "a keysine group");
				found.append(numbers);
			});
		return found;
	}

  private:
	void check_frames(size_t start, size_t stop) const
	{
		if (start >= stop || stop > motion->info.frame_count)
			throw nb::value_error("the clip has no such frames");
	}

	Groups groups_of(size_t start, size_t stop) const
	{
		const size_t first = motion->group_at(start);
		return {first, layout().group_count ? motion->group_at(stop - 1) + 1 - first : 0};
	}

	// Groups with the same number of layers, and the frame after those that they give.
	struct Run
	{
		Groups groups;
		size_t layers, stop;
	};

	// The run that begins with a frame. Only a cut file has several.
	Run run_of(size_t start, size_t stop) const
	{
		Groups groups = groups_of(start, stop);
		const size_t most = layout().layer_count,
					 layers = groups.count ? motion->whole_layers(groups.first, most) : most;
		for (size_t i = 1; i < groups.count; ++i)
			if (motion->whole_layers(groups.first + i, most) != layers)
			{
				groups.count = i;
				return {groups, layers, motion->key_frame(groups.first + i)};
			}
		return {groups, layers, stop};
	}

	void decode_runs(size_t start, size_t stop, size_t threads, const Columns& columns, double* turns,
					 double* places)
	{
		for (size_t from = start, to; from < stop; from = to)
		{
			const Run run = run_of(from, stop);
			const auto keys = keys_for(run.groups, run.layers, threads);
			const Layers layers = layers_of(run.groups, run.layers);
			Failures failures;
			to = run.stop;
			{
				nb::gil_scoped_release release;
				decode_frames(run.groups, own_keys(*keys, run.groups), layers, from, to, threads, columns,
							  turns + 4 * (from - start) * columns.view.rotation_count,
							  places + 3 * (from - start) * columns.view.translation_count, &failures);
			}
			failures.check("keysine group");
		}
	}

	// Neighbouring parts, as far as they are there.
	Part read_parts(size_t first, size_t count)
	{
		const uint64_t start = motion->part_offsets[first];
		const uint64_t end = std::min(motion->part_offsets[first + count], motion->payload_end);
		const uint64_t size = end > start ? end - start : 0;
		Part part = {std::vector<uint8_t>(source.bytes.all ? 0 : size_t(size)), nullptr, start};
		mocpack_Error error = {};
		part.bytes = motion->bytes.view(start, size, part.copy.data(), &error);
		if (!part.bytes)
			source.raise(error);
		return part;
	}

	std::shared_ptr<const Keys> keys_for(Groups groups, size_t layers, size_t threads)
	{
		const size_t first = motion->segment_of(groups.first);
		const size_t last = groups.count ? motion->segment_of(groups.first + groups.count - 1) : first;
		std::shared_ptr<const Keys> before = kept;
		if (before && before->first <= first && last < before->first + before->count &&
			before->layers == layers)
			return before;
		std::vector<Part> parts;
		for (size_t layer = 0; layer < layers; ++layer)
			for (size_t segment = first; segment <= last; ++segment)
				parts.push_back(read_parts(motion->parts().segment(layer, segment), 1));
		auto found = std::make_shared<Keys>(Keys{first, last + 1 - first, layers, {}});
		Failures failures;
		{
			nb::gil_scoped_release release;
			decode_keys(parts, threads, found.get(), &failures);
		}
		failures.check("keysine key segment");
		if (found->numbers.size() <= MOST_KEPT)
			kept = found;
		return found;
	}

	// Each segment's last key is the next one's first. parts (layers, segments)
	void decode_keys(const std::vector<Part>& parts, size_t threads, Keys* found, Failures* failures) const
	{
		const mocpack_KeysineLayout& l = layout();
		const size_t per = l.groups_per_segment, start = found->first * per,
					 stop = std::min(l.group_count, (found->first + found->count) * per);
		found->numbers.resize((stop - start + 1) * l.channel_count);
		with_scratch(found->count, threads, mocpack_keysine_segment_scratch_size(motion->head),
					 [&](size_t i, void* scratch)
					 {
						 const size_t segment = found->first + i, own = motion->keys_in_segment(segment);
						 std::vector<int32_t> keys(own * l.channel_count);
						 for (size_t layer = 0; layer < found->layers; ++layer)
						 {
							 const size_t size = l.sizes[motion->parts().segment(layer, segment)];
							 const uint8_t* src = parts[layer * found->count + i].bytes;
							 failures->note(
								 segment, layer ? mocpack_keysine_refine_segment(motion->head, layer, own,
																				 src, size, keys.data())
												: mocpack_keysine_decode_segment(motion->head, own, src, size,
																				 keys.data(), scratch));
						 }
						 // the last key is the next segment's to write, where there is one
						 const size_t mine = i + 1 < found->count ? own - 1 : own;
						 std::copy(keys.begin(), keys.begin() + long(mine * l.channel_count),
								   found->numbers.begin() + long(i * per * l.channel_count));
					 });
	}

	const int32_t* own_keys(const Keys& keys, Groups groups) const
	{
		return keys.numbers.data() +
			   (groups.first - keys.first * layout().groups_per_segment) * layout().channel_count;
	}

	// The parts of groups: layer by layer, those from the first to the last that is needed.
	Layers layers_of(Groups groups, size_t count)
	{
		const size_t most = Layers::MOST;
		Layers found = {count,
						{},
						std::vector<const uint8_t*>(groups.count * most),
						std::vector<size_t>(groups.count * most)};
		const mocpack::keysine::PartOrder order = motion->parts();
		const size_t end = groups.first + groups.count;
		for (size_t layer = 0; layer < count && groups.count; ++layer)
		{
			const bool bundled = !layer && count > 1;
			const size_t first =
							 order.group(layer, bundled ? order.first_of_bundle(groups.first) : groups.first),
						 last = order.group(layer, bundled ? order.end_of_bundle(end - 1) - 1 : end - 1);
			found.parts.push_back(read_parts(first, last + 1 - first));
		}
		for (size_t i = 0; i < groups.count; ++i)
		{
			size_t parts[Layers::MOST];
			const size_t needed = mocpack_keysine_group_parts(motion->head, groups.first + i, count, parts);
			for (size_t p = 0; p < needed; ++p)
			{
				const size_t layer = p + count < needed + 1 ? 0 : p + count - needed;
				const Part& read = found.parts[layer];
				found.bytes[i * most + p] = read.bytes + (motion->part_offsets[parts[p]] - read.offset);
				found.sizes[i * most + p] = layout().sizes[parts[p]];
			}
		}
		return found;
	}

	// Calls work(group, its keys, its bytes, their number) for each group of a payload of one layer.
	template <typename Work> void for_groups(Work work)
	{
		const Groups groups = {0, layout().group_count};
		const auto keys = keys_for(groups, 1, 1);
		const Layers layers = layers_of(groups, 1);
		for (size_t i = 0; i < groups.count; ++i)
			work(i, keys->numbers.data() + i * layout().channel_count, layers.bytes[i * Layers::MOST],
				 layers.sizes[i * Layers::MOST]);
	}

	// Decodes frames start … stop - 1 of the clip, which these groups hold.
	void decode_frames(Groups groups, const int32_t* keys, const Layers& layers, size_t start, size_t stop,
					   size_t threads, const Columns& columns, double* turns, double* places,
					   Failures* failures) const
	{
		const mocpack_KeysineHead* head = motion->head;
		const size_t turn_width = 4 * columns.view.rotation_count,
					 place_width = 3 * columns.view.translation_count, channels = layout().channel_count;
		in_threads(groups.count, std::max<size_t>(threads, 1),
				   [&](auto take)
				   {
					   Room scratch = allocate(mocpack_keysine_group_scratch_size(head));
					   mocpack_KeysineSineCache sines = {};
					   for (size_t i = take(); i < groups.count; i = take())
					   {
						   const size_t group = groups.first + i, from = motion->key_frame(group),
										first = std::max(from, start),
										last = std::min(motion->key_frame(group + 1), stop);
						   if (first >= last)
							   continue;
						   const uint8_t* const* bytes = layers.bytes.data() + i * Layers::MOST;
						   const size_t* sizes = layers.sizes.data() + i * Layers::MOST;
						   double *turn = turns + (first - start) * turn_width,
								  *place = places + (first - start) * place_width;
						   failures->note(group, mocpack_keysine_decode_span(
													 head, group, first - from, last - from,
													 keys + i * channels, bytes, sizes, layers.count,
													 &columns.view, turn, place, &sines, start_of(scratch)));
					   }
				   });
		const size_t end = motion->key_frame(groups.first + groups.count);
		if (end >= start && end < stop)
			mocpack_keysine_decode_key(head, keys + groups.count * channels, &columns.view,
									   turns + (end - start) * turn_width,
									   places + (end - start) * place_width);
	}

	// Makes rotations unit and of one sign in time. False where this is no motion.
	static bool settle(NewArray<double, 3>& rotations, NewArray<double, 3>& translations)
	{
		return are_near(translations.data(), translations.size()) &&
			   mocpack_normalize_rotations(rotations.data(), rotations.shape(0), rotations.shape(1),
										   UNIT_TOLERANCE) < 0;
	}

	// Rows that are the frames themselves: straight into the caller's array.
	void put_rows(Groups groups, const int32_t* keys, const Layers& layers, size_t start, size_t stop,
				  float* out, size_t width, Failures* failures) const
	{
		const size_t channels = layout().channel_count;
		const int rotations_only = width == 4 * skeleton.view.joint_count;
		Room scratch = allocate(mocpack_keysine_rows_scratch_size(motion->head));
		mocpack_KeysineSineCache sines = {};
		for (size_t i = 0; i < groups.count; ++i)
		{
			const size_t group = groups.first + i, from = motion->key_frame(group),
						 first = std::max(from, start), last = std::min(motion->key_frame(group + 1), stop);
			if (first >= last)
				continue;
			failures->note(group,
						   mocpack_keysine_decode_rows(
							   motion->head, group, first - from, last - from, keys + i * channels,
							   layers.bytes.data() + i * Layers::MOST, layers.sizes.data() + i * Layers::MOST,
							   layers.count, nullptr, out + (first - start) * width, width, rotations_only,
							   &sines, start_of(scratch)));
		}
		const size_t end = motion->key_frame(groups.first + groups.count);
		if (end >= start && end < stop)
			mocpack_keysine_decode_key_row(motion->head, keys + groups.count * channels, nullptr,
										   out + (end - start) * width, rotations_only);
	}

	// Anything else: by way of the frames in double precision.
	void put_features(const WindowPlan& plan, size_t start, size_t stop, const WindowOut& out)
	{
		const size_t joints = skeleton.view.joint_count, moving = skeleton.view.translated_count,
					 count = stop - start, turns = 4 * joints * count, places = 3 * moving * count;
		std::unique_ptr<double[]> room(new double[turns + places]);
		decode_runs(start, stop, 1, all, room.get(), room.get() + turns);
		nb::gil_scoped_release release;
		mocpack_window_from_double(&plan.view, room.get(), 4 * joints, room.get() + turns, 3 * moving, count,
								   0.0, plan.step, out.shape(0), plan.rate, out.data(), out.shape(1),
								   window_scratch(plan, out.shape(0)).get());
	}

	nb::tuple group_symbols(size_t i, const int32_t* keys, const uint8_t* bytes, size_t size,
							void* scratch) const
	{
		const mocpack_KeysineLayout& l = layout();
		mocpack_KeysineGroup g = {};
		auto read = [&]
		{
			check_status(mocpack_keysine_group_symbols(motion->head, i, keys, bytes, size, &g, scratch),
						 "a keysine group");
		};
		read();
		auto own = new_array<int32_t, 2>({g.blocks + 1, l.channel_count});
		auto steps = new_array<int32_t, 2>({l.track_count, g.blocks});
		auto values = new_array<int32_t, 3>({l.channel_count, g.blocks, g.longest});
		auto lengths = new_array<int32_t, 1>({g.blocks});
		g.keys = own.data(), g.steps = steps.data(), g.values = values.data(), g.lengths = lengths.data();
		read();
		return nb::make_tuple(own, steps, values, lengths, g.tempo);
	}
};

// The static tables by name, flat, for decoders in Python.
nb::dict keysine_tables()
{
	nb::dict tables;
	mocpack_KeysineTable table;
	for (size_t i = 0; mocpack_keysine_trained_table(i, &table); ++i)
	{
		auto numbers = new_array<int32_t, 1>({table.size});
		for (size_t k = 0; k < table.size; ++k)
			numbers.data()[k] = table.starts ? int32_t(table.starts[k]) : table.weights[k];
		tables[table.name] = numbers;
	}
	return tables;
}

} // namespace

void register_keysine_decode(nb::module_& m)
{
	nb::class_<Payload>(m, "KeysinePayload")
		.def(nb::init<const Skeleton&, size_t, nb::handle, uint64_t, std::optional<uint64_t>, uint64_t, bool,
					  std::optional<uint64_t>>(),
			 "skeleton"_a, "frame_count"_a, "source"_a, "offset"_a = 0, "size"_a.none() = nb::none(),
			 "missing"_a = 0, "partial"_a = false, "memory_limit"_a.none() = nb::none(),
			 nb::keep_alive<1, 2>(),
			 nb::sig(
				 "def __init__(self, skeleton: Skeleton, frame_count: int, source: object, offset: int = "
				 "0, size: int | None = None, missing: int = 0, partial: bool = False, memory_limit: int | "
				 "None = None) -> None"))
		.def_prop_ro("head_size", [](const Payload& p) { return p.shape().head_size; })
		.def_prop_ro("mode", [](const Payload& p) { return p.said().mode; })
		.def_prop_ro("fine_bits", [](const Payload& p) { return p.said().fine_bits; })
		.def_prop_ro("tempo", [](const Payload& p) { return p.said().tempo; })
		.def_prop_ro("unit", [](const Payload& p) { return p.said().unit; })
		.def_prop_ro("group_count", [](const Payload& p) { return p.shape().group_count; })
		.def_prop_ro("groups_per_segment", [](const Payload& p) { return p.shape().groups_per_segment; })
		.def_prop_ro("segment_count", [](const Payload& p) { return p.shape().segment_count; })
		.def_prop_ro("layer_count", [](const Payload& p) { return p.shape().layer_count; })
		.def_prop_ro("longest_group", &Payload::longest_group)
		.def_prop_ro("table", &Payload::table, nb::rv_policy::move)
		.def_prop_ro("shifts", &Payload::shifts, nb::rv_policy::move)
		.def_prop_ro("sizes", &Payload::sizes)
		.def_prop_ro("keys_error", [](const Payload& p) { return p.said().keys_error; })
		.def_prop_ro("layer_errors", &Payload::layer_errors)
		.def_prop_ro("layers", &Payload::layers)
		.def_prop_ro("predictors", &Payload::predictors, nb::rv_policy::move)
		.def_prop_ro("grid_steps", &Payload::grid_steps)
		.def_prop_ro("initial_scales", &Payload::initial_scales)
		.def("key_frame", &Payload::key_frame, "key"_a)
		.def("ranges", &Payload::ranges, "start"_a, "stop"_a)
		.def("decode", &Payload::decode, "start"_a, "stop"_a, "joints"_a.none() = nb::none(), "threads"_a = 1,
			 "settled"_a = true)
		.def("poses", &Payload::poses)
		.def("write", &Payload::write, "plan"_a, "start"_a, "stop"_a, "out"_a)
		.def("symbols", &Payload::symbols, nb::sig("def symbols(self) -> tuple[object, object, object]"))
		.def("grid_numbers", &Payload::grid_numbers, nb::sig("def grid_numbers(self) -> list[object]"));
	m.def("keysine_tables", &keysine_tables, nb::sig("def keysine_tables() -> dict[str, list[int]]"));
}
