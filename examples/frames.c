// Prints where the joints are in some frames of a .mocp file: C and the native core alone, no Python.
//
//     make frames
//     build/frames walk.mocp 120 3
//
// Reads what docs/format.md specifies, of codec keysine, and decodes the groups that hold the frames. zlib
// inflates the skeleton and checks chunks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "mocpack/core.h"

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
};

static void fail(const char* what)
{
	fprintf(stderr, "frames: %s\n", what);
	exit(1);
}

static void fail_at_chunk(const uint8_t* tag)
{
	fprintf(stderr, "frames: chunk %.4s: a newer reader is needed\n", (const char*)tag);
	exit(1);
}

static void* room(size_t count, size_t size)
{
	void* memory = calloc(count ? count : 1, size);
	if (!memory)
		fail("out of memory");
	return memory;
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
		fail("the file ends too early");
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
	fail("a number out of range");
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
	int32_t *parents, *end_joints, *translated_joints;
	double *offsets, *end_sites;
	char (*names)[256];
	mocpack_Skeleton skeleton;
	Fields payload;
} Clip;

static void read_head(Clip* clip, Fields in)
{
	if (*take(&in, 1) != 0)
		fail("not the motion of a skeleton");
	clip->frames = (size_t)varint(&in, INT32_MAX);
	take(&in, 8); // the time from frame to frame
	size_t size = (size_t)varint(&in, 255);
	if (size != 7 || memcmp(take(&in, size), "keysine", 7))
		fail("of another codec than keysine");
	if (varint(&in, 255) != 1)
		fail("of a newer keysine");
}

// Joint numbers, each moved up by as many joints as were put before the first.
static int32_t* indices(Fields* in, size_t* count, size_t joints, size_t origins)
{
	*count = (size_t)varint(in, MOST_JOINTS);
	int32_t *found = room(*count, sizeof *found), last = 0;
	for (size_t i = 0; i < *count; ++i)
	{
		last += (int32_t)varint(in, MOST_JOINTS);
		if ((size_t)last >= joints)
			fail("a joint that is not there");
		found[i] = last + (int32_t)origins;
	}
	return found;
}

static double unit_of(Fields* in)
{
	const double units[] = {1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45};
	uint8_t unit = *take(in, 1);
	if (unit == 255)
		return float64(in);
	if (unit >= sizeof units / sizeof *units)
		fail("an unknown unit");
	return units[unit];
}

static void read_points(Fields* in, double* points, size_t count, int digits, double unit)
{
	double power = 1;
	for (int d = 0; digits != 255 && d < digits; ++d)
		power *= 10;
	for (size_t i = 0; i < 3 * count; ++i)
		points[i] = digits == 255 ? float64(in) : signed_number(in) / power * unit;
}

