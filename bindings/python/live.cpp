// Python bindings of live streams.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "live/live.h"

namespace
{

using Rotations = Array<double, nb::shape<-1, 4>>;
using Points = Array<double, nb::shape<-1, 3>>;
using Pose = std::tuple<NewArray<double, 2>, NewArray<double, 2>>;
using RowTuple = std::tuple<uint32_t, bool, nb::bytes>; // offset, keyframe, bytes

const size_t MAX_ROWS = 512;
const size_t MAX_PACKET_BYTES = 1 << 20;

const uint8_t* data_of(const nb::bytes& bytes)
{
	return static_cast<const uint8_t*>(bytes.data());
}

std::string format_fault(const mocpack_Fault& fault)
{
	char text[256];
	if (!fault.field)
		return "the hello is invalid";
	snprintf(text, sizeof text, "hello: %s %lld: %s %g is outside %g..%g", fault.part,
			 static_cast<long long>(fault.index), fault.field, fault.value, fault.low, fault.high);
	return text;
}

mocpack_LiveShape read_shape(const nb::bytes& hello)
{
	mocpack_LiveShape shape;
	mocpack_Fault fault = {};
	mocpack_Status status = mocpack_live_read_shape(data_of(hello), hello.size(), &shape, &fault);
	if (status == MOCPACK_CORRUPT)
		raise_corrupt(format_fault(fault).c_str());
	check_status(status, "a hello");
	return shape;
}

// Memory of an opened hello, and the shape of its arrays.
struct OpenedHello
{
	mocpack_LiveShape shape;
	std::unique_ptr<uint64_t[]> memory;

	void allocate(size_t bytes)
	{
		memory.reset(new uint64_t[bytes / 8 + 1]);
	}

	static void* raise_bad_hello()
	{
		raise_corrupt("the hello is invalid");
	}

	Pose new_pose() const
	{
		return {new_array<double, 2>({shape.joint_count, 4}),
				new_array<double, 2>({shape.translated_count, 3})};
	}
};

struct Encoder : OpenedHello
{
	mocpack_LiveEncoder* encoder;
	int64_t frames = 0;

	explicit Encoder(nb::bytes hello)
	{
		shape = read_shape(hello);
		allocate(mocpack_live_encoder_size(data_of(hello), hello.size()));
		encoder = mocpack_live_encoder_open(data_of(hello), hello.size(), memory.get());
		if (!encoder)
			raise_bad_hello();
	}

	// Encodes the next frame. Returns its error in meters, whether it is a keyframe and the size of its row;
	// None if no row keeps the bound.
	std::optional<std::tuple<double, bool, size_t>> encode(Rotations rotations, Points translations,
														   int64_t time, bool keyframe, uint32_t bound,
														   int frame_step, bool twist)
	{
		if (rotations.shape(0) != shape.joint_count || translations.shape(0) != shape.translated_count)
			throw nb::value_error(
				"rotations (J, 4) and translations (M, 3) must have the shape of the stream's skeleton");
		mocpack_LiveMode mode = {bound, uint8_t(frame_step), uint8_t(twist)};
		double error = 0;
		mocpack_Status status = mocpack_live_encode(encoder, rotations.data(), translations.data(), time,
													keyframe, &mode, &error);
		if (status == MOCPACK_BOUND_NOT_MET)
			return std::nullopt;
		check_status(status, "a frame");
		const mocpack_LiveRow* row = mocpack_live_row(encoder, frames++, &time);
		return std::make_tuple(error, row->keyframe != 0, row->size);
	}

	// Returns the packet of a frame, with the kept rows of the frames at `offsets` before it.
	nb::bytes packet(int64_t number, const std::vector<uint32_t>& offsets, bool full)
	{
		std::vector<mocpack_LiveRow> rows;
		mocpack_LiveHead head = {number, 0, full};
		int64_t time;
		size_t size = 64;
		for (uint32_t offset : offsets)
			if (const mocpack_LiveRow* row = mocpack_live_row(encoder, number - int64_t(offset), &time))
			{
				rows.push_back(*row);
				rows.back().offset = offset;
				head.time = offset ? head.time : time;
				size += row->size + 8;
			}
		std::vector<uint8_t> bytes(size);
		size = mocpack_live_pack(shape.hello_checksum, &head, rows.data(), rows.size(), bytes.data(), size);
		return nb::bytes(bytes.data(), size);
	}

	Pose pose()
	{
		Pose made = new_pose();
		mocpack_live_encoded_pose(encoder, std::get<0>(made).data(), std::get<1>(made).data());
		return made;
	}

	uint32_t checksum() const
	{
		return mocpack_live_encoder_checksum(encoder);
	}
};

struct Receiver : OpenedHello
{
	mocpack_LiveReceiver* receiver;

	Receiver(nb::bytes hello, int patience)
	{
		shape = read_shape(hello);
		allocate(mocpack_live_receiver_size(data_of(hello), hello.size()));
		receiver = mocpack_live_receiver_open(data_of(hello), hello.size(), patience, memory.get());
		if (!receiver)
			raise_bad_hello();
	}

