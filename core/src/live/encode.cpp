// Encodes poses so that no joint, end site or skin point exceeds the bound, with as few residuals as
// possible.
//
// Without a residual a unit continues at its velocity. The encoder corrects a body when one of its points
// would move too far from the truth. It then aims the body from its decoded position at the true position of
// its far end.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/arena.h"
#include "live/live.h"
#include "live/stream_codec.h"
#include "math/elementary.h"
#include "math/turns.h"

using namespace mocpack;
using namespace mocpack::live;

namespace
{

const size_t SAVED_ROWS = 64;
const double JOINT_TOLERANCE = 0.65; // share of the bound that a joint with further bodies may use
const double END_TOLERANCE = 0.97;	 // share of the bound that a point without further bodies may use
const double TRANSLATION_TOLERANCE = 0.45;
const double HINGE_TOLERANCE = 0.5;
const double MIN_GAIN = 0.1;			// of the bound: a smaller improvement is not worth a residual
const double MIN_AIMED_LENGTH_M = 0.02; // shorter bones are not aimed
const uint8_t MAX_TIGHTNESS = 2;
const double TOLERANCE_RATIOS[MAX_TIGHTNESS + 1] = {1, 0.6,
													0}; // of the bound, that dropped residuals may cost
const int MAX_TIGHTENINGS = 24; // attempts to keep the bound by coding single bodies more tightly

struct SavedRow
{
	int64_t number, time;
	mocpack_LiveRow row;
};

} // namespace

// `world_rotations` are the decoded ones.
struct mocpack_LiveEncoder : StreamCodec
{
	uint8_t* bytes;				   // (SAVED_ROWS, max_row_bytes)
	SavedRow* saved;			   // (SAVED_ROWS)
	Quat* true_rotations;		   // (J)
	Vec3* true_positions;		   // (J)
	Vec3* positions;			   // (B) decoded
	Vec3* targets;				   // (points) true positions of the current body's points
	FixedQuat* keyframe_rotations; // (units) decoded rotations of a keyframe
	double* errors;				   // (B) meters
	uint8_t* tightness;			   // (B) index into TOLERANCE_RATIOS
	uint8_t* coded;				   // (B) whether this attempt coded it
	double bound, tolerance;	   // meters; tolerance is the part of the bound for dropped residuals
	int refinement;
	bool is_finite;

	void solve_truth(const double* rotations, const double* translations)
	{
		is_finite = true;
		for (size_t j = 0; j < model.joint_count; ++j)
		{
			Quat rotation = load_quat(rotations + 4 * j);
			double n = rotation.x * rotation.x + rotation.y * rotation.y + rotation.z * rotation.z +
					   rotation.w * rotation.w;
			is_finite = is_finite && n > 0.5 && n < 2;
			const double* at =
				model.columns[j] >= 0 ? translations + 3 * model.columns[j] : model.offsets + 3 * j;
			Vec3 position = load_vec(at);
			is_finite =
				is_finite && std::fabs(position.x) + std::fabs(position.y) + std::fabs(position.z) < 1e5;
			int32_t parent = model.parents[j];
			if (parent >= 0)
			{
				position = true_positions[parent] + rotate(true_rotations[parent], position);
				rotation = multiply(true_rotations[parent], rotation);
			}
			true_positions[j] = position;
			true_rotations[j] = rotation;
		}
	}

	void find_targets(const Body& body)
	{
		int32_t joint = -1;
		MatrixOf<double> world;
		for (int32_t i = 0; i < body.point_count; ++i)
		{
			const Point& point = model.points[body.first_point + i];
			targets[i] = true_positions[point.joint];
			if (!point.skin && point.own.x == 0 && point.own.y == 0 && point.own.z == 0)
				continue;
			if (point.joint != joint)
				joint = point.joint, world = as_matrix(true_rotations[joint]);
			targets[i] = targets[i] + rotate(world, point.own);
		}
	}

