// Opens a keysine payload: parses its head and finds its parts.
#include <cmath>

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
		void* buffer = nullptr;
		if (!motion->bytes.all && !(buffer = motion->memory.allocate(size + 1)))
			return no_memory(error, "keysine head");
		view = motion->bytes.view(data.offset, size, buffer, error);
		bool good = view && parse_head(view, size_t(size));
		motion->memory.release(buffer);
		return good;
	}

	bool parse_head(const uint8_t* src, size_t size)
	{
		const size_t frames = size_t(motion->info.frame_count);
		mocpack_KeysineLayout shape = {};
		mocpack_Fault fault = {};
		mocpack_Status status = mocpack_keysine_read_layout(src, size, frames, &shape, &fault);
		if (status != MOCPACK_OK)
			return head_fault(status, fault);
		void* memory = motion->memory.allocate(
			mocpack_keysine_head_memory_size(src, size, motion->tree.joint_count, frames));
		if (!memory)
			return too_large();
		status = mocpack_keysine_open(src, size, &motion->tree, frames, memory, &motion->head, &fault);
		if (status != MOCPACK_OK)
			return head_fault(status, fault);
		motion->layout = mocpack_keysine_layout(motion->head);
		return true;
	}

	bool too_large()
	{
		fail(MOCPACK_NO_MEMORY, motion->payload.offset)
			<< motion->info.frame_count << " frames of " << uint64_t(motion->info.joint_count)
			<< " joints need more memory than the limit allows or the system has";
		return false;
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
		size_t parts = l.segment_count + l.layer_count * l.group_count;
		uint64_t* offsets = motion->memory.allocate_array<uint64_t>(uint64_t(parts) + 1);
		double* errors = motion->memory.allocate_array<double>(l.layer_count);
		if (!offsets || !errors)
			return too_large();
		offsets[0] = motion->payload.offset + l.head_size;
		for (size_t i = 0; i < parts; ++i)
			offsets[i + 1] = offsets[i] + l.sizes[i];
		motion->part_offsets = offsets;
		motion->payload_end = motion->payload.offset + motion->payload.size;
		uint64_t end = offsets[parts], announced = motion->payload_end + motion->payload.missing;
		uint64_t reached = flags & MOCPACK_OPEN_ALLOW_TRUNCATED ? offsets[l.segment_count] : end;
		if (reached > motion->payload_end)
		{
			fail(MOCPACK_TRUNCATED, motion->payload_end)
				<< "the motion data ends " << reached - motion->payload_end << " bytes too early";
			return false;
		}
		if (end < announced)
		{
			fail(MOCPACK_CORRUPT, end) << "the motion data has " << announced - end << " extra bytes";
			return false;
		}
		describe(errors);
		return true;
	}

	void describe(double* errors)
	{
		const mocpack_KeysineLayout& l = motion->layout;
		mocpack_Info& info = motion->info;
		mocpack_KeysineFields fields = mocpack_keysine_fields(motion->head);
		for (size_t i = 0; i < l.layer_count; ++i)
			errors[i] = double(fields.unit) * std::pow(2.0, fields.errors[i] / 8.0);
		info.layer_errors = errors;
		info.layer_count = l.layer_count;
		info.key_count = uint64_t(l.group_count) + 1;
		for (size_t g = 0; g < l.group_count; ++g)
		{
			size_t length = motion->key_frame(g + 1) - motion->key_frame(g), size = 0;
			for (size_t layer = 0; layer < l.layer_count; ++layer)
				size += l.sizes[motion->group_part(layer, g)];
			motion->longest_group = length > motion->longest_group ? length : motion->longest_group;
			motion->largest_input = size > motion->largest_input ? size : motion->largest_input;
		}
		for (size_t s = 0; s < l.segment_count; ++s)
			motion->largest_input = l.sizes[s] > motion->largest_input ? l.sizes[s] : motion->largest_input;
	}
};

} // namespace

bool open_keysine(mocpack_Motion* motion, uint32_t flags, mocpack_Error* error)
{
	PayloadOpening opening = {motion, error};
	return opening.read_head() && opening.find_parts(flags);
}

} // namespace mocpack
