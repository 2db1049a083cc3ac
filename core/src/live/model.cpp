// Parses a hello and derives the bodies, units and levers of its skeleton.
//
// Decoded frames depend on these values. They are computed only with operations that every machine rounds
// equally: addition, multiplication, division and square root.
#include "live/model.h"

#include <cmath>
#include <cstring>

#include "common/crc32.h"

namespace mocpack
{
namespace live
{

namespace
{

const uint8_t MAGIC[4] = {'m', 'l', 'v', '1'};
const double MIN_LENGTH_M = 1e-6;		 // a shorter bone has no direction
const double ROTATION_STEP_RATIO = 0.36; // step as a ratio of the bound
const double TWIST_STEP_RATIO = 0.35;
const double TRANSLATION_STEP_RATIO = 0.5;
const double HINGE_STEP_RATIO = 0.25;
const double MAX_LENGTH_M = 1e6;

struct ByteReader
{
	const uint8_t* at;
	const uint8_t* end;
	bool good = true;

	bool take(void* dst, size_t size)
	{
		good = good && size_t(end - at) >= size;
		if (good)
		{
			memcpy(dst, at, size);
			at += size;
		}
		else
			memset(dst, 0, size);
		return good;
	}

	uint32_t u8()
	{
		uint8_t b;
		take(&b, 1);
		return b;
	}

	uint32_t u16()
	{
		uint8_t b[2];
		take(b, 2);
		return uint32_t(b[0]) | uint32_t(b[1]) << 8;
	}

	uint32_t u32()
	{
		uint32_t low = u16();
		return low | u16() << 16;
	}

	double f64()
	{
		uint64_t low = u32(), bits = low | uint64_t(u32()) << 32;
		double value;
		memcpy(&value, &bits, 8);
		return value;
	}

	double f32()
	{
		uint32_t bits = u32();
		float value;
		memcpy(&value, &bits, 4);
		return double(value);
	}

	Vec3 vec_f64()
	{
		double x = f64(), y = f64(), z = f64();
		return {x, y, z};
	}

	Vec3 vec_f32()
	{
		double x = f32(), y = f32(), z = f32();
		return {x, y, z};
	}
};

mocpack_Status set_fault(mocpack_Fault* fault, const char* part, size_t index, const char* field,
						 double value, double low, double high)
{
	*fault = {part, int64_t(index), field, value, low, high};
	return MOCPACK_CORRUPT;
}

double length(Vec3 v)
{
	return std::sqrt(dot(v, v));
}

bool is_usable(Vec3 v)
{
	return std::fabs(v.x) <= MAX_LENGTH_M && std::fabs(v.y) <= MAX_LENGTH_M && std::fabs(v.z) <= MAX_LENGTH_M;
}

struct Hinge
{
	int32_t joint;
	bool slides;
	Vec3 axis;
};

// The parsed fields of a hello.
struct HelloParts
{
	size_t joints, ends, translated, hinges;
	uint8_t* kinds; // (J) nonzero: rotates freely
	Quat* rest;
	int32_t* end_joints;
	Vec3* end_sites;
	Hinge* rows;
	int32_t* first_hinge; // (J + 1)
};

void choose_axes(Vec3 axis, Unit* unit)
{
	double x = std::fabs(axis.x), y = std::fabs(axis.y), z = std::fabs(axis.z);
	Vec3 other = x <= y && x <= z ? Vec3{1, 0, 0} : y <= z ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
	Vec3 side = cross(axis, other);
	side = (1 / length(side)) * side;
	unit->axes[0] = side;
	unit->axes[1] = cross(axis, side);
	unit->axes[2] = axis;
	for (int k = 0; k < MAX_NUMBERS; ++k)
	{
		const double v[3] = {unit->axes[k].x, unit->axes[k].y, unit->axes[k].z};
		for (int c = 0; c < 3; ++c)
			unit->basis[k][c] = int32_t(std::floor(v[c] * (1 << BASIS_BITS) + 0.5));
	}
}

struct Builder
{
	Model& m;
	const HelloParts& p;
	double* reach; // (J) distance to the furthest point carried through hinges

