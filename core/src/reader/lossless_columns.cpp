// Selects the columns that predict a column of a lossless payload: those of its joint, ancestors and mirror
// image.
#include <cstring>

#include "reader/lossless.h"

namespace mocpack
{

namespace
{

const size_t PREDICTORS = 3, MAX_FEATURES = 64;
// The forecast EXACT of docs/series.md: forgetting factor of each predictor, and how many of its own
// differences it uses
const double FORGETTING[PREDICTORS] = {0.8, 0.95, 0.998};
const uint8_t PERIODS[PREDICTORS] = {1, 1, 1};
const uint8_t OWN[PREDICTORS] = {2, 2, 3};

// A hash table of joint names.
class NameTable
{
  public:
	bool allocate(size_t count, Memory* memory)
	{
		size_ = 16;
		while (size_ < 2 * count)
			size_ *= 2;
		names_ = memory->allocate_array<mocpack_Text>(size_);
		values_ = memory->allocate_array<int32_t>(size_);
		return names_ && values_;
	}

	// Returns -1 if the name is missing.
	int32_t find(const mocpack_Text& name) const
	{
		const size_t at = place_of(name);
		return names_[at].bytes ? values_[at] : -1;
	}

	void add(const mocpack_Text& name, int32_t value)
	{
		const size_t at = place_of(name);
		names_[at] = name, values_[at] = value;
	}

  private:
	size_t size_ = 0;
	mocpack_Text* names_ = nullptr;
	int32_t* values_ = nullptr;

	size_t place_of(const mocpack_Text& name) const
	{
		uint32_t hash = 2166136261u;
		for (size_t i = 0; i < name.size; ++i)
			hash = (hash ^ uint8_t(name.bytes[i])) * 16777619u;
		size_t at = hash & (size_ - 1);
		while (names_[at].bytes &&
			   (names_[at].size != name.size || std::memcmp(names_[at].bytes, name.bytes, name.size)))
			at = (at + 1) & (size_ - 1);
		return at;
	}
};

// Appends the digits of a number.
size_t append_number(char* text, size_t size, size_t number)
{
	char digits[24];
	size_t count = 0;
	do
		digits[count++] = char('0' + number % 10);
	while (number /= 10);
	while (count)
		text[size++] = digits[--count];
	return size;
}

// Makes names unique by adding numbers to empty and repeated ones.
bool unique_names(const mocpack_Text* file_names, size_t count, mocpack_Text* names, NameTable* table,
				  Memory* memory)
{
	NameTable given;
	if (!given.allocate(count, memory) || !table->allocate(count, memory))
		return false;
	for (size_t j = 0; j < count; ++j)
		given.add(file_names[j], 0);
	for (size_t j = 0; j < count; ++j)
	{
		names[j] = file_names[j];
		if (!names[j].size || table->find(names[j]) >= 0)
		{
			char* text = memory->allocate_array<char>(MAX_JOINT_NAME_BYTES + 24);
			if (!text)
				return false;
			const char* stem = names[j].size ? names[j].bytes : "joint";
			size_t size = names[j].size ? names[j].size : 5;
			std::memcpy(text, stem, size);
			if (names[j].size)
				text[size++] = '_';
			for (size_t number = j;; ++number)
			{
				names[j] = {text, append_number(text, size, number)};
				if (given.find(names[j]) < 0 && table->find(names[j]) < 0)
					break;
			}
		}
		table->add(names[j], int32_t(j));
	}
	return true;
}

// A word for one side of the body, and the word for the other side.
struct Side
{
	const char* one;
	size_t size;
	const char* other;
	size_t other_size;
};
const Side SIDES[] = {{"Left", 4, "Right", 5}, {"left", 4, "right", 5}, {"LEFT", 4, "RIGHT", 5},
					  {"L", 1, "R", 1},		   {"l", 1, "r", 1},		{"Right", 5, "Left", 4},
					  {"right", 5, "left", 4}, {"RIGHT", 5, "LEFT", 4}, {"R", 1, "L", 1},
					  {"r", 1, "l", 1}};

// Finds the joint whose name has the other word at this position.
int32_t find_exchanged(const mocpack_Text& name, size_t at, const Side& side, const NameTable& table)
{
	char text[MAX_JOINT_NAME_BYTES + 24 + 8];
	const size_t one = side.size, other = side.other_size, rest = name.size - at - one;
	std::memcpy(text, name.bytes, at);
	std::memcpy(text + at, side.other, other);
	std::memcpy(text + at + other, name.bytes + at + one, rest);
	return table.find({text, at + other + rest});
}

bool contains_at(const mocpack_Text& name, size_t at, const Side& side)
{
	return at + side.size <= name.size && !std::memcmp(name.bytes + at, side.one, side.size);
}

// Finds the joint on the other side: swaps the side word at the start, the end, or anywhere. -1 for none.
int32_t find_mirrored(const mocpack_Text& name, const NameTable& table)
{
	for (const Side& side : SIDES)
	{
		const size_t size = side.size;
		int32_t found = contains_at(name, 0, side) ? find_exchanged(name, 0, side, table) : -1;
		if (found < 0 && name.size >= size && contains_at(name, name.size - size, side))
			found = find_exchanged(name, name.size - size, side, table);
		for (size_t at = 0; found < 0 && size > 1 && at + size <= name.size; ++at)
			if (contains_at(name, at, side))
			{
				found = find_exchanged(name, at, side, table);
				break;
			}
		if (found >= 0)
			return found;
	}
	return -1;
}

// The joints of columns, to be filled in.
struct Owners
{
	int32_t* joints;
	uint8_t* is_places;

