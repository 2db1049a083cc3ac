// keysine: clips in, the parts of a payload out, and back; groups on as many threads as asked.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "keysine/decode/rows.h"
#include "keysine/encode/encode.h"
#include "keysine/train/train.h"
#include "parallel.h"
#include "skeleton.h"
#include "window_plan.h"

namespace
{

const size_t PLAN_COLUMNS = MOCPACK_KEYSINE_PLAN_COLUMNS;
using Memory = std::unique_ptr<uint8_t[]>;

Memory allocate(size_t size)
{
	return Memory(new uint8_t[size + 64]);
}

// Kernels that vectorise want 32-byte alignment.
void* start_of(const Memory& memory)
{
	return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.get()) + 31) / 32 * 32);
}

// Calls work(i, scratch) for i below count, each thread with scratch of its own.
template <typename Work> void with_scratch(size_t count, size_t threads, size_t scratch_size, Work work)
{
	in_threads(count, std::max<size_t>(threads, 1),
			   [&](auto take)
			   {
				   Memory scratch = allocate(scratch_size);
				   for (size_t i = take(); i < count; i = take())
					   work(i, start_of(scratch));
			   });
}

// The settings of the search by name, so that neither side counts positions.
using Settings = mocpack_KeysineSettings;

struct Setting
{
	const char* name;
	double (*get)(const Settings&);
	void (*set)(Settings*, double);
};

template <auto Member> Setting setting(const char* name)
{
	return {name, [](const Settings& s) { return double(s.*Member); }, [](Settings* s, double value)
			{ s->*Member = std::remove_reference_t<decltype(s->*Member)>(value); }};
}

const Setting SETTINGS[] = {
	setting<&Settings::bound>("bound"),
	setting<&Settings::origin_share>("origin_share"),
	setting<&Settings::origin_falloff>("origin_falloff"),
	setting<&Settings::shell_factor>("shell_factor"),
	setting<&Settings::key_share>("key_share"),
	setting<&Settings::excess_penalty>("excess_penalty"),
	setting<&Settings::room>("room"),
	setting<&Settings::turn_price>("turn_price"),
	setting<&Settings::key_price>("key_price"),
	setting<&Settings::angle_price>("angle_price"),
	setting<&Settings::max_angle>("max_angle"),
	setting<&Settings::world_angle>("world_angle"),
	setting<&Settings::quartic_penalty>("quartic_penalty"),
	setting<&Settings::squared_penalty>("squared_penalty"),
	setting<&Settings::rounding>("rounding"),
	setting<&Settings::jitter_penalty>("jitter_penalty"),
	setting<&Settings::jitter_from>("jitter_from"),
	setting<&Settings::sweeps>("sweeps"),
	setting<&Settings::repairs>("repairs"),
	setting<&Settings::coarsest_step>("coarsest_step"),
	setting<&Settings::finest_step>("finest_step"),
	setting<&Settings::greedy>("greedy"),
	setting<&Settings::splits>("splits"),
	setting<&Settings::split_tries>("split_tries"),
	setting<&Settings::weight_tries>("weight_tries"),
	setting<&Settings::exhaustive>("exhaustive"),
	setting<&Settings::thorough>("thorough"),
	setting<&Settings::beam_width>("beam_width"),
	setting<&Settings::grid_error_penalty>("grid_error_penalty"),
};

// All of the settings, each by its name.
void set_all(Settings* made, const nb::kwargs& given)
{
	for (const Setting& one : SETTINGS)
	{
		if (!given.contains(one.name))
			throw nb::type_error((std::string("KeysineSettings lack ") + one.name).c_str());
		one.set(made, nb::cast<double>(nb::float_(given[one.name])));
	}
	if (given.size() != std::size(SETTINGS))
		throw nb::type_error("KeysineSettings have no such settings");
}

nb::dict all_settings(const Settings& settings)
{
	nb::dict found;
	for (const Setting& one : SETTINGS)
		found[one.name] = one.get(settings);
	return found;
}

// "plan of joint 7: rotation key step 80 is outside 0..63"
std::string described(const mocpack_Fault& fault)
{
	char text[200];
	int at = fault.part ? snprintf(text, sizeof text, "%s %lld: ", fault.part, (long long)fault.index) : 0;
	if (fault.low == fault.high)
		snprintf(text + at, sizeof text - size_t(at), "%s %g is not %g", fault.field, fault.value, fault.low);
	else
		snprintf(text + at, sizeof text - size_t(at), "%s %.10g is outside %g..%.10g", fault.field,
				 fault.value, fault.low, fault.high);
	return text;
}

using Bytes = std::vector<nb::bytes>;
using Encoded = std::tuple<NewArray<int32_t, 2>, std::vector<uint8_t>, Bytes, Bytes>;

const uint8_t USUAL_SCALE = 12;		 // half octaves of 1/32: two steps
const size_t ESTIMATION_GROUPS = 24; // looked at to know how far prediction is off

// How far prediction is off at first on a grid in time, by channel, in half octaves of 1/256 step. Empty
// where a group fails.
std::vector<uint8_t> estimate_scales(const mocpack_KeysineEncoder* encoder, const std::vector<int32_t>& keys,
									 size_t group_count, size_t threads)
{
	size_t channels = mocpack_keysine_channel_count(encoder);
	size_t count = std::min(group_count, ESTIMATION_GROUPS);
	std::vector<std::vector<double>> errors(count, std::vector<double>(channels));
	std::atomic<bool> good{true};
	with_scratch(count, threads, mocpack_keysine_group_encode_scratch(encoder),
				 [&](size_t i, void* scratch)
				 {
					 size_t group = i * group_count / count;
					 if (!mocpack_keysine_grid_errors(encoder, group, keys.data() + group * channels,
													  errors[i].data(), scratch))
						 good = false;
				 });
	std::vector<uint8_t> scales;
	for (size_t c = 0; good && c < channels; ++c)
	{
		double sum = 0;
		for (const std::vector<double>& own : errors)
			sum += own[c];
		double octaves = std::log2(std::max(sum / (8.0 * double(std::max<size_t>(count, 1))), 1.0));
		const double most = MOCPACK_KEYSINE_MOST_INITIAL_SCALE;
		scales.push_back(uint8_t(std::min(std::floor(2 * octaves + 0.5), most)));
	}
	return scales;
}

using Predictors = Array<int32_t, nb::shape<-1, 4>>;

// What the encoder saw, for choosing predictors: coefficients as they should be, as they are, and their steps
// (channels, frames); their paces (frames).
struct Seen
{
	std::vector<float> wanted, series, steps;
	std::vector<int32_t> paces;
};

