// Tests live streams under the sanitizers: valid ones, and random hellos, packets and rows.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "live/live.h"

namespace
{

void check(bool good, const char* what)
{
	if (!good)
	{
		printf("failed: %s\n", what);
		exit(1);
	}
}

uint32_t seed = 12345;

uint32_t random_bits()
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

template <typename T> void put(std::vector<uint8_t>& out, T value)
{
	const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&value);
	out.insert(out.end(), bytes, bytes + sizeof value);
}

// A hello with a translated root, a free joint, a hinge with two axes, a fixed joint (on the hinge, or a root
// of its own) and an end site.
std::vector<uint8_t> hello(uint16_t last_parent = 2, double frame_time = 1.0 / 120)
{
	std::vector<uint8_t> out = {'m', 'l', 'v', '1'};
	put<uint32_t>(out, 7);
	put<uint32_t>(out, 5000);
	put<double>(out, frame_time);
	put<uint16_t>(out, 26214);
	put<uint16_t>(out, 0);
	for (uint16_t n : {4, 1, 1, 2})
		put<uint16_t>(out, n);
	for (uint16_t parent : {uint16_t(0xffff), uint16_t(0), uint16_t(1), last_parent})
		put<uint16_t>(out, parent);
	for (uint8_t kind : {1, 1, 0, 0})
		put<uint8_t>(out, kind);
	for (int j = 0; j < 4; ++j)
		for (int c = 0; c < 3; ++c)
			put<float>(out, j ? 0.1f * float(c + 1) : 0);
	for (int j = 0; j < 4; ++j)
		for (double v : {0.0, 0.0, 0.0, 1.0})
			put<double>(out, v);
	put<uint16_t>(out, 3);
	for (int c = 0; c < 3; ++c)
		put<float>(out, 0.05f);
	put<uint16_t>(out, 0);
	for (int h = 0; h < 2; ++h)
	{
		put<uint16_t>(out, 2);
		put<uint8_t>(out, 0);
		for (int c = 0; c < 3; ++c)
			put<double>(out, c == h);
	}
	return out;
}

struct Sender
{
	std::unique_ptr<double[]> memory;
	mocpack_LiveEncoder* encoder;

	explicit Sender(const std::vector<uint8_t>& model)
	{
		memory.reset(new double[mocpack_live_encoder_size(model.data(), model.size()) / 8 + 1]);
		encoder = mocpack_live_encoder_open(model.data(), model.size(), memory.get());
		check(encoder != nullptr, "an encoder opens");
	}

	std::vector<uint8_t> send(uint32_t crc, int64_t t, bool keyframe)
	{
		double a = 0.01 * double(t % 200), half = 0.5 * a;
		double rotations[16] = {0, half, 0, 1, half, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
		for (int j = 0; j < 2; ++j)
		{
			double n = 1 / __builtin_sqrt(1 + half * half);
			for (int c = 0; c < 4; ++c)
				rotations[4 * j + c] *= n;
		}
		double translations[3] = {a, 1, -a}, error = 0;
		mocpack_LiveMode mode = {5000, 1, 1};
		mocpack_Status status =
			mocpack_live_encode(encoder, rotations, translations, 8333 * t, keyframe, &mode, &error);
		check(status == MOCPACK_OK && error <= 0.005, "a frame keeps its bound");
		int64_t time;
		mocpack_LiveRow row = *mocpack_live_row(encoder, t, &time);
		mocpack_LiveHead head = {t, time, row.keyframe};
		std::vector<uint8_t> packet(row.size + 64);
		packet.resize(mocpack_live_pack(crc, &head, &row, 1, packet.data(), packet.size()));
		return packet;
	}
};

struct Receiver
{
	std::unique_ptr<double[]> memory;
	mocpack_LiveReceiver* receiver;
	double rotations[4096], translations[4096];

	explicit Receiver(const std::vector<uint8_t>& model)
	{
		memory.reset(new double[mocpack_live_receiver_size(model.data(), model.size()) / 8 + 1]);
		receiver = mocpack_live_receiver_open(model.data(), model.size(), 2, memory.get());
	}