	Owners(size_t count, LosslessColumns* columns, Memory* memory)
		: joints(memory->allocate_array<int32_t>(uint64_t(count) + 1)),
		  is_places(memory->allocate_array<uint8_t>(uint64_t(count) + 1))
	{
		*columns = {count, joints, is_places};
	}

	bool good() const
	{
		return joints && is_places;
	}
};

// Inputs of a predictor: columns, and lags in rows.
struct Features
{
	size_t count = 0;
	int32_t columns[MAX_FEATURES];
	uint8_t lags[MAX_FEATURES];

	void add(int32_t column, uint8_t lag)
	{
		if (count < MAX_FEATURES)
			columns[count] = column, lags[count++] = lag;
	}
};

// Columns in groups: the rotation and the translation of each joint. The group index is 2 · joint, plus 1 for
// a translation.
struct Relations
{
	const int32_t *owners, *next; // (chosen) group of each column, and the next column of the group
	const int32_t* first;		  // (groups) first column, -1 for none
	const int32_t* above;		  // (joints) nearest ancestor whose rotation has columns
	const int32_t* mirrored;	  // (joints)

	int32_t parent(int32_t group) const
	{
		const int32_t joint = group / 2;
		if (above[joint] >= 0)
			return 2 * above[joint];
		return group == 0 && first[1] >= 0 ? 1 : -1;
	}

	int32_t mirror(int32_t group) const
	{
		const int32_t other = mirrored[group / 2] < 0 ? -1 : 2 * mirrored[group / 2] + group % 2;
		return other >= 0 && first[other] >= 0 ? other : -1;
	}

	// Adds the inputs from one group for a predictor of a column.
	void add(int32_t group, int32_t column, Features* found) const
	{
		for (int32_t c = group < 0 ? -1 : first[group]; c >= 0; c = next[c])
			for (uint8_t lag = c < column ? 0 : 1; c != column && lag < 2; ++lag)
				found->add(c, lag);
	}

