// Builds the tracks of a `keysine` clip from its plan.
#include "keysine/format/plan.h"

#include <cmath>
#include <cstring>

#include "common/arena.h"
#include "keysine/format/costs.h"
#include "keysine/format/rotation.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Operations on arrays; `out` may equal an input.
MOCPACK_NOINLINE void multiply(const double* a, const double* b, double* out)
{
	store(out, multiply(load_quat(a), load_quat(b)));
}

MOCPACK_NOINLINE void rotate(const double* q, const double* v, double* out)
{
	store(out, rotate(load_quat(q), load_vec(v)));
}

MOCPACK_NOINLINE void exponential(double x, double y, double z, double* out)
{
	store(out, exponential(Vec3{x, y, z}));
}

void turn_by(double grid, const int32_t* numbers, double* out)
{
	if (!SMALL_BUILD && !(numbers[0] | numbers[1] | numbers[2]))
		store(out, Quat{0, 0, 0, 1});
	else
		exponential(grid * numbers[0], grid * numbers[1], grid * numbers[2], out);
}

// Rotates `turn` about an axis.
void rotate_about(const double* axis, double angle, double* turn)
{
	double more[4];
	exponential(angle * axis[0], angle * axis[1], angle * axis[2], more);
	multiply(turn, more, turn);
}

void copy(const double* from, size_t count, double* to)
{
	for (size_t i = 0; i < count; ++i)
		to[i] = from[i];
}

bool turns(const int32_t* row)
{
	return row[ROTATION_KIND] >= VECTOR_ROTATION;
}

// Returns whether a joint moves its children relative to its parent.
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
		{ return check_range(fault, "plan of joint", int64_t(j), field, row[column], 0, most); };
		if (!in_range(ROTATION_KIND, "rotation kind", own.turns ? HINGE_ROTATION : QUATERNION_ROTATION) ||
			!in_range(TRANSLATION_KIND, "translation kind", translated ? farthest : 0) ||
			!in_range(ROTATION_KEY_STEP, "rotation key step", STEPS - 1) ||
			!in_range(TRANSLATION_KEY_STEP, "translation key step", STEPS - 1))
			return false;
	}
	return true;
}

// Computes the constant rotation of a joint, or the mean of a moving one.
void still_turn(const JointHinges& hinges, const int32_t* row, double fine, double* turn)
{
	const int32_t kind = row[ROTATION_KIND];
	const double grid = kind == STILL_ROTATION ? fine : MEAN_GRID;
	const bool hinged = hinges.turns && kind != VECTOR_ROTATION && kind != QUATERNION_ROTATION;
	store(turn, hinged ? hinges.rest : Quat{0, 0, 0, 1});
	for (int32_t i = 0; hinged && i < hinges.turns && kind != REST_ROTATION; ++i)
		rotate_about(hinges.axes + 3 * (hinges.slides + i), grid * row[MEAN + i], turn);
	if (!hinged && kind != REST_ROTATION)
		turn_by(grid, row + MEAN, turn);
}

// Computes the constant translation of a joint, or the origin of a moving one.
void still_place(const JointHinges& hinges, const int32_t* row, double fine, const double* offset,
				 double* place)
{
	const int32_t kind = row[TRANSLATION_KIND];
	const bool rests = kind == REST_TRANSLATION || kind == SLIDING_TRANSLATION;
	const bool slides = !rests && kind != MOVING_TRANSLATION && hinges.slides;
	const double grid = kind == STILL_TRANSLATION ? fine : ORIGIN_GRID;
	double way[3] = {0, 0, 0};
	for (int32_t i = 0; slides && i < hinges.slides; ++i)
		for (int a = 0; a < 3; ++a)
			way[a] = way[a] + grid * row[ORIGIN + i] * hinges.axes[3 * i + a];
	if (slides)
		rotate(&hinges.rest.x, way, way);
	for (int a = 0; a < 3; ++a)
		place[a] = rests ? offset[a] : slides ? offset[a] + way[a] : grid * row[ORIGIN + a];
}

// Fills constant rotations and translations; joints without a translation keep their offset.
void fill_still(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t j = 0; j < skeleton.joint_count; ++j)
	{
		const int32_t* row = plan.table + PLAN_COLUMNS * j;
		double* still = plan.still + 7 * j;
		still_turn(plan.hinges[j], row, plan.fine, still);
		still_place(plan.hinges[j], row, plan.fine, skeleton.offsets + 3 * j, still + 4);
	}
}

