// Runs work on several threads; each takes one piece at a time.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

const auto POLL_TIME = std::chrono::milliseconds(50);

// Calls run(take) on min(threads, pieces) threads, including the caller's (0 threads: one per core). `take()`
// returns the next piece, or `pieces` when none is left. Variables of run() are local to its thread. While
// the caller waits for the other threads, it calls poll() every POLL_TIME.
template <typename Run, typename Poll> void in_threads(size_t pieces, size_t threads, Run run, Poll poll)
{
	std::atomic<size_t> next{0};
	auto take = [&] { return std::min(next++, pieces); };
	size_t most = threads ? threads : std::thread::hardware_concurrency();
	std::vector<std::future<void>> others;
	for (size_t k = 1; k < std::min(most, pieces); ++k)
		others.push_back(std::async(std::launch::async, [&] { run(take); }));
	run(take);
	for (std::future<void>& other : others)
		while (other.wait_for(POLL_TIME) != std::future_status::ready)
			poll();
}

template <typename Run> void in_threads(size_t pieces, size_t threads, Run run)
{
	in_threads(pieces, threads, run, [] {});
}
