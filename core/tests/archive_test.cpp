// Archives: clips round-trip byte for byte, out-of-memory leaks nothing, hostile indexes are rejected.
#include <random>

#include "reader_file.h"

namespace
{

const size_t CLIPS = 3, FRONT = 40;

// The fields of an index, for valid and invalid archives.
struct Index
{
	std::vector<std::string> shards, names = {"walk", "run", "jump"};
	std::vector<Bytes> bases;
	uint64_t columns[9][CLIPS] = {};
	Bytes fronts;

	Bytes bytes() const
	{
		Bytes out;
		put_varint(&out, shards.size());
		for (const std::string& name : shards)
			put_sized(&out, name), put_varint(&out, 1000);
		put_varint(&out, bases.size());
		for (const Bytes& base : bases)
			put_sized(&out, std::string(base.begin(), base.end()));
		put_varint(&out, names.size());
		for (const std::string& name : names)
			put_sized(&out, name);
		for (const uint64_t (&column)[CLIPS] : columns)
			for (int byte = 0; byte < 8; ++byte)
				for (uint64_t value : column)
					out.push_back(uint8_t(value >> 8 * byte));
		put_bytes(&out, fronts.data(), fronts.size());
		return out;
	}
};

void put_chunk(Bytes* out, const std::string& tag, const Bytes& body)
{
	Bytes file = file_of({{tag, body}});
	put_bytes(out, file.data() + 5, file.size() - 5);
}

// Clips that share their skeleton, and the index that leads to them.
struct Archive
{
	Bytes clip, front; // all bytes before the index
	Index index;

	explicit Archive(const Bytes& file, size_t base_offset, size_t base_size) : clip(file)
	{
		front = {0x93, 'M', 'O', 'S', 1};
		Bytes base(file.begin() + long(base_offset), file.begin() + long(base_offset + base_size)),
			kept = file;
		kept.erase(kept.begin() + long(base_offset), kept.begin() + long(base_offset + base_size));
		index.bases = {base};
		uint64_t end = 0;
		for (size_t n = 0; n < CLIPS; ++n)
		{
			Bytes body;
			put_sized(&body, index.names[n]);
			put_varint(&body, 0); // kind
			put_varint(&body, 1);
			body.resize(body.size() + 4); // readers do not look at the identifier of the base
			put_varint(&body, base_offset);
			put_bytes(&body, kept.data(), kept.size());
			put_chunk(&front, "CLIP", body);
			uint64_t offset = front.size() - kept.size();
			double time = 1.0 / 30;
			uint64_t bits;
			std::memcpy(&bits, &time, 8);
			const uint64_t row[9] = {1,	   0,	  2 * (offset - end), kept.size(), base_offset, FRONT, FRAMES,
									 bits, n == 2};
			for (int c = 0; c < 9; ++c)
				index.columns[c][n] = row[c];
			put_bytes(&index.fronts, kept.data(), FRONT);
			end = front.size();
		}
	}

	Bytes whole(const Bytes& packed_index) const
	{
		Bytes trailer;
		put_chunk(&trailer, "tabl", {1, 2, 3});
		put_chunk(&trailer, "INDX", packed_index);
		return with_trailer(trailer);
	}
	Bytes with_trailer(const Bytes& trailer) const
	{
		Bytes out = front;
		put_bytes(&out, trailer.data(), trailer.size());
		uint64_t start = front.size(), size = out.size() + 24;
		put_bytes(&out, &start, 8), put_bytes(&out, &size, 8);
		out.push_back(1);
		uint32_t crc = mocpack::crc32(0, out.data() + out.size() - 17, 17);
		put_bytes(&out, &crc, 4), put_bytes(&out, "SOM", 3);
		return out;
	}
	Bytes whole() const
	{
		return whole(stored(index.bytes()));
	}
};

mocpack_Status read_bytes(void* user, uint64_t offset, size_t size, void* dst)
{
	const Bytes& bytes = *static_cast<const Bytes*>(user);
	if (offset > bytes.size() || size > bytes.size() - offset)
		return MOCPACK_READ_FAILED;
	std::memcpy(dst, bytes.data() + offset, size);
	return MOCPACK_OK;
}

struct Opened
{
	Bytes bytes;
	mocpack_Archive* archive = nullptr;
	mocpack_Error error = {};
	mocpack_Status status;

