// Whether text is a JSON object in UTF-8.
#include "reader/json.h"

namespace mocpack
{

// In which no half of a surrogate pair and no longer form than needed may stand.
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

const int DEEPEST = 500;

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
		if (at_ == end_ || depth > DEEPEST)
			return false;
		if (*at_ == '{')
			return members(depth);
		if (*at_ == '[')
			return elements(depth);
		if (*at_ == '"')
			return string();
		// the last three are no JSON, but Python writes and reads them
		return word("true") || word("false") || word("null") || word("NaN") || word("Infinity") ||
			   word("-Infinity") || number();
	}

	bool members(int depth)
	{
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
		for (int i = 0; i < 4; ++i)
		{
			if (++at_ == end_)
				return false;
			bool digit = *at_ >= '0' && *at_ <= '9';
			if (!digit && !((*at_ | 32) >= 'a' && (*at_ | 32) <= 'f'))
				return false;
		}
		return true;
	}

	bool digits()
	{
		const uint8_t* start = at_;
		while (at_ < end_ && *at_ >= '0' && *at_ <= '9')
			++at_;
		return at_ > start;
	}

	bool number()
	{
		if (*at_ == '-')
			++at_;
		if (at_ < end_ && *at_ == '0')
			++at_;
		else if (!digits())
			return false;
		if (at_ < end_ && *at_ == '.' && !(++at_, digits()))
			return false;
		if (at_ < end_ && (*at_ | 32) == 'e')
		{
			++at_;
			if (at_ < end_ && (*at_ == '+' || *at_ == '-'))
				++at_;
			return digits();
		}
		return true;
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
