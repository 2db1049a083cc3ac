// What the parts of the `keysine` encoder share: the clip, its plan and rig, and the settings.
#pragma once
#include "keysine/encode/aim.h"
#include "keysine/encode/search.h"
#include "mocpack/core.h"

struct mocpack_KeysineEncoder
{
	mocpack_KeysineJob job;
	mocpack::keysine::Cut cut;
	mocpack::keysine::Plan plan;
	mocpack::keysine::Rig rig;
	double* inverse_axes; // (tracks, 9)
	double steps[mocpack::keysine::STEPS];
};

namespace mocpack
{
namespace keysine
{

// Writes the checksum of a body that stands two bytes after `dst`; returns the size of both, 0 if it is
// empty.
size_t sealed(uint8_t* dst, size_t body_size);

void lay_out_scene(Scene* scene, Arena* arena, size_t joints, int32_t count);

// Whether track t is the joint's translation, and whether it is its rotation.
inline bool moves(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind == POSITION_TRACK;
}
inline bool turns(const Plan& plan, size_t t, int32_t joint)
{
	return t < plan.track_count && plan.tracks[t].joint == joint && plan.tracks[t].kind != POSITION_TRACK;
}

// The grid in time in place of the sine series: keysine/encode/grid_search.cpp.
size_t grid_scratch(const mocpack_KeysineEncoder* encoder);
size_t encode_grid(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys, uint8_t* dst,
				   size_t dst_size, void* scratch);

// Fills the source's side of the scene with the frames `frames[t]`.
void fill_scene(Scene* scene, const mocpack_KeysineJob& job, const size_t* frames);

// Sets the decoded place of what does not move by itself, before its rotation is coded; in one frame, or all.
void place_still(const Plan& plan, const Scene& scene, int32_t joint, int32_t t);
void place_still(const Plan& plan, const Scene& scene, int32_t joint);

// Sets the decoded rotation of a joint that does not turn.
void turn_still(const Plan& plan, const Scene& scene, int32_t joint, int32_t t);
void turn_still(const Plan& plan, const Scene& scene, int32_t joint);

// Largest squared displacement over allowance among the points that a joint carries in a frame.
double worst_point(const Rig& rig, const Scene& scene, int32_t joint, int32_t t);

// The same of a joint's own origin.
double origin_excess(const Rig& rig, const Scene& scene, int32_t joint, int32_t t);

} // namespace keysine
} // namespace mocpack
