// mocpack: reads .mocp files, motion capture within a promised error.
//
//     mocpack_Motion* motion;
//     mocpack_Reader* reader;
//     mocpack_Error error;
//     if (mocpack_open(bytes, size, NULL, &motion, &error) != MOCPACK_OK ||
//         mocpack_reader_open(motion, NULL, &reader, &error) != MOCPACK_OK)
//         return complain(error.message);
//     mocpack_Poses pose = mocpack_poses_dense(rotations, translations, mocpack_info(motion)->joint_count);
//     mocpack_sample(reader, seconds, &pose, &error);
//     mocpack_reader_close(reader);
//     mocpack_close(motion);
//
// A motion is an open file. Nothing changes it until it is closed, so that any number of threads may use it;
// each has a reader of its own, which decodes and remembers what it decoded last.
// Metres, seconds, quaternions (x, y, z, w); y is up, right-handed. Joints stand after their parents.
// No exceptions, no globals, no threads. Memory comes from the allocator that the caller names, when a motion
// or a reader is opened and at no other time. Whatever bytes a file holds, calls return a status.
// docs/embedding.md says what is guaranteed; docs/format.md what a file is.
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
		MOCPACK_TRUNCATED = -1,	   // the file, or a part of it, ends too early
		MOCPACK_CORRUPT = -2,	   // a checksum is wrong, or what is there contradicts the format
		MOCPACK_NO_MEMORY = -3,	   // the memory limit, or what the caller gave, is too small
		MOCPACK_NOT_MOCPACK = -5,  // the first bytes are not those of a .mocp file
		MOCPACK_UNSUPPORTED = -6,  // newer than this library, or of a codec that it does not have
		MOCPACK_READ_FAILED = -7,  // the read callback said so
		MOCPACK_NEEDS_BYTES = -8,  // the read callback does not have them yet: fetch them, call again
		MOCPACK_BAD_ARGUMENT = -9, // the caller's mistake
	} mocpack_Status;

	/* What went wrong, and where. Every call that takes one may be given null; it is written only where the
	 * status is not MOCPACK_OK. */
	typedef struct mocpack_Error
	{
		mocpack_Status status;
		// Where in the file: what is damaged, or the bytes that are needed (size is 0 where that means
		// nothing).
		uint64_t offset, size;
		char message[232]; // a sentence, ended by a zero
	} mocpack_Error;

	typedef struct mocpack_Motion mocpack_Motion; // an open file
	typedef struct mocpack_Reader mocpack_Reader; // decodes it, for one thread at a time

	/* The version of the library that runs, such as "0.1.0". */
	MOCPACK_API const char* mocpack_version(void);

	/* A word for a status: ok, truncated, corrupt, memory, format, unsupported, read, needs, argument. */
	MOCPACK_API const char* mocpack_status_name(mocpack_Status status);

	// ---- opening

	/* Gives memory, aligned as malloc aligns; null where there is none. `size` is what was asked for. */
	typedef struct mocpack_Allocator
	{
		void* user;
		void* (*allocate)(void* user, size_t size);
		void (*release)(void* user, void* memory, size_t size);
	} mocpack_Allocator;

	/* A file that is read piece by piece. `read` fills dst with bytes offset … offset + size - 1, all of
	 * which lie within `size`, and answers MOCPACK_OK, MOCPACK_READ_FAILED, or MOCPACK_NEEDS_BYTES: then the
	 * call that wanted them ends with that status, its error says which bytes, nothing has changed, and the
	 * same call can be made again once they are there. Readers on several threads call it at the same time.
	 */
	typedef struct mocpack_Source
	{
		void* user;
		uint64_t size; // of the file
		mocpack_Status (*read)(void* user, uint64_t offset, size_t size, void* dst);
	} mocpack_Source;

	enum
	{
		/* A file that ends inside its motion plays by what is whole: coarser from there on, or with keys
		 * alone. Without it such a file is MOCPACK_TRUNCATED. */
		MOCPACK_OPEN_ALLOW_TRUNCATED = 1,
		/* Do not check the motion's checksum when a file is opened from memory. Each part of it has one of
		 * its own, which is always checked when it is decoded. A source is never read through for it. */
		MOCPACK_OPEN_SKIP_CHECKSUM = 2,
	};

	// Begin with MOCPACK_OPEN_OPTIONS, which sets the defaults.
	typedef struct mocpack_OpenOptions
	{
		size_t struct_size;					// of this struct, as the caller knows it
		const mocpack_Allocator* allocator; // copied; null: malloc and free
		uint64_t memory_limit;				// bytes for the motion and one reader; 0: 1 GB
		uint32_t flags;
	} mocpack_OpenOptions;
