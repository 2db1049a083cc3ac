// Binding of prediction by inverse kinematics: a stream that keeps state between frames.
#include "arrays.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "common/skeleton.h"
#include "papers/li/ik_predict.h"

namespace
{

using Indices = Array<int32_t, nb::ndim<1>>;
using Numbers = Array<double, nb::ndim<1>>;
using Points = Array<double, nb::shape<-1, 3>>;
using Turns = Array<double, nb::shape<-1, 4>>;
using Rows = Array<int32_t, nb::ndim<2>>;

struct IkStream
{
	Indices joints, parents;
	Turns frames;
	Points attachments;
	Indices slides;
	Points axes;
	Numbers lengths, direction_steps, twist_steps;
	Array<uint8_t, nb::ndim<1>> twist_places;
	Indices segment_sizes, order;
	size_t joint_count;
	bool twist;
	mocpack_Limbs limbs;
	std::vector<double> state;
	std::vector<uint16_t>
		place_classes;		 // of the columns of a row: 0 directions, 1 twists, 2 translations, 3 ends
	size_t other_twists = 0; // that place nothing

	IkStream(size_t joint_count_, size_t translated_count, Indices joints_, Indices parents_, Turns frames_,
			 Points attachments_, Indices slides_, Points axes_, Numbers lengths_, Numbers direction_steps_,
			 Numbers twist_steps_, Array<uint8_t, nb::ndim<1>> twist_places_, Indices segment_sizes_,
			 Indices order_, double effector_step, double slide_step, double k, double memory, double damping,
			 double rounding, bool compensate, bool extrapolate, bool spherical, bool twist_)
		: joints(joints_), parents(parents_), frames(frames_), attachments(attachments_), slides(slides_),
		  axes(axes_), lengths(lengths_), direction_steps(direction_steps_), twist_steps(twist_steps_),
		  twist_places(twist_places_), segment_sizes(segment_sizes_), order(order_),
		  joint_count(joint_count_), twist(twist_)
	{
		limbs = {joints.size(),
				 translated_count,
				 joints.data(),
				 parents.data(),
				 frames.data(),
				 attachments.data(),
				 slides.data(),
				 axes.data(),
				 lengths.data(),
				 direction_steps.data(),
				 twist_steps.data(),
				 twist_places.data(),
				 segment_sizes.size(),
				 segment_sizes.data(),
				 order.data(),
				 effector_step,
				 slide_step,
				 k,
				 memory,
				 damping,
				 rounding,
				 int(compensate),
				 int(extrapolate),
				 int(spherical)};
		check();
		state.assign(mocpack_ik_state_size(&limbs), 0.0);
		count_columns();
	}

	// The kernels do not check these indices, so they are checked here.
	void check() const
	{
		size_t bodies = joints.size();
		bool good = parents.size() == bodies && frames.shape(0) == bodies && attachments.shape(0) == bodies &&
					slides.size() == bodies && axes.shape(0) == bodies && lengths.size() == bodies &&
					direction_steps.size() == bodies && twist_steps.size() == bodies &&
					twist_places.size() == bodies && order.size() == bodies;
		std::vector<char> seen(bodies, 0);
		for (size_t b = 0; good && b < bodies; ++b)
			good = joints.data()[b] >= 0 && size_t(joints.data()[b]) < joint_count &&
				   parents.data()[b] < int32_t(b) && parents.data()[b] >= (b ? 0 : -1) &&
				   slides.data()[b] >= -1 && slides.data()[b] < int32_t(limbs.translated_count);
		for (size_t i = 0; good && i < bodies; ++i)
		{
			int32_t b = order.data()[i];
			good = b >= 0 && size_t(b) < bodies && !seen[size_t(b)] &&
				   (parents.data()[b] < 0 || seen[size_t(parents.data()[b])]);
			if (good)
				seen[size_t(b)] = 1;
		}
		size_t covered = 0;
		for (size_t g = 0; good && g < segment_sizes.size(); ++g)
		{
			good = segment_sizes.data()[g] > 0;
			covered += good ? size_t(segment_sizes.data()[g]) : 0;
		}
		if (!good || covered != bodies)
			throw nb::value_error(
				"invalid IK stream: arrays of bodies have different lengths or invalid indices");
	}

	void count_columns()
	{
		std::vector<uint16_t>& placing = place_classes;
		const int32_t* at = order.data();
		for (size_t g = 0; g < segment_sizes.size(); at += segment_sizes.data()[g++])
		{
			size_t count = size_t(segment_sizes.data()[g]);
			for (size_t j = 0; j < count; ++j)
			{
				if (slides.data()[at[j]] >= 0)
					placing.insert(placing.end(), 3, 2);
				if (count > 1 && j == 0)
					placing.insert(placing.end(), 3, 3);
				if (count == 1 || j + 1 < count)
					placing.insert(placing.end(), 2, 0);
				if (twist_places.data()[at[j]])
					placing.push_back(1);
				else if (twist)
					++other_twists;
			}
		}
	}

