// Archives: reads the trailer, and assembles the files of clips.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "coding/checksum.h"
#include "coding/crc32.h"
#include "reader/archive.h"
#include "reader/fields.h"
#include "reader/inflate.h"
#include "reader/json.h"

using namespace mocpack;

namespace
{

const uint64_t HEAD_SIZE = 5, FOOTER_SIZE = 24, COLUMNS = 9;
const uint64_t MAX_FIELD = ~uint64_t(0) >> 1; // other readers store fields as signed 64-bit numbers
const uint64_t INDEX_ROOM = 1 << 20, MAX_INFLATION = 256, MAX_NAME_BYTES = 1024;
const uint8_t ARCHIVE_VERSION = 1;
const uint64_t MAX_KIND = 1; // 0: its own file; 1: the same bytes as another clip
const size_t MAX_CHUNK_HEADER_BYTES = 4 + 10 + 4;

uint64_t read_little_endian(const uint8_t* bytes, int count)
{
	uint64_t value = 0;
	while (count-- > 0)
		value = value << 8 | bytes[count];
	return value;
}

struct Opening
{
	mocpack_Archive* archive;
	mocpack_Error* error;

	ErrorMessage fail(mocpack_Status status, uint64_t offset)
	{
		return ErrorMessage(error, status, offset);
	}

	bool no_memory()
	{
		fail(MOCPACK_NO_MEMORY, 0)
			<< "the archive's index needs more memory than the limit allows or the system has";
		return false;
	}

	bool read(uint64_t offset, uint64_t size, void* dst)
	{
		mocpack_Status status = archive->source.read(archive->source.user, offset, size_t(size), dst);
		if (status == MOCPACK_OK)
			return true;
		bool later = status == MOCPACK_NEEDS_BYTES;
		ErrorMessage(error, later ? status : MOCPACK_READ_FAILED, offset, size)
			<< "bytes " << offset << " to " << offset + size
			<< (later ? " must be fetched first" : " cannot be read");
		return false;
	}

	bool run()
	{
		uint64_t size = archive->source.size;
		Span index = {nullptr, 0};
		return read_footer(size, &archive->trailer) &&
			   find_index(archive->trailer, size - FOOTER_SIZE, &index) && read_index(index);
	}

	bool read_footer(uint64_t size, uint64_t* start)
	{
		uint8_t footer[FOOTER_SIZE], magic[4] = {0, 0, 0, 0};
		bool large = size >= HEAD_SIZE + FOOTER_SIZE;
		if (large && !read(size - FOOTER_SIZE, FOOTER_SIZE, footer))
			return false;
		bool ended = large && !std::memcmp(footer + 21, "SOM", 3) &&
					 checksum_matches(crc32(0, footer, 17), uint32_t(read_little_endian(footer + 17, 4)));
		if (!ended)
		{
			if (size >= 4 && !read(0, 4, magic))
				return false;
			if (std::memcmp(magic, "\x93MOS", 4))
				fail(MOCPACK_NOT_MOCPACK, 0) << "not a .mocps archive";
			else
				fail(MOCPACK_TRUNCATED, size)
					<< "the archive has no footer: it is truncated or still being written";
			return false;
		}
		if (footer[16] != ARCHIVE_VERSION)
		{
			fail(footer[16] ? MOCPACK_UNSUPPORTED : MOCPACK_CORRUPT, size - 8)
				<< "archive version " << uint64_t(footer[16]) << " is not supported, expected "
				<< uint64_t(ARCHIVE_VERSION);
			return false;
		}
		*start = read_little_endian(footer, 8);
		if (read_little_endian(footer + 8, 8) == size && *start >= HEAD_SIZE && *start <= size - FOOTER_SIZE)
			return true;
		fail(MOCPACK_CORRUPT, size - FOOTER_SIZE)
			<< "the archive has " << size << " bytes, its footer says " << read_little_endian(footer + 8, 8);
		return false;
	}