	Vec3 offset(size_t j) const
	{
		return load_vec(m.offsets + 3 * j);
	}

	size_t hinges(size_t j, bool slides) const
	{
		size_t count = 0;
		for (int32_t h = p.first_hinge[j]; h < p.first_hinge[j + 1]; ++h)
			count += p.rows[h].slides == slides;
		return count;
	}

	bool is_body(size_t j) const
	{
		return m.parents[j] < 0 || p.kinds[j] || m.columns[j] >= 0 || hinges(j, false);
	}

	// Finds bodies, and the position of each joint in its body (`at`).
	void find_bodies(Vec3* at)
	{
		m.body_count = 0;
		for (size_t j = 0; j < p.joints; ++j)
		{
			int32_t parent = m.parents[j];
			Vec3 position = parent < 0 ? offset(j) : at[parent] + offset(j);
			m.starts_body[j] = is_body(j);
			if (!m.starts_body[j])
			{
				at[j] = position;
				m.body_of[j] = m.body_of[parent];
				continue;
			}
			Body& body = m.bodies[m.body_count];
			body = {};
			body.joint = int32_t(j);
			body.parent = parent < 0 ? -1 : m.body_of[parent];
			body.at = position;
			body.rest = p.rest[j];
			body.translation = body.rotation = -1;
			at[j] = {0, 0, 0};
			m.body_of[j] = int32_t(m.body_count++);
		}
	}

	void add_point(Body& body, Vec3 at, Vec3 own, size_t joint, bool skin)
	{
		bool carries_body = !skin && m.starts_body[joint] && int32_t(joint) != body.joint;
		m.points[m.point_count++] = {at, own, int32_t(joint), skin, carries_body};
		++body.point_count;
	}

	void find_points(const Vec3* at)
	{
		m.point_count = 0;
		for (size_t b = 0; b < m.body_count; ++b)
		{
			Body& body = m.bodies[b];
			body.first_point = int32_t(m.point_count);
			for (size_t j = 0; j < p.joints; ++j)
			{
				bool rides = m.body_of[j] == int32_t(b);
				int32_t parent = m.parents[j];
				if (!rides && m.starts_body[j] && m.columns[j] < 0 && parent >= 0 &&
					m.body_of[parent] == int32_t(b))
					add_point(body, m.bodies[m.body_of[j]].at, {0, 0, 0}, j, false);
				if (!rides)
					continue;
				if (!m.starts_body[j])
					add_point(body, at[j], {0, 0, 0}, j, false);
				for (size_t e = 0; e < p.ends; ++e)
					if (size_t(p.end_joints[e]) == j)
						add_point(body, at[j] + p.end_sites[e], p.end_sites[e], j, false);
				const Vec3 skin[3] = {
					{SKIN_DISTANCE_M, 0, 0}, {0, SKIN_DISTANCE_M, 0}, {0, 0, SKIN_DISTANCE_M}};
				for (Vec3 s : skin)
					add_point(body, at[j] + s, s, j, true);
			}
			for (int32_t i = 0; i < body.point_count; ++i)
			{
				const Point& point = m.points[body.first_point + i];
				double d = length(point.at);
				if (!point.skin && d > body.far_distance && d > MIN_LENGTH_M)
				{
					body.far_distance = d;
					body.axis = (1 / d) * point.at;
				}
			}
			if (body.far_distance == 0)
				body.axis = {0, 1, 0};
		}
	}

	// Computes, for each body, an upper bound of the distance to all points that it carries through hinges.
	void find_reach()
	{
		for (size_t b = 0; b < m.body_count; ++b)
			reach[b] =
				m.bodies[b].far_distance > SKIN_DISTANCE_M ? m.bodies[b].far_distance : SKIN_DISTANCE_M;
		for (size_t b = m.body_count; b-- > 1;)
		{
			const Body& body = m.bodies[b];
			bool carries_body = p.first_hinge[body.joint + 1] > p.first_hinge[body.joint];
			double all = length(body.at) + reach[b];
			if (carries_body && body.parent >= 0 && all > reach[body.parent])
				reach[body.parent] = all;
		}
	}

