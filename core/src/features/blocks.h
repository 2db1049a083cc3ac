// Blocks of rows in memory that processes share: who may read them when.
//
// A block is there while its mark is not zero. Who fills it writes the rows, then the mark; who drops it
// takes the mark away, then the rows; a block that comes again has another mark. A reader looks at the marks
// before and after, so that nobody waits for anybody. The order holds on any machine, also those that
// reorder.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	// Copies the marks of `count` blocks to `seen`; returns the first that is not there, `count` if all are.
	size_t mocpack_blocks_read_begin(const int64_t* marks, size_t count, int64_t* seen);

	// Whether the blocks are still those that were seen: what was read since is theirs.
	int mocpack_blocks_read_end(const int64_t* marks, size_t count, const int64_t* seen);

	// Marks a block whose rows are written, or takes the mark (0) off one whose rows may go after this call.
	void mocpack_block_set_mark(int64_t* mark, int64_t value);

	// Notes when a block was read last: any of several readers' times will do.
	void mocpack_block_set_used(int64_t* used, int64_t time);

#ifdef __cplusplus
}
#endif
