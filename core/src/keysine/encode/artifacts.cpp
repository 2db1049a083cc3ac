// Measures artifacts that a motion can have within its bound: jitter, and planted feet that skate.
#include "keysine/encode/artifacts.h"

#include <algorithm>
#include <cmath>

#include "common/simd_clones.h"
#include "math/elementary.h"
#include "math/kinematics.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Definitions: docs/metrics.md.
const double FLOOR_SHARE = 0.05;	// share of the frames in which a joint is below its floor
const double PLANTED_HEIGHT = 0.03; // meters above the joint's own floor
const double PLANTED_SPEED = 0.15;	// meters per second
const double PLANTED_SPAN = 0.05;	// seconds on either side over which the speed is measured
const double LOWEST_SHARE = 0.1; // share of the body's height above the lowest floor: leaves in it are feet
const double FREE_SKATE = 0.2;	 // share of the bound that a foot may slide per frame beyond the source
const size_t SEGMENT = 256, MIN_SEGMENT = 16; // frames
const double JITTER_RATIO = 1.05;			  // allowed energy of a decoded motion, relative to the source
const double FREE_JITTER = 0.05; // share of the bound: allowed root-mean-square jitter of a joint

bool positions_of(EncodeTask* task, const double* rotations, const double* translations, size_t frames,
				  Buffer<double>* positions)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t joints = s.joint_count, piece = 256, count = (frames + piece - 1) / piece;
	WorkerArenas world;
	if (!task->take(positions, 3 * frames * joints) ||
		!world.take(task, task->worker_count(count, false),
					[&](Arena* arena) { arena->allocate<double>(4 * piece * joints); }))
		return false;
	task->parallel_for(count, false,
					   [&](size_t i, size_t worker)
					   {
						   const size_t first = i * piece, own = std::min(piece, frames - first);
						   mocpack_forward_kinematics(&s, rotations + 4 * joints * first,
													  translations + 3 * s.translated_count * first, own,
													  positions->data() + 3 * joints * first,
													  world.of(worker).allocate<double>(4 * piece * joints));
					   });
	return true;
}

// Returns the quantile `share` of the numbers, interpolated between the two nearest. Reorders them.
double quantile(double* numbers, size_t count, double share)
{
	const double at = share * double(count - 1);
	const size_t low = size_t(at);
	std::nth_element(numbers, numbers + low, numbers + count);
	const double below = numbers[low];
	if (low + 1 >= count)
		return below;
	return below + (*std::min_element(numbers + low + 1, numbers + count) - below) * (at - double(low));
}

// Returns the energy of one segment (length, width) of signals in frequency bins from first_bin on. The
// caller divides it by the length and the window's energy. waves: (2, length) cosines and sines; work:
// (length + 3, width).
MOCPACK_SIMD_CLONES double segment_energy(const double* signals, size_t length, size_t width,
										  size_t first_bin, const double* waves, double* work)
{
	// remove the mean of each signal and apply a Hann window
	double *mean = work, *real = work + width, *imaginary = work + 2 * width, *x = work + 3 * width;
	std::fill(mean, mean + width, 0.0);
	for (size_t n = 0; n < length; ++n)
		for (size_t c = 0; c < width; ++c)
			mean[c] += signals[n * width + c] / double(length);
	for (size_t n = 0; n < length; ++n)
	{
		const double window = 0.5 - 0.5 * waves[n];
		for (size_t c = 0; c < width; ++c)
			x[n * width + c] = (signals[n * width + c] - mean[c]) * window;
	}
	// cosine terms need only the sum of a frame and its mirror image, sine terms the difference
	for (size_t n = 1; 2 * n < length; ++n)
		for (size_t c = 0; c < width; ++c)
		{
			double *a = x + n * width + c, *b = x + (length - n) * width + c, sum = *a + *b;
			*b = *a - *b, *a = sum;
		}
	double energy = 0;
	for (size_t k = first_bin; k <= length / 2; ++k)
	{
		std::copy(x, x + width, real);
		std::fill(imaginary, imaginary + width, 0.0);
		for (size_t n = 1; 2 * n < length; ++n)
		{
			const double cosine = waves[n * k % length], sine = waves[length + n * k % length];
			const double *sum = x + n * width, *difference = x + (length - n) * width;
			for (size_t c = 0; c < width; ++c)
				real[c] += cosine * sum[c], imaginary[c] += sine * difference[c];
		}
		double squares = 0;
		for (size_t c = 0; c < width; ++c)
		{
			if (length % 2 == 0)
				real[c] += (k % 2 ? -1.0 : 1.0) * x[length / 2 * width + c];
			squares += real[c] * real[c] + imaginary[c] * imaginary[c];
		}
		energy += (k == 0 || 2 * k == length ? 1.0 : 2.0) * squares;
	}
	return energy;
}

