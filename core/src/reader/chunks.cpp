// Parses the file: magic, version, then chunks of tag, length, checksum and body.
#include "reader/chunks.h"

#include <cstring>

#include "common/checksum.h"
#include "common/crc32.h"

namespace mocpack
{

namespace
{

const uint8_t MAGIC[4] = {0x93, 'M', 'O', 'C'};
const uint8_t ARCHIVE_MAGIC[4] = {0x93, 'M', 'O', 'S'};
const uint8_t FORMAT_VERSION = 1;
const size_t START = FIRST_CHUNK;
const size_t MAX_HEADER_BYTES = 4 + 10 + 4;

bool is_tag(const uint8_t* tag, const char* name)
{
	return !std::memcmp(tag, name, 4);
}

// Verifies the checksum of a chunk whose body is loaded.
MOCPACK_NOINLINE bool check_chunk(const uint8_t* tag, const Chunk& chunk, mocpack_Error* error)
{
	if (checksum_matches(crc32(crc32(0, tag, 4), chunk.body, size_t(chunk.size)), chunk.checksum))
		return true;
	ErrorMessage(error, MOCPACK_CORRUPT, chunk.offset).operator<<("chunk ").quote(tag, 4)
		<< ": wrong checksum";
	return false;
}

} // namespace

bool read_magic(const Bytes& bytes, mocpack_Error* error)
{
	uint8_t buffer[START];
	size_t size = bytes.source.size < START ? size_t(bytes.source.size) : START;
	const uint8_t* start = bytes.view(0, size, buffer, error);
	if (!start)
		return false;
	if (size >= 4 && !std::memcmp(start, ARCHIVE_MAGIC, 4))
		ErrorMessage(error, MOCPACK_NOT_MOCPACK)
			<< "the file is an archive (.mocps), not a .mocp file: use mocpack_archive_open";
	else if (std::memcmp(start, MAGIC, size < 4 ? size : 4))
		ErrorMessage(error, MOCPACK_NOT_MOCPACK) << "not a .mocp file";
	else if (size < START)
		ErrorMessage(error, MOCPACK_TRUNCATED, size) << "the file ends inside its first 5 bytes";
	else
		return check_version("format", start[4], FORMAT_VERSION, 4, error);
	return false;
}

bool check_version(const char* what, uint64_t version, uint64_t newest, uint64_t offset, mocpack_Error* error)
{
	if (version < 1)
		ErrorMessage(error, MOCPACK_CORRUPT, offset) << what << " version must be at least 1, got 0";
	else if (version > newest)
		ErrorMessage(error, MOCPACK_UNSUPPORTED, offset)
			<< what << " version " << version << " is newer than " << newest
			<< "; use a newer version of mocpack";
	else
		return true;
	return false;
}

bool read_chunk_header(const Bytes& bytes, uint64_t* at, uint8_t* tag, Chunk* chunk, mocpack_Error* error)
{
	const uint64_t left = bytes.source.size - *at;
	uint8_t buffer[MAX_HEADER_BYTES];
	const size_t size = left < MAX_HEADER_BYTES ? size_t(left) : MAX_HEADER_BYTES;
	const uint8_t* start = bytes.view(*at, size, buffer, error);
	if (!start)
		return false;
	Fields in("chunk header", start, size, *at, error);
	if (const uint8_t* letters = in.raw(4))
		std::memcpy(tag, letters, 4);
	*chunk = {};
	chunk->found = true;
	chunk->size = in.varint();
	chunk->checksum = uint32_t(in.integer(4));
	const size_t header = size_t(in.at() - start);
	chunk->offset = *at += header;
	chunk->whole = header + chunk->size;
	return in.good();
}

bool check_size(const uint8_t* tag, const Chunk& chunk, uint64_t left, mocpack_Error* error)
{
	if (chunk.size > left)
		ErrorMessage(error, MOCPACK_TRUNCATED, chunk.offset).operator<<("chunk ").quote(tag, 4)
			<< ": expected " << chunk.size << " bytes, got " << left;
	return chunk.size <= left;
}

bool check_first(const uint8_t* tag, const Chunk& before, uint64_t offset, mocpack_Error* error)
{
	if (before.found)
		ErrorMessage(error, MOCPACK_CORRUPT, offset).operator<<("the file has two chunks ").quote(tag, 4);
	return !before.found;
}

bool is_optional(const uint8_t* tag, uint64_t offset, mocpack_Error* error)
{
	const uint8_t lower_case = 0x20, letter = tag[0] | lower_case, all = tag[0] | tag[1] | tag[2] | tag[3];
	if (letter < 'a' || letter > 'z' || all >= 128)
		ErrorMessage(error, MOCPACK_CORRUPT, offset).operator<<("chunk tag ").quote(tag, 4)
			<< " must be ASCII and start with a letter";
	else if (tag[0] & lower_case)
		return true;
	else
		ErrorMessage(error, MOCPACK_UNSUPPORTED, offset).operator<<("the file contains chunk ").quote(tag, 4)
			<< ", which needs a newer version of mocpack";
	return false;
}

bool is_same(const Chunk& a, const Chunk& b)
{
	return a.found == b.found && a.size == b.size &&
		   (!a.size || !std::memcmp(a.body, b.body, size_t(a.size)));
}

bool load_chunk(const Bytes& bytes, const uint8_t* tag, Chunk* chunk, Memory* memory, mocpack_Error* error)
{
	chunk->body = bytes.load(chunk->offset, chunk->size, "the file's chunks", memory, error);
	return chunk->body && check_chunk(tag, *chunk, error);
}

namespace
{

// Returns the slot for a chunk by tag; null if there is none.
template <typename AnyChunks> auto place_of(const uint8_t* tag, AnyChunks* chunks) -> decltype(&chunks->head)
{
	static const struct
	{
		const char* tag;
		Chunk Chunks::* place;
	} PLACES[] = {{"HEAD", &Chunks::head},	 {"SKEL", &Chunks::skeleton}, {"REST", &Chunks::rest},
				  {"HING", &Chunks::hinges}, {"SCAL", &Chunks::scales},	  {"TIME", &Chunks::time},
				  {"meta", &Chunks::meta},	 {"play", &Chunks::play},	  {"vald", &Chunks::gaps},
				  {"bnds", &Chunks::bounds}, {"MESH", &Chunks::mesh},	  {"DATA", &Chunks::data}};
	for (const auto& one : PLACES)
		if (is_tag(tag, one.tag))
			return &(chunks->*one.place);
	return nullptr;
}

// Returns whether an unknown chunk can be skipped; otherwise sets the error.
bool may_skip(const uint8_t* tag, uint64_t offset, mocpack_Error* error)
{
	if (is_tag(tag, "CLIP"))
		ErrorMessage(error, MOCPACK_CORRUPT, offset) << "chunk CLIP must not follow other chunks";
	else
		return is_optional(tag, offset, error);
	return false;
}

struct Scan
{
	mocpack_Motion* motion;
	uint32_t flags;
	Chunks* chunks;
	mocpack_Error* error;
	Chunk** last_track;
	const Chunks* like;

