// Plans a whole clip before the search: what moves, about which mean, in which axes, in which groups.
#include "keysine/encode/clip_plan.h"

#include <algorithm>
#include <cmath>

#include "math/elementary.h"
#include "math/hinge_angle.h"
#include "math/hinge_angles.h"
#include "math/kinematics.h"
#include "math/rotation_vector.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const double FULL_CIRCLE = 6.28318530717958647692; // radians
const double MAX_STILL = 536870912.0;			   // 2^29: limit of the integers that state constant poses
const double MIN_UNIT = 1e-30;					   // meters; far below any useful precision, but not denormal
const double MAX_FINE_BITS = 40;
// radians or meters by which a source may exceed limits that clamp it: docs/codecs/keysine.md, Limits of
// hinges
const double MAX_EXCESS = 1e-6;

// Returns the unit nearest to `size` that a head can state: a float with eight significant bits.
double stated_unit(double size)
{
	const float unit = float(std::min(std::max(size, MIN_UNIT), double(MOCPACK_KEYSINE_MAX_UNIT)));
	uint32_t bits;
	std::memcpy(&bits, &unit, sizeof bits);
	bits = (bits + 0x8000u) & 0xffff0000u;
	float stated;
	std::memcpy(&stated, &bits, sizeof stated);
	return double(stated);
}

// Rounds numbers to a grid, in units of the grid. Returns the largest magnitude, in the same units.
double round_to(double grid, const double* numbers, double* rounded, size_t count = 3)
{
	double largest = 0;
	for (size_t i = 0; i < count; ++i)
	{
		rounded[i] = std::nearbyint(numbers[i] / grid);
		largest = std::max(largest, std::fabs(rounded[i]));
	}
	return largest;
}

void put(int32_t* row, const double* numbers)
{
	for (int i = 0; i < 3; ++i)
		row[i] = int32_t(numbers[i]);
}

bool any(const double* numbers)
{
	return numbers[0] != 0 || numbers[1] != 0 || numbers[2] != 0;
}

// Returns the index of a joint among the translated joints, or their count if it is not translated.
size_t translated_column(const mocpack_Skeleton& skeleton, size_t joint)
{
	size_t m = 0;
	while (m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) != joint)
		++m;
	return m;
}

// Returns the angle, in radians, of the part of a rotation that hinges about the axes cannot represent.
double turn_left_over(Quat turn, const double* axes, size_t count)
{
	Vec3 axis = load_vec(axes);
	if (count > 1)
	{
		double outer, inner;
		solve_hinge_angles(turn, axis, axes + 3, &outer, &inner);
		const double sine = math::sin(-0.5 * outer);
		turn = multiply(Quat{sine * axis.x, sine * axis.y, sine * axis.z, math::cos(0.5 * outer)}, turn);
		axis = load_vec(axes + 3);
	}
	const Vec3 v = {turn.x, turn.y, turn.z};
	const Vec3 across = v - dot(v, axis) * axis;
	return 2 * math::asin(std::min(std::sqrt(dot(across, across)), 1.0));
}

// Returns the length, in meters, of the part of a displacement that sliding along the axes cannot represent.
double way_left_over(Vec3 displacement, const double* axes, size_t count)
{
	double ways[3] = {};
	solve_slider_positions(axes, count, displacement, ways);
	for (size_t i = 0; i < count; ++i)
		displacement = displacement - ways[i] * load_vec(axes + 3 * i);
	return std::sqrt(dot(displacement, displacement));
}

// Sets `leaps` if the motion jumps after its first frame: if that step is much longer than all steps in the
// next leap_frames frames. Returns false without memory.
bool leaps_from_first_frame(EncodeTask* task, const Motion& motion, bool* leaps)
{
	const Constants& c = task->constants;
	const mocpack_Skeleton& s = task->skeleton;
	*leaps = false;
	if (motion.frames < 4)
		return true;
	const size_t frames = std::min(motion.frames, size_t(c.leap_frames));
	Buffer<double> points, world;
	if (!task->take(&points, 3 * frames * s.joint_count) || !task->take(&world, 4 * frames * s.joint_count))
		return false;
	mocpack_forward_kinematics(&s, motion.rotations, motion.translations, frames, points.data(),
							   world.data());
	double first = 0, others = 0;
	for (size_t t = 0; t + 1 < frames; ++t)
		for (size_t j = 0; j < s.joint_count; ++j)
		{
			const double* at = points.data() + 3 * (t * s.joint_count + j);
			const Vec3 step = load_vec(at + 3 * s.joint_count) - load_vec(at);
			double* most = t ? &others : &first;
			*most = std::max(*most, std::sqrt(dot(step, step)));
		}
	*leaps = first > c.leap_ratio * others && first > c.min_leap;
	return true;
}

} // namespace

