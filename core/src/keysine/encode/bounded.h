// Encodings within a bound, without artifacts where that is possible.
#pragma once
#include "keysine/encode/retries.h"
#include "keysine/encode/settings.h"

namespace mocpack
{
namespace keysine
{

// A payload and what the decoder makes of it.
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
	// Size, and more where artifacts are seen.
	double cost() const;
};

class BoundedEncoder
{
  public:
	BoundedEncoder(EncodeTask* task, ClipStatistics* statistics, ArtifactMeter* meter, bool retries)
		: task_(*task), c_(task->constants), statistics_(*statistics), meter_(*meter), retries_(retries)
	{
	}

	// The smallest of all modes that are to be tried; not found where none keeps the bound. False where the
	// task is stopped.
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

// Writes a draft and decodes the very bytes.
bool write_and_decode(EncodeTask* task, const Draft& draft, Encoding* encoding);

// Makes a draft; where blocks of one length are tried, with no more keys than these have, unless that fails.
bool make_draft_of_few_keys(EncodeTask* task, DraftRequest request, Draft* draft,
							Observation* seen = nullptr);

// Settings that split groups as the target says, or as usual first, and the groups.
bool cut_for(EncodeTask* task, const Motion& motion, double size, mocpack_KeysineSettings* settings,
			 Groups* groups);

// The predictors of a quickly encoded sample. settings: of the fast effort; size: the bound or step.
bool find_predictors(EncodeTask* task, const ClipPlan& plan, mocpack_KeysineSettings settings, double size,
					 Predictors* predictors);

} // namespace keysine
} // namespace mocpack
