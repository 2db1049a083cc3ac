// Writes SKEL and MESH. Offsets are decimal fractions in nearly every source, so they are stored as integer
// multiples of 10^-digits source units, which restores them bit for bit.
#include <cmath>

#include "math/elementary.h"
#include "reader/chunks.h"
#include "reader/skeleton_code.h"
#include "writer/chunks.h"
#include "writer/deflate.h"

namespace mocpack
{

namespace
{

const double HALF_TURN = 3.14159265358979323846, FULL_TURN = 2 * HALF_TURN; // radians
const double POLE_TOLERANCE = 1e-12;			 // components of a unit quaternion below this are rounding
const double LARGEST_POINT = 9007199254740992.0; // 2^53, in units of a decimal

bool is_same_text(mocpack_Text a, mocpack_Text b)
{
	return a.size == b.size && (!a.size || std::memcmp(a.bytes, b.bytes, a.size) == 0);
}

// Each distinct layout of channels, then the layout of each joint.
void write_layouts(const FileSkeleton& s, FieldWriter* out)
{
	Buffer<int32_t> first, layouts; // first joint of each layout; layout of each joint
	if (!first.take(out->allocator(), s.joint_count) || !layouts.take(out->allocator(), s.joint_count))
		return out->fail();
	size_t count = 0;
	auto channels = [&s](size_t joint) { return s.channels ? s.channels[joint] : mocpack_Text{nullptr, 0}; };
	for (size_t j = 0; j < s.joint_count; ++j)
	{
		size_t found = 0;
		while (found < count && !is_same_text(channels(size_t(first[found])), channels(j)))
			++found;
		if (found == count)
			first[count++] = int32_t(j);
		layouts[j] = int32_t(found);
	}
	out->varint(count);
	for (size_t i = 0; i < count; ++i)
		out->sized(channels(size_t(first[i])));
	for (size_t j = 0; j < s.joint_count; ++j)
		out->varint(uint64_t(layouts[j]));
}

void write_unit(double unit, FieldWriter* out)
{
	for (size_t i = 0; i < sizeof SKELETON_UNITS / sizeof *SKELETON_UNITS; ++i)
		if (unit == SKELETON_UNITS[i])
			return out->u8(unsigned(i));
	out->u8(OTHER_UNIT);
	out->f64(unit);
}

// Calls visit(number) for each coordinate of offsets and end sites until it returns false.
template <typename Visit> bool visit_points(const FileSkeleton& s, Visit visit)
{
	for (size_t i = 0; i < 3 * s.joint_count; ++i)
		if (!visit(s.offsets[i]))
			return false;
	for (size_t i = 0; i < 3 * s.end_count; ++i)
		if (!visit(s.end_sites[i]))
			return false;
	return true;
}

void write_points(const FileSkeleton& s, FieldWriter* out)
{
	double power = 1;
	for (int digits = 0; digits <= POINT_DIGITS; ++digits, power *= 10)
	{
		auto restores = [&](double meters)
		{
			const double whole = std::nearbyint(meters / s.unit * power);
			return std::fabs(whole) < LARGEST_POINT && whole / power * s.unit == meters;
		};
		if (!visit_points(s, restores))
			continue;
		out->u8(unsigned(digits));
		visit_points(s,
					 [&](double meters)
					 {
						 out->zigzag(int64_t(std::nearbyint(meters / s.unit * power)));
						 return true;
					 });
		return;
	}
	out->u8(AS_FLOATS);
	visit_points(s, [out](double meters) { return out->f64(meters), true; });
}

// Sets the angles of a rotation about z, y and x in degrees, from -180 to 180.
void angles_of(const double* q, double* degrees)
{
	const double x = q[2], y = q[1], z = -q[0], w = q[3];
	// half the sum and half the difference of the outer angles; each is undefined at one pole
	const double up = std::sqrt((x + z) * (x + z) + (w + y) * (w + y)),
				 down = std::sqrt((x - z) * (x - z) + (w - y) * (w - y));
	double plus = math::atan2(x + z, w + y), minus = math::atan2(x - z, w - y);
	minus = down < POLE_TOLERANCE ? plus : minus;
	plus = up < POLE_TOLERANCE ? minus : plus;
	const double angles[3] = {plus + minus, HALF_TURN / 2 - 2 * math::atan2(down, up), -(plus - minus)};
	for (int i = 0; i < 3; ++i)
		degrees[i] =
			(angles[i] + FULL_TURN * std::nearbyint((0 - angles[i]) / FULL_TURN)) * (180.0 / HALF_TURN);
}

// No axes, angles as decimal fractions of a degree, or quaternions.
void write_axes(const FileSkeleton& s, FieldWriter* out)
{
	const double identity[4] = {0, 0, 0, 1};
	bool any = false;
	for (size_t i = 0; s.axes && i < 4 * s.joint_count; ++i)
		any = any || s.axes[i] != identity[i % 4];
	if (!any)
		return out->u8(NO_AXES);
	double power = 1;
	for (unsigned digits = 0; digits <= POINT_DIGITS; ++digits, power *= 10)
	{
		const size_t before = out->size();
		bool restores = true;
		out->u8(ANGLE_AXES), out->u8(digits);
		for (size_t j = 0; j < s.joint_count && restores; ++j)
		{
			double degrees[3], frame[4];
			angles_of(s.axes + 4 * j, degrees);
			for (double& angle : degrees)
			{
				const double steps = std::nearbyint(angle * power);
				out->zigzag(int64_t(steps));
				angle = steps / power;
			}
			write_axis_frame(degrees, frame);
			for (size_t c = 0; c < 4; ++c)
				restores = restores && frame[c] == s.axes[4 * j + c];
		}
		if (restores)
			return;
		out->shorten(before);
	}
	out->u8(QUATERNION_AXES);
	for (size_t i = 0; i < 4 * s.joint_count; ++i)
		out->f64(s.axes[i]);
}

} // namespace

void write_skeleton(const FileSkeleton& s, FieldWriter* out)
{
	FieldWriter plain(out->allocator());
	plain.varint(s.joint_count);
	for (size_t j = 0; j < s.joint_count; ++j)
		plain.sized(s.names[j]);
	for (size_t j = 1; j < s.joint_count; ++j)
		plain.varint(uint64_t(int64_t(j) - 1 - s.parents[j]));
	write_layouts(s, &plain);
	plain.indices(s.translated_joints, s.translated_count);
	plain.indices(s.end_joints, s.end_count);
	write_unit(s.unit, &plain);
	write_points(s, &plain);
	write_axes(s, &plain);
	deflate(plain, out, SKELETON_DICTIONARY, sizeof SKELETON_DICTIONARY - 1);
}

void write_mesh(uint64_t vertices, const int32_t* corners, size_t triangles, FieldWriter* out)
{
	FieldWriter steps(out->allocator());
	out->varint(vertices);
	out->varint(triangles);
	// differences are small, because neighbors in the list are neighbors on the mesh
	for (size_t i = 0; i < 3 * triangles; ++i)
		steps.u32(uint32_t(corners[i]) - (i ? uint32_t(corners[i - 1]) : 0));
	deflate(steps, out);
}

} // namespace mocpack
