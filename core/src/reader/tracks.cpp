// Reads tracks and their samples.
#include <cmath>
#include <cstring>

#include "math/rotation_vector.h"
#include "reader/chunks.h"
#include "reader/names.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

const size_t MAX_TEXT_BYTES = 1024, MAX_LABEL_BYTES = 1 << 20;
const size_t WIDTHS[] = {1, 1, 1, 3, 4};
const uint8_t KINDS = 8; // one byte holds kind + 8 × flags

enum TrackFlags
{
	OWN_RATE = 1,
	HAS_START = 2,
	HAS_TIMES = 4,
	BOUNDED = 8,
	HAS_UNIT = 16
};

// Reads the description of a track with at most `most` numbers. Its texts point into the chunk.
mocpack_Track read_track_head(Fields* in, uint64_t most)
{
	mocpack_Track track = {};
	track.name = in->text(MAX_TEXT_BYTES);
	const uint8_t first = in->u8(), kind = first % KINDS, flags = first / KINDS;
	in->check(kind < sizeof WIDTHS / sizeof *WIDTHS, ": unknown kind");
	if (!in->good())
		return track;
	track.kind = mocpack_TrackKind(kind);
	track.count = in->varint(most / WIDTHS[kind]);
	track.frame_time = flags & OWN_RATE ? in->short_number() : 0;
	in->check(!(flags & OWN_RATE) || track.frame_time > 0, ": invalid time between samples");
	track.start_time = flags & HAS_START ? in->short_number() : 0;
	track.has_times = (flags & HAS_TIMES) != 0;
	track.bound = flags & BOUNDED ? in->short_number() : 0;
	track.unit = flags & HAS_UNIT ? in->text(MAX_TEXT_BYTES) : mocpack_Text{nullptr, 0};
	return track;
}

// Returns whether all track names differ.
bool names_differ(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	size_t count = chunks.track_count;
	const mocpack_Text** names = motion->memory.allocate_array<const mocpack_Text*>(uint64_t(count) + 1);
	if (!names)
		return no_memory(error, "the file's tracks");
	for (size_t i = 0; i < count; ++i)
		names[i] = &motion->info.tracks[i].name;
	const mocpack_Text* twice = find_duplicate(names, count);
	motion->memory.release(names);
	if (twice)
		ErrorMessage(error, MOCPACK_CORRUPT, chunks.tracks->offset)
			.operator<<("the file has two tracks named ")
			.quote(twice->bytes, twice->size);
	return !twice;
}

} // namespace

bool read_tracks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	if (!chunks.track_count)
		return true;
	Memory& memory = motion->memory;
	mocpack_Track* tracks = memory.allocate_array<mocpack_Track>(chunks.track_count);
	motion->track_offsets = memory.allocate_array<uint64_t>(uint64_t(chunks.track_count) + 1);
	bool out_of_memory = !tracks || !motion->track_offsets;
	motion->info.tracks = tracks;
	motion->info.track_count = chunks.track_count;
	// limits the numbers of all tracks by the size of the file
	uint64_t most = SAMPLES_PER_BYTE * motion->bytes.source.size, *offset = motion->track_offsets;
	for (const Chunk* chunk = chunks.tracks; chunk && !out_of_memory; chunk = chunk->next, ++tracks)
	{
		Fields in = fields_of(*chunk, "chunk trak", error);
		*tracks = read_track_head(&in, most);
		if (!in.good())
			return false;
		*offset++ = chunk->offset;
		tracks->chunk_size = chunk->size;
		out_of_memory = !copy_text(tracks->name.bytes, tracks->name.size, &tracks->name, &memory) ||
						!copy_text(tracks->unit.bytes, tracks->unit.size, &tracks->unit, &memory);
		most -= tracks->count * WIDTHS[tracks->kind];
	}
	return out_of_memory ? no_memory(error, "the file's tracks") : names_differ(chunks, motion, error);
}

namespace
{

const double CLOSE = 1 - 1e-6; // fraction of the bound; rounding may add the rest
const double MAX_TURN_RAD = 100.0, SAMPLE_TOLERANCE = 1e-3, REFERENCE = 32767.0;
enum TurnForm
{
	AS_QUATERNIONS,
	AS_VECTORS,
	FROM_IDENTITY
};

// Reads the chunk of one track. `finish` frees its memory.
struct TrackReader
{
	const mocpack_Motion& motion;
	const mocpack_Track& track;
	Memory memory;
	Fields in;

