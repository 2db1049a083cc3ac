// Extracts windows of a motion: resampled, mirrored, moved to the origin, and converted to features.
#include "features/windows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "math/elementary.h"
#include "math/hinge_angles.h"
#include "math/quaternion.h"

using namespace mocpack;

namespace
{

const double PLANTED_HEIGHT = 0.03; // meters above the foot's floor
const double PLANTED_SPEED = 0.15;	// meters per second
const double PLANTED_SPAN = 0.05;	// seconds before and after
const double FLOOR_QUANTILE = 0.05; // quantile of a foot's height that counts as its floor

template <typename T> Quat quat_at(const T* p)
{
	return {double(p[0]), double(p[1]), double(p[2]), double(p[3])};
}

template <typename T> Vec3 vec_at(const T* p)
{
	return {double(p[0]), double(p[1]), double(p[2])};
}

Quat scale(Quat q, double s)
{
	return {s * q.x, s * q.y, s * q.z, s * q.w};
}

Quat add(Quat a, Quat b)
{
	return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// On the shorter arc.
Quat slerp(Quat a, Quat b, double t)
{
	double d = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
	if (d < 0)
		b = scale(b, -1), d = -d;
	double from = 1 - t, to = t;
	// below this angle sines are as long as their arcs, to double precision
	if (d < 1 - 1e-9)
	{
		double angle = math::acos(std::min(d, 1.0)), sine = math::sin(angle);
		from = math::sin(from * angle) / sine, to = math::sin(to * angle) / sine;
	}
	Quat q = add(scale(a, from), scale(b, to));
	return scale(q, 1 / std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w));
}

Vec3 reflect(Vec3 v, int axis)
{
	return {axis == 0 ? -v.x : v.x, axis == 1 ? -v.y : v.y, axis == 2 ? -v.z : v.z};
}

Quat reflect(Quat q, int axis)
{
	return {axis == 0 ? q.x : -q.x, axis == 1 ? q.y : -q.y, axis == 2 ? q.z : -q.z, q.w};
}

bool has(const mocpack_WindowPlan& plan, int field)
{
	return std::find(plan.fields, plan.fields + plan.field_count, field) != plan.fields + plan.field_count;
}

bool needs_positions(const mocpack_WindowPlan& plan)
{
	return has(plan, MOCPACK_WINDOW_POSITION) || has(plan, MOCPACK_WINDOW_VELOCITY) ||
		   has(plan, MOCPACK_WINDOW_CONTACT);
}

bool needs_angles(const mocpack_WindowPlan& plan)
{
	return has(plan, MOCPACK_WINDOW_ANGLE) || has(plan, MOCPACK_WINDOW_ANGLE_VELOCITY);
}

size_t hinge_count(const mocpack_WindowPlan& plan)
{
	return plan.hinged ? plan.hinged->hinge_count : 0;
}

size_t field_width(const mocpack_WindowPlan& plan, int field)
{
	switch (field)
	{
	case MOCPACK_WINDOW_QUATERNION:
		return 4 * plan.joint_count;
	case MOCPACK_WINDOW_ROTATION6D:
		return 6 * plan.joint_count;
	case MOCPACK_WINDOW_TRANSLATION:
		return 3 * plan.translated_count;
	case MOCPACK_WINDOW_CONTACT:
		return plan.foot_count;
	case MOCPACK_WINDOW_ANGLE:
	case MOCPACK_WINDOW_ANGLE_VELOCITY:
		return hinge_count(plan);
	case MOCPACK_WINDOW_ROOT:
		return 7;
	default:
		return 3 * plan.joint_count;
	}
}

// Scratch memory: a pose, a copy to modify it, the positions and angles of all rows, a foot's heights.
struct Scratch
{
	Quat *turns, *other_turns, *world;
	Vec3 *places, *other_places, *positions;
	double *angles, *heights;