	// Reads the chunk at offset `at` and advances `at` to the next one.
	bool next(uint64_t* at)
	{
		uint8_t tag[4] = {};
		Chunk chunk = {};
		if (!read_chunk_header(motion->bytes, at, tag, &chunk, error))
			return false;
		const uint64_t there = motion->bytes.source.size - *at;
		*at += chunk.size;
		return keep(tag, chunk, there);
	}

	// `there` is the number of bytes from the body to the end of the file.
	bool keep(const uint8_t* tag, Chunk chunk, uint64_t there)
	{
		Chunk* place = place_of(tag, chunks);
		bool is_data = place == &chunks->data, is_track = is_tag(tag, "trak");
		uint64_t missing = chunk.size > there ? chunk.size - there : 0;
		if (place && !check_first(tag, *place, chunk.offset, error))
			return false;
		if (!(is_data && (flags & MOCPACK_OPEN_ALLOW_TRUNCATED)) && !check_size(tag, chunk, there, error))
			return false;
		bool wanted = place || is_track;
		if (is_data)
		{
			chunks->missing = missing;
			chunk.size -= missing;
			chunk.body = motion->bytes.all ? motion->bytes.all + chunk.offset : nullptr;
		}
		else if ((wanted || motion->bytes.all) && !load(tag, &chunk))
			return false;
		if (!wanted && !place && !may_skip(tag, chunk.offset, error))
			return false;
		if (place)
			*place = chunk;
		return !is_track || add_track(chunk);
	}

	bool load(const uint8_t* tag, Chunk* chunk)
	{
		return is_known(tag, chunk) || load_chunk(motion->bytes, tag, chunk, &motion->memory, error);
	}

	// Returns whether a chunk of a file in memory equals a verified one, checksum included.
	bool is_known(const uint8_t* tag, Chunk* chunk) const
	{
		const Chunk* known = !SMALL_BUILD && like && motion->bytes.all ? place_of(tag, like) : nullptr;
		if (!known || known->checksum != chunk->checksum)
			return false;
		chunk->body = motion->bytes.all + chunk->offset;
		return is_same(*chunk, *known);
	}

	bool add_track(const Chunk& chunk)
	{
		Chunk* kept = motion->memory.allocate_array<Chunk>(1);
		if (!kept)
			return no_memory(error, "the file's tracks");
		*kept = chunk;
		*last_track = kept;
		last_track = &kept->next;
		++chunks->track_count;
		return true;
	}
};

} // namespace

bool find_chunks(mocpack_Motion* motion, uint32_t flags, Chunks* chunks, mocpack_Error* error,
				 const Chunks* like)
{
	if (!read_magic(motion->bytes, error))
		return false;
	Scan scan = {motion, flags, chunks, error, &chunks->tracks, like};
	for (uint64_t at = START; at < motion->bytes.source.size;)
		if (!scan.next(&at))
			return false;
	const char* missing = !chunks->head.found							   ? "HEAD"
						  : !chunks->skeleton.found && !chunks->mesh.found ? "SKEL"
						  : !chunks->data.found							   ? "DATA"
																		   : nullptr;
	if (missing)
		ErrorMessage(error, MOCPACK_TRUNCATED, motion->bytes.source.size)
			<< "the file has no " << missing << " chunk";
	return !missing;
}

bool check_data(const Chunks& chunks, mocpack_Error* error)
{
	const Chunk& data = chunks.data;
	if (!data.body || chunks.missing)
		return true;
	const uint8_t tag[4] = {'D', 'A', 'T', 'A'};
	return check_chunk(tag, data, error);
}

} // namespace mocpack
