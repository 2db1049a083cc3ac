// Writes a .mocp file of chunks.
#pragma once
#include "writer/field_writer.h"

namespace mocpack
{

struct FileChunk
{
	char tag[4];
	const void* body;
	size_t size;
};

// What the size of a file depends on besides its chunks.
struct FileSize
{
	uint64_t frames, width; // joints or vertices
};

// Appends a chunk: tag, size, checksum and body.
void write_chunk(const FileChunk& chunk, FieldWriter* out);

/* Appends a file of these chunks. HEAD, the skeleton, DATA and what lies between are put in the order of
 * docs/format.md; chunks of the same part keep their order. Adds a `fill` chunk before DATA if the chunks are
 * too small for the frames, or for the samples of their tracks. */
void write_file(const FileChunk* chunks, size_t count, FileSize size, FieldWriter* out);

} // namespace mocpack
