// What the columns of a lossless payload are, and which of them tell about which.
#pragma once
#include "coding/series.h"
#include "reader/motion.h"

namespace mocpack
{

// A column's owner: a joint of the codec's tree, and whether it is of its translation or its rotation. -1
// ends.
struct LosslessColumns
{
	size_t count;
	int32_t* joints;	// (count)
	uint8_t* is_places; // (count)
};

// The columns of channels, and of rotations and translations; false where there is no memory.
bool channel_columns(const mocpack_Motion& motion, LosslessColumns* columns, Memory* memory);
bool motion_columns(const mocpack_Motion& motion, LosslessColumns* columns, Memory* memory);

// How a series of some of these columns is predicted.
struct SeriesGroups
{
	mocpack_SeriesModel model;
};

// Groups columns by joint, and relates groups along the skeleton; false where there is no memory.
bool relate_columns(const mocpack_Motion& motion, const LosslessColumns& columns, const int32_t* chosen,
					size_t chosen_count, SeriesGroups* groups, Memory* memory);

// A row of the source's channels in metres and radians.
void scale_channels(const mocpack_Motion& motion, const double* row, double degree, double* out);

} // namespace mocpack
