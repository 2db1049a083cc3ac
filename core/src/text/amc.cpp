// Parses Acclaim motion: a frame number, then one line per bone.
#include <algorithm>
#include <cstring>

#include "text/amc.h"
#include "text/numbers.h"

namespace
{

const size_t max_frame_number_digits = 15;

bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c)
{
	return unsigned(c - '0') < 10u;
}

// One line without its comment and surrounding white space.
struct Line
{
	const char* begin;
	const char* end;
	const char* start; // of the whole line, for errors

	bool empty() const
	{
		return begin == end;
	}

	// Returns the end of the first word.
	const char* word_end() const
	{
		const char* at = begin;
		while (at < end && !is_space(*at))
			++at;
		return at;
	}

	bool is_number() const
	{
		return !empty() && std::all_of(begin, end, is_digit);
	}
};

struct Lines
{
	const char* at;
	const char* stop;

	bool next(Line* line)
	{
		while (at < stop)
		{
			const char* newline = static_cast<const char*>(memchr(at, '\n', size_t(stop - at)));
			const char* end = newline ? newline : stop;
			line->start = at;
			line->begin = at;
			at = newline ? newline + 1 : stop;
			const void* comment = memchr(line->begin, '#', size_t(end - line->begin));
			line->end = comment ? static_cast<const char*>(comment) : end;
			while (line->begin < line->end && is_space(*line->begin))
				++line->begin;
			while (line->begin < line->end && is_space(line->end[-1]))
				--line->end;
			if (!line->empty())
				return true;
		}
		return false;
	}
};

struct Name
{
	const char* begin;
	size_t size;
};

Name name_of(const mocpack_amc_bones& bones, uint32_t bone)
{
	return {bones.names + bones.starts[bone], bones.starts[bone + 1] - bones.starts[bone]};
}

int compare(Name a, Name b)
{
	int way = memcmp(a.begin, b.begin, std::min(a.size, b.size));
	return way ? way : a.size < b.size ? -1 : a.size > b.size;
}

// Returns the bone with this name, or the bone count. Tries `likely` first, because frames repeat one order.
uint32_t find_bone(const mocpack_amc_bones& bones, Name name, uint32_t likely)
{
	if (likely < bones.count && compare(name_of(bones, likely), name) == 0)
		return likely;
	const uint32_t* end = bones.by_name + bones.count;
	const uint32_t* found = std::lower_bound(bones.by_name, end, name, [&](uint32_t bone, Name wanted)
											 { return compare(name_of(bones, bone), wanted) < 0; });
	return found != end && compare(name_of(bones, *found), name) == 0 ? *found : bones.count;
}

bool read_frame_number(const Line& line, uint64_t* number)
{
	if (!line.is_number() || size_t(line.end - line.begin) > max_frame_number_digits)
		return false;
	*number = 0;
	for (const char* at = line.begin; at < line.end; ++at)
		*number = *number * 10 + uint64_t(*at - '0');
	return true;
}

class Motion
{
  public:
	Motion(const mocpack_amc_bones& bones, bool complete, double* values, uint64_t* seen)
		: bones_(bones), complete_(complete), values_(values), seen_(seen)
	{
		std::fill(seen, seen + bones.count, 0);
		for (uint32_t bone = 0; bone < bones.count; ++bone)
			wanted_ += bones.columns[bone] < bones.columns[bone + 1];
	}

	void begin_frame()
	{
		size_t width = bones_.columns[bones_.count];
		double* row = values_ + frame_ * width;
		if (frame_)
			memcpy(row, row - width, width * sizeof *row);
		else
			std::fill(row, row + width, 0.0);
		row_ = row;
		++frame_;
		given_ = 0;
	}

	int read_bone(const Line& line)
	{
		const char* name_end = line.word_end();
		uint32_t bone = find_bone(bones_, {line.begin, size_t(name_end - line.begin)}, likely_);
		if (bone == bones_.count)
			return MOCPACK_AMC_BAD_BONE;
		likely_ = bone + 1 < bones_.count ? bone + 1 : 0;
		size_t first = bones_.columns[bone], count = bones_.columns[bone + 1] - first, end = 0;
		size_t size = size_t(line.end - name_end);
		size_t read = mocpack_parse_numbers(name_end, size, row_ + first, count, &end);
		if (read < count || end < size)
			return MOCPACK_AMC_BAD_BONE;
		if (!count)
			return MOCPACK_AMC_OK;
		bool twice = seen_[bone] == frame_;
		seen_[bone] = frame_;
		++given_;
		return twice ? MOCPACK_AMC_BONE_TWICE : MOCPACK_AMC_OK;
	}

	int end_frame() const
	{
		return complete_ && given_ < wanted_ ? MOCPACK_AMC_BONE_MISSING : MOCPACK_AMC_OK;
	}

	size_t frames() const
	{
		return frame_;
	}

  private:
	const mocpack_amc_bones& bones_;
	bool complete_;
	double* values_;
	uint64_t* seen_;
	double* row_ = nullptr;
	size_t frame_ = 0;
	uint32_t likely_ = 0, wanted_ = 0, given_ = 0;
};

} // namespace

size_t mocpack_count_amc_frames(const char* text, size_t size)
{
	Lines lines = {text, text + size};
	Line line;
	size_t count = 0;
	while (lines.next(&line))
		count += line.is_number();
	return count;
}

int mocpack_parse_amc(const char* text, size_t size, const mocpack_amc_bones* bones, int complete,
					  double* values, size_t capacity, uint64_t* seen, size_t* frames, size_t* fault)
{
	Motion motion(*bones, complete != 0, values, seen);
	Lines lines = {text, text + size};
	Line line;
	const char* frame_line = text;
	uint64_t number = 0, expected = 0;
	int status = MOCPACK_AMC_OK;
	const char* bad = text;
	while (status == MOCPACK_AMC_OK && lines.next(&line))
	{
		if (motion.frames() && !line.is_number())
		{
			status = motion.read_bone(line);
			bad = status == MOCPACK_AMC_BAD_BONE ? line.start : frame_line;
			continue;
		}
		bad = frame_line;
		if (motion.frames() && (status = motion.end_frame()) != MOCPACK_AMC_OK)
			break;
		bad = line.start;
		if (!read_frame_number(line, &number) || (motion.frames() && number != expected))
			status = MOCPACK_AMC_BAD_NUMBER;
		else if (motion.frames() == capacity)
			break;
		else
		{
			motion.begin_frame();
			frame_line = line.start;
			expected = number + 1;
		}
	}
	if (status == MOCPACK_AMC_OK && motion.frames())
	{
		status = motion.end_frame();
		bad = frame_line;
	}
	*fault = size_t(bad - text);
	bool whole = status == MOCPACK_AMC_OK || status == MOCPACK_AMC_BAD_NUMBER;
	*frames = motion.frames() - !whole;
	return status;
}
