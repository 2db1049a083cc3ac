// Work on several threads: pieces are handed out one by one, so that slow ones hold up no others.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

// Calls run(take) on min(threads, pieces) threads, the caller's among them (0: as many as the machine has).
// `take()` gives the next piece, or `pieces` when none is left; what run() sets up before it takes is the
// thread's own.
template <typename Run> void in_threads(size_t pieces, size_t threads, Run run)
{
	std::atomic<size_t> next{0};
	auto take = [&] { return std::min(next++, pieces); };
	size_t most = threads ? threads : std::thread::hardware_concurrency();
	std::vector<std::thread> others;
	for (size_t k = 1; k < std::min(most, pieces); ++k)
		others.emplace_back([&] { run(take); });
	run(take);
	for (std::thread& thread : others)
		thread.join();
}
