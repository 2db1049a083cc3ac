// Reads MESH, the faces of a vertex animation.
#include "reader/chunks.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

const uint64_t MAX_VERTICES = 1 << 24;
const size_t FACE_SIZE = 12; // bytes

int32_t load_int32(const uint8_t* bytes)
{
	return int32_t(uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
				   uint32_t(bytes[3]) << 24);
}

} // namespace

bool read_mesh(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk MESH", error);
	Mesh& mesh = motion->mesh;
	mesh.vertex_count = in.varint(MAX_VERTICES);
	mesh.face_count = in.varint(2 * MAX_VERTICES);
	in.check(mesh.vertex_count >= 1, ": vertex count must be at least 1");
	size_t size = 0;
	const size_t most = size_t(FACE_SIZE * mesh.face_count);
	uint8_t* steps = in.good() ? inflate_fields(&in, most, &motion->memory, &size) : nullptr;
	if (!steps)
		return false;
	if (size < most)
		in.fail(MOCPACK_TRUNCATED) << " ends too early";
	int32_t* corners = motion->memory.allocate_array<int32_t>(3 * mesh.face_count + 1);
	if (!corners)
		return in.no_memory();
	int64_t corner = 0;
	for (size_t i = 0; i < 3 * size_t(mesh.face_count) && in.good(); ++i)
	{
		corner += load_int32(steps + 4 * i);
		in.check(corner >= 0 && uint64_t(corner) < mesh.vertex_count,
				 ": a triangle has a vertex index out of range");
		corners[i] = int32_t(corner);
	}
	mesh.faces = corners;
	motion->memory.release(steps);
	return in.good();
}

} // namespace mocpack