	Scratch(const mocpack_WindowPlan& plan, size_t count, void* memory)
	{
		turns = static_cast<Quat*>(memory);
		other_turns = turns + plan.joint_count;
		world = other_turns + plan.joint_count;
		places = reinterpret_cast<Vec3*>(world + plan.joint_count);
		other_places = places + plan.translated_count;
		positions = other_places + plan.translated_count;
		angles =
			reinterpret_cast<double*>(positions + (needs_positions(plan) ? count * plan.joint_count : 0));
		heights = angles + (needs_angles(plan) ? count * hinge_count(plan) : 0);
	}
};

template <typename T> struct Motion
{
	const T* turns;
	size_t turn_stride;
	const T* places;
	size_t place_stride;
	size_t frames;
};

template <typename T>
void pose_at(const mocpack_WindowPlan& plan, const Motion<T>& motion, double at, Scratch& s)
{
	double last = double(motion.frames - 1);
	at = std::min(std::max(at, 0.0), last);
	size_t frame = size_t(at);
	double t = at - double(frame);
	const T *turns = motion.turns + frame * motion.turn_stride,
			*places = motion.places + frame * motion.place_stride;
	// resampled times are rarely exact integers
	bool whole = t < 1e-9 || frame + 1 >= motion.frames;
	for (size_t j = 0; j < plan.joint_count; ++j)
	{
		Quat q = quat_at(turns + 4 * j);
		s.turns[j] = whole ? q : slerp(q, quat_at(turns + motion.turn_stride + 4 * j), t);
	}
	for (size_t m = 0; m < plan.translated_count; ++m)
	{
		Vec3 v = vec_at(places + 3 * m);
		s.places[m] = whole ? v : (1 - t) * v + t * vec_at(places + motion.place_stride + 3 * m);
	}
}

void mirror(const mocpack_WindowPlan& plan, Scratch& s)
{
	for (size_t j = 0; j < plan.joint_count; ++j)
	{
		Quat seen = reflect(s.turns[plan.partners[j]], plan.axis);
		s.other_turns[j] =
			multiply(multiply(load_quat(plan.before + 4 * j), seen), load_quat(plan.after + 4 * j));
	}
	for (size_t m = 0; m < plan.translated_count; ++m)
	{
		size_t j = size_t(plan.translated_joints[m]), partner = size_t(plan.partners[j]);
		const int32_t* end = plan.translated_joints + plan.translated_count;
		size_t other =
			size_t(std::lower_bound(plan.translated_joints, end, int32_t(partner)) - plan.translated_joints);
		Vec3 moved = s.places[other], own = {0, 0, 0};
		if (plan.parents[j] >= 0)
			moved = moved - load_vec(plan.offsets + 3 * partner), own = load_vec(plan.offsets + 3 * j);
		s.other_places[m] = own + rotate(load_quat(plan.before + 4 * j), reflect(moved, plan.axis));
	}
	std::swap(s.turns, s.other_turns);
	std::swap(s.places, s.other_places);
}

// Moves the first pose to the origin: a rotation about y, and the start position.
struct Origin
{
	Quat turn = {0, 0, 0, 1};
	Vec3 place = {0, 0, 0};
};

Origin origin_of(const mocpack_WindowPlan& plan, const Scratch& s)
{
	Origin found;
	Quat root = multiply(s.turns[0], conjugate(load_quat(plan.root_rest)));
	double size = std::sqrt(root.y * root.y + root.w * root.w);
	if (size > 1e-9)
		found.turn = {0, -root.y / size, 0, root.w / size};
	if (plan.translated_count && plan.translated_joints[0] == 0)
		found.place = {s.places[0].x, 0, s.places[0].z};
	return found;
}

void move_to_origin(const mocpack_WindowPlan& plan, const Origin& origin, Scratch& s)
{
	size_t m = 0;
	for (size_t j = 0; j < plan.joint_count; ++j)
	{
		bool moves = m < plan.translated_count && size_t(plan.translated_joints[m]) == j;
		if (plan.parents[j] < 0)
		{
			s.turns[j] = multiply(origin.turn, s.turns[j]);
			if (moves)
				s.places[m] = rotate(origin.turn, s.places[m] - origin.place);
		}
		m += moves;
	}
}

void solve(const mocpack_WindowPlan& plan, Scratch& s, Vec3* positions)
{
	size_t m = 0;
	for (size_t j = 0; j < plan.joint_count; ++j)
	{
		Vec3 local = load_vec(plan.offsets + 3 * j);
		if (m < plan.translated_count && size_t(plan.translated_joints[m]) == j)
			local = s.places[m++];
		int32_t parent = plan.parents[j];
		positions[j] = parent < 0 ? local : positions[parent] + rotate(s.world[parent], local);
		s.world[j] = parent < 0 ? s.turns[j] : multiply(s.world[parent], s.turns[j]);
	}
}

float* put(float* out, Vec3 v)
{
	out[0] = float(v.x), out[1] = float(v.y), out[2] = float(v.z);
	return out + 3;
}

float* put_quat(float* out, Quat q)
{
	out[0] = float(q.x), out[1] = float(q.y), out[2] = float(q.z), out[3] = float(q.w);
	return out + 4;
}

float* put_6d(float* out, Quat q)
{
	out =
		put(out, {1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y + q.z * q.w), 2 * (q.x * q.z - q.y * q.w)});
	return put(out,
			   {2 * (q.x * q.y - q.z * q.w), 1 - 2 * (q.x * q.x + q.z * q.z), 2 * (q.y * q.z + q.x * q.w)});
}

