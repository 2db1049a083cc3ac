// The chunks of a file, found and checked, and what they say.
#pragma once
#include "reader/fields.h"
#include "reader/motion.h"

namespace mocpack
{

// What a byte of a file can stand for at most, so that a small file cannot announce any number of frames.
const uint64_t FRAMES_PER_BYTE = 64, SAMPLES_PER_BYTE = 16384;

const double MAX_TIME_S = 1e9;		  // seconds, of any time
const size_t MAX_RUN_BYTES = 1 << 24; // bytes of runs, inflated

struct Chunk
{
	bool found;
	const uint8_t* body; // of the motion, null where the file is read by a callback
	uint64_t size;
	uint64_t offset; // of the body, in the file
	uint64_t whole;	 // bytes of the chunk, with what stands before its body
	uint32_t checksum;
	Chunk* next; // of the same tag
};

struct Chunks
{
	Chunk head, skeleton, rest, hinges, scales, time, meta, play, gaps, mesh, data;
	Chunk* tracks;
	size_t track_count;
	uint64_t missing; // bytes that the motion lacks
};

// Reads magic and version.
bool read_magic(const Bytes& bytes, mocpack_Error* error);
const size_t FIRST_CHUNK = 5; // bytes before it

// Reads the header of the chunk at a place, which becomes that of its body; `tag` receives four letters.
// Bytes that the body lacks are no fault here.
bool read_chunk_header(const Bytes& bytes, uint64_t* at, uint8_t* tag, Chunk* chunk, mocpack_Error* error);

// Whether the bytes begin as a scene does. False with an error where they cannot be had.
bool is_scene(const Bytes& bytes, mocpack_Error* error);

// Opens a clip, or finds the clips of a scene; the error is not null. With `header_alone` a clip is opened up
// to its payload, of whatever codec, and keeps its chunks: nothing can be decoded of it.
mocpack_Status open_clip(const Bytes& bytes, const mocpack_OpenOptions* options, bool header_alone,
						 mocpack_Motion** motion, mocpack_Error* error);
mocpack_Status open_scene(const Bytes& bytes, const mocpack_OpenOptions* options, mocpack_Scene** scene,
						  mocpack_Error* error);

// Where the file of a scene's clip stands in the scene's.
struct ClipPlace
{
	uint64_t offset, size;
};
ClipPlace scene_place(const mocpack_Scene* scene, size_t clip);

// Finds all chunks, and checks them but the motion. False, and an error, where a file cannot be read.
bool find_chunks(mocpack_Motion* motion, uint32_t flags, Chunks* chunks, mocpack_Error* error);

// Whether the motion's checksum is right, of a file in memory; that of others is not looked at.
bool check_data(const Chunks& chunks, mocpack_Error* error);

// The fields of a chunk; `name` as in "chunk SKEL".
MOCPACK_NOINLINE inline Fields fields_of(const Chunk& chunk, const char* name, mocpack_Error* error)
{
	return Fields(name, chunk.body, size_t(chunk.size), chunk.offset, error);
}

inline bool no_memory(mocpack_Error* error, const char* what)
{
	ErrorMessage(error, MOCPACK_NO_MEMORY) << what << " take more memory than the limit, or than there is";
	return false;
}

// Keeps a copy of a text, with a zero after it; false where there is no memory.
bool copy_text(const void* bytes, size_t size, mocpack_Text* text, Memory* memory);

// The frame (x, y, z, w) of channels whose axes are turned by so many degrees about z, y and x.
void write_axis_frame(const double* degrees, double* frame);

// What the chunks say, put into the motion's info. `needed` receives the parameters without which the motion
// cannot be decoded, a JSON object or nothing.
bool read_head(const Chunks& chunks, mocpack_Motion* motion, mocpack_Text* needed, mocpack_Error* error);
bool read_mesh(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
// SKEL, and what REST, HING and SCAL say of its joints where there are such chunks.
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
bool read_gaps(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_tracks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

// Makes the codec's skeleton as large as constant scales make the world (docs/format.md, "SCAL").
bool apply_constant_scales(mocpack_Motion* motion, mocpack_Error* error);

// The head of a keysine payload, and where its parts stand. The motion has its payload, tree and frames.
bool open_keysine(mocpack_Motion* motion, uint32_t flags, mocpack_Error* error);

// The head of a raw payload.
bool read_raw(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

// Decodes a lossless payload, all of it.
bool read_lossless(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

} // namespace mocpack
