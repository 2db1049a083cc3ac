// Chooses the rotation of each joint's axes for which its channels take the fewest bits.
#include "keysine/encode/axes.h"

#include <algorithm>
#include <cmath>

#include "common/simd_clones.h"
#include "keysine/encode/track_target.h"
#include "keysine/format/rotation.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Computes the cosine series of signals (frames, width) in place. Coefficient k of a signal is sqrt(2 /
// frames) * sum of x[n] cos(pi (n + 1/2) k / frames). work: (frames, width); cosines: (4 * frames).
MOCPACK_SIMD_CLONES void cosine_series(double* signals, size_t frames, size_t width, double* work,
									   double* cosines)
{
	const size_t period = 4 * frames, half = frames / 2;
	for (size_t i = 0; i < period; ++i)
		cosines[i] = math::cos(2 * math::PI * double(i) / double(period)) * std::sqrt(2.0 / double(frames));
	// even coefficients need only the sum of a frame and its mirror image, odd ones the difference
	for (size_t n = 0; n < half; ++n)
		for (size_t c = 0; c < width; ++c)
		{
			double a = signals[n * width + c], b = signals[(frames - 1 - n) * width + c];
			work[n * width + c] = a + b, work[(frames - 1 - n) * width + c] = a - b;
		}
	if (frames % 2)
		std::copy(signals + half * width, signals + (half + 1) * width, work + half * width);
	for (size_t k = 0; k < frames; ++k)
	{
		double* out = signals + k * width;
		std::fill(out, out + width, 0.0);
		for (size_t n = 0; n < half; ++n)
		{
			const double factor = cosines[(2 * n + 1) * k % period];
			const double* in = work + (k % 2 ? frames - 1 - n : n) * width;
			for (size_t c = 0; c < width; ++c)
				out[c] += factor * in[c];
		}
		if (frames % 2)
		{
			const double factor = cosines[(2 * half + 1) * k % period];
			for (size_t c = 0; c < width; ++c)
				out[c] += factor * work[half * width + c];
		}
	}
}

// Writes the eigenvectors of a symmetric matrix as columns of `vectors`, largest eigenvalue first.
void principal_axes(const double* matrix, double* vectors)
{
	double a[9], v[9];
	std::copy(matrix, matrix + 9, a);
	diagonalize(a, v);
	int order[3] = {0, 1, 2}; // smallest eigenvalue first
	for (int i = 1; i < 3; ++i)
		for (int k = i; k > 0 && a[4 * order[k]] < a[4 * order[k - 1]]; --k)
			std::swap(order[k], order[k - 1]);
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			vectors[3 * r + c] = v[3 * r + order[2 - c]];
}

// Returns the rotation of a matrix, given by rows, with Shepperd's method.
Quat rotation_of(const double* m)
{
	const double squares[4] = {1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8],
							   1 + m[0] + m[4] + m[8]};
	const double yz = m[7] - m[5], zx = m[2] - m[6], xy = m[3] - m[1];
	const double sxy = m[1] + m[3], sxz = m[2] + m[6], syz = m[5] + m[7];
	const double rows[4][4] = {{squares[0], sxy, sxz, yz},
							   {sxy, squares[1], syz, zx},
							   {sxz, syz, squares[2], xy},
							   {yz, zx, xy, squares[3]}};
	const size_t best = size_t(std::max_element(squares, squares + 4) - squares);
	const double* q = rows[best];
	const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	return {q[0] / length, q[1] / length, q[2] / length, q[3] / length};
}