double ClipPlan::fine() const
{
	return std::ldexp(1.0, -int(fine_bits));
}

int32_t Groups::splits_for(double block_seconds) const
{
	const double wanted = std::nearbyint(math::log2(std::max(seconds / block_seconds, 1.0)));
	return int32_t(std::min(std::max(wanted, double(least_splits)), double(splits)));
}

// If the motion jumps after its first frame, as from an added T-pose, that frame becomes a group by itself. A
// sine series across such a jump would need large coefficients.
bool cut_motion(EncodeTask* task, const Motion& motion, size_t max_frames, Groups* groups)
{
	const Constants& c = task->constants;
	const double rate = task->clip.frame_rate, usual_tempo = 64;
	const bool streamed = task->target.streamed;
	bool leaps = false;
	if (!streamed && !leaps_from_first_frame(task, motion, &leaps))
		return false;
	const size_t intervals = motion.frames - 1 - leaps;
	const size_t longest =
		size_t(std::min(std::max(task->target.group_seconds * rate, 1.0), double(max_frames)));
	const size_t group_frames = streamed ? longest : 0;
	*groups = {0, int32_t(usual_tempo), 0, false, 1.0, group_frames};
	if (!intervals)
		return true;
	const size_t count = (intervals + longest - 1) / longest;
	const double length = streamed ? double(longest) : double(intervals) / double(count);
	const double shortest = std::max(c.min_block_seconds * rate, c.min_block_frames);
	const double needed = std::max(std::ceil(math::log2(length / MOCPACK_KEYSINE_MAX_BLOCK_FRAMES)), 0.0);
	const double splits =
		std::max(std::floor(math::log2(std::max(length / shortest, 1.0) * (1 + 1e-9))), needed);
	const double tempo = std::nearbyint(usual_tempo * 0.5 * rate / length);
	*groups = {leaps + count,
			   int32_t(std::min(std::max(tempo, 1.0), 255.0)),
			   int32_t(std::min(splits, double(MOCPACK_KEYSINE_MAX_SPLITS))),
			   leaps,
			   length / rate,
			   group_frames,
			   int32_t(needed)};
	return true;
}

bool ClipStatistics::measure(EncodeTask* task)
{
	const mocpack_Skeleton& s = task->skeleton;
	if (!task->take(&turns_, s.joint_count) || !task->take(&places_, s.translated_count) ||
		!task->take(&hinges_, s.hinge_count))
		return false;
	measure_spreads(*task);
	measure_means(*task);
	measure_places(*task);
	double longest_end = 0.03;
	for (size_t e = 0; e < s.end_count; ++e)
	{
		const Vec3 end = load_vec(s.end_sites + 3 * e);
		longest_end = std::max(longest_end, std::sqrt(dot(end, end)));
	}
	reach_ += longest_end;
	return measure_hinges(task);
}

// Returns the rotations (F, J, 4) whose means and axes are measured.
const double* ClipStatistics::rotations(const EncodeTask& task) const
{
	return relative_.size() ? relative_.data() : task.motion.rotations;
}

void ClipStatistics::measure_spreads(const EncodeTask& task)
{
	const size_t joints = task.skeleton.joint_count;
	for (size_t j = 0; j < joints; ++j)
	{
		const double* first = task.motion.rotations + 4 * j;
		double spread = 0;
		for (size_t t = 0; t < task.motion.frames; ++t)
			for (size_t i = 0; i < 4; ++i)
				spread = std::max(spread, std::fabs(first[4 * t * joints + i] - first[i]));
		turns_[j].spread = spread;
		std::copy(first, first + 4, turns_[j].first);
	}
}

