// Reads HEAD, SKEL and REST.
#include <cmath>
#include <cstring>

#include "math/elementary.h"
#include "math/quaternion.h"
#include "reader/chunk_reader.h"
#include "reader/json.h"
#include "reader/numbers.h"
#include "reader/skeleton_code.h"

namespace mocpack
{

namespace
{

const size_t MAX_JOINTS = 65535, MAX_NAME_BYTES = 255, MAX_PARAMETER_BYTES = 65536,
			 MAX_CODEC_NAME_BYTES = 255;
const size_t MAX_SKELETON_BYTES = 1 << 24; // after inflation
const double PI = 3.14159265358979323846;
const double MAX_POINT_M = 1e6;
const double AXES_TOLERANCE = 1.1e-5;		// of the length of a quaternion
const int64_t REST_UNIT = int64_t(1) << 31; // of the components of rest rotations
const uint64_t MAX_REST_BYTES = 1 + 3 * 5;	// of a rest rotation
const uint8_t CHANNELS = ChannelLayout::MOST;

// Reads a JSON object; may be empty.
mocpack_Text read_parameters(Fields* in)
{
	size_t size = size_t(in->varint(MAX_PARAMETER_BYTES));
	const uint8_t* text = in->raw(size);
	if (size && text && !read_json_object(text, size).good)
		in->fail(MOCPACK_CORRUPT) << ": the parameters are not a JSON object";
	return {reinterpret_cast<const char*>(text), text ? size : 0};
}

void read_errors(Fields* in, uint8_t flags, mocpack_Info* info)
{
	info->declared_error = flags & 1 ? double(in->f32()) : -1.0;
	in->check(!(flags & 1) || (info->declared_error >= 0 && info->declared_error < 1e39),
			  ": the declared error must be a length in meters");
	info->is_measured = (flags & 2) != 0;
	double* places[] = {&info->measured_max, &info->measured_mean, &info->measured_rms, &info->measured_p99};
	for (double* place : places)
		*place = flags & 2 ? measured_of(in->u16()) : -1.0;
	info->declared_angle_error = flags & 8 ? double(in->f32()) : -1.0;
	in->check(!(flags & 8) || (info->declared_angle_error >= 0 && info->declared_angle_error < 1e39),
			  ": the declared angle error must be an angle in radians");
	info->measured_angle_error = flags & 8 ? measured_of(in->u16()) : -1.0;
}

bool is_ascii(const uint8_t* text, size_t size)
{
	for (size_t i = 0; i < size; ++i)
		if (text[i] >= 128)
			return false;
	return true;
}

} // namespace

double measured_of(uint16_t code)
{
	return code ? 1e-12 * math::exp2(code / 1024.0) : 0.0;
}

bool copy_text(const void* bytes, size_t size, mocpack_Text* text, Memory* memory)
{
	char* kept = memory->allocate_array<char>(uint64_t(size) + 1);
	if (!kept)
		return false;
	if (size)
		std::memcpy(kept, bytes, size);
	*text = {kept, size};
	return true;
}

void write_axis_frame(const double* degrees, double* frame)
{
	Quat found = {0, 0, 0, 1};
	for (int a = 0; a < 3; ++a) // z, y and x
	{
		const double half = degrees[a] * (PI / 360);
		double turn[4] = {0, 0, 0, math::cos(half)};
		turn[2 - a] = math::sin(half);
		found = multiply(found, load_quat(turn));
	}
	store(frame, found);
}

mocpack_Text ChunkReader::name(size_t longest, char** room)
{
	const mocpack_Text text = in.text(longest);
	if (!in.good())
		return {nullptr, 0};
	std::memcpy(*room, text.bytes, text.size);
	*room += text.size + 1;
	return {*room - text.size - 1, text.size};
}

bool read_head(const Chunks& chunks, mocpack_Motion* motion, mocpack_Text* needed, mocpack_Error* error)
{
	Fields in = fields_of(chunks.head, "chunk HEAD", error);
	mocpack_Info& info = motion->info;
	uint8_t kind = in.u8();
	in.check(kind <= 1, ": unknown kind of clip");
	info.frame_count = in.varint();
	info.frame_time = in.short_number();
	size_t codec_size = size_t(in.varint(MAX_CODEC_NAME_BYTES));
	const uint8_t* codec = in.raw(codec_size);
	in.check(codec && is_ascii(codec, codec_size), ": the codec name is not ASCII");
	info.bitstream_version = uint32_t(in.varint(uint64_t(1) << 31));
	mocpack_Text parameters = read_parameters(&in);
	uint8_t flags = in.u8();
	if (in.good() && flags > 15)
		in.fail(MOCPACK_UNSUPPORTED) << ": unknown flags " << uint64_t(flags & ~15)
									 << "; use a newer version of mocpack";
	read_errors(&in, flags, &info);
	*needed = flags & 4 ? read_parameters(&in) : mocpack_Text{nullptr, 0};
	in.end();
	in.check(!kind || chunks.mesh.found, ": a vertex animation needs a MESH chunk");
	motion->is_vertices = kind != 0;
	in.check(info.frame_count >= 1, ": frame count must be at least 1");
	in.check(is_frame_time(info.frame_time), ": frame time must be 1e-6 to 1e6 seconds");
	if (!in.good())
		return false;
	if (!copy_text(codec, codec_size, &info.codec, &motion->memory) ||
		!copy_text(parameters.bytes, parameters.size, &info.parameters, &motion->memory))
		return in.no_memory();
	return true;
}

bool read_metadata(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk meta", error);
	size_t size = 0;
	uint8_t* text = inflate_fields(&in, 1 << 24, &motion->memory, &size);
	if (!text)
		return false;
	in.check(read_json_object(text, size).good, ": not a JSON object");
	motion->info.metadata = {reinterpret_cast<char*>(text), size}; // followed by a zero byte
	motion->info.metadata_size = chunk.whole;
	return in.good();
}

namespace
{

// Parses SKEL into the info.
struct SkeletonReader : ChunkReader
{
	mocpack_Info& info;
	Memory& memory;