	explicit Opened(const Bytes& given, Counter* counter = nullptr) : bytes(given)
	{
		mocpack_OpenOptions options = MOCPACK_OPEN_OPTIONS;
		mocpack_Allocator allocator = {};
		if (counter)
			allocator = counter->allocator(), options.allocator = &allocator;
		mocpack_Source source = {&bytes, bytes.size(), read_bytes};
		status = mocpack_archive_open(&source, &options, &archive, &error);
		check((status == MOCPACK_OK) == (archive != nullptr), "an opened archive has an object");
		check(status == MOCPACK_OK || error.message[0], "an error has a message");
	}
	~Opened()
	{
		mocpack_archive_close(archive);
	}
	Opened(const Opened&) = delete;
	Opened& operator=(const Opened&) = delete;
};

void clips_come_back_byte_for_byte(const Archive& made)
{
	Opened opened(made.whole());
	check(opened.status == MOCPACK_OK && mocpack_archive_clip_count(opened.archive) == CLIPS,
		  "the archive opens");
	check(mocpack_archive_find_clip(opened.archive, "run") == 1 &&
			  mocpack_archive_find_clip(opened.archive, "r") == CLIPS,
		  "clips are found by their names");
	std::mt19937 chance(1);
	for (size_t n = 0; n < CLIPS; ++n)
	{
		check(mocpack_archive_clip_info(opened.archive, n)->size == made.clip.size(),
			  "the clip has its size");
		for (int k = 0; k < 200; ++k)
		{
			size_t a = chance() % (made.clip.size() + 1), b = chance() % (made.clip.size() + 1);
			size_t first = std::min(a, b), size = std::max(a, b) - first;
			Bytes part(size);
			check(mocpack_archive_read_clip(opened.archive, n, first, size, part.data()) == MOCPACK_OK &&
					  std::equal(part.begin(), part.end(), made.clip.begin() + long(first)),
				  "any part of a clip is that of its file");
		}
		mocpack_Motion* motion = nullptr;
		check(mocpack_archive_open_clip(opened.archive, n, nullptr, &motion, nullptr) == MOCPACK_OK &&
				  mocpack_info(motion)->frame_count == FRAMES,
			  "a clip opens as a motion");
		mocpack_close(motion);
	}
	uint8_t byte;
	check(mocpack_archive_read_clip(opened.archive, 0, made.clip.size(), 1, &byte) == MOCPACK_BAD_ARGUMENT &&
			  mocpack_archive_read_clip(opened.archive, CLIPS, 0, 1, &byte) == MOCPACK_BAD_ARGUMENT,
		  "there is nothing past the end");
}

void memory_that_runs_out_is_given_back(const Archive& made)
{
	const Bytes file = made.whole();
	for (size_t calls = 0; calls < 20; ++calls)
	{
		Counter counter;
		counter.fail_at = calls;
		{
			Opened opened(file, &counter);
			check(opened.status == MOCPACK_OK || opened.status == MOCPACK_NO_MEMORY,
				  "missing memory has its own status");
		}
		check(!counter.held, "all memory is given back");
	}
}

// Everything that can be done with an archive that opened.
void use(const Opened& opened)
{
	for (size_t n = 0; n < mocpack_archive_clip_count(opened.archive); ++n)
	{
		const mocpack_ArchiveClip* entry = mocpack_archive_clip_info(opened.archive, n);
		check(entry->stored_size <= entry->size, "sizes add up");
		Bytes part(1000);
		for (uint64_t at : {uint64_t(0), entry->base_offset, entry->size > 1000 ? entry->size - 1000 : 0})
			mocpack_archive_read_clip(opened.archive, n, at,
									  size_t(std::min<uint64_t>(entry->size - at, 1000)), part.data());
		mocpack_Motion* motion = nullptr;
		mocpack_Error error = {};
		if (mocpack_archive_open_clip(opened.archive, n, nullptr, &motion, &error) == MOCPACK_OK)
			read_tracks(motion, &error);
		mocpack_close(motion);
	}
}

void an_index_that_says_anything_does_no_harm(const Archive& made)
{
	const Bytes plain = made.index.bytes();
	std::mt19937 chance(7);
	size_t refused = 0;
	for (int k = 0; k < 4000; ++k)
	{
		Bytes broken = plain;
		for (int times = 1 + int(chance() % 3); times > 0; --times)
			broken[chance() % broken.size()] = uint8_t(chance() % 3 ? chance() : chance() % 2 ? 255 : 0);
		if (k % 8 == 0)
			broken.resize(chance() % broken.size());
		Counter counter;
		{
			Opened opened(made.whole(stored(broken)), &counter);
			refused += opened.status != MOCPACK_OK;
			if (opened.status == MOCPACK_OK)
				use(opened);
		}
		check(!counter.held, "all memory is given back");
		check(counter.most < 1 << 22, "a small index takes little memory");
	}
	check(refused > 1000, "most of what is damaged is refused");
}

void numbers_that_cannot_be_are_refused(const Archive& made)
{
	const double none[] = {0.0, -1.0, INFINITY, NAN};
	for (size_t n = 0; n < CLIPS; ++n)
	{
		for (int column = 0; column < 7; ++column)
			for (uint64_t value : {~uint64_t(0), uint64_t(1) << 63, uint64_t(1) << 62})
			{
				Archive wrong = made;
				wrong.index.columns[column][n] = value;
				bool is_size = column == 6 && value == uint64_t(1) << 62; // frames: any number may be
				check((Opened(wrong.whole()).status == MOCPACK_CORRUPT) != is_size,
					  "no number is that large");
			}
		for (double time : none)
		{
			Archive wrong = made;
			std::memcpy(&wrong.index.columns[7][n], &time, 8);
			check(Opened(wrong.whole()).status == MOCPACK_CORRUPT, "frames take some time");
		}
	}
	Archive wrong = made;
	wrong.index.names = {"walk", "run", "walk"};
	check(Opened(wrong.whole()).status == MOCPACK_CORRUPT, "no two clips have one name");
	wrong.index.names = {"walk", "\xff", "run"};
	check(Opened(wrong.whole()).status == MOCPACK_CORRUPT, "names are UTF-8");
	for (const char* name : {"", ".hidden", "a/b", "c:b", "a\\b"})
	{
		wrong = made;
		wrong.index.shards = {name};
		check(Opened(wrong.whole()).status == MOCPACK_CORRUPT, "a shard stands beside its archive");
	}
}

// The index may hold all bytes of a clip, and no more.
void a_front_is_at_most_the_whole_clip(const Archive& made)
{
	const uint64_t stored_size = made.index.columns[3][0];
	const Bytes& first = made.front;
	const uint64_t offset = made.index.columns[2][0] / 2;
	for (uint64_t more : {uint64_t(0), uint64_t(1)})
	{
		Archive other = made;
		other.index.columns[5][0] = stored_size + more;
		Bytes fronts(first.begin() + long(offset), first.begin() + long(offset + stored_size + more));
		put_bytes(&fronts, made.index.fronts.data() + FRONT, made.index.fronts.size() - FRONT);
		other.index.fronts = fronts;
		Opened opened(other.whole());
		check(opened.status == (more ? MOCPACK_CORRUPT : MOCPACK_OK), "a front is at most the whole clip");
		Bytes found(made.clip.size());
		check(more || (mocpack_archive_read_clip(opened.archive, 0, 0, found.size(), found.data()) ==
						   MOCPACK_OK &&
					   found == made.clip),
			  "which comes back");
	}
}

void a_clip_of_an_unknown_kind_is_unsupported_and_the_others_open(const Archive& made)
{
	Archive newer = made;
	newer.index.columns[8][1] = 2;
	Opened opened(newer.whole());
	check(opened.status == MOCPACK_OK, "an archive with a clip of an unknown kind opens");
	Bytes found(made.clip.size());
	mocpack_Motion* motion = nullptr;
	mocpack_Error error = {};
	check(mocpack_archive_open_clip(opened.archive, 1, nullptr, &motion, &error) == MOCPACK_UNSUPPORTED &&
			  std::strstr(error.message, "run") && std::strstr(error.message, "kind 2"),
		  "the error names the clip and its kind");
	check(mocpack_archive_read_clip(opened.archive, 1, 0, found.size(), found.data()) == MOCPACK_UNSUPPORTED,
		  "the bytes of an unknown kind are not those of a file");
	check(mocpack_archive_read_clip(opened.archive, 0, 0, found.size(), found.data()) == MOCPACK_OK &&
			  found == made.clip,
		  "the other clips can be read");
}

void trailers_that_cannot_be_are_refused(const Archive& made)
{
	const Bytes index = stored(made.index.bytes());
	auto status_of = [&](const std::vector<std::string>& tags, size_t cut)
	{
		Bytes trailer;
		for (const std::string& tag : tags)
			put_chunk(&trailer, tag, tag == "INDX" ? index : Bytes{1, 2, 3});
		trailer.resize(trailer.size() - cut);
		return Opened(made.with_trailer(trailer)).status;
	};
	check(status_of({"INDX"}, 0) == MOCPACK_OK, "a trailer needs no table");
	check(status_of({"tabl", "more", "INDX"}, 0) == MOCPACK_OK, "unknown optional chunks are skipped");
	check(status_of({"tabl", "tabl", "INDX"}, 0) == MOCPACK_CORRUPT, "two tables are an error");
	check(status_of({"INDX", "tabl"}, 0) == MOCPACK_CORRUPT, "a chunk after the index is an error");
	check(status_of({"NEWS", "INDX"}, 0) == MOCPACK_UNSUPPORTED, "an unknown required chunk is unsupported");
	check(status_of({}, 0) == MOCPACK_CORRUPT && status_of({"tabl"}, 0) == MOCPACK_CORRUPT, "no index");
	Bytes empty;
	put_chunk(&empty, "INDX", {});
	check(Opened(made.with_trailer(empty)).status == MOCPACK_TRUNCATED, "an empty index");
	check(status_of({"tabl"}, 2) == MOCPACK_TRUNCATED, "a chunk that is cut");
	check(status_of({"tabl"}, 10) == MOCPACK_TRUNCATED, "a chunk that is cut in its tag");
}

void bytes_that_are_cut_or_changed_are_refused(const Archive& made)
{
	const Bytes file = made.whole();
	for (size_t size = 0; size < file.size(); size += 1 + size / 50)
	{
		const mocpack_Status expected = size < 4 ? MOCPACK_NOT_MOCPACK : MOCPACK_TRUNCATED;
		check(Opened(Bytes(file.begin(), file.begin() + long(size))).status == expected, "a cut archive");
	}
	Bytes other = file;
	other[0] = 'x', other.pop_back();
	check(Opened(other).status == MOCPACK_NOT_MOCPACK, "a file of another format");
	std::mt19937 chance(3);
	for (int k = 0; k < 500; ++k)
	{
		Bytes broken = file;
		broken[made.front.size() + chance() % (file.size() - made.front.size())] ^=
			uint8_t(1u << chance() % 8);
		Opened opened(broken); // the catalogue is not looked at
		if (opened.status == MOCPACK_OK)
			use(opened);
	}
}

} // namespace

int main()
{
	Body body;
	const Payload payload = encoded(&body);
	const std::vector<TestChunk> chunks = test_chunks(body, payload);
	const size_t base_offset = file_of({chunks[0]}).size(), base_size = file_of({chunks[1]}).size() - 5;
	const Archive made(file_of(chunks), base_offset, base_size);
	clips_come_back_byte_for_byte(made);
	memory_that_runs_out_is_given_back(made);
	an_index_that_says_anything_does_no_harm(made);
	numbers_that_cannot_be_are_refused(made);
	a_front_is_at_most_the_whole_clip(made);
	a_clip_of_an_unknown_kind_is_unsupported_and_the_others_open(made);
	trailers_that_cannot_be_are_refused(made);
	bytes_that_are_cut_or_changed_are_refused(made);
	if (failures)
		printf("%d failures\n", failures);
	return failures != 0;
}
