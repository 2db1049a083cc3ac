// Writes the bytes of a payload: head, key segments, groups in layers.
#pragma once
#include "keysine/encode/draft.h"

namespace mocpack
{
namespace keysine
{

// The statements of a head about its layers.
struct LayerStatements
{
	size_t count;		   // layers
	const uint8_t* shifts; // (layers - 1, 2, tracks)
	size_t track_count;
	const mocpack_KeysineError* errors; // (layers)
};
const LayerStatements ONE_LAYER = {1, nullptr, 0, nullptr};

// Return the numbers with which a head states the error of keys alone, and errors of layers, rounded up.
uint8_t error_statement(double unit, double error);
uint8_t layer_error_statement(double unit, double error);
// Returns the largest error of a layer that a head can state, in meters.
double max_layer_error(double unit);

// Writes a payload: a draft's head, then the first `given` parts. Other parts have no bytes. keys_error:
// statement of the error of the keys alone.
bool write_payload(EncodeTask* task, const Draft& draft, const Bytes* parts, size_t given, uint8_t keys_error,
				   const LayerStatements& layers, Buffer<uint8_t>* payload);

// Writes a draft's payload. Its head states the error of the keys alone.
bool write_draft(EncodeTask* task, const Draft& draft, Buffer<uint8_t>* payload);

} // namespace keysine
} // namespace mocpack
