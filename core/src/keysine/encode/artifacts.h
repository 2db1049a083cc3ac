/* Measures artifacts that a motion may have within its bound: jitter, and planted feet that skate.
 * docs/metrics.md defines both; mocpack.metrics measures them in Python. */
#pragma once
#include "keysine/encode/written_payload.h"

namespace mocpack
{
namespace keysine
{

const double JITTER_HERTZ = 30; // frequency above which energy is jitter: docs/metrics.md

// Jitter of a motion and skate of each planted foot, relative to the tolerated amount. Values above 1 are
// visible.
struct Artifacts
{
	double jitter = 0;
	Buffer<double> skates; // (J) 0 for joints that are not feet or are never planted

	double worst() const;
};

// Measures decoded motions against the clip. Measures the clip itself only once.
class ArtifactMeter
{
  public:
	bool measure(EncodeTask* task, const DecodedMotion& decoded, Artifacts* artifacts);

  private:
	bool measure_source(EncodeTask* task);
	bool find_feet(EncodeTask* task);
	bool find_planted(EncodeTask* task);

	bool is_measured_ = false;
	Buffer<double> positions_;	  // (T, J, 3) of the clip
	Buffer<int32_t> feet_;		  // joint indices
	Buffer<uint8_t> planted_;	  // (feet, T) nonzero: the foot is planted
	Buffer<double> source_speed_; // (feet) mean horizontal speed while planted, meters per second
	double source_energy_ = 0;	  // energy above JITTER_HERTZ, square meters
	size_t foot_count_ = 0;
};

} // namespace keysine
} // namespace mocpack
