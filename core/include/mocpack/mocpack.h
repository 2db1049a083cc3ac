// mocpack: read and write .mocp files, compressed motion capture with a guaranteed maximum error.
//
//     mocpack_Motion* motion;
//     mocpack_Reader* reader;
//     mocpack_Error error;
//     if (mocpack_open(bytes, size, NULL, &motion, &error) != MOCPACK_OK ||
//         mocpack_reader_open(motion, NULL, &reader, &error) != MOCPACK_OK)
//         return report(error.message);
//     mocpack_Poses pose = mocpack_poses_dense(rotations, translations, mocpack_info(motion)->joint_count);
//     mocpack_sample(reader, seconds, &pose, &error);
//     mocpack_reader_close(reader);
//     mocpack_close(motion);
//
// A motion is an open file. It does not change until it is closed, so any number of threads can share it.
// A reader decodes a motion and caches the last decoded groups. Use one reader per thread.
// Units are meters and seconds; quaternions are (x, y, z, w); space is right-handed with y up. Each joint
// comes after its parent. The library has no exceptions, no globals and no threads. It allocates memory only
// when a motion or a reader is opened, or while a track is read, with the caller's allocator. Any input bytes
// are safe: calls return a status.
//
// A pointer may be null only where its function says so. Null elsewhere, a time that is not a number and an
// index out of range are MOCPACK_BAD_ARGUMENT, and nothing is written; functions without a status say what
// they return then. Functions that open something set its pointer to null if they fail. docs/embedding.md is
// the guide; docs/format.md specifies the file format.
//
// The last section, encoding, is new in 0.2 and may change until 1.0. All other calls are stable.
#ifndef MOCPACK_H
#define MOCPACK_H

#include <stddef.h>
#include <stdint.h>

#define MOCPACK_VERSION_MAJOR 0
#define MOCPACK_VERSION_MINOR 1
#define MOCPACK_VERSION_PATCH 0
// 10000 major + 100 minor + patch, for #if
#define MOCPACK_VERSION (10000 * MOCPACK_VERSION_MAJOR + 100 * MOCPACK_VERSION_MINOR + MOCPACK_VERSION_PATCH)

