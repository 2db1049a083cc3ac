// The writer of files: arrays and texts in, bytes of chunks and files out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "reader/memory.h"
#include "reader/skeleton_code.h"
#include "writer/chunks.h"
#include "writer/deflate.h"
#include "writer/file.h"

#include <new>
#include <optional>
#include <tuple>
#include <vector>

namespace
{

using mocpack::FieldWriter;
using Texts = std::vector<nb::bytes>;
using Indices = Array<int32_t, nb::ndim<1>>;
using Doubles = Array<double, nb::ndim<1>>;
using Matrix = Array<double, nb::ndim<2>>;
using Points = Array<double, nb::shape<-1, 3>>;

// Returns what write(out) writes, while other threads may run Python.
template <typename Write> nb::bytes written(Write write)
{
	FieldWriter out(mocpack::default_allocator());
	{
		nb::gil_scoped_release release;
		write(&out);
	}
	if (!out.good())
		throw std::bad_alloc();
	return nb::bytes(out.data(), out.size());
}

mocpack_Text text_of(const nb::bytes& text)
{
	return {text.c_str(), text.size()};
}

std::vector<mocpack_Text> texts_of(const Texts& texts)
{
	std::vector<mocpack_Text> found;
	for (const nb::bytes& text : texts)
		found.push_back(text_of(text));
	return found;
}

nb::bytes deflate(nb::bytes data, nb::bytes dictionary)
{
	const auto* bytes = static_cast<const uint8_t*>(data.data());
	const size_t size = data.size(), dictionary_size = dictionary.size();
	const void* words = dictionary.data();
	return written([=](FieldWriter* out) { mocpack::deflate(bytes, size, out, words, dictionary_size); });
}

nb::bytes pack_numbers(Matrix values, double step, bool known, bool simple, int way)
{
	return written(
		[&](FieldWriter* out)
		{
			mocpack::write_numbers(values.data(), values.shape(0), values.shape(1),
								   {step, known, simple, way}, out);
		});
}

nb::bytes pack_short(double value)
{
	return written([=](FieldWriter* out) { mocpack::write_short_number(value, out); });
}

// Errors: declared, largest, mean, RMS and 99th percentile, declared and measured angle; negative for none.
using Errors = std::tuple<double, double, double, double, double, double, double>;

nb::bytes pack_head(bool vertices, uint64_t frame_count, double frame_time, nb::bytes codec,
					uint64_t bitstream_version, nb::bytes params, nb::bytes needed, const Errors& e)
{
	const mocpack::FileHead head = {
		vertices,		 frame_count,		frame_time,
		text_of(codec),	 bitstream_version, text_of(params),
		text_of(needed), std::get<0>(e),	{std::get<1>(e), std::get<2>(e), std::get<3>(e), std::get<4>(e)},
		std::get<5>(e),	 std::get<6>(e)};
	return written([&](FieldWriter* out) { mocpack::write_head(head, out); });
}

nb::bytes pack_skeleton(const Texts& names, Indices parents, const Texts& channels, Indices translated_joints,
						Indices end_joints, double unit, Points offsets, Points end_sites, Matrix axes)
{
	const size_t joints = parents.size();
	if (names.size() != joints || channels.size() != joints || offsets.shape(0) != joints ||
		axes.shape(0) != joints || axes.shape(1) != 4 || end_sites.shape(0) != end_joints.size())
		throw nb::value_error("the arrays of a skeleton must have a row per joint or end site");
	const auto texts = texts_of(names), layouts = texts_of(channels);
	const mocpack::FileSkeleton skeleton = {joints,
											texts.data(),
											parents.data(),
											layouts.data(),
											translated_joints.size(),
											translated_joints.data(),
											end_joints.size(),
											end_joints.data(),
											unit,
											offsets.data(),
											end_sites.data(),
											axes.data()};
	return written([&](FieldWriter* out) { mocpack::write_skeleton(skeleton, out); });
}

nb::bytes pack_mesh(uint64_t vertices, Array<int32_t, nb::shape<-1, 3>> faces)
{
	return written([&](FieldWriter* out)
				   { mocpack::write_mesh(vertices, faces.data(), faces.shape(0), out); });
}

nb::bytes pack_rest(Array<double, nb::shape<-1, 4>> rest)
{
	return written([&](FieldWriter* out) { mocpack::write_rest(rest.data(), rest.shape(0), out); });
}

nb::bytes pack_hinges(const Texts& joint_names, Indices joints, Array<uint8_t, nb::ndim<1>> slides,
					  const Texts& names, Points axes, Array<double, nb::shape<-1, 2>> limits,
					  bool follow_channels)
{
	const size_t count = joints.size();
	if (slides.size() != count || names.size() != count || axes.shape(0) != count || limits.shape(0) != count)
		throw nb::value_error("the arrays of hinges must have the same length");
	const auto texts = texts_of(names), of_joints = texts_of(joint_names);
	const mocpack::FileHinges hinges = {count,		 joints.data(), slides.data(),	texts.data(),
										axes.data(), limits.data(), follow_channels};
	return written([&](FieldWriter* out)
				   { mocpack::write_hinges(hinges, of_joints.data(), of_joints.size(), out); });
}

nb::bytes pack_scales(Points constant, Indices scaled_joints,
					  std::optional<Array<double, nb::ndim<3>>> moving, double step)
{
	if (moving && (moving->shape(1) != scaled_joints.size() || moving->shape(2) != 3))
		throw nb::value_error("moving scales must have three numbers per scaled joint");
	return written(
		[&](FieldWriter* out)
		{
			mocpack::write_scales(constant.data(), constant.shape(0), moving ? moving->data() : nullptr,
								  moving ? moving->shape(0) : 0, scaled_joints.data(), scaled_joints.size(),
								  step, out);
		});
}

nb::bytes pack_times(double start, std::optional<Doubles> times)
{
	return written(
		[&](FieldWriter* out)
		{ mocpack::write_times(start, times ? times->data() : nullptr, times ? times->size() : 0, out); });
}

nb::bytes pack_gaps(Array<uint8_t, nb::ndim<2>> valid)
{
	return written([&](FieldWriter* out)
				   { mocpack::write_gaps(valid.data(), valid.shape(0), valid.shape(1), out); });
}

nb::bytes pack_flags(Array<uint8_t, nb::ndim<1>> flags)
{
	return written(
		[&](FieldWriter* out)
		{
			FieldWriter plain(out->allocator());
			mocpack::write_flags(flags.data(), flags.size(), 1, &plain);
			mocpack::deflate(plain, out);
		});
}

nb::bytes pack_joint_bounds(Doubles errors, Doubles measured, Doubles angles, Doubles measured_angles)
{
	const size_t joints = errors.size();
	if (measured.size() != joints || angles.size() != joints || measured_angles.size() != joints)
		throw nb::value_error("bounds must have one number per joint");
	return written(
		[&](FieldWriter* out)
		{
			mocpack::write_joint_bounds(joints, errors.data(), measured.data(), angles.data(),
										measured_angles.data(), out);
		});
}

mocpack::FileChunk chunk_of(const nb::bytes& tag, const nb::bytes& body)
{
	if (tag.size() != 4)
		throw nb::value_error("a tag has four letters");
	const char* letters = tag.c_str();
	return {{letters[0], letters[1], letters[2], letters[3]}, body.data(), body.size()};
}

nb::bytes pack_chunk(nb::bytes tag, nb::bytes body)
{
	const mocpack::FileChunk chunk = chunk_of(tag, body);
	return written([&](FieldWriter* out) { mocpack::write_chunk(chunk, out); });
}

nb::bytes pack_file(const std::vector<std::tuple<nb::bytes, nb::bytes>>& chunks, uint64_t frames,
					uint64_t width)
{
	std::vector<mocpack::FileChunk> found;
	for (const auto& [tag, body] : chunks)
		found.push_back(chunk_of(tag, body));
	return written([&](FieldWriter* out)
				   { mocpack::write_file(found.data(), found.size(), {frames, width}, out); });
}

} // namespace

