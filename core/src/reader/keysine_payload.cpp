// Opens a keysine payload: parses its head and finds its parts.
#include <cmath>

#include "math/elementary.h"
#include "reader/chunks.h"

namespace mocpack
{

namespace
{

const size_t MAX_HEAD_SIZE_BYTES = 5; // of the varint before the head
const uint64_t MAX_HEAD_BYTES = 1u << 31;

struct PayloadOpening
{
	mocpack_Motion* motion;
	mocpack_Error* error;
	const mocpack_KeysineHead* like;

	ErrorMessage fail(mocpack_Status status, uint64_t offset)
	{
		return ErrorMessage(error, status, offset);
	}

	// Reads the head and its size.
	bool read_head()
	{
		const PayloadPlace& data = motion->payload;
		uint8_t start[MAX_HEAD_SIZE_BYTES];
		size_t some = data.size < MAX_HEAD_SIZE_BYTES ? size_t(data.size) : MAX_HEAD_SIZE_BYTES;
		const uint8_t* view = motion->bytes.view(data.offset, some, start, error);
		if (!view)
			return false;
		Fields in("keysine head", view, some, data.offset, error);
		uint64_t size = in.varint(MAX_HEAD_BYTES);
		in.check(size, " is empty");
		if (!in.good())
			return false;
		if (size > data.size)
		{
			fail(MOCPACK_TRUNCATED, data.offset) << "the motion data ends inside the keysine head";
			return false;
		}
		view = motion->bytes.load(data.offset, size, "keysine head", &motion->memory, error);
		bool good = view && parse_head(view, size_t(size));
		motion->bytes.unload(view, &motion->memory);
		return good;
	}

	bool parse_head(const uint8_t* src, size_t size)
	{
		const size_t frames = size_t(motion->info.frame_count);
		mocpack_Fault fault = {};
		const size_t needed = mocpack_keysine_head_memory_size(src, size, motion->tree.joint_count, frames);
		void* memory = needed ? motion->memory.allocate_unfilled(needed) : nullptr; // none if invalid
		if (needed && !memory)
			return no_memory(error, "keysine head", motion->payload.offset);
		const mocpack_Status status =
			mocpack_keysine_open(src, size, &motion->tree, frames, memory, &motion->head, &fault, like);
		if (status != MOCPACK_OK)
			return head_fault(status, fault);
		motion->layout = mocpack_keysine_layout(motion->head);
		return true;
	}

	bool head_fault(mocpack_Status status, const mocpack_Fault& fault)
	{
		ErrorMessage message = fail(status, motion->payload.offset);
		message << "keysine head";
		if (status == MOCPACK_TRUNCATED)
			message << " ends too early";
		else if (!fault.field)
			message << " is corrupt";
		else
		{
			if (fault.part)
				message << ": " << fault.part << " " << uint64_t(fault.index);
			message << ": " << fault.field << " " << fault.value;
			if (fault.low == fault.high)
				message << " must be " << fault.low;
			else
				message << " is outside " << fault.low << ".." << fault.high;
		}
		return false;
	}

	// Computes the offsets of segments and groups.
	bool find_parts(uint32_t flags)
	{
		const mocpack_KeysineLayout& l = motion->layout;
		size_t parts = l.part_count;
		uint64_t* offsets = motion->memory.allocate_array<uint64_t>(uint64_t(parts) + 1);
		mocpack_Layer* layers = motion->memory.allocate_array<mocpack_Layer>(l.layer_count);
		if (!offsets || !layers)
			return no_memory(error, "keysine head", motion->payload.offset);
		offsets[0] = motion->payload.offset + l.head_size;
		for (size_t i = 0; i < parts; ++i)
			offsets[i + 1] = offsets[i] + l.sizes[i];
		motion->part_offsets = offsets;
		motion->payload_end = motion->payload.offset + motion->payload.size;
		uint64_t end = offsets[parts], announced = motion->payload_end + motion->payload.missing;
		uint64_t reached = flags & MOCPACK_OPEN_ALLOW_TRUNCATED ? motion->layer_end(0) : end;
		if (reached > motion->payload_end)
		{
			fail(MOCPACK_TRUNCATED, motion->payload_end)
				<< "the motion data ends " << reached - motion->payload_end
				<< " bytes too early: " << (reached < end ? "the first layer" : "it") << " needs the first "
				<< motion->bytes.start + reached << " bytes of the file";
			return false;
		}
		if (end < announced)
		{
			fail(MOCPACK_CORRUPT, end) << "the motion data has " << announced - end << " extra bytes";
			return false;
		}
		describe(layers);
		return true;
	}

