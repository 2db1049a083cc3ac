// What went wrong, in a sentence: a small formatter, so that no C library's is needed.
#pragma once
#include "mocpack/mocpack.h"

namespace mocpack
{

// Writes an error and appends to its message; what does not fit is left out.
class ErrorMessage
{
  public:
	ErrorMessage(mocpack_Error* error, mocpack_Status status, uint64_t offset = 0, uint64_t size = 0);

	ErrorMessage& operator<<(const char* text);
	ErrorMessage& operator<<(uint64_t number);
	// Whole numbers as they are, others to six digits after the point or as powers of two.
	ErrorMessage& operator<<(double number);

	// Text of the file, in quotes: what is not plain ASCII as a question mark, what is long cut.
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

} // namespace mocpack
