// Memory, threads, progress and cancellation for long calls of the core.
#pragma once
#include "arrays.h"

#include <exception>

#include "keysine/encode/encode_clip.h"
#include "parallel.h"
#include "reader/memory.h"

// Threads for the core, and its progress reports to Python. Only the thread that made it calls Python. An
// exception of the progress function or of a signal handler stops the work; `raise_if_stopped` raises it.
class Work
{
  public:
	Work(nb::handle on_progress, size_t threads)
		: view{mocpack::default_allocator(),
			   this,
			   std::max<size_t>(threads, 1),
			   parallel_for,
			   progress,
			   nullptr},
		  on_progress_(on_progress)
	{
	}

	void raise_if_stopped() const
	{
		if (exception_)
			std::rethrow_exception(exception_);
	}

	mocpack::WorkContext view;

  protected:
	// Calls run(), which calls Python. Returns whether it raised an exception, which stops the work.
	template <typename Run> bool stops(Run run)
	{
		nb::gil_scoped_acquire acquire;
		try
		{
			run();
		}
		catch (...)
		{
			exception_ = std::current_exception();
			is_stopped_ = true;
		}
		return is_stopped_;
	}

  private:
	static void parallel_for(void* user, size_t count, void (*run)(void*, size_t, size_t), void* context)
	{
		Work& self = *static_cast<Work*>(user);
		std::atomic<size_t> workers{0};
		auto run_pieces = [&](auto take)
		{
			const size_t worker = workers++;
			for (size_t i = take(); i < count; i = take())
				run(context, i, worker);
		};
		// one long piece of another thread must not hold up Ctrl-C
		in_threads(count, self.view.workers, run_pieces, [&] { progress(user, self.share_); });
	}

	static int progress(void* user, double share)
	{
		Work& self = *static_cast<Work*>(user);
		if (std::this_thread::get_id() == self.caller_ && !self.is_stopped_)
			self.report(share);
		return self.is_stopped_;
	}

	void report(double share)
	{
		const auto now = std::chrono::steady_clock::now();
		const bool is_new = share != share_ && !on_progress_.is_none();
		if (!is_new && now < next_poll_)
			return;
		share_ = share, next_poll_ = now + POLL_TIME;
		stops(
			[&]
			{
				if (PyErr_CheckSignals())
					throw nb::python_error();
				if (is_new)
					on_progress_(share, 1.0);
			});
	}

	nb::handle on_progress_;
	std::thread::id caller_ = std::this_thread::get_id();
	std::chrono::steady_clock::time_point next_poll_ = std::chrono::steady_clock::now() + POLL_TIME;
	double share_ = 0; // of the work, as last reported
	std::atomic<bool> is_stopped_{false};
	std::exception_ptr exception_;
};
