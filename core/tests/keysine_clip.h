// A small animated skeleton and its `keysine` payload, for tests.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/crc16.h"
#include "common/skeleton.h"
#include "keysine/decode/decode.h"
#include "keysine/encode/encoder.h"
#include "keysine/encode/head_writer.h"

namespace
{

using Bytes = std::vector<uint8_t>;

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

const mocpack_Allocator MALLOC = {nullptr, [](void*, size_t size) { return std::malloc(size); },
								  [](void*, void* memory, size_t) { std::free(memory); }};

// Memory of the exact size, so that the sanitizer detects overruns.
struct Memory
{
	void* at;

	explicit Memory(size_t size) : at(aligned_alloc(64, (size + 63) / 64 * 64))
	{
	}
	~Memory()
	{
		free(at);
	}
	Memory(const Memory&) = delete;
	Memory& operator=(const Memory&) = delete;
};

const size_t JOINTS = 4, FRAMES = 150, GROUPS = 5, PER_SEGMENT = 2, COLUMNS = MOCPACK_KEYSINE_PLAN_COLUMNS;
const int32_t SPLITS = 2;
const double BOUND = 0.005;
const float UNIT = 0.0048828125f;
const int32_t TEMPO = 32;

// A skeleton with an arm of two bones, one end site, and a leg that does not move.
struct Body
{
	int32_t parents[JOINTS] = {-1, 0, 1, 0}, ends[1] = {2}, translated[1] = {0};
	double offsets[3 * JOINTS] = {0, 0, 0, 0.1, 0.4, 0, 0.3, 0, 0, 0, -0.5, 0}, sites[3] = {0.25, 0, 0};
	std::vector<double> rotations, translations;
	std::vector<int32_t> table;
	uint32_t mode = 0;
	// the arm's second bone after its first, and after the root: all frequencies, and slow ones
	std::vector<int32_t> predictors = {7, 3, 0, 5, 10, 2, 1, -3, 10, 7, 0, 9};
	Bytes grid_steps, initial_scales;
	mocpack_Skeleton skeleton;
	mocpack::keysine::Job job;

	Body() : rotations(4 * JOINTS * FRAMES), translations(3 * FRAMES), table(COLUMNS * JOINTS)
	{
		skeleton = {JOINTS, parents, offsets, 1, ends, sites, 1, translated};
		for (size_t t = 0; t < FRAMES; ++t)
			pose(t);
		for (size_t j = 0; j < JOINTS; ++j)
		{
			table[COLUMNS * j] = j == 3 ? 0 : j == 0 ? 3 : 2;
			table[COLUMNS * j + 1] = j == 0 ? 2 : 0;
			table[COLUMNS * j + 8] = table[COLUMNS * j + 12] = 8;
		}
		job = mocpack::keysine::Job();
		job.skeleton = &skeleton;
		job.motion = {rotations.data(), translations.data(), nullptr, FRAMES};
		job.group_count = GROUPS, job.splits = SPLITS;
		job.predictors = predictors.data(), job.predictor_count = predictors.size() / 4;
		job.table = table.data(), job.unit = double(UNIT), job.fine = 1.0 / 1048576;
		mocpack::keysine::SearchSettings& s = job.settings;
		s.bound = BOUND, s.origin_share = 1.0, s.max_origin_share = 0.95, s.origin_falloff = 0.2,
		s.shell_factor = 1.0, s.key_share = 0.7;
		s.excess_penalty = 60, s.quartic_penalty = 4, s.rounding = 0.33f, s.jitter_penalty = 4,
		s.jitter_from = 1;
		s.sweeps = 2, s.repairs = 40, s.coarsest_step = 6, s.finest_step = 11, s.beam_width = 1;
		s.splits = 1, s.split_tries = 2, s.weight_tries = 1;
		job.tempo = TEMPO;
	}

	// Switches to grid mode.
	void take_grid(bool thorough)
	{
		job.splits = 0, mode = thorough ? 5 : 1;
		predictors.clear(), job.predictor_count = 0;
		grid_steps.assign(4, 8), initial_scales.assign(13, 12);
		job.grid_steps = grid_steps.data(), job.initial_scales = initial_scales.data();
		job.settings.thorough = thorough, job.settings.beam_width = 3, job.settings.grid_error_penalty = 3;
	}