void put_root(const mocpack_WindowPlan& plan, const Scratch& s, float* out)
{
	const Quat to_source = load_quat(plan.to_source);
	bool moves = plan.translated_count && plan.translated_joints[0] == 0;
	out = put(out, rotate(to_source, moves ? s.places[0] : load_vec(plan.offsets)));
	put_quat(out, multiply(to_source, s.turns[0]));
}

// Writes the fields of one pose to a row.
void put_pose(const mocpack_WindowPlan& plan, const Scratch& s, const Vec3* positions, const double* angles,
			  float* row)
{
	for (size_t f = 0; f < plan.field_count; ++f)
	{
		float* out = row;
		row += field_width(plan, plan.fields[f]);
		if (plan.fields[f] == MOCPACK_WINDOW_QUATERNION)
			for (size_t j = 0; j < plan.joint_count; ++j)
				out = put_quat(out, s.turns[j]);
		else if (plan.fields[f] == MOCPACK_WINDOW_ROTATION6D)
			for (size_t j = 0; j < plan.joint_count; ++j)
				out = put_6d(out, s.turns[j]);
		else if (plan.fields[f] == MOCPACK_WINDOW_TRANSLATION)
			for (size_t m = 0; m < plan.translated_count; ++m)
				out = put(out, s.places[m]);
		else if (plan.fields[f] == MOCPACK_WINDOW_POSITION)
			for (size_t j = 0; j < plan.joint_count; ++j)
				out = put(out, positions[j]);
		else if (plan.fields[f] == MOCPACK_WINDOW_ANGLE)
			for (size_t h = 0; h < hinge_count(plan); ++h)
				out[plan.hinge_columns[h]] = float(angles[h]);
		else if (plan.fields[f] == MOCPACK_WINDOW_ROOT)
			put_root(plan, s, out);
	}
}

// Writes the change per second of values (count, width), each to its column.
void put_velocities(const double* values, size_t width, const int32_t* columns, size_t count, double rate,
					float* out, size_t stride)
{
	for (size_t i = 0; i < count; ++i)
	{
		size_t before = i ? i - 1 : 0, after = std::min(i + 1, count - 1);
		double scale = after > before ? rate / double(after - before) : 0.0;
		float* row = out + i * stride;
		for (size_t k = 0; k < width; ++k)
			row[columns ? size_t(columns[k]) : k] =
				float(scale * (values[after * width + k] - values[before * width + k]));
	}
}

// Returns the FLOOR_QUANTILE of a foot's height, interpolated.
double floor_height(const Vec3* positions, size_t joints, size_t count, double* heights)
{
	for (size_t i = 0; i < count; ++i)
		heights[i] = positions[i * joints].y;
	double at = FLOOR_QUANTILE * double(count - 1);
	size_t low = size_t(at), high = std::min(low + 1, count - 1);
	std::nth_element(heights, heights + low, heights + count);
	double below = heights[low];
	double above = high > low ? *std::min_element(heights + high, heights + count) : below;
	return below + (at - double(low)) * (above - below);
}

void put_contacts(const mocpack_WindowPlan& plan, const Vec3* positions, size_t count, double rate,
				  double* heights, float* out, size_t stride)
{
	size_t joints = plan.joint_count, span = size_t(std::max(1.0, std::nearbyint(PLANTED_SPAN * rate)));
	for (size_t f = 0; f < plan.foot_count; ++f)
	{
		const Vec3* foot = positions + plan.feet[f];
		double floor = floor_height(foot, joints, count, heights);
		for (size_t i = 0; i < count; ++i)
		{
			size_t before = i > span ? i - span : 0, after = std::min(i + span, count - 1);
			Vec3 moved = foot[after * joints] - foot[before * joints];
			double seconds = double(std::max(after - before, size_t(1))) / rate;
			bool slow = std::sqrt(dot(moved, moved)) / seconds < PLANTED_SPEED;
			out[i * stride + f] = slow && foot[i * joints].y - floor < PLANTED_HEIGHT ? 1.0f : 0.0f;
		}
	}
}

// Returns whether rows are plain copies of frames.
bool is_copy(const mocpack_WindowPlan& plan, double first, double step)
{
	bool as_stored =
		plan.field_count && plan.fields[0] == MOCPACK_WINDOW_QUATERNION &&
		(plan.field_count == 1 || (plan.field_count == 2 && plan.fields[1] == MOCPACK_WINDOW_TRANSLATION));
	return as_stored && !plan.partners && !plan.relative && step == 1.0 && first == std::floor(first);
}

