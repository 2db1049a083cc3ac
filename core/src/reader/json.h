// Whether text is a JSON object in UTF-8; nothing of it is understood here but the name of its first entry.
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
	const uint8_t* first_name; // as it stands between its quotes; null where the object is empty
	size_t first_name_size;
};

JsonObject read_json_object(const uint8_t* text, size_t size);

} // namespace mocpack
