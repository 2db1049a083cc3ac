// Bindings of the lossless decoder.
#include "skeleton.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reader/chunks.h"
#include "reader/lossless.h"

namespace
{

using Matrix = NewArray<double, 2>;
using Optional = std::optional<Matrix>;

// Memory to decode one payload, freed at the end.
struct Workspace
{
	mocpack::Memory memory;

	explicit Workspace(uint64_t limit) : memory(mocpack::default_allocator(), limit)
	{
	}
	~Workspace()
	{
		memory.release_all();
	}
};

Optional copy_matrix(const double* values, uint64_t frames, size_t columns)
{
	if (!values)
		return std::nullopt;
	Matrix copy = new_array<double, 2>({size_t(frames), columns});
	std::memcpy(copy.data(), values, size_t(frames) * columns * sizeof(double));
	return copy;
}

std::pair<Optional, Optional> decode(nb::bytes payload, const mocpack::LosslessShape& shape,
									 mocpack::Memory* memory)
{
	const uint8_t* bytes = static_cast<const uint8_t*>(payload.data());
	const size_t size = payload.size();
	mocpack::LosslessPayload out = {};
	mocpack_Error error = {};
	bool good;
	{
		nb::gil_scoped_release release;
		good = mocpack::read_lossless_payload(shape, bytes, size, 0, memory, &out, &error);
	}
	if (!good)
		raise_error(error);
	return {copy_matrix(out.channels, shape.frame_count, shape.channels.count),
			copy_matrix(out.motion, shape.frame_count, shape.motion.count)};
}

[[noreturn]] void raise_no_memory()
{
	mocpack_Error error = {};
	mocpack::no_memory(&error, "the columns of a lossless clip");
	raise_error(error);
}

void check_names(const std::vector<std::string>& names, size_t joints)
{
	bool good = names.size() == joints;
	for (const std::string& name : names)
		good = good && name.size() <= mocpack::MAX_JOINT_NAME_BYTES;
	if (!good)
		throw nb::value_error("names must have one entry per joint, each at most 255 bytes");
}

void check_channels(const Indices& joints, const Flags& is_places, size_t joint_count)
{
	bool good = joints.size() == is_places.size();
	for (size_t c = 0; c < joints.size(); ++c)
		good = good && joints.data()[c] >= 0 && size_t(joints.data()[c]) < joint_count;
	if (!good)
		throw nb::value_error("channel_joints and channel_is_places must have one entry per channel");
}

// channels (T, C) or None, and rotations and translations (T, 4 J + 3 M) or None
std::pair<Optional, Optional> lossless_decode(nb::bytes payload, size_t frames, const Skeleton& skeleton,
											  const std::vector<std::string>& names, Indices channel_joints,
											  Flags channel_is_places, uint64_t memory_limit)
{
	const size_t joints = skeleton.view.joint_count;
	check_names(names, joints);
	check_channels(channel_joints, channel_is_places, joints);
	Workspace work(memory_limit);
	std::vector<mocpack_Text> texts;
	for (const std::string& name : names)
		texts.push_back({name.data(), name.size()});
	std::vector<int32_t> mirrored(joints);
	mocpack::LosslessShape shape = {frames,
									joints,
									skeleton.view.parents,
									mirrored.data(),
									{channel_joints.size(), channel_joints.data(), channel_is_places.data()},
									{},
									false};
	if (!mocpack::mirror_joints(texts.data(), joints, mirrored.data(), &work.memory) ||
		!mocpack::motion_columns(skeleton.view, &shape.motion, &work.memory))
		raise_no_memory();
	return decode(payload, shape, &work.memory);
}

// coordinates (T, 3 V)
Matrix lossless_decode_mesh(nb::bytes payload, size_t frames, size_t vertices, uint64_t memory_limit)
{
	Workspace work(memory_limit);
	std::vector<int32_t> none(vertices, -1), owners(3 * vertices);
	std::vector<uint8_t> is_places(3 * vertices, 1);
	for (size_t c = 0; c < owners.size(); ++c)
		owners[c] = int32_t(c / 3);
	const mocpack::LosslessColumns columns = {owners.size(), owners.data(), is_places.data()};
	return *decode(payload, {frames, vertices, none.data(), none.data(), {}, columns, true}, &work.memory)
				.second;
}

} // namespace

void register_lossless(nb::module_& m)
{
	m.def("lossless_decode", &lossless_decode, "payload"_a, "frames"_a, "skeleton"_a, "names"_a,
		  "channel_joints"_a, "channel_is_places"_a, "memory_limit"_a);
	m.def("lossless_decode_mesh", &lossless_decode_mesh, "payload"_a, "frames"_a, "vertices"_a,
		  "memory_limit"_a);
}
