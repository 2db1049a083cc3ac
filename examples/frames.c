// Prints where the joints are in some frames of a .mocp file: C and the native core alone, no Python.
//
//     make frames
//     build/frames walk.mocp 120 3            three frames from frame 120 on
//     build/frames walk.mocp 120 3 200000000  within so many bytes of memory; 1 GB where none are named
//
// What it cannot read it says in one line: the kind of trouble, the same as in Python and JavaScript, and
// why. Reads what docs/format.md specifies, of codec keysine, and decodes the groups that hold the frames.
// zlib inflates the skeleton and checks chunks.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "kernels/kinematics.h"
#include "kernels/quaternions.h"
#include "keysine/decode/decode.h"

static const unsigned char DICTIONARY[] =
	"Thumb1Thumb2Thumb3Index1Index2Index3Middle1Middle2Middle3Ring1Ring2Ring3Pinky1Pinky2Pinky3"
	"lclavicle\x08"
	"lhumerus\x07"
	"lradius\x06"
	"lwrist\x05"
	"lhand\x08"
	"lfingers\x06"
	"lthumb"
	"rclavicle\x08"
	"rhumerus\x07"
	"rradius\x06"
	"rwrist\x05"
	"rhand\x08"
	"rfingers\x06"
	"rthumb"
	"\x04"
	"root\x09"
	"lhipjoint\x06"
	"lfemur\x06"
	"ltibia\x05"
	"lfoot\x05"
	"ltoes\x09"
	"rhipjoint\x06"
	"rfemur\x06"
	"rtibia\x05"
	"rfoot\x05"
	"rtoes\x09"
	"lowerback\x09"
	"upperback\x06"
	"thorax\x09"
	"lowerneck\x09"
	"upperneck\x04"
	"head\x08"
	"UpperLeg\x08"
	"LowerLeg\x08"
	"UpperArm\x08"
	"LowerArm\x05"
	"Chest\x08"
	"Shoulder\x04"
	"Hand\x04"
	"Foot\x04"
	"Toes_L_R\x04"
	"Hips\x09"
	"LHipJoint\x09"
	"LeftUpLeg\x07"
	"LeftLeg\x08"
	"LeftFoot\x0b"
	"LeftToeBase\x09"
	"RHipJoint\x0a"
	"RightUpLeg\x08"
	"RightLeg\x09"
	"RightFoot\x0c"
	"RightToeBase\x09"
	"LowerBack\x05"
	"Spine\x06"
	"Spine1\x06"
	"Spine2\x04"
	"Neck\x05"
	"Neck1\x04"
	"Head\x0c"
	"LeftShoulder\x07"
	"LeftArm\x0b"
	"LeftForeArm\x08"
	"LeftHand\x0e"
	"LeftFingerBase\x10"
	"LeftHandIndex1\x06"
	"LThumb\x0d"
	"RightShoulder\x08"
	"RightArm\x0c"
	"RightForeArm\x09"
	"RightHand\x0f"
	"RightFingerBase\x11"
	"RightHandIndex1\x06"
	"RThumb";

enum
{
	MOST_JOINTS = 65535,
	MOST_SKELETON = 1 << 24, // bytes, inflated
	MOST_EXPANSION = 1032,	 // of deflate
	MOST_PARAMETERS = 65536, // bytes
	FRAMES_PER_BYTE = 64,
	SAMPLES_PER_BYTE = 16384,
	PREFIX = 32, // bytes before each piece of memory, which hold its size
};

static const double FARTHEST_POINT = 1e6, FARTHEST = 1e7; // metres
static const double UNIT_TOLERANCE = 1e-3;				  // of a quaternion's length

// kind: format, truncated, corrupt, unsupported or memory, as everywhere; usage is the caller's.
static void fail(const char* kind, const char* what)
{
	fprintf(stderr, "frames: %s: %s\n", kind, what);
	exit(1);
}

static size_t memory_left = 1000000000, frames_announced, joints_announced;

