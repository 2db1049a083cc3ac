// Bindings of signals: their rotations, and the effect of changing a signal on the position error.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "papers/beaudoin/pose_error.h"
#include "papers/beaudoin/signals.h"
#include "parallel.h"
#include "skeleton.h"

namespace
{

using Matrix = Array<double, nb::ndim<2>>;

// Owns the arrays a mocpack_Signals points to.
struct Signals
{
	Indices first;
	Indices kinds;
	Array<double, nb::shape<-1, 4>> axes;
	mocpack_Signals view;

	Signals(Indices first_, Indices kinds_, Array<double, nb::shape<-1, 4>> axes_)
		: first(first_), kinds(kinds_), axes(axes_)
	{
		view = {first.data(), kinds.data(), axes.shape(0) ? axes.data() : nullptr};
		check();
	}

	// The kernel does not check the layout, so it is checked here.
	void check() const
	{
		size_t joints = first.size() ? first.size() - 1 : 0, count = kinds.size();
		bool good = joints > 0 && first.data()[0] == 0 && size_t(first.data()[joints]) == count &&
					(!axes.shape(0) || axes.shape(0) == joints);
		for (size_t j = 0; good && j < joints; ++j)
			good = first.data()[j] <= first.data()[j + 1] && joint_good(first.data()[j], first.data()[j + 1]);
		if (!good)
			throw nb::value_error(
				"signals must be sorted by joint, positions before rotations, with complete rotations");
	}

	bool joint_good(int32_t s, int32_t end) const
	{
		const int32_t* kind = kinds.data();
		while (s < end && kind[s] >= MOCPACK_SIGNAL_PLACE_X && kind[s] <= MOCPACK_SIGNAL_PLACE_Z)
			++s;
		int32_t size = end - s;
		bool angles = true, alike = true;
		for (int32_t k = s; k < end; ++k)
		{
			angles = angles && kind[k] >= MOCPACK_SIGNAL_ANGLE_X && kind[k] <= MOCPACK_SIGNAL_ANGLE_Z;
			alike = alike && kind[k] == kind[s];
		}
		return angles || (alike && ((kind[s] == MOCPACK_SIGNAL_QUATERNION && size == 4) ||
									(kind[s] == MOCPACK_SIGNAL_ROTVEC && size == 3)));
	}
};

struct Motion
{
	const mocpack_Skeleton& skeleton;
	const mocpack_Signals& signals;
	const double *values, *phases, *steps, *targets, *weights;
	size_t frames, count;
};

// Processes frames in fixed-size pieces on all cores. Sums are added in piece order, so the result does not
// depend on the number of threads.
double changes_by_threads(const Motion& motion, double* changes)
{
	const size_t piece = 256;
	size_t pieces = (motion.frames + piece - 1) / piece, count = motion.count;
	size_t points = motion.skeleton.joint_count + motion.skeleton.end_count;
	size_t scratch_size = mocpack_pose_error_scratch_size(motion.skeleton.joint_count, count);
	std::vector<double> errors(pieces), found(pieces * count);
	in_threads(pieces, 0,
			   [&](auto take)
			   {
				   std::vector<double> scratch(scratch_size);
				   for (size_t k = take(); k < pieces; k = take())
				   {
					   size_t t = k * piece, frames = std::min(piece, motion.frames - t);
					   errors[k] = mocpack_pose_error_changes(
						   &motion.skeleton, &motion.signals, motion.values + t * count,
						   motion.phases + 2 * t * count, motion.steps + t * count,
						   motion.targets + 3 * t * points, motion.weights, frames, scratch.data(),
						   found.data() + k * count);
				   }
			   });
	std::fill(changes, changes + count, 0.0);
	for (size_t k = 0; k < pieces; ++k)
		for (size_t s = 0; s < count; ++s)
			changes[s] += found[k * count + s];
	return std::accumulate(errors.begin(), errors.end(), 0.0);
}

// Returns (sum of weighted squared distances, its increase by the steps of each signal).
std::tuple<double, NewArray<double, 1>> pose_error_changes(const Skeleton& skeleton, const Signals& signals,
														   Matrix values,
														   Array<double, nb::shape<-1, -1, 2>> phases,
														   Matrix steps, Translations targets,
														   Array<double, nb::ndim<1>> weights)
{
	size_t frames = values.shape(0), count = signals.kinds.size(), joints = skeleton.view.joint_count;
	size_t points = joints + skeleton.view.end_count;
	if (signals.first.size() != joints + 1 || values.shape(1) != count || phases.shape(0) != frames ||
		phases.shape(1) != count || steps.shape(0) != frames || steps.shape(1) != count ||
		targets.shape(0) != frames || targets.shape(1) != points || weights.size() != points)
		throw nb::value_error(
			"shapes of values, phases, steps, targets and weights do not match the skeleton");
	auto changes = new_array<double, 1>({count});
	double error;
	{
		nb::gil_scoped_release release;
		Motion motion = {skeleton.view,	 signals.view,	 values.data(), phases.data(), steps.data(),
						 targets.data(), weights.data(), frames,		count};
		error = changes_by_threads(motion, changes.data());
	}
	return {error, changes};
}

NewArray<double, 3> signal_rotations(const Signals& signals, Matrix values)
{
	size_t frames = values.shape(0), joints = signals.first.size() - 1;
	if (values.shape(1) != signals.kinds.size())
		throw nb::value_error("values must have shape (T, S), one column per signal");
	auto local = new_array<double, 3>({frames, joints, 4});
	nb::gil_scoped_release release;
	mocpack_signal_rotations(&signals.view, joints, values.data(), frames, local.data());
	return local;
}

} // namespace

void register_signals(nb::module_& m)
{
	nb::class_<Signals>(m, "Signals")
		.def(nb::init<Indices, Indices, Array<double, nb::shape<-1, 4>>>(), "first"_a, "kinds"_a, "axes"_a);
	m.def("signal_rotations", &signal_rotations, "signals"_a, "values"_a);
	m.def("pose_error_changes", &pose_error_changes, "skeleton"_a, "signals"_a, "values"_a, "phases"_a,
		  "steps"_a, "targets"_a, "weights"_a);
}
