// Bindings of the states of a motion library: tables of skeletons and clips, checked once, and their rows.
#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "features/motion_states_cpu.h"
#include "motion_rows.h"
#include "parallel.h"

namespace states = mocpack::states;

namespace
{

const long long STATES_PER_PIECE = 64;

using Bytes = Array<uint8_t, nb::ndim<2>>; // rows of structs, as numpy's structured arrays store them
using Numbers = Array<int32_t, nb::ndim<1>>;
using Out = std::optional<MutableArray<float>>;
using Words = Array<uint8_t, nb::ndim<1>>;
using Ids = Array<int64_t, nb::ndim<1>>;
using Seconds = Array<double, nb::ndim<1>>;

template <typename T> const T* table_of(const Bytes& table, const char* name)
{
	if (table.shape(1) != sizeof(T))
		throw nb::value_error((std::string(name) + ": rows have the wrong size").c_str());
	return reinterpret_cast<const T*>(table.data());
}

float* out_of(const Out& out, size_t count, size_t width)
{
	if (out && out->size() != count * width)
		throw nb::value_error("an output array has the wrong size");
	return out ? out->data() : nullptr;
}

struct MotionTables
{
	Words words;
	Bytes joints, hinges;
	Numbers levels, angle_columns;
	Bytes skeletons, clips, velocity;
	states::Call view{};
	bool are_halves;

	MotionTables(Words words_, bool are_halves_, Bytes joints_, Bytes hinges_, Numbers levels_,
				 Numbers angle_columns_, Bytes skeletons_, Bytes clips_, Bytes velocity_)
		: words(words_), joints(joints_), hinges(hinges_), levels(levels_), angle_columns(angle_columns_),
		  skeletons(skeletons_), clips(clips_), velocity(velocity_), are_halves(are_halves_)
	{
		view.words = words.data();
		view.joints = table_of<states::Joint>(joints, "joints");
		view.hinges = table_of<states::Hinge>(hinges, "hinges");
		view.levels = levels.data();
		view.angle_columns = angle_columns.data();
		view.skeletons = table_of<states::Skeleton>(skeletons, "skeletons");
		view.clips = table_of<states::Clip>(clips, "clips");
		view.velocity = table_of<states::Velocity>(velocity, "velocity");
		view.clip_count = int(clips.shape(0));
		if (!check())
			throw nb::value_error("tables of skeletons and clips are out of range");
	}

	static bool check_filter(const states::Filter& filter)
	{
		return filter.radius >= 0 && 2 * filter.radius + 1 <= states::MAX_TAPS;
	}

	bool check()
	{
		bool good = velocity.shape(0) == 1 && check_filter(view.velocity->linear) &&
					check_filter(view.velocity->angular) && check_filter(view.velocity->angle) &&
					view.velocity->horizon >= 0 && view.velocity->horizon + 2 <= states::RING &&
					(!view.velocity->is_of_bodies || view.velocity->angular.difference == states::FORWARD);
		for (size_t s = 0; good && s < skeletons.shape(0); ++s)
			good = check_skeleton(view.skeletons[s]);
		for (size_t c = 0; good && c < clips.shape(0); ++c)
		{
			const states::Clip& clip = view.clips[c];
			good =
				clip.skeleton >= 0 && size_t(clip.skeleton) < skeletons.shape(0) && clip.frames > 0 &&
				clip.first_word >= 0 && clip.rate > 0 &&
				size_t(clip.first_word) + size_t(clip.frames) * size_t(view.skeletons[clip.skeleton].width) <=
					words.size() / (are_halves ? sizeof(uint16_t) : sizeof(float));
		}
		return good;
	}

	bool check_skeleton(const states::Skeleton& s)
	{
		view.scratch_joints = std::max(view.scratch_joints, s.joint_count);
		bool good =
			s.first_joint >= 0 && s.joint_count > 0 && s.level_count > 0 && s.body_count >= 0 &&
			s.body_count <= s.joint_count && s.width >= 7 &&
			size_t(s.first_joint) + size_t(s.joint_count) <= joints.shape(0) && s.first_level >= 0 &&
			size_t(s.first_level) + size_t(s.level_count) <= levels.size() && s.first_angle >= 0 &&
			s.angle_count >= 0 && size_t(s.first_angle) + size_t(s.angle_count) <= angle_columns.size() &&
			s.contact_count >= 0 && s.contact_column >= 0 && s.contact_column + s.contact_count <= s.width;
		for (int level = 0; good && level < s.level_count; ++level)
			good = levels.data()[s.first_level + level] >=
					   (level ? levels.data()[s.first_level + level - 1] : 1) &&
				   levels.data()[s.first_level + level] <= s.joint_count;
		for (int a = 0; good && a < s.angle_count; ++a)
			good = fits(angle_columns.data()[s.first_angle + a], 1, s.width);
		for (int j = 0; good && j < s.joint_count; ++j)
		{
			const states::Joint& joint = view.joints[s.first_joint + j];
			good = joint.parent < j && (joint.parent >= 0) == (j > 0) && joint.slot >= 0 &&
				   joint.slot < s.joint_count &&
				   (joint.turn_column < 0 || fits(joint.turn_column, 4, s.width)) &&
				   (joint.place_column < 0 || fits(joint.place_column, 3, s.width)) &&
				   joint.hinge_count >= 0 && joint.first_hinge >= 0 &&
				   size_t(joint.first_hinge) + size_t(joint.hinge_count) <= hinges.shape(0);
			for (int h = 0; good && h < joint.hinge_count; ++h)
				good = fits(view.hinges[joint.first_hinge + h].column, 1, s.width);
		}
		return good;
	}