#if defined(MOCPACK_SHARED) && defined(_WIN32)
#ifdef MOCPACK_BUILDING
#define MOCPACK_API __declspec(dllexport)
#else
#define MOCPACK_API __declspec(dllimport)
#endif
#elif defined(MOCPACK_SHARED) && defined(__GNUC__)
#define MOCPACK_API __attribute__((visibility("default")))
#else
#define MOCPACK_API
#endif

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_Status
	{
		MOCPACK_OK = 0,
		MOCPACK_TRUNCATED = -1,		// the file, or a part of it, ends too early
		MOCPACK_CORRUPT = -2,		// a checksum is wrong, or the file violates the format
		MOCPACK_NO_MEMORY = -3,		// the memory limit or the caller's memory is too small
		MOCPACK_BOUND_NOT_MET = -4, // no encoding keeps the error bound; only mocpack_encode returns it
		MOCPACK_NOT_MOCPACK = -5,	// the file does not start as a .mocp file does
		MOCPACK_UNSUPPORTED = -6,	// the file needs a newer library, or a codec that this library lacks
		MOCPACK_READ_FAILED = -7,	// the read callback failed
		MOCPACK_NEEDS_BYTES = -8,	// the read callback does not have the bytes yet: fetch them, call again
		MOCPACK_BAD_ARGUMENT = -9,	// the caller passed an invalid argument
		MOCPACK_CANCELED = -10,		// the progress callback stopped the call
	} mocpack_Status;

	/* Details of an error. The pointer to it may always be null. It is written only when the status is
	 * not MOCPACK_OK. */
	typedef struct mocpack_Error
	{
		mocpack_Status status;
		// Position in the file of the damage, or of the bytes that are needed (size is 0 if unknown).
		uint64_t offset, size;
		char message[232]; // one sentence, zero-terminated
	} mocpack_Error;

	typedef struct mocpack_Motion mocpack_Motion; // an open file
	typedef struct mocpack_Reader mocpack_Reader; // decodes a motion, for one thread at a time

	/* Returns the version of the running library, such as "0.1.0". */
	MOCPACK_API const char* mocpack_version(void);

	/* Returns a status as one word: ok, truncated, corrupt, memory, bound, format, unsupported, read, needs,
	 * argument, canceled. */
	MOCPACK_API const char* mocpack_status_name(mocpack_Status status);

	// ---- opening

	/* `allocate` returns memory aligned as by malloc, or null if there is none. `release` gets the size that
	 * was requested. */
	typedef struct mocpack_Allocator
	{
		void* user;
		void* (*allocate)(void* user, size_t size);
		void (*release)(void* user, void* memory, size_t size);
	} mocpack_Allocator;

	/* A file that is read piece by piece. `read` copies bytes offset … offset + size - 1 to dst; they always
	 * lie inside the file. It returns MOCPACK_OK, MOCPACK_READ_FAILED or MOCPACK_NEEDS_BYTES. After
	 * MOCPACK_NEEDS_BYTES, the library call ends with that status and changes nothing. Its error names the
	 * bytes: fetch them and repeat the call. Readers on several threads call `read` concurrently. */
	typedef struct mocpack_Source
	{
		void* user;
		uint64_t size; // of the file
		mocpack_Status (*read)(void* user, uint64_t offset, size_t size, void* dst);
	} mocpack_Source;

	enum
	{
		/* Open a file that ends inside its motion data, if at least its first layer is complete. Every group
		 * plays with its complete layers. Without this flag, such a file is MOCPACK_TRUNCATED. */
		MOCPACK_OPEN_ALLOW_TRUNCATED = 1,
		/* Do not verify the checksum of the motion data when opening from memory. Each part has its own
		 * checksum, which is always verified before decoding. With a source, only those are verified. */
		MOCPACK_OPEN_SKIP_CHECKSUM = 2,
	};

	// Start from MOCPACK_OPEN_OPTIONS, which sets the defaults.
	typedef struct mocpack_OpenOptions
	{
		size_t struct_size;					// size of this struct, set by the macro
		const mocpack_Allocator* allocator; // copied; null: malloc and free
		uint64_t memory_limit;				// maximum bytes for the motion and one reader; 0: 1 GB
		uint32_t flags;
	} mocpack_OpenOptions;
