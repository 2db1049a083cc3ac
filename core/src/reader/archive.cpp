// Archives: reads the trailer, and assembles the files of clips.
#include "reader/archive.h"

#include <cstring>
#include <new>

#include "common/checksum.h"
#include "common/crc32.h"
#include "common/small_build.h"
#include "reader/names.h"
#include "reader/numbers.h"

using namespace mocpack;

namespace
{

const uint64_t HEAD_SIZE = 5, FOOTER_SIZE = 24;
const uint64_t MAX_FIELD = ~uint64_t(0) >> 1; // other readers store fields as signed 64-bit numbers
const uint64_t INDEX_ROOM = 1 << 20, MAX_INFLATION = 256, MAX_CLIP_NAME = 1024;
const uint8_t ARCHIVE_VERSION = 1;

// Returns whether a name is a plain file name without a path.
bool is_plain_name(mocpack_Text name)
{
	bool good = name.size && name.bytes[0] != '.';
	for (size_t i = 0; i < name.size; ++i)
	{
		const char letter = name.bytes[i];
		good = good && letter && letter != '/' && letter != '\\' && letter != ':';
	}
	return good;
}

struct Opening
{
	mocpack_Archive* archive;
	mocpack_Error* error;
	Bytes trailer; // the archive without its footer

	bool run()
	{
		Chunk index = {};
		return read_footer() && find_index(&index) && read_index(index);
	}

  private:
	// The columns of the index.
	enum
	{
		BASE,
		SHARD,
		STEP, // from the end of the clip before
		STORED_SIZE,
		BASE_OFFSET,
		FRONT_SIZE,
		FRAME_COUNT,
		FRAME_TIME,
		KIND,
		COLUMNS
	};

	ErrorMessage fail(mocpack_Status status, uint64_t offset)
	{
		return ErrorMessage(error, status, offset);
	}

	bool no_memory()
	{
		return mocpack::no_memory(error, "the clips of the archive");
	}

	template <typename T> T* array(uint64_t count)
	{
		return archive->memory.allocate_array<T>(count + 1);
	}

	bool read_footer()
	{
		const Bytes all = {nullptr, archive->source, 0};
		const uint64_t size = all.source.size, end = size - FOOTER_SIZE;
		uint8_t buffer[FOOTER_SIZE] = {};
		if (size >= HEAD_SIZE + FOOTER_SIZE && !all.view(end, FOOTER_SIZE, buffer, error))
			return false;
		Fields in("the archive's footer", buffer, FOOTER_SIZE, end, error);
		archive->trailer = in.integer(8);
		const uint64_t stated_size = in.integer(8), version = in.u8();
		if (!checksum_matches(crc32(0, buffer, 17), uint32_t(in.integer(4))) ||
			std::memcmp(in.at(), "SOM", 3))
			return explain_footer(all);
		if (!check_version("archive", version, ARCHIVE_VERSION, end + 16, error))
			return false;
		trailer = all;
		trailer.source.size = end;
		const bool good = stated_size == size && archive->trailer >= HEAD_SIZE && archive->trailer <= end;
		if (!good)
			fail(MOCPACK_CORRUPT, end)
				<< "the archive has " << size << " bytes, its footer says " << stated_size;
		return good;
	}

	// Sets the error of an archive without a footer.
	bool explain_footer(const Bytes& all)
	{
		const uint64_t size = all.source.size;
		uint8_t magic[4] = {};
		if (size >= sizeof magic && !all.view(0, sizeof magic, magic, error))
			return false;
		if (std::memcmp(magic, "\x93MOS", sizeof magic))
			fail(MOCPACK_NOT_MOCPACK, 0) << "not a .mocps archive";
		else
			fail(MOCPACK_TRUNCATED, size)
				<< "the archive has no footer: it is truncated or still being written";
		return false;
	}