// Tells a Python function how many pieces are done, if there is one. Only the thread that made it calls it:
// others know nothing of Python. What it raises ends the work and is raised when all threads are back.
class Progress
{
	nb::handle told;
	size_t count;
	std::thread::id caller = std::this_thread::get_id();
	std::atomic<size_t> done{0};
	std::atomic<bool> ended{false};
	std::exception_ptr raised;

  public:
	Progress(nb::handle told_, size_t count_) : told(told_), count(count_)
	{
	}

	bool stopped() const
	{
		return ended;
	}

	void one_more()
	{
		size_t now = ++done;
		if (told.is_none() || std::this_thread::get_id() != caller || ended)
			return;
		nb::gil_scoped_acquire acquire;
		try
		{
			told(now, count);
		}
		catch (nb::python_error&)
		{
			raised = std::current_exception();
			ended = true;
		}
	}

	// with the GIL
	void raise_if_stopped()
	{
		if (raised)
			std::rethrow_exception(raised);
	}
};

// One group after another into bytes; false where one fails.
bool encode_groups(const mocpack_KeysineEncoder* encoder, const std::vector<int32_t>& keys, size_t keys_apart,
				   size_t threads, std::vector<std::vector<uint8_t>>* groups, Progress* progress)
{
	size_t channels = mocpack_keysine_channel_count(encoder);
	std::atomic<bool> good{true};
	with_scratch(groups->size(), threads, mocpack_keysine_group_encode_scratch(encoder),
				 [&](size_t i, void* scratch)
				 {
					 if (progress->stopped())
						 return;
					 // room for the worst of groups, of which most is never touched
					 size_t room = mocpack_keysine_group_bytes(encoder), size;
					 std::unique_ptr<uint8_t[]> dst(new uint8_t[room]);
					 if (mocpack_keysine_encode_group(encoder, i, keys.data() + i * keys_apart * channels,
													  dst.get(), room, &size, scratch) != MOCPACK_OK)
						 good = false; // and never true again, whatever other threads find
					 (*groups)[i].assign(dst.get(), dst.get() + size);
					 progress->one_more();
				 });
	return good;
}

// The keys at the ends of groups, segment by segment; false where one fails.
bool encode_segments(const mocpack_KeysineEncoder* encoder, const std::vector<int32_t>& keys,
					 size_t keys_apart, size_t group_count, size_t groups_per_segment, size_t threads,
					 std::vector<std::vector<uint8_t>>* segments)
{
	size_t channels = mocpack_keysine_channel_count(encoder);
	std::atomic<bool> good{true};
	size_t most = std::min(groups_per_segment, group_count) + 1;
	with_scratch(segments->size(), threads, mocpack_keysine_segment_encode_scratch(encoder, most),
				 [&](size_t i, void* scratch)
				 {
					 size_t first = i * groups_per_segment;
					 size_t count = std::min(groups_per_segment, group_count - first) + 1;
					 std::vector<uint8_t> dst(64 + 12 * channels * count);
					 std::vector<int32_t> own(count * channels);
					 for (size_t k = 0; k < count; ++k)
						 std::copy_n(keys.begin() + long((first + k) * keys_apart * channels), channels,
									 own.begin() + long(k * channels));
					 dst.resize(mocpack_keysine_encode_segment(encoder, own.data(), count, dst.data(),
															   dst.size(), scratch));
					 if (dst.empty())
						 good = false;
					 (*segments)[i] = dst;
				 });
	return good;
}

Bytes to_bytes(const std::vector<std::vector<uint8_t>>& parts)
{
	Bytes bytes;
	for (const auto& part : parts)
		bytes.emplace_back(part.data(), part.size());
	return bytes;
}

using Angles = Array<double, nb::ndim<2>>;

void check_angles(const Skeleton& skeleton, const Rotations& rotations, const Angles& angles)
{
	if (angles.shape(0) != rotations.shape(0) || angles.shape(1) != skeleton.view.hinge_count)
		throw nb::value_error("angles (T, H) do not fit the skeleton's hinges");
}

// What is encoded, but for the motion itself.
struct Task
{
	double unit, fine;
	int32_t tempo;
	size_t group_count, groups_per_segment;
	bool first_frame_alone;
	int32_t splits;
	Predictors predictors;
	std::optional<std::vector<uint8_t>> grid_steps;
	std::optional<std::vector<double>> shares;
};

std::optional<Encoded> encode_clip(const Skeleton& skeleton, Rotations rotations, Translations translations,
								   Angles angles, Array<int32_t, nb::shape<-1, PLAN_COLUMNS>> table,
								   const Task& task, const Settings& settings, size_t threads, Seen* seen,
								   nb::handle told)
{
	skeleton.check_motion(rotations, translations);
	check_angles(skeleton, rotations, angles);
	size_t frames = rotations.shape(0), joints = skeleton.view.joint_count, group_count = task.group_count;
	const bool grid = bool(task.grid_steps);
	if (table.shape(0) != joints || (task.shares && task.shares->size() != joints) ||
		!task.groups_per_segment || group_count >= frames || (frames > 1) != (group_count > 0) ||
		task.splits < 0 || task.splits > MOCPACK_KEYSINE_MOST_SPLITS || settings.beam_width < 1)
		throw nb::value_error("table and groups do not fit the clip");
	auto refined = new_array<int32_t, 2>({joints, PLAN_COLUMNS});
	std::copy(table.data(), table.data() + joints * PLAN_COLUMNS, refined.data());
	std::vector<uint8_t> scales(grid ? 7 * joints : 0, USUAL_SCALE), steps;
	steps.reserve(1); // a clip in which nothing moves has no steps, and still a grid
	if (grid)
		steps.insert(steps.end(), task.grid_steps->begin(), task.grid_steps->end());
	mocpack_KeysineJob job = {&skeleton.view,
							  rotations.data(),
							  translations.data(),
							  angles.data(),
							  frames,
							  group_count,
							  task.first_frame_alone,
							  task.splits,
							  refined.data(),
							  task.unit,
							  task.fine,
							  task.tempo,
							  task.predictors.data(),
							  task.predictors.shape(0),
							  task.shares ? task.shares->data() : nullptr,
							  settings,
							  grid ? steps.data() : nullptr,
							  scales.data()};
	size_t per = task.groups_per_segment, segment_count = group_count ? (group_count + per - 1) / per : 1;
	size_t keys_apart = size_t(1) << task.splits;
	std::vector<std::vector<uint8_t>> segments(segment_count), groups(group_count);
	Progress progress(told, group_count);
	bool good;
	{
		nb::gil_scoped_release release;
		Memory memory = allocate(mocpack_keysine_encoder_size(&job));
		mocpack_KeysineEncoder* encoder = mocpack_keysine_prepare(&job, start_of(memory));
		good = encoder && (!grid || task.grid_steps->size() == mocpack_keysine_track_count(encoder));
		size_t channels = good ? mocpack_keysine_channel_count(encoder) : 0;
		for (size_t i = 0; i < job.predictor_count && good; ++i)
		{
			const int32_t* p = job.predictors + 4 * i;
			good = p[0] >= 0 && size_t(p[0]) < channels && p[1] >= 0 && p[1] < p[0];
		}
		if (good && seen)
		{
			seen->wanted.resize(channels * frames), seen->series.resize(channels * frames);
			seen->steps.resize(channels * frames), seen->paces.resize(frames);
			mocpack_keysine_watch(encoder, seen->wanted.data(), seen->series.data(), seen->steps.data(),
								  seen->paces.data());
		}
		std::vector<int32_t> keys(channels * (group_count * keys_apart + 1));
		if (good)
		{
			Memory scratch = allocate(mocpack_keysine_keys_scratch(encoder));
			good = mocpack_keysine_encode_keys(encoder, keys.data(), start_of(scratch)) == MOCPACK_OK;
		}
		good = good && encode_segments(encoder, keys, keys_apart, group_count, per, threads, &segments);
		if (good && grid && group_count)
		{
			std::vector<uint8_t> found = estimate_scales(encoder, keys, group_count, threads);
			good = found.size() == channels;
			std::copy(found.begin(), found.end(), scales.begin());
		}
		scales.resize(grid ? channels : 0);
		good = good && encode_groups(encoder, keys, keys_apart, threads, &groups, &progress);
	}
	progress.raise_if_stopped();
	if (!good)
		return std::nullopt;
	return Encoded(refined, scales, to_bytes(segments), to_bytes(groups));
}

