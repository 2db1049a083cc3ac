// Encodes within a bound, without visible artifacts if possible.
#pragma once
#include "keysine/encode/retries.h"
#include "keysine/encode/settings.h"

namespace mocpack
{
namespace keysine
{

// A payload, its decoded motion and its artifacts.
struct Encoding
{
	Buffer<uint8_t> payload;
	DecodedMotion decoded;
	Artifacts artifacts;
	bool is_grid = false;
	bool transform_failed = false; // the usual settings of the transform did not reach the bound

	bool found() const
	{
		return payload.size() > 0;
	}
	// Returns the size in bytes, increased if artifacts are visible.
	double cost() const;
};

class BoundedEncoder
{
  public:
	BoundedEncoder(EncodeTask* task, ClipStatistics* statistics, ArtifactMeter* meter, bool retries)
		: task_(*task), c_(task->constants), statistics_(*statistics), meter_(*meter), retries_(retries)
	{
	}

	// Finds the smallest encoding of the modes to try; none is found if no mode keeps the bound. Returns
	// false if the task is stopped.
	bool run(Encoding* best);

  private:
	enum Method
	{
		TRANSFORM,
		GRID,
	};

	bool fits_grid() const;
	void encode_transform(const Predictors* predictors, Strictness strictness, int levels,
						  Encoding* encoding);
	void encode_strictly(bool grid_failed, Encoding* best);
	void encode_first(Method method, int levels, Encoding* encoding);
	void remove_artifacts(Encoding* best);
	bool attempt(Method method, const RetryPolicy& policy, Encoding* encoding);
	const double* shares_of(const RetryPolicy& policy) const;
	bool draft_transform(const RetryPolicy& policy, Draft* draft);
	bool draft_grid(const RetryPolicy& policy, Draft* draft);

	EncodeTask& task_;
	const Constants& c_;
	ClipStatistics& statistics_;
	ArtifactMeter& meter_;
	bool retries_;
	const Predictors* predictors_ = nullptr;
	Strictness strictness_ = USUAL_STRICTNESS;
};

// Writes a draft and decodes its payload.
bool write_and_decode(EncodeTask* task, const Draft& draft, Encoding* encoding);

// Makes a draft. If only one block length is tried, uses only the keys of these blocks at first, and all keys
// if that fails.
bool make_draft_of_few_keys(EncodeTask* task, DraftRequest request, Draft* draft,
							Observation* seen = nullptr);

// Cuts a motion into groups, and sets how often they are split: by the target's block length, or by the usual
// one. size: the bound or step, meters.
bool cut_for(EncodeTask* task, const Motion& motion, double size, SearchSettings* settings, Groups* groups);

// Chooses predictors from a quickly encoded sample. settings: those of the fast effort; size: the bound or
// step, meters.
bool find_predictors(EncodeTask* task, const ClipPlan& plan, SearchSettings settings, double size,
					 Predictors* predictors);

} // namespace keysine
} // namespace mocpack
