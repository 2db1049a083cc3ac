// The target of a track in every frame of a block, and how the points that it carries depend on its channels.
#pragma once
#include "keysine/encode/block_state.h"
#include "keysine/encode/extra_bounds.h"

namespace mocpack
{
namespace keysine
{

// What a rotation aims at. PRICED: carried points near their positions, with a price for rotating away from
// the source's own rotation. NEAREST: the same without a price. SOURCE: the source's rotation.
enum class Target
{
	PRICED,
	NEAREST,
	SOURCE
};

class BlockTargets
{
  public:
	BlockTargets(BlockState* state, Arena* arena);

	// Computes the targets of a track in all frames. Returns whether a point or an extra bound is outside
	// even at the target, and marks these frames as strained.
	bool prepare(const Track& track, Target target);

	int32_t points = 0;	  // of the rig, then extra bounds
	double *aims, *ahead; // (channels, stride) targets; predictions from earlier channels
	float *start, *moves; // (points, 3, width) displacements at the target; by a unit of each channel
	float* wanted;		  // (channels, width) coefficients of the target
	double predicted[4][MAX_BLOCK_FRAMES]; // coefficients of the prediction, for the encoder's record

  private:
	// Marks the frames that are strained. first_extra_bound: its index among the points.
	bool find_strains(int32_t first_extra_bound);
	// Clears each row after its last frame.
	void clear_ends(float* rows, int32_t count) const;
	void prepare_position(const Track& track, int32_t t);
	void prepare_rotation(const Track& track, int32_t t, Target target);
	// Does the same for frame t and the next ones, one per lane, of a track that rotates freely.
	void prepare_free_rotations(const Track& track, int32_t t, Target target);
	// Computes the target coefficients of a channel, and the displacements without any coefficients.
	void prepare_channel(const Track& track, int32_t c);
	// Stores the extra bounds after the points of the rig.
	void put_extra_bounds(const Track& track, int32_t t);
	// Stores the points of the rig at a rotation's target.
	template <typename N> void put_points(const Track& track, int32_t t, const TrackTargetOf<N>& aim);
	template <typename N> void put_vector(float* at, Vec3Of<N> v) const;

	BlockState& s_;
	const Encoder& e_;
	ExtraBound* extra_bounds_;
};

// Returns the maximum number of points of a track.
size_t most_points(const Encoder& encoder);

} // namespace keysine
} // namespace mocpack
