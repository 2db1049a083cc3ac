// Windows of motions: a plan made once, then arrays in, features out; and of rows in memory that is shared.
#include "window_plan.h"

#include <chrono>

#include "features/blocks.h"

namespace
{

using RowArray = Array<float, nb::ndim<2>>;

// Of decoded arrays.
void write_window_from_arrays(const WindowPlan& plan, Rotations turns, Translations places, double first,
					  WindowOut out)
{
	size_t joints = plan.parents.size(), moving = plan.translated.size();
	if (turns.shape(1) != joints || places.shape(1) != moving || turns.shape(0) != places.shape(0))
		throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) do not fit the plan");
	check_window(plan, turns.shape(0), first, out);
	nb::gil_scoped_release release;
	if (out.shape(0))
		mocpack_window_from_double(&plan.view, turns.data(), 4 * joints, places.data(), 3 * moving,
								   turns.shape(0), first, plan.step, out.shape(0), plan.rate, out.data(),
								   out.shape(1), window_scratch(plan, out.shape(0)).get());
}

void check_rows(const WindowPlan& plan, const RowArray& rows)
{
	if (rows.shape(1) != 4 * plan.parents.size() + 3 * plan.translated.size())
		throw nb::value_error("rows (T, 4 J + 3 M) do not fit the plan");
}

// Frames from `start` on of rows (T, 4 J + 3 M), the GIL not held.
void write_window(const WindowPlan& plan, const RowArray& rows, size_t start, size_t frames, double first,
				const WindowOut& out)
{
	size_t turn = 4 * plan.parents.size(), width = rows.shape(1);
	const float* from = rows.data() + start * width;
	if (out.shape(0))
		mocpack_window_from_float(&plan.view, from, width, from + turn, width, frames, first, plan.step,
								  out.shape(0), plan.rate, out.data(), out.shape(1),
								  window_scratch(plan, out.shape(0)).get());
}

// Of rows that nobody changes.
void write_window_from_rows(const WindowPlan& plan, RowArray rows, double first, WindowOut out)
{
	check_rows(plan, rows);
	check_window(plan, rows.shape(0), first, out);
	nb::gil_scoped_release release;
	write_window(plan, rows, 0, rows.shape(0), first, out);
}

// The rows of a clip in memory that is shared, block by block, each with its mark and when it was used last.
struct RowBlocks
{
	RowArray rows;
	MutableArray<int64_t, nb::ndim<1>> marks, used;
	size_t block; // frames

	RowBlocks(RowArray rows_, MutableArray<int64_t, nb::ndim<1>> marks_,
			  MutableArray<int64_t, nb::ndim<1>> used_, size_t block_)
		: rows(rows_), marks(marks_), used(used_), block(block_)
	{
		if (!block || !rows.shape(0) || marks.shape(0) != (rows.shape(0) - 1) / block + 1 ||
			used.shape(0) != marks.shape(0))
			throw nb::value_error("every block of frames has a mark");
	}

	// Writes frames start … stop - 1 as the plan says and returns -1, or the first block that is not there.
	int64_t write(const WindowPlan& plan, size_t start, size_t stop, WindowOut out)
	{
		const size_t MAX_ON_STACK = 64;
		check_rows(plan, rows);
		if (start >= stop || stop > rows.shape(0))
			throw nb::value_error("the clip has no such frames");
		check_window(plan, stop - start, 0, out);
		size_t first = start / block, count = (stop - 1) / block + 1 - first;
		int64_t few[MAX_ON_STACK];
		std::unique_ptr<int64_t[]> many(count > MAX_ON_STACK ? new int64_t[count] : nullptr);
		int64_t *seen = many ? many.get() : few, *own = marks.data() + first;
		nb::gil_scoped_release release;
		do
		{
			size_t missing = mocpack_blocks_read_begin(own, count, seen);
			if (missing < count)
				return int64_t(first + missing);
			write_window(plan, rows, start, stop - start, 0, out);
		} while (!mocpack_blocks_read_end(own, count, seen));
		auto now = std::chrono::steady_clock::now().time_since_epoch();
		int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() >> 20;
		for (size_t i = 0; i < count; ++i)
			mocpack_block_set_used(used.data() + first + i, time);
		return -1;
	}
};

void mark_block(MutableArray<int64_t, nb::ndim<1>> marks, size_t number, int64_t value)
{
	if (number >= marks.shape(0))
		throw nb::value_error("no such block");
	mocpack_block_set_mark(marks.data() + number, value);
}

} // namespace

void register_windows(nb::module_& m)
{
	nb::class_<WindowPlan>(m, "WindowPlan")
		.def(nb::init<Indices, Points, Indices, Indices, Indices, std::optional<Indices>,
					  std::optional<Quats>, std::optional<Quats>, int, bool, double, double>(),
			 nb::kw_only(), "parents"_a, "offsets"_a, "translated_joints"_a, "fields"_a, "feet"_a,
			 "partners"_a.none(), "before"_a.none(), "after"_a.none(), "axis"_a, "relative"_a, "step"_a,
			 "rate"_a)
		.def_prop_ro("width", &WindowPlan::width);
	m.def("write_window_from_arrays", write_window_from_arrays, "plan"_a, "rotations"_a, "translations"_a, "first"_a,
		  "out"_a);
	m.def("write_window_from_rows", write_window_from_rows, "plan"_a, "rows"_a, "first"_a, "out"_a);
	nb::class_<RowBlocks>(m, "RowBlocks")
		.def(nb::init<RowArray, MutableArray<int64_t, nb::ndim<1>>, MutableArray<int64_t, nb::ndim<1>>,
					  size_t>(),
			 "rows"_a, "marks"_a, "used"_a, "block"_a)
		.def("write", &RowBlocks::write, "plan"_a, "start"_a, "stop"_a, "out"_a);
	m.def("mark_block", mark_block, "marks"_a, "number"_a, "value"_a);
}
