// Writes rest poses, hinges, scales, times and gaps.
#include <cmath>
#include <initializer_list>

#include "writer/chunks.h"
#include "writer/deflate.h"

namespace mocpack
{

namespace
{

const int64_t REST_GRID = int64_t(1) << 31; // of the components of rest rotations
const uint8_t LISTED_ROWS = 0, CHANNEL_ROWS = 1;
const uint8_t OTHER_AXIS = 6, SLIDES = 8, HAS_LOWEST = 16, HAS_HIGHEST = 32;
const unsigned HAS_CONSTANT = 1, HAS_MOVING = 2;

// A rest rotation without the component that follows from the others.
struct RestCode
{
	int omitted; // plus 4 if it is negative
	int64_t others[3];
};

RestCode omit(const double* q, int component)
{
	RestCode code = {component + 4 * (q[component] < 0), {}};
	for (int i = 0, k = 0; i < 4; ++i)
		if (i != component)
			code.others[k++] = int64_t(std::nearbyint(q[i] * double(REST_GRID)));
	return code;
}

// Sets the rotation that a reader restores.
void restore(const RestCode& code, double* q)
{
	int64_t square = REST_GRID * REST_GRID;
	for (int i = 0, k = 0; i < 4; ++i)
		if (i != code.omitted % 4)
		{
			q[i] = double(code.others[k]) / double(REST_GRID);
			square -= code.others[k] * code.others[k], ++k;
		}
	const double omitted = std::sqrt(double(square > 0 ? square : 0)) / double(REST_GRID);
	q[code.omitted % 4] = code.omitted < 4 ? omitted : -omitted;
}

bool restores(const RestCode& code, const double* q)
{
	double restored[4];
	restore(code, restored);
	return restored[0] == q[0] && restored[1] == q[1] && restored[2] == q[2] && restored[3] == q[3];
}

RestCode rest_code(const double* q)
{
	int largest = 0;
	double square = 0, unit[4] = {0, 0, 0, 1};
	for (int i = 0; i < 4; ++i)
	{
		largest = std::fabs(q[i]) > std::fabs(q[largest]) ? i : largest;
		square += q[i] * q[i];
	}
	const double length = std::sqrt(square);
	for (int i = 0; i < 4 && length > 1e-12; ++i)
		unit[i] = q[i] / length;
	RestCode found = omit(unit, largest);
	// a rotation on the grid stays what it is, even if rounding has changed its largest component
	for (const int component : {0, 1, 2, 3, largest})
	{
		const RestCode exact = omit(q, component);
		if (restores(exact, q))
			found = exact;
	}
	return found;
}

bool is_finite_limit(const FileHinges& hinges, size_t i)
{
	return std::isfinite(hinges.limits[i]);
}

void write_limits(const FileHinges& hinges, FieldWriter* out)
{
	Buffer<double> finite;
	size_t count = 0;
	if (!finite.take(out->allocator(), 2 * hinges.count))
		return out->fail();
	for (size_t i = 0; i < 2 * hinges.count; ++i)
		if (is_finite_limit(hinges, i))
			finite[count++] = hinges.limits[i];
	write_simple_numbers(finite.data(), count, 1, out);
}

// Returns the number of an axis: 0 to 2 along x, y, z, 3 to 5 against them, else OTHER_AXIS.
uint8_t axis_code(const double* axis)
{
	for (uint8_t code = 0; code < OTHER_AXIS; ++code)
	{
		const double sign = code < 3 ? 1 : -1;
		bool is_equal = true;
		for (int i = 0; i < 3; ++i)
			is_equal = is_equal && axis[i] == (i == code % 3 ? sign : 0);
		if (is_equal)
			return code;
	}
	return OTHER_AXIS;
}

void write_rows(const FileHinges& h, FieldWriter* out)
{
	Buffer<double> others; // axes that have no number
	size_t count = 0;
	if (!others.take(out->allocator(), 3 * h.count))
		return out->fail();
	out->varint(h.count);
	for (size_t i = 0; i < h.count; ++i)
		out->zigzag(int64_t(h.joints[i]) - (i ? h.joints[i - 1] : -1) - 1);
	for (size_t i = 0; i < h.count; ++i)
	{
		const uint8_t axis = axis_code(h.axes + 3 * i);
		out->u8(unsigned(axis + SLIDES * (h.slides[i] != 0) + HAS_LOWEST * is_finite_limit(h, 2 * i) +
						 HAS_HIGHEST * is_finite_limit(h, 2 * i + 1)));
		for (size_t c = 0; axis == OTHER_AXIS && c < 3; ++c)
			others[3 * count + c] = h.axes[3 * i + c];
		count += axis == OTHER_AXIS;
	}
	for (size_t i = 0; i < h.count; ++i)
		out->sized(h.names[i]);
	FieldWriter axes(out->allocator());
	write_simple_numbers(others.data(), count, 3, &axes);
	out->sized(axes);
	write_limits(h, out);
}

} // namespace

void write_rest(const double* rotations, size_t joints, FieldWriter* out)
{
	auto is_rotated = [rotations](size_t j)
	{
		const double* q = rotations + 4 * j;
		return q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 1;
	};
	FieldWriter omitted(out->allocator()), others(out->allocator());
	for (size_t j = 0; j < joints; ++j)
		if (is_rotated(j))
		{
			const RestCode code = rest_code(rotations + 4 * j);
			omitted.u8(unsigned(code.omitted));
			for (const int64_t other : code.others)
				others.zigzag(other);
		}
	omitted.raw(others);
	out->mask(joints, is_rotated);
	deflate(omitted, out);
}

void round_rest(const double* rotations, size_t joints, double* rounded)
{
	for (size_t j = 0; j < joints; ++j)
		restore(rest_code(rotations + 4 * j), rounded + 4 * j);
}

void write_hinges(const FileHinges& hinges, const mocpack_Text* joint_names, size_t joints, FieldWriter* out)
{
	if (hinges.follow_channels)
	{
		out->u8(CHANNEL_ROWS);
		out->mask(2 * hinges.count, [&hinges](size_t i) { return is_finite_limit(hinges, i); });
		return write_limits(hinges, out);
	}
	// names of hinges resemble those of joints
	FieldWriter rows(out->allocator()), dictionary(out->allocator());
	write_rows(hinges, &rows);
	for (size_t j = 0; j < joints; ++j)
	{
		if (j)
			dictionary.u8(0);
		dictionary.raw(joint_names[j].bytes, joint_names[j].size);
	}
	if (!dictionary.size())
		dictionary.u8(0);
	if (!dictionary.good())
		return out->fail();
	out->u8(LISTED_ROWS);
	deflate(rows, out, dictionary.data(), dictionary.size());
}

void write_scales(const double* constant, size_t joints, const double* moving, size_t frames,
				  const int32_t* scaled_joints, size_t scaled_count, double step, FieldWriter* out)
{
	auto is_scaled = [constant](size_t j)
	{ return constant[3 * j] != 1 || constant[3 * j + 1] != 1 || constant[3 * j + 2] != 1; };
	Buffer<double> rows;
	size_t count = 0;
	if (!rows.take(out->allocator(), 3 * joints))
		return out->fail();
	for (size_t j = 0; j < joints; ++j)
	{
		for (size_t c = 0; is_scaled(j) && c < 3; ++c)
			rows[3 * count + c] = constant[3 * j + c];
		count += is_scaled(j);
	}
	out->u8(HAS_CONSTANT * unsigned(count > 0) + HAS_MOVING * unsigned(moving != nullptr));
	if (count)
	{
		FieldWriter numbers(out->allocator());
		write_simple_numbers(rows.data(), count, 3, &numbers);
		out->mask(joints, is_scaled);
		out->sized(numbers);
	}
	if (moving)
	{
		out->indices(scaled_joints, scaled_count);
		write_numbers(moving, frames, 3 * scaled_count, {step, false, false, -1}, out);
	}
}

void write_times(double start, const double* times, size_t frames, FieldWriter* out)
{
	out->u8(times != nullptr);
	out->f64(start);
	if (times)
		write_simple_numbers(times, frames, 1, out);
}

void write_flags(const uint8_t* flags, size_t count, size_t stride, FieldWriter* out)
{
	size_t changes = 0, before = 0;
	for (size_t i = 1; i < count; ++i)
		changes += !flags[i * stride] != !flags[(i - 1) * stride];
	out->u8(count && flags[0]);
	out->varint(changes);
	for (size_t i = 1; i < count; ++i)
		if (!flags[i * stride] != !flags[(i - 1) * stride])
			out->varint(i - before - 1), before = i;
}

void write_gaps(const uint8_t* valid, size_t frames, size_t joints, FieldWriter* out)
{
	Buffer<int32_t> partial; // joints with gaps
	size_t count = 0;
	if (!partial.take(out->allocator(), joints))
		return out->fail();
	for (size_t j = 0; j < joints; ++j)
	{
		size_t t = 0;
		while (t < frames && valid[t * joints + j])
			++t;
		if (t < frames)
			partial[count++] = int32_t(j);
	}
	FieldWriter plain(out->allocator());
	plain.indices(partial.data(), count);
	for (size_t i = 0; i < count; ++i)
		write_flags(valid + partial[i], frames, joints, &plain);
	deflate(plain, out);
}

} // namespace mocpack