	int32_t find_last_unit(int32_t b) const
	{
		for (; b >= 0; b = m.bodies[b].parent)
		{
			if (m.bodies[b].rotation >= 0)
				return m.bodies[b].rotation;
			if (m.bodies[b].translation >= 0)
				return m.bodies[b].translation;
		}
		return -1;
	}

	int32_t find_free_rotation_above(int32_t b) const
	{
		for (b = m.bodies[b].parent; b >= 0; b = m.bodies[b].parent)
			if (m.bodies[b].rotation >= 0 && m.units[m.bodies[b].rotation].kind == ROTATION)
				return m.bodies[b].rotation;
		return -1;
	}

	Unit& add_unit(UnitKind kind, size_t count, size_t b, int32_t above)
	{
		Unit& unit = m.units[m.unit_count++];
		unit = {};
		unit.kind = kind;
		unit.count = uint8_t(count);
		unit.body = int32_t(b);
		unit.first = int32_t(m.number_count);
		unit.anchor = -1;
		unit.above = above;
		m.number_count += count;
		return unit;
	}

	void add_translation(size_t b)
	{
		Body& body = m.bodies[b];
		size_t j = size_t(body.joint), sliding = hinges(j, true);
		Unit& unit = add_unit(TRANSLATION, sliding ? sliding : 3, b,
							  body.parent < 0 ? -1 : find_last_unit(body.parent));
		body.translation = int32_t(m.unit_count) - 1;
		unit.column = m.columns[j];
		const Vec3 world[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
		for (int k = 0; k < MAX_NUMBERS; ++k)
			unit.axes[k] = world[k], unit.levers[k] = 1;
		if (!sliding)
			return;
		unit.base = offset(j);
		for (int32_t h = p.first_hinge[j], k = 0; h < p.first_hinge[j + 1]; ++h)
			if (p.rows[h].slides)
				unit.axes[k++] = rotate(body.rest, p.rows[h].axis);
	}

	void add_rotation(size_t b)
	{
		Body& body = m.bodies[b];
		size_t j = size_t(body.joint), turning = hinges(j, false);
		if (!turning && !p.kinds[j])
			return;
		int32_t above = body.translation >= 0 ? body.translation
						: body.parent < 0	  ? -1
											  : find_last_unit(body.parent);
		Unit& unit = add_unit(turning ? HINGE : ROTATION, turning ? turning : 3, b, above);
		body.rotation = int32_t(m.unit_count) - 1;
		if (turning)
		{
			for (int32_t h = p.first_hinge[j], k = 0; h < p.first_hinge[j + 1]; ++h)
				if (!p.rows[h].slides)
					unit.levers[k] = reach[b], unit.axes[k++] = p.rows[h].axis;
			return;
		}
		unit.anchor = find_free_rotation_above(int32_t(b));
		choose_axes(body.axis, &unit);
		double wide = 0;
		for (int32_t i = 0; i < body.point_count; ++i)
		{
			const Point& point = m.points[body.first_point + i];
			Vec3 off = point.at - dot(point.at, body.axis) * body.axis;
			if (!point.skin && length(off) > wide)
				wide = length(off);
		}
		unit.skin_only_twist = wide <= MIN_LENGTH_M;
		unit.levers[0] = unit.levers[1] = reach[b];
		unit.levers[2] = wide > SKIN_DISTANCE_M ? wide : SKIN_DISTANCE_M;
	}

	void find_units()
	{
		m.unit_count = m.number_count = 0;
		for (size_t b = 0; b < m.body_count; ++b)
		{
			if (m.columns[m.bodies[b].joint] >= 0)
				add_translation(b);
			add_rotation(b);
		}
	}
};

mocpack_Status read_tree(ByteReader& in, Model* m, HelloParts& p, mocpack_Fault* fault)
{
	for (size_t j = 0; j < p.joints; ++j)
	{
		uint32_t parent = in.u16();
		m->parents[j] = parent == 0xffff ? -1 : int32_t(parent);
		m->columns[j] = -1;
		if (parent != 0xffff && parent >= j)
			return set_fault(fault, "joint", j, "parent", double(parent), 0, double(j) - 1);
	}
	for (size_t j = 0; j < p.joints; ++j)
		p.kinds[j] = uint8_t(in.u8());
	for (size_t j = 0; j < p.joints; ++j)
	{
		Vec3 offset = in.vec_f32();
		if (!is_usable(offset))
			return set_fault(fault, "joint", j, "offset", length(offset), 0, MAX_LENGTH_M);
		store(m->offsets + 3 * j, offset);
	}
	for (size_t j = 0; j < p.joints; ++j)
	{
		Vec3 v = in.vec_f64();
		double w = in.f64(), norm = std::sqrt(dot(v, v) + w * w);
		if (!(std::fabs(norm - 1) < 1e-3))
			return set_fault(fault, "joint", j, "length of its rest rotation", norm, 1, 1);
		p.rest[j] = {v.x / norm, v.y / norm, v.z / norm, w / norm};
	}
	return MOCPACK_OK;
}

mocpack_Status read_rows(ByteReader& in, Model* m, HelloParts& p, mocpack_Fault* fault)
{
	for (size_t e = 0; e < p.ends; ++e)
	{
		p.end_joints[e] = int32_t(in.u16());
		p.end_sites[e] = in.vec_f32();
		if (size_t(p.end_joints[e]) >= p.joints)
			return set_fault(fault, "end site", e, "joint", p.end_joints[e], 0, double(p.joints) - 1);
		if (!is_usable(p.end_sites[e]))
			return set_fault(fault, "end site", e, "place", length(p.end_sites[e]), 0, MAX_LENGTH_M);
	}
	for (size_t c = 0; c < p.translated; ++c)
	{
		uint32_t joint = in.u16();
		if (joint >= p.joints || m->columns[joint] >= 0)
			return set_fault(fault, "translation", c, "joint", joint, 0, double(p.joints) - 1);
		m->columns[joint] = int32_t(c);
	}
	size_t joint = 0;
	for (size_t h = 0; h < p.hinges; ++h)
	{
		Hinge& row = p.rows[h];
		row.joint = int32_t(in.u16());
		row.slides = in.u8() != 0;
		row.axis = in.vec_f64();
		double norm = length(row.axis);
		if (size_t(row.joint) >= p.joints || size_t(row.joint) < (h ? size_t(p.rows[h - 1].joint) : 0))
			return set_fault(fault, "hinge", h, "joint", row.joint, 0, double(p.joints) - 1);
		if (!(std::fabs(norm - 1) < 1e-3))
			return set_fault(fault, "hinge", h, "length of its axis", norm, 1, 1);
		row.axis = (1 / norm) * row.axis;
		while (joint <= size_t(row.joint))
			p.first_hinge[joint++] = int32_t(h);
	}
	while (joint <= p.joints)
		p.first_hinge[joint++] = int32_t(p.hinges);
	for (size_t j = 0; j < p.joints; ++j)
	{
		int slides = 0, rotations = 0;
		for (int32_t h = p.first_hinge[j]; h < p.first_hinge[j + 1]; ++h)
			++(p.rows[h].slides ? slides : rotations);
		if (slides > 3 || rotations > 2 || (slides && m->columns[j] < 0))
			return set_fault(fault, "joint", j, "hinges", slides + rotations, 0, 2);
	}
	return MOCPACK_OK;
}

} // namespace

void compute_steps(const Model& model, uint32_t bound, int refinement, int64_t* steps)
{
	double meters = double(bound) / 1e6 / double(1 << refinement);
	for (size_t u = 0; u < model.unit_count; ++u)
	{
		const Unit& unit = model.units[u];
		for (int k = 0; k < unit.count; ++k)
		{
			double step = unit.kind == TRANSLATION ? TRANSLATION_STEP_RATIO * meters * LENGTH_SCALE
						  : unit.kind == HINGE ? 2 * HINGE_STEP_RATIO * meters / unit.levers[k] * ANGLE_SCALE
						  : k < 2			   ? ROTATION_STEP_RATIO * meters / unit.levers[k] * double(ONE)
											   : TWIST_STEP_RATIO * meters / unit.levers[k] * double(ONE);
			double most = unit.kind == ROTATION ? double(ONE) / 4 : double(ONE);
			steps[unit.first + k] = int64_t(step < 1 ? 1 : step > most ? most : step);
		}
	}
}

mocpack_Status read_model(const uint8_t* hello, size_t size, Arena& arena, Model* m, mocpack_Fault* fault)
{
	ByteReader in = {hello, hello + size};
	uint8_t magic[4];
	in.take(magic, 4);
	if (!in.good || memcmp(magic, MAGIC, 4) != 0)
		return set_fault(fault, "hello", 0, "first four bytes", magic[0], MAGIC[0], MAGIC[0]);
	in.u32(); // the session only matters through the checksum
	HelloParts p;
	m->bound = in.u32();
	m->frame_time = in.f64();
	m->velocity_gain = int32_t(in.u16());
	m->velocity_decay = int32_t(in.u16());
	p.joints = in.u16(), p.ends = in.u16(), p.translated = in.u16(), p.hinges = in.u16();
	if (!in.good)
		return MOCPACK_TRUNCATED;
	if (m->bound < 1 || m->bound > MAX_BOUND_UM)
		return set_fault(fault, "hello", 0, "max_error in micrometers", m->bound, 1, MAX_BOUND_UM);
	if (!(m->frame_time >= 1e-6 && m->frame_time <= 1e6))
		return set_fault(fault, "hello", 0, "frame_time", m->frame_time, 1e-6, 1e6);
	if (p.joints < 1 || p.joints > MAX_JOINTS)
		return set_fault(fault, "hello", 0, "joint count", double(p.joints), 1, MAX_JOINTS);
	size_t points = 5 * p.joints + p.ends;
	if (p.ends > MAX_POINTS || p.translated > p.joints || p.hinges > 5 * p.joints)
		return set_fault(fault, "hello", 0, "count of end sites, translations or hinges",
						 double(p.ends + p.translated + p.hinges), 0, double(MAX_POINTS));
	m->hello_checksum = crc32(0, hello, size);
	m->joint_count = p.joints;
	m->translated_count = p.translated;
	m->point_room = points;
	m->parents = arena.allocate<int32_t>(p.joints);
	m->body_of = arena.allocate<int32_t>(p.joints);
	m->starts_body = arena.allocate<uint8_t>(p.joints);
	m->columns = arena.allocate<int32_t>(p.joints);
	m->offsets = arena.allocate<double>(3 * p.joints);
	m->bodies = arena.allocate<Body>(p.joints);
	m->units = arena.allocate<Unit>(2 * p.joints);
	m->points = arena.allocate<Point>(points);
	p.kinds = arena.allocate<uint8_t>(p.joints);
	p.rest = arena.allocate<Quat>(p.joints);
	p.end_joints = arena.allocate<int32_t>(p.ends);
	p.end_sites = arena.allocate<Vec3>(p.ends);
	p.rows = arena.allocate<Hinge>(p.hinges);
	p.first_hinge = arena.allocate<int32_t>(p.joints + 1);
	Vec3* at = arena.allocate<Vec3>(p.joints);
	double* reach = arena.allocate<double>(p.joints);
	if (!m->parents)
		return MOCPACK_OK; // counting
	mocpack_Status status = read_tree(in, m, p, fault);
	if (status == MOCPACK_OK)
		status = read_rows(in, m, p, fault);
	if (status != MOCPACK_OK || !in.good)
		return in.good ? status : MOCPACK_TRUNCATED;
	Builder build = {*m, p, reach};
	build.find_bodies(at);
	build.find_points(at);
	build.find_reach();
	build.find_units();
	return MOCPACK_OK;
}

} // namespace live
} // namespace mocpack
