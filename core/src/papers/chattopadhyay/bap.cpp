// Indexes body animation parameters with lookup tables, and codes sparse rows.
//
// A row is the change of one frame: float32 for fixed columns, a table index for the others. A sparse row
// starts with one bit per column that tells which columns change.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/skeleton.h"
#include "papers/chattopadhyay/bap.h"

namespace
{

// Returns the bytes of a column's code: float32 if it is fixed or there is no table, else an index.
size_t code_size(const mocpack_BapRows& rows, size_t column)
{
	return column < rows.fixed || rows.bits == 0 ? 4 : rows.bits <= 8 ? 1 : 2;
}

size_t mask_size(const mocpack_BapRows& rows)
{
	return (rows.columns - rows.first_masked + 7) / 8;
}

float load_float(const uint8_t* src)
{
	uint32_t bits =
		uint32_t(src[0]) | uint32_t(src[1]) << 8 | uint32_t(src[2]) << 16 | uint32_t(src[3]) << 24;
	float value;
	memcpy(&value, &bits, 4);
	return value;
}

void store_float(uint8_t* dst, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, 4);
	for (int k = 0; k < 4; ++k)
		dst[k] = uint8_t(bits >> (8 * k));
}

// Returns the entry closest to `value` in a sorted table; the lower of two equally close ones.
uint32_t nearest(const float* table, uint32_t count, double value)
{
	uint32_t above = uint32_t(std::lower_bound(table, table + count, value) - table);
	if (above == count)
		above = count - 1;
	if (above > 0 && value - double(table[above - 1]) <= double(table[above]) - value)
		--above;
	return uint32_t(std::lower_bound(table, table + above + 1, table[above]) - table);
}

// Writes a column's change: `entry`, or `value` as float32. Returns the decoded value.
double put_code(uint8_t* dst, const mocpack_BapRows& rows, size_t column, uint32_t entry, double value)
{
	size_t size = code_size(rows, column);
	if (size == 4)
	{
		store_float(dst, float(value));
		return double(float(value));
	}
	for (size_t k = 0; k < size; ++k)
		dst[k] = uint8_t(entry >> (8 * k));
	return double(rows.table[entry]);
}

// Returns whether the accumulated change is transmitted: figure 4, with s_k as in the text.
bool releases(const mocpack_BapEncoder& how, size_t column, double change)
{
	return std::fabs(change - how.means[column]) > how.limits[column];
}

// Open loop: `value` is the change of this frame; `state` accumulates untransmitted changes. Returns the
// bytes written.
size_t put_literal(uint8_t* dst, const mocpack_BapRows& rows, const mocpack_BapEncoder& how, size_t column,
				   double value, uint32_t entry, double& state)
{
	bool gathered = state != 0, indexed = code_size(rows, column) < 4;
	state += indexed ? double(rows.table[entry]) : value;
	if (!releases(how, column, state))
		return 0;
	if (gathered && indexed)
		entry = nearest(rows.table, uint32_t(1) << rows.bits, state);
	put_code(dst, rows, column, entry, state);
	state = 0;
	return code_size(rows, column);
}

// Closed loop: `value` is the target; `state` is the decoder's value.
size_t put_tracking(uint8_t* dst, const mocpack_BapRows& rows, const mocpack_BapEncoder& how, size_t column,
					double value, double& state)
{
	double change = value - state;
	if (!releases(how, column, change))
		return 0;
	bool indexed = code_size(rows, column) < 4;
	uint32_t entry = indexed ? nearest(rows.table, uint32_t(1) << rows.bits, change) : 0;
	state += put_code(dst, rows, column, entry, change);
	return code_size(rows, column);
}

struct Entry
{
	int64_t key;
	uint32_t at;
};

// Returns the mean of a bucket, weighted by column levels, in units of 1 / resolution: equation (1).
double bucket_mean(const Entry* entries, size_t count, const int32_t* levels, size_t columns,
				   const double* weights, bool selective)
{
	int32_t least = INT32_MAX;
	for (size_t i = 0; i < count; ++i)
		least = std::min(least, levels[entries[i].at % columns]);
	double sum = 0, total = 0;
	for (size_t i = 0; i < count; ++i)
	{
		int32_t level = levels[entries[i].at % columns];
		double weight = selective ? double(level == least) : weights[level];
		sum += weight * double(entries[i].key);
		total += weight;
	}
	return sum / total;
}

} // namespace

size_t mocpack_bap_scratch_size(size_t rows, size_t columns)
{
	return rows * columns * sizeof(Entry) + sizeof(double) * (MOCPACK_BAP_LEVELS + 1);
}

void mocpack_bap_lookup(const double* differences, size_t rows, size_t columns, const int32_t* levels,
						int bits, double resolution, double eta, void* scratch, float* table,
						uint16_t* indices)
{
	size_t count = rows * columns;
	double* weights = static_cast<double*>(scratch);
	for (int level = 1; level <= MOCPACK_BAP_LEVELS; ++level)
		weights[level] = std::pow(double(level), -eta);
	Entry* entries = reinterpret_cast<Entry*>(weights + MOCPACK_BAP_LEVELS + 1);
	for (size_t i = 0; i < count; ++i)
		entries[i] = {std::llround(differences[i] * resolution), uint32_t(i)};
	// the index breaks ties, so that the order of summation is deterministic
	std::sort(entries, entries + count,
			  [](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; });
	size_t buckets = size_t(1) << bits, start = 0;
	float last = 0;
	for (size_t j = 0; j < buckets; ++j)
	{
		size_t left = buckets - j, stop = start + (count - start + left - 1) / left;
		while (stop > start && stop < count && entries[stop].key == entries[stop - 1].key)
			++stop; // equal numbers share a bucket
		if (stop > start)
			last =
				float(bucket_mean(entries + start, stop - start, levels, columns, weights, std::isinf(eta)) /
					  resolution);
		table[j] = last; // an empty bucket repeats the previous one, so that the table stays sorted
		for (; start < stop; ++start)
			indices[entries[start].at] = uint16_t(j);
	}
}

