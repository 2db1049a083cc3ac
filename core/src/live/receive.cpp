// Decodes packets into frames, in order, despite loss, reordering and damage.
#include <cstring>
#include <new>

#include "common/arena.h"
#include "live/extrapolation.h"
#include "live/live.h"
#include "live/stream_codec.h"

using namespace mocpack;
using namespace mocpack::live;

namespace
{

const size_t SLOT_COUNT = 128;
const size_t MAX_ROWS = 512; // per packet
const int MAX_PREDICTED_FRAMES = 64;

struct Slot
{
	int64_t number = -1, time;
	size_t size;
	bool keyframe;
};

} // namespace

struct mocpack_LiveReceiver : StreamCodec
{
	uint8_t* bytes; // (SLOT_COUNT, max_row_bytes)
	Slot* slots;	// (SLOT_COUNT)
	mocpack_LiveRow* rows;
	mocpack_LiveHead newest;
	PoseHistory history;
	State predicted;
	bool has_packet;	 // whether any packet had a known frame number
	bool needs_keyframe; // whether only a keyframe can be decoded next
	bool has_decoded;
	int64_t patience;

	Slot& slot(int64_t number)
	{
		return slots[size_t(number) % SLOT_COUNT];
	}

	bool has_row(int64_t number) const
	{
		return slots[size_t(number) % SLOT_COUNT].number == number;
	}

	// Stores a row; returns false if it is known or too late.
	bool store_row(int64_t number, int64_t time, const mocpack_LiveRow& given)
	{
		if (number < 0 || number <= state.number || has_row(number) || given.size > max_row_bytes)
			return false;
		if (slot(number).number > number)
			return false;
		slot(number) = {number, time, given.size, given.keyframe != 0};
		memcpy(bytes + size_t(number) % SLOT_COUNT * max_row_bytes, given.bytes, given.size);
		return true;
	}

	// Returns the next frame to decode; -1 for none. Waits for a missing frame, then skips to a keyframe.
	int64_t next_frame() const
	{
		int64_t next = state.number + 1;
		if (!needs_keyframe && has_row(next))
			return next;
		if (!needs_keyframe && newest.number - next < patience)
			return -1;
		for (int64_t n = newest.number; n > newest.number - int64_t(SLOT_COUNT) && n > state.number; --n)
			if (has_row(n) && slots[size_t(n) % SLOT_COUNT].keyframe)
				return n;
		return -1;
	}

	bool decode(int64_t number)
	{
		const Slot& own = slot(number);
		const uint8_t* src = bytes + size_t(number) % SLOT_COUNT * max_row_bytes;
		row.keyframe = own.keyframe;
		mocpack_Status status = own.keyframe ? read_keyframe(model, state, contexts, src, own.size, row)
											 : read_row(model, state, contexts, src, own.size, row);
		needs_keyframe = status != MOCPACK_OK;
		if (needs_keyframe)
			state.number = number;
		else
		{
			apply_row(*this, number);
			append_to_history(model, state, history);
		}
		has_decoded = has_decoded || !needs_keyframe;
		return !needs_keyframe;
	}
};

namespace
{

mocpack_LiveReceiver* allocate_receiver(const uint8_t* hello, size_t size, int patience, Arena& arena)
{
	mocpack_LiveReceiver made = {}, *r = arena.allocate<mocpack_LiveReceiver>(1);
	if (!allocate_codec(hello, size, arena, &made))
		return nullptr;
	made.bytes = arena.allocate<uint8_t>(SLOT_COUNT * made.max_row_bytes);
	made.slots = arena.allocate<Slot>(SLOT_COUNT);
	made.rows = arena.allocate<mocpack_LiveRow>(MAX_ROWS);
	made.history = allocate_history(made.model, arena);
	made.predicted = allocate_state(made.model, arena);
	made.needs_keyframe = true;
	made.patience = patience < 0 ? 0 : patience < int(SLOT_COUNT) / 2 ? patience : int(SLOT_COUNT) / 2;
	if (!r)
		return nullptr;
	new (r) mocpack_LiveReceiver(made);
	for (size_t i = 0; i < SLOT_COUNT; ++i)
		r->slots[i] = Slot();
	return r;
}

} // namespace