	// Returns the largest displacement of a body's points; `error_ratio` receives the largest relative to
	// its bound.
	double measure_displacement(const Body& body, Vec3 at, Quat world, double joint_tolerance,
								double* error_ratio) const
	{
		double last = 0, joint = 0;
		const MatrixOf<double> rotation = as_matrix(world);
		for (int32_t i = 0; i < body.point_count; ++i)
		{
			const Point& point = model.points[body.first_point + i];
			if (point.skin && !state.mode.twist)
				continue;
			Vec3 off = at + rotate(rotation, point.at) - targets[i];
			double square = dot(off, off);
			double& most = point.carries_body ? joint : last;
			most = square > most ? square : most;
		}
		joint = std::sqrt(joint), last = std::sqrt(last);
		double a = joint / joint_tolerance, b = last / END_TOLERANCE;
		*error_ratio = a > b ? a : b;
		return joint > last ? joint : last;
	}

	// Returns the rotation that aims the body's far end at its true position, from the decoded position `at`.
	Quat aim_body(const Body& body, Vec3 at) const
	{
		Quat truth = true_rotations[body.joint];
		if (body.far_distance < MIN_AIMED_LENGTH_M)
			return truth;
		Vec3 now = rotate(truth, body.axis), end = true_positions[body.joint] + body.far_distance * now;
		return multiply(shortest_rotation(now, normalize_or(end - at, now)), truth);
	}

	double code_translation(const Body& body, Vec3 base_at, Quat base, Vec3* at)
	{
		const Unit& unit = model.units[body.translation];
		int32_t* residuals = row.residuals + unit.first;
		Vec3 truth = true_positions[body.joint];
		Vec3 wanted = rotate(conjugate(base), truth - base_at) - unit.base;
		double coordinates[MAX_NUMBERS];
		solve_coordinates(unit, wanted, coordinates);
		int64_t values[MAX_NUMBERS], predicted[MAX_NUMBERS];
		for (int k = 0; k < unit.count; ++k)
		{
			size_t n = size_t(unit.first + k);
			predicted[k] = row.keyframe ? 0 : state.values[n] + state.velocities[n];
			residuals[k] = round_to_steps(coordinates[k] * LENGTH_SCALE - double(predicted[k]),
										  get_step(state, n, refinement));
		}
		auto off = [&](const int32_t* tried)
		{
			for (int k = 0; k < unit.count; ++k)
				values[k] = predicted[k] + tried[k] * get_step(state, size_t(unit.first + k), refinement);
			*at = base_at + rotate(base, compute_translation(unit, values));
			return std::sqrt(dot(*at - truth, *at - truth));
		};
		if (!row.keyframe)
			drop_residuals(unit, residuals, [&](const int32_t* tried)
						   { return off(tried) <= TRANSLATION_TOLERANCE * tolerance; });
		return off(residuals);
	}

	double code_rotation(const Body& body, Vec3 at, Quat* world)
	{
		size_t u = size_t(body.rotation);
		const Unit& unit = model.units[u];
		int32_t* residuals = row.residuals + unit.first;
		if (row.keyframe)
		{
			*world = encode_rotation(unit, u, aim_body(body, at));
			double error_ratio;
			return measure_displacement(body, at, *world, JOINT_TOLERANCE, &error_ratio);
		}
		FixedQuat predicted = predict_rotation(state, unit, u);
		*world = to_quat_fast(predicted);
		double error_ratio,
			displacement = measure_displacement(body, at, *world, JOINT_TOLERANCE, &error_ratio);
		residuals[0] = residuals[1] = residuals[2] = 0;
		if (error_ratio <= tolerance)
			return displacement;
		Quat left = multiply(conjugate(*world), aim_body(body, at));
		double sign = left.w < 0 ? -1 : 1;
		Vec3 vector = {sign * left.x, sign * left.y, sign * left.z};
		int count = unit.count - (!state.mode.twist && unit.skin_only_twist);
		for (int k = 0; k < count; ++k)
			residuals[k] = round_to_steps(dot(unit.axes[k], vector) * double(ONE),
										  get_step(state, size_t(unit.first + k), refinement));
		int64_t parts[3];
		auto apply = [&](const int32_t* tried)
		{ return to_quat_fast(correct_rotation(state, unit, predicted, tried, refinement, parts)); };
		Quat found = apply(residuals);
		double best, nearest = measure_displacement(body, at, found, JOINT_TOLERANCE, &best);
		if (error_ratio <= bound && best + MIN_GAIN * bound >= error_ratio &&
			displacement <= nearest + MIN_GAIN * bound && displacement < END_TOLERANCE * bound &&
			tolerance > 0)
		{
			residuals[0] = residuals[1] = residuals[2] = 0;
			return displacement;
		}
		*world = found;
		drop_small_residuals(unit, residuals,
							 [&](const int32_t* tried)
							 {
								 double tried_ratio;
								 found = apply(tried);
								 displacement =
									 measure_displacement(body, at, found, JOINT_TOLERANCE, &tried_ratio);
								 if (tried_ratio <= tolerance)
									 *world = found, nearest = displacement;
								 return tried_ratio <= tolerance;
							 });
		return nearest;
	}

