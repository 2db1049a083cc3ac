// The native module. Bindings only convert arguments; algorithms are in core/src.
#include "arrays.h"

#include <stdexcept>
#include <string>

#include "common/skeleton.h"

namespace
{

[[noreturn]] void raise(const char* name, const char* message)
{
	nb::object type = nb::module_::import_("mocpack.errors").attr(name);
	PyErr_SetString(type.ptr(), message);
	throw nb::python_error();
}

} // namespace

void raise_corrupt(const char* message)
{
	raise("CorruptionError", message);
}

void raise_error(const mocpack_Error& error)
{
	switch (error.status)
	{
	case MOCPACK_TRUNCATED:
		raise("TruncatedError", (std::string(error.message) + " (file is truncated)").c_str());
	case MOCPACK_CORRUPT:
		raise_corrupt(error.message);
	case MOCPACK_NO_MEMORY:
		raise("MemoryLimitError", error.message);
	case MOCPACK_UNSUPPORTED:
		raise("UnsupportedVersionError", error.message);
	case MOCPACK_NOT_MOCPACK:
		raise("FormatError", error.message);
	default:
		throw std::runtime_error(error.message);
	}
}

void check_status(int status, const char* what)
{
	std::string name = what;
	if (status == MOCPACK_OK)
		return;
	if (status == MOCPACK_TRUNCATED)
		raise("TruncatedError", (name + " ends too early").c_str());
	if (status == MOCPACK_CORRUPT)
		raise_corrupt((name + " is corrupt: it violates the format").c_str());
	if (status == MOCPACK_BAD_ARGUMENT)
		throw nb::value_error((name + ": an argument is out of range").c_str());
	// the caller's mistake, not corrupt data
	throw std::runtime_error(name + (status == MOCPACK_NO_MEMORY ? ": too little memory was given"
																 : ": nothing keeps what was asked"));
}

void check_classes(const Classes& classes, size_t columns, size_t class_count)
{
	if (classes.size() != columns)
		throw nb::value_error("classes must have one entry per column");
	for (size_t c = 0; c < columns; ++c)
		if (classes.data()[c] >= class_count)
			throw nb::value_error("classes must be below class_count");
}

NB_MODULE(_core, m)
{
	// objects in caches at exit are not leaks: do not print warnings
	nb::set_leak_warnings(false);
	register_amc(m);
	register_bap(m);
	register_channels(m);
	register_ik_predict(m);
	register_kinematics(m);
	register_lifting(m);
	register_limb_ik(m);
	register_live(m);
	register_lossless(m);
	register_keysine(m);
	register_keysine_decode(m);
	register_meshopt(m);
	register_numbers(m);
	register_planes(m);
	register_pose_rows(m);
	register_reader(m);
	register_bspline(m);
	register_series(m);
	register_plain_series(m);
	register_signals(m);
	register_motion_states(m);
	register_windows(m);
	register_zero_runs(m);
	register_wavelet97(m);
	register_writer(m);
}
