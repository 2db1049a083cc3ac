// Windows of motions: computes features from arrays, or from cached rows in shared memory.
#include "window_plan.h"

#include <chrono>

#include "features/blocks.h"

namespace
{

using RowArray = Array<float, nb::ndim<2>>;

// Writes a window of decoded arrays.
void write_window_from_arrays(const WindowPlan& plan, Rotations turns, Translations places, double first,
							  WindowOut out)
{
	size_t joints = plan.parents.size(), moving = plan.translated.size();
	if (turns.shape(1) != joints || places.shape(1) != moving || turns.shape(0) != places.shape(0))
		throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) must match the plan's joints");
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
		throw nb::value_error("rows must have the plan's 4 J + 3 M columns");
}

// Writes a window of rows (T, 4 J + 3 M) from frame `start`, without the GIL.
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

// Writes a window of rows that do not change.
void write_window_from_rows(const WindowPlan& plan, RowArray rows, double first, WindowOut out)
{
	check_rows(plan, rows);
	check_window(plan, rows.shape(0), first, out);
	nb::gil_scoped_release release;
	write_window(plan, rows, 0, rows.shape(0), first, out);
}

// The cached rows of a clip in shared memory, in blocks with a mark and a time of last use.
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
			throw nb::value_error("marks and used need one value per block of frames");
	}

	// Writes frames start to stop - 1 and returns -1, or returns the index of the first missing block.
	int64_t write(const WindowPlan& plan, size_t start, size_t stop, WindowOut out)
	{
		const size_t MAX_ON_STACK = 64;
		check_rows(plan, rows);
		if (start >= stop || stop > rows.shape(0))
			throw nb::value_error("frames start to stop must be within the clip");
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
		throw nb::value_error("block number is out of range");
	mocpack_block_set_mark(marks.data() + number, value);
}

} // namespace

void register_windows(nb::module_& m)
{
	nb::class_<WindowPlan>(m, "WindowPlan")
		.def(nb::init<Indices, Points, Indices, Indices, Indices, std::optional<Indices>,
					  std::optional<Quats>, std::optional<Quats>, int, bool, Quat4, Quat4, const Skeleton*,
					  Indices, double, double>(),
			 nb::kw_only(), "parents"_a, "offsets"_a, "translated_joints"_a, "fields"_a, "feet"_a,
			 "partners"_a.none(), "before"_a.none(), "after"_a.none(), "axis"_a, "relative"_a, "root_rest"_a,
			 "to_source"_a, "hinged"_a.none(), "hinge_columns"_a, "step"_a, "rate"_a)
		.def_prop_ro("width", &WindowPlan::width);
	m.def("write_window_from_arrays", write_window_from_arrays, "plan"_a, "rotations"_a, "translations"_a,
		  "first"_a, "out"_a);
	m.def("write_window_from_rows", write_window_from_rows, "plan"_a, "rows"_a, "first"_a, "out"_a);
	nb::class_<RowBlocks>(m, "RowBlocks")
		.def(nb::init<RowArray, MutableArray<int64_t, nb::ndim<1>>, MutableArray<int64_t, nb::ndim<1>>,
					  size_t>(),
			 "rows"_a, "marks"_a, "used"_a, "block"_a)
		.def("write", &RowBlocks::write, "plan"_a, "start"_a, "stop"_a, "out"_a);
	m.def("mark_block", mark_block, "marks"_a, "number"_a, "value"_a);
}