// (table with key steps, initial scales of a grid, segments, groups); None where no key
// step keeps the bound or a group fails. With `grid_steps` (tracks) the groups are a grid in time.
// `progress(done, count)`, if given, is called as groups are done.
std::optional<Encoded> keysine_encode(const Skeleton& skeleton, Rotations rotations,
									  Translations translations, Angles angles,
									  Array<int32_t, nb::shape<-1, PLAN_COLUMNS>> table, double unit,
									  double fine, int32_t tempo, size_t group_count,
									  size_t groups_per_segment, bool first_frame_alone, int32_t splits,
									  const Settings& settings, size_t threads, Predictors predictors,
									  const std::optional<std::vector<uint8_t>>& grid_steps,
									  const std::optional<std::vector<double>>& shares, nb::object progress)
{
	Task task = {unit,	 fine,		 tempo,		 group_count, groups_per_segment, first_frame_alone,
				 splits, predictors, grid_steps, shares};
	return encode_clip(skeleton, rotations, translations, angles, table, task, settings, threads, nullptr,
					   progress);
}

// What the encoder sees of a clip: coefficients as they should be and as they are, their steps (3, channels,
// frames), their paces (frames), and the bytes of all groups; None where it fails.
using Watched = std::tuple<NewArray<float, 3>, NewArray<int32_t, 1>, size_t>;

std::optional<Watched> keysine_watch(const Skeleton& skeleton, Rotations rotations, Translations translations,
									 Angles angles, Array<int32_t, nb::shape<-1, PLAN_COLUMNS>> table,
									 double unit, double fine, int32_t tempo, size_t group_count,
									 size_t groups_per_segment, bool first_frame_alone, int32_t splits,
									 const Settings& settings, size_t threads, Predictors predictors)
{
	Seen seen;
	Task task = {unit,	 fine,		 tempo,		   group_count, groups_per_segment, first_frame_alone,
				 splits, predictors, std::nullopt, std::nullopt};
	auto made = encode_clip(skeleton, rotations, translations, angles, table, task, settings, threads, &seen,
							nb::none());
	if (!made)
		return std::nullopt;
	size_t size = 0;
	for (const nb::bytes& group : std::get<3>(*made))
		size += group.size();
	size_t frames = rotations.shape(0), channels = seen.wanted.size() / frames;
	auto found = new_array<float, 3>({3, channels, frames});
	std::copy(seen.wanted.begin(), seen.wanted.end(), found.data());
	std::copy(seen.series.begin(), seen.series.end(), found.data() + channels * frames);
	std::copy(seen.steps.begin(), seen.steps.end(), found.data() + 2 * channels * frames);
	auto paces = new_array<int32_t, 1>({frames});
	std::copy(seen.paces.begin(), seen.paces.end(), paces.data());
	return Watched(found, paces, size);
}

// Means (J, 4) and axes (J, 3, 3), transposed, of the joints whose rotations are vectors; zero for others.
std::tuple<NewArray<double, 2>, NewArray<double, 3>>
keysine_axes(const Skeleton& skeleton, Array<int32_t, nb::shape<-1, PLAN_COLUMNS>> table, double unit,
			 double fine)
{
	size_t joints = skeleton.view.joint_count;
	if (table.shape(0) != joints)
		throw nb::value_error("table does not fit");
	auto means = new_array<double, 2>({joints, 4});
	auto axes = new_array<double, 3>({joints, 3, 3});
	std::fill(means.data(), means.data() + means.size(), 0.0);
	std::fill(axes.data(), axes.data() + axes.size(), 0.0);
	Memory scratch = allocate(mocpack_keysine_axes_scratch(joints));
	mocpack_Fault fault = {};
	if (!mocpack_keysine_axes(&skeleton.view, table.data(), unit, fine, means.data(), axes.data(),
							  start_of(scratch), &fault))
		throw nb::value_error(described(fault).c_str());
	return {means, axes};
}

void check_head(mocpack_Status status, const mocpack_Fault& fault)
{
	if (status == MOCPACK_CORRUPT && fault.field)
		raise_corrupt(("keysine head: " + described(fault)).c_str());
	check_status(status, "the head of a keysine payload");
}

// Of a head that is not read yet: groups, groups of a segment, layers, and whether the first frame is alone.
std::tuple<size_t, size_t, size_t, bool> keysine_peek(nb::bytes data, size_t frames)
{
	mocpack_KeysineLayout layout{};
	mocpack_Fault fault = {};
	const uint8_t* src = static_cast<const uint8_t*>(data.data());
	check_head(mocpack_keysine_peek(src, data.size(), frames, &layout, &fault), fault);
	return {layout.group_count, layout.groups_per_segment, layout.layer_count, layout.first_frame_alone != 0};
}

