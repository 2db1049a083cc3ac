// Binding of the conversion from pose rows to rotations.
#include "arrays.h"

#include "papers/mukai/pose_rows.h"

namespace
{

NewArray<double, 3> row_rotations(Array<double, nb::ndim<2>> rows, Array<int32_t, nb::ndim<1>> kinds,
								  Array<double, nb::shape<-1, 4>> means, Array<double, nb::ndim<1>> scales)
{
	size_t joints = kinds.shape(0), needed = 0;
	for (size_t j = 0; j < joints; ++j)
	{
		int32_t kind = kinds.data()[j];
		if (kind < MOCPACK_ROW_CONSTANT || kind > MOCPACK_ROW_QUATERNION)
			throw nb::value_error("kinds must be 0, 1 or 2");
		needed += kind == MOCPACK_ROW_TANGENT ? 3 : kind == MOCPACK_ROW_QUATERNION ? 4 : 0;
	}
	if (rows.shape(1) < needed || means.shape(0) != joints || scales.shape(0) != joints)
		throw nb::value_error("shapes of rows, means and scales do not match the kinds");
	auto rotations = new_array<double, 3>({rows.shape(0), joints, 4});
	mocpack_row_rotations(rows.data(), rows.shape(0), rows.shape(1), kinds.data(), means.data(),
						  scales.data(), joints, rotations.data());
	return rotations;
}

} // namespace

void register_pose_rows(nb::module_& m)
{
	m.def("row_rotations", &row_rotations, "rows"_a, "kinds"_a, "means"_a, "scales"_a);
}