// Memory of zeros, if the limit allows it.
static void* room(size_t count, size_t size)
{
	size_t needed = size && count > SIZE_MAX / 2 / size ? SIZE_MAX / 2 : count * size;
	if (needed + PREFIX > memory_left)
	{
		char what[200];
		snprintf(
			what, sizeof what,
			"%zu frames of %zu joints take more memory than the limit; a larger fourth argument allows it",
			frames_announced, joints_announced);
		fail("memory", what);
	}
	uint8_t* memory = calloc(1, needed + PREFIX);
	if (!memory)
		fail("memory", "there is none left");
	memcpy(memory, &needed, sizeof needed);
	memory_left -= needed + PREFIX;
	return memory + PREFIX;
}

static void give_back(void* memory)
{
	size_t size;
	memcpy(&size, (uint8_t*)memory - PREFIX, sizeof size);
	memory_left += size + PREFIX;
	free((uint8_t*)memory - PREFIX);
}

// Bytes that are read from the front; what is missing ends the program.
typedef struct Fields
{
	const uint8_t *at, *end;
} Fields;

static const uint8_t* take(Fields* in, size_t size)
{
	const uint8_t* found = in->at;
	if ((size_t)(in->end - in->at) < size)
		fail("truncated", "the file ends too early");
	in->at += size;
	return found;
}

static uint64_t varint(Fields* in, uint64_t most)
{
	uint64_t value = 0;
	for (int shift = 0; shift < 63; shift += 7)
	{
		uint8_t byte = *take(in, 1);
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
		{
			if (value > most)
				break;
			return value;
		}
	}
	fail("corrupt", "a number out of range");
	return 0;
}

static double float64(Fields* in)
{
	double value;
	memcpy(&value, take(in, 8), 8); // on machines that are little-endian, as nearly all are
	return value;
}

// A whole number of either sign: 0, -1, 1, -2, 2 …
static double signed_number(Fields* in)
{
	uint64_t folded = varint(in, UINT64_MAX);
	return folded & 1 ? -1.0 - (double)(folded >> 1) : (double)(folded >> 1);
}

typedef struct Clip
{
	size_t frames, joints, ends, translated;
	size_t origins; // 1 if a joint at the origin was put above several roots, else 0
	double frame_time;
	int32_t *parents, *end_joints, *translated_joints;
	double *offsets, *end_sites;
	char (*names)[256];
	mocpack_Skeleton skeleton;
	Fields payload;
} Clip;

// A JSON object, or nothing.
static Fields parameters(Fields* in)
{
	size_t size = (size_t)varint(in, MOST_PARAMETERS);
	const uint8_t* text = take(in, size);
	if (size && (text[0] != '{' || text[size - 1] != '}'))
		fail("corrupt", "parameters that are not a JSON object");
	Fields found = {text, text + size};
	return found;
}

static void check_version(uint64_t found, uint64_t newest)
{
	if (found < 1)
		fail("corrupt", "versions count from 1");
	if (found > newest)
		fail("unsupported", "of a newer version");
}

// Parameters that a decoder must know: this one knows none.
static void check_needed(Fields needed)
{
	size_t size = (size_t)(needed.end - needed.at);
	if (size <= 2) // {}
		return;
	char what[200];
	snprintf(what, sizeof what, "keysine needs parameters of a newer version: %.*s",
			 size < 100 ? (int)size : 100, (const char*)needed.at);
	fail("unsupported", what);
}

static void read_head(Clip* clip, Fields in)
{
	float declared = 0;
	uint8_t kind = *take(&in, 1);
	if (kind > 1)
		fail("corrupt", "an unknown kind of clip");
	clip->frames = frames_announced = (size_t)varint(&in, INT64_MAX);
	clip->frame_time = float64(&in);
	size_t size = (size_t)varint(&in, 255);
	const uint8_t* codec = take(&in, size);
	uint64_t version = varint(&in, INT32_MAX);
	parameters(&in); // what the encoder was asked for
	uint8_t flags = *take(&in, 1);
	if (flags > 15)
		fail("unsupported", "flags of a newer version");
	if (flags & 1)
		memcpy(&declared, take(&in, 4), 4);
	if (flags & 2)
		take(&in, 8); // errors that the encoder measured
	if (flags & 8)
		take(&in, 6); // the bound on angles, and what was measured
	Fields none = {NULL, NULL}, needed = flags & 4 ? parameters(&in) : none;
	if (!(declared >= 0 && declared < HUGE_VALF) || in.at < in.end)
		fail("corrupt", "the head has bytes too many, or an error that is no length");
	if (clip->frames < 1 || !(clip->frame_time >= 1e-6 && clip->frame_time <= 1e6))
		fail("corrupt", "no frames, or frames that take no time");
	if (kind)
		fail("unsupported", "not the motion of a skeleton");
	if (size != 7 || memcmp(codec, "keysine", 7))
		fail("unsupported", "of another codec than keysine");
	check_version(version, 1);
	check_needed(needed);
}