// A head, parsed; the skeleton must outlive it.
struct OpenHead
{
	const Skeleton& skeleton;
	Memory memory;
	mocpack_KeysineHead* view = nullptr;
	mocpack_KeysineLayout layout{};
	mocpack_KeysineFields fields{};

	// The keys that were decoded last: of a clip that is asked for window after window they are the same.
	struct Kept
	{
		size_t first;
		std::string bytes;
		std::vector<int32_t> keys;
	};
	mutable std::mutex guard;
	mutable std::shared_ptr<const Kept> kept;

	OpenHead(const Skeleton& skeleton_, nb::bytes data, size_t frames) : skeleton(skeleton_)
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		mocpack_Fault fault = {};
		memory = allocate(mocpack_keysine_head_memory(src, data.size(), skeleton.view.joint_count, frames));
		mocpack_Status status =
			mocpack_keysine_open(src, data.size(), &skeleton.view, frames, start_of(memory), &view, &fault);
		check_head(status, fault);
		layout = mocpack_keysine_layout(view);
		fields = mocpack_keysine_fields(view);
	}

	bool is_grid() const
	{
		return fields.mode & 1;
	}

	// The plan (J, 14).
	NewArray<int32_t, 2> table() const
	{
		auto found = new_array<int32_t, 2>({skeleton.view.joint_count, PLAN_COLUMNS});
		const int32_t* own = mocpack_keysine_table(view);
		std::copy(own, own + found.size(), found.data());
		return found;
	}

	NewArray<uint8_t, 2> shifts() const
	{
		auto found = new_array<uint8_t, 2>({layout.layer_count - 1, layout.track_count});
		std::copy(layout.shifts, layout.shifts + found.size(), found.data());
		return found;
	}

	std::vector<uint32_t> sizes() const
	{
		size_t parts = layout.segment_count + layout.layer_count * layout.group_count;
		return std::vector<uint32_t>(layout.sizes, layout.sizes + parts);
	}

	// Of the keys alone, then of each layer but the last, as they are stated.
	std::vector<uint8_t> errors() const
	{
		return std::vector<uint8_t>(fields.errors, fields.errors + layout.layer_count);
	}

	NewArray<int32_t, 2> predictors() const
	{
		auto found = new_array<int32_t, 2>({fields.predictor_count, 4});
		const int32_t* own = mocpack_keysine_predictors(view);
		std::copy(own, own + found.size(), found.data());
		return found;
	}

	// Of a grid in time, else empty.
	std::vector<uint8_t> grid_steps() const
	{
		const uint8_t* steps = mocpack_keysine_grid_steps(view);
		return std::vector<uint8_t>(steps, steps ? steps + layout.track_count : steps);
	}

	std::vector<uint8_t> initial_scales() const
	{
		const uint8_t* scales = mocpack_keysine_initial_scales(view);
		return std::vector<uint8_t>(scales, scales ? scales + layout.channel_count : scales);
	}
};

size_t sum_of(const uint32_t* sizes, size_t count)
{
	size_t sum = 0;
	for (size_t i = 0; i < count; ++i)
		sum += sizes[i];
	return sum;
}

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

// Keys of `count` segments from `first` on, one after another: each segment's last is the next one's first.
std::vector<int32_t> decode_keys(const OpenHead& head, const uint8_t* src, size_t size, size_t first,
								 size_t count, size_t threads)
{
	const mocpack_KeysineLayout& l = head.layout;
	size_t groups = l.groups_per_segment;
	size_t start = first * groups, stop = std::min(l.group_count, (first + count) * groups);
	if (size < sum_of(l.sizes + first, count))
		check_status(MOCPACK_TRUNCATED, "keysine key segments");
	std::vector<int32_t> keys((stop - start + 1) * l.channel_count);
	std::vector<size_t> offsets(count, 0);
	for (size_t i = 1; i < count; ++i)
		offsets[i] = offsets[i - 1] + l.sizes[first + i - 1];
	Failures failures;
	with_scratch(count, threads, mocpack_keysine_segment_scratch(head.view),
				 [&](size_t i, void* scratch)
				 {
					 size_t from = i * groups, own = std::min(groups, stop - start - from) + 1;
					 std::vector<int32_t> part(own * l.channel_count);
					 int found = mocpack_keysine_decode_segment(head.view, own, src + offsets[i],
																l.sizes[first + i], part.data(), scratch);
					 failures.note(first + i, found);
					 // the last key is the next segment's to write, where there is one
					 size_t kept = i + 1 < count ? own - 1 : own;
					 std::copy(part.begin(), part.begin() + long(kept * l.channel_count),
							   keys.begin() + long(from * l.channel_count));
				 });
	failures.check("keysine key segment");
	return keys;
}

using Keys = std::shared_ptr<const OpenHead::Kept>;

const size_t MOST_KEPT = 1 << 14; // keys' numbers

// The keys of segments, decoded unless they are those of the call before.
Keys keys_of(const OpenHead& head, const nb::bytes& segments, size_t first, size_t count, size_t threads)
{
	const char* bytes = segments.c_str();
	Keys last;
	{
		std::lock_guard<std::mutex> lock(head.guard);
		last = head.kept;
	}
	// the bytes are compared: two payloads may have the same head
	if (last && last->first == first && last->bytes.size() == segments.size() &&
		!std::memcmp(last->bytes.data(), bytes, segments.size()))
		return last;
	const uint8_t* src = reinterpret_cast<const uint8_t*>(bytes);
	auto found = std::make_shared<OpenHead::Kept>();
	found->keys = decode_keys(head, src, segments.size(), first, count, threads);
	if (found->keys.size() > MOST_KEPT)
		return found;
	found->first = first;
	found->bytes.assign(bytes, segments.size());
	std::lock_guard<std::mutex> lock(head.guard);
	head.kept = found;
	return found;
}

// Where the layers of some groups stand: (groups, layers).
struct Parts
{
	std::vector<const uint8_t*> bytes;
	std::vector<size_t> sizes;

	Parts(const mocpack_KeysineLayout& l, const std::vector<nb::bytes>& layers, size_t first, size_t count)
		: bytes(count * layers.size()), sizes(bytes.size())
	{
		for (size_t layer = 0; layer < layers.size(); ++layer)
		{
			const uint32_t* stated = l.sizes + l.segment_count + layer * l.group_count + first;
			if (layers[layer].size() < sum_of(stated, count))
				check_status(MOCPACK_TRUNCATED, "keysine groups");
			const uint8_t* at = static_cast<const uint8_t*>(layers[layer].data());
			for (size_t i = 0; i < count; at += stated[i++])
				bytes[i * layers.size() + layer] = at, sizes[i * layers.size() + layer] = stated[i];
		}
	}
};

