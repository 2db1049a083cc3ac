// Closed-loop prediction of a pose by inverse kinematics, one frame at a time.
//
// Encoder and decoder run the same code (`advance`): the encoder knows the true pose and writes integers, the
// decoder reads them. After Li, Okuda, Takahashi 2008, section 5. Bones are unit vectors. The two angles of a
// bone are arcs on the sphere, so there is no pole, or the paper's own (`spherical`).
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "common/skeleton.h"
#include "math/quaternion.h"
#include "math/turns.h"
#include "papers/li/ik_predict.h"
#include "papers/li/spherical.h"

using namespace mocpack;

namespace
{

const double MAX_CODED_VALUE = 1073741824.0; // maximum of the plane coder

// State of the previous frame, known to both sides, and working memory.
struct State
{
	double* world;		  // (B, 4) decoded world rotations
	double* translations; // (M, 3) decoded
	double* ways;		  // (B, 3) decoded directions of the bones, which no twist touches
	double* directions;	  // (B, 3) of the bones in the frame before
	double* velocities;	  // (B, 3) change of each bone's direction, or of its two angles
	double* drifts;		  // (B, 3) change of each chain's end, by its first body
	double* slips;		  // (M, 3) change of each translation
	double* spins;		  // (B) change of each body's twist
	double* places;		  // (B, 3) decoded positions of this frame
	double* predicted;	  // (B, 3) directions a chain is predicted to have
	double* angles;		  // (B, 3) decoded φ, ϕ and ψ, if spherical
	double* guesses;	  // (B, 3) φ and ϕ that are predicted, and a zero
	double* true_world;	  // (B, 4) the pose to encode
	double* true_places;  // (B, 3)
	double* true_ways;	  // (B, 3) its bones' directions
};

State state_of(const mocpack_Limbs& limbs, double* memory)
{
	size_t bodies = limbs.body_count;
	State s;
	s.world = memory;
	s.translations = s.world + 4 * bodies;
	s.ways = s.translations + 3 * limbs.translated_count;
	s.directions = s.ways + 3 * bodies;
	s.velocities = s.directions + 3 * bodies;
	s.drifts = s.velocities + 3 * bodies;
	s.slips = s.drifts + 3 * bodies;
	s.spins = s.slips + 3 * limbs.translated_count;
	s.places = s.spins + bodies;
	s.predicted = s.places + 3 * bodies;
	s.angles = s.predicted + 3 * bodies;
	s.guesses = s.angles + 3 * bodies;
	s.true_world = s.guesses + 3 * bodies;
	s.true_places = s.true_world + 4 * bodies;
	s.true_ways = s.true_places + 3 * bodies;
	return s;
}

// Quantizes the encoder's values and returns the decoded values.
struct Writer
{
	static constexpr bool encodes = true;
	int32_t* row;
	double rounding;
	bool fits = true;

	double operator()(double wanted, double step)
	{
		double value = std::floor(std::fabs(wanted) / step + rounding);
		value = wanted < 0 ? -value : value;
		if (!(std::fabs(value) <= MAX_CODED_VALUE))
		{
			value = value > 0 ? MAX_CODED_VALUE : -MAX_CODED_VALUE;
			fits = false;
		}
		*row++ = int32_t(value);
		return value * step;
	}
};

struct Reader
{
	static constexpr bool encodes = false;
	const int32_t* row;