	static bool fits(int column, int count, int width)
	{
		return column >= 0 && column + count <= width;
	}

	// Writes states at `seconds`, or from `frames` on if it is null.
	void write(Ids clip_ids, std::optional<Seconds> seconds, std::optional<Ids> frames, long long length,
			   size_t bodies, size_t angle_columns_out, size_t contact_columns_out, bool is_w_first,
			   Out positions, Out rotations, Out linear, Out angular, Out angles, Out angle_rates,
			   Out contacts, size_t threads)
	{
		if (!seconds == !frames || clip_ids.size() != (seconds ? seconds->size() : frames->size()) ||
			length < 1)
			throw nb::value_error("each clip needs its time or its frame, and length must be at least 1");
		states::Call call = view;
		const size_t count = clip_ids.size() * size_t(length);
		call.clip_ids = clip_ids.data();
		call.moments = seconds ? static_cast<const void*>(seconds->data()) : frames->data();
		call.ids_are_long = 1, call.moment_type = seconds ? states::SECONDS_DOUBLE : states::FRAMES_LONG;
		call.count = (long long)count, call.length = length;
		call.bodies = int(bodies), call.angle_columns_out = int(angle_columns_out);
		call.contact_columns_out = int(contact_columns_out), call.is_w_first = is_w_first;
		call.positions = out_of(positions, count, 3 * bodies);
		call.rotations = out_of(rotations, count, 4 * bodies);
		call.linear = out_of(linear, count, 3 * bodies);
		call.angular = out_of(angular, count, 3 * bodies);
		call.angles = out_of(angles, count, angle_columns_out);
		call.angle_rates = out_of(angle_rates, count, angle_columns_out);
		call.contacts = out_of(contacts, count, contact_columns_out);
		for (size_t s = 0; s < skeletons.shape(0); ++s)
			if (size_t(view.skeletons[s].body_count) > bodies)
				throw nb::value_error("the output has too few bodies");
		nb::gil_scoped_release release;
		const size_t pieces = (count + STATES_PER_PIECE - 1) / STATES_PER_PIECE;
		in_threads(pieces, threads,
				   [&](auto take)
				   {
					   std::vector<float> scratch(mocpack_states_scratch_floats(&call));
					   for (size_t piece = take(); piece < pieces; piece = take())
						   mocpack_write_states(
							   &call, are_halves, (long long)piece * STATES_PER_PIECE,
							   std::min((long long)(piece + 1) * STATES_PER_PIECE, call.count),
							   scratch.data());
				   });
	}
};

} // namespace

void register_motion_states(nb::module_& m)
{
	using Columns = Array<int32_t, nb::ndim<1>>;
	using Limits = Array<float, nb::ndim<1>>;
	nb::class_<RowLayout>(m, "RowLayout")
		.def(nb::init<Columns, Columns, Limits, Limits>(), nb::kw_only(), "columns"_a, "kinds"_a, "low"_a,
			 "high"_a);
	nb::class_<RowStore>(m, "RowStore")
		.def(nb::init<MutableArray<uint8_t, nb::ndim<1>>, bool, MutableArray<uint8_t, nb::ndim<2>>>(),
			 nb::kw_only(), "words"_a, "are_halves"_a, "reports"_a)
		.def("write", &RowStore::write, "layout"_a, "clip"_a, "first_word"_a, "rows"_a);
	nb::class_<MotionTables>(m, "MotionTables")
		.def(nb::init<Words, bool, Bytes, Bytes, Numbers, Numbers, Bytes, Bytes, Bytes>(), nb::kw_only(),
			 "words"_a, "are_halves"_a, "joints"_a, "hinges"_a, "levels"_a, "angle_columns"_a, "skeletons"_a,
			 "clips"_a, "velocity"_a)
		.def("write", &MotionTables::write, "clip_ids"_a, "seconds"_a.none(), "frames"_a.none(), "length"_a,
			 nb::kw_only(), "bodies"_a, "angle_columns_out"_a, "contact_columns_out"_a, "is_w_first"_a,
			 "positions"_a.none(), "rotations"_a.none(), "linear"_a.none(), "angular"_a.none(),
			 "angles"_a.none(), "angle_rates"_a.none(), "contacts"_a.none(), "threads"_a);
}