// Returns whether the plans of two clips of one skeleton without hinges have the same inertia: the same
// joints move, and the others have the same constants.
bool has_same_inertia(const Plan& plan, const Plan& like)
{
	bool same = plan.fine == like.fine;
	for (size_t j = 0; j < plan.skeleton->joint_count && same; ++j)
	{
		const int32_t *row = plan.table + PLAN_COLUMNS * j, *other = like.table + PLAN_COLUMNS * j;
		same = row[ROTATION_KIND] == other[ROTATION_KIND] && row[TRANSLATION_KIND] == other[TRANSLATION_KIND];
		for (int a = 0; a < 3; ++a)
			same = same && (row[ROTATION_KIND] != STILL_ROTATION || row[MEAN + a] == other[MEAN + a]) &&
				   (row[TRANSLATION_KIND] != STILL_TRANSLATION || row[ORIGIN + a] == other[ORIGIN + a]);
	}
	return same;
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
		double *offset = plan.carried_offset + 3 * j, *turn = plan.carried_rotation + 4 * j;
		plan.carrier[j] = -1;
		copy(plan.still + 7 * j, 4, turn);
		store(offset, Vec3{0, 0, 0});
		if (parent < 0)
			continue;
		const bool carried = carries(plan.table + PLAN_COLUMNS * size_t(parent));
		if (!carried)
			multiply(plan.carried_rotation + 4 * parent, turn, turn);
		if (row[TRANSLATION_KIND] >= MOVING_TRANSLATION)
			continue;
		copy(resting_place(plan, j), 3, offset);
		plan.carrier[j] = parent;
		if (carried)
			continue;
		plan.carrier[j] = plan.carrier[parent];
		rotate(plan.carried_rotation + 4 * parent, offset, offset);
		for (int a = 0; a < 3; ++a)
			offset[a] = plan.carried_offset[3 * parent + a] + offset[a];
	}
}

MOCPACK_NOINLINE void add_inertia(double* matrix, double weight, const double* v)
{
	double square = dot(load_vec(v), load_vec(v));
	for (int a = 0; a < 3; ++a)
		for (int b = 0; b < 3; ++b)
			matrix[3 * a + b] += weight * ((a == b ? square : 0.0) - v[a] * v[b]);
}

// Computes how far a small rotation of each joint moves its descendants: symmetric matrices in square meters.
void fill_inertia(const Plan& plan)
{
	const mocpack_Skeleton& skeleton = *plan.skeleton;
	for (size_t i = 0; i < 9 * skeleton.joint_count; ++i)
		plan.inertia[i] = i % 9 % 4 == 0 ? 2.0 / 3.0 * SHELL * SHELL : 0.0;
	for (size_t k = 0; k < skeleton.joint_count; ++k)
		if (plan.carrier[k] >= 0 && (turns(plan.table + PLAN_COLUMNS * k) || plan.descendants[k] == 1))
			add_inertia(plan.inertia + 9 * plan.carrier[k], math::pow(double(plan.descendants[k]), SPREAD),
						plan.carried_offset + 3 * k);
	for (size_t e = 0; e < skeleton.end_count; ++e)
	{
		size_t k = size_t(skeleton.end_joints[e]);
		const double* site = skeleton.end_sites + 3 * e;
		double end[3];
		rotate(plan.carried_rotation + 4 * k, site, end);
		for (int a = 0; a < 3; ++a)
			end[a] = plan.carried_offset[3 * k + a] + end[a];
		if (turns(plan.table + PLAN_COLUMNS * k))
			add_inertia(plan.inertia + 9 * k, 1.0, site);
		else if (plan.carrier[k] >= 0)
			add_inertia(plan.inertia + 9 * plan.carrier[k], 1.0, end);
	}
}

// The world pose of a skeleton at its mean rotations.
struct MeanPose
{
	double *places, *turns; // (J, 3), (J, 4)

