// Indexing and sparsing of body animation parameters: lookup tables, and the rows coded with them.
//
// A row is one frame's change: float32 of the fixed columns, then for each other column the number of a
// table entry. A sparse row says first, one bit a column, which columns change at all.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "mocpack/core.h"

namespace
{

size_t code_size(const mocpack_BapRows& rows)
{
	return rows.bits == 0 ? 4 : rows.bits <= 8 ? 1 : 2;
}

size_t mask_size(const mocpack_BapRows& rows)
{
	return rows.sparse ? (rows.columns - rows.fixed + 7) / 8 : 0;
}

size_t coded_columns(const mocpack_BapRows& rows)
{
	return rows.columns - rows.fixed;
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

// The entry nearest to `value`; the lower of two as near, the first of equals. The table ascends.
uint32_t nearest(const float* table, uint32_t count, double value)
{
	uint32_t above = uint32_t(std::lower_bound(table, table + count, value) - table);
	if (above == count)
		above = count - 1;
	if (above > 0 && value - double(table[above - 1]) <= double(table[above]) - value)
		--above;
	return uint32_t(std::lower_bound(table, table + above + 1, table[above]) - table);
}

// Writes the code of `entry` or, where there is no table, of `value`; returns what it decodes to.
double put_code(uint8_t* dst, const mocpack_BapRows& rows, uint32_t entry, double value)
{
	if (rows.bits == 0)
	{
		store_float(dst, float(value));
		return double(float(value));
	}
	dst[0] = uint8_t(entry);
	if (rows.bits > 8)
		dst[1] = uint8_t(entry >> 8);
	return double(rows.table[entry]);
}

// What the two ways to code a column share: whether the change since the last release is let through.
bool releases(const mocpack_BapEncoder& how, size_t k, double change)
{
	return std::fabs(change - how.means[k]) > how.limits[k];
}

// Open loop: `value` is the frame's own change; `state` gathers what was frozen. Returns the bytes written.
size_t put_literal(uint8_t* dst, const mocpack_BapRows& rows, const mocpack_BapEncoder& how, size_t k,
				   double value, uint32_t entry, double& state)
{
	bool gathered = state != 0;
	state += rows.bits ? double(rows.table[entry]) : value;
	if (!releases(how, k, state))
		return 0;
	if (gathered && rows.bits)
		entry = nearest(rows.table, uint32_t(1) << rows.bits, state);
	put_code(dst, rows, entry, state);
	state = 0;
	return code_size(rows);
}

// Closed loop: `value` is where the column has to be; `state` is where the decoder has it.
size_t put_tracking(uint8_t* dst, const mocpack_BapRows& rows, const mocpack_BapEncoder& how, size_t k,
					double value, double& state)
{
	double change = value - state;
	if (!releases(how, k, change))
		return 0;
	uint32_t entry = rows.bits ? nearest(rows.table, uint32_t(1) << rows.bits, change) : 0;
	state += put_code(dst, rows, entry, change);
	return code_size(rows);
}

struct Entry
{
	int64_t key;
	uint32_t at;
};

// Mean of a bucket's entries, each weighted by its column's level; in units of 1 / resolution.
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
	// the place breaks ties, so that the order of summation is the same everywhere
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
		table[j] = last; // an empty bucket repeats the one before, so that the table ascends
		for (; start < stop; ++start)
			indices[entries[start].at] = uint16_t(j);
	}
}

size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count)
{
	return count * (4 * rows->fixed + mask_size(*rows) + coded_columns(*rows) * code_size(*rows));
}