static void read_skeleton(Clip* clip, Fields in)
{
	size_t joints = (size_t)varint(&in, MOST_JOINTS);
	if (!joints)
		fail("no joints");
	// one place more in front, for the origin that several roots hang from
	clip->names = room(joints + 1, sizeof *clip->names);
	clip->parents = room(joints + 1, sizeof *clip->parents);
	for (size_t j = 0; j < joints; ++j)
	{
		size_t size = (size_t)varint(&in, 255);
		memcpy(clip->names[j + 1], take(&in, size), size);
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
	for (uint64_t n = varint(&in, MOST_JOINTS); n > 0; --n) // how channels were laid out in the source
		take(&in, (size_t)varint(&in, 255));
	for (size_t j = 0; j < joints; ++j)
		varint(&in, MOST_JOINTS);
	clip->translated_joints = indices(&in, &clip->translated, joints, clip->origins);
	clip->end_joints = indices(&in, &clip->ends, joints, clip->origins);
	double unit = unit_of(&in);
	int digits = *take(&in, 1);
	if (digits > 9 && digits != 255)
		fail("points of too many digits");
	clip->offsets = room(3 * clip->joints, sizeof(double));
	clip->end_sites = room(3 * clip->ends, sizeof(double));
	read_points(&in, clip->offsets + 3 * clip->origins, joints, digits, unit);
	read_points(&in, clip->end_sites, clip->ends, digits, unit);
	mocpack_Skeleton skeleton = {clip->joints,	   clip->parents,		   clip->offsets,
								 clip->ends,	   clip->end_joints,	   clip->end_sites,
								 clip->translated, clip->translated_joints};
	clip->skeleton = skeleton;
}

static void inflate_skeleton(Clip* clip, Fields in)
{
	uint8_t* out = room(MOST_SKELETON, 1);
	z_stream stream = {0};
	if (inflateInit2(&stream, -15) != Z_OK ||
		inflateSetDictionary(&stream, DICTIONARY, sizeof DICTIONARY - 1) != Z_OK)
		fail("zlib does not start");
	stream.next_in = (Bytef*)in.at;
	stream.avail_in = (uInt)(in.end - in.at);
	stream.next_out = out;
	stream.avail_out = MOST_SKELETON;
	if (inflate(&stream, Z_FINISH) != Z_STREAM_END)
		fail("the skeleton does not inflate");
	Fields inflated = {out, out + stream.total_out};
	read_skeleton(clip, inflated);
	inflateEnd(&stream);
	free(out);
}

static void read_file(Clip* clip, Fields in)
{
	int seen = 0;
	if (memcmp(take(&in, 5), "\x93MOC\x01", 5))
		fail("not a .mocp file");
	while (in.at < in.end)
	{
		const uint8_t* tag = take(&in, 4);
		size_t size = (size_t)varint(&in, INT32_MAX);
		const uint8_t* sum = take(&in, 4);
		Fields body = {in.at, in.at + size};
		take(&in, size);
		uint32_t stated =
			(uint32_t)sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
		if (crc32(crc32(0, tag, 4), body.at, (uInt)size) != stated)
			fail("a checksum is wrong");
		if (!memcmp(tag, "HEAD", 4) && seen == 0)
			read_head(clip, body), ++seen;
		else if (!memcmp(tag, "SKEL", 4) && seen == 1)
			inflate_skeleton(clip, body), ++seen;
		else if (!memcmp(tag, "DATA", 4) && seen == 2)
			clip->payload = body, ++seen;
		else if (!memcmp(tag, "SCAL", 4))
			fail("chunk SCAL: joints with scales are not read here");
		else if (!memcmp(tag, "CLIP", 4))
			fail("chunk CLIP: a scene of several clips is not read here");
		// rest rotations, and when frames are, do not change where joints stand in a frame
		else if (memcmp(tag, "REST", 4) && memcmp(tag, "TIME", 4) && tag[0] < 'a')
			fail_at_chunk(tag);
	}
	if (seen != 3)
		fail("a file without motion");
}

static void check(mocpack_Status status)
{
	if (status != MOCPACK_OK)
		fail(status == MOCPACK_TRUNCATED ? "the motion ends too early" : "the motion is damaged");
}

// Where part `index` of the payload stands: segments first, then groups layer by layer.
static const uint8_t* part_at(const Clip* clip, const mocpack_KeysineLayout* layout, size_t index)
{
	size_t start = layout->head_size;
	for (size_t i = 0; i <= index; ++i)
	{
		start += i ? layout->sizes[i - 1] : 0;
		if (start + layout->sizes[i] > (size_t)(clip->payload.end - clip->payload.at))
			fail("the motion ends too early");
	}
	return clip->payload.at + start;
}

static int32_t* keys_of(const Clip* clip, const mocpack_KeysineHead* head, size_t segment)
{
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	size_t blocks = layout.blocks_per_group * layout.groups_per_segment,
		   left = layout.block_count - segment * blocks;
	size_t count = (left < blocks ? left : blocks) + 1;
	int32_t* keys = room(count * layout.channel_count, sizeof *keys);
	void* scratch = room(1, mocpack_keysine_segment_scratch(head));
	check(mocpack_keysine_decode_segment(head, count, part_at(clip, &layout, segment), layout.sizes[segment],
										 keys, scratch));
	free(scratch);
	return keys;
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
	free(world), free(positions);
}

// Decodes one group and prints what of it is wanted.
static void print_group(const Clip* clip, const mocpack_KeysineHead* head, size_t group, size_t first,
						size_t last)
{
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	size_t segment = group / layout.groups_per_segment, block = group * layout.blocks_per_group;
	size_t next = block + layout.blocks_per_group;
	next = next < layout.block_count ? next : layout.block_count;
	size_t start = mocpack_keysine_key_frame(head, block), stop = mocpack_keysine_key_frame(head, next);
	int32_t* keys = keys_of(clip, head, segment);
	const int32_t* own =
		keys + (block - segment * layout.groups_per_segment * layout.blocks_per_group) * layout.channel_count;
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
	mocpack_keysine_pose(head, own + (next - block) * layout.channel_count, NULL,
						 rotations + 4 * clip->joints * (count - 1),
						 translations + 3 * clip->translated * (count - 1));
	size_t end = next == layout.block_count ? stop + 1 : stop;
	size_t from = first > start ? first : start, to = last + 1 < end ? last + 1 : end;
	if (from < to)
		print_frames(clip, rotations + 4 * clip->joints * (from - start),
					 translations + 3 * clip->translated * (from - start), from, to - from);
	free(scratch), free(translations), free(rotations), free(keys);
}

static Fields whole_file(const char* path)
{
	FILE* file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		fail("cannot open the file");
	long size = ftell(file);
	rewind(file);
	uint8_t* bytes = room((size_t)(size > 0 ? size : 0), 1);
	if (size < 0 || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		fail("cannot read the file");
	fclose(file);
	Fields fields = {bytes, bytes + size};
	return fields;
}

int main(int argc, char** argv)
{
	if (argc != 4)
		fail("name a .mocp file, the first frame and how many");
	Clip clip = {0};
	read_file(&clip, whole_file(argv[1]));
	size_t first = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
	if (!count || count > clip.frames || first > clip.frames - count)
		fail("there are no such frames");
	size_t size = (size_t)(clip.payload.end - clip.payload.at);
	void* memory = room(1, mocpack_keysine_head_memory(clip.payload.at, size, clip.joints, clip.frames));
	mocpack_KeysineHead* head;
	check(mocpack_keysine_open(clip.payload.at, size, &clip.skeleton, clip.frames, memory, &head));
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	if (!layout.group_count) // a clip of one frame is a key
	{
		double* rotations = room(4 * clip.joints, sizeof(double));
		double* translations = room(3 * clip.translated, sizeof(double));
		mocpack_keysine_pose(head, keys_of(&clip, head, 0), NULL, rotations, translations);
		print_frames(&clip, rotations, translations, 0, 1);
	}
	for (size_t group = 0; group < layout.group_count; ++group)
	{
		size_t block = group * layout.blocks_per_group, next = block + layout.blocks_per_group;
		next = next < layout.block_count ? next : layout.block_count;
		if (mocpack_keysine_key_frame(head, block) <= first + count - 1 &&
			mocpack_keysine_key_frame(head, next) >= first)
			print_group(&clip, head, group, first, first + count - 1);
	}
	return 0;
}