	// Like `to_quat`, with one Newton step: the input is of unit length but for its last bits.
	static Quat to_quat_fast(FixedQuat q)
	{
		const double s = 1.0 / double(ONE);
		double x = double(q.x) * s, y = double(q.y) * s, z = double(q.z) * s, w = double(q.w) * s;
		double n = 1.5 - 0.5 * (x * x + y * y + z * z + w * w);
		return {x * n, y * n, z * n, w * n};
	}

	// Quantizes a rotation for a keyframe; returns the decoded rotation.
	Quat encode_rotation(const Unit& unit, size_t u, Quat wanted)
	{
		Quat anchor = unit.anchor < 0 ? Quat{0, 0, 0, 1} : to_quat(keyframe_rotations[unit.anchor]);
		Quat q = multiply(conjugate(anchor), wanted);
		double parts[4] = {q.x, q.y, q.z, q.w};
		int largest = W_INDEX;
		for (int k = 0; k < 3; ++k)
			if (std::fabs(parts[k]) > std::fabs(parts[largest]) + 1e-9)
				largest = k;
		double sign = parts[largest] < 0 ? -1 : 1;
		parts[largest] = parts[3];
		int64_t step = keyframe_step(unit, state, refinement);
		for (int k = 0; k < 3; ++k)
			row.residuals[unit.first + k] = round_to_steps(sign * parts[k] * double(ONE), step);
		row.largest[u] = uint8_t(largest);
		FixedQuat* rotations = state.rotations; // `decode_rotation` must use the anchors of this frame
		state.rotations = keyframe_rotations;
		keyframe_rotations[u] = decode_rotation(state, unit, row.residuals + unit.first, largest, refinement);
		state.rotations = rotations;
		return to_quat(keyframe_rotations[u]);
	}

	double code_hinge(const Body& body, Vec3 at, Quat base, Quat* world)
	{
		const Unit& unit = model.units[body.rotation];
		int32_t* residuals = row.residuals + unit.first;
		double angles[2];
		Quat local = multiply(conjugate(body.rest), multiply(conjugate(base), aim_body(body, at)));
		compute_hinge_angles(unit, local, angles);
		int64_t values[2], predicted[2];
		for (int k = 0; k < unit.count; ++k)
		{
			size_t n = size_t(unit.first + k);
			double known = double(state.values[n] + state.velocities[n]) / ANGLE_SCALE;
			angles[k] += 2 * PI * std::floor((known - angles[k]) / (2 * PI) + 0.5);
			predicted[k] = row.keyframe ? 0 : state.values[n] + state.velocities[n];
			residuals[k] = round_to_steps(angles[k] * ANGLE_SCALE - double(predicted[k]),
										  get_step(state, n, refinement));
		}
		auto apply = [&](const int32_t* tried)
		{
			for (int k = 0; k < unit.count; ++k)
				values[k] = predicted[k] + tried[k] * get_step(state, size_t(unit.first + k), refinement);
			return multiply(base, compute_hinge_rotation(body, unit, values));
		};
		double lever = unit.levers[0];
		Quat truth = true_rotations[body.joint];
		if (!row.keyframe)
			drop_residuals(unit, residuals,
						   [&](const int32_t* tried)
						   {
							   double tried_ratio;
							   Quat found = apply(tried), left = multiply(conjugate(truth), found);
							   Vec3 v = {left.x, left.y, left.z};
							   measure_displacement(body, at, found, JOINT_TOLERANCE, &tried_ratio);
							   return tried_ratio <= tolerance &&
									  2 * std::sqrt(dot(v, v)) * lever <= HINGE_TOLERANCE * tolerance;
						   });
		*world = apply(residuals);
		double error_ratio;
		return measure_displacement(body, at, *world, JOINT_TOLERANCE, &error_ratio);
	}

