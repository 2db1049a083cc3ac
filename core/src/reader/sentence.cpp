// What went wrong, in a sentence.
#include "reader/sentence.h"

#include <cstring>

namespace mocpack
{

namespace
{

const size_t LONGEST_QUOTE = 40;
const double LARGEST_PLAIN = 1e15;

} // namespace

Sentence::Sentence(mocpack_Error* error, mocpack_Status status, uint64_t offset, uint64_t size)
	: error_(error)
{
	error->status = status;
	error->offset = offset;
	error->size = size;
	error->message[0] = 0;
}

void Sentence::put(char letter)
{
	if (length_ + 1 >= sizeof error_->message)
		return;
	error_->message[length_++] = letter;
	error_->message[length_] = 0;
}

Sentence& Sentence::operator<<(const char* text)
{
	for (; *text; ++text)
		put(*text);
	return *this;
}

Sentence& Sentence::operator<<(uint64_t number)
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

Sentence& Sentence::operator<<(double number)
{
	if (!(number == number))
		return *this << "not a number";
	if (number < 0)
		put('-'), number = -number;
	if (number >= LARGEST_PLAIN || (number > 0 && number < 1e-6))
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
	// whole and fraction apart: millionths of the largest plain numbers exceed 64 bits
	uint64_t whole = uint64_t(number), rest = uint64_t((number - double(whole)) * 1e6 + 0.5);
	*this << whole + rest / 1000000;
	rest %= 1000000;
	if (rest)
		put('.');
	for (uint64_t place = 100000; rest; rest %= place, place /= 10)
		put(char('0' + rest / place));
	return *this;
}

Sentence& Sentence::quote(const void* text, size_t size)
{
	const char* letters = static_cast<const char*>(text);
	put('\'');
	for (size_t i = 0; i < size && i < LONGEST_QUOTE; ++i)
		put(letters[i] >= ' ' && letters[i] <= '~' ? letters[i] : '?');
	put('\'');
	return *this;
}

} // namespace mocpack