	// Returns whether the measured errors of the file exceed those of its last layer. Version 0.1.0 stated
	// the errors of layers without scales.
	bool ignores_scales(const mocpack_Layer& last) const
	{
		const double rounding = 1.001; // of measured errors
		const mocpack_Info& info = motion->info;
		return (info.scales || info.scaled_count) && info.is_measured &&
			   (info.measured_mean > rounding * last.mean_error ||
				(!info.is_interpolated && info.measured_max > rounding * last.max_error));
	}

	// States the errors of each layer. They hold up to the end of the file, so they are at least those of
	// later layers.
	void state_errors(mocpack_Layer* layers)
	{
		const mocpack_KeysineFields fields = mocpack_keysine_fields(motion->head);
		const size_t count = motion->layout.layer_count, joints = motion->tree.joint_count;
		auto stated = [&](uint8_t number) { return double(fields.unit) * math::exp2((number - 64) / 8.0); };
		// means count the origin joint, which does not move
		const double share = double(joints) / double(joints - motion->origins);
		for (size_t i = count; i-- > 0;)
		{
			layers[i].max_error = stated(fields.errors[i].max);
			layers[i].mean_error = share * stated(fields.errors[i].mean);
			if (i + 1 < count && layers[i].max_error < layers[i + 1].max_error)
				layers[i].max_error = layers[i + 1].max_error;
			if (i + 1 < count && layers[i].mean_error < layers[i + 1].mean_error)
				layers[i].mean_error = layers[i + 1].mean_error;
		}
		if (ignores_scales(layers[count - 1]))
			for (size_t i = 0; i < count; ++i)
				layers[i].max_error = layers[i].mean_error = 0;
	}

	void describe(mocpack_Layer* layers)
	{
		const mocpack_KeysineLayout& l = motion->layout;
		mocpack_Info& info = motion->info;
		const mocpack_KeysineFields fields = mocpack_keysine_fields(motion->head);
		info.keys_error = double(fields.unit) * math::exp2(fields.keys_error / 8.0);
		for (size_t i = 0; i < l.layer_count; ++i)
			layers[i] = {motion->bytes.start + motion->layer_end(i), 0.0, 0.0};
		if (l.layer_count > 1)
			state_errors(layers);
		info.layers = layers;
		info.layer_count = l.layer_count;
		while (info.whole_layer_count < l.layer_count &&
			   motion->layer_end(info.whole_layer_count) <= motion->payload_end)
			++info.whole_layer_count;
		info.key_count = uint64_t(l.group_count) + 1;
		find_largest_input();
	}

	void find_largest_input()
	{
		const mocpack_KeysineLayout& l = motion->layout;
		for (size_t g = 0; g < l.group_count; ++g)
		{
			size_t parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS], size = 0;
			const size_t length = motion->key_frame(g + 1) - motion->key_frame(g),
						 count = mocpack_keysine_group_parts(motion->head, g, l.layer_count, parts);
			for (size_t i = 0; i < count; ++i)
				size += l.sizes[parts[i]];
			motion->longest_group = length > motion->longest_group ? length : motion->longest_group;
			motion->largest_input = size > motion->largest_input ? size : motion->largest_input;
		}
		for (size_t layer = 0; layer < l.layer_count; ++layer)
			for (size_t s = 0; s < l.segment_count; ++s)
			{
				const size_t size = l.sizes[motion->parts().segment(layer, s)];
				motion->largest_input = size > motion->largest_input ? size : motion->largest_input;
			}
	}
};

} // namespace

bool open_keysine(mocpack_Motion* motion, uint32_t flags, mocpack_Error* error,
				  const mocpack_KeysineHead* like)
{
	PayloadOpening opening = {motion, error, like};
	return opening.read_head() && opening.find_parts(flags);
}

} // namespace mocpack