// Returns the smallest rotation to the principal axes of a covariance, as a rotation vector.
Vec3 principal_turn(const double* covariance)
{
	const double signs[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
	double v[9];
	principal_axes(covariance, v);
	const double determinant = v[0] * (v[4] * v[8] - v[5] * v[7]) - v[1] * (v[3] * v[8] - v[5] * v[6]) +
							   v[2] * (v[3] * v[7] - v[4] * v[6]);
	Vec3 nearest = {};
	double least = 1e300;
	for (const double* sign : signs)
	{
		double m[9];
		for (int i = 0; i < 9; ++i)
			m[i] = v[i] * sign[i % 3] * (determinant < 0 ? -1.0 : 1.0);
		const Vec3 turn = logarithm(rotation_of(m));
		const double size = std::sqrt(dot(turn, turn));
		if (size < least)
			least = size, nearest = turn;
	}
	return nearest;
}

} // namespace

bool AxesChooser::measure(EncodeTask* task, const int32_t* table, const double* rotations, size_t frames)
{
	const size_t joints = task->skeleton.joint_count,
				 every = std::max<size_t>(1, task->motion.frames / frames),
				 count = (task->motion.frames + every - 1) / every;
	Buffer<double> means, signals, work, cosines;
	Buffer<int32_t> vectors; // joints whose rotation is coded as a vector about a mean
	if (!task->take(&means, 4 * joints) || !task->take(&vectors, joints) || !task->take(&cosines, 4 * count))
		return false;
	size_t width = 0;
	for (size_t j = 0; j < joints; ++j)
		if (table[PLAN_COLUMNS * j + ROTATION_KIND] == VECTOR_ROTATION)
		{
			const int32_t* mean = table + PLAN_COLUMNS * j + MEAN;
			store(means.data() + 4 * width,
				  exponential(MEAN_GRID * Vec3{double(mean[0]), double(mean[1]), double(mean[2])}));
			vectors[width++] = int32_t(j);
		}
	frame_factor_ = std::sqrt(double(every));
	size_t edges[MAX_BANDS + 1], edge_count = 0;
	for (int i = 0; i < 20; ++i)
	{
		size_t edge =
			std::min<size_t>(count, size_t(std::nearbyint(math::pow(task->constants.band_ratio, i))));
		if (!edge_count || edge > edges[edge_count - 1])
			edges[edge_count++] = edge;
	}
	band_count_ = std::max<size_t>(edge_count - 1, 1);
	counts_[0] = 1;
	for (size_t b = 0; b + 1 < edge_count; ++b)
		counts_[b] = double(edges[b + 1] - edges[b]);
	if (!task->take(&bands_, joints * band_count_ * 9) || !task->take(&signals, count * 3 * width) ||
		!task->take(&work, count * 3 * width))
		return false;
	for (size_t t = 0; t < count; ++t)
		for (size_t i = 0; i < width; ++i)
		{
			const double* q = rotations + 4 * (t * every * joints + size_t(vectors[i]));
			store(signals.data() + 3 * (t * width + i),
				  logarithm(multiply(conjugate(load_quat(means.data() + 4 * i)), load_quat(q))));
		}
	if (edge_count < 2)
		return true;
	cosine_series(signals.data(), count, 3 * width, work.data(), cosines.data());
	for (size_t b = 0; b + 1 < edge_count; ++b)
		for (size_t k = edges[b]; k < edges[b + 1]; ++k)
			for (size_t i = 0; i < width; ++i)
			{
				double* band = bands_.data() + 9 * (size_t(vectors[i]) * band_count_ + b);
				const double* x = signals.data() + 3 * (k * width + i);
				for (int r = 0; r < 9; ++r)
					band[r] += x[r / 3] * x[r % 3] / counts_[b];
			}
	return true;
}