	MeanPose(const Plan& plan, double* memory)
		: places(memory), turns(memory + 3 * plan.skeleton->joint_count)
	{
		for (size_t j = 0; j < plan.skeleton->joint_count; ++j)
		{
			int32_t parent = plan.skeleton->parents[j];
			double *place = places + 3 * j, *turn = turns + 4 * j;
			copy(resting_place(plan, j), 3, place);
			copy(plan.still + 7 * j, 4, turn);
			if (parent < 0)
				continue;
			rotate(turns + 4 * parent, place, place);
			for (int a = 0; a < 3; ++a)
				place[a] = places[3 * parent + a] + place[a];
			multiply(turns + 4 * parent, turn, turn);
		}
	}
};

void add_point(const double* turn, const double* arm, double weight, const Costs& costs)
{
	double turned[3];
	rotate(turn, arm, turned);
	costs.add_point(load_vec(turned), weight);
}

// Adds the joint's origin, shell points and end sites. `end` is one past its last end site, and becomes its
// first.
void add_own(const Plan& plan, const MeanPose& pose, size_t joint, size_t* end, const Costs& costs)
{
	const mocpack_Skeleton& s = *plan.skeleton;
	const double* turn = pose.turns + 4 * joint;
	costs.add_point({0, 0, 0}, ORIGIN_WEIGHT);
	for (int a = 0; a < 3; ++a)
	{
		double axis[3] = {0, 0, 0};
		axis[a] = SHELL;
		add_point(turn, axis, SHELL_WEIGHT, costs);
	}
	for (; *end > 0 && size_t(s.end_joints[*end - 1]) == joint; --*end)
		add_point(turn, s.end_sites + 3 * (*end - 1), END_WEIGHT, costs);
}

// Computes the cost of a joint's rotation in its own frame.
void put_inertia(const Costs& costs, const double* world, double* inertia)
{
	double turn[9], half[9];
	matrix_of(load_quat(world), turn);
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			half[3 * r + c] = costs.at(3 + r, 3) * turn[c] + costs.at(3 + r, 4) * turn[3 + c] +
							  costs.at(3 + r, 5) * turn[6 + c];
	for (int r = 0; r < 3; ++r)
		for (int c = 0; c < 3; ++c)
			inertia[3 * r + c] = (turn[r] * half[c] + turn[3 + r] * half[3 + c] + turn[6 + r] * half[6 + c]) /
								 TYPICAL_RESIDUAL;
}

// Eliminates the best move along an axis given in `frame`.
void take_out_along(const double* frame, const double* axis, int from, const Costs& costs)
{
	double way[3];
	rotate(frame, axis, way);
	costs.eliminate(from, load_vec(way), 0.0);
}

// Computes how far a small rotation or displacement of each joint moves its descendants at the mean pose, for
// skeletons with hinges. The descendants compensate as much as they can.
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
		put_inertia(costs, pose.turns + 4 * j, plan.inertia + 9 * j);
		double frame[4], turned[4];
		copy(&hinges.rest.x, 4, frame);
		if (parent >= 0)
			multiply(pose.turns + 4 * parent, frame, frame);
		copy(frame, 4, turned);
		if (row[ROTATION_KIND] == HINGE_ROTATION)
			for (int32_t i = 0; i < hinges.turns; ++i)
			{
				const double* axis = hinges.axes + 3 * (hinges.slides + i);
				take_out_along(turned, axis, 3, costs);
				rotate_about(axis, MEAN_GRID * row[MEAN + i], turned);
			}
		else if (turns(row))
			costs.eliminate(3);
		plan.shift_cost[j] = (costs.at(0, 0) + costs.at(1, 1) + costs.at(2, 2)) / (3 * TYPICAL_RESIDUAL);
		if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
			for (int32_t i = 0; i < hinges.slides; ++i)
				take_out_along(frame, hinges.axes + 3 * i, 0, costs);
		else if (row[TRANSLATION_KIND] == MOVING_TRANSLATION)
			costs.eliminate(0);
		if (parent >= 0)
			Costs{work + 36 * parent}.add_child(costs, load_vec(pose.places + 3 * j) -
														   load_vec(pose.places + 3 * parent));
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

// Returns the limits of the channel of hinge i, given its zero and its unit in radians or meters.
ChannelLimits channel_limits(const JointHinges& hinges, int32_t clamped_hinges, int32_t i, double from,
							 double unit)
{
	if (!(clamped_hinges >> i & 1))
		return {-HUGE_VAL, HUGE_VAL, 0};
	const double* limits = hinges.limits + 2 * i;
	return {(limits[0] - from) / unit, (limits[1] - from) / unit, hinges.narrow(i) ? FULL_TURN / unit : 0};
}

