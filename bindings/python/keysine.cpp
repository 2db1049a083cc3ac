// keysine: clips in, the parts of a payload out, and back; groups on as many threads as asked.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "mocpack/core.h"
#include "skeleton.h"

namespace
{

const size_t PLAN_COLUMNS = 13;
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
template <typename Work> void in_threads(size_t count, size_t threads, size_t scratch_size, Work work)
{
	std::atomic<size_t> next{0};
	auto run = [&]
	{
		Memory scratch = allocate(scratch_size);
		for (size_t i = next++; i < count; i = next++)
			work(i, start_of(scratch));
	};
	std::vector<std::thread> others;
	for (size_t k = 1; k < std::min(threads, count); ++k)
		others.emplace_back(run);
	run();
	for (std::thread& thread : others)
		thread.join();
}

struct Settings
{
	double unit, fine, basis_grid, bound, inner, shrink, shell, key_share;
	int32_t model, tempo;
	float over, square, linear, rounding, calm, calm_from;
	size_t lead;
	int32_t sweeps, repairs, coarsest, finest, greedy;
	int32_t thorough, grid_ways;
	double grid_price;
};

using Bytes = std::vector<nb::bytes>;
using Encoded = std::tuple<NewArray<int32_t, 2>, std::vector<uint8_t>, Bytes, Bytes>;

const uint8_t UNTOLD = 18; // half octaves of 1/256: two steps
const uint8_t MOST_TOLD = 55;
const size_t FORETELLING_GROUPS = 24; // looked at to know how far prediction is off

// What to tell the series of a grid in time: how far prediction is off, by channel, in half octaves of 1/256.
// Empty where a group fails.
std::vector<uint8_t> foretold(const mocpack_KeysineEncoder* encoder, const std::vector<int32_t>& keys,
							  size_t group_count, size_t threads)
{
	size_t channels = mocpack_keysine_channel_count(encoder);
	size_t count = std::min(group_count, FORETELLING_GROUPS);
	std::vector<std::vector<double>> errors(count, std::vector<double>(channels));
	std::atomic<bool> good{true};
	in_threads(count, threads, mocpack_keysine_group_encode_scratch(encoder),
			   [&](size_t i, void* scratch)
			   {
				   size_t group = i * group_count / count;
				   if (!mocpack_keysine_grid_errors(encoder, group, keys.data() + group * channels,
													errors[i].data(), scratch))
					   good = false;
			   });
	std::vector<uint8_t> told;
	for (size_t c = 0; good && c < channels; ++c)
	{
		double sum = 0;
		for (const std::vector<double>& own : errors)
			sum += own[c];
		double octaves = std::log2(std::max(sum / double(std::max<size_t>(count, 1)), 1.0));
		told.push_back(uint8_t(std::min(std::floor(2 * octaves + 0.5), double(MOST_TOLD))));
	}
	return told;
}

// (table with key steps, what the series of a grid is told, segments, groups); None where no key step keeps
// the bound or a group fails. With `grid_steps` (tracks) the groups are a grid in time.
std::optional<Encoded> keysine_encode(const Skeleton& skeleton, Rotations rotations,
									  Translations translations, Array<int32_t, nb::shape<-1, 13>> table,
									  Array<float, nb::shape<16, 8, 8, 40>> rates, size_t block_count,
									  size_t blocks_per_group, size_t groups_per_segment, const Settings& s,
									  size_t threads, const std::optional<std::vector<uint8_t>>& grid_steps,
									  const std::optional<std::vector<double>>& shares)
{
	skeleton.check_motion(rotations, translations);
	size_t frames = rotations.shape(0), joints = skeleton.view.joint_count;
	if (table.shape(0) != joints || (shares && shares->size() != joints) || !blocks_per_group ||
		!groups_per_segment || block_count >= frames || (frames > 1) != (block_count > 0))
		throw nb::value_error("table, blocks and groups do not fit the clip");
	auto refined = new_array<int32_t, 2>({joints, PLAN_COLUMNS});
	std::copy(table.data(), table.data() + joints * PLAN_COLUMNS, refined.data());
	mocpack_KeysineJob job = {&skeleton.view,
							  rotations.data(),
							  translations.data(),
							  frames,
							  block_count,
							  blocks_per_group,
							  s.lead,
							  refined.data(),
							  s.unit,
							  s.fine,
							  s.basis_grid,
							  s.bound,
							  s.inner,
							  s.shrink,
							  s.shell,
							  s.key_share,
							  shares ? shares->data() : nullptr,
							  s.model,
							  s.tempo,
							  rates.data(),
							  {s.over, s.square, s.linear, s.rounding, s.calm, s.calm_from, s.sweeps,
							   s.repairs, s.coarsest, s.finest, s.greedy},
							  grid_steps ? grid_steps->data() : nullptr,
							  nullptr,
							  s.thorough,
							  s.grid_ways > 0 ? s.grid_ways : 1,
							  s.grid_price};
	size_t group_count = (block_count + blocks_per_group - 1) / blocks_per_group;
	size_t segment_count = group_count ? (group_count + groups_per_segment - 1) / groups_per_segment : 1;
	std::vector<std::vector<uint8_t>> segments(segment_count), groups(group_count);
	std::vector<uint8_t> told(grid_steps ? 7 * joints : 0, UNTOLD);
	job.told = told.data();
	std::atomic<bool> good{true};
	{
		nb::gil_scoped_release release;
		Memory memory = allocate(mocpack_keysine_encoder_size(&job));
		mocpack_KeysineEncoder* encoder = mocpack_keysine_prepare(&job, start_of(memory));
		good = encoder && (!grid_steps || grid_steps->size() == mocpack_keysine_track_count(encoder));
		size_t channels = good ? mocpack_keysine_channel_count(encoder) : 0;
		std::vector<int32_t> keys(channels * (block_count + 1));
		if (good)
		{
			Memory scratch = allocate(mocpack_keysine_keys_scratch(encoder));
			good = mocpack_keysine_encode_keys(encoder, keys.data(), start_of(scratch)) == MOCPACK_OK;
		}
		size_t segment_blocks = blocks_per_group * groups_per_segment;
		if (good)
			in_threads(segment_count, threads, mocpack_keysine_segment_encode_scratch(encoder),
					   [&](size_t i, void* scratch)
					   {
						   size_t first = i * segment_blocks;
						   size_t count = std::min(segment_blocks, block_count - first) + 1;
						   std::vector<uint8_t> dst(64 + 12 * channels * count);
						   std::vector<int32_t> own(keys.begin() + long(first * channels),
													keys.begin() + long((first + count) * channels));
						   dst.resize(mocpack_keysine_encode_segment(encoder, own.data(), count, dst.data(),
																	 dst.size(), scratch));
						   if (dst.empty())
							   good = false; // and never true again, whatever other threads find
						   segments[i] = dst;
					   });
		if (good && grid_steps && group_count)
		{
			std::vector<uint8_t> found = foretold(encoder, keys, group_count, threads);
			good = found.size() == channels;
			std::copy(found.begin(), found.end(), told.begin());
		}
		told.resize(grid_steps ? channels : 0);
		if (good)
			in_threads(group_count, threads, mocpack_keysine_group_encode_scratch(encoder),
					   [&](size_t i, void* scratch)
					   {
						   size_t first = i * blocks_per_group;
						   size_t longest = (frames - 1) / (block_count - s.lead) + 1;
						   std::vector<uint8_t> dst(256 +
													12 * (channels + 1) * blocks_per_group * (longest + 8));
						   dst.resize(mocpack_keysine_encode_group(encoder, i, keys.data() + first * channels,
																   dst.data(), dst.size(), scratch));
						   if (dst.empty())
							   good = false; // and never true again, whatever other threads find
						   groups[i] = dst;
					   });
	}
	if (!good)
		return std::nullopt;
	Bytes segment_bytes, group_bytes;
	for (const auto& part : segments)
		segment_bytes.emplace_back(part.data(), part.size());
	for (const auto& part : groups)
		group_bytes.emplace_back(part.data(), part.size());
	return Encoded(refined, told, segment_bytes, group_bytes);
}

// Means (J, 4) and axes (J, 3, 3), transposed, of the joints whose rotations are vectors; zero for others.
std::tuple<NewArray<double, 2>, NewArray<double, 3>> keysine_axes(const Skeleton& skeleton,
																  Array<int32_t, nb::shape<-1, 13>> table,
																  double unit, double fine, double basis_grid)
{
	size_t joints = skeleton.view.joint_count;
	if (table.shape(0) != joints)
		throw nb::value_error("table does not fit");
	auto means = new_array<double, 2>({joints, 4});
	auto axes = new_array<double, 3>({joints, 3, 3});
	std::fill(means.data(), means.data() + means.size(), 0.0);
	std::fill(axes.data(), axes.data() + axes.size(), 0.0);
	Memory scratch = allocate(mocpack_keysine_axes_scratch(joints));
	if (!mocpack_keysine_axes(&skeleton.view, table.data(), unit, fine, basis_grid, means.data(), axes.data(),
							  start_of(scratch)))
		throw nb::value_error("a table that cannot be");
	return {means, axes};
}

// Owns a parsed head.
struct Head
{
	const Skeleton& skeleton;
	Memory memory;
	mocpack_KeysineHead* view = nullptr;
	mocpack_KeysineLayout layout{};

