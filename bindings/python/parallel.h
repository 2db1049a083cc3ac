// Runs work on several threads; each takes one piece at a time.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

// Calls run(take) on min(threads, pieces) threads, including the caller's (0 threads: one per core). `take()`
// returns the next piece, or `pieces` when none is left. Variables of run() are local to its thread.
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