	double operator()(double, double step)
	{
		return double(*row++) * step;
	}
};

template <typename Code> struct Frame
{
	const mocpack_Limbs& limbs;
	State s;
	const double* true_translations; // null while decoding
	Code& places;					 // data that determines joint positions
	Code* twists;					 // other twists; null if skipped

	Vec3 axis(int32_t b) const
	{
		return load_vec(limbs.axes + 3 * b);
	}

	Vec3 direction(int32_t b) const
	{
		return load_vec(s.ways + 3 * b);
	}

	Vec3 direction_before(int32_t b) const
	{
		return load_vec(s.directions + 3 * b);
	}

	Vec3 true_direction(int32_t b) const
	{
		return load_vec(s.true_ways + 3 * b);
	}

	Vec3 code(Vec3 wanted, double step)
	{
		double x = places(wanted.x, step), y = places(wanted.y, step), z = places(wanted.z, step);
		return {x, y, z};
	}

	// Predicts the next change: the last change, or an exponential mean of all.
	void remember(double* rate, Vec3 change)
	{
		store(rate, snap(limbs.memory * load_vec(rate) + (1 - limbs.memory) * change));
	}

	Vec3 expectation(const double* rate) const
	{
		return limbs.extrapolate ? load_vec(rate) : Vec3{0, 0, 0};
	}

	// Computes the position of body b from its known parent.
	void place(int32_t b)
	{
		Vec3 at = load_vec(limbs.attachments + 3 * b);
		int32_t m = limbs.slides[b], parent = limbs.parents[b];
		if (m >= 0)
		{
			Vec3 before = load_vec(s.translations + 3 * m), expected = expectation(s.slips + 3 * m),
				 asked = {};
			if (Code::encodes)
				asked = load_vec(true_translations + 3 * m) - before - expected;
			Vec3 now = snap(before + expected + code(asked, limbs.slide_step));
			store(s.translations + 3 * m, now);
			remember(s.slips + 3 * m, now - before);
			at = at + rotate(load_quat(limbs.frames + 4 * b), now);
		}
		if (parent >= 0)
			at = load_vec(s.places + 3 * parent) + in_world(parent, at);
		store(s.places + 3 * b, at);
	}

	// Rotates a point of body b to world space, without twist if all its points are on the axis.
	Vec3 in_world(int32_t b, Vec3 point) const
	{
		if (limbs.twist_places[b])
			return rotate(load_quat(s.world + 4 * b), point);
		return dot(axis(b), point) * direction(b);
	}

	// Codes a direction as two arcs from the predicted one.
	Vec3 code_direction(int32_t b, Vec3 predicted, Vec3 wanted_there)
	{
		Vec3 e1 = perpendicular(predicted), e2 = cross(predicted, e1);
		double x = 0, y = 0;
		if (Code::encodes)
		{
			double along = dot(predicted, wanted_there), a = dot(e1, wanted_there), c = dot(e2, wanted_there);
			double across = std::sqrt(a * a + c * c);
			double scale = across > 1e-9 ? angle_of(across, along) / across : 1;
			x = along < 0 && across <= 1e-9 ? PI : a * scale; // opposite direction: any arc works
			y = c * scale;
		}
		x = places(x, limbs.direction_steps[b]);
		y = places(y, limbs.direction_steps[b]);
		if (x == 0 && y == 0)
			return predicted;
		double angle = std::sqrt(x * x + y * y), scale = std::sin(angle) / angle;
		Vec3 found = std::cos(angle) * predicted + (x * scale) * e1 + (y * scale) * e2;
		return (1 / length(found)) * found;
	}

	// Returns φ and ϕ of bone b in the previous frame.
	Vec3 angles_before(int32_t b) const
	{
		return {s.angles[3 * b], s.angles[3 * b + 1], 0};
	}

	// Codes the two angles of a direction as their differences from the predicted ones: equation (23).
	Vec3 code_angles(int32_t b, Vec3 guess, Vec3 wanted_there)
	{
		Vec3 asked = {0, 0, 0};
		if (Code::encodes)
			asked = spherical_angles(wanted_there, angles_before(b).y) - guess;
		double x = places(asked.x, limbs.direction_steps[b]), y = places(asked.y, limbs.direction_steps[b]);
		return snap(guess + Vec3{x, y, 0});
	}

	// Returns the direction to code for bone b: towards its true end.
	Vec3 wanted(int32_t b) const
	{
		Vec3 truth = true_direction(b);
		if (!limbs.compensate || limbs.twist_places[b] || limbs.lengths[b] <= NEAR)
			return truth;
		Vec3 end = load_vec(s.true_places + 3 * b) + limbs.lengths[b] * truth;
		return normalize_or(end - load_vec(s.places + 3 * b), truth);
	}

	// Returns the twist to code for body b; `turn` is its rotation without twist.
	double wanted_twist(int32_t b, Quat turn, Vec3 found) const
	{
		Quat truth = load_quat(s.true_world + 4 * b);
		Quat aimed = multiply(shortest_rotation(true_direction(b), found), truth);
		Quat left = multiply(conjugate(turn), aimed);
		double sine = dot({left.x, left.y, left.z}, axis(b));
		double angle = 2 * angle_of(std::fabs(sine), std::fabs(left.w));
		return (sine < 0) == (left.w < 0) ? angle : -angle;
	}

	// Rotates body b to the direction `found`, whose angles are given if spherical, then applies its twist.
	// Without twist it rotates along the shortest arc: from the previous frame or, if spherical, from rest.
	void settle(int32_t b, Vec3 found, Vec3 angles)
	{
		found = normalize_or(snap(found), found);
		store(s.ways + 3 * b, found);
		Quat turn;
		double twist = 0; // ψ of the previous frame
		if (limbs.spherical)
		{
			turn = shortest_rotation(axis(b), found);
			twist = s.angles[3 * b + 2];
			remember(s.velocities + 3 * b, angles - angles_before(b));
			s.angles[3 * b] = angles.x, s.angles[3 * b + 1] = angles.y;
		}
		else
		{
			Quat before = load_quat(s.world + 4 * b);
			turn = multiply(shortest_rotation(normalize_or(rotate(before, axis(b)), found), found), before);
			remember(s.velocities + 3 * b, found - direction_before(b));
		}
		double angle = twist;
		if (Code* coder = limbs.twist_places[b] ? &places : twists)
		{
			double expected = twist + (limbs.extrapolate ? s.spins[b] : 0), asked = 0;
			if (Code::encodes)
			{
				double wanted = wanted_twist(b, turn, found);
				asked = (limbs.spherical ? nearest_turn(wanted, expected) : wanted) - expected;
			}
			angle = expected + (*coder)(asked, limbs.twist_steps[b]);
			s.spins[b] = snap(limbs.memory * s.spins[b] + (1 - limbs.memory) * (angle - twist), GRID);
		}
		s.angles[3 * b + 2] = limbs.spherical ? angle = snap(angle, GRID) : 0;
		if (angle != 0)
		{
			Vec3 part = std::sin(0.5 * angle) * axis(b);
			turn = multiply(turn, {part.x, part.y, part.z, std::cos(0.5 * angle)});
		}
		store(s.world + 4 * b, unit(snap(turn)));
	}

	void settle_at(int32_t b, Vec3 angles)
	{
		settle(b, spherical_direction(angles), angles);
	}

	// Predicts the change of a bone's direction from the previous frame.
	Vec3 momentum(int32_t b) const
	{
		return limbs.k * tangent(direction_before(b), load_vec(s.velocities + 3 * b));
	}

	// Predicts a body outside all chains by its last change.
	void free_body(int32_t b)
	{
		place(b);
		Vec3 rate = expectation(s.velocities + 3 * b);
		if (limbs.spherical)
			return settle_at(b, code_angles(b, angles_before(b) + rate, aim(b)));
		Vec3 before = direction_before(b);
		Vec3 predicted = normalize_or(before + tangent(before, rate), before);
		settle(b, code_direction(b, predicted, aim(b)), {});
	}

	Vec3 aim(int32_t b) const
	{
		return Code::encodes ? wanted(b) : Vec3{};
	}

	// Returns the end of a chain relative to its base in the previous frame.
	Vec3 end_before(const int32_t* chain, size_t count) const
	{
		Vec3 end = {0, 0, 0};
		for (size_t j = 0; j < count; ++j)
			end = end + limbs.lengths[chain[j]] * direction_before(chain[j]);
		return end;
	}

	// Predicts the directions of a chain whose end moves by `change`: the paper's equation (15).
	void predict_chain(const int32_t* chain, size_t count, Vec3 change)
	{
		double a[6] = {0, 0, 0, 0, 0, 0}; // J Jᵀ: xx, yy, zz, xy, xz, yz
		Vec3 missing = change;
		for (size_t j = 0; j < count; ++j)
		{
			double l = limbs.lengths[chain[j]], ll = l * l;
			Vec3 u = direction_before(chain[j]);
			missing = missing - l * momentum(chain[j]);
			a[0] += ll * (1 - u.x * u.x), a[1] += ll * (1 - u.y * u.y), a[2] += ll * (1 - u.z * u.z);
			a[3] -= ll * u.x * u.y, a[4] -= ll * u.x * u.z, a[5] -= ll * u.y * u.z;
		}
		double damping = limbs.damping * (a[0] + a[1] + a[2]);
		Vec3 pull = solve(a, damping, missing);
		for (size_t j = 0; j < count; ++j)
		{
			Vec3 u = direction_before(chain[j]);
			Vec3 move = momentum(chain[j]) + limbs.lengths[chain[j]] * tangent(u, pull);
			store(s.predicted + 3 * chain[j], normalize_or(u + move, u));
		}
	}

	// Predicts the paper's angles of a chain whose end moves by `change`: equations (14), (15), (19) and
	// (20).
	void predict_angles(const int32_t* chain, size_t count, Vec3 change)
	{
		double a[6] = {0, 0, 0, 0, 0, 0}; // J Jᵀ: xx, yy, zz, xy, xz, yz
		Vec3 missing = change;
		for (size_t j = 0; j < count; ++j)
		{
			JacobianColumns columns(limbs.lengths[chain[j]], angles_before(chain[j]));
			Vec3 start = limbs.k * load_vec(s.velocities + 3 * chain[j]); // θ₀
			missing = missing - start.x * columns.polar - start.y * columns.azimuth;
			for (Vec3 u : {columns.polar, columns.azimuth})
			{
				a[0] += u.x * u.x, a[1] += u.y * u.y, a[2] += u.z * u.z;
				a[3] += u.x * u.y, a[4] += u.x * u.z, a[5] += u.y * u.z;
			}
		}
		Vec3 pull = solve(a, limbs.damping * (a[0] + a[1] + a[2]), missing);
		for (size_t j = 0; j < count; ++j)
		{
			Vec3 before = angles_before(chain[j]);
			JacobianColumns columns(limbs.lengths[chain[j]], before);
			Vec3 start = limbs.k * load_vec(s.velocities + 3 * chain[j]);
			Vec3 drawn = {dot(columns.polar, pull), dot(columns.azimuth, pull), 0};
			store(s.guesses + 3 * chain[j], before + start + drawn);
		}
	}

	// Codes a chain, equations (22) to (24): its end first, then each bone except the last, which points at
	// the end.
	void chain(const int32_t* bodies, size_t count)
	{
		int32_t first = bodies[0], last = bodies[count - 1];
		place(first);
		Vec3 base = load_vec(s.places + 3 * first), before = end_before(bodies, count), asked = {0, 0, 0};
		Vec3 expected = expectation(s.drifts + 3 * first);
		if (Code::encodes)
		{
			Vec3 end = load_vec(s.true_places + 3 * last) + limbs.lengths[last] * true_direction(last);
			asked = end - base - before - expected;
		}
		Vec3 change = expected + code(asked, limbs.effector_step);
		if (limbs.spherical)
			predict_angles(bodies, count, change);
		else
			predict_chain(bodies, count, change);
		for (size_t j = 0; j < count; ++j)
			chain_bone(bodies[j], j > 0, j + 1 < count, base + before + change);
		remember(s.drifts + 3 * first, change);
	}

	void chain_bone(int32_t b, bool placed_by_chain, bool coded, Vec3 end)
	{
		if (placed_by_chain)
			place(b);
		Vec3 predicted = load_vec(s.predicted + 3 * b), angles = load_vec(s.guesses + 3 * b);
		if (limbs.spherical && coded)
			return settle_at(b, code_angles(b, angles, aim(b)));
		if (coded)
			return settle(b, code_direction(b, predicted, aim(b)), {});
		if (limbs.spherical)
			predicted = spherical_direction(angles);
		Vec3 found = normalize_or(end - load_vec(s.places + 3 * b), predicted);
		settle(b, found, snap(spherical_angles(found, angles_before(b).y)));
	}

	void advance()
	{
		memcpy(s.directions, s.ways, 3 * limbs.body_count * sizeof(double));
		for (size_t b = 0; Code::encodes && b < limbs.body_count; ++b)
			store(s.true_ways + 3 * b, rotate(load_quat(s.true_world + 4 * b), axis(int32_t(b))));
		const int32_t* at = limbs.order;
		for (size_t g = 0; g < limbs.segment_count; at += limbs.segment_sizes[g++])
			if (limbs.segment_sizes[g] > 1)
				chain(at, size_t(limbs.segment_sizes[g]));
			else
				free_body(at[0]);
	}
};

// Computes world rotations and positions of the bodies of a pose.
void solve_bodies(const mocpack_Limbs& limbs, const double* rotations, const double* translations,
				  double* world, double* places)
{
	for (size_t b = 0; b < limbs.body_count; ++b)
	{
		Quat frame = load_quat(limbs.frames + 4 * b), turn = load_quat(rotations + 4 * limbs.joints[b]);
		Vec3 at = load_vec(limbs.attachments + 3 * b);
		if (limbs.slides[b] >= 0)
			at = at + rotate(frame, load_vec(translations + 3 * limbs.slides[b]));
		turn = multiply(frame, turn);
		int32_t parent = limbs.parents[b];
		if (parent >= 0)
		{
			Quat base = load_quat(world + 4 * parent);
			at = load_vec(places + 3 * parent) + rotate(base, at);
			turn = unit(multiply(base, turn));
		}
		store(world + 4 * b, turn);
		store(places + 3 * b, at);
	}
}

} // namespace

