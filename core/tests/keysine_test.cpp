// keysine: motion comes back within its bound, in one layer, in several and on a grid in time, and no bytes
// do harm.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "keysine_clip.h"

#include "keysine/encode/layer_writer.h"

namespace
{

// The keys at the ends of groups (groups + 1, channels), refined by this many layers.
mocpack_Status keys_at_ends(const mocpack_KeysineHead* head, const Payload& payload, size_t layers,
							std::vector<int32_t>* keys)
{
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	keys->resize((layout.group_count + 1) * layout.channel_count);
	Memory scratch(mocpack_keysine_segment_scratch_size(head));
	for (size_t s = 0; s < layout.segment_count; ++s)
	{
		size_t first = s * layout.groups_per_segment;
		size_t count = std::min(layout.groups_per_segment, layout.group_count - first) + 1;
		std::vector<int32_t> part(count * layout.channel_count);
		mocpack_Status status =
			mocpack_keysine_decode_segment(head, count, true, payload.segments[s].data(),
										   payload.segments[s].size(), part.data(), scratch.at);
		for (size_t l = 1; l < layers && status == MOCPACK_OK; ++l)
		{
			const Bytes& finer = payload.part(mocpack_keysine_segment_part(head, l, s));
			status = mocpack_keysine_refine_segment(head, l, count, finer.data(), finer.size(), part.data());
		}
		if (status != MOCPACK_OK)
			return status;
		std::copy(part.begin(), part.end(), keys->begin() + long(first * layout.channel_count));
	}
	return MOCPACK_OK;
}

// By how many bits the keys and coefficients of the first two of three layers are coarser (2, 2, tracks).
Bytes layer_shifts(size_t tracks)
{
	Bytes shifts(4 * tracks, 1);
	for (size_t t = 0; t < 2 * tracks; ++t)
		shifts[t] = uint8_t(1 + t % 3);
	return shifts;
}

// The same payload in three layers.
Payload layered(Body* body, const Payload& single)
{
	const size_t LAYERS = 3;
	Memory memory(mocpack_keysine_head_memory_size(single.head.data(), single.head.size(), JOINTS, FRAMES));
	mocpack_KeysineHead* head;
	check(mocpack_keysine_open(single.head.data(), single.head.size(), &body->skeleton, FRAMES, memory.at,
							   &head, nullptr, nullptr) == MOCPACK_OK,
		  "the head opens");
	const size_t channels = mocpack_keysine_layout(head).channel_count, groups = single.groups.size(),
				 segments = single.segments.size();
	Bytes shifts = layer_shifts(mocpack_keysine_layout(head).track_count);
	Payload made = {{}, std::vector<Bytes>(segments), std::vector<Bytes>(groups), LAYERS};
	std::vector<std::vector<Bytes>> later(LAYERS); // parts of each layer after the first
	std::vector<int32_t> keys;
	check(keys_at_ends(head, single, 1, &keys) == MOCPACK_OK, "keys are read");
	with_exact_memory(
		[&](mocpack::Arena* arena)
		{
			mocpack::keysine::LayerWriter writer(*head, {shifts.data(), LAYERS, shifts.size() / 4}, 1 << 16,
												 arena);
			mocpack::keysine::Bytes parts[PER_SEGMENT + LAYERS], src[PER_SEGMENT];
			auto copy = [](const mocpack::keysine::Bytes& part)
			{ return Bytes(part.data, part.data + part.size); };
			for (size_t s = 0; s < segments && arena->has_memory(); ++s)
			{
				const size_t first = s * PER_SEGMENT, count = std::min(PER_SEGMENT, groups - first);
				check(writer.split_segment(keys.data() + first * channels, count + 1, parts) == MOCPACK_OK,
					  "keys are split");
				made.segments[s] = copy(parts[0]);
				for (size_t l = 1; l < LAYERS; ++l)
					later[l].push_back(copy(parts[l]));
				for (size_t i = 0; i < count; ++i)
					src[i] = {const_cast<uint8_t*>(single.groups[first + i].data()),
							  single.groups[first + i].size()};
				check(writer.split_bundle(first, count, keys.data() + first * channels, src, parts) ==
						  MOCPACK_OK,
					  "a bundle is split");
				for (size_t i = 0; i < count + LAYERS - 1; ++i)
					if (i < count)
						made.groups[first + i] = copy(parts[i]);
					else
						later[i - count + 1].push_back(copy(parts[i]));
			}
		});
	for (const std::vector<Bytes>& layer : later)
		made.groups.insert(made.groups.end(), layer.begin(), layer.end());
	made.head = head_of(body, made, shifts.data());
	return made;
}

// Decodes as a careful caller does: no part is looked for beyond the bytes there are.
mocpack_Status decoded(const Body& body, const Payload& payload, size_t layers,
					   std::vector<double>* rotations, std::vector<double>* translations)
{
	Bytes own(payload.head); // a copy of just its size
	Memory memory(mocpack_keysine_head_memory_size(own.data(), own.size(), JOINTS, FRAMES));
	mocpack_KeysineHead* head;
	mocpack_Status status = mocpack_keysine_open(own.data(), own.size(), &body.skeleton, FRAMES, memory.at,
												 &head, nullptr, nullptr);
	if (status != MOCPACK_OK)
		return status;
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	if (layout.segment_count != payload.segments.size() || layout.part_count != payload.count())
		return MOCPACK_TRUNCATED;
	layers = std::min(layers, layout.layer_count);
	std::vector<int32_t> keys;
	status = keys_at_ends(head, payload, std::max<size_t>(layers, 1), &keys);
	if (status != MOCPACK_OK)
		return status;
	Memory scratch(mocpack_keysine_group_scratch_size(head));
	for (size_t g = 0; g < layout.group_count; ++g)
	{
		size_t frame = mocpack_keysine_key_frame(head, g);
		const uint8_t* bytes[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
		size_t sizes[MOCPACK_KEYSINE_MAX_GROUP_PARTS], parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
		const size_t count = mocpack_keysine_group_parts(head, g, layers, parts);
		for (size_t p = 0; p < count; ++p)
			bytes[p] = payload.part(parts[p]).data(), sizes[p] = payload.part(parts[p]).size();
		status = mocpack_keysine_decode_group(head, g, keys.data() + g * layout.channel_count, bytes, sizes,
											  layers, nullptr, rotations->data() + 4 * JOINTS * frame,
											  translations->data() + 3 * frame, scratch.at);
		if (status != MOCPACK_OK)
			return status;
	}
	mocpack_keysine_decode_key(head, keys.data() + layout.group_count * layout.channel_count, nullptr,
							   rotations->data() + 4 * JOINTS * (FRAMES - 1),
							   translations->data() + 3 * (FRAMES - 1));
	return MOCPACK_OK;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b)
{
	double most = 0;
	for (size_t i = 0; i < a.size(); ++i)
		most = std::max(most, std::fabs(a[i] - b[i]));
	return most;
}

void a_grid_comes_back(const Body& body, const Payload& grid)
{
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES), keys(turns), there(places);
	check(decoded(body, grid, 1, &turns, &places) == MOCPACK_OK, "a grid decodes");
	check(farthest(places, body.translations) < BOUND, "and the root is where it was");
	// a joint may turn by as much as its shell allows, and so may the one above it, the other way
	check(farthest(turns, body.rotations) < 0.2, "and the joints are turned as they were");
	check(decoded(body, grid, 0, &keys, &there) == MOCPACK_OK, "and so do its keys");
	check(farthest(keys, body.rotations) > farthest(turns, body.rotations), "which are coarser");
}

void motion_comes_back(const Body& body, const Payload& single, const Payload& three)
{
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES), again(turns), there(places);
	check(decoded(body, single, 1, &turns, &places) == MOCPACK_OK, "one layer decodes");
	check(farthest(places, body.translations) < BOUND, "and the root is where it was");
	check(farthest(turns, body.rotations) < 0.1, "and the joints are turned as they were");
	check(decoded(body, three, 3, &again, &there) == MOCPACK_OK, "three layers decode");
	check(turns == again && places == there, "to the same motion");
	double last = 1e9;
	for (size_t layers = 0; layers < 3; ++layers)
	{
		check(decoded(body, three, layers, &again, &there) == MOCPACK_OK, "fewer layers decode");
		double error = farthest(again, turns);
		check(error > 0 && error < last, "coarser the fewer they are");
		last = error;
	}
}

