// Bindings of inverse kinematics of limbs.
#include <algorithm>
#include <memory>
#include <vector>

#include "papers/beaudoin/limb_ik.h"
#include "skeleton.h"

namespace
{

using Table = Array<int32_t, nb::ndim<2>>;

// Copies rotations for the solver to modify.
NewArray<double, 3> copied(const Rotations& rotations)
{
	auto out = new_array<double, 3>({rotations.shape(0), rotations.shape(1), 4});
	std::copy(rotations.data(), rotations.data() + rotations.size(), out.data());
	return out;
}

void check_joint(const Skeleton& skeleton, int32_t joint)
{
	if (joint < 0 || size_t(joint) >= skeleton.view.joint_count)
		throw nb::value_error("a joint index of the limb is outside the skeleton");
}

// Returns the joints that the solver updates: from each end up to its highest rotating ancestor.
std::vector<int32_t> tracked(const Skeleton& skeleton, const std::vector<mocpack_IkTurn>& turns,
							 const Indices& ends)
{
	std::vector<int32_t> joints;
	for (size_t k = 0; k < ends.size(); ++k)
	{
		std::vector<int32_t> path;
		size_t used = 0;
		for (int32_t joint = ends.data()[k]; joint >= 0; joint = skeleton.parents.data()[joint])
		{
			path.push_back(joint);
			for (const mocpack_IkTurn& turn : turns)
				used = turn.joint == joint ? path.size() : used;
		}
		joints.insert(joints.end(), path.begin(), path.begin() + std::ptrdiff_t(used));
		joints.push_back(ends.data()[k]);
	}
	std::sort(joints.begin(), joints.end());
	joints.erase(std::unique(joints.begin(), joints.end()), joints.end());
	return joints;
}

void check_shifts(const Rotations& rotations, const Translations& shifts, size_t ends)
{
	if (shifts.shape(0) != rotations.shape(0) || shifts.shape(1) != ends)
		throw nb::value_error(
			"shifts must have shape (T, E, 3), for the frames of the motion and the number of ends");
}

// turns (N, 2): joint and kind of each; axes (N, 3).
NewArray<double, 3> ik_ccd(const Skeleton& skeleton, Table turns, Points axes, Indices ends,
						   Translations shifts, Rotations rotations, Translations translations)
{
	skeleton.check_motion(rotations, translations);
	check_shifts(rotations, shifts, ends.size());
	if (turns.shape(1) != 2 || axes.shape(0) != turns.shape(0))
		throw nb::value_error("turns must have shape (N, 2) and axes (N, 3)");
	std::vector<mocpack_IkTurn> list(turns.shape(0));
	for (size_t k = 0; k < list.size(); ++k)
	{
		const double* axis = axes.data() + 3 * k;
		list[k] = {turns.data()[2 * k], turns.data()[2 * k + 1], {axis[0], axis[1], axis[2]}};
		check_joint(skeleton, list[k].joint);
	}
	for (size_t k = 0; k < ends.size(); ++k)
		check_joint(skeleton, ends.data()[k]);
	std::vector<int32_t> joints = tracked(skeleton, list, ends);
	auto out = copied(rotations);
	nb::gil_scoped_release release;
	std::unique_ptr<double[]> scratch(
		new double[mocpack_ik_scratch_size(skeleton.view.joint_count, ends.size())]);
	mocpack_ik_ccd(&skeleton.view, list.data(), list.size(), joints.data(), joints.size(), ends.data(),
				   ends.size(), shifts.data(), translations.data(), rotations.shape(0), scratch.get(),
				   out.data());
	return out;
}

// limbs (N, 3): start, middle and end of each; axes (N, 3) of the middle joint.
NewArray<double, 3> ik_two_bone(const Skeleton& skeleton, Table limbs, Points axes, Translations shifts,
								Rotations rotations, Translations translations)
{
	skeleton.check_motion(rotations, translations);
	check_shifts(rotations, shifts, limbs.shape(0));
	if (limbs.shape(1) != 3 || axes.shape(0) != limbs.shape(0))
		throw nb::value_error("limbs must have shape (N, 3) and axes (N, 3)");
	std::vector<mocpack_IkLimb> list(limbs.shape(0));
	for (size_t k = 0; k < list.size(); ++k)
	{
		const int32_t* limb = limbs.data() + 3 * k;
		const double* axis = axes.data() + 3 * k;
		for (int i = 0; i < 3; ++i)
			check_joint(skeleton, limb[i]);
		list[k] = {limb[0], limb[1], limb[2], {axis[0], axis[1], axis[2]}};
	}
	auto out = copied(rotations);
	nb::gil_scoped_release release;
	std::unique_ptr<double[]> scratch(
		new double[mocpack_ik_scratch_size(skeleton.view.joint_count, list.size())]);
	mocpack_ik_two_bone(&skeleton.view, list.data(), list.size(), shifts.data(), translations.data(),
						rotations.shape(0), scratch.get(), out.data());
	return out;
}

} // namespace

void register_limb_ik(nb::module_& m)
{
	m.def("ik_ccd", &ik_ccd, "skeleton"_a, "turns"_a, "axes"_a, "ends"_a, "shifts"_a, "rotations"_a,
		  "translations"_a);
	m.def("ik_two_bone", &ik_two_bone, "skeleton"_a, "limbs"_a, "axes"_a, "shifts"_a, "rotations"_a,
		  "translations"_a);
}