	// Loads chunk INDX, the last of the trailer. Skips optional chunks.
	bool find_index(Chunk* chunk)
	{
		const uint64_t end = trailer.source.size;
		for (uint64_t at = archive->trailer; at < end; at += chunk->size)
		{
			uint8_t tag[4] = {};
			if (!read_chunk_header(trailer, &at, tag, chunk, error))
				return false;
			const uint64_t left = end - at;
			const bool is_index = !std::memcmp(tag, "INDX", 4), is_table = !std::memcmp(tag, "tabl", 4);
			if (!check_size(tag, *chunk, left, error))
				return false;
			if (is_index && chunk->size == left)
				return load_chunk(trailer, tag, chunk, &archive->memory, error);
			if (is_index)
			{
				fail(MOCPACK_CORRUPT, at) << "chunk INDX is not the last chunk of the archive";
				return false;
			}
			if (!is_optional(tag, at, error) || (is_table && !check_first(tag, archive->table, at, error)))
				return false;
			if (is_table)
				archive->table = *chunk;
		}
		fail(MOCPACK_CORRUPT, end) << "the archive's trailer has no INDX chunk";
		return false;
	}

	bool read_index(const Chunk& chunk)
	{
		Fields packed = fields_of(chunk, "the archive's index", error);
		size_t size = 0;
		const uint64_t most = INDEX_ROOM + MAX_INFLATION * chunk.size;
		const uint8_t* bytes = inflate_fields(&packed, most, &archive->memory, &size);
		archive->memory.release(const_cast<uint8_t*>(chunk.body));
		if (!bytes)
			return false;
		Fields in = packed.part(bytes, size);
		return read_shards(in) && read_bases(in) && read_names(in) && read_columns(in);
	}

	bool read_shards(Fields& in)
	{
		const size_t count = archive->shard_count = size_t(in.varint(in.left()));
		archive->shards = array<Shard>(count);
		if (!archive->shards)
			return no_memory();
		for (size_t k = 0; k < count && in.good(); ++k)
		{
			const mocpack_Text name = in.text(MAX_CLIP_NAME);
			archive->shards[k] = {name, in.varint(MAX_FIELD)};
			if (in.good() && !is_plain_name(name))
				in.fail(MOCPACK_CORRUPT).operator<<(": ").quote(name.bytes, name.size)
					<< " is not a valid shard name";
		}
		return in.good();
	}

	bool read_bases(Fields& in)
	{
		const size_t count = archive->base_count = size_t(in.varint(in.left()));
		archive->bases = array<Span>(count);
		if (!archive->bases)
			return no_memory();
		for (size_t k = 0; k < count && in.good(); ++k)
		{
			const uint64_t size = in.varint(MAX_FIELD);
			archive->bases[k] = {in.raw(size), size_t(size)};
		}
		return in.good();
	}

	bool read_names(Fields& in)
	{
		const size_t count = archive->clip_count = size_t(in.varint(in.left()));
		archive->clips = array<ArchivedClip>(count);
		const mocpack_Text** names = array<const mocpack_Text*>(count);
		if (!archive->clips || !names)
			return no_memory();
		for (size_t n = 0; n < count; ++n)
		{
			mocpack_Text& name = archive->clips[n].entry.name;
			name = in.text(MAX_CLIP_NAME);
			names[n] = &name;
		}
		const mocpack_Text* twice = in.good() ? find_duplicate(names, count) : nullptr;
		archive->memory.release(names);
		if (twice)
			fail(MOCPACK_CORRUPT, 0).quote(twice->bytes, twice->size)
				<< " is the name of two clips of the archive";
		return in.good() && !twice;
	}

