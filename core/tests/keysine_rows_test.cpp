// keysine's rows of floats: those of the decoder, whichever frames are requested; no bytes do harm.
#include <random>

#include "keysine/decode/rows.h"
#include "keysine/format/group.h"
#include "keysine/format/head.h"
#include "keysine/format/limits.h"
#include "keysine_clip.h"
#include "math/quaternions.h"

using namespace mocpack;

namespace
{

const size_t WIDTH = 4 * JOINTS + 3;

struct Head
{
	Memory memory;
	mocpack_KeysineHead* view = nullptr;
	std::vector<int32_t> keys; // at the ends of groups

	Head(const Body& body, const Payload& payload)
		: memory(mocpack_keysine_head_memory_size(payload.head.data(), payload.head.size(), JOINTS, FRAMES))
	{
		check(mocpack_keysine_open(payload.head.data(), payload.head.size(), &body.skeleton, FRAMES,
								   memory.at, &view, nullptr, nullptr) == MOCPACK_OK,
			  "the head opens");
		const mocpack_KeysineLayout l = mocpack_keysine_layout(view);
		Memory scratch(mocpack_keysine_segment_scratch_size(view));
		keys.resize((GROUPS + 1) * l.channel_count);
		for (size_t s = 0; s < l.segment_count; ++s)
		{
			size_t count = std::min(PER_SEGMENT, GROUPS - s * PER_SEGMENT) + 1;
			check(mocpack_keysine_decode_segment(
					  view, count, true, payload.segments[s].data(), payload.segments[s].size(),
					  keys.data() + s * PER_SEGMENT * l.channel_count, scratch.at) == MOCPACK_OK,
				  "keys are read");
		}
	}

