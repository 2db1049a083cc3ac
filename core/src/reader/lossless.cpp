// Codec lossless: restores every number of the source exactly (docs/codecs/lossless.md). The whole clip is
// decoded when the file is opened.
#include <cmath>
#include <cstring>

#include "entropy/planes.h"
#include "entropy/series.h"
#include "reader/chunks.h"
#include "reader/lossless.h"
#include "reader/numbers.h"
#include "reader/reader.h"

namespace mocpack
{

namespace
{

enum Held
{
	HOLDS_CHANNELS = 1,
	HOLDS_MOTION = 2
};

const uint8_t BINARY = 31, MAX_LOSSLESS_DIGITS = 22, TURN_DIGITS = 6, BY_ULPS = 23;
const int64_t BINARY_EXPONENT = 960, MAX_LOSSLESS_INTEGER = 1 << 29, MAX_COEFFICIENT = int64_t(1) << 44;
const double MAX_CURVE_VALUE = 1099511627776.0, COEFFICIENT_UNITS = 16; // 2^40; coefficients count sixteenths
const size_t MAX_DEGREE = 24, MAX_DRIVERS = 2;
const uint64_t SERIES_NUMBERS_PER_BYTE = 12000, ROWS_PER_BYTE = 8192;
const double HALF_TURN = 3.14159265358979323846;
const double POWERS[] = {1e0,  1e1,	 1e2,  1e3,	 1e4,  1e5,	 1e6,  1e7,	 1e8,  1e9,	 1e10, 1e11,
						 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A column that is predicted from one or two others by a polynomial.
struct Curve
{
	size_t column, driver_count, degree;
	size_t drivers[MAX_DRIVERS];
	int64_t low[MAX_DRIVERS], high[MAX_DRIVERS];
	double* coefficients; // coefficient (p, q) for p + q up to the degree, by rows p
};

// The unit of a column's integers.
struct Scale
{
	bool is_decimal;
	int exponent;
	uint8_t interval;
};

double clenshaw(const double* coefficients, size_t count, double x)
{
	double later = 0, latest = 0;
	for (size_t i = count; i-- > 1;)
	{
		const double next = coefficients[i] + 2.0 * x * later - latest;
		latest = later, later = next;
	}
	return coefficients[0] + x * later - latest;
}

double evaluate(const Curve& curve, const int64_t* row)
{
	double at[MAX_DRIVERS], rows[MAX_DEGREE + 1];
	for (size_t d = 0; d < curve.driver_count; ++d)
	{
		const int64_t low = curve.low[d], high = curve.high[d], far = int64_t(1) << 61;
		const double sum = low > -far && high < far ? double(low + high) : double(low) + double(high);
		at[d] = (2.0 * double(row[curve.drivers[d]]) - sum) / double(uint64_t(high) - uint64_t(low));
	}
	const double* next = curve.coefficients;
	for (size_t p = 0; p <= curve.degree; ++p)
	{
		const size_t count = curve.driver_count == 2 ? curve.degree + 1 - p : 1;
		rows[p] = curve.driver_count == 2 ? clenshaw(next, count, at[1]) : *next;
		next += count;
	}
	const double value = clenshaw(rows, curve.degree + 1, at[0]);
	return value > MAX_CURVE_VALUE ? MAX_CURVE_VALUE : value < -MAX_CURVE_VALUE ? -MAX_CURVE_VALUE : value;
}

int64_t follow(double value, int64_t distance)
{
	const double nearest = std::floor(value + 0.5);
	// NaN becomes the lowest integer, as in Python
	const int64_t whole = nearest == nearest ? int64_t(nearest) : INT64_MIN;
	return int64_t(value >= nearest ? uint64_t(whole) + uint64_t(distance)
									: uint64_t(whole) - uint64_t(distance));
}

int64_t floor_modulo(int64_t a, int64_t b)
{
	const int64_t rest = a % b;
	return rest < 0 ? rest + b : rest;
}

int64_t wrap(int64_t angle, const Scale& scale)
{
	if (!scale.interval)
		return angle;
	const int64_t turn = 360 * int64_t(POWERS[scale.exponent]), half = turn / 2;
	const int64_t near = angle % turn; // avoids overflow
	if (scale.interval == 1)
		return floor_modulo(near + half, turn) - half;
	return scale.interval == 2 ? half - floor_modulo(half - near, turn) : floor_modulo(near, turn);
}

uint64_t order_of(double value)
{
	int64_t bits;
	std::memcpy(&bits, &value, sizeof bits);
	return uint64_t(bits < 0 ? bits ^ INT64_MAX : bits);
}

double from_order(uint64_t order)
{
	int64_t bits = int64_t(order);
	bits = bits < 0 ? bits ^ INT64_MAX : bits;
	double value;
	std::memcpy(&value, &bits, sizeof value);
	return value;
}

// Combines an integer and its remainder; false if the kind of remainder does not fit the scale.
bool combine(int64_t whole, const Scale& scale, uint8_t kind, int64_t amount, double* out)
{
	if (!kind || kind == BY_ULPS)
	{
		*out = scale.is_decimal ? double(whole) / POWERS[scale.exponent]
								: std::ldexp(double(whole), -scale.exponent);
		if (kind)
			*out = from_order(order_of(*out) + uint64_t(amount));
		return true;
	}
	const int count = kind + (scale.is_decimal ? scale.exponent : int(MAX_LOSSLESS_DIGITS));
	if (count > int(MAX_LOSSLESS_DIGITS))
		return false;
	const uint64_t power = uint64_t(POWERS[kind < 15 ? kind : 15]);
	*out = double(int64_t(uint64_t(whole) * power + uint64_t(amount))) / POWERS[count];
	return true;
}

struct LosslessReader
{
	const LosslessShape& shape;
	Memory& memory;
	Fields in;

	bool run(LosslessPayload* out)
	{
		const uint8_t held = shape.is_mesh ? uint8_t(HOLDS_MOTION) : in.u8();
		in.check(held >= 1 && held <= HOLDS_CHANNELS + HOLDS_MOTION, ": unknown kind");
		if (in.good() && held & HOLDS_CHANNELS)
		{
			out->channels = read_matrix(shape.channels);
			for (uint64_t i = 0; in.good() && i < shape.frame_count * shape.channels.count; ++i)
				in.check(std::isfinite(out->channels[i]), ": a channel value is not finite");
		}
		if (in.good() && held & HOLDS_MOTION)
			out->motion = read_matrix(shape.motion);
		if (in.good())
			in.end();
		return in.good();
	}

  private:
	template <typename T> T* array(uint64_t count)
	{
		T* found = in.good() ? memory.allocate_array<T>(count + 1) : nullptr;
		if (in.good() && !found)
			in.no_memory();
		return found;
	}

	// Reads a field that starts with its size, and inflates it to at most `most` bytes; null on failure.
	uint8_t* inflate_bytes(uint64_t most, size_t* size)
	{
		Fields packed = in.sized();
		uint8_t* bytes = inflate_fields(&packed, most, &memory, size);
		in.join(packed);
		return bytes;
	}

	const uint8_t* mask(uint64_t count)
	{
		return in.raw((count + 7) / 8);
	}

	void finish(mocpack_Status status)
	{
		if (status != MOCPACK_OK)
			in.fail(status) << (status == MOCPACK_TRUNCATED ? " ends too early" : " is corrupt");
	}

	// Reads a plane (rows, columns) with one class per column.
	int32_t* read_plane(uint64_t rows, uint64_t columns)
	{
		const uint64_t MAX_CLASSES = 65536;
		Fields code = in.sized();
		const size_t size = code.left(),
					 classes = size_t(columns < MAX_CLASSES ? (columns ? columns : 1) : MAX_CLASSES);
		in.check(!columns || rows <= ROWS_PER_BYTE * (uint64_t(size) + 1),
				 ": more rows than the bytes can hold");
		int32_t* values = array<int32_t>(rows * columns);
		uint16_t* kinds = array<uint16_t>(columns);
		uint8_t* models = array<uint8_t>(mocpack_planes_models_size(classes));
		if (!in.good())
			return nullptr;
		for (size_t c = 0; c < columns; ++c)
			kinds[c] = uint16_t(c);
		finish(mocpack_planes_decode(values, size_t(rows), size_t(columns), kinds, classes, nullptr, models,
									 code.raw(size), size));
		memory.release(models);
		memory.release(kinds);
		return values;
	}

	// Reads which columns contain negative zeros: patterns (columns), -1 for none, and signs (frames,
	// patterns).
	int32_t* read_zero_signs(uint64_t frames, size_t columns, int32_t* patterns, size_t* width)
	{
		const uint64_t count = in.varint(columns);
		uint64_t at = UINT64_MAX, most = 0;
		for (uint64_t i = 0; i < count && in.good(); ++i)
		{
			at += in.varint(columns) + 1;
			const uint64_t pattern = in.varint(most);
			most += pattern == most;
			if (at < columns)
				patterns[at] = int32_t(pattern);
		}
		in.check(!count || at < columns, ": negative zeros: column index out of range");
		*width = size_t(most);
		return count ? read_plane(frames, most) : nullptr;
	}

	// Reads a matrix; frees all other memory that reading needs.
	double* read_matrix(const LosslessColumns& columns)
	{
		const uint8_t lead = in.u8();
		in.check(lead <= 1 && lead < shape.frame_count, ": more leading frames than the clip has");
		if (in.good() && shape.frame_count > UINT64_MAX / 64 / (columns.count + 1))
			in.no_memory(); // the number of values would overflow
		double* matrix = array<double>(shape.frame_count * columns.count);
		const void* kept = memory.last_allocation();
		if (in.good())
			fill_matrix(lead, columns, matrix);
		memory.release_after(kept);
		return matrix;
	}

	void fill_matrix(uint8_t lead, const LosslessColumns& columns, double* matrix)
	{
		const uint64_t frames = shape.frame_count;
		int32_t* patterns = array<int32_t>(columns.count);
		for (size_t c = 0; in.good() && c < columns.count; ++c)
			patterns[c] = -1;
		size_t width = 0;
		const int32_t* signs = in.good() ? read_zero_signs(frames, columns.count, patterns, &width) : nullptr;
		if (in.good() && lead)
			read_block(lead, columns, matrix);
		if (in.good())
			read_block(frames - lead, columns, matrix + lead * columns.count);
		for (uint64_t t = 0; signs && in.good() && t < frames; ++t)
			for (size_t c = 0; c < columns.count; ++c)
				if (patterns[c] >= 0 && signs[t * width + size_t(patterns[c])] &&
					matrix[t * columns.count + c] == 0)
					matrix[t * columns.count + c] = -0.0;
	}

	void read_block(uint64_t frames, const LosslessColumns& columns, double* matrix)
	{
		const size_t width = columns.count;
		const uint8_t* moving = mask(width);
		const size_t count = count_set(moving, width);
		size_t size = 0;
		const uint8_t* still = inflate_bytes(8 * uint64_t(width - count), &size);
		if (in.good())
			in.check(size == 8 * (width - count), ": wrong number of constant columns");
		if (!in.good())
			return;
		for (size_t c = 0; c < width; ++c)
		{
			if (is_set(moving, c))
				continue;
			uint64_t bits = 0;
			for (int b = 7; b >= 0; --b)
				bits = bits << 8 | still[b];
			double value;
			std::memcpy(&value, &bits, sizeof value);
			for (uint64_t t = 0; t < frames; ++t)
				matrix[t * width + c] = value;
			still += 8;
		}
		if (count)
			read_moving(frames, columns, moving, count, matrix);
	}

	void read_moving(uint64_t frames, const LosslessColumns& columns, const uint8_t* moving, size_t count,
					 double* matrix)
	{
		Scale* scales = array<Scale>(count);
		int64_t* whole = array<int64_t>(frames * count);
		if (!in.good())
			return;
		read_scales(scales, count);
		read_whole(frames, columns, moving, count, whole);
		uint8_t* kinds = nullptr;
		int64_t* amounts = nullptr;
		if (in.good() && in.u8())
			read_remainders(frames, count, &kinds, &amounts);
		for (uint64_t t = 0; in.good() && t < frames; ++t)
			for (size_t c = 0, k = 0; c < columns.count; ++c)
			{
				if (!is_set(moving, c))
					continue;
				const uint64_t at = t * count + k;
				const int64_t value = wrap(whole[at], scales[k]);
				in.check(combine(value, scales[k], kinds ? kinds[at] : 0, kinds ? amounts[at] : 0,
								 matrix + t * columns.count + c),
						 ": a number has too many digits");
				++k;
			}
		memory.release(amounts);
		memory.release(kinds);
		memory.release(whole);
	}

	void read_scales(Scale* scales, size_t count)
	{
		size_t size = 0;
		const uint8_t* bytes = inflate_bytes(3 * uint64_t(count), &size);
		if (!bytes)
			return;
		Fields fields = in.part(bytes, size);
		const uint8_t* codes = fields.raw(count);
		for (size_t c = 0; codes && c < count && fields.good(); ++c)
		{
			const uint8_t digits = codes[c] & 31;
			const int64_t exponent = digits == BINARY ? fields.zigzag() : digits;
			fields.check(digits == BINARY ? exponent >= -BINARY_EXPONENT && exponent <= BINARY_EXPONENT
										  : digits <= MAX_LOSSLESS_DIGITS,
						 ": scale out of range");
			scales[c] = {digits != BINARY, fields.good() ? int(exponent) : 0, uint8_t(codes[c] >> 5)};
		}
		fields.end();
		for (size_t c = 0; codes && c < count; ++c)
			fields.check(!(codes[c] >> 5) || (codes[c] <= 127 && (codes[c] & 31) <= TURN_DIGITS),
						 ": a wrapped angle is not allowed in this column");
		in.join(fields);
	}

	void read_whole(uint64_t frames, const LosslessColumns& columns, const uint8_t* moving, size_t count,
					int64_t* whole)
	{
		const size_t curve_count = in.good() ? size_t(in.varint(count)) : 0;
		Curve* curves = array<Curve>(curve_count);
		uint8_t* follows = array<uint8_t>(count);
		for (size_t i = 0; i < curve_count && in.good(); ++i)
			read_curve(count, &curves[i]);
		for (size_t i = 0; i < curve_count && in.good(); ++i)
		{
			in.check(!follows[curves[i].column], ": a curve depends on another curve");
			follows[curves[i].column] = 1;
		}
		for (size_t i = 0; i < curve_count && in.good(); ++i)
			for (size_t d = 0; d < curves[i].driver_count; ++d)
				in.check(!follows[curves[i].drivers[d]], ": a curve depends on another curve");
		read_free(frames, columns, moving, count, follows, whole);
		if (!in.good() || !curve_count)
			return;
		const int32_t* distances = read_plane(frames, curve_count);
		for (uint64_t t = 0; in.good() && t < frames; ++t)
			for (size_t i = 0; i < curve_count; ++i)
				whole[t * count + curves[i].column] =
					follow(evaluate(curves[i], whole + t * count), distances[t * curve_count + i]);
	}

	void read_curve(size_t columns, Curve* curve)
	{
		curve->column = size_t(in.varint(columns - 1));
		const uint8_t code = in.u8();
		curve->degree = code & 127, curve->driver_count = size_t(1 + (code >> 7));
		in.check(curve->degree <= MAX_DEGREE, ": the degree of a curve exceeds 24");
		for (size_t d = 0; d < curve->driver_count && in.good(); ++d)
		{
			curve->drivers[d] = size_t(in.varint(columns - 1));
			curve->low[d] = in.zigzag();
			const uint64_t span = 1 + in.varint(2 * uint64_t(MAX_LOSSLESS_INTEGER));
			curve->high[d] = int64_t(uint64_t(curve->low[d]) + span);
		}
		const size_t degree = curve->degree, two = curve->driver_count == 2;
		const size_t count = two ? (degree + 1) * (degree + 2) / 2 : degree + 1;
		curve->coefficients = array<double>(count);
		for (size_t i = 0; i < count && in.good(); ++i)
		{
			int64_t value = in.zigzag();
			value = value < -MAX_COEFFICIENT ? -MAX_COEFFICIENT : value;
			value = value > MAX_COEFFICIENT ? MAX_COEFFICIENT : value;
			curve->coefficients[i] = double(value) / COEFFICIENT_UNITS;
		}
	}

	// Reads the columns without a curve, as series.
	void read_free(uint64_t frames, const LosslessColumns& columns, const uint8_t* moving, size_t count,
				   const uint8_t* follows, int64_t* whole)
	{
		int32_t* free_columns = array<int32_t>(count); // indices among all columns
		if (!in.good())
			return;
		size_t free_count = 0;
		for (size_t c = 0, k = 0; c < columns.count; ++c)
			if (is_set(moving, c) && !follows[k++])
				free_columns[free_count++] = int32_t(c);
		Fields code = in.sized();
		const size_t size = code.left();
		const uint64_t numbers = frames * free_count;
		in.check(numbers <= SERIES_NUMBERS_PER_BYTE * (uint64_t(size) + 4),
				 ": more numbers than the bytes can hold");
		SeriesGroups groups;
		if (!in.good())
			return;
		if (!group_columns(shape, columns, free_columns, free_count, &groups, &memory))
		{
			in.no_memory();
			return;
		}
		int32_t* values = array<int32_t>(numbers);
		uint8_t* scratch = array<uint8_t>(mocpack_series_scratch_size(&groups.model));
		if (!in.good())
			return;
		finish(mocpack_series_decode(values, size_t(frames), &groups.model, scratch, code.raw(size), size));
		for (uint64_t t = 0; in.good() && t < frames; ++t)
			for (size_t k = 0, f = 0; k < count; ++k)
				if (!follows[k])
					whole[t * count + k] = values[t * free_count + f++];
		memory.release(scratch);
		memory.release(values);
	}

	void read_remainders(uint64_t frames, size_t count, uint8_t** kinds, int64_t** amounts)
	{
		const uint8_t* columns = mask(count);
		const size_t width = count_set(columns, count);
		const int32_t* kind = in.good() ? read_plane(frames, width) : nullptr;
		const int32_t* length = in.good() ? read_plane(frames, width) : nullptr;
		const uint64_t numbers = frames * width;
		for (uint64_t i = 0; in.good() && i < numbers; ++i)
			in.check(kind[i] >= 0 && kind[i] <= BY_ULPS && length[i] >= 0 && length[i] <= 64 &&
						 length[i] <= 64 * kind[i],
					 ": unknown kind or length of a remainder");
		uint64_t* zigzag = array<uint64_t>(numbers);
		*kinds = array<uint8_t>(frames * count);
		*amounts = array<int64_t>(frames * count);
		if (!in.good())
			return;
		read_bits(length, numbers, zigzag);
		for (uint64_t t = 0, i = 0; in.good() && t < frames; ++t)
			for (size_t c = 0; c < count; ++c)
				if (is_set(columns, c))
				{
					(*kinds)[t * count + c] = uint8_t(kind[i]);
					(*amounts)[t * count + c] = int64_t(zigzag[i] >> 1 ^ (0 - (zigzag[i] & 1)));
					++i;
				}
	}

	// Reads bit planes, lowest first, of all numbers that have the bit. The top bit is implicit.
	void read_bits(const int32_t* lengths, uint64_t count, uint64_t* values)
	{
		int32_t longest = 1;
		for (uint64_t i = 0; i < count; ++i)
		{
			longest = lengths[i] > longest ? lengths[i] : longest;
			values[i] = lengths[i] ? uint64_t(1) << (lengths[i] - 1) : 0;
		}
		for (int32_t k = 0; k < longest - 1 && in.good(); ++k)
		{
			uint64_t found = 0, at = 0;
			for (uint64_t i = 0; i < count; ++i)
				found += lengths[i] - 1 > k;
			const uint8_t* bits = mask(found);
			for (uint64_t i = 0; bits && i < count; ++i)
				if (lengths[i] - 1 > k)
					values[i] |= uint64_t(is_set(bits, size_t(at++))) << k;
		}
	}
};

bool is_scaled(const mocpack_Info& info)
{
	bool found = info.scaled_count > 0;
	for (size_t i = 0; info.scales && i < 3 * info.joint_count; ++i)
		found = found || info.scales[i] != 1;
	return found;
}

} // namespace

bool read_lossless_payload(const LosslessShape& shape, const uint8_t* payload, size_t size, uint64_t offset,
						   Memory* memory, LosslessPayload* out, mocpack_Error* error)
{
	return LosslessReader{shape, *memory, {"lossless payload", payload, size, offset, error}}.run(out);
}

bool read_lossless(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	const Chunk& data = chunks.data;
	if (chunks.missing)
	{
		ErrorMessage(error, MOCPACK_TRUNCATED, data.offset + data.size)
			<< "the motion data ends " << chunks.missing << " bytes too early";
		return false;
	}
	LosslessShape shape;
	if (!lossless_shape(*motion, &shape, &motion->memory))
		return no_memory(error, "lossless payload");
	LosslessPayload& out = motion->lossless;
	const uint8_t* payload =
		motion->bytes.load(data.offset, data.size, "lossless payload", &motion->memory, error);
	if (!payload ||
		!read_lossless_payload(shape, payload, size_t(data.size), data.offset, &motion->memory, &out, error))
		return false;
	motion->bytes.unload(payload, &motion->memory);
	if (out.channels && is_scaled(motion->info))
	{
		ErrorMessage(error, MOCPACK_CORRUPT, data.offset)
			<< "lossless payload: channels cannot represent a clip with scales";
		return false;
	}
	if (out.motion) // if both are stored, only the motion is complete
	{
		motion->memory.release(out.channels);
		out.channels = nullptr;
	}
	out.column_count = (out.motion ? shape.motion : shape.channels).count;
	return true;
}

bool decode_lossless(const mocpack_Reader& r, const Lane& lane, size_t group)
{
	const mocpack_Motion& m = *r.motion;
	const size_t first = m.key_frame(group), frames = m.key_frame(group + 1) + 1 - first;
	const size_t width = m.lossless.column_count, tree = m.tree.joint_count;
	double* scratch = static_cast<double*>(lane.scratch);
	for (size_t t = 0; t < frames; ++t)
	{
		double *rotations = lane.rotations + 4 * t * r.decoded_count,
			   *translations = lane.translations + 3 * t * r.rig.moving_count;
		if (m.lossless.channels)
		{
			scale_channels(m, m.lossless.channels + (first + t) * width, HALF_TURN / 180, scratch);
			write_channel_pose(m, r.columns, scratch, rotations, translations);
			continue;
		}
		const double* row = m.lossless.motion + (first + t) * width;
		for (size_t j = 0; j < tree; ++j)
			if (r.columns.rotations[j] >= 0)
				std::memcpy(rotations + 4 * r.columns.rotations[j], row + 4 * j, 4 * sizeof(double));
		for (size_t i = 0; i < m.tree.translated_count; ++i)
			if (r.columns.translations[i] >= 0)
				std::memcpy(translations + 3 * r.columns.translations[i], row + 4 * tree + 3 * i,
							3 * sizeof(double));
	}
	return true;
}

} // namespace mocpack
