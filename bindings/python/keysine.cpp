// keysine's encoder: clips in, the parts of a payload out; groups on as many threads as asked.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
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

#include "keysine.h"
#include "keysine/encode/encode.h"
#include "keysine/train/train.h"

namespace
{

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
	for (const auto& [name, value] : given)
	{
		const auto known = [&](const Setting& one) { return nb::cast<std::string>(name) == one.name; };
		if (std::none_of(std::begin(SETTINGS), std::end(SETTINGS), known))
			throw nb::type_error(("KeysineSettings have no setting " + nb::cast<std::string>(name)).c_str());
	}
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
		const double most = MOCPACK_KEYSINE_MAX_INITIAL_SCALE;
		scales.push_back(uint8_t(std::min(std::floor(2 * octaves + 0.5), most)));
	}
	return scales;
}

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
		task.splits < 0 || task.splits > MOCPACK_KEYSINE_MAX_SPLITS || settings.beam_width < 1)
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
		Room memory = allocate(mocpack_keysine_encoder_size(&job));
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
			Room scratch = allocate(mocpack_keysine_keys_scratch(encoder));
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
	Room scratch = allocate(mocpack_keysine_axes_scratch(joints));
	mocpack_Fault fault = {};
	if (!mocpack_keysine_axes(&skeleton.view, table.data(), unit, fine, means.data(), axes.data(),
							  start_of(scratch), &fault))
		throw nb::value_error(described(fault).c_str());
	return {means, axes};
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
	if (table.shape(0) != joints || layers < 1 || layers > MOCPACK_KEYSINE_MAX_LAYERS ||
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
	Room scratch = allocate(mocpack_keysine_head_scratch_size(joints, sizes.size(), predictors.shape(0)));
	size_t size = mocpack_keysine_encode_head(
		&fields, &skeleton.view, own.data(), sizes.data(), sizes.size(), own_predictors.data(),
		own_shifts.data(), grid_steps.empty() ? nullptr : grid_steps.data(), initial_scales.data(),
		dst.data(), dst.size(), start_of(scratch));
	if (!size)
		throw nb::value_error("unit, predictors, shifts, grid steps or initial scales are out of range");
	return nb::bytes(dst.data(), size);
}

} // namespace

void register_keysine(nb::module_& m)
{
	m.attr("KEYSINE_PLAN_COLUMNS") = int(MOCPACK_KEYSINE_PLAN_COLUMNS);
	m.attr("KEYSINE_KEY_STEP") = MOCPACK_KEYSINE_KEY_STEP;
	m.attr("KEYSINE_MOST_UNIT") = MOCPACK_KEYSINE_MAX_UNIT;
	m.attr("KEYSINE_STEPS") = int(MOCPACK_KEYSINE_STEPS);
	m.attr("KEYSINE_UNIT_STEP") = int(MOCPACK_KEYSINE_UNIT_STEP);
	m.attr("KEYSINE_LONGEST_BLOCK") = int(MOCPACK_KEYSINE_MAX_BLOCK_FRAMES);
	m.attr("KEYSINE_LONGEST_GROUP") = int(MOCPACK_KEYSINE_MAX_GROUP_FRAMES);
	m.attr("KEYSINE_MOST_SPLITS") = int(MOCPACK_KEYSINE_MAX_SPLITS);
	m.attr("KEYSINE_MOST_LAYERS") = int(MOCPACK_KEYSINE_MAX_LAYERS);
	m.attr("KEYSINE_MOST_SHIFT") = int(MOCPACK_KEYSINE_MAX_SHIFT);
	m.attr("KEYSINE_MOST_GRID_CHANNELS") = int(MOCPACK_KEYSINE_MAX_GRID_CHANNELS);
	m.attr("KEYSINE_MOST_INITIAL_SCALE") = int(MOCPACK_KEYSINE_MAX_INITIAL_SCALE);
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
	m.def("keysine_axes", &keysine_axes, "skeleton"_a, "table"_a, "unit"_a, "fine"_a);
	m.def("keysine_encode_head", &keysine_encode_head, "skeleton"_a, "mode"_a, "fine_bits"_a, "tempo"_a,
		  "unit"_a, "group_count"_a, "groups_per_segment"_a, "errors"_a, "table"_a, "sizes"_a, "predictors"_a,
		  "shifts"_a, "grid_steps"_a, "initial_scales"_a);
	m.def("keysine_encode", &keysine_encode, "skeleton"_a, "rotations"_a, "translations"_a, "angles"_a,
		  "table"_a, "unit"_a, "fine"_a, "tempo"_a, "group_count"_a, "groups_per_segment"_a,
		  "first_frame_alone"_a, "splits"_a, "settings"_a, "threads"_a, "predictors"_a,
		  "grid_steps"_a.none() = nb::none(), "shares"_a.none() = nb::none(),
		  "progress"_a.none() = nb::none());
	m.def("keysine_watch", &keysine_watch, "skeleton"_a, "rotations"_a, "translations"_a, "angles"_a,
		  "table"_a, "unit"_a, "fine"_a, "tempo"_a, "group_count"_a, "groups_per_segment"_a,
		  "first_frame_alone"_a, "splits"_a, "settings"_a, "threads"_a, "predictors"_a);
}