// An encoder that chooses layers decodes what each would give before it writes them.
void coarse_groups_are_those_of_the_first_layer(const Body& body, const Payload& single, const Payload& three)
{
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES), again(turns), there(places);
	check(decoded(body, three, 1, &turns, &places) == MOCPACK_OK, "one of three layers decodes");
	again = turns, there = places;
	Memory memory(mocpack_keysine_head_memory_size(single.head.data(), single.head.size(), JOINTS, FRAMES));
	mocpack_KeysineHead* head;
	mocpack_keysine_open(single.head.data(), single.head.size(), &body.skeleton, FRAMES, memory.at, &head,
						 nullptr, nullptr);
	mocpack_KeysineLayout layout = mocpack_keysine_layout(head);
	std::vector<int32_t> keys;
	check(keys_at_ends(head, single, 1, &keys) == MOCPACK_OK, "keys are read");
	Memory scratch(mocpack_keysine_coarse_scratch_size(head));
	Bytes shifts = layer_shifts(layout.track_count);
	for (size_t g = 0; g < layout.group_count; ++g)
	{
		size_t frame = mocpack_keysine_key_frame(head, g), next = mocpack_keysine_key_frame(head, g + 1);
		std::fill(again.begin() + long(4 * JOINTS * frame), again.begin() + long(4 * JOINTS * next), 9.0);
		std::fill(there.begin() + long(3 * frame), there.begin() + long(3 * next), 9.0);
		for (bool is_read : {false, true}) // the second time from the symbols of the first
			check(mocpack_keysine_decode_coarse(head, g, keys.data() + g * layout.channel_count,
												single.groups[g].data(), single.groups[g].size(),
												shifts.data(), is_read, again.data() + 4 * JOINTS * frame,
												there.data() + 3 * frame, scratch.at) == MOCPACK_OK,
				  "a group decodes coarsely");
	}
	check(farthest(turns, again) < 1e-12 && farthest(places, there) < 1e-12, "as its first layer does");
}

