// Codec raw: channels of every frame as float32 (docs/codecs/raw.md).
#include <cmath>
#include <cstring>

#include "math/euler.h"
#include "reader/chunks.h"
#include "reader/reader.h"

namespace mocpack
{

namespace
{

const uint8_t FIRST_FIXED_POSITION = 3; // SKEL code of ASF's tx

// Returns the rotation of a joint's channels, in the frame of the channels.
Quat channel_rotation(const ChannelLayout& layout, const double* values, const double* frame)
{
	Quat q = {0, 0, 0, 1};
	for (size_t i = 0; i < layout.count; ++i)
	{
		// BVH lists the outermost rotation first, ASF the innermost
		const bool is_fixed = layout.codes[i] >= RotationChannels::FIRST_FIXED;
		if (layout.codes[i] < RotationChannels::FIRST)
			continue;
		const int axis = (layout.codes[i] - RotationChannels::FIRST) % 3;
		const Quat turn = rotate_about({0, 0, 0, 1}, axis, values[i]);
		q = is_fixed ? multiply(turn, q) : multiply(q, turn);
	}
	if (!frame || frame[3] == 1)
		return q;
	const Quat base = load_quat(frame);
	return multiply(multiply(base, q), conjugate(base));
}

// BVH's position channels replace the offset; ASF's are added to it in the frame of the channels.
void channel_translation(const ChannelLayout& layout, const double* values, const double* frame,
						 const double* offset, double* place)
{
	std::memcpy(place, offset, 3 * sizeof(double));
	double shift[3] = {0, 0, 0};
	bool is_shifted = false;
	for (size_t i = 0; i < layout.count; ++i)
	{
		const uint8_t code = layout.codes[i];
		if (code < FIRST_FIXED_POSITION)
			place[code] = values[i];
		else if (code < RotationChannels::FIRST)
			shift[code - FIRST_FIXED_POSITION] = values[i], is_shifted = true;
	}
	if (!is_shifted)
		return;
	const Vec3 moved = frame ? rotate(load_quat(frame), load_vec(shift)) : load_vec(shift);
	store(place, load_vec(place) + moved);
}

float load_float(const uint8_t* at)
{
	const uint32_t bits =
		uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
	float value;
	std::memcpy(&value, &bits, sizeof value);
	return value;
}

bool fail_not_finite(uint64_t offset, mocpack_Error* error)
{
	ErrorMessage(error, MOCPACK_CORRUPT, offset) << "raw payload: a number is not finite";
	return false;
}

// Reads the mask of stored channels and the constant values of the others.
struct RawOpening
{
	const Chunks& chunks;
	mocpack_Motion* motion;
	mocpack_Error* error;

	bool run()
	{
		const uint64_t size = chunks.data.size, mask_size = (motion->channel_count + 7) / 8;
		if (size < mask_size)
			return fail_truncated(mask_size);
		const uint8_t* mask = load(0, mask_size);
		const bool good = mask && read_mask(mask) && read_still(mask, mask_size);
		motion->bytes.unload(mask, &motion->memory);
		return good;
	}

  private:
	bool fail_truncated(uint64_t needed)
	{
		ErrorMessage(error, MOCPACK_TRUNCATED, chunks.data.offset + chunks.data.size)
			<< "raw payload: expected " << needed << " bytes, got " << chunks.data.size;
		return false;
	}

	const uint8_t* load(uint64_t start, uint64_t size)
	{
		return motion->bytes.load(chunks.data.offset + start, size, "raw payload", &motion->memory, error);
	}

	bool read_mask(const uint8_t* mask)
	{
		RawPayload& raw = motion->raw;
		const size_t count = motion->channel_count;
		raw.stored_count = count_set(mask, count);
		if (count && !is_set(mask, 0))
		{
			ErrorMessage(error, MOCPACK_CORRUPT, chunks.data.offset)
				<< "raw payload: the first channel must be stored per frame";
			return false;
		}
		int32_t* stored = motion->memory.allocate_array<int32_t>(uint64_t(raw.stored_count) + 1);
		if (!stored)
			return no_memory(error, "raw payload");
		for (size_t c = 0, at = 0; c < count; ++c)
			if (is_set(mask, c))
				stored[at++] = int32_t(c);
		raw.stored = stored;
		return true;
	}

