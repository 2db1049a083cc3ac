// The native module's table of contents. Bindings translate; no algorithm lives in them.
#include "arrays.h"

#include <string>

#include "mocpack/core.h"

void check_status(int status, const char* what)
{
	if (status == MOCPACK_OK)
		return;
	bool truncated = status == MOCPACK_TRUNCATED;
	nb::object errors = nb::module_::import_("mocpack.errors");
	nb::object type = errors.attr(truncated ? "TruncatedError" : "CorruptionError");
	std::string message =
		std::string(what) + (truncated ? " ends too early" : " contradicts its specification");
	PyErr_SetString(type.ptr(), message.c_str());
	throw nb::python_error();
}

void check_classes(const Classes& classes, size_t columns, size_t class_count)
{
	if (classes.size() != columns)
		throw nb::value_error("classes must name a class for each column");
	for (size_t c = 0; c < columns; ++c)
		if (classes.data()[c] >= class_count)
			throw nb::value_error("classes must be below class_count");
}

NB_MODULE(_core, m)
{
	register_bap(m);
	register_channels(m);
	register_ik_predict(m);
	register_kinematics(m);
	register_lifting(m);
	register_limb_ik(m);
	register_keysine(m);
	register_numbers(m);
	register_planes(m);
	register_pose_rows(m);
	register_bspline(m);
	register_series(m);
	register_signals(m);
	register_zero_runs(m);
	register_wavelet97(m);
}
