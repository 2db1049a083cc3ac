// The keysine decoder.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"
#include "keysine/format/payload.h"

/* keysine codes key poses, and sine series between them, with static tables (docs/codecs/keysine.md).
 *
 * A payload consists of a head, key segments and groups, and of layers that refine them.
 * mocpack_keysine_open reads the head. Each group can then be decoded separately, given the key poses at
 * its ends. All functions are safe on untrusted bytes. */
struct mocpack_KeysineHead;

/* Reads the head at the start of `src` into `memory` of mocpack_keysine_head_memory_size bytes, aligned
 * as by malloc. `skeleton` must outlive the head. `fault` may be null; it is written if the head is
 * corrupt. The memory size is 0 for an invalid head; mocpack_keysine_open then reports the reason without
 * using memory. `like` is the head of another clip of the same skeleton, or null; its results are copied
 * where they are equal. */
size_t mocpack_keysine_head_memory_size(const uint8_t* src, size_t src_size, size_t joints,
										size_t frame_count);
mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
									size_t frame_count, void* memory, mocpack_KeysineHead** head,
									mocpack_Fault* fault, const mocpack_KeysineHead* like);
mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* head);
mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* head);
size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* head, size_t key);

const int32_t* mocpack_keysine_plan(const mocpack_KeysineHead* head);		// the plan (J, 15)
const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* head); // (predictors, 4)
const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* head); // (tracks); null: no grid

/* decode_segment decodes the first key poses (key_count, channels) of one segment from its part of the
 * first layer; `is_whole`: they are all that it has. refine_segment refines all of them with its part of
 * layer 1, 2 and so on. */
size_t mocpack_keysine_segment_part(const mocpack_KeysineHead* head, size_t layer, size_t segment);
size_t mocpack_keysine_segment_scratch_size(const mocpack_KeysineHead* head);
mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count, int is_whole,
											  const uint8_t* src, size_t size, int32_t* keys, void* scratch);
mocpack_Status mocpack_keysine_refine_segment(const mocpack_KeysineHead* head, size_t layer, size_t key_count,
											  const uint8_t* src, size_t size, int32_t* keys);

// Output column of each joint; -1 if not selected.
struct mocpack_KeysineColumns
{
	const int32_t* rotations;	 // (J)
	const int32_t* translations; // (M)
	size_t rotation_count, translation_count;
};

/* Lists the parts that a group needs with this many layers: its own, or with several layers those of its
 * bundle. Returns their number. */
size_t mocpack_keysine_group_parts(const mocpack_KeysineHead* head, size_t group, size_t layer_count,
								   size_t parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS]);

/* Decodes one group, given the key poses at its ends (2, channels), into rotations (T, J, 4) and
 * translations (T, M, 3). Its frames include the first key pose but not the last. `parts` and `sizes` are
 * the bytes of mocpack_keysine_group_parts. Fewer layers give a coarser motion; without layers, only the
 * key poses are interpolated. `keys` must be decoded with the same layers (without layers, with any) and
 * point into those of the whole segment: with several layers, all groups of the bundle are read. With
 * columns, only selected joints are decoded, into rotations (T, rotation_count, 4) and translations (T,
 * translation_count, 3). */
size_t mocpack_keysine_group_scratch_size(const mocpack_KeysineHead* head);
mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
											const int32_t* keys, const uint8_t* const* parts,
											const size_t* sizes, size_t layer_count,
											const mocpack_KeysineColumns* columns, double* rotations,
											double* translations, void* scratch);

/* Decodes only frames first … stop - 1 of a group, counted from its first key pose. `kept` describes what
 * the scratch holds from an earlier group of the same head: sine tables, and the symbols of a bundle.
 * Initialize it with zeros. */
struct mocpack_KeysineSineCache
{
	int32_t lengths[2], rows[2];
	int32_t halves;
	size_t bundle_end, bundle_layers, bundle_tracks; // the group after the bundle; 0: none
};
mocpack_Status mocpack_keysine_decode_span(const mocpack_KeysineHead* head, size_t group, size_t first,
										   size_t stop, const int32_t* keys, const uint8_t* const* parts,
										   const size_t* sizes, size_t layer_count,
										   const mocpack_KeysineColumns* columns, double* rotations,
										   double* translations, mocpack_KeysineSineCache* kept,
										   void* scratch);

/* Decodes a group of one layer with keys and coefficients coarsened by `shifts` (2, tracks), as in a
 * first layer. is_read: scratch holds the symbols of this group from a call before. scratch:
 * mocpack_keysine_coarse_scratch_size bytes. */
mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
											 const int32_t* keys, const uint8_t* src, size_t size,
											 const uint8_t* shifts, bool is_read, double* rotations,
											 double* translations, void* scratch);
size_t mocpack_keysine_coarse_scratch_size(const mocpack_KeysineHead* head);

/* Decodes one key pose (channels) to rotations (J, 4) and translations (M, 3), or to the selected
 * columns. */
void mocpack_keysine_decode_key(const mocpack_KeysineHead* head, const int32_t* key,
								const mocpack_KeysineColumns* columns, double* rotations,
								double* translations);
