// Array types of the bindings.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "mocpack/mocpack.h"

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, typename... Shape>
using Array = nb::ndarray<const T, Shape..., nb::c_contig, nb::device::cpu>;
template <typename T, typename... Shape>
using MutableArray = nb::ndarray<T, Shape..., nb::c_contig, nb::device::cpu>;
template <typename T, size_t N> using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

using Rotations = Array<double, nb::shape<-1, -1, 4>>;
using Translations = Array<double, nb::shape<-1, -1, 3>>;

// Creates a numpy array with uninitialized memory.
template <typename T, size_t N> NewArray<T, N> new_array(const size_t (&shape)[N])
{
	size_t count = 1;
	for (size_t n : shape)
		count *= n;
	T* data = new T[count ? count : 1];
	nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
	return NewArray<T, N>(data, N, shape, owner);
}

// Creates a numpy array that holds a copy of `values`.
template <typename T, size_t N> NewArray<T, N> copy_array(const T* values, const size_t (&shape)[N])
{
	auto found = new_array<T, N>(shape);
	std::copy(values, values + found.size(), found.data());
	return found;
}

// The class of each column; kernels use it as an index, so it must be below class_count.
using Classes = Array<uint16_t, nb::ndim<1>>;
void check_classes(const Classes& classes, size_t columns, size_t class_count);

// Raises the exception of mocpack.errors for a status; `what` names the data in the message.
void check_status(int status, const char* what);

// Raises the exception of mocpack.errors for an error of the reader, with its message.
[[noreturn]] void raise_error(const mocpack_Error& error);

// Raises a CorruptionError.
[[noreturn]] void raise_corrupt(const char* message);

// Each file registers its functions; module.cpp calls them all.
void register_amc(nb::module_& m);
void register_bap(nb::module_& m);
void register_channels(nb::module_& m);
void register_ik_predict(nb::module_& m);
void register_kinematics(nb::module_& m);
void register_lifting(nb::module_& m);
void register_limb_ik(nb::module_& m);
void register_live(nb::module_& m);
void register_lossless(nb::module_& m);
void register_keysine(nb::module_& m);
void register_keysine_decode(nb::module_& m);
void register_meshopt(nb::module_& m);
void register_motion_states(nb::module_& m);
void register_numbers(nb::module_& m);
void register_planes(nb::module_& m);
void register_pose_rows(nb::module_& m);
void register_reader(nb::module_& m);
void register_bspline(nb::module_& m);
void register_series(nb::module_& m);
void register_plain_series(nb::module_& m);
void register_signals(nb::module_& m);
void register_windows(nb::module_& m);
void register_zero_runs(nb::module_& m);
void register_wavelet97(nb::module_& m);
void register_writer(nb::module_& m);
