// A byte source for the reader: a bytes object without a copy, or the method read(offset, size) of a Python
// object. Only threads that hold the GIL may read.
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

	// `source` is bytes, or an object with `size`, `read` and `data` (all bytes, or None).
	explicit PythonSource(nb::handle source);
	PythonSource(const PythonSource&) = delete;
	PythonSource& operator=(const PythonSource&) = delete;

	// The same, with default arguments.
	mocpack_Source callback();

	// Raises the Python exception from reading, or the error of the reader.
	[[noreturn]] void raise(const mocpack_Error& error);
};