size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count)
{
	size_t size = mask_size(*rows);
	for (size_t c = 0; c < rows->columns; ++c)
		size += code_size(*rows, c);
	return count * size;
}

size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
							   const double* values, const uint16_t* indices, size_t count, double* state)
{
	uint8_t* at = dst;
	size_t fixed = rows->fixed, first = rows->first_masked;
	for (size_t r = 0; r < count; ++r, values += rows->columns, indices += rows->columns - fixed)
	{
		uint8_t* mask = at;
		memset(mask, 0, mask_size(*rows));
		at += mask_size(*rows);
		for (size_t c = 0; c < rows->columns; ++c)
		{
			uint32_t entry = how->closed_loop || c < fixed || !rows->bits ? 0 : indices[c - fixed];
			size_t size = how->closed_loop ? put_tracking(at, *rows, *how, c, values[c], state[c])
										   : put_literal(at, *rows, *how, c, values[c], entry, state[c]);
			if (size && c >= first)
				mask[(c - first) / 8] = uint8_t(mask[(c - first) / 8] | 1 << ((c - first) % 8));
			at += size;
		}
	}
	return size_t(at - dst);
}

namespace
{

// The remaining bytes of a row.
struct Source
{
	const uint8_t *at, *end;

	bool has(size_t size) const
	{
		return size_t(end - at) >= size;
	}
};

// Adds table entries to columns; false if an index is out of range.
bool add_indices(double* pose, const uint8_t* codes, size_t count, const mocpack_BapRows& rows)
{
	if (rows.bits == 8) // every byte is a valid index, so no check is needed
	{
		for (size_t k = 0; k < count; ++k)
			pose[k] += double(rows.table[codes[k]]);
		return true;
	}
	size_t width = rows.bits <= 8 ? 1 : 2;
	uint32_t beyond = 0, entries = uint32_t(1) << rows.bits;
	for (size_t k = 0; k < count; ++k)
	{
		uint32_t entry = codes[k * width] | (width > 1 ? uint32_t(codes[k * width + 1]) << 8 : 0u);
		beyond |= entry >> rows.bits;
		pose[k] += double(rows.table[entry & (entries - 1)]);
	}
	return beyond == 0;
}

// Adds the columns without mask bits: floats, then indices.
mocpack_Status add_unmasked(double* pose, Source& source, const mocpack_BapRows& rows)
{
	size_t floats = rows.bits ? std::min(rows.fixed, rows.first_masked) : rows.first_masked;
	size_t indexed = rows.first_masked - floats;
	size_t width = rows.bits <= 8 ? 1 : 2;
	if (!source.has(4 * floats + width * indexed))
		return MOCPACK_TRUNCATED;
	for (size_t c = 0; c < floats; ++c)
		pose[c] += double(load_float(source.at + 4 * c));
	bool good = !indexed || add_indices(pose + floats, source.at + 4 * floats, indexed, rows);
	source.at += 4 * floats + width * indexed;
	return good ? MOCPACK_OK : MOCPACK_CORRUPT;
}

// Adds the columns whose mask bit is set.
mocpack_Status add_masked(double* pose, const uint8_t* mask, Source& source, const mocpack_BapRows& rows)
{
	bool good = true;
	for (size_t start = rows.first_masked; start < rows.columns; start += 8, ++mask)
		for (size_t bits = *mask, c = start; bits; bits >>= 1, ++c)
			if (bits & 1)
			{
				size_t size = code_size(rows, c);
				if (!source.has(size))
					return MOCPACK_TRUNCATED;
				if (size == 4)
					pose[c] += double(load_float(source.at));
				else
					good = add_indices(pose + c, source.at, 1, rows) && good;
				source.at += size;
			}
	return good ? MOCPACK_OK : MOCPACK_CORRUPT;
}

} // namespace

mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
									   double* state, const uint8_t* src, size_t src_size, size_t* used)
{
	Source source = {src, src + src_size};
	size_t masked = rows->columns - rows->first_masked, size = mask_size(*rows);
	for (size_t r = 0; r < count; ++r, values += rows->columns)
	{
		if (!source.has(size))
			return MOCPACK_TRUNCATED;
		const uint8_t* mask = source.at;
		source.at += size;
		if (masked % 8 && mask[size - 1] >> (masked % 8))
			return MOCPACK_CORRUPT; // a bit after the last column
		mocpack_Status status = add_unmasked(state, source, *rows);
		if (status == MOCPACK_OK && masked)
			status = add_masked(state, mask, source, *rows);
		if (status != MOCPACK_OK)
			return status;
		memcpy(values, state, rows->columns * sizeof(double));
	}
	*used = size_t(source.at - src);
	return MOCPACK_OK;
}
