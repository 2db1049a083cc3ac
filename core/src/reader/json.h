// Validates that text is a JSON object in UTF-8, and finds the name of its first member.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

bool is_utf8(const uint8_t* text, size_t size);

struct JsonObject
{
	bool good;
	bool empty;
	const uint8_t* first_name; // between its quotes, not unescaped; null if the object is empty
	size_t first_name_size;
};

JsonObject read_json_object(const uint8_t* text, size_t size);

} // namespace mocpack
