// Builds the tracks of a `keysine` clip from the integers of its header.
#include "keysine/decode/plan.h"

#include <cmath>

#include "keysine/decode/costs.h"
#include "keysine/decode/rotation.h"

namespace mocpack
{
namespace keysine
{

namespace
{

bool turns(const int32_t* row)
{
	return row[ROTATION_KIND] >= VECTOR_ROTATION;
}

// Whether a joint moves what hangs on it other than the joint above does.
bool carries(const int32_t* row)
{
	return turns(row) || row[TRANSLATION_KIND] == SLIDING_TRANSLATION;
}

const double* resting_place(const Plan& plan, size_t joint)
{
	return plan.still + 7 * joint + 4;
}

bool valid(const Plan& plan, mocpack_Fault* fault)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	size_t m = 0;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& own = plan.hinges[j];
		bool translated = m < skeleton.translated_count && size_t(skeleton.translated_joints[m]) == j;
		m += translated;
		int32_t farthest = own.slides ? SLIDING_TRANSLATION : MOVING_TRANSLATION;
		auto in_range = [&](PlanColumn column, const char* field, int32_t most)
		{ return within(fault, "plan of joint", int64_t(j), field, row[column], 0, most); };
		if (!in_range(ROTATION_KIND, "rotation kind", own.turns ? HINGE_ROTATION : QUATERNION_ROTATION) ||
			!in_range(TRANSLATION_KIND, "translation kind", translated ? farthest : 0) ||
			!in_range(ROTATION_KEY_STEP, "rotation key step", STEPS - 1) ||
			!in_range(TRANSLATION_KEY_STEP, "translation key step", STEPS - 1))
			return false;
	}
	return true;
}

// The rotation of a hinged joint where it stays, or about where it turns.
Quat still_hinge(const JointHinges& hinges, const int32_t* row, double fine)
{
	Quat turn = hinges.rest;
	double grid = row[ROTATION_KIND] == STILL_ROTATION ? fine : MEAN_GRID;
	for (int32_t i = 0; i < hinges.turns && row[ROTATION_KIND] != REST_ROTATION; ++i)
		turn = multiply(turn, exponential(grid * row[MEAN + i] * hinges.turn_axis(i)));
	return turn;
}

Quat still_turn(const JointHinges& hinges, const int32_t* row, double fine)
{
	const int32_t kind = row[ROTATION_KIND];
	if (hinges.turns && kind != VECTOR_ROTATION && kind != QUATERNION_ROTATION)
		return still_hinge(hinges, row, fine);
	double grid = kind == STILL_ROTATION ? fine : MEAN_GRID;
	Vec3 mean = {grid * row[MEAN], grid * row[MEAN + 1], grid * row[MEAN + 2]};
	return kind == REST_ROTATION ? Quat{0, 0, 0, 1} : exponential(mean);
}

// The place of a joint that does not move; the origin of one that does.
Vec3 still_place(const JointHinges& hinges, const int32_t* row, double fine, Vec3 offset)
{
	const int32_t kind = row[TRANSLATION_KIND];
	if (kind == REST_TRANSLATION || kind == SLIDING_TRANSLATION)
		return offset;
	double grid = kind == STILL_TRANSLATION ? fine : ORIGIN_GRID;
	if (kind == MOVING_TRANSLATION || !hinges.slides)
		return {grid * row[ORIGIN], grid * row[ORIGIN + 1], grid * row[ORIGIN + 2]};
	Vec3 way = {0, 0, 0};
	for (int32_t i = 0; i < hinges.slides; ++i)
		way = way + grid * row[ORIGIN + i] * hinges.slide_axis(i);
	return offset + rotate(hinges.rest, way);
}

// Rotations and translations of what does not move; joints without translation keep their offset.
void fill_still(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& own = plan.hinges[j];
		store(plan.still + 7 * j, still_turn(own, row, plan.fine));
		store(plan.still + 7 * j + 4, still_place(own, row, plan.fine, load_vec(skeleton.offsets + 3 * j)));
	}
}

void count_descendants(const Plan& plan)
{
	size_t joints = plan.skeleton->joint_count;
	for (size_t j = 0; j < joints; ++j)
		plan.descendants[j] = 1;
	for (size_t j = joints; j-- > 1;)
		plan.descendants[plan.skeleton->parents[j]] += plan.descendants[j];
}

