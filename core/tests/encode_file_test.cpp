// mocpack_encode under the sanitizers: files that open within their bound, a table of hostile clips,
// cancellation, executors, and every allocation failing once.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "counter.h"
#include "mocpack/mocpack.hpp"

namespace
{

int failures = 0;

void check(bool good, const std::string& what)
{
	if (!good)
		printf("failed: %s\n", what.c_str()), ++failures;
}

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double INFINITE = std::numeric_limits<double>::infinity();

mocpack_Text text(const char* bytes)
{
	return {bytes, strlen(bytes)};
}

// A chain of joints that swings, with a hinge at its second joint, and all that a clip may have.
struct Swing
{
	size_t joints, frames;
	std::vector<mocpack_Text> names;
	std::vector<int32_t> parents, ends, translated;
	std::vector<double> offsets, sites, rotations, translations, times;
	std::vector<mocpack_Hinge> hinges;
	std::vector<uint8_t> valid;
	mocpack_Clip clip = {};

	Swing(size_t joint_count, size_t frame_count) : joints(joint_count), frames(frame_count)
	{
		for (size_t j = 0; j < joints; ++j)
		{
			names.push_back(text(j ? "bone" : "root"));
			parents.push_back(int32_t(j) - 1);
			offsets.insert(offsets.end(), {0.01, j ? 0.2 : 0, 0});
		}
		ends = {int32_t(joints) - 1}, sites = {0, 0.1, 0}, translated = {0};
		for (size_t t = 0; t < frames; ++t)
		{
			times.push_back(0.1 + double(t * t) / 900);
			translations.insert(translations.end(), {0.01 * double(t), 1, 0});
			for (size_t j = 0; j < joints; ++j)
			{
				const double half = 0.1 * std::sin(0.2 * double(t) + double(j % 7));
				const double x = std::sin(half), y = 0.1 * std::cos(0.5 * double(t)), z = 0.05 * x * y;
				rotations.insert(rotations.end(), {x, y, z, std::sqrt(1 - x * x - y * y - z * z)});
				valid.push_back(j != 1 || t != 1);
			}
		}
		clip.skeleton.joint_count = joints, clip.skeleton.names = names.data();
		clip.skeleton.parents = parents.data(), clip.skeleton.offsets = offsets.data();
		clip.skeleton.end_count = 1, clip.skeleton.end_joints = ends.data();
		clip.skeleton.end_sites = sites.data();
		clip.skeleton.translated_count = 1, clip.skeleton.translated_joints = translated.data();
		clip.frame_count = frames, clip.frame_time = 1 / 30.0;
		clip.rotations = rotations.data(), clip.translations = translations.data();
	}

