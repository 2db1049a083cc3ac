// Chooses how an encoding that has artifacts is repeated.
#include "keysine/encode/retries.h"
#include "math/elementary.h"

#include <algorithm>
#include <cmath>

namespace mocpack
{
namespace keysine
{

bool next_policy(EncodeTask* task, int tried, const Artifacts& artifacts, RetryPolicy* policy)
{
	const Constants& c = task->constants;
	if (artifacts.jitter > 1)
		policy->jitter_ratio *= c.jitter_ratio, policy->level += tried > 1, ++policy->grid_level;
	for (size_t j = 0; j < artifacts.skates.size(); ++j)
	{
		if (artifacts.skates[j] <= 1)
			continue;
		if (!policy->shares.size())
		{
			if (!task->take(&policy->shares, task->skeleton.joint_count))
				return false;
			for (size_t k = 0; k < policy->shares.size(); ++k)
				policy->shares[k] = task->joint_bounds.share(k);
		}
		policy->shares[j] *= math::pow(c.foot_margin, tried) / artifacts.skates[j];
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
