// One open file, many readers: each on a thread of its own, and one whose groups are decoded by the caller's
// threads.
#include <thread>

#include "reader_file.h"

namespace
{

const size_t THREADS = 4;

std::vector<float> all_frames(const mocpack_Motion* motion, const mocpack_Executor* tasks, uint64_t first = 0)
{
	std::vector<float> transforms(7 * JOINTS * (FRAMES - size_t(first)));
	mocpack_Poses poses = mocpack_poses_interleaved_f32(transforms.data(), JOINTS, 4, 7);
	mocpack_ReaderOptions options = MOCPACK_READER_OPTIONS;
	options.executor = tasks;
	mocpack_Reader* reader;
	check(mocpack_reader_open(motion, &options, &reader, nullptr) == MOCPACK_OK, "a reader opens");
	check(mocpack_frames(reader, first, FRAMES, &poses, nullptr) == MOCPACK_OK, "all frames decode");
	mocpack_reader_close(reader);
	return transforms;
}

void run(void* user, mocpack_Task task, void* context, size_t count)
{
	++*static_cast<int*>(user);
	std::vector<std::thread> threads;
	for (size_t i = 0; i < count; ++i)
		threads.emplace_back(task, context, i);
	for (std::thread& thread : threads)
		thread.join();
}

} // namespace

int main()
{
	Body body;
	Payload payload = encoded(&body);
	Bytes file = file_of(test_chunks(body, payload));
	mocpack_Motion* motion;
	check(mocpack_open(file.data(), file.size(), nullptr, &motion, nullptr) == MOCPACK_OK, "the file opens");
	std::vector<float> alone = all_frames(motion, nullptr);
	std::vector<std::vector<float>> found(THREADS);
	std::vector<std::thread> threads;
	for (size_t i = 0; i < THREADS; ++i)
		threads.emplace_back([&, i] { found[i] = all_frames(motion, nullptr); });
	for (std::thread& thread : threads)
		thread.join();
	for (const std::vector<float>& one : found)
		check(one == alone, "every thread reads the same");
	int calls = 0;
	for (size_t most : {size_t(1), size_t(3), size_t(64)})
	{
		mocpack_Executor tasks = {&calls, most, run};
		check(all_frames(motion, &tasks) == alone, "tasks read what one thread reads");
		std::vector<float> rest = all_frames(motion, &tasks, 17);
		check(std::equal(rest.begin(), rest.end(), alone.begin() + long(7 * JOINTS * 17)),
			  "from any frame on");
	}
	check(calls == 6, "the caller's threads are used");
	mocpack_close(motion);
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
