// Reads the symbols of groups.
#pragma once
#include "keysine/decode/decode.h"
#include "keysine/format/group.h"
#include "keysine/format/head.h"

namespace mocpack
{
namespace keysine
{

// The symbols of a group, or of all groups of a bundle if there are several layers. Everything is in the
// arena's memory, so that the next call can reuse it.
struct BundleSymbols
{
	GroupSymbols* groups;

	BundleSymbols(const mocpack_KeysineHead& head, Arena* arena)
	{
		const size_t count = head.layer_count > 1 ? BUNDLE_GROUPS : 1;
		groups = arena->allocate<GroupSymbols>(count);
		GroupSymbols own;
		for (size_t i = 0; i < count; ++i)
			lay_out_group(head.plan, head.grouping.longest_group(), groups ? groups + i : &own, arena);
	}
};

// Verifies a group's first layers and reads their first tracks. Coefficients are in half steps if not all
// layers are read. edges (2, channels): key poses at its ends; src and sizes: its parts. `symbols` receives
// the symbols of the group.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const int32_t* edges,
						  const uint8_t* const* src, const size_t* sizes, size_t layer_count,
						  size_t track_count, mocpack_KeysineSineCache* kept, BundleSymbols* bundle,
						  GroupSymbols** symbols);

// Verifies the checksum at the start of a part. Returns the bytes after it, or null.
const uint8_t* verify_checksum(const uint8_t* src, size_t size);

// Replaces coefficients by the middle of their interval, in half steps, if finer layers are missing.
void use_midpoints(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols);

// Coarsens the values (channels, blocks, stride) of a group by the shifts of a layer; null: copies them.
void shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts, int32_t* out);

} // namespace keysine
} // namespace mocpack