#define MOCPACK_OPEN_OPTIONS {sizeof(mocpack_OpenOptions), NULL, 0, 0}

	/* Opens a file in memory. The bytes are not copied and must outlive the motion; null is an empty file.
	 * `options` may be null. A scene with one clip opens that clip. A scene with several clips is
	 * MOCPACK_BAD_ARGUMENT: use mocpack_scene_open. */
	MOCPACK_API mocpack_Status mocpack_open(const void* bytes, size_t size,
											const mocpack_OpenOptions* options, mocpack_Motion** motion,
											mocpack_Error* error);

	/* Opens a file through a read callback. Opening reads every chunk except the motion data, each in one
	 * piece. The source struct is copied. `options` may be null. */
	MOCPACK_API mocpack_Status mocpack_open_source(const mocpack_Source* source,
												   const mocpack_OpenOptions* options,
												   mocpack_Motion** motion, mocpack_Error* error);

	/* Frees the motion and everything mocpack_info points to. Close its readers first. Null is allowed. */
	MOCPACK_API void mocpack_close(mocpack_Motion* motion);

	// ---- file contents

	// UTF-8, zero-terminated; `size` excludes the terminator. A joint name may be empty or contain zeros.
	typedef struct mocpack_Text
	{
		const char* bytes;
		size_t size;
	} mocpack_Text;

	typedef enum mocpack_TrackKind
	{
		MOCPACK_TRACK_SCALAR = 0,
		MOCPACK_TRACK_FLAG = 1,
		MOCPACK_TRACK_LABEL = 2,
		MOCPACK_TRACK_VEC3 = 3,
		MOCPACK_TRACK_QUATERNION = 4,
	} mocpack_TrackKind;

	// A time series that accompanies the poses. mocpack_track_values returns its samples.
	typedef struct mocpack_Track
	{
		mocpack_Text name, unit;
		mocpack_TrackKind kind;
		int has_times;		 // whether each sample has its own time
		uint64_t count;		 // number of samples
		double frame_time;	 // seconds between samples; 0: as the motion
		double start_time;	 // seconds, time of the first sample
		double bound;		 // maximum error of a sample; 0: exact
		uint64_t chunk_size; // bytes
	} mocpack_Track;

	// One degree of freedom of a joint: it turns about a fixed axis or slides along it. The joint's rotation
	// is its rest rotation, then the rotations about its axes, in the order of its hinges. A sliding joint is
	// at its offset plus the distances along its axes, rotated by the rest rotation.
	typedef struct mocpack_Hinge
	{
		mocpack_Text name; // in the source; may be empty
		int32_t joint;
		int32_t slides;		// 1: slides along the axis, 0: turns about it
		double axis[3];		// unit vector, in the frame after the rest rotation
		double lower_limit; // radians, or meters if it slides; -infinity: no limit
		double upper_limit;
	} mocpack_Hinge;

	typedef enum mocpack_Axis
	{
		MOCPACK_AXIS_Y = 0,
		MOCPACK_AXIS_X = 1,
		MOCPACK_AXIS_Z = 2,
	} mocpack_Axis;

	// A quality layer. Both errors hold for every file cut at `end` or later, and are rounded up. 0: not
	// stated, in files of one layer and in old files with scales, where the stated errors are too small.
	typedef struct mocpack_Layer
	{
		uint64_t end;	   // bytes from the start of the file
		double max_error;  // meters, of every point
		double mean_error; // meters, of joint centers
	} mocpack_Layer;

	// The bounds of one joint: of its center, its shell points and its bone ends. Measured errors are the
	// largest ones of all joints with the same bounds, rounded up.
	typedef struct mocpack_JointBounds
	{
		double max_error, measured_error; // meters
		double max_angle, measured_angle; // radians, of its hinges or its local rotation; negative: no bound
	} mocpack_JointBounds;

	// Everything known about an open file. Pointers are valid until it is closed. Later versions only add
	// fields at the end.
	typedef struct mocpack_Info
	{
		uint64_t frame_count;
		double frame_time;	 // seconds between frames; nominal if `times` is set
		double start_time;	 // seconds, time of the first frame
		const double* times; // (frames) seconds, times of unevenly spaced frames; else null

		size_t joint_count;
		const mocpack_Text* names;		  // (J) may be empty or repeated
		const int32_t* parents;			  // (J) -1 for a root; the first joint is a root
		const double* offsets;			  // (J, 3) rest position in the parent's frame
		const double* rest_rotations;	  // (J, 4) not included in poses; null: all identity
		size_t end_count;				  // number of end sites: ends of the last bones
		const int32_t* end_joints;		  // (E) joint of each end site, increasing
		const double* end_sites;		  // (E, 3) position in that joint's frame
		size_t translated_count;		  // number of joints with a translation per frame
		const int32_t* translated_joints; // (M) increasing
		double unit;					  // meters per length unit of the source file

		mocpack_Text codec;			// keysine, raw or lossless
		uint32_t bitstream_version; // version of the codec's payload
		mocpack_Text parameters;	// encoder parameters, a JSON object; may be empty
		mocpack_Text metadata;		// a valid JSON object in UTF-8; may be empty
		double declared_error; // meters, error bound of every point; negative: none. If joints have bounds
							   // of their own, the largest
		int is_measured;	   // whether the encoder measured these errors:
		double measured_max;   // meters, the guaranteed error; all four are rounded up by at most 0.07 %
		double measured_mean;  // of joint centers
		double measured_rms;
		double measured_p99;
		double declared_angle_error; // radians, error bound of hinge angles and of local rotations; negative:
									 // none
		double measured_angle_error; // radians, as measured by the encoder; negative: no bound declared

		uint64_t key_count;			 // number of key poses, see mocpack_preview
		double keys_error;			 // meters, maximum error with the key poses only
		size_t layer_count;			 // quality layers, at least 1; 0: not a keysine file
		size_t whole_layer_count;	 // layers that are complete; fewer than layer_count in a truncated file
		const mocpack_Layer* layers; // (layer_count)

		int is_looping;		 // whether the clip is meant to loop
		int is_left_handed;	 // coordinate system of the source; poses are always right-handed
		mocpack_Axis up;	 // up axis of the source; poses always have y up
		int is_interpolated; // the source defines motion between frames; error bounds hold there too
		int has_gaps;		 // some joints are missing in some frames, see mocpack_valid_mask
		size_t track_count;
		const mocpack_Track* tracks;

		uint64_t file_size;		// bytes
		uint64_t skeleton_size; // bytes of the skeleton chunk
		uint64_t metadata_size; // bytes of the metadata chunk
		uint64_t missing_size;	// bytes missing from a truncated file

		size_t hinge_count;
		const mocpack_Hinge* hinges; // (H) in the order of the source, not sorted by joint

		const double* scales;		  // (J, 3) constant scales along each joint's own axes; null: all 1
		size_t scaled_count;		  // number of joints with a scale per frame, see mocpack_Poses
		const int32_t* scaled_joints; // (S) increasing

		const mocpack_JointBounds* joint_bounds; // (J) null: all joints have the bounds declared above
	} mocpack_Info;

	/* Returns everything known about a motion; null for null. */
	MOCPACK_API const mocpack_Info* mocpack_info(const mocpack_Motion* motion);

	/* Returns the frame of a key pose: the first frame of a group, or the last frame of the clip, also for a
	 * key out of range. 0 if the motion is null. */
	MOCPACK_API uint64_t mocpack_key_frame(const mocpack_Motion* motion, uint64_t key);

	/* Writes valid (frames, J) for frames first … stop - 1: 1 if the joint was captured, else 0.
	 * `valid` may be null if there are no frames. */
	MOCPACK_API mocpack_Status mocpack_valid_mask(const mocpack_Motion* motion, uint64_t first, uint64_t stop,
												  uint8_t* valid, mocpack_Error* error);

	/* Reads the samples of a track into values (count, width). The width is 1 for scalars, flags (0 or 1) and
	 * labels (an index, see mocpack_track_labels), 3 for vectors, 4 for quaternions (x, y, z, w). times
	 * (count) receives seconds on the motion's clock; may be null. `values` may be null if count is 0.
	 * Allocates memory during the call, within the limit. */
	MOCPACK_API mocpack_Status mocpack_track_values(const mocpack_Motion* motion, size_t track,
													double* values, double* times, mocpack_Error* error);

	/* Lists the distinct labels of a label track. Call it first with both labels and text null to get their
	 * count and the total bytes of their zero-terminated texts. Then call it again to fill labels (count),
	 * which point into text (text_size). */
	MOCPACK_API mocpack_Status mocpack_track_labels(const mocpack_Motion* motion, size_t track, size_t* count,
													size_t* text_size, mocpack_Text* labels, char* text,
													mocpack_Error* error);

	typedef struct mocpack_Range
	{
		uint64_t offset, size; // bytes in the file
	} mocpack_Range;

	/* Lists the byte ranges needed to decode frames first … stop - 1 with this many layers (0: all,
	 * MOCPACK_KEYS_ONLY: none), in file order, with adjacent ranges merged. Use it to fetch data before
	 * decoding. Writes at most `capacity` ranges, none if `ranges` is null, and returns their total number; 0
	 * if the motion is null or the frames are none or outside. */
	MOCPACK_API size_t mocpack_byte_ranges(const mocpack_Motion* motion, uint64_t first, uint64_t stop,
										   uint32_t layers, mocpack_Range* ranges, size_t capacity);

	/* Converts a time to a fractional frame index, clamped to 0 … frame_count - 1. NaN for a time that is
	 * NaN, or if the motion is null. */
	MOCPACK_API double mocpack_frame_at(const mocpack_Motion* motion, double seconds);

	// ---- poses

	typedef enum mocpack_Precision
	{
		MOCPACK_FLOAT32 = 0,
		MOCPACK_FLOAT64 = 1,
	} mocpack_Precision;

	typedef enum mocpack_Space
	{
		MOCPACK_LOCAL = 0, // relative to the parent
		MOCPACK_WORLD = 1,
	} mocpack_Space;

