// Writes the bodies of chunks other than the payload (docs/format.md).
#pragma once
#include "common/skeleton.h"
#include "writer/numbers.h"

namespace mocpack
{

const double NO_ERROR_BOUND = -1;

// The HEAD chunk.
struct FileHead
{
	bool has_vertices; // instead of a skeleton
	uint64_t frame_count;
	double frame_time; // seconds
	mocpack_Text codec;
	uint64_t bitstream_version;
	mocpack_Text parameters, needed; // JSON objects or empty; a decoder must know those of `needed`
	// Meters and radians. Negative: not declared or measured.
	double declared_error, measured_errors[4]; // largest, then mean, RMS and 99th percentile of joint centers
	double declared_angle, measured_angle;
};
void write_head(const FileHead& head, FieldWriter* out);

// The SKEL chunk. Unlike the skeleton of a codec, it can have several roots.
struct FileSkeleton
{
	size_t joint_count;
	const mocpack_Text* names;	  // (J)
	const int32_t* parents;		  // (J)
	const mocpack_Text* channels; // (J) bytes below 12 as in SKEL; null: none
	size_t translated_count;
	const int32_t* translated_joints;
	size_t end_count;
	const int32_t* end_joints;
	double unit;			 // meters
	const double* offsets;	 // (J, 3)
	const double* end_sites; // (E, 3)
	const double* axes;		 // (J, 4) frames of channels; null: none
};
void write_skeleton(const FileSkeleton& skeleton, FieldWriter* out);

// The MESH chunk: corners of triangles (3 * triangles).
void write_mesh(uint64_t vertices, const int32_t* corners, size_t triangles, FieldWriter* out);

// The REST chunk: rotations (J, 4).
void write_rest(const double* rotations, size_t joints, FieldWriter* out);
// Rounds rotations (J, 4) to those that a reader of the chunk restores.
void round_rest(const double* rotations, size_t joints, double* rounded);

// The HING chunk. follow_channels: the rows follow from the channels of the skeleton, so that only their
// limits are written.
struct FileHinges
{
	size_t count;
	const int32_t* joints;	   // (H)
	const uint8_t* slides;	   // (H)
	const mocpack_Text* names; // (H)
	const double* axes;		   // (H, 3)
	const double* limits;	   // (H, 2) infinite for none
	bool follow_channels;
};
void write_hinges(const FileHinges& hinges, const mocpack_Text* joint_names, size_t joints, FieldWriter* out);

// The SCAL chunk: constant scales (J, 3), and scales (frames, scaled_count, 3) within half of `step`, 0:
// exact. moving: null if no joint has scales per frame.
void write_scales(const double* constant, size_t joints, const double* moving, size_t frames,
				  const int32_t* scaled_joints, size_t scaled_count, double step, FieldWriter* out);

// The TIME chunk: the time of the first frame; the times of all frames, null if they are even.
void write_times(double start, const double* times, size_t frames, FieldWriter* out);

// The `vald` chunk: valid (frames, J).
void write_gaps(const uint8_t* valid, size_t frames, size_t joints, FieldWriter* out);

// Flags (count) at a distance of `stride`, as a flag series.
void write_flags(const uint8_t* flags, size_t count, size_t stride, FieldWriter* out);

// The `bnds` chunk. All arrays are (J); a bound of 0 on angles is none.
void write_joint_bounds(size_t joints, const double* errors, const double* measured, const double* angles,
						const double* measured_angles, FieldWriter* out);

} // namespace mocpack