void register_writer(nb::module_& m)
{
	m.attr("SKELETON_DICTIONARY") =
		nb::bytes(mocpack::SKELETON_DICTIONARY, sizeof mocpack::SKELETON_DICTIONARY - 1);
	m.def("deflate", &deflate, "data"_a, "dictionary"_a);
	m.def("pack_numbers", &pack_numbers, "values"_a, "step"_a, "known"_a, "simple"_a, "way"_a = -1);
	m.def("pack_short", &pack_short, "value"_a);
	m.def("pack_head", &pack_head, "vertices"_a, "frame_count"_a, "frame_time"_a, "codec"_a,
		  "bitstream_version"_a, "params"_a, "needed"_a, "errors"_a);
	m.def("pack_skeleton", &pack_skeleton, "names"_a, "parents"_a, "channels"_a, "translated_joints"_a,
		  "end_joints"_a, "unit"_a, "offsets"_a, "end_sites"_a, "axes"_a);
	m.def("pack_mesh", &pack_mesh, "vertices"_a, "faces"_a);
	m.def("pack_rest", &pack_rest, "rest"_a);
	m.def("pack_hinges", &pack_hinges, "joint_names"_a, "joints"_a, "slides"_a, "names"_a, "axes"_a,
		  "limits"_a, "follow_channels"_a);
	m.def("pack_scales", &pack_scales, "constant"_a, "scaled_joints"_a, "moving"_a.none(), "step"_a);
	m.def("pack_times", &pack_times, "start"_a, "times"_a.none());
	m.def("pack_gaps", &pack_gaps, "valid"_a);
	m.def("pack_flags", &pack_flags, "flags"_a);
	m.def("pack_joint_bounds", &pack_joint_bounds, "errors"_a, "measured"_a, "angles"_a, "measured_angles"_a);
	m.def("pack_chunk", &pack_chunk, "tag"_a, "body"_a);
	m.def("pack_file", &pack_file, "chunks"_a, "frames"_a, "width"_a);
}