#define MOCPACK_KEYS_ONLY 0xffffffffu

	/* Runs tasks on the caller's threads: `run` calls task(context, index) once for each index below `count`,
	 * in any order, on any thread, and returns when all are done. */
	typedef void (*mocpack_Task)(void* context, size_t index);
	typedef struct mocpack_Executor
	{
		void* user;
		size_t max_concurrency; // maximum tasks at a time; each needs as much memory as a reader
		void (*run)(void* user, mocpack_Task task, void* context, size_t count);
	} mocpack_Executor;

	// Start from MOCPACK_READER_OPTIONS, which sets the defaults.
	typedef struct mocpack_ReaderOptions
	{
		size_t struct_size;				  // size of this struct, set by the macro
		mocpack_Precision precision;	  // of the poses that are written
		mocpack_Space space;			  // of the poses that are written
		size_t cache_size;				  // bytes of decoded groups to keep; at least one group is kept
		uint32_t layers;				  // maximum number to decode; 0: all; MOCPACK_KEYS_ONLY: none
		const int32_t* joints;			  // joints to write, in this order; null: all
		size_t joint_count;				  // length of `joints`
		void* memory;					  // for the reader, aligned as by malloc; null: allocate it
		size_t memory_size;				  // bytes of `memory`, at least mocpack_reader_size
		const mocpack_Executor* executor; // copied; used by mocpack_frames over several groups; null: none
	} mocpack_ReaderOptions;