	bool read_still(const uint8_t* mask, uint64_t mask_size)
	{
		RawPayload& raw = motion->raw;
		const size_t count = motion->channel_count;
		const uint64_t still_size = 4 * uint64_t(count - raw.stored_count), start = mask_size + still_size;
		const uint64_t announced = chunks.data.size + chunks.missing;
		const uint64_t frames = motion->info.frame_count, stored = raw.stored_count;
		if (start > chunks.data.size || (stored && frames > (chunks.data.size - start) / raw.row_size()))
		{
			ErrorMessage(error, MOCPACK_TRUNCATED, chunks.data.offset + chunks.data.size)
				<< "raw payload: " << chunks.data.size << " bytes cannot hold " << frames << " frames of "
				<< stored << " channels";
			return false;
		}
		const uint64_t whole = start + raw.row_size() * frames;
		if (whole < announced)
		{
			ErrorMessage(error, MOCPACK_CORRUPT, chunks.data.offset + whole)
				<< "raw payload has " << announced - whole << " extra bytes";
			return false;
		}
		raw.rows_offset = chunks.data.offset + start;
		motion->largest_input = size_t((motion->longest_group + 1) * raw.row_size());
		double* still = motion->memory.allocate_array<double>(uint64_t(count) + 1);
		if (!still)
			return no_memory(error, "raw payload");
		const uint8_t *values = load(mask_size, still_size), *at = values;
		bool good = at != nullptr;
		for (size_t c = 0; good && c < count; ++c)
		{
			if (is_set(mask, c))
				continue;
			still[c] = load_float(at);
			at += 4;
			good = std::isfinite(still[c]) || fail_not_finite(chunks.data.offset + mask_size, error);
		}
		raw.still = still;
		motion->bytes.unload(values, &motion->memory);
		return good;
	}
};

} // namespace

bool read_raw(const Chunks& chunks, mocpack_Motion* motion, mocpack_Error* error)
{
	return RawOpening{chunks, motion, error}.run();
}

void write_channel_pose(const mocpack_Motion& m, const mocpack_KeysineColumns& columns, const double* row,
						double* rotations, double* translations)
{
	size_t next = 0;
	if (m.origins)
		store(rotations + 4 * columns.rotations[0], Quat{0, 0, 0, 1});
	for (size_t j = 0; j < m.info.joint_count; ++j)
	{
		const ChannelLayout& layout = m.layouts[m.layout_of[j]];
		const double* frame = m.channel_frames ? m.channel_frames + 4 * j : nullptr;
		const int32_t to = columns.rotations[j + m.origins];
		const bool is_translated =
			next < m.info.translated_count && size_t(m.info.translated_joints[next]) == j;
		const int32_t place = is_translated ? columns.translations[next++] : -1;
		if (to >= 0)
			store(rotations + 4 * to, channel_rotation(layout, row, frame));
		if (place >= 0)
			channel_translation(layout, row, frame, m.tree.offsets + 3 * (j + m.origins),
								translations + 3 * place);
		row += layout.count;
	}
}

bool decode_raw(const mocpack_Reader& r, const Lane& lane, size_t group, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	const RawPayload& raw = m.raw;
	const size_t first = m.key_frame(group), frames = m.key_frame(group + 1) + 1 - first;
	const uint64_t offset = raw.rows_offset + first * raw.row_size();
	const uint8_t* at = m.bytes.view(offset, frames * raw.row_size(), lane.input, error);
	if (!at)
		return false;
	double* row = static_cast<double*>(lane.scratch);
	std::memcpy(row, raw.still, m.channel_count * sizeof(double));
	for (size_t t = 0; t < frames; ++t)
	{
		for (size_t i = 0; i < raw.stored_count; ++i, at += 4)
		{
			row[raw.stored[i]] = load_float(at);
			if (!std::isfinite(row[raw.stored[i]]))
				return fail_not_finite(offset + t * raw.row_size(), error);
		}
		write_channel_pose(m, r.columns, row, lane.rotations + 4 * t * r.decoded_count,
						   lane.translations + 3 * t * r.rig.moving_count);
	}
	return true;
}

} // namespace mocpack