	// Finds the INDX chunk between two offsets and loads its body. Skips optional chunks.
	bool find_index(uint64_t at, uint64_t end, Span* index)
	{
		while (at < end)
		{
			uint8_t head[MAX_CHUNK_HEADER_BYTES];
			uint64_t room = end - at < MAX_CHUNK_HEADER_BYTES ? end - at : MAX_CHUNK_HEADER_BYTES;
			if (!read(at, room, head))
				return false;
			Fields fields("the archive's trailer", head, size_t(room), at, error);
			const uint8_t* tag = fields.raw(4);
			uint64_t size = fields.varint();
			const uint8_t* sum = fields.raw(4);
			if (!fields.good())
				return false;
			uint64_t body = at + uint64_t(fields.at() - head);
			if (size > end - body)
			{
				fail(MOCPACK_TRUNCATED, at) << "the archive's trailer ends inside a chunk";
				return false;
			}
			bool is_index = !std::memcmp(tag, "INDX", 4);
			if (is_index && size != end - body)
			{
				fail(MOCPACK_CORRUPT, at) << "chunk INDX is not the last chunk of the archive's trailer";
				return false;
			}
			if (is_index)
				return load_index(body, size, uint32_t(read_little_endian(sum, 4)), index);
			if (tag[0] < 'a' || tag[0] > 'z')
			{
				fail(MOCPACK_UNSUPPORTED, at).operator<<("the archive contains chunk ").quote(tag, 4)
					<< ", which needs a newer version of mocpack";
				return false;
			}
			if (!std::memcmp(tag, "tabl", 4))
			{
				if (archive->table.found)
				{
					fail(MOCPACK_CORRUPT, at) << "the archive's trailer has two chunks 'tabl'";
					return false;
				}
				archive->table = {body, size, uint32_t(read_little_endian(sum, 4)), true};
			}
			at = body + size;
		}
		fail(MOCPACK_CORRUPT, end) << "the archive's trailer has no INDX chunk";
		return false;
	}

	bool load_index(uint64_t body, uint64_t size, uint32_t sum, Span* index)
	{
		uint8_t* packed = archive->memory.allocate_array<uint8_t>(size + 1);
		if (!packed)
			return no_memory();
		if (!read(body, size, packed))
			return false;
		uint32_t found_sum = crc32(0, reinterpret_cast<const uint8_t*>("INDX"), 4);
		found_sum = crc32(found_sum, packed, size_t(size));
		if (!checksum_matches(found_sum, sum))
		{
			fail(MOCPACK_CORRUPT, body) << "chunk INDX: wrong checksum";
			return false;
		}
		uint64_t most = INDEX_ROOM + MAX_INFLATION * size;
		Inflated found = inflate(packed, size_t(size), nullptr, 0, nullptr, size_t(most));
		if (found.status != MOCPACK_OK)
		{
			fail(found.status, body) << "the archive's index: " << found.message;
			return false;
		}
		uint8_t* whole = archive->memory.allocate_array<uint8_t>(found.size + 1);
		if (!whole)
			return no_memory();
		inflate(packed, size_t(size), nullptr, 0, whole, found.size);
		archive->memory.release(packed);
		*index = {whole, found.size};
		return true;
	}

	bool read_index(Span index)
	{
		Fields fields("the archive's index", index.bytes, size_t(index.size), 0, error);
		archive->shard_count = size_t(fields.varint(fields.left()));
		archive->shards = archive->memory.allocate_array<Shard>(archive->shard_count + 1);
		if (!archive->shards)
			return no_memory();
		for (size_t k = 0; k < archive->shard_count && fields.good(); ++k)
		{
			const Span name = text(fields);
			archive->shards[k] = {name, fields.varint(MAX_FIELD)};
			if (fields.good() && !is_plain_name(name))
			{
				fail(MOCPACK_CORRUPT, 0).quote(name.bytes, size_t(name.size))
					<< " in the archive's index is not a valid shard name";
				return false;
			}
		}
		size_t base_count = size_t(fields.varint(fields.left()));
		Span* bases = archive->memory.allocate_array<Span>(base_count + 1);
		if (!bases)
			return no_memory();
		for (size_t k = 0; k < base_count && fields.good(); ++k)
			bases[k] = sized(fields);
		archive->bases = bases, archive->base_count = base_count;
		archive->clip_count = size_t(fields.varint(fields.left()));
		archive->clips = archive->memory.allocate_array<ArchivedClip>(archive->clip_count + 1);
		if (!archive->clips)
			return no_memory();
		for (size_t n = 0; n < archive->clip_count && fields.good(); ++n)
		{
			Span name = text(fields);
			archive->clips[n].entry.name = {reinterpret_cast<const char*>(name.bytes), size_t(name.size)};
		}
		const uint8_t* columns = fields.raw(8 * COLUMNS * archive->clip_count);
		return fields.good() && place_clips(columns, bases, base_count, fields);
	}

