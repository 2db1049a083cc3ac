// keysine's encoder: a clip's arrays in, a payload and its decoded motion out. Converts arrays, errors,
// progress and cancellation; the core does the rest.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "keysine/format/payload.h"
#include "skeleton.h"
#include "work.h"

namespace
{

using Numbers = std::vector<double>;
using Motion = std::tuple<nb::bytes, NewArray<double, 3>, NewArray<double, 3>>;

using Errors = Array<double, nb::ndim<1>>;

// Work of an encoder that calls Python to measure decoded motions, unless `measure` is None.
class MeasuredWork : public Work
{
  public:
	MeasuredWork(nb::handle on_progress, size_t threads, nb::handle measure, size_t frames,
				 const mocpack_Skeleton& skeleton)
		: Work(on_progress, threads), measure_(measure), frames_(frames), skeleton_(skeleton)
	{
		if (!measure.is_none())
			view.measure = call_measure;
	}

  private:
	static int call_measure(void* user, const double* rotations, const double* translations, double* largest,
							double* mean)
	{
		MeasuredWork& self = *static_cast<MeasuredWork*>(static_cast<Work*>(user));
		const size_t frames = self.frames_, joints = self.skeleton_.joint_count,
					 moving = self.skeleton_.translated_count;
		return self.stops(
			[&]
			{
				const auto found = nb::cast<std::tuple<Errors, Errors>>(
					self.measure_(copy_array(rotations, {frames, joints, size_t(4)}),
								  copy_array(translations, {frames, moving, size_t(3)})));
				if (std::get<0>(found).size() != frames || std::get<1>(found).size() != frames)
					throw nb::value_error("measure must return two errors per frame");
				std::copy_n(std::get<0>(found).data(), frames, largest);
				std::copy_n(std::get<1>(found).data(), frames, mean);
			});
	}

	nb::handle measure_;
	size_t frames_;
	const mocpack_Skeleton& skeleton_;
};

// A payload, and the rotations and translations that the decoder makes of it; None where nothing keeps the
// target. Then the share of the budget of work that is spent. `measure` (see mocpack::WorkContext) gets and
// returns arrays; None: the errors of the clip.
std::tuple<std::optional<Motion>, double>
keysine_encode(const Skeleton& skeleton, const std::vector<std::string>& names, Rotations rotations,
			   Translations translations, double frame_rate, double max_error, double mean_error, double step,
			   double max_angle, int effort, int mode, double group_seconds, double block_seconds, int layers,
			   bool streamed, const Numbers& joint_errors, const Numbers& joint_angles, size_t threads,
			   nb::object progress, const Numbers& constants, nb::object measure)
{
	skeleton.check_motion(rotations, translations);
	const size_t frames = rotations.shape(0), joints = skeleton.view.joint_count;
	auto given = [](const Numbers& list) { return list.empty() ? nullptr : list.data(); };
	auto fits = [](const Numbers& list, size_t count) { return list.empty() || list.size() == count; };
	if (names.size() != joints || !fits(joint_errors, joints) || !fits(joint_angles, joints) ||
		!fits(constants, sizeof(mocpack::keysine::Constants) / sizeof(double)))
		throw nb::value_error("lengths of names, joint bounds or constants do not match");
	mocpack::keysine::Constants own;
	const double* next = given(constants);
	visit_constants(&own,
					[&](const char*, const char*, double* numbers, size_t count)
					{
						for (size_t i = 0; i < count && next; ++i)
							numbers[i] = *next++;
					});
	std::vector<const char*> texts;
	for (const std::string& name : names)
		texts.push_back(name.c_str());
	const mocpack::keysine::SourceClip clip = {&skeleton.view,		texts.data(), rotations.data(),
											   translations.data(), frames,		  frame_rate};
	mocpack::keysine::ClipTarget target;
	target.max_error = max_error, target.mean_error = mean_error;
	target.step = step, target.max_angle = max_angle;
	target.effort = effort, target.mode = mode;
	target.group_seconds = group_seconds, target.block_seconds = block_seconds;
	target.layers = layers, target.streamed = streamed;
	target.joint_errors = given(joint_errors), target.joint_angles = given(joint_angles);
	MeasuredWork work(progress, threads, measure, frames, skeleton.view);
	mocpack::keysine::EncodedClip encoded;
	mocpack_Status status;
	{
		nb::gil_scoped_release release;
		status = encode_clip(clip, target, work.view, own, &encoded);
	}
	work.raise_if_stopped();
	if (status == MOCPACK_BOUND_NOT_MET)
		return {std::nullopt, encoded.work_share};
	check_status(status, "keysine's own payload");
	Motion motion(
		nb::bytes(encoded.payload.data(), encoded.payload.size()),
		copy_array(encoded.rotations.data(), {frames, joints, size_t(4)}),
		copy_array(encoded.translations.data(), {frames, skeleton.view.translated_count, size_t(3)}));
	return {motion, encoded.work_share};
}

// The encoder's table of constants: name, what it is, values.
auto keysine_constants()
{
	std::vector<std::tuple<std::string, std::string, Numbers>> rows;
	mocpack::keysine::Constants constants;
	visit_constants(&constants, [&](const char* name, const char* text, double* numbers, size_t count)
					{ rows.emplace_back(name, text, Numbers(numbers, numbers + count)); });
	return rows;
}

} // namespace

void register_keysine(nb::module_& m)
{
	m.attr("KEYSINE_MAX_LAYERS") = int(MOCPACK_KEYSINE_MAX_LAYERS);
	m.attr("KEYSINE_MAX_GRID_CHANNELS") = int(MOCPACK_KEYSINE_MAX_GRID_CHANNELS);
	m.def("keysine_encode", &keysine_encode, "skeleton"_a, "names"_a, "rotations"_a, "translations"_a,
		  "frame_rate"_a, "max_error"_a, "mean_error"_a, "step"_a, "max_angle"_a, "effort"_a, "mode"_a,
		  "group_seconds"_a, "block_seconds"_a, "layers"_a, "streamed"_a, "joint_errors"_a, "joint_angles"_a,
		  "threads"_a, "progress"_a.none(), "constants"_a, "measure"_a.none() = nb::none());
	m.def("keysine_constants", &keysine_constants);
}