	bool read_columns(Fields& in)
	{
		const size_t count = archive->clip_count;
		const uint8_t* planes = in.raw(8 * COLUMNS * uint64_t(count));
		uint64_t end = 0;
		for (size_t n = 0; n < count && in.good(); ++n)
		{
			uint64_t row[COLUMNS] = {};
			for (size_t c = 0; c < COLUMNS; ++c)
				for (size_t byte = 8; byte-- > 0;)
					row[c] = row[c] << 8 | planes[(8 * c + byte) * count + n];
			ArchivedClip& clip = archive->clips[n];
			if (!place(row, &end, &in, &clip))
				in.fail(MOCPACK_CORRUPT)
						.operator<<(": the entry of clip ")
						.quote(clip.entry.name.bytes, clip.entry.name.size)
					<< " is invalid";
		}
		in.end();
		return in.good();
	}

	// Sets the entry of a clip whose name is known. `end` is the end of the clip before. Returns false if the
	// row is invalid.
	bool place(const uint64_t* row, uint64_t* end, Fields* in, ArchivedClip* clip) const
	{
		const uint64_t base = row[BASE], step = row[STEP], front = row[FRONT_SIZE];
		mocpack_ArchiveClip& entry = clip->entry;
		clip->archive = archive;
		clip->base_number = base;
		entry.shard = row[SHARD];
		entry.offset = *end + (step & 1 ? ~(step >> 1) : step >> 1);
		entry.stored_size = row[STORED_SIZE];
		entry.base_offset = row[BASE_OFFSET];
		entry.frame_count = row[FRAME_COUNT];
		entry.kind = row[KIND];
		std::memcpy(&entry.frame_time, row + FRAME_TIME, sizeof entry.frame_time);
		*end = entry.offset + entry.stored_size;
		const bool fits =
			(entry.offset | entry.stored_size | *end | entry.frame_count | entry.kind) <= MAX_FIELD;
		if (!fits || base > archive->base_count || entry.shard > archive->shard_count ||
			entry.base_offset > entry.stored_size || front > entry.stored_size || front > in->left() ||
			!entry.frame_count || !is_frame_time(entry.frame_time) ||
			(!entry.shard && *end > archive->trailer))
			return false;
		clip->front = {in->raw(front), size_t(front)};
		clip->base = base ? archive->bases[base - 1] : Span{nullptr, 0};
		entry.size = entry.stored_size + clip->base.size;
		return true;
	}
};

// Reads stored bytes of a clip, without the shared base.
mocpack_Status read_stored(const ArchivedClip& clip, uint64_t at, uint64_t size, uint8_t* dst)
{
	if (!size)
		return MOCPACK_OK;
	if (at + size <= clip.front.size)
	{
		std::memcpy(dst, clip.front.bytes + at, size_t(size));
		return MOCPACK_OK;
	}
	const mocpack_Source& source = clip.archive->source;
	return source.read(source.user, clip.entry.offset + at, size_t(size), dst);
}

// Reads the clip's file: the stored bytes before the base, the base, and the stored bytes after it.
mocpack_Status read_clip(void* user, uint64_t at, size_t size, void* dst)
{
	const ArchivedClip& clip = *static_cast<const ArchivedClip*>(user);
	uint8_t* out = static_cast<uint8_t*>(dst);
	uint64_t cut = clip.entry.base_offset, after = cut + clip.base.size, stop = at + size;
	uint64_t before = at < cut ? (stop < cut ? stop : cut) - at : 0;
	mocpack_Status status = read_stored(clip, at, before, out);
	if (status != MOCPACK_OK)
		return status;
	uint64_t from = at > cut ? at : cut, to = stop < after ? stop : after;
	if (from < to)
		std::memcpy(out + (from - at), clip.base.bytes + (from - cut), size_t(to - from));
	from = at > after ? at : after;
	return from < stop ? read_stored(clip, from - clip.base.size, stop - from, out + (from - at))
					   : MOCPACK_OK;
}

} // namespace