template <typename T>
void copy_rows(const mocpack_WindowPlan& plan, const Motion<T>& motion, size_t first, size_t count,
			   float* out, size_t stride)
{
	size_t turn = 4 * plan.joint_count, place = plan.field_count > 1 ? 3 * plan.translated_count : 0;
	const T* start = motion.turns + first * motion.turn_stride;
	bool as_they_are = sizeof(T) == sizeof(float) && motion.turn_stride == stride && turn + place == stride &&
					   motion.places == motion.turns + turn && motion.place_stride == stride;
	if (as_they_are && first + count <= motion.frames)
	{
		std::memcpy(out, start, count * stride * sizeof(float));
		return;
	}
	for (size_t i = 0; i < count; ++i, out += stride)
	{
		size_t frame = std::min(first + i, motion.frames - 1);
		const T *turns = motion.turns + frame * motion.turn_stride,
				*places = motion.places + frame * motion.place_stride;
		std::transform(turns, turns + turn, out, [](T value) { return float(value); });
		std::transform(places, places + place, out + turn, [](T value) { return float(value); });
	}
}

template <typename T>
void write_window(const mocpack_WindowPlan& plan, const Motion<T>& motion, double first, double step,
				  size_t count, double rate, float* out, size_t stride, void* memory)
{
	if (is_copy(plan, first, step))
		return copy_rows(plan, motion, size_t(first), count, out, stride);
	Scratch s(plan, count, memory);
	bool solved = needs_positions(plan), hinged = needs_angles(plan);
	size_t hinges = hinge_count(plan);
	Origin origin;
	for (size_t i = 0; i < count; ++i)
	{
		pose_at(plan, motion, first + double(i) * step, s);
		if (plan.partners)
			mirror(plan, s);
		if (plan.relative)
		{
			if (!i)
				origin = origin_of(plan, s);
			move_to_origin(plan, origin, s);
		}
		Vec3* positions = s.positions + (solved ? i * plan.joint_count : 0);
		if (solved)
			solve(plan, s, positions);
		double* angles = s.angles + (hinged ? i * hinges : 0);
		if (hinged)
			mocpack_compute_pose_angles(plan.hinged, &s.turns->x, reinterpret_cast<double*>(s.places),
										i ? angles - hinges : nullptr, angles);
		put_pose(plan, s, positions, angles, out + i * stride);
	}
	for (size_t f = 0; f < plan.field_count; out += field_width(plan, plan.fields[f++]))
		if (plan.fields[f] == MOCPACK_WINDOW_VELOCITY)
			put_velocities(reinterpret_cast<double*>(s.positions), 3 * plan.joint_count, nullptr, count, rate,
						   out, stride);
		else if (plan.fields[f] == MOCPACK_WINDOW_ANGLE_VELOCITY)
			put_velocities(s.angles, hinges, plan.hinge_columns, count, rate, out, stride);
		else if (plan.fields[f] == MOCPACK_WINDOW_CONTACT)
			put_contacts(plan, s.positions, count, rate, s.heights, out, stride);
}

} // namespace

int mocpack_window_is_copy(const mocpack_WindowPlan* plan, double step)
{
	return is_copy(*plan, 0.0, step);
}

size_t mocpack_window_width(const mocpack_WindowPlan* plan)
{
	size_t width = 0;
	for (size_t f = 0; f < plan->field_count; ++f)
		width += field_width(*plan, plan->fields[f]);
	return width;
}

size_t mocpack_window_scratch_size(const mocpack_WindowPlan* plan, size_t count)
{
	size_t positions = needs_positions(*plan) ? count * plan->joint_count : 0;
	size_t angles = needs_angles(*plan) ? count * hinge_count(*plan) : 0;
	return 3 * plan->joint_count * sizeof(Quat) + (2 * plan->translated_count + positions) * sizeof(Vec3) +
		   (angles + count) * sizeof(double);
}

void mocpack_window_from_double(const mocpack_WindowPlan* plan, const double* turns, size_t turn_stride,
								const double* places, size_t place_stride, size_t frames, double first,
								double step, size_t count, double rate, float* out, size_t out_stride,
								void* scratch)
{
	Motion<double> motion = {turns, turn_stride, places, place_stride, frames};
	write_window(*plan, motion, first, step, count, rate, out, out_stride, scratch);
}

void mocpack_window_from_float(const mocpack_WindowPlan* plan, const float* turns, size_t turn_stride,
							   const float* places, size_t place_stride, size_t frames, double first,
							   double step, size_t count, double rate, float* out, size_t out_stride,
							   void* scratch)
{
	Motion<float> motion = {turns, turn_stride, places, place_stride, frames};
	write_window(*plan, motion, first, step, count, rate, out, out_stride, scratch);
}