	Head(const Skeleton& skeleton_, nb::bytes data, size_t frames) : skeleton(skeleton_)
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		memory = allocate(mocpack_keysine_head_memory(src, data.size(), skeleton.view.joint_count, frames));
		check_status(mocpack_keysine_open(src, data.size(), &skeleton.view, frames, start_of(memory), &view),
					 "the head of a keysine payload");
		layout = mocpack_keysine_layout(view);
	}
};

size_t sum_of(const uint32_t* sizes, size_t count)
{
	size_t sum = 0;
	for (size_t i = 0; i < count; ++i)
		sum += sizes[i];
	return sum;
}

// Keys of `count` segments from `first` on, one after another: each segment's last is the next one's first.
std::vector<int32_t> decode_keys(const Head& head, const uint8_t* src, size_t size, size_t first,
								 size_t count, size_t threads)
{
	const mocpack_KeysineLayout& l = head.layout;
	size_t blocks = l.blocks_per_group * l.groups_per_segment;
	size_t start = first * blocks, stop = std::min(l.block_count, (first + count) * blocks);
	if (size < sum_of(l.sizes + first, count))
		check_status(MOCPACK_TRUNCATED, "keysine key segments");
	std::vector<int32_t> keys((stop - start + 1) * l.channel_count);
	std::vector<size_t> offsets(count, 0);
	for (size_t i = 1; i < count; ++i)
		offsets[i] = offsets[i - 1] + l.sizes[first + i - 1];
	std::atomic<int> status{MOCPACK_OK};
	in_threads(count, threads, mocpack_keysine_segment_scratch(head.view),
			   [&](size_t i, void* scratch)
			   {
				   size_t from = i * blocks, own = std::min(blocks, stop - start - from) + 1;
				   std::vector<int32_t> part(own * l.channel_count);
				   int found = mocpack_keysine_decode_segment(head.view, own, src + offsets[i],
															  l.sizes[first + i], part.data(), scratch);
				   if (found != MOCPACK_OK)
					   status = found;
				   // the last key is the next segment's to write, where there is one
				   size_t kept = i + 1 < count ? own - 1 : own;
				   std::copy(part.begin(), part.begin() + long(kept * l.channel_count),
							 keys.begin() + long(from * l.channel_count));
			   });
	check_status(status, "a keysine key segment");
	return keys;
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

using Motion = std::tuple<NewArray<double, 3>, NewArray<double, 3>>;

// Rotations and translations of groups first … first + count - 1, their last key included, from as many
// layers as there are (none: what the keys alone give); of `joints` alone, where they are named.
Motion keysine_decode(const Skeleton& skeleton, nb::bytes head_bytes, size_t frame_count, nb::bytes segments,
					  const std::vector<nb::bytes>& layers, size_t first, size_t count, size_t threads,
					  const std::optional<std::vector<int32_t>>& wanted,
					  const std::optional<std::vector<uint8_t>>& shifts)
{
	Head head(skeleton, head_bytes, frame_count);
	const mocpack_KeysineLayout& l = head.layout;
	if (first + count > l.group_count || (!count && l.group_count) || layers.size() > l.layer_count)
		throw nb::value_error("no such groups");
	size_t first_segment = first / l.groups_per_segment;
	size_t segment_count = count ? (first + count - 1) / l.groups_per_segment - first_segment + 1 : 1;
	if (shifts && (shifts->size() != l.track_count || l.layer_count != 1 || layers.size() != 1 || wanted))
		throw nb::value_error("shifts are for all tracks of one layer");
	Parts parts(l, layers, first, count);
	size_t first_block = first * l.blocks_per_group;
	size_t last_block = std::min(l.block_count, (first + count) * l.blocks_per_group);
	size_t start = mocpack_keysine_key_frame(head.view, first_block);
	size_t frames = mocpack_keysine_key_frame(head.view, last_block) - start + 1;
	Columns columns(skeleton.view, wanted);
	size_t joints = columns.view.rotation_count, moving = columns.view.translation_count;
	std::atomic<int> status{MOCPACK_OK};
	const uint8_t* key_src = static_cast<const uint8_t*>(segments.data());
	size_t key_size = segments.size();
	std::vector<int32_t> keys = decode_keys(head, key_src, key_size, first_segment, segment_count, threads);
	const int32_t* own_keys =
		keys.data() +
		(first_block - first_segment * l.groups_per_segment * l.blocks_per_group) * l.channel_count;
	auto rotations = new_array<double, 3>({frames, joints, 4});
	auto translations = new_array<double, 3>({frames, moving, 3});
	{
		nb::gil_scoped_release release;
		double *turn = rotations.data(), *place = translations.data();
		in_threads(count, threads, mocpack_keysine_group_scratch(head.view),
				   [&](size_t i, void* scratch)
				   {
					   size_t block = i * l.blocks_per_group;
					   size_t frame = mocpack_keysine_key_frame(head.view, first_block + block) - start;
					   const int32_t* key = own_keys + block * l.channel_count;
					   const uint8_t* const* bytes = parts.bytes.data() + i * layers.size();
					   const size_t* sizes = parts.sizes.data() + i * layers.size();
					   double *turns = turn + 4 * frame * joints, *places = place + 3 * frame * moving;
					   int found = shifts ? mocpack_keysine_decode_coarse(head.view, first + i, key, bytes[0],
																		  sizes[0], shifts->data(), turns,
																		  places, scratch)
										  : mocpack_keysine_decode_group(head.view, first + i, key, bytes,
																		 sizes, layers.size(), &columns.view,
																		 turns, places, scratch);
					   if (found != MOCPACK_OK)
						   status = found;
				   });
		mocpack_keysine_pose(head.view, own_keys + (last_block - first_block) * l.channel_count,
							 &columns.view, turn + 4 * (frames - 1) * joints,
							 place + 3 * (frames - 1) * moving);
	}
	check_status(status, "a keysine group");
	return {rotations, translations};
}

// Rotations and translations of the keys alone of all segments.
Motion keysine_poses(const Skeleton& skeleton, nb::bytes head_bytes, size_t frame_count, nb::bytes segments)
{
	Head head(skeleton, head_bytes, frame_count);
	const mocpack_KeysineLayout& l = head.layout;
	const uint8_t* src = static_cast<const uint8_t*>(segments.data());
	std::vector<int32_t> keys = decode_keys(head, src, segments.size(), 0, l.segment_count, 1);
	size_t count = l.block_count + 1, joints = skeleton.view.joint_count,
		   moving = skeleton.view.translated_count;
	auto rotations = new_array<double, 3>({count, joints, 4});
	auto translations = new_array<double, 3>({count, moving, 3});
	for (size_t k = 0; k < count; ++k)
		mocpack_keysine_pose(head.view, keys.data() + k * l.channel_count, nullptr,
							 rotations.data() + 4 * k * joints, translations.data() + 3 * k * moving);
	return {rotations, translations};
}

// The coded part of a head.
nb::bytes keysine_encode_head(int32_t model, const Skeleton& skeleton,
							  Array<int32_t, nb::shape<-1, 13>> table, std::vector<uint32_t> sizes,
							  size_t segment_count, Array<uint8_t, nb::ndim<2>> shifts,
							  std::vector<uint8_t> grid_steps, std::vector<uint8_t> told)
{
	if (table.shape(0) != skeleton.view.joint_count || segment_count > sizes.size())
		throw nb::value_error("table or sizes do not fit");
	std::vector<int32_t> own(table.data(), table.data() + table.size());
	std::vector<uint8_t> own_shifts(shifts.data(), shifts.data() + shifts.size());
	std::vector<uint8_t> dst(
		64 + 8 * (own.size() + sizes.size() + shifts.size() + grid_steps.size() + told.size()));
	Memory scratch = allocate(mocpack_keysine_models_size());
	size_t size = mocpack_keysine_encode_head(
		model, &skeleton.view, own.data(), sizes.data(), segment_count, sizes.size() - segment_count,
		own_shifts.data(), shifts.shape(0), grid_steps.empty() ? shifts.shape(1) : grid_steps.size(),
		grid_steps.empty() ? nullptr : grid_steps.data(), told.data(), told.size(), dst.data(), dst.size(),
		start_of(scratch));
	if (!size)
		throw nb::value_error("a head that cannot be");
	return nb::bytes(dst.data(), size);
}

// Plan, sizes, shifts, and of a grid in time its steps and what its series is told, of a payload's head.
std::tuple<NewArray<int32_t, 2>, std::vector<uint32_t>, NewArray<uint8_t, 2>, std::vector<uint8_t>,
		   std::vector<uint8_t>>
keysine_read_head(const Skeleton& skeleton, nb::bytes head_bytes, size_t frame_count)
{
	Head head(skeleton, head_bytes, frame_count);
	const mocpack_KeysineLayout& l = head.layout;
	auto table = new_array<int32_t, 2>({skeleton.view.joint_count, PLAN_COLUMNS});
	const int32_t* found = mocpack_keysine_table(head.view);
	std::copy(found, found + table.size(), table.data());
	auto shifts = new_array<uint8_t, 2>({l.layer_count - 1, l.track_count});
	std::copy(l.shifts, l.shifts + shifts.size(), shifts.data());
	size_t parts = l.segment_count + l.layer_count * l.group_count;
	const uint8_t* steps = mocpack_keysine_grid_steps(head.view);
	const uint8_t* told = mocpack_keysine_told(head.view);
	return {table, std::vector<uint32_t>(l.sizes, l.sizes + parts), shifts,
			std::vector<uint8_t>(steps, steps ? steps + l.track_count : steps),
			std::vector<uint8_t>(told, told ? told + l.channel_count : told)};
}

// The groups of a payload of one layer as several: (layers, groups).
std::vector<Bytes> keysine_split(const Skeleton& skeleton, nb::bytes head_bytes, size_t frame_count,
								 nb::bytes groups, Array<uint8_t, nb::ndim<2>> shifts)
{
	Head head(skeleton, head_bytes, frame_count);
	const mocpack_KeysineLayout& l = head.layout;
	if (shifts.shape(1) != l.track_count)
		throw nb::value_error("shifts must be (layers - 1, tracks)");
	Parts parts(l, {groups}, 0, l.group_count);
	size_t count = shifts.shape(0) + 1;
	std::vector<Bytes> layers(count);
	std::vector<size_t> sizes(count);
	Memory scratch = allocate(mocpack_keysine_split_scratch(head.view));
	for (size_t i = 0; i < l.group_count; ++i)
	{
		std::vector<uint8_t> dst(2 * parts.sizes[i] + 4096 + 64 * count);
		check_status(mocpack_keysine_split(head.view, i, parts.bytes[i], parts.sizes[i], shifts.data(), count,
										   dst.data(), dst.size(), sizes.data(), start_of(scratch)),
					 "a keysine group");
		const uint8_t* at = dst.data();
		for (size_t layer = 0; layer < count; at += sizes[layer++])
			layers[layer].emplace_back(at, sizes[layer]);
	}
	return layers;
}

// States, weights and single states of the models as they start, for the decoder in Python.
using Start = std::tuple<NewArray<uint32_t, 1>, NewArray<int32_t, 1>, NewArray<uint32_t, 1>>;

Start keysine_start(int32_t model)
{
	size_t counts[3];
	mocpack_keysine_model_counts(counts);
	auto states = new_array<uint32_t, 1>({counts[0]});
	auto weights = new_array<int32_t, 1>({counts[1]});
	auto singles = new_array<uint32_t, 1>({counts[2]});
	Memory scratch = allocate(mocpack_keysine_models_size());
	mocpack_keysine_model_start(model, states.data(), weights.data(), singles.data(), start_of(scratch));
	return {states, weights, singles};
}

// Lets `models` (as keysine_models gives them) follow a payload; returns bits of keys and of groups. With
// `fresh`, each segment and group starts from a copy instead, and `models` stays as it is.
std::tuple<double, double> keysine_learn(const Skeleton& skeleton, nb::bytes head_bytes, size_t frame_count,
										 nb::bytes segments, nb::bytes groups,
										 MutableArray<uint8_t, nb::ndim<1>> models,
										 MutableArray<double, nb::ndim<1>> counts, int32_t count_limit,
										 bool fresh)
{
	Head head(skeleton, head_bytes, frame_count);
	const mocpack_KeysineLayout& l = head.layout;
	size_t size = mocpack_keysine_models_size();
	if (models.size() != size || counts.size() != 16 * 8 * 8 * 40)
		throw nb::value_error("models or counts of the wrong size");
	std::vector<uint32_t> own((size + 3) / 4);
	auto start = [&]() -> void*
	{
		if (!fresh)
			return models.data();
		std::copy(models.data(), models.data() + size, reinterpret_cast<uint8_t*>(own.data()));
		return own.data();
	};
	const uint8_t* key_src = static_cast<const uint8_t*>(segments.data());
	const uint8_t* src = static_cast<const uint8_t*>(groups.data());
	std::vector<int32_t> keys = decode_keys(head, key_src, segments.size(), 0, l.segment_count, 1);
	Memory scratch =
		allocate(mocpack_keysine_group_scratch(head.view) + mocpack_keysine_segment_scratch(head.view));
	size_t blocks = l.blocks_per_group * l.groups_per_segment;
	double key_bits = mocpack_keysine_learn_head(head.view, start()), group_bits = 0;
	for (size_t i = 0; i < l.segment_count; ++i)
		key_bits += mocpack_keysine_learn_segment(head.view, keys.data() + i * blocks * l.channel_count,
												  std::min(blocks, l.block_count - i * blocks) + 1, start(),
												  count_limit, start_of(scratch));
	for (size_t i = 0; i < l.group_count; ++i)
	{
		uint32_t bytes = l.sizes[l.segment_count + i];
		group_bits += mocpack_keysine_learn_group(head.view, i, src, bytes, start(), count_limit,
												  counts.data(), start_of(scratch));
		src += bytes;
	}
	return {key_bits, group_bits};
}

NewArray<uint8_t, 1> keysine_models(int32_t model)
{
	auto models = new_array<uint8_t, 1>({mocpack_keysine_models_size()});
	mocpack_keysine_models_start(model, models.data());
	return models;
}

} // namespace