void ClipStatistics::measure_means(const EncodeTask& task)
{
	const size_t joints = task.skeleton.joint_count, frames = task.motion.frames;
	for (size_t j = 0; j < joints; ++j)
	{
		const double* first = rotations(task) + 4 * j;
		double sum[4] = {};
		for (size_t t = 0; t < frames; ++t)
			for (int i = 0; i < 4; ++i)
				sum[i] += first[4 * t * joints + size_t(i)];
		const double length =
			std::sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2] + sum[3] * sum[3]);
		const Quat mean = length > 1e-12
							  ? Quat{sum[0] / length, sum[1] / length, sum[2] / length, sum[3] / length}
							  : Quat{0, 0, 0, 1};
		Turn& turn = turns_[j];
		double vector[3], rounded[3];
		store(vector, logarithm(mean));
		round_to(MEAN_GRID, vector, rounded);
		put(turn.mean, rounded);
		const Quat about = exponential(MEAN_GRID * load_vec(rounded));
		double nearness = 1;
		for (size_t t = 0; t < frames; ++t)
		{
			const Quat q = load_quat(first + 4 * t * joints);
			nearness =
				std::min(nearness, std::fabs(q.x * about.x + q.y * about.y + q.z * about.z + q.w * about.w));
		}
		// the angle between two rotations is twice that between their quaternions
		turn.farthest = 2 * math::acos(nearness);
	}
}

void ClipStatistics::measure_places(const EncodeTask& task)
{
	const mocpack_Skeleton& s = task.skeleton;
	const size_t frames = task.motion.frames, moving = s.translated_count;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		const size_t m = translated_column(s, j);
		const Vec3 offset = load_vec(s.offsets + 3 * j);
		double longest = std::sqrt(dot(offset, offset));
		if (m < moving)
		{
			const double* first = task.motion.translations + 3 * m;
			Place& place = places_[m];
			double square = 0;
			for (size_t t = 0; t < frames; ++t)
			{
				const double* now = first + 3 * t * moving;
				square = std::max(square, dot(load_vec(now), load_vec(now)));
				for (int i = 0; i < 3; ++i)
				{
					place.mean[i] += now[i];
					place.spread = std::max(place.spread, std::fabs(now[i] - first[i]));
				}
			}
			for (int i = 0; i < 3; ++i)
				place.mean[i] /= double(frames), place.first[i] = first[i];
			longest = j ? std::sqrt(square) : 0.0;
		}
		reach_ += longest;
	}
}

bool ClipStatistics::measure_hinges(EncodeTask* task)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t frames = task->motion.frames;
	Buffer<double> angles;
	if (!s.hinge_count)
		return true;
	if (!task->take(&angles, frames * s.hinge_count))
		return false;
	mocpack_compute_hinge_angles(&s, task->motion.rotations, task->motion.translations, frames,
								 angles.data());
	for (size_t h = 0; h < s.hinge_count; ++h)
	{
		Hinge& hinge = hinges_[h];
		hinge = {1e300, -1e300, task->motion.angles[h], 0, 0, 1e300, -1e300};
		for (size_t t = 0; t < frames; ++t)
		{
			const double angle = angles[t * s.hinge_count + h],
						 unwrapped = task->motion.angles[t * s.hinge_count + h];
			hinge.lowest = std::min(hinge.lowest, angle), hinge.highest = std::max(hinge.highest, angle);
			hinge.unwrapped_lowest = std::min(hinge.unwrapped_lowest, unwrapped);
			hinge.unwrapped_highest = std::max(hinge.unwrapped_highest, unwrapped);
			hinge.mean += unwrapped;
		}
		hinge.mean /= double(frames);
	}
	for (size_t h = 0; h < s.hinge_count;)
	{
		const size_t joint = size_t(s.hinge_joints[h]), column = translated_column(s, joint);
		const bool slides = s.hinge_slides[h];
		size_t end = h;
		while (end < s.hinge_count && size_t(s.hinge_joints[end]) == joint &&
			   bool(s.hinge_slides[end]) == slides)
			++end;
		const Quat back = conjugate(load_quat(s.rest + 4 * joint));
		const Vec3 offset = load_vec(s.offsets + 3 * joint);
		double off = 0;
		for (size_t t = 0; t < frames && (!slides || column < s.translated_count); ++t)
		{
			const double* place = task->motion.translations + 3 * (t * s.translated_count + column);
			const double now =
				slides
					? way_left_over(rotate(back, load_vec(place) - offset), s.hinge_axes + 3 * h, end - h)
					: turn_left_over(
						  multiply(back, load_quat(task->motion.rotations + 4 * (t * s.joint_count + joint))),
						  s.hinge_axes + 3 * h, end - h);
			off = std::max(off, now);
		}
		for (; h < end; ++h)
			hinges_[h].off = off;
	}
	return true;
}