#define MOCPACK_OPEN_OPTIONS {sizeof(mocpack_OpenOptions), NULL, 0, 0}

	/* Opens a file whose bytes are in memory. They are used where they stand, and must outlive the motion.
	 * `options` may be null. Of a scene it opens the only clip; a scene of several is MOCPACK_BAD_ARGUMENT:
	 * mocpack_scene_open opens it. */
	MOCPACK_API mocpack_Status mocpack_open(const void* bytes, size_t size,
											const mocpack_OpenOptions* options, mocpack_Motion** motion,
											mocpack_Error* error);

	/* Opens a file that is read by a callback: each chunk but the motion is read once, in one piece. The
	 * source is copied. */
	MOCPACK_API mocpack_Status mocpack_open_source(const mocpack_Source* source,
												   const mocpack_OpenOptions* options,
												   mocpack_Motion** motion, mocpack_Error* error);

	/* Gives everything back, and everything that mocpack_info pointed to. Close its readers first. Null is
	 * taken. */
	MOCPACK_API void mocpack_close(mocpack_Motion* motion);

	// ---- what a file says

	// UTF-8, ended by a zero that `size` does not count. A joint's name may be empty, or hold a zero.
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

	// What a series beside the poses is; mocpack_track_values gives its samples.
	typedef struct mocpack_Track
	{
		mocpack_Text name, unit;
		mocpack_TrackKind kind;
		int has_times;		 // each sample has a time of its own
		uint64_t count;		 // of samples
		double frame_time;	 // seconds from sample to sample; 0: the motion's
		double start_time;	 // seconds of the first sample
		double bound;		 // the largest error of a sample; 0: exact
		uint64_t chunk_size; // bytes
	} mocpack_Track;

	// A degree of freedom of a joint that turns about fixed axes, or slides along them. Its rotation is its
	// rest rotation, then the turns about its axes in the order of its rows; a slider stands at its offset
	// and the ways along its axes, turned by the rest rotation.
	typedef struct mocpack_Hinge
	{
		mocpack_Text name; // what the source calls it; may be empty
		int32_t joint;
		int32_t slides; // 1: slides along the axis, 0: turns about it
		double axis[3]; // of length 1, in the frame that the rest rotation leads to
		double lower_limit;	// radians, or metres of a slider; -infinity where there is no limit
		double upper_limit;
	} mocpack_Hinge;

	typedef enum mocpack_Axis
	{
		MOCPACK_AXIS_Y = 0,
		MOCPACK_AXIS_X = 1,
		MOCPACK_AXIS_Z = 2,
	} mocpack_Axis;

	// Everything that is known of an open file. Pointers last until it is closed; fields are only ever added
	// at the end.
	typedef struct mocpack_Info
	{
		uint64_t frame_count;
		double frame_time;	 // seconds from frame to frame; a nominal one where there are times
		double start_time;	 // seconds of the first frame
		const double* times; // (frames) seconds of each frame, where they are not even; else null

		size_t joint_count;
		const mocpack_Text* names;		  // (J) they may be empty or repeated
		const int32_t* parents;			  // (J) -1 for a root; the first joint is one
		const double* offsets;			  // (J, 3) place at rest, in the parent's frame
		const double* rest_rotations;	  // (J, 4) poses do not start from them; null: all the identity
		size_t end_count;				  // end sites: where bones without a joint at their end do end
		const int32_t* end_joints;		  // (E) the joint that carries it, increasing
		const double* end_sites;		  // (E, 3) in that joint's frame
		size_t translated_count;		  // joints that move in their parent's frame
		const int32_t* translated_joints; // (M) increasing
		double unit;					  // metres in a unit of the source that the file was made from

		mocpack_Text codec;		 // what decodes it: keysine, raw or lossless
		uint32_t bitstream_version;		 // the version of its payload
		mocpack_Text parameters; // what the encoder was asked for: a JSON object, or nothing
		mocpack_Text metadata;	 // a JSON object, or nothing; checked to be one, in UTF-8
		double declared_error;	 // metres that no point is further off than; negative: not declared
		int is_measured;		 // whether the encoder measured:
		double measured_max;	 // the promised error, metres; all four rounded up to 0.07 %
		double measured_mean;	 // of joint centres
		double measured_rms;
		double measured_p99;
		double declared_angle_error; // radians that no hinge's angle, and no other joint's rotation against its
							   // parent, is further off than; negative: not declared
		double measured_angle_error; // what the encoder measured of that; negative where nothing is declared

		uint64_t key_count;			// poses at the ends of groups, what mocpack_preview gives
		size_t layer_count;			// parts that refine one another, 1 or more; 0: not a file of keysine
		const double* layer_errors; // (layers) largest error, metres, of the keys alone, then with each
									// layer but the last

		int is_looping;			 // meant to be played round and round
		int is_left_handed;	 // the space of the source; here it is always right-handed
		mocpack_Axis up;	 // that of the source; here it is always y
		int is_interpolated; // the source defines the motion between frames: bounds hold there too
		int has_gaps;		 // some joints were not seen in all frames: mocpack_valid_mask
		size_t track_count;
		const mocpack_Track* tracks;

		uint64_t file_size;		// bytes
		uint64_t skeleton_size; // of its chunk
		uint64_t metadata_size; // of its chunk
		uint64_t missing_size;	// that a cut file lacks

		size_t hinge_count;
		const mocpack_Hinge* hinges; // (H) in the source's order, so that joints need not increase

		const double* scales; // (J, 3) along a joint's own axes, of those that do not move; null: all 1
		size_t scaled_count;  // joints whose scale moves; mocpack_Poses receives it frame by frame
		const int32_t* scaled_joints; // (S) increasing
	} mocpack_Info;

	MOCPACK_API const mocpack_Info* mocpack_info(const mocpack_Motion* motion);

	/* The frame of a key: the first of a group, or the clip's last. */
	MOCPACK_API uint64_t mocpack_key_frame(const mocpack_Motion* motion, uint64_t key);

	/* Whether joints were seen in frames first … stop - 1: seen (frames, J) receives 1 or 0. */
	MOCPACK_API mocpack_Status mocpack_valid_mask(const mocpack_Motion* motion, uint64_t first, uint64_t stop,
											uint8_t* seen, mocpack_Error* error);

	/* The samples of a track: values (count, width) receives numbers, width 1 for scalars, flags (0 or 1) and
	 * labels (which word), 3 for vectors, 4 for quaternions (x, y, z, w). times (count) receives the seconds
	 * of each on the motion's clock; null: not wanted. Takes memory while it runs, within what the limit
	 * leaves. */
	MOCPACK_API mocpack_Status mocpack_track_values(const mocpack_Motion* motion, size_t track,
													double* values, double* times, mocpack_Error* error);

	/* The words of a track of labels. With words and text null, only how many there are and the bytes of
	 * their texts, a zero after each one included; then, called again, words (count), which point into text
	 * (text_size). */
	MOCPACK_API mocpack_Status mocpack_track_labels(const mocpack_Motion* motion, size_t track, size_t* count,
												   size_t* text_size, mocpack_Text* words, char* text,
												   mocpack_Error* error);

	typedef struct mocpack_Range
	{
		uint64_t offset, size; // bytes in the file
	} mocpack_Range;

	/* Which bytes decoding frames first … stop - 1 needs, with so many layers (0: all, MOCPACK_KEYS_ONLY:
	 * none), in the order of the file, neighbours joined: for those who fetch before they decode. Writes at
	 * most `capacity` of them, and returns how many there are. */
	MOCPACK_API size_t mocpack_byte_ranges(const mocpack_Motion* motion, uint64_t first, uint64_t stop,
									  uint32_t layers, mocpack_Range* ranges, size_t capacity);

	/* The frame at a time, and its fraction to the next: within 0 … frames - 1, whatever the time. */
	MOCPACK_API double mocpack_frame_at(const mocpack_Motion* motion, double seconds);

	// ---- poses

	typedef enum mocpack_Precision
	{
		MOCPACK_FLOAT32 = 0,
		MOCPACK_FLOAT64 = 1,
	} mocpack_Precision;

	typedef enum mocpack_Space
	{
		MOCPACK_LOCAL = 0, // in the parent's frame
		MOCPACK_WORLD = 1,
	} mocpack_Space;

