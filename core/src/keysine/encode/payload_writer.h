// The bytes of a payload: head, key segments, groups in layers.
#pragma once
#include "keysine/encode/draft.h"

namespace mocpack
{
namespace keysine
{

// What a head states of layers: how coarse each is but the last (layers - 1, tracks), and which error it
// leaves.
struct LayerStatements
{
	size_t count; // layers
	const uint8_t* shifts;
	size_t track_count;
	const uint8_t* errors; // (layers - 1) as error_statement says
};
const LayerStatements ONE_LAYER = {1, nullptr, 0, nullptr};

// The number by which a head states an error, rounded up.
uint8_t error_statement(double unit, double error);

// Writes a payload of a draft's segments and the groups, layer by layer; keys_error states that of the keys
// alone.
bool write_payload(EncodeTask* task, const Draft& draft, const Bytes* groups, size_t group_parts,
				   uint8_t keys_error, const LayerStatements& layers, Buffer<uint8_t>* payload);

// Writes a draft's payload, which states how far its keys alone are from the clip.
bool write_draft(EncodeTask* task, const Draft& draft, Buffer<uint8_t>* payload);

} // namespace keysine
} // namespace mocpack