void fill_carried(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		int32_t parent = skeleton.parents[j];
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		plan.carrier[j] = -1;
		store(plan.carried_rotation + 4 * j, load_quat(plan.still + 7 * j));
		store(plan.carried_offset + 3 * j, Vec3{0, 0, 0});
		if (parent < 0 || row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
			continue;
		Vec3 place = load_vec(resting_place(plan, j));
		if (carries(plan.table + PLAN_COLUMNS * size_t(parent)))
		{
			plan.carrier[j] = parent;
			store(plan.carried_offset + 3 * j, place);
			continue;
		}
		Quat turn = load_quat(plan.carried_rotation + 4 * parent);
		plan.carrier[j] = plan.carrier[parent];
		store(plan.carried_offset + 3 * j, load_vec(plan.carried_offset + 3 * parent) + rotate(turn, place));
		store(plan.carried_rotation + 4 * j, multiply(turn, load_quat(plan.still + 7 * j)));
	}
}

void add_inertia(double* matrix, double weight, Vec3 o)
{
	double v[3] = {o.x, o.y, o.z}, square = dot(o, o);
	for (int a = 0; a < 3; ++a)
		for (int b = 0; b < 3; ++b)
			matrix[3 * a + b] += weight * ((a == b ? square : 0.0) - v[a] * v[b]);
}

// How far a small turn of each joint moves what it carries: symmetric matrices, in square metres.
void fill_inertia(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t i = 0; i < 9 * skeleton.joint_count; ++i)
		plan.inertia[i] = i % 9 % 4 == 0 ? 2.0 / 3.0 * SHELL * SHELL : 0.0;
	for (size_t k = 0; k < skeleton.joint_count; ++k)
		if (plan.carrier[k] >= 0 && (turns(plan.table + PLAN_COLUMNS * k) || plan.descendants[k] == 1))
			add_inertia(plan.inertia + 9 * plan.carrier[k], std::pow(double(plan.descendants[k]), SPREAD),
						load_vec(plan.carried_offset + 3 * k));
	for (size_t e = 0; e < skeleton.end_count; ++e)
	{
		size_t k = size_t(skeleton.end_joints[e]);
		Vec3 end = load_vec(skeleton.end_sites + 3 * e);
		if (turns(plan.table + PLAN_COLUMNS * k))
			add_inertia(plan.inertia + 9 * k, 1.0, end);
		else if (plan.carrier[k] >= 0)
			add_inertia(plan.inertia + 9 * plan.carrier[k], 1.0,
						load_vec(plan.carried_offset + 3 * k) +
							rotate(load_quat(plan.carried_rotation + 4 * k), end));
	}
}

// A skeleton at its mean pose, in the world.
struct MeanPose
{
	Vec3* places;
	Quat* turns;

	MeanPose(const Plan& plan, double* memory)
		: places(reinterpret_cast<Vec3*>(memory)),
		  turns(reinterpret_cast<Quat*>(memory + 3 * plan.skeleton->joint_count))
	{
		for (size_t j = 0; j < plan.skeleton->joint_count; ++j)
		{
			int32_t parent = plan.skeleton->parents[j];
			places[j] = load_vec(resting_place(plan, j)), turns[j] = load_quat(plan.still + 7 * j);
			if (parent < 0)
				continue;
			places[j] = places[parent] + rotate(turns[parent], places[j]);
			turns[j] = multiply(turns[parent], turns[j]);
		}
	}
};

// The joint's own origin, shell and bone ends; `end` is one past its last bone end.
void add_own(const Plan& plan, const MeanPose& pose, size_t joint, size_t* end, const Costs& costs)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	costs.add_point({0, 0, 0}, ORIGIN_WEIGHT);
	for (int a = 0; a < 3; ++a)
	{
		Vec3 axis = {a == 0 ? SHELL : 0, a == 1 ? SHELL : 0, a == 2 ? SHELL : 0};
		costs.add_point(rotate(pose.turns[joint], axis), SHELL_WEIGHT);
	}
	for (; *end > 0 && size_t(s.end_joints[*end - 1]) == joint; --*end)
		costs.add_point(rotate(pose.turns[joint], load_vec(s.end_sites + 3 * (*end - 1))), END_WEIGHT);
}

