// Binding of the 9/7 wavelet, in place.
#include "arrays.h"

#include <memory>

#include "papers/li/wavelet97.h"

namespace
{

using Signals = MutableArray<double, nb::ndim<2>>;

void wavelet97(Signals values, size_t levels, bool inverse)
{
	nb::gil_scoped_release release;
	size_t rows = values.shape(0), columns = values.shape(1);
	std::unique_ptr<double[]> scratch(new double[rows * columns + 1]);
	auto transform = inverse ? mocpack_wavelet97_inverse : mocpack_wavelet97;
	transform(values.data(), rows, columns, levels, scratch.get());
}

} // namespace

void register_wavelet97(nb::module_& m)
{
	m.def("wavelet97", &wavelet97, "values"_a, "levels"_a, "inverse"_a);
}