// Clamps a freely moving joint to the limits of its hinges `first` to `first` + `count` - 1.
void hold_free(const Plan& plan, size_t joint, int32_t first, int32_t count, Track* track)
{
	track->own = plan.hinges + joint;
	track->clamped_hinges = plan.table[PLAN_COLUMNS * joint + CLAMPED_HINGES] >> first & ((1 << count) - 1);
}

void add_position(Plan* plan, size_t j, const JointHinges& hinges)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	Track track = {};
	track.joint = int32_t(j), track.kind = POSITION_TRACK, track.channels = 3;
	track.first_channel = int32_t(plan->channel_count);
	track.parent = track.hinge = -1, track.family = j ? 1 : 0;
	double unit = plan->skeleton->hinge_count ? 1.0 / std::sqrt(plan->shift_cost[j])
											  : 1.0 / math::pow(double(plan->descendants[j]), 0.5 * SPREAD);
	store(track.base, load_vec(resting_place(*plan, j)));
	if (row[TRANSLATION_KIND] == SLIDING_TRANSLATION)
	{
		track.channels = hinges.slides, track.hinge = int32_t(hinges.first);
		for (int32_t i = 0; i < hinges.slides; ++i)
		{
			rotate(&hinges.rest.x, hinges.axes + 3 * i, track.axes + 3 * i);
			for (int a = 0; a < 3; ++a)
				track.axes[3 * i + a] *= unit;
			track.limits[i] = channel_limits(hinges, row[CLAMPED_HINGES], i, 0.0, unit);
		}
	}
	else
	{
		for (int a = 0; a < 3; ++a)
			track.axes[4 * a] = unit;
		hold_free(*plan, j, 0, hinges.slides, &track);
	}
	track.key_index = row[TRANSLATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	add_track(plan, track);
}

// Computes the inverse square root of a joint's inertia, or copies that of another plan with equal inertia.
const double* find_inverse_root(const Plan& plan, size_t joint, const Plan* like)
{
	const double* inertia = plan.inertia + 9 * joint;
	double* root = plan.inverse_root + 9 * joint;
	if (!SMALL_BUILD && like && like->table[PLAN_COLUMNS * joint + ROTATION_KIND] == VECTOR_ROTATION &&
		!std::memcmp(inertia, like->inertia + 9 * joint, 9 * sizeof(double)))
		copy(like->inverse_root + 9 * joint, 9, root);
	else
		inverse_square_root(inertia, root);
	return root;
}

// Axes of a rotation vector: column c of axes = root * (column c of turn), where root is the inverse square
// root of the inertia.
void vector_axes(const double* root, const int32_t* basis, double* axes)
{
	double turn[9], turned[4];
	turn_by(1.0 / (1 << AXES_BITS), basis, turned);
	matrix_of(load_quat(turned), turn);
	for (int c = 0; c < 3; ++c)
		for (int a = 0; a < 3; ++a)
			axes[3 * c + a] =
				root[3 * a] * turn[c] + root[3 * a + 1] * turn[3 + c] + root[3 * a + 2] * turn[6 + c];
}

// Scales a hinge axis so that a unit of rotation about it moves the carried points by 1 m² (weighted sum of
// squares).
Vec3 hinge_axis(const double* inertia, Vec3 axis)
{
	const double* m = inertia;
	Vec3 moved = {m[0] * axis.x + m[1] * axis.y + m[2] * axis.z,
				  m[3] * axis.x + m[4] * axis.y + m[5] * axis.z,
				  m[6] * axis.x + m[7] * axis.y + m[8] * axis.z};
	return 1.0 / std::sqrt(dot(axis, moved)) * axis;
}

