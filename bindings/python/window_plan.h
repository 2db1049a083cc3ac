// The plan of windows that Python creates and all window writers use.
#pragma once
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "features/windows.h"
#include "skeleton.h"

using Quat4 = Array<double, nb::shape<4>>;

// Owns the arrays that a mocpack_WindowPlan points to, and checks them once.
struct WindowPlan
{
	Indices parents;
	Points offsets;
	Indices translated, fields, feet;
	std::optional<Indices> partners;
	std::optional<Quats> before, after;
	std::optional<Skeleton> hinged;
	Indices hinge_columns;
	mocpack_WindowPlan view;
	double step, rate; // frames per row, rows per second

	WindowPlan(Indices parents_, Points offsets_, Indices translated_, Indices fields_, Indices feet_,
			   std::optional<Indices> partners_, std::optional<Quats> before_, std::optional<Quats> after_,
			   int axis, bool relative, Quat4 root_rest, Quat4 to_source, const Skeleton* hinged_,
			   Indices hinge_columns_, double step_, double rate_)
		: parents(parents_), offsets(offsets_), translated(translated_), fields(fields_), feet(feet_),
		  partners(partners_), before(before_), after(after_), hinge_columns(hinge_columns_), step(step_),
		  rate(rate_)
	{
		if (hinged_)
			hinged = *hinged_;
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
				relative,
				{},
				{},
				hinged ? &hinged->view : nullptr,
				hinge_columns.data()};
		std::copy(root_rest.data(), root_rest.data() + 4, view.root_rest);
		std::copy(to_source.data(), to_source.data() + 4, view.to_source);
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
		size_t hinges = hinged ? hinged->view.hinge_count : 0;
		good = good && hinge_columns.size() == hinges;
		for (size_t h = 0; good && h < hinges; ++h)
			good = hinge_columns.data()[h] >= 0 && size_t(hinge_columns.data()[h]) < hinges;
		if (hinged)
			good = good && hinged->parents.size() == parents.size() &&
				   hinged->translated_joints.size() == translated.size();
		if (!(step > 0) || !(step < 1e9) || !(rate > 0))
			throw nb::value_error("step and rate must be above 0, and step below 1e9");
		if (!good || (partners && !check_partners()))
			throw nb::value_error(
				"parents, offsets, translated joints, fields, feet, partners or hinges are out of range");
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

using WindowOut = MutableArray<float, nb::ndim<2>>;

inline void check_window(const WindowPlan& plan, size_t frames, double first, const WindowOut& out)
{
	if (out.shape(1) != plan.width())
		throw nb::value_error("out must be (rows, width of the plan), float32");
	if (!frames || !(first >= 0) || !(first < 1e15))
		throw nb::value_error("a window needs frames, and a first frame between 0 and 1e15");
}

// Scratch memory of the window kernels.
inline std::unique_ptr<double[]> window_scratch(const WindowPlan& plan, size_t rows)
{
	return std::unique_ptr<double[]>(
		new double[mocpack_window_scratch_size(&plan.view, rows) / sizeof(double) + 1]);
}