	const int32_t* keys_of(size_t group) const
	{
		return keys.data() + group * mocpack_keysine_layout(view).channel_count;
	}
	size_t length(size_t group) const
	{
		return mocpack_keysine_key_frame(view, group + 1) - mocpack_keysine_key_frame(view, group);
	}
};

// All rows of a group by way of doubles.
std::vector<double> expected_rows(const Head& head, size_t group, const Bytes& bytes)
{
	size_t count = head.length(group), size = bytes.size();
	const uint8_t* src = bytes.data();
	std::vector<double> turns(4 * JOINTS * count), places(3 * count), rows;
	Memory scratch(mocpack_keysine_group_scratch_size(head.view));
	check(mocpack_keysine_decode_group(head.view, group, head.keys_of(group), &src, &size, 1, nullptr,
									   turns.data(), places.data(), scratch.at) == MOCPACK_OK,
		  "a group is decoded");
	for (size_t t = 0; t < count; ++t)
	{
		rows.insert(rows.end(), turns.begin() + long(4 * JOINTS * t),
					turns.begin() + long(4 * JOINTS * (t + 1)));
		rows.insert(rows.end(), places.begin() + long(3 * t), places.begin() + long(3 * t + 3));
	}
	return rows;
}

mocpack_Status rows_of(const Head& head, size_t group, const Bytes& bytes, size_t first, size_t stop,
					   bool rotations_only, std::vector<float>* rows, mocpack_KeysineSineCache* kept,
					   void* scratch)
{
	size_t width = rotations_only ? 4 * JOINTS : WIDTH, size = bytes.size();
	const uint8_t* src = bytes.data();
	rows->assign((stop - first) * width, -9.0f); // as long as it is, for the sanitizer
	return mocpack_keysine_decode_rows(head.view, group, first, stop, head.keys_of(group), &src, &size, 1,
									   nullptr, rows->data(), width, rotations_only, kept, scratch);
}

void rows_are_the_frames(const Head& head, const Payload& payload)
{
	std::mt19937 chance(1);
	Memory scratch(mocpack_keysine_rows_scratch_size(head.view));
	mocpack_KeysineSineCache kept = {}; // over all groups, in any order
	for (int k = 0; k < 400; ++k)
	{
		size_t group = chance() % GROUPS, count = head.length(group);
		size_t first = chance() % count, stop = first + 1 + chance() % (count - first);
		bool alone = k % 3 == 0;
		size_t width = alone ? 4 * JOINTS : WIDTH;
		std::vector<float> rows;
		const std::vector<double> whole = expected_rows(head, group, payload.groups[group]);
		check(rows_of(head, group, payload.groups[group], first, stop, alone, &rows, &kept, scratch.at) ==
				  MOCPACK_OK,
			  "rows are decoded");
		double most = 0;
		for (size_t t = first; t < stop; ++t)
			for (size_t i = 0; i < width; ++i)
				most =
					std::max(most, std::fabs(double(rows[(t - first) * width + i]) - whole[t * WIDTH + i]));
		check(most < 2e-6, "rows are those of the decoder, to a float's rounding");
	}
}

void some_columns_are_those_of_all(const Head& head, const Payload& payload)
{
	const int32_t turns[JOINTS] = {-1, 1, 0, -1}, places[] = {-1};
	const mocpack_KeysineColumns columns = {turns, places, 2, 0};
	Memory scratch(mocpack_keysine_rows_scratch_size(head.view));
	mocpack_KeysineSineCache kept = {};
	for (size_t group = 0; group < GROUPS; ++group)
	{
		size_t count = head.length(group), size = payload.groups[group].size();
		const uint8_t* src = payload.groups[group].data();
		std::vector<float> rows, some(8 * count);
		rows_of(head, group, payload.groups[group], 0, count, true, &rows, &kept, scratch.at);
		check(mocpack_keysine_decode_rows(head.view, group, 0, count, head.keys_of(group), &src, &size, 1,
										  &columns, some.data(), 8, 0, &kept, scratch.at) == MOCPACK_OK,
			  "some joints are decoded");
		for (size_t t = 0; t < count; ++t)
			for (size_t c = 0; c < 4; ++c)
				check(some[8 * t + 4 + c] == rows[4 * (JOINTS * t + 1) + c] &&
						  some[8 * t + c] == rows[4 * (JOINTS * t + 2) + c],
					  "joints stand in their columns");
	}
}

void rows_are_normalized()
{
	// two frames of two quaternions, each with a number beside them
	const float half = std::sqrt(0.5f);
	float rows[] = {0, 0, 0, 1, half, 0, 0, half, 7, 0, 0, 0, -1, 1.0005f * half, 0, 0, 1.0005f * half, 8};
	check(mocpack_normalize_rotation_rows(rows, 2, 2, 9, 1e-3f) == -1,
		  "nearly unit quaternions are normalized");
	check(rows[12] == 1, "signs are those of the frame before");
	check(std::fabs(rows[13] - half) < 2e-7f && std::fabs(rows[16] - half) < 2e-7f, "lengths are one");
	check(rows[8] == 7 && rows[17] == 8, "numbers beside quaternions are unchanged");
	rows[14] = std::nanf("");
	check(mocpack_normalize_rotation_rows(rows, 2, 2, 9, 1e-3f) == 3,
		  "a quaternion that is not finite is located");
	rows[14] = 0.1f;
	check(mocpack_normalize_rotation_rows(rows, 2, 2, 9, 1e-3f) == 3,
		  "a quaternion far from unit length is located");
}

void damaged_groups_do_no_harm(const Head& head, const Payload& payload)
{
	std::mt19937 chance(5);
	Memory scratch(mocpack_keysine_rows_scratch_size(head.view));
	mocpack_KeysineSineCache kept = {};
	size_t refused = 0;
	for (int k = 0; k < 3000; ++k)
	{
		size_t group = chance() % GROUPS, count = head.length(group);
		Bytes broken = payload.groups[group];
		for (int times = 1 + int(chance() % 3); times > 0; --times)
			broken[chance() % broken.size()] = uint8_t(chance());
		if (k % 5 == 0)
			broken.resize(chance() % broken.size());
		if (k % 7 && broken.size() > 2)
			seal(broken.data(), broken.size());
		std::vector<float> rows;
		refused += rows_of(head, group, broken, 0, count, false, &rows, &kept, scratch.at) != MOCPACK_OK;
	}
	check(refused > 300, "much of what is damaged is refused");
}

void impossible_splits_are_refused()
{
	using namespace keysine;
	const size_t length = 4; // frames
	Plan plan = {};
	plan.track_count = plan.channel_count = 1;
	GroupSymbols symbols = {};
	Arena sizes(nullptr);
	lay_out_group(plan, length, &symbols, &sizes);
	Memory memory(sizes.used());
	Arena arena(memory.at);
	lay_out_group(plan, length, &symbols, &arena);
	check(shape_group(plan, length, 2, 1, &symbols), "four frames make four blocks");
	check(!shape_group(plan, length, 3, 1, &symbols), "four frames do not make eight blocks");
	check(!shape_group(plan, size_t(1) << (MAX_SPLITS + 1), MAX_SPLITS + 1, 1, &symbols),
		  "a group has at most 2^MAX_SPLITS blocks");
	check(!shape_group(plan, MAX_BLOCK_FRAMES + 1, 0, 1, &symbols),
		  "a block has at most MAX_BLOCK_FRAMES frames");
}

Quat turn_about(int axis, double angle)
{
	const double sine = std::sin(angle / 2);
	return {axis == 0 ? sine : 0, axis == 1 ? sine : 0, axis == 2 ? sine : 0, std::cos(angle / 2)};
}

double gap(Quat a, Quat b)
{
	return 1 - std::fabs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}

// One or two hinges within half a radian: the first about x, the second about y.
void rotations_are_clamped_to_each_limit()
{
	const double axes[] = {1, 0, 0, 0, 1, 0}, limits[] = {-0.5, 0.5, -0.5, 0.5};
	keysine::JointHinges hinges = {};
	hinges.axes = axes;
	hinges.limits = limits;
	hinges.rest = {0, 0, 0, 1};
	hinges.turns = 1;
	Quat found[] = {turn_about(0, 0.8), turn_about(0, 0.3)};
	keysine::clamp_rotations(hinges, 1, 2, found);
	check(gap(found[0], turn_about(0, 0.5)) < 1e-12, "one hinge is clamped");
	check(gap(found[1], turn_about(0, 0.3)) < 1e-12, "a rotation within the limit does not change");
	hinges.turns = 2;
	for (const double first : {0.2, 0.8})
		for (const double second : {0.2, -0.8})
		{
			Quat turn = multiply(turn_about(0, first), turn_about(1, second));
			keysine::clamp_rotations(hinges, 3, 1, &turn);
			const Quat expected =
				multiply(turn_about(0, std::fmin(first, 0.5)), turn_about(1, std::fmax(second, -0.5)));
			check(gap(turn, expected) < 1e-12, "each of two hinges is clamped by itself");
		}
}

} // namespace

int main()
{
	impossible_splits_are_refused();
	rotations_are_clamped_to_each_limit();
	Body body;
	const Payload payload = encoded(&body);
	const Head head(body, payload);
	rows_are_the_frames(head, payload);
	some_columns_are_those_of_all(head, payload);
	rows_are_normalized();
	damaged_groups_do_no_harm(head, payload);
	Body grid;
	grid.take_grid(false);
	const Payload on_grid = encoded(&grid);
	const Head grid_head(grid, on_grid);
	Memory scratch(mocpack_keysine_rows_scratch_size(grid_head.view));
	mocpack_KeysineSineCache kept = {};
	std::vector<float> rows;
	check(rows_of(grid_head, 0, on_grid.groups[0], 0, 1, false, &rows, &kept, scratch.at) ==
			  MOCPACK_UNSUPPORTED,
		  "a grid in time is read elsewhere");
	if (failures)
		printf("%d failures\n", failures);
	return failures != 0;
}