	Span sized(Fields& fields, uint64_t most = MAX_FIELD)
	{
		uint64_t size = fields.varint(most);
		const uint8_t* bytes = fields.raw(size);
		return {bytes, bytes ? size : 0};
	}

	Span text(Fields& fields)
	{
		Span found = sized(fields, MAX_NAME_BYTES);
		if (fields.good() && !is_utf8(found.bytes, size_t(found.size)))
			fields.fail(MOCPACK_CORRUPT) << ": a name is not UTF-8";
		return found;
	}

	// Returns whether a name is a plain file name without a path.
	static bool is_plain_name(Span name)
	{
		bool good = name.size && name.bytes[0] != '.';
		for (uint64_t i = 0; i < name.size; ++i)
			good = good && name.bytes[i] && !std::strchr("/\\:", name.bytes[i]);
		return good;
	}

	uint64_t number(const uint8_t* columns, int column, size_t clip) const
	{
		size_t count = archive->clip_count;
		uint64_t value = 0;
		for (int byte = 8; byte-- > 0;)
			value = value << 8 | columns[(size_t(column) * 8 + size_t(byte)) * count + clip];
		return value;
	}

	bool place_clips(const uint8_t* columns, const Span* bases, size_t base_count, Fields& fields)
	{
		uint64_t end = 0;
		for (size_t n = 0; n < archive->clip_count; ++n)
		{
			ArchivedClip& clip = archive->clips[n];
			mocpack_ArchiveClip& entry = clip.entry;
			uint64_t base = number(columns, 0, n), step = number(columns, 2, n);
			uint64_t front = number(columns, 5, n), bits = number(columns, 7, n);
			clip.archive = archive;
			entry.shard = number(columns, 1, n);
			entry.offset = end + (step & 1 ? ~(step >> 1) : step >> 1);
			entry.stored_size = number(columns, 3, n);
			entry.base_offset = number(columns, 4, n);
			entry.frame_count = number(columns, 6, n);
			entry.kind = number(columns, 8, n);
			std::memcpy(&entry.frame_time, &bits, 8);
			end = entry.offset + entry.stored_size;
			bool good = base <= base_count && entry.shard <= archive->shard_count &&
						entry.offset <= MAX_FIELD && entry.stored_size <= MAX_FIELD && end <= MAX_FIELD &&
						entry.base_offset <= entry.stored_size && front <= entry.stored_size &&
						front <= fields.left() && entry.frame_count && entry.frame_count <= MAX_FIELD &&
						entry.frame_time > 0 && std::isfinite(entry.frame_time) && entry.kind <= MAX_FIELD &&
						(entry.shard || end <= archive->trailer);
			if (!good)
			{
				fail(MOCPACK_CORRUPT, 0).quote(entry.name.bytes, entry.name.size)
					<< ": the index entry of this clip is invalid";
				return false;
			}
			clip.front = {fields.raw(front), front};
			clip.base = base ? bases[base - 1] : Span{nullptr, 0};
			clip.base_number = base;
			entry.size = entry.stored_size + clip.base.size;
		}
		fields.end();
		return fields.good() && names_differ();
	}