#define MOCPACK_KEYS_ONLY 0xffffffffu

	/* Work that an engine may spread over its own threads: `run` calls task(context, index) once for each
	 * index below `count`, in any order, on any threads, and returns when all are done. */
	typedef void (*mocpack_Task)(void* context, size_t index);
	typedef struct mocpack_Executor
	{
		void* user;
		size_t max_concurrency; // tasks at a time; each takes as much memory as a reader
		void (*run)(void* user, mocpack_Task task, void* context, size_t count);
	} mocpack_Executor;

	// Begin with MOCPACK_READER_OPTIONS, which sets the defaults.
	typedef struct mocpack_ReaderOptions
	{
		size_t struct_size;			// of this struct, as the caller knows it
		mocpack_Precision precision;		// that poses are written in
		mocpack_Space space;		// that poses are written in
		size_t cache_size;			// bytes of decoded groups to remember; at least one group is
		uint32_t layers;			// decode no more of them; 0: all; MOCPACK_KEYS_ONLY: none
		const int32_t* joints;		// which joints to write, in this order; null: all
		size_t joint_count;			// of these
		void* memory;				// for the reader to live in, aligned as malloc aligns; null: allocated
		size_t memory_size;			// of that, at least mocpack_reader_size
		const mocpack_Executor* executor; // copied; used by mocpack_frames of more than one group; null: none
	} mocpack_ReaderOptions;