	TrackReader(const mocpack_Motion& file, size_t index, mocpack_Error* error)
		: motion(file), track(file.info.tracks[index]), memory(file.memory.allocator(), file.memory.left()),
		  in("chunk trak",
			 file.bytes.load(file.track_offsets[index], track.chunk_size, "chunk trak", &memory, error),
			 size_t(track.chunk_size), file.track_offsets[index], error)
	{
		mocpack_Track head = read_track_head(&in, UINT64_MAX);
		// a callback may return other bytes than when the file was opened
		in.check(head.count == track.count && head.kind == track.kind && head.has_times == track.has_times,
				 ": the track changed after the file was opened");
		in.check(!track.frame_time || (track.frame_time >= 1e-9 && track.frame_time <= 1e6),
				 ": invalid time between samples");
		in.check(std::fabs(track.start_time) < MAX_TIME_S, ": the start time is not below 1e9 seconds");
		in.check(track.bound >= 0 && track.bound <= 1.7976931348623157e308, ": invalid error bound");
		const bool whole = track.kind == MOCPACK_TRACK_FLAG || track.kind == MOCPACK_TRACK_LABEL;
		in.check(!whole || track.bound == 0, ": flags and labels are exact, but an error bound is given");
	}

	mocpack_Status finish(const mocpack_Error& error)
	{
		memory.release_all();
		return in.good() ? MOCPACK_OK : error.status;
	}

	size_t count() const
	{
		return size_t(track.count);
	}

	// Returns the quantizer step that keeps values within the bound.
	double step() const
	{
		const double bound = track.kind == MOCPACK_TRACK_SCALAR || track.bound < 1 ? track.bound : 1;
		return 2 * bound * CLOSE / (track.kind == MOCPACK_TRACK_SCALAR ? 1 : std::sqrt(3.0));
	}

	// Reads sample times in seconds. They are read and checked even if `out` is null.
	void times(double* out)
	{
		if (!track.has_times)
		{
			const double step = track.frame_time ? track.frame_time : motion.info.frame_time;
			for (size_t i = 0; out && i < count(); ++i)
				out[i] = track.start_time + double(i) * step;
			return;
		}
		Fields part = in.sized();
		double* found = out ? out : memory.allocate_array<double>(uint64_t(count()) + 1);
		if (in.good() && !found)
			in.no_memory();
		if (in.good())
			read_numbers(&part, count(), 1, found, &memory, 0, &SERIES_CODERS);
		in.join(part);
		for (size_t i = 0; in.good() && i < count(); ++i)
		{
			in.check(std::fabs(found[i]) < MAX_TIME_S, ": a time is not below 1e9 seconds");
			in.check(!i || found[i] > found[i - 1], ": times must increase");
		}
	}

	void values(double* out)
	{
		if (!in.good())
			return;
		if (track.kind == MOCPACK_TRACK_FLAG)
			flags(out);
		else if (track.kind == MOCPACK_TRACK_LABEL)
			labels(out);
		else if (track.kind == MOCPACK_TRACK_QUATERNION)
			turns(out);
		else
			numbers(WIDTHS[track.kind], step(), out);
	}

	// Counts the distinct labels and the bytes of their zero-terminated texts, and writes them if `found` is
	// not null.
	void words(size_t* word_count, size_t* text_size, mocpack_Text* found, char* text)
	{
		size_t size = 0;
		*word_count = size_t(in.varint(count()));
		for (size_t w = 0; w < *word_count && in.good(); ++w)
		{
			const mocpack_Text word = in.text(MAX_LABEL_BYTES);
			if (!in.good())
				return;
			if (found)
			{
				std::memcpy(text + size, word.bytes, word.size);
				text[size + word.size] = 0;
				found[w] = {text + size, word.size};
			}
			size += word.size + 1;
		}
		*text_size = size;
	}

	// Replaces the rest of the chunk by its inflated bytes.
	void unpack()
	{
		size_t size = 0;
		uint8_t* bytes = in.good() ? inflate_fields(&in, MAX_RUN_BYTES, &memory, &size) : nullptr;
		if (bytes)
			in = in.part(bytes, size);
	}

  private:
	bool numbers(size_t width, double grid, double* out)
	{
		return read_numbers(&in, count(), width, out, &memory, grid, &SERIES_CODERS);
	}