// Columns of the joints that are wanted, in their order; all where none are named.
struct Columns
{
	std::vector<int32_t> rotations, translations;
	mocpack_KeysineColumns view = {};

	Columns(const mocpack_Skeleton& skeleton, const std::optional<std::vector<int32_t>>& joints)
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

// Groups that hold some frames of a clip, and the segments that have their keys.
struct Groups
{
	size_t first, count;

	size_t first_segment(const mocpack_KeysineLayout& l) const
	{
		return first / l.groups_per_segment;
	}
	size_t segment_count(const mocpack_KeysineLayout& l) const
	{
		return count ? (first + count - 1) / l.groups_per_segment - first_segment(l) + 1 : 1;
	}
};

// Decodes frames start … stop - 1 of the clip, which these groups hold, on several threads; `keys` are those
// of the groups, `shifts` may be null.
void decode_frames(const OpenHead& head, Groups groups, const int32_t* keys, const Parts& parts,
				   size_t layer_count, size_t start, size_t stop, size_t threads, const Columns& columns,
				   const uint8_t* shifts, double* turns, double* places, Failures* failures)
{
	const mocpack_KeysineLayout& l = head.layout;
	size_t turn_width = 4 * columns.view.rotation_count, place_width = 3 * columns.view.translation_count;
	in_threads(groups.count, std::max<size_t>(threads, 1),
			   [&](auto take)
			   {
				   Memory scratch = allocate(mocpack_keysine_group_scratch(head.view));
				   mocpack_KeysineSines kept = {};
				   for (size_t i = take(); i < groups.count; i = take())
				   {
					   size_t group = groups.first + i;
					   size_t from = mocpack_keysine_key_frame(head.view, group),
							  to = mocpack_keysine_key_frame(head.view, group + 1);
					   size_t first = std::max(from, start), last = std::min(to, stop);
					   if (first >= last)
						   continue;
					   const int32_t* key = keys + i * l.channel_count;
					   const uint8_t* const* bytes = parts.bytes.data() + i * layer_count;
					   const size_t* sizes = parts.sizes.data() + i * layer_count;
					   double *turn = turns + (first - start) * turn_width,
							  *place = places + (first - start) * place_width;
					   int found =
						   shifts ? mocpack_keysine_decode_coarse(head.view, group, key, bytes[0], sizes[0],
																  shifts, turn, place, start_of(scratch))
								  : mocpack_keysine_decode_span(head.view, group, first - from, last - from,
																key, bytes, sizes, layer_count, &columns.view,
																turn, place, &kept, start_of(scratch));
					   failures->note(group, found);
				   }
			   });
	size_t end = mocpack_keysine_key_frame(head.view, groups.first + groups.count);
	if (end >= start && end < stop)
		mocpack_keysine_pose(head.view, keys + groups.count * l.channel_count, &columns.view,
							 turns + (end - start) * turn_width, places + (end - start) * place_width);
}

using Motion = std::tuple<NewArray<double, 3>, NewArray<double, 3>>;
using Frames = std::pair<size_t, size_t>;

// Rotations and translations of groups first … first + count - 1, their last key included, from as many
// layers as there are (none: what the keys alone give); of `joints` alone, where they are named; of the
// clip's `frames` (start, stop) alone, which the groups must hold.
Motion keysine_decode(const OpenHead& head, nb::bytes segments, const std::vector<nb::bytes>& layers,
					  size_t first, size_t count, size_t threads,
					  const std::optional<std::vector<int32_t>>& wanted,
					  const std::optional<std::vector<uint8_t>>& shifts, const std::optional<Frames>& frames)
{
	const mocpack_KeysineLayout& l = head.layout;
	if (first + count > l.group_count || (!count && l.group_count) || layers.size() > l.layer_count)
		throw nb::value_error("no such groups");
	if (shifts &&
		(shifts->size() != l.track_count || l.layer_count != 1 || layers.size() != 1 || wanted || frames))
		throw nb::value_error("shifts are for all tracks of one layer, and all frames");
	Groups groups = {first, count};
	size_t begin = mocpack_keysine_key_frame(head.view, first);
	size_t end = mocpack_keysine_key_frame(head.view, first + count) + 1;
	size_t start = frames ? frames->first : begin, stop = frames ? frames->second : end;
	if (start < begin || stop > end || start >= stop)
		throw nb::value_error("the groups do not hold these frames");
	Parts parts(l, layers, first, count);
	Columns columns(head.skeleton.view, wanted);
	Failures failures;
	Keys keys = keys_of(head, segments, groups.first_segment(l), groups.segment_count(l), threads);
	const int32_t* own_keys =
		keys->keys.data() + (first - groups.first_segment(l) * l.groups_per_segment) * l.channel_count;
	auto rotations = new_array<double, 3>({stop - start, columns.view.rotation_count, 4});
	auto translations = new_array<double, 3>({stop - start, columns.view.translation_count, 3});
	{
		nb::gil_scoped_release release;
		decode_frames(head, groups, own_keys, parts, layers.size(), start, stop, threads, columns,
					  shifts ? shifts->data() : nullptr, rotations.data(), translations.data(), &failures);
	}
	failures.check("keysine group");
	return {rotations, translations};
}

// A payload that windows are read of, one call a window: `read(offset, size)` gives bytes of it. The keys
// that were decoded last are kept.
class Windowed
{
	const OpenHead& head;
	nb::callable read;
	std::vector<size_t> starts, ends; // frames of the keys; where parts of the payload begin
	Columns columns;
	mutable std::mutex guard;
	mutable Keys kept;
	mutable size_t kept_count = 0;

	nb::bytes part(size_t first, size_t count) const
	{
		size_t size = ends[first + count] - ends[first];
		nb::bytes found = nb::cast<nb::bytes>(read(ends[first], size));
		if (found.size() != size)
			check_status(MOCPACK_TRUNCATED, "keysine payload");
		return found;
	}

	Keys keys_for(Groups groups) const
	{
		size_t first = groups.first_segment(head.layout), count = groups.segment_count(head.layout);
		{
			std::lock_guard<std::mutex> lock(guard);
			if (kept && kept->first <= first && first + count <= kept->first + kept_count)
				return kept;
		}
		nb::bytes bytes = part(first, count);
		auto found = std::make_shared<OpenHead::Kept>();
		const uint8_t* src = static_cast<const uint8_t*>(bytes.data());
		found->keys = decode_keys(head, src, bytes.size(), first, count, 1);
		found->first = first;
		if (found->keys.size() <= MOST_KEPT)
		{
			std::lock_guard<std::mutex> lock(guard);
			kept = found, kept_count = count;
		}
		return found;
	}

