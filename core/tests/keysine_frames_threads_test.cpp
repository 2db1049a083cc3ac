// Frames of a keysine payload, decoded in one call: from bytes or a callback, on one thread or several.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "counter.h"
#include "keysine_clip.h"
#include "reader/keysine_frames.h"

namespace
{

const size_t THREADS = 3;

void run_threads(void*, size_t count, void (*run)(void*, size_t, size_t), void* context)
{
	std::vector<std::thread> threads;
	for (size_t i = 0; i < count; ++i)
		threads.emplace_back([=] { run(context, i, i); });
	for (std::thread& thread : threads)
		thread.join();
}

Bytes joined(const Payload& payload)
{
	Bytes all = payload.head;
	for (const auto* parts : {&payload.segments, &payload.groups})
		for (const Bytes& part : *parts)
			all.insert(all.end(), part.begin(), part.end());
	return all;
}

// Bytes behind a callback that counts its calls.
struct CountedSource
{
	const Bytes& bytes;
	size_t reads = 0;

	static mocpack_Status read(void* user, uint64_t offset, size_t size, void* dst)
	{
		CountedSource* self = static_cast<CountedSource*>(user);
		++self->reads;
		std::memcpy(dst, self->bytes.data() + offset, size);
		return MOCPACK_OK;
	}
};

struct Decoded
{
	std::vector<double> rotations, translations;
	std::vector<int32_t> keys; // of the last segment
	size_t segment = mocpack::NO_GROUP;
	mocpack_Error error = {};
	bool good = false;
};

Decoded decode(const mocpack_Motion& motion, size_t first, size_t stop, const mocpack::WorkContext& work,
			   const Decoded* before = nullptr)
{
	Decoded found;
	found.rotations.resize(4 * JOINTS * (stop - first)), found.translations.resize(3 * (stop - first));
	mocpack::SegmentKeys known = {mocpack::NO_GROUP, 0, nullptr};
	if (before)
		known = {before->segment, before->keys.size() / motion.layout.channel_count, before->keys.data()};
	mocpack::KeysineFrames frames(motion, first, stop, work, known);
	const mocpack::FrameArrays out = {nullptr, JOINTS, 1, found.rotations.data(), found.translations.data()};
	found.good = frames.fetch(&found.error) && frames.decode(out, false, &found.error);
	if (!found.good)
		return found;
	const mocpack::SegmentKeys last = frames.last_keys();
	found.segment = last.segment;
	found.keys.assign(last.keys, last.keys + last.count * motion.layout.channel_count);
	return found;
}

mocpack_Motion* open(const Body& body, const mocpack::Bytes& bytes, size_t size)
{
	mocpack_Error error = {};
	return mocpack::open_keysine_payload(body.skeleton, FRAMES, bytes, {0, size, 0, 0}, 0, UINT64_MAX,
										 &error);
}

void any_frames_are_the_same_from_any_source_on_any_threads(const Body& body, const Bytes& payload)
{
	Counter counter;
	CountedSource source = {payload};
	mocpack_Motion* in_memory =
		open(body, {payload.data(), {nullptr, payload.size(), nullptr}, 0}, payload.size());
	mocpack_Motion* called =
		open(body, {nullptr, {&source, payload.size(), CountedSource::read}, 0}, payload.size());
	check(in_memory && called, "the payload opens");
	const mocpack::WorkContext one = {counter.allocator(), nullptr, 1, nullptr, nullptr},
							   many = {counter.allocator(), nullptr, THREADS, run_threads, nullptr};
	const Decoded whole = decode(*in_memory, 0, FRAMES, one);
	check(whole.good, "all frames decode");
	const size_t channels = in_memory->layout.channel_count;
	const Decoded first_frame = decode(*in_memory, 0, 1, one),
				  next = decode(*in_memory, 0, in_memory->key_frame(1) + 1, one, &first_frame);
	check(first_frame.good && first_frame.keys.size() == 2 * channels,
		  "a frame needs the key poses up to the end of its group");
	check(next.good && next.keys.size() == in_memory->keys_in_segment(0) * channels &&
			  in_memory->keys_in_segment(0) > 2,
		  "a second call that needs more key poses of a segment loads all");
	Decoded before;
	for (size_t first = 0; first < FRAMES; first += 7)
		for (size_t stop : {first + 1, std::min(first + 40, FRAMES), FRAMES})
		{
			source.reads = 0;
			const Decoded found = decode(*called, first, stop, many, before.good ? &before : nullptr);
			check(found.good &&
					  std::equal(found.rotations.begin(), found.rotations.end(),
								 whole.rotations.begin() + long(4 * JOINTS * first)) &&
					  std::equal(found.translations.begin(), found.translations.end(),
								 whole.translations.begin() + long(3 * first)),
				  "frames are those of the whole clip");
			check(source.reads <= 2, "one read for the key poses, one for the groups");
			before = found;
		}
	source.reads = 0;
	const Decoded again = decode(*called, FRAMES - 1, FRAMES, one, &before);
	check(again.good && source.reads <= 1, "known key poses are not read again");
	mocpack_close(in_memory), mocpack_close(called);
	check(!counter.held, "all memory is returned");
}

void damage_is_reported_by_its_group(const Body& body, Bytes payload)
{
	Counter counter;
	payload.back() ^= 1;
	mocpack_Motion* motion =
		open(body, {payload.data(), {nullptr, payload.size(), nullptr}, 0}, payload.size());
	const mocpack::WorkContext work = {counter.allocator(), nullptr, THREADS, run_threads, nullptr};
	const Decoded found = decode(*motion, 0, FRAMES, work);
	const std::string group = "group " + std::to_string(motion->layout.group_count - 1);
	check(!found.good && found.error.status == MOCPACK_CORRUPT &&
			  std::strstr(found.error.message, group.c_str()),
		  "a damaged group is named");
	counter.fail_at = counter.calls;
	check(decode(*motion, 0, 1, work).error.status == MOCPACK_NO_MEMORY, "missing memory is reported");
	mocpack_close(motion);
}

void a_caller_can_cancel(const Body& body, const Bytes& payload)
{
	Counter counter;
	mocpack_Motion* motion =
		open(body, {payload.data(), {nullptr, payload.size(), nullptr}, 0}, payload.size());
	const mocpack::WorkContext work = {counter.allocator(), nullptr, THREADS, run_threads,
									   [](void*, double) { return 1; }};
	check(decode(*motion, 0, FRAMES, work).error.status == MOCPACK_CANCELED, "decoding stops");
	mocpack_close(motion);
}

} // namespace

int main()
{
	setvbuf(stdout, nullptr, _IONBF, 0); // unbuffered, because a sanitizer may abort
	for (bool grid : {false, true})
	{
		Body body;
		if (grid)
			body.take_grid(false);
		const Bytes payload = joined(encoded(&body));
		any_frames_are_the_same_from_any_source_on_any_threads(body, payload);
		damage_is_reported_by_its_group(body, payload);
		a_caller_can_cancel(body, payload);
	}
	if (!failures)
		printf("keysine frames: all checks passed\n");
	return failures != 0;
}