	void add_take()
	{
		hinges = {{text("turn"), 1, 0, {1, 0, 0}, -1, INFINITE}};
		clip.skeleton.hinge_count = 1, clip.skeleton.hinges = hinges.data();
		clip.times = times.data(), clip.start_time = 0.1, clip.valid = valid.data();
		clip.metadata = text("{\"take\":1}"), clip.is_looping = 1, clip.up = MOCPACK_AXIS_Z;
	}
};

mocpack_EncodeOptions fast()
{
	mocpack_EncodeOptions options = MOCPACK_ENCODE_OPTIONS;
	options.effort = MOCPACK_EFFORT_FAST;
	return options;
}

void files_open_within_their_bound()
{
	for (size_t frames : {1, 40})
		for (const bool has_take : {false, true})
			for (const mocpack_Effort effort : {MOCPACK_EFFORT_FAST, MOCPACK_EFFORT_DEFAULT})
				for (const bool is_streamed : {false, true})
				{
					Swing swing(4, frames);
					if (has_take)
						swing.add_take();
					mocpack_EncodeOptions options = MOCPACK_ENCODE_OPTIONS;
					options.effort = effort, options.is_streamed = is_streamed;
					mocpack::EncodedFile file;
					mocpack::Motion motion;
					mocpack::Reader<double> reader;
					mocpack_Error error = {};
					check(file.encode(swing.clip, &error, options) == MOCPACK_OK, error.message);
					check(file.errors().measured_max <= 1e-3 &&
							  file.errors().measured_mean <= file.errors().measured_rms &&
							  file.errors().measured_p99 <= file.errors().measured_max,
						  "errors are measured");
					check(motion.open(file.bytes(), &error) == MOCPACK_OK && motion.frame_count() == frames &&
							  motion.joint_count() == 4 && motion.name(0) == "root" &&
							  motion.hinges().size() == size_t(has_take) &&
							  std::string(motion.info().metadata.bytes, motion.info().metadata.size) ==
								  (has_take ? "{\"take\":1}" : ""),
						  "the file opens");
					std::vector<double> turns(16 * frames), places(12 * frames);
					check(reader.open(motion) == MOCPACK_OK &&
							  reader.frames(0, frames, turns, places) == MOCPACK_OK &&
							  std::fabs(places[12 * (frames - 1)] - 0.01 * double(frames - 1)) < 1e-3,
						  "and plays");
				}
}

// A clip that must be refused, or encoded: what is done to it.
struct Case
{
	const char* name;
	mocpack_Status expected;
	std::function<void(Swing&)> change;
};

void hostile_clips_are_refused()
{
	static const std::string long_name(256, 'x');
	const std::vector<Case> cases = {
		{"no frames", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.frame_count = 0; }},
		{"frames beyond memory", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.frame_count = UINT64_MAX / 8; }},
		{"no joints", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.skeleton.joint_count = 0; }},
		{"too many joints", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.skeleton.joint_count = 65536; }},
		{"no names", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.skeleton.names = nullptr; }},
		{"no rotations", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.rotations = nullptr; }},
		{"no translations", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.translations = nullptr; }},
		{"a long name", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.names[1] = {long_name.data(), long_name.size()}; }},
		{"a name that is not UTF-8", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.names[1] = text("\xff\xfe"); }},
		{"metadata that is not JSON", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.metadata = text("{"); }},
		{"a parent after its child", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.parents[1] = 2; }},
		{"a parent below -1", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.parents[1] = -7; }},
		{"a translated joint that is none", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.translated[0] = 4; }},
		{"an end of no joint", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.ends[0] = 9; }},
		{"an offset that is no number", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.offsets[4] = NOT_A_NUMBER; }},
		{"an infinite end", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.sites[1] = INFINITE; }},
		{"a rotation that is no number", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.rotations[21] = NOT_A_NUMBER; }},
		{"an infinite rotation", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.rotations[21] = INFINITE; }},
		{"a zero quaternion", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { std::fill_n(s.rotations.begin() + 20, 4, 0.0); }},
		{"a long quaternion", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.rotations[23] = 2; }},
		{"a translation that is no number", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.translations[4] = NOT_A_NUMBER; }},
		{"a translation too far away", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.translations[4] = 1e30; }},
		{"a frame time of zero", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.frame_time = 0; }},
		{"a frame time that is no number", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.clip.frame_time = NOT_A_NUMBER; }},
		{"a start that is no number", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.clip.start_time = NOT_A_NUMBER; }},
		{"a unit that is no number", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.clip.skeleton.unit = NOT_A_NUMBER; }},
		{"a negative unit", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.clip.skeleton.unit = -1; }},
		{"times that fall", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.add_take(), s.times[3] = 0; }},
		{"a hinge of no joint", MOCPACK_BAD_ARGUMENT, [](Swing& s) { s.add_take(), s.hinges[0].joint = 4; }},
		{"a hinge without an axis", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.add_take(), s.hinges[0].axis[0] = 0; }},
		{"limits that are no numbers", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s) { s.add_take(), s.hinges[0].lower_limit = NOT_A_NUMBER; }},
		{"three turns of a joint", MOCPACK_BAD_ARGUMENT,
		 [](Swing& s)
		 {
			 s.add_take();
			 s.hinges.resize(3, s.hinges[0]);
			 s.clip.skeleton.hinge_count = 3, s.clip.skeleton.hinges = s.hinges.data();
		 }},
		{"a second root", MOCPACK_OK, [](Swing& s) { s.parents[2] = -1; }},
		{"equal and empty names", MOCPACK_OK, [](Swing& s) { s.names[1] = s.names[2] = {nullptr, 0}; }},
		{"rotations of the other sign", MOCPACK_OK,
		 [](Swing& s)
		 {
			 for (size_t i = 0; i < 4; ++i)
				 s.rotations[20 + i] *= -1;
		 }},
		{"a joint that jumps", MOCPACK_OK, [](Swing& s) { s.translations[4] = 1000; }},
	};
	for (const Case& own : cases)
	{
		Swing swing(4, 12);
		own.change(swing);
		Counter counter;
		const mocpack_Allocator memory = counter.allocator();
		mocpack_EncodeOptions options = fast();
		options.allocator = &memory;
		mocpack_EncodedFile file;
		mocpack_Error error = {};
		const mocpack_Status status = mocpack_encode(&swing.clip, &options, &file, &error);
		check(status == own.expected, std::string(own.name) + ": " + mocpack_status_name(status));
		check((status == MOCPACK_OK) == (file.size > 0), "a file exists if the call succeeds");
		check(status == MOCPACK_OK || (error.status == status && error.message[0]), "the error says why");
		mocpack_encoded_release(&file);
		check(counter.held == 0, std::string(own.name) + ": memory is released");
	}
}

