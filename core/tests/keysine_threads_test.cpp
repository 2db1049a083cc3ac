// keysine on several threads: one encoder, or one head, is shared by all of them, and none writes to it.
#include <atomic>
#include <thread>

#include "keysine_clip.h"

namespace
{

const size_t THREADS = 4;

// Calls work(i) for i below count, on several threads.
template <typename Work> void in_threads(size_t count, Work work)
{
	std::atomic<size_t> next{0};
	std::vector<std::thread> threads;
	for (size_t k = 0; k < THREADS; ++k)
		threads.emplace_back(
			[&]
			{
				for (size_t i = next++; i < count; i = next++)
					work(i);
			});
	for (std::thread& thread : threads)
		thread.join();
}

void groups_are_encoded_on_any_thread(Body* body, const Payload& alone)
{
	const OpenEncoder open(*body);
	std::vector<Bytes> groups(alone.groups.size());
	std::vector<std::vector<double>> errors(groups.size(), std::vector<double>(open.channels));
	in_threads(groups.size(),
			   [&](size_t g)
			   {
				   if (body->mode)
					   with_exact_memory(
						   [&](mocpack::Arena* arena)
						   { measure_grid(open.encoder, g, open.keys_of(g), arena, errors[g].data()); });
				   groups[g] = open.group(g);
			   });
	check(groups == alone.groups, "groups made side by side are those made one by one");
}

void groups_are_decoded_on_any_thread(const Body& body, const Payload& payload)
{
	Memory memory(mocpack_keysine_head_memory_size(payload.head.data(), payload.head.size(), JOINTS, FRAMES));
	mocpack_KeysineHead* head;
	check(mocpack_keysine_open(payload.head.data(), payload.head.size(), &body.skeleton, FRAMES, memory.at,
							   &head, nullptr, nullptr) == MOCPACK_OK,
		  "the head opens");
	mocpack_KeysineLayout l = mocpack_keysine_layout(head);
	size_t per = l.groups_per_segment;
	std::vector<std::vector<int32_t>> keys(l.segment_count);
	in_threads(l.segment_count,
			   [&](size_t s)
			   {
				   size_t count = std::min(per, l.group_count - s * per) + 1;
				   keys[s].resize(count * l.channel_count);
				   Memory scratch(mocpack_keysine_segment_scratch_size(head));
				   mocpack_keysine_decode_segment(head, count, true, payload.segments[s].data(),
												  payload.segments[s].size(), keys[s].data(), scratch.at);
			   });
	std::vector<double> turns[2], places[2];
	std::atomic<bool> good{true};
	for (int round = 0; round < 2; ++round) // one by one, then side by side
	{
		turns[round].resize(4 * JOINTS * FRAMES), places[round].resize(3 * FRAMES);
		auto decode = [&](size_t g)
		{
			size_t frame = mocpack_keysine_key_frame(head, g);
			const uint8_t* bytes = payload.groups[g].data();
			size_t size = payload.groups[g].size(), segment = g / per;
			const int32_t* own = keys[segment].data() + (g - segment * per) * l.channel_count;
			Memory scratch(mocpack_keysine_group_scratch_size(head));
			if (mocpack_keysine_decode_group(head, g, own, &bytes, &size, 1, nullptr,
											 turns[round].data() + 4 * JOINTS * frame,
											 places[round].data() + 3 * frame, scratch.at) != MOCPACK_OK)
				good = false;
		};
		for (size_t g = 0; !round && g < l.group_count; ++g)
			decode(g);
		if (round)
			in_threads(l.group_count, decode);
	}
	check(good, "groups decode");
	check(turns[0] == turns[1] && places[0] == places[1], "to the same motion, side by side");
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
		Payload alone = encoded(&body);
		groups_are_decoded_on_any_thread(body, alone);
		Body again;
		if (grid)
			again.take_grid(false);
		groups_are_encoded_on_any_thread(&again, alone);
	}
	if (!failures)
		printf("keysine on threads: good\n");
	return failures != 0;
}
