// Decodes groups in grid mode.
#pragma once
#include "keysine/format/grid.h"
#include "keysine/format/head.h"

namespace mocpack
{
namespace keysine
{

// Memory to decode a group in grid mode.
struct GridGroup
{
	GridSeries series;
	int32_t stride;
	int32_t* numbers; // (2, channels): the previous frame, then the current one
	uint8_t* finer;	  // (tracks)
	double* curves;	  // (channels, stride)

	GridGroup(const mocpack_KeysineHead& head, Arena* arena);
};

// Decodes the curves of `length` frames from the body of a group; the first frame is the key pose.
mocpack_Status read_grid(const mocpack_KeysineHead& head, const int32_t* key, int32_t length,
						 const uint8_t* body, size_t size, GridGroup* group);

} // namespace keysine
} // namespace mocpack
