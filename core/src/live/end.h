// What an encoder and a receiver of a stream both hold: the model, the state that rows take on, room to work.
#pragma once
#include "live/row_coder.h"

namespace mocpack
{
namespace live
{

struct End
{
	Model model;
	State state;
	Learned learned;
	Row row;
	Quat* worlds; // (B)
	size_t row_room;
};

// Reads a hello and takes memory for what it needs; over no memory it counts. False where it is no hello.
inline bool place_end(const uint8_t* hello, size_t size, Arena& arena, End* end)
{
	mocpack_Fault fault;
	Model& model = end->model;
	if (read_model(hello, size, arena, &model, &fault) != MOCPACK_OK)
		return false;
	if (!model.parents) // counting: bodies are not known yet
	{
		model.body_count = model.joint_count;
		model.unit_count = 2 * model.joint_count;
		model.number_count = 6 * model.joint_count;
	}
	end->state = place_state(model, arena);
	end->learned = place_learned(model, arena);
	end->row = place_row(model, arena);
	end->worlds = arena.take<Quat>(model.body_count);
	end->row_room = row_room_of(model);
	if (model.parents)
		clear_state(model, end->state);
	return true;
}

// Takes the state on by the row at hand, to frame `number`.
inline void take_on(End& end, int64_t number)
{
	advance(end.model, end.state, end.row);
	end.state.number = number;
}

} // namespace live
} // namespace mocpack
