// Finds, verifies and parses the chunks of a file.
#pragma once
#include "reader/fields.h"
#include "reader/motion.h"

namespace mocpack
{

// Maximum frames and samples per byte of a file, so that a small file cannot claim arbitrary counts.
const uint64_t FRAMES_PER_BYTE = 64, SAMPLES_PER_BYTE = 16384;

const double MAX_TIME_S = 1e9;
const size_t MAX_RUN_BYTES = 1 << 24; // after inflation

struct Chunk
{
	bool found;
	const uint8_t* body; // null for motion data that is read through a callback
	uint64_t size;
	uint64_t offset; // of the body in the file
	uint64_t whole;	 // bytes of the chunk including its header
	uint32_t checksum;
	Chunk* next; // next chunk with the same tag
};

struct Chunks
{
	Chunk head, skeleton, rest, hinges, scales, time, meta, play, gaps, bounds, mesh, data;
	Chunk* tracks;
	size_t track_count;
	uint64_t missing; // bytes missing from the motion data
};

// Checks magic and version.
bool read_magic(const Bytes& bytes, mocpack_Error* error);
const size_t FIRST_CHUNK = 5; // offset in bytes

// Reads the header of the chunk at offset `at` and advances `at` to its body; `tag` receives four letters.
// Does not check that the body is complete.
bool read_chunk_header(const Bytes& bytes, uint64_t* at, uint8_t* tag, Chunk* chunk, mocpack_Error* error);

// Checks that a version is 1 … newest. `what` has that version, as in "format".
bool check_version(const char* what, uint64_t version, uint64_t newest, uint64_t offset,
				   mocpack_Error* error);

// Checks that the body of a chunk is complete, if the file has `left` bytes from there on.
bool check_size(const uint8_t* tag, const Chunk& chunk, uint64_t left, mocpack_Error* error);

// Checks that a chunk at `offset` is the first with its tag: `before` was not found.
bool check_first(const uint8_t* tag, const Chunk& before, uint64_t offset, mocpack_Error* error);

// Returns whether readers may skip an unknown chunk at `offset`; otherwise sets the error.
bool is_optional(const uint8_t* tag, uint64_t offset, mocpack_Error* error);

// Returns whether two chunks have the same body, or are both missing.
bool is_same(const Chunk& a, const Chunk& b);

// Loads the body of a chunk, unless the file is in memory, and verifies its checksum.
bool load_chunk(const Bytes& bytes, const uint8_t* tag, Chunk* chunk, Memory* memory, mocpack_Error* error);

// Returns whether the file is a scene; sets the error if its start cannot be read.
bool is_scene(const Bytes& bytes, mocpack_Error* error);

// Opens a clip, or a scene. `error` must not be null. With `header_alone`, opens a clip of any codec without
// its payload and keeps its chunks; nothing can be decoded from it. `like` is another clip opened in this
// way, or null: a skeleton and metadata that equal its own are not parsed again.
mocpack_Status open_clip(const Bytes& bytes, const mocpack_OpenOptions* options, bool header_alone,
						 mocpack_Motion** motion, mocpack_Error* error, const mocpack_Motion* like = nullptr);
mocpack_Status open_scene(const Bytes& bytes, const mocpack_OpenOptions* options, mocpack_Scene** scene,
						  mocpack_Error* error);

// Position of a clip's file inside the scene.
struct ClipPlace
{
	uint64_t offset, size;
};
ClipPlace scene_place(const mocpack_Scene* scene, size_t clip);

// Finds all chunks and verifies all but the motion data. Returns false and sets the error on failure. `like`
// are verified chunks of another file, or null: chunks that equal them are not verified again.
bool find_chunks(mocpack_Motion* motion, uint32_t flags, Chunks* chunks, mocpack_Error* error,
				 const Chunks* like = nullptr);

// Verifies the checksum of the motion data of a file in memory; always true for other files.
bool check_data(const Chunks& chunks, mocpack_Error* error);

// Creates a field reader for a chunk; `name` is used in messages, as in "chunk SKEL".
MOCPACK_NOINLINE inline Fields fields_of(const Chunk& chunk, const char* name, mocpack_Error* error)
{
	return Fields(name, chunk.body, size_t(chunk.size), chunk.offset, error);
}

// Copies a text and terminates it with a zero; false if out of memory.
bool copy_text(const void* bytes, size_t size, mocpack_Text* text, Memory* memory);

// Returns a measured error: code e stands for 2^(e / 1024) picometers, or 1e-12 radians; 0 stands for 0.
double measured_of(uint16_t code);

// Writes the quaternion (x, y, z, w) of a channel frame given as degrees about z, y and x.
void write_axis_frame(const double* degrees, double* frame);

// These functions parse chunks into the motion's info. `needed` receives the parameters that a decoder must
// know: a JSON object, or an empty text.
bool read_head(const Chunks& chunks, mocpack_Motion* motion, mocpack_Text* needed, mocpack_Error* error);
bool read_mesh(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
// Reads SKEL, and REST, HING and SCAL if present.
bool read_skeleton_chunks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);
bool read_skeleton(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_rest(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_hinges(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_scaled_joints(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_moving_scales(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_metadata(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_start(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_times(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_play(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_joint_bounds(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_gaps(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_tracks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

// Scales the codec's skeleton by the constant scales of joints (docs/format.md, "SCAL").
bool apply_constant_scales(mocpack_Motion* motion, mocpack_Error* error);

// Reads the head of a keysine payload and the offsets of its parts. Needs payload, tree and frame count.
// `like` is the head of another clip of the same skeleton, or null.
bool open_keysine(mocpack_Motion* motion, uint32_t flags, mocpack_Error* error,
				  const mocpack_KeysineHead* like = nullptr);

// Reads the head of a raw payload.
bool read_raw(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

// Decodes a whole lossless payload.
bool read_lossless(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

} // namespace mocpack