// Joint numbers, each moved up by as many joints as were put before the first.
static int32_t* indices(Fields* in, size_t* count, size_t joints, int least, size_t origins)
{
	*count = (size_t)varint(in, MOST_JOINTS);
	int32_t *found = room(*count, sizeof *found), last = 0;
	for (size_t i = 0; i < *count; ++i)
	{
		int32_t step = (int32_t)varint(in, MOST_JOINTS);
		last += step;
		if ((size_t)last >= joints || (i && step < least))
			fail("corrupt", "a joint that is not there");
		found[i] = last + (int32_t)origins;
	}
	return found;
}

static double unit_of(Fields* in)
{
	const double units[] = {1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45};
	uint8_t code = *take(in, 1);
	if (code != 255 && code >= sizeof units / sizeof *units)
		fail("corrupt", "an unknown unit");
	double unit = code == 255 ? float64(in) : units[code];
	if (!(unit >= 1e-9 && unit <= 1e9))
		fail("corrupt", "a unit that is no length");
	return unit;
}

static void read_points(Fields* in, double* points, size_t count, int digits, double unit)
{
	double power = 1;
	for (int d = 0; digits != 255 && d < digits; ++d)
		power *= 10;
	for (size_t i = 0; i < 3 * count; ++i)
	{
		points[i] = digits == 255 ? float64(in) : signed_number(in) / power * unit;
		if (!(fabs(points[i]) <= FARTHEST_POINT))
			fail("corrupt", "a point that is not near");
	}
}

// How channels were laid out in the source, which does not matter here.
static void skip_layouts(Fields* in, size_t joints)
{
	uint64_t count = varint(in, joints);
	for (uint64_t n = count; n > 0; --n)
	{
		size_t size = (size_t)varint(in, 12);
		const uint8_t* codes = take(in, size);
		for (size_t i = 0; i < size; ++i)
			if (codes[i] >= 12)
				fail("corrupt", "an unknown channel");
	}
	for (size_t j = 0; j < joints; ++j)
		if (varint(in, MOST_JOINTS) >= count)
			fail("corrupt", "a layout that is not there");
}

static void skip_axes(Fields* in, size_t joints)
{
	uint8_t kind = *take(in, 1);
	if (kind == 1)
		take(in, 32 * joints);
	if (kind > 2 || (kind == 2 && *take(in, 1) > 9))
		fail("corrupt", "unknown axes");
	for (size_t i = 0; kind == 2 && i < 3 * joints; ++i)
		signed_number(in);
	if (in->at < in->end)
		fail("corrupt", "the skeleton has bytes too many");
}

// Whether bytes are UTF-8, in which no half of a surrogate pair and no longer form than needed may stand.
static int is_utf8(const uint8_t* at, size_t size)
{
	const uint8_t* end = at + size;
	while (at < end)
	{
		int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : -1;
		if (more < 0 || end - at <= more)
			return 0;
		if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
			(*at == 0xf4 && at[1] > 0x8f))
			return 0;
		for (++at; more > 0; --more, ++at)
			if ((*at & 0xc0) != 0x80)
				return 0;
	}
	return 1;
}