	int drain()
	{
		mocpack_LiveHead head;
		int count = 0;
		while (mocpack_live_next(receiver, &head, rotations, translations))
			++count;
		mocpack_live_predict(receiver, 3, rotations, translations);
		return count;
	}
};

uint32_t check_of(const std::vector<uint8_t>& model)
{
	mocpack_LiveShape shape;
	mocpack_Fault fault;
	check(mocpack_live_read_shape(model.data(), model.size(), &shape, &fault) == MOCPACK_OK,
		  "a hello is read");
	check(shape.joint_count == 4 && shape.translated_count == 1, "a hello's shape");
	return shape.hello_checksum;
}

void test_frames_come_back(const std::vector<uint8_t>& model)
{
	Sender sender(model);
	Receiver receiver(model);
	for (int64_t t = 0; t < 300; ++t)
	{
		std::vector<uint8_t> packet = sender.send(check_of(model), t, t % 70 == 0);
		check(mocpack_live_receive(receiver.receiver, packet.data(), packet.size()) == MOCPACK_LIVE_NEW,
			  "news");
		check(receiver.drain() == 1, "one frame a packet");
		check(mocpack_live_encoder_checksum(sender.encoder) ==
				  mocpack_live_receiver_checksum(receiver.receiver),
			  "both ends hold the same numbers");
	}
}

void test_any_hello_does_no_harm()
{
	std::vector<uint8_t> good = hello();
	for (int trial = 0; trial < 20000; ++trial)
	{
		std::vector<uint8_t> bad = good;
		for (uint32_t k = random_bits() % 3 + 1; k-- > 0;)
			bad[4 + random_bits() % (bad.size() - 4)] = uint8_t(random_bits());
		bad.resize(random_bits() % 4 ? bad.size() : random_bits() % bad.size());
		mocpack_LiveShape shape;
		mocpack_Fault fault;
		if (mocpack_live_read_shape(bad.data(), bad.size(), &shape, &fault) != MOCPACK_OK ||
			shape.joint_count > 64)
			continue;
		Receiver receiver(bad);
		if (!receiver.receiver)
			continue;
		uint8_t row[80] = {0x88, 0x27, 1, 8};
		for (size_t i = 4; i < sizeof row; ++i)
			row[i] = uint8_t(random_bits());
		mocpack_LiveRow rows[1] = {{0, 1, row, sizeof row}};
		mocpack_LiveHead head = {3, 4, 1};
		uint8_t packet[200];
		size_t size = mocpack_live_pack(shape.hello_checksum, &head, rows, 1, packet, sizeof packet);
		mocpack_live_receive(receiver.receiver, packet, size);
		receiver.drain();
	}
}

void test_any_rows_do_no_harm()
{
	std::vector<uint8_t> model = hello();
	uint32_t crc = check_of(model);
	Sender sender(model);
	std::vector<uint8_t> first = sender.send(crc, 0, true);
	for (int trial = 0; trial < 5000; ++trial)
	{
		Receiver receiver(model);
		mocpack_live_receive(receiver.receiver, first.data(), first.size());
		receiver.drain();
		for (int64_t t = 1; t < 6; ++t)
		{
			uint8_t row[120], packet[256];
			size_t room = random_bits() % sizeof row + 1;
			for (size_t i = 0; i < room; ++i)
				row[i] = uint8_t(random_bits());
			mocpack_LiveRow rows[1] = {{0, int(random_bits() & 1), row, room}};
			mocpack_LiveHead head = {t, 8333 * t, 1};
			size_t size = mocpack_live_pack(crc, &head, rows, 1, packet, sizeof packet);
			mocpack_live_receive(receiver.receiver, packet, size);
			receiver.drain();
		}
	}
}

void test_any_packet_does_no_harm()
{
	std::vector<uint8_t> model = hello();
	uint32_t crc = check_of(model);
	Sender sender(model);
	Receiver receiver(model);
	for (int64_t t = 0; t < 3000; ++t)
	{
		std::vector<uint8_t> packet = sender.send(crc, t, t % 50 == 0), bad = packet;
		bad[random_bits() % bad.size()] ^= uint8_t(1 << random_bits() % 8);
		bad.resize(random_bits() % 2 ? bad.size() : random_bits() % bad.size());
		mocpack_LivePacketStatus answer = mocpack_live_receive(receiver.receiver, bad.data(), bad.size());
		check(answer != MOCPACK_LIVE_NEW && answer != MOCPACK_LIVE_REDUNDANT, "damage is noticed");
		check(mocpack_live_receive(receiver.receiver, packet.data(), packet.size()) == MOCPACK_LIVE_NEW,
			  "news");
		check(receiver.drain() == 1, "and the stream goes on");
	}
}

// Every frame time, number and time that the format allows, with rows far before the newest.
void test_any_number_and_time_does_no_harm()
{
	const int64_t furthest = (int64_t(1) << 47) - 1, latest = int64_t(1) << 60;
	for (double frame_time : {1e-6, 1.0 / 120, 1e6})
	{
		std::vector<uint8_t> model = hello(2, frame_time);
		uint32_t crc = check_of(model);
		Receiver receiver(model);
		for (int64_t number : {int64_t(0), int64_t(65535), furthest})
			for (int64_t time : {int64_t(0), latest})
			{
				uint8_t row[80] = {0x88, 0x27, 255, 8}, packet[400];
				mocpack_LiveRow rows[3] = {
					{0, 1, row, sizeof row}, {1, 1, row, sizeof row}, {65535, 1, row, sizeof row}};
				mocpack_LiveHead head = {number, time, 1};
				size_t size = mocpack_live_pack(crc, &head, rows, number ? 3 : 1, packet, sizeof packet);
				mocpack_live_receive(receiver.receiver, packet, size);
				while (mocpack_live_next(receiver.receiver, &head, receiver.rotations, receiver.translations))
					check(head.time >= 0 && head.time <= latest, "a frame's time is in range");
				int64_t first, newest;
				mocpack_live_missing(receiver.receiver, &first, &newest);
				check(newest == number, "the newest is the one heard of");
			}
	}
}

} // namespace

int main()
{
	test_frames_come_back(hello());
	test_frames_come_back(hello(0xffff));
	test_any_hello_does_no_harm();
	test_any_rows_do_no_harm();
	test_any_packet_does_no_harm();
	test_any_number_and_time_does_no_harm();
	return 0;
}