  public:
	Windowed(const OpenHead& head_, nb::callable read_)
		: head(head_), read(read_), columns(head_.skeleton.view, std::nullopt)
	{
		const mocpack_KeysineLayout& l = head.layout;
		for (size_t key = 0; key <= l.group_count; ++key)
			starts.push_back(mocpack_keysine_key_frame(head.view, key));
		ends.push_back(l.head_size);
		for (size_t i = 0; i < l.segment_count + l.layer_count * l.group_count; ++i)
			ends.push_back(ends.back() + l.sizes[i]);
	}

	// Frames start … stop - 1, as windows.h makes a window of them.
	void write(const WindowPlan& plan, size_t start, size_t stop, WindowOut out) const
	{
		if (plan.parents.size() != head.skeleton.view.joint_count ||
			plan.translated.size() != head.skeleton.view.translated_count)
			throw nb::value_error("the plan is for another skeleton");
		if (start >= stop || stop > starts.back() + 1)
			throw nb::value_error("the clip has no such frames");
		check_window(plan, stop - start, 0, out);
		const Groups groups = groups_of(start, stop);
		const Keys keys = keys_for(groups);
		std::vector<nb::bytes> layers = layers_of(groups);
		const Parts parts(head.layout, layers, groups.first, groups.count);
		const int32_t* own_keys =
			keys->keys.data() +
			(groups.first - keys->first * head.layout.groups_per_segment) * head.layout.channel_count;
		Failures failures;
		{
			nb::gil_scoped_release release;
			if (!head.is_grid() && stop - start == out.shape(0) &&
				mocpack_window_is_plain(&plan.view, plan.step))
				put_rows(groups, own_keys, parts, start, stop, out, &failures);
			else
				put_features(plan, groups, own_keys, parts, start, stop, out, &failures);
		}
		failures.check("keysine group");
	}

  private:
	Groups groups_of(size_t start, size_t stop) const
	{
		const size_t count = head.layout.group_count;
		auto last_key = starts.end() - (count ? 1 : 0); // it belongs to the last group
		auto after = [&](size_t frame)
		{ return size_t(std::upper_bound(starts.begin(), last_key, frame) - starts.begin()); };
		size_t first = after(start) - 1;
		return {first, count ? after(stop - 1) - first : 0};
	}

	std::vector<nb::bytes> layers_of(Groups groups) const
	{
		const mocpack_KeysineLayout& l = head.layout;
		std::vector<nb::bytes> layers;
		for (size_t layer = 0; layer < l.layer_count; ++layer)
			layers.push_back(part(l.segment_count + layer * l.group_count + groups.first, groups.count));
		return layers;
	}

	// Rows that are the frames themselves: straight into the caller's array.
	void put_rows(Groups groups, const int32_t* keys, const Parts& parts, size_t start, size_t stop,
				  const WindowOut& out, Failures* failures) const
	{
		const size_t layers = head.layout.layer_count, channels = head.layout.channel_count,
					 width = out.shape(1);
		const int turns_alone = width == 4 * head.skeleton.view.joint_count;
		Memory scratch = allocate(mocpack_keysine_rows_scratch(head.view));
		mocpack_KeysineSines kept_sines = {};
		for (size_t i = 0; i < groups.count; ++i)
		{
			size_t from = starts[groups.first + i];
			size_t first = std::max(from, start), last = std::min(starts[groups.first + i + 1], stop);
			if (first >= last)
				continue;
			failures->note(groups.first + i,
						   mocpack_keysine_decode_rows(head.view, groups.first + i, first - from, last - from,
													   keys + i * channels, parts.bytes.data() + i * layers,
													   parts.sizes.data() + i * layers, layers, nullptr,
													   out.data() + (first - start) * width, width,
													   turns_alone, &kept_sines, start_of(scratch)));
		}
		size_t end = starts[groups.first + groups.count];
		if (end >= start && end < stop)
			mocpack_keysine_row(head.view, keys + groups.count * channels, nullptr,
								out.data() + (end - start) * width, turns_alone);
	}

