// Memory, threads, progress and cancellation for long calls of the core.
#pragma once
#include "arrays.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "keysine/encode/encode_clip.h"
#include "reader/memory.h"

const auto POLL_TIME = std::chrono::milliseconds(50); // between looks at signals

// Threads for the core, and its progress reports to Python. Only the thread that made it calls Python; what a
// Python function or a signal handler raises stops the work and is raised when all threads are back.
class Work
{
  public:
	Work(nb::handle on_progress, size_t threads)
		: view{mocpack::default_allocator(), this, std::max<size_t>(threads, 1), parallel_for, progress},
		  on_progress_(on_progress)
	{
	}

	void raise_if_stopped() const
	{
		if (raised_)
			std::rethrow_exception(raised_);
	}

	mocpack_KeysineWork view;

  private:
	static void parallel_for(void* user, size_t count, void (*run)(void*, size_t, size_t), void* context)
	{
		Work& self = *static_cast<Work*>(user);
		std::atomic<size_t> next{0};
		std::mutex mutex;
		std::condition_variable finished;
		size_t running = std::min(self.view.workers, count);
		auto work = [&](size_t worker)
		{
			for (size_t i = next++; i < count; i = next++)
				run(context, i, worker);
			std::lock_guard<std::mutex> held(mutex);
			--running;
			finished.notify_one();
		};
		std::vector<std::thread> others;
		for (size_t worker = 1, workers = running; worker < workers; ++worker)
			others.emplace_back(work, worker);
		if (running)
			work(0);
		// one long piece of another thread must not hold up Ctrl-C
		for (std::unique_lock<std::mutex> held(mutex); running; held.lock())
		{
			finished.wait_for(held, POLL_TIME, [&] { return !running; });
			held.unlock();
			progress(user, self.told_);
		}
		for (std::thread& thread : others)
			thread.join();
	}

	static int progress(void* user, double share)
	{
		Work& self = *static_cast<Work*>(user);
		if (std::this_thread::get_id() == self.caller_ && !self.ended_)
			self.tell(share);
		return self.ended_;
	}

	void tell(double share)
	{
		const auto now = std::chrono::steady_clock::now();
		const bool is_new = share != told_ && !on_progress_.is_none();
		if (!is_new && now < next_look_)
			return;
		told_ = share, next_look_ = now + POLL_TIME;
		nb::gil_scoped_acquire acquire;
		try
		{
			if (PyErr_CheckSignals())
				throw nb::python_error();
			if (is_new)
				on_progress_(share, 1.0);
		}
		catch (nb::python_error&)
		{
			raised_ = std::current_exception();
			ended_ = true;
		}
	}

	nb::handle on_progress_;
	std::thread::id caller_ = std::this_thread::get_id();
	std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::now() + POLL_TIME;
	double told_ = 0;
	std::atomic<bool> ended_{false};
	std::exception_ptr raised_;
};
