// What the columns of a lossless payload are, and which of them tell about which.
#pragma once
#include "coding/series.h"
#include "reader/motion.h"

namespace mocpack
{

// A column's owner: a joint of the codec's tree, and whether it is of its translation or its rotation.
struct LosslessColumns
{
	size_t count;
	const int32_t* joints;	  // (count)
	const uint8_t* is_places; // (count)
};

// What a lossless payload is decoded with: the columns of its matrices, and how their joints relate.
struct LosslessShape
{
	uint64_t frame_count;
	size_t joint_count;		 // of the codec's tree; of a mesh, its vertices, which have no parents
	const int32_t* parents;	 // (joint_count) each before its children, -1 for none
	const int32_t* mirrored; // (joint_count) the joint on the other side, -1 for none
	LosslessColumns channels;
	LosslessColumns motion; // rotations, then translations; of a mesh, the coordinates of its vertices
	bool is_mesh;			// a payload of a mesh is `motion` alone, without the byte that says what it holds
};

// The shape of the motion of a file; false where there is no memory.
bool lossless_shape(const mocpack_Motion& motion, LosslessShape* shape, Memory* memory);

// The columns of rotations and translations; false where there is no memory.
bool motion_columns(const mocpack_Skeleton& tree, LosslessColumns* columns, Memory* memory);

// Finds each joint's mirror image by its name of at most MAX_JOINT_NAME_BYTES bytes: (count), -1 for none.
// False where there is no memory.
const size_t MAX_JOINT_NAME_BYTES = 255 + 16; // with a number that makes it unique
bool mirror_joints(const mocpack_Text* names, size_t count, int32_t* mirrored, Memory* memory);

// Decodes a payload, which stands at `offset` of its file: channels, motion, or both. False, and an error,
// where it cannot be.
bool read_lossless_payload(const LosslessShape& shape, const uint8_t* payload, size_t size, uint64_t offset,
						   Memory* memory, LosslessPayload* out, mocpack_Error* error);

// How a series of some of these columns is predicted.
struct SeriesGroups
{
	mocpack_SeriesModel model;
};

// Groups columns by joint, and relates groups along the skeleton; false where there is no memory.
bool group_columns(const LosslessShape& shape, const LosslessColumns& columns, const int32_t* chosen,
					size_t chosen_count, SeriesGroups* groups, Memory* memory);

// A row of the source's channels in metres and radians.
void scale_channels(const mocpack_Motion& motion, const double* row, double degree, double* out);

} // namespace mocpack
