// Validates JSON objects in UTF-8.
#include "reader/json.h"

namespace mocpack
{

// Rejects surrogates and overlong encodings.
bool is_utf8(const uint8_t* at, size_t size)
{
	const uint8_t* end = at + size;
	while (at < end)
	{
		int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : -1;
		if (more < 0 || end - at <= more)
			return false;
		if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
			(*at == 0xf4 && at[1] > 0x8f))
			return false;
		for (++at; more > 0; --more, ++at)
			if ((*at & 0xc0) != 0x80)
				return false;
	}
	return true;
}

namespace
{

const int MAX_LEVELS = 100; // of nested objects and arrays, including the outermost

const int64_t END_EXPONENT = 308; // numbers are smaller than ten to this power
const int64_t MAX_EXPONENT = 1000000000;

bool is_digit(uint8_t letter)
{
	return letter >= '0' && letter <= '9';
}

class Json
{
  public:
	Json(const uint8_t* text, size_t size) : at_(text), end_(text + size)
	{
	}

	JsonObject object()
	{
		JsonObject found = {false, true, nullptr, 0};
		skip();
		if (at_ == end_ || *at_ != '{')
			return found;
		first_ = &found;
		found.good = value(0);
		skip();
		found.good = found.good && at_ == end_;
		return found;
	}

  private:
	const uint8_t *at_, *end_;
	JsonObject* first_;

	void skip()
	{
		while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r'))
			++at_;
	}

	bool take(char letter)
	{
		skip();
		if (at_ == end_ || *at_ != uint8_t(letter))
			return false;
		++at_;
		return true;
	}

	bool word(const char* letters)
	{
		const uint8_t* at = at_;
		for (; *letters; ++letters, ++at)
			if (at == end_ || *at != uint8_t(*letters))
				return false;
		at_ = at;
		return true;
	}

	bool value(int depth)
	{
		skip();
		if (at_ == end_)
			return false;
		if (*at_ == '{')
			return members(depth);
		if (*at_ == '[')
			return elements(depth);
		if (*at_ == '"')
			return string();
		return word("true") || word("false") || word("null") || number();
	}

	bool members(int depth)
	{
		if (depth >= MAX_LEVELS)
			return false;
		++at_;
		if (take('}'))
			return true;
		do
		{
			skip();
			const uint8_t* name = at_ + 1;
			if (!string())
				return false;
			if (first_->empty)
				first_->empty = false, first_->first_name = name,
				first_->first_name_size = size_t(at_ - 1 - name);
			if (!take(':') || !value(depth + 1))
				return false;
		} while (take(','));
		return take('}');
	}

	bool elements(int depth)
	{
		if (depth >= MAX_LEVELS)
			return false;
		++at_;
		if (take(']'))
			return true;
		do
			if (!value(depth + 1))
				return false;
		while (take(','));
		return take(']');
	}

	bool string()
	{
		if (at_ == end_ || *at_ != '"')
			return false;
		for (++at_; at_ < end_ && *at_ != '"'; ++at_)
		{
			if (*at_ < ' ')
				return false;
			if (*at_ == '\\' && !escape())
				return false;
		}
		if (at_ == end_)
			return false;
		++at_;
		return true;
	}

	// Leaves the place at the last letter of the escape.
	bool escape()
	{
		if (++at_ == end_)
			return false;
		if (*at_ != 'u')
		{
			for (const char* known = "\"\\/bfnrt"; *known; ++known)
				if (*at_ == uint8_t(*known))
					return true;
			return false;
		}
		uint32_t code = unit();
		if (code < 0xd800 || code > 0xdfff)
			return code != NO_UNIT;
		// the first half of a pair: the second one follows
		if (code > 0xdbff || end_ - at_ < 3 || at_[1] != '\\' || at_[2] != 'u')
			return false;
		at_ += 2;
		code = unit();
		return code >= 0xdc00 && code <= 0xdfff;
	}

	static const uint32_t NO_UNIT = 0x10000;

	// Four hexadecimal digits after the place, which is left at the last one; NO_UNIT if there are none.
	uint32_t unit()
	{
		uint32_t code = 0;
		for (int i = 0; i < 4; ++i)
		{
			if (++at_ >= end_)
				return NO_UNIT;
			uint8_t letter = uint8_t(*at_ | 32);
			if (!is_digit(*at_) && !(letter >= 'a' && letter <= 'f'))
				return NO_UNIT;
			code = code << 4 | uint32_t(is_digit(*at_) ? *at_ - '0' : letter - 'a' + 10);
		}
		return code;
	}

	bool digits()
	{
		const uint8_t* start = at_;
		while (at_ < end_ && is_digit(*at_))
			++at_;
		return at_ > start;
	}

	bool number()
	{
		if (*at_ == '-')
			++at_;
		const uint8_t* start = at_;
		if (at_ < end_ && *at_ == '0')
			++at_;
		else if (!digits())
			return false;
		const uint8_t* point = at_;
		if (at_ < end_ && *at_ == '.' && !(++at_, digits()))
			return false;
		const uint8_t* stop = at_;
		int64_t exponent = 0;
		if (at_ < end_ && (*at_ | 32) == 'e' && !read_exponent(&exponent))
			return false;
		return is_in_range(start, point, stop, exponent);
	}

	bool read_exponent(int64_t* exponent)
	{
		++at_;
		bool negative = at_ < end_ && *at_ == '-';
		if (at_ < end_ && (*at_ == '+' || *at_ == '-'))
			++at_;
		const uint8_t* at = at_;
		if (!digits())
			return false;
		for (; at < at_; ++at)
			*exponent = *exponent < MAX_EXPONENT ? 10 * *exponent + (*at - '0') : *exponent;
		*exponent = negative ? -*exponent : *exponent;
		return true;
	}

	// Whether a number of these digits is small enough: `point` is where the whole ones end.
	static bool is_in_range(const uint8_t* start, const uint8_t* point, const uint8_t* stop, int64_t exponent)
	{
		const uint8_t* first = start;
		while (first < stop && (*first == '0' || *first == '.'))
			++first;
		if (first == stop)
			return true;
		exponent += first < point ? point - first - 1 : point - first;
		return exponent < END_EXPONENT;
	}
};

} // namespace

JsonObject read_json_object(const uint8_t* text, size_t size)
{
	if (!is_utf8(text, size))
		return {false, true, nullptr, 0};
	return Json(text, size).object();
}

} // namespace mocpack