#define MOCPACK_READER_OPTIONS                                                                               \
	{sizeof(mocpack_ReaderOptions), MOCPACK_FLOAT32, MOCPACK_LOCAL, 0, 0, NULL, 0, NULL, 0, NULL}

	/* Returns the bytes a reader needs; 0 if the options are invalid, the size overflows or the motion is
	 * null. `options` may be null. */
	MOCPACK_API size_t mocpack_reader_size(const mocpack_Motion* motion,
										   const mocpack_ReaderOptions* options);

	/* Creates a reader. It allocates nothing later, and nothing at all if the options provide memory.
	 * `options` may be null. */
	MOCPACK_API mocpack_Status mocpack_reader_open(const mocpack_Motion* motion,
												   const mocpack_ReaderOptions* options,
												   mocpack_Reader** reader, mocpack_Error* error);

	/* Frees a reader, except memory that the caller provided. Null is allowed. */
	MOCPACK_API void mocpack_reader_close(mocpack_Reader* reader);

	/* Layout of an output array, counted in floats or doubles: component c of output joint j in output frame
	 * t is at index t · frame + j · joint + c · component. */
	typedef struct mocpack_Strides
	{
		size_t frame, joint, component;
	} mocpack_Strides;

	typedef struct mocpack_Poses
	{
		void* rotations;	// unit quaternions (x, y, z, w); null: skip
		void* translations; // (x, y, z); the offset for joints without a translation; null: skip
		mocpack_Strides rotation_strides, translation_strides;
		void* scales; // (x, y, z) along the joint's own axes, 1 if unscaled; null: skip
		mocpack_Strides scale_strides;
	} mocpack_Poses;

	/* Two dense arrays: rotations (T, J, 4) and translations (T, J, 3). To receive scales (T, J, 3) as well,
	 * set `scales` of the result. The same holds for the layouts below. */
	static inline mocpack_Poses mocpack_poses_dense(void* rotations, void* translations, size_t joints)
	{
		mocpack_Poses poses = {rotations,		   translations, {4 * joints, 4, 1},
							   {3 * joints, 3, 1}, NULL,		 {3 * joints, 3, 1}};
		return poses;
	}

	/* Structure of arrays: rotations (T, 4, J) and translations (T, 3, J). */
	static inline mocpack_Poses mocpack_poses_soa(void* rotations, void* translations, size_t joints)
	{
		mocpack_Poses poses = {
			rotations, translations,		   {4 * joints, 1, joints}, {3 * joints, 1, joints},
			NULL,	   {3 * joints, 1, joints}};
		return poses;
	}

	/* One array of transforms (T, J, width). Each starts with the rotation; the translation starts at index
	 * `translation_at`. Packed transforms have translation_at 4 and width 7. Null arrays are skipped. */
	static inline mocpack_Poses mocpack_poses_interleaved_f32(float* transforms, size_t joints,
															  size_t translation_at, size_t width)
	{
		mocpack_Poses poses = {transforms,
							   transforms ? transforms + translation_at : NULL,
							   {width * joints, width, 1},
							   {width * joints, width, 1},
							   NULL,
							   {width * joints, width, 1}};
		return poses;
	}

	static inline mocpack_Poses mocpack_poses_interleaved_f64(double* transforms, size_t joints,
															  size_t translation_at, size_t width)
	{
		mocpack_Poses poses = {transforms,
							   transforms ? transforms + translation_at : NULL,
							   {width * joints, width, 1},
							   {width * joints, width, 1},
							   NULL,
							   {width * joints, width, 1}};
		return poses;
	}

	/* Reads frames first … stop - 1. Each quaternion has the sign closer to the previous frame. If the call
	 * fails, `poses` may be partly written. */
	MOCPACK_API mocpack_Status mocpack_frames(mocpack_Reader* reader, uint64_t first, uint64_t stop,
											  const mocpack_Poses* poses, mocpack_Error* error);

	/* Reads the pose at a time in seconds on the motion's clock, clamped to the clip. Local rotations between
	 * frames are interpolated with slerp. */
	MOCPACK_API mocpack_Status mocpack_sample(mocpack_Reader* reader, double seconds,
											  const mocpack_Poses* pose, mocpack_Error* error);

	/* Reads key poses first … stop - 1: about one per second, each within the file's error bound, for a small
	 * part of the bytes and time. mocpack_key_frame returns their frames. */
	MOCPACK_API mocpack_Status mocpack_preview(mocpack_Reader* reader, uint64_t first, uint64_t stop,
											   const mocpack_Poses* poses, mocpack_Error* error);

	/* Computes the hinge angles (frames, H) of poses: radians, or meters for sliding hinges. The poses must
	 * be local, float64 and of all joints, as mocpack_frames can write them. If a rotation is not possible
	 * with the hinges, the closest angles are used. If the limits of a hinge are less than a full turn apart,
	 * its angle is the one closest to their middle. Other angles start within half a turn of 0 and are
	 * unwrapped from frame to frame. Rotations may be null if no hinge turns, translations if none slides.
	 * Writes nothing if they or an argument are null otherwise. */
	MOCPACK_API void mocpack_hinge_angles(const mocpack_Motion* motion, const mocpack_Poses* poses,
										  size_t frames, double* angles);

	// ---- scenes: .mocp files with several clips on one clock

	typedef struct mocpack_Scene mocpack_Scene; // an open scene

	/* Opens a scene from memory or through a read callback. A file with a single clip opens as a scene of one
	 * clip with an empty name. The bytes, or the source's data, must outlive the scene and the motions of its
	 * clips. Null bytes are an empty file. `options` may be null; only its allocator and memory limit are
	 * used. */
	MOCPACK_API mocpack_Status mocpack_scene_open(const void* bytes, size_t size,
												  const mocpack_OpenOptions* options, mocpack_Scene** scene,
												  mocpack_Error* error);
	MOCPACK_API mocpack_Status mocpack_scene_open_source(const mocpack_Source* source,
														 const mocpack_OpenOptions* options,
														 mocpack_Scene** scene, mocpack_Error* error);

	/* Frees the scene. Null is allowed. */
	MOCPACK_API void mocpack_scene_close(mocpack_Scene* scene);

	/* Returns the number of clips; 0 for null. */
	MOCPACK_API size_t mocpack_scene_clip_count(const mocpack_Scene* scene);

	/* Returns the name of a clip, valid while the scene is open; empty if there is no such clip, or for null.
	 */
	MOCPACK_API mocpack_Text mocpack_scene_clip_name(const mocpack_Scene* scene, size_t clip);

	/* Returns the index of a clip by name (UTF-8), or mocpack_scene_clip_count if there is none or the name
	 * is null. */
	MOCPACK_API size_t mocpack_scene_find_clip(const mocpack_Scene* scene, const char* name);

	/* Opens a clip as mocpack_open opens a file. The scene may be closed before the motion. `options` may be
	 * null. */
	MOCPACK_API mocpack_Status mocpack_scene_open_clip(const mocpack_Scene* scene, size_t clip,
													   const mocpack_OpenOptions* options,
													   mocpack_Motion** motion, mocpack_Error* error);

	// ---- archives of many clips (.mocps)

	typedef struct mocpack_Archive mocpack_Archive; // an open archive

	typedef struct mocpack_ArchiveClip
	{
		mocpack_Text name;
		uint64_t frame_count;
		double frame_time;	  // seconds
		uint64_t size;		  // bytes of its .mocp file
		uint64_t shard;		  // 0: stored in this file; k: stored in the k-th shard
		uint64_t offset;	  // position of its stored bytes in that file
		uint64_t stored_size; // number of stored bytes: its .mocp file without the bytes shared between clips
		uint64_t base_offset; // position in its .mocp file where the shared bytes belong
		uint64_t kind;		  // 0: its own file; 1: the same bytes as another clip; others cannot be opened
	} mocpack_ArchiveClip;

	/* Opens an archive. Reads only its footer and its trailer. The source struct is copied; its data must
	 * outlive the archive and the motions of its clips. `options` may be null; only its allocator and memory
	 * limit are used. */
	MOCPACK_API mocpack_Status mocpack_archive_open(const mocpack_Source* source,
													const mocpack_OpenOptions* options,
													mocpack_Archive** archive, mocpack_Error* error);

	/* Frees the archive. Null is allowed. */
	MOCPACK_API void mocpack_archive_close(mocpack_Archive* archive);

	/* Returns the number of clips; 0 for null. */
	MOCPACK_API size_t mocpack_archive_clip_count(const mocpack_Archive* archive);

	/* Returns the index of a clip by name (UTF-8), or mocpack_archive_clip_count if there is none or the name
	 * is null. */
	MOCPACK_API size_t mocpack_archive_find_clip(const mocpack_Archive* archive, const char* name);

	/* Returns the index entry of a clip, valid while the archive is open; null if there is no such clip, or
	 * for null. */
	MOCPACK_API const mocpack_ArchiveClip* mocpack_archive_clip_info(const mocpack_Archive* archive,
																	 size_t clip);

	/* Reads bytes of a clip's original .mocp file. `dst` may be null if `size` is 0. */
	MOCPACK_API mocpack_Status mocpack_archive_read_clip(const mocpack_Archive* archive, size_t clip,
														 uint64_t offset, size_t size, void* dst);

	/* Opens a clip as mocpack_open_source opens a file; `options` may be null. Close the motion before the
	 * archive. A clip in a shard is MOCPACK_UNSUPPORTED: open the shard that the error names, which is an
	 * archive too. */
	MOCPACK_API mocpack_Status mocpack_archive_open_clip(const mocpack_Archive* archive, size_t clip,
														 const mocpack_OpenOptions* options,
														 mocpack_Motion** motion, mocpack_Error* error);

	// ---- encoding: new in 0.2, may change until 1.0. In libraries built with MOCPACK_ENCODER.

	/* The skeleton of a clip to encode. Joint 0 is a root, each joint comes after its parent. Names are UTF-8
	 * of at most 255 bytes. Start from {0}; arrays that may be null say so. */
	typedef struct mocpack_ClipSkeleton
	{
		size_t joint_count;				  // 1 to 65535
		const mocpack_Text* names;		  // (J)
		const int32_t* parents;			  // (J) -1 for a root
		const double* offsets;			  // (J, 3) meters, rest position in the parent's frame
		const double* rest_rotations;	  // (J, 4) not included in poses; null: all identity
		size_t end_count;				  // number of end sites: ends of the last bones
		const int32_t* end_joints;		  // (E) joint of each end site, not decreasing
		const double* end_sites;		  // (E, 3) meters, position in that joint's frame
		size_t translated_count;		  // number of joints with a translation per frame
		const int32_t* translated_joints; // (M) increasing
		size_t hinge_count;
		const mocpack_Hinge* hinges; // (H) of one joint in the order in which they apply, slides first
		double unit; // meters per length unit of the source, for programs that write it back; 0: 1
		/* Channels of the source, for programs that write it back: (J) the bytes of SKEL in docs/format.md,
		 * and (J, 4) the frames in which they rotate. Null: Z, X and Y rotations, and positions of roots;
		 * identity. */
		const mocpack_Text* channels;
		const double* channel_frames;
	} mocpack_ClipSkeleton;

	// A clip to encode, right-handed with y up. Start from {0}; arrays that may be null say so.
	typedef struct mocpack_Clip
	{
		mocpack_ClipSkeleton skeleton;
		uint64_t frame_count;			// at least 1
		double frame_time;				// seconds between frames
		double start_time;				// seconds, time of the first frame
		const double* times;			// (T) seconds, increasing, if frames are uneven; null: even
		const double* rotations;		// (T, J, 4) local quaternions of unit length
		const double* translations;		// (T, M, 3) meters
		const uint8_t* valid;			// (T, J) 0 where a joint was not captured; null: all were
		mocpack_Text metadata;			// a JSON object; may be empty
		int is_looping, is_left_handed; // the coordinate system of the source; poses are always right-handed
		mocpack_Axis up;				// of the source; poses always have y up
	} mocpack_Clip;

	typedef enum mocpack_Effort
	{
		MOCPACK_EFFORT_FAST = 0,
		MOCPACK_EFFORT_DEFAULT = 1, // about ten times as long, smaller files
	} mocpack_Effort;

	// Start from MOCPACK_ENCODE_OPTIONS, which sets the defaults.
	typedef struct mocpack_EncodeOptions
	{
		size_t struct_size;					// size of this struct, set by the macro
		const mocpack_Allocator* allocator; // copied; null: malloc and free
		double max_error;					// meters, of every joint, end site and shell point of every frame
		mocpack_Effort effort;
		int is_streamed;				  // 1: order the payload for players that download it
		const mocpack_Executor* executor; // copied; null: the caller's thread alone
		/* Receives the share of the work that is done, 0 to 1; it may decrease if work is repeated. Called
		 * many times per second, by all threads of the executor. Returns nonzero to cancel the call. May be
		 * null. */
		int (*progress)(void* user, double share);
		void* user;
	} mocpack_EncodeOptions;
