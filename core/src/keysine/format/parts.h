// The order of the parts of a `keysine` payload.
#pragma once
#include <cstddef>
#include <cstdint>

#include "keysine/format/payload.h"

namespace mocpack
{
namespace keysine
{

const size_t BUNDLE_GROUPS = MOCPACK_KEYSINE_BUNDLE_GROUPS;

/* The first layer has the segments, then the groups. Every later layer has, segment by segment, a refinement
 * of the keys, then one of each bundle: up to four neighboring groups of the segment. A streamed payload has
 * one layer, in which each segment precedes its groups. */
struct PartOrder
{
	size_t groups, groups_per_segment, segments, layers;
	bool streamed = false;

	uint64_t count() const
	{
		return segments + uint64_t(groups) + (layers - 1) * refinement_count();
	}

	size_t segment(size_t layer, size_t s) const
	{
		if (streamed)
			return s * (groups_per_segment + 1);
		return layer ? start(layer) + s * stride() : s;
	}

	size_t group(size_t layer, size_t g) const
	{
		if (streamed)
			return g + g / groups_per_segment + 1;
		if (!layer)
			return segments + g;
		return segment(layer, g / groups_per_segment) + 1 + g % groups_per_segment / BUNDLE_GROUPS;
	}

	// Returns the first part of a layer.
	size_t start(size_t layer) const
	{
		return layer ? segments + groups + (layer - 1) * size_t(refinement_count()) : 0;
	}

	size_t first_of_bundle(size_t g) const
	{
		return g - g % groups_per_segment % BUNDLE_GROUPS;
	}

	// Returns the group after the bundle of group g.
	size_t end_of_bundle(size_t g) const
	{
		const uint64_t in_segment = g % groups_per_segment / BUNDLE_GROUPS * BUNDLE_GROUPS + BUNDLE_GROUPS;
		const uint64_t within = in_segment < groups_per_segment ? in_segment : groups_per_segment;
		const uint64_t end = uint64_t(g / groups_per_segment) * groups_per_segment + within;
		return end < groups ? size_t(end) : groups;
	}

  private:
	static size_t bundles(size_t groups)
	{
		return groups / BUNDLE_GROUPS + (groups % BUNDLE_GROUPS != 0);
	}
	// Parts of one segment in a later layer.
	size_t stride() const
	{
		return 1 + bundles(groups_per_segment);
	}
	uint64_t refinement_count() const
	{
		const size_t before = segments - 1;
		return uint64_t(before) * stride() + 1 + bundles(groups - before * groups_per_segment);
	}
};

} // namespace keysine
} // namespace mocpack