static void read_skeleton(Clip* clip, Fields in)
{
	size_t joints = joints_announced = (size_t)varint(&in, MOST_JOINTS);
	if (!joints)
		fail("corrupt", "no joints");
	// one place more in front, for the origin that several roots hang from
	clip->names = room(joints + 1, sizeof *clip->names);
	clip->parents = room(joints + 1, sizeof *clip->parents);
	for (size_t j = 0; j < joints; ++j)
	{
		size_t size = (size_t)varint(&in, 255);
		const uint8_t* name = take(&in, size);
		if (!is_utf8(name, size))
			fail("corrupt", "a name is not UTF-8");
		memcpy(clip->names[j + 1], name, size);
	}
	for (size_t j = 1; j < joints; ++j)
	{
		clip->parents[j + 1] = (int32_t)(j - varint(&in, j));
		clip->origins |= !clip->parents[j + 1];
	}
	if (!clip->origins)
	{
		memmove(clip->names, clip->names + 1, joints * sizeof *clip->names);
		for (size_t j = 1; j < joints; ++j)
			clip->parents[j] = clip->parents[j + 1] - 1;
	}
	clip->parents[0] = -1;
	clip->joints = joints + clip->origins;
	skip_layouts(&in, joints);
	clip->translated_joints = indices(&in, &clip->translated, joints, 1, clip->origins);
	clip->end_joints = indices(&in, &clip->ends, joints, 0, clip->origins);
	double unit = unit_of(&in);
	int digits = *take(&in, 1);
	if (digits > 9 && digits != 255)
		fail("corrupt", "points of too many digits");
	clip->offsets = room(3 * clip->joints, sizeof(double));
	clip->end_sites = room(3 * clip->ends, sizeof(double));
	read_points(&in, clip->offsets + 3 * clip->origins, joints, digits, unit);
	read_points(&in, clip->end_sites, clip->ends, digits, unit);
	skip_axes(&in, joints);
	mocpack_Skeleton skeleton = {.joint_count = clip->joints,
								 .parents = clip->parents,
								 .offsets = clip->offsets,
								 .end_count = clip->ends,
								 .end_joints = clip->end_joints,
								 .end_sites = clip->end_sites,
								 .translated_count = clip->translated,
								 .translated_joints = clip->translated_joints};
	clip->skeleton = skeleton;
}

static void inflate_skeleton(Clip* clip, Fields in)
{
	size_t packed = (size_t)(in.end - in.at);
	size_t most = packed < MOST_SKELETON / MOST_EXPANSION ? packed * MOST_EXPANSION + 64 : MOST_SKELETON;
	uint8_t* out = room(most, 1);
	z_stream stream = {0};
	if (inflateInit2(&stream, -15) != Z_OK ||
		inflateSetDictionary(&stream, DICTIONARY, sizeof DICTIONARY - 1) != Z_OK)
		fail("memory", "zlib does not start");
	stream.next_in = (Bytef*)in.at;
	stream.avail_in = (uInt)(in.end - in.at);
	stream.next_out = out;
	stream.avail_out = (uInt)most;
	int status = inflate(&stream, Z_FINISH);
	if (status == Z_BUF_ERROR && stream.avail_out)
		fail("truncated", "the skeleton is not all there");
	if (status != Z_STREAM_END || stream.avail_in)
		fail("corrupt", "the skeleton does not inflate");
	Fields inflated = {out, out + stream.total_out};
	read_skeleton(clip, inflated);
	inflateEnd(&stream);
	give_back(out);
}

enum
{
	HEAD = 1,
	SKEL = 2,
	DATA = 4,
	REST = 8,
	TIME = 16,
};

// What a chunk is; those that change a pose in ways that are not computed here end the program.
static int kind_of(const uint8_t* tag)
{
	static const char tags[][5] = {"HEAD", "SKEL", "DATA", "REST", "TIME"};
	for (int i = 0; i < 5; ++i)
		if (!memcmp(tag, tags[i], 4))
			return 1 << i;
	if (!memcmp(tag, "HING", 4))
		fail("unsupported", "chunk HING: motion along hinges is not read here");
	if (!memcmp(tag, "SCAL", 4))
		fail("unsupported", "chunk SCAL: joints with scales are not read here");
	if (!memcmp(tag, "CLIP", 4))
		fail("unsupported", "chunk CLIP: a scene of several clips is not read here");
	if (memcmp(tag, "MESH", 4) && !(tag[0] >= 'a' && tag[0] <= 'z'))
	{
		char what[80];
		snprintf(what, sizeof what, "chunk %.4s, which a newer reader knows", (const char*)tag);
		fail("unsupported", what);
	}
	return 0;
}

static void read_magic(Fields* in)
{
	const uint8_t magic[4] = {0x93, 'M', 'O', 'C'};
	size_t there = (size_t)(in->end - in->at);
	if (memcmp(in->at, magic, there < 4 ? there : 4))
		fail("format", "not a .mocp file");
	check_version(take(in, 5)[4], 1);
}