void add_rotation(Plan* plan, size_t j, int32_t parent_track, const JointHinges& hinges, const Plan* like)
{
	const int32_t* row = plan->table + PLAN_COLUMNS * j;
	const int32_t kind = row[ROTATION_KIND];
	const double* inertia = plan->inertia + 9 * j;
	Track track = {};
	track.joint = int32_t(j), track.parent = parent_track, track.hinge = -1;
	track.shares_reference = row[SHARES_REFERENCE] && parent_track >= 0;
	track.reference =
		track.shares_reference ? plan->tracks[parent_track].reference : plan->skeleton->parents[j];
	plan->shares_references = plan->shares_references || track.shares_reference;
	track.first_channel = int32_t(plan->channel_count);
	track.family = kind != QUATERNION_ROTATION ? vector_family(plan->descendants[j]) : j ? 3 : 2;
	track.key_index = row[ROTATION_KEY_STEP];
	track.key_step = key_step_of(plan->unit, track.key_index);
	store(track.base, kind == QUATERNION_ROTATION ? Quat{0, 0, 0, 1}
					  : kind == HINGE_ROTATION	  ? hinges.rest
												  : load_quat(plan->still + 7 * j));
	if (kind == VECTOR_ROTATION)
	{
		track.kind = VECTOR_TRACK, track.channels = 3;
		vector_axes(find_inverse_root(*plan, j, like), row + BASIS, track.axes);
	}
	else if (kind == HINGE_ROTATION)
	{
		track.kind = HINGE_TRACK, track.channels = hinges.turns;
		track.hinge = int32_t(hinges.first) + hinges.slides;
		for (int32_t i = 0; i < hinges.turns; ++i)
		{
			Vec3 axis = hinge_axis(inertia, hinges.turn_axis(i));
			store(track.axes + 3 * i, axis);
			track.angles[i] = MEAN_GRID * row[MEAN + i];
			track.limits[i] = channel_limits(hinges, row[CLAMPED_HINGES], hinges.slides + i, track.angles[i],
											 std::sqrt(dot(axis, axis)));
		}
	}
	else
		track.kind = QUATERNION_TRACK, track.channels = 4,
		track.axes[0] = 0.5 / std::sqrt((inertia[0] + inertia[4] + inertia[8]) / 3.0);
	if (kind != HINGE_ROTATION)
		hold_free(*plan, j, hinges.slides, hinges.turns, &track);
	add_track(plan, track);
}

// Lays out the arrays of a plan and the memory to build it. Returns work memory (J, 43) and sets `tracks`
// (J).
double* lay_out(Plan* plan, size_t joints, Arena* arena, int32_t** tracks)
{
	plan->still = arena->allocate<double>(7 * joints);
	plan->carried_offset = arena->allocate<double>(3 * joints);
	plan->carried_rotation = arena->allocate<double>(4 * joints);
	plan->inertia = arena->allocate<double>(9 * joints);
	plan->inverse_root = arena->allocate<double>(9 * joints);
	plan->shift_cost = arena->allocate<double>(joints);
	plan->tracks = arena->allocate<Track>(2 * joints);
	plan->hinges = arena->allocate<JointHinges>(joints);
	plan->descendants = arena->allocate<int32_t>(joints);
	plan->carrier = arena->allocate<int32_t>(joints);
	*tracks = arena->allocate<int32_t>(joints);
	return arena->allocate<double>(43 * joints);
}

} // namespace

Quat local_rotation(const Plan& plan, const Track& track, Quat above, Quat turn)
{
	const int32_t parent = plan.skeleton->parents[track.joint];
	if (!turns(plan.table + PLAN_COLUMNS * parent))
		above = multiply(above, load_quat(plan.carried_rotation + 4 * parent));
	return multiply(conjugate(above), turn);
}

size_t plan_size(size_t joints)
{
	Arena arena(nullptr);
	Plan plan;
	int32_t* tracks;
	lay_out(&plan, joints, &arena, &tracks);
	return arena.used();
}

bool build_plan(Plan* plan, uint8_t* memory, mocpack_Fault* fault, const Plan* like)
{
	size_t joints = plan->skeleton->joint_count;
	Arena arena(memory);
	int32_t* rotation_track; // of each joint or its nearest ancestor
	double* work = lay_out(plan, joints, &arena, &rotation_track);
	plan->track_count = plan->channel_count = 0, plan->shares_references = false;
	HingeCursor hinges(*plan->skeleton);
	for (size_t j = 0; j < joints; ++j)
		plan->hinges[j] = hinges.at(j);
	if (!valid(*plan, fault))
		return false;
	fill_still(*plan);
	count_descendants(*plan);
	fill_carried(*plan);
	if (plan->skeleton->hinge_count)
		fill_hinged_inertia(*plan, work);
	else if (!SMALL_BUILD && like && has_same_inertia(*plan, *like))
		copy(like->inertia, 9 * joints, plan->inertia);
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
			add_rotation(plan, j, above, own, like);
		}
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
