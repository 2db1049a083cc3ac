// The promised error by hand, in scratch of exactly the stated size, for the sanitizers to watch.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/skeleton.h"
#include "math/clip_errors.h"

namespace
{

void check(bool good, const char* what)
{
	if (good)
		return;
	std::fprintf(stderr, "clip_errors_test: %s\n", what);
	std::exit(1);
}

bool near(double a, double b)
{
	return std::fabs(a - b) < 1e-12;
}

// A root and, 0.4 m along x, a hand with an end 0.2 m further.
const int32_t parents[] = {-1, 0};
const double offsets[] = {0, 0, 0, 0.4, 0, 0};
const int32_t end_joints[] = {1};
const double end_sites[] = {0.2, 0, 0};
const int32_t translated[] = {0};
const mocpack_Skeleton arm = {2, parents, offsets, 1, end_joints, end_sites, 1, translated};

mocpack_ClipErrors compare(const std::vector<double>& decoded, size_t frames, double* frame_max,
						   double* frame_mean, double* joint_max, double* distances = nullptr)
{
	std::vector<double> still(8 * frames, 0.0), places(3 * frames, 0.0);
	for (size_t k = 3; k < still.size(); k += 4)
		still[k] = 1;
	void* scratch = std::malloc(mocpack_clip_errors_scratch_size(2));
	mocpack_ClipErrors errors;
	mocpack_clip_errors(&arm, still.data(), places.data(), decoded.data(), places.data(), frames, 0.03,
						scratch, &errors, frame_max, frame_mean, joint_max, distances);
	std::free(scratch);
	return errors;
}

// The hand turned by 60 degrees about z in the last frame: the chord of its end is as long as the radius.
void turned_hand(size_t frames)
{
	std::vector<double> decoded(8 * frames, 0.0);
	for (size_t k = 3; k < decoded.size(); k += 4)
		decoded[k] = 1;
	decoded[8 * frames - 2] = 0.5;
	decoded[8 * frames - 1] = std::sqrt(0.75);
	std::vector<double> frame_max(frames), joint_max(2);
	mocpack_ClipErrors errors = compare(decoded, frames, frame_max.data(), nullptr, joint_max.data());
	check(near(errors.promised_max, 0.2) && near(errors.joint_max, 0),
		  "a turned hand moves its end by 0.2 m");
	check(errors.worst_frame == int64_t(frames) - 1 && errors.worst_joint == 1, "where it is worst");
	check(near(frame_max[frames - 1], 0.2) && (frames == 1 || near(frame_max[0], 0)), "by frame");
	check(near(joint_max[0], 0) && near(joint_max[1], 0.2), "by joint");
	check(near(compare(decoded, frames, nullptr, nullptr, nullptr).promised_max, 0.2),
		  "without frames and joints");
}

// The root turned by 60 degrees: the hand moves by 0.4 m, its end by 0.6 m.
void turned_root(size_t frames)
{
	std::vector<double> decoded(8 * frames, 0.0);
	for (size_t t = 0; t < frames; ++t)
		decoded[8 * t + 2] = 0.5, decoded[8 * t + 3] = std::sqrt(0.75), decoded[8 * t + 7] = 1;
	std::vector<double> frame_mean(frames), distances(2 * frames);
	mocpack_ClipErrors errors =
		compare(decoded, frames, nullptr, frame_mean.data(), nullptr, distances.data());
	check(near(errors.promised_max, 0.6) && near(errors.joint_max, 0.4),
		  "a turned root moves what hangs on it");
	check(near(errors.joint_mean, 0.2), "the mean of 0 and 0.4");
	check(near(frame_mean[0], 0.2) && near(frame_mean[frames - 1], 0.2), "the mean of each frame");
	for (size_t t = 0; t < frames; ++t)
		check(near(distances[2 * t], 0) && near(distances[2 * t + 1], 0.4), "the distance of each joint");
	check(near(errors.joint_rms, std::sqrt(0.08)), "the root of the mean of 0 and 0.16");
}

} // namespace

int main()
{
	for (size_t frames = 1; frames <= 5; ++frames)
	{
		turned_hand(frames);
		turned_root(frames);
	}
}