	// Drops all residuals of a unit if the tolerance allows it, else the smallest ones.
	template <typename Good> void drop_residuals(const Unit& unit, int32_t* residuals, const Good& good) const
	{
		const int32_t none[MAX_NUMBERS] = {0, 0, 0};
		if (tolerance > 0 && good(none))
		{
			memcpy(residuals, none, unit.count * sizeof(int32_t));
			return;
		}
		drop_small_residuals(unit, residuals, good);
	}

	// Drops the smallest residuals of a unit while the tolerance allows it.
	template <typename Good>
	void drop_small_residuals(const Unit& unit, int32_t* residuals, const Good& good) const
	{
		for (int tries = 1; tries < unit.count && tolerance > 0; ++tries)
		{
			int least = -1;
			for (int k = 0; k < unit.count; ++k)
				if (residuals[k] && (least < 0 || std::abs(residuals[k]) < std::abs(residuals[least])))
					least = k;
			if (least < 0)
				return;
			int32_t saved_residual = residuals[least];
			residuals[least] = 0;
			if (!good(residuals))
			{
				residuals[least] = saved_residual;
				return;
			}
		}
	}

	static int32_t round_to_steps(double wanted, int64_t step)
	{
		double n = std::floor(wanted / double(step) + 0.5);
		return int32_t(n > 5e8 ? 5e8 : n < -5e8 ? -5e8 : n);
	}

	static void solve_coordinates(const Unit& unit, Vec3 wanted, double* coordinates)
	{
		if (unit.count == 1)
		{
			coordinates[0] = dot(unit.axes[0], wanted);
			return;
		}
		// least squares: (AᵀA) coordinates = Aᵀ wanted
		double a[6] = {1, 1, 1, dot(unit.axes[0], unit.axes[1]), 0, 0};
		Vec3 right = {dot(unit.axes[0], wanted), dot(unit.axes[1], wanted), 0};
		if (unit.count == 3)
		{
			a[4] = dot(unit.axes[0], unit.axes[2]), a[5] = dot(unit.axes[1], unit.axes[2]);
			right.z = dot(unit.axes[2], wanted);
		}
		Vec3 found = solve(a, 0, right);
		coordinates[0] = found.x, coordinates[1] = found.y, coordinates[2] = found.z;
	}

	static double compute_twist(Quat q, Vec3 axis)
	{
		return 2 * math::atan2(dot({q.x, q.y, q.z}, axis), q.w);
	}

	static void compute_hinge_angles(const Unit& unit, Quat local, double* angles)
	{
		if (unit.count == 1)
		{
			angles[0] = compute_twist(local, unit.axes[0]);
			return;
		}
		Vec3 first = unit.axes[0], second = unit.axes[1], flat = second - dot(second, first) * first;
		Vec3 there = rotate(local, second);
		angles[0] = math::atan2(dot(cross(flat, there), first), dot(there, flat));
		double s = math::sin(-0.5 * angles[0]);
		Quat back = {s * first.x, s * first.y, s * first.z, math::cos(0.5 * angles[0])};
		angles[1] = compute_twist(multiply(back, local), second);
	}