// Computes the energy of points (T, J, 3) above JITTER_HERTZ, summed over points and axes, in square meters.
// Uses Welch's method with Hann windows that overlap by half. The energy is 0 if no frequency bin lies above
// JITTER_HERTZ.
bool jitter_energy(EncodeTask* task, const Buffer<double>& points, double* energy)
{
	const size_t frames = task->motion.frames, width = 3 * task->skeleton.joint_count,
				 length = std::min(SEGMENT, frames), step = length - length / 2,
				 count = (frames - length) / step + 1;
	const double rate = task->clip.frame_rate;
	*energy = 0;
	size_t first_bin = 0;
	while (double(first_bin) * rate / double(length) <= JITTER_HERTZ)
		++first_bin;
	Buffer<double> waves, energies;
	WorkerArenas work;
	if (!task->take(&waves, 2 * length) || !task->take(&energies, count) ||
		!work.take(task, task->worker_count(count, false),
				   [&](Arena* arena) { arena->allocate<double>((length + 3) * width); }))
		return false;
	double window_energy = 0;
	for (size_t n = 0; n < length; ++n)
	{
		const double angle = 2 * math::PI * double(n) / double(length);
		waves[n] = math::cos(angle), waves[length + n] = math::sin(angle);
		window_energy += (0.5 - 0.5 * waves[n]) * (0.5 - 0.5 * waves[n]);
	}
	task->parallel_for(count, false,
					   [&](size_t i, size_t worker)
					   {
						   if (!task->poll())
							   energies[i] = segment_energy(
								   points.data() + i * step * width, length, width, first_bin, waves.data(),
								   work.of(worker).allocate<double>((length + 3) * width));
					   });
	for (size_t i = 0; i < count; ++i)
		*energy += energies[i] / (double(count) * double(length) * window_energy);
	return !task->stopped();
}

bool contains(const char* name, const char* word)
{
	for (; *name; ++name)
	{
		size_t i = 0;
		while (word[i] && (name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]) == word[i])
			++i;
		if (!word[i])
			return true;
	}
	return false;
}

bool names_foot(const char* name)
{
	for (const char* word : {"foot", "toe", "ankle", "heel", "paw", "hoof"})
		if (contains(name, word))
			return true;
	return false;
}

double distance(const double* a, const double* b)
{
	const Vec3 d = load_vec(a) - load_vec(b);
	return std::sqrt(dot(d, d));
}

} // namespace

double Artifacts::worst() const
{
	double worst = std::max(jitter, 0.0);
	for (size_t j = 0; j < skates.size(); ++j)
		worst = std::max(worst, skates[j]);
	return worst;
}

bool ArtifactMeter::measure(EncodeTask* task, const DecodedMotion& decoded, Artifacts* artifacts)
{
	const size_t joints = task->skeleton.joint_count, frames = task->motion.frames;
	const double rate = task->clip.frame_rate, bound = task->target.max_error;
	const bool tells_jitter = rate > 2 * JITTER_HERTZ && frames >= MIN_SEGMENT;
	Buffer<double> positions;
	if (!task->take(&artifacts->skates, joints) || (!is_measured_ && !measure_source(task)) ||
		!positions_of(task, decoded.rotations.data(), decoded.translations.data(), frames, &positions))
		return false;
	if (tells_jitter)
	{
		double energy;
		if (!jitter_energy(task, positions, &energy))
			return false;
		double squares = 0; // sum of the squared shares that joints have of the bound
		for (size_t j = 0; j < joints; ++j)
			squares += task->joint_bounds.share(j) * task->joint_bounds.share(j);
		const double free = squares * (FREE_JITTER * bound) * (FREE_JITTER * bound);
		artifacts->jitter = energy / (JITTER_RATIO * source_energy_ + free);
	}
	for (size_t f = 0; f < foot_count_; ++f)
	{
		const uint8_t* planted = planted_.data() + f * frames;
		double sum = 0;
		size_t count = 0;
		for (size_t t = 0; t + 1 < frames; ++t)
			if (planted[t] && planted[t + 1])
			{
				const double* at = positions.data() + 3 * (t * joints + size_t(feet_[f]));
				const double x = at[3 * joints] - at[0], z = at[3 * joints + 2] - at[2];
				sum += std::sqrt(x * x + z * z) * rate, ++count;
			}
		if (count)
			artifacts->skates[size_t(feet_[f])] =
				sum / double(count) /
				(source_speed_[f] + FREE_SKATE * bound * task->joint_bounds.share(size_t(feet_[f])) * rate);
	}
	return true;
}

