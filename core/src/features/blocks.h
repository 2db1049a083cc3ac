// Blocks of rows in memory shared between processes, synchronized without locks.
//
// A block is valid while its mark is not zero. A writer stores the rows, then the mark. To evict a block, it
// clears the mark, then reuses the rows with a new mark. A reader compares the marks before and after
// reading, so no lock is needed. Memory barriers make this correct on every machine.
#pragma once
#include <cstddef>
#include <cstdint>

// Copies the marks of `count` blocks to `seen`. Returns the index of the first invalid block, or `count`.
size_t mocpack_blocks_read_begin(const int64_t* marks, size_t count, int64_t* seen);

// Returns whether the marks are unchanged, so that the rows read in between are valid.
int mocpack_blocks_read_end(const int64_t* marks, size_t count, const int64_t* seen);

// Marks a block as valid, or clears its mark (0) before its rows change.
void mocpack_block_set_mark(int64_t* mark, int64_t value);

// Records when a block was last read. Concurrent readers may overwrite each other.
void mocpack_block_set_used(int64_t* used, int64_t time);