	// Codes a body; returns its error.
	double code_body(size_t b)
	{
		const Body& body = model.bodies[b];
		Quat base = body.parent < 0 ? Quat{0, 0, 0, 1} : world_rotations[body.parent];
		Vec3 base_at = body.parent < 0 ? Vec3{0, 0, 0} : positions[body.parent];
		double placed = 0, off, error_ratio;
		find_targets(body);
		world_rotations[b] = base;
		if (body.translation >= 0)
			placed = code_translation(body, base_at, base, &positions[b]);
		else
			positions[b] = base_at + rotate(base, body.at);
		if (body.rotation < 0)
			off = measure_displacement(body, positions[b], base, JOINT_TOLERANCE, &error_ratio);
		else if (model.units[body.rotation].kind == ROTATION)
			off = code_rotation(body, positions[b], &world_rotations[b]);
		else
			off = code_hinge(body, positions[b], base, &world_rotations[b]);
		return off > placed ? off : placed;
	}

	// Codes body `first`, all that it carries, and the bodies from `known` on. Returns the first that exceeds
	// the bound, or the number of bodies.
	size_t code_bodies(size_t first, size_t known)
	{
		row.refinement = refinement;
		for (size_t b = first; b < model.body_count; ++b)
		{
			int32_t parent = model.bodies[b].parent;
			coded[b] = b == first || b >= known || (parent >= int32_t(first) && coded[parent]);
			if (!coded[b])
				continue;
			tolerance = TOLERANCE_RATIOS[tightness[b]] * bound;
			errors[b] = code_body(b);
			if (errors[b] > bound)
				return b;
		}
		return model.body_count;
	}

	// Returns the nearest ancestor that can still be coded more tightly; -1 for none.
	int32_t find_looser_ancestor(size_t failed) const
	{
		int32_t b = model.bodies[failed].parent;
		while (b >= 0 && tightness[b] == MAX_TIGHTNESS)
			b = model.bodies[b].parent;
		return b;
	}

	/* Codes a row within the bound. If a body exceeds it, the error comes from the bodies that carry it: code
	 * these more tightly, and all bodies after them again. Then code everything tightly, and with finer
	 * steps. */
	double code_row_within_bound()
	{
		refinement = 0;
		memset(tightness, row.keyframe ? MAX_TIGHTNESS : 0, model.body_count);
		size_t failed = code_bodies(0, 0);
		for (int tries = 0; failed < model.body_count && tries < MAX_TIGHTENINGS; ++tries)
		{
			int32_t b = find_looser_ancestor(failed);
			if (b < 0)
				break;
			++tightness[b];
			failed = code_bodies(size_t(b), failed);
		}
		memset(tightness, MAX_TIGHTNESS, model.body_count);
		while (failed < model.body_count)
		{
			failed = code_bodies(0, 0);
			if (refinement++ == MAX_REFINEMENT)
				break;
		}
		double largest = 0;
		for (size_t b = 0; b < model.body_count; ++b)
			largest = errors[b] > largest ? errors[b] : largest;
		return failed < model.body_count ? HUGE_VAL : largest;
	}

	// Quantizes velocities for a keyframe, scaled to its frame step.
	void quantize_velocities(int frame_step_before)
	{
		double longer = frame_step_before ? double(state.mode.frame_step) / frame_step_before : 1;
		for (size_t n = 0; n < model.number_count; ++n)
		{
			int64_t step = get_step(state, n, 0);
			double rate = longer * double(state.velocities[n]) * VELOCITY_STEP_PARTS / double(step);
			row.velocities[n] = int32_t(clamp(int64_t(std::floor(rate + 0.5)), 1 << 28));
		}
	}
};