	// Returns the inputs of a predictor of a column.
	Features features(int32_t column, size_t predictor) const
	{
		const int32_t group = owners[column], above_it = parent(group);
		Features found;
		for (uint8_t lag = 1; lag <= OWN[predictor]; ++lag)
			found.add(column, lag);
		add(group, column, &found);
		if (predictor >= 1)
			add(above_it, column, &found);
		if (predictor >= 2)
		{
			add(above_it < 0 ? -1 : parent(above_it), column, &found);
			add(mirror(group), column, &found);
		}
		return found;
	}
};

bool channel_columns(const mocpack_Motion& m, LosslessColumns* columns, Memory* memory)
{
	const Owners owners(m.channel_count, columns, memory);
	if (!owners.good())
		return false;
	size_t at = 0;
	for (size_t j = 0; j < m.info.joint_count; ++j)
	{
		const ChannelLayout& layout = m.layouts[m.layout_of[j]];
		for (size_t i = 0; i < layout.count; ++i, ++at)
		{
			owners.joints[at] = int32_t(j + m.origins);
			owners.is_places[at] = layout.codes[i] < RotationChannels::FIRST;
		}
	}
	return true;
}

} // namespace

bool motion_columns(const mocpack_Skeleton& tree, LosslessColumns* columns, Memory* memory)
{
	const size_t turns = 4 * tree.joint_count;
	const Owners owners(turns + 3 * tree.translated_count, columns, memory);
	if (!owners.good())
		return false;
	for (size_t c = 0; c < columns->count; ++c)
	{
		owners.is_places[c] = c >= turns;
		owners.joints[c] = c < turns ? int32_t(c / 4) : tree.translated_joints[(c - turns) / 3];
	}
	return true;
}

bool mirror_joints(const mocpack_Text* names, size_t count, int32_t* mirrored, Memory* memory)
{
	mocpack_Text* unique = memory->allocate_array<mocpack_Text>(uint64_t(count) + 1);
	NameTable table;
	if (!unique || !unique_names(names, count, unique, &table, memory))
		return false;
	for (size_t j = 0; j < count; ++j)
		mirrored[j] = find_mirrored(unique[j], table);
	return true;
}

bool lossless_shape(const mocpack_Motion& m, LosslessShape* shape, Memory* memory)
{
	const size_t joints = m.tree.joint_count, origins = m.origins;
	int32_t* mirrored = memory->allocate_array<int32_t>(uint64_t(joints) + 1);
	*shape = {m.info.frame_count, joints, m.tree.parents, mirrored, {}, {}, false};
	if (!mirrored || !mirror_joints(m.info.names, m.info.joint_count, mirrored + origins, memory) ||
		!channel_columns(m, &shape->channels, memory) || !motion_columns(m.tree, &shape->motion, memory))
		return false;
	for (size_t j = 0; j < joints; ++j)
		mirrored[j] = j < origins || mirrored[j] < 0 ? -1 : mirrored[j] + int32_t(origins);
	return true;
}

void scale_channels(const mocpack_Motion& m, const double* row, double degree, double* out)
{
	for (size_t j = 0; j < m.info.joint_count; ++j)
	{
		const ChannelLayout& layout = m.layouts[m.layout_of[j]];
		for (size_t i = 0; i < layout.count; ++i)
			*out++ = *row++ * (layout.codes[i] < RotationChannels::FIRST ? m.info.unit : degree);
	}
}

bool group_columns(const LosslessShape& shape, const LosslessColumns& columns, const int32_t* chosen,
				   size_t chosen_count, SeriesGroups* groups, Memory* memory)
{
	const size_t joints = shape.joint_count, group_count = 2 * joints;
	int32_t* owners = memory->allocate_array<int32_t>(uint64_t(chosen_count) + 1);
	int32_t* next = memory->allocate_array<int32_t>(uint64_t(chosen_count) + 1);
	int32_t* first = memory->allocate_array<int32_t>(uint64_t(group_count) + 1);
	int32_t* last = memory->allocate_array<int32_t>(uint64_t(group_count) + 1);
	int32_t* above = memory->allocate_array<int32_t>(uint64_t(joints) + 1);
	uint32_t* starts = memory->allocate_array<uint32_t>(uint64_t(chosen_count) * PREDICTORS + 1);
	if (!owners || !next || !first || !last || !above || !starts)
		return false;
	for (size_t g = 0; g < group_count; ++g)
		first[g] = last[g] = -1;
	for (size_t k = 0; k < chosen_count; ++k)
	{
		const int32_t group = 2 * columns.joints[chosen[k]] + columns.is_places[chosen[k]];
		owners[k] = group, next[k] = -1;
		(last[group] < 0 ? first[group] : next[last[group]]) = int32_t(k);
		last[group] = int32_t(k);
	}
	for (size_t j = 0; j < joints; ++j)
	{
		const int32_t parent = shape.parents[j];
		above[j] = parent < 0 ? -1 : first[2 * parent] >= 0 ? parent : above[parent];
	}
	const Relations relations = {owners, next, first, above, shape.mirrored};
	const size_t predictors = chosen_count * PREDICTORS;
	uint64_t at = 0;
	for (size_t i = 0; i < predictors; ++i)
	{
		starts[i] = uint32_t(at);
		at += relations.features(int32_t(i / PREDICTORS), i % PREDICTORS).count;
	}
	if (at > UINT32_MAX)
		return false;
	starts[predictors] = uint32_t(at);
	int32_t* feature_columns = memory->allocate_array<int32_t>(at + 1);
	uint8_t* lags = memory->allocate_array<uint8_t>(at + 1);
	for (size_t i = 0; feature_columns && lags && i < predictors; ++i)
	{
		const Features found = relations.features(int32_t(i / PREDICTORS), i % PREDICTORS);
		std::memcpy(feature_columns + starts[i], found.columns, found.count * sizeof *found.columns);
		std::memcpy(lags + starts[i], found.lags, found.count);
	}
	groups->model = {chosen_count, PREDICTORS, FORGETTING, PERIODS,			0,	  1.0,	  0.93,
					 100.0,		   1,		   starts,	   feature_columns, lags, nullptr};
	return feature_columns && lags;
}

} // namespace mocpack
