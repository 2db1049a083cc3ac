// Lets the core read a file from Python: a bytes object without copying, or an object with the method
// read(offset, size). Only threads that hold the GIL read.
#pragma once
#include "arrays.h"

#include <exception>

#include "reader/motion.h"

class PythonSource
{
	nb::object owner, start; // `start` are first bytes that need no call of `read`
	std::exception_ptr pending_exception;

	static mocpack_Status read(void* user, uint64_t offset, size_t size, void* dst);

  public:
	mocpack::Bytes bytes = {};

	// `source` is a bytes object, or has `size`, `read`, `data` (all bytes, or None) and `start` (first
	// bytes).
	explicit PythonSource(nb::handle source);
	PythonSource(const PythonSource&) = delete;
	PythonSource& operator=(const PythonSource&) = delete;

	// Returns the source as the C ABI takes it.
	mocpack_Source callback();

	// Raises the exception of the Python object's read method, if any, else the core's error.
	[[noreturn]] void raise(const mocpack_Error& error);
};

// Returns what a `File` of reader.cpp has parsed.
const mocpack_Motion& parsed_file(nb::handle file);