// When frames are does not matter here, but what is no time is no file.
static void check_time(Fields in)
{
	uint8_t kind = *take(&in, 1);
	double start = float64(&in);
	if (kind > 1 || !(fabs(start) < 1e9))
		fail("corrupt", "times of an unknown kind, or a start that is none");
}

static void read_file(Clip* clip, Fields in)
{
	int seen = 0;
	size_t size = (size_t)(in.end - in.at);
	Fields head = {NULL, NULL}, skeleton = head;
	read_magic(&in);
	while (in.at < in.end)
	{
		const uint8_t* tag = take(&in, 4);
		size_t length = (size_t)varint(&in, INT64_MAX);
		const uint8_t* sum = take(&in, 4);
		const uint8_t* start = take(&in, length);
		Fields body = {start, start + length};
		uint32_t stated =
			(uint32_t)sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
		int known = kind_of(tag);
		if (crc32_z(crc32(0, tag, 4), body.at, length) != stated)
			fail("corrupt", "a checksum is wrong");
		if (seen & known)
			fail("corrupt", "a chunk stands twice");
		seen |= known;
		if (known == HEAD)
			head = body;
		if (known == SKEL)
			skeleton = body;
		if (known == DATA)
			clip->payload = body;
		if (known == TIME)
			check_time(body);
	}
	if (seen & HEAD)
		read_head(clip, head);
	// rest rotations, and when frames are, do not change where joints stand in a frame
	if ((seen & ~(REST | TIME)) != (HEAD | SKEL | DATA))
		fail("truncated", "a file without head, skeleton or motion");
	inflate_skeleton(clip, skeleton);
	// so that a small file cannot announce any number of frames
	if (clip->frames / FRAMES_PER_BYTE > size || clip->frames > SIZE_MAX / 2 / MOST_JOINTS ||
		(clip->frames + FRAMES_PER_BYTE - 1) / FRAMES_PER_BYTE > size ||
		(clip->frames * joints_announced + SAMPLES_PER_BYTE - 1) / SAMPLES_PER_BYTE > size)
		fail("corrupt", "more frames are announced than so few bytes can hold");
}

static void check(mocpack_Status status)
{
	if (status == MOCPACK_TRUNCATED)
		fail("truncated", "the motion ends too early");
	if (status != MOCPACK_OK)
		fail("corrupt", "the motion is damaged");
}

// Where part `index` of the payload stands: segments first, then groups layer by layer.
static const uint8_t* part_at(const Clip* clip, const mocpack_KeysineLayout* layout, size_t index)
{
	size_t start = layout->head_size;
	for (size_t i = 0; i <= index; ++i)
	{
		start += i ? layout->sizes[i - 1] : 0;
		if (start + layout->sizes[i] > (size_t)(clip->payload.end - clip->payload.at))
			fail("truncated", "the motion ends too early");
	}
	return clip->payload.at + start;
}

static void check_end(const Clip* clip, const mocpack_KeysineLayout* layout)
{
	size_t last = layout->segment_count + layout->layer_count * layout->group_count - 1;
	if (part_at(clip, layout, last) + layout->sizes[last] < clip->payload.end)
		fail("corrupt", "the motion has bytes too many");
}

static int32_t* keys_of(const Clip* clip, const mocpack_KeysineHead* head, size_t segment)
{
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	size_t most = layout.groups_per_segment, left = layout.group_count - segment * most;
	size_t count = (left < most ? left : most) + 1;
	int32_t* keys = room(count * layout.channel_count, sizeof *keys);
	void* scratch = room(1, mocpack_keysine_segment_scratch(head));
	check(mocpack_keysine_decode_segment(head, count, part_at(clip, &layout, segment), layout.sizes[segment],
										 keys, scratch));
	give_back(scratch);
	return keys;
}

// Makes quaternions unit, and refuses what is no motion.
static void settle(const Clip* clip, double* rotations, const double* translations, size_t count)
{
	int good = mocpack_settle_rotations(rotations, count, clip->joints, UNIT_TOLERANCE) < 0;
	for (size_t i = 0; i < 3 * count * clip->translated; ++i)
		good = good && fabs(translations[i]) < FARTHEST; // NaN too
	if (!good)
		fail("corrupt", "what was decoded is no motion");
}

