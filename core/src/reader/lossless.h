// The columns of a lossless payload, and how they predict each other.
#pragma once
#include "entropy/series.h"
#include "reader/motion.h"

namespace mocpack
{

// The joint of each column, and whether the column belongs to its translation or its rotation.
struct LosslessColumns
{
	size_t count;
	const int32_t* joints;	  // (count)
	const uint8_t* is_places; // (count)
};

// The layout of a payload: columns of the matrices and relations of joints.
struct LosslessShape
{
	uint64_t frame_count;
	size_t joint_count;		 // of the codec's tree; for a mesh, its vertices, which have no parents
	const int32_t* parents;	 // (joint_count) parents come first; -1 for none
	const int32_t* mirrored; // (joint_count) the joint on the other side of the body, -1 for none
	LosslessColumns channels;
	LosslessColumns motion; // rotations, then translations; for a mesh, vertex coordinates
	bool is_mesh;			// the payload has only `motion`, and no leading byte for its kind
};

// Describes the motion of a file; false if out of memory.
bool lossless_shape(const mocpack_Motion& motion, LosslessShape* shape, Memory* memory);

// Lists the columns of rotations and translations; false if out of memory.
bool motion_columns(const mocpack_Skeleton& tree, LosslessColumns* columns, Memory* memory);

// Finds each joint's mirror image by name: (count), -1 for none. Names have at most MAX_JOINT_NAME_BYTES
// bytes. False if out of memory.
const size_t MAX_JOINT_NAME_BYTES = 255 + 16; // including a number that makes it unique
bool mirror_joints(const mocpack_Text* names, size_t count, int32_t* mirrored, Memory* memory);

// Decodes a payload at `offset` of its file: channels, motion, or both. Returns false and sets the error on
// failure.
bool read_lossless_payload(const LosslessShape& shape, const uint8_t* payload, size_t size, uint64_t offset,
						   Memory* memory, LosslessPayload* out, mocpack_Error* error);

// The prediction model of a series of columns.
struct SeriesGroups
{
	mocpack_SeriesModel model;
};

// Groups columns by joint and relates the groups along the skeleton; false if out of memory.
bool group_columns(const LosslessShape& shape, const LosslessColumns& columns, const int32_t* chosen,
				   size_t chosen_count, SeriesGroups* groups, Memory* memory);

// Converts a row of source channels to meters and radians.
void scale_channels(const mocpack_Motion& motion, const double* row, double degree, double* out);

} // namespace mocpack
