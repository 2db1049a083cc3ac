// Formats error messages.
#include "reader/error_message.h"

#include <cstring>

namespace mocpack
{

namespace
{

const size_t MAX_QUOTE_BYTES = 40;
const double MAX_PLAIN_NUMBER = 1e15;

} // namespace

ErrorMessage::ErrorMessage(mocpack_Error* error, mocpack_Status status, uint64_t offset, uint64_t size)
	: error_(error)
{
	error->status = status;
	error->offset = offset;
	error->size = size;
	error->message[0] = 0;
}

void ErrorMessage::put(char letter)
{
	if (length_ + 1 >= sizeof error_->message)
		return;
	error_->message[length_++] = letter;
	error_->message[length_] = 0;
}

ErrorMessage& ErrorMessage::operator<<(const char* text)
{
	for (; *text; ++text)
		put(*text);
	return *this;
}

ErrorMessage& ErrorMessage::operator<<(uint64_t number)
{
	char digits[20];
	int count = 0;
	do
		digits[count++] = char('0' + number % 10);
	while (number /= 10);
	while (count)
		put(digits[--count]);
	return *this;
}

ErrorMessage& ErrorMessage::operator<<(double number)
{
	if (!(number == number))
		return *this << "not a number";
	if (number < 0)
		put('-'), number = -number;
	if (number >= MAX_PLAIN_NUMBER || (number > 0 && number < 1e-6))
	{
		uint64_t bits;
		std::memcpy(&bits, &number, sizeof bits);
		const int exponent = int(bits >> 52 & 2047) - 1022;
		if (exponent > 1024)
			return *this << "infinity";
		*this << "about 2^";
		if (exponent < 0)
			put('-');
		return *this << uint64_t(exponent < 0 ? -exponent : exponent);
	}
	// whole part and fraction separately: the number of millionths may exceed 64 bits
	uint64_t whole = uint64_t(number), rest = uint64_t((number - double(whole)) * 1e6 + 0.5);
	*this << whole + rest / 1000000;
	rest %= 1000000;
	if (rest)
		put('.');
	for (uint64_t place = 100000; rest; rest %= place, place /= 10)
		put(char('0' + rest / place));
	return *this;
}

ErrorMessage& ErrorMessage::quote(const void* text, size_t size)
{
	const char* letters = static_cast<const char*>(text);
	put('\'');
	for (size_t i = 0; i < size && i < MAX_QUOTE_BYTES; ++i)
		put(letters[i] >= ' ' && letters[i] <= '~' ? letters[i] : '?');
	put('\'');
	return *this;
}

bool no_memory(mocpack_Error* error, const char* what, uint64_t offset)
{
	ErrorMessage(error, MOCPACK_NO_MEMORY, offset)
		<< what << ": needs more memory than the limit allows or the system has";
	return false;
}

} // namespace mocpack