bool ClipStatistics::make_plan(EncodeTask* task, double size, int32_t key_step, int precision, ClipPlan* plan)
{
	const Constants& c = task->constants;
	const mocpack_Skeleton& s = task->skeleton;
	Buffer<bool> is_hinged;
	if (!task->take(&plan->table, s.joint_count * PLAN_COLUMNS) || !task->take(&is_hinged, s.joint_count))
		return false;
	plan->unit = stated_unit(size);
	// fine enough that rounding of constant poses does not matter at the end of any limb
	const double grid = c.still_share * size * task->joint_bounds.least_share() / std::max(reach_, 1.0) /
						std::sqrt(double(s.joint_count));
	plan->fine_bits = uint32_t(std::min(std::max(std::ceil(-math::log2(grid)), 0.0), MAX_FINE_BITS));
	int32_t* table = plan->table.data();
	const double fine = plan->fine();
	for (size_t j = 0; j < s.joint_count; ++j)
		table[PLAN_COLUMNS * j + ROTATION_KEY_STEP] = table[PLAN_COLUMNS * j + TRANSLATION_KEY_STEP] =
			UNIT_STEP;
	for (size_t m = 0; m < s.translated_count; ++m)
	{
		const size_t j = size_t(s.translated_joints[m]);
		const Place& place = places_[m];
		int32_t* row = table + PLAN_COLUMNS * j;
		double origin[3], away = 0;
		const bool fits = round_to(fine, place.first, origin) < MAX_STILL;
		for (int i = 0; i < 3; ++i)
			away = std::max(away, std::fabs(place.first[i] - s.offsets[3 * j + size_t(i)]));
		if (place.spread <= 0.5 * fine && away <= 0.5 * fine)
			row[TRANSLATION_KIND] = REST_TRANSLATION;
		else if (place.spread <= 0.5 * fine && fits)
			row[TRANSLATION_KIND] = STILL_TRANSLATION, put(row + ORIGIN, origin);
		else
		{
			row[TRANSLATION_KIND] = MOVING_TRANSLATION;
			round_to(ORIGIN_GRID, place.mean, origin);
			put(row + ORIGIN, origin);
		}
	}
	choose_hinges(*task, plan->unit, fine, table, is_hinged.data());
	if (!choose_turns(task, fine, is_hinged.data(), table))
		return false;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		int32_t* row = table + PLAN_COLUMNS * j;
		const int32_t own_step = step_for(task->joint_bounds.limits(), j, key_step);
		if (row[ROTATION_KIND] >= VECTOR_ROTATION)
			row[ROTATION_KEY_STEP] = own_step;
		if (row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
			row[TRANSLATION_KEY_STEP] = own_step;
	}
	if (!axes_.is_measured() && !measure_axes(task))
		return false;
	return axes_.choose(task, plan->unit, fine, precision, table);
}

// Measures all joints whose rotation can be a vector about a mean. Which of them the plan codes in this form
// depends on the bound.
bool ClipStatistics::measure_axes(EncodeTask* task)
{
	const size_t joints = task->skeleton.joint_count;
	Buffer<int32_t> table;
	if (!task->take(&table, joints * PLAN_COLUMNS))
		return false;
	for (size_t j = 0; j < joints; ++j)
	{
		int32_t* row = table.data() + PLAN_COLUMNS * j;
		row[ROTATION_KIND] =
			turns_[j].farthest > task->constants.max_vector_turn ? QUATERNION_ROTATION : VECTOR_ROTATION;
		std::copy(turns_[j].mean, turns_[j].mean + 3, row + MEAN);
	}
	return axes_.measure(task, table.data(), rotations(*task), size_t(task->constants.axes_frames));
}

// Chooses the rotation kinds of joints that do not turn about hinges.
bool ClipStatistics::choose_turns(EncodeTask* task, double fine, const bool* is_hinged, int32_t* table)
{
	const mocpack_Skeleton& s = task->skeleton;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		int32_t* row = table + PLAN_COLUMNS * j;
		const Turn& turn = turns_[j];
		bool turns_above = false; // whether an ancestor rotates
		for (int32_t a = s.parents[j]; a >= 0 && !turns_above; a = s.parents[a])
			turns_above = table[PLAN_COLUMNS * size_t(a) + ROTATION_KIND] >= VECTOR_ROTATION;
		if (is_hinged[j])
			continue;
		// a moving joint below a rotating one is not attached to it, so its own rotation compensates that
		// rotation's error
		const bool slides = turns_above && row[TRANSLATION_KIND] == MOVING_TRANSLATION;
		double vector[3], numbers[3];
		store(vector, logarithm(load_quat(turn.first)));
		const bool fits = round_to(fine, vector, numbers) < MAX_STILL;
		if (!slides && turn.spread <= 0.25 * fine && fits)
		{
			row[ROTATION_KIND] = any(numbers) ? STILL_ROTATION : REST_ROTATION;
			put(row + MEAN, numbers);
		}
		else
			row[ROTATION_KIND] = VECTOR_ROTATION;
	}
	if (!choose_references(task, fine, table))
		return false;
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		int32_t* row = table + PLAN_COLUMNS * j;
		const Turn& turn = turns_[j];
		if (is_hinged[j] || row[ROTATION_KIND] != VECTOR_ROTATION)
			continue;
		if (turn.farthest > task->constants.max_vector_turn)
			row[ROTATION_KIND] = QUATERNION_ROTATION;
		else
			std::copy(turn.mean, turn.mean + 3, row + MEAN);
	}
	return true;
}