	// Returns whether all clip names differ, by sorting them.
	bool names_differ()
	{
		const ArchivedClip** sorted =
			archive->memory.allocate_array<const ArchivedClip*>(archive->clip_count + 1);
		if (!sorted)
			return no_memory();
		for (size_t n = 0; n < archive->clip_count; ++n)
			sorted[n] = archive->clips + n;
		std::qsort(sorted, archive->clip_count, sizeof(ArchivedClip*), compare_names);
		for (size_t n = 1; n < archive->clip_count; ++n)
			if (!compare_names(sorted + n - 1, sorted + n))
			{
				const mocpack_Text& name = sorted[n]->entry.name;
				fail(MOCPACK_CORRUPT, 0).quote(name.bytes, name.size)
					<< " is the name of two clips of the archive";
				return false;
			}
		archive->memory.release(sorted);
		return true;
	}

	static int compare_names(const void* a, const void* b)
	{
		const mocpack_Text &first = (*static_cast<const ArchivedClip* const*>(a))->entry.name,
						   &second = (*static_cast<const ArchivedClip* const*>(b))->entry.name;
		size_t common = first.size < second.size ? first.size : second.size;
		int found = common ? std::memcmp(first.bytes, second.bytes, common) : 0;
		return found ? found : first.size < second.size ? -1 : first.size > second.size;
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
	if (!source || !source->read || !archive)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_archive_open: the source, its `read` or `archive` is null";
	mocpack_Allocator allocator = options && options->allocator ? *options->allocator : default_allocator();
	uint64_t limit = options && options->memory_limit ? options->memory_limit : DEFAULT_LIMIT;
	void* place = allocator.allocate(allocator.user, sizeof(mocpack_Archive));
	if (!place)
		return ErrorMessage(error, MOCPACK_NO_MEMORY) << "out of memory";
	mocpack_Archive* made = new (place) mocpack_Archive(allocator, limit, *source);
	Opening opening = {made, error};
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
	return archive->clip_count;
}

size_t mocpack_archive_find_clip(const mocpack_Archive* archive, const char* name)
{
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
	return clip < archive->clip_count ? &archive->clips[clip].entry : nullptr;
}

mocpack_Status mocpack_archive_read_clip(const mocpack_Archive* archive, size_t clip, uint64_t offset,
										 size_t size, void* dst)
{
	if (clip >= archive->clip_count || archive->clips[clip].entry.shard)
		return MOCPACK_BAD_ARGUMENT;
	if (archive->clips[clip].entry.kind > MAX_KIND)
		return MOCPACK_UNSUPPORTED;
	uint64_t whole = archive->clips[clip].entry.size;
	if (offset > whole || size > whole - offset)
		return MOCPACK_BAD_ARGUMENT;
	return read_clip(&archive->clips[clip], offset, size, dst);
}

mocpack_Status mocpack_archive_open_clip(const mocpack_Archive* archive, size_t clip,
										 const mocpack_OpenOptions* options, mocpack_Motion** motion,
										 mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (clip >= archive->clip_count)
		return ErrorMessage(error, MOCPACK_BAD_ARGUMENT)
			   << "clip index " << uint64_t(clip) << " is outside the archive, which has "
			   << uint64_t(archive->clip_count) << " clips";
	ArchivedClip& chosen = archive->clips[clip];
	if (chosen.entry.kind > MAX_KIND)
		return ErrorMessage(error, MOCPACK_UNSUPPORTED).quote(chosen.entry.name.bytes, chosen.entry.name.size)
			   << " is a clip of kind " << chosen.entry.kind << ", which needs a newer version of mocpack";
	if (chosen.entry.shard)
	{
		const Span& shard = archive->shards[chosen.entry.shard - 1].name;
		return ErrorMessage(error, MOCPACK_UNSUPPORTED).quote(shard.bytes, size_t(shard.size))
			   << " contains this clip: open that archive";
	}
	mocpack_Source source = {&chosen, chosen.entry.size, read_clip};
	return mocpack_open_source(&source, options, motion, error);
}