void register_keysine(nb::module_& m)
{
	nb::class_<Settings>(m, "KeysineSettings")
		.def(nb::init<>())
		.def_rw("unit", &Settings::unit)
		.def_rw("fine", &Settings::fine)
		.def_rw("basis_grid", &Settings::basis_grid)
		.def_rw("bound", &Settings::bound)
		.def_rw("inner", &Settings::inner)
		.def_rw("shrink", &Settings::shrink)
		.def_rw("shell", &Settings::shell)
		.def_rw("key_share", &Settings::key_share)
		.def_rw("lead", &Settings::lead)
		.def_rw("model", &Settings::model)
		.def_rw("tempo", &Settings::tempo)
		.def_rw("over", &Settings::over)
		.def_rw("square", &Settings::square)
		.def_rw("linear", &Settings::linear)
		.def_rw("rounding", &Settings::rounding)
		.def_rw("calm", &Settings::calm)
		.def_rw("calm_from", &Settings::calm_from)
		.def_rw("sweeps", &Settings::sweeps)
		.def_rw("repairs", &Settings::repairs)
		.def_rw("coarsest", &Settings::coarsest)
		.def_rw("finest", &Settings::finest)
		.def_rw("greedy", &Settings::greedy)
		.def_rw("thorough", &Settings::thorough)
		.def_rw("grid_ways", &Settings::grid_ways)
		.def_rw("grid_price", &Settings::grid_price);
	m.def("keysine_axes", &keysine_axes, "skeleton"_a, "table"_a, "unit"_a, "fine"_a, "basis_grid"_a);
	m.def("keysine_models", &keysine_models, "model"_a);
	m.def("keysine_learn", &keysine_learn, "skeleton"_a, "head"_a, "frame_count"_a, "segments"_a, "groups"_a,
		  "models"_a, "counts"_a, "count_limit"_a, "fresh"_a);
	m.def("keysine_encode_head", &keysine_encode_head, "model"_a, "skeleton"_a, "table"_a, "sizes"_a,
		  "segment_count"_a, "shifts"_a, "grid_steps"_a, "told"_a);
	m.def("keysine_split", &keysine_split, "skeleton"_a, "head"_a, "frame_count"_a, "groups"_a, "shifts"_a);
	m.def("keysine_read_head", &keysine_read_head, "skeleton"_a, "head"_a, "frame_count"_a);
	m.def("keysine_start", &keysine_start, "model"_a);
	m.def("keysine_encode", &keysine_encode, "skeleton"_a, "rotations"_a, "translations"_a, "table"_a,
		  "rates"_a, "block_count"_a, "blocks_per_group"_a, "groups_per_segment"_a, "settings"_a, "threads"_a,
		  "grid_steps"_a.none() = nb::none(), "shares"_a.none() = nb::none());
	m.def("keysine_decode", &keysine_decode, "skeleton"_a, "head"_a, "frame_count"_a, "segments"_a,
		  "layers"_a, "first"_a, "count"_a, "threads"_a, "joints"_a.none() = nb::none(),
		  "shifts"_a.none() = nb::none());
	m.def("keysine_poses", &keysine_poses, "skeleton"_a, "head"_a, "frame_count"_a, "segments"_a);
}