/* Chooses how joints with hinges are coded, and which hinges are clamped to their limits. A joint that leaves
 * its hinges is coded as freely moving, even if it is constant. Constant joints are coded as hinge angles and
 * slider positions, which cannot represent its pose. */
void ClipStatistics::choose_hinges(const EncodeTask& task, double unit, double fine, int32_t* table,
								   bool* is_hinged) const
{
	const mocpack_Skeleton& s = task.skeleton;
	const Constants& c = task.constants;
	const double leaving = std::max(fine, c.still_share * unit * task.joint_bounds.least_share());
	// if rounding moves a source past its limits, clamping it may cost no more of the bound than rounding
	// constant poses
	const double excess = std::min(MAX_EXCESS, fine * std::sqrt(double(s.joint_count)));
	for (size_t h = 0, own = 0; h < s.hinge_count;)
	{
		const size_t joint = size_t(s.hinge_joints[h]);
		const bool slides = s.hinge_slides[h];
		int32_t* row = table + PLAN_COLUMNS * joint;
		bool is_free = false, is_still = true;
		double numbers[3] = {}, means[3] = {}, largest = 0;
		size_t count = 0;
		own = h && size_t(s.hinge_joints[h - 1]) == joint ? own : 0;
		for (; h < s.hinge_count && size_t(s.hinge_joints[h]) == joint && bool(s.hinge_slides[h]) == slides;
			 ++h, ++own, ++count)
		{
			const Hinge& hinge = hinges_[h];
			const double *limits = s.hinge_limits + 2 * h, low = std::ceil(limits[0] / fine),
						 high = std::floor(limits[1] / fine);
			const bool leaves = hinge.off > (slides ? fine : leaving);
			// the pose of a freely moving joint does not count full turns, so it cannot be clamped to wider
			// limits
			const bool wide = !slides && !(limits[1] - limits[0] < FULL_CIRCLE);
			const bool held = hinge.lowest >= limits[0] - excess && hinge.highest <= limits[1] + excess &&
							  !(leaves && wide);
			row[CLAMPED_HINGES] |= int32_t(held) << own;
			is_free = is_free || leaves;
			is_still = is_still && hinge.unwrapped_highest - hinge.unwrapped_lowest <= 0.25 * fine &&
					   !(held && low > high);
			numbers[count] = std::nearbyint(hinge.first / fine);
			if (held)
				numbers[count] = std::min(std::max(numbers[count], low), std::max(low, high));
			largest = std::max(largest, std::fabs(numbers[count]));
			means[count] = std::nearbyint(hinge.mean / MEAN_GRID);
		}
		is_still = is_still && largest < MAX_STILL;
		if (slides)
		{
			double origin[3] = {};
			const size_t m = translated_column(s, joint);
			if (is_free)
				round_to(ORIGIN_GRID, places_[m].mean, origin);
			else if (is_still)
				std::copy(numbers, numbers + 3, origin);
			row[TRANSLATION_KIND] = is_free		   ? MOVING_TRANSLATION
									: !is_still	   ? SLIDING_TRANSLATION
									: any(numbers) ? STILL_TRANSLATION
												   : REST_TRANSLATION;
			put(row + ORIGIN, origin);
		}
		else
		{
			is_hinged[joint] = true;
			if (is_free)
			{
				const Turn& turn = turns_[joint];
				const bool far = turn.farthest > c.max_vector_turn;
				row[ROTATION_KIND] = far ? QUATERNION_ROTATION : VECTOR_ROTATION;
				for (int i = 0; i < 3; ++i)
					row[MEAN + i] = far ? 0 : turn.mean[i];
			}
			else
			{
				row[ROTATION_KIND] = !is_still		? HINGE_ROTATION
									 : any(numbers) ? STILL_ROTATION
													: REST_ROTATION;
				put(row + MEAN, is_still ? numbers : means);
			}
		}
	}
}

} // namespace keysine
} // namespace mocpack