mocpack_Status mocpack_live_read_shape(const uint8_t* hello, size_t size, mocpack_LiveShape* shape,
									   mocpack_Fault* fault)
{
	Arena counting(nullptr);
	Model model;
	*fault = {};
	mocpack_Status status = read_model(hello, size, counting, &model, fault);
	if (status != MOCPACK_OK)
		return status;
	model.number_count = 6 * model.joint_count;
	*shape = {model.joint_count,	model.translated_count, compute_max_row_bytes(model),
			  model.hello_checksum, model.bound / 1e6,		model.frame_time};
	return MOCPACK_OK;
}

size_t mocpack_live_receiver_size(const uint8_t* hello, size_t size)
{
	Arena counting(nullptr);
	allocate_receiver(hello, size, 0, counting);
	return counting.used();
}

mocpack_LiveReceiver* mocpack_live_receiver_open(const uint8_t* hello, size_t size, int patience,
												 void* memory)
{
	Arena arena(memory);
	return allocate_receiver(hello, size, patience, arena);
}

mocpack_LivePacketStatus mocpack_live_receive(mocpack_LiveReceiver* r, const uint8_t* packet, size_t size)
{
	mocpack_LiveHead head;
	size_t count = 0;
	mocpack_LivePacketStatus answer =
		mocpack_live_unpack(r->model.hello_checksum, r->has_packet ? &r->newest : nullptr, packet, size,
							&head, r->rows, MAX_ROWS, &count);
	if (answer != MOCPACK_LIVE_NEW)
		return answer;
	if (!r->has_packet || head.number > r->newest.number)
		r->newest = head;
	r->has_packet = true;
	bool any = false;
	int frame_step = r->state.mode.frame_step ? r->state.mode.frame_step : 1;
	for (size_t i = 0; i < count; ++i)
	{
		double earlier = 1e6 * r->model.frame_time * frame_step * r->rows[i].offset;
		// A long frame time and a far offset exceed the range of int64_t: nothing precedes time 0.
		int64_t time = earlier < double(head.time) ? head.time - int64_t(earlier) : 0;
		any = r->store_row(head.number - r->rows[i].offset, time, r->rows[i]) || any;
	}
	return any ? MOCPACK_LIVE_NEW : MOCPACK_LIVE_REDUNDANT;
}

int mocpack_live_next(mocpack_LiveReceiver* r, mocpack_LiveHead* head, double* rotations,
					  double* translations)
{
	for (int64_t n = r->next_frame(); n >= 0; n = r->next_frame())
		if (r->decode(n))
		{
			*head = {n, r->slot(n).time, r->slot(n).keyframe};
			compute_pose(r->model, r->state, r->world_rotations, rotations, translations);
			return 1;
		}
	return 0;
}

int mocpack_live_is_waiting(const mocpack_LiveReceiver* r)
{
	return r->needs_keyframe || (r->newest.number > r->state.number && r->next_frame() < 0);
}

mocpack_LiveMode mocpack_live_mode(const mocpack_LiveReceiver* r)
{
	return {r->state.mode.bound, r->state.mode.frame_step, r->state.mode.twist};
}

void mocpack_live_missing(const mocpack_LiveReceiver* r, int64_t* first, int64_t* newest)
{
	*first = r->needs_keyframe ? -1 : r->state.number + 1;
	*newest = r->has_packet ? r->newest.number : -1;
}

int mocpack_live_has_frame(const mocpack_LiveReceiver* r, int64_t number)
{
	return number >= 0 && (number <= r->state.number || r->has_row(number));
}

int mocpack_live_predict(mocpack_LiveReceiver* r, int ahead, double* rotations, double* translations)
{
	if (!r->has_decoded)
		return 0;
	ahead = ahead < 0 ? 0 : ahead < MAX_PREDICTED_FRAMES ? ahead : MAX_PREDICTED_FRAMES;
	if (!extrapolate(r->model, r->state, r->history, ahead, r->predicted))
		return 0;
	compute_pose(r->model, r->predicted, r->world_rotations, rotations, translations);
	return 1;
}

uint32_t mocpack_live_receiver_checksum(const mocpack_LiveReceiver* r)
{
	return compute_checksum(r->model, r->state);
}