void some_joints_are_those_of_all(const Body& body, const Payload& single)
{
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES);
	decoded(body, single, 1, &turns, &places);
	Memory memory(mocpack_keysine_head_memory_size(single.head.data(), single.head.size(), JOINTS, FRAMES));
	mocpack_KeysineHead* head;
	mocpack_keysine_open(single.head.data(), single.head.size(), &body.skeleton, FRAMES, memory.at, &head,
						 nullptr, nullptr);
	std::vector<int32_t> keys;
	check(keys_at_ends(head, single, 1, &keys) == MOCPACK_OK, "keys are read");
	Memory scratch(mocpack_keysine_group_scratch_size(head));
	size_t frames = mocpack_keysine_key_frame(head, 1), size = single.groups[0].size();
	const uint8_t* bytes = single.groups[0].data();
	int32_t columns[JOINTS] = {-1, 0, -1, 1}, none[1] = {-1};
	mocpack_KeysineColumns wanted = {columns, none, 2, 0};
	std::vector<double> some(4 * 2 * frames), nothing(1);
	mocpack_keysine_decode_group(head, 0, keys.data(), &bytes, &size, 1, &wanted, some.data(), nothing.data(),
								 scratch.at);
	bool same = true;
	for (size_t t = 0; t < frames; ++t)
		for (size_t a = 0; a < 4; ++a)
			same = same && some[8 * t + a] == turns[4 * (JOINTS * t + 1) + a] &&
				   some[8 * t + 4 + a] == turns[4 * (JOINTS * t + 3) + a];
	check(same, "two joints are those of all");
}

