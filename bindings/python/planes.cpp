// Bindings of the plane coder.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <tuple>

#include "common/skeleton.h"
#include "entropy/planes.h"

namespace
{

using Plane = Array<int32_t, nb::ndim<2>>;
using Start = std::optional<Array<uint8_t, nb::ndim<1>>>;

const uint8_t* start_bytes(const Start& start, size_t class_count)
{
	if (start && start->size() != mocpack_planes_start_size(class_count))
		throw nb::value_error("start must have planes_start_size(class_count) bytes");
	return start ? start->data() : nullptr;
}

nb::bytes planes_encode(Plane values, Classes classes, size_t class_count, Start start)
{
	const uint8_t* known = start_bytes(start, class_count);
	size_t rows = values.shape(0), columns = values.shape(1), size;
	check_classes(classes, columns, class_count);
	size_t bound = mocpack_planes_bound(rows, columns);
	std::unique_ptr<uint8_t[]> buffer(new uint8_t[bound]);
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_planes_models_size(class_count) + 1]);
	{
		nb::gil_scoped_release release;
		size = mocpack_planes_encode(buffer.get(), bound, values.data(), rows, columns, classes.data(),
									 class_count, known, models.get());
	}
	return nb::bytes(buffer.get(), size);
}

NewArray<int32_t, 2> planes_decode(nb::bytes data, size_t rows, size_t columns, Classes classes,
								   size_t class_count, Start start)
{
	const uint8_t* known = start_bytes(start, class_count);
	check_classes(classes, columns, class_count);
	auto values = new_array<int32_t, 2>({rows, columns});
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_planes_models_size(class_count) + 1]);
	mocpack_Status status;
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		size_t size = data.size();
		nb::gil_scoped_release release;
		status = mocpack_planes_decode(values.data(), rows, columns, classes.data(), class_count, known,
									   models.get(), src, size);
	}
	check_status(status, "a coded plane");
	return values;
}

// Returns (values, number of complete rows).
std::tuple<NewArray<int32_t, 2>, size_t> planes_decode_truncated(nb::bytes data, size_t rows, size_t columns,
																 Classes classes, size_t class_count)
{
	check_classes(classes, columns, class_count);
	auto values = new_array<int32_t, 2>({rows, columns});
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_planes_models_size(class_count) + 1]);
	size_t whole;
	{
		const uint8_t* src = static_cast<const uint8_t*>(data.data());
		size_t size = data.size();
		nb::gil_scoped_release release;
		whole = mocpack_planes_decode_truncated(values.data(), rows, columns, classes.data(), class_count,
												models.get(), src, size);
	}
	return {values, whole};
}

// Adds bit counts to counts (start_size, 2), in place.
void planes_count(Plane values, Classes classes, size_t class_count,
				  MutableArray<uint32_t, nb::shape<-1, 2>> counts)
{
	check_classes(classes, values.shape(1), class_count);
	if (counts.shape(0) != mocpack_planes_start_size(class_count))
		throw nb::value_error("counts must have planes_start_size(class_count) rows");
	std::unique_ptr<uint8_t[]> models(new uint8_t[mocpack_planes_models_size(class_count) + 1]);
	nb::gil_scoped_release release;
	mocpack_planes_count(values.data(), values.shape(0), values.shape(1), classes.data(), class_count,
						 models.get(), counts.data());
}

} // namespace

void register_planes(nb::module_& m)
{
	m.def("planes_encode", &planes_encode, "values"_a, "classes"_a, "class_count"_a, "start"_a = nb::none());
	m.def("planes_decode", &planes_decode, "data"_a, "rows"_a, "columns"_a, "classes"_a, "class_count"_a,
		  "start"_a = nb::none());
	m.def("planes_start_size", &mocpack_planes_start_size, "class_count"_a);
	m.def("planes_count", &planes_count, "values"_a, "classes"_a, "class_count"_a, "counts"_a);
	m.def("planes_decode_truncated", &planes_decode_truncated, "data"_a, "rows"_a, "columns"_a, "classes"_a,
		  "class_count"_a);
}