	SkeletonReader(const Fields& fields, mocpack_Motion* own)
		: ChunkReader(fields, own), info(own->info), memory(own->memory)
	{
	}

	bool run()
	{
		size_t joints = info.joint_count = size_t(in.varint(MAX_JOINTS));
		in.check(joints >= 1, ": joint count must be at least 1");
		names(joints);
		parents(joints);
		layouts(joints);
		info.translated_joints = indices(&info.translated_count, joints, true);
		info.end_joints = indices(&info.end_count, MAX_JOINTS, false);
		unit();
		points(joints);
		axes(joints);
		in.end();
		return in.good();
	}

	void names(size_t joints)
	{
		mocpack_Text* found = array<mocpack_Text>(joints);
		// one allocation for all names, each zero-terminated
		char* room = array<char>(uint64_t(in.left()) + joints);
		for (size_t j = 0; j < joints && in.good(); ++j)
			found[j] = name(MAX_NAME_BYTES, &room);
		info.names = found;
	}

	void parents(size_t joints)
	{
		int32_t* found = array<int32_t>(joints);
		if (found)
			found[0] = -1;
		for (size_t j = 1; j < joints && in.good(); ++j)
			found[j] = int32_t(j) - 1 - int32_t(in.varint(j)); // j stands for no parent
		info.parents = found;
	}

	// Reads the channel layout of the source, which hinges and some codecs use.
	void layouts(size_t joints)
	{
		size_t count = size_t(in.varint(joints));
		bool* styles = array<bool>(count);
		RotationChannels* turning = array<RotationChannels>(count);
		motion->channels = array<RotationChannels>(joints);
		motion->layouts = array<ChannelLayout>(count);
		motion->layout_of = array<int32_t>(joints);
		for (size_t n = 0; n < count && in.good(); ++n)
		{
			size_t size = size_t(in.varint(CHANNELS));
			const uint8_t* codes = in.raw(size);
			uint32_t seen = 0;
			for (size_t i = 0; i < size && in.good(); ++i)
			{
				in.check(codes[i] < CHANNELS, ": unknown channel");
				uint32_t channel = in.good() ? 1u << codes[i] : 0;
				in.check(!(seen & channel), ": a layout repeats a channel");
				seen |= channel;
				if (!in.good())
					break;
				add_rotation(codes[i], &turning[n]);
				motion->layouts[n].codes[motion->layouts[n].count++] = codes[i];
			}
			// channels 3 to 5 and 9 to 11 are those of ASF, the others those of BVH
			styles[n] = (seen & 0x1c7) && (seen & 0xe38);
		}
		in.check(count >= 1, ": expected at least one channel layout");
		for (size_t j = 0; j < joints && in.good(); ++j)
		{
			size_t n = size_t(in.varint(count - 1));
			in.check(!styles[n], ": a layout mixes BVH and ASF channels");
			motion->channels[j] = turning[n];
			motion->layout_of[j] = int32_t(n);
			motion->channel_count += motion->layouts[n].count;
		}
		memory.release(styles);
		memory.release(turning);
	}

	// BVH lists the outermost rotation first, ASF the innermost.
	static void add_rotation(uint8_t code, RotationChannels* turning)
	{
		if (code < RotationChannels::FIRST)
			return;
		const int at = turning->turns++;
		if (at > 1)
			return;
		const bool fixed = code >= RotationChannels::FIRST_FIXED;
		turning->codes[at] = fixed && at ? turning->codes[0] : code;
		if (fixed)
			turning->codes[0] = code;
	}

	int32_t* indices(size_t* count, size_t most, bool unique)
	{
		*count = size_t(in.varint(most));
		int32_t* found = array<int32_t>(*count);
		in.joint_indices(*count, info.joint_count, unique, found);
		return found;
	}

	void unit()
	{
		uint8_t code = in.u8();
		in.check(code == OTHER_UNIT || code < sizeof SKELETON_UNITS / sizeof *SKELETON_UNITS,
				 ": unknown unit");
		if (in.good())
			info.unit = code == OTHER_UNIT ? in.f64() : SKELETON_UNITS[code];
		in.check(info.unit >= 1e-9 && info.unit <= 1e9, ": the unit must be 1e-9 to 1e9 meters");
	}

