// keysine's encoder: a clip's arrays in, a payload and its decoded motion out. Converts arrays, errors,
// progress and cancellation; the core does the rest.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "keysine/decode/decode.h"
#include "skeleton.h"
#include "work.h"

namespace
{

using Motion = std::tuple<nb::bytes, NewArray<double, 3>, NewArray<double, 3>>;

// A payload, and the rotations and translations that the decoder makes of it; None where nothing keeps the
// target.
std::optional<Motion> keysine_encode(const Skeleton& skeleton, const std::vector<std::string>& names,
									 Rotations rotations, Translations translations, double frame_rate,
									 double max_error, double mean_error, double step, double max_angle,
									 int effort, int mode, double group_seconds, double block_seconds,
									 int layers, bool streamed, const std::vector<double>& joint_errors,
									 const std::vector<double>& joint_angles, size_t threads,
									 nb::object progress, const std::optional<std::vector<double>>& constants)
{
	skeleton.check_motion(rotations, translations);
	const size_t frames = rotations.shape(0), joints = skeleton.view.joint_count;
	if (!frames || names.size() != joints || !(frame_rate > 0) || effort < 0 ||
		effort > MOCPACK_KEYSINE_BEST || (joint_errors.size() && joint_errors.size() != joints) ||
		(joint_angles.size() && joint_angles.size() != joints) ||
		(constants && constants->size() != mocpack_keysine_constant_count()))
		throw nb::value_error("frames, names, frame rate, effort, joint bounds or constants do not fit");
	std::vector<const char*> texts;
	for (const std::string& name : names)
		texts.push_back(name.c_str());
	const mocpack_KeysineClip clip = {&skeleton.view,	   texts.data(), rotations.data(),
									  translations.data(), frames,		 frame_rate};
	auto given = [](const std::vector<double>& bounds) { return bounds.empty() ? nullptr : bounds.data(); };
	const mocpack_KeysineTarget target = {max_error,
										  mean_error,
										  step,
										  max_angle,
										  effort,
										  mode,
										  group_seconds,
										  block_seconds,
										  layers,
										  streamed,
										  given(joint_errors),
										  given(joint_angles)};
	Work work(progress, threads);
	mocpack_KeysineEncoded made;
	mocpack_Status status;
	{
		nb::gil_scoped_release release;
		status = mocpack_keysine_encode_clip(&clip, &target, &work.view,
											 constants ? constants->data() : nullptr, &made);
	}
	work.raise_if_stopped();
	if (status == MOCPACK_BOUND_NOT_MET)
		return std::nullopt;
	check_status(status, "keysine's own payload");
	Motion found(nb::bytes(made.payload, made.payload_size),
				 copy_array(made.rotations, {frames, joints, size_t(4)}),
				 copy_array(made.translations, {frames, skeleton.view.translated_count, size_t(3)}));
	mocpack_keysine_release(&work.view, &made);
	return found;
}

// The encoder's table of constants: name, what it is, values.
auto keysine_constants()
{
	std::vector<std::tuple<std::string, std::string, std::vector<double>>> rows;
	const char *name, *text;
	double values[64];
	for (size_t i = 0; size_t count = mocpack_keysine_constant(i, &name, &text, values); ++i)
		rows.emplace_back(name, text, std::vector<double>(values, values + count));
	return rows;
}

// The coded part of a head, for tests that change it.
nb::bytes keysine_encode_head(const Skeleton& skeleton, uint32_t mode, uint32_t fine_bits, uint32_t tempo,
							  float unit, uint32_t group_count, uint32_t groups_per_segment,
							  uint32_t group_frames, uint8_t keys_error,
							  std::vector<std::pair<uint8_t, uint8_t>> errors,
							  Array<int32_t, nb::shape<-1, MOCPACK_KEYSINE_PLAN_COLUMNS>> table,
							  std::vector<uint32_t> sizes, Array<int32_t, nb::shape<-1, 4>> predictors,
							  Array<uint8_t, nb::ndim<3>> shifts, std::vector<uint8_t> grid_steps,
							  std::vector<uint8_t> initial_scales)
{
	size_t joints = skeleton.view.joint_count, layers = errors.size();
	if (table.shape(0) != joints || layers < 1 || layers > MOCPACK_KEYSINE_MAX_LAYERS ||
		shifts.shape(0) + 1 != layers || shifts.shape(1) != 2 || shifts.shape(2) > 2 * joints)
		throw nb::value_error("table or layers do not fit");
	mocpack_KeysineFields fields = {mode,
									uint32_t(layers),
									fine_bits,
									tempo,
									unit,
									group_count,
									groups_per_segment,
									uint32_t(predictors.shape(0)),
									keys_error,
									{},
									group_frames};
	for (size_t i = 0; i < layers; ++i)
		fields.errors[i] = {errors[i].first, errors[i].second};
	std::vector<int32_t> own(table.data(), table.data() + table.size());
	std::vector<int32_t> own_predictors(predictors.data(), predictors.data() + predictors.size());
	std::vector<uint8_t> own_shifts(4 * joints * layers); // at least as many as there are tracks
	std::copy(shifts.data(), shifts.data() + shifts.size(), own_shifts.begin());
	grid_steps.resize(grid_steps.empty() ? 0 : 2 * joints);
	initial_scales.resize(7 * joints);
	std::vector<uint8_t> dst(
		256 + 8 * (own.size() + sizes.size() + own_shifts.size() + 9 * joints + own_predictors.size()));
	std::vector<uint8_t> scratch(
		mocpack_keysine_head_scratch_size(joints, sizes.size(), predictors.shape(0)));
	size_t size = mocpack_keysine_encode_head(&fields, &skeleton.view, own.data(), sizes.data(), sizes.size(),
											  own_predictors.data(), own_shifts.data(),
											  grid_steps.empty() ? nullptr : grid_steps.data(),
											  initial_scales.data(), dst.data(), dst.size(), scratch.data());
	if (!size)
		throw nb::value_error("unit, predictors, shifts, grid steps or initial scales are out of range");
	return nb::bytes(dst.data(), size);
}

} // namespace