	// Anything else: by way of the frames in double precision.
	void put_features(const WindowPlan& plan, Groups groups, const int32_t* keys, const Parts& parts,
					  size_t start, size_t stop, const WindowOut& out, Failures* failures) const
	{
		size_t joints = head.skeleton.view.joint_count, moving = head.skeleton.view.translated_count;
		size_t count = stop - start, turns = 4 * joints * count, places = 3 * moving * count;
		std::unique_ptr<double[]> room(new double[turns + places]);
		decode_frames(head, groups, keys, parts, head.layout.layer_count, start, stop, 1, columns, nullptr,
					  room.get(), room.get() + turns, failures);
		if (failures->none())
			mocpack_window_from_double(&plan.view, room.get(), 4 * joints, room.get() + turns, 3 * moving,
									   count, 0.0, plan.step, out.shape(0), plan.rate, out.data(),
									   out.shape(1), window_scratch(plan, out.shape(0)).get());
	}
};

// Rotations and translations of the keys alone of all segments.
Motion keysine_poses(const OpenHead& head, nb::bytes segments)
{
	const mocpack_KeysineLayout& l = head.layout;
	const uint8_t* src = static_cast<const uint8_t*>(segments.data());
	std::vector<int32_t> keys = decode_keys(head, src, segments.size(), 0, l.segment_count, 1);
	size_t count = l.group_count + 1, joints = head.skeleton.view.joint_count,
		   moving = head.skeleton.view.translated_count;
	auto rotations = new_array<double, 3>({count, joints, 4});
	auto translations = new_array<double, 3>({count, moving, 3});
	for (size_t k = 0; k < count; ++k)
		mocpack_keysine_pose(head.view, keys.data() + k * l.channel_count, nullptr,
							 rotations.data() + 4 * k * joints, translations.data() + 3 * k * moving);
	return {rotations, translations};
}

// The coded part of a head.
nb::bytes keysine_encode_head(const Skeleton& skeleton, uint32_t mode, uint32_t fine_bits, uint32_t tempo,
							  float unit, uint32_t group_count, uint32_t groups_per_segment,
							  std::vector<uint8_t> errors, Array<int32_t, nb::shape<-1, PLAN_COLUMNS>> table,
							  std::vector<uint32_t> sizes, Predictors predictors,
							  Array<uint8_t, nb::ndim<2>> shifts, std::vector<uint8_t> grid_steps,
							  std::vector<uint8_t> initial_scales)
{
	size_t joints = skeleton.view.joint_count, layers = errors.size();
	if (table.shape(0) != joints || layers < 1 || layers > MOCPACK_KEYSINE_MOST_LAYERS ||
		shifts.shape(0) + 1 != layers || shifts.shape(1) > 2 * joints)
		throw nb::value_error("table or layers do not fit");
	mocpack_KeysineFields fields = {mode, uint32_t(layers), fine_bits,			tempo,
									unit, group_count,		groups_per_segment, uint32_t(predictors.shape(0)),
									{}};
	std::copy(errors.begin(), errors.end(), fields.errors);
	std::vector<int32_t> own(table.data(), table.data() + table.size());
	std::vector<int32_t> own_predictors(predictors.data(), predictors.data() + predictors.size());
	std::vector<uint8_t> own_shifts(2 * joints * layers); // at least as many as there are tracks
	std::copy(shifts.data(), shifts.data() + shifts.size(), own_shifts.begin());
	grid_steps.resize(grid_steps.empty() ? 0 : 2 * joints);
	initial_scales.resize(7 * joints);
	std::vector<uint8_t> dst(
		256 + 8 * (own.size() + sizes.size() + own_shifts.size() + 9 * joints + own_predictors.size()));
	Memory scratch = allocate(mocpack_keysine_head_scratch(joints, sizes.size(), predictors.shape(0)));
	size_t size = mocpack_keysine_encode_head(
		&fields, &skeleton.view, own.data(), sizes.data(), sizes.size(), own_predictors.data(),
		own_shifts.data(), grid_steps.empty() ? nullptr : grid_steps.data(), initial_scales.data(),
		dst.data(), dst.size(), start_of(scratch));
	if (!size)
		throw nb::value_error("unit, predictors, shifts, grid steps or initial scales are out of range");
	return nb::bytes(dst.data(), size);
}

// The groups of a payload of one layer as several: (layers, groups).
std::vector<Bytes> keysine_split(const OpenHead& head, nb::bytes segments, nb::bytes groups,
								 Array<uint8_t, nb::ndim<2>> shifts)
{
	const mocpack_KeysineLayout& l = head.layout;
	if (shifts.shape(1) != l.track_count)
		throw nb::value_error("shifts must be (layers - 1, tracks)");
	Parts parts(l, {groups}, 0, l.group_count);
	const uint8_t* key_src = static_cast<const uint8_t*>(segments.data());
	std::vector<int32_t> keys = decode_keys(head, key_src, segments.size(), 0, l.segment_count, 1);
	size_t count = shifts.shape(0) + 1;
	std::vector<Bytes> layers(count);
	std::vector<size_t> sizes(count);
	Memory scratch = allocate(mocpack_keysine_split_scratch(head.view));
	for (size_t i = 0; i < l.group_count; ++i)
	{
		std::vector<uint8_t> dst(2 * parts.sizes[i] + 4096 + 64 * count);
		check_status(mocpack_keysine_split(head.view, i, keys.data() + i * l.channel_count, parts.bytes[i],
										   parts.sizes[i], shifts.data(), count, dst.data(), dst.size(),
										   sizes.data(), start_of(scratch)),
					 ("keysine group " + std::to_string(i)).c_str());
		const uint8_t* at = dst.data();
		for (size_t layer = 0; layer < count; at += sizes[layer++])
			layers[layer].emplace_back(at, sizes[layer]);
	}
	return layers;
}

// Everything that a payload of one layer codes, for training: tracks (channels, first channel, parent,
// family), keys at the ends of groups, and of each group its keys, steps, coefficients, lengths and tempo.
nb::tuple keysine_symbols(const OpenHead& head, nb::bytes segments, nb::bytes groups)
{
	const mocpack_KeysineLayout& l = head.layout;
	const uint8_t* key_src = static_cast<const uint8_t*>(segments.data());
	std::vector<int32_t> keys = decode_keys(head, key_src, segments.size(), 0, l.segment_count, 1);
	auto edges = new_array<int32_t, 2>({l.group_count + 1, l.channel_count});
	std::copy(keys.begin(), keys.end(), edges.data());
	Parts parts(l, {groups}, 0, l.group_count);
	Memory scratch = allocate(mocpack_keysine_group_scratch(head.view));
	nb::list tracks, found;
	for (size_t t = 0; t < l.track_count; ++t)
	{
		int32_t row[5];
		mocpack_keysine_track(head.view, t, row);
		tracks.append(nb::make_tuple(row[0], row[1], row[2], row[3], row[4]));
	}
	for (size_t i = 0; i < l.group_count; ++i)
	{
		mocpack_KeysineGroup g = {};
		auto read = [&]
		{
			check_status(mocpack_keysine_group_symbols(head.view, i, keys.data() + i * l.channel_count,
													   parts.bytes[i], parts.sizes[i], &g, start_of(scratch)),
						 "a keysine group");
		};
		read();
		auto own = new_array<int32_t, 2>({g.blocks + 1, l.channel_count});
		auto steps = new_array<int32_t, 2>({l.track_count, g.blocks});
		auto values = new_array<int32_t, 3>({l.channel_count, g.blocks, g.longest});
		auto lengths = new_array<int32_t, 1>({g.blocks});
		g.keys = own.data(), g.steps = steps.data(), g.values = values.data(), g.lengths = lengths.data();
		read();
		found.append(nb::make_tuple(own, steps, values, lengths, g.tempo));
	}
	return nb::make_tuple(tracks, edges, found);
}

// The numbers of each group on a grid in time (frames - 1, channels, columns): train.h says which columns.
nb::list keysine_grid_numbers(const OpenHead& head, nb::bytes groups)
{
	const mocpack_KeysineLayout& l = head.layout;
	Parts parts(l, {groups}, 0, l.group_count);
	Memory scratch = allocate(2 * mocpack_keysine_group_scratch(head.view));
	nb::list found;
	for (size_t i = 0; i < l.group_count; ++i)
	{
		size_t frames = mocpack_keysine_key_frame(head.view, i + 1) - mocpack_keysine_key_frame(head.view, i);
		auto numbers =
			new_array<int32_t, 3>({frames - 1, l.channel_count, size_t(MOCPACK_KEYSINE_GRID_COLUMNS)});
		if (frames > 1)
			check_status(mocpack_keysine_grid_numbers(head.view, i, parts.bytes[i], parts.sizes[i],
													  numbers.data(), start_of(scratch)),
						 "a keysine group");
		found.append(numbers);
	}
	return found;
}

// The static tables by name, flat, for the decoder in Python.
nb::dict keysine_tables()
{
	nb::dict tables;
	mocpack_KeysineTable table;
	for (size_t i = 0; mocpack_keysine_trained(i, &table); ++i)
	{
		auto numbers = new_array<int32_t, 1>({table.size});
		for (size_t k = 0; k < table.size; ++k)
			numbers.data()[k] = table.starts ? int32_t(table.starts[k]) : table.weights[k];
		tables[table.name] = numbers;
	}
	return tables;
}

} // namespace

