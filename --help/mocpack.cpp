// libmocpack 0.1.0 in one source, made by tools/amalgamate.py; do not edit.
//
// C++17, without exceptions and RTTI if you like. Needs -ffp-contract=off, or a compiler that does
// not contract, so that every machine decodes the same numbers.
#include "mocpack.h"

// ---- src/common/least_squares.cpp
// Linear prediction that learns as it goes: the part that takes the time.
// ---- src/common/least_squares.h
// Linear prediction that learns as it goes: recursive least squares with forgetting.
//
// Only + - * / of IEEE doubles in a fixed order (four running sums, then their sum), so that every machine
// computes the same predictions; compile with contraction off. Memory is the caller's.
#include <cstddef>

// ---- src/common/small.h
// A small build, such as that for browsers, where every byte travels: no float32, no world, no tasks, nothing
// twice for speed.

namespace mocpack
{

#ifdef MOCPACK_SMALL
const bool SMALL = true;
#else
const bool SMALL = false;
#endif

} // namespace mocpack

namespace mocpack
{

const size_t LANES = 4; // note: the number of running sums decides rounding, so it is part of the format

inline size_t padded(size_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

inline double dot(const double* a, const double* b, size_t n)
{
	double sums[LANES] = {0, 0, 0, 0};
	for (size_t i = 0; i < n; i += LANES)
		for (size_t k = 0; k < LANES; ++k)
			sums[k] += a[i + k] * b[i + k];
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Weights that predict a number from n others, with the inverse of the inputs' covariance.
struct Recursive
{
	size_t n = 0, stride = 0; // stride: n padded; inputs and weights beyond n stay 0
	double forgetting = 1, caution = 1;
	double* weights = nullptr; // (stride)
	double* gain = nullptr;	   // (stride)
	double* inverse = nullptr; // (n, stride), to be multiplied by
	double scale = 1;

	static size_t doubles(size_t n)
	{
		return (n + 2) * padded(n);
	}

	double* place(size_t count, double forget, double doubt, double* memory)
	{
		n = count;
		stride = padded(n);
		forgetting = forget;
		caution = doubt;
		weights = memory;
		gain = weights + stride;
		inverse = gain + stride;
		for (size_t i = 0; i < 2 * stride; ++i)
			weights[i] = 0;
		reset();
		return memory + doubles(n);
	}

	double predict(const double* inputs) const
	{
		return dot(weights, inputs, stride);
	}

	// `predicted` is what predict(inputs) returned, `actual` what came.
	void learn(const double* inputs, double predicted, double actual);

  private:
	void forget(double trace)
	{
		// inputs that stay 0 would let the inverse grow without end
		if (trace * caution < double(n))
			scale /= forgetting;
		if (scale < 1048576)
			return;
		for (size_t i = 0; i < n * stride; ++i)
			inverse[i] *= scale;
		scale = 1;
	}

	void reset()
	{
		scale = 1;
		for (size_t i = 0; i < n; ++i)
			for (size_t j = 0; j < stride; ++j)
				inverse[i * stride + j] = i == j ? 1 / caution : 0;
	}
};

// Weights of a few predictions of one number: least squares with a strong pull to equal shares.
template <int MOST> struct Blend
{
	int n = 0;
	double forgetting = 1, pull = 1;
	double weights[MOST] = {}, start[MOST] = {};
	double moments[MOST][MOST] = {}, products[MOST] = {};

	double predict(const double* inputs) const
	{
		double sum = 0;
		for (int i = 0; i < n; ++i)
			sum += weights[i] * inputs[i];
		return sum;
	}

	void learn(const double* inputs, double actual)
	{
		// the count as a constant lets the compiler unroll; the arithmetic is the same
		switch (SMALL ? 0 : n)
		{
		case 3:
			return learn_of<3>(inputs, actual);
		case 4:
			return learn_of<4>(inputs, actual);
		case 5:
			return learn_of<5>(inputs, actual);
		default:
			return learn_of<0>(inputs, actual);
		}
	}

  private:
	// (moments + pull) weights = products + pull start, by L D Lᵀ; COUNT is n, or 0 if that is not known
	template <int COUNT> void learn_of(const double* inputs, double actual)
	{
		const int count = COUNT ? COUNT : n;
		for (int i = 0; i < count; ++i)
		{
			for (int j = 0; j <= i; ++j)
				moments[i][j] = forgetting * moments[i][j] + inputs[i] * inputs[j];
			products[i] = forgetting * products[i] + inputs[i] * actual;
		}
		double lower[MOST][MOST], diagonal[MOST], y[MOST];
		for (int j = 0; j < count; ++j)
		{
			double own = moments[j][j] + pull, d = own;
			for (int k = 0; k < j; ++k)
				d -= lower[j][k] * lower[j][k] * diagonal[k];
			diagonal[j] = d > 1e-6 * own ? d : 1e-6 * own;
			for (int i = j + 1; i < count; ++i)
			{
				double sum = moments[i][j];
				for (int k = 0; k < j; ++k)
					sum -= lower[i][k] * lower[j][k] * diagonal[k];
				lower[i][j] = sum / diagonal[j];
			}
		}
		for (int i = 0; i < count; ++i)
		{
			y[i] = products[i] + pull * start[i];
			for (int k = 0; k < i; ++k)
				y[i] -= lower[i][k] * y[k];
		}
		for (int i = count - 1; i >= 0; --i)
		{
			weights[i] = y[i] / diagonal[i];
			for (int k = i + 1; k < count; ++k)
				weights[i] -= lower[k][i] * weights[k];
		}
	}
};

} // namespace mocpack

// ---- src/common/wide.h
// Functions worth compiling twice: once more for machines with wider registers, chosen when the program
// loads.
//
// Neither clone fuses multiplication and addition, so both give the same bits. Clones are chosen before a
// sanitizer is ready, which it does not survive.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) &&             \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MOCPACK_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define MOCPACK_WIDE
#endif

namespace mocpack
{

MOCPACK_WIDE void Recursive::learn(const double* inputs, double predicted, double actual)
{
	if (!n)
		return;
	double trace = 0;
	for (size_t i = 0; i < n; ++i)
	{
		gain[i] = dot(inverse + i * stride, inputs, stride);
		trace += inverse[i * stride + i];
	}
	double energy = forgetting + scale * dot(gain, inputs, stride);
	trace *= scale;
	// the negations are true for NaN too
	if (!(energy > 0) || !(trace > 0) || !(trace * caution < 1e3 * double(n)))
		return reset();
	double step = scale / energy, error = actual - predicted;
	for (size_t i = 0; i < n; ++i)
	{
		double move = gain[i] * step;
		weights[i] += move * error;
		double* row = inverse + i * stride;
		for (size_t j = 0; j < stride; ++j)
			row[j] -= move * gain[j];
	}
	forget(trace);
}

} // namespace mocpack
// ---- src/kernels/quaternions.cpp
// Making arrays of quaternions fit to be trusted: unit length, one hemisphere in time.
#include <cmath>

// ---- src/common/quaternion.h
// Quaternions (x, y, z, w) and vectors as plain structs, for the kernels.
//
// The arithmetic is for any kind of number: a double, or the lanes of lanes.h.

namespace mocpack
{

template <typename N> struct Vec3Of
{
	using Number = N;
	N x, y, z;
};

template <typename N> struct QuatOf
{
	N x, y, z, w;
};

using Vec3 = Vec3Of<double>;
using Quat = QuatOf<double>;

inline Vec3 load_vec(const double* p)
{
	return {p[0], p[1], p[2]};
}

inline Quat load_quat(const double* p)
{
	return {p[0], p[1], p[2], p[3]};
}

inline void store(double* p, Vec3 v)
{
	p[0] = v.x, p[1] = v.y, p[2] = v.z;
}

inline void store(double* p, Quat q)
{
	p[0] = q.x, p[1] = q.y, p[2] = q.z, p[3] = q.w;
}

template <typename N> inline Vec3Of<N> operator+(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.x + b.x, a.y + b.y, a.z + b.z};
}

template <typename N> inline Vec3Of<N> operator-(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.x - b.x, a.y - b.y, a.z - b.z};
}

template <typename N> inline Vec3Of<N> operator*(typename Vec3Of<N>::Number s, Vec3Of<N> v)
{
	return {s * v.x, s * v.y, s * v.z};
}

template <typename N> inline N dot(Vec3Of<N> a, Vec3Of<N> b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

template <typename N> inline Vec3Of<N> cross(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <typename N> inline QuatOf<N> multiply(QuatOf<N> a, QuatOf<N> b)
{
	return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
			a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

template <typename N> inline QuatOf<N> conjugate(QuatOf<N> q)
{
	return {-q.x, -q.y, -q.z, q.w};
}

template <typename N> inline Vec3Of<N> rotate(QuatOf<N> q, Vec3Of<N> v)
{
	Vec3Of<N> u = {q.x, q.y, q.z};
	Vec3Of<N> t = cross(u, v);
	t = t + t;
	return v + q.w * t + cross(u, t);
}

} // namespace mocpack
// ---- src/kernels/quaternions.h
// Arrays of quaternions made fit to be trusted.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* Make quaternions (T, J, 4) unit and continuous in time, in place (quaternions.cpp).
	 *
	 * Each takes the sign nearest to the frame before. Returns -1, or the index of the first quaternion
	 * that is not finite or whose length is further than `tolerance` from 1. */
	int64_t mocpack_settle_rotations(double* rotations, size_t frames, size_t joints, double tolerance);

	// Whether settling would change nothing.
	int mocpack_rotations_settled(const double* rotations, size_t frames, size_t joints);

#ifdef __cplusplus
}
#endif

using namespace mocpack;

namespace
{

const double ROUNDING = 1e-14; // of the square of a unit quaternion's length

// How many of `count` quaternions would be changed, `before` being those of the frame before.
MOCPACK_WIDE size_t count_unsettled(const double* p, const double* before, size_t count)
{
	size_t bad = 0;
	for (size_t i = 0; i < count; ++i, p += 4, before += 4)
	{
		double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
		double along = p[0] * before[0] + p[1] * before[1] + p[2] * before[2] + p[3] * before[3];
		// false for NaN too
		bad += !(std::fabs(square - 1.0) <= ROUNDING) | !(along >= 0);
	}
	return bad;
}

} // namespace

int mocpack_rotations_settled(const double* rotations, size_t frames, size_t joints)
{
	const double* before = rotations;
	for (size_t t = 0; t < frames; ++t, rotations += 4 * joints)
	{
		if (count_unsettled(rotations, before, joints))
			return 0;
		before = rotations;
	}
	return 1;
}

int64_t mocpack_settle_rotations(double* rotations, size_t frames, size_t joints, double tolerance)
{
	for (size_t i = 0; i < frames * joints; ++i)
	{
		double* p = rotations + 4 * i;
		// most frames have nothing to settle, and that is quickly seen
		if (joints && i % joints == 0 && !count_unsettled(p, i ? p - 4 * joints : p, joints))
		{
			i += joints - 1;
			continue;
		}
		Quat q = load_quat(p);
		double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		// false for NaN too
		if (!(std::fabs(square - 1.0) <= 2.0 * tolerance))
			return int64_t(i);
		// a quaternion that is unit already keeps its exact bits, so settling twice changes nothing
		double scale = std::fabs(square - 1.0) > ROUNDING ? 1.0 / std::sqrt(square) : 1.0;
		if (i >= joints)
		{
			const double* before = p - 4 * joints;
			if (q.x * before[0] + q.y * before[1] + q.z * before[2] + q.w * before[3] < 0)
				scale = -scale;
		}
		if (scale != 1.0)
			store(p, Quat{scale * q.x, scale * q.y, scale * q.z, scale * q.w});
	}
	return -1;
}
// ---- src/keysine/decode/curves.cpp
// From integers to motion: straight lines between keys, sine series on top, and the rotations they mean.
// ---- src/keysine/decode/curves.h
// From integers to motion: straight lines between keys, sine series on top, and the rotations they mean.
// ---- src/keysine/decode/symbols.h
// The symbols of `keysine`: key poses and sine coefficients, written and read by one and the same text.
//
// `Coder` is TableWriter or TableReader; a value that is being read comes in as anything and goes out
// decoded.
// ---- src/keysine/decode/magnitudes.h
// What foretells the magnitudes of a row of coefficients: those around it and the keys at its ends, as sums
// that are cut into classes, each with its tables. Decoder and search share it.
// ---- src/keysine/decode/statistics.h
// What `keysine` knows of its symbols before it sees them: classes of what neighbours foretell, and a static
// table for each. Integers only, so that symbols decode alike everywhere; trained by tools/train_keysine.py.
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

// ---- src/common/table_coder.h
// Symbols by static tables: range asymmetric numeral systems (rANS), one state, byte by byte.
//
// A table of n symbols is its n + 1 starts in 1/4096: symbol s has the share from starts[s] to starts[s + 1].
// Plain bits are symbols of equal shares. The state stays within 2^16 … 2^24 - 1. Writing runs backwards, so
// a writer remembers what it is given until `finish`.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

const int TABLE_BITS = 12;
const uint32_t TABLE_WHOLE = 1u << TABLE_BITS;
const uint32_t LEAST_STATE = 1u << 16;
const int MOST_PLAIN_BITS = 12; // that are coded at once
const int MOST_LEFT_OUT = 2;	// zeros at the end of a writer's bytes
const uint32_t STARTS = 1024;	// states that a writer may start with

// What a writer was given: a share of 2^bits.
struct Share
{
	uint16_t start, size;
	uint8_t bits;
};

class TableWriter
{
  public:
	static constexpr bool READS = false;

	// Room for so many symbols and runs of plain bits.
	TableWriter(Share* shares, size_t room) : shares_(shares), room_(room)
	{
	}

	// One of `count` symbols; all directions of the coder return what they coded.
	int symbol(const uint16_t* starts, int, int value)
	{
		put({starts[value], uint16_t(starts[value + 1] - starts[value]), TABLE_BITS});
		return value;
	}

	// As `symbol`, of two of which the first has the share `zero`.
	int choice(uint32_t zero, int value)
	{
		put({uint16_t(value ? zero : 0), uint16_t(value ? TABLE_WHOLE - zero : zero), TABLE_BITS});
		return value;
	}

	uint32_t bits(int count, uint32_t value)
	{
		for (int left = count; left > 0;)
		{
			int taken = left < MOST_PLAIN_BITS ? left : MOST_PLAIN_BITS;
			left -= taken;
			put({uint16_t(value >> left & ((1u << taken) - 1)), 1, uint8_t(taken)});
		}
		return value;
	}

	// Writes everything into dst; returns its size, 0 where something cannot be written or does not fit.
	size_t finish(uint8_t* dst, size_t dst_size)
	{
		uint8_t* at = dst + dst_size;
		uint32_t state = good_ ? best_start() : LEAST_STATE;
		for (size_t i = good_ ? count_ : 0; i-- > 0;)
		{
			const Share& share = shares_[i];
			while (state >= uint32_t(share.size) << (24 - share.bits))
			{
				if (at == dst)
					return 0;
				*--at = uint8_t(state);
				state >>= 8;
			}
			state = after(state, share);
		}
		if (!good_ || at - dst < 3)
			return 0;
		for (int k = 0; k < 3; ++k, state >>= 8)
			*--at = uint8_t(state);
		size_t size = size_t(dst + dst_size - at);
		for (size_t i = 0; i < size; ++i)
			dst[i] = at[i];
		for (int k = 0; k < MOST_LEFT_OUT && !dst[size - 1]; ++k) // a reader finds zeros past the end
			--size;
		return size;
	}

  private:
	// A reader may end with any state, so it is one after which the last byte is a zero, and left out.
	uint32_t best_start() const
	{
		for (uint32_t start = LEAST_STATE; start < LEAST_STATE + STARTS; ++start)
		{
			uint32_t state = start;
			size_t i = count_;
			for (; i > 0 && state < uint32_t(shares_[i - 1].size) << (24 - shares_[i - 1].bits); --i)
				state = after(state, shares_[i - 1]);
			if (i > 0 && !uint8_t(state))
				return start;
		}
		return LEAST_STATE;
	}

	static uint32_t after(uint32_t state, const Share& share)
	{
		return (state / share.size << share.bits) + state % share.size + share.start;
	}

	void put(Share share)
	{
		good_ = good_ && share.size && count_ < room_;
		if (good_)
			shares_[count_++] = share;
	}

	Share* shares_;
	size_t room_, count_ = 0;
	bool good_ = true;
};

class TableReader
{
  public:
	static constexpr bool READS = true;

	TableReader(const uint8_t* src, size_t size) : at_(src), end_(src + size)
	{
		for (int k = 0; k < 3; ++k)
			state_ = state_ << 8 | next();
	}

	int symbol(const uint16_t* starts, int count, int)
	{
		const uint32_t slot = state_ & (TABLE_WHOLE - 1);
		int found = 0;
		for (int s = 1; s < 8; ++s) // most symbols are small; tables have at least eight
			found += slot >= starts[s];
		if (found == 7)
			while (found + 1 < count && slot >= starts[found + 1])
				++found;
		take(starts[found], uint32_t(starts[found + 1] - starts[found]), slot);
		return found;
	}

	int choice(uint32_t zero, int)
	{
		const uint32_t slot = state_ & (TABLE_WHOLE - 1);
		const int found = slot >= zero;
		take(found ? zero : 0, found ? TABLE_WHOLE - zero : zero, slot);
		return found;
	}

	uint32_t bits(int count, uint32_t)
	{
		uint32_t value = 0;
		for (int left = count; left > 0;)
		{
			int taken = left < MOST_PLAIN_BITS ? left : MOST_PLAIN_BITS;
			left -= taken;
			value = value << taken | (state_ & ((1u << taken) - 1));
			state_ >>= taken;
			refill();
		}
		return value;
	}

	// Whether more was read than the bytes can have held.
	bool exhausted() const
	{
		return past_ > size_t(MOST_LEFT_OUT);
	}

	// Whether every byte was needed; false means that bytes follow the coded ones.
	bool all_read() const
	{
		return at_ == end_;
	}

  private:
	void take(uint32_t start, uint32_t size, uint32_t slot)
	{
		state_ = size * (state_ >> TABLE_BITS) + slot - start;
		refill();
	}

	void refill()
	{
		if (end_ - at_ >= 2)
		{
			const uint32_t bytes = uint32_t(state_ < LEAST_STATE) + uint32_t(state_ < LEAST_STATE >> 8);
			const uint32_t two = uint32_t(at_[0]) << 8 | at_[1];
			state_ = state_ << 8 * bytes | two >> (16 - 8 * bytes);
			at_ += bytes;
		}
		else
			for (int k = 0; k < 2 && state_ < LEAST_STATE; ++k)
				state_ = state_ << 8 | next();
	}

	uint32_t next()
	{
		if (at_ < end_)
			return *at_++;
		++past_;
		return 0;
	}

	const uint8_t *at_, *end_;
	uint32_t state_ = 0;
	size_t past_ = 0;
};

} // namespace mocpack
// ---- src/keysine/decode/plan.h
// What a `keysine` header says, and the tracks that follow from it: which channels each joint has, and how
// numbers become metres and rotations. Integers in, so that encoder and decoder build the very same tracks.
#include <cstddef>
#include <cstdint>

// ---- src/common/skeleton.h
// What every kernel shares: how a call ends, what is wrong with bytes, a skeleton as kernels see it.
//
// Kernels: plain functions over the caller's arrays, for our own bindings and for the reader of files.
// Encoders return the bytes written, 0 if `dst` is too small. Decoders return a mocpack_Status and are safe
// on untrusted bytes: they read nothing past `src` and write nothing past `dst`. Lengths are metres, angles
// radians, quaternions (x, y, z, w); arrays are dense, frame-major.
#include <stddef.h>
#include <stdint.h>

// An encoder finds nothing that keeps what was asked.
#define MOCPACK_UNREACHABLE ((mocpack_Status) - 4)

#ifdef __cplusplus
extern "C"
{
#endif

	/* What contradicts its specification, as in "plan of joint 7: rotation key step 80 is outside 0..63". The
	 * texts are static; `part` is null where there is only one, `field` where nothing more is known. */
	typedef struct mocpack_Fault
	{
		const char* part;
		int64_t index; // of the part
		const char* field;
		double value, low, high;
	} mocpack_Fault;

	// A skeleton as the kernels see it. Parents come before their children; parents[0] is -1.
	typedef struct mocpack_Skeleton
	{
		size_t joint_count;
		const int32_t* parents; // (J)
		const double* offsets;	// (J, 3) rest position in the parent's frame
		size_t end_count;
		const int32_t* end_joints; // (E) joint that carries the end site
		const double* end_sites;   // (E, 3) in that joint's frame
		size_t translated_count;
		const int32_t* translated_joints; // (M) increasing; their translation replaces the offset
		/* Joints that turn about fixed axes, at most two, or slide along them, at most three. A joint turns
		 * from its rest rotation: rest * turn(axis 1) * turn(axis 2); it stands at offset + rest * sum of
		 * axis * way. All may be null where hinge_count is 0. */
		const double* rest; // (J, 4)
		size_t hinge_count;
		const int32_t* hinge_joints; // (H) not decreasing; of one joint, what slides before what turns
		const uint8_t* hinge_slides; // (H) nonzero: slides
		const double* hinge_axes;	 // (H, 3) unit vectors in the frame that the rest rotation leads to
	} mocpack_Skeleton;

#ifdef __cplusplus
}
#endif
// ---- src/keysine/decode/decode.h
// The decoder of keysine.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* keysine: key poses, sine series between them, static tables (core/src/keysine,
	 * docs/codecs/keysine.md).
	 *
	 * A payload is a head, key segments and groups, the latter in layers. mocpack_keysine_open reads the
	 * head; a group is then decoded by itself, given the keys at its ends. All of this is safe on untrusted
	 * bytes. */
	typedef struct mocpack_KeysineHead mocpack_KeysineHead;

	// Of a coefficient's step of the same index: what a key's is.
#define MOCPACK_KEYSINE_KEY_STEP 0.8

	// Limits of the format.
	enum
	{
		MOCPACK_KEYSINE_PLAN_COLUMNS = 13,
		MOCPACK_KEYSINE_STEPS = 64,			  // quantiser steps: unit * 2^((8 - index) / 2)
		MOCPACK_KEYSINE_UNIT_STEP = 8,		  // index of the step that is the unit itself
		MOCPACK_KEYSINE_LONGEST_BLOCK = 512,  // frames
		MOCPACK_KEYSINE_LONGEST_GROUP = 8192, // frames
		MOCPACK_KEYSINE_MOST_SPLITS = 7,	  // a group has at most 2^7 blocks
		MOCPACK_KEYSINE_MOST_LAYERS = 16,
		MOCPACK_KEYSINE_MOST_SHIFT = 8,
		MOCPACK_KEYSINE_MOST_GRID_CHANNELS = 4096, // each takes a few kilobytes, however short the clip
		MOCPACK_KEYSINE_MOST_INITIAL_SCALE = 55,   // half octaves of 1/256 step
	};

	// Where things stand in a payload: the head, then segments, then groups layer by layer, of these sizes.
	typedef struct mocpack_KeysineLayout
	{
		size_t head_size;
		size_t group_count; // groups have a key at either end; a clip of one frame has none
		size_t groups_per_segment;
		size_t segment_count;
		const uint32_t* sizes; // (segments + layers * groups), bytes
		size_t channel_count;
		size_t track_count;
		size_t layer_count;
		const uint8_t* shifts;	  // (layers - 1, tracks)
		size_t first_frame_alone; // 1 where the first frame is a group by itself
	} mocpack_KeysineLayout;

	// What a head begins with; errors are stated as unit * 2^(number / 8).
	typedef struct mocpack_KeysineFields
	{
		uint32_t mode; // 1: a grid in time; 2: the first frame alone; 4: a thorough grid
		uint32_t layer_count;
		uint32_t fine_bits, basis_bits; // grids of still values and of axes are 2^-bits
		uint32_t tempo;					// 64 times half a second over the length of a group
		float unit;						// metres
		uint32_t group_count, groups_per_segment, predictor_count;
		uint8_t errors[MOCPACK_KEYSINE_MOST_LAYERS]; // of the keys alone, then of each layer but the last
	} mocpack_KeysineFields;

	/* Reads how many parts a payload has, and how long they are, before any memory is taken for them: the
	 * layout without what is coded (sizes, channels, tracks, shifts). `fault` may be null. */
	mocpack_Status mocpack_keysine_peek(const uint8_t* src, size_t src_size, size_t frame_count,
										mocpack_KeysineLayout* layout, mocpack_Fault* fault);

	/* Reads the head at the start of `src` into `memory` of mocpack_keysine_head_memory bytes, aligned as
	 * malloc aligns. `skeleton` must outlive the head. `fault` may be null; it is written where the head is
	 * corrupt. The memory is 0 where the head cannot be, and mocpack_keysine_open says why without touching
	 * any. */
	size_t mocpack_keysine_head_memory(const uint8_t* src, size_t src_size, size_t joints,
									   size_t frame_count);
	mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
										size_t frame_count, void* memory, mocpack_KeysineHead** head,
										mocpack_Fault* fault);
	mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* head);
	mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* head);
	size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* head, size_t key);

	const int32_t* mocpack_keysine_table(const mocpack_KeysineHead* head);		// the plan (J, 13)
	const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* head); // (predictors, 4)
	// Of a grid in time, else null: each track's step (tracks), and how far prediction is off at first
	// (channels), in half octaves of 1/256 step.
	const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* head);
	const uint8_t* mocpack_keysine_initial_scales(const mocpack_KeysineHead* head);

	/* Decodes the keys (key_count, channels) of one segment. */
	size_t mocpack_keysine_segment_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
												  const uint8_t* src, size_t size, int32_t* keys,
												  void* scratch);

	// Where in the arrays that come back the joints stand; -1: they are not wanted.
	typedef struct mocpack_KeysineColumns
	{
		const int32_t* rotations;	 // (J)
		const int32_t* translations; // (M)
		size_t rotation_count, translation_count;
	} mocpack_KeysineColumns;

	/* Decodes one group, given the keys at its ends (2, channels), into rotations (T, J, 4) and translations
	 * (T, M, 3) of the frames from its first key up to, but not with, its last. Without layers, the
	 * motion is what the keys alone give; with some, it is coarser than with all. With columns, only the
	 * joints that have one are decoded, into rotations (T, rotation_count, 4) and translations (T,
	 * translation_count, 3). */
	size_t mocpack_keysine_group_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
												const int32_t* keys, const uint8_t* const* layers,
												const size_t* sizes, size_t layer_count,
												const mocpack_KeysineColumns* columns, double* rotations,
												double* translations, void* scratch);

	/* Decodes a group of one layer as if its coefficients were known up to `shifts` (tracks) only, as a
	 * coarse layer knows them. */
	mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 const uint8_t* shifts, double* rotations,
												 double* translations, void* scratch);

	/* The pose of one key (channels): rotations (J, 4), translations (M, 3), or those that have a column. */
	void mocpack_keysine_pose(const mocpack_KeysineHead* head, const int32_t* key,
							  const mocpack_KeysineColumns* columns, double* rotations, double* translations);

	/* The coded part of the head: plan (J, 13), sizes of all parts, predictors (predictor_count, 4), the
	 * shifts of layers (layer_count - 1, tracks), and of a grid in time the steps of tracks and the initial
	 * scales (channels), else null. */
	size_t mocpack_keysine_head_scratch(size_t joints, size_t part_count, size_t predictor_count);
	size_t mocpack_keysine_encode_head(const mocpack_KeysineFields* start, const mocpack_Skeleton* skeleton,
									   int32_t* table, uint32_t* sizes, size_t part_count,
									   int32_t* predictors, uint8_t* shifts, uint8_t* grid_steps,
									   uint8_t* initial_scales, uint8_t* dst, size_t dst_size, void* scratch);

#ifdef __cplusplus
}
#endif
// ---- src/keysine/decode/hinges.h
// Which axes the joints of a skeleton turn about or slide along, one joint after another.
#include <cstddef>
#include <cstdint>

// ---- src/common/rotation_vector.h
// Rotations as vectors along their axis, as long as their angle.
#include <cmath>

namespace mocpack
{

// The rotation by |v| radians about v.
inline Quat exponential(Vec3 v)
{
	double angle = std::sqrt(dot(v, v)), half = 0.5 * angle;
	double scale = angle < 1e-4 ? 0.5 - angle * angle / 48.0 : std::sin(half) / angle;
	return {scale * v.x, scale * v.y, scale * v.z, std::cos(half)};
}

// The rotation vector of q, of at most π.
inline Vec3 logarithm(Quat q)
{
	if (q.w < 0)
		q = {-q.x, -q.y, -q.z, -q.w};
	Vec3 v = {q.x, q.y, q.z};
	double sine = std::sqrt(dot(v, v));
	double scale = sine < 1e-9 ? 2.0 : 2.0 * std::atan2(sine, q.w) / sine;
	return scale * v;
}

} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const int32_t MOST_TURNS = 2, MOST_SLIDES = 3;

// The hinges of one joint: first those that slide, then those that turn.
struct JointHinges
{
	size_t first; // of the skeleton's hinges
	int32_t slides, turns;
	const double* axes; // (slides + turns, 3)
	Quat rest;

	Vec3 slide_axis(int32_t i) const
	{
		return load_vec(axes + 3 * i);
	}
	Vec3 turn_axis(int32_t i) const
	{
		return load_vec(axes + 3 * (slides + i));
	}
};

// Hands out the hinges of joints in their order.
class HingeCursor
{
  public:
	explicit HingeCursor(const mocpack_Skeleton& skeleton) : skeleton_(skeleton)
	{
	}

	JointHinges of(size_t joint)
	{
		const mocpack_Skeleton& s = skeleton_;
		while (at_ < s.hinge_count && size_t(s.hinge_joints[at_]) < joint)
			++at_;
		JointHinges found = {at_, 0, 0, s.hinge_count ? s.hinge_axes + 3 * at_ : nullptr, {0, 0, 0, 1}};
		if (s.hinge_count && s.rest)
			found.rest = load_quat(s.rest + 4 * joint);
		for (; at_ < s.hinge_count && size_t(s.hinge_joints[at_]) == joint; ++at_)
			++(s.hinge_slides[at_] ? found.slides : found.turns);
		return found;
	}

  private:
	const mocpack_Skeleton& skeleton_;
	size_t at_ = 0;
};

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const double SHELL = 0.03;		// metres
const double SPREAD = 0.3;		// exponent of descendants in the weights
const double MEAN_GRID = 0.125; // radians, of a joint's mean rotation
const double ORIGIN_GRID = 1.0; // metres, of a translation's origin
const int32_t STEPS = MOCPACK_KEYSINE_STEPS, UNIT_STEP = MOCPACK_KEYSINE_UNIT_STEP;

// Weights of a joint's origin, of each of its shell points, which stand for one turn, and of its bone ends,
// in what errors above hinges cost: chosen so that the sum over a limb is about its largest. And what may be
// left.
const double ORIGIN_WEIGHT = 0.25, SHELL_WEIGHT = 0.25, END_WEIGHT = 1.0, USUAL_REST = 1.5;

enum RotationKind
{
	REST_ROTATION = 0,	// none: the identity
	STILL_ROTATION = 1, // the same in all frames
	VECTOR_ROTATION = 2,
	QUATERNION_ROTATION = 3,
	HINGE_ROTATION = 4, // about the axes that the skeleton has for the joint
};

enum TranslationKind
{
	REST_TRANSLATION = 0, // the skeleton's offset
	STILL_TRANSLATION = 1,
	MOVING_TRANSLATION = 2,
	SLIDING_TRANSLATION = 3, // along the axes that the skeleton has for the joint
};

// Columns of the plan, one row for each joint.
enum PlanColumn
{
	ROTATION_KIND,
	TRANSLATION_KIND,
	MEAN, // three: mean or still rotation as a rotation vector, in grid units; of hinges, such angles
	BASIS = MEAN + 3, // three: turn of the axes
	ROTATION_KEY_STEP = BASIS + 3,
	ORIGIN, // three: origin of a moving translation, or the still one; the ways of a still slider
	TRANSLATION_KEY_STEP = ORIGIN + 3,
	PLAN_COLUMNS,
};
static_assert(int(PLAN_COLUMNS) == MOCPACK_KEYSINE_PLAN_COLUMNS, "columns of the plan");

enum TrackKind
{
	POSITION_TRACK,
	QUATERNION_TRACK,
	VECTOR_TRACK,
	HINGE_TRACK,
};

// A translation or a rotation that moves: one to four channels.
struct Track
{
	int32_t joint;
	int32_t kind;
	int32_t channels;
	int32_t first_channel;
	int32_t parent;	   // the nearest ancestor's track of the same kind of thing, -1 if none
	int32_t family;	   // what it is, for the models: 0..9
	int32_t hinge;	   // the first of the skeleton's that it moves, -1 if none
	double base[4];	   // mean or rest rotation, or origin
	double axes[9];	   // rotation vector (or translation) of a unit of each channel, column by column
	double angles[2];  // of a hinge, where its channels are zero
	int32_t key_index; // of the keys' step
	double key_step;
};

// Foretells the coefficients of a channel from those of another, of an earlier track: so many sixteenths.
struct Predictor
{
	int32_t channel, source;
	int32_t band; // 0: all frequencies; 1: slow ones; 2: the others; 3: fast ones
	int32_t factor;
};

struct Plan
{
	const mocpack_Skeleton* skeleton;
	const int32_t* table; // (J, PLAN_COLUMNS)
	double unit;
	double fine;		  // grid of still rotations and translations
	double basis_grid;	  // radians, of the turns of axes
	double* still;		  // (J, 7) rotation and translation of what does not move
	int32_t* descendants; // (J) itself included
	// What a rotation carries along rigidly: joint k hangs, through joints that do not turn, at
	// carried_offset[k], turned by carried_rotation[k], in the frame of joint carrier[k]; -1 if at none.
	int32_t* carrier;		  // (J)
	double* carried_offset;	  // (J, 3)
	double* carried_rotation; // (J, 4)
	double* inertia;		  // (J, 9)
	double* shift_cost;		  // (J) square metres, of a metre that a joint shifts, where there are hinges
	JointHinges* hinges;	  // (J)
	Track* tracks;
	size_t track_count;
	size_t channel_count;
};

// How a clip is cut into groups with a key at either end: evenly, after a first frame that stands apart (lead
// is 1) or not (0).
struct Cut
{
	size_t frames, groups, lead;

	// The frame of key g, which is the first of group g: rounded half up.
	size_t key_frame(size_t g) const
	{
		if (g < lead || !groups)
			return 0;
		// in 64 bits, also where size_t has 32
		uint64_t intervals = frames - 1 - lead, even = groups - lead;
		return lead + size_t((2 * uint64_t(g - lead) * intervals + even) / (2 * even));
	}

	size_t length(size_t g) const
	{
		return key_frame(g + 1) - key_frame(g);
	}

	size_t longest_group() const
	{
		return groups > lead ? (frames - 1 - lead + groups - lead - 1) / (groups - lead) : 0;
	}

	// Whether there are as many frames as groups need.
	bool valid() const
	{
		if (frames == 1)
			return !groups && !lead;
		return lead <= 1 && groups > lead && groups < frames && frames > 1 + lead;
	}
};

// The first frame of block b of the 2^splits of a group of so many frames; that of the next group, after the
// last.
inline size_t block_frame(size_t length, int splits, size_t b)
{
	return (2 * b * length + (size_t(1) << splits)) >> (splits + 1);
}

inline double step_of(double unit, int32_t index)
{
	// unit * 2^((8 - index) / 2), from a table so that every machine agrees
	double step = unit * 16.0;
	for (int32_t i = 0; i + 1 < index; i += 2)
		step *= 0.5;
	return index & 1 ? step * 0.70710678118654752440 : step;
}

inline double key_step_of(double unit, int32_t index)
{
	return MOCPACK_KEYSINE_KEY_STEP * step_of(unit, index);
}

// Whether a number is in its range; where it is not, `fault`, which may be null, says so.
inline bool within(mocpack_Fault* fault, const char* part, int64_t index, const char* field, double value,
				   double low, double high)
{
	if (value >= low && value <= high)
		return true;
	if (fault)
		*fault = {part, index, field, value, low, high};
	return false;
}

inline bool within(mocpack_Fault* fault, const char* field, double value, double low, double high)
{
	return within(fault, nullptr, 0, field, value, low, high);
}

// Room for the arrays of a plan of so many joints, in bytes.
size_t plan_size(size_t joints);

// Fills `plan` from its table, skeleton, unit and fine grid; memory holds plan_size(J) bytes.
// False where a number of the table is out of range; `fault`, which may be null, says which.
bool build_plan(Plan* plan, void* memory, mocpack_Fault* fault);

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const int FAMILIES = 10;
const int SYMBOLS = 32; // of a magnitude; the last one escapes
const int ESCAPE = SYMBOLS - 1;
const int32_t LARGEST = 1 << 30;
const int MOST_SPLITS = MOCPACK_KEYSINE_MOST_SPLITS;

// Symbols of magnitudes: those below 2^(m + 1) by themselves, then 2^m to each octave.
const int FINE = 2;	  // m of coefficients
const int COARSE = 1; // m of everything else

inline int32_t magnitude(int32_t value)
{
	return value < 0 ? -value : value;
}

inline int32_t lesser(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

inline int bit_length(uint32_t value)
{
#if defined(_MSC_VER) && !defined(__clang__)
	unsigned long highest;
	return _BitScanReverse(&highest, value) ? int(highest) + 1 : 0;
#else
	return value ? 32 - __builtin_clz(value) : 0;
#endif
}

// Plain bits that follow a symbol.
inline int plain_bits(int symbol, int m)
{
	return symbol >> m > 1 ? (symbol >> m) - 1 : 0;
}

// The smallest magnitude of a symbol.
inline int32_t symbol_floor(int symbol, int m)
{
	int bits = plain_bits(symbol, m);
	return (symbol - (bits << m)) << bits;
}

inline int symbol_of(int32_t size, int m)
{
	int bits = bit_length(uint32_t(size)) - m - 1;
	bits = bits < 0 ? 0 : bits;
	return lesser((bits << m) + (size >> bits), ESCAPE);
}

// Frequencies, in hertz times about one half, that weights and predictors tell apart: the ends of bands.
const int BANDS = 16, BAND_GROUP = 4, BAND_GROUPS = BANDS / BAND_GROUP;
constexpr uint8_t BAND_ENDS[BANDS - 1] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58};

// Coefficient k of a block, as if blocks had half a second; `tempo` / 64 is half a second over its length.
inline int32_t pace(int32_t k, int32_t tempo)
{
	return (k * tempo + 32) >> 6;
}

// Coefficients: a sum of neighbours, weighted by 1/256, then two classes to each octave; lifts move it.
const int MAGNITUDE_CLASSES = 26, REACH_LEFT = 4;
const int FIRST_LIFTED = 4, LIFTED_STEPS = 10;
// Reaches, keys: sums of numbers, weighted by 1/256, then two classes to each unit.
const int REACH_INPUTS = 9, REACH_CLASSES = 32, REACHES = 24;
const int KEY_INPUTS = 8, KEY_CLASSES = 48;
const int STEP_GUESSES = 8, FIRST_GUESS = 5, STEP_SYMBOLS = 24;
const int64_t SMALL_WAY = 24, LARGE_WAY = 120;
const int SPLITS = 8;

enum HeadNumber
{
	MEAN_NUMBER,
	STILL_NUMBER,
	BASIS_NUMBER,
	KEY_STEP_NUMBER,
	ORIGIN_NUMBER,
	PLACE_NUMBER,
	SIZE_NUMBER,
	SCALE_NUMBER,
	CHANNEL_NUMBER,
	SOURCE_NUMBER,
	FACTOR_NUMBER,
	SHIFT_NUMBER, // of the turn of axes
	HEAD_NUMBERS,
};
const int ROTATION_KINDS = 5, TRANSLATION_KINDS = 3, KIND_TABLES = ROTATION_KINDS + TRANSLATION_KINDS,
		  KINDS = 8;

// ---- src/keysine/decode/tables.inc
// Made by tools/train_keysine.py from cmu-train; do not edit.
inline constexpr int16_t MAGNITUDE_WEIGHTS[16][13] = {{39,14,2,199,26,25,0,0,1,0,0,151,151},
{18,5,1,69,4,13,13,13,11,0,11,52,39},
{72,43,9,13,13,39,1,0,1,0,0,442,107},
{20,9,2,13,13,13,13,13,11,1,11,82,22},
{94,34,12,61,40,26,2,0,3,1,1,5,10},
{48,13,5,25,15,13,13,13,12,3,12,2,3},
{109,56,27,13,13,32,4,0,18,1,1,9,3},
{58,27,12,13,13,13,13,13,12,6,12,6,1},
{132,68,34,29,19,43,0,0,46,1,4,1,0},
{94,41,18,21,10,13,13,13,20,0,20,1,1},
{101,78,37,13,13,33,0,0,43,1,9,4,1},
{95,69,30,13,13,13,13,13,24,1,24,1,0},
{125,114,85,6,2,40,0,0,64,1,16,1,1},
{92,81,70,8,11,13,13,13,17,1,17,0,0},
{97,88,60,13,13,26,0,0,49,1,9,3,3},
{84,80,52,13,13,13,13,13,20,0,20,2,1}};
inline constexpr int16_t MAGNITUDE_CONSTANTS[16][4] = {{1130,451,1319,459},
{671,204,494,112},
{481,120,325,61},
{433,102,295,58},
{366,145,256,132},
{314,131,246,132},
{308,137,234,116},
{318,147,217,113},
{325,214,213,199},
{247,173,179,166},
{231,166,128,122},
{316,211,193,169},
{132,105,91,91},
{140,112,86,88},
{258,203,152,137},
{695,510,438,367}};
inline constexpr int16_t MAGNITUDE_LIFTS[16][24] = {{-3,0,-1,2,-6,-2,-3,-2,0,-2,0,-5,-7,-5,0,0,-4,-4,-4,-4,-3,-3,-3,7},
{-4,0,3,4,-1,0,0,1,0,-1,2,0,0,0,0,0,-2,-1,0,0,1,1,0,2},
{-1,0,-1,3,-8,-2,-3,-1,0,0,0,-3,-7,-4,0,0,-5,-4,-3,-3,-3,-2,-1,6},
{-3,0,4,1,-1,-1,3,3,0,-1,6,0,0,0,0,0,-3,-1,1,1,2,1,-1,6},
{-4,0,-2,3,-5,-2,-2,-2,0,-1,0,-5,-7,-4,0,0,-3,-4,-3,-3,-2,-1,-2,2},
{-3,0,1,4,1,0,-1,-1,0,0,1,0,0,0,0,0,-3,-3,-1,-1,1,1,3,4},
{-3,0,0,3,-7,-2,-2,-2,0,-1,0,-3,-6,-5,0,0,-3,-3,-3,-3,-2,-1,-1,2},
{-3,0,3,3,1,-1,0,0,0,-1,2,0,0,0,0,0,-3,-4,-1,-1,0,1,3,7},
{-3,0,-1,2,-6,-3,-3,-3,0,-2,0,-6,-7,-5,0,0,-3,-4,-4,-3,-2,-2,-2,2},
{-2,0,-1,4,1,-1,-2,-2,0,-1,-3,0,0,0,0,0,-4,-4,-3,-2,1,2,3,4},
{-2,0,0,3,-6,-2,-2,-2,0,-1,0,-3,-6,-3,0,0,-4,-3,-2,-2,-1,0,0,1},
{-1,0,0,2,1,-1,-1,-2,0,-1,-3,0,0,0,0,0,-5,-5,-2,-1,1,1,3,4},
{-1,0,0,2,-5,-3,-3,-3,0,-2,0,-5,-7,-5,0,0,-6,-3,-3,-3,-1,-1,0,1},
{-1,0,1,3,0,-1,-2,-2,0,-1,-3,0,0,0,0,0,-3,-3,-2,-2,0,2,2,4},
{-2,0,3,2,-5,-2,-2,-3,0,-1,0,-2,-5,-2,0,0,1,-3,-3,-2,-2,0,-1,1},
{-1,0,0,1,0,0,-1,-2,0,-1,-3,0,0,0,0,0,-3,-4,-2,-1,0,1,2,4}};
inline constexpr uint16_t MAGNITUDE_TABLES[26][4][33] = {{{0,0,3656,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3631,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3529,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3799,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3656,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3631,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3529,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3799,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3656,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3631,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3529,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3799,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3656,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3631,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3529,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3799,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3656,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3631,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3529,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3799,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3737,4062,4064,4068,4069,4070,4071,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3585,4053,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3563,4065,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3798,4066,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3935,4040,4048,4063,4064,4065,4066,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3454,4018,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3653,4058,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3729,4051,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3875,4048,4067,4068,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3356,4026,4061,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3482,4022,4066,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3538,4023,4064,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3892,4059,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3250,3991,4063,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3278,3998,4065,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3372,3987,4062,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3811,4047,4066,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2936,3929,4054,4067,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2932,3915,4053,4067,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3052,3904,4048,4065,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3693,4029,4061,4068,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2519,3796,4034,4062,4068,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2458,3730,4021,4059,4068,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2529,3687,4000,4053,4066,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3451,3978,4047,4064,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2051,3518,3957,4040,4060,4068,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1931,3389,3913,4029,4058,4068,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1980,3287,3852,3997,4044,4062,4068,4071,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,3019,3834,3993,4043,4061,4068,4071,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1609,3058,3770,3964,4027,4054,4064,4069,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1455,2840,3647,3907,4003,4043,4058,4067,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1464,2687,3511,3828,3958,4018,4045,4060,4071,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,2489,3559,3855,3972,4026,4050,4061,4071,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1264,2543,3435,3773,3924,4001,4035,4054,4068,4073,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1119,2279,3211,3642,3849,3958,4008,4036,4063,4071,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1100,2107,3006,3488,3745,3889,3966,4010,4051,4066,4072,4075,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,2007,3206,3639,3832,3950,4005,4032,4059,4070,4074,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1037,2131,3045,3499,3735,3881,3958,4003,4048,4065,4071,4074,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,883,1827,2747,3268,3581,3782,3890,3958,4024,4052,4066,4070,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,831,1620,2451,3002,3363,3612,3765,3868,3978,4026,4050,4062,4073,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,1560,2819,3341,3612,3798,3894,3953,4023,4050,4065,4071,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,839,1727,2605,3118,3434,3653,3786,3876,3981,4027,4049,4063,4074,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,688,1437,2243,2803,3179,3462,3636,3765,3917,3990,4028,4050,4069,4075,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,640,1234,1933,2459,2853,3169,3395,3565,3782,3898,3965,4006,4045,4062,4070,4075,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,1171,2327,2923,3259,3540,3690,3789,3923,3993,4032,4049,4068,4076,4078,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,670,1367,2150,2667,3032,3326,3514,3658,3837,3940,3994,4027,4061,4072,4077,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,526,1100,1784,2314,2706,3040,3277,3468,3719,3853,3936,3986,4040,4060,4070,4076,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,481,924,1495,1949,2324,2650,2907,3127,3440,3640,3771,3861,3961,4011,4038,4054,4069,4076,4080,4082,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,861,1879,2470,2832,3158,3356,3489,3709,3828,3911,3966,4027,4056,4069,4075,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,550,1098,1770,2249,2613,2920,3127,3313,3582,3749,3859,3927,4007,4048,4064,4073,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,411,834,1377,1837,2199,2540,2808,3028,3358,3584,3731,3833,3945,4006,4036,4057,4072,4080,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,372,692,1129,1505,1831,2129,2382,2605,2967,3231,3431,3581,3771,3883,3948,3989,4034,4056,4068,4074,4081,4085,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,636,1554,2112,2471,2817,3008,3187,3463,3636,3755,3832,3944,4002,4034,4055,4071,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,435,881,1455,1864,2196,2501,2726,2931,3250,3469,3629,3755,3892,3976,4023,4048,4071,4078,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,332,657,1092,1468,1799,2110,2350,2572,2943,3203,3412,3564,3756,3879,3956,4003,4047,4068,4077,4082,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,283,526,860,1153,1416,1665,1889,2094,2464,2753,2985,3177,3456,3639,3763,3851,3951,4002,4032,4049,4068,4078,4082,4085,4088,4090,4091,4092,4093,4094,4095,4096}},
{{0,0,510,1254,1769,2115,2470,2674,2841,3113,3313,3470,3577,3748,3850,3922,3978,4030,4057,4070,4075,4082,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,380,750,1235,1619,1902,2206,2422,2627,2935,3157,3340,3497,3702,3836,3918,3982,4038,4061,4070,4079,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,271,536,879,1194,1462,1727,1945,2151,2507,2778,3013,3196,3440,3638,3767,3857,3960,4025,4057,4068,4080,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,227,409,670,904,1126,1327,1511,1682,1991,2258,2491,2692,3034,3276,3456,3594,3773,3879,3940,3984,4030,4055,4068,4076,4085,4089,4091,4092,4093,4094,4095,4096}},
{{0,0,402,1050,1496,1813,2205,2384,2565,2850,3040,3201,3346,3560,3675,3783,3862,3948,4001,4028,4052,4077,4081,4085,4086,4088,4089,4090,4092,4093,4094,4095,4096},
{0,322,615,1054,1393,1650,1906,2094,2288,2620,2858,3060,3215,3482,3632,3748,3831,3945,4014,4046,4065,4077,4083,4085,4087,4089,4090,4091,4092,4093,4094,4095,4096},
{0,220,400,688,939,1168,1383,1587,1760,2102,2341,2577,2777,3085,3315,3503,3644,3823,3934,3992,4032,4066,4079,4083,4087,4089,4090,4091,4092,4093,4094,4095,4096},
{0,184,323,532,726,902,1066,1220,1365,1630,1863,2066,2251,2593,2849,3059,3231,3484,3653,3770,3853,3949,4003,4031,4050,4069,4079,4084,4087,4091,4093,4094,4096}},
{{0,0,297,857,1245,1516,1891,2090,2239,2530,2749,2918,3044,3284,3431,3537,3647,3814,3915,3958,3994,4035,4071,4077,4078,4082,4086,4090,4091,4092,4093,4094,4096},
{0,274,554,889,1205,1390,1637,1809,2009,2321,2557,2730,2904,3172,3386,3512,3622,3781,3910,3969,4008,4055,4073,4083,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,184,324,559,779,956,1134,1281,1445,1709,1968,2192,2375,2688,2949,3133,3319,3569,3752,3844,3917,4002,4047,4062,4073,4085,4090,4091,4092,4093,4094,4095,4096},
{0,142,242,394,540,669,797,913,1027,1243,1432,1612,1775,2095,2346,2563,2754,3054,3284,3455,3588,3758,3866,3931,3975,4023,4047,4062,4072,4081,4086,4089,4096}},
{{0,0,266,730,1173,1434,1762,1917,2050,2356,2529,2644,2772,2945,3113,3241,3378,3625,3722,3819,3889,3995,4026,4039,4047,4060,4077,4078,4079,4083,4087,4088,4096},
{0,314,501,761,993,1201,1409,1584,1693,1930,2146,2366,2515,2796,3045,3215,3374,3582,3713,3825,3890,3994,4052,4062,4075,4085,4090,4091,4092,4093,4094,4095,4096},
{0,161,274,488,671,811,955,1084,1247,1470,1686,1865,2025,2288,2529,2709,2910,3242,3439,3604,3734,3863,3957,4013,4040,4066,4079,4084,4091,4092,4093,4094,4096},
{0,95,165,272,376,472,566,654,741,908,1062,1204,1351,1604,1834,2040,2217,2545,2807,3013,3182,3439,3613,3733,3813,3919,3978,4013,4035,4058,4071,4078,4096}},
{{0,0,213,574,874,1087,1402,1487,1648,1862,2066,2295,2405,2601,2788,2890,3018,3121,3257,3384,3494,3698,3774,3841,3900,3976,4010,4035,4036,4070,4078,4079,4096},
{0,378,529,746,922,1079,1239,1355,1480,1703,1879,2064,2152,2410,2608,2771,2937,3166,3310,3486,3593,3756,3866,3913,3972,4019,4053,4056,4071,4080,4089,4090,4096},
{0,98,195,344,474,611,735,881,994,1187,1344,1523,1686,1988,2251,2449,2604,2882,3122,3301,3438,3668,3795,3878,3931,4010,4042,4058,4071,4082,4086,4088,4096},
{0,76,130,207,292,365,433,507,568,701,818,933,1048,1256,1449,1619,1779,2066,2312,2520,2699,3017,3232,3404,3540,3715,3829,3901,3947,4003,4034,4053,4096}},
{{0,0,120,361,770,892,1016,1087,1229,1465,1586,1707,1756,2015,2251,2300,2418,2583,2681,2800,2827,3155,3272,3320,3437,3532,3649,3743,3744,3907,3931,4001,4096},
{0,350,414,680,778,960,1072,1149,1268,1409,1563,1662,1781,2013,2147,2329,2420,2666,2834,2961,3136,3325,3535,3647,3724,3864,3934,4003,4004,4039,4053,4054,4096},
{0,82,142,235,325,429,522,596,667,823,960,1070,1199,1449,1688,1897,2127,2453,2643,2810,3002,3290,3463,3625,3726,3885,3981,4005,4035,4062,4070,4072,4096},
{0,58,93,156,215,270,318,364,419,512,602,695,784,939,1090,1227,1358,1589,1799,1996,2168,2486,2732,2944,3101,3364,3541,3674,3767,3887,3954,3990,4096}},
{{0,0,26,269,302,542,663,736,739,839,960,1034,1130,1278,1450,1546,1572,1766,2054,2223,2366,2492,2566,2662,2736,2904,3097,3289,3336,3530,3625,3769,4096},
{0,370,448,606,645,773,822,861,901,1067,1126,1263,1361,1538,1782,1910,1959,2301,2497,2614,2742,2870,2998,3222,3319,3485,3582,3670,3728,3835,3980,4009,4096},
{0,67,90,127,201,285,349,440,480,602,676,770,915,1105,1288,1376,1515,1752,1931,2076,2265,2540,2763,2949,3108,3338,3547,3621,3695,3840,3907,3944,4096},
{0,36,50,81,110,142,165,194,221,275,328,380,430,523,611,703,785,942,1089,1220,1342,1567,1775,1953,2114,2387,2610,2794,2942,3178,3350,3472,4096}}};
inline constexpr int16_t REACH_WEIGHTS[8][9] = {{117,31,18,9,58,16,-73,21,17},
{0,62,29,14,59,21,-167,80,1},
{101,0,38,38,65,30,0,16,8},
{0,0,62,62,72,33,0,52,-2},
{88,87,0,0,85,31,-24,10,9},
{0,151,0,0,95,33,-52,24,0},
{122,0,0,0,152,54,0,15,15},
{0,0,0,0,234,76,0,59,2}};
inline constexpr int16_t REACH_FAMILIES[8][10] = {{562,562,562,-417,-508,-474,-565,-511,562,-453},
{682,682,682,-321,-528,-399,-549,-398,682,-351},
{899,899,899,-524,-534,-525,-645,-600,899,-517},
{1070,1070,1070,-548,-555,-470,-674,-549,1070,-454},
{-741,803,-738,803,803,803,803,803,803,-710},
{-729,1016,-741,1016,1016,1016,1016,1016,1016,-716},
{-1390,835,-1151,835,835,835,835,835,835,-1226},
{-2012,1027,-1462,1027,1027,1027,1027,1027,1027,-1711}};
inline constexpr uint16_t REACH_TABLES[32][4][25] = {{{0,3126,3944,4042,4068,4074,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2959,3800,3962,4028,4052,4072,4077,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1733,3859,4042,4064,4073,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1214,3535,3888,3989,4033,4069,4077,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2178,3537,3888,4003,4046,4074,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2238,3367,3742,3917,3984,4051,4068,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1267,3501,3934,4023,4053,4075,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1329,3299,3753,3933,4009,4064,4072,4078,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1617,3030,3634,3878,3980,4057,4071,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1892,2970,3479,3771,3910,4021,4052,4073,4079,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,867,2882,3691,3926,4007,4064,4073,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1220,2959,3541,3805,3934,4034,4059,4075,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1100,2355,3213,3647,3850,4008,4049,4075,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1622,2558,3153,3553,3780,3974,4032,4068,4077,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,527,2119,3229,3711,3907,4040,4060,4075,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,868,2381,3179,3604,3811,3981,4032,4069,4076,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,662,1664,2634,3315,3676,3949,4010,4063,4077,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1334,2104,2730,3218,3548,3877,3989,4058,4074,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,337,1484,2665,3415,3769,4014,4050,4076,4080,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,589,1795,2681,3274,3597,3902,3982,4053,4069,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,393,1122,2035,2868,3410,3874,3974,4047,4072,4078,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1055,1663,2257,2800,3208,3695,3904,4035,4066,4080,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,210,1003,2016,2976,3548,3959,4021,4065,4077,4080,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,376,1295,2183,2899,3353,3799,3935,4033,4063,4077,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,234,722,1474,2334,3078,3779,3924,4033,4067,4078,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,796,1265,1786,2313,2769,3402,3717,3980,4042,4072,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,120,634,1431,2378,3195,3854,3969,4054,4076,4080,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,266,936,1694,2431,3022,3656,3861,4011,4054,4074,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,159,479,1036,1799,2620,3612,3849,4015,4060,4076,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,576,895,1325,1836,2342,3088,3488,3885,4007,4064,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,75,396,993,1854,2772,3708,3906,4028,4068,4079,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,172,656,1271,1990,2627,3403,3739,3978,4041,4072,4081,4083,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,106,305,691,1311,2090,3306,3696,3975,4047,4071,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,365,588,933,1378,1885,2706,3188,3707,3916,4050,4080,4083,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,39,233,601,1255,2183,3484,3791,4002,4061,4075,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,114,456,924,1516,2169,3101,3547,3919,4017,4058,4082,4083,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,64,202,455,880,1533,2858,3409,3900,4023,4059,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,196,346,599,967,1424,2314,2906,3553,3809,4013,4078,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,22,141,401,852,1577,3111,3587,3944,4043,4068,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,74,305,651,1133,1698,2735,3290,3832,3993,4055,4079,4082,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,44,134,297,574,1038,2209,2922,3770,3981,4048,4082,4083,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,97,187,371,654,1042,1905,2556,3376,3701,3961,4065,4079,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,14,91,266,581,1034,2416,3147,3845,4010,4059,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,43,206,445,783,1246,2285,2952,3700,3929,4043,4080,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,26,70,177,365,651,1570,2373,3560,3919,4019,4076,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,47,101,225,437,750,1512,2220,3178,3617,3935,4052,4073,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,10,53,157,345,626,1598,2499,3666,3973,4040,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,34,153,303,550,878,1744,2508,3460,3824,4018,4073,4078,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,11,47,113,235,420,1044,1798,3216,3787,3981,4074,4080,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,20,54,132,262,498,1132,1800,2902,3437,3884,4044,4066,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,5,26,86,191,362,950,1785,3366,3879,4004,4077,4082,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,23,92,197,365,598,1246,1981,3170,3680,3969,4061,4072,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,11,30,63,146,258,725,1324,2833,3590,3897,4065,4074,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,17,40,87,180,345,833,1447,2606,3260,3823,4018,4060,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,12,43,114,218,569,1165,2991,3743,3942,4072,4080,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,12,53,119,231,373,846,1472,2785,3462,3895,4039,4065,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,6,17,50,96,173,496,942,2259,3192,3720,4045,4068,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,8,22,61,112,222,622,1117,2223,2981,3731,3998,4055,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2,11,32,71,146,366,783,2296,3413,3833,4047,4069,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,4,32,77,145,227,512,954,2227,3059,3804,4030,4061,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,9,17,32,66,96,288,609,1771,2723,3445,3983,4042,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,5,12,32,73,161,440,823,1816,2598,3584,3966,4037,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,5,16,50,96,232,512,1549,2656,3499,4019,4051,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,7,24,50,90,147,313,595,1601,2520,3637,3992,4044,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3,4,19,38,64,185,407,1246,2161,3111,3951,4004,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3,6,30,49,101,298,576,1482,2247,3457,3943,4022,4084,4085,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3,6,12,48,69,142,301,933,1761,3118,3967,4031,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,10,32,49,84,184,384,1041,1896,3379,3948,4022,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,4,5,29,44,120,288,915,1729,2717,3814,3969,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3,4,18,26,66,182,392,1149,1953,3178,3871,3999,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,9,32,70,140,220,563,1083,2533,3927,4002,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2,10,23,43,71,149,259,728,1404,3010,3832,3974,4077,4083,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,3,9,38,50,138,516,1199,2351,3604,3856,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2,4,11,26,39,126,287,922,1592,2937,3786,3976,4081,4082,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,4,5,6,11,16,61,156,368,846,1994,3630,3825,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2,10,24,43,45,100,172,443,886,2467,3683,3939,4073,4079,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,3,15,16,40,91,406,899,1883,3282,3659,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,8,9,21,33,58,131,291,884,1516,2703,3582,3867,4078,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,66,104,290,651,1523,3135,3566,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,10,18,29,88,148,308,648,1881,3270,3753,4056,4068,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,3,4,5,6,100,201,633,1265,2898,3515,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,10,32,99,233,615,1167,2293,3425,3819,4079,4080,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,53,54,79,108,340,1152,2235,2940,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,8,9,26,34,68,112,191,323,605,1656,2865,3656,4009,4044,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,3,4,5,76,156,308,781,1491,2593,3527,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,150,543,1199,2278,3482,3812,4024,4049,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,6,7,9,58,305,730,1729,2569,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,20,125,246,445,1249,2553,3368,4027,4042,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,3,4,5,14,23,41,330,881,2647,3731,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,51,78,228,787,1688,3196,3606,4061,4085,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,168,340,392,1155,1709,2414,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,41,202,705,1354,2540,3315,3898,3992,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1,2,69,70,71,72,73,74,140,306,1349,2568,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,7,8,18,419,1365,2772,3216,3878,3931,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,41,76,77,859,1428,2424,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,89,428,812,1283,2280,3099,3656,3918,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,5,7,761,762,763,764,765,766,767,1143,2467,2881,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,7,115,377,1048,2899,3199,4056,4068,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,4,6,7,8,9,10,11,12,13,282,1225,2055,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,11,12,13,14,22,178,779,1167,1720,2711,3589,4070,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,18,27,751,753,754,755,756,757,758,1118,2198,2199,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,7,24,58,590,2507,3303,3937,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,11,16,18,19,20,21,22,23,24,25,479,1248,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,2,217,218,219,220,221,465,855,1157,1488,2396,3698,4029,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3,4,5,6,7,8,9,10,11,203,1646,2367,3958,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,28,42,49,52,53,54,55,56,57,58,59,1212,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,5,7,122,123,124,125,239,353,896,1010,1238,2009,3115,3229,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,12,18,21,22,23,24,25,26,27,28,1107,1940,3499,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,78,117,136,145,149,151,152,153,154,155,156,2120,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,16,24,28,30,31,32,731,732,1059,1386,2085,2412,3432,3433,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,49,73,85,91,94,95,96,97,98,99,1095,2092,3089,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,97,145,169,181,187,190,191,192,193,194,195,2140,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,44,66,77,82,84,85,973,974,975,2308,3196,3197,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,49,73,85,91,94,95,96,97,98,99,1095,2092,3089,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,97,145,169,181,187,190,191,192,193,194,195,2140,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,279,325,348,359,364,366,367,368,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,49,73,85,91,94,95,96,97,98,99,1095,2092,3089,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,97,145,169,181,187,190,191,192,193,194,195,2140,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,279,325,348,359,364,366,367,368,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,97,145,169,181,187,190,191,192,193,194,195,196,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,49,73,85,91,94,95,96,97,98,99,1095,2092,3089,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,97,145,169,181,187,190,191,192,193,194,195,2140,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,279,325,348,359,364,366,367,368,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}}};
inline constexpr uint16_t STEP_TABLES[9][8][3][25] = {{{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2394,2845,2906,2913,4075,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,774,2207,2470,2494,4069,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,31,2518,3217,3372,4070,4077,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}}},
{{{0,1890,3685,3686,3935,3936,4041,4042,4071,4072,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,915,3077,3078,3627,3628,3953,3954,4033,4034,4055,4056,4064,4065,4069,4070,4074,4075,4083,4084,4092,4093,4094,4095,4096},
{0,3,1657,1658,3096,3097,3627,3628,3930,3931,3932,3933,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1890,3685,3686,3935,3936,4041,4042,4071,4072,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,914,3076,3077,3627,3628,3953,3954,4033,4034,4055,4056,4064,4065,4069,4070,4074,4075,4083,4084,4092,4093,4094,4095,4096},
{0,26,1653,1675,3103,3104,3646,3647,3933,3934,3935,3936,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4096}},
{{0,1561,3394,3501,3941,3942,4044,4045,4073,4074,4080,4081,4083,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,715,2713,2969,3682,3683,4025,4026,4061,4062,4076,4077,4078,4079,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,414,1762,2058,3203,3285,3912,3913,3970,3971,3972,3973,4029,4030,4031,4032,4033,4034,4035,4036,4037,4038,4039,4040,4096}},
{{0,3104,3984,3996,4017,4072,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2008,3826,3869,3941,4062,4076,4077,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,737,2928,3068,3214,4015,4074,4075,4079,4080,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1658,2931,3339,3376,3841,3859,4025,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,826,2183,3220,3355,3861,3876,4038,4052,4053,4054,4055,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,503,1842,3175,3233,3895,3897,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1706,2529,2717,2734,3447,3455,4048,4073,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1329,1509,1980,1998,3301,3303,3992,3994,4078,4079,4080,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,610,1730,2407,2421,3542,3543,3916,3917,4075,4076,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,997,1249,1252,1253,1746,1747,3462,3463,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,807,808,1009,1010,1764,1765,3614,3615,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,983,1497,1703,1704,2318,2319,2998,2999,3101,3102,3576,3577,3781,3782,3884,3885,3886,3887,3888,3889,4093,4094,4095,4096}},
{{0,66,99,115,123,127,129,2759,2760,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,894,905,910,912,913,914,2748,2749,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1196,1201,1203,1204,1205,1206,1422,1423,1424,1425,1641,1642,2620,2621,3110,3111,3112,3113,3114,3115,4093,4094,4095,4096}}},
{{{0,986,3395,3396,3828,3829,4005,4006,4062,4063,4076,4077,4082,4083,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,157,2822,2823,3596,3597,3935,3936,4047,4048,4073,4074,4081,4082,4085,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,15,1683,1684,2893,2894,3646,3647,3966,3967,4046,4047,4075,4076,4081,4082,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,986,3395,3396,3828,3829,4005,4006,4062,4063,4076,4077,4082,4083,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,157,2822,2823,3596,3597,3935,3936,4047,4048,4073,4074,4081,4082,4085,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,15,1683,1684,2893,2894,3646,3647,3966,3967,4046,4047,4075,4076,4081,4082,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,770,2710,3157,3766,3767,3995,3996,4052,4053,4070,4071,4079,4080,4083,4084,4086,4087,4088,4089,4091,4092,4093,4094,4096},
{0,131,2020,2702,3677,3678,3996,3997,4060,4061,4077,4078,4083,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,16,1356,1784,3228,3229,3868,3869,4016,4017,4058,4059,4076,4077,4085,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1360,3615,3747,3926,4015,4064,4065,4077,4078,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,356,3497,3671,3913,4020,4065,4066,4077,4078,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,43,3230,3441,3888,3945,4048,4049,4074,4075,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,688,2215,3152,3314,3816,3844,4038,4070,4071,4075,4076,4077,4078,4082,4083,4087,4088,4089,4090,4091,4092,4094,4095,4096},
{0,308,1664,3157,3314,3855,3887,4052,4068,4069,4075,4076,4080,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4096},
{0,59,1251,3196,3430,3888,3962,4045,4067,4068,4078,4079,4083,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,668,1149,2088,2182,3237,3296,3680,3710,3998,4055,4056,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,272,642,1644,1737,3069,3154,3801,3872,4049,4070,4071,4078,4079,4080,4081,4082,4083,4084,4085,4092,4093,4094,4095,4096},
{0,38,389,1562,1720,3500,3567,3974,3997,4071,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,427,596,947,1067,1761,1881,2805,2809,3503,3618,4067,4071,4075,4076,4080,4081,4082,4083,4084,4085,4086,4087,4088,4096},
{0,174,313,765,810,1558,1641,2892,3091,3847,3848,4045,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,17,247,588,703,1692,1739,3371,3400,3961,3982,4080,4081,4082,4083,4084,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,462,489,542,568,701,918,1703,1704,2245,2271,3325,3326,3516,3517,3707,3708,3709,3710,3711,3712,3713,3714,3715,4096},
{0,416,567,644,780,1040,1183,1936,1974,3013,3014,3694,3701,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,51,213,391,457,824,853,1694,1695,2810,2811,3535,3536,3887,3888,3968,3969,4020,4021,4022,4023,4030,4031,4045,4096}}},
{{{0,2959,4001,4002,4003,4004,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1420,3560,3561,3888,3889,4052,4053,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,246,2634,2635,3957,3958,3959,3960,3961,3962,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2956,4001,4003,4004,4005,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1426,3562,3563,3891,3892,4053,4054,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,283,2700,2776,3969,3970,3971,3972,3973,3974,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2889,3908,4061,4062,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1960,3631,3702,4030,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,714,3162,3848,3869,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3738,4017,4021,4022,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2669,3544,3612,3625,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1051,2406,2657,2669,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3738,4017,4021,4022,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2669,3544,3613,3625,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1300,2222,2344,2350,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3738,4017,4021,4022,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2669,3544,3613,3625,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1372,1833,1838,1840,3628,3629,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3738,4017,4021,4022,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2669,3544,3613,3625,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,165,247,288,308,318,323,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3738,4017,4021,4022,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2669,3544,3613,3625,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,279,325,348,359,364,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}}},
{{{0,2858,3839,3840,3982,3983,4058,4059,4079,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2142,3518,3519,3792,3793,3966,3967,4053,4054,4067,4068,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4089,4090,4096},
{0,516,1540,1541,3059,3060,3315,3316,3826,3827,3828,3829,3830,3831,3832,3833,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2858,3839,3840,3982,3983,4058,4059,4079,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2142,3517,3518,3792,3793,3966,3967,4053,4054,4067,4068,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4089,4090,4096},
{0,588,1668,1715,3156,3157,3385,3386,3843,3844,3845,3846,3847,3848,3849,3850,4078,4079,4080,4081,4082,4083,4084,4085,4096}},
{{0,2819,3806,3844,4010,4011,4066,4067,4076,4077,4079,4080,4081,4082,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2281,3518,3569,3885,3886,4018,4019,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1338,2851,3236,3896,3976,3981,3982,3988,3989,3990,3991,3992,3993,3994,3995,3997,3998,3999,4000,4001,4002,4003,4004,4096}},
{{0,3685,4048,4053,4069,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3137,3975,3994,4030,4060,4073,4074,4079,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1995,3410,3518,3543,4043,4062,4063,4075,4076,4077,4078,4079,4080,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2989,3756,3856,3867,4023,4024,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2211,3521,3723,3774,4015,4016,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2267,3507,3799,3895,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3252,3497,3515,3517,3859,3860,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2573,3269,3287,3291,3544,3545,3903,3904,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1785,2021,2665,2684,3445,3446,3612,3613,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3556,3632,3633,3634,3857,3858,4006,4007,4008,4009,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2610,2741,2742,2743,2795,2796,3512,3513,4030,4031,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1987,1988,2185,2186,2432,2433,3062,3063,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3440,3447,3450,3451,3452,3453,3454,3455,3456,3457,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1711,1713,1714,1715,1716,1717,2118,2119,2420,2421,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3476,3478,3479,3480,3481,3482,3721,3722,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}}},
{{{0,2334,3667,3668,3871,3872,4019,4020,4072,4073,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,926,3148,3149,3608,3609,3875,3876,4049,4050,4077,4078,4080,4081,4083,4084,4086,4087,4089,4090,4091,4092,4093,4094,4096},
{0,119,2491,2492,3375,3376,3847,3848,3995,3996,4054,4055,4056,4057,4058,4059,4060,4061,4090,4091,4092,4093,4094,4095,4096}},
{{0,2334,3667,3668,3871,3872,4019,4020,4072,4073,4081,4082,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,927,3149,3150,3609,3610,3876,3877,4049,4050,4077,4078,4080,4081,4083,4084,4086,4087,4089,4090,4091,4092,4093,4094,4096},
{0,136,2474,2489,3379,3380,3852,3853,3997,3998,4055,4056,4057,4058,4059,4060,4061,4062,4090,4091,4092,4093,4094,4095,4096}},
{{0,2319,3581,3670,3931,3932,4059,4060,4075,4076,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1244,2944,3262,3757,3758,4024,4025,4070,4071,4077,4078,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,635,2010,2427,3474,3480,3981,3982,4053,4054,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2542,3797,3868,3976,4049,4074,4075,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1537,3593,3717,3882,4035,4075,4076,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,966,3379,3559,3730,4036,4073,4074,4078,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4096}},
{{0,2041,3447,3703,3775,3947,3972,4076,4077,4078,4079,4080,4081,4082,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1622,3222,3571,3632,3917,3929,4069,4077,4078,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1539,2824,3390,3458,3837,3844,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2625,3332,3588,3597,3620,3623,3932,3933,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1884,2569,2906,3000,3358,3381,3803,3826,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1226,1601,2255,2258,2779,2780,3640,3641,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1762,2431,2563,2564,2565,2566,3145,3146,3952,3953,3997,4041,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1927,2098,2345,2370,3097,3103,3533,3539,3924,3925,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1268,1559,1671,1672,2115,2120,2989,2990,3438,3439,4050,4051,4072,4073,4078,4079,4080,4081,4082,4083,4084,4085,4086,4096}},
{{0,315,622,625,626,627,628,1560,1561,2161,2162,2803,3444,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2523,2526,2683,2684,3305,3306,3616,3617,3927,3928,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,432,487,672,673,755,939,1472,1473,2109,2110,2801,2802,3534,3535,3719,3720,3721,3722,3723,3724,3725,3726,3727,4096}}},
{{{0,1587,3706,3707,4065,4066,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,588,3199,3200,3803,3804,4051,4052,4076,4077,4080,4081,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,96,2395,2396,3533,3534,4015,4016,4078,4079,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1586,3705,3707,4065,4066,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,588,3199,3200,3803,3804,4051,4052,4076,4077,4080,4081,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,95,2394,2395,3533,3534,4015,4016,4078,4079,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1427,3288,3672,4073,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,569,3117,3525,4030,4031,4073,4074,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,40,2068,2543,3975,3976,4075,4076,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2072,3813,3904,3911,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,773,3264,3635,3681,4067,4071,4072,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,28,3218,3713,3969,4074,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1374,2836,3609,3610,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,408,1527,2469,2483,3747,3748,4078,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,14,1305,3600,3661,4048,4049,4077,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1204,1935,3357,3361,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,211,1274,2282,2283,3676,3677,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2,1001,2332,2429,3722,3723,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,3899,3992,4038,4061,4072,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,3992,4038,4061,4072,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,370,842,1419,1471,2981,2982,3559,3560,3979,3980,4032,4033,4034,4035,4036,4037,4038,4039,4040,4041,4042,4043,4044,4096}},
{{0,3899,3992,4038,4061,4072,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,186,3992,4038,4061,4072,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,315,322,325,326,1558,1559,1859,1860,2801,2802,3443,3444,3445,3446,3447,3448,3449,3450,3451,3452,3453,3454,3455,4096}}},
{{{0,1962,3619,3620,3884,3885,4014,4015,4066,4067,4079,4080,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1237,3314,3315,3703,3704,3952,3953,4044,4045,4080,4081,4082,4083,4085,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,553,2876,2877,3617,3618,3943,3944,4062,4063,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1962,3619,3620,3884,3885,4014,4015,4066,4067,4079,4080,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1236,3313,3314,3703,3704,3952,3953,4044,4045,4080,4081,4082,4083,4085,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,551,2874,2879,3618,3619,3944,3945,4062,4063,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1853,3498,3580,3906,3907,4044,4045,4068,4069,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1025,2958,3121,3737,3738,4007,4008,4065,4066,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,453,2433,2988,3675,3678,4015,4016,4046,4047,4048,4049,4050,4051,4060,4061,4070,4071,4072,4073,4074,4075,4076,4077,4096}},
{{0,2180,3786,3858,4002,4053,4074,4075,4079,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1416,3548,3674,3923,4028,4074,4075,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,589,3261,3481,3779,4005,4071,4072,4076,4077,4078,4079,4080,4081,4083,4084,4086,4087,4088,4089,4091,4092,4093,4094,4096}},
{{0,1751,3143,3670,3714,3968,3974,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,929,2684,3419,3552,3886,3897,4073,4076,4077,4080,4081,4082,4083,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,442,2145,3127,3316,3786,3799,4074,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2416,2791,3200,3205,3719,3720,3873,3874,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1152,1671,2407,2411,3489,3490,3789,3790,4062,4063,4064,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,320,835,1964,1996,3091,3092,3704,3754,4080,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,2344,2399,2491,2492,2620,2621,3494,3698,3771,3772,3994,3995,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4096},
{0,1650,1828,1944,1945,2429,2430,3307,3308,3562,3563,4079,4082,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1294,1355,1806,1809,2055,2056,2551,2557,2917,2918,4048,4049,4065,4068,4071,4072,4073,4074,4077,4078,4079,4080,4086,4096}},
{{0,1971,1972,1973,1974,1975,1976,2398,2446,2673,2674,2950,2951,3859,3860,3861,3862,3863,3864,3865,3866,3867,3868,3869,4096},
{0,2667,2704,2705,2706,2815,2816,3347,3348,3661,3662,3843,3844,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1365,1366,1394,1395,1404,1405,1733,1734,2149,2150,2835,2836,3319,3415,3511,3512,3513,3514,3610,3611,3612,3613,3806,4096}}},
{{{0,829,2996,2997,3559,3560,3911,3912,4033,4034,4072,4073,4080,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4096},
{0,275,2473,2474,3293,3294,3851,3852,4032,4033,4074,4075,4081,4082,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,39,1467,1468,2631,2632,3595,3596,3937,3938,4045,4046,4080,4081,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,829,2996,2997,3559,3560,3911,3912,4033,4034,4072,4073,4080,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4096},
{0,275,2473,2474,3293,3294,3851,3852,4032,4033,4074,4075,4081,4082,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,39,1467,1468,2632,2633,3595,3596,3937,3938,4045,4046,4080,4081,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,769,2738,3003,3733,3734,4017,4018,4064,4065,4073,4074,4082,4083,4084,4085,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,234,2142,2502,3634,3635,4006,4007,4064,4065,4078,4079,4083,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,36,1477,1840,3392,3393,3950,3951,4047,4048,4075,4076,4082,4083,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,892,3284,3528,3892,4004,4064,4065,4075,4076,4080,4081,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,313,3125,3428,3864,4004,4067,4068,4078,4079,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,41,2905,3273,3856,3968,4057,4058,4077,4078,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,793,2818,3501,3638,3891,3908,4069,4077,4078,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,315,2167,3366,3519,3909,3933,4071,4078,4079,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,42,1592,3249,3485,3891,3949,4063,4075,4076,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,874,1602,2255,2303,3512,3513,3822,3823,4061,4062,4063,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,442,1177,2227,2302,3353,3357,3839,3847,4063,4079,4080,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,33,626,1993,2182,3495,3555,3934,3957,4079,4081,4082,4083,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1221,1512,1902,1908,2583,2584,3329,3330,3967,3968,4072,4075,4076,4077,4083,4084,4085,4086,4089,4090,4093,4094,4095,4096},
{0,229,786,1068,1255,2213,2265,3048,3074,3766,3767,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,29,430,1136,1311,2444,2520,3495,3497,3944,3946,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}},
{{0,1199,1234,1431,1432,1809,1810,2512,2513,3198,3199,3506,3507,3508,3509,3799,3800,3801,3802,3947,3948,4093,4094,4095,4096},
{0,250,554,1022,1160,1746,1755,2634,2638,2969,2970,3873,3874,3980,3981,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,34,343,825,937,1481,1541,2280,2281,2899,2900,3388,3389,3756,3757,3906,3907,3979,3980,4018,4019,4053,4054,4071,4096}}}};
inline constexpr int16_t KEY_WEIGHTS[24][8] = {{0,0,68,2,17,-326,-626,599},
{0,0,0,34,62,0,0,0},
{0,0,-44,0,46,-1579,-949,206},
{0,0,0,0,39,0,0,0},
{164,0,26,-7,6,-333,-360,-1095},
{141,0,0,24,31,0,0,0},
{124,0,-34,0,34,-1106,-820,-1381},
{168,0,0,0,16,0,0,0},
{172,0,29,-1,5,-367,-433,-366},
{128,0,0,27,32,0,0,0},
{143,0,-23,0,23,-1109,-802,-753},
{170,0,0,0,18,0,0,0},
{0,159,24,-4,5,-326,-401,-359},
{0,139,0,19,29,0,0,0},
{0,118,-19,0,25,-828,-790,-815},
{0,129,0,0,21,0,0,0},
{66,99,23,-4,5,-285,-338,-334},
{59,98,0,25,21,0,0,0},
{46,73,7,0,21,-639,-656,-598},
{78,79,0,0,12,0,0,0},
{65,87,22,-2,4,-250,-318,-278},
{66,93,0,30,19,0,0,0},
{58,58,12,0,18,-510,-599,-581},
{53,80,0,0,15,0,0,0}};
inline constexpr int16_t KEY_FAMILIES[24][10] = {{679,679,679,1178,286,471,300,880,679,605},
{1354,1354,1354,-489,-543,-465,-32,560,1354,-289},
{2503,2415,1441,2415,2415,2415,2415,2415,2415,979},
{3931,2721,-672,2721,2721,2721,2721,2721,2721,-562},
{554,554,554,61,201,303,275,358,554,342},
{1231,1231,1231,-240,-257,-264,-116,78,1231,-315},
{427,1681,676,1681,1681,1681,1681,1681,1681,633},
{155,1969,-430,1969,1969,1969,1969,1969,1969,-349},
{611,611,611,535,313,386,330,480,611,456},
{1358,1358,1358,-110,-286,-241,26,217,1358,-218},
{1284,1991,1111,1991,1991,1991,1991,1991,1991,915},
{1053,2258,-328,2258,2258,2258,2258,2258,2258,-191},
{539,539,539,441,282,306,303,443,539,370},
{1233,1233,1233,-223,-302,-272,4,128,1233,-277},
{867,1556,678,1556,1556,1556,1556,1556,1556,689},
{595,1669,-426,1669,1669,1669,1669,1669,1669,-253},
{440,440,440,304,245,262,246,335,440,289},
{1016,1016,1016,-218,-223,-221,-45,52,1016,-222},
{649,1173,467,1173,1173,1173,1173,1173,1173,511},
{138,1198,-203,1198,1198,1198,1198,1198,1198,-112},
{406,406,406,366,223,228,226,290,406,255},
{975,975,975,-155,-207,-247,-144,-83,975,-280},
{583,1056,450,1056,1056,1056,1056,1056,1056,445},
{112,1039,-203,1039,1039,1039,1039,1039,1039,-192}};
inline constexpr uint16_t KEY_TABLES[48][33] = {{0,3217,3888,4004,4039,4061,4067,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2221,3480,3794,3916,4005,4037,4061,4068,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1660,3014,3501,3719,3903,3976,4032,4054,4067,4072,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1257,2515,3128,3451,3754,3882,3984,4024,4054,4065,4073,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,978,2081,2743,3153,3565,3755,3917,3983,4033,4052,4067,4073,4076,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,783,1723,2386,2838,3350,3602,3831,3927,4004,4037,4059,4066,4074,4077,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,647,1435,2055,2514,3105,3421,3734,3867,3971,4014,4049,4063,4072,4076,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,526,1191,1740,2184,2822,3202,3583,3765,3916,3982,4029,4050,4068,4075,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,421,994,1467,1875,2500,2922,3397,3634,3845,3938,4009,4038,4061,4071,4077,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,343,801,1205,1570,2161,2604,3150,3449,3741,3868,3975,4015,4050,4065,4075,4079,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,276,651,994,1313,1865,2308,2905,3256,3617,3783,3928,3989,4035,4054,4069,4075,4080,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,218,527,807,1079,1569,1965,2587,2997,3444,3662,3855,3938,4008,4037,4058,4070,4078,4081,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,188,426,663,893,1309,1677,2268,2697,3229,3515,3775,3892,3986,4022,4055,4066,4076,4080,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,145,347,538,722,1078,1402,1965,2405,2981,3326,3664,3807,3934,3986,4035,4053,4073,4079,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,125,297,458,606,908,1177,1677,2100,2702,3094,3509,3707,3882,3958,4018,4044,4068,4076,4081,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,104,235,373,502,749,978,1390,1754,2338,2768,3287,3556,3800,3907,3998,4037,4065,4073,4081,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,90,197,295,401,608,797,1155,1480,2024,2468,3067,3393,3704,3845,3964,4014,4056,4068,4079,4083,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,60,152,237,330,492,648,955,1238,1736,2163,2780,3164,3551,3749,3917,3985,4036,4059,4077,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,59,137,206,279,412,546,809,1045,1483,1861,2471,2897,3378,3629,3847,3943,4022,4048,4072,4081,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,52,113,170,241,358,473,674,872,1241,1579,2145,2573,3147,3462,3762,3892,3999,4039,4065,4076,4083,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,39,89,141,191,286,379,552,721,1042,1339,1867,2278,2874,3265,3655,3815,3963,4019,4055,4073,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,30,73,120,158,243,324,473,619,879,1119,1583,1972,2555,2981,3470,3715,3916,3992,4048,4067,4084,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,22,49,87,123,192,258,389,516,755,974,1369,1715,2305,2735,3304,3587,3848,3948,4036,4062,4078,4085,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,19,47,75,105,162,212,324,434,624,803,1142,1441,2001,2434,3045,3418,3747,3898,4012,4048,4073,4082,4086,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,24,45,75,99,144,196,302,388,548,719,1039,1307,1797,2212,2766,3179,3624,3817,3962,4026,4070,4079,4084,4085,4088,4090,4091,4092,4093,4094,4095,4096},
{0,16,30,44,72,121,149,225,295,443,584,824,1049,1468,1881,2494,2943,3460,3716,3926,4015,4066,4080,4086,4087,4089,4090,4091,4092,4093,4094,4095,4096},
{0,19,36,56,72,111,132,198,261,391,524,729,944,1301,1617,2188,2628,3211,3558,3869,3972,4050,4073,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,10,21,33,50,71,102,160,198,280,358,535,692,988,1264,1775,2211,2888,3329,3751,3923,4030,4065,4082,4086,4089,4090,4091,4092,4093,4094,4095,4096},
{0,16,23,36,51,76,100,146,193,274,359,499,646,958,1226,1701,2172,2797,3211,3656,3856,4002,4048,4080,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,17,23,33,43,54,78,134,174,279,370,509,632,883,1092,1525,1857,2511,2919,3448,3731,3951,4021,4060,4075,4086,4090,4091,4092,4093,4094,4095,4096},
{0,6,16,32,41,68,101,141,199,277,351,511,640,857,1039,1364,1684,2208,2620,3129,3430,3731,3842,3955,4004,4059,4067,4076,4088,4093,4094,4095,4096},
{0,1,15,28,29,43,69,97,141,189,260,346,444,635,837,1258,1510,2071,2448,3046,3451,3851,3985,4049,4083,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,11,14,24,39,52,69,95,131,169,261,334,456,586,873,1132,1519,1904,2610,3103,3660,3855,3992,4026,4079,4085,4091,4092,4093,4094,4095,4096},
{0,11,17,19,21,27,42,71,102,138,172,231,328,448,546,814,1025,1414,1771,2412,3022,3555,3803,4005,4041,4068,4083,4089,4091,4093,4094,4095,4096},
{0,9,24,27,30,36,48,57,81,117,147,211,257,370,495,700,837,1198,1537,2085,2660,3331,3725,3976,4037,4082,4083,4086,4092,4093,4094,4095,4096},
{0,1,2,3,18,28,29,44,59,140,175,231,282,384,522,635,783,1157,1439,2104,2576,3317,3631,3969,4030,4066,4071,4091,4092,4093,4094,4095,4096},
{0,14,15,24,25,39,40,44,58,91,120,154,207,322,399,495,587,848,1137,1539,2003,2569,3279,3752,3887,3993,4036,4064,4092,4093,4094,4095,4096},
{0,1,2,9,16,39,40,47,54,62,85,171,194,280,335,453,578,838,1035,1398,1761,2336,2849,3512,3764,4015,4038,4061,4092,4093,4094,4095,4096},
{0,1,11,21,22,43,44,45,46,66,87,119,171,213,328,433,527,821,989,1378,1767,2242,2632,3170,3621,3946,4008,4091,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,28,29,52,53,98,144,145,306,489,558,816,957,1375,1723,2416,2790,3304,3842,3996,4044,4047,4048,4093,4094,4095,4096},
{0,18,19,20,21,22,23,24,25,26,27,28,47,84,124,164,165,432,621,834,915,1284,1630,2107,2792,3768,3958,4072,4092,4093,4094,4095,4096},
{0,1,2,3,4,5,6,7,8,9,10,11,49,88,204,283,396,559,645,846,1117,1628,2140,2395,2842,3302,3656,3862,4054,4093,4094,4095,4096},
{0,1,2,3,4,55,56,107,108,110,111,162,164,168,226,334,340,400,611,831,1007,1301,1751,2341,2467,2699,3081,3870,3988,4093,4094,4095,4096},
{0,1,2,3,4,12,13,21,22,172,173,181,182,332,340,357,358,393,428,622,1099,1761,2441,3033,3059,3280,3351,3705,4076,4093,4094,4095,4096},
{0,1,2,3,4,5,6,7,8,21,22,23,24,37,38,39,40,388,389,518,572,858,1028,1649,1792,2283,2426,3355,4092,4093,4094,4095,4096},
{0,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,169,170,220,543,745,795,1048,1740,2266,2959,3465,4092,4093,4094,4095,4096},
{0,10,15,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,241,1334,1335,1751,2167,2375,2791,3884,4092,4093,4094,4095,4096},
{0,26,39,45,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,1138,1139,3014,3015,3016,3017,4091,4092,4093,4094,4095,4096}};
inline constexpr uint16_t SPLIT_TABLE[9] = {0,1690,2912,3996,4092,4093,4094,4095,4096};
inline constexpr uint16_t HEAD_TABLES[12][33] = {{0,1670,2465,2995,3324,3675,3834,4004,4060,4071,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2706,2707,2708,2709,2710,2711,2712,2713,2714,2715,2716,2717,2718,2719,2720,2721,2722,2723,2724,2725,2726,2727,2728,2729,2730,2852,2853,3225,3226,3351,3352,4096},
{0,493,1184,1391,1873,2169,2624,3071,3210,3558,3633,3730,3880,4057,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,3492,3771,3923,4045,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1998,4002,4067,4068,4069,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,2029,3053,3565,3821,3949,4013,4045,4061,4069,4073,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1508,2089,2660,2890,3086,3187,3263,3317,3361,3383,3406,3418,3432,3434,3441,3442,3447,3448,3449,3450,3451,3455,3456,3470,3471,3509,3510,3632,3633,3763,3764,4096},
{0,2029,3053,3565,3821,3949,4013,4045,4061,4069,4073,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,885,1815,2326,2805,3090,3425,3780,3927,3993,4026,4062,4075,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,325,936,1869,1991,2307,2377,2721,3224,3430,3896,4021,4070,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,1,117,283,448,825,1216,2274,2758,3270,3588,3951,4074,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096},
{0,410,763,1036,1648,2374,4070,4071,4072,4073,4074,4075,4076,4077,4078,4079,4080,4081,4082,4083,4084,4085,4086,4087,4088,4089,4090,4091,4092,4093,4094,4095,4096}};
inline constexpr uint16_t KIND_STARTS[8][9] = {{0,124,125,3951,4095,4096,4096,4096,4096},
{0,1,2,3704,4095,4096,4096,4096,4096},
{0,653,982,4069,4095,4096,4096,4096,4096},
{0,2181,2766,3989,4095,4096,4096,4096,4096},
{0,2115,3172,3700,3964,4096,4096,4096,4096},
{0,1,2,4096,4096,4096,4096,4096,4096},
{0,2341,3511,4096,4096,4096,4096,4096,4096},
{0,2341,3511,4096,4096,4096,4096,4096,4096}};

inline int class_of(int32_t sum, int classes)
{
	return sum < 0 ? 0 : lesser(sum >> 7, classes - 1);
}

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const int32_t LONGEST_BLOCK = MOCPACK_KEYSINE_LONGEST_BLOCK;

// 16 · 2^(difference / 2), for differences of steps.
inline int32_t step_ratio(int32_t difference)
{
	const int32_t MOST = 8;
	constexpr int16_t RATIOS[2 * MOST + 1] = {1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256};
	return RATIOS[difference < -MOST ? 0 : lesser(difference, MOST) + MOST];
}

// 8 · √length, rounded down: how much more a coefficient of a longer block stands for.
inline int32_t root_of(int32_t length)
{
	int32_t root = 0;
	while ((root + 1) * (root + 1) <= 64 * length)
		++root;
	return root;
}

// How far keys are apart, in sixteenths of a coefficient's step, as a first coefficient might see it.
inline int32_t seen_by_series(int64_t distance, int32_t step, int32_t key_step, int32_t root)
{
	const int64_t FARTHEST = 1 << 20, MOST = 1 << 14;
	distance = distance < FARTHEST ? distance : FARTHEST;
	distance = distance * step_ratio(step - key_step) * root >> 6;
	return int32_t(distance < MOST ? distance : MOST);
}

// A row of coefficients, and what foretells it: levels around it, zeros where there are none.
struct Foretelling
{
	const uint8_t *before, *left, *second_left, *up, *first_up;
	int32_t before_ratio, up_ratio; // sixteenths of the steps of those rows to this one's
	int32_t distance, bend;			// of the keys at its ends: `seen_by_series`
	int set;						// of weights, without that of the band
	int32_t lifts[BAND_GROUPS];		// eighths of an octave
};

// Lifts of a row by what its track is, which channel it is, and its step.
inline void set_lifts(Foretelling* row, int32_t family, int32_t c, int32_t step)
{
	step = step < FIRST_LIFTED ? 0 : lesser(step - FIRST_LIFTED, LIFTED_STEPS - 1);
	for (int group = 0; group < BAND_GROUPS; ++group)
	{
		const int16_t* lifts = MAGNITUDE_LIFTS[group * 4 + row->set];
		row->lifts[group] = lifts[family] + lifts[FAMILIES + c] + lifts[FAMILIES + 4 + step];
	}
}

// Sums of a row of at most LONGEST_BLOCK coefficients.
class RowSums
{
  public:
	// For blocks of at most so many coefficients: finds where bands begin.
	void set_bands(int32_t longest, int32_t tempo)
	{
		int32_t k = 1;
		for (int32_t band = 0; band < BANDS; ++band)
		{
			band_from_[band] = k;
			while (band < BANDS - 1 && k <= longest && pace(k, tempo) <= BAND_ENDS[band])
				++k;
		}
		band_from_[BANDS] = LONGEST_BLOCK + 1;
		for (k = 1; k <= longest; ++k)
			parts_[k] = 65536u / uint32_t(k);
	}

	// Sums of all that is known before the row itself is, for coefficients 1 … reach.
	void foretell(const Foretelling& row, int32_t reach)
	{
		const uint8_t *before = row.before, *left = row.left, *second = row.second_left, *up = row.up,
					  *first = row.first_up;
		for (int32_t group = 0; group < BAND_GROUPS; ++group)
		{
			const int16_t* w = MAGNITUDE_WEIGHTS[group * 4 + row.set];
			int32_t w3 = w[3] * row.before_ratio >> 4, w4 = w[4] * row.before_ratio >> 4,
					w8 = w[8] * row.up_ratio >> 4, w9 = w[9] * row.up_ratio >> 4,
					w10 = w[10] * row.up_ratio >> 4;
			uint32_t keys = uint32_t(w[11] * row.distance + w[12] * row.bend) >> 8;
			keys = keys < 65535 ? keys : 65535;
			int32_t from = band_from_[group * BAND_GROUP],
					to = lesser(reach + 1, band_from_[(group + 1) * BAND_GROUP]);
			for (int32_t k = from; k < to; ++k)
				sums_[k] = w3 * before[k] + w4 * (before[k - 1] + before[k + 1]) + w[5] * left[k] +
						   w[6] * (left[k - 1] + left[k + 1]) +
						   w[7] * (2 * second[k] + second[k - 1] + second[k + 1]) + w8 * up[k] +
						   w9 * (up[k - 1] + up[k + 1]) + w10 * first[k] + int32_t(keys * parts_[k] >> 12);
			for (int32_t band = group * BAND_GROUP; band < (group + 1) * BAND_GROUP; ++band)
				for (int32_t k = band_from_[band], end = lesser(reach + 1, band_from_[band + 1]); k < end;
					 ++k)
					sums_[k] += MAGNITUDE_CONSTANTS[band][row.set], groups_[k] = uint8_t(group);
		}
	}

	// The class of coefficient k where those before it are zero.
	int class_of(const Foretelling& row, int32_t k) const
	{
		return class_of_sum(sums_[k], row.lifts[groups_[k]]);
	}

	// The class of coefficient k, whose row stands in `own` up to there.
	int class_of(const Foretelling& row, const uint8_t* own, int32_t k) const
	{
		const int group = groups_[k];
		const int16_t* w = MAGNITUDE_WEIGHTS[group * 4 + row.set];
		return class_of_sum(sums_[k] + w[0] * own[k - 1] + w[1] * own[k - 2] + w[2] * own[k - 3],
							row.lifts[group]);
	}

  private:
	// Two classes to each octave.
	static int class_of_sum(int32_t sum, int32_t lift)
	{
		sum |= 1;
		int bits = bit_length(uint32_t(sum));
		int32_t part = (bits > 3 ? sum >> (bits - 4) : sum << (4 - bits)) & 7;
		int32_t found = (8 * bits + part + lift - 24) >> 2;
		return found < 0 ? 0 : lesser(found, MAGNITUDE_CLASSES - 1);
	}

	int32_t band_from_[BANDS + 1];
	uint32_t parts_[LONGEST_BLOCK + 1]; // 65536 / k
	int32_t sums_[LONGEST_BLOCK + 1];
	uint8_t groups_[LONGEST_BLOCK + 1];
};

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const int32_t MARGIN = 4; // zeros before the first coefficient of a row, and after the last

// Room for the coefficients of a block of so many frames, with a margin on either side.
inline int32_t row_stride(int32_t length)
{
	return (length + 2 * MARGIN + 7) / 8 * 8;
}

// Shape of a group's arrays of coefficients: (channels, blocks, stride), the first of each row unused, and
// MARGIN zeros on either side.
struct Shape
{
	int32_t blocks;
	int32_t stride;
	const int32_t* lengths; // (blocks): coefficients of each block
	int32_t tempo;

	int32_t row(int32_t channel, int32_t b) const
	{
		return (channel * blocks + b) * stride + MARGIN;
	}
};

// The symbols of a group, and what later ones are foretold from.
struct Rows
{
	const int32_t* keys; // (blocks + 1, channels)
	int32_t* steps;		 // (tracks, blocks), -1 where a track does not move
	int32_t* values;	 // (channels, blocks, stride)
	uint8_t* levels;	 // the same: magnitudes, coarsely, at most 255
	uint8_t* reaches;	 // (channels, blocks): symbols of the reaches
	int16_t* extents;	 // (channels, blocks): the reaches themselves
};

inline uint8_t level_of(int symbol)
{
	return uint8_t(lesser(symbol_floor(symbol, FINE), 255));
}

// A magnitude of which the symbol is known: the rest of it, in plain bits. Below zero if it is too large.
template <typename Coder> int32_t rest_of(Coder& coder, int symbol, int m, int32_t size)
{
	int32_t floor = symbol_floor(symbol, m), rest = size - floor;
	int bits = plain_bits(symbol, m);
	if (symbol == ESCAPE)
	{
		bits = int(coder.bits(5, uint32_t(bit_length(uint32_t(rest)))));
		if (bits > 29)
			return -1;
	}
	return floor + int32_t(coder.bits(bits, uint32_t(rest)));
}

// A number by one table: its magnitude, then its sign.
template <typename Coder>
int32_t coded_number(Coder& coder, const uint16_t* starts, bool has_sign, int32_t value)
{
	int symbol = coder.symbol(starts, SYMBOLS, symbol_of(magnitude(value), COARSE));
	int32_t size = rest_of(coder, symbol, COARSE, magnitude(value));
	return has_sign && size > 0 && coder.bits(1, value < 0) ? -size : size;
}

template <typename Coder> class KeySymbols
{
  public:
	// found: scratch of (channels)
	KeySymbols(Coder& coder, const Plan& plan, uint8_t* found) : coder_(coder), plan_(plan), found_(found)
	{
		for (size_t c = 0; c < plan.channel_count; ++c)
			found_[c] = 0;
	}

	// Keys (count, channels): the first as it is, the others as differences to the one before. False where a
	// key cannot be.
	bool sequence(int32_t* keys, size_t count)
	{
		size_t channels = plan_.channel_count;
		for (size_t k = 0; k < count; ++k)
			if (!key(keys + k * channels, k ? keys + (k - 1) * channels : nullptr, nullptr,
					 int(k < 2 ? k : 2)))
				return false;
		return true;
	}

	// The keys between two that are known, (2^splits + 1, channels): each from the two around it, halving.
	bool between(int32_t* keys, int splits)
	{
		size_t channels = plan_.channel_count;
		for (int level = 0; level < splits; ++level)
			for (size_t half = size_t(1) << (splits - level - 1), at = half; at < size_t(1) << splits;
				 at += 2 * half)
				if (!key(keys + at * channels, keys + (at - half) * channels, keys + (at + half) * channels,
						 3 + lesser(level, 2)))
					return false;
		return true;
	}

  private:
	// One key, from those before and after it: null where there are none.
	bool key(int32_t* key, const int32_t* before, const int32_t* after, int state)
	{
		int32_t sum = 0, seen = 0; // of symbols in this key
		for (size_t t = 0; t < plan_.track_count; ++t)
			for (int32_t c = 0; c < plan_.tracks[t].channels; ++c)
			{
				int32_t at = plan_.tracks[t].first_channel + c;
				int64_t guess = !before ? 0 : !after ? before[at] : (int64_t(before[at]) + after[at]) >> 1;
				int32_t apart = !after ? 0 : symbol_of(magnitude(after[at] - before[at]), COARSE);
				int64_t value = guess + difference(plan_.tracks[t], c, state, apart,
												   seen ? 4 * sum / seen : 0, int32_t(key[at] - guess));
				if (failed_ || value > LARGEST || value < -LARGEST)
					return false;
				key[at] = int32_t(value);
				sum += found_[at], ++seen;
			}
		return true;
	}

	// apart: how far the keys around are from one another
	int32_t difference(const Track& track, int32_t c, int state, int32_t apart, int32_t mean, int32_t value)
	{
		int32_t at = track.first_channel + c;
		bool orphan = track.parent < 0;
		int32_t up = orphan ? 0
							: found_[plan_.tracks[track.parent].first_channel +
									 lesser(c, plan_.tracks[track.parent].channels - 1)];
		const int32_t inputs[KEY_INPUTS] = {found_[at], apart, c ? found_[at - 1] : 0, up, mean, c == 1,
											c == 2,		c == 3};
		int set = state * 4 + (c == 0) + 2 * orphan;
		int32_t expected = KEY_FAMILIES[set][track.family];
		for (int i = 0; i < KEY_INPUTS; ++i)
			expected += KEY_WEIGHTS[set][i] * inputs[i];
		int symbol = coder_.symbol(KEY_TABLES[class_of(expected, KEY_CLASSES)], SYMBOLS,
								   symbol_of(magnitude(value), COARSE));
		found_[at] = uint8_t(symbol);
		int32_t size = rest_of(coder_, symbol, COARSE, magnitude(value));
		failed_ = failed_ || size < 0;
		return size > 0 && coder_.bits(1, value < 0) ? -size : size;
	}

	Coder& coder_;
	const Plan& plan_;
	uint8_t* found_; // symbols of the key at hand, or where it is not yet read, of the one before
	bool failed_ = false;
};

inline int reach_symbol(int32_t reach)
{
	return reach ? 1 + symbol_of(reach - 1, COARSE) : 0;
}

inline int step_symbol(int32_t step, int32_t guess)
{
	int32_t change = step - guess;
	return lesser(change > 0 ? 2 * change + 1 : change < 0 ? -2 * change : 1, STEP_SYMBOLS - 1);
}

// What is known around a track in a block of a group: the tables of its steps, reaches and coefficients.
class Surroundings
{
  public:
	Surroundings(const Plan& plan, const Shape& shape, const Rows& rows)
		: plan_(plan), shape_(shape), rows_(rows)
	{
	}

	// Once the shape is known: blocks differ by one frame at most.
	void set_lengths()
	{
		for (int32_t b = 0, seen = 0; b < shape_.blocks && seen != 3; ++b)
			if (!(seen >> (shape_.lengths[b] & 1) & 1))
				roots_[shape_.lengths[b] & 1] = root_of(shape_.lengths[b] + 1),
										   seen |= 1 << (shape_.lengths[b] & 1);
	}

	// Coefficients of the longest block.
	int32_t longest() const
	{
		int32_t longest = 0;
		for (int32_t b = 0; b < shape_.blocks; ++b)
			longest = shape_.lengths[b] > longest ? shape_.lengths[b] : longest;
		return longest;
	}

	// The step last used by the track in this group, else by its nearest ancestor, else the unit.
	int32_t known_step(int32_t t, int32_t b) const
	{
		int32_t blocks = shape_.blocks;
		for (int32_t e = b; e-- > 0;)
			if (rows_.steps[t * blocks + e] >= 0)
				return rows_.steps[t * blocks + e];
		for (int32_t a = plan_.tracks[t].parent; a >= 0; a = plan_.tracks[a].parent)
			if (rows_.steps[a * blocks + b] >= 0)
				return rows_.steps[a * blocks + b];
		return UNIT_STEP;
	}

	const uint16_t* step_table(int32_t t, int32_t b, int32_t guess) const
	{
		const Track& track = plan_.tracks[t];
		int was = b ? 1 + (step_at(t, b - 1) >= 0) : 0, up = track.parent < 0 ? 0 : 1 + (up_step(t, b) >= 0);
		int32_t row = guess - FIRST_GUESS;
		int64_t way = 0; // of the keys, in sixteenths of the guessed step
		for (int32_t c = 0; c < track.channels; ++c)
			way += distance(track.first_channel + c, b);
		way *= step_ratio(guess - track.key_index);
		return STEP_TABLES[3 * was + up][row < 0 ? 0 : lesser(row, STEP_GUESSES - 1)]
						  [(way >= SMALL_WAY) + (way >= LARGE_WAY)];
	}

	// What foretells a channel in a block, whose step is known.
	Foretelling of(int32_t t, int32_t b, int32_t c) const
	{
		return of(t, b, c, step_at(t, b));
	}
	Foretelling of(int32_t t, int32_t b, int32_t c, int32_t step) const
	{
		static const uint8_t ZEROS[LONGEST_BLOCK + 3 * MARGIN] = {};
		const uint8_t* none = ZEROS + MARGIN;
		const Track& track = plan_.tracks[t];
		int32_t channel = track.first_channel + c, channel_stride = shape_.blocks * shape_.stride,
				root = roots_[shape_.lengths[b] & 1];
		const uint8_t *levels = rows_.levels + shape_.row(channel, b), *up = none, *first_up = none;
		if (track.parent >= 0)
		{
			const Track& parent = plan_.tracks[track.parent];
			up = rows_.levels + shape_.row(parent.first_channel + lesser(c, parent.channels - 1), b);
			first_up = rows_.levels + shape_.row(parent.first_channel, b);
		}
		int32_t was = b ? step_at(t, b - 1) : -1, above = up_step(t, b);
		Foretelling row = {b ? levels - shape_.stride : none,
						   c ? levels - channel_stride : none,
						   c > 1 ? levels - 2 * channel_stride : none,
						   up,
						   first_up,
						   was < 0 ? 0 : step_ratio(step - was),
						   above < 0 ? 0 : step_ratio(step - above),
						   seen_by_series(distance(channel, b), step, track.key_index, root),
						   seen_by_series(bend(channel, b), step, track.key_index, root),
						   2 * (b == 0) + (c == 0),
						   {}};
		set_lifts(&row, track.family, c, step);
		return row;
	}

	// left: the symbol of the reach of channel c - 1, 0 where there is none
	const uint16_t* reach_table(int32_t t, int32_t b, int32_t c, const Foretelling& near, int32_t step,
								int32_t left) const
	{
		const Track& track = plan_.tracks[t];
		const uint8_t* own = rows_.reaches + (track.first_channel + c) * shape_.blocks + b;
		bool orphan = track.parent < 0;
		int32_t up = 0, first_up = 0;
		if (!orphan)
		{
			const Track& parent = plan_.tracks[track.parent];
			up = rows_.reaches[(parent.first_channel + lesser(c, parent.channels - 1)) * shape_.blocks + b];
			first_up = rows_.reaches[parent.first_channel * shape_.blocks + b];
		}
		const int32_t inputs[REACH_INPUTS] = {b ? own[-1] : 0,
											  left,
											  up,
											  first_up,
											  step,
											  symbol_of(shape_.lengths[b], COARSE),
											  c > 1,
											  symbol_of(near.distance >> 2, COARSE),
											  symbol_of(near.bend >> 2, COARSE)};
		int kind = (b == 0) + 2 * (c == 0), set = kind + 4 * orphan;
		int32_t expected = REACH_FAMILIES[set][track.family];
		for (int i = 0; i < REACH_INPUTS; ++i)
			expected += REACH_WEIGHTS[set][i] * inputs[i];
		return REACH_TABLES[class_of(expected, REACH_CLASSES)][kind];
	}

  private:
	int32_t step_at(int32_t t, int32_t b) const
	{
		return rows_.steps[t * shape_.blocks + b];
	}

	// The parent's step, -1 where it does not move or there is none.
	int32_t up_step(int32_t t, int32_t b) const
	{
		int32_t parent = plan_.tracks[t].parent;
		return parent < 0 ? -1 : step_at(parent, b);
	}

	int64_t key(int32_t channel, int32_t b) const
	{
		return rows_.keys[size_t(b) * plan_.channel_count + size_t(channel)];
	}

	// How far the keys at the ends of a block are apart.
	int64_t distance(int32_t channel, int32_t b) const
	{
		int64_t apart = key(channel, b + 1) - key(channel, b);
		return apart < 0 ? -apart : apart;
	}

	// How far those within the group are from the straight line of their neighbours, twice.
	int64_t bend(int32_t channel, int32_t b) const
	{
		int64_t sum = 0;
		for (int32_t e = b; e < b + 2; ++e)
			if (e > 0 && e < shape_.blocks)
			{
				int64_t off = key(channel, e - 1) - 2 * key(channel, e) + key(channel, e + 1);
				sum += off < 0 ? -off : off;
			}
		return sum;
	}

	const Plan& plan_;
	const Shape& shape_;
	const Rows& rows_;
	int32_t roots_[2] = {}; // of even and odd numbers of coefficients
};

template <typename Coder> class CoefficientSymbols
{
  public:
	CoefficientSymbols(Coder& coder, const Plan& plan, const Shape& shape, const Rows& rows)
		: coder_(coder), plan_(plan), shape_(shape), rows_(rows), near_(plan, shape, rows)
	{
		near_.set_lengths();
		sums_.set_bands(near_.longest(), shape.tempo);
	}

	// The first tracks of a group, track by track, block by block. False where they cannot be.
	bool group(size_t track_count)
	{
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape_.blocks; ++b)
				if (!block(t, b))
					return false;
		return true;
	}

  protected:
	bool block(int32_t t, int32_t b)
	{
		const Track& track = plan_.tracks[t];
		if (shape_.lengths[b] && !step(t, b))
			return false;
		bool moves = rows_.steps[t * shape_.blocks + b] >= 0;
		for (int32_t c = 0; moves && c < track.channels; ++c)
			if (!channel(t, b, c))
				return false;
		return true;
	}

	// Whether the track moves in a block, and by which step.
	bool step(int32_t t, int32_t b)
	{
		const Track& track = plan_.tracks[t];
		int32_t *own = rows_.steps + t * shape_.blocks + b, guess = near_.known_step(t, b);
		// 0: it does not; 1: the step is as guessed; 2, 4 …: by one, two … less; 3, 5 …: more; the last: any
		int symbol = coder_.symbol(near_.step_table(t, b, guess), STEP_SYMBOLS,
								   *own < 0 ? 0 : step_symbol(*own, guess));
		if (!symbol)
		{
			*own = -1;
			for (int32_t c = 0; c < track.channels; ++c)
				rows_.reaches[(track.first_channel + c) * shape_.blocks + b] = 0;
			return true;
		}
		if (symbol == STEP_SYMBOLS - 1)
			*own = int32_t(coder_.bits(6, uint32_t(*own)));
		else
			*own = symbol == 1 ? guess : symbol & 1 ? guess + symbol / 2 : guess - symbol / 2;
		return *own >= 0 && *own < STEPS;
	}

	bool channel(int32_t t, int32_t b, int32_t c)
	{
		const Track& track = plan_.tracks[t];
		const int32_t row = shape_.row(track.first_channel + c, b), n = shape_.lengths[b];
		int32_t* values = rows_.values + row;
		uint8_t* own = rows_.levels + row;
		Foretelling near = near_.of(t, b, c);
		int32_t reach = reach_value(t, b, c, near, 0, Coder::READS ? 0 : last_of(values, n));
		if (reach > n)
			return false;
		rows_.extents[(track.first_channel + c) * shape_.blocks + b] = int16_t(reach);
		sums_.foretell(near, reach);
		for (int32_t k = 1; k <= reach; ++k)
		{
			int symbol =
				coder_.symbol(table_of(near, own, k, reach), SYMBOLS, symbol_of(magnitude(values[k]), FINE));
			symbols_[k] = uint8_t(symbol);
			own[k] = level_of(symbol);
		}
		return finish_row(values, reach);
	}

	// The highest frequency up to n that is not zero.
	static int32_t last_of(const int32_t* row, int32_t n)
	{
		while (n > 0 && !row[n])
			--n;
		return n;
	}

	// A reach that is known to be at least `least`; its symbol goes to `reaches`.
	int32_t reach_value(int32_t t, int32_t b, int32_t c, const Foretelling& near, int32_t least,
						int32_t value)
	{
		uint8_t* own = rows_.reaches + (plan_.tracks[t].first_channel + c) * shape_.blocks + b;
		const uint16_t* table =
			near_.reach_table(t, b, c, near, rows_.steps[t * shape_.blocks + b], c ? own[-shape_.blocks] : 0);
		int symbol = reach_symbol(value), lowest = reach_symbol(least);
		symbol = lowest ? between(table, lowest, REACHES - 1, symbol) : coder_.symbol(table, REACHES, symbol);
		*own = uint8_t(symbol);
		if (!symbol)
			return 0;
		int32_t floor = 1 + symbol_floor(symbol - 1, COARSE);
		return floor + int32_t(coder_.bits(plain_bits(symbol - 1, COARSE), uint32_t(value - floor)));
	}

	// One of the symbols from `low` to `high`, by halves: shares are those of the table.
	int between(const uint16_t* starts, int low, int high, int value)
	{
		while (low < high)
		{
			int middle = (low + high) / 2;
			uint32_t below = uint32_t(starts[middle + 1] - starts[low]),
					 all = uint32_t(starts[high + 1] - starts[low]);
			uint32_t zero = all ? below * TABLE_WHOLE / all : TABLE_WHOLE / 2;
			zero = zero < 1 ? 1 : zero > TABLE_WHOLE - 1 ? TABLE_WHOLE - 1 : zero;
			if (coder_.choice(zero, value > middle))
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	const uint16_t* table_of(const Foretelling& near, const uint8_t* own, int32_t k, int32_t reach) const
	{
		return MAGNITUDE_TABLES[sums_.class_of(near, own, k)][lesser(reach - k, REACH_LEFT - 1)];
	}

	// What follows the symbols of a row: the rest of large magnitudes, then all signs.
	bool finish_row(int32_t* values, int32_t reach)
	{
		const int CHUNK = MOST_PLAIN_BITS;
		for (int32_t k = 1; k <= reach; ++k)
		{
			int symbol = symbols_[k];
			int32_t size = symbol < 2 << FINE ? symbol : rest_of(coder_, symbol, FINE, magnitude(values[k]));
			if (size < 0)
				return false;
			sizes_[k] = size;
		}
		for (int32_t k = 1; k <= reach;)
		{
			int32_t at[CHUNK], count = 0;
			uint32_t signs = 0;
			for (; k <= reach && count < CHUNK; ++k)
			{
				at[count] = k;
				signs |= uint32_t(values[k] < 0) << count;
				count += sizes_[k] > 0;
			}
			signs = coder_.bits(count, signs & ((1u << count) - 1));
			for (int32_t i = 0; i < count; ++i, signs >>= 1)
				sizes_[at[i]] = signs & 1 ? -sizes_[at[i]] : sizes_[at[i]];
		}
		for (int32_t k = 1; k <= reach; ++k)
			values[k] = sizes_[k];
		return true;
	}

	Coder& coder_;
	const Plan& plan_;
	const Shape& shape_;
	const Rows& rows_;
	Surroundings near_;
	RowSums sums_;
	int32_t sizes_[LONGEST_BLOCK + 1];
	uint8_t symbols_[LONGEST_BLOCK + 1];
};

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

inline int32_t padded(int32_t length)
{
	return (length + 8) / 8 * 8;
}

// Rows from `first` up to `end` of the sine table of a block of `length` frames: row k, column t, is
// sqrt(2 / length) sin(π k t / length). Rows have padded(length) columns, zero past the end. Returns how many
// rows there are now, at least as many as before.
int32_t fill_sines(double* table, int32_t length, int32_t first, int32_t end);

// The sine series of a block, channel by channel: what the coefficients say, plus what is foretold from
// channels before.
struct SeriesBlock
{
	const Predictor* predictors; // by channel
	size_t predictor_count;
	int32_t tempo, width;
	double* series;	  // (channels, width): coefficient k at k
	int32_t* extents; // (channels): the last that is not zero

	// Fills the row of a channel from coefficients 1 … reach of n; predictors from number `next` on are its
	// own, or of later channels. Returns the first that is not its own.
	size_t fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
				size_t next) const;
	// Only what is foretold; the same return.
	size_t foretell(int32_t channel, int32_t n, size_t next) const;
};

// Values of one channel in frames 0 … length - 1 of a block: from key to key, plus the series up to its
// extent.
void block_values(double* values, const double* sines, int32_t length, double key, double next_key,
				  const double* series, int32_t extent);

// Local rotations of `count` frames from channels (C, stride) of a rotation track.
void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count,
					 Quat* rotations);

// Local translations of `count` frames from the channels of a position track.
void track_translations(const Track& track, const double* values, int32_t stride, int32_t count,
						Vec3* places);

} // namespace keysine
} // namespace mocpack

#include <cmath>

namespace mocpack
{
namespace keysine
{

namespace
{

// How many terms the series of sine and cosine take to be exact to rounding while the square of the half
// turn is at most so much: turns up to 0.6, 2 and 2π radians.
const double NEAR = 0.09, FAR = 1.0;
const int NEAR_TERMS = 6, FAR_TERMS = 9, MOST_TERMS = 13;

// sin(sqrt(s)) / sqrt(s) and cos(sqrt(s)) by their Taylor series in s: sums and products alone, so that
// every machine finds the same numbers, and no branch, so that the compiler can take several at once.
template <int Terms> inline void sine_cosine(double s, double* sine_over, double* cosine)
{
	double a = 1.0, b = 1.0;
	for (int i = Terms; i > 0; --i)
	{
		a = 1.0 - a * s * (1.0 / double(2 * i * (2 * i + 1)));
		b = 1.0 - b * s * (1.0 / double(2 * i * (2 * i - 1)));
	}
	*sine_over = a;
	*cosine = b;
}

// Half the rotation vectors of several frames, and their squares.
struct Halves
{
	double x[LONGEST_BLOCK], y[LONGEST_BLOCK], z[LONGEST_BLOCK], square[LONGEST_BLOCK];
};

MOCPACK_WIDE void halve(const double* m, const double* x, int32_t stride, int32_t count, Halves* out)
{
	const double *x0 = x, *x1 = x + stride, *x2 = x + 2 * stride;
	for (int32_t t = 0; t < count; ++t)
	{
		double a = 0.5 * (m[0] * x0[t] + m[3] * x1[t] + m[6] * x2[t]);
		double b = 0.5 * (m[1] * x0[t] + m[4] * x1[t] + m[7] * x2[t]);
		double c = 0.5 * (m[2] * x0[t] + m[5] * x1[t] + m[8] * x2[t]);
		out->x[t] = a, out->y[t] = b, out->z[t] = c;
		out->square[t] = a * a + b * b + c * c;
	}
}

template <int Terms>
inline void exponentials(const Halves& halves, const double* base, int32_t count, Quat* rotations)
{
	Quat first = load_quat(base);
	for (int32_t t = 0; t < count; ++t)
	{
		double scale, cosine;
		sine_cosine<Terms>(halves.square[t], &scale, &cosine);
		rotations[t] =
			multiply(first, Quat{scale * halves.x[t], scale * halves.y[t], scale * halves.z[t], cosine});
	}
}

MOCPACK_WIDE void near_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials<NEAR_TERMS>(h, base, count, rotations);
}

MOCPACK_WIDE void far_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials<FAR_TERMS>(h, base, count, rotations);
}

MOCPACK_WIDE void all_exponentials(const Halves& h, const double* base, int32_t count, Quat* rotations)
{
	exponentials<MOST_TERMS>(h, base, count, rotations);
}

const double TWO_PI = 6.28318530717958647692;

// Turns about a fixed axis, after the rotations that are there.
void turn_about(Vec3 axis, double from, const double* x, int32_t count, Quat* rotations)
{
	double unit = std::sqrt(dot(axis, axis));
	axis = 1.0 / unit * axis;
	for (int32_t t = 0; t < count; ++t)
	{
		double half = 0.5 * (from + unit * x[t]), sine_over, cosine;
		half -= TWO_PI * std::floor(half / TWO_PI + 0.5); // wheels turn many times
		sine_cosine<MOST_TERMS>(half * half, &sine_over, &cosine);
		double sine = sine_over * half;
		rotations[t] = multiply(rotations[t], Quat{sine * axis.x, sine * axis.y, sine * axis.z, cosine});
	}
}

void hinge_rotations(const Track& track, const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	for (int32_t t = 0; t < count; ++t)
		rotations[t] = load_quat(track.base);
	for (int32_t c = 0; c < track.channels; ++c)
		turn_about(load_vec(track.axes + 3 * c), track.angles[c], x + c * stride, count, rotations);
}

void vector_rotations(const Track& track, const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	Halves halves;
	halve(track.axes, x, stride, count, &halves);
	double largest = 0;
	for (int32_t t = 0; t < count; ++t)
		largest = halves.square[t] > largest ? halves.square[t] : largest;
	auto turn = largest <= NEAR ? near_exponentials : largest <= FAR ? far_exponentials : all_exponentials;
	turn(halves, track.base, count, rotations);
}

void quaternion_rotations(const double* x, int32_t stride, int32_t count, Quat* rotations)
{
	for (int32_t t = 0; t < count; ++t)
	{
		Quat q = {x[t], x[stride + t], x[2 * stride + t], x[3 * stride + t]};
		double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		double scale = square > 0 ? 1.0 / std::sqrt(square) : 0.0;
		rotations[t] = {scale * q.x, scale * q.y, scale * q.z, square > 0 ? scale * q.w : 1.0};
	}
}

} // namespace

int32_t fill_sines(double* table, int32_t length, int32_t first, int32_t end)
{
	const double PI = 3.14159265358979323846;
	if (end <= first)
		return first;
	int32_t stride = padded(length);
	double* turn = table + stride; // row 1 is every sine there is: the others pick from it
	if (first < 2)
	{
		double scale = std::sqrt(2.0 / length);
		for (int32_t t = 0; t < stride; ++t)
			table[t] = 0.0, turn[t] = t < length ? scale * std::sin(PI * double(t) / double(length)) : 0.0;
	}
	for (int32_t k = first < 2 ? 2 : first; k < end; ++k)
		for (int32_t t = 0, at = 0; t < stride; ++t)
		{
			// sin(x + π) = - sin(x)
			table[k * stride + t] = t >= length ? 0.0 : at < length ? turn[at] : -turn[at - length];
			at += k;
			at -= at >= 2 * length ? 2 * length : 0;
		}
	return end < 2 ? 2 : end;
}

namespace
{

// Where the frequencies of a predictor's band begin and end, in half hertz.
const int32_t SLOW = 5, FAST = 15;

bool in_band(int32_t band, int32_t pace)
{
	return band == 0 || (band == 1 ? pace <= SLOW : band == 2 ? pace > SLOW : pace > FAST);
}

} // namespace

size_t SeriesBlock::foretell(int32_t channel, int32_t n, size_t next) const
{
	double* row = series + channel * width;
	int32_t extent = 0;
	while (next < predictor_count && predictors[next].channel < channel)
		++next;
	for (; next < predictor_count && predictors[next].channel == channel; ++next)
	{
		const Predictor& p = predictors[next];
		const double* source = series + p.source * width;
		double factor = double(p.factor) / 16.0;
		int32_t end = lesser(extents[p.source], n), k = 1;
		while (k <= end && !in_band(p.band, pace(k, tempo)))
			++k;
		for (; extent < end; ++extent)
			row[extent + 1] = 0;
		for (; k <= end && in_band(p.band, pace(k, tempo)); ++k)
			row[k] += factor * source[k];
	}
	extents[channel] = extent;
	return next;
}

size_t SeriesBlock::fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
						 size_t next) const
{
	double* row = series + channel * width;
	next = foretell(channel, n, next);
	int32_t extent = extents[channel], last = step > 0 ? reach : 0;
	for (; extent < last; ++extent)
		row[extent + 1] = 0;
	for (int32_t k = 1; k <= last; ++k)
		row[k] += step * double(values[k]);
	extents[channel] = extent;
	return next;
}

MOCPACK_WIDE void block_values(double* values, const double* sines, int32_t length, double key,
							   double next_key, const double* series, int32_t extent)
{
	int32_t stride = padded(length);
	double slope = (next_key - key) / double(length);
	for (int32_t t = 0; t < length; ++t)
		values[t] = key + slope * double(t);
	int32_t k = 1;
	for (; k + 3 <= extent; k += 4) // four at once, so that the values are fetched and put back less often
	{
		const double* row = sines + k * stride;
		double a = series[k], b = series[k + 1], c = series[k + 2], d = series[k + 3];
		for (int32_t t = 0; t < length; ++t)
			values[t] +=
				(a * row[t] + b * row[stride + t]) + (c * row[2 * stride + t] + d * row[3 * stride + t]);
	}
	for (; k <= extent; ++k)
	{
		const double* row = sines + k * stride;
		double size = series[k];
		for (int32_t t = 0; t < length; ++t)
			values[t] += size * row[t];
	}
}

void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count, Quat* rotations)
{
	if (track.kind == HINGE_TRACK)
		hinge_rotations(track, values, stride, count, rotations);
	else if (track.kind == VECTOR_TRACK)
		vector_rotations(track, values, stride, count, rotations);
	else
		quaternion_rotations(values, stride, count, rotations);
}

void track_translations(const Track& track, const double* values, int32_t stride, int32_t count, Vec3* places)
{
	if (track.hinge >= 0)
	{
		for (int32_t t = 0; t < count; ++t)
			places[t] = load_vec(track.base);
		for (int32_t c = 0; c < track.channels; ++c)
			for (int32_t t = 0; t < count; ++t)
				places[t] = places[t] + values[c * stride + t] * load_vec(track.axes + 3 * c);
		return;
	}
	double scale = track.axes[0];
	for (int32_t t = 0; t < count; ++t)
		places[t] = {track.base[0] + scale * values[t], track.base[1] + scale * values[stride + t],
					 track.base[2] + scale * values[2 * stride + t]};
}

} // namespace keysine
} // namespace mocpack
// ---- src/keysine/decode/decode.cpp
// The decoder of `keysine`: head, key segments and groups to local rotations and translations.
#include <cstring>

// ---- src/common/arena.h
// Hands out pieces of the caller's memory; over no memory, it counts how much would be needed.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

class Arena
{
  public:
	explicit Arena(void* memory) : base_(static_cast<uint8_t*>(memory))
	{
	}

	// `count` elements, aligned to 32 bytes if the memory is.
	template <typename T> T* take(size_t count)
	{
		T* found = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
		used_ += (count * sizeof(T) + 31) / 32 * 32;
		return found;
	}

	size_t used() const
	{
		return used_;
	}

  private:
	uint8_t* base_;
	size_t used_ = 0;
};

} // namespace mocpack
// ---- src/common/crc16.h
// CRC-16/CCITT (polynomial 0x1021, start 0xffff): what Python's binascii.crc_hqx(data, 0xffff) gives.
#include <array>
#include <cstddef>
#include <cstdint>

namespace mocpack
{

constexpr std::array<uint16_t, 256> make_crc16_table()
{
	std::array<uint16_t, 256> table{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte << 8;
		for (int k = 0; k < 8; ++k)
			crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		table[byte] = uint16_t(crc);
	}
	return table;
}

inline constexpr std::array<uint16_t, 256> CRC16_TABLE = make_crc16_table();

inline uint16_t crc16(const uint8_t* data, size_t size)
{
	uint32_t crc = 0xffff;
	for (size_t i = 0; i < size; ++i)
		crc = ((crc << 8) & 0xff00) ^ CRC16_TABLE[(crc >> 8) ^ data[i]];
	return uint16_t(crc);
}

} // namespace mocpack
// ---- src/keysine/decode/grid.h
// A grid in time: the second mode of `keysine`, for bounds so tight that a transform no longer pays.
//
// Between two keys every frame stands on a grid around the first of them: whole numbers of a track's steps,
// predicted in time and from track to track by a series (series_coder.h). Where that is too coarse, a track's
// grid is 2, 4, … times as fine in that frame. Written and read by one and the same text.
// ---- src/common/range_coder.h
// The binary arithmetic coder of every codec here, and the adaptive probability it is fed with.
//
// The interval [low, high] of 32 bits is cut in proportion to a 16-bit probability; leading bytes on
// which both ends agree are written at once. No carry, no multiplication but one: docs/coding.md.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

// Probability that a bit is 1, in 1/65536, kept inside 1..65535 by the callers.
using Probability = uint32_t;

class RangeEncoder
{
  public:
	RangeEncoder(uint8_t* dst, size_t dst_size) : at_(dst), start_(dst), end_(dst + dst_size)
	{
	}

	void encode(int bit, Probability one)
	{
		uint32_t middle = low_ + uint32_t((uint64_t(high_ - low_) * one) >> 16);
		if (bit)
			high_ = middle;
		else
			low_ = middle + 1;
		while (((low_ ^ high_) & 0xff000000u) == 0)
		{
			put(uint8_t(high_ >> 24));
			low_ <<= 8;
			high_ = (high_ << 8) | 255;
		}
	}

	// The fewest bytes after which any continuation, zeros included, lies inside the interval.
	// Returns the size written, or 0 if dst was too small.
	size_t finish()
	{
		for (int bytes = 1; bytes <= 4; ++bytes)
		{
			uint32_t unit = bytes == 4 ? 1u : 1u << (32 - 8 * bytes);
			uint64_t value = (uint64_t(low_) + unit - 1) / unit * unit;
			if (value <= high_)
			{
				for (int k = 0; k < bytes; ++k)
					put(uint8_t(value >> (24 - 8 * k)));
				break;
			}
		}
		return overflow_ ? 0 : size_t(at_ - start_);
	}

  private:
	void put(uint8_t byte)
	{
		if (at_ < end_)
			*at_++ = byte;
		else
			overflow_ = true;
	}

	uint32_t low_ = 0, high_ = 0xffffffffu;
	uint8_t *at_, *start_, *end_;
	bool overflow_ = false;
};

class RangeDecoder
{
  public:
	RangeDecoder(const uint8_t* src, size_t size) : at_(src), end_(src + size)
	{
		for (int k = 0; k < 4; ++k)
			value_ = (value_ << 8) | next();
	}

	int decode(Probability one)
	{
		uint32_t middle = low_ + uint32_t((uint64_t(high_ - low_) * one) >> 16);
		int bit = value_ <= middle;
		if (bit)
			high_ = middle;
		else
			low_ = middle + 1;
		while (((low_ ^ high_) & 0xff000000u) == 0)
		{
			low_ <<= 8;
			high_ = (high_ << 8) | 255;
			value_ = (value_ << 8) | next();
		}
		return bit;
	}

	// Whether more was decoded than the bytes can have held: four zeros stand past every end.
	bool exhausted() const
	{
		return past_ > 4;
	}

	// Whether what was decoded so far holds whatever bytes follow the ones at hand.
	bool certain() const
	{
		return past_ == 0;
	}

	// Whether every byte was needed; false means that bytes follow the coded ones.
	bool all_read() const
	{
		return at_ == end_;
	}

  private:
	uint8_t next()
	{
		if (at_ < end_)
			return *at_++;
		++past_;
		return 0;
	}

	uint32_t low_ = 0, high_ = 0xffffffffu, value_ = 0;
	const uint8_t *at_, *end_;
	size_t past_ = 0;
};

// A probability that follows the bits it sees, at two speeds; their mean is used.
struct AdaptiveBit
{
	uint16_t fast = 32768, slow = 32768;

	Probability one() const
	{
		Probability p = (uint32_t(fast) + slow) >> 1;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	void update(int bit)
	{
		// towards 65535 or 0; the shifts round towards the present value, so neither end is passed
		fast = uint16_t(bit ? fast + ((65535 - fast) >> 4) : fast - (fast >> 4));
		slow = uint16_t(bit ? slow + ((65535 - slow) >> 7) : slow - (slow >> 7));
	}
};

inline void encode_bit(RangeEncoder& coder, AdaptiveBit& model, int bit)
{
	coder.encode(bit, model.one());
	model.update(bit);
}

inline int decode_bit(RangeDecoder& coder, AdaptiveBit& model)
{
	int bit = coder.decode(model.one());
	model.update(bit);
	return bit;
}

} // namespace mocpack
// ---- src/common/series_coder.h
// Series of integers, predicted in time: what the exact codecs do with numbers that follow a motion.
//
// A value's difference to the row before is predicted by several recursive least squares, each from the
// recent differences of its own choice of columns; two fixed extrapolations join them, and a last, quickly
// forgetting least squares blends all into one. What remains is coded bit by bit: side, multiples of a power
// of two near the expected size, then the bits below. Symbols decode identically everywhere: integers, and
// doubles used as least_squares.h says. docs/series.md has the bits.
#include <cstring>
#include <new>

// ---- src/common/logistic.h
// Opinions on a bit: counters that learn its probability, and a mixer that weighs several of them.
//
// Mixing happens on the logistic scale, ln(p / (1 - p)) in 1/256, between -2047 and 2047. Everything is
// integer, so that every machine computes the same probabilities.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

struct LogisticTables
{
	uint16_t squash[4096];	  // probability in 1/65536 of x - 2048
	int16_t stretch[4096];	  // x of the probability (16 i + 8) / 65536
	uint16_t reciprocal[256]; // 65536 / (n + 1.6)
};

// note: these tables are part of the format of every codec that mixes, so they can never change
constexpr LogisticTables make_logistic_tables()
{
	LogisticTables tables{};
	const uint64_t one = 1ull << 32, step = 4278222805u; // 2^32 exp(-1/256)
	uint64_t power = one;								 // 2^32 exp(-x/256)
	for (int x = 0; x < 2048; ++x)
	{
		uint32_t p = uint32_t((one << 16) / (one + power));
		uint32_t kept = p > 65520 ? 65520 : p;
		tables.squash[2048 + x] = uint16_t(kept);
		tables.squash[2048 - x] = uint16_t(65536 - kept);
		power = (power * step) >> 32;
	}
	tables.squash[0] = tables.squash[1];
	for (int i = 0, at = 0; i < 4096; ++i)
	{
		while (at < 4095 && tables.squash[at] < 16 * i + 8)
			++at;
		tables.stretch[i] = int16_t(at - 2048);
	}
	for (int n = 0; n < 256; ++n)
		tables.reciprocal[n] = uint16_t(655360 / (10 * n + 16));
	return tables;
}

#ifdef MOCPACK_TABLES_AT_START
extern LogisticTables LOGISTIC; // a wasm file would carry every byte of it
#else
inline constexpr LogisticTables LOGISTIC = make_logistic_tables();
#endif

// A probability that moves by 1 / (n + 1.6) of the way the n-th time, and by no less than 1 / limit.
struct Counter
{
	uint16_t one = 32768;
	uint16_t count = 0;

	int opinion() const
	{
		return LOGISTIC.stretch[one >> 4];
	}

	void update(int bit, uint16_t limit)
	{
		int32_t way = (bit ? 65535 : 0) - int32_t(one);
		one = uint16_t(int32_t(one) + int32_t((int64_t(way) * LOGISTIC.reciprocal[count]) >> 16));
		count = uint16_t(count < limit ? count + 1 : limit);
	}
};

// Weighs N opinions; weights in 1/65536 follow the gradient of the coding cost.
template <int N> struct Mixer
{
	static const int RATE = 14;
	int32_t weights[N];

	Mixer()
	{
		for (int32_t& w : weights)
			w = 65536 / N;
	}

	Probability mix(const int (&opinions)[N]) const
	{
		int64_t sum = 0;
		for (int i = 0; i < N; ++i)
			sum += int64_t(weights[i]) * opinions[i];
		int64_t x = sum >> 16;
		return LOGISTIC.squash[2048 + (x < -2047 ? -2047 : x > 2047 ? 2047 : x)];
	}

	void update(const int (&opinions)[N], int bit, Probability mixed)
	{
		int32_t error = (bit ? 65536 : 0) - int32_t(mixed);
		for (int i = 0; i < N; ++i)
			weights[i] += (opinions[i] * error + (1 << (RATE - 1))) >> RATE;
	}
};

} // namespace mocpack
// ---- src/kernels/series.h
// Series of integers that follow a motion.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	// How the columns of a series are predicted: by least squares over recent differences of some columns.
	typedef struct mocpack_SeriesModel
	{
		size_t column_count;
		size_t predictor_count;	  // of each column, at most 6
		const double* forgetting; // (P) what each keeps of its past at each row it learns from, 0 to 1
		const uint8_t* periods;	  // (P) each learns from every so many-th row, once warm
		uint32_t warm;			  // rows of which all are learnt from
		double caution;			  // how much each doubts what it learns first, above 0
		double blend_forgetting;  // of the last least squares, which weighs the predictors
		double blend_pull;		  // of its weights to equal shares
		uint8_t blend_period;	  // and it, too, learns from every so many-th row, once warm
		const uint32_t* starts;	  // (C * P + 1) first feature of each column's each predictor; 64 at most
		const int32_t* columns;	  // of each feature; lag 0 only of columns before
		const uint8_t* lags;	  // of each feature: rows before this one, at most 7
		const uint32_t* sizes;	  // (C) expected error of each column at first, in 1/256; may be null
	} mocpack_SeriesModel;

	/* Series of integers (rows, columns) that follow a motion (series.cpp).
	 *
	 * mocpack_series_valid says whether a model keeps the limits above; the others trust it.
	 * scratch needs mocpack_series_scratch_size(model) bytes, aligned as malloc aligns.
	 * dst needs mocpack_series_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	int mocpack_series_valid(const mocpack_SeriesModel* model);
	size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model);
	size_t mocpack_series_bound(size_t rows, size_t columns);
	size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 const mocpack_SeriesModel* model, void* scratch);
	mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
										 void* scratch, const uint8_t* src, size_t src_size);

#ifdef __cplusplus
}
#endif

namespace mocpack
{
namespace series
{

const int MOST_PREDICTORS = 6;
const int MOST_LAG = 7;
const size_t MOST_FEATURES = 64;
const int OPINIONS = 3;
const int NODES = 32;	  // decisions that are told apart: side, 15 steps, 12 bits below
const int SIZES = 64;	  // expected sizes, two classes an octave
const int STEPS = 20;	  // steps that are counted; what is larger escapes
const int WIDTHS = 4;	  // classes of the step's width
const int FIRST_LOW = 16; // node of the bits below

inline int floor_log2(uint64_t value)
{
	int log = 0;
	while (value >>= 1)
		++log;
	return log;
}

inline int class_of(uint64_t value, const uint16_t* bounds, int count)
{
	int c = 0;
	while (c < count && value >= bounds[c])
		++c;
	return c;
}

// Mean size of a column's errors at three speeds, in 1/256.
struct ErrorSize
{
	uint32_t fast = 1 << 14, middle = 1 << 14, slow = 1 << 14;
	int32_t count = 0;

	ErrorSize() = default;

	// One that starts from a given size believes it as much as eight errors seen.
	explicit ErrorSize(uint32_t initial) : fast(initial), middle(initial), slow(initial), count(8)
	{
	}

	uint32_t expected() const
	{
		uint32_t mean = uint32_t((uint64_t(fast) + 2 * uint64_t(middle) + slow) >> 2);
		return mean ? mean : 1;
	}

	void update(uint32_t error)
	{
		++count;
		follow(fast, error, 3);
		follow(middle, error, 5);
		follow(slow, error, 7);
	}

  private:
	void follow(uint32_t& mean, uint32_t error, int shift) const
	{
		int64_t way = int64_t(error) - int64_t(mean);
		mean = uint32_t(int64_t(mean) + (count < (1 << shift) ? way / (count + 1) : way >> shift));
	}
};

struct Column
{
	Recursive predictors[MOST_PREDICTORS];
	Blend<MOST_PREDICTORS + 2> blend;
	ErrorSize size;
	Counter own[3][NODES];
};

// Statistics that all columns share.
struct Shared
{
	AdaptiveBit first[33];	// lengths of the first row's values
	AdaptiveBit escape[33]; // lengths of what exceeds STEPS
	Counter side[SIZES][8];
	Counter by_size[SIZES][NODES];
	Counter by_trend[7][8][WIDTHS][NODES];
	Mixer<OPINIONS> mixers[NODES][WIDTHS];
};

// What is known of a value before it is coded.
struct Expectation
{
	int64_t centre; // nearest integer to the prediction
	int fraction;	// eighths of the way from centre - 1/2 to centre + 1/2
	int size_class; // of the expected error
	int width;		// binary logarithm of a step
	int trend, activity;
	int64_t predicted; // in 1/16
	uint32_t expected; // error, in 1/256
};

// The decoder keeps what it decodes; the encoder has it already.
inline void keep(int32_t& slot, int32_t value)
{
	slot = value;
}

inline void keep(const int32_t&, int32_t)
{
}

struct Coder
{
	const mocpack_SeriesModel* model;
	Shared* shared;
	Column* columns;
	double* differences; // (MOST_LAG + 1, columns), by lag
	double inputs[MOST_PREDICTORS][MOST_FEATURES];
	double predictions[MOST_PREDICTORS + 2];
	size_t row = 0;
	uint32_t activity; // of this row's errors against their expected size, in 1/256

	double& difference(size_t lag, size_t column)
	{
		return differences[lag * model->column_count + column];
	}

	// Returns the predicted difference; leaves what learn() needs in inputs and predictions.
	double predict(size_t c)
	{
		Column& column = columns[c];
		size_t count = model->predictor_count;
		for (size_t p = 0; p < count; ++p)
		{
			Recursive& predictor = column.predictors[p];
			size_t start = model->starts[c * count + p];
			for (size_t i = 0; i < predictor.n; ++i)
				inputs[p][i] = difference(model->lags[start + i], size_t(model->columns[start + i]));
			for (size_t i = predictor.n; i < predictor.stride; ++i)
				inputs[p][i] = 0;
			predictions[p] = predictor.predict(inputs[p]);
		}
		predictions[count] = difference(1, c);
		predictions[count + 1] = 2 * difference(1, c) - difference(2, c);
		return column.blend.predict(predictions);
	}

	// Columns take turns, so that each row is as much work as the next.
	bool due(uint8_t period, size_t c) const
	{
		return row < model->warm || (row + c) % period == 0;
	}

	void learn(size_t c, double actual)
	{
		Column& column = columns[c];
		for (size_t p = 0; p < model->predictor_count; ++p)
			if (due(model->periods[p], c))
				column.predictors[p].learn(inputs[p], predictions[p], actual);
		if (due(model->blend_period, c))
			column.blend.learn(predictions, actual);
		difference(0, c) = actual;
	}

	Expectation expect(const Column& column, double prediction)
	{
		const double limit = 2147483647.0;
		// the negations are true for NaN too
		if (!(prediction > -limit))
			prediction = -limit;
		if (!(prediction < limit))
			prediction = limit;
		Expectation e;
		// floor, by way of a positive number
		e.predicted = int64_t(prediction * 16 + 68719476736.0) - 68719476736;
		e.centre = (e.predicted + 8) >> 4;
		e.fraction = int(e.predicted - e.centre * 16 + 8) >> 1;
		e.expected = column.size.expected();
		int log = floor_log2(e.expected);
		int halves = 2 * log + (log > 0 ? int(e.expected >> (log - 1)) & 1 : 0);
		e.size_class = halves < SIZES ? halves : SIZES - 1;
		e.width = log > 8 ? log - 8 : 0;
		const uint16_t trends[] = {100, 160, 215, 300, 430, 700};
		const uint16_t activities[] = {120, 170, 220, 280, 360, 480, 700};
		uint32_t slow = column.size.slow ? column.size.slow : 1;
		e.trend = class_of(uint64_t(column.size.fast) * 256 / slow, trends, 6);
		e.activity = class_of(activity, activities, 7);
		return e;
	}

	void measure(Column& column, const Expectation& e, int32_t value)
	{
		int64_t distance = 16 * int64_t(value) - e.predicted;
		uint64_t error = uint64_t(distance < 0 ? -distance : distance) * 16;
		error = error < (1u << 28) ? error : 1u << 28;
		uint64_t relative = error * 256 / (e.expected > 64 ? e.expected : 64);
		activity = uint32_t((7 * uint64_t(activity) + (relative < 1536 ? relative : 1536)) >> 3);
		column.size.update(uint32_t(error));
	}

	template <typename Bit> int mixed(Bit& bit, Column& column, const Expectation& e, int node, int value)
	{
		int width = e.width < WIDTHS ? e.width : WIDTHS - 1;
		Counter* counters[OPINIONS] = {
			node == 0 ? &shared->side[e.size_class][e.fraction] : &shared->by_size[e.size_class][node],
			&column.own[width < 2 ? width : 2][node], &shared->by_trend[e.trend][e.activity][width][node]};
		Mixer<OPINIONS>& mixer = shared->mixers[node][width];
		int opinions[OPINIONS];
		for (int i = 0; i < OPINIONS; ++i)
			opinions[i] = counters[i]->opinion();
		Probability one = mixer.mix(opinions);
		value = bit(one, value);
		mixer.update(opinions, value, one);
		for (int i = 0; i < OPINIONS; ++i)
			counters[i]->update(value, i == 1 ? 60 : 120);
		return value;
	}

	// A number of at least 0, its bits counted and then written.
	template <typename Bit> uint64_t plain(Bit& bit, AdaptiveBit* lengths, uint64_t value)
	{
		int length = 0;
		uint64_t rest = value + 1, found = 1;
		for (; length < 33; ++length)
		{
			int more = bit(lengths[length].one(), (rest >> (length + 1)) != 0);
			lengths[length].update(more);
			if (!more)
				break;
		}
		for (int k = length - 1; k >= 0; --k)
			found = (found << 1) | uint64_t(bit(32768, int((rest >> k) & 1)));
		return found - 1;
	}

	template <typename Bit> int64_t residual(Bit& bit, Column& column, const Expectation& e, int64_t value)
	{
		int above = mixed(bit, column, e, 0, value >= 0);
		uint64_t size = uint64_t(above ? value : -1 - value), steps = size >> e.width, found = 0;
		while (found < STEPS && mixed(bit, column, e, 1 + int(found < 14 ? found : 14), steps > found))
			++found;
		uint64_t counted = found < 3 ? found : 3;
		if (found == STEPS)
			found += plain(bit, shared->escape, steps - STEPS);
		for (int k = e.width - 1, level = 0; k >= 0; --k, ++level)
		{
			int low = int((size >> k) & 1);
			int node = FIRST_LOW + 3 * int(counted) + (level ? 1 + int(found & 1) : 0);
			low = level < 2 ? mixed(bit, column, e, node, low) : bit(32768, low);
			found = (found << 1) | uint64_t(low);
		}
		return above ? int64_t(found) : -1 - int64_t(found);
	}

	template <typename Bit, typename Value> void first_row(Bit& bit, Value* values)
	{
		for (size_t c = 0; c < model->column_count; ++c)
		{
			int64_t value = values[c];
			uint64_t folded = plain(bit, shared->first, uint64_t(value < 0 ? -1 - 2 * value : 2 * value));
			keep(values[c], int32_t(folded & 1 ? -int64_t((folded + 1) / 2) : int64_t(folded / 2)));
		}
	}

	template <typename Bit, typename Value> void next_row(Bit& bit, Value* values)
	{
		const int32_t* before = values - model->column_count;
		begin_row();
		for (size_t c = 0; c < model->column_count; ++c)
			keep(values[c], next(bit, c, before[c], values[c]));
		end_row();
	}

	void begin_row()
	{
		activity = 256;
		++row;
	}

	// Codes column c of a row; `before` stands above it.
	template <typename Bit> int32_t next(Bit& bit, size_t c, int32_t before, int32_t value)
	{
		Column& column = columns[c];
		Expectation e = expect(column, double(before) + predict(c));
		value = int32_t(e.centre + residual(bit, column, e, int64_t(value) - e.centre));
		measure(column, e, value);
		learn(c, double(value) - double(before));
		return value;
	}

	void end_row()
	{
		size_t bytes = model->column_count * sizeof(double);
		std::memmove(differences + model->column_count, differences, MOST_LAG * bytes);
	}
};

inline size_t rounded(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

inline size_t features(const mocpack_SeriesModel* model, size_t column, size_t predictor)
{
	size_t at = column * model->predictor_count + predictor;
	return model->starts[at + 1] - model->starts[at];
}

// Lays the coder's memory out in `scratch` and sets it to its start.
inline Coder start(const mocpack_SeriesModel* model, void* scratch)
{
	uint8_t* at = static_cast<uint8_t*>(scratch);
	size_t count = model->column_count;
	Coder coder;
	coder.model = model;
	coder.shared = new (at) Shared();
	at += rounded(sizeof(Shared));
	coder.columns = reinterpret_cast<Column*>(at);
	at += rounded(count * sizeof(Column));
	double* doubles = coder.differences = reinterpret_cast<double*>(at);
	for (size_t i = 0; i < (MOST_LAG + 1) * count; ++i)
		*doubles++ = 0;
	for (size_t c = 0; c < count; ++c)
	{
		Column* column = new (coder.columns + c) Column();
		for (size_t p = 0; p < model->predictor_count; ++p)
		{
			Recursive& predictor = column->predictors[p];
			doubles = predictor.place(features(model, c, p), model->forgetting[p], model->caution, doubles);
			column->blend.start[p] = column->blend.weights[p] = 1 / double(model->predictor_count);
		}
		column->blend.n = int(model->predictor_count) + 2;
		column->blend.forgetting = model->blend_forgetting;
		column->blend.pull = model->blend_pull;
		if (model->sizes)
			column->size = ErrorSize(model->sizes[c]);
	}
	return coder;
}

// Bytes of what so many columns need, however they are predicted.
inline size_t fixed_size(size_t columns)
{
	return rounded(sizeof(Shared)) + rounded(columns * sizeof(Column)) +
		   (MOST_LAG + 1) * columns * sizeof(double);
}

// Bytes of the memory that start() lays out.
inline size_t scratch_size(const mocpack_SeriesModel* model)
{
	size_t doubles = 0;
	for (size_t c = 0; c < model->column_count; ++c)
		for (size_t p = 0; p < model->predictor_count; ++p)
			doubles += Recursive::doubles(features(model, c, p));
	return fixed_size(model->column_count) + doubles * sizeof(double);
}

} // namespace series
} // namespace mocpack
// ---- src/keysine/decode/head.h
// The head of a `keysine` payload, parsed: what the decoder needs to know before it can read a group.

struct mocpack_KeysineHead
{
	mocpack::keysine::Plan plan;
	mocpack::keysine::Cut cut;
	size_t groups_per_segment;
	size_t segment_count;
	size_t layer_count;
	const uint32_t* sizes; // of the segments, then of the groups, layer by layer
	const uint8_t* shifts; // (layers - 1, tracks): how coarse each layer is, but the last
	size_t size;		   // of the head itself
	double unit;
	int32_t tempo;								 // 64 times half a second over the length of a group
	uint8_t errors[MOCPACK_KEYSINE_MOST_LAYERS]; // of the keys alone, then of each layer but the last
	uint8_t fine_bits, basis_bits;
	const mocpack::keysine::Predictor* predictors; // by channel
	size_t predictor_count;
	bool grid, thorough;		   // numbers on a grid in time, and how they are predicted
	const uint8_t* grid_steps;	   // (tracks) index of each track's step there
	const uint8_t* initial_scales; // (channels) how far prediction is off at first, as expected_error
};

namespace mocpack
{
namespace keysine
{

// The symbols of one group, in the caller's scratch.
struct GroupSymbols
{
	Shape shape;
	Rows rows;
	int splits;
	int32_t* keys;	  // (blocks + 1, channels)
	int32_t* lengths; // (blocks) coefficients of each
	uint8_t* found;	  // (channels) scratch
	double part;	  // of a step, that the values count
};

// Room for the coefficients of one channel of a group of so many frames, however it is split.
inline size_t widest_row(size_t length)
{
	size_t blocks = length < size_t(1) << MOST_SPLITS ? length : size_t(1) << MOST_SPLITS;
	return length + blocks * (2 * MARGIN + 8);
}

// Takes room for the symbols of a group of at most `length` frames.
void lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena);

// Sets the shape of a group of so many frames, and all coefficients to zero. False where it cannot be split.
bool shape_group(const Plan& plan, size_t length, int splits, int32_t tempo, GroupSymbols* symbols);

// Checks a group's first layers and reads their first tracks: coefficients in halves of their steps where not
// all layers are read. edges (2, channels) are the keys at its ends; scratch holds
// mocpack_keysine_group_scratch bytes.
mocpack_Status read_group(const mocpack_KeysineHead* head, size_t group, const int32_t* edges,
						  const uint8_t* const* src, const size_t* sizes, size_t layer_count,
						  size_t track_count, GroupSymbols* symbols, void* scratch);

// Values (channels, blocks, stride) of a group as a layer of these shifts knows them; null: as they are.
void shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts, int32_t* out);

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

const int MOST_FINER = 15; // a frame's grid is at most 2^15 times as fine as its track's
const int QUIET = 15;	   // channels of no larger initial scale are not predicted by least squares

// How the numbers are predicted: QUICK or THOROUGH of docs/series.md, without mirrored joints.
struct Forecast
{
	size_t predictors;
	double forgetting[3];
	uint8_t own[3], reach[3], periods[3];
	uint32_t warm;
	double caution;
};

const Forecast& forecast_of(bool thorough);

// The expected error that an initial scale of the head stands for, in 1/256 of a step.
inline uint32_t expected_error(uint32_t scale)
{
	return scale & 1 ? (181u << (scale >> 1)) >> 7 : 1u << (scale >> 1);
}

// Lays out the series of a plan's channels; over an empty arena only counts.
struct GridSeries
{
	mocpack_SeriesModel model;
	void* scratch;

	// initial_scales: (channels), as in the head; looked at where there is memory
	GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena);
	series::Coder start() const
	{
		return series::start(&model, scratch);
	}
};

// A probability that learns: of a 1 in its upper 22 bits, and below them how often it was asked.
struct Learning
{
	uint32_t state = 1u << 31;

	Probability one() const
	{
		Probability p = state >> 16;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	void learn(int bit)
	{
		const uint32_t limit = 127, count = state & 1023;
		int64_t p = state >> 10, goal = bit ? 4194303 : 0;
		p += ((goal - p) * int64_t(131072 / (2 * count + 3))) >> 16;
		state = uint32_t(p << 10) | (count < limit ? count + 1 : count);
	}
};

// The two directions of one coder: each codes a value that the encoder knows and the decoder learns.
struct GridWriter
{
	RangeEncoder coder;

	int operator()(Probability one, int value)
	{
		coder.encode(value, one);
		return value;
	}
};

struct GridReader
{
	RangeDecoder coder;

	int operator()(Probability one, int)
	{
		return coder.decode(one);
	}
};

// One frame of one track, on its grid.
struct GridPlace
{
	int32_t finer;	   // its steps are 2^-finer as large
	int32_t number[4]; // in whole steps, rounded
	int32_t digits[4]; // and what is left, in fine ones

	double steps(int32_t c) const
	{
		return double(number[c]) + double(digits[c]) / double(1 << finer);
	}
};

template <typename Coder> class GridRows
{
  public:
	GridRows(Coder& coder, const Plan& plan, series::Coder& series, uint8_t* finer)
		: coder_(coder), plan_(plan), series_(series), finer_(finer)
	{
		for (size_t t = 0; t < plan.track_count; ++t)
			finer_[t] = 0;
	}

	void begin_row()
	{
		series_.begin_row();
		any_ = 0;
	}

	// numbers stand (rows, channels); `row` is that of this frame, and the one before stands above it.
	void track(size_t t, int32_t* row, GridPlace* place)
	{
		const Track& track = plan_.tracks[t];
		size_t first = size_t(track.first_channel), above = plan_.channel_count;
		place->finer = level(2 * finer_[t] + any_, place->finer);
		finer_[t] = place->finer > 0;
		any_ |= finer_[t];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			int32_t* number = row + first + size_t(c);
			*number = place->number[c] =
				series_.next(coder_, first + size_t(c), number[-ptrdiff_t(above)], place->number[c]);
			place->digits[c] = digits(place->finer, place->digits[c]);
		}
	}

	void end_row()
	{
		series_.end_row();
	}

  private:
	int decide(Learning& state, int value)
	{
		int found = coder_(state.one(), value);
		state.learn(found);
		return found;
	}

	int32_t level(int context, int32_t value)
	{
		if (!decide(states_[context], value > 0))
			return 0;
		int32_t found = 1;
		while (found < MOST_FINER && decide(states_[3 + found], value > found))
			++found;
		return found;
	}

	// A number of so many binary digits, around zero.
	int32_t digits(int32_t count, int32_t value)
	{
		int32_t half = (1 << count) >> 1, found = 0;
		for (int32_t k = count - 1; k >= 0; --k)
			found = (found << 1) | coder_(32768, ((value + half) >> k) & 1);
		return found - half;
	}

	Coder& coder_;
	const Plan& plan_;
	series::Coder& series_;
	uint8_t* finer_; // (tracks) whether each was finer in the row before
	int any_ = 0;	 // whether a track before was, in this row
	Learning states_[4 + MOST_FINER];
};

// Memory for the frames of a group that stand on a grid in time.
struct GridGroup
{
	GridSeries series;
	int32_t stride;
	int32_t* numbers; // (2, channels): of a frame, after those of the one before
	uint8_t* finer;	  // (tracks)
	double* curves;	  // (channels, stride)

	GridGroup(const mocpack_KeysineHead& head, Arena* arena);
};

// Fills the curves of `length` frames from the body of a group; the first is the key.
mocpack_Status read_grid(const mocpack_KeysineHead& head, const int32_t* key, int32_t length,
						 const uint8_t* body, size_t size, GridGroup* group);

} // namespace keysine
} // namespace mocpack
// ---- src/keysine/decode/refinement.h
// Layers of `keysine`: coefficients coarsely first, then finer, given the coarse ones.
//
// A layer of shift s knows of a coefficient q the integer |q| >> s and its sign. The base is coded like any
// group; a refinement codes which of the 2^d integers it is that a coarse one may stand for, by the shares
// that these have in the tables.

namespace mocpack
{
namespace keysine
{

const int32_t MOST_SHIFT = MOCPACK_KEYSINE_MOST_SHIFT;

inline int32_t shifted(int32_t value, int32_t shift)
{
	int32_t size = magnitude(value) >> shift;
	return value < 0 ? -size : size;
}

// Twice the middle of what an integer of a layer may stand for.
inline int32_t doubled_middle(int32_t value, int32_t shift)
{
	if (!value)
		return 0;
	int64_t size = (int64_t(magnitude(value)) << (shift + 1)) + (1 << shift) - 1;
	size = size < LARGEST ? size : LARGEST;
	return int32_t(value < 0 ? -size : size);
}

template <typename Coder> class Refinement : public CoefficientSymbols<Coder>
{
	using Base = CoefficientSymbols<Coder>;

  public:
	using Base::Base;

	// Turns values at shifts `from` (tracks) into values at shifts `to`; null: no shift. A writer finds these
	// in `source`, and their steps in `source_steps`.
	bool layer(const uint8_t* from, const uint8_t* to, size_t track_count, const int32_t* source_steps,
			   const int32_t* source)
	{
		const Shape& shape = this->shape_;
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape.blocks && from[t] > (to ? to[t] : 0); ++b)
			{
				int32_t* step = this->rows_.steps + t * shape.blocks + b;
				int32_t bits = from[t] - (to ? to[t] : 0);
				if (!shape.lengths[b])
					continue;
				if (*step < 0 && (*step = source_steps[t * shape.blocks + b], !this->step(t, b)))
					return false;
				for (int32_t c = 0; *step >= 0 && c < this->plan_.tracks[t].channels; ++c)
					if (!channel(t, b, c, bits, source))
						return false;
			}
		return true;
	}

  private:
	// One channel by so many bits finer.
	bool channel(int32_t t, int32_t b, int32_t c, int32_t bits, const int32_t* source)
	{
		const int32_t row = this->shape_.row(this->plan_.tracks[t].first_channel + c, b);
		int32_t* values = this->rows_.values + row;
		Foretelling near = this->near_.of(t, b, c);
		int32_t n = this->shape_.lengths[b], known = this->last_of(values, n);
		int32_t reach = this->reach_value(t, b, c, near, known, this->last_of(source + row, n));
		if (reach > n || reach < known)
			return false;
		this->rows_.extents[(this->plan_.tracks[t].first_channel + c) * this->shape_.blocks + b] =
			int16_t(reach);
		this->sums_.foretell(near, reach);
		for (int32_t k = 1; k <= reach; ++k)
		{
			if (magnitude(values[k]) >= LARGEST >> bits)
				return false;
			values[k] = refined(near, row, k, reach, bits, source[row + k]);
		}
		return true;
	}

	// A coefficient by so many bits finer, and its sign if that was not known.
	int32_t refined(const Foretelling& near, int32_t row, int32_t k, int32_t reach, int32_t bits,
					int32_t wanted)
	{
		uint8_t* own = this->rows_.levels + row;
		int32_t known = this->rows_.values[row + k], size = magnitude(wanted);
		int32_t low = magnitude(known) << bits, high = low + (1 << bits) - 1;
		low += k == reach && !low; // which is not zero
		int symbol = this->between(this->table_of(near, own, k, reach), symbol_of(low, FINE),
								   symbol_of(high, FINE), symbol_of(size, FINE));
		int32_t floor = symbol_floor(symbol, FINE), end = floor + (1 << plain_bits(symbol, FINE));
		low = low > floor ? low : floor;
		high = symbol < ESCAPE && high >= end ? end - 1 : high;
		while (low < high)
		{
			int32_t middle = low + (high - low) / 2;
			if (this->coder_.bits(1, size > middle))
				low = middle + 1;
			else
				high = middle;
		}
		own[k] = level_of(symbol);
		bool negative = known ? known < 0 : low && this->coder_.bits(1, wanted < 0);
		return negative ? -low : low;
	}
};

} // namespace keysine
} // namespace mocpack

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

// The body of a chunk that begins with the checksum of its other bytes; null if that is wrong.
const uint8_t* checked(const uint8_t* src, size_t size)
{
	if (size < 2 || crc16(src + 2, size - 2) != uint16_t(src[0] | src[1] << 8))
		return nullptr;
	return src + 2;
}

// The arrays that a decoder fills, and where in them each joint stands; -1: nowhere.
struct Output
{
	const mocpack_Skeleton& skeleton;
	const mocpack_KeysineColumns* columns; // null: all joints
	double *rotations, *translations;

	int32_t turn_column(int32_t joint) const
	{
		return columns ? columns->rotations[joint] : joint;
	}
	int32_t place_column(size_t m) const
	{
		return columns ? columns->translations[m] : int32_t(m);
	}
	double* turn(size_t t, int32_t column) const
	{
		return rotations +
			   4 * (t * (columns ? columns->rotation_count : skeleton.joint_count) + size_t(column));
	}
	double* place(size_t t, int32_t column) const
	{
		return translations +
			   3 * (t * (columns ? columns->translation_count : skeleton.translated_count) + size_t(column));
	}
	Output from(size_t frame) const
	{
		return {skeleton, columns, turn(frame, 0), place(frame, 0)};
	}
	bool wants(const Track& track) const
	{
		return turn_column(track.joint) >= 0;
	}
};

void store_still(const Plan& plan, size_t count, const Output& out)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	for (int32_t j = 0; j < int32_t(s.joint_count); ++j)
	{
		int32_t column = out.turn_column(j);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + ROTATION_KIND] < VECTOR_ROTATION)
			for (size_t t = 0; t < count; ++t)
				store(out.turn(t, column), load_quat(plan.still + 7 * j));
	}
	for (size_t m = 0; m < s.translated_count; ++m)
	{
		size_t j = size_t(s.translated_joints[m]);
		int32_t column = out.place_column(m);
		if (column >= 0 && plan.table[PLAN_COLUMNS * j + TRANSLATION_KIND] < MOVING_TRANSLATION)
			for (size_t t = 0; t < count; ++t)
				store(out.place(t, column), load_vec(plan.still + 7 * j + 4));
	}
}

size_t translated_column(const mocpack_Skeleton& skeleton, int32_t joint)
{
	size_t m = 0;
	while (m + 1 < skeleton.translated_count && skeleton.translated_joints[m] != joint)
		++m;
	return m;
}

// Writes `count` frames of one track, whose channels (C, stride) are given, into the clip's arrays.
void store_track(const Plan& plan, const Track& track, const double* values, int32_t stride, int32_t count,
				 Quat* turns, const Output& out)
{
	if (track.kind == POSITION_TRACK)
	{
		Vec3* places = reinterpret_cast<Vec3*>(turns);
		int32_t column = out.place_column(translated_column(*plan.skeleton, track.joint));
		track_translations(track, values, stride, count, places);
		for (int32_t t = 0; t < count; ++t)
			store(out.place(size_t(t), column), places[t]);
		return;
	}
	int32_t column = out.turn_column(track.joint);
	track_rotations(track, values, stride, count, turns);
	for (int32_t t = 0; t < count; ++t)
		store(out.turn(size_t(t), column), turns[t]);
}

// Tracks up to the last that is wanted: those after it need not be read.
size_t tracks_wanted(const Plan& plan, const Output& out)
{
	size_t count = plan.track_count;
	while (count && !out.wants(plan.tracks[count - 1]))
		--count;
	return count;
}

} // namespace

void mocpack::keysine::lay_out_group(const Plan& plan, size_t length, GroupSymbols* symbols, Arena* arena)
{
	size_t blocks = length < size_t(1) << MOST_SPLITS ? length : size_t(1) << MOST_SPLITS;
	size_t cells = plan.channel_count * widest_row(length);
	symbols->keys = arena->take<int32_t>((blocks + 1) * plan.channel_count);
	symbols->rows.keys = symbols->keys;
	symbols->lengths = arena->take<int32_t>(blocks);
	symbols->found = arena->take<uint8_t>(plan.channel_count);
	symbols->rows.steps = arena->take<int32_t>(plan.track_count * blocks);
	symbols->rows.reaches = arena->take<uint8_t>(plan.channel_count * blocks);
	symbols->rows.extents = arena->take<int16_t>(plan.channel_count * blocks);
	symbols->rows.levels = arena->take<uint8_t>(cells);
	symbols->rows.values = arena->take<int32_t>(cells);
}

bool mocpack::keysine::shape_group(const Plan& plan, size_t length, int splits, int32_t tempo,
								   GroupSymbols* symbols)
{
	size_t blocks = size_t(1) << splits, longest = (length + blocks - 1) / blocks;
	if (splits > MOST_SPLITS || blocks > length || longest > size_t(LONGEST_BLOCK))
		return false;
	symbols->splits = splits;
	symbols->shape = {int32_t(blocks), row_stride(int32_t(longest)), symbols->lengths, tempo << splits};
	for (size_t b = 0; b < blocks; ++b)
		symbols->lengths[b] =
			int32_t(block_frame(length, splits, b + 1) - block_frame(length, splits, b)) - 1;
	size_t cells = plan.channel_count * blocks * size_t(symbols->shape.stride);
	std::memset(symbols->rows.values, 0, cells * sizeof(int32_t));
	std::memset(symbols->rows.levels, 0, cells);
	std::memset(symbols->rows.reaches, 0, plan.channel_count * blocks);
	std::memset(symbols->rows.extents, 0, plan.channel_count * blocks * sizeof(int16_t));
	for (size_t i = 0; i < plan.track_count * blocks; ++i)
		symbols->rows.steps[i] = -1;
	symbols->part = 1.0;
	return true;
}

namespace
{

// How a group is split, and the keys between those at its ends.
bool read_keys(const mocpack_KeysineHead& head, size_t length, const int32_t* edges, TableReader* reader,
			   GroupSymbols* symbols)
{
	const Plan& plan = head.plan;
	int splits = reader->symbol(SPLIT_TABLE, SPLITS, 0);
	if (!shape_group(plan, length, splits, head.tempo, symbols))
		return false;
	size_t channels = plan.channel_count, blocks = size_t(1) << splits;
	std::memset(symbols->keys, 0, (blocks + 1) * channels * sizeof(int32_t));
	std::memcpy(symbols->keys, edges, channels * sizeof(int32_t));
	std::memcpy(symbols->keys + blocks * channels, edges + channels, channels * sizeof(int32_t));
	return KeySymbols<TableReader>(*reader, plan, symbols->found).between(symbols->keys, splits);
}

mocpack_Status read_layer(const mocpack_KeysineHead& head, size_t length, size_t l, const int32_t* edges,
						  const uint8_t* src, size_t size, size_t track_count, GroupSymbols* symbols)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	const Plan& plan = head.plan;
	const uint8_t* from = l ? head.shifts + (l - 1) * plan.track_count : nullptr;
	const uint8_t* to = l + 1 < head.layer_count ? head.shifts + l * plan.track_count : nullptr;
	TableReader reader(body, size - 2);
	bool good = l || read_keys(head, length, edges, &reader, symbols);
	if (good && l)
		good = Refinement<TableReader>(reader, plan, symbols->shape, symbols->rows)
				   .layer(from, to, track_count, symbols->rows.steps, symbols->rows.values);
	else if (good)
		good =
			CoefficientSymbols<TableReader>(reader, plan, symbols->shape, symbols->rows).group(track_count);
	if (reader.exhausted())
		return MOCPACK_TRUNCATED;
	return good && (track_count < plan.track_count || reader.all_read()) ? MOCPACK_OK : MOCPACK_CORRUPT;
}

// Where finer layers are not read, coefficients stand in the middle of what they may be.
void take_middles(const Plan& plan, const uint8_t* shifts, GroupSymbols* symbols)
{
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t row = size_t(symbols->shape.blocks) * size_t(symbols->shape.stride);
		int32_t* values = symbols->rows.values + size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = 0; i < size_t(plan.tracks[t].channels) * row; ++i)
			values[i] = doubled_middle(values[i], shifts[t]);
	}
	symbols->part = 0.5;
}

} // namespace

mocpack_Status mocpack::keysine::read_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* edges, const uint8_t* const* src,
											const size_t* sizes, size_t layer_count, size_t track_count,
											GroupSymbols* symbols, void* scratch)
{
	if (head->grid && layer_count && head->cut.length(group) > 1)
		return MOCPACK_CORRUPT; // those who ask know sine series only
	Arena arena(scratch);
	const Plan& plan = head->plan;
	lay_out_group(plan, head->cut.longest_group(), symbols, &arena);
	size_t length = head->cut.length(group);
	if (length == 1) // which is the key alone
	{
		for (size_t l = 0; l < layer_count; ++l)
			if (sizes[l])
				return MOCPACK_CORRUPT;
		layer_count = 0;
	}
	if (!layer_count)
	{
		// only the straight line: as many blocks as it takes for none to be too long
		int splits = 0;
		while (!shape_group(plan, length, splits, head->tempo, symbols))
			++splits;
		size_t channels = plan.channel_count, blocks = size_t(1) << splits;
		for (size_t b = 0; b <= blocks; ++b)
			for (size_t c = 0; c < channels; ++c)
				symbols->keys[b * channels + c] = int32_t(
					edges[c] + (int64_t(edges[channels + c]) - edges[c]) * int64_t(b) / int64_t(blocks));
	}
	for (size_t l = 0; l < layer_count; ++l)
	{
		// finer integers are foretold from all coarser ones, so that only the last layer may stop early
		size_t tracks = l + 1 < layer_count ? plan.track_count : track_count;
		mocpack_Status status = read_layer(*head, length, l, edges, src[l], sizes[l], tracks, symbols);
		if (status != MOCPACK_OK)
			return status;
	}
	if (layer_count && layer_count < head->layer_count)
		take_middles(plan, head->shifts + (layer_count - 1) * plan.track_count, symbols);
	return MOCPACK_OK;
}

size_t mocpack_keysine_segment_scratch(const mocpack_KeysineHead* head)
{
	Arena arena(nullptr);
	arena.take<uint8_t>(head->plan.channel_count);
	return arena.used();
}

mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
											  const uint8_t* src, size_t size, int32_t* keys, void* scratch)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	uint8_t* found = arena.take<uint8_t>(head->plan.channel_count);
	std::memset(keys, 0, key_count * head->plan.channel_count * sizeof(int32_t));
	TableReader reader(body, size - 2);
	bool good = KeySymbols<TableReader>(reader, head->plan, found).sequence(keys, key_count);
	if (reader.exhausted())
		return MOCPACK_TRUNCATED;
	return good && reader.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

namespace
{

mocpack_Status decode_grid(const mocpack_KeysineHead& head, size_t index, const int32_t* key,
						   const uint8_t* src, size_t size, const Output& out, void* scratch)
{
	const uint8_t* body = checked(src, size);
	if (!body)
		return MOCPACK_CORRUPT;
	Arena arena(scratch);
	GridGroup group(head, &arena);
	Quat* turns = arena.take<Quat>(size_t(group.stride));
	int32_t length = int32_t(head.cut.length(index));
	mocpack_Status status = read_grid(head, key, length, body, size - 2, &group);
	if (status != MOCPACK_OK)
		return status;
	for (size_t t = 0; t < head.plan.track_count; ++t)
	{
		const Track& track = head.plan.tracks[t];
		const double* curves = group.curves + size_t(track.first_channel) * size_t(group.stride);
		if (out.wants(track))
			store_track(head.plan, track, curves, group.stride, length, turns, out);
	}
	store_still(head.plan, size_t(length), out);
	return MOCPACK_OK;
}

// What turning symbols into motion needs, beside the symbols themselves.
struct Synthesis
{
	double *sines[2], *series, *curve;
	int32_t* extents;
	Quat* turns;

	Synthesis(const mocpack_KeysineHead& head, Arena* arena)
	{
		size_t longest = head.cut.longest_group();
		longest = longest < size_t(LONGEST_BLOCK) ? longest : size_t(LONGEST_BLOCK);
		size_t width = size_t(padded(int32_t(longest)));
		for (double*& table : sines)
			table = arena->take<double>((longest + 1) * width);
		series = arena->take<double>(head.plan.channel_count * width);
		curve = arena->take<double>(4 * width);
		extents = arena->take<int32_t>(head.plan.channel_count);
		turns = arena->take<Quat>(width);
	}
};

// Turns the symbols of a group into motion, block by block.
void synthesise(const mocpack_KeysineHead& head, const GroupSymbols& symbols, size_t track_count,
				const Output& out, const Synthesis& s)
{
	const Plan& plan = head.plan;
	const Shape& shape = symbols.shape;
	size_t channels = plan.channel_count, blocks = size_t(shape.blocks), frame = 0;
	// lengths and rows of the two tables of sines: blocks differ by at most one frame
	int32_t filled[2] = {0, 0}, rows[2] = {0, 0};
	for (size_t b = 0; b < blocks; ++b)
	{
		int32_t length = shape.lengths[b] + 1, which = length & 1, width = padded(length);
		if (filled[which] != length)
			filled[which] = length, rows[which] = 0;
		SeriesBlock block = {head.predictors, head.predictor_count, shape.tempo, width, s.series, s.extents};
		size_t predictor = 0;
		for (size_t t = 0; t < track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			bool wanted = out.wants(track);
			if (!wanted && !head.predictor_count)
				continue;
			int32_t index = symbols.rows.steps[t * blocks + b];
			double step = index < 0 ? 0 : symbols.part * step_of(head.unit, index);
			for (int32_t c = 0; c < track.channels; ++c)
			{
				int32_t channel = track.first_channel + c;
				const int32_t* key = symbols.keys + b * channels + channel;
				predictor = block.fill(channel, symbols.rows.values + shape.row(channel, int32_t(b)),
									   symbols.rows.extents[size_t(channel) * blocks + b], shape.lengths[b],
									   step, predictor);
				if (s.extents[channel])
					rows[which] = fill_sines(s.sines[which], length, rows[which], s.extents[channel] + 1);
				if (wanted)
					block_values(s.curve + c * width, s.sines[which], length, track.key_step * key[0],
								 track.key_step * key[channels], s.series + channel * width,
								 s.extents[channel]);
			}
			if (wanted)
				store_track(plan, track, s.curve, width, length, s.turns, out.from(frame));
		}
		frame += size_t(length);
	}
	store_still(plan, frame, out);
}

} // namespace

size_t mocpack_keysine_group_scratch(const mocpack_KeysineHead* head)
{
	if (!head->cut.groups)
		return 64;
	Arena arena(nullptr);
	GroupSymbols symbols;
	lay_out_group(head->plan, head->cut.longest_group(), &symbols, &arena);
	Synthesis(*head, &arena);
	Arena other(nullptr);
	if (head->grid)
		other.take<Quat>(size_t(GridGroup(*head, &other).stride));
	return arena.used() > other.used() ? arena.used() : other.used();
}

mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* keys, const uint8_t* const* layers,
											const size_t* sizes, size_t layer_count,
											const mocpack_KeysineColumns* columns, double* rotations,
											double* translations, void* scratch)
{
	Output out = {*head->plan.skeleton, columns, rotations, translations};
	if (head->grid && layer_count && head->cut.length(group) > 1)
		return decode_grid(*head, group, keys, layers[0], sizes[0], out, scratch);
	Arena arena(scratch);
	GroupSymbols symbols;
	lay_out_group(head->plan, head->cut.longest_group(), &symbols, &arena);
	size_t track_count = tracks_wanted(head->plan, out);
	mocpack_Status status =
		read_group(head, group, keys, layers, sizes, layer_count, track_count, &symbols, scratch);
	if (status == MOCPACK_OK)
		synthesise(*head, symbols, track_count, out, Synthesis(*head, &arena));
	return status;
}

void mocpack::keysine::shift_values(const Plan& plan, const GroupSymbols& whole, const uint8_t* shifts,
									int32_t* out)
{
	size_t row = size_t(whole.shape.blocks) * size_t(whole.shape.stride);
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		size_t first = size_t(plan.tracks[t].first_channel) * row;
		for (size_t i = first; i < first + size_t(plan.tracks[t].channels) * row; ++i)
			out[i] = shifts ? shifted(whole.rows.values[i], shifts[t]) : whole.rows.values[i];
	}
}

mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 const uint8_t* shifts, double* rotations, double* translations,
											 void* scratch)
{
	Arena arena(scratch);
	GroupSymbols symbols;
	const Plan& plan = head->plan;
	lay_out_group(plan, head->cut.longest_group(), &symbols, &arena);
	mocpack_Status status =
		read_group(head, group, keys, &src, &size, 1, plan.track_count, &symbols, scratch);
	if (status != MOCPACK_OK)
		return status;
	shift_values(plan, symbols, shifts, symbols.rows.values);
	take_middles(plan, shifts, &symbols);
	Output out = {*plan.skeleton, nullptr, rotations, translations};
	synthesise(*head, symbols, plan.track_count, out, Synthesis(*head, &arena));
	return MOCPACK_OK;
}

void mocpack_keysine_pose(const mocpack_KeysineHead* head, const int32_t* key,
						  const mocpack_KeysineColumns* columns, double* rotations, double* translations)
{
	Output out = {*head->plan.skeleton, columns, rotations, translations};
	for (size_t t = 0; t < head->plan.track_count; ++t)
	{
		const Track& track = head->plan.tracks[t];
		double values[4];
		Quat turn;
		if (!out.wants(track))
			continue;
		for (int32_t c = 0; c < track.channels; ++c)
			values[c] = track.key_step * key[track.first_channel + c];
		store_track(head->plan, track, values, 1, 1, &turn, out);
	}
	store_still(head->plan, 1, out);
}
// ---- src/keysine/decode/grid.cpp
// A grid in time, decoded: the numbers of a group to the channels of its frames.

namespace mocpack
{
namespace keysine
{

namespace
{

const double BLEND_FORGETTING = 0.98, BLEND_PULL = 100.0;
const size_t MOST_INPUTS =
	4 + 2 * (3 + 4 + 4); // own, then two each of the track's, its parent's and grandparent's

// A track has at most four channels, and each is looked at twice.
size_t most_inputs(size_t own, size_t reach)
{
	return own + 2 * 3 + 2 * 4 * (reach - 1);
}

// The track that tells most about another: the rotation it hangs from; for the root's, its translation.
int32_t track_above(const Plan& plan, int32_t t)
{
	const Track& track = plan.tracks[t];
	if (track.kind != POSITION_TRACK && track.parent >= 0)
		return track.parent;
	if (track.kind != POSITION_TRACK)
		return t > 0 && track.joint == 0 ? t - 1 : -1;
	for (int32_t j = plan.skeleton->parents[track.joint]; j >= 0; j = plan.skeleton->parents[j])
		for (int32_t other = t; other-- > 0;)
			if (plan.tracks[other].joint == j && plan.tracks[other].kind != POSITION_TRACK)
				return other;
	return -1;
}

// What a predictor of one column looks at.
struct Inputs
{
	size_t count = 0;
	int32_t columns[MOST_INPUTS];
	uint8_t lags[MOST_INPUTS];

	void add(int32_t column, int32_t lag)
	{
		columns[count] = column, lags[count++] = uint8_t(lag);
	}
	void add_recent(const Track& track, int32_t own)
	{
		for (int32_t c = track.first_channel; c < track.first_channel + track.channels; ++c)
		{
			if (c < own)
				add(c, 0);
			if (c != own)
				add(c, 1);
		}
	}
};

// `above` (tracks) has the track above each.
Inputs inputs_of(const Plan& plan, const int32_t* above, int32_t t, int32_t column, int32_t own,
				 int32_t reach)
{
	Inputs inputs;
	for (int32_t lag = 1; lag <= own; ++lag)
		inputs.add(column, lag);
	for (int32_t relative = t; reach > 0 && relative >= 0; relative = above[relative], --reach)
		inputs.add_recent(plan.tracks[relative], column);
	return inputs;
}

} // namespace

const Forecast& forecast_of(bool thorough)
{
	static const Forecast forecasts[2] = {
		{1, {0.99}, {3}, {2}, {4}, 30, 10.0},
		{2, {0.98, 0.998}, {4, 3}, {1, 3}, {2, 1}, 30, 4.0},
	};
	return forecasts[thorough];
}

GridSeries::GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena)
{
	const Forecast& f = forecast_of(thorough);
	size_t channels = plan.channel_count, most = channels * f.predictors;
	uint32_t* starts = arena->take<uint32_t>(most + 1);
	int32_t* columns = arena->take<int32_t>(most * MOST_INPUTS);
	uint8_t* lags = arena->take<uint8_t>(most * MOST_INPUTS);
	int32_t* above = arena->take<int32_t>(plan.track_count);
	uint32_t* sizes = arena->take<uint32_t>(channels);
	model = {channels, f.predictors, f.forgetting, f.periods, f.warm, f.caution, BLEND_FORGETTING, BLEND_PULL,
			 1,		   starts,		 columns,	   lags,	  sizes};
	if (!starts)
	{
		size_t doubles = 0; // at most
		for (size_t p = 0; p < f.predictors; ++p)
			doubles += channels * Recursive::doubles(most_inputs(f.own[p], f.reach[p]));
		arena->take<uint8_t>(series::fixed_size(channels) + doubles * sizeof(double));
		return;
	}
	for (size_t c = 0; c < channels; ++c)
		sizes[c] = expected_error(initial_scales[c]);
	for (int32_t t = 0; t < int32_t(plan.track_count); ++t)
		above[t] = track_above(plan, t);
	size_t at = 0;
	uint32_t* start = starts;
	for (int32_t t = 0; t < int32_t(plan.track_count); ++t)
		for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
			for (size_t p = 0; p < f.predictors; ++p)
			{
				int32_t column = plan.tracks[t].first_channel + c;
				Inputs inputs;
				if (initial_scales[column] > QUIET)
					inputs = inputs_of(plan, above, t, column, f.own[p], f.reach[p]);
				*start++ = uint32_t(at);
				for (size_t i = 0; i < inputs.count; ++i, ++at)
					columns[at] = inputs.columns[i], lags[at] = inputs.lags[i];
			}
	*start = uint32_t(at);
	scratch = arena->take<uint8_t>(series::scratch_size(&model));
}

GridGroup::GridGroup(const mocpack_KeysineHead& head, Arena* arena)
	: series(head.plan, head.thorough, head.initial_scales, arena)
{
	size_t channels = head.plan.channel_count;
	stride = padded(int32_t(head.cut.longest_group()));
	numbers = arena->take<int32_t>(2 * channels);
	finer = arena->take<uint8_t>(head.plan.track_count);
	curves = arena->take<double>(channels * size_t(stride));
}

mocpack_Status read_grid(const mocpack_KeysineHead& head, const int32_t* key, int32_t length,
						 const uint8_t* body, size_t size, GridGroup* group)
{
	const Plan& plan = head.plan;
	size_t channels = plan.channel_count;
	series::Coder series = group->series.start();
	GridReader reader = {RangeDecoder(body, size)};
	GridRows<GridReader> rows(reader, plan, series, group->finer);
	std::memset(group->numbers, 0, 2 * channels * sizeof(int32_t));
	for (int32_t f = 0; f < length; ++f)
	{
		if (f)
			rows.begin_row();
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			GridPlace place = {};
			if (f)
				rows.track(t, group->numbers + channels, &place);
			double step = step_of(head.unit, head.grid_steps[t]);
			for (int32_t c = 0; c < track.channels; ++c)
			{
				size_t channel = size_t(track.first_channel + c);
				group->curves[channel * size_t(group->stride) + size_t(f)] =
					track.key_step * key[channel] + step * place.steps(c);
			}
		}
		if (f)
			rows.end_row();
		std::memcpy(group->numbers, group->numbers + channels, channels * sizeof(int32_t));
		if (reader.coder.exhausted())
			return MOCPACK_TRUNCATED;
	}
	return reader.coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace keysine
} // namespace mocpack
// ---- src/keysine/decode/head.cpp
// Reads and writes the head of a `keysine` payload.

#include <cmath>
#include <cstring>

// ---- src/keysine/decode/head_symbols.h
// The symbols of a `keysine` head: its numbers, the sizes of segments and groups, the plan.

namespace mocpack
{
namespace keysine
{

// The first channel of the track of each channel, from the kinds of a plan's table (J, PLAN_COLUMNS) alone.
struct TrackChannels
{
	int32_t* first; // (channels), with room for seven of each joint
	int32_t channel_count, track_count;

	TrackChannels(const int32_t* table, const mocpack_Skeleton& skeleton, int32_t* memory)
		: first(memory), channel_count(0), track_count(0)
	{
		HingeCursor hinges(skeleton);
		for (size_t j = 0; j < skeleton.joint_count; ++j, table += PLAN_COLUMNS)
		{
			JointHinges own = hinges.of(j);
			add(table[TRANSLATION_KIND] == MOVING_TRANSLATION	 ? 3
				: table[TRANSLATION_KIND] == SLIDING_TRANSLATION ? own.slides
																 : 0);
			add(table[ROTATION_KIND] == QUATERNION_ROTATION ? 4
				: table[ROTATION_KIND] == VECTOR_ROTATION	? 3
				: table[ROTATION_KIND] == HINGE_ROTATION	? own.turns
															: 0);
		}
	}

  private:
	void add(int32_t channels)
	{
		for (int32_t c = 0; c < channels; ++c)
			first[channel_count + c] = channel_count;
		channel_count += channels, track_count += channels > 0;
	}
};

const int32_t NO_TURN = 7; // of axes: in place of the bits by which they are coarser than their grid

template <typename Coder> class HeadSymbols
{
  public:
	explicit HeadSymbols(Coder& coder) : coder_(coder)
	{
	}

	// A number of at most 31 bits that follows no statistics.
	uint32_t plain(uint32_t value)
	{
		int length = int(coder_.bits(5, uint32_t(bit_length(value))));
		return coder_.bits(length, value);
	}

	uint32_t bits(int count, uint32_t value)
	{
		return coder_.bits(count, value);
	}

	// Each by how its symbol differs from that of the one before.
	bool sizes(uint32_t* sizes, size_t count)
	{
		int before = 0;
		for (size_t i = 0; i < count; ++i)
		{
			int symbol = symbol_of(int32_t(sizes[i]), COARSE), change = symbol - before;
			int found = coder_.symbol(HEAD_TABLES[SIZE_NUMBER], SYMBOLS,
									  lesser(change > 0 ? 2 * change - 1 : -2 * change, ESCAPE));
			if (found == ESCAPE)
				symbol = int(coder_.bits(5, uint32_t(symbol)));
			else
				symbol = before + (found & 1 ? (found + 1) / 2 : -found / 2);
			if (symbol < 0 || symbol > ESCAPE)
				return false;
			int32_t size = rest_of(coder_, symbol, COARSE, int32_t(sizes[i]));
			if (size < 0)
				return false;
			sizes[i] = uint32_t(size);
			before = symbol;
		}
		return true;
	}

	// The plan (J, PLAN_COLUMNS); columns that a joint's kinds leave unused come out as zero.
	void plan(int32_t* table, const mocpack_Skeleton& skeleton)
	{
		int32_t last_turn = 0, last_place = 0, last_step = UNIT_STEP;
		HingeCursor hinges(skeleton);
		size_t m = 0;
		for (size_t j = 0; j < skeleton.joint_count; ++j)
		{
			int32_t* row = table + PLAN_COLUMNS * j;
			JointHinges own = hinges.of(j);
			if (!own.turns || !hinged(HINGE_ROTATION, row + ROTATION_KIND))
				last_turn = row[ROTATION_KIND] = kind(KIND_STARTS[last_turn], row[ROTATION_KIND]);
			turn(row, own.turns, &last_step);
			bool translated = m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j;
			m += translated;
			if (!translated)
				row[TRANSLATION_KIND] = REST_TRANSLATION;
			else if (!own.slides || !hinged(SLIDING_TRANSLATION, row + TRANSLATION_KIND))
				last_place = row[TRANSLATION_KIND] =
					kind(KIND_STARTS[ROTATION_KINDS + last_place], row[TRANSLATION_KIND]);
			place(row, own.slides, &last_step);
		}
	}

	// Predictors in the order of the channels that they foretell. False where one cannot be.
	bool predictors(Predictor* predictors, size_t count, const TrackChannels& tracks)
	{
		int32_t channel = 0;
		for (size_t i = 0; i < count; ++i)
		{
			Predictor& p = predictors[i];
			channel += number(CHANNEL_NUMBER, false, p.channel - channel);
			bool known = channel < tracks.channel_count;
			int32_t first = known ? tracks.first[channel] : 0;
			int32_t source = first - 1 - number(SOURCE_NUMBER, false, first - 1 - p.source);
			int32_t band = int32_t(coder_.bits(2, uint32_t(p.band)));
			int32_t factor = number(FACTOR_NUMBER, true, p.factor);
			if (!known || source < 0 || source >= first)
				return false;
			if (!Coder::READS && (channel != p.channel || source != p.source))
				return false; // not in the order of their channels, or of the same track
			p = {channel, source, band, factor};
		}
		return true;
	}

	// How coarse each layer but the last is: shifts (count, tracks), each as its difference to the one
	// before. False where they do not fall from layer to layer down to one.
	bool shifts(uint8_t* shifts, size_t count, size_t tracks)
	{
		for (size_t i = 0; i < count * tracks; ++i)
		{
			int32_t before = i % tracks ? shifts[i - 1] : 0;
			int32_t shift = before + number(KEY_STEP_NUMBER, true, shifts[i] - before);
			if (shift < 0 || shift > (i >= tracks ? shifts[i - tracks] : MOST_SHIFT))
				return false;
			shifts[i] = uint8_t(shift);
		}
		return true;
	}

	// Of a grid in time: steps (tracks) and the sizes that prediction is initial_scales (channels), each as
	// its difference to the one before. False where they are out of range.
	bool grid(uint8_t* steps, size_t tracks, uint8_t* initial_scales, size_t channels)
	{
		int32_t step = UNIT_STEP, scale = 16;
		for (size_t t = 0; t < tracks; ++t)
		{
			step += number(KEY_STEP_NUMBER, true, steps[t] - step);
			if (step < 0 || step >= STEPS)
				return false;
			steps[t] = uint8_t(step);
		}
		for (size_t c = 0; c < channels; ++c)
		{
			scale += number(SCALE_NUMBER, true, initial_scales[c] - scale);
			if (scale < 0 || scale > MOCPACK_KEYSINE_MOST_INITIAL_SCALE)
				return false;
			initial_scales[c] = uint8_t(scale);
		}
		return true;
	}

  private:
	int32_t number(HeadNumber what, bool has_sign, int32_t value)
	{
		int32_t found = coded_number(coder_, HEAD_TABLES[what], has_sign, value);
		return found > -LARGEST && found < LARGEST ? found : 0;
	}

	int32_t kind(const uint16_t* starts, int32_t value)
	{
		return coder_.symbol(starts, KINDS, value);
	}

	// The kind of what has hinges: at rest, still, moving along them, or (false) free as any other.
	bool hinged(int32_t moving, int32_t* kind)
	{
		static const uint16_t STARTS[KINDS + 1] = {0, 128, 384, 3968, 4096, 4096, 4096, 4096, 4096};
		const int FREE = 3;
		bool free = *kind > STILL_ROTATION && *kind != moving;
		int found = coder_.symbol(STARTS, KINDS, free ? FREE : *kind == moving ? 2 : *kind);
		if (found == FREE)
			return false;
		*kind = found == 2 ? moving : found;
		return true;
	}

	void turn(int32_t* row, int32_t hinges, int32_t* last_step)
	{
		bool still = row[ROTATION_KIND] == STILL_ROTATION, vector = row[ROTATION_KIND] == VECTOR_ROTATION,
			 hinge = row[ROTATION_KIND] == HINGE_ROTATION;
		int count = vector ? 3 : still ? (hinges ? hinges : 3) : hinge ? hinges : 0;
		for (int a = 0; a < 3; ++a)
			row[MEAN + a] = a < count ? number(still ? STILL_NUMBER : MEAN_NUMBER, true, row[MEAN + a]) : 0;
		for (int a = 0; a < 3; ++a)
			row[BASIS + a] = vector ? row[BASIS + a] : 0;
		if (vector)
			basis(row + BASIS);
		row[ROTATION_KEY_STEP] =
			key_step(row[ROTATION_KIND] >= VECTOR_ROTATION, last_step, row[ROTATION_KEY_STEP]);
	}

	// The turn of axes: by how many bits coarser than the grid it is, NO_TURN where there is none.
	void basis(int32_t* turn)
	{
		const int32_t any = turn[0] | turn[1] | turn[2];
		int32_t shift = any ? 0 : NO_TURN;
		while (any && shift < NO_TURN - 1 && !(any >> shift & 1))
			++shift;
		shift = number(SHIFT_NUMBER, false, shift);
		for (int a = 0; a < 3; ++a)
		{
			int32_t coarse = shift >= NO_TURN ? 0 : number(BASIS_NUMBER, true, turn[a] >> shift);
			turn[a] = magnitude(coarse) < LARGEST >> NO_TURN ? coarse * (1 << lesser(shift, NO_TURN)) : 0;
		}
	}

	void place(int32_t* row, int32_t hinges, int32_t* last_step)
	{
		bool still = row[TRANSLATION_KIND] == STILL_TRANSLATION,
			 moves = row[TRANSLATION_KIND] == MOVING_TRANSLATION;
		for (int a = 0; a < 3; ++a)
			row[ORIGIN + a] = still && (!hinges || a < hinges) ? number(PLACE_NUMBER, true, row[ORIGIN + a])
							  : moves						   ? number(ORIGIN_NUMBER, true, row[ORIGIN + a])
															   : 0;
		row[TRANSLATION_KEY_STEP] =
			key_step(row[TRANSLATION_KIND] >= MOVING_TRANSLATION, last_step, row[TRANSLATION_KEY_STEP]);
	}

	// As its difference to that of the track before; UNIT_STEP where nothing moves.
	int32_t key_step(bool moves, int32_t* last, int32_t value)
	{
		if (!moves)
			return UNIT_STEP;
		return *last += number(KEY_STEP_NUMBER, true, value - *last);
	}

	Coder& coder_;
};

} // namespace keysine
} // namespace mocpack

using namespace mocpack;
using namespace mocpack::keysine;

namespace
{

const uint32_t LARGEST_NUMBER = 0x7fffffff; // so that products fit 64 bits, and numbers a 32-bit size_t
const size_t MOST_LAYERS = MOCPACK_KEYSINE_MOST_LAYERS;
const uint32_t GRID_MODE = 1, FIRST_FRAME_MODE = 2, THOROUGH_MODE = 4; // bits of the mode

// Bytes of the head, itself and its checksum included, and of this number; 0 where it is cut or too large.
size_t read_size(const uint8_t* src, size_t src_size, size_t* bytes)
{
	uint64_t value = 0;
	for (*bytes = 0; *bytes < src_size && *bytes < 5;)
	{
		uint8_t byte = src[*bytes];
		value |= uint64_t(byte & 127) << 7 * (*bytes)++;
		if (byte < 128)
			return value <= LARGEST_NUMBER ? size_t(value) : 0;
	}
	return 0;
}

bool plausible(const mocpack_KeysineHead& h, mocpack_Fault* fault)
{
	if (!(h.unit > 0)) // NaN too
		return within(fault, "unit", h.unit, 1e-30, 1e6);
	// the longest group is asked for only once there are enough groups to divide by
	return within(fault, "unit", h.unit, 0, 1e6) && within(fault, "tempo", h.tempo, 1, 255) &&
		   within(fault, "fine bits", h.fine_bits, 0, 60) &&
		   within(fault, "basis bits", h.basis_bits, 0, 20) &&
		   within(fault, "groups in a segment", double(h.groups_per_segment), 1, LARGEST_NUMBER) &&
		   within(fault, "groups", double(h.cut.groups), h.cut.frames > 1 ? 1 + double(h.cut.lead) : 0,
				  double(h.cut.frames - 1)) &&
		   within(fault, "frames before the first group", double(h.cut.lead), 0, h.cut.frames > 2) &&
		   within(fault, "frames in a group", double(h.cut.longest_group()), 0,
				  h.grid ? MOCPACK_KEYSINE_LONGEST_BLOCK : MOCPACK_KEYSINE_LONGEST_GROUP) &&
		   (!h.grid || within(fault, "layers of a grid", double(h.layer_count), 1, 1));
}

// What stands before anything is counted; the same text reads and writes.
template <typename Coder> void code_start(HeadSymbols<Coder>& symbols, mocpack_KeysineFields* s)
{
	s->mode = symbols.bits(4, s->mode);
	s->layer_count = 1 + symbols.bits(4, s->layer_count - 1);
	s->fine_bits = symbols.bits(6, s->fine_bits);
	s->basis_bits = symbols.bits(5, s->basis_bits);
	s->tempo = symbols.bits(8, s->tempo);
	uint32_t unit;
	std::memcpy(&unit, &s->unit, 4);
	unit = symbols.bits(16, unit >> 16) << 16 | symbols.bits(16, unit & 0xffff);
	std::memcpy(&s->unit, &unit, 4);
	s->group_count = symbols.plain(s->group_count);
	s->groups_per_segment = symbols.plain(s->groups_per_segment);
	s->predictor_count = symbols.plain(s->predictor_count);
	for (uint32_t l = 0; l < s->layer_count; ++l)
		s->errors[l] = uint8_t(symbols.bits(8, s->errors[l]));
}

// Segments, and groups of each layer.
uint64_t part_count(const mocpack_KeysineHead& h)
{
	return h.segment_count + uint64_t(h.layer_count) * h.cut.groups;
}

// Reads what stands before the sizes, and leaves the reader there.
mocpack_Status read_start(const uint8_t* src, size_t src_size, size_t frame_count, mocpack_KeysineHead* h,
						  TableReader* reader, mocpack_Fault* fault)
{
	size_t skipped;
	h->size = read_size(src, src_size, &skipped);
	if (h->size > src_size || (!h->size && skipped == src_size))
		return MOCPACK_TRUNCATED;
	if (h->size < skipped + 3 ||
		crc16(src, h->size - 2) != uint16_t(src[h->size - 2] | src[h->size - 1] << 8))
		return MOCPACK_CORRUPT;
	size_t bytes = h->size - 2 - skipped;
	*reader = TableReader(src + skipped, bytes);
	HeadSymbols<TableReader> symbols(*reader);
	mocpack_KeysineFields s = {};
	code_start(symbols, &s);
	h->layer_count = s.layer_count, h->fine_bits = uint8_t(s.fine_bits),
	h->basis_bits = uint8_t(s.basis_bits);
	h->tempo = int32_t(s.tempo), h->unit = double(s.unit);
	std::memcpy(h->errors, s.errors, sizeof h->errors);
	h->grid = s.mode & GRID_MODE, h->thorough = s.mode & THOROUGH_MODE;
	h->cut = {frame_count, s.group_count, (s.mode & FIRST_FRAME_MODE) != 0};
	h->groups_per_segment = s.groups_per_segment, h->predictor_count = s.predictor_count;
	uint32_t modes = h->grid ? 7 : 3;
	if (!within(fault, "mode", s.mode, s.mode & modes, s.mode & modes) || !plausible(*h, fault) ||
		reader->exhausted())
		return MOCPACK_CORRUPT;
	h->segment_count =
		h->cut.groups ? (h->cut.groups + h->groups_per_segment - 1) / h->groups_per_segment : 1;
	// a size and a predictor cost at least a bit, so this many bytes bound how many there are
	if (!within(fault, "parts", double(part_count(*h)), 0, 8.0 * double(bytes)) ||
		!within(fault, "predictors", double(h->predictor_count), 0, 8.0 * double(bytes)))
		return MOCPACK_CORRUPT;
	return MOCPACK_OK;
}

// What of a head stands in memory of its own.
struct Rooms
{
	mocpack_KeysineHead* head;
	int32_t* table;
	uint32_t* sizes;
	uint8_t *shifts, *grid_steps, *initial_scales, *plan;
	Predictor* predictors;
	int32_t* first_channels;

	Rooms(const mocpack_KeysineHead& h, size_t joints, Arena* arena)
	{
		head = arena->take<mocpack_KeysineHead>(1);
		table = arena->take<int32_t>(joints * PLAN_COLUMNS);
		sizes = arena->take<uint32_t>(size_t(part_count(h)));
		shifts = arena->take<uint8_t>((h.layer_count - 1) * 2 * joints);
		grid_steps = arena->take<uint8_t>(2 * joints);
		initial_scales = arena->take<uint8_t>(7 * joints);
		plan = arena->take<uint8_t>(plan_size(joints));
		predictors = arena->take<Predictor>(h.predictor_count);
		first_channels = arena->take<int32_t>(7 * joints);
	}

	void clear(const mocpack_KeysineHead& h, size_t joints)
	{
		std::memset(table, 0, joints * PLAN_COLUMNS * sizeof(int32_t));
		std::memset(sizes, 0, size_t(part_count(h)) * sizeof(uint32_t));
		std::memset(shifts, 0, (h.layer_count - 1) * 2 * joints);
		std::memset(grid_steps, 0, 2 * joints);
		std::memset(initial_scales, 0, 7 * joints);
		for (size_t i = 0; i < h.predictor_count; ++i)
			predictors[i] = {};
	}
};

} // namespace

mocpack_Status mocpack_keysine_peek(const uint8_t* src, size_t src_size, size_t frame_count,
									mocpack_KeysineLayout* layout, mocpack_Fault* fault)
{
	mocpack_KeysineHead h = {};
	TableReader reader(nullptr, 0);
	mocpack_Status status = read_start(src, src_size, frame_count, &h, &reader, fault);
	if (status == MOCPACK_OK)
		*layout = mocpack_keysine_layout(&h);
	return status;
}

size_t mocpack_keysine_head_memory(const uint8_t* src, size_t src_size, size_t joints, size_t frame_count)
{
	mocpack_KeysineHead h = {};
	TableReader reader(nullptr, 0);
	if (read_start(src, src_size, frame_count, &h, &reader, nullptr) != MOCPACK_OK)
		return 0;
	Arena arena(nullptr);
	Rooms(h, joints, &arena);
	return arena.used();
}

mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
									size_t frame_count, void* memory, mocpack_KeysineHead** head,
									mocpack_Fault* fault)
{
	mocpack_KeysineHead found = {};
	TableReader reader(nullptr, 0);
	mocpack_Status status = read_start(src, src_size, frame_count, &found, &reader, fault);
	if (status != MOCPACK_OK)
		return status;
	Arena arena(memory);
	Rooms rooms(found, skeleton->joint_count, &arena);
	rooms.clear(found, skeleton->joint_count);
	mocpack_KeysineHead* h = rooms.head;
	*h = found;
	h->sizes = rooms.sizes, h->shifts = rooms.shifts, h->grid_steps = rooms.grid_steps,
	h->initial_scales = rooms.initial_scales;
	h->predictors = rooms.predictors;
	h->plan.skeleton = skeleton, h->plan.table = rooms.table, h->plan.unit = h->unit;
	h->plan.fine = std::ldexp(1.0, -int(h->fine_bits));
	h->plan.basis_grid = std::ldexp(1.0, -int(h->basis_bits));
	HeadSymbols<TableReader> symbols(reader);
	if (!symbols.sizes(rooms.sizes, size_t(part_count(*h))))
		return MOCPACK_CORRUPT;
	symbols.plan(rooms.table, *skeleton);
	if (!build_plan(&h->plan, rooms.plan, fault) ||
		!symbols.predictors(rooms.predictors, h->predictor_count,
							TrackChannels(rooms.table, *skeleton, rooms.first_channels)) ||
		!symbols.shifts(rooms.shifts, h->layer_count - 1, h->plan.track_count) ||
		(h->grid && !within(fault, "channels of a grid", double(h->plan.channel_count), 0,
							MOCPACK_KEYSINE_MOST_GRID_CHANNELS)) ||
		(h->grid &&
		 !symbols.grid(rooms.grid_steps, h->plan.track_count, rooms.initial_scales, h->plan.channel_count)) ||
		reader.exhausted() || !reader.all_read())
		return MOCPACK_CORRUPT;
	*head = h;
	return MOCPACK_OK;
}

mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* h)
{
	return {h->size,
			h->cut.groups,
			h->groups_per_segment,
			h->segment_count,
			h->sizes,
			h->plan.channel_count,
			h->plan.track_count,
			h->layer_count,
			h->shifts,
			h->cut.lead};
}

mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* h)
{
	mocpack_KeysineFields s = {};
	s.mode =
		(h->grid ? GRID_MODE : 0) | (h->cut.lead ? FIRST_FRAME_MODE : 0) | (h->thorough ? THOROUGH_MODE : 0);
	s.layer_count = uint32_t(h->layer_count), s.fine_bits = h->fine_bits, s.basis_bits = h->basis_bits;
	s.tempo = uint32_t(h->tempo), s.unit = float(h->unit);
	s.group_count = uint32_t(h->cut.groups), s.groups_per_segment = uint32_t(h->groups_per_segment);
	s.predictor_count = uint32_t(h->predictor_count);
	std::memcpy(s.errors, h->errors, sizeof h->errors);
	return s;
}

size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* h, size_t key)
{
	return h->cut.key_frame(key);
}

size_t mocpack_keysine_head_shares(size_t joints, size_t part_count, size_t predictor_count)
{
	return 128 + 4 * part_count + 16 * predictor_count + joints * (6 * PLAN_COLUMNS + 8 * MOST_LAYERS + 64);
}

size_t mocpack_keysine_encode_head(const mocpack_KeysineFields* start, const mocpack_Skeleton* skeleton,
								   int32_t* table, uint32_t* sizes, size_t part_count, int32_t* predictors,
								   uint8_t* shifts, uint8_t* grid_steps, uint8_t* initial_scales,
								   uint8_t* dst, size_t dst_size, void* scratch)
{
	size_t joints = skeleton->joint_count;
	Arena arena(scratch);
	size_t room = mocpack_keysine_head_shares(joints, part_count, start->predictor_count);
	TableWriter writer(arena.take<Share>(room), room);
	HeadSymbols<TableWriter> symbols(writer);
	mocpack_KeysineFields s = *start;
	code_start(symbols, &s);
	if (!symbols.sizes(sizes, part_count))
		return 0;
	symbols.plan(table, *skeleton);
	TrackChannels tracks(table, *skeleton, arena.take<int32_t>(7 * joints));
	Predictor* list = reinterpret_cast<Predictor*>(predictors);
	if (!symbols.predictors(list, start->predictor_count, tracks) ||
		!symbols.shifts(shifts, start->layer_count - 1, size_t(tracks.track_count)) ||
		(grid_steps &&
		 !symbols.grid(grid_steps, size_t(tracks.track_count), initial_scales, size_t(tracks.channel_count))))
		return 0;
	return writer.finish(dst, dst_size);
}

size_t mocpack_keysine_head_scratch(size_t joints, size_t part_count, size_t predictor_count)
{
	return mocpack_keysine_head_shares(joints, part_count, predictor_count) * sizeof(Share) +
		   7 * joints * sizeof(int32_t) + 2 * 64;
}

const int32_t* mocpack_keysine_table(const mocpack_KeysineHead* h)
{
	return h->plan.table;
}

const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* h)
{
	return reinterpret_cast<const int32_t*>(h->predictors);
}

const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* h)
{
	return h->grid ? h->grid_steps : nullptr;
}

const uint8_t* mocpack_keysine_initial_scales(const mocpack_KeysineHead* h)
{
	return h->grid ? h->initial_scales : nullptr;
}
// ---- src/keysine/decode/plan.cpp
// Builds the tracks of a `keysine` clip from the integers of its header.

#include <cmath>

// ---- src/keysine/decode/costs.h
// What a small error of a joint costs, when the joints below take back what they can.
//
// Let ξ be the displacement of a joint's origin and the small turn of its frame. While all below stand as
// they should, they move with it rigidly, so that a weighted sum of their squared displacements is ξᵀ Q ξ;
// and when the joints below turn so that the sum is least, it still is, with a smaller Q. From the ends of
// limbs to the root: Q of a joint is that of its own points, and of each child what is left after the child's
// own turn. A joint that turns freely takes back all but the displacement of its origin; a hinge only what
// lies about its axis.

namespace mocpack
{
namespace keysine
{

// A symmetric matrix over (displacement, turn), by rows of six.
struct Costs
{
	double* q;

	double& at(int r, int c) const
	{
		return q[6 * r + c];
	}

	// A point at `arm` from the origin, whose displacement is that of the origin + turn × arm.
	void add_point(Vec3 arm, double weight) const
	{
		const double v[3] = {arm.x, arm.y, arm.z}, square = dot(arm, arm);
		const double cross_of[9] = {0, arm.z, -arm.y, -arm.z, 0, arm.x, arm.y, -arm.x, 0}; // turn × arm
		for (int r = 0; r < 3; ++r)
		{
			at(r, r) += weight;
			for (int c = 0; c < 3; ++c)
			{
				at(r, 3 + c) += weight * cross_of[3 * r + c];
				at(3 + c, r) += weight * cross_of[3 * r + c];
				at(3 + r, 3 + c) += weight * ((r == c ? square : 0.0) - v[r] * v[c]);
			}
		}
	}

	// What a child at `arm` costs, given its own costs.
	void add_child(const Costs& child, Vec3 arm) const
	{
		const double x[9] = {0, arm.z, -arm.y, -arm.z, 0, arm.x, arm.y, -arm.x, 0};
		double half[36]; // child's costs by (displacement of the child, its turn) times how both follow
		for (int r = 0; r < 6; ++r)
			for (int c = 0; c < 3; ++c)
			{
				half[6 * r + c] = child.at(r, c);
				half[6 * r + 3 + c] = child.at(r, 3 + c) + child.at(r, 0) * x[c] + child.at(r, 1) * x[3 + c] +
									  child.at(r, 2) * x[6 + c];
			}
		for (int c = 0; c < 6; ++c)
			for (int r = 0; r < 3; ++r)
			{
				at(r, c) += half[6 * r + c];
				at(3 + r, c) +=
					half[6 * (3 + r) + c] + x[r] * half[c] + x[3 + r] * half[6 + c] + x[6 + r] * half[12 + c];
			}
	}

	// Takes out the best move along `way` of half `from` (0: displacement, 3: turn), which costs `price`.
	void take_out(int from, Vec3 way, double price) const
	{
		double along[6], whole = price;
		for (int r = 0; r < 6; ++r)
			along[r] = at(r, from) * way.x + at(r, from + 1) * way.y + at(r, from + 2) * way.z;
		whole += along[from] * way.x + along[from + 1] * way.y + along[from + 2] * way.z;
		if (!(whole > 0))
			return;
		for (int r = 0; r < 6; ++r)
			for (int c = 0; c < 6; ++c)
				at(r, c) -= along[r] * along[c] / whole;
	}

	// Takes out all of one half.
	void take_out(int from) const
	{
		for (int a = 0; a < 3; ++a)
			take_out(from, Vec3{a == 0 ? 1.0 : 0, a == 1 ? 1.0 : 0, a == 2 ? 1.0 : 0}, 0.0);
		for (int r = 0; r < 6; ++r)
			for (int c = from; c < from + 3; ++c)
				at(r, c) = at(c, r) = 0;
	}
};

} // namespace keysine
} // namespace mocpack
// ---- src/keysine/decode/rotation.h
// The derivative of rotation vectors, and small symmetric matrices, for `keysine`.

namespace mocpack
{
namespace keysine
{

// Rows of the rotation matrix of q.
inline void matrix_of(Quat q, double* m)
{
	m[0] = 1 - 2 * (q.y * q.y + q.z * q.z), m[1] = 2 * (q.x * q.y - q.z * q.w),
	m[2] = 2 * (q.x * q.z + q.y * q.w);
	m[3] = 2 * (q.x * q.y + q.z * q.w), m[4] = 1 - 2 * (q.x * q.x + q.z * q.z),
	m[5] = 2 * (q.y * q.z - q.x * q.w);
	m[6] = 2 * (q.x * q.z - q.y * q.w), m[7] = 2 * (q.y * q.z + q.x * q.w),
	m[8] = 1 - 2 * (q.x * q.x + q.y * q.y);
}

// The right Jacobian of the exponential at v, by rows: exp(v + d) ≈ exp(v) exp(J d).
inline void right_jacobian(Vec3 v, double* j)
{
	double square = dot(v, v), a, b;
	if (square < 1.0)
	{
		// (1 - cos x) / x² and (x - sin x) / x³ by their series, to 1e-9
		a = 0.5 -
			square / 24 * (1 - square / 30 * (1 - square / 56 * (1 - square / 90 * (1 - square / 132))));
		b = 1.0 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)));
	}
	else
	{
		double angle = std::sqrt(square);
		a = (1 - std::cos(angle)) / square;
		b = (angle - std::sin(angle)) / (square * angle);
	}
	double k[9] = {0, -v.z, v.y, v.z, 0, -v.x, -v.y, v.x, 0};
	double vv[3] = {v.x, v.y, v.z};
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			j[3 * r + c] = (r == c ? 1.0 - b * square : 0.0) - a * k[3 * r + c] + b * vv[r] * vv[c];
}

// The symmetric matrix whose square is the inverse of m, symmetric and positive; Jacobi's rotations.
inline void inverse_square_root(const double* m, double* root)
{
	double a[9], v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	for (int i = 0; i < 9; ++i)
		a[i] = m[i];
	for (int sweep = 0; sweep < 12; ++sweep)
		for (int p = 0; p < 2; ++p)
			for (int q = p + 1; q < 3; ++q)
			{
				double apq = a[3 * p + q];
				if (std::fabs(apq) <= 1e-300)
					continue;
				double theta = 0.5 * (a[4 * q] - a[4 * p]) / apq;
				double t = (theta < 0 ? -1.0 : 1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
				double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
				for (int k = 0; k < 3; ++k) // columns, then rows
				{
					double x = a[3 * k + p], y = a[3 * k + q];
					a[3 * k + p] = c * x - s * y, a[3 * k + q] = s * x + c * y;
				}
				for (int k = 0; k < 3; ++k)
				{
					double x = a[3 * p + k], y = a[3 * q + k];
					a[3 * p + k] = c * x - s * y, a[3 * q + k] = s * x + c * y;
				}
				for (int k = 0; k < 3; ++k)
				{
					double x = v[3 * k + p], y = v[3 * k + q];
					v[3 * k + p] = c * x - s * y, v[3 * k + q] = s * x + c * y;
				}
			}
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
		{
			root[3 * r + c] = 0;
			for (int k = 0; k < 3; ++k)
				root[3 * r + c] += v[3 * r + k] * v[3 * c + k] / std::sqrt(a[4 * k]);
		}
}

} // namespace keysine
} // namespace mocpack

namespace mocpack
{
namespace keysine
{

namespace
{

bool turns(const int32_t* row)
{
	return row[ROTATION_KIND] >= VECTOR_ROTATION;
}

// Whether a joint moves what hangs on it other than the joint above does.
bool carries(const int32_t* row)
{
	return turns(row) || row[TRANSLATION_KIND] == SLIDING_TRANSLATION;
}

const double* resting_place(const Plan& plan, size_t joint)
{
	return plan.still + 7 * joint + 4;
}

bool valid(const Plan& plan, mocpack_Fault* fault)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	size_t m = 0;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& own = plan.hinges[j];
		bool translated = m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j;
		m += translated;
		int32_t farthest = own.slides ? SLIDING_TRANSLATION : MOVING_TRANSLATION;
		auto in_range = [&](PlanColumn column, const char* field, int32_t most)
		{ return within(fault, "plan of joint", int64_t(j), field, row[column], 0, most); };
		if (!in_range(ROTATION_KIND, "rotation kind", own.turns ? HINGE_ROTATION : QUATERNION_ROTATION) ||
			!in_range(TRANSLATION_KIND, "translation kind", translated ? farthest : 0) ||
			!in_range(ROTATION_KEY_STEP, "rotation key step", STEPS - 1) ||
			!in_range(TRANSLATION_KEY_STEP, "translation key step", STEPS - 1))
			return false;
	}
	return true;
}

// The rotation of a hinged joint where it stays, or about where it turns.
Quat still_hinge(const JointHinges& hinges, const int32_t* row, double fine)
{
	Quat turn = hinges.rest;
	double grid = row[ROTATION_KIND] == STILL_ROTATION ? fine : MEAN_GRID;
	for (int32_t i = 0; i < hinges.turns && row[ROTATION_KIND] != REST_ROTATION; ++i)
		turn = multiply(turn, exponential(grid * row[MEAN + i] * hinges.turn_axis(i)));
	return turn;
}

Quat still_turn(const JointHinges& hinges, const int32_t* row, double fine)
{
	const int32_t kind = row[ROTATION_KIND];
	if (hinges.turns && kind != VECTOR_ROTATION && kind != QUATERNION_ROTATION)
		return still_hinge(hinges, row, fine);
	double grid = kind == STILL_ROTATION ? fine : MEAN_GRID;
	Vec3 mean = {grid * row[MEAN], grid * row[MEAN + 1], grid * row[MEAN + 2]};
	return kind == REST_ROTATION ? Quat{0, 0, 0, 1} : exponential(mean);
}

// The place of a joint that does not move; the origin of one that does.
Vec3 still_place(const JointHinges& hinges, const int32_t* row, double fine, Vec3 offset)
{
	const int32_t kind = row[TRANSLATION_KIND];
	if (kind == REST_TRANSLATION || kind == SLIDING_TRANSLATION)
		return offset;
	double grid = kind == STILL_TRANSLATION ? fine : ORIGIN_GRID;
	if (kind == MOVING_TRANSLATION || !hinges.slides)
		return {grid * row[ORIGIN], grid * row[ORIGIN + 1], grid * row[ORIGIN + 2]};
	Vec3 way = {0, 0, 0};
	for (int32_t i = 0; i < hinges.slides; ++i)
		way = way + grid * row[ORIGIN + i] * hinges.slide_axis(i);
	return offset + rotate(hinges.rest, way);
}

// Rotations and translations of what does not move; joints without translation keep their offset.
void fill_still(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& own = plan.hinges[j];
		store(plan.still + 7 * j, still_turn(own, row, plan.fine));
		store(plan.still + 7 * j + 4, still_place(own, row, plan.fine, load_vec(skeleton.offsets + 3 * j)));
	}
}

void count_descendants(const Plan& plan)
{
	size_t joints = plan.skeleton->joint_count;
	for (size_t j = 0; j < joints; ++j)
		plan.descendants[j] = 1;
	for (size_t j = joints; j-- > 1;)
		plan.descendants[plan.skeleton->parents[j]] += plan.descendants[j];
}

void fill_carried(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		int32_t parent = skeleton.parents[j];
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		plan.carrier[j] = -1;
		store(plan.carried_rotation + 4 * j, load_quat(plan.still + 7 * j));
		store(plan.carried_offset + 3 * j, Vec3{0, 0, 0});
		if (parent < 0 || row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
			continue;
		Vec3 place = load_vec(resting_place(plan, j));
		if (carries(plan.table + PLAN_COLUMNS * size_t(parent)))
		{
			plan.carrier[j] = parent;
			store(plan.carried_offset + 3 * j, place);
			continue;
		}
		Quat turn = load_quat(plan.carried_rotation + 4 * parent);
		plan.carrier[j] = plan.carrier[parent];
		store(plan.carried_offset + 3 * j, load_vec(plan.carried_offset + 3 * parent) + rotate(turn, place));
		store(plan.carried_rotation + 4 * j, multiply(turn, load_quat(plan.still + 7 * j)));
	}
}

void add_inertia(double* matrix, double weight, Vec3 o)
{
	double v[3] = {o.x, o.y, o.z}, square = dot(o, o);
	for (int a = 0; a < 3; ++a)
		for (int b = 0; b < 3; ++b)
			matrix[3 * a + b] += weight * ((a == b ? square : 0.0) - v[a] * v[b]);
}

// How far a small turn of each joint moves what it carries: symmetric matrices, in square metres.
void fill_inertia(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t i = 0; i < 9 * skeleton.joint_count; ++i)
		plan.inertia[i] = i % 9 % 4 == 0 ? 2.0 / 3.0 * SHELL * SHELL : 0.0;
	for (size_t k = 0; k < skeleton.joint_count; ++k)
		if (plan.carrier[k] >= 0 && (turns(plan.table + PLAN_COLUMNS * k) || plan.descendants[k] == 1))
			add_inertia(plan.inertia + 9 * plan.carrier[k], std::pow(double(plan.descendants[k]), SPREAD),
						load_vec(plan.carried_offset + 3 * k));
	for (size_t e = 0; e < skeleton.end_count; ++e)
	{
		size_t k = size_t(skeleton.end_joints[e]);
		Vec3 end = load_vec(skeleton.end_sites + 3 * e);
		if (turns(plan.table + PLAN_COLUMNS * k))
			add_inertia(plan.inertia + 9 * k, 1.0, end);
		else if (plan.carrier[k] >= 0)
			add_inertia(plan.inertia + 9 * plan.carrier[k], 1.0,
						load_vec(plan.carried_offset + 3 * k) +
							rotate(load_quat(plan.carried_rotation + 4 * k), end));
	}
}

// A skeleton at its mean pose, in the world.
struct MeanPose
{
	Vec3* places;
	Quat* turns;

	MeanPose(const Plan& plan, double* memory)
		: places(reinterpret_cast<Vec3*>(memory)),
		  turns(reinterpret_cast<Quat*>(memory + 3 * plan.skeleton->joint_count))
	{
		for (size_t j = 0; j < plan.skeleton->joint_count; ++j)
		{
			int32_t parent = plan.skeleton->parents[j];
			places[j] = load_vec(resting_place(plan, j)), turns[j] = load_quat(plan.still + 7 * j);
			if (parent < 0)
				continue;
			places[j] = places[parent] + rotate(turns[parent], places[j]);
			turns[j] = multiply(turns[parent], turns[j]);
		}
	}
};

// The joint's own origin, shell and bone ends; `end` is one past its last bone end.
void add_own(const Plan& plan, const MeanPose& pose, size_t joint, size_t* end, const Costs& costs)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	costs.add_point({0, 0, 0}, ORIGIN_WEIGHT);
	for (int a = 0; a < 3; ++a)
	{
		Vec3 axis = {a == 0 ? SHELL : 0, a == 1 ? SHELL : 0, a == 2 ? SHELL : 0};
		costs.add_point(rotate(pose.turns[joint], axis), SHELL_WEIGHT);
	}
	for (; *end > 0 && size_t(s.end_joints[*end - 1]) == joint; --*end)
		costs.add_point(rotate(pose.turns[joint], load_vec(s.end_sites + 3 * (*end - 1))), END_WEIGHT);
}

// What a turn of a joint costs, in its own frame.
void put_inertia(const Costs& costs, Quat world, double* inertia)
{
	double turn[9], half[9];
	matrix_of(world, turn);
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			half[3 * r + c] = costs.at(3 + r, 3) * turn[c] + costs.at(3 + r, 4) * turn[3 + c] +
							  costs.at(3 + r, 5) * turn[6 + c];
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			inertia[3 * r + c] =
				(turn[r] * half[c] + turn[3 + r] * half[3 + c] + turn[6 + r] * half[6 + c]) / USUAL_REST;
}

// Where hinges cannot take back everything: how far a small turn, or shift, of each joint moves what hangs on
// it at the mean pose, once the joints below have done what they can.
void fill_hinged_inertia(const Plan& plan, double* work)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	MeanPose pose(plan, work + 36 * s.joint_count);
	size_t end = s.end_count;
	for (size_t i = 0; i < 36 * s.joint_count; ++i)
		work[i] = 0;
	for (size_t j = s.joint_count; j-- > 0;)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& hinges = plan.hinges[j];
		int32_t parent = s.parents[j];
		Costs costs = {work + 36 * j};
		add_own(plan, pose, j, &end, costs);
		put_inertia(costs, pose.turns[j], plan.inertia + 9 * j);
		Quat frame = parent < 0 ? hinges.rest : multiply(pose.turns[parent], hinges.rest);
		if (row[ROTATION_KIND] == HINGE_ROTATION)
			for (int32_t i = 0; i < hinges.turns; ++i)
			{
				Vec3 axis = hinges.turn_axis(i);
				costs.take_out(3, rotate(frame, axis), 0.0);
				frame = multiply(frame, exponential(MEAN_GRID * row[MEAN + i] * axis));
			}
		else if (turns(row))
			costs.take_out(3);
		plan.shift_cost[j] = (costs.at(0, 0) + costs.at(1, 1) + costs.at(2, 2)) / (3 * USUAL_REST);
		frame = parent < 0 ? hinges.rest : multiply(pose.turns[parent], hinges.rest);
		if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
			for (int32_t i = 0; i < hinges.slides; ++i)
				costs.take_out(0, rotate(frame, hinges.slide_axis(i)), 0.0);
		else if (row[TRANSLATION_KIND] == MOVING_TRANSLATION)
			costs.take_out(0);
		if (parent >= 0)
			Costs{work + 36 * parent}.add_child(costs, pose.places[j] - pose.places[parent]);
	}
}

int32_t vector_family(int32_t descendants)
{
	int32_t family = 4;
	for (int32_t limit = 1; descendants > limit && family < 9; limit *= 2)
		++family;
	return family;
}

void add_track(Plan* plan, const Track& track)
{
	plan->tracks[plan->track_count++] = track;
	plan->channel_count += size_t(track.channels);
}

void add_position(Plan* plan, size_t j, const JointHinges& hinges)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	Track track = {
		int32_t(j), POSITION_TRACK, 3, int32_t(plan->channel_count), -1, j ? 1 : 0, -1, {}, {}, {}, 0, 0};
	double unit = plan->skeleton->hinge_count ? 1.0 / std::sqrt(plan->shift_cost[j])
											  : 1.0 / std::pow(double(plan->descendants[j]), 0.5 * SPREAD);
	store(track.base, load_vec(resting_place(*plan, j)));
	if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
	{
		track.channels = hinges.slides, track.hinge = int32_t(hinges.first);
		for (int32_t i = 0; i < hinges.slides; ++i)
			store(track.axes + 3 * i, unit * rotate(hinges.rest, hinges.slide_axis(i)));
	}
	else
		for (int a = 0; a < 3; ++a)
			track.axes[4 * a] = unit;
	track.key_index = row[TRANSLATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	add_track(plan, track);
}

// Axes of a rotation vector: column c of axes = root * (column c of turn), where root is the inverse square
// root of the inertia.
void vector_axes(const double* inertia, Vec3 basis, double* axes)
{
	double root[9], turn[9];
	inverse_square_root(inertia, root);
	matrix_of(exponential(basis), turn);
	for (int c = 0; c < 3; ++c)
		for (int a = 0; a < 3; ++a)
			axes[3 * c + a] =
				root[3 * a] * turn[c] + root[3 * a + 1] * turn[3 + c] + root[3 * a + 2] * turn[6 + c];
}

// An axis so long that a unit of turning about it moves what is carried by a metre.
Vec3 hinge_axis(const double* inertia, Vec3 axis)
{
	const double* m = inertia;
	Vec3 moved = {m[0] * axis.x + m[1] * axis.y + m[2] * axis.z,
				  m[3] * axis.x + m[4] * axis.y + m[5] * axis.z,
				  m[6] * axis.x + m[7] * axis.y + m[8] * axis.z};
	return 1.0 / std::sqrt(dot(axis, moved)) * axis;
}

void add_rotation(Plan* plan, size_t j, int32_t parent_track, const JointHinges& hinges)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	const int32_t kind = row[ROTATION_KIND];
	const double* inertia = plan->inertia + 9 * j;
	Track track = {};
	track.joint = int32_t(j), track.parent = parent_track, track.hinge = -1;
	track.first_channel = int32_t(plan->channel_count);
	track.family = kind != QUATERNION_ROTATION ? vector_family(plan->descendants[j]) : j ? 3 : 2;
	track.key_index = row[ROTATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	store(track.base, kind == QUATERNION_ROTATION ? Quat{0, 0, 0, 1}
					  : kind == HINGE_ROTATION	  ? hinges.rest
												  : load_quat(plan->still + 7 * j));
	double grid = plan->basis_grid;
	Vec3 basis = {grid * row[BASIS], grid * row[BASIS + 1], grid * row[BASIS + 2]};
	if (kind == VECTOR_ROTATION)
		track.kind = VECTOR_TRACK, track.channels = 3, vector_axes(inertia, basis, track.axes);
	else if (kind == HINGE_ROTATION)
	{
		track.kind = HINGE_TRACK, track.channels = hinges.turns;
		track.hinge = int32_t(hinges.first) + hinges.slides;
		for (int32_t i = 0; i < hinges.turns; ++i)
			store(track.axes + 3 * i, hinge_axis(inertia, hinges.turn_axis(i))),
				track.angles[i] = MEAN_GRID * row[MEAN + i];
	}
	else
		track.kind = QUATERNION_TRACK, track.channels = 4,
		track.axes[0] = 0.5 / std::sqrt((inertia[0] + inertia[4] + inertia[8]) / 3.0);
	add_track(plan, track);
}

template <typename T> T* take(uint8_t*& at, size_t count)
{
	T* found = reinterpret_cast<T*>(at);
	at += (count * sizeof(T) + 15) / 16 * 16;
	return found;
}

} // namespace

size_t plan_size(size_t joints)
{
	return joints * (67 * sizeof(double) + 3 * sizeof(int32_t) + 2 * sizeof(Track) + sizeof(JointHinges)) +
		   12 * 16;
}

bool build_plan(Plan* plan, void* memory, mocpack_Fault* fault)
{
	size_t joints = plan->skeleton->joint_count;
	uint8_t* at = static_cast<uint8_t*>(memory);
	plan->still = take<double>(at, 7 * joints);
	plan->carried_offset = take<double>(at, 3 * joints);
	plan->carried_rotation = take<double>(at, 4 * joints);
	plan->inertia = take<double>(at, 9 * joints);
	plan->shift_cost = take<double>(at, joints);
	double* work = take<double>(at, 43 * joints);
	plan->tracks = take<Track>(at, 2 * joints);
	plan->hinges = take<JointHinges>(at, joints);
	plan->descendants = take<int32_t>(at, joints);
	plan->carrier = take<int32_t>(at, joints);
	int32_t* rotation_track = take<int32_t>(at, joints); // of each joint or its nearest ancestor
	plan->track_count = plan->channel_count = 0;
	HingeCursor hinges(*plan->skeleton);
	for (size_t j = 0; j < joints; ++j)
		plan->hinges[j] = hinges.of(j);
	if (!valid(*plan, fault))
		return false;
	fill_still(*plan);
	count_descendants(*plan);
	fill_carried(*plan);
	if (plan->skeleton->hinge_count)
		fill_hinged_inertia(*plan, work);
	else
		fill_inertia(*plan);
	for (size_t j = 0; j < joints; ++j)
	{
		int32_t parent = plan->skeleton->parents[j];
		int32_t above = parent >= 0 ? rotation_track[parent] : -1;
		const JointHinges& own = plan->hinges[j];
		if (plan->table[PLAN_COLUMNS * j + TRANSLATION_KIND] >= MOVING_TRANSLATION)
			add_position(plan, j, own);
		rotation_track[j] = above;
		if (turns(plan->table + PLAN_COLUMNS * j))
		{
			rotation_track[j] = int32_t(plan->track_count);
			add_rotation(plan, j, above, own);
		}
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
// ---- src/reader/chunks.cpp
// The file as a whole: magic, version, then chunks of tag, length, checksum and body.
// ---- src/reader/chunks.h
// The chunks of a file, found and checked, and what they say.
// ---- src/reader/fields.h
// Bytes read field by field: never past their end, and once something is wrong, zeros.
// ---- src/reader/sentence.h
// What went wrong, in a sentence: a small formatter, so that no C library's is needed.

namespace mocpack
{

// Writes an error and appends to its message; what does not fit is left out.
class Sentence
{
  public:
	Sentence(mocpack_Error* error, mocpack_Status status, uint64_t offset = 0, uint64_t size = 0);

	Sentence& operator<<(const char* text);
	Sentence& operator<<(uint64_t number);
	// Whole numbers as they are, others to six digits after the point or as powers of two.
	Sentence& operator<<(double number);

	// Text of the file, in quotes: what is not plain ASCII as a question mark, what is long cut.
	Sentence& quote(const void* text, size_t size);

	operator mocpack_Status() const
	{
		return error_->status;
	}

  private:
	mocpack_Error* error_;
	size_t length_ = 0;

	void put(char letter);
};

} // namespace mocpack

namespace mocpack
{

class Fields
{
  public:
	// `where` names the part in sentences, `offset` is where in the file it stands; the error is written when
	// something is wrong, and only then.
	Fields(const char* where, const uint8_t* bytes, size_t size, uint64_t offset, mocpack_Error* error)
		: where_(where), at_(bytes), end_(bytes + size), offset_(offset), error_(error)
	{
	}

	bool good() const
	{
		return good_;
	}
	size_t left() const
	{
		return size_t(end_ - at_);
	}
	const uint8_t* at() const
	{
		return at_;
	}

	// Null where there are not so many.
	const uint8_t* raw(uint64_t size);
	uint8_t u8();
	uint16_t u16();
	float f32();
	double f64();
	uint64_t varint(uint64_t most = uint64_t(1) << 63);
	// A whole number of either sign: 0, -1, 1, -2, 2 …
	int64_t folded();

	// A number of few digits, n / 10^d, or the reciprocal of one; or a double.
	double short_number()
	{
		uint8_t form = u8();
		if (form == 255)
			return f64();
		int64_t whole = folded();
		check(form < 32 && whole != 0, ": a number of an unknown form, or of no digits");
		if (!good_)
			return 0;
		double scale = 1;
		for (int d = form & 15; d > 0; --d)
			scale *= 10;
		return form < 16 ? double(whole) / scale : scale / double(whole);
	}

	// Other bytes of the same part, inflated.
	Fields part(const uint8_t* bytes, size_t size) const
	{
		return Fields(where_, bytes, size, offset_, error_);
	}

	// Complains about bytes left over.
	void end();

	// Begins the sentence that says what is wrong; what is already wrong stays said.
	Sentence fail(mocpack_Status status);
	void check(bool right, const char* complaint);

  private:
	const char* where_;
	const uint8_t *at_, *end_;
	uint64_t offset_;
	mocpack_Error* error_;
	bool good_ = true;

	uint64_t number(int bytes);
};

} // namespace mocpack
// ---- src/reader/motion.h
// An open file, as the parts of the reader see it. Nothing changes it once it is open.
// ---- src/reader/memory.h
// Memory by the caller's allocator, within a limit; all of it goes at once, or piece by piece.

namespace mocpack
{

const uint64_t DEFAULT_LIMIT = 1000000000; // bytes, as in Python

// malloc and free, or one that gives nothing where the library was built without them.
mocpack_Allocator default_allocator();

class Memory
{
  public:
	Memory(const mocpack_Allocator& allocator, uint64_t limit) : allocator_(allocator), left_(limit)
	{
	}

	// Memory of zeros, which lasts until it is given back; null where there is too little.
	void* take(uint64_t size);

	template <typename T> T* take_array(uint64_t count)
	{
		if (count > left_ / sizeof(T))
			return nullptr;
		return static_cast<T*>(take(count * sizeof(T)));
	}

	void give_back(void* memory);
	void give_all_back();

	uint64_t left() const
	{
		return left_;
	}
	const mocpack_Allocator& allocator() const
	{
		return allocator_;
	}

  private:
	struct Piece
	{
		Piece *next, *before;
		size_t size; // with this
		size_t padding;
	};

	mocpack_Allocator allocator_;
	uint64_t left_;
	Piece* first_ = nullptr;
};

} // namespace mocpack

namespace mocpack
{

// The bytes of a file: at hand, or by a callback.
struct Bytes
{
	const uint8_t* all; // null: by the callback
	mocpack_Source source;

	// Bytes offset … offset + size - 1, which lie within the file: where they stand, or copied to `buffer`.
	// Null, and an error, where they cannot be had.
	const uint8_t* view(uint64_t offset, uint64_t size, void* buffer, mocpack_Error* error) const;
};

// When joints were seen: joint `joints[i]` first as `first[i]` says, then the other way from each of its
// changes on.
struct Gaps
{
	size_t joint_count;
	int32_t* joints;
	uint8_t* first;
	size_t* starts;	   // (joint_count + 1) where each one's changes begin
	uint64_t* changes; // frames, increasing
};

// The rotation channels of a joint, outermost first: 0 x, 1 y, 2 z; of more than two, only how many.
struct RotationChannels
{
	uint8_t turns, letters[2];
};

} // namespace mocpack

struct mocpack_Motion
{
	mocpack::Memory memory;
	mocpack::Bytes bytes;
	mocpack_Info info;
	mocpack::Gaps gaps;
	mocpack::RotationChannels* channels; // (J)
	double* channel_frames;				 // (J, 4) that channels turn in; null: none
	size_t hinge_count;
	int32_t* hinge_joints; // as in mocpack_Skeleton
	uint8_t* hinge_slides;
	double* hinge_axes;

	// What the codec knows: one tree, below a joint at the origin where the file has several.
	mocpack_Skeleton tree;
	size_t origins; // 1 where there is such a joint, else 0
	mocpack_KeysineHead* head;
	mocpack_KeysineLayout layout;
	uint64_t*
		part_offsets;	  // (parts + 1) where in the file each segment, and each group of each layer, begins
	uint64_t payload_end; // of what there is of the payload, in the file
	size_t longest_group; // frames, without the key at its end
	size_t largest_input; // bytes of a segment, or of all layers of a group

	explicit mocpack_Motion(const mocpack::Memory& own) : memory(own)
	{
	}

	size_t group_part(size_t layer, size_t group) const
	{
		return layout.segment_count + layer * layout.group_count + group;
	}

	// Groups, of which a clip of one frame has one without bytes.
	size_t group_count() const
	{
		return layout.group_count ? layout.group_count : 1;
	}

	size_t key_frame(size_t key) const
	{
		return mocpack_keysine_key_frame(head, key);
	}

	size_t group_at(uint64_t frame) const
	{
		size_t low = 0, high = group_count() - 1;
		while (low < high)
		{
			size_t middle = high - (high - low) / 2;
			if (key_frame(middle) <= frame)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	// Keys that a segment holds, the one at the end of its last group included.
	size_t keys_in_segment(size_t segment) const
	{
		size_t most = layout.groups_per_segment, left = layout.group_count - segment * most;
		return (left < most ? left : most) + 1;
	}

	size_t segment_of(size_t group) const
	{
		return layout.group_count ? group / layout.groups_per_segment : 0;
	}

	// Layers of a group whose bytes are all there, up to `most`.
	size_t whole_layers(size_t group, size_t most) const
	{
		size_t count = 0;
		while (count < most && part_offsets[group_part(count, group) + 1] <= payload_end)
			++count;
		return count;
	}
};

namespace mocpack
{

// What a byte of a file can stand for at most, so that a small file cannot announce any number of frames.
const uint64_t FRAMES_PER_BYTE = 64, SAMPLES_PER_BYTE = 16384;

struct Chunk
{
	bool found;
	const uint8_t* body; // of the motion, null where the file is read by a callback
	uint64_t size;
	uint64_t offset; // of the body, in the file
	uint64_t whole;	 // bytes of the chunk, with what stands before its body
	uint32_t checksum;
	Chunk* next; // of the same tag
};

struct Chunks
{
	Chunk head, skeleton, rest, hinges, time, meta, play, gaps, mesh, data;
	Chunk* tracks;
	size_t track_count;
	uint64_t missing; // bytes that the motion lacks
};

// Finds all chunks, and checks them but the motion. False, and an error, where a file cannot be read.
bool find_chunks(mocpack_Motion* motion, uint32_t flags, Chunks* chunks, mocpack_Error* error);

// Whether the motion's checksum is right, of a file in memory; that of others is not looked at.
bool check_data(const Chunks& chunks, mocpack_Error* error);

// The fields of a chunk; `name` as in "chunk SKEL".
inline Fields fields_of(const Chunk& chunk, const char* name, mocpack_Error* error)
{
	return Fields(name, chunk.body, size_t(chunk.size), chunk.offset, error);
}

inline bool no_memory(mocpack_Error* error, const char* what)
{
	Sentence(error, MOCPACK_NO_MEMORY) << what << " take more memory than the limit, or than there is";
	return false;
}

// Keeps a copy of a text, with a zero after it; false where there is no memory.
bool keep_text(const void* bytes, size_t size, mocpack_Text* text, Memory* memory);

// What the chunks say, put into the motion's info. `needed` receives the parameters without which the motion
// cannot be decoded, a JSON object or nothing.
bool read_head(const Chunk& chunk, mocpack_Motion* motion, mocpack_Text* needed, mocpack_Error* error);
bool read_skeleton(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_rest(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_hinges(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_metadata(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_start(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_times(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_play(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_gaps(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error);
bool read_tracks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error);

} // namespace mocpack

#include <cstring>

// ---- src/reader/crc32.h
// The checksum of chunks: CRC-32 as zlib has it.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

namespace crc32_tables
{

#ifdef MOCPACK_SMALL
const int SLICES = 1;
#else
const int SLICES = 4; // bytes at a time
#endif

struct Tables
{
	uint32_t of[SLICES][256];
};

constexpr Tables make()
{
	Tables t{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; ++bit)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
		t.of[0][byte] = crc;
	}
	for (int s = 1; s < SLICES; ++s)
		for (uint32_t byte = 0; byte < 256; ++byte)
			t.of[s][byte] = t.of[s - 1][byte] >> 8 ^ t.of[0][t.of[s - 1][byte] & 255];
	return t;
}

inline constexpr Tables TABLES = make();

} // namespace crc32_tables

// The checksum of more bytes after those that gave `crc`; 0 is that of none.
inline uint32_t crc32(uint32_t crc, const uint8_t* bytes, size_t size)
{
	const auto& t = crc32_tables::TABLES.of;
	crc = ~crc;
#ifndef MOCPACK_SMALL
	for (; size >= 4; size -= 4, bytes += 4)
	{
		crc ^= uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
			   uint32_t(bytes[3]) << 24;
		crc = t[3][crc & 255] ^ t[2][crc >> 8 & 255] ^ t[1][crc >> 16 & 255] ^ t[0][crc >> 24];
	}
#endif
	for (; size; --size, ++bytes)
		crc = crc >> 8 ^ t[0][(crc ^ *bytes) & 255];
	return ~crc;
}

} // namespace mocpack

namespace mocpack
{

namespace
{

const uint8_t MAGIC[4] = {0x93, 'M', 'O', 'C'};
const uint8_t FORMAT_VERSION = 1;
const size_t START = 5;					  // bytes of magic and version
const size_t LONGEST_HEADER = 4 + 10 + 4; // of a chunk

bool is_tag(const uint8_t* tag, const char* name)
{
	return !std::memcmp(tag, name, 4);
}

bool read_magic(const Bytes& bytes, mocpack_Error* error)
{
	uint8_t buffer[START];
	size_t size = bytes.source.size < START ? size_t(bytes.source.size) : START;
	const uint8_t* start = bytes.view(0, size, buffer, error);
	if (!start)
		return false;
	if (std::memcmp(start, MAGIC, size < 4 ? size : 4))
		Sentence(error, MOCPACK_NOT_MOCPACK) << "not a .mocp file";
	else if (size < START)
		Sentence(error, MOCPACK_TRUNCATED, size) << "the file ends inside its first five bytes";
	else if (start[4] < 1)
		Sentence(error, MOCPACK_CORRUPT, 4) << "format version 0: versions count from 1";
	else if (start[4] > FORMAT_VERSION)
		Sentence(error, MOCPACK_UNSUPPORTED, 4)
			<< "format version " << uint64_t(start[4]) << " is newer than " << uint64_t(FORMAT_VERSION)
			<< "; a newer mocpack reads it";
	else
		return true;
	return false;
}

// Where a chunk of a tag is kept; null: it is not.
Chunk* place_of(const uint8_t* tag, Chunks* chunks)
{
	static const struct
	{
		const char* tag;
		Chunk Chunks::* place;
	} PLACES[] = {{"HEAD", &Chunks::head},	 {"SKEL", &Chunks::skeleton}, {"REST", &Chunks::rest},
				  {"HING", &Chunks::hinges}, {"TIME", &Chunks::time},	  {"meta", &Chunks::meta},
				  {"play", &Chunks::play},	 {"vald", &Chunks::gaps},	  {"MESH", &Chunks::mesh},
				  {"DATA", &Chunks::data}};
	for (const auto& one : PLACES)
		if (is_tag(tag, one.tag))
			return &(chunks->*one.place);
	return nullptr;
}

// Why a chunk without a place keeps the file from being read; null: it may be skipped.
bool may_skip(const uint8_t* tag, uint64_t offset, mocpack_Error* error)
{
	if (is_tag(tag, "SCAL"))
		Sentence(error, MOCPACK_UNSUPPORTED, offset) << "chunk SCAL: joints with scales are not read here";
	else if (is_tag(tag, "CLIP"))
		Sentence(error, MOCPACK_UNSUPPORTED, offset)
			<< "chunk CLIP: a scene of several clips is not read here";
	else if (!(tag[0] >= 'a' && tag[0] <= 'z'))
		Sentence(error, MOCPACK_UNSUPPORTED, offset).operator<<("the file needs chunk ").quote(tag, 4)
			<< ", which a newer mocpack reads";
	else
		return true;
	return false;
}

struct Scan
{
	mocpack_Motion* motion;
	uint32_t flags;
	Chunks* chunks;
	mocpack_Error* error;
	Chunk** last_track;

	// Reads the chunk at a place, which becomes that of the next one.
	bool next(uint64_t* at)
	{
		const Bytes& bytes = motion->bytes;
		uint64_t left = bytes.source.size - *at;
		uint8_t buffer[LONGEST_HEADER];
		size_t size = left < LONGEST_HEADER ? size_t(left) : LONGEST_HEADER;
		const uint8_t* start = bytes.view(*at, size, buffer, error);
		if (!start)
			return false;
		Fields in("a chunk's header", start, size, *at, error);
		uint8_t tag[4] = {};
		if (const uint8_t* letters = in.raw(4))
			std::memcpy(tag, letters, 4);
		Chunk chunk = {};
		chunk.found = true;
		chunk.size = in.varint();
		for (int i = 0; i < 32; i += 8)
			chunk.checksum |= uint32_t(in.u8()) << i;
		if (!in.good())
			return false;
		size_t header = size_t(in.at() - start);
		chunk.offset = *at + header;
		chunk.whole = header + chunk.size;
		*at = chunk.offset + chunk.size;
		return keep(tag, chunk, left - header);
	}

	// `there`: bytes of the body, and of what follows it, that the file has.
	bool keep(const uint8_t* tag, Chunk chunk, uint64_t there)
	{
		Chunk* place = place_of(tag, chunks);
		bool is_data = place == &chunks->data, is_track = is_tag(tag, "trak");
		uint64_t missing = chunk.size > there ? chunk.size - there : 0;
		if (place && place->found)
		{
			Sentence(error, MOCPACK_CORRUPT, chunk.offset)
				.operator<<("the file has two chunks ")
				.quote(tag, 4);
			return false;
		}
		if (missing && !(is_data && (flags & MOCPACK_OPEN_CUT)))
		{
			Sentence(error, MOCPACK_TRUNCATED, chunk.offset).operator<<("chunk ").quote(tag, 4)
				<< " has " << there << " of " << chunk.size << " bytes";
			return false;
		}
		bool wanted = (place && place != &chunks->mesh) || is_track;
		if (is_data)
		{
			chunks->missing = missing;
			chunk.size -= missing;
			chunk.body = motion->bytes.all ? motion->bytes.all + chunk.offset : nullptr;
		}
		else if ((wanted || motion->bytes.all) && !load(tag, &chunk))
			return false;
		if (!wanted && !place && !may_skip(tag, chunk.offset, error))
			return false;
		if (place)
			*place = chunk;
		return !is_track || add_track(chunk);
	}

	// Brings the body into memory and checks it.
	bool load(const uint8_t* tag, Chunk* chunk)
	{
		void* buffer = nullptr;
		if (!motion->bytes.all && !(buffer = motion->memory.take(chunk->size + 1)))
			return no_memory(error, "the file's chunks");
		chunk->body = motion->bytes.view(chunk->offset, chunk->size, buffer, error);
		if (!chunk->body)
			return false;
		for (int i = 0; i < 4; ++i)
			if (tag[i] >= 128)
			{
				Sentence(error, MOCPACK_CORRUPT, chunk->offset) << "a chunk whose tag is not ASCII";
				return false;
			}
		if (crc32(crc32(0, tag, 4), chunk->body, size_t(chunk->size)) == chunk->checksum)
			return true;
		Sentence(error, MOCPACK_CORRUPT, chunk->offset).operator<<("chunk ").quote(tag, 4)
			<< " fails its checksum";
		return false;
	}

	bool add_track(const Chunk& chunk)
	{
		Chunk* kept = motion->memory.take_array<Chunk>(1);
		if (!kept)
			return no_memory(error, "the file's tracks");
		*kept = chunk;
		*last_track = kept;
		last_track = &kept->next;
		++chunks->track_count;
		return true;
	}
};

} // namespace

bool find_chunks(mocpack_Motion* motion, uint32_t flags, Chunks* chunks, mocpack_Error* error)
{
	if (!read_magic(motion->bytes, error))
		return false;
	Scan scan = {motion, flags, chunks, error, &chunks->tracks};
	for (uint64_t at = START; at < motion->bytes.source.size;)
		if (!scan.next(&at))
			return false;
	const char* missing = !chunks->head.found							   ? "HEAD"
						  : !chunks->skeleton.found && !chunks->mesh.found ? "SKEL"
						  : !chunks->data.found							   ? "DATA"
																		   : nullptr;
	if (missing)
		Sentence(error, MOCPACK_TRUNCATED, motion->bytes.source.size)
			<< "the file has no " << missing << " chunk";
	return !missing;
}

bool check_data(const Chunks& chunks, mocpack_Error* error)
{
	const Chunk& data = chunks.data;
	if (!data.body || chunks.missing)
		return true;
	const uint8_t tag[4] = {'D', 'A', 'T', 'A'};
	if (crc32(crc32(0, tag, 4), data.body, size_t(data.size)) == data.checksum)
		return true;
	Sentence(error, MOCPACK_CORRUPT, data.offset) << "chunk 'DATA' fails its checksum";
	return false;
}

} // namespace mocpack
// ---- src/reader/fields.cpp
// Bytes read field by field.

#include <cstring>

namespace mocpack
{

const uint8_t* Fields::raw(uint64_t size)
{
	if (!good_)
		return nullptr;
	if (size > left())
	{
		fail(MOCPACK_TRUNCATED) << " ends " << size - left() << " bytes too early";
		return nullptr;
	}
	at_ += size;
	return at_ - size;
}

// The lowest byte first.
uint64_t Fields::number(int bytes)
{
	const uint8_t* found = raw(uint64_t(bytes));
	uint64_t value = 0;
	for (int i = bytes; found && i-- > 0;)
		value = value << 8 | found[i];
	return value;
}

uint8_t Fields::u8()
{
	return uint8_t(number(1));
}

uint16_t Fields::u16()
{
	return uint16_t(number(2));
}

float Fields::f32()
{
	uint32_t bits = uint32_t(number(4));
	float value;
	std::memcpy(&value, &bits, 4);
	return value;
}

double Fields::f64()
{
	uint64_t bits = number(8);
	double value;
	std::memcpy(&value, &bits, 8);
	return value;
}

uint64_t Fields::varint(uint64_t most)
{
	uint64_t value = 0;
	for (int shift = 0; shift < 70 && good_; shift += 7)
	{
		uint8_t byte = u8();
		if (shift == 63 && byte > 1)
			break;
		value |= uint64_t(byte & 127) << shift;
		if (byte >= 128)
			continue;
		if (value <= most || !good_)
			return good_ ? value : 0;
		fail(MOCPACK_CORRUPT) << ": " << value << " where at most " << most << " can stand";
		return 0;
	}
	if (good_)
		fail(MOCPACK_CORRUPT) << ": a number does not end";
	return 0;
}

int64_t Fields::folded()
{
	uint64_t value = varint();
	return value & 1 ? -int64_t(value >> 1) - 1 : int64_t(value >> 1);
}

void Fields::end()
{
	if (good_ && left())
		fail(MOCPACK_CORRUPT) << " has " << uint64_t(left()) << " bytes too many";
}

Sentence Fields::fail(mocpack_Status status)
{
	good_ = false;
	return Sentence(error_, status, offset_) << where_;
}

void Fields::check(bool right, const char* complaint)
{
	if (good_ && !right)
		fail(MOCPACK_CORRUPT) << complaint;
}

} // namespace mocpack
// ---- src/reader/hinges.cpp
// What joints turn about and slide along: HING, which keysine decodes by.
#include <cmath>
#include <cstring>

// ---- src/reader/json.h
// Whether text is a JSON object in UTF-8; nothing of it is understood here but the name of its first entry.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

bool is_utf8(const uint8_t* text, size_t size);

struct JsonObject
{
	bool good;
	bool empty;
	const uint8_t* first_name; // as it stands between its quotes; null where the object is empty
	size_t first_name_size;
};

JsonObject read_json_object(const uint8_t* text, size_t size);

} // namespace mocpack
// ---- src/reader/numbers.h
// Matrices of real numbers beside the poses (docs/format.md, "Numbers"), as far as deflate alone codes them.

namespace mocpack
{

// Inflates up to the end of `in`, at most `most` bytes, into memory that is to be given back; null and an
// error otherwise.
uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size,
						const uint8_t* dictionary = nullptr, size_t dictionary_size = 0);

// Reads numbers (rows, columns) up to the end of `in`; false, and an error, where they are none.
bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory);

} // namespace mocpack

namespace mocpack
{

namespace
{

const size_t MOST_HINGES = 65535, LONGEST_HINGE_NAME = 1024;
const size_t MOST_ROWS = 1 << 24; // bytes, inflated
const uint8_t BY_ROWS = 0, BY_CHANNELS = 1;
const uint8_t OTHER_AXIS = 6, SLIDES = 8, HAS_LOWEST = 16, HAS_HIGHEST = 32;
const double AXIS_TOLERANCE = 1e-6, NEARLY_PARALLEL = 1e-3;
const int MOST_TURNS = 2, MOST_SLIDES = 3;

// Rows as the file has them, before they are ordered by joint.
struct Rows
{
	size_t count;
	int32_t* joints;
	uint8_t* kinds;
	double* axes; // (count, 3)
};

Vec3 unit_axis(int letter)
{
	return {letter == 0 ? 1.0 : 0, letter == 1 ? 1.0 : 0, letter == 2 ? 1.0 : 0};
}

// The smallest eigenvalue of the products of up to three unit vectors with each other.
double least_spread(const double* axes, int count)
{
	Vec3 a = load_vec(axes), b = count > 1 ? load_vec(axes + 3) : a, c = count > 2 ? load_vec(axes + 6) : b;
	double ab = dot(a, b), ac = dot(a, c), bc = dot(b, c);
	if (count < 3)
		return count < 2 ? 1.0 : 1.0 - std::fabs(ab);
	double p = std::sqrt((ab * ab + ac * ac + bc * bc) / 3), half = p > 0 ? ab * ac * bc / (p * p * p) : 0;
	half = half < -1 ? -1 : half > 1 ? 1 : half;
	const double PI = 3.14159265358979323846;
	return 1 + 2 * p * std::cos((std::acos(half) + 2 * PI) / 3);
}

struct HingeReader
{
	Fields in;
	mocpack_Motion* motion;
	Memory& memory;
	Rows rows = {};
	bool starved = false;

	template <typename T> T* array(uint64_t count)
	{
		T* found = in.good() ? memory.take_array<T>(count + 1) : nullptr;
		starved = starved || (in.good() && !found);
		return found;
	}

	bool going() const
	{
		return in.good() && !starved;
	}

	void lay_out(size_t count)
	{
		rows.count = count;
		rows.joints = array<int32_t>(count);
		rows.kinds = array<uint8_t>(count);
		rows.axes = array<double>(3 * uint64_t(count));
	}

	// Every joint of one or two rotation channels, about their axes.
	void by_channels()
	{
		const mocpack_Info& info = motion->info;
		size_t count = 0;
		for (size_t j = 0; j < info.joint_count; ++j)
			count += motion->channels[j].turns <= MOST_TURNS ? motion->channels[j].turns : 0;
		in.check(count > 0, ": hinges of channels, but no joint has one or two");
		lay_out(count);
		const uint8_t* bits = in.raw((2 * count + 7) / 8);
		for (size_t j = 0, h = 0; j < info.joint_count && going() && bits; ++j)
			for (int i = 0; i < motion->channels[j].turns && motion->channels[j].turns <= MOST_TURNS;
				 ++i, ++h)
			{
				Vec3 axis = unit_axis(motion->channels[j].letters[i]);
				if (motion->channel_frames)
					axis = rotate(load_quat(motion->channel_frames + 4 * j), axis);
				rows.joints[h] = int32_t(j);
				rows.kinds[h] = uint8_t((bits[2 * h / 8] >> 2 * h % 8 & 1 ? HAS_LOWEST : 0) |
										(bits[(2 * h + 1) / 8] >> (2 * h + 1) % 8 & 1 ? HAS_HIGHEST : 0));
				store(rows.axes + 3 * h, axis);
			}
		for (size_t b = 2 * count; bits && b % 8; ++b)
			in.check(!(bits[b / 8] >> b % 8 & 1), ": bits beyond the last hinge");
	}

	void by_rows()
	{
		const int64_t joints = int64_t(motion->info.joint_count);
		size_t count = size_t(in.varint(MOST_HINGES));
		in.check(count > 0, ": no hinges");
		lay_out(count);
		int64_t joint = -1;
		for (size_t h = 0; h < count && going(); ++h)
		{
			int64_t step = in.folded();
			in.check(step > -MOST_STEP && step < MOST_STEP, ": a joint that is not there");
			joint += in.good() ? step + 1 : 0;
			in.check(joint >= 0 && joint < joints, ": a joint that is not there");
			rows.joints[h] = int32_t(joint);
		}
		const uint8_t* kinds = in.raw(count);
		size_t others = 0;
		for (size_t h = 0; h < count && kinds && going(); ++h)
		{
			in.check(kinds[h] < 2 * HAS_HIGHEST && kinds[h] % SLIDES <= OTHER_AXIS,
					 ": an unknown kind of hinge");
			rows.kinds[h] = kinds[h];
			others += kinds[h] % SLIDES == OTHER_AXIS;
		}
		for (size_t h = 0; h < count && going(); ++h)
		{
			size_t size = size_t(in.varint(LONGEST_HINGE_NAME));
			const uint8_t* name = in.raw(size);
			in.check(!name || is_utf8(name, size), ": a name that is not UTF-8");
		}
		axes(others);
	}

	void axes(size_t others)
	{
		size_t size = size_t(in.varint(in.left()));
		const uint8_t* bytes = in.raw(size);
		double* numbers = array<double>(3 * uint64_t(others));
		Fields part = in.part(bytes, bytes ? size : 0);
		if (!going() || !read_numbers(&part, others, 3, numbers, &memory))
		{
			if (in.good() && !starved)
				failed = true;
			return;
		}
		const double* next = numbers;
		for (size_t h = 0; h < rows.count; ++h)
		{
			int axis = rows.kinds[h] % SLIDES;
			if (axis < OTHER_AXIS)
				store(rows.axes + 3 * h, (axis < 3 ? 1.0 : -1.0) * unit_axis(axis % 3));
			else
				std::memcpy(rows.axes + 3 * h, next, 3 * sizeof(double)), next += 3;
		}
		memory.give_back(numbers);
	}

	// Nobody needs them here, but what are none are no file.
	void limits()
	{
		size_t count = 0;
		for (size_t h = 0; h < rows.count && going(); ++h)
			count += ((rows.kinds[h] & HAS_LOWEST) > 0) + ((rows.kinds[h] & HAS_HIGHEST) > 0);
		double* numbers = array<double>(count);
		if (!going() || !read_numbers(&in, count, 1, numbers, &memory))
		{
			failed = true;
			return;
		}
		const double* next = numbers;
		for (size_t h = 0; h < rows.count; ++h)
		{
			bool low = rows.kinds[h] & HAS_LOWEST, high = rows.kinds[h] & HAS_HIGHEST;
			in.check(!low || !high || next[0] <= next[1], ": limits that are no range");
			next += low + high;
		}
		memory.give_back(numbers);
	}

	bool is_translated(int32_t joint) const
	{
		const mocpack_Info& info = motion->info;
		for (size_t m = 0; m < info.translated_count; ++m)
			if (info.translated_joints[m] == joint)
				return true;
		return false;
	}

	// By joint, those of one joint in their order.
	void put_in_order()
	{
		size_t joints = motion->info.joint_count;
		size_t* starts = array<size_t>(joints);
		int32_t* sorted = array<int32_t>(rows.count);
		uint8_t* slides = array<uint8_t>(rows.count);
		double* axes_of = array<double>(3 * uint64_t(rows.count));
		if (!going())
			return;
		for (size_t h = 0; h < rows.count; ++h)
			++starts[rows.joints[h] + 1];
		for (size_t j = 0; j < joints; ++j)
			starts[j + 1] += starts[j];
		for (size_t h = 0; h < rows.count; ++h)
		{
			size_t to = starts[rows.joints[h]]++;
			sorted[to] = rows.joints[h];
			slides[to] = (rows.kinds[h] & SLIDES) != 0;
			std::memcpy(axes_of + 3 * to, rows.axes + 3 * h, 3 * sizeof(double));
		}
		memory.give_back(starts);
		motion->hinge_count = rows.count;
		motion->hinge_joints = sorted, motion->hinge_slides = slides, motion->hinge_axes = axes_of;
		for (size_t h = 0; h < rows.count && going();)
			h = check_joint(h);
	}

	// The hinges of one joint from row h on; returns where the next one's begin.
	size_t check_joint(size_t first)
	{
		const uint8_t* slides = motion->hinge_slides;
		const int32_t* joints = motion->hinge_joints;
		size_t end = first, turning = 0, sliding = 0;
		for (; end < motion->hinge_count && joints[end] == joints[first]; ++end)
		{
			in.check(!slides[end] || !turning, ": a joint that turns before it slides");
			++(slides[end] ? sliding : turning);
			Vec3 axis = load_vec(motion->hinge_axes + 3 * end);
			in.check(std::fabs(std::sqrt(dot(axis, axis)) - 1) < AXIS_TOLERANCE,
					 ": axes that are no unit vectors");
		}
		in.check(turning <= MOST_TURNS && sliding <= MOST_SLIDES, ": a joint of too many hinges");
		in.check(!sliding || is_translated(joints[first]), ": a joint that slides, but is not translated");
		const double least = NEARLY_PARALLEL * NEARLY_PARALLEL, *axes_of = motion->hinge_axes + 3 * first;
		if (going())
			in.check(least_spread(axes_of, int(sliding)) >= least &&
						 least_spread(axes_of + 3 * sliding, int(turning)) >= least,
					 ": axes of a joint that point the same way");
		return end;
	}

	bool failed = false;
	static const int64_t MOST_STEP = 1 << 20;
};

} // namespace

bool read_hinges(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	const mocpack_Info& info = motion->info;
	Memory& memory = motion->memory;
	Fields body = fields_of(chunk, "chunk HING", error);
	uint8_t kind = body.u8();
	body.check(kind <= BY_CHANNELS, ": an unknown kind");
	if (!body.good())
		return false;
	HingeReader reader = {body, motion, memory};
	uint8_t* inflated = nullptr;
	if (kind == BY_ROWS)
	{
		size_t size = 0, names = 0;
		for (size_t j = 0; j < info.joint_count; ++j)
			names += info.names[j].size + 1;
		uint8_t* dictionary = memory.take_array<uint8_t>(uint64_t(names) + 1);
		if (!dictionary)
			return no_memory(error, "hinges");
		uint8_t* to = dictionary;
		for (size_t j = 0; j < info.joint_count; ++j, ++to)
		{
			std::memcpy(to, info.names[j].bytes, info.names[j].size);
			to += info.names[j].size;
		}
		names = names > 1 ? names - 1 : names; // one zero where there is nothing else
		inflated = inflate_fields(&body, MOST_ROWS, &memory, &size, dictionary, names);
		memory.give_back(dictionary);
		if (!inflated)
			return false;
		reader.in = body.part(inflated, size);
		reader.by_rows();
	}
	else
		reader.by_channels();
	if (reader.going() && !reader.failed)
		reader.limits();
	if (reader.going() && !reader.failed)
		reader.put_in_order();
	memory.give_back(inflated);
	if (reader.starved)
		return no_memory(error, "hinges");
	return reader.in.good() && !reader.failed;
}

} // namespace mocpack
// ---- src/reader/inflate.cpp
// Deflate streams (RFC 1951), unpacked: Huffman codes of lengths and distances, blocks of three kinds.
//
// Small before fast: skeletons and what else is deflated here have a few kilobytes.
// ---- src/reader/inflate.h
// Deflate streams (RFC 1951), unpacked.

namespace mocpack
{

struct Inflated
{
	mocpack_Status status; // MOCPACK_OK, MOCPACK_TRUNCATED or MOCPACK_CORRUPT
	size_t size;		   // bytes that come out
	const char* complaint; // what is wrong, where the status says so
};

// Unpacks a raw stream that must end with `src` and hold at most `most` bytes. dst is null, and only the size
// is found; or it has room for just that size. The dictionary stands, in thought, before the first byte.
Inflated inflate(const uint8_t* src, size_t src_size, const uint8_t* dictionary, size_t dictionary_size,
				 uint8_t* dst, size_t most);

} // namespace mocpack

namespace mocpack
{

namespace
{

const int LONGEST_CODE = 15, LITERALS = 288, DISTANCES = 30, LENGTH_CODES = 19;
const size_t LONGEST_WAY = 32768;

// Symbols by the length of their code, and among equals by number: how many have each length says it all.
struct Huffman
{
	uint16_t counts[LONGEST_CODE + 1], symbols[LITERALS];

	// False where more codes are asked for than there are.
	bool build(const uint8_t* lengths, int count)
	{
		for (uint16_t& n : counts)
			n = 0;
		for (int i = 0; i < count; ++i)
			++counts[lengths[i]];
		counts[0] = 0;
		uint16_t next[LONGEST_CODE + 1];
		next[1] = 0;
		left = 1;
		for (int l = 1; l <= LONGEST_CODE; ++l)
		{
			left = 2 * left - counts[l];
			if (left < 0)
				return false;
			if (l < LONGEST_CODE)
				next[l + 1] = uint16_t(next[l] + counts[l]);
		}
		for (int i = 0; i < count; ++i)
			if (lengths[i])
				symbols[next[lengths[i]]++] = uint16_t(i);
		return true;
	}

	// Codes that are not given: none but for a code of one symbol, or of no symbol at all, may have some.
	int left;

	bool whole() const
	{
		int used = 0;
		for (int l = 1; l <= LONGEST_CODE; ++l)
			used += counts[l];
		return !left || (used == 1 && counts[1] == 1) || !used;
	}
};

class Inflater
{
  public:
	Inflater(const uint8_t* src, size_t size, const uint8_t* dictionary, size_t dictionary_size, uint8_t* dst,
			 size_t most)
		: at_(src), end_(src + size), dictionary_(dictionary), known_(dictionary_size), dst_(dst), most_(most)
	{
	}

	Inflated run()
	{
		bool last = false;
		while (!last && !complaint_ && !ended_)
		{
			last = bits(1) != 0;
			uint32_t kind = bits(2);
			if (ended_)
				break;
			if (kind == 0)
				stored();
			else if (kind == 1)
				fixed();
			else if (kind == 2)
				dynamic();
			else
				complaint_ = "a block of an unknown kind";
		}
		if (complaint_)
			return {MOCPACK_CORRUPT, size_, complaint_};
		if (ended_)
			return {MOCPACK_TRUNCATED, size_, "the deflate stream is unfinished"};
		if (at_ < end_)
			return {MOCPACK_CORRUPT, size_, "bytes follow the deflate stream"};
		return {MOCPACK_OK, size_, nullptr};
	}

  private:
	const uint8_t *at_, *end_, *dictionary_;
	size_t known_;
	uint8_t* dst_;
	size_t most_, size_ = 0;
	uint32_t held_ = 0;
	int held_bits_ = 0;
	bool ended_ = false;
	const char* complaint_ = nullptr;

	uint32_t bits(int count)
	{
		while (held_bits_ < count)
		{
			if (at_ == end_)
			{
				ended_ = true;
				return 0;
			}
			held_ |= uint32_t(*at_++) << held_bits_;
			held_bits_ += 8;
		}
		uint32_t found = held_ & ((1u << count) - 1);
		held_ >>= count;
		held_bits_ -= count;
		return found;
	}

	// -1 where no symbol has the code.
	int symbol(const Huffman& codes)
	{
		int code = 0, first = 0, index = 0;
		for (int l = 1; l <= LONGEST_CODE; ++l)
		{
			code |= int(bits(1));
			if (ended_)
				return -1;
			int count = codes.counts[l];
			if (code - count < first)
				return codes.symbols[index + code - first];
			index += count;
			first = (first + count) << 1;
			code <<= 1;
		}
		return -1;
	}

	bool put(uint8_t byte)
	{
		if (size_ == most_)
		{
			complaint_ = "it inflates beyond its limit";
			return false;
		}
		if (dst_)
			dst_[size_] = byte;
		++size_;
		return true;
	}

	void stored()
	{
		held_ = 0, held_bits_ = 0;
		uint32_t size = bits(16), other = bits(16);
		if (ended_)
			return;
		if (size != (~other & 0xffff))
			complaint_ = "a stored block whose length contradicts itself";
		for (; size && !complaint_; --size)
		{
			if (at_ == end_)
			{
				ended_ = true;
				return;
			}
			put(*at_++);
		}
	}

	void fixed()
	{
		uint8_t lengths[LITERALS + DISTANCES];
		for (int i = 0; i < LITERALS; ++i)
			lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
		for (int i = 0; i < DISTANCES; ++i)
			lengths[LITERALS + i] = 5;
		Huffman literals, distances;
		literals.build(lengths, LITERALS);
		distances.build(lengths + LITERALS, DISTANCES);
		codes(literals, distances);
	}

	void dynamic()
	{
		static const uint8_t ORDER[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
													11, 4,	12, 3, 13, 2, 14, 1, 15};
		int literal_count = int(bits(5)) + 257, distance_count = int(bits(5)) + 1;
		int length_count = int(bits(4)) + 4;
		uint8_t lengths[LITERALS + DISTANCES + 2] = {};
		if (!ended_ && (literal_count > 286 || distance_count > DISTANCES))
			complaint_ = "more codes than there are symbols";
		if (ended_ || complaint_)
			return;
		for (int i = 0; i < length_count; ++i)
			lengths[ORDER[i]] = uint8_t(bits(3));
		Huffman literals, distances;
		if (ended_)
			return;
		if (!literals.build(lengths, LENGTH_CODES) || literals.left)
		{
			complaint_ = "code lengths whose own code is not whole";
			return;
		}
		if (!read_lengths(literals, lengths, literal_count + distance_count))
			return;
		if (!lengths[256])
			complaint_ = "a block without an end";
		else if (!literals.build(lengths, literal_count) || !literals.whole() ||
				 !distances.build(lengths + literal_count, distance_count) || !distances.whole())
			complaint_ = "a code that is not whole";
		else
			codes(literals, distances);
	}

	bool read_lengths(const Huffman& of_lengths, uint8_t* lengths, int count)
	{
		uint8_t found[LITERALS + DISTANCES + 2] = {};
		for (int i = 0; i < count;)
		{
			int s = symbol(of_lengths);
			if (s < 0)
				return reject();
			if (s < 16)
			{
				found[i++] = uint8_t(s);
				continue;
			}
			if (s == 16 && !i)
			{
				complaint_ = "a length repeated before there is one";
				return false;
			}
			uint8_t value = s == 16 ? found[i - 1] : 0;
			int repeats = s == 16 ? 3 + int(bits(2)) : s == 17 ? 3 + int(bits(3)) : 11 + int(bits(7));
			if (ended_)
				return false;
			if (i + repeats > count)
			{
				complaint_ = "more lengths than there are codes";
				return false;
			}
			while (repeats--)
				found[i++] = value;
		}
		for (int i = 0; i < count; ++i)
			lengths[i] = found[i];
		return true;
	}

	bool reject()
	{
		if (!ended_)
			complaint_ = "bits that are no code";
		return false;
	}

	void codes(const Huffman& literals, const Huffman& distances)
	{
		static const uint16_t LENGTHS[29] = {3,	 4,	 5,	 6,	 7,	 8,	 9,	 10, 11,  13,  15,	17,	 19,  23, 27,
											 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
		static const uint16_t WAYS[DISTANCES] = {
			1,	 2,	  3,   4,	5,	 7,	   9,	 13,   17,	 25,   33,	 49,   65,	  97,	 129,
			193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
		while (!complaint_)
		{
			int s = symbol(literals);
			if (s < 0)
			{
				reject();
				return;
			}
			if (s == 256)
				return;
			if (s < 256)
			{
				put(uint8_t(s));
				continue;
			}
			s -= 257;
			if (s >= 29)
			{
				complaint_ = "bits that are no length";
				return;
			}
			size_t length = LENGTHS[s] + bits(s < 8 || s == 28 ? 0 : (s - 4) / 4);
			int d = symbol(distances);
			if (d < 0 || ended_)
			{
				reject();
				return;
			}
			size_t way = WAYS[d] + bits(d < 4 ? 0 : (d - 2) / 2);
			if (ended_)
				return;
			copy(way, length);
		}
	}

	void copy(size_t way, size_t length)
	{
		// zlib keeps no more than a window of what came before, the dictionary's last part included
		if (way > size_ + known_ || way > LONGEST_WAY)
		{
			complaint_ = "a distance that reaches before the start";
			return;
		}
		for (; length && !complaint_; --length)
			put(!dst_ ? 0 : way <= size_ ? dst_[size_ - way] : dictionary_[known_ + size_ - way]);
	}
};

} // namespace

Inflated inflate(const uint8_t* src, size_t src_size, const uint8_t* dictionary, size_t dictionary_size,
				 uint8_t* dst, size_t most)
{
	return Inflater(src, src_size, dictionary, dictionary_size, dst, most).run();
}

} // namespace mocpack
// ---- src/reader/json.cpp
// Whether text is a JSON object in UTF-8.

namespace mocpack
{

// In which no half of a surrogate pair and no longer form than needed may stand.
bool is_utf8(const uint8_t* at, size_t size)
{
	const uint8_t* end = at + size;
	while (at < end)
	{
		int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : -1;
		if (more < 0 || end - at <= more)
			return false;
		if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
			(*at == 0xf4 && at[1] > 0x8f))
			return false;
		for (++at; more > 0; --more, ++at)
			if ((*at & 0xc0) != 0x80)
				return false;
	}
	return true;
}

namespace
{

const int DEEPEST = 500;

class Json
{
  public:
	Json(const uint8_t* text, size_t size) : at_(text), end_(text + size)
	{
	}

	JsonObject object()
	{
		JsonObject found = {false, true, nullptr, 0};
		skip();
		if (at_ == end_ || *at_ != '{')
			return found;
		first_ = &found;
		found.good = value(0);
		skip();
		found.good = found.good && at_ == end_;
		return found;
	}

  private:
	const uint8_t *at_, *end_;
	JsonObject* first_;

	void skip()
	{
		while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r'))
			++at_;
	}

	bool take(char letter)
	{
		skip();
		if (at_ == end_ || *at_ != uint8_t(letter))
			return false;
		++at_;
		return true;
	}

	bool word(const char* letters)
	{
		const uint8_t* at = at_;
		for (; *letters; ++letters, ++at)
			if (at == end_ || *at != uint8_t(*letters))
				return false;
		at_ = at;
		return true;
	}

	bool value(int depth)
	{
		skip();
		if (at_ == end_ || depth > DEEPEST)
			return false;
		if (*at_ == '{')
			return members(depth);
		if (*at_ == '[')
			return elements(depth);
		if (*at_ == '"')
			return string();
		// the last three are no JSON, but Python writes and reads them
		return word("true") || word("false") || word("null") || word("NaN") || word("Infinity") ||
			   word("-Infinity") || number();
	}

	bool members(int depth)
	{
		++at_;
		if (take('}'))
			return true;
		do
		{
			skip();
			const uint8_t* name = at_ + 1;
			if (!string())
				return false;
			if (first_->empty)
				first_->empty = false, first_->first_name = name,
				first_->first_name_size = size_t(at_ - 1 - name);
			if (!take(':') || !value(depth + 1))
				return false;
		} while (take(','));
		return take('}');
	}

	bool elements(int depth)
	{
		++at_;
		if (take(']'))
			return true;
		do
			if (!value(depth + 1))
				return false;
		while (take(','));
		return take(']');
	}

	bool string()
	{
		if (at_ == end_ || *at_ != '"')
			return false;
		for (++at_; at_ < end_ && *at_ != '"'; ++at_)
		{
			if (*at_ < ' ')
				return false;
			if (*at_ == '\\' && !escape())
				return false;
		}
		if (at_ == end_)
			return false;
		++at_;
		return true;
	}

	// Leaves the place at the last letter of the escape.
	bool escape()
	{
		if (++at_ == end_)
			return false;
		if (*at_ != 'u')
		{
			for (const char* known = "\"\\/bfnrt"; *known; ++known)
				if (*at_ == uint8_t(*known))
					return true;
			return false;
		}
		for (int i = 0; i < 4; ++i)
		{
			if (++at_ == end_)
				return false;
			bool digit = *at_ >= '0' && *at_ <= '9';
			if (!digit && !((*at_ | 32) >= 'a' && (*at_ | 32) <= 'f'))
				return false;
		}
		return true;
	}

	bool digits()
	{
		const uint8_t* start = at_;
		while (at_ < end_ && *at_ >= '0' && *at_ <= '9')
			++at_;
		return at_ > start;
	}

	bool number()
	{
		if (*at_ == '-')
			++at_;
		if (at_ < end_ && *at_ == '0')
			++at_;
		else if (!digits())
			return false;
		if (at_ < end_ && *at_ == '.' && !(++at_, digits()))
			return false;
		if (at_ < end_ && (*at_ | 32) == 'e')
		{
			++at_;
			if (at_ < end_ && (*at_ == '+' || *at_ == '-'))
				++at_;
			return digits();
		}
		return true;
	}
};

} // namespace

JsonObject read_json_object(const uint8_t* text, size_t size)
{
	if (!is_utf8(text, size))
		return {false, true, nullptr, 0};
	return Json(text, size).object();
}

} // namespace mocpack
// ---- src/reader/memory.cpp
// Memory by the caller's allocator, within a limit.

#include <cstring>

#ifndef MOCPACK_NO_MALLOC
#include <cstdlib>
#endif

namespace mocpack
{

namespace
{

void* allocate(void*, size_t size)
{
#ifdef MOCPACK_NO_MALLOC
	(void)size;
	return nullptr;
#else
	return std::malloc(size);
#endif
}

void release(void*, void* memory, size_t)
{
#ifdef MOCPACK_NO_MALLOC
	(void)memory;
#else
	std::free(memory);
#endif
}

} // namespace

mocpack_Allocator default_allocator()
{
	return {nullptr, allocate, release};
}

void* Memory::take(uint64_t size)
{
	static_assert(sizeof(Piece) % (2 * sizeof(void*)) == 0, "what follows is aligned as the piece is");
	uint64_t whole = size + sizeof(Piece);
	if (whole < size || whole > left_ || whole > SIZE_MAX / 2)
		return nullptr;
	Piece* piece = static_cast<Piece*>(allocator_.allocate(allocator_.user, size_t(whole)));
	if (!piece)
		return nullptr;
	*piece = {first_, nullptr, size_t(whole), 0};
	if (first_)
		first_->before = piece;
	first_ = piece;
	left_ -= whole;
	std::memset(piece + 1, 0, size_t(size));
	return piece + 1;
}

void Memory::give_back(void* memory)
{
	if (!memory)
		return;
	Piece* piece = static_cast<Piece*>(memory) - 1;
	(piece->before ? piece->before->next : first_) = piece->next;
	if (piece->next)
		piece->next->before = piece->before;
	left_ += piece->size;
	allocator_.release(allocator_.user, piece, piece->size);
}

void Memory::give_all_back()
{
	while (first_)
		give_back(first_ + 1);
}

} // namespace mocpack
// ---- src/reader/numbers.cpp
// Matrices of real numbers beside the poses.

#include <cmath>
#include <cstring>

namespace mocpack
{

namespace
{

enum Form
{
	DOUBLES,
	FLOATS,
	DECIMALS,
	GRID
};

const int MOST_DIGITS = 15;
const int64_t LARGEST_WHOLE = int64_t(1) << 53;
const size_t LONGEST_VARINT = 10; // bytes

double float_of(uint64_t bits, size_t width)
{
	if (width == 8)
	{
		double value;
		std::memcpy(&value, &bits, 8);
		return value;
	}
	uint32_t half = uint32_t(bits);
	float value;
	std::memcpy(&value, &half, 4);
	return double(value);
}

// Bits as bytes, highest first, each column by itself, each number xor the one of the row before.
bool read_floats(Fields* in, size_t rows, size_t columns, size_t width, double* numbers, Memory* memory)
{
	size_t size = 0, count = rows * columns;
	uint8_t* bytes = inflate_fields(in, uint64_t(width) * count, memory, &size);
	if (!bytes)
		return false;
	if (size != width * count)
		in->fail(MOCPACK_TRUNCATED) << ": numbers end too early";
	for (size_t c = 0; c < columns && in->good(); ++c)
	{
		uint64_t bits = 0;
		for (size_t t = 0; t < rows; ++t)
		{
			uint64_t changed = 0;
			for (size_t b = 0; b < width; ++b)
				changed = changed << 8 | bytes[b * count + c * rows + t];
			bits ^= changed;
			double value = float_of(bits, width);
			in->check(std::fabs(value) <= 1.7976931348623157e308, ": numbers that are not finite");
			numbers[t * columns + c] = value;
		}
	}
	memory->give_back(bytes);
	return in->good();
}

// The first row, then differences from row to row.
bool read_whole(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory)
{
	for (size_t c = 0; c < columns; ++c)
		numbers[c] = double(in->folded());
	uint8_t coder = in->u8();
	if (in->good() && coder)
		in->fail(MOCPACK_CORRUPT) << ": coder " << uint64_t(coder) << " of numbers, where only 0 can stand";
	if (!in->good())
		return false;
	size_t count = (rows - 1) * columns, size = 0;
	uint8_t* bytes = nullptr;
	if (in->left() && !(bytes = inflate_fields(in, uint64_t(LONGEST_VARINT) * count, memory, &size)))
		return false;
	Fields steps = in->part(bytes, size);
	for (size_t i = 0; i < count; ++i)
		numbers[columns + i] = bytes ? 0 : numbers[i % columns];
	if (bytes)
	{
		// steps stand row by row
		for (size_t i = 0; i < count && steps.good(); ++i)
		{
			int64_t step = steps.folded();
			steps.check(step <= LARGEST_WHOLE && step >= -LARGEST_WHOLE, ": numbers beyond 2^53");
			numbers[columns + i] = double(step);
		}
		steps.end();
		for (size_t c = 0; c < columns && steps.good(); ++c)
		{
			double sum = 0;
			for (size_t t = 1; t < rows; ++t)
			{
				sum += numbers[t * columns + c];
				numbers[t * columns + c] = numbers[c] + sum;
			}
		}
	}
	memory->give_back(bytes);
	return steps.good();
}

} // namespace

uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size, const uint8_t* dictionary,
						size_t dictionary_size)
{
	size_t packed = in->left();
	const uint8_t* src = in->raw(packed);
	if (!src && !in->good())
		return nullptr;
	size_t limit = most < SIZE_MAX / 2 ? size_t(most) : SIZE_MAX / 2;
	Inflated found = inflate(src, packed, dictionary, dictionary_size, nullptr, limit);
	if (found.status != MOCPACK_OK)
	{
		in->fail(found.status) << ": " << found.complaint;
		return nullptr;
	}
	// one byte more, so that nothing at all is memory too
	uint8_t* out = memory->take_array<uint8_t>(uint64_t(found.size) + 1);
	if (!out)
	{
		in->fail(MOCPACK_NO_MEMORY) << " inflates to " << uint64_t(found.size)
									<< " bytes, more than the memory limit leaves";
		return nullptr;
	}
	inflate(src, packed, dictionary, dictionary_size, out, found.size);
	*size = found.size;
	return out;
}

bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory)
{
	if (!rows)
	{
		in->end();
		return in->good();
	}
	uint8_t form = in->u8();
	if (form == DOUBLES || form == FLOATS)
		return in->good() && read_floats(in, rows, columns, form == DOUBLES ? 8 : 4, numbers, memory);
	in->check(form == DECIMALS || form == GRID, ": an unknown form of numbers");
	uint8_t digits = form == DECIMALS ? in->u8() : 0;
	float step = form == GRID ? in->f32() : 1.0f;
	in->check(digits <= MOST_DIGITS, ": numbers of too many digits");
	in->check(step > 0 && step <= 3.4028234663852886e38f, ": a grid whose step is no length");
	if (!in->good() || !read_whole(in, rows, columns, numbers, memory))
		return false;
	double power = 1;
	for (int d = 0; d < digits; ++d)
		power *= 10;
	for (size_t i = 0; i < rows * columns; ++i)
		numbers[i] = form == DECIMALS ? numbers[i] / power : numbers[i] * double(step);
	return true;
}

} // namespace mocpack
// ---- src/reader/open.cpp
// Opening a file: everything that is known before a pose is decoded.
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <new>

namespace mocpack
{

const uint8_t* Bytes::view(uint64_t offset, uint64_t size, void* buffer, mocpack_Error* error) const
{
	if (all)
		return all + offset;
	static const uint8_t NOTHING = 0;
	if (!size)
		return &NOTHING;
	mocpack_Status status = source.read(source.user, offset, size_t(size), buffer);
	if (status == MOCPACK_OK)
		return static_cast<uint8_t*>(buffer);
	if (status == MOCPACK_NEEDS_BYTES)
		Sentence(error, status, offset, size)
			<< "bytes " << offset << " to " << offset + size << " are needed first";
	else
		Sentence(error, MOCPACK_READ_FAILED, offset, size)
			<< "bytes " << offset << " to " << offset + size << " cannot be read";
	return nullptr;
}

namespace
{

const size_t LONGEST_HEAD_SIZE = 5; // bytes that say how long keysine's head is
const uint64_t LARGEST_HEAD = 1u << 31;
const uint32_t OLDEST_BITSTREAM = 1, NEWEST_BITSTREAM = 1;

struct Opening
{
	mocpack_Motion* motion;
	mocpack_Error* error;
	Chunks chunks;
	mocpack_Text needed;

	Sentence fail(mocpack_Status status, uint64_t offset)
	{
		return Sentence(error, status, offset);
	}

	bool run(uint32_t flags)
	{
		mocpack_Info& info = motion->info;
		info.file_size = motion->bytes.source.size;
		if (!find_chunks(motion, flags, &chunks, error) || !read_head(chunks.head, motion, &needed, error))
			return false;
		if (!chunks.skeleton.found)
		{
			fail(MOCPACK_CORRUPT, 0) << "a skeletal clip needs a SKEL chunk";
			return false;
		}
		info.missing_size = chunks.missing;
		if ((chunks.meta.found && !read_metadata(chunks.meta, motion, error)) ||
			!read_skeleton(chunks.skeleton, motion, error) ||
			(chunks.rest.found && !read_rest(chunks.rest, motion, error)) ||
			(chunks.hinges.found && !read_hinges(chunks.hinges, motion, error)) ||
			(chunks.time.found && !read_start(chunks.time, motion, error)) ||
			(chunks.play.found && !read_play(chunks.play, motion, error)) || !check_counts() ||
			!check_codec())
			return false;
		if ((chunks.time.found && !read_times(chunks.time, motion, error)) ||
			(chunks.gaps.found && !read_gaps(chunks.gaps, motion, error)) ||
			!read_tracks(chunks, motion, error))
			return false;
		if (!(flags & MOCPACK_OPEN_UNCHECKED) && !check_data(chunks, error))
			return false;
		return plant_tree() && read_payload_head() && find_parts(flags);
	}

	// So that a small file cannot announce any number of frames.
	bool check_counts()
	{
		const mocpack_Info& info = motion->info;
		uint64_t frames = info.frame_count, size = info.file_size + info.missing_size;
		uint64_t samples = frames <= UINT64_MAX / info.joint_count ? frames * info.joint_count : UINT64_MAX;
		if ((frames - 1) / FRAMES_PER_BYTE >= size || (samples - 1) / SAMPLES_PER_BYTE >= size)
		{
			fail(MOCPACK_CORRUPT, chunks.head.offset)
				<< frames << " frames are announced, more than " << size << " bytes can hold";
			return false;
		}
		if (frames > SIZE_MAX / 64)
		{
			fail(MOCPACK_NO_MEMORY, chunks.head.offset)
				<< frames << " frames are more than this machine counts";
			return false;
		}
		return true;
	}

	bool check_codec()
	{
		const mocpack_Info& info = motion->info;
		uint64_t at = chunks.head.offset;
		if (info.codec.size != 7 || std::memcmp(info.codec.bytes, "keysine", 7))
			fail(MOCPACK_UNSUPPORTED, at).operator<<("codec ").quote(info.codec.bytes, info.codec.size)
				<< " is not decoded here, only keysine is";
		else if (info.bitstream < 1)
			fail(MOCPACK_CORRUPT, at) << "keysine bitstream version 0: versions count from 1";
		else if (info.bitstream > NEWEST_BITSTREAM)
			fail(MOCPACK_UNSUPPORTED, at)
				<< "keysine bitstream version " << uint64_t(info.bitstream) << " is newer than "
				<< uint64_t(NEWEST_BITSTREAM) << "; a newer mocpack reads it";
		else if (info.bitstream < OLDEST_BITSTREAM)
			fail(MOCPACK_UNSUPPORTED, at)
				<< "keysine bitstream version " << uint64_t(info.bitstream) << " was never released";
		else
			return check_needed(at);
		return false;
	}

	// Parameters that a decoder must know: this one knows none.
	bool check_needed(uint64_t at)
	{
		if (!needed.size)
			return true;
		JsonObject object = read_json_object(reinterpret_cast<const uint8_t*>(needed.bytes), needed.size);
		if (object.empty)
			return true;
		fail(MOCPACK_UNSUPPORTED, at)
				.operator<<("keysine needs its parameter ")
				.quote(object.first_name, object.first_name_size)
			<< ", which a newer mocpack knows";
		return false;
	}

	// The skeleton as the codec knows it: with several roots, below a joint at the origin before all others.
	bool plant_tree()
	{
		mocpack_Info& info = motion->info;
		size_t joints = info.joint_count;
		for (size_t j = 1; j < joints; ++j)
			motion->origins |= info.parents[j] < 0;
		mocpack_Skeleton& tree = motion->tree;
		tree = {joints,
				info.parents,
				info.offsets,
				info.end_count,
				info.end_joints,
				info.end_sites,
				info.translated_count,
				info.translated_joints,
				info.rest_rotations,
				motion->hinge_count,
				motion->hinge_joints,
				motion->hinge_slides,
				motion->hinge_axes};
		if (!motion->origins)
			return true;
		Memory& memory = motion->memory;
		int32_t* parents = memory.take_array<int32_t>(joints + 1);
		double* offsets = memory.take_array<double>(3 * (uint64_t(joints) + 1));
		int32_t* ends = memory.take_array<int32_t>(info.end_count + 1);
		int32_t* translated = memory.take_array<int32_t>(info.translated_count + 1);
		double* rest = memory.take_array<double>(4 * (uint64_t(joints) + 1));
		if (!parents || !offsets || !ends || !translated || !rest)
			return no_memory(error, "the skeleton's joints");
		parents[0] = -1;
		for (size_t j = 0; j < joints; ++j)
			parents[j + 1] = info.parents[j] + 1;
		std::memcpy(offsets + 3, info.offsets, 3 * joints * sizeof(double));
		for (size_t i = 0; i < info.end_count; ++i)
			ends[i] = info.end_joints[i] + 1;
		for (size_t i = 0; i < info.translated_count; ++i)
			translated[i] = info.translated_joints[i] + 1;
		rest[3] = 1;
		for (size_t j = 0; j < joints; ++j)
			if (info.rest_rotations)
				std::memcpy(rest + 4 * (j + 1), info.rest_rotations + 4 * j, 4 * sizeof(double));
			else
				rest[4 * (j + 1) + 3] = 1;
		for (size_t h = 0; h < motion->hinge_count; ++h)
			++motion->hinge_joints[h];
		tree.rest = rest;
		tree.joint_count = joints + 1;
		tree.parents = parents, tree.offsets = offsets, tree.end_joints = ends;
		tree.translated_joints = translated;
		return true;
	}

	// Reads how long keysine's head is, and the head.
	bool read_payload_head()
	{
		const Chunk& data = chunks.data;
		uint8_t start[LONGEST_HEAD_SIZE];
		size_t some = data.size < LONGEST_HEAD_SIZE ? size_t(data.size) : LONGEST_HEAD_SIZE;
		const uint8_t* view = motion->bytes.view(data.offset, some, start, error);
		if (!view)
			return false;
		Fields in("keysine's head", view, some, data.offset, error);
		uint64_t size = in.varint(LARGEST_HEAD);
		if (!in.good())
			return false;
		if (size > data.size)
		{
			fail(MOCPACK_TRUNCATED, data.offset) << "the motion ends in keysine's head";
			return false;
		}
		void* buffer = nullptr;
		if (!motion->bytes.all && !(buffer = motion->memory.take(size + 1)))
			return no_memory(error, "keysine's head");
		view = motion->bytes.view(data.offset, size, buffer, error);
		bool good = view && parse_payload_head(view, size_t(size));
		motion->memory.give_back(buffer);
		return good;
	}

	bool parse_payload_head(const uint8_t* src, size_t size)
	{
		const size_t frames = size_t(motion->info.frame_count);
		mocpack_KeysineLayout shape = {};
		mocpack_Fault fault = {};
		mocpack_Status status = mocpack_keysine_peek(src, size, frames, &shape, &fault);
		if (status != MOCPACK_OK)
			return head_fault(status, fault);
		void* memory =
			motion->memory.take(mocpack_keysine_head_memory(src, size, motion->tree.joint_count, frames));
		if (!memory)
			return too_large();
		status = mocpack_keysine_open(src, size, &motion->tree, frames, memory, &motion->head, &fault);
		if (status != MOCPACK_OK)
			return head_fault(status, fault);
		motion->layout = mocpack_keysine_layout(motion->head);
		return true;
	}

	bool too_large()
	{
		fail(MOCPACK_NO_MEMORY, chunks.data.offset)
			<< motion->info.frame_count << " frames of " << uint64_t(motion->info.joint_count)
			<< " joints take more memory than the limit, or than there is";
		return false;
	}

	bool head_fault(mocpack_Status status, const mocpack_Fault& fault)
	{
		Sentence sentence = fail(status, chunks.data.offset);
		sentence << "keysine's head";
		if (status == MOCPACK_TRUNCATED)
			sentence << " ends too early";
		else if (!fault.field)
			sentence << " is damaged";
		else
		{
			if (fault.part)
				sentence << ": " << fault.part << " " << uint64_t(fault.index);
			sentence << ": " << fault.field << " " << fault.value << " is outside " << fault.low << ".."
					 << fault.high;
		}
		return false;
	}

	// Where the segments and groups stand.
	bool find_parts(uint32_t flags)
	{
		const mocpack_KeysineLayout& l = motion->layout;
		size_t parts = l.segment_count + l.layer_count * l.group_count;
		uint64_t* offsets = motion->memory.take_array<uint64_t>(uint64_t(parts) + 1);
		double* errors = motion->memory.take_array<double>(l.layer_count);
		if (!offsets || !errors)
			return too_large();
		offsets[0] = chunks.data.offset + l.head_size;
		for (size_t i = 0; i < parts; ++i)
			offsets[i + 1] = offsets[i] + l.sizes[i];
		motion->part_offsets = offsets;
		motion->payload_end = chunks.data.offset + chunks.data.size;
		uint64_t end = offsets[parts], announced = motion->payload_end + chunks.missing;
		uint64_t reached = flags & MOCPACK_OPEN_CUT ? offsets[l.segment_count] : end;
		if (reached > motion->payload_end)
		{
			fail(MOCPACK_TRUNCATED, motion->payload_end)
				<< "the motion ends " << reached - motion->payload_end << " bytes too early";
			return false;
		}
		if (end < announced)
		{
			fail(MOCPACK_CORRUPT, end) << "the motion has " << announced - end << " bytes too many";
			return false;
		}
		describe(errors);
		return true;
	}

	void describe(double* errors)
	{
		const mocpack_KeysineLayout& l = motion->layout;
		mocpack_Info& info = motion->info;
		mocpack_KeysineFields fields = mocpack_keysine_fields(motion->head);
		for (size_t i = 0; i < l.layer_count; ++i)
			errors[i] = double(fields.unit) * std::pow(2.0, fields.errors[i] / 8.0);
		info.layer_errors = errors;
		info.layer_count = l.layer_count;
		info.key_count = uint64_t(l.group_count) + 1;
		for (size_t g = 0; g < l.group_count; ++g)
		{
			size_t length = motion->key_frame(g + 1) - motion->key_frame(g), size = 0;
			for (size_t layer = 0; layer < l.layer_count; ++layer)
				size += l.sizes[motion->group_part(layer, g)];
			motion->longest_group = length > motion->longest_group ? length : motion->longest_group;
			motion->largest_input = size > motion->largest_input ? size : motion->largest_input;
		}
		for (size_t s = 0; s < l.segment_count; ++s)
			motion->largest_input = l.sizes[s] > motion->largest_input ? l.sizes[s] : motion->largest_input;
	}

	// Bodies that were read by a callback are not needed once everything is known.
	void forget_chunks()
	{
		for (const Chunk* chunk = chunks.tracks; chunk;)
		{
			const Chunk* next = chunk->next;
			forget(*chunk);
			motion->memory.give_back(const_cast<Chunk*>(chunk));
			chunk = next;
		}
		for (const Chunk* chunk : {&chunks.head, &chunks.skeleton, &chunks.hinges, &chunks.rest, &chunks.time,
								   &chunks.meta, &chunks.play, &chunks.gaps})
			forget(*chunk);
	}

	void forget(const Chunk& chunk)
	{
		if (!motion->bytes.all && chunk.body)
			motion->memory.give_back(const_cast<uint8_t*>(chunk.body));
	}
};

mocpack_Status open_bytes(const Bytes& bytes, const mocpack_OpenOptions* options, mocpack_Motion** motion,
						  mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	const mocpack_OpenOptions defaults = MOCPACK_OPEN_OPTIONS;
	const mocpack_OpenOptions& given = options ? *options : defaults;
	if (!motion || given.struct_size != sizeof given ||
		(given.allocator && (!given.allocator->allocate || !given.allocator->release)) ||
		given.flags > (MOCPACK_OPEN_CUT | MOCPACK_OPEN_UNCHECKED))
		return Sentence(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_open: options of another version, unknown flags, or nowhere to put the motion";
	*motion = nullptr;
	Memory memory(given.allocator ? *given.allocator : default_allocator(),
				  given.memory_limit ? given.memory_limit : DEFAULT_LIMIT);
	void* place = memory.take(sizeof(mocpack_Motion));
	if (!place)
		return Sentence(error, MOCPACK_NO_MEMORY) << "there is no memory for an open file";
	mocpack_Motion* made = new (place) mocpack_Motion(memory);
	made->bytes = bytes;
	Opening opening = {made, error, {}, {nullptr, 0}};
	if (!opening.run(given.flags))
	{
		Memory all = made->memory; // which holds the motion itself
		all.give_all_back();
		return error->status;
	}
	opening.forget_chunks();
	*motion = made;
	return MOCPACK_OK;
}

} // namespace

} // namespace mocpack

using namespace mocpack;

mocpack_Status mocpack_open(const void* bytes, size_t size, const mocpack_OpenOptions* options,
							mocpack_Motion** motion, mocpack_Error* error)
{
	static const uint8_t NOTHING = 0;
	Bytes all = {bytes ? static_cast<const uint8_t*>(bytes) : &NOTHING, {nullptr, bytes ? size : 0, nullptr}};
	return open_bytes(all, options, motion, error);
}

mocpack_Status mocpack_open_source(const mocpack_Source* source, const mocpack_OpenOptions* options,
								   mocpack_Motion** motion, mocpack_Error* error)
{
	if (source && source->read)
		return open_bytes({nullptr, *source}, options, motion, error);
	mocpack_Error unheard;
	return Sentence(error ? error : &unheard, MOCPACK_BAD_ARGUMENT)
		   << "mocpack_open_source: a source that cannot read";
}

void mocpack_close(mocpack_Motion* motion)
{
	if (!motion)
		return;
	Memory all = motion->memory;
	all.give_all_back();
}

const mocpack_Info* mocpack_info(const mocpack_Motion* motion)
{
	return &motion->info;
}

uint64_t mocpack_key_frame(const mocpack_Motion* motion, uint64_t key)
{
	uint64_t last = motion->layout.group_count;
	return motion->key_frame(size_t(key < last ? key : last));
}

double mocpack_frame_at(const mocpack_Motion* motion, double seconds)
{
	const mocpack_Info& info = motion->info;
	double last = double(info.frame_count - 1);
	if (!info.times)
	{
		double at = (seconds - info.start_time) / info.frame_time;
		return at > 0 ? (at < last ? at : last) : 0; // not a number: the first
	}
	uint64_t low = 0, high = info.frame_count - 1;
	if (!(seconds > info.times[0]))
		return 0;
	if (seconds >= info.times[high])
		return last;
	while (high - low > 1)
	{
		uint64_t middle = low + (high - low) / 2;
		(info.times[middle] <= seconds ? low : high) = middle;
	}
	return double(low) + (seconds - info.times[low]) / (info.times[high] - info.times[low]);
}

mocpack_Status mocpack_seen(const mocpack_Motion* motion, uint64_t first, uint64_t stop, uint8_t* seen,
							mocpack_Error* error)
{
	const mocpack_Info& info = motion->info;
	mocpack_Error unheard;
	if (first > stop || stop > info.frame_count)
		return Sentence(error ? error : &unheard, MOCPACK_BAD_ARGUMENT)
			   << "frames " << first << " to " << stop << " do not lie in a clip of " << info.frame_count
			   << " frames";
	size_t joints = info.joint_count;
	std::memset(seen, 1, size_t(stop - first) * joints);
	const Gaps& gaps = motion->gaps;
	for (size_t i = 0; i < gaps.joint_count; ++i)
	{
		size_t next = gaps.starts[i], last = gaps.starts[i + 1];
		uint8_t flag = gaps.first[i];
		for (uint64_t t = first; t < stop; ++t)
		{
			for (; next < last && gaps.changes[next] <= t; ++next)
				flag = !flag;
			seen[size_t(t - first) * joints + size_t(gaps.joints[i])] = flag;
		}
	}
	return MOCPACK_OK;
}

const char* mocpack_version(void)
{
#define MOCPACK_TEXT(x) #x
#define MOCPACK_DOTTED(a, b, c) MOCPACK_TEXT(a) "." MOCPACK_TEXT(b) "." MOCPACK_TEXT(c)
	return MOCPACK_DOTTED(MOCPACK_VERSION_MAJOR, MOCPACK_VERSION_MINOR, MOCPACK_VERSION_PATCH);
}

const char* mocpack_status_name(mocpack_Status status)
{
	switch (status)
	{
	case MOCPACK_OK:
		return "ok";
	case MOCPACK_TRUNCATED:
		return "truncated";
	case MOCPACK_CORRUPT:
		return "corrupt";
	case MOCPACK_NO_MEMORY:
		return "memory";
	case MOCPACK_NOT_MOCPACK:
		return "format";
	case MOCPACK_UNSUPPORTED:
		return "unsupported";
	case MOCPACK_READ_FAILED:
		return "read";
	case MOCPACK_NEEDS_BYTES:
		return "needs";
	case MOCPACK_BAD_ARGUMENT:
		return "argument";
	}
	return "unknown";
}
// ---- src/reader/pose.cpp
// Poses of the joints that a reader keeps.
// ---- src/reader/pose.h
// Poses of the joints that a reader keeps: between two frames, in the world, and into the caller's arrays.
#include <cstddef>
#include <cstdint>

namespace mocpack
{

// Which joints a reader keeps of a file's, in their order, and which of them it writes. A row of numbers is a
// pose: rotations (count, 4), then translations (moving_count, 3) of those that move in their parent's frame.
struct Rig
{
	size_t count, moving_count;
	const int32_t* parents; // (count) among those kept, -1 for a root
	const int32_t* moving;	// (count) which translation of a row, -1 for none
	const double* offsets;	// (count, 3)
	const int32_t* written; // (written_count) among those kept
	size_t written_count;

	size_t row_size() const
	{
		return 4 * count + 3 * moving_count;
	}
};

// A row between two others, t of the way, by slerp: the shorter way round.
void blend_rows(const Rig& rig, const float* a, const float* b, double t, float* out);
void blend_rows(const Rig& rig, const double* a, const double* b, double t, double* out);

// Writes a row as the caller's frame `frame`; scratch holds seven numbers for each joint kept.
void write_pose(const Rig& rig, mocpack_Space space, const float* row, float* scratch,
				const mocpack_Poses& poses, uint64_t frame);
void write_pose(const Rig& rig, mocpack_Space space, const double* row, double* scratch,
				const mocpack_Poses& poses, uint64_t frame);

// Turns quaternions of frames `first` to `stop` round where those of the frame before them are of the other
// sign.
template <typename Number>
void join_signs(const mocpack_Poses& poses, size_t joints, uint64_t first, uint64_t stop)
{
	Number* all = static_cast<Number*>(poses.rotations);
	const mocpack_Strides& s = poses.rotation;
	for (size_t j = 0; all && first && j < joints; ++j)
	{
		Number* at = all + size_t(first) * s.frame + j * s.joint;
		Number dot = 0;
		for (size_t c = 0; c < 4; ++c)
			dot += at[c * s.component] * (at - s.frame)[c * s.component];
		for (uint64_t t = first; dot < 0 && t < stop; ++t, at += s.frame)
			for (size_t c = 0; c < 4; ++c)
				at[c * s.component] = -at[c * s.component];
	}
}

} // namespace mocpack

#include <cmath>

namespace mocpack
{

namespace
{

// sin(t θ) / sin θ with cos θ = 1 - less, by the series of Eberly, A Fast and Accurate Algorithm for
// Computing SLERP (2011): sums and products alone. Exact to rounding while less is below MOST_LESS.
template <typename Number> struct SlerpSeries
{
	static const int TERMS = sizeof(Number) == 4 ? 5 : 10;

	static Number weight(Number t, Number less)
	{
		Number sum = 1, square = t * t;
		for (int i = TERMS; i > 0; --i)
			sum = 1 - sum * less * (square - Number(i * i)) * (Number(1) / Number(i * (2 * i + 1)));
		return t * sum;
	}
};

const double MOST_LESS = 0.05;

// out = the unit quaternion t of the way from a to b, the shorter way round. Angles that are too large for
// the series are halved.
template <typename Number> inline void slerp(const Number* a, const Number* b, Number t, Number* out)
{
	Number dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3],
		   sign = dot < 0 ? Number(-1) : Number(1);
	Number chord = 0, from[4], to[4];
	for (int c = 0; c < 4; ++c)
	{
		from[c] = a[c], to[c] = sign * b[c];
		chord += (to[c] - from[c]) * (to[c] - from[c]);
	}
	Number less = chord / 2; // 1 - cos θ, and more of its digits
	while (less > Number(MOST_LESS))
	{
		Number middle[4], square = 0;
		for (int c = 0; c < 4; ++c)
			middle[c] = from[c] + to[c], square += middle[c] * middle[c];
		Number scale = 1 / std::sqrt(square);
		bool late = t >= Number(0.5);
		for (int c = 0; c < 4; ++c)
			(late ? from : to)[c] = scale * middle[c];
		t = late ? 2 * t - 1 : 2 * t;
		Number cosine = std::sqrt(1 - less / 2);
		less = less / 2 / (1 + cosine); // 1 - cos(θ / 2)
	}
	Number u = SlerpSeries<Number>::weight(1 - t, less), v = SlerpSeries<Number>::weight(t, less);
	for (int c = 0; c < 4; ++c)
		out[c] = u * from[c] + v * to[c];
}

// A row between two others. Joints are taken so many at a time, so that compilers find numbers side by side.
template <typename Number>
inline void blend(const Rig& rig, const Number* a, const Number* b, Number t, Number* out)
{
	const size_t MANY = 16, count = rig.count;
	for (size_t first = 0; first < count; first += MANY)
	{
		const size_t some = count - first < MANY ? count - first : MANY;
		const Number *p = a + 4 * first, *q = b + 4 * first;
		Number* o = out + 4 * first;
		Number less[MANY], sign[MANY], from[MANY], to[MANY], most = 0;
		for (size_t j = 0; j < MANY; ++j)
			less[j] = 0, sign[j] = 1;
		for (size_t j = 0; j < some; ++j)
		{
			const Number *u = p + 4 * j, *v = q + 4 * j;
			Number dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2] + u[3] * v[3];
			Number s = dot < 0 ? Number(-1) : Number(1);
			Number x = s * v[0] - u[0], y = s * v[1] - u[1], z = s * v[2] - u[2], w = s * v[3] - u[3];
			sign[j] = s;
			less[j] = (x * x + y * y + z * z + w * w) / 2;
		}
		for (size_t j = 0; j < MANY; ++j)
		{
			from[j] = SlerpSeries<Number>::weight(1 - t, less[j]);
			to[j] = sign[j] * SlerpSeries<Number>::weight(t, less[j]);
			most = less[j] > most ? less[j] : most;
		}
		for (size_t j = 0; j < some; ++j)
			for (size_t c = 0; c < 4; ++c)
				o[4 * j + c] = from[j] * p[4 * j + c] + to[j] * q[4 * j + c];
		for (size_t j = 0; most > Number(MOST_LESS) && j < some; ++j)
			slerp(p + 4 * j, q + 4 * j, t, o + 4 * j);
	}
	for (size_t i = 4 * count; i < rig.row_size(); ++i)
		out[i] = (1 - t) * a[i] + t * b[i];
}

// World rotations (count, 4) and positions (count, 3) of a row.
template <typename Number>
void solve_world(const Rig& rig, const Number* row, Number* rotations, Number* positions)
{
	for (size_t j = 0; j < rig.count; ++j)
	{
		const Number* q = row + 4 * j;
		Number p[3];
		for (int c = 0; c < 3; ++c)
			p[c] = rig.moving[j] < 0 ? Number(rig.offsets[3 * j + c])
									 : row[4 * rig.count + 3 * size_t(rig.moving[j]) + c];
		Number *turn = rotations + 4 * j, *place = positions + 3 * j;
		if (rig.parents[j] < 0)
		{
			for (int c = 0; c < 4; ++c)
				turn[c] = q[c];
			for (int c = 0; c < 3; ++c)
				place[c] = p[c];
			continue;
		}
		const Number* b = rotations + 4 * rig.parents[j];
		const Number* from = positions + 3 * rig.parents[j];
		turn[0] = b[3] * q[0] + b[0] * q[3] + b[1] * q[2] - b[2] * q[1];
		turn[1] = b[3] * q[1] - b[0] * q[2] + b[1] * q[3] + b[2] * q[0];
		turn[2] = b[3] * q[2] + b[0] * q[1] - b[1] * q[0] + b[2] * q[3];
		turn[3] = b[3] * q[3] - b[0] * q[0] - b[1] * q[1] - b[2] * q[2];
		// p + 2 w (b × p) + 2 b × (b × p)
		Number x = 2 * (b[1] * p[2] - b[2] * p[1]), y = 2 * (b[2] * p[0] - b[0] * p[2]),
			   z = 2 * (b[0] * p[1] - b[1] * p[0]);
		place[0] = from[0] + p[0] + b[3] * x + b[1] * z - b[2] * y;
		place[1] = from[1] + p[1] + b[3] * y + b[2] * x - b[0] * z;
		place[2] = from[2] + p[2] + b[3] * z + b[0] * y - b[1] * x;
	}
}

// Where the numbers of one frame are written.
template <typename Number> struct Target
{
	Number *rotations, *translations;
	const mocpack_Strides &rotation, &translation;

	Target(const mocpack_Poses& poses, uint64_t frame)
		: rotations(static_cast<Number*>(poses.rotations)),
		  translations(static_cast<Number*>(poses.translations)), rotation(poses.rotation),
		  translation(poses.translation)
	{
		if (rotations)
			rotations += size_t(frame) * rotation.frame;
		if (translations)
			translations += size_t(frame) * translation.frame;
	}

	void put_rotation(size_t j, const Number* q) const
	{
		Number* to = rotations + j * rotation.joint;
		for (size_t c = 0; c < 4; ++c)
			to[c * rotation.component] = q[c];
	}

	template <typename Source> void put_translation(size_t j, const Source* p) const
	{
		Number* to = translations + j * translation.joint;
		for (size_t c = 0; c < 3; ++c)
			to[c * translation.component] = Number(p[c]);
	}
};

// Writes a row as it is.
template <typename Number> void write_local(const Rig& rig, const Number* row, const Target<Number>& out)
{
	if (out.rotations)
		for (size_t i = 0; i < rig.written_count; ++i)
			out.put_rotation(i, row + 4 * rig.written[i]);
	if (out.translations)
		for (size_t i = 0; i < rig.written_count; ++i)
		{
			size_t j = size_t(rig.written[i]);
			if (rig.moving[j] < 0)
				out.put_translation(i, rig.offsets + 3 * j);
			else
				out.put_translation(i, row + 4 * rig.count + 3 * rig.moving[j]);
		}
}

// Writes a row in the world; scratch holds seven numbers for each joint.
template <typename Number>
void write_world(const Rig& rig, const Number* row, Number* scratch, const Target<Number>& out)
{
	Number* positions = scratch + 4 * rig.count;
	solve_world(rig, row, scratch, positions);
	for (size_t i = 0; i < rig.written_count; ++i)
	{
		if (out.rotations)
			out.put_rotation(i, scratch + 4 * rig.written[i]);
		if (out.translations)
			out.put_translation(i, positions + 3 * rig.written[i]);
	}
}

template <typename Number>
void write(const Rig& rig, mocpack_Space space, const Number* row, Number* scratch, const Target<Number>& out)
{
	if (!SMALL && space == MOCPACK_WORLD)
		write_world(rig, row, scratch, out);
	else
		write_local(rig, row, out);
}

} // namespace

void blend_rows(const Rig& rig, const float* a, const float* b, double t, float* out)
{
	blend(rig, a, b, float(t), out);
}

void blend_rows(const Rig& rig, const double* a, const double* b, double t, double* out)
{
	blend(rig, a, b, t, out);
}

void write_pose(const Rig& rig, mocpack_Space space, const float* row, float* scratch,
				const mocpack_Poses& poses, uint64_t frame)
{
	write(rig, space, row, scratch, Target<float>(poses, frame));
}

void write_pose(const Rig& rig, mocpack_Space space, const double* row, double* scratch,
				const mocpack_Poses& poses, uint64_t frame)
{
	write(rig, space, row, scratch, Target<double>(poses, frame));
}

} // namespace mocpack
// ---- src/reader/reader.cpp
// Decodes poses of an open file, for one thread: groups as they are needed, the last of them remembered.
#include <cmath>
#include <cstring>
#include <new>

namespace mocpack
{

namespace
{

const double UNIT_TOLERANCE = 1e-3;	 // of a quaternion's length
const double FARTHEST_DECODED = 2e7; // metres, as in Python
const size_t NONE = SIZE_MAX, MOST_LAYERS = MOCPACK_KEYSINE_MOST_LAYERS;
const size_t MOST_TASKS = 1024;

// What decoding a group takes, for one task at a time.
struct Lane
{
	size_t segment; // whose keys are at hand
	int32_t* keys;
	void* scratch;
	double *rotations, *translations;
	uint8_t* input;
	void* rows;	 // of a group, in the reader's numbers; null for the first lane, which decodes into slots
	void* row;	 // of one pose
	void* world; // what writing one in the world takes
	mocpack_Error error;
	size_t failed_group;
};

// A group that was decoded.
struct Slot
{
	size_t group;
	uint64_t first, stop; // frames; that of the key at its end is there too
	uint64_t used;		  // by the reader's clock
	void* rows;
};

} // namespace

} // namespace mocpack

using namespace mocpack;

struct mocpack_Reader
{
	const mocpack_Motion* motion;
	bool owned; // its memory is to be given back
	size_t memory_size;
	mocpack_Number number;
	mocpack_Space space;
	size_t layers;
	Rig rig;
	size_t decoded_count;		 // joints that the codec decodes, an origin included
	const uint8_t* turned_roots; // (rig.count) 1 where an origin's turn goes to the joint; null without one
	mocpack_KeysineColumns columns; // of the codec's joints
	bool all_columns;
	size_t most_frames; // of a group, with the key at its end
	size_t slot_count, lane_count;
	Slot* slots;
	Lane* lanes;
	size_t last_slot;
	uint64_t clock;
	mocpack_Tasks tasks;

	const mocpack_KeysineColumns* decoded_columns() const
	{
		return all_columns ? nullptr : &columns;
	}
	size_t number_size() const
	{
		return number == MOCPACK_FLOAT32 ? 4 : 8;
	}
};

namespace
{

bool options_good(const mocpack_Motion& motion, const mocpack_ReaderOptions& o)
{
	if (o.struct_size != sizeof o || (o.number != MOCPACK_FLOAT32 && o.number != MOCPACK_FLOAT64) ||
		(o.space != MOCPACK_LOCAL && o.space != MOCPACK_WORLD) || (o.joints && !o.joint_count) ||
		(o.tasks && (!o.tasks->run || !o.tasks->most)))
		return false;
	if (SMALL && (o.number != MOCPACK_FLOAT64 || o.space != MOCPACK_LOCAL || o.tasks))
		return false;
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		if (o.joints[i] < 0 || size_t(o.joints[i]) >= motion.info.joint_count)
			return false;
	return true;
}

// How many there are of what a reader is made of; of joints, the most that there can be.
struct ReaderCounts
{
	size_t joints, kept, moving, decoded, written, frames, row_bytes, slots, lanes;

	ReaderCounts(const mocpack_Motion& m, const mocpack_ReaderOptions& o)
	{
		joints = m.info.joint_count;
		written = o.joints ? o.joint_count : joints;
		kept = o.space == MOCPACK_WORLD || written > joints ? joints : written;
		moving = m.info.translated_count < kept ? m.info.translated_count : kept;
		decoded = kept + m.origins;
		frames = m.longest_group + 1;
		row_bytes = (o.number == MOCPACK_FLOAT32 ? 4 : 8) * (4 * kept + 3 * moving);
		lanes = o.tasks ? (o.tasks->most < MOST_TASKS ? o.tasks->most : MOST_TASKS) : 1;
		size_t group = row_bytes * frames, groups = m.group_count();
		slots = group ? o.cache_size / group : 1;
		slots = slots < 1 ? 1 : slots > groups ? groups : slots;
	}
};

// Whether everything that is counted below stays far from what a size_t holds.
bool countable(const mocpack_Motion& m, const ReaderCounts& n)
{
	const uint64_t padding = 16u << MOCPACK_KEYSINE_MOST_SPLITS;
	uint64_t scratch = uint64_t(m.layout.channel_count) * (n.frames + padding) * 16;
	uint64_t group = uint64_t(n.frames) * (n.decoded + 1) * 64;
	uint64_t keys = uint64_t(m.layout.channel_count) * (uint64_t(m.keys_in_segment(0)) + 1) * 4;
	uint64_t lane = scratch + 2 * group + keys + m.largest_input;
	uint64_t slots = uint64_t(n.slots) * (group + 64), most = SIZE_MAX / 8;
	return scratch < most && group < most && keys < most && lane < most / n.lanes &&
		   slots / n.slots >= group && slots < most;
}

// Hands out the parts of a reader; over no memory, counts how much they take.
struct ReaderRooms
{
	mocpack_Reader* reader;
	uint8_t *kept, *turned;
	int32_t *numbers, *parents, *moving, *written, *rotation_columns, *translation_columns;
	double* offsets;
	Slot* slots;
	Lane* lanes;

	ReaderRooms(const mocpack_Motion& m, const ReaderCounts& n, Arena* arena)
	{
		reader = arena->take<mocpack_Reader>(1);
		kept = arena->take<uint8_t>(n.joints);
		turned = arena->take<uint8_t>(n.joints);
		numbers = arena->take<int32_t>(n.joints);
		parents = arena->take<int32_t>(n.kept);
		moving = arena->take<int32_t>(n.kept);
		written = arena->take<int32_t>(n.written);
		rotation_columns = arena->take<int32_t>(m.tree.joint_count);
		translation_columns = arena->take<int32_t>(m.tree.translated_count);
		offsets = arena->take<double>(3 * n.kept);
		slots = arena->take<Slot>(n.slots);
		lanes = arena->take<Lane>(n.lanes);
		for (size_t i = 0; i < n.lanes; ++i)
			take_lane(m, n, i, arena);
		for (size_t i = 0; i < n.slots; ++i)
		{
			void* rows = arena->take<uint8_t>(n.row_bytes * n.frames);
			if (slots)
				slots[i] = {NONE, 0, 0, 0, rows};
		}
	}

	void take_lane(const mocpack_Motion& m, const ReaderCounts& n, size_t i, Arena* arena)
	{
		Lane lane = {};
		lane.segment = NONE;
		lane.keys = arena->take<int32_t>(m.keys_in_segment(0) * m.layout.channel_count);
		size_t scratch = mocpack_keysine_group_scratch(m.head),
			   other = mocpack_keysine_segment_scratch(m.head);
		lane.scratch = arena->take<uint8_t>(scratch > other ? scratch : other);
		lane.rotations = arena->take<double>(4 * n.decoded * n.frames);
		lane.translations = arena->take<double>(3 * n.moving * n.frames);
		lane.input = arena->take<uint8_t>(m.bytes.all ? 0 : m.largest_input);
		lane.rows = i ? arena->take<uint8_t>(n.row_bytes * n.frames) : nullptr;
		lane.row = arena->take<uint8_t>(n.row_bytes);
		lane.world = arena->take<double>(7 * n.kept);
		if (lanes)
			lanes[i] = lane;
	}
};

size_t size_of_reader(const mocpack_Motion& motion, const mocpack_ReaderOptions& options)
{
	if (!options_good(motion, options))
		return 0;
	ReaderCounts counts(motion, options);
	if (!countable(motion, counts))
		return 0;
	Arena arena(nullptr);
	ReaderRooms(motion, counts, &arena);
	return arena.used();
}

// Chooses which joints are kept, and where the codec is to put them.
void choose_joints(const mocpack_Motion& m, const mocpack_ReaderOptions& o, const ReaderRooms& rooms,
				   mocpack_Reader* r)
{
	const mocpack_Info& info = m.info;
	std::memset(rooms.kept, !o.joints, info.joint_count);
	for (size_t i = 0; o.joints && i < o.joint_count; ++i)
		rooms.kept[o.joints[i]] = 1;
	// in the world a joint stands where all that it hangs on put it
	for (size_t j = info.joint_count; o.space == MOCPACK_WORLD && j-- > 0;)
		if (rooms.kept[j] && info.parents[j] >= 0)
			rooms.kept[info.parents[j]] = 1;
	size_t count = 0, moved = 0, next = 0;
	for (size_t j = 0; j < m.tree.joint_count; ++j)
		rooms.rotation_columns[j] = -1;
	if (m.origins)
		rooms.rotation_columns[0] = 0;
	for (size_t j = 0; j < info.joint_count; ++j)
	{
		bool translated = next < info.translated_count && size_t(info.translated_joints[next]) == j;
		if (translated)
			rooms.translation_columns[next++] = rooms.kept[j] ? int32_t(moved) : -1;
		if (!rooms.kept[j])
			continue;
		rooms.moving[count] = translated ? int32_t(moved++) : -1;
		rooms.parents[count] = info.parents[j] < 0 ? -1 : rooms.numbers[info.parents[j]];
		rooms.turned[count] = info.parents[j] < 0;
		std::memcpy(rooms.offsets + 3 * count, info.offsets + 3 * j, 3 * sizeof(double));
		rooms.rotation_columns[j + m.origins] = int32_t(count + m.origins);
		rooms.numbers[j] = int32_t(count++);
	}
	r->rig = {count, moved, rooms.parents, rooms.moving, rooms.offsets, rooms.written, 0};
	r->rig.written_count = o.joints ? o.joint_count : info.joint_count;
	for (size_t i = 0; i < r->rig.written_count; ++i)
		rooms.written[i] = rooms.numbers[o.joints ? size_t(o.joints[i]) : i];
	r->decoded_count = count + m.origins;
	r->turned_roots = m.origins ? rooms.turned : nullptr;
	r->columns = {rooms.rotation_columns, rooms.translation_columns, r->decoded_count, moved};
	r->all_columns = count == info.joint_count;
}

Sentence failed(mocpack_Error* error, mocpack_Status status, uint64_t offset = 0)
{
	return Sentence(error, status, offset);
}

// Brings the keys of a segment into a lane.
bool load_keys(const mocpack_Motion& m, Lane* lane, size_t segment, mocpack_Error* error)
{
	if (lane->segment == segment)
		return true;
	lane->segment = NONE;
	size_t size = m.layout.sizes[segment];
	const uint8_t* src = m.bytes.view(m.part_offsets[segment], size, lane->input, error);
	if (!src)
		return false;
	mocpack_Status status = mocpack_keysine_decode_segment(m.head, m.keys_in_segment(segment), src, size,
														   lane->keys, lane->scratch);
	if (status == MOCPACK_OK)
		lane->segment = segment;
	else
		failed(error, status, m.part_offsets[segment])
			<< "key segment " << uint64_t(segment)
			<< (status == MOCPACK_TRUNCATED ? " ends too early" : " is damaged");
	return status == MOCPACK_OK;
}

const int32_t* key_of(const mocpack_Motion& m, const Lane& lane, size_t key)
{
	return lane.keys + (key - lane.segment * m.layout.groups_per_segment) * m.layout.channel_count;
}

// What was decoded, as the file's joints have it: unit, of one sign in time, no joint above the roots.
bool settle(const mocpack_Reader& r, Lane* lane, size_t frames)
{
	const size_t moving = r.rig.moving_count;
	double farthest = 0;
	for (size_t i = 0; i < 3 * frames * moving; ++i)
		farthest = std::fabs(lane->translations[i]) <= farthest ? farthest : std::fabs(lane->translations[i]);
	if (!(farthest < FARTHEST_DECODED) ||
		mocpack_settle_rotations(lane->rotations, frames, r.decoded_count, UNIT_TOLERANCE) >= 0)
		return false;
	for (size_t t = 0; r.turned_roots && t < frames; ++t)
	{
		double* turns = lane->rotations + 4 * t * r.decoded_count;
		Quat origin = load_quat(turns);
		if (origin.x == 0 && origin.y == 0 && origin.z == 0 && origin.w == 1)
			continue;
		for (size_t j = 0; j < r.rig.count; ++j)
		{
			if (!r.turned_roots[j])
				continue;
			store(turns + 4 * (j + 1), multiply(origin, load_quat(turns + 4 * (j + 1))));
			if (r.rig.moving[j] >= 0)
			{
				double* place = lane->translations + 3 * (t * moving + size_t(r.rig.moving[j]));
				store(place, rotate(origin, load_vec(place)));
			}
		}
	}
	return true;
}

template <typename Number>
void copy_rows(const mocpack_Reader& r, const Lane& lane, size_t frames, Number* rows)
{
	const size_t turns = 4 * r.rig.count, places = 3 * r.rig.moving_count,
				 skipped = 4 * r.decoded_count - turns;
	const double *from = lane.rotations, *place = lane.translations;
	for (size_t t = 0; t < frames; ++t)
	{
		from += skipped;
		for (size_t i = 0; i < turns; ++i)
			rows[i] = Number(from[i]);
		for (size_t i = 0; i < places; ++i)
			rows[turns + i] = Number(place[i]);
		from += turns, place += places, rows += turns + places;
	}
}

void copy_decoded(const mocpack_Reader& r, const Lane& lane, size_t frames, void* rows)
{
	if (!SMALL && r.number == MOCPACK_FLOAT32)
		copy_rows(r, lane, frames, static_cast<float*>(rows));
	else
		copy_rows(r, lane, frames, static_cast<double*>(rows));
}

// The bytes of a group's layers, as many as are wanted and there.
bool find_layers(const mocpack_Reader& r, const Lane& lane, size_t group, const uint8_t** src, size_t* sizes,
				 size_t* count, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	uint8_t* buffer = lane.input;
	*count = m.whole_layers(group, r.layers);
	for (size_t l = 0; l < *count; ++l)
	{
		size_t part = m.group_part(l, group);
		sizes[l] = m.layout.sizes[part];
		src[l] = m.bytes.view(m.part_offsets[part], sizes[l], buffer, error);
		if (!src[l])
			return false;
		buffer += m.bytes.all ? 0 : sizes[l];
	}
	return true;
}

// Decodes a group, and the key at its end, into rows of the reader's numbers.
bool decode_group(const mocpack_Reader& r, Lane* lane, size_t group, void* rows, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	if (!load_keys(m, lane, m.segment_of(group), error))
		return false;
	size_t frames = 0, layers = 0, sizes[MOST_LAYERS];
	const uint8_t* src[MOST_LAYERS];
	const int32_t* keys = key_of(m, *lane, group);
	if (m.layout.group_count)
	{
		frames = m.key_frame(group + 1) - m.key_frame(group);
		if (!find_layers(r, *lane, group, src, sizes, &layers, error))
			return false;
		mocpack_Status status =
			mocpack_keysine_decode_group(m.head, group, keys, src, sizes, layers, r.decoded_columns(),
										 lane->rotations, lane->translations, lane->scratch);
		if (status != MOCPACK_OK)
		{
			failed(error, status, m.part_offsets[m.group_part(0, group)])
				<< "group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group))
				<< (status == MOCPACK_TRUNCATED ? ", ends too early" : ", is damaged");
			return false;
		}
		keys += m.layout.channel_count;
	}
	mocpack_keysine_pose(m.head, keys, r.decoded_columns(), lane->rotations + 4 * frames * r.decoded_count,
						 lane->translations + 3 * frames * r.rig.moving_count);
	if (!settle(r, lane, frames + 1))
	{
		failed(error, MOCPACK_CORRUPT, m.part_offsets[m.layout.group_count ? m.group_part(0, group) : 0])
			<< "group " << uint64_t(group) << ", from frame " << uint64_t(m.key_frame(group))
			<< ", is no motion";
		return false;
	}
	copy_decoded(r, *lane, frames + 1, rows);
	return true;
}

bool holds(const Slot& slot, uint64_t frame)
{
	return slot.group != NONE && slot.first <= frame && frame < slot.stop;
}

// The slot of the group that a frame lies in, decoded now if it is not there; null, and an error, where it
// cannot be.
Slot* slot_at(mocpack_Reader* r, uint64_t frame, mocpack_Error* error)
{
	Slot* found = &r->slots[r->last_slot];
	if (holds(*found, frame))
		return found;
	size_t oldest = 0;
	for (size_t i = 0; i < r->slot_count; ++i)
	{
		if (holds(r->slots[i], frame))
		{
			r->last_slot = i;
			r->slots[i].used = ++r->clock;
			return &r->slots[i];
		}
		if (r->slots[i].used < r->slots[oldest].used)
			oldest = i;
	}
	const mocpack_Motion& m = *r->motion;
	found = &r->slots[oldest];
	size_t group = m.group_at(frame);
	found->group = NONE;
	found->used = 0;
	if (!decode_group(*r, &r->lanes[0], group, found->rows, error))
		return nullptr;
	bool last = group + 1 >= m.group_count();
	found->group = group;
	found->first = m.key_frame(group);
	found->stop = last ? m.info.frame_count : m.key_frame(group + 1);
	found->used = ++r->clock;
	r->last_slot = oldest;
	return found;
}

template <typename Number> struct Writer
{
	const mocpack_Reader& r;
	const mocpack_Poses& poses;

	void write(const Number* row, Lane* lane, uint64_t frame) const
	{
		write_pose(r.rig, r.space, row, static_cast<Number*>(lane->world), poses, frame);
	}

	// Frames from … to of a group's rows, whose first is frame `first`, as frames at … of the caller's.
	void write_all(const void* rows, Lane* lane, uint64_t first, uint64_t from, uint64_t to,
				   uint64_t at) const
	{
		const size_t size = r.rig.row_size();
		const Number* row = static_cast<const Number*>(rows) + size_t(from - first) * size;
		for (; from < to; ++from, ++at, row += size)
			write(row, lane, at);
	}
};

template <typename Number>
mocpack_Status read_frames(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						   mocpack_Error* error)
{
	Writer<Number> writer = {*r, poses};
	for (uint64_t at = first; at < stop;)
	{
		Slot* slot = slot_at(r, at, error);
		if (!slot)
			return error->status;
		uint64_t end = stop < slot->stop ? stop : slot->stop;
		writer.write_all(slot->rows, &r->lanes[0], slot->first, at, end, at - first);
		if (at > first)
			join_signs<Number>(poses, r->rig.written_count, at - first, end - first);
		at = end;
		// all of it is written, so that others are worth more to remember
		if (slot->first >= first && end == slot->stop)
			slot->used = 0;
	}
	return MOCPACK_OK;
}

// Groups that tasks decode, every so many-th each.
struct Work
{
	mocpack_Reader* r;
	const mocpack_Poses* poses;
	uint64_t first, stop;
	size_t first_group, group_count, task_count;
};

template <typename Number> void run_task(void* context, size_t index)
{
	const Work& work = *static_cast<Work*>(context);
	mocpack_Reader* r = work.r;
	const mocpack_Motion& m = *r->motion;
	Lane* lane = &r->lanes[index];
	void* rows = lane->rows ? lane->rows : r->slots[0].rows;
	Writer<Number> writer = {*r, *work.poses};
	for (size_t g = index; g < work.group_count; g += work.task_count)
	{
		size_t group = work.first_group + g;
		if (!decode_group(*r, lane, group, rows, &lane->error))
		{
			lane->failed_group = group;
			return;
		}
		uint64_t start = m.key_frame(group);
		uint64_t end = group + 1 >= m.group_count() ? m.info.frame_count : m.key_frame(group + 1);
		uint64_t from = start > work.first ? start : work.first, to = end < work.stop ? end : work.stop;
		writer.write_all(rows, lane, start, from, to, from - work.first);
	}
}

template <typename Number>
mocpack_Status run_tasks(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						 mocpack_Error* error)
{
	const mocpack_Motion& m = *r->motion;
	size_t group = m.group_at(first), count = m.group_at(stop - 1) + 1 - group;
	Work work = {r, &poses, first, stop, group, count, r->lane_count < count ? r->lane_count : count};
	for (size_t i = 0; i < r->lane_count; ++i)
		r->lanes[i].failed_group = NONE;
	r->slots[0].group = NONE; // the first task decodes there
	r->tasks.run(r->tasks.user, run_task<Number>, &work, work.task_count);
	const Lane* worst = &r->lanes[0];
	for (size_t i = 1; i < r->lane_count; ++i)
		worst = r->lanes[i].failed_group < worst->failed_group ? &r->lanes[i] : worst;
	if (worst->failed_group != NONE)
	{
		*error = worst->error;
		return error->status;
	}
	for (size_t g = group + 1; g < group + count; ++g)
	{
		uint64_t end = g + 1 >= m.group_count() ? m.info.frame_count : m.key_frame(g + 1);
		join_signs<Number>(poses, r->rig.written_count, m.key_frame(g) - first,
						   (end < stop ? end : stop) - first);
	}
	return MOCPACK_OK;
}

template <typename Number>
mocpack_Status read_sample(mocpack_Reader* r, double seconds, const mocpack_Poses& pose, mocpack_Error* error)
{
	double at = mocpack_frame_at(r->motion, seconds);
	uint64_t frame = uint64_t(at);
	Slot* slot = slot_at(r, frame, error);
	if (!slot)
		return error->status;
	Lane* lane = &r->lanes[0];
	const size_t size = r->rig.row_size();
	const Number *row = static_cast<const Number*>(slot->rows) + size_t(frame - slot->first) * size,
				 *shown = row;
	if (at > double(frame)) // then there is a frame after it
	{
		blend_rows(r->rig, row, row + size, at - double(frame), static_cast<Number*>(lane->row));
		shown = static_cast<Number*>(lane->row);
	}
	Writer<Number>{*r, pose}.write(shown, lane, 0);
	return MOCPACK_OK;
}

template <typename Number>
mocpack_Status read_keys(mocpack_Reader* r, uint64_t first, uint64_t stop, const mocpack_Poses& poses,
						 mocpack_Error* error)
{
	const mocpack_Motion& m = *r->motion;
	Lane* lane = &r->lanes[0];
	Writer<Number> writer = {*r, poses};
	for (uint64_t key = first; key < stop; ++key)
	{
		size_t k = size_t(key), group = k < m.group_count() ? k : m.group_count() - 1;
		if (!load_keys(m, lane, m.segment_of(group), error))
			return error->status;
		mocpack_keysine_pose(m.head, key_of(m, *lane, k), r->decoded_columns(), lane->rotations,
							 lane->translations);
		if (!settle(*r, lane, 1))
			return failed(error, MOCPACK_CORRUPT, m.part_offsets[lane->segment])
				   << "key " << key << " is no pose";
		copy_decoded(*r, *lane, 1, lane->row);
		writer.write(static_cast<Number*>(lane->row), lane, key - first);
		if (key > first)
			join_signs<Number>(poses, r->rig.written_count, key - first, key - first + 1);
	}
	return MOCPACK_OK;
}

mocpack_Status outside(mocpack_Error* error, const char* what, uint64_t first, uint64_t stop, uint64_t count)
{
	return failed(error, MOCPACK_BAD_ARGUMENT)
		   << what << " " << first << " to " << stop << " do not lie in a motion that has " << count;
}

size_t layers_of(const mocpack_Motion& m, uint32_t layers)
{
	size_t all = m.layout.layer_count;
	return layers == MOCPACK_KEYS_ONLY ? 0 : layers && layers < all ? layers : all;
}

} // namespace

size_t mocpack_reader_size(const mocpack_Motion* motion, const mocpack_ReaderOptions* options)
{
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	return size_of_reader(*motion, options ? *options : defaults);
}

mocpack_Status mocpack_reader_open(const mocpack_Motion* motion, const mocpack_ReaderOptions* options,
								   mocpack_Reader** reader, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	const mocpack_ReaderOptions defaults = MOCPACK_READER_OPTIONS;
	const mocpack_ReaderOptions& o = options ? *options : defaults;
	*reader = nullptr;
	if (!options_good(*motion, o))
		return failed(error, MOCPACK_BAD_ARGUMENT)
			   << "mocpack_reader_open: options of another version, no such joint, tasks that cannot run, or "
				  "what a small build has not";
	size_t size = size_of_reader(*motion, o);
	const mocpack_Allocator& allocator = motion->memory.allocator();
	uint64_t most = o.memory ? o.memory_size : motion->memory.left();
	void* memory = o.memory;
	if (size && size <= most && !memory)
		memory = allocator.allocate(allocator.user, size);
	if (!size || size > most || !memory)
		return failed(error, MOCPACK_NO_MEMORY)
			   << "a reader of " << motion->info.frame_count << " frames of "
			   << uint64_t(motion->info.joint_count) << " joints takes " << uint64_t(size)
			   << " bytes, more than " << most << ", which the memory limit or the caller's memory leaves";
	Arena arena(memory);
	ReaderCounts counts(*motion, o);
	ReaderRooms rooms(*motion, counts, &arena);
	mocpack_Reader* r = new (rooms.reader) mocpack_Reader();
	r->motion = motion;
	r->owned = !o.memory;
	r->memory_size = size;
	r->number = o.number, r->space = o.space;
	r->layers = layers_of(*motion, o.layers);
	r->most_frames = counts.frames;
	r->slot_count = counts.slots, r->lane_count = counts.lanes;
	r->slots = rooms.slots, r->lanes = rooms.lanes;
	if (o.tasks)
		r->tasks = *o.tasks;
	choose_joints(*motion, o, rooms, r);
	*reader = r;
	return MOCPACK_OK;
}

void mocpack_reader_close(mocpack_Reader* reader)
{
	if (!reader || !reader->owned)
		return;
	const mocpack_Allocator& allocator = reader->motion->memory.allocator();
	allocator.release(allocator.user, reader, reader->memory_size);
}

mocpack_Status mocpack_frames(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							  const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	const mocpack_Motion& m = *reader->motion;
	if (first > stop || stop > m.info.frame_count)
		return outside(error, "frames", first, stop, m.info.frame_count);
	if (first == stop)
		return MOCPACK_OK;
	const bool single = !SMALL && reader->number == MOCPACK_FLOAT32;
	if (!SMALL && reader->tasks.run && m.group_at(first) < m.group_at(stop - 1))
		return (single ? run_tasks<float> : run_tasks<double>)(reader, first, stop, *poses, error);
	return (single ? read_frames<float> : read_frames<double>)(reader, first, stop, *poses, error);
}

mocpack_Status mocpack_sample(mocpack_Reader* reader, double seconds, const mocpack_Poses* pose,
							  mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	if (!SMALL && reader->number == MOCPACK_FLOAT32)
		return read_sample<float>(reader, seconds, *pose, error);
	return read_sample<double>(reader, seconds, *pose, error);
}

mocpack_Status mocpack_preview(mocpack_Reader* reader, uint64_t first, uint64_t stop,
							   const mocpack_Poses* poses, mocpack_Error* error)
{
	mocpack_Error unheard;
	error = error ? error : &unheard;
	uint64_t keys = reader->motion->info.key_count;
	if (first > stop || stop > keys)
		return outside(error, "keys", first, stop, keys);
	if (!SMALL && reader->number == MOCPACK_FLOAT32)
		return read_keys<float>(reader, first, stop, *poses, error);
	return read_keys<double>(reader, first, stop, *poses, error);
}

size_t mocpack_ranges(const mocpack_Motion* motion, uint64_t first, uint64_t stop, uint32_t layers,
					  mocpack_Range* ranges, size_t capacity)
{
	const mocpack_Motion& m = *motion;
	if (first >= stop || stop > m.info.frame_count)
		return 0;
	size_t group = m.group_at(first), last = m.group_at(stop - 1), count = 0;
	mocpack_Range open = {0, 0};
	auto add = [&](size_t part, size_t end_part)
	{
		uint64_t start = m.part_offsets[part], end = m.part_offsets[end_part];
		end = end < m.payload_end ? end : m.payload_end;
		if (end <= start)
			return;
		if (open.size && open.offset + open.size == start)
		{
			open.size += end - start;
			return;
		}
		if (open.size && count++ < capacity)
			ranges[count - 1] = open;
		open = {start, end - start};
	};
	add(m.segment_of(group), m.segment_of(last) + 1);
	for (size_t l = 0; m.layout.group_count && l < layers_of(m, layers); ++l)
		add(m.group_part(l, group), m.group_part(l, last) + 1);
	if (open.size && count++ < capacity)
		ranges[count - 1] = open;
	return count;
}
// ---- src/reader/sentence.cpp
// What went wrong, in a sentence.

#include <cmath>

namespace mocpack
{

namespace
{

const size_t LONGEST_QUOTE = 40;
const double LARGEST_PLAIN = 1e15;

} // namespace

Sentence::Sentence(mocpack_Error* error, mocpack_Status status, uint64_t offset, uint64_t size)
	: error_(error)
{
	error->status = status;
	error->offset = offset;
	error->size = size;
	error->message[0] = 0;
}

void Sentence::put(char letter)
{
	if (length_ + 1 >= sizeof error_->message)
		return;
	error_->message[length_++] = letter;
	error_->message[length_] = 0;
}

Sentence& Sentence::operator<<(const char* text)
{
	for (; *text; ++text)
		put(*text);
	return *this;
}

Sentence& Sentence::operator<<(uint64_t number)
{
	char digits[20];
	int count = 0;
	do
		digits[count++] = char('0' + number % 10);
	while (number /= 10);
	while (count)
		put(digits[--count]);
	return *this;
}

Sentence& Sentence::operator<<(double number)
{
	if (!(number == number))
		return *this << "not a number";
	if (number < 0)
		put('-'), number = -number;
	if (number >= LARGEST_PLAIN || (number > 0 && number < 1e-6))
	{
		int exponent = 0;
		std::frexp(number, &exponent);
		if (number > 1e308)
			return *this << "infinity";
		*this << "about 2^";
		if (exponent < 0)
			put('-');
		return *this << uint64_t(exponent < 0 ? -exponent : exponent);
	}
	uint64_t millionths = uint64_t(number * 1e6 + 0.5), rest = millionths % 1000000;
	*this << millionths / 1000000;
	if (rest)
		put('.');
	for (uint64_t place = 100000; rest; rest %= place, place /= 10)
		put(char('0' + rest / place));
	return *this;
}

Sentence& Sentence::quote(const void* text, size_t size)
{
	const char* letters = static_cast<const char*>(text);
	put('\'');
	for (size_t i = 0; i < size && i < LONGEST_QUOTE; ++i)
		put(letters[i] >= ' ' && letters[i] <= '~' ? letters[i] : '?');
	put('\'');
	return *this;
}

} // namespace mocpack
// ---- src/reader/skel.cpp
// What a clip is: HEAD, SKEL and REST.
#include <cmath>
#include <cstring>

namespace mocpack
{

namespace
{

const size_t MOST_JOINTS = 65535, LONGEST_NAME = 255, MOST_PARAMETERS = 65536, LONGEST_CODEC = 255;
const size_t MOST_SKELETON = 1 << 24; // bytes, inflated
const double PI = 3.14159265358979323846;
const double FARTHEST_POINT = 1e6;	  // metres
const double REST_TOLERANCE = 1.1e-5; // of a rest rotation's length
const double UNITS[] = {1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45};
const uint8_t FIRST_ROTATION = 6, FIRST_FIXED_ROTATION = 9; // of the channels' numbers; ASF's
const uint8_t OTHER_UNIT = 255, AS_FLOATS = 255, POINT_DIGITS = 9, CHANNELS = 12;

// Part of the format, so it never changes: the joint names of common skeletons, lengths before them.
const char DICTIONARY[] =
	"Thumb1Thumb2Thumb3Index1Index2Index3Middle1Middle2Middle3Ring1Ring2Ring3Pinky1Pinky2Pinky3lclavicle\x08"
	"lhumerus\7lradius\6lwrist\5lhand\x08"
	"lfingers\6lthumbrclavicle\x08"
	"rhumerus\7rradius\6rwrist\5rhand\x08"
	"rfingers\6rthumb\4root\x09"
	"lhipjoint\6lfemur\6ltibia\5lfoot\5ltoes\x09"
	"rhipjoint\6rfemur\6rtibia\5rfoot\5rtoes\x09"
	"lowerback\x09"
	"upperback\6thorax\x09"
	"lowerneck\x09"
	"upperneck\4head\x08"
	"UpperLeg\x08"
	"LowerLeg\x08"
	"UpperArm\x08"
	"LowerArm\5Chest\x08"
	"Shoulder\4Hand\4Foot\4Toes_L_R\4Hips\x09"
	"LHipJoint\x09"
	"LeftUpLeg\7LeftLeg\x08"
	"LeftFoot\x0b"
	"LeftToeBase\x09"
	"RHipJoint\x0a"
	"RightUpLeg\x08"
	"RightLeg\x09"
	"RightFoot\x0c"
	"RightToeBase\x09"
	"LowerBack\5Spine\6Spine1\6Spine2\4Neck\5Neck1\4Head\x0c"
	"LeftShoulder\7LeftArm\x0b"
	"LeftForeArm\x08"
	"LeftHand\x0e"
	"LeftFingerBase\x10"
	"LeftHandIndex1\6LThumb\x0d"
	"RightShoulder\x08"
	"RightArm\x0c"
	"RightForeArm\x09"
	"RightHand\x0f"
	"RightFingerBase\x11"
	"RightHandIndex1\6RThumb";

// A JSON object, or nothing.
mocpack_Text read_parameters(Fields* in)
{
	size_t size = size_t(in->varint(MOST_PARAMETERS));
	const uint8_t* text = in->raw(size);
	if (size && text && !read_json_object(text, size).good)
		in->fail(MOCPACK_CORRUPT) << ": parameters that are not a JSON object";
	return {reinterpret_cast<const char*>(text), text ? size : 0};
}

// Code e means 2^(e / 1024) picometres, or as many 1e-12 radians; 0 means 0.
double measured_of(uint16_t code)
{
	return code ? 1e-12 * std::pow(2.0, code / 1024.0) : 0.0;
}

void read_errors(Fields* in, uint8_t flags, mocpack_Info* info)
{
	info->declared_error = flags & 1 ? double(in->f32()) : -1.0;
	in->check(!(flags & 1) || (info->declared_error >= 0 && info->declared_error < 1e39),
			  ": the declared error is not a length");
	info->is_measured = (flags & 2) != 0;
	double* places[] = {&info->measured_max, &info->measured_mean, &info->measured_rms, &info->measured_p99};
	for (double* place : places)
		*place = flags & 2 ? measured_of(in->u16()) : -1.0;
	info->declared_angle = flags & 8 ? double(in->f32()) : -1.0;
	in->check(!(flags & 8) || (info->declared_angle >= 0 && info->declared_angle < 1e39),
			  ": the declared error of angles is no angle");
	info->measured_angle = flags & 8 ? measured_of(in->u16()) : -1.0;
}

bool is_ascii(const uint8_t* text, size_t size)
{
	for (size_t i = 0; i < size; ++i)
		if (text[i] >= 128)
			return false;
	return true;
}

} // namespace

bool keep_text(const void* bytes, size_t size, mocpack_Text* text, Memory* memory)
{
	char* kept = memory->take_array<char>(uint64_t(size) + 1);
	if (!kept)
		return false;
	if (size)
		std::memcpy(kept, bytes, size);
	*text = {kept, size};
	return true;
}

bool read_head(const Chunk& chunk, mocpack_Motion* motion, mocpack_Text* needed, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk HEAD", error);
	mocpack_Info& info = motion->info;
	uint8_t kind = in.u8();
	in.check(kind <= 1, ": an unknown kind of clip");
	info.frame_count = in.varint();
	info.frame_time = in.f64();
	size_t codec_size = size_t(in.varint(LONGEST_CODEC));
	const uint8_t* codec = in.raw(codec_size);
	in.check(codec && is_ascii(codec, codec_size), ": a codec's name that is not ASCII");
	info.bitstream = uint32_t(in.varint(uint64_t(1) << 31));
	mocpack_Text parameters = read_parameters(&in);
	uint8_t flags = in.u8();
	if (in.good() && flags > 15)
		in.fail(MOCPACK_UNSUPPORTED) << ": flags " << uint64_t(flags) << ", which a newer mocpack reads";
	read_errors(&in, flags, &info);
	*needed = flags & 4 ? read_parameters(&in) : mocpack_Text{nullptr, 0};
	in.end();
	if (in.good() && kind)
	{
		in.fail(MOCPACK_UNSUPPORTED).operator<<(": a vertex animation of codec ").quote(codec, codec_size)
			<< " is not decoded here";
		return false;
	}
	in.check(info.frame_count >= 1, ": a clip has at least one frame");
	in.check(info.frame_time >= 1e-6 && info.frame_time <= 1e6,
			 ": the time from frame to frame is not within 1e-6 to 1e6 seconds");
	if (!in.good())
		return false;
	if (!keep_text(codec, codec_size, &info.codec, &motion->memory) ||
		!keep_text(parameters.bytes, parameters.size, &info.parameters, &motion->memory))
		return no_memory(error, "the head's texts");
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
	motion->info.metadata = {reinterpret_cast<char*>(text), size}; // the byte after it is zero
	motion->info.metadata_size = chunk.whole;
	return in.good();
}

namespace
{

// Fills the part of the info that is about joints.
struct SkeletonReader
{
	Fields in;
	mocpack_Motion* motion;
	mocpack_Info& info;
	Memory& memory;
	bool starved = false;

	template <typename T> T* array(uint64_t count)
	{
		T* found = in.good() ? memory.take_array<T>(count + 1) : nullptr;
		starved = starved || (in.good() && !found);
		return found;
	}

	bool going() const
	{
		return in.good() && !starved;
	}

	bool run()
	{
		size_t joints = info.joint_count = size_t(in.varint(MOST_JOINTS));
		in.check(joints >= 1, ": a skeleton has at least one joint");
		names(joints);
		parents(joints);
		layouts(joints);
		info.translated_joints = indices(&info.translated_count, joints, joints, 1);
		info.end_joints = indices(&info.end_count, MOST_JOINTS, joints, 0);
		unit();
		points(joints);
		axes(joints);
		in.end();
		return going();
	}

	void names(size_t joints)
	{
		mocpack_Text* found = array<mocpack_Text>(joints);
		// all names in one piece, each with a zero after it
		char* text = array<char>(uint64_t(in.left()) + joints);
		for (size_t j = 0; j < joints && going(); ++j)
		{
			size_t size = size_t(in.varint(LONGEST_NAME));
			const uint8_t* name = in.raw(size);
			if (name && !is_utf8(name, size))
				in.fail(MOCPACK_CORRUPT) << ": the name of joint " << uint64_t(j) << " is not UTF-8";
			if (!in.good())
				return;
			std::memcpy(text, name, size);
			found[j] = {text, size};
			text += size + 1;
		}
		info.names = found;
	}

	void parents(size_t joints)
	{
		int32_t* found = array<int32_t>(joints);
		if (found)
			found[0] = -1;
		for (size_t j = 1; j < joints && going(); ++j)
			found[j] = int32_t(j) - 1 - int32_t(in.varint(j)); // one more than all joints before is a root
		info.parents = found;
	}

	// Of how channels were laid out in the source, only what hinges may be made of matters here; but what is
	// no layout is no file.
	void layouts(size_t joints)
	{
		size_t count = size_t(in.varint(joints));
		bool* styles = array<bool>(count);
		RotationChannels* turning = array<RotationChannels>(count);
		motion->channels = array<RotationChannels>(joints);
		for (size_t n = 0; n < count && going(); ++n)
		{
			size_t size = size_t(in.varint(CHANNELS));
			const uint8_t* codes = in.raw(size);
			uint32_t seen = 0;
			for (size_t i = 0; i < size && in.good(); ++i)
			{
				in.check(codes[i] < CHANNELS, ": an unknown channel");
				uint32_t channel = in.good() ? 1u << codes[i] : 0;
				in.check(!(seen & channel), ": a layout that has a channel twice");
				seen |= channel;
				if (in.good())
					add_rotation(codes[i], &turning[n]);
			}
			// numbers 3 to 5 and 9 to 11 are ASF's names, the others BVH's
			styles[n] = (seen & 0x1c7) && (seen & 0xe38);
		}
		in.check(count >= 1, ": no layout of channels");
		for (size_t j = 0; j < joints && going(); ++j)
		{
			size_t n = size_t(in.varint(count - 1));
			in.check(!styles[n], ": a layout that mixes the channels of two formats");
			motion->channels[j] = turning[n];
		}
		memory.give_back(styles);
		memory.give_back(turning);
	}

	// BVH lists the outermost first, ASF the innermost.
	static void add_rotation(uint8_t code, RotationChannels* turning)
	{
		if (code < FIRST_ROTATION)
			return;
		uint8_t letter = (code - FIRST_ROTATION) % 3;
		int at = turning->turns++;
		if (at > 1)
			return;
		bool fixed = code >= FIRST_FIXED_ROTATION;
		turning->letters[at] = fixed && at ? turning->letters[0] : letter;
		if (fixed)
			turning->letters[0] = letter;
	}

	int32_t* indices(size_t* count, size_t most, size_t joints, int32_t least)
	{
		*count = size_t(in.varint(most));
		int32_t* found = array<int32_t>(*count);
		uint64_t at = 0;
		for (size_t i = 0; i < *count && going(); ++i)
		{
			uint64_t step = in.varint(MOST_JOINTS);
			at += step;
			in.check(at < joints && (!i || int64_t(step) >= least),
					 ": a joint that is not there, or stands twice");
			found[i] = int32_t(at);
		}
		return found;
	}

	void unit()
	{
		uint8_t code = in.u8();
		in.check(code == OTHER_UNIT || code < sizeof UNITS / sizeof *UNITS, ": an unknown unit");
		if (in.good())
			info.unit = code == OTHER_UNIT ? in.f64() : UNITS[code];
		in.check(info.unit >= 1e-9 && info.unit <= 1e9, ": a unit that is no length");
	}

	void points(size_t joints)
	{
		uint8_t digits = in.u8();
		in.check(digits <= POINT_DIGITS || digits == AS_FLOATS, ": points of too many digits");
		double power = 1;
		for (int d = 0; digits != AS_FLOATS && d < digits; ++d)
			power *= 10;
		double* offsets = array<double>(3 * joints);
		double* sites = array<double>(3 * info.end_count);
		size_t count = 3 * (joints + info.end_count);
		for (size_t i = 0; i < count && going(); ++i)
		{
			// in this order, so that decimals come back bit for bit
			double value = digits == AS_FLOATS ? in.f64() : double(in.folded()) / power * info.unit;
			in.check(std::fabs(value) <= FARTHEST_POINT, ": a point that is not near");
			(i < 3 * joints ? offsets[i] : sites[i - 3 * joints]) = value;
		}
		info.offsets = offsets, info.end_sites = sites;
	}

	// The frames of the source's channels.
	void axes(size_t joints)
	{
		uint8_t kind = in.u8();
		in.check(kind <= 2, ": unknown axes");
		double* frames = kind && in.good() ? array<double>(4 * uint64_t(joints)) : nullptr;
		for (size_t j = 0; kind == 1 && j < joints && going(); ++j)
		{
			double square = 0;
			for (int c = 0; c < 4; ++c)
			{
				frames[4 * j + c] = in.f64();
				square += frames[4 * j + c] * frames[4 * j + c];
			}
			in.check(std::fabs(std::sqrt(square) - 1) <= REST_TOLERANCE,
					 ": axes that are no unit quaternions");
		}
		motion->channel_frames = frames;
		if (kind != 2)
			return;
		uint8_t digits = in.u8();
		in.check(digits <= POINT_DIGITS, ": unknown axes");
		double power = 1;
		for (int d = 0; d < digits; ++d)
			power *= 10;
		for (size_t j = 0; j < joints && going(); ++j)
		{
			Quat frame = {0, 0, 0, 1};
			for (int a = 2; a >= 0; --a) // about z, y and x
			{
				double half = double(in.folded()) / power * (PI / 360);
				double sine = std::sin(half);
				frame = multiply(
					frame, Quat{a == 0 ? sine : 0, a == 1 ? sine : 0, a == 2 ? sine : 0, std::cos(half)});
			}
			store(frames + 4 * j, frame);
		}
	}
};

} // namespace

bool read_skeleton(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields packed = fields_of(chunk, "chunk SKEL", error);
	size_t size = 0;
	uint8_t* bytes = inflate_fields(&packed, MOST_SKELETON, &motion->memory, &size,
									reinterpret_cast<const uint8_t*>(DICTIONARY), sizeof DICTIONARY - 1);
	if (!bytes)
		return false;
	SkeletonReader reader = {packed.part(bytes, size), motion, motion->info, motion->memory};
	bool good = reader.run();
	motion->memory.give_back(bytes);
	motion->info.skeleton_size = chunk.whole;
	if (reader.starved)
		return no_memory(error, "the skeleton's joints");
	return good;
}

bool read_rest(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk REST", error);
	Memory& memory = motion->memory;
	size_t joints = motion->info.joint_count, count = 0;
	const uint8_t* bits = in.raw((joints + 7) / 8);
	for (size_t j = 0; bits && j < joints; ++j)
		count += bits[j / 8] >> j % 8 & 1;
	double* rest = memory.take_array<double>(4 * uint64_t(joints));
	double* numbers = memory.take_array<double>(4 * uint64_t(count) + 1);
	if (!rest || !numbers)
		return no_memory(error, "rest rotations");
	if (!in.good() || !read_numbers(&in, count, 4, numbers, &memory))
		return false;
	const double* next = numbers;
	for (size_t j = 0; j < joints; ++j)
	{
		rest[4 * j + 3] = 1;
		if (!(bits[j / 8] >> j % 8 & 1))
			continue;
		double square = 0;
		for (int c = 0; c < 4; ++c, ++next)
			rest[4 * j + c] = *next, square += *next * *next;
		in.check(std::fabs(std::sqrt(square) - 1) <= REST_TOLERANCE,
				 ": rest rotations must be unit quaternions");
	}
	memory.give_back(numbers);
	motion->info.rest_rotations = rest;
	return in.good();
}

} // namespace mocpack
// ---- src/reader/take.cpp
// What a take holds beside its poses: when frames are, how they are meant to be played, gaps, tracks.
#include <cmath>

namespace mocpack
{

namespace
{

const double LATEST = 1e9;		  // seconds
const size_t MOST_RUNS = 1 << 24; // bytes, inflated
const size_t LONGEST_TEXT = 1024; // bytes

} // namespace

bool read_start(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk TIME", error);
	in.check(in.u8() <= 1, ": times of an unknown kind");
	motion->info.start_time = in.f64();
	in.check(std::fabs(motion->info.start_time) < LATEST, ": a start that is no time");
	return in.good();
}

bool read_times(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk TIME", error);
	bool even = !in.u8();
	in.f64();
	if (even)
	{
		in.end();
		return in.good();
	}
	uint64_t frames = motion->info.frame_count;
	double* times = motion->memory.take_array<double>(frames);
	if (!times)
		return no_memory(error, "times of frames");
	if (!read_numbers(&in, size_t(frames), 1, times, &motion->memory))
		return false;
	in.check(times[0] == motion->info.start_time, ": times that begin elsewhere");
	for (uint64_t t = 1; t < frames; ++t)
		in.check(times[t] > times[t - 1], ": times that do not increase");
	in.check(std::fabs(times[frames - 1]) < LATEST, ": a time that is none");
	motion->info.times = times;
	return in.good();
}

bool read_play(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk play", error);
	uint8_t flags = in.u8(), up = flags >> 1 & 3;
	in.end();
	in.check(flags <= 15 && up <= MOCPACK_Z, ": unknown flags");
	motion->info.loops = flags & 1;
	motion->info.up = mocpack_Axis(up);
	motion->info.is_left_handed = flags >> 3 & 1;
	return in.good();
}

namespace
{

// Counts, and where there is room writes, when each joint's flag changes.
size_t read_changes(Fields* in, const mocpack_Info& info, Gaps* gaps)
{
	size_t count = size_t(in->varint(info.joint_count)), found = 0;
	uint64_t joint = 0, frames = info.frame_count;
	gaps->joint_count = count;
	for (size_t i = 0; i < count && in->good(); ++i)
	{
		uint64_t step = in->varint(info.joint_count);
		joint += step;
		in->check(joint < info.joint_count && (!i || step), ": a joint that is not there, or stands twice");
		if (gaps->joints)
			gaps->joints[i] = int32_t(joint);
	}
	for (size_t i = 0; i < count && in->good(); ++i)
	{
		uint8_t first = in->u8();
		in->check(first <= 1, ": a flag that is none");
		uint64_t changes = in->varint(frames - 1), at = 0;
		if (gaps->first)
			gaps->first[i] = first, gaps->starts[i] = found;
		for (; changes && in->good(); --changes)
		{
			at += in->varint(frames) + 1;
			in->check(at < frames, ": runs reach beyond the frames");
			if (gaps->changes)
				gaps->changes[found] = at;
			++found;
		}
	}
	in->end();
	return found;
}

} // namespace

bool read_gaps(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields packed = fields_of(chunk, "chunk vald", error);
	Memory& memory = motion->memory;
	size_t size = 0;
	uint8_t* bytes = inflate_fields(&packed, MOST_RUNS, &memory, &size);
	if (!bytes)
		return false;
	Gaps& gaps = motion->gaps;
	Fields in = packed.part(bytes, size);
	size_t changes = read_changes(&in, motion->info, &gaps);
	if (!in.good())
		return false;
	gaps.joints = memory.take_array<int32_t>(uint64_t(gaps.joint_count) + 1);
	gaps.first = memory.take_array<uint8_t>(uint64_t(gaps.joint_count) + 1);
	gaps.starts = memory.take_array<size_t>(uint64_t(gaps.joint_count) + 1);
	gaps.changes = memory.take_array<uint64_t>(uint64_t(changes) + 1);
	if (!gaps.joints || !gaps.first || !gaps.starts || !gaps.changes)
		return no_memory(error, "gaps");
	in = packed.part(bytes, size);
	gaps.starts[gaps.joint_count] = read_changes(&in, motion->info, &gaps);
	memory.give_back(bytes);
	motion->info.has_gaps = gaps.joint_count > 0;
	return true;
}

namespace
{

bool read_text(Fields* in, mocpack_Text* text, Memory* memory, bool* starved)
{
	size_t size = size_t(in->varint(LONGEST_TEXT));
	const uint8_t* bytes = in->raw(size);
	if (bytes && !is_utf8(bytes, size))
		in->fail(MOCPACK_CORRUPT) << ": a text that is not UTF-8";
	if (in->good())
		*starved = *starved || !keep_text(bytes, size, text, memory);
	return in->good();
}

} // namespace

bool read_tracks(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	static const uint8_t WIDTHS[] = {1, 1, 1, 3, 4};
	enum
	{
		OWN_RATE = 1,
		HAS_START = 2,
		HAS_TIMES = 4,
		BOUNDED = 8,
		HAS_UNIT = 16
	};
	mocpack_Track* track = motion->memory.take_array<mocpack_Track>(uint64_t(chunks.track_count) + 1);
	bool starved = !track;
	motion->info.tracks = track;
	motion->info.track_count = chunks.track_count;
	// so many numbers at most that the file's bytes can account for
	uint64_t most = SAMPLES_PER_BYTE * motion->bytes.source.size;
	for (const Chunk* chunk = chunks.tracks; chunk && !starved; chunk = chunk->next, ++track)
	{
		Fields in = fields_of(*chunk, "chunk trak", error);
		read_text(&in, &track->name, &motion->memory, &starved);
		uint8_t kind = in.u8(), flags = in.u8();
		in.check(kind < sizeof WIDTHS && flags < 2 * HAS_UNIT, ": an unknown kind, or unknown flags");
		if (!in.good())
			return false;
		track->kind = mocpack_TrackKind(kind);
		track->count = in.varint(most / WIDTHS[kind]);
		track->frame_time = flags & OWN_RATE ? in.short_number() : 0;
		track->start_time = flags & HAS_START ? in.short_number() : 0;
		track->has_times = (flags & HAS_TIMES) != 0;
		track->bound = flags & BOUNDED ? in.short_number() : 0;
		if (flags & HAS_UNIT)
			read_text(&in, &track->unit, &motion->memory, &starved);
		else
			starved = starved || !keep_text("", 0, &track->unit, &motion->memory);
		track->chunk_size = chunk->size;
		if (!in.good())
			return false;
		most -= track->count * WIDTHS[kind];
	}
	return !starved || no_memory(error, "the file's tracks");
}

} // namespace mocpack