void register_keysine(nb::module_& m)
{
	m.attr("KEYSINE_PLAN_COLUMNS") = int(MOCPACK_KEYSINE_PLAN_COLUMNS);
	m.attr("KEYSINE_KEY_STEP") = MOCPACK_KEYSINE_KEY_STEP;
	m.attr("KEYSINE_MOST_UNIT") = MOCPACK_KEYSINE_MAX_UNIT;
	m.attr("KEYSINE_STEPS") = int(MOCPACK_KEYSINE_STEPS);
	m.attr("KEYSINE_UNIT_STEP") = int(MOCPACK_KEYSINE_UNIT_STEP);
	m.attr("KEYSINE_MOST_LAYERS") = int(MOCPACK_KEYSINE_MAX_LAYERS);
	m.attr("KEYSINE_MOST_GRID_CHANNELS") = int(MOCPACK_KEYSINE_MAX_GRID_CHANNELS);
	m.def("keysine_encode_head", &keysine_encode_head, "skeleton"_a, "mode"_a, "fine_bits"_a, "tempo"_a,
		  "unit"_a, "group_count"_a, "groups_per_segment"_a, "group_frames"_a, "keys_error"_a, "errors"_a,
		  "table"_a, "sizes"_a, "predictors"_a, "shifts"_a, "grid_steps"_a, "initial_scales"_a);
	m.def("keysine_encode", &keysine_encode, "skeleton"_a, "names"_a, "rotations"_a, "translations"_a,
		  "frame_rate"_a, "max_error"_a, "mean_error"_a, "step"_a, "max_angle"_a, "effort"_a, "mode"_a,
		  "group_seconds"_a, "block_seconds"_a, "layers"_a, "streamed"_a, "joint_errors"_a, "joint_angles"_a,
		  "threads"_a, "progress"_a.none() = nb::none(), "constants"_a.none() = nb::none());
	m.def("keysine_constants", &keysine_constants);
}