	void pose(size_t t)
	{
		for (size_t j = 0; j < JOINTS; ++j)
		{
			double angle = j == 3 ? 0 : (j ? 0.5 : 2.0) * std::sin(0.05 * double(t) * double(j + 1));
			double turn[4] = {j == 1 ? std::sin(angle) : 0, 0, j == 1 ? 0 : std::sin(angle), std::cos(angle)};
			memcpy(rotations.data() + 4 * (t * JOINTS + j), turn, sizeof turn);
		}
		double place[3] = {0.01 * double(t), 1 + 0.05 * std::sin(0.2 * double(t)), 0};
		memcpy(translations.data() + 3 * t, place, sizeof place);
	}
};

void put_varint(Bytes* out, size_t value)
{
	for (; value >= 128; value >>= 7)
		out->push_back(uint8_t(value | 128));
	out->push_back(uint8_t(value));
}

void seal(uint8_t* part, size_t size)
{
	uint16_t crc = mocpack::crc16(part + 2, size - 2);
	part[0] = uint8_t(crc), part[1] = uint8_t(crc >> 8);
}

void seal_head(Bytes* head)
{
	uint16_t crc = mocpack::crc16(head->data(), head->size() - 2);
	(*head)[head->size() - 2] = uint8_t(crc), head->back() = uint8_t(crc >> 8);
}

// The parts of a payload: segments, then groups and all later layers.
struct Payload
{
	Bytes head;
	std::vector<Bytes> segments, groups;
	size_t layers = 1;

	size_t count() const
	{
		return segments.size() + groups.size();
	}
	const Bytes& part(size_t i) const
	{
		return i < segments.size() ? segments[i] : groups[i - segments.size()];
	}
};

Bytes head_of(Body* body, const Payload& payload, uint8_t* shifts)
{
	std::vector<uint32_t> sizes;
	for (const Bytes& part : payload.segments)
		sizes.push_back(uint32_t(part.size()));
	for (const Bytes& part : payload.groups)
		sizes.push_back(uint32_t(part.size()));
	size_t predictors = body->predictors.size() / 4;
	mocpack_KeysineFields fields = {body->mode,
									uint32_t(payload.layers),
									20,
									TEMPO,
									UNIT,
									uint32_t(GROUPS),
									uint32_t(PER_SEGMENT),
									uint32_t(predictors),
									9,
									{{90, 80}, {80, 70}, {64, 60}},
									0};
	mocpack::Buffer<uint8_t> coded;
	check(mocpack::keysine::write_head(MALLOC,
									   {fields, &body->skeleton, body->table.data(), sizes.data(),
										sizes.size(), body->predictors.data(), shifts,
										body->mode ? body->grid_steps.data() : nullptr,
										body->initial_scales.data()},
									   &coded) == MOCPACK_OK,
		  "a head is written");
	Bytes head(coded.data(), coded.data() + coded.size());
	return head;
}

// Calls run(arena) with memory of the exact size.
template <typename Run> void with_exact_memory(Run run)
{
	mocpack::Arena measuring(nullptr);
	run(&measuring);
	Memory memory(measuring.used());
	mocpack::Arena arena(memory.at);
	run(&arena);
	check(arena.used() <= measuring.used(), "a call takes no more memory than it measures");
}

// An encoder of a body, and all key poses of its groups.
struct OpenEncoder
{
	mocpack::keysine::Encoder encoder;
	std::vector<int32_t> keys;
	size_t channels;

	explicit OpenEncoder(const Body& body)
	{
		check(encoder.open(MALLOC, body.job) == MOCPACK_OK, "the plan is taken");
		channels = encoder.plan.channel_count;
		keys.resize(channels * encoder.key_count());
		with_exact_memory(
			[&](mocpack::Arena* arena)
			{ check(encode_keys(&encoder, keys.data(), arena) == MOCPACK_OK, "keys keep the bound"); });
	}

	// The keys that group g may have, and those after it.
	const int32_t* keys_of(size_t g) const
	{
		return keys.data() + (g << encoder.job.splits) * channels;
	}

	Bytes group(size_t g) const
	{
		mocpack::keysine::EncodedGroup made = {};
		Bytes bytes;
		with_exact_memory(
			[&](mocpack::Arena* arena)
			{
				check(encode_group(encoder, g, keys_of(g), arena, &made) == MOCPACK_OK,
					  "a group keeps the bound");
				bytes.assign(made.bytes.data, made.bytes.data + made.bytes.size);
			});
		return bytes;
	}

	Bytes segment(size_t first, size_t count) const
	{
		std::vector<int32_t> own;
		for (size_t k = 0; k < count; ++k)
			own.insert(own.end(), keys_of(first + k), keys_of(first + k) + channels);
		mocpack::keysine::Bytes made = {};
		Bytes bytes;
		with_exact_memory(
			[&](mocpack::Arena* arena)
			{
				check(encode_segment(encoder, own.data(), count, arena, &made) == MOCPACK_OK,
					  "keys are written");
				bytes.assign(made.data, made.data + made.size);
			});
		return bytes;
	}
};

Payload encoded(Body* body)
{
	Payload payload;
	OpenEncoder open(*body);
	check(!body->mode || (open.channels == body->initial_scales.size() &&
						  open.encoder.plan.track_count == body->grid_steps.size()),
		  "the grid has as many tracks and channels as the plan");
	for (size_t first = 0; first < GROUPS; first += PER_SEGMENT)
		payload.segments.push_back(open.segment(first, std::min(PER_SEGMENT, GROUPS - first) + 1));
	for (size_t g = 0; g < GROUPS; ++g)
		payload.groups.push_back(open.group(g));
	payload.head = head_of(body, payload, nullptr);
	return payload;
}

} // namespace
