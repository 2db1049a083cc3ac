// The bytes of a file as the core reads them: those of a bytes object where they stand, others through the
// method read(offset, size) of a Python object. Only threads that hold the GIL read.
#pragma once
#include "arrays.h"

#include <exception>

#include "reader/motion.h"

class PythonSource
{
	nb::object owner;
	std::exception_ptr pending_exception;

	static mocpack_Status read(void* user, uint64_t offset, size_t size, void* dst);

  public:
	mocpack::Bytes bytes = {};

	// `source` is bytes, or has `size`, `read` and `data`: all bytes, or None.
	explicit PythonSource(nb::handle source);
	PythonSource(const PythonSource&) = delete;
	PythonSource& operator=(const PythonSource&) = delete;

	// The same for calls that take nothing else.
	mocpack_Source callback();

	// Raises what went wrong: what Python raised while bytes were read, or what the core says.
	[[noreturn]] void raise(const mocpack_Error& error);
};