static void print_frames(const Clip* clip, const double* rotations, const double* translations, size_t from,
						 size_t count)
{
	double* positions = room(3 * clip->joints * count, sizeof *positions);
	double* world = room(4 * clip->joints * count, sizeof *world);
	mocpack_forward_kinematics(&clip->skeleton, rotations, translations, count, positions, world);
	for (size_t i = 0; i < clip->joints * count; ++i)
		if (i % clip->joints >= clip->origins)
			printf("%zu %s %.9f %.9f %.9f\n", from + i / clip->joints, clip->names[i % clip->joints],
				   positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
	give_back(world), give_back(positions);
}

// Decodes one group and prints what of it is wanted.
static void print_group(const Clip* clip, const mocpack_KeysineHead* head, size_t group, size_t first,
						size_t last)
{
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	size_t segment = group / layout.groups_per_segment;
	size_t start = mocpack_keysine_key_frame(head, group), stop = mocpack_keysine_key_frame(head, group + 1);
	int32_t* keys = keys_of(clip, head, segment);
	const int32_t* own = keys + (group - segment * layout.groups_per_segment) * layout.channel_count;
	const uint8_t* layers[16];
	size_t sizes[16];
	for (size_t l = 0; l < layout.layer_count; ++l)
	{
		size_t part = layout.segment_count + l * layout.group_count + group;
		layers[l] = part_at(clip, &layout, part), sizes[l] = layout.sizes[part];
	}
	size_t count = stop - start + 1; // the last one's frame is the next group's first
	double* rotations = room(4 * clip->joints * count, sizeof(double));
	double* translations = room(3 * clip->translated * count, sizeof(double));
	void* scratch = room(1, mocpack_keysine_group_scratch(head));
	check(mocpack_keysine_decode_group(head, group, own, layers, sizes, layout.layer_count, NULL, rotations,
									   translations, scratch));
	mocpack_keysine_pose(head, own + layout.channel_count, NULL, rotations + 4 * clip->joints * (count - 1),
						 translations + 3 * clip->translated * (count - 1));
	settle(clip, rotations, translations, count);
	size_t end = group + 1 == layout.group_count ? stop + 1 : stop;
	size_t from = first > start ? first : start, to = last + 1 < end ? last + 1 : end;
	if (from < to)
		print_frames(clip, rotations + 4 * clip->joints * (from - start),
					 translations + 3 * clip->translated * (from - start), from, to - from);
	give_back(scratch), give_back(translations), give_back(rotations), give_back(keys);
}

static Fields whole_file(const char* path)
{
	FILE* file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		fail("usage", "cannot open the file");
	long size = ftell(file);
	rewind(file);
	uint8_t* bytes = room((size_t)(size > 0 ? size : 0), 1);
	if (size < 0 || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		fail("usage", "cannot read the file");
	fclose(file);
	Fields fields = {bytes, bytes + size};
	return fields;
}

int main(int argc, char** argv)
{
	if (argc != 4 && argc != 5)
		fail("usage",
			 "name a .mocp file, the first frame, how many, and, if you like, the most bytes of memory");
	if (argc == 5)
		memory_left = strtoul(argv[4], NULL, 10);
	Clip clip = {0};
	read_file(&clip, whole_file(argv[1]));
	size_t first = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
	if (!count || count > clip.frames || first > clip.frames - count)
		fail("usage", "there are no such frames");
	size_t size = (size_t)(clip.payload.end - clip.payload.at);
	void* memory = room(1, mocpack_keysine_head_memory(clip.payload.at, size, clip.joints, clip.frames));
	mocpack_KeysineHead* head;
	check(mocpack_keysine_open(clip.payload.at, size, &clip.skeleton, clip.frames, memory, &head, NULL));
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	check_end(&clip, &layout);
	if (!layout.group_count) // a clip of one frame is a key
	{
		double* rotations = room(4 * clip.joints, sizeof(double));
		double* translations = room(3 * clip.translated, sizeof(double));
		mocpack_keysine_pose(head, keys_of(&clip, head, 0), NULL, rotations, translations);
		settle(&clip, rotations, translations, 1);
		print_frames(&clip, rotations, translations, 0, 1);
	}
	for (size_t group = 0; group < layout.group_count; ++group)
	{
		if (mocpack_keysine_key_frame(head, group) <= first + count - 1 &&
			mocpack_keysine_key_frame(head, group + 1) >= first)
			print_group(&clip, head, group, first, first + count - 1);
	}
	return 0;
}
