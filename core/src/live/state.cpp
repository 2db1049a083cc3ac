// Advances the pose of a stream from frame to frame, in integers. Floating point starts at `compute_pose`.
#include "live/state.h"

#include <cstring>

#include "common/crc32.h"
#include "math/elementary.h"

namespace mocpack
{
namespace live
{

namespace
{

Quat rotate_about(Vec3 axis, double angle)
{
	double s = math::sin(0.5 * angle);
	return {s * axis.x, s * axis.y, s * axis.z, math::cos(0.5 * angle)};
}

// Adds a share of the prediction error to the velocity. An error that took longer to grow counts less.
int64_t update_velocity(const Model& model, int64_t rate, int64_t surprise, int age)
{
	rate -= (rate * model.velocity_decay + 32768) >> 16;
	return rate + ((surprise * model.velocity_gain / (age + 2) + 32768) >> 16);
}

void update_history(State& s, const Unit& unit, size_t u, const int32_t* residuals)
{
	bool any = false;
	for (int k = 0; k < unit.count; ++k)
		if (residuals[k])
		{
			any = true;
			s.signs[unit.first + k] = int8_t(residuals[k] > 0 ? 1 : -1);
		}
	s.age[u] = uint8_t(any ? 0 : s.age[u] < 15 ? s.age[u] + 1 : 15);
	s.history[u] = uint8_t(s.history[u] << 1 | int(any));
}

void advance_rotation(const Model& model, State& s, const Unit& unit, size_t u, const Row& row)
{
	const int32_t* residuals = row.residuals + unit.first;
	FixedQuat predicted = predict_rotation(s, unit, u);
	int64_t vector[3] = {0, 0, 0};
	s.rotations[u] = residuals[0] || residuals[1] || residuals[2]
						 ? correct_rotation(s, unit, predicted, residuals, row.refinement, vector)
						 : predicted;
	for (int k = 0; k < 3; ++k)
	{
		int64_t& rate = s.velocities[unit.first + k];
		rate = clamp(update_velocity(model, rate, vector[k], s.age[u]), MAX_ANGULAR_VELOCITY);
	}
}

void advance_values(const Model& model, State& s, const Unit& unit, size_t u, const Row& row)
{
	for (int k = 0; k < unit.count; ++k)
	{
		size_t n = size_t(unit.first + k);
		int64_t surprise = clamp(int64_t(row.residuals[n]) * get_step(s, n, row.refinement), MAX_VALUE);
		s.values[n] = clamp(s.values[n] + s.velocities[n] + surprise, MAX_VALUE);
		s.velocities[n] = clamp(update_velocity(model, s.velocities[n], surprise, s.age[u]), MAX_VALUE);
	}
}

void apply_keyframe_unit(State& s, const Unit& unit, size_t u, const Row& row)
{
	if (unit.kind == ROTATION)
		s.rotations[u] = decode_rotation(s, unit, row.residuals + unit.first, row.largest[u], row.refinement);
	int64_t most = unit.kind == ROTATION ? MAX_ANGULAR_VELOCITY : MAX_VALUE;
	for (int k = 0; k < unit.count; ++k)
	{
		size_t n = size_t(unit.first + k);
		int64_t step = get_step(s, n, 0);
		if (unit.kind != ROTATION)
			s.values[n] = clamp(int64_t(row.residuals[n]) * get_step(s, n, row.refinement), MAX_VALUE);
		s.velocities[n] = clamp(int64_t(row.velocities[n]) * step / VELOCITY_STEP_PARTS, most);
		s.signs[n] = 0;
	}
	s.age[u] = 15;
	s.history[u] = 0;
}

} // namespace

void reset_state(const Model& model, State& s)
{
	for (size_t u = 0; u < model.unit_count; ++u)
		s.rotations[u] = {0, 0, 0, ONE}, s.age[u] = 15, s.history[u] = 0;
	memset(s.values, 0, model.number_count * sizeof(int64_t));
	memset(s.velocities, 0, model.number_count * sizeof(int64_t));
	memset(s.signs, 0, model.number_count);
	compute_steps(model, model.bound, 0, s.steps);
}

FixedQuat decode_rotation(const State& s, const Unit& unit, const int32_t* numbers, int largest,
						  int refinement)
{
	int64_t step = keyframe_step(unit, s, refinement), parts[3];
	for (int k = 0; k < 3; ++k)
		parts[k] = clamp(numbers[k] * step, ONE);
	FixedQuat q = from_vector_part(parts[0], parts[1], parts[2]); // the omitted number is in w
	if (largest != W_INDEX)
	{
		int64_t* at[4] = {&q.x, &q.y, &q.z, &q.w};
		int64_t other = *at[largest];
		*at[largest] = q.w;
		q.w = other;
	}
	return live::normalize(unit.anchor < 0 ? q : multiply(s.rotations[unit.anchor], q));
}

void advance(const Model& model, State& s, const Row& row)
{
	for (size_t u = 0; u < model.unit_count; ++u)
	{
		const Unit& unit = model.units[u];
		if (row.keyframe)
			apply_keyframe_unit(s, unit, u, row);
		else
		{
			if (unit.kind == ROTATION)
				advance_rotation(model, s, unit, u, row);
			else
				advance_values(model, s, unit, u, row);
			update_history(s, unit, u, row.residuals + unit.first);
		}
	}
}

uint32_t compute_checksum(const Model& model, const State& s)
{
	uint32_t sum = 0;
	for (size_t u = 0; u < model.unit_count; ++u)
		if (model.units[u].kind == ROTATION)
			sum = crc32(sum, reinterpret_cast<const uint8_t*>(s.rotations + u), sizeof(FixedQuat));
		else
			sum = crc32(sum, reinterpret_cast<const uint8_t*>(s.values + model.units[u].first),
						model.units[u].count * sizeof(int64_t));
	return crc32(sum, reinterpret_cast<const uint8_t*>(s.velocities), model.number_count * sizeof(int64_t));
}

Quat compute_hinge_rotation(const Body& body, const Unit& unit, const int64_t* values)
{
	Quat rotation = body.rest;
	for (int k = 0; k < unit.count; ++k)
		rotation = multiply(rotation, rotate_about(unit.axes[k], double(values[k]) / ANGLE_SCALE));
	return rotation;
}

Vec3 compute_translation(const Unit& unit, const int64_t* values)
{
	Vec3 at = unit.base;
	for (int k = 0; k < unit.count; ++k)
		at = at + (double(values[k]) / LENGTH_SCALE) * unit.axes[k];
	return at;
}

void compute_pose(const Model& model, const State& s, Quat* world_rotations, double* rotations,
				  double* translations)
{
	for (size_t j = 0; j < model.joint_count; ++j)
	{
		Quat local = {0, 0, 0, 1};
		if (model.starts_body[j])
		{
			int32_t b = model.body_of[j];
			const Body& body = model.bodies[b];
			Quat base = body.parent < 0 ? Quat{0, 0, 0, 1} : world_rotations[body.parent];
			if (body.translation >= 0)
			{
				const Unit& unit = model.units[body.translation];
				store(translations + 3 * unit.column, compute_translation(unit, s.values + unit.first));
			}
			world_rotations[b] = base;
			if (body.rotation >= 0)
			{
				const Unit& unit = model.units[body.rotation];
				if (unit.kind == ROTATION)
				{
					world_rotations[b] = to_quat(s.rotations[body.rotation]);
					local = multiply(conjugate(base), world_rotations[b]);
				}
				else
				{
					local = compute_hinge_rotation(body, unit, s.values + unit.first);
					world_rotations[b] = multiply(base, local);
				}
			}
		}
		store(rotations + 4 * j, local);
	}
}

} // namespace live
} // namespace mocpack
