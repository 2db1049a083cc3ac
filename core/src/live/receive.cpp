// Turns packets into frames, in order, whatever a network did to them.
#include <cstring>
#include <new>

#include "common/arena.h"
#include "live/end.h"
#include "live/guess.h"
#include "live/live.h"

using namespace mocpack;
using namespace mocpack::live;

namespace
{

const size_t SLOTS = 128;
const size_t MOST_ROWS = 512; // of one packet
const int MOST_GUESSED = 64;

struct Slot
{
	int64_t number = -1, time;
	size_t size;
	bool intra;
};

} // namespace

struct mocpack_LiveReceiver : End
{
	uint8_t* bytes; // (SLOTS, row_room)
	Slot* slots;	// (SLOTS)
	mocpack_LiveRow* rows;
	mocpack_LiveHead newest;
	Past past;
	State guess;
	bool placed, lost, shown; // whether any packet was placed; whether the state fits no row but an
							  // intra one; whether any frame was decoded
	int64_t patience;

	Slot& slot(int64_t number)
	{
		return slots[size_t(number) % SLOTS];
	}

	bool holds(int64_t number) const
	{
		return slots[size_t(number) % SLOTS].number == number;
	}

	// Keeps a row; false where it was known or is past.
	bool keep(int64_t number, int64_t time, const mocpack_LiveRow& given)
	{
		if (number < 0 || number <= state.number || holds(number) || given.size > row_room)
			return false;
		if (slot(number).number > number)
			return false;
		slot(number) = {number, time, given.size, given.intra != 0};
		memcpy(bytes + size_t(number) % SLOTS * row_room, given.bytes, given.size);
		return true;
	}

	// The row to decode next; -1 for none. A gap is waited for, then leapt over by an intra frame.
	int64_t next_number() const
	{
		int64_t next = state.number + 1;
		if (!lost && holds(next))
			return next;
		if (!lost && newest.number - next < patience)
			return -1;
		for (int64_t n = newest.number; n > newest.number - int64_t(SLOTS) && n > state.number; --n)
			if (holds(n) && slots[size_t(n) % SLOTS].intra)
				return n;
		return -1;
	}

	bool decode(int64_t number)
	{
		const Slot& own = slot(number);
		const uint8_t* src = bytes + size_t(number) % SLOTS * row_room;
		row.intra = own.intra;
		mocpack_Status status = own.intra ? read_intra(model, state, learned, src, own.size, row)
										  : read_row(model, state, learned, src, own.size, row);
		lost = status != MOCPACK_OK;
		if (lost)
			state.number = number;
		else
		{
			take_on(*this, number);
			keep_past(model, state, past);
		}
		shown = shown || !lost;
		return !lost;
	}
};

namespace
{

mocpack_LiveReceiver* place_receiver(const uint8_t* hello, size_t size, int patience, Arena& arena)
{
	mocpack_LiveReceiver made = {}, *r = arena.take<mocpack_LiveReceiver>(1);
	if (!place_end(hello, size, arena, &made))
		return nullptr;
	made.bytes = arena.take<uint8_t>(SLOTS * made.row_room);
	made.slots = arena.take<Slot>(SLOTS);
	made.rows = arena.take<mocpack_LiveRow>(MOST_ROWS);
	made.past = place_past(made.model, arena);
	made.guess = place_state(made.model, arena);
	made.lost = true;
	made.patience = patience < 0 ? 0 : patience < int(SLOTS) / 2 ? patience : int(SLOTS) / 2;
	if (!r)
		return nullptr;
	new (r) mocpack_LiveReceiver(made);
	for (size_t i = 0; i < SLOTS; ++i)
		r->slots[i] = Slot();
	return r;
}

} // namespace

mocpack_Status mocpack_live_shape(const uint8_t* hello, size_t size, mocpack_LiveShape* shape,
								  mocpack_Fault* fault)
{
	Arena counting(nullptr);
	Model model;
	*fault = {};
	mocpack_Status status = read_model(hello, size, counting, &model, fault);
	if (status != MOCPACK_OK)
		return status;
	model.number_count = 6 * model.joint_count;
	*shape = {model.joint_count, model.translated_count, row_room_of(model),
			  model.check,		 model.bound / 1e6,		 model.frame_time};
	return MOCPACK_OK;
}

size_t mocpack_live_receiver_size(const uint8_t* hello, size_t size)
{
	Arena counting(nullptr);
	place_receiver(hello, size, 0, counting);
	return counting.used();
}

mocpack_LiveReceiver* mocpack_live_receiver_open(const uint8_t* hello, size_t size, int patience,
												 void* memory)
{
	Arena arena(memory);
	return place_receiver(hello, size, patience, arena);
}

mocpack_LiveAnswer mocpack_live_receive(mocpack_LiveReceiver* r, const uint8_t* packet, size_t size)
{
	mocpack_LiveHead head;
	size_t count = 0;
	mocpack_LiveAnswer answer = mocpack_live_unpack(r->model.check, r->placed ? &r->newest : nullptr, packet,
													size, &head, r->rows, MOST_ROWS, &count);
	if (answer != MOCPACK_LIVE_NEWS)
		return answer;
	if (!r->placed || head.number > r->newest.number)
		r->newest = head;
	r->placed = true;
	bool any = false;
	int every = r->state.mode.every ? r->state.mode.every : 1;
	for (size_t i = 0; i < count; ++i)
	{
		double earlier = 1e6 * r->model.frame_time * every * r->rows[i].offset;
		// A long frame time and a far offset exceed the range of int64_t: nothing precedes time 0.
		int64_t time = earlier < double(head.time) ? head.time - int64_t(earlier) : 0;
		any = r->keep(head.number - r->rows[i].offset, time, r->rows[i]) || any;
	}
	return any ? MOCPACK_LIVE_NEWS : MOCPACK_LIVE_KNOWN;
}

int mocpack_live_next(mocpack_LiveReceiver* r, mocpack_LiveHead* head, double* rotations,
					  double* translations)
{
	for (int64_t n = r->next_number(); n >= 0; n = r->next_number())
		if (r->decode(n))
		{
			*head = {n, r->slot(n).time, r->slot(n).intra};
			pose_of(r->model, r->state, r->worlds, rotations, translations);
			return 1;
		}
	return 0;
}

int mocpack_live_waiting(const mocpack_LiveReceiver* r)
{
	return r->lost || (r->newest.number > r->state.number && r->next_number() < 0);
}

mocpack_LiveMode mocpack_live_mode(const mocpack_LiveReceiver* r)
{
	return {r->state.mode.bound, r->state.mode.every, r->state.mode.twist};
}

void mocpack_live_missing(const mocpack_LiveReceiver* r, int64_t* first, int64_t* newest)
{
	*first = r->lost ? -1 : r->state.number + 1;
	*newest = r->placed ? r->newest.number : -1;
}

int mocpack_live_holds(const mocpack_LiveReceiver* r, int64_t number)
{
	return number >= 0 && (number <= r->state.number || r->holds(number));
}

int mocpack_live_guess(mocpack_LiveReceiver* r, int ahead, double* rotations, double* translations)
{
	if (!r->shown)
		return 0;
	ahead = ahead < 0 ? 0 : ahead < MOST_GUESSED ? ahead : MOST_GUESSED;
	if (!guess_ahead(r->model, r->state, r->past, ahead, r->guess))
		return 0;
	pose_of(r->model, r->guess, r->worlds, rotations, translations);
	return 1;
}

uint32_t mocpack_live_receiver_checksum(const mocpack_LiveReceiver* r)
{
	return checksum_of(r->model, r->state);
}