#define MOCPACK_ENCODE_OPTIONS                                                                               \
	{sizeof(mocpack_EncodeOptions), NULL, 1e-3, MOCPACK_EFFORT_DEFAULT, 0, NULL, NULL, NULL}

	// A file in memory, and its errors as measured on the decoded file, in meters.
	typedef struct mocpack_EncodedFile
	{
		const uint8_t* bytes;
		size_t size;
		double measured_max;  // of every joint, end site and shell point
		double measured_mean; // of joint centers, and the two below
		double measured_rms;
		double measured_p99;
		void* memory; // for mocpack_encoded_release
	} mocpack_EncodedFile;

	/* Encodes a clip with codec keysine. Decodes the result and measures it before it returns. The file has
	 * the bytes that Python writes for the same clip with the same options. `options` may be null.
	 *
	 * MOCPACK_BOUND_NOT_MET if no encoding keeps max_error: nothing is stored in another way.
	 * MOCPACK_CANCELED if the callback asked for it. If the call fails, `file` is empty. */
	MOCPACK_API mocpack_Status mocpack_encode(const mocpack_Clip* clip, const mocpack_EncodeOptions* options,
											  mocpack_EncodedFile* file, mocpack_Error* error);

	/* Frees an encoded file. Null and an empty file are allowed. */
	MOCPACK_API void mocpack_encoded_release(mocpack_EncodedFile* file);

#ifdef __cplusplus
}
#endif

#endif
