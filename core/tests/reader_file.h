// A .mocp file of the small animated skeleton, for the reader tests.
#pragma once
#include <string>

#include "common/crc32.h"
#include "counter.h"
#include "keysine_clip.h"
#include "mocpack/mocpack.h"

namespace
{

void put_bytes(Bytes* out, const void* from, size_t size)
{
	const uint8_t* bytes = static_cast<const uint8_t*>(from);
	out->insert(out->end(), bytes, bytes + size);
}

void put_sized(Bytes* out, const std::string& text)
{
	put_varint(out, text.size());
	put_bytes(out, text.data(), text.size());
}

void put_double(Bytes* out, double value)
{
	put_bytes(out, &value, 8); // tests run on little-endian machines
}

void put_folded(Bytes* out, long value)
{
	put_varint(out, size_t(value < 0 ? -2 * value - 1 : 2 * value));
}

// A deflate stream of one stored block.
Bytes stored(const Bytes& plain)
{
	Bytes out = {1, uint8_t(plain.size()), uint8_t(plain.size() >> 8), uint8_t(~plain.size()),
				 uint8_t(~plain.size() >> 8)};
	put_bytes(&out, plain.data(), plain.size());
	return out;
}

struct TestChunk
{
	std::string tag;
	Bytes body;
};

Bytes file_of(const std::vector<TestChunk>& chunks)
{
	Bytes out = {0x93, 'M', 'O', 'C', 1};
	for (const TestChunk& chunk : chunks)
	{
		put_bytes(&out, chunk.tag.data(), 4);
		put_varint(&out, chunk.body.size());
		uint32_t crc = mocpack::crc32(0, reinterpret_cast<const uint8_t*>(chunk.tag.data()), 4);
		crc = mocpack::crc32(crc, chunk.body.data(), chunk.body.size());
		put_bytes(&out, &crc, 4);
		put_bytes(&out, chunk.body.data(), chunk.body.size());
	}
	return out;
}

Bytes head_chunk()
{
	Bytes out = {0};
	put_varint(&out, FRAMES);
	out.push_back(31 + 30); // a thirtieth of a second between frames
	put_sized(&out, "keysine");
	put_varint(&out, 1);
	put_sized(&out, "{\"effort\":\"fast\"}");
	out.push_back(1);
	float declared = float(BOUND);
	put_bytes(&out, &declared, 4);
	return out;
}

Bytes skeleton_chunk(const Body& body)
{
	static const char* const NAMES[] = {"hips", "arm", "hand", "leg"};
	Bytes plain;
	put_varint(&plain, JOINTS);
	for (const char* name : NAMES)
		put_sized(&plain, name);
	for (size_t j = 1; j < JOINTS; ++j)
		put_varint(&plain, j - 1 - size_t(body.parents[j]));
	put_varint(&plain, 1); // one layout of no channels
	put_sized(&plain, "");
	for (size_t j = 0; j < JOINTS; ++j)
		put_varint(&plain, 0);
	put_varint(&plain, 1), put_varint(&plain, 0); // the root is translated
	put_varint(&plain, 1), put_varint(&plain, 2); // the hand has an end site
	plain.push_back(1);							  // centimeters
	plain.push_back(0);							  // whole ones
	for (double value : body.offsets)
		put_folded(&plain, std::lround(100 * value));
	for (double value : body.sites)
		put_folded(&plain, std::lround(100 * value));
	plain.push_back(0); // no axes
	return stored(plain);
}

Bytes payload_bytes(const Payload& payload)
{
	Bytes out = payload.head;
	for (const Bytes& part : payload.segments)
		put_bytes(&out, part.data(), part.size());
	for (const Bytes& part : payload.groups)
		put_bytes(&out, part.data(), part.size());
	return out;
}

// Metadata, times, gaps, how it is played and a track are there too, so that all of the reader has work.
std::vector<TestChunk> test_chunks(const Body& body, const Payload& payload)
{
	std::string metadata = "{\"who\":[1,2.5e3,null,{\"a\":\"\\u00e9\"}]}";
	Bytes times = {1};
	put_double(&times, 0.5);
	times.push_back(2), times.push_back(2); // decimals of two digits
	put_folded(&times, 50);
	times.push_back(0);
	Bytes steps;
	for (size_t t = 1; t < FRAMES; ++t)
		put_folded(&steps, 3 + long(t % 2));
	Bytes packed = stored(steps);
	put_bytes(&times, packed.data(), packed.size());
	Bytes gaps = {1, 2, 1, 2, 9, 4};
	Bytes track;
	put_sized(&track, "force");
	track.push_back(8 * 16), track.push_back(4); // a scalar with a unit; four samples
	put_sized(&track, "N");
	track.push_back(2), track.push_back(1); // decimals of one digit
	put_folded(&track, 15);
	track.push_back(0);
	Bytes changes;
	for (long change : {1, -30, 2})
		put_folded(&changes, change);
	packed = stored(changes);
	put_bytes(&track, packed.data(), packed.size());
	return {{"HEAD", head_chunk()}, {"SKEL", skeleton_chunk(body)},
			{"TIME", times},		{"meta", stored(Bytes(metadata.begin(), metadata.end()))},
			{"play", {25}},			{"vald", stored(gaps)},
			{"trak", track},		{"DATA", payload_bytes(payload)}};
}

// The samples of all tracks, and their words; the status of the first that cannot be read.
mocpack_Status read_tracks(const mocpack_Motion* motion, mocpack_Error* error)
{
	const uint64_t MOST = 1000000; // samples that are worth the memory
	const mocpack_Info& info = *mocpack_info(motion);
	mocpack_Status first = MOCPACK_OK;
	for (size_t i = 0; i < info.track_count && first == MOCPACK_OK; ++i)
	{
		const mocpack_Track& track = info.tracks[i];
		if (track.count > MOST)
			continue;
		std::vector<double> values(4 * size_t(track.count) + 1), times(size_t(track.count) + 1);
		first = mocpack_track_values(motion, i, values.data(), i % 2 ? times.data() : nullptr, error);
		size_t count = 0, size = 0;
		if (first == MOCPACK_OK && track.kind == MOCPACK_TRACK_LABEL)
			first = mocpack_track_labels(motion, i, &count, &size, nullptr, nullptr, error);
		std::vector<mocpack_Text> words(count + 1);
		std::vector<char> text(size + 1);
		if (first == MOCPACK_OK && track.kind == MOCPACK_TRACK_LABEL)
			first = mocpack_track_labels(motion, i, &count, &size, words.data(), text.data(), error);
		for (double value : values)
			check(first != MOCPACK_OK || std::isfinite(value), "samples are finite");
	}
	return first;
}

} // namespace
