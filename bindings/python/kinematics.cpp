// Bindings of kinematics and clip errors.
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "math/clip_errors.h"
#include "math/hinge_angles.h"
#include "math/kinematics.h"
#include "math/quaternions.h"
#include "skeleton.h"

namespace
{

std::tuple<NewArray<double, 3>, NewArray<double, 3>>
forward_kinematics(const Skeleton& skeleton, Rotations rotations, Translations translations)
{
	skeleton.check_motion(rotations, translations);
	size_t frames = rotations.shape(0), joints = rotations.shape(1);
	auto positions = new_array<double, 3>({frames, joints, 3});
	auto world = new_array<double, 3>({frames, joints, 4});
	{
		nb::gil_scoped_release release;
		mocpack_forward_kinematics(&skeleton.view, rotations.data(), translations.data(), frames,
								   positions.data(), world.data());
	}
	return {positions, world};
}

NewArray<double, 2> hinge_angles(const Skeleton& skeleton, Rotations rotations, Translations translations)
{
	skeleton.check_motion(rotations, translations);
	size_t frames = rotations.shape(0);
	auto angles = new_array<double, 2>({frames, skeleton.view.hinge_count});
	nb::gil_scoped_release release;
	mocpack_compute_hinge_angles(&skeleton.view, rotations.data(), translations.data(), frames,
								 angles.data());
	return angles;
}

// ((promised_max, joint_max, joint_mean, joint_rms, worst_frame, worst_joint), maxima by frame (T), by joint
// (J), distances (T, J))
using Found = std::tuple<double, double, double, double, int64_t, int64_t>;

std::tuple<Found, NewArray<double, 1>, NewArray<double, 1>, NewArray<double, 2>>
clip_errors(const Skeleton& skeleton, Rotations rotations_a, Translations translations_a,
			Rotations rotations_b, Translations translations_b, double shell)
{
	skeleton.check_motion(rotations_a, translations_a);
	skeleton.check_motion(rotations_b, translations_b);
	if (rotations_a.shape(0) != rotations_b.shape(0))
		throw nb::value_error("both motions must have the same number of frames");
	size_t frames = rotations_a.shape(0), joints = rotations_a.shape(1);
	auto frame_max = new_array<double, 1>({frames});
	auto joint_max = new_array<double, 1>({joints});
	auto distances = new_array<double, 2>({frames, joints});
	mocpack_ClipErrors errors;
	{
		nb::gil_scoped_release release;
		auto scratch = std::make_unique<unsigned char[]>(mocpack_clip_errors_scratch_size(joints));
		mocpack_clip_errors(&skeleton.view, rotations_a.data(), translations_a.data(), rotations_b.data(),
							translations_b.data(), frames, shell, scratch.get(), &errors, frame_max.data(),
							nullptr, joint_max.data(), distances.data());
	}
	Found found(errors.promised_max, errors.joint_max, errors.joint_mean, errors.joint_rms,
				errors.worst_frame, errors.worst_joint);
	return {found, frame_max, joint_max, distances};
}

int64_t normalize_rotations(MutableArray<double, nb::shape<-1, -1, 4>> rotations, double tolerance)
{
	nb::gil_scoped_release release;
	return mocpack_normalize_rotations(rotations.data(), rotations.shape(0), rotations.shape(1), tolerance);
}

bool are_rotations_normalized(Rotations rotations)
{
	nb::gil_scoped_release release;
	return mocpack_are_rotations_normalized(rotations.data(), rotations.shape(0), rotations.shape(1)) != 0;
}

} // namespace

void register_kinematics(nb::module_& m)
{
	nb::class_<Skeleton>(m, "Skeleton")
		.def(nb::init<Indices, Points, Indices, Points, Indices, Quats, Indices, Flags, Points, Limits>(),
			 "parents"_a, "offsets"_a, "end_joints"_a, "end_sites"_a, "translated_joints"_a, "rest"_a,
			 "hinge_joints"_a, "hinge_slides"_a, "hinge_axes"_a, "hinge_limits"_a);
	m.def("forward_kinematics", &forward_kinematics, "skeleton"_a, "rotations"_a, "translations"_a);
	m.def("hinge_angles", &hinge_angles, "skeleton"_a, "rotations"_a, "translations"_a);
	m.def("clip_errors", &clip_errors, "skeleton"_a, "rotations_a"_a, "translations_a"_a, "rotations_b"_a,
		  "translations_b"_a, "shell"_a);
	m.def("normalize_rotations", &normalize_rotations, "rotations"_a, "tolerance"_a);
	m.def("are_rotations_normalized", &are_rotations_normalized, "rotations"_a);
}