namespace
{

mocpack_LiveEncoder* allocate_encoder(const uint8_t* hello, size_t size, Arena& arena)
{
	mocpack_LiveEncoder made = {}, *e = arena.allocate<mocpack_LiveEncoder>(1);
	if (!allocate_codec(hello, size, arena, &made))
		return nullptr;
	const Model& model = made.model;
	made.bytes = arena.allocate<uint8_t>(SAVED_ROWS * made.max_row_bytes);
	made.saved = arena.allocate<SavedRow>(SAVED_ROWS);
	made.true_rotations = arena.allocate<Quat>(model.joint_count);
	made.true_positions = arena.allocate<Vec3>(model.joint_count);
	made.positions = arena.allocate<Vec3>(model.body_count);
	made.targets = arena.allocate<Vec3>(model.point_room);
	made.keyframe_rotations = arena.allocate<FixedQuat>(model.unit_count);
	made.errors = arena.allocate<double>(model.body_count);
	made.tightness = arena.allocate<uint8_t>(model.body_count);
	made.coded = arena.allocate<uint8_t>(model.body_count);
	if (!e)
		return nullptr;
	new (e) mocpack_LiveEncoder(made);
	for (size_t i = 0; i < SAVED_ROWS; ++i)
		e->saved[i].number = -1;
	return e;
}

} // namespace

size_t mocpack_live_encoder_size(const uint8_t* hello, size_t size)
{
	Arena counting(nullptr);
	allocate_encoder(hello, size, counting);
	return counting.used();
}

mocpack_LiveEncoder* mocpack_live_encoder_open(const uint8_t* hello, size_t size, void* memory)
{
	Arena arena(memory);
	return allocate_encoder(hello, size, arena);
}

mocpack_Status mocpack_live_encode(mocpack_LiveEncoder* e, const double* rotations,
								   const double* translations, int64_t time, int keyframe,
								   const mocpack_LiveMode* mode, double* error)
{
	e->solve_truth(rotations, translations);
	if (!e->is_finite)
		return MOCPACK_BOUND_NOT_MET;
	State& state = e->state;
	Mode before = state.mode;
	if (!before.bound)
		before.frame_step = 0; // no frame yet, so no velocity to scale
	e->row.keyframe = keyframe || state.number < 0;
	if (e->row.keyframe)
	{
		state.mode.bound = mode->bound, state.mode.frame_step = mode->frame_step,
		state.mode.twist = mode->twist;
		compute_steps(e->model, state.mode.bound, 0, state.steps);
	}
	e->bound = state.mode.bound / 1e6;
	*error = e->code_row_within_bound();
	if (*error > e->bound && !e->row.keyframe)
	{
		// velocities are invalid after a jump: start again with a keyframe
		memset(state.velocities, 0, e->model.number_count * sizeof(int64_t));
		e->row.keyframe = true;
		*error = e->code_row_within_bound();
	}
	if (*error > e->bound)
	{
		state.mode = before;
		compute_steps(e->model, before.bound ? before.bound : e->model.bound, 0, state.steps);
		return MOCPACK_BOUND_NOT_MET;
	}
	if (e->row.keyframe)
		e->quantize_velocities(before.frame_step);
	int64_t number = state.number + 1;
	SavedRow& saved = e->saved[size_t(number) % SAVED_ROWS];
	uint8_t* bytes = e->bytes + size_t(number) % SAVED_ROWS * e->max_row_bytes;
	saved.number = number;
	saved.time = time;
	saved.row = {0, e->row.keyframe, bytes,
				 write_row(e->model, state, e->contexts, e->row, bytes, e->max_row_bytes)};
	if (!saved.row.size)
		return MOCPACK_NO_MEMORY;
	apply_row(*e, number);
	return MOCPACK_OK;
}

const mocpack_LiveRow* mocpack_live_row(mocpack_LiveEncoder* e, int64_t number, int64_t* time)
{
	if (number < 0)
		return nullptr;
	const SavedRow& saved = e->saved[size_t(number) % SAVED_ROWS];
	*time = saved.time;
	return saved.number == number ? &saved.row : nullptr;
}

void mocpack_live_encoded_pose(mocpack_LiveEncoder* e, double* rotations, double* translations)
{
	compute_pose(e->model, e->state, e->world_rotations, rotations, translations);
}

uint32_t mocpack_live_encoder_checksum(const mocpack_LiveEncoder* e)
{
	return compute_checksum(e->model, e->state);
}