size_t mocpack_ik_state_size(const mocpack_Limbs* limbs)
{
	return 39 * limbs->body_count + 6 * limbs->translated_count;
}

void mocpack_ik_reset(const mocpack_Limbs* limbs, double* state, const double* world,
					  const double* translations)
{
	memset(state, 0, mocpack_ik_state_size(limbs) * sizeof(double));
	State s = state_of(*limbs, state);
	for (size_t b = 0; b < limbs->body_count; ++b)
	{
		Quat turn = unit(snap(unit(load_quat(world + 4 * b))));
		Vec3 axis = load_vec(limbs->axes + 3 * b), way = rotate(turn, axis);
		way = normalize_or(snap(way), way);
		store(s.world + 4 * b, turn);
		store(s.ways + 3 * b, way);
		Quat left = multiply(conjugate(shortest_rotation(axis, way)), turn);
		Vec3 angles = snap(spherical_angles(way, 0));
		angles.z = snap(2 * std::atan2(dot({left.x, left.y, left.z}, axis), left.w), GRID);
		store(s.angles + 3 * b, angles);
	}
	for (size_t m = 0; m < limbs->translated_count; ++m)
		store(s.translations + 3 * m, snap(load_vec(translations + 3 * m)));
}

mocpack_Status mocpack_ik_encode(const mocpack_Limbs* limbs, double* state, const double* rotations,
								 const double* translations, int32_t* places, int32_t* twists)
{
	State s = state_of(*limbs, state);
	solve_bodies(*limbs, rotations, translations, s.true_world, s.true_places);
	Writer placing{places, limbs->rounding}, twisting{twists, limbs->rounding};
	Frame<Writer>{*limbs, s, translations, placing, twists ? &twisting : nullptr}.advance();
	return placing.fits && twisting.fits ? MOCPACK_OK : MOCPACK_NO_MEMORY;
}

void mocpack_ik_decode(const mocpack_Limbs* limbs, double* state, const int32_t* places,
					   const int32_t* twists)
{
	State s = state_of(*limbs, state);
	Reader placing{places}, twisting{twists};
	Frame<Reader>{*limbs, s, nullptr, placing, twists ? &twisting : nullptr}.advance();
}

void mocpack_ik_pose(const mocpack_Limbs* limbs, const double* state, double* rotations, double* translations)
{
	State s = state_of(*limbs, const_cast<double*>(state));
	for (size_t b = 0; b < limbs->body_count; ++b)
	{
		Quat base = load_quat(limbs->frames + 4 * b);
		if (limbs->parents[b] >= 0)
			base = multiply(load_quat(s.world + 4 * limbs->parents[b]), base);
		store(rotations + 4 * limbs->joints[b], unit(multiply(conjugate(base), load_quat(s.world + 4 * b))));
		if (limbs->slides[b] >= 0)
			memcpy(translations + 3 * limbs->slides[b], s.translations + 3 * limbs->slides[b],
				   3 * sizeof(double));
	}
}