// What a turn of a joint costs, in its own frame.
void put_inertia(const Costs& costs, Quat world, double* inertia)
{
	double turn[9], half[9];
	matrix_of(world, turn);
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			half[3 * r + c] = costs.at(3 + r, 3) * turn[c] + costs.at(3 + r, 4) * turn[3 + c] +
							  costs.at(3 + r, 5) * turn[6 + c];
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			inertia[3 * r + c] =
				(turn[r] * half[c] + turn[3 + r] * half[3 + c] + turn[6 + r] * half[6 + c]) / USUAL_REST;
}

// Where hinges cannot take back everything: how far a small turn, or shift, of each joint moves what hangs on
// it at the mean pose, once the joints below have done what they can.
void fill_hinged_inertia(const Plan& plan, double* work)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	MeanPose pose(plan, work + 36 * s.joint_count);
	size_t end = s.end_count;
	for (size_t i = 0; i < 36 * s.joint_count; ++i)
		work[i] = 0;
	for (size_t j = s.joint_count; j-- > 0;)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		const JointHinges& hinges = plan.hinges[j];
		int32_t parent = s.parents[j];
		Costs costs = {work + 36 * j};
		add_own(plan, pose, j, &end, costs);
		put_inertia(costs, pose.turns[j], plan.inertia + 9 * j);
		Quat frame = parent < 0 ? hinges.rest : multiply(pose.turns[parent], hinges.rest);
		if (row[ROTATION_KIND] == HINGE_ROTATION)
			for (int32_t i = 0; i < hinges.turns; ++i)
			{
				Vec3 axis = hinges.turn_axis(i);
				costs.take_out(3, rotate(frame, axis), 0.0);
				frame = multiply(frame, exponential(MEAN_GRID * row[MEAN + i] * axis));
			}
		else if (turns(row))
			costs.take_out(3);
		plan.shift_cost[j] = (costs.at(0, 0) + costs.at(1, 1) + costs.at(2, 2)) / (3 * USUAL_REST);
		frame = parent < 0 ? hinges.rest : multiply(pose.turns[parent], hinges.rest);
		if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
			for (int32_t i = 0; i < hinges.slides; ++i)
				costs.take_out(0, rotate(frame, hinges.slide_axis(i)), 0.0);
		else if (row[TRANSLATION_KIND] == MOVING_TRANSLATION)
			costs.take_out(0);
		if (parent >= 0)
			Costs{work + 36 * parent}.add_child(costs, pose.places[j] - pose.places[parent]);
	}
}

int32_t vector_family(int32_t descendants)
{
	int32_t family = 4;
	for (int32_t limit = 1; descendants > limit && family < 9; limit *= 2)
		++family;
	return family;
}

void add_track(Plan* plan, const Track& track)
{
	plan->tracks[plan->track_count++] = track;
	plan->channel_count += size_t(track.channels);
}

void add_position(Plan* plan, size_t j, const JointHinges& hinges)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	Track track = {
		int32_t(j), POSITION_TRACK, 3, int32_t(plan->channel_count), -1, j ? 1 : 0, -1, {}, {}, {}, 0, 0};
	double unit = plan->skeleton->hinge_count ? 1.0 / std::sqrt(plan->shift_cost[j])
											  : 1.0 / std::pow(double(plan->descendants[j]), 0.5 * SPREAD);
	store(track.base, load_vec(resting_place(*plan, j)));
	if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
	{
		track.channels = hinges.slides, track.hinge = int32_t(hinges.first);
		for (int32_t i = 0; i < hinges.slides; ++i)
			store(track.axes + 3 * i, unit * rotate(hinges.rest, hinges.slide_axis(i)));
	}
	else
		for (int a = 0; a < 3; ++a)
			track.axes[4 * a] = unit;
	track.key_index = row[TRANSLATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	add_track(plan, track);
}

// Axes of a rotation vector: column c of axes = root * (column c of turn), where root is the inverse square
// root of the inertia.
void vector_axes(const double* inertia, Vec3 basis, double* axes)
{
	double root[9], turn[9];
	inverse_square_root(inertia, root);
	matrix_of(exponential(basis), turn);
	for (int c = 0; c < 3; ++c)
		for (int a = 0; a < 3; ++a)
			axes[3 * c + a] =
				root[3 * a] * turn[c] + root[3 * a + 1] * turn[3 + c] + root[3 * a + 2] * turn[6 + c];
}

