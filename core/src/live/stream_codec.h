// State shared by the encoder and the receiver of a stream: model, pose, probabilities, working memory.
#pragma once
#include "live/row_coder.h"

namespace mocpack
{
namespace live
{

struct StreamCodec
{
	Model model;
	State state;
	Contexts contexts;
	Row row;
	Quat* world_rotations; // (B)
	size_t max_row_bytes;
};

// Reads a hello and allocates memory for its stream. An arena without memory only counts bytes. Returns false
// for an invalid hello.
inline bool allocate_codec(const uint8_t* hello, size_t size, Arena& arena, StreamCodec* end)
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
	end->state = allocate_state(model, arena);
	end->contexts = allocate_contexts(model, arena);
	end->row = allocate_row(model, arena);
	end->world_rotations = arena.allocate<Quat>(model.body_count);
	end->max_row_bytes = compute_max_row_bytes(model);
	if (model.parents)
		reset_state(model, end->state);
	return true;
}

// Applies the current row to the state, which then is that of frame `number`.
inline void apply_row(StreamCodec& end, int64_t number)
{
	advance(end.model, end.state, end.row);
	end.state.number = number;
}

} // namespace live
} // namespace mocpack
