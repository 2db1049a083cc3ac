/* Chooses the shifts of one layer by rate and distortion.
 *
 * Both are measured on groups from the middle of the clip. The rate is the bits of each track at each shift.
 * The distortion is how far the shift of one track alone
 * displaces points. Displacements of tracks add up as vectors, so errors that cancel out are known to. */
#pragma once
#include "keysine/encode/layer_writer.h"
#include "keysine/encode/written_payload.h"

namespace mocpack
{
namespace keysine
{

const size_t SHIFTS = MOCPACK_KEYSINE_MAX_SHIFT + 1;

class ShiftSearch
{
  public:
	// payload: one layer; must outlive this
	ShiftSearch(EncodeTask* task, WrittenPayload* payload) : task_(*task), own_(*payload)
	{
	}

	bool measure(size_t tracks);

	// Returns the bits of the sample without shifts.
	double whole_bits() const;

	/* Finds the shifts (2, tracks) of least mean error that take at most `goal` bits, none above those of the
	 * layer before; null: the first layer. Displacements by shifts of tracks add up. */
	bool best_shifts(double goal, const uint8_t* before, uint8_t* shifts);

  private:
	// Returns the bits of a track by shift. kind: 0 for keys, 1 for coefficients.
	double* rates_of(size_t kind, size_t t)
	{
		return rates_.data() + (kind * tracks_ + t) * SHIFTS;
	}
	// The points that shifts of one track displace: those of the joints from its own to its last descendant.
	struct Reach
	{
		size_t first, count;
		const float* changes; // (shifts, 4, count) what a shift of this track alone adds to displacements
	};
	const float* change_of(size_t i, size_t shift) const
	{
		return reaches_[i].changes + shift * 4 * reaches_[i].count;
	}
	void find_sample();
	bool measure_rates();
	void measure_head();
	bool measure_distortions();
	bool displacements(const uint8_t* shifts, float* rows);
	// Returns the sum of errors of the points that a track displaces, if it has another shift than now.
	double error_with(size_t i, size_t from, size_t to);
	void set_shift(size_t i, size_t to, uint8_t* shifts);
	double cost_of(size_t i, size_t shift, bool first_layer, const uint8_t* shifts) const;
	double descend(double price, const uint8_t* before, uint8_t* shifts);
	bool refine(double* left, bool first_layer, uint8_t* shifts);

	EncodeTask& task_;
	WrittenPayload& own_;
	size_t tracks_ = 0, sample_first_ = 0, sample_count_ = 0;
	size_t stride_ = 1, points_ = 0; // distance between sampled frames; sampled joint positions, by joint
	Buffer<double> rates_;			 // (2, tracks, shifts) bits, of keys and of coefficients
	double head_[SHIFTS][SHIFTS];	 // bits of a first layer's shift after that of the previous track
	Buffer<float> least_;			 // (4, points) displacements without shifts
	Buffer<float> now_;				 // (4, points) displacements with the shifts so far
	Buffer<Reach> reaches_;			 // (2, tracks)
	Buffer<float> changes_;			 // of all reaches
	DecodedMotion decoded_;			 // of the sample, with shifts; used again by each
	Buffer<uint8_t> scratch_;
	Buffer<float> by_frame_; // (4, points)
};

} // namespace keysine
} // namespace mocpack
