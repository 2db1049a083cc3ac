// States of all bodies at any time of a motion, from rows of root pose, joint angles and local rotations.
//
// Compilers of C++ and CUDA's NVRTC read this header, so that CPU and GPU share one definition. It includes
// nothing else on a GPU. A state is computed by a group of lanes that share scratch memory: on the CPU one.
#pragma once

#ifdef __CUDACC__
#define MOCPACK_STATES __device__ inline
#define MOCPACK_KEEP_LOOP _Pragma("unroll 1") // short code fits the cache of instructions
#else
#include "math/elementary.h"
#define MOCPACK_STATES inline
#define MOCPACK_KEEP_LOOP
#endif

namespace mocpack
{
namespace states
{

// A joint, or a body that is fixed to one. Parents come before their children, in levels of equal depth.
struct Joint
{
	int parent;		  // index in the skeleton, -1 for the root
	int slot;		  // the place of its body in the output; joints without a body come after all bodies
	int turn_column;  // of a local rotation (4 words) in a row, or -1
	int place_column; // of a local translation (3 words), or -1
	int first_hinge, hinge_count; // sliders first
	float offset[3], rest[4];	  // position and rotation at rest, in the parent's frame
};

// A hinge of a joint: it turns about its axis or slides along it.
struct Hinge
{
	int column; // of its angle in a row
	int slides;
	float axis[3];
};

struct Skeleton
{
	int first_joint, joint_count;
	int first_level, level_count; // `levels` has the end of each level
	int first_angle, angle_count; // `angle_columns` has the column of each angle of the output
	int body_count;
	int contact_column, contact_count;
	int width; // words of a row: root position (3) and rotation (4) first
};

struct Clip
{
	long long first_word;
	int frames, skeleton;
	float rate;			   // frames per second
	float origin[3], step; // of positions in 16 bits
};

enum
{
	MAX_TAPS = 19,
	RING = 5 // frames whose poses are kept for differences over a horizon of up to 3 frames
};

enum Difference
{
	CENTRAL,
	FORWARD
};

// What stands for the forward difference at the last frame, which has no next one.
enum LastDifference
{
	REPEAT_LAST,
	ZERO_LAST,
	REPEAT_THIRD_LAST // that of the frame two before the last one
};

// Differences of frames, averaged over taps around a frame. Those of rotations of bodies must be FORWARD.
struct Filter
{
	int difference, last, radius;
	int is_zero_outside; // differences outside the clip are 0, not those of its first or last frame
	float weights[MAX_TAPS];
};

// How velocities follow from the frames.
struct Velocity
{
	int is_of_bodies; // filters apply to poses of bodies in the world, not to root and joints
	int horizon; // above 0: the smallest of the forward differences over 1 to `horizon` frames, of bodies
	Filter linear, angular, angle;
};

enum IndexType
{
	SECONDS_FLOAT,
	SECONDS_DOUBLE,
	FRAMES_INT,
	FRAMES_LONG
};

struct Call
{
	const void* words; // float, or 16 bits per word
	const Joint* joints;
	const Hinge* hinges;
	const int* levels;
	const int* angle_columns;
	const Skeleton* skeletons;
	const Clip* clips;
	const Velocity* velocity;
	const void* clip_ids; // (count / length)
	const void* moments;  // (count / length) seconds or frames
	// (count, …), each may be null
	float *positions, *rotations, *linear, *angular, *angles, *angle_rates, *contacts;
	long long count, length; // state i is `i % length` frames after moment `i / length`
	int clip_count, ids_are_long, moment_type;
	int bodies, angle_columns_out, contact_columns_out; // of the output arrays
	int is_w_first;
	int scratch_joints; // most joints of a skeleton
};

struct Vector
{
	float x, y, z;
};

struct Turn
{
	float x, y, z, w;
};

MOCPACK_STATES Vector operator+(Vector a, Vector b)
{
	return {a.x + b.x, a.y + b.y, a.z + b.z};
}

MOCPACK_STATES Vector operator-(Vector a, Vector b)
{
	return {a.x - b.x, a.y - b.y, a.z - b.z};
}

MOCPACK_STATES Vector operator*(float s, Vector v)
{
	return {s * v.x, s * v.y, s * v.z};
}

MOCPACK_STATES float dot(Vector a, Vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

MOCPACK_STATES Vector cross(Vector a, Vector b)
{
	return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

MOCPACK_STATES Turn multiply(Turn a, Turn b)
{
	return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
			a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

MOCPACK_STATES Vector rotate(Turn q, Vector v)
{
	const Vector u = {q.x, q.y, q.z}, t = 2 * cross(u, v);
	return v + q.w * t + cross(u, t);
}

MOCPACK_STATES Turn normalize(Turn q)
{
	const float s = 1 / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return {s * q.x, s * q.y, s * q.z, s * q.w};
}

MOCPACK_STATES void sine_and_cosine(float angle, float* sine, float* cosine)
{
#ifdef __CUDACC__
	sincospif(0.318309886183790672f * angle, sine, cosine); // needs no long code for large angles
#else
	*sine = float(math::sin(angle)), *cosine = float(math::cos(angle));
#endif
}

MOCPACK_STATES float arc_tangent(float y, float x)
{
#ifdef __CUDACC__
	return ::atan2f(y, x);
#else
	return float(math::atan2(y, x));
#endif
}

// Returns the rotation from a to b on the shorter way, with w >= 0.
MOCPACK_STATES Turn change(Turn a, Turn b)
{
	const Turn d = multiply(b, {-a.x, -a.y, -a.z, a.w});
	return d.w < 0 ? Turn{-d.x, -d.y, -d.z, -d.w} : d;
}

// Returns axis times angle of the rotation from a to b.
MOCPACK_STATES Vector turn_vector(Turn a, Turn b)
{
	const Turn d = change(a, b);
	const float s = sqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
	return (s > 1e-6f ? 2 * arc_tangent(s, d.w) / s : 2) * Vector{d.x, d.y, d.z};
}

MOCPACK_STATES Turn slerp(Turn a, Turn b, float u)
{
	const Turn d = change(a, b);
	const float s = sqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
	float sine, cosine;
	sine_and_cosine(u * arc_tangent(s, d.w), &sine, &cosine);
	const float f = s > 1e-6f ? sine / s : u;
	return normalize(multiply({f * d.x, f * d.y, f * d.z, cosine}, a));
}

MOCPACK_STATES Turn turn_about(const float* axis, float angle)
{
	float sine, cosine;
	sine_and_cosine(0.5f * angle, &sine, &cosine);
	return {sine * axis[0], sine * axis[1], sine * axis[2], cosine};
}

MOCPACK_STATES float half_to_float(unsigned short half)
{
	const unsigned sign = unsigned(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023;
	union
	{
		unsigned bits;
		float value;
	} found;
	if (exponent == 0)
	{
		found.value = fraction * 5.9604644775390625e-8f; // 2^-24
		found.bits |= sign;
	}
	else
		found.bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
	return found.value;
}

// Rows of a clip in single precision.
struct FloatRows
{
	const float* words;

	MOCPACK_STATES float word(long long at) const
	{
		return words[at];
	}
	MOCPACK_STATES Vector root(const Clip&, long long row) const
	{
		return {words[row], words[row + 1], words[row + 2]};
	}
};

// Rows in 16 bits: half precision, but the root's position is a multiple of the clip's step.
struct HalfRows
{
	const unsigned short* words;

	MOCPACK_STATES float word(long long at) const
	{
		return half_to_float(words[at]);
	}
	MOCPACK_STATES Vector root(const Clip& clip, long long row) const
	{
		return {clip.origin[0] + clip.step * short(words[row]),
				clip.origin[1] + clip.step * short(words[row + 1]),
				clip.origin[2] + clip.step * short(words[row + 2])};
	}
};

// One difference of two frames, and its weight in units per second.
struct Term
{
	int a, b;
	float weight;
};

MOCPACK_STATES int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

MOCPACK_STATES int term_count(const Filter& filter)
{
	return 2 * filter.radius + 2;
}

// Returns term k of the velocity at a share u of the way from `frame` to the next. Both frames of the terms
// increase with k.
MOCPACK_STATES Term filter_term(const Filter& filter, int k, int frame, float u, int frames, float rate)
{
	float weight =
		(1 - u) * (k <= 2 * filter.radius ? filter.weights[k] : 0) + u * (k ? filter.weights[k - 1] : 0);
	const int wanted = frame + k - filter.radius, at = clamp(wanted, 0, frames - 1), last = frames - 1;
	if (at != wanted && filter.is_zero_outside)
		weight = 0;
	int a = at, b = at + 1;
	if (filter.difference == CENTRAL)
		a = at ? at - 1 : 0, b = at < last ? at + 1 : last;
	else if (at == last)
	{
		a = filter.last == REPEAT_LAST ? last - 1 : filter.last == ZERO_LAST ? last : last - 2;
		a = a < 0 ? 0 : a;
		b = filter.last == ZERO_LAST || !last ? a : a + 1;
	}
	return {a, b, b > a ? weight * rate / float(b - a) : 0};
}

// The terms of a filter at a moment, in scratch memory. They are for rotations.
struct Terms
{
	const Term* terms;
	int count;
};

// One frame, and its weight in units per second.
struct Tap
{
	int frame;
	float weight;
};

// The same filter as a sum over frames, for what can be added: few frames, as neighboring terms cancel out.
// In scratch memory.
struct Taps
{
	int count;
	Tap taps[1]; // max_taps()
};

MOCPACK_STATES int max_taps(const Filter& filter)
{
	return 2 * filter.radius + 5;
}

MOCPACK_STATES int taps_floats(const Filter& filter)
{
	return 1 + 2 * max_taps(filter);
}

// Writes the taps of a filter at a share u of the way from `frame` to the next, by increasing frame. `frame`
// itself needs none, because values are those beside its value.
MOCPACK_STATES void write_taps(const Filter& filter, int frame, float u, int frames, float rate, Taps* out)
{
	const int first = frame - filter.radius - 2, room = max_taps(filter), terms = term_count(filter);
	MOCPACK_KEEP_LOOP
	for (int i = 0; i < room; ++i)
		out->taps[i] = {first + i, 0};
	MOCPACK_KEEP_LOOP
	for (int k = 0; k < terms; ++k)
	{
		const Term t = filter_term(filter, k, frame, u, frames, rate);
		out->taps[t.b - first].weight += t.weight;
		out->taps[t.a - first].weight -= t.weight;
	}
	int count = 0;
	MOCPACK_KEEP_LOOP
	for (int i = 0; i < room; ++i)
		if (out->taps[i].weight != 0 && out->taps[i].frame != frame)
			out->taps[count++] = out->taps[i];
	out->count = count;
}

// Poses of joints by slot, in scratch memory.
struct Poses
{
	float *positions, *rotations;
};

struct Rates
{
	float *linear, *angular;
};

MOCPACK_STATES Vector load_vector(const float* from, int at)
{
	return {from[3 * at], from[3 * at + 1], from[3 * at + 2]};
}

MOCPACK_STATES void store(float* to, int at, Vector v)
{
	to[3 * at] = v.x, to[3 * at + 1] = v.y, to[3 * at + 2] = v.z;
}

MOCPACK_STATES Turn load_turn(const float* from, int at)
{
	return {from[4 * at], from[4 * at + 1], from[4 * at + 2], from[4 * at + 3]};
}

MOCPACK_STATES void store(float* to, int at, Turn q)
{
	to[4 * at] = q.x, to[4 * at + 1] = q.y, to[4 * at + 2] = q.z, to[4 * at + 3] = q.w;
}

// A moment of a clip: a share u of the way from `frame` to the next one.
template <class Rows> struct Moment
{
	const Rows& rows;
	const Clip& clip;
	int width, frame;
	float u;

	MOCPACK_STATES long long row(int at) const
	{
		return clip.first_word + (long long)width * at;
	}

	MOCPACK_STATES float word(int column) const
	{
		const float a = rows.word(row(frame) + column);
		return u > 0 ? a + u * (rows.word(row(frame + 1) + column) - a) : a;
	}

	MOCPACK_STATES Vector vector(int column) const
	{
		return {word(column), word(column + 1), word(column + 2)};
	}

	MOCPACK_STATES Vector root() const
	{
		const Vector a = rows.root(clip, row(frame));
		return u > 0 ? a + u * (rows.root(clip, row(frame + 1)) - a) : a;
	}

	MOCPACK_STATES Turn turn_at(int at, int column) const
	{
		const long long from = row(at) + column;
		return normalize({rows.word(from), rows.word(from + 1), rows.word(from + 2), rows.word(from + 3)});
	}

	MOCPACK_STATES Turn turn(int column) const
	{
		const Turn a = turn_at(frame, column);
		return u > 0 ? slerp(a, turn_at(frame + 1, column), u) : a;
	}

	MOCPACK_STATES float word_rate(const Taps& taps, int column) const
	{
		const float own = rows.word(row(frame) + column);
		float sum = 0;
		MOCPACK_KEEP_LOOP
		for (int k = 0; k < taps.count; ++k)
			sum += taps.taps[k].weight * (rows.word(row(taps.taps[k].frame) + column) - own);
		return sum;
	}

	MOCPACK_STATES Vector vector_rate(const Taps& taps, int column) const
	{
		return {word_rate(taps, column), word_rate(taps, column + 1), word_rate(taps, column + 2)};
	}

	MOCPACK_STATES Vector root_rate(const Taps& taps) const
	{
		const Vector own = rows.root(clip, row(frame));
		Vector sum = {0, 0, 0};
		MOCPACK_KEEP_LOOP
		for (int k = 0; k < taps.count; ++k)
			sum = sum + taps.taps[k].weight * (rows.root(clip, row(taps.taps[k].frame)) - own);
		return sum;
	}

	MOCPACK_STATES Vector turn_rate(Terms terms, int column) const
	{
		Vector sum = {0, 0, 0};
		Turn before = {0, 0, 0, 1}, after = before;
		int held = -1; // the frame of `after`
		MOCPACK_KEEP_LOOP
		for (int k = 0; k < terms.count; ++k)
		{
			const Term t = terms.terms[k];
			if (t.weight == 0)
				continue;
			before = t.a == held ? after : turn_at(t.a, column);
			after = turn_at(t.b, column), held = t.b;
			sum = sum + t.weight * turn_vector(before, after);
		}
		return sum;
	}
};

// The filters of all velocities at a moment.
struct Differences
{
	const Taps *linear, *angle;
	Terms angular;
};

// Writes the pose of a joint in its parent's frame, and its velocities if RATES is set.
template <bool RATES, class Rows>
MOCPACK_STATES void place_joint(const Joint& joint, const Hinge* hinges, const Moment<Rows>& moment,
								const Differences& differences, Poses poses, Rates rates)
{
	Vector place = {joint.offset[0], joint.offset[1], joint.offset[2]}, slid = {0, 0, 0}, spun = {0, 0, 0};
	Turn turn = {joint.rest[0], joint.rest[1], joint.rest[2], joint.rest[3]};
	if (joint.parent < 0 && !joint.hinge_count)
	{
		place = moment.root(), turn = moment.turn(3);
		if (RATES)
			slid = moment.root_rate(*differences.linear), spun = moment.turn_rate(differences.angular, 3);
	}
	else
	{
		if (joint.place_column >= 0)
		{
			place = moment.vector(joint.place_column);
			if (RATES)
				slid = moment.vector_rate(*differences.linear, joint.place_column);
		}
		if (joint.turn_column >= 0)
		{
			turn = moment.turn(joint.turn_column);
			if (RATES)
				spun = moment.turn_rate(differences.angular, joint.turn_column);
		}
		MOCPACK_KEEP_LOOP
		for (int h = joint.first_hinge; h < joint.first_hinge + joint.hinge_count; ++h)
		{
			const Hinge& hinge = hinges[h];
			const float angle = moment.word(hinge.column);
			const Vector axis = rotate(turn, {hinge.axis[0], hinge.axis[1], hinge.axis[2]});
			const float rate = RATES ? moment.word_rate(*differences.angle, hinge.column) : 0;
			if (hinge.slides)
				place = place + angle * axis, slid = slid + rate * axis;
			else
			{
				spun = spun + rate * axis;
				turn = multiply(turn, turn_about(hinge.axis, angle));
			}
		}
	}
	store(poses.positions, joint.slot, place);
	store(poses.rotations, joint.slot, turn);
	if (RATES)
		store(rates.linear, joint.slot, slid), store(rates.angular, joint.slot, spun);
}

// Moves a joint from its parent's frame to the world.
template <bool RATES> MOCPACK_STATES void attach_joint(int slot, int parent, Poses poses, Rates rates)
{
	const Turn turn = load_turn(poses.rotations, parent);
	const Vector lever = rotate(turn, load_vector(poses.positions, slot));
	store(poses.positions, slot, load_vector(poses.positions, parent) + lever);
	store(poses.rotations, slot, multiply(turn, load_turn(poses.rotations, slot)));
	if (!RATES)
		return;
	const Vector spin = load_vector(rates.angular, parent);
	store(rates.linear, slot,
		  load_vector(rates.linear, parent) + cross(spin, lever) +
			  rotate(turn, load_vector(rates.linear, slot)));
	store(rates.angular, slot, spin + rotate(turn, load_vector(rates.angular, slot)));
}

// Writes the poses of all joints in the world, and their velocities if RATES is set.
template <bool RATES, class Rows, class Lanes>
MOCPACK_STATES void place_joints(Lanes lanes, const Call& call, const Skeleton& skeleton,
								 const Moment<Rows>& moment, const Differences& differences, Poses poses,
								 Rates rates)
{
	const Joint* joints = call.joints + skeleton.first_joint;
	const int* levels = call.levels + skeleton.first_level;
	MOCPACK_KEEP_LOOP
	for (int j = lanes.index; j < skeleton.joint_count; j += lanes.count)
		place_joint<RATES>(joints[j], call.hinges, moment, differences, poses, rates);
	lanes.sync();
	MOCPACK_KEEP_LOOP
	for (int level = 1; level < skeleton.level_count; ++level)
	{
		MOCPACK_KEEP_LOOP
		for (int j = levels[level - 1] + lanes.index; j < levels[level]; j += lanes.count)
			attach_joint<RATES>(joints[j].slot, joints[joints[j].parent].slot, poses, rates);
		lanes.sync();
	}
}

// Poses of the last frames.
struct Ring
{
	float* memory;
	int joints;

	MOCPACK_STATES Poses at(int frame) const
	{
		float* from = memory + (frame % RING) * 7 * joints;
		return {from, from + 3 * joints};
	}
};

// Returns the sum of the weights of the terms from the frame before `frame` to it.
MOCPACK_STATES float weight_of_step(Terms terms, int frame)
{
	float sum = 0;
	MOCPACK_KEEP_LOOP
	for (int k = 0; k < terms.count; ++k)
		sum += terms.terms[k].b == frame ? terms.terms[k].weight : 0;
	return sum;
}

// Returns the weight of a frame.
MOCPACK_STATES float weight_of_frame(const Taps& taps, int frame)
{
	float sum = 0;
	MOCPACK_KEEP_LOOP
	for (int k = 0; k < taps.count; ++k)
		sum += taps.taps[k].frame == frame ? taps.taps[k].weight : 0;
	return sum;
}

// Writes the velocities of bodies from filtered differences of their poses. `before` has room for a rotation
// per joint.
template <class Rows, class Lanes>
MOCPACK_STATES void filter_bodies(Lanes lanes, const Call& call, const Skeleton& skeleton,
								  const Moment<Rows>& moment, const Differences& differences, Poses poses,
								  float* before, Rates rates)
{
	const Taps& linear = *differences.linear;
	const Terms angular = differences.angular;
	MOCPACK_KEEP_LOOP
	for (int slot = lanes.index; slot < skeleton.body_count; slot += lanes.count)
		store(rates.linear, slot, Vector{0, 0, 0}), store(rates.angular, slot, Vector{0, 0, 0});
	const int reach = call.velocity->linear.radius > call.velocity->angular.radius
						  ? call.velocity->linear.radius
						  : call.velocity->angular.radius;
	const int last = clamp(moment.frame + reach + 2, 0, moment.clip.frames - 1);
	const Vector origin = moment.rows.root(moment.clip, moment.row(moment.frame)); // keeps sums small
	float total = 0; // the weight of `frame` itself, which has no tap
	MOCPACK_KEEP_LOOP
	for (int k = 0; k < linear.count; ++k)
		total += linear.taps[k].weight;
	MOCPACK_KEEP_LOOP
	for (int frame = clamp(moment.frame - reach - 2, 0, last); frame <= last; ++frame)
	{
		const float weight = frame == moment.frame ? -total : weight_of_frame(linear, frame);
		const float step = weight_of_step(angular, frame), next = weight_of_step(angular, frame + 1);
		if (weight == 0 && step == 0 && next == 0)
			continue;
		const Moment<Rows> there = {moment.rows, moment.clip, moment.width, frame, 0};
		place_joints<false>(lanes, call, skeleton, there, Differences{}, poses, rates);
		MOCPACK_KEEP_LOOP
		for (int slot = lanes.index; slot < skeleton.body_count; slot += lanes.count)
		{
			const Turn turn = load_turn(poses.rotations, slot);
			store(rates.linear, slot,
				  load_vector(rates.linear, slot) + weight * (load_vector(poses.positions, slot) - origin));
			if (step != 0)
				store(rates.angular, slot,
					  load_vector(rates.angular, slot) + step * turn_vector(load_turn(before, slot), turn));
			store(before, slot, turn);
		}
		lanes.sync();
	}
}

// Returns the smallest forward difference over 1 to `horizon` frames. Frames too close to the end have that
// of the last frame that is not.
template <class Rows>
MOCPACK_STATES Vector smallest_difference(const Moment<Rows>& moment, int horizon, int frame, int slot,
										  const Ring& ring, bool is_angular)
{
	Vector best = {0, 0, 0};
	float smallest = 3.4e38f;
	const int frames = moment.clip.frames;
	MOCPACK_KEEP_LOOP
	for (int h = 1; h <= horizon && frames > 1; ++h)
	{
		const int step = frames > h ? h : 1, a = clamp(frame, 0, frames - 1 - step);
		const Poses from = ring.at(a), to = ring.at(a + step);
		const Vector difference =
			is_angular ? turn_vector(load_turn(from.rotations, slot), load_turn(to.rotations, slot))
					   : load_vector(to.positions, slot) - load_vector(from.positions, slot);
		const Vector found = (moment.clip.rate / float(step)) * difference;
		const float size = dot(found, found);
		if (size < smallest)
			smallest = size, best = found;
	}
	return best;
}

template <class Rows, class Lanes>
MOCPACK_STATES void horizon_bodies(Lanes lanes, const Call& call, const Skeleton& skeleton,
								   const Moment<Rows>& moment, Ring ring, Rates rates)
{
	const int horizon = call.velocity->horizon, frames = moment.clip.frames, frame = moment.frame;
	const int first = clamp(frame, 0, frames - 1 - horizon < 0 ? 0 : frames - 1 - horizon);
	const int last = clamp(frame + 1 + horizon, 0, frames - 1);
	MOCPACK_KEEP_LOOP
	for (int at = first; at <= last; ++at)
	{
		const Moment<Rows> there = {moment.rows, moment.clip, moment.width, at, 0};
		place_joints<false>(lanes, call, skeleton, there, Differences{}, ring.at(at), rates);
	}
	MOCPACK_KEEP_LOOP
	for (int slot = lanes.index; slot < skeleton.body_count; slot += lanes.count)
		MOCPACK_KEEP_LOOP
	for (int is_angular = 0; is_angular < 2; ++is_angular)
	{
		const Vector a = smallest_difference(moment, horizon, frame, slot, ring, is_angular);
		const Vector b = smallest_difference(moment, horizon, frame + 1, slot, ring, is_angular);
		store(is_angular ? rates.angular : rates.linear, slot, a + moment.u * (b - a));
	}
	lanes.sync();
}

MOCPACK_STATES long long load_index(const void* from, long long at, int is_long)
{
	return is_long ? static_cast<const long long*>(from)[at] : static_cast<const int*>(from)[at];
}

// Finds clip, frame and share of state `at`. Returns false if there is no such clip or frame. Times outside
// the clip are its first or last frame.
MOCPACK_STATES bool find_moment(const Call& call, long long at, int* clip, int* frame, float* u)
{
	const long long query = at / call.length, later = at % call.length;
	const long long id = load_index(call.clip_ids, query, call.ids_are_long);
	if (id < 0 || id >= call.clip_count)
		return false;
	*clip = int(id), *u = 0;
	const Clip& own = call.clips[id];
	if (call.moment_type >= FRAMES_INT)
	{
		const long long start = load_index(call.moments, query, call.moment_type == FRAMES_LONG);
		if (start < 0 || start >= own.frames || later >= own.frames - start)
			return false;
		*frame = int(start + later);
		return true;
	}
	const double seconds = call.moment_type == SECONDS_FLOAT
							   ? static_cast<const float*>(call.moments)[query]
							   : static_cast<const double*>(call.moments)[query];
	const double place = seconds * double(own.rate) + double(later);
	if (!(place == place))
		return false;
	if (place <= 0)
		*frame = 0;
	else if (place >= own.frames - 1)
		*frame = own.frames - 1;
	else
		*frame = int(place), *u = float(place - double(*frame));
	if (*u >= 1)
		*frame += 1, *u = 0;
	return true;
}

template <class Lanes>
MOCPACK_STATES void fill(Lanes lanes, float* out, long long from, int count, float value)
{
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; out && i < count; i += lanes.count)
		out[from + i] = value;
}

// Copies `count` numbers to the output, which has room for `room`; the rest becomes 0.
template <class Lanes>
MOCPACK_STATES void copy(Lanes lanes, const float* from, int count, float* out, long long at, int room)
{
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; out && i < room; i += lanes.count)
		out[at * room + i] = i < count ? from[i] : 0;
}

template <class Lanes> MOCPACK_STATES void write_nothing(Lanes lanes, const Call& call, long long at)
{
	const float nothing = nanf("");
	fill(lanes, call.positions, at * 3 * call.bodies, 3 * call.bodies, nothing);
	fill(lanes, call.rotations, at * 4 * call.bodies, 4 * call.bodies, nothing);
	fill(lanes, call.linear, at * 3 * call.bodies, 3 * call.bodies, nothing);
	fill(lanes, call.angular, at * 3 * call.bodies, 3 * call.bodies, nothing);
	fill(lanes, call.angles, at * call.angle_columns_out, call.angle_columns_out, nothing);
	fill(lanes, call.angle_rates, at * call.angle_columns_out, call.angle_columns_out, nothing);
	fill(lanes, call.contacts, at * call.contact_columns_out, call.contact_columns_out, nothing);
}

// Writes angles and contacts, which need no kinematics.
template <class Rows, class Lanes>
MOCPACK_STATES void write_columns(Lanes lanes, const Call& call, const Skeleton& skeleton,
								  const Moment<Rows>& moment, const Taps& differences, long long at)
{
	const int* columns = call.angle_columns + skeleton.first_angle;
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; i < call.angle_columns_out; i += lanes.count)
	{
		const bool is_there = i < skeleton.angle_count;
		if (call.angles)
			call.angles[at * call.angle_columns_out + i] = is_there ? moment.word(columns[i]) : 0;
		if (call.angle_rates)
			call.angle_rates[at * call.angle_columns_out + i] =
				is_there ? moment.word_rate(differences, columns[i]) : 0;
	}
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; call.contacts && i < call.contact_columns_out; i += lanes.count)
		call.contacts[at * call.contact_columns_out + i] =
			i < skeleton.contact_count ? moment.word(skeleton.contact_column + i) : 0;
}

// Writes the terms of a filter to scratch memory.
template <class Lanes>
MOCPACK_STATES Terms write_terms(Lanes lanes, const Filter& filter, int frame, float u, const Clip& clip,
								 Term* out)
{
	const int count = term_count(filter);
	MOCPACK_KEEP_LOOP
	for (int k = lanes.index; k < count; k += lanes.count)
		out[k] = filter_term(filter, k, frame, u, clip.frames, clip.rate);
	return {out, count};
}

// Returns the floats of scratch memory per joint: velocities, then poses, then what velocities of bodies
// need.
MOCPACK_STATES int floats_per_joint(const Velocity& velocity)
{
	return !velocity.is_of_bodies ? 6 + 7 : velocity.horizon ? 6 + 7 * RING : 6 + 7 + 4;
}

// Returns the floats of scratch memory per group of lanes.
MOCPACK_STATES int scratch_floats(int joints, const Velocity& velocity)
{
	return floats_per_joint(velocity) * joints + taps_floats(velocity.linear) + taps_floats(velocity.angle) +
		   int(sizeof(Term) / sizeof(float)) * term_count(velocity.angular);
}

// Writes state `at` of the call. OF_BODIES: whether the call's velocities are of bodies.
template <bool OF_BODIES, class Rows, class Lanes>
MOCPACK_STATES void write_state(Lanes lanes, const Call& call, Rows rows, long long at, float* scratch)
{
	int id = 0, frame = 0;
	float u = 0;
	if (!find_moment(call, at, &id, &frame, &u))
	{
		write_nothing(lanes, call, at);
		return;
	}
	const Clip& clip = call.clips[id];
	const Skeleton& skeleton = call.skeletons[clip.skeleton];
	const Velocity& velocity = *call.velocity;
	const Moment<Rows> moment = {rows, clip, skeleton.width, frame, u};
	const int joints = call.scratch_joints;
	const Rates rates = {scratch, scratch + 3 * joints};
	const Poses poses = {scratch + 6 * joints, scratch + 9 * joints};
	float* tables = scratch + floats_per_joint(velocity) * joints;
	Taps* const linear = reinterpret_cast<Taps*>(tables);
	Taps* const angle = reinterpret_cast<Taps*>(tables + taps_floats(velocity.linear));
	Term* const terms =
		reinterpret_cast<Term*>(tables + taps_floats(velocity.linear) + taps_floats(velocity.angle));
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; i < 2; i += lanes.count)
		write_taps(i ? velocity.angle : velocity.linear, frame, u, clip.frames, clip.rate,
				   i ? angle : linear);
	const Differences differences = {linear, angle,
									 write_terms(lanes, velocity.angular, frame, u, clip, terms)};
	lanes.sync();
	write_columns(lanes, call, skeleton, moment, *angle, at);
	const bool has_rates = call.linear || call.angular;
	if (!call.positions && !call.rotations && !has_rates)
		return;
	if (OF_BODIES && has_rates && velocity.horizon)
		horizon_bodies(lanes, call, skeleton, moment, Ring{poses.positions, joints}, rates);
	else if (OF_BODIES && has_rates)
		filter_bodies(lanes, call, skeleton, moment, differences, poses, scratch + 13 * joints, rates);
	place_joints<!OF_BODIES>(lanes, call, skeleton, moment, differences, poses, rates);
	const int bodies = skeleton.body_count;
	copy(lanes, poses.positions, 3 * bodies, call.positions, at, 3 * call.bodies);
	copy(lanes, rates.linear, 3 * bodies, call.linear, at, 3 * call.bodies);
	copy(lanes, rates.angular, 3 * bodies, call.angular, at, 3 * call.bodies);
	const int first = call.is_w_first ? 3 : 0;
	MOCPACK_KEEP_LOOP
	for (int i = lanes.index; call.rotations && i < 4 * call.bodies; i += lanes.count)
	{
		const int part = (i + first) & 3; // a body that this skeleton lacks is not rotated
		call.rotations[at * 4 * call.bodies + i] = i < 4 * bodies ? poses.rotations[(i & ~3) + part]
												   : part == 3	  ? 1.0f
																  : 0.0f;
	}
	lanes.sync();
}

} // namespace states
} // namespace mocpack
