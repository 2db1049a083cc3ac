// Windows of motions: a plan made once, then arrays in, features out.
#include <memory>

#include "window_plan.h"

namespace
{

template <typename T, typename Write>
void write(const WindowPlan& plan, const T* turns, size_t turn_stride, const T* places, size_t place_stride,
		   size_t frames, double first, double step, double rate, const WindowOut& out, Write kernel)
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
					  double rate, WindowOut out)
{
	size_t joints = plan.parents.size(), moving = plan.translated.size();
	if (turns.shape(1) != joints || places.shape(1) != moving || turns.shape(0) != places.shape(0))
		throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) do not fit the plan");
	write(plan, turns.data(), 4 * joints, places.data(), 3 * moving, turns.shape(0), first, step, rate, out,
		  mocpack_window_from_double);
}

// Of rows (T, 4 J + 3 M) as a cache keeps them.
void window_of_rows(const WindowPlan& plan, Array<float, nb::ndim<2>> rows, double first, double step,
					double rate, WindowOut out)
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