void four_thousand_joints_are_encoded()
{
	Swing swing(4000, 3);
	for (size_t j = 1; j < swing.joints; ++j)
		swing.parents[j] = int32_t(j / 40); // 40 bones on each, so that no chain is long
	mocpack::EncodedFile file;
	mocpack_Error error = {};
	check(file.encode(swing.clip, &error, fast()) == MOCPACK_OK, error.message);
}

void a_bound_that_cannot_be_kept_is_named()
{
	Swing swing(4, 12);
	mocpack_EncodeOptions options = fast();
	options.max_error = 1e-15;
	mocpack_EncodedFile file;
	mocpack_Error error = {};
	check(mocpack_encode(&swing.clip, &options, &file, &error) == MOCPACK_BOUND_NOT_MET && !file.size &&
			  error.status == MOCPACK_BOUND_NOT_MET,
		  "a bound below the precision of numbers is not met");
	for (const double bound : {0.0, -1.0, NOT_A_NUMBER, INFINITE})
	{
		options.max_error = bound;
		check(mocpack_encode(&swing.clip, &options, &file, &error) == MOCPACK_BAD_ARGUMENT,
			  "bounds are lengths");
	}
}

void a_callback_cancels_the_call()
{
	Swing swing(4, 200);
	int calls = 0;
	mocpack_EncodeOptions options = fast();
	options.user = &calls;
	options.progress = [](void* user, double share) -> int
	{
		check(share >= 0 && share <= 1, "a share of the work");
		return ++*static_cast<int*>(user) > 2;
	};
	mocpack_EncodedFile file;
	mocpack_Error error = {};
	check(mocpack_encode(&swing.clip, &options, &file, &error) == MOCPACK_CANCELED && calls > 2 && !file.size,
		  "the callback cancels the call");
}

// Runs every task on a thread of its own.
void run_in_threads(void*, mocpack_Task task, void* context, size_t count)
{
	std::vector<std::thread> threads;
	for (size_t i = 0; i < count; ++i)
		threads.emplace_back(task, context, i);
	for (std::thread& thread : threads)
		thread.join();
}

void threads_do_not_change_the_file()
{
	Swing swing(4, 300);
	const mocpack_Executor executor = {nullptr, 3, run_in_threads};
	mocpack_EncodeOptions options = fast();
	mocpack::EncodedFile alone, together;
	check(alone.encode(swing.clip, nullptr, options) == MOCPACK_OK, "one thread");
	options.executor = &executor;
	check(together.encode(swing.clip, nullptr, options) == MOCPACK_OK, "three threads");
	check(alone.bytes().size() == together.bytes().size() &&
			  !memcmp(alone.bytes().data(), together.bytes().data(), alone.bytes().size()),
		  "threads do not change the file");
}

void every_allocation_fails_once()
{
	Swing swing(3, 12);
	swing.add_take();
	size_t last = SIZE_MAX;
	for (size_t fail_at = 0; fail_at < last; ++fail_at)
	{
		Counter counter;
		counter.fail_at = fail_at;
		const mocpack_Allocator memory = counter.allocator();
		mocpack_EncodeOptions options = fast();
		options.allocator = &memory;
		mocpack_EncodedFile file;
		mocpack_Error error = {};
		const mocpack_Status status = mocpack_encode(&swing.clip, &options, &file, &error);
		check(status == (counter.calls > fail_at ? MOCPACK_NO_MEMORY : MOCPACK_OK),
			  "allocation " + std::to_string(fail_at) + ": " + mocpack_status_name(status));
		if (counter.calls <= fail_at)
			last = 0;
		mocpack_encoded_release(&file);
		check(counter.held == 0, "memory is released");
	}
}

} // namespace

int main()
{
	files_open_within_their_bound();
	hostile_clips_are_refused();
	four_thousand_joints_are_encoded();
	a_bound_that_cannot_be_kept_is_named();
	a_callback_cancels_the_call();
	threads_do_not_change_the_file();
	every_allocation_fails_once();
	if (failures)
		printf("%d checks failed\n", failures);
	return failures != 0;
}
