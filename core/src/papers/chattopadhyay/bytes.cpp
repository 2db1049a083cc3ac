// Adaptive order-0 byte coder: eight binary decisions in a tree, one tree per class.
#include "papers/chattopadhyay/bytes.h"
#include "common/skeleton.h"
#include "entropy/range_coder.h"

using namespace mocpack;

namespace
{

struct Tree
{
	AdaptiveBit node[256]; // node 1 is the root; the children of n are 2n and 2n + 1
};

template <typename Bit> uint8_t code_byte(Bit&& bit, Tree& tree, uint8_t value)
{
	uint32_t node = 1;
	for (int k = 7; k >= 0; --k)
		node = 2 * node + uint32_t(bit(tree.node[node], value >> k & 1));
	return uint8_t(node);
}

Tree* fresh_trees(void* models, size_t class_count)
{
	Tree* trees = static_cast<Tree*>(models);
	for (size_t c = 0; c < class_count; ++c)
		trees[c] = Tree();
	return trees;
}

} // namespace

size_t mocpack_bytes_models_size(size_t class_count)
{
	return class_count * sizeof(Tree);
}

size_t mocpack_bytes_bound(size_t rows, size_t columns)
{
	return rows * columns * 10 + 8; // a decision costs at most 10 bits
}

size_t mocpack_bytes_encode(uint8_t* dst, size_t dst_size, const uint8_t* values, size_t rows, size_t columns,
							const uint16_t* classes, size_t class_count, void* models)
{
	Tree* trees = fresh_trees(models, class_count);
	RangeEncoder coder(dst, dst_size);
	auto bit = [&coder](AdaptiveBit& model, int value)
	{
		encode_bit(coder, model, value);
		return value;
	};
	for (size_t r = 0; r < rows; ++r)
		for (size_t c = 0; c < columns; ++c)
			code_byte(bit, trees[classes[c]], values[r * columns + c]);
	return coder.finish();
}

mocpack_Status mocpack_bytes_decode(uint8_t* values, size_t rows, size_t columns, const uint16_t* classes,
									size_t class_count, void* models, const uint8_t* src, size_t src_size)
{
	Tree* trees = fresh_trees(models, class_count);
	RangeDecoder coder(src, src_size);
	auto bit = [&coder](AdaptiveBit& model, int) { return decode_bit(coder, model); };
	for (size_t r = 0; r < rows; ++r)
	{
		for (size_t c = 0; c < columns; ++c)
			values[r * columns + c] = code_byte(bit, trees[classes[c]], 0);
		if (coder.exhausted())
			return MOCPACK_TRUNCATED;
	}
	return coder.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}
