// Windows of motions: a plan made once, then arrays in, features out.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/windows.h"
#include "skeleton.h"

namespace
{

// Owns the arrays a mocpack_WindowPlan points to; checked once, then trusted.
struct WindowPlan
{
	Indices parents;
	Points offsets;
	Indices translated, fields, feet;
	std::optional<Indices> partners;
	std::optional<Quats> before, after;
	mocpack_WindowPlan view;

	WindowPlan(Indices parents_, Points offsets_, Indices translated_, Indices fields_, Indices feet_,
			   std::optional<Indices> partners_, std::optional<Quats> before_, std::optional<Quats> after_,
			   int axis, bool relative)
		: parents(parents_), offsets(offsets_), translated(translated_), fields(fields_), feet(feet_),
		  partners(partners_), before(before_), after(after_)
	{
		view = {parents.size(),
				parents.data(),
				offsets.data(),
				translated.size(),
				translated.data(),
				fields.size(),
				fields.data(),
				feet.size(),
				feet.data(),
				partners ? partners->data() : nullptr,
				before ? before->data() : nullptr,
				after ? after->data() : nullptr,
				axis,
				relative};
		check();
	}

	void check() const
	{
		int32_t joints = int32_t(parents.size());
		bool good = joints > 0 && offsets.shape(0) == parents.size() && view.axis >= 0 && view.axis < 3;
		for (int32_t j = 0; j < joints; ++j)
			good = good && parents.data()[j] < j && parents.data()[j] >= -1;
		for (size_t m = 0; m < translated.size(); ++m)
			good = good && translated.data()[m] > (m ? translated.data()[m - 1] : -1) &&
				   translated.data()[m] < joints;
		for (size_t f = 0; f < fields.size(); ++f)
			good = good && fields.data()[f] >= 0 && fields.data()[f] < MOCPACK_WINDOW_FIELDS;
		for (size_t f = 0; f < feet.size(); ++f)
			good = good && feet.data()[f] >= 0 && feet.data()[f] < joints;
		if (!good || (partners && !check_partners()))
			throw nb::value_error("parents, translated joints, fields, feet or partners do not fit");
	}

	bool check_partners() const
	{
		int32_t joints = int32_t(parents.size());
		bool good = partners->size() == parents.size() && before && after &&
					before->shape(0) == parents.size() && after->shape(0) == parents.size();
		for (int32_t j = 0; good && j < joints; ++j)
			good = partners->data()[j] >= 0 && partners->data()[j] < joints;
		const int32_t *first = translated.data(), *last = first + translated.size();
		for (size_t m = 0; good && m < translated.size(); ++m)
			good = std::binary_search(first, last, partners->data()[first[m]]);
		return good;
	}

	size_t width() const
	{
		return mocpack_window_width(&view);
	}
};

using Out = MutableArray<float, nb::ndim<2>>;

void check_window(const WindowPlan& plan, size_t frames, double first, double step, const Out& out)
{
	if (out.shape(1) != plan.width())
		throw nb::value_error("out must be (rows, width of the plan), float32");
	if (!frames || !(first >= 0) || !(step > 0) || !(first < 1e15) || !(step < 1e9))
		throw nb::value_error("a window starts at frame 0 or later and goes forward");
}

template <typename T, typename Write>
void write(const WindowPlan& plan, const T* turns, size_t turn_stride, const T* places, size_t place_stride,
		   size_t frames, double first, double step, double rate, const Out& out, Write kernel)
{
	check_window(plan, frames, first, step, out);
	size_t count = out.shape(0);
	float* rows = out.data();
	nb::gil_scoped_release release;
	std::unique_ptr<double[]> scratch(
		new double[mocpack_window_scratch(&plan.view, count) / sizeof(double) + 1]);
	if (count)
		kernel(&plan.view, turns, turn_stride, places, place_stride, frames, first, step, count, rate, rows,
			   out.shape(1), scratch.get());
}

// Of decoded arrays.
void window_of_motion(const WindowPlan& plan, Rotations turns, Translations places, double first, double step,
					  double rate, Out out)
{
	size_t joints = plan.parents.size(), moving = plan.translated.size();
	if (turns.shape(1) != joints || places.shape(1) != moving || turns.shape(0) != places.shape(0))
		throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) do not fit the plan");
	write(plan, turns.data(), 4 * joints, places.data(), 3 * moving, turns.shape(0), first, step, rate, out,
		  mocpack_window_from_double);
}

// Of rows (T, 4 J + 3 M) as a cache keeps them.
void window_of_rows(const WindowPlan& plan, Array<float, nb::ndim<2>> rows, double first, double step,
					double rate, Out out)
{
	size_t turn = 4 * plan.parents.size(), width = turn + 3 * plan.translated.size();
	if (rows.shape(1) != width)
		throw nb::value_error("rows (T, 4 J + 3 M) do not fit the plan");
	write(plan, rows.data(), width, rows.data() + turn, width, rows.shape(0), first, step, rate, out,
		  mocpack_window_from_float);
}

} // namespace

void register_windows(nb::module_& m)
{
	nb::class_<WindowPlan>(m, "WindowPlan")
		.def(nb::init<Indices, Points, Indices, Indices, Indices, std::optional<Indices>,
					  std::optional<Quats>, std::optional<Quats>, int, bool>(),
			 nb::kw_only(), "parents"_a, "offsets"_a, "translated_joints"_a, "fields"_a, "feet"_a,
			 "partners"_a.none(), "before"_a.none(), "after"_a.none(), "axis"_a, "relative"_a)
		.def_prop_ro("width", &WindowPlan::width);
	m.def("window_of_motion", window_of_motion, "plan"_a, "rotations"_a, "translations"_a, "first"_a,
		  "step"_a, "rate"_a, "out"_a);
	m.def("window_of_rows", window_of_rows, "plan"_a, "rows"_a, "first"_a, "step"_a, "rate"_a, "out"_a);
}