	void reset(Turns world, Points translations)
	{
		if (world.shape(0) != limbs.body_count || translations.shape(0) != limbs.translated_count)
			throw nb::value_error("world (B, 4) and translations (M, 3) do not match the stream");
		mocpack_ik_reset(&limbs, state.data(), world.data(), translations.data());
	}

	std::tuple<NewArray<int32_t, 2>, NewArray<int32_t, 2>> encode(Rotations rotations, Translations moves)
	{
		size_t frames_ = rotations.shape(0), width = place_classes.size(), extra = other_twists;
		if (rotations.shape(1) != joint_count || moves.shape(1) != limbs.translated_count ||
			moves.shape(0) != frames_)
			throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) do not match the stream");
		auto placing = new_array<int32_t, 2>({frames_, width});
		auto twisting = new_array<int32_t, 2>({frames_, extra});
		bool fits = true;
		{
			nb::gil_scoped_release release;
			for (size_t t = 0; t < frames_; ++t)
				fits = mocpack_ik_encode(&limbs, state.data(), rotations.data() + 4 * joint_count * t,
										 moves.data() + 3 * limbs.translated_count * t,
										 placing.data() + width * t,
										 twist ? twisting.data() + extra * t : nullptr) == MOCPACK_OK &&
					   fits;
		}
		if (!fits)
			throw nb::value_error("the step is too small for the speed of this motion");
		return {placing, twisting};
	}

	// Returns world rotations (T, B, 4) and translations (T, M, 3); `twisting` is optional.
	std::tuple<NewArray<double, 3>, NewArray<double, 3>> decode(Rows placing, std::optional<Rows> twisting)
	{
		size_t frames_ = placing.shape(0), width = place_classes.size(), extra = other_twists;
		size_t bodies = limbs.body_count, moving = limbs.translated_count;
		if (placing.shape(1) != width ||
			(twisting && (twisting->shape(0) != frames_ || twisting->shape(1) != extra)))
			throw nb::value_error("rows do not match the stream");
		auto world = new_array<double, 3>({frames_, bodies, 4});
		auto moves = new_array<double, 3>({frames_, moving, 3});
		{
			nb::gil_scoped_release release;
			for (size_t t = 0; t < frames_; ++t)
			{
				mocpack_ik_decode(&limbs, state.data(), placing.data() + width * t,
								  twisting ? twisting->data() + extra * t : nullptr);
				memcpy(world.data() + 4 * bodies * t, state.data(), 4 * bodies * sizeof(double));
				memcpy(moves.data() + 3 * moving * t, state.data() + 4 * bodies, 3 * moving * sizeof(double));
			}
		}
		return {world, moves};
	}

	// Returns the last decoded world rotations (B, 4) and translations (M, 3), equal in encoder and decoder.
	std::tuple<NewArray<double, 2>, NewArray<double, 2>> decoded() const
	{
		size_t bodies = limbs.body_count, moving = limbs.translated_count;
		auto world = new_array<double, 2>({bodies, 4});
		auto moves = new_array<double, 2>({moving, 3});
		memcpy(world.data(), state.data(), 4 * bodies * sizeof(double));
		memcpy(moves.data(), state.data() + 4 * bodies, 3 * moving * sizeof(double));
		return {world, moves};
	}

	NewArray<uint16_t, 1> classes() const
	{
		auto kinds = new_array<uint16_t, 1>({place_classes.size()});
		memcpy(kinds.data(), place_classes.data(), place_classes.size() * sizeof(uint16_t));
		return kinds;
	}

	size_t twist_count() const
	{
		return other_twists;
	}
};

} // namespace

void register_ik_predict(nb::module_& m)
{
	nb::class_<IkStream>(m, "IkStream")
		.def(nb::init<size_t, size_t, Indices, Indices, Turns, Points, Indices, Points, Numbers, Numbers,
					  Numbers, Array<uint8_t, nb::ndim<1>>, Indices, Indices, double, double, double, double,
					  double, double, bool, bool, bool, bool>(),
			 nb::kw_only(), "joint_count"_a, "translated_count"_a, "joints"_a, "parents"_a, "frames"_a,
			 "attachments"_a, "slides"_a, "axes"_a, "lengths"_a, "direction_steps"_a, "twist_steps"_a,
			 "twist_places"_a, "segment_sizes"_a, "order"_a, "effector_step"_a, "slide_step"_a, "k"_a,
			 "memory"_a, "damping"_a, "rounding"_a, "compensate"_a, "extrapolate"_a, "spherical"_a, "twist"_a)
		.def("reset", &IkStream::reset, "world"_a, "translations"_a)
		.def("encode", &IkStream::encode, "rotations"_a, "translations"_a)
		.def("decode", &IkStream::decode, "places"_a, "twists"_a.none())
		.def("decoded", &IkStream::decoded)
		.def("classes", &IkStream::classes)
		.def("twist_count", &IkStream::twist_count);
}
