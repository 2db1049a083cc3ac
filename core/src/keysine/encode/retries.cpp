// What is tried against artifacts.
#include "keysine/encode/retries.h"

#include <algorithm>
#include <iterator>

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
		return policy->level < int(std::size(c.bound_shares));
	}
	policy->jitter_level += artifacts.jitter > 1;
	if (policy->jitter_level == int(std::size(c.jitter_factors)))
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
		policy->shares[j] *=
			std::min(std::max(c.foot_margin / artifacts.skates[j], c.max_foot_cut), c.min_foot_cut);
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