mocpack_Status mocpack_archive_open(const mocpack_Source* source, const mocpack_OpenOptions* options,
									mocpack_Archive** archive, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (archive)
		*archive = nullptr;
	if (!source || !source->read || !archive)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_archive_open: the source, its `read` or `archive` is null";
	if (CHECKS_ARGUMENTS && options &&
		(options->struct_size != sizeof *options ||
		 (options->allocator && (!options->allocator->allocate || !options->allocator->release))))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_archive_open: invalid options (wrong struct_size or allocator)";
	mocpack_Allocator allocator = options && options->allocator ? *options->allocator : default_allocator();
	uint64_t limit = options && options->memory_limit ? options->memory_limit : DEFAULT_LIMIT;
	void* place = allocator.allocate(allocator.user, sizeof(mocpack_Archive));
	if (!place)
		return ErrorMessage(error, MOCPACK_NO_MEMORY) << "out of memory";
	mocpack_Archive* made = new (place) mocpack_Archive(allocator, limit, *source);
	Opening opening = {made, error, {}};
	if (!opening.run())
	{
		mocpack_archive_close(made);
		return error->status;
	}
	*archive = made;
	return MOCPACK_OK;
}

void mocpack_archive_close(mocpack_Archive* archive)
{
	if (!archive)
		return;
	mocpack_Allocator allocator = archive->memory.allocator();
	archive->memory.release_all();
	archive->~mocpack_Archive();
	allocator.release(allocator.user, archive, sizeof(mocpack_Archive));
}

size_t mocpack_archive_clip_count(const mocpack_Archive* archive)
{
	return archive ? archive->clip_count : 0;
}

size_t mocpack_archive_find_clip(const mocpack_Archive* archive, const char* name)
{
	if (!archive || !name)
		return mocpack_archive_clip_count(archive);
	size_t length = std::strlen(name);
	for (size_t n = 0; n < archive->clip_count; ++n)
	{
		const mocpack_Text& own = archive->clips[n].entry.name;
		if (own.size == length && !std::memcmp(own.bytes, name, length))
			return n;
	}
	return archive->clip_count;
}

const mocpack_ArchiveClip* mocpack_archive_clip_info(const mocpack_Archive* archive, size_t clip)
{
	return archive && clip < archive->clip_count ? &archive->clips[clip].entry : nullptr;
}

mocpack_Status mocpack_archive_read_clip(const mocpack_Archive* archive, size_t clip, uint64_t offset,
										 size_t size, void* dst)
{
	if (clip >= mocpack_archive_clip_count(archive) || archive->clips[clip].entry.shard)
		return MOCPACK_BAD_ARGUMENT;
	if (archive->clips[clip].entry.kind > MAX_CLIP_KIND)
		return MOCPACK_UNSUPPORTED;
	uint64_t whole = archive->clips[clip].entry.size;
	if (offset > whole || size > whole - offset || (size && !dst))
		return MOCPACK_BAD_ARGUMENT;
	return read_clip(&archive->clips[clip], offset, size, dst);
}

mocpack_Status mocpack_archive_open_clip(const mocpack_Archive* archive, size_t clip,
										 const mocpack_OpenOptions* options, mocpack_Motion** motion,
										 mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (motion)
		*motion = nullptr;
	if (clip >= mocpack_archive_clip_count(archive))
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "clip index " << uint64_t(clip) << " is outside the archive, which has "
			   << uint64_t(mocpack_archive_clip_count(archive)) << " clips, or is null";
	ArchivedClip& chosen = archive->clips[clip];
	if (chosen.entry.kind > MAX_CLIP_KIND)
		return ErrorMessage(error, MOCPACK_UNSUPPORTED).quote(chosen.entry.name.bytes, chosen.entry.name.size)
			   << " is a clip of kind " << chosen.entry.kind << ", which needs a newer version of mocpack";
	if (chosen.entry.shard)
	{
		const mocpack_Text& shard = archive->shards[chosen.entry.shard - 1].name;
		return ErrorMessage(error, MOCPACK_UNSUPPORTED).quote(shard.bytes, shard.size)
			   << " contains this clip: open that archive";
	}
	mocpack_Source source = {&chosen, chosen.entry.size, read_clip};
	return mocpack_open_source(&source, options, motion, error);
}