bool ArtifactMeter::measure_source(EncodeTask* task)
{
	const size_t frames = task->motion.frames;
	is_measured_ = true;
	if (!positions_of(task, task->motion.rotations, task->motion.translations, frames, &positions_) ||
		!find_feet(task) || !find_planted(task))
		return false;
	return !(task->clip.frame_rate > 2 * JITTER_HERTZ && frames >= MIN_SEGMENT) ||
		   jitter_energy(task, positions_, &source_energy_);
}

// Finds the joints that touch the ground: by name, otherwise the lowest leaf joints.
bool ArtifactMeter::find_feet(EncodeTask* task)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t joints = s.joint_count, frames = task->motion.frames;
	if (!task->take(&feet_, joints))
		return false;
	for (size_t j = 0; j < joints && task->clip.joint_names; ++j)
		if (names_foot(task->clip.joint_names[j]))
			feet_[foot_count_++] = int32_t(j);
	if (foot_count_)
		return true;
	Buffer<double> floors, heights;
	Buffer<bool> has_child;
	if (!task->take(&floors, joints) || !task->take(&heights, frames) || !task->take(&has_child, joints))
		return false;
	double lowest = 1e300, tallest = 0;
	for (size_t j = 0; j < joints; ++j)
	{
		for (size_t t = 0; t < frames; ++t)
			heights[t] = positions_[3 * (t * joints + j) + 1];
		floors[j] = quantile(heights.data(), frames, FLOOR_SHARE);
		lowest = std::min(lowest, floors[j]);
		if (s.parents[j] >= 0)
			has_child[size_t(s.parents[j])] = true;
	}
	for (size_t t = 0; t < frames; ++t)
	{
		double low = 1e300, high = -1e300;
		for (size_t j = 0; j < joints; ++j)
		{
			const double y = positions_[3 * (t * joints + j) + 1];
			low = std::min(low, y), high = std::max(high, y);
		}
		tallest = std::max(tallest, high - low);
	}
	for (size_t j = 0; j < joints; ++j)
		if (!has_child[j] && floors[j] <= lowest + LOWEST_SHARE * tallest)
			feet_[foot_count_++] = int32_t(j);
	return true;
}

// Finds the frames in which each foot is planted, and the source's mean horizontal speed in them.
bool ArtifactMeter::find_planted(EncodeTask* task)
{
	const size_t joints = task->skeleton.joint_count, frames = task->motion.frames;
	const double rate = task->clip.frame_rate;
	const size_t span = size_t(std::max(1.0, std::nearbyint(PLANTED_SPAN * rate)));
	Buffer<double> heights;
	if (!task->take(&planted_, foot_count_ * frames) || !task->take(&source_speed_, foot_count_) ||
		!task->take(&heights, frames))
		return false;
	for (size_t f = 0; f < foot_count_; ++f)
	{
		const double* foot = positions_.data() + 3 * size_t(feet_[f]);
		uint8_t* planted = planted_.data() + f * frames;
		for (size_t t = 0; t < frames; ++t)
			heights[t] = foot[3 * t * joints + 1];
		const double floor = quantile(heights.data(), frames, FLOOR_SHARE);
		for (size_t t = 0; t < frames; ++t)
		{
			const size_t after = std::min(t + span, frames - 1), before = t > span ? t - span : 0;
			const double seconds = double(std::max<size_t>(after - before, 1)) / rate;
			const double moved = distance(foot + 3 * after * joints, foot + 3 * before * joints);
			planted[t] = foot[3 * t * joints + 1] - floor < PLANTED_HEIGHT && moved / seconds < PLANTED_SPEED;
		}
		double sum = 0;
		size_t count = 0;
		for (size_t t = 0; t + 1 < frames; ++t)
			if (planted[t] && planted[t + 1])
			{
				const double* at = foot + 3 * t * joints;
				const double x = at[3 * joints] - at[0], z = at[3 * joints + 2] - at[2];
				sum += std::sqrt(x * x + z * z) * rate, ++count;
			}
		source_speed_[f] = count ? sum / double(count) : 0;
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