void register_keysine(nb::module_& m)
{
	m.attr("KEYSINE_PLAN_COLUMNS") = int(MOCPACK_KEYSINE_PLAN_COLUMNS);
	m.attr("KEYSINE_KEY_STEP") = MOCPACK_KEYSINE_KEY_STEP;
	m.attr("KEYSINE_MOST_UNIT") = MOCPACK_KEYSINE_MOST_UNIT;
	m.attr("KEYSINE_STEPS") = int(MOCPACK_KEYSINE_STEPS);
	m.attr("KEYSINE_UNIT_STEP") = int(MOCPACK_KEYSINE_UNIT_STEP);
	m.attr("KEYSINE_LONGEST_BLOCK") = int(MOCPACK_KEYSINE_LONGEST_BLOCK);
	m.attr("KEYSINE_LONGEST_GROUP") = int(MOCPACK_KEYSINE_LONGEST_GROUP);
	m.attr("KEYSINE_MOST_SPLITS") = int(MOCPACK_KEYSINE_MOST_SPLITS);
	m.attr("KEYSINE_MOST_LAYERS") = int(MOCPACK_KEYSINE_MOST_LAYERS);
	m.attr("KEYSINE_MOST_SHIFT") = int(MOCPACK_KEYSINE_MOST_SHIFT);
	m.attr("KEYSINE_MOST_GRID_CHANNELS") = int(MOCPACK_KEYSINE_MOST_GRID_CHANNELS);
	m.attr("KEYSINE_MOST_INITIAL_SCALE") = int(MOCPACK_KEYSINE_MOST_INITIAL_SCALE);
	nb::class_<Settings>(m, "KeysineSettings")
		.def(
			"__init__",
			[](Settings* self, nb::kwargs given)
			{
				new (self) Settings();
				set_all(self, given);
			},
			nb::sig("def __init__(self, **settings: float) -> None"))
		.def("as_dict", &all_settings, nb::sig("def as_dict(self) -> dict[str, float]"));
	m.def("keysine_peek", &keysine_peek, "head"_a, "frame_count"_a);
	nb::class_<OpenHead>(m, "KeysineHead")
		.def(nb::init<const Skeleton&, nb::bytes, size_t>(), "skeleton"_a, "data"_a, "frame_count"_a,
			 nb::keep_alive<1, 2>())
		.def_prop_ro("size", [](const OpenHead& h) { return h.layout.head_size; })
		.def_prop_ro("mode", [](const OpenHead& h) { return h.fields.mode; })
		.def_prop_ro("fine_bits", [](const OpenHead& h) { return h.fields.fine_bits; })
		.def_prop_ro("tempo", [](const OpenHead& h) { return h.fields.tempo; })
		.def_prop_ro("unit", [](const OpenHead& h) { return h.fields.unit; })
		.def_prop_ro("group_count", [](const OpenHead& h) { return h.layout.group_count; })
		.def_prop_ro("groups_per_segment", [](const OpenHead& h) { return h.layout.groups_per_segment; })
		.def_prop_ro("table", &OpenHead::table, nb::rv_policy::move)
		.def_prop_ro("shifts", &OpenHead::shifts, nb::rv_policy::move)
		.def_prop_ro("sizes", &OpenHead::sizes)
		.def_prop_ro("errors", &OpenHead::errors)
		.def_prop_ro("predictors", &OpenHead::predictors, nb::rv_policy::move)
		.def_prop_ro("grid_steps", &OpenHead::grid_steps)
		.def_prop_ro("initial_scales", &OpenHead::initial_scales);
	m.def("keysine_axes", &keysine_axes, "skeleton"_a, "table"_a, "unit"_a, "fine"_a);
	m.def("keysine_symbols", &keysine_symbols, "head"_a, "segments"_a, "groups"_a,
		  nb::sig("def keysine_symbols(head: KeysineHead, segments: bytes, groups: bytes) -> "
				  "tuple[object, object, object]"));
	m.def("keysine_grid_numbers", &keysine_grid_numbers, "head"_a, "groups"_a,
		  nb::sig("def keysine_grid_numbers(head: KeysineHead, groups: bytes) -> list[object]"));
	m.def("keysine_tables", &keysine_tables, nb::sig("def keysine_tables() -> dict[str, list[int]]"));
	m.def("keysine_encode_head", &keysine_encode_head, "skeleton"_a, "mode"_a, "fine_bits"_a, "tempo"_a,
		  "unit"_a, "group_count"_a, "groups_per_segment"_a, "errors"_a, "table"_a, "sizes"_a, "predictors"_a,
		  "shifts"_a, "grid_steps"_a, "initial_scales"_a);
	m.def("keysine_split", &keysine_split, "head"_a, "segments"_a, "groups"_a, "shifts"_a);
	m.def("keysine_encode", &keysine_encode, "skeleton"_a, "rotations"_a, "translations"_a, "angles"_a,
		  "table"_a, "unit"_a, "fine"_a, "tempo"_a, "group_count"_a, "groups_per_segment"_a,
		  "first_frame_alone"_a, "splits"_a, "settings"_a, "threads"_a, "predictors"_a,
		  "grid_steps"_a.none() = nb::none(), "shares"_a.none() = nb::none(),
		  "progress"_a.none() = nb::none());
	m.def("keysine_watch", &keysine_watch, "skeleton"_a, "rotations"_a, "translations"_a, "angles"_a,
		  "table"_a, "unit"_a, "fine"_a, "tempo"_a, "group_count"_a, "groups_per_segment"_a,
		  "first_frame_alone"_a, "splits"_a, "settings"_a, "threads"_a, "predictors"_a);
	m.def("keysine_decode", &keysine_decode, "head"_a, "segments"_a, "layers"_a, "first"_a, "count"_a,
		  "threads"_a, "joints"_a.none() = nb::none(), "shifts"_a.none() = nb::none(),
		  "frames"_a.none() = nb::none());
	nb::class_<Windowed>(m, "KeysineWindows")
		.def(nb::init<const OpenHead&, nb::callable>(), "head"_a, "read"_a, nb::keep_alive<1, 2>(),
			 nb::sig("def __init__(self, head: KeysineHead, read: "
					 "collections.abc.Callable[[int, int], bytes]) -> None"))
		.def("write", &Windowed::write, "plan"_a, "start"_a, "stop"_a, "out"_a);
	m.def("keysine_poses", &keysine_poses, "head"_a, "segments"_a);
}
