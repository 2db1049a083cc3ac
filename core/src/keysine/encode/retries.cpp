// What is tried against artifacts.
#include "keysine/encode/retries.h"

#include <algorithm>

namespace mocpack
{
namespace keysine
{

bool next_policy(EncodeTask* task, bool by_cause, const Artifacts& artifacts, RetryPolicy* policy)
{
	const Constants& c = task->constants;
	if (!by_cause)
	{
		++policy->level, ++policy->jitter_level;
		return policy->level < int(c.max_retries);
	}
	policy->jitter_level += artifacts.jitter > 1;
	if (policy->jitter_level == int(c.jitter_levels))
		return false;
	for (size_t j = 0; j < artifacts.skates.size(); ++j)
	{
		if (artifacts.skates[j] <= 1)
			continue;
		if (!policy->shares.size())
		{
			if (!task->take(&policy->shares, task->skeleton.joint_count))
				return false;
			std::fill(policy->shares.data(), policy->shares.data() + policy->shares.size(), 1.0);
		}
		policy->shares[j] *= c.foot_margin / artifacts.skates[j];
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