	void points(size_t joints)
	{
		uint8_t digits = in.u8();
		in.check(digits <= POINT_DIGITS || digits == AS_FLOATS, ": points have more than 9 decimals");
		const double power = power_of_ten(digits);
		double* offsets = array<double>(3 * joints);
		double* sites = array<double>(3 * info.end_count);
		size_t count = 3 * (joints + info.end_count);
		for (size_t i = 0; i < count && in.good(); ++i)
		{
			// this order of operations restores decimals exactly
			double value = digits == AS_FLOATS ? in.f64() : double(in.zigzag()) / power * info.unit;
			in.check(std::fabs(value) <= MAX_POINT_M, ": a point exceeds 1e6 meters");
			(i < 3 * joints ? offsets[i] : sites[i - 3 * joints]) = value;
		}
		info.offsets = offsets, info.end_sites = sites;
	}

	// Reads the frames in which channels rotate.
	void axes(size_t joints)
	{
		uint8_t kind = in.u8();
		in.check(kind <= 2, ": unknown kind of axes");
		double* frames = kind && in.good() ? array<double>(4 * uint64_t(joints)) : nullptr;
		for (size_t j = 0; kind == 1 && j < joints && in.good(); ++j)
		{
			double square = 0;
			for (int c = 0; c < 4; ++c)
			{
				frames[4 * j + c] = in.f64();
				square += frames[4 * j + c] * frames[4 * j + c];
			}
			in.check(std::fabs(std::sqrt(square) - 1) <= AXES_TOLERANCE, ": axes must be unit quaternions");
		}
		motion->channel_frames = frames;
		if (kind != 2)
			return;
		uint8_t digits = in.u8();
		in.check(digits <= POINT_DIGITS, ": unknown kind of axes");
		const double power = power_of_ten(digits);
		for (size_t j = 0; j < joints && in.good(); ++j)
		{
			double degrees[3];
			for (double& one : degrees)
				one = double(in.zigzag()) / power;
			write_axis_frame(degrees, frames + 4 * j);
		}
	}
};

} // namespace

bool read_skeleton(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields packed = fields_of(chunk, "chunk SKEL", error);
	size_t size = 0;
	uint8_t* bytes =
		inflate_fields(&packed, MAX_SKELETON_BYTES, &motion->memory, &size,
					   reinterpret_cast<const uint8_t*>(SKELETON_DICTIONARY), sizeof SKELETON_DICTIONARY - 1);
	if (!bytes)
		return false;
	SkeletonReader reader(packed.part(bytes, size), motion);
	bool good = reader.run();
	motion->memory.release(bytes);
	motion->info.skeleton_size = chunk.whole;
	return good;
}

bool read_skeleton_chunks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	return read_skeleton(chunks.skeleton, motion, error) &&
		   (!chunks.rest.found || read_rest(chunks.rest, motion, error)) &&
		   (!chunks.hinges.found || read_hinges(chunks.hinges, motion, error)) &&
		   (!chunks.scales.found || read_scaled_joints(chunks.scales, motion, error));
}

// Reads the three stored components of a unit quaternion. The other one follows from their squares, which are
// integers, so it is the same on every machine.
static void read_rest_rotation(uint8_t omitted, Fields* in, double* q)
{
	bool valid = omitted < 8;
	int64_t square = REST_UNIT * REST_UNIT;
	for (int c = 0; c < 4; ++c)
	{
		if (c == omitted % 4)
			continue;
		const int64_t whole = in->zigzag();
		if (whole <= -REST_UNIT || whole >= REST_UNIT)
			valid = false;
		else
			square -= whole * whole;
		q[c] = double(whole) / double(REST_UNIT);
	}
	in->check(valid && square >= 0, ": rest rotations must be unit quaternions");
	if (in->good())
		q[omitted % 4] = (omitted < 4 ? 1 : -1) * std::sqrt(double(square)) / double(REST_UNIT);
}

bool read_rest(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk REST", error);
	Memory& memory = motion->memory;
	const size_t joints = motion->info.joint_count;
	const uint8_t* bits = in.raw((joints + 7) / 8);
	const size_t count = count_set(bits, joints);
	double* rest = memory.allocate_array<double>(4 * uint64_t(joints));
	if (!rest)
		return in.no_memory();
	size_t size = 0;
	uint8_t* inflated = in.good() ? inflate_fields(&in, MAX_REST_BYTES * count, &memory, &size) : nullptr;
	if (!inflated)
		return false;
	Fields numbers = in.part(inflated, size);
	const uint8_t* omitted = numbers.raw(count);
	for (size_t j = 0; j < joints; ++j)
	{
		double* q = rest + 4 * j;
		q[3] = 1;
		if (numbers.good() && is_set(bits, j))
			read_rest_rotation(*omitted++, &numbers, q);
	}
	numbers.end();
	memory.release(inflated);
	motion->info.rest_rotations = rest;
	return numbers.good();
}

} // namespace mocpack