// Flips, overwrites, cuts or lengthens; the checksum is made right again, so that the rest is read.
void spoil(Bytes* part, std::mt19937* random, bool head)
{
	size_t least = head ? 3 : 2;
	for (size_t n = 1 + (*random)() % 4; n > 0; --n)
		(*part)[(*random)() % part->size()] = uint8_t((*random)());
	uint32_t how = (*random)() % 8;
	if (how == 0 && part->size() > least + 1)
		part->resize(least + (*random)() % (part->size() - least));
	if (how == 1)
		part->resize(part->size() + 1 + (*random)() % 9, uint8_t((*random)()));
	if (head && (*random)() % 2)
		(*part)[0] = uint8_t(part->size() < 128 ? part->size() : (*part)[0]);
	part->shrink_to_fit();
	if (head)
		seal_head(part);
	else
		seal(part->data(), part->size());
}

void damaged_bytes_do_no_harm(const Body& body, const Payload& whole, uint32_t seed)
{
	std::mt19937 random(seed);
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES);
	size_t read = 0, refused = 0;
	for (int i = 0; i < 1500; ++i)
	{
		Payload bad = whole;
		uint32_t what = random() % 4;
		if (what == 0)
			spoil(&bad.head, &random, true);
		else if (what == 1)
			spoil(&bad.segments[random() % bad.segments.size()], &random, false);
		else
			spoil(&bad.groups[random() % bad.groups.size()], &random, false);
		mocpack_Status status = decoded(body, bad, random() % (whole.layers + 1), &turns, &places);
		check(status == MOCPACK_OK || status == MOCPACK_CORRUPT || status == MOCPACK_TRUNCATED, "a status");
		++(status == MOCPACK_OK ? read : refused);
	}
	check(read > 100 && refused > 100, "some were read and some refused");
}

void a_head_of_bytes_too_many_is_corrupt(const Body& body, const Payload& whole)
{
	Payload longer = whole;
	check(longer.head[0] < 120, "the size of the head is one byte");
	longer.head[0] = uint8_t(longer.head[0] + 8);
	longer.head.insert(longer.head.end() - 2, 8, 0x55);
	seal_head(&longer.head);
	std::vector<double> turns(4 * JOINTS * FRAMES), places(3 * FRAMES);
	check(decoded(body, longer, 1, &turns, &places) == MOCPACK_CORRUPT, "bytes too many are refused");
}

void noise_is_refused(const Body& body)
{
	std::mt19937 random(7);
	for (int i = 0; i < 1500; ++i)
	{
		Bytes bytes(3 + random() % 60);
		for (uint8_t& byte : bytes)
			byte = uint8_t(random());
		bytes[0] = uint8_t(bytes.size());
		seal_head(&bytes);
		Memory memory(mocpack_keysine_head_memory_size(bytes.data(), bytes.size(), JOINTS, FRAMES));
		mocpack_KeysineHead* head;
		mocpack_keysine_open(bytes.data(), bytes.size(), &body.skeleton, FRAMES, memory.at, &head, nullptr,
							 nullptr);
	}
}

} // namespace

int main()
{
	setvbuf(stdout, nullptr, _IONBF, 0); // unbuffered, because a sanitizer may abort
	Body body;
	Payload single = encoded(&body), three = layered(&body, single);
	motion_comes_back(body, single, three);
	coarse_groups_are_those_of_the_first_layer(body, single, three);
	some_joints_are_those_of_all(body, single);
	damaged_bytes_do_no_harm(body, single, 1);
	damaged_bytes_do_no_harm(body, three, 2);
	a_head_of_bytes_too_many_is_corrupt(body, single);
	noise_is_refused(body);
	for (bool thorough : {false, true})
	{
		Body other;
		other.take_grid(thorough);
		Payload grid = encoded(&other);
		a_grid_comes_back(other, grid);
		some_joints_are_those_of_all(other, grid);
		damaged_bytes_do_no_harm(other, grid, 3 + thorough);
	}
	if (!failures)
		printf("keysine: good\n");
	return failures != 0;
}