	void flags(double* out)
	{
		unpack();
		uint8_t value = in.u8();
		in.check(value <= 1, ": a flag must be 0 or 1");
		uint64_t changes = in.varint(count() ? count() - 1 : 0);
		size_t at = 0;
		for (; changes && in.good(); --changes, value ^= 1)
		{
			uint64_t length = in.varint(count()) + 1;
			in.check(length < count() - at, ": runs exceed the number of samples");
			for (; in.good() && length; --length)
				out[at++] = value;
		}
		while (in.good() && at < count())
			out[at++] = value;
		in.end();
	}

	void labels(double* out)
	{
		unpack();
		size_t word_count = 0, text_size = 0, at = 0;
		words(&word_count, &text_size, nullptr, nullptr);
		uint64_t runs = in.varint(count());
		for (; runs && in.good(); --runs)
		{
			uint64_t word = in.varint(word_count ? word_count - 1 : 0), length = in.varint(count()) + 1;
			in.check(length <= count() - at, ": runs do not match the number of samples");
			for (; in.good() && length; --length)
				out[at++] = double(word);
		}
		in.check(at == count(), ": runs do not match the number of samples");
		in.check(word_count || !count(), ": samples without labels");
		in.end();
	}

	void turns(double* out)
	{
		uint8_t form = in.u8();
		in.check(form <= FROM_IDENTITY, ": unknown form of rotations");
		double base[4] = {0, 0, 0, 1};
		for (int c = 0; form == AS_VECTORS && c < 4; ++c)
			base[c] = int16_t(in.u16()) / REFERENCE;
		in.check(base[0] != 0 || base[1] != 0 || base[2] != 0 || base[3] != 0,
				 ": the reference rotation is zero");
		if (!in.good())
			return;
		if (form == AS_QUATERNIONS)
			check_turns(numbers(4, 0, out), out);
		else if (numbers(3, step(), out))
			turn_vectors(unit(load_quat(base)), form == AS_VECTORS, out);
	}

	void check_turns(bool read, const double* turns)
	{
		for (size_t i = 0; read && i < count(); ++i)
			in.check(std::fabs(length_of(load_quat(turns + 4 * i)) - 1) <= SAMPLE_TOLERANCE,
					 ": rotations must be unit quaternions");
	}

	// Converts rotation vectors (N, 3) to quaternions (N, 4) in place, from the last to the first.
	void turn_vectors(Quat base, bool from_base, double* out)
	{
		for (size_t i = count(); i-- > 0;)
		{
			Vec3 v = load_vec(out + 3 * i);
			const double largest = std::fmax(std::fabs(v.x), std::fmax(std::fabs(v.y), std::fabs(v.z)));
			in.check(largest < MAX_TURN_RAD, ": a rotation vector exceeds 100 radians");
			Quat turn = unit(exponential(v));
			store(out + 4 * i, from_base ? unit(multiply(base, turn)) : turn);
		}
	}

	static double length_of(Quat q)
	{
		return std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	}

	static Quat unit(Quat q)
	{
		const double length = length_of(q);
		return {q.x / length, q.y / length, q.z / length, q.w / length};
	}
};

mocpack_Status no_such_track(mocpack_Error* error, const char* what)
{
	return ErrorMessage(error, MOCPACK_BAD_ARGUMENT) << what;
}

} // namespace

} // namespace mocpack

using namespace mocpack;

mocpack_Status mocpack_track_values(const mocpack_Motion* motion, size_t track, double* values, double* times,
									mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (CHECKS_ARGUMENTS &&
		(!motion || track >= motion->info.track_count || (!values && motion->info.tracks[track].count)))
		return no_such_track(error, "mocpack_track_values: track index out of range, or null");
	TrackReader reader(*motion, track, error);
	if (reader.in.good())
		reader.times(times);
	reader.values(values);
	return reader.finish(*error);
}

mocpack_Status mocpack_track_labels(const mocpack_Motion* motion, size_t track, size_t* count,
									size_t* text_size, mocpack_Text* labels, char* text, mocpack_Error* error)
{
	mocpack_Error ignored;
	error = error ? error : &ignored;
	if (CHECKS_ARGUMENTS &&
		(!motion || !count || !text_size || !labels != !text || track >= motion->info.track_count ||
		 motion->info.tracks[track].kind != MOCPACK_TRACK_LABEL))
		return no_such_track(error, "mocpack_track_labels: not the index of a label track, or null");
	*count = *text_size = 0;
	TrackReader reader(*motion, track, error);
	if (reader.in.good())
		reader.times(nullptr);
	reader.unpack();
	if (reader.in.good())
		reader.words(count, text_size, labels, text);
	return reader.finish(*error);
}