size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
							   const double* values, const uint16_t* indices, size_t count, double* state)
{
	uint8_t* at = dst;
	size_t fixed = rows->fixed, coded = coded_columns(*rows);
	for (size_t r = 0; r < count; ++r, values += rows->columns, indices += coded)
	{
		for (size_t c = 0; c < fixed; ++c, at += 4)
		{
			double change = how->closed_loop ? values[c] - state[c] : values[c];
			store_float(at, float(change));
			state[c] += how->closed_loop ? double(float(change)) : 0.0;
		}
		uint8_t* mask = at;
		memset(mask, 0, mask_size(*rows));
		at += mask_size(*rows);
		for (size_t k = 0; k < coded; ++k)
		{
			double& own = state[fixed + k];
			size_t size = how->closed_loop
							  ? put_tracking(at, *rows, *how, k, values[fixed + k], own)
							  : put_literal(at, *rows, *how, k, values[fixed + k], indices[k], own);
			if (rows->sparse && size)
				mask[k / 8] = uint8_t(mask[k / 8] | 1 << (k % 8));
			at += size;
		}
	}
	return size_t(at - dst);
}

namespace
{

// Adds to `row` what `codes` stand for; false where an index lies beyond the table.
bool add_codes(double* row, const uint8_t* codes, size_t count, const mocpack_BapRows& rows)
{
	if (rows.bits == 0)
		for (size_t k = 0; k < count; ++k)
			row[k] += double(load_float(codes + 4 * k));
	if (rows.bits == 8) // every byte is an entry: nothing to check, the paper's look-up and addition
		for (size_t k = 0; k < count; ++k)
			row[k] += double(rows.table[codes[k]]);
	if (rows.bits == 0 || rows.bits == 8)
		return true;
	size_t width = code_size(rows);
	uint32_t beyond = 0, entries = uint32_t(1) << rows.bits;
	for (size_t k = 0; k < count; ++k)
	{
		uint32_t entry = codes[k * width] | (width > 1 ? uint32_t(codes[k * width + 1]) << 8 : 0u);
		beyond |= entry >> rows.bits;
		row[k] += double(rows.table[entry & (entries - 1)]);
	}
	return beyond == 0;
}

// The same for a sparse row, whose codes stand for the columns that `mask` names.
bool add_masked(double* row, const uint8_t* mask, const uint8_t* codes, size_t count,
				const mocpack_BapRows& rows)
{
	size_t width = code_size(rows);
	bool good = true;
	for (size_t start = 0; start < count; start += 8)
		for (uint32_t bits = mask[start / 8], k = 0; bits; bits >>= 1, ++k)
			if (bits & 1)
			{
				if (rows.bits == 8)
					row[start + k] += double(rows.table[*codes]);
				else
					good = add_codes(row + start + k, codes, 1, rows) && good;
				codes += width;
			}
	return good;
}

size_t set_bits(const uint8_t* mask, size_t size)
{
	size_t count = 0;
	for (size_t k = 0; k < size; ++k)
		for (uint8_t byte = mask[k]; byte; byte = uint8_t(byte & (byte - 1)))
			++count;
	return count;
}

} // namespace

mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
									   double* state, const uint8_t* src, size_t src_size, size_t* used)
{
	const uint8_t *at = src, *end = src + src_size;
	size_t fixed = rows->fixed, coded = coded_columns(*rows), masked = mask_size(*rows);
	bool good = true;
	for (size_t r = 0; r < count; ++r, values += rows->columns)
	{
		if (size_t(end - at) < 4 * fixed + masked)
			return MOCPACK_TRUNCATED;
		for (size_t c = 0; c < fixed; ++c, at += 4)
			state[c] += double(load_float(at));
		const uint8_t* mask = at;
		at += masked;
		if (masked && coded % 8 && mask[masked - 1] >> (coded % 8))
			return MOCPACK_CORRUPT; // a bit beyond the last column
		size_t released = rows->sparse ? set_bits(mask, masked) : coded;
		if (size_t(end - at) < released * code_size(*rows))
			return MOCPACK_TRUNCATED;
		good = (rows->sparse ? add_masked(state + fixed, mask, at, coded, *rows)
							 : add_codes(state + fixed, at, coded, *rows)) &&
			   good;
		at += released * code_size(*rows);
		memcpy(values, state, rows->columns * sizeof(double));
	}
	*used = size_t(at - src);
	return good ? MOCPACK_OK : MOCPACK_CORRUPT;
}
