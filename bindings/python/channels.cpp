// Binding of the conversion from Euler channels to rotations.
#include "arrays.h"

#include "math/channels.h"

namespace
{

using Axes = Array<int8_t, nb::shape<-1, 3>>;
using Columns = Array<int32_t, nb::shape<-1, 3>>;
using Frames = Array<double, nb::shape<-1, 4>>;

mocpack_Channels checked(const Axes& axes, const Columns& columns, const Frames& frames, size_t width)
{
	size_t joints = axes.shape(0);
	if (columns.shape(0) != joints || frames.shape(0) != joints)
		throw nb::value_error("axes, columns and frames must have the same number of joints");
	for (size_t i = 0; i < 3 * joints; ++i)
	{
		int axis = axes.data()[i], column = columns.data()[i];
		if (axis > 2 || (axis >= 0 && (column < 0 || size_t(column) >= width)))
			throw nb::value_error("an axis or a column is out of range");
	}
	return {joints, width, axes.data(), columns.data(), frames.data()};
}

NewArray<double, 3> channels_to_rotations(Axes axes, Columns columns, Frames frames,
										  Array<double, nb::ndim<2>> matrix)
{
	mocpack_Channels channels = checked(axes, columns, frames, matrix.shape(1));
	NewArray<double, 3> rotations = new_array<double, 3>({matrix.shape(0), channels.joint_count, 4});
	double* out = rotations.data();
	{
		nb::gil_scoped_release release;
		mocpack_channels_to_rotations(&channels, matrix.data(), matrix.shape(0), out);
	}
	return rotations;
}

} // namespace

void register_channels(nb::module_& m)
{
	m.def("channels_to_rotations", &channels_to_rotations, "axes"_a, "columns"_a, "frames"_a, "matrix"_a);
}