bool AxesChooser::choose(EncodeTask* task, double unit, double fine, int precision, int32_t* table) const
{
	const size_t joints = task->skeleton.joint_count;
	Buffer<uint8_t> memory;
	if (!task->take_room(&memory, plan_size(joints)))
		return false;
	Plan plan = {};
	plan.skeleton = &task->skeleton, plan.table = table;
	plan.unit = unit, plan.fine = fine;
	if (!build_plan(&plan, memory.data(), nullptr))
		return task->stop(MOCPACK_CORRUPT);
	double bands[MAX_BANDS * 9];
	for (const Track* track = plan.tracks; track < plan.tracks + plan.track_count; ++track)
	{
		if (track->kind != VECTOR_TRACK)
			continue;
		const size_t j = size_t(track->joint);
		double back[9]; // from rotation vectors to channels, in steps, column by column
		inverse(track->axes, back);
		for (double& number : back)
			number *= frame_factor_ / unit;
		for (size_t b = 0; b < band_count_; ++b)
		{
			const double* of_vectors = bands_.data() + 9 * (j * band_count_ + b);
			double half[9] = {}; // back * covariance, by rows
			for (int r = 0; r < 3; ++r)
				for (int c = 0; c < 3; ++c)
					for (int k = 0; k < 3; ++k)
						half[3 * r + c] += back[3 * k + r] * of_vectors[3 * k + c];
			double* band = bands + 9 * b;
			for (int r = 0; r < 3; ++r)
				for (int c = 0; c < 3; ++c)
				{
					band[3 * r + c] = 0;
					for (int k = 0; k < 3; ++k)
						band[3 * r + c] += half[3 * r + k] * back[3 * k + c];
				}
		}
		cheapest_turn(*task, bands, precision, table + PLAN_COLUMNS * j + BASIS);
	}
	return true;
}

void AxesChooser::cheapest_turn(const EncodeTask& task, const double* bands, int precision,
								int32_t* turn) const
{
	const Constants& c = task.constants;
	double covariances[2][9] = {};
	for (size_t b = 0; b < band_count_; ++b)
	{
		const double* band = bands + 9 * b;
		const double size = band[0] + band[4] + band[8];
		for (int i = 0; i < 9; ++i)
			covariances[0][i] += counts_[b] * band[i], covariances[1][i] += counts_[b] * band[i] / (1 + size);
	}
	const Vec3 turns[2] = {principal_turn(covariances[0]), principal_turn(covariances[1])};
	const double grid = std::ldexp(1.0, -AXES_BITS);
	double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, least = series_bits(task, bands, identity);
	turn[0] = turn[1] = turn[2] = 0;
	for (int coarser = 0; coarser < precision; ++coarser)
		for (const Vec3& full : turns)
		{
			const int bits = precision - coarser;
			const double scale = std::ldexp(1.0, bits);
			const double numbers[3] = {std::nearbyint(full.x * scale), std::nearbyint(full.y * scale),
									   std::nearbyint(full.z * scale)};
			double cost = c.axes_turn_bits, matrix[9];
			for (double number : numbers)
				cost += c.octave_bits * math::log2(1 + std::fabs(number));
			const double finer = std::ldexp(1.0, AXES_BITS - bits);
			matrix_of(exponential(grid * finer * Vec3{numbers[0], numbers[1], numbers[2]}), matrix);
			cost += series_bits(task, bands, matrix);
			if (cost < least)
			{
				least = cost;
				for (int i = 0; i < 3; ++i)
					turn[i] = int32_t(numbers[i] * finer);
			}
		}
}

// Estimates the bits that a joint's channels take in axes rotated by `matrix`.
double AxesChooser::series_bits(const EncodeTask& task, const double* bands, const double* matrix) const
{
	double bits = 0;
	for (size_t b = 0; b < band_count_; ++b)
	{
		double product = 1;
		for (int c = 0; c < 3; ++c)
		{
			double energy = 0;
			for (int r = 0; r < 3; ++r)
				for (int k = 0; k < 3; ++k)
					energy += matrix[3 * r + c] * bands[9 * b + size_t(3 * r + k)] * matrix[3 * k + c];
			// beside a large energy, rounding errors can make a small one slightly negative
			product *= 1 + task.constants.entropy_factor * std::max(energy, 0.0);
		}
		bits += 0.5 * counts_[b] * math::log2(product);
	}
	return bits;
}

} // namespace keysine
} // namespace mocpack
