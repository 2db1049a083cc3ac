// mocpack core: the kernels shared by the Python package, the viewer and anyone's C program.
//
// C ABI, C++17 inside, no dependencies, no exceptions, no globals; memory is the caller's.
// Encoders return the bytes written, 0 if `dst` is too small. Decoders return a mocpack_Status and
// are safe on untrusted bytes: they read nothing past `src` and write nothing past `dst`.
// Lengths are metres, angles radians, quaternions (x, y, z, w); arrays are dense, frame-major.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_Status
	{
		MOCPACK_OK = 0,
		MOCPACK_TRUNCATED = -1, // the input ends before the decoder is done
		MOCPACK_CORRUPT = -2,	// the input contradicts its specification
		MOCPACK_NO_MEMORY = -3, // the caller's buffer or scratch is too small
	} mocpack_Status;

	// A skeleton as the kernels see it. Parents come before their children; parents[0] is -1.
	typedef struct mocpack_Skeleton
	{
		size_t joint_count;
		const int32_t* parents; // (J)
		const double* offsets;	// (J, 3) rest position in the parent's frame
		size_t end_count;
		const int32_t* end_joints; // (E) joint that carries the end site
		const double* end_sites;   // (E, 3) in that joint's frame
		size_t translated_count;
		const int32_t* translated_joints; // (M) increasing; their translation replaces the offset
	} mocpack_Skeleton;

	/* Forward kinematics of `frames` poses (kinematics.cpp).
	 *
	 * rotations (T, J, 4) local unit quaternions; translations (T, M, 3).
	 * positions (T, J, 3) receives world positions; world_rotations (T, J, 4), world rotations, may be null.
	 */
	void mocpack_forward_kinematics(const mocpack_Skeleton* skeleton, const double* rotations,
									const double* translations, size_t frames, double* positions,
									double* world_rotations);

	// What mocpack_clip_errors found, in metres. The promised error is the largest displacement of joint
	// centres, end sites and the points `shell` metres along the three axes of each joint's own frame.
	typedef struct mocpack_ClipErrors
	{
		double promised_max;
		double joint_max;
		double joint_mean;
		double joint_rms;
		int64_t worst_frame; // of promised_max
		int64_t worst_joint;
	} mocpack_ClipErrors;

	/* Compare two motions of one skeleton without writing their points out (clip_errors.cpp).
	 *
	 * frame_max (T) and joint_max (J) receive the promised error by frame and by joint; each may be null.
	 * scratch is of mocpack_clip_errors_scratch_size(J) bytes, aligned as malloc aligns. */
	size_t mocpack_clip_errors_scratch_size(size_t joint_count);
	void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
							 const double* translations_a, const double* rotations_b,
							 const double* translations_b, size_t frames, double shell, void* scratch,
							 mocpack_ClipErrors* errors, double* frame_max, double* joint_max);

	/* Make quaternions (T, J, 4) unit and continuous in time, in place (quaternions.cpp).
	 *
	 * Each takes the sign nearest to the frame before. Returns -1, or the index of the first quaternion
	 * that is not finite or whose length is further than `tolerance` from 1. */
	int64_t mocpack_settle_rotations(double* rotations, size_t frames, size_t joints, double tolerance);

	// How the columns of a matrix of degrees of freedom turn the joints of a skeleton.
	typedef struct mocpack_Channels
	{
		size_t joint_count;
		size_t column_count;
		const int8_t* axes;		// (J, 3) axes 0..2 that a joint turns about, all different, outermost first;
								// then -1
		const int32_t* columns; // (J, 3) column of each angle, below column_count
		const double* frames;	// (J, 4) unit quaternion of the frame in which the joint turns
	} mocpack_Channels;

	/* Euler angles to rotations (channels.cpp).
	 *
	 * matrix (T, column_count), radians; rotations (T, J, 4) receives local unit quaternions. */
	void mocpack_channels_to_rotations(const mocpack_Channels* channels, const double* matrix, size_t frames,
									   double* rotations);

	/* Read numbers separated by white space (numbers.cpp), each to the nearest double.
	 *
	 * Stops at the end of `text`, after `capacity` numbers, or at the first token that is not a finite
	 * decimal number. Returns how many were read; *end receives the offset where reading stopped: the end
	 * of the text, or the start of the next token. */
	size_t mocpack_parse_numbers(const char* text, size_t size, double* values, size_t capacity, size_t* end);

	/* Print numbers separated by spaces (print_numbers.cpp), never in e-notation, zeros at the end dropped.
	 *
	 * decimals (count) says to how many decimals each is rounded; -1 for the shortest text that reads back as
	 * the same double. Values must be finite. dst needs MOCPACK_PRINTED_MAX bytes for each number at most. */
	enum
	{
		MOCPACK_PRINTED_MAX = 1100
	};
	size_t mocpack_print_numbers(const double* values, const int32_t* decimals, size_t count, char* dst,
								 size_t dst_size);

	/* Planes of integers (rows, columns) with adaptive contexts (planes.cpp).
	 *
	 * classes (columns) names the statistics each column shares, below class_count.
	 * models is scratch of mocpack_planes_models_size(class_count) bytes, aligned as malloc aligns.
	 * dst needs mocpack_planes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_planes_models_size(size_t class_count);
	size_t mocpack_planes_bound(size_t rows, size_t columns);
	size_t mocpack_planes_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 size_t columns, const uint16_t* classes, size_t class_count, void* models);
	mocpack_Status mocpack_planes_decode(int32_t* values, size_t rows, size_t columns,
										 const uint16_t* classes, size_t class_count, void* models,
										 const uint8_t* src, size_t src_size);

	// How the columns of a series are predicted: by least squares over recent differences of some columns.
	typedef struct mocpack_SeriesModel
	{
		size_t column_count;
		size_t predictor_count;	  // of each column, at most 6
		const double* forgetting; // (P) what each keeps of its past at each row, 0 to 1
		const uint32_t* starts;	  // (C * P + 1) first feature of each column's each predictor; 64 at most
		const int32_t* columns;	  // of each feature; lag 0 only of columns before
		const uint8_t* lags;	  // of each feature: rows before this one, at most 7
	} mocpack_SeriesModel;

	/* Series of integers (rows, columns) that follow a motion (series.cpp).
	 *
	 * mocpack_series_valid says whether a model keeps the limits above; the others trust it.
	 * scratch needs mocpack_series_scratch_size(model) bytes, aligned as malloc aligns.
	 * dst needs mocpack_series_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	int mocpack_series_valid(const mocpack_SeriesModel* model);
	size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model);
	size_t mocpack_series_bound(size_t rows, size_t columns);
	size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 const mocpack_SeriesModel* model, void* scratch);
	mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
										 void* scratch, const uint8_t* src, size_t src_size);

	/* Rows of body animation parameters, indexed and sparse (bap.cpp; docs/codecs/bap-index.md).
	 *
	 * A row holds a code for each column: float32 for the `fixed` first ones, and for the others the number
	 * of a table entry in 1 byte (bits <= 8) or 2, or float32 too where bits is 0. Columns from first_masked
	 * on have a code only if their bit is set in the mask before the codes, one bit a column, lowest first;
	 * where first_masked equals columns there is no mask. table has 2^bits entries, ascending; bits is at
	 * most 16. */
	typedef struct mocpack_BapRows
	{
		size_t columns;
		size_t fixed;
		size_t first_masked;
		int bits;
		const float* table;
	} mocpack_BapRows;

	// How rows are chosen. A column is let through when its change is further from means[column] than
	// limits[column]; a negative limit lets all through, and columns without a mask bit must have one.
	typedef struct mocpack_BapEncoder
	{
		int closed_loop;
		const double* means;
		const double* limits;
	} mocpack_BapEncoder;

	enum
	{
		MOCPACK_BAP_LEVELS = 64 // the largest level of a column; 1 is the least
	};

	/* Sort differences (rows, columns) into 2^bits buckets of equal frequency, and average each.
	 *
	 * Numbers are rounded to 1 / resolution; equal ones share a bucket. A bucket's entry is the mean of its
	 * numbers weighted by levels[column]^-eta; with eta infinite, of those of its least level alone.
	 * scratch has mocpack_bap_scratch_size bytes, aligned as malloc aligns. table (2^bits) receives the
	 * entries, ascending; indices (rows, columns) the bucket of each number. */
	size_t mocpack_bap_scratch_size(size_t rows, size_t columns);
	void mocpack_bap_lookup(const double* differences, size_t rows, size_t columns, const int32_t* levels,
							int bits, double resolution, double eta, void* scratch, float* table,
							uint16_t* indices);

	/* Write `count` rows. Returns the bytes written, at most mocpack_bap_rows_bound, which dst must have.
	 *
	 * Open loop: values (count, columns) are differences, indices (count, columns - fixed) their buckets, and
	 * state (columns) what is frozen so far, 0 at the start. Closed loop: values are positions, indices may
	 * be null, and state is where the decoder has each column, the initial pose at the start. */
	size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count);
	size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
								   const double* values, const uint16_t* indices, size_t count,
								   double* state);

	/* Read `count` rows: a table look-up and an addition for each column. Safe on untrusted bytes.
	 *
	 * state (columns) is the pose before, and receives the last; values (count, columns) receives all.
	 * *used receives the bytes read. */
	mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
										   double* state, const uint8_t* src, size_t src_size, size_t* used);

	/* Adaptive order-0 coding of bytes (rows, columns) (bytes.cpp).
	 *
	 * classes (columns) names the statistics each column shares, below class_count.
	 * models is scratch of mocpack_bytes_models_size(class_count) bytes, aligned as malloc aligns.
	 * dst needs mocpack_bytes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_bytes_models_size(size_t class_count);
	size_t mocpack_bytes_bound(size_t rows, size_t columns);
	size_t mocpack_bytes_encode(uint8_t* dst, size_t dst_size, const uint8_t* values, size_t rows,
								size_t columns, const uint16_t* classes, size_t class_count, void* models);
	mocpack_Status mocpack_bytes_decode(uint8_t* values, size_t rows, size_t columns, const uint16_t* classes,
										size_t class_count, void* models, const uint8_t* src,
										size_t src_size);

#ifdef __cplusplus
}
#endif