#define MOCPACK_READER_OPTIONS                                                                               \
	{sizeof(mocpack_ReaderOptions), MOCPACK_FLOAT32, MOCPACK_LOCAL, 0, 0, NULL, 0, NULL, 0, NULL}

	/* How many bytes a reader takes; 0 where the options are wrong, or it would be more than there can be. */
	MOCPACK_API size_t mocpack_reader_size(const mocpack_Motion* motion,
										   const mocpack_ReaderOptions* options);

	/* Makes a reader. It allocates nothing after this, and nothing at all where the options give it memory.
	 * `options` may be null. */
	MOCPACK_API mocpack_Status mocpack_reader_open(const mocpack_Motion* motion,
												   const mocpack_ReaderOptions* options,
												   mocpack_Reader** reader, mocpack_Error* error);

	/* Null is taken. Memory that the caller gave stays the caller's. */
	MOCPACK_API void mocpack_reader_close(mocpack_Reader* reader);

	/* Where poses are written, in numbers of the reader's kind: component c of joint j (of those the reader
	 * writes) of frame t (of those asked for) stands at t · frame + j · joint + c · component. */
	typedef struct mocpack_Strides
	{
		size_t frame, joint, component;
	} mocpack_Strides;

	typedef struct mocpack_Poses
	{
		void* rotations;	// unit quaternions (x, y, z, w); null: not wanted
		void* translations; // (x, y, z) places, the offset where a joint does not move; null: not wanted
		mocpack_Strides rotation_strides, translation_strides;
		void* scales; // (x, y, z) along the joint's own axes, 1 where it has none; null: not wanted
		mocpack_Strides scale_strides;
	} mocpack_Poses;

	/* Two dense arrays: rotations (T, J, 4) and translations (T, J, 3). Set `scales` of what comes back to
	 * receive scales too, (T, J, 3); likewise below. */
	static inline mocpack_Poses mocpack_poses_dense(void* rotations, void* translations, size_t joints)
	{
		mocpack_Poses poses = {rotations,		   translations, {4 * joints, 4, 1},
							   {3 * joints, 3, 1}, NULL,		 {3 * joints, 3, 1}};
		return poses;
	}

	/* Structures of arrays: rotations (T, 4, J) and translations (T, 3, J). */
	static inline mocpack_Poses mocpack_poses_soa(void* rotations, void* translations, size_t joints)
	{
		mocpack_Poses poses = {
			rotations, translations,		   {4 * joints, 1, joints}, {3 * joints, 1, joints},
			NULL,	   {3 * joints, 1, joints}};
		return poses;
	}

	/* One array of transforms (T, J, width): in each the rotation first, the translation from number `place`
	 * on. Seven numbers without gaps: place 4, width 7. */
	static inline mocpack_Poses mocpack_poses_interleaved_f32(float* transforms, size_t joints, size_t place,
														size_t width)
	{
		mocpack_Poses poses = {
			transforms, transforms + place,		   {width * joints, width, 1}, {width * joints, width, 1},
			NULL,		{width * joints, width, 1}};
		return poses;
	}

	static inline mocpack_Poses mocpack_poses_interleaved_f64(double* transforms, size_t joints, size_t place,
														size_t width)
	{
		mocpack_Poses poses = {
			transforms, transforms + place,		   {width * joints, width, 1}, {width * joints, width, 1},
			NULL,		{width * joints, width, 1}};
		return poses;
	}

	/* Frames first … stop - 1. A quaternion's sign is that which is nearer to the frame before. Where a call
	 * fails, what `poses` points to may be written in part. */
	MOCPACK_API mocpack_Status mocpack_frames(mocpack_Reader* reader, uint64_t first, uint64_t stop,
											  const mocpack_Poses* poses, mocpack_Error* error);

	/* The pose at a time in seconds on the motion's clock, clamped: between frames by slerp, in the parent's
	 * frame. */
	MOCPACK_API mocpack_Status mocpack_sample(mocpack_Reader* reader, double seconds,
											  const mocpack_Poses* pose, mocpack_Error* error);

	/* The poses of keys first … stop - 1: coarse in time, within the error of the whole file each, for a
	 * small part of the bytes and the work. mocpack_key_frame says which frames they are. */
	MOCPACK_API mocpack_Status mocpack_preview(mocpack_Reader* reader, uint64_t first, uint64_t stop,
											   const mocpack_Poses* poses, mocpack_Error* error);

	/* What poses come to on the file's hinges: angles (frames, H), in radians, of sliders in metres, of poses
	 * in float64, local, of all joints, such as mocpack_frames gives. Where a joint leaves its hinges, angles
	 * are those of the nearest turn about its axis. Between limits less than a turn apart an angle is the one
	 * nearest to their middle; any other begins within half a turn and goes on without jumps from frame to
	 * frame. */
	MOCPACK_API void mocpack_hinge_angles(const mocpack_Motion* motion, const mocpack_Poses* poses, size_t frames,
									double* angles);

	// ---- scenes: several clips on one clock in one .mocp file

	typedef struct mocpack_Scene mocpack_Scene; // an open scene: where its clips stand

	/* Opens a scene whose bytes are in memory, or are read by a callback. A file of one clip is a scene of
	 * one clip without a name. Bytes, or what the source needs, must last as long as the scene and the
	 * motions of its clips. Of the options, allocator and memory limit count. */
	MOCPACK_API mocpack_Status mocpack_scene_open(const void* bytes, size_t size,
												  const mocpack_OpenOptions* options, mocpack_Scene** scene,
												  mocpack_Error* error);
	MOCPACK_API mocpack_Status mocpack_scene_open_source(const mocpack_Source* source,
														 const mocpack_OpenOptions* options,
														 mocpack_Scene** scene, mocpack_Error* error);
	MOCPACK_API void mocpack_scene_close(mocpack_Scene* scene);

	MOCPACK_API size_t mocpack_scene_clip_count(const mocpack_Scene* scene);

	/* The name of a clip, as long as the scene is open. */
	MOCPACK_API mocpack_Text mocpack_scene_clip_name(const mocpack_Scene* scene, size_t clip);

	/* The number of a clip by its name (UTF-8); mocpack_scene_clip_count where there is none. */
	MOCPACK_API size_t mocpack_scene_find_clip(const mocpack_Scene* scene, const char* name);

	/* Opens a clip, as mocpack_open opens a file. The scene may be closed before it. */
	MOCPACK_API mocpack_Status mocpack_scene_open_clip(const mocpack_Scene* scene, size_t clip,
													const mocpack_OpenOptions* options,
													mocpack_Motion** motion, mocpack_Error* error);

	// ---- archives of many clips (.mocps)

	typedef struct mocpack_Archive mocpack_Archive; // an open archive: its trailer

	typedef struct mocpack_ArchiveClip
	{
		mocpack_Text name;
		uint64_t frame_count;
		double frame_time;	  // seconds
		uint64_t size;		  // of its .mocp file
		uint64_t shard;		  // 0: it is in this file; k: in the k-th of those that the archive lists
		uint64_t offset;	  // where its bytes stand in that file, and how many:
		uint64_t stored_size; // its .mocp file but for those that it shares with other clips, which
		uint64_t base_offset;	  // come after so many
	} mocpack_ArchiveClip;

	/* Opens an archive: reads its footer and its trailer, nothing else. The source is copied, and must last
	 * as long as the archive and the motions of its clips. Of the options, allocator and memory limit count.
	 */
	MOCPACK_API mocpack_Status mocpack_archive_open(const mocpack_Source* source,
													const mocpack_OpenOptions* options,
													mocpack_Archive** archive, mocpack_Error* error);
	MOCPACK_API void mocpack_archive_close(mocpack_Archive* archive);

	MOCPACK_API size_t mocpack_archive_clip_count(const mocpack_Archive* archive);

	/* The number of a clip by its name (UTF-8); mocpack_archive_clip_count where there is none. */
	MOCPACK_API size_t mocpack_archive_find_clip(const mocpack_Archive* archive, const char* name);

	/* What the trailer says of a clip, as long as the archive is open; null where there is none. */
	MOCPACK_API const mocpack_ArchiveClip* mocpack_archive_clip_info(const mocpack_Archive* archive, size_t clip);

	/* Some bytes of a clip's .mocp file, as it was before it was packed. */
	MOCPACK_API mocpack_Status mocpack_archive_read_clip(const mocpack_Archive* archive, size_t clip,
													uint64_t offset, size_t size, void* dst);

	/* Opens a clip, as mocpack_open_source opens its file; close it before the archive. A clip in a shard is
	 * MOCPACK_UNSUPPORTED: the error names the file, which is an archive itself. */
	MOCPACK_API mocpack_Status mocpack_archive_open_clip(const mocpack_Archive* archive, size_t clip,
													  const mocpack_OpenOptions* options,
													  mocpack_Motion** motion, mocpack_Error* error);

#ifdef __cplusplus
}
#endif

#endif
