// Writes HEAD and the bounds of joints.
#include <algorithm>
#include <cmath>

#include "math/elementary.h"
#include "writer/chunks.h"

namespace mocpack
{

namespace
{

const unsigned HAS_DECLARED = 1, HAS_MEASURED = 2, HAS_NEEDED = 4, HAS_ANGLE = 8;
const double LEAST_ERROR = 1e-12; // meters or radians

// Writes ceil(1024 * log2(error / 1e-12)); 0 for errors below 1e-12.
void write_measured(double error, FieldWriter* out)
{
	const double code =
		error < LEAST_ERROR ? 0 : std::max(std::ceil(1024 * math::log2(error / LEAST_ERROR) - 1e-9), 1.0);
	out->u16(unsigned(std::min(code, 65535.0)));
}

} // namespace

void write_head(const FileHead& head, FieldWriter* out)
{
	const bool is_measured =
		std::all_of(head.measured_errors, head.measured_errors + 4, [](double e) { return e >= 0; });
	out->u8(head.has_vertices);
	out->varint(head.frame_count);
	write_short_number(head.frame_time, out);
	out->sized(head.codec);
	out->varint(head.bitstream_version);
	out->sized(head.parameters);
	out->u8(HAS_DECLARED * unsigned(head.declared_error >= 0) + HAS_MEASURED * unsigned(is_measured) +
			HAS_NEEDED * unsigned(head.needed.size > 0) + HAS_ANGLE * unsigned(head.declared_angle >= 0));
	if (head.declared_error >= 0)
		out->f32(head.declared_error);
	for (int i = 0; i < 4 && is_measured; ++i)
		write_measured(head.measured_errors[i], out);
	if (head.declared_angle >= 0)
	{
		out->f32(head.declared_angle);
		write_measured(head.measured_angle, out);
	}
	if (head.needed.size)
		out->sized(head.needed);
}

// Joints with the same bounds are a group. The largest group comes first, because its joints are not listed.
void write_joint_bounds(size_t joints, const double* errors, const double* measured, const double* angles,
						const double* measured_angles, FieldWriter* out)
{
	Buffer<int32_t> order, members;
	Buffer<size_t> groups; // first place of each group in `order`, then its end
	if (!order.take(out->allocator(), joints) || !members.take(out->allocator(), joints) ||
		!groups.take(out->allocator(), 2 * joints))
		return out->fail();
	for (size_t j = 0; j < joints; ++j)
		order[j] = int32_t(j);
	auto is_below = [&](int32_t a, int32_t b)
	{
		if (errors[a] != errors[b])
			return errors[a] < errors[b];
		return angles[a] != angles[b] ? angles[a] < angles[b] : a < b;
	};
	std::sort(order.data(), order.data() + joints, is_below);
	size_t count = 0;
	for (size_t i = 0; i < joints; ++i)
	{
		if (!i || errors[order[i]] != errors[order[i - 1]] || angles[order[i]] != angles[order[i - 1]])
			groups[2 * count++] = i;
		groups[2 * count - 1] = i + 1;
	}
	const bool has_angles = std::any_of(angles, angles + joints, [](double angle) { return angle != 0; });
	out->u8(has_angles);
	out->varint(count);
	for (size_t written = 0; written < count; ++written)
	{
		size_t largest = 0; // the first of equal ones
		for (size_t g = 1; g < count; ++g)
			if (groups[2 * g + 1] - groups[2 * g] > groups[2 * largest + 1] - groups[2 * largest])
				largest = g;
		const int32_t *first = order.data() + groups[2 * largest],
					  *end = order.data() + groups[2 * largest + 1];
		double error = 0, angle = 0;
		for (const int32_t* joint = first; joint < end; ++joint)
			error = std::max(error, measured[*joint]), angle = std::max(angle, measured_angles[*joint]);
		out->f32(errors[*first]);
		write_measured(error, out);
		if (has_angles)
		{
			out->f32(angles[*first]);
			write_measured(angle, out);
		}
		if (written)
			out->indices(first, size_t(end - first));
		groups[2 * largest + 1] = groups[2 * largest];
	}
}

} // namespace mocpack