	int receive(nb::bytes packet)
	{
		return mocpack_live_receive(receiver, data_of(packet), packet.size());
	}

	// Returns the next frame: number, time in microseconds, rotations (J, 4), translations (M, 3).
	std::optional<std::tuple<int64_t, int64_t, NewArray<double, 2>, NewArray<double, 2>>> next()
	{
		Pose made = new_pose();
		mocpack_LiveHead head;
		if (!mocpack_live_next(receiver, &head, std::get<0>(made).data(), std::get<1>(made).data()))
			return std::nullopt;
		return std::make_tuple(head.number, head.time, std::get<0>(made), std::get<1>(made));
	}

	std::optional<Pose> predict(int ahead)
	{
		Pose made = new_pose();
		if (!mocpack_live_predict(receiver, ahead, std::get<0>(made).data(), std::get<1>(made).data()))
			return std::nullopt;
		return made;
	}

	bool waiting() const
	{
		return mocpack_live_is_waiting(receiver) != 0;
	}

	std::tuple<uint32_t, int, bool> mode() const
	{
		mocpack_LiveMode mode = mocpack_live_mode(receiver);
		return {mode.bound, mode.frame_step, mode.twist != 0};
	}

	std::tuple<int64_t, int64_t> missing() const
	{
		int64_t first, newest;
		mocpack_live_missing(receiver, &first, &newest);
		return {first, newest};
	}

	bool has_frame(int64_t number) const
	{
		return mocpack_live_has_frame(receiver, number) != 0;
	}

	uint32_t checksum() const
	{
		return mocpack_live_receiver_checksum(receiver);
	}
};

nb::bytes pack(uint32_t hello_checksum, int64_t number, int64_t time, bool full,
			   const std::vector<RowTuple>& rows)
{
	std::vector<mocpack_LiveRow> given;
	size_t size = 64;
	for (const auto& [offset, keyframe, bytes] : rows)
	{
		given.push_back({offset, keyframe, data_of(bytes), bytes.size()});
		size += bytes.size() + 8;
	}
	std::vector<uint8_t> packet(size);
	mocpack_LiveHead head = {number, time, full};
	size = mocpack_live_pack(hello_checksum, &head, given.data(), given.size(), packet.data(), size);
	return nb::bytes(packet.data(), size);
}

// Returns the status of a packet and, if it is new: number, time, whether it is full, rows.
std::tuple<int, int64_t, int64_t, bool, std::vector<RowTuple>>
unpack(uint32_t hello_checksum, nb::bytes packet, std::optional<std::pair<int64_t, int64_t>> near)
{
	mocpack_LiveRow rows[MAX_ROWS];
	mocpack_LiveHead head = {}, known = {};
	size_t count = 0;
	if (near)
		known = {near->first, near->second, 1};
	if (packet.size() > MAX_PACKET_BYTES)
		return {MOCPACK_LIVE_DAMAGED, 0, 0, false, {}};
	int answer = mocpack_live_unpack(hello_checksum, near ? &known : nullptr, data_of(packet), packet.size(),
									 &head, rows, MAX_ROWS, &count);
	std::vector<RowTuple> kept;
	for (size_t i = 0; answer == MOCPACK_LIVE_NEW && i < count; ++i)
		kept.emplace_back(rows[i].offset, rows[i].keyframe != 0, nb::bytes(rows[i].bytes, rows[i].size));
	return {answer, head.number, head.time, head.full != 0, kept};
}

std::tuple<size_t, size_t, uint32_t, double, double> shape_tuple(nb::bytes hello)
{
	mocpack_LiveShape shape = read_shape(hello);
	return {shape.joint_count, shape.translated_count, shape.hello_checksum, shape.max_error,
			shape.frame_time};
}

} // namespace

void register_live(nb::module_& m)
{
	nb::class_<Encoder>(m, "LiveEncoder")
		.def(nb::init<nb::bytes>(), "hello"_a)
		.def("encode", &Encoder::encode, "rotations"_a, "translations"_a, "time"_a, "keyframe"_a, "bound"_a,
			 "frame_step"_a, "twist"_a)
		.def("packet", &Encoder::packet, "number"_a, "offsets"_a, "full"_a)
		.def("pose", &Encoder::pose)
		.def("checksum", &Encoder::checksum);
	nb::class_<Receiver>(m, "LiveReceiver")
		.def(nb::init<nb::bytes, int>(), "hello"_a, "patience"_a)
		.def("receive", &Receiver::receive, "packet"_a)
		.def("next", &Receiver::next)
		.def("predict", &Receiver::predict, "ahead"_a)
		.def("waiting", &Receiver::waiting)
		.def("mode", &Receiver::mode)
		.def("missing", &Receiver::missing)
		.def("has_frame", &Receiver::has_frame, "number"_a)
		.def("checksum", &Receiver::checksum);
	m.def("live_pack", &pack, "hello_checksum"_a, "number"_a, "time"_a, "full"_a, "rows"_a);
	m.def("live_unpack", &unpack, "hello_checksum"_a, "packet"_a, "near"_a.none());
	m.def("live_shape", &shape_tuple, "hello"_a);
}