// An axis so long that a unit of turning about it moves what is carried by a metre.
Vec3 hinge_axis(const double* inertia, Vec3 axis)
{
	const double* m = inertia;
	Vec3 moved = {m[0] * axis.x + m[1] * axis.y + m[2] * axis.z,
				  m[3] * axis.x + m[4] * axis.y + m[5] * axis.z,
				  m[6] * axis.x + m[7] * axis.y + m[8] * axis.z};
	return 1.0 / std::sqrt(dot(axis, moved)) * axis;
}

void add_rotation(Plan* plan, size_t j, int32_t parent_track, const JointHinges& hinges)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	const int32_t kind = row[ROTATION_KIND];
	const double* inertia = plan->inertia + 9 * j;
	Track track = {};
	track.joint = int32_t(j), track.parent = parent_track, track.hinge = -1;
	track.first_channel = int32_t(plan->channel_count);
	track.family = kind != QUATERNION_ROTATION ? vector_family(plan->descendants[j]) : j ? 3 : 2;
	track.key_index = row[ROTATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	store(track.base, kind == QUATERNION_ROTATION ? Quat{0, 0, 0, 1}
					  : kind == HINGE_ROTATION	  ? hinges.rest
												  : load_quat(plan->still + 7 * j));
	double grid = plan->basis_grid;
	Vec3 basis = {grid * row[BASIS], grid * row[BASIS + 1], grid * row[BASIS + 2]};
	if (kind == VECTOR_ROTATION)
		track.kind = VECTOR_TRACK, track.channels = 3, vector_axes(inertia, basis, track.axes);
	else if (kind == HINGE_ROTATION)
	{
		track.kind = HINGE_TRACK, track.channels = hinges.turns;
		track.hinge = int32_t(hinges.first) + hinges.slides;
		for (int32_t i = 0; i < hinges.turns; ++i)
			store(track.axes + 3 * i, hinge_axis(inertia, hinges.turn_axis(i))),
				track.angles[i] = MEAN_GRID * row[MEAN + i];
	}
	else
		track.kind = QUATERNION_TRACK, track.channels = 4,
		track.axes[0] = 0.5 / std::sqrt((inertia[0] + inertia[4] + inertia[8]) / 3.0);
	add_track(plan, track);
}

template <typename T> T* take(uint8_t*& at, size_t count)
{
	T* found = reinterpret_cast<T*>(at);
	at += (count * sizeof(T) + 15) / 16 * 16;
	return found;
}

} // namespace

size_t plan_size(size_t joints)
{
	return joints * (67 * sizeof(double) + 3 * sizeof(int32_t) + 2 * sizeof(Track) + sizeof(JointHinges)) +
		   12 * 16;
}

bool build_plan(Plan* plan, void* memory, mocpack_Fault* fault)
{
	size_t joints = plan->skeleton->joint_count;
	uint8_t* at = static_cast<uint8_t*>(memory);
	plan->still = take<double>(at, 7 * joints);
	plan->carried_offset = take<double>(at, 3 * joints);
	plan->carried_rotation = take<double>(at, 4 * joints);
	plan->inertia = take<double>(at, 9 * joints);
	plan->shift_cost = take<double>(at, joints);
	double* work = take<double>(at, 43 * joints);
	plan->tracks = take<Track>(at, 2 * joints);
	plan->hinges = take<JointHinges>(at, joints);
	plan->descendants = take<int32_t>(at, joints);
	plan->carrier = take<int32_t>(at, joints);
	int32_t* rotation_track = take<int32_t>(at, joints); // of each joint or its nearest ancestor
	plan->track_count = plan->channel_count = 0;
	HingeCursor hinges(*plan->skeleton);
	for (size_t j = 0; j < joints; ++j)
		plan->hinges[j] = hinges.of(j);
	if (!valid(*plan, fault))
		return false;
	fill_still(*plan);
	count_descendants(*plan);
	fill_carried(*plan);
	if (plan->skeleton->hinge_count)
		fill_hinged_inertia(*plan, work);
	else
		fill_inertia(*plan);
	for (size_t j = 0; j < joints; ++j)
	{
		int32_t parent = plan->skeleton->parents[j];
		int32_t above = parent >= 0 ? rotation_track[parent] : -1;
		const JointHinges& own = plan->hinges[j];
		if (plan->table[PLAN_COLUMNS * j + TRANSLATION_KIND] >= MOVING_TRANSLATION)
			add_position(plan, j, own);
		rotation_track[j] = above;
		if (turns(plan->table + PLAN_COLUMNS * j))
		{
			rotation_track[j] = int32_t(plan->track_count);
			add_rotation(plan, j, above, own);
		}
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
