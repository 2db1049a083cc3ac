// The writer of files under the sanitizers: deflate streams that the reader inflates, a file with every chunk
// that the reader opens, and every allocation failing once.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "counter.h"
#include "reader/inflate.h"
#include "writer/chunks.h"
#include "writer/deflate.h"
#include "writer/file.h"

using namespace mocpack;

namespace
{

int failures = 0;

void check(bool good, const char* what)
{
	if (!good)
		printf("failed: %s\n", what), ++failures;
}

void deflate_round_trips()
{
	std::mt19937 rng(1);
	Counter counter;
	for (int trial = 0; trial < 300; ++trial)
	{
		const size_t size = trial % 10 ? rng() % 500 : rng() % 150000, words = trial % 3 ? rng() % 300 : 0;
		// in memory of their very sizes, so that the address sanitizer sees a read past the end
		std::unique_ptr<uint8_t[]> data(new uint8_t[size]), dictionary(new uint8_t[words]),
			back(new uint8_t[size]);
		for (size_t i = 0; i < size; ++i)
			data[i] = uint8_t(trial % 2 ? rng() % 3 : i % (7 + unsigned(trial)) ? 0 : rng());
		for (size_t i = 0; i < words; ++i)
			dictionary[i] = uint8_t(rng() % 3);
		FieldWriter out(counter.allocator());
		deflate(data.get(), size, &out, dictionary.get(), words);
		const Inflated found = inflate(out.data(), out.size(), dictionary.get(), words, back.get(), size);
		check(out.good() && found.status == MOCPACK_OK && found.size == size &&
				  !memcmp(data.get(), back.get(), size),
			  "a deflate stream holds its data");
	}
	check(counter.held == 0, "deflate releases its memory");
}

mocpack_Text text(const char* bytes)
{
	return {bytes, strlen(bytes)};
}

// A file of a robot with every chunk that the writer knows, of one frame per row of `times`.
void write_robot(FieldWriter* out)
{
	const double none = std::numeric_limits<double>::infinity(), turn = std::sqrt(0.5);
	const mocpack_Text names[] = {text("base"), text("arm"), text("hand")},
					   hinge_names[] = {text("arm.yaw"), text("lift")},
					   channels[] = {{"\6\7", 2}, {"\6\7", 2}, {nullptr, 0}};
	const int32_t parents[] = {-1, 0, 1}, ends[] = {2}, translated[] = {0, 2}, hinge_joints[] = {1, 2},
				  scaled[] = {1};
	const double offsets[] = {0, 0, 0, 0, 0.25, 0, 0.1, 1.0 / 3, 0}, sites[] = {0.1, 0, 0},
				 axes[] = {0, 0, 0, 1, turn, 0, 0, turn, 0, 0, 0, 1},
				 rest[] = {0, 0, 0, 1, 0, turn, 0, turn, 0.6, 0, 0, 0.8};
	const double hinge_axes[] = {0, 0, 1, 0.6, 0, 0.8}, limits[] = {-1.5, none, 0, 0.3},
				 constant[] = {1, 1, 1, 2, 2, 2, 1, 1, 1};
	const uint8_t slides[] = {0, 1};
	const size_t FRAMES = 40;
	std::vector<double> moving, times;
	std::vector<uint8_t> valid;
	for (size_t t = 0; t < FRAMES; ++t)
	{
		times.push_back(0.5 + double(t) / 30 + (t % 3 ? 0 : 1e-3));
		for (int c = 0; c < 3; ++c)
			moving.push_back(1 + 0.1 * std::sin(0.3 * double(t) + c));
		for (int j = 0; j < 3; ++j)
			valid.push_back(j != 1 || t / 5 % 2);
	}
	const double frame_time = 1 / 30.0;
	const FileHead head = {false,
						   FRAMES,
						   frame_time,
						   text("none"),
						   1,
						   text("{\"a\":1}"),
						   text("{\"b\":2}"),
						   0.001,
						   {5e-4, 1e-4, 2e-4, 4e-4},
						   0.01,
						   0.002};
	const FileSkeleton skeleton = {3, names, parents, channels, 2,	   translated,
								   1, ends,	 0.01,	  offsets,	sites, axes};
	const FileHinges hinges = {2, hinge_joints, slides, hinge_names, hinge_axes, limits, false};
	const double errors[] = {0.001, 0.002, 0.001}, angles[] = {0.1, 0, 0.1};
	const mocpack_Allocator& memory = out->allocator();
	FieldWriter bodies[] = {FieldWriter(memory), FieldWriter(memory), FieldWriter(memory),
							FieldWriter(memory), FieldWriter(memory), FieldWriter(memory),
							FieldWriter(memory), FieldWriter(memory), FieldWriter(memory)};
	write_head(head, &bodies[0]);
	write_skeleton(skeleton, &bodies[1]);
	write_rest(rest, 3, &bodies[2]);
	write_hinges(hinges, names, 3, &bodies[3]);
	write_scales(constant, 3, moving.data(), FRAMES, scaled, 1, 1e-3, &bodies[4]);
	write_times(times[0], times.data(), FRAMES, &bodies[5]);
	write_gaps(valid.data(), FRAMES, 3, &bodies[6]);
	write_joint_bounds(3, errors, errors, angles, angles, &bodies[7]);
	bodies[8].f64(1);
	const char* const tags[] = {"HEAD", "SKEL", "REST", "HING", "SCAL", "TIME", "vald", "bnds", "DATA"};
	FileChunk chunks[9];
	for (size_t i = 0; i < 9; ++i)
	{
		memcpy(chunks[i].tag, tags[i], 4);
		chunks[i].body = bodies[i].data(), chunks[i].size = bodies[i].size();
		if (!bodies[i].good())
			out->fail();
	}
	write_file(chunks, 9, {FRAMES, 3}, out);
}

void a_file_opens()
{
	Counter counter;
	FieldWriter out(counter.allocator());
	write_robot(&out);
	mocpack_Motion* motion;
	mocpack_Error error;
	// its codec is unknown, so everything before the payload has been read
	const mocpack_Status status = mocpack_open(out.data(), out.size(), nullptr, &motion, &error);
	check(out.good() && status == MOCPACK_UNSUPPORTED && strstr(error.message, "none"), "the file opens");
}

void every_allocation_fails_once()
{
	size_t calls = SIZE_MAX;
	for (size_t fail_at = 0; fail_at < calls; ++fail_at)
	{
		Counter counter;
		counter.fail_at = fail_at;
		{
			FieldWriter out(counter.allocator());
			write_robot(&out);
			check(!out.good() || counter.calls <= fail_at, "a file without memory is reported");
			if (out.good())
				calls = 0;
		}
		check(counter.held == 0, "a failed file releases its memory");
	}
}

} // namespace

int main()
{
	deflate_round_trips();
	a_file_opens();
	every_allocation_fails_once();
	printf("%d failures\n", failures);
	return failures != 0;
}
