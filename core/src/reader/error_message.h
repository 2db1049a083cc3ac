// Formats error messages without the C library's printf.
#pragma once
#include "mocpack/mocpack.h"

namespace mocpack
{

// Sets an error and appends to its message. Text that does not fit is dropped.
class ErrorMessage
{
  public:
	ErrorMessage(mocpack_Error* error, mocpack_Status status, uint64_t offset = 0, uint64_t size = 0);

	ErrorMessage& operator<<(const char* text);
	ErrorMessage& operator<<(uint64_t number);
	// Prints up to six decimals, or a power of two for very large and small numbers.
	ErrorMessage& operator<<(double number);

	// Appends text of the file in quotes, truncated, with question marks for non-ASCII bytes.
	ErrorMessage& quote(const void* text, size_t size);

	operator mocpack_Status() const
	{
		return error_->status;
	}

  private:
	mocpack_Error* error_;
	size_t length_ = 0;

	void put(char letter);
};

// Sets the error of a failed allocation. Returns false, for callers to return.
bool no_memory(mocpack_Error* error, const char* what, uint64_t offset = 0);

} // namespace mocpack
