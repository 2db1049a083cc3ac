// Codes poses so that no joint, end site or point of the skin leaves the bound, with as few news as that
// takes.
//
// Receivers go on moving as before where nothing is said. A body is corrected when one of its points would
// stray too far; it is then aimed at where its far end really is, from where it stands itself.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/arena.h"
#include "live/end.h"
#include "live/live.h"
#include "math/turns.h"

using namespace mocpack;
using namespace mocpack::live;

namespace
{

const size_t KEPT_ROWS = 64;
const double JOINT_ROOM = 0.65; // of the bound, that a joint may be off before what moves it is corrected
const double LAST_ROOM = 0.97;	// a point on which nothing hangs
const double PLACE_ROOM = 0.45;
const double HINGE_ROOM = 0.5;
const double WORTH = 0.1;  // of the bound: what a correction must gain
const double AIMED = 0.02; // metres: shorter bones are not aimed
const uint8_t TIGHTEST = 2;
const double ROOMS[TIGHTEST + 1] = {1, 0.6, 0}; // of the bound, that leaving something out may take
const int MOST_TRIES = 24;						// to keep the bound by coding some bodies closer

struct KeptRow
{
	int64_t number, time;
	mocpack_LiveRow row;
};

} // namespace

// `worlds` are those that receivers have.
struct mocpack_LiveEncoder : End
{
	uint8_t* bytes;		// (KEPT_ROWS, row_room)
	KeptRow* kept;		// (KEPT_ROWS)
	Quat* true_worlds;	// (J)
	Vec3* true_places;	// (J)
	Vec3* places;		// (B) that receivers have
	Vec3* targets;		// (points) of the body at hand
	FixedQuat* told;	// (units) turns of an intra frame
	double* errors;		// (B) metres that each is off
	uint8_t* tight;		// (B) how close each is coded, of ROOMS
	uint8_t* coded;		// (B) whether it was in this try
	double bound, room; // metres; and the part of it that leaving something out may take
	int refined;
	bool finite;

	void solve_truth(const double* rotations, const double* translations)
	{
		finite = true;
		for (size_t j = 0; j < model.joint_count; ++j)
		{
			Quat turn = load_quat(rotations + 4 * j);
			double n = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
			finite = finite && n > 0.5 && n < 2;
			const double* at =
				model.columns[j] >= 0 ? translations + 3 * model.columns[j] : model.offsets + 3 * j;
			Vec3 place = load_vec(at);
			finite = finite && std::fabs(place.x) + std::fabs(place.y) + std::fabs(place.z) < 1e5;
			int32_t parent = model.parents[j];
			if (parent >= 0)
			{
				place = true_places[parent] + rotate(true_worlds[parent], place);
				turn = multiply(true_worlds[parent], turn);
			}
			true_places[j] = place;
			true_worlds[j] = turn;
		}
	}

	void find_targets(const Body& body)
	{
		int32_t joint = -1;
		MatrixOf<double> world;
		for (int32_t i = 0; i < body.point_count; ++i)
		{
			const Point& point = model.points[body.first_point + i];
			targets[i] = true_places[point.joint];
			if (!point.skin && point.own.x == 0 && point.own.y == 0 && point.own.z == 0)
				continue;
			if (point.joint != joint)
				joint = point.joint, world = as_matrix(true_worlds[joint]);
			targets[i] = targets[i] + rotate(world, point.own);
		}
	}

	// The largest displacement of a body's points, and (`strain`) the largest against what each may have.
	double stray(const Body& body, Vec3 at, Quat world, double joint_room, double* strain) const
	{
		double last = 0, joint = 0;
		const MatrixOf<double> turn = as_matrix(world);
		for (int32_t i = 0; i < body.point_count; ++i)
		{
			const Point& point = model.points[body.first_point + i];
			if (point.skin && !state.mode.twist)
				continue;
			Vec3 off = at + rotate(turn, point.at) - targets[i];
			double square = dot(off, off);
			double& most = point.hangs ? joint : last;
			most = square > most ? square : most;
		}
		joint = std::sqrt(joint), last = std::sqrt(last);
		double a = joint / joint_room, b = last / LAST_ROOM;
		*strain = a > b ? a : b;
		return joint > last ? joint : last;
	}

	// Where the body should be turned: its far end aimed at the truth, from where it stands.
	Quat aimed(const Body& body, Vec3 at) const
	{
		Quat truth = true_worlds[body.joint];
		if (body.far < AIMED)
			return truth;
		Vec3 now = rotate(truth, body.axis), end = true_places[body.joint] + body.far * now;
		return multiply(shortest_turn(now, unit_or(end - at, now)), truth);
	}

	double code_place(const Body& body, Vec3 base_at, Quat base, Vec3* at)
	{
		const Unit& unit = model.units[body.place];
		int32_t* news = row.news + unit.first;
		Vec3 truth = true_places[body.joint];
		Vec3 wanted = rotate(conjugate(base), truth - base_at) - unit.base;
		double ways[NUMBERS];
		ways_to(unit, wanted, ways);
		int64_t values[NUMBERS], predicted[NUMBERS];
		for (int k = 0; k < unit.count; ++k)
		{
			size_t n = size_t(unit.first + k);
			predicted[k] = row.intra ? 0 : state.values[n] + state.rates[n];
			news[k] = steps_to(ways[k] * LENGTH_SCALE - double(predicted[k]), step_of(state, n, refined));
		}
		auto off = [&](const int32_t* tried)
		{
			for (int k = 0; k < unit.count; ++k)
				values[k] = predicted[k] + tried[k] * step_of(state, size_t(unit.first + k), refined);
			*at = base_at + rotate(base, place_of(unit, values));
			return std::sqrt(dot(*at - truth, *at - truth));
		};
		if (!row.intra)
			leave_out(unit, news, [&](const int32_t* tried) { return off(tried) <= PLACE_ROOM * room; });
		return off(news);
	}

	double code_turn(const Body& body, Vec3 at, Quat* world)
	{
		size_t u = size_t(body.turn);
		const Unit& unit = model.units[u];
		int32_t* news = row.news + unit.first;
		if (row.intra)
		{
			*world = tell_turn(unit, u, aimed(body, at));
			double strain;
			return stray(body, at, *world, JOINT_ROOM, &strain);
		}
		FixedQuat predicted = predicted_turn(state, unit, u);
		*world = near_quat(predicted);
		double strain, far = stray(body, at, *world, JOINT_ROOM, &strain);
		news[0] = news[1] = news[2] = 0;
		if (strain <= room)
			return far;
		Quat left = multiply(conjugate(*world), aimed(body, at));
		double sign = left.w < 0 ? -1 : 1;
		Vec3 vector = {sign * left.x, sign * left.y, sign * left.z};
		int count = unit.count - (!state.mode.twist && unit.idle_twist);
		for (int k = 0; k < count; ++k)
			news[k] = steps_to(dot(unit.axes[k], vector) * double(ONE),
							   step_of(state, size_t(unit.first + k), refined));
		int64_t parts[3];
		auto turned = [&](const int32_t* tried)
		{ return near_quat(corrected_turn(state, unit, predicted, tried, refined, parts)); };
		Quat found = turned(news);
		double best, nearest = stray(body, at, found, JOINT_ROOM, &best);
		if (strain <= bound && best + WORTH * bound >= strain && far <= nearest + WORTH * bound &&
			far < LAST_ROOM * bound && room > 0)
		{
			news[0] = news[1] = news[2] = 0;
			return far;
		}
		*world = found;
		leave_out_parts(unit, news,
						[&](const int32_t* tried)
						{
							double tense;
							found = turned(tried);
							far = stray(body, at, found, JOINT_ROOM, &tense);
							if (tense <= room)
								*world = found, nearest = far;
							return tense <= room;
						});
		return nearest;
	}

	// As `as_quat`, by one step of Newton's: turns are of unit length but for their last bits.
	static Quat near_quat(FixedQuat q)
	{
		const double s = 1.0 / double(ONE);
		double x = double(q.x) * s, y = double(q.y) * s, z = double(q.z) * s, w = double(q.w) * s;
		double n = 1.5 - 0.5 * (x * x + y * y + z * z + w * w);
		return {x * n, y * n, z * n, w * n};
	}

	// The numbers of a turn in an intra frame, and what they come to.
	Quat tell_turn(const Unit& unit, size_t u, Quat wanted)
	{
		Quat anchor = unit.anchor < 0 ? Quat{0, 0, 0, 1} : as_quat(told[unit.anchor]);
		Quat q = multiply(conjugate(anchor), wanted);
		double parts[4] = {q.x, q.y, q.z, q.w};
		int largest = LARGEST_INDEX;
		for (int k = 0; k < 3; ++k)
			if (std::fabs(parts[k]) > std::fabs(parts[largest]) + 1e-9)
				largest = k;
		double sign = parts[largest] < 0 ? -1 : 1;
		parts[largest] = parts[3];
		int64_t step = intra_step(unit, state, refined);
		for (int k = 0; k < 3; ++k)
			row.news[unit.first + k] = steps_to(sign * parts[k] * double(ONE), step);
		row.largest[u] = uint8_t(largest);
		FixedQuat* turns = state.turns; // `told_turn` counts from the frame at hand
		state.turns = told;
		told[u] = told_turn(state, unit, row.news + unit.first, largest, refined);
		state.turns = turns;
		return as_quat(told[u]);
	}

	double code_hinge(const Body& body, Vec3 at, Quat base, Quat* world)
	{
		const Unit& unit = model.units[body.turn];
		int32_t* news = row.news + unit.first;
		double angles[2];
		Quat local = multiply(conjugate(body.rest), multiply(conjugate(base), aimed(body, at)));
		angles_of(unit, local, angles);
		int64_t values[2], predicted[2];
		for (int k = 0; k < unit.count; ++k)
		{
			size_t n = size_t(unit.first + k);
			double known = double(state.values[n] + state.rates[n]) / ANGLE_SCALE;
			angles[k] += 2 * PI * std::floor((known - angles[k]) / (2 * PI) + 0.5);
			predicted[k] = row.intra ? 0 : state.values[n] + state.rates[n];
			news[k] = steps_to(angles[k] * ANGLE_SCALE - double(predicted[k]), step_of(state, n, refined));
		}
		auto turned = [&](const int32_t* tried)
		{
			for (int k = 0; k < unit.count; ++k)
				values[k] = predicted[k] + tried[k] * step_of(state, size_t(unit.first + k), refined);
			return multiply(base, hinge_turn(body, unit, values));
		};
		double lever = unit.levers[0];
		Quat truth = true_worlds[body.joint];
		if (!row.intra)
			leave_out(unit, news,
					  [&](const int32_t* tried)
					  {
						  double tense;
						  Quat found = turned(tried), left = multiply(conjugate(truth), found);
						  Vec3 v = {left.x, left.y, left.z};
						  stray(body, at, found, JOINT_ROOM, &tense);
						  return tense <= room && 2 * std::sqrt(dot(v, v)) * lever <= HINGE_ROOM * room;
					  });
		*world = turned(news);
		double strain;
		return stray(body, at, *world, JOINT_ROOM, &strain);
	}

	// Leaves out of a correction all that may be, the smallest parts first.
	template <typename Good> void leave_out(const Unit& unit, int32_t* news, const Good& good) const
	{
		const int32_t none[NUMBERS] = {0, 0, 0};
		if (room > 0 && good(none))
		{
			memcpy(news, none, unit.count * sizeof(int32_t));
			return;
		}
		leave_out_parts(unit, news, good);
	}

	// The same where leaving all out is known to be too much.
	template <typename Good> void leave_out_parts(const Unit& unit, int32_t* news, const Good& good) const
	{
		for (int tries = 1; tries < unit.count && room > 0; ++tries)
		{
			int least = -1;
			for (int k = 0; k < unit.count; ++k)
				if (news[k] && (least < 0 || std::abs(news[k]) < std::abs(news[least])))
					least = k;
			if (least < 0)
				return;
			int32_t kept_news = news[least];
			news[least] = 0;
			if (!good(news))
			{
				news[least] = kept_news;
				return;
			}
		}
	}

	static int32_t steps_to(double wanted, int64_t step)
	{
		double n = std::floor(wanted / double(step) + 0.5);
		return int32_t(n > 5e8 ? 5e8 : n < -5e8 ? -5e8 : n);
	}

	static void ways_to(const Unit& unit, Vec3 wanted, double* ways)
	{
		if (unit.count == 1)
		{
			ways[0] = dot(unit.axes[0], wanted);
			return;
		}
		// least squares: (AᵀA) ways = Aᵀ wanted
		double a[6] = {1, 1, 1, dot(unit.axes[0], unit.axes[1]), 0, 0};
		Vec3 right = {dot(unit.axes[0], wanted), dot(unit.axes[1], wanted), 0};
		if (unit.count == 3)
		{
			a[4] = dot(unit.axes[0], unit.axes[2]), a[5] = dot(unit.axes[1], unit.axes[2]);
			right.z = dot(unit.axes[2], wanted);
		}
		Vec3 found = solve(a, 0, right);
		ways[0] = found.x, ways[1] = found.y, ways[2] = found.z;
	}

	static double twist_of(Quat q, Vec3 axis)
	{
		return 2 * std::atan2(dot({q.x, q.y, q.z}, axis), q.w);
	}

	static void angles_of(const Unit& unit, Quat local, double* angles)
	{
		if (unit.count == 1)
		{
			angles[0] = twist_of(local, unit.axes[0]);
			return;
		}
		Vec3 first = unit.axes[0], second = unit.axes[1], flat = second - dot(second, first) * first;
		Vec3 there = rotate(local, second);
		angles[0] = std::atan2(dot(cross(flat, there), first), dot(there, flat));
		double s = std::sin(-0.5 * angles[0]);
		Quat back = {s * first.x, s * first.y, s * first.z, std::cos(0.5 * angles[0])};
		angles[1] = twist_of(multiply(back, local), second);
	}

	// Codes a body; returns how far it is off.
	double code_body(size_t b)
	{
		const Body& body = model.bodies[b];
		Quat base = body.parent < 0 ? Quat{0, 0, 0, 1} : worlds[body.parent];
		Vec3 base_at = body.parent < 0 ? Vec3{0, 0, 0} : places[body.parent];
		double placed = 0, off, strain;
		find_targets(body);
		worlds[b] = base;
		if (body.place >= 0)
			placed = code_place(body, base_at, base, &places[b]);
		else
			places[b] = base_at + rotate(base, body.at);
		if (body.turn < 0)
			off = stray(body, places[b], base, JOINT_ROOM, &strain);
		else if (model.units[body.turn].kind == TURN)
			off = code_turn(body, places[b], &worlds[b]);
		else
			off = code_hinge(body, places[b], base, &worlds[b]);
		return off > placed ? off : placed;
	}

	// Codes body `first` and all that it carries, and those from `known` on, which are not coded yet; returns
	// the first that leaves the bound, or their count.
	size_t find_row(size_t first, size_t known)
	{
		row.refined = refined;
		for (size_t b = first; b < model.body_count; ++b)
		{
			int32_t parent = model.bodies[b].parent;
			coded[b] = b == first || b >= known || (parent >= int32_t(first) && coded[parent]);
			if (!coded[b])
				continue;
			room = ROOMS[tight[b]] * bound;
			errors[b] = code_body(b);
			if (errors[b] > bound)
				return b;
		}
		return model.body_count;
	}

	// The nearest body above one that leaves the bound which may still be coded closer; -1 for none.
	int32_t looser_above(size_t failed) const
	{
		int32_t b = model.bodies[failed].parent;
		while (b >= 0 && tight[b] == TIGHTEST)
			b = model.bodies[b].parent;
		return b;
	}

	/* Leaves out what it can. Where a body leaves the bound it is what carries it that stands wrong: that is
	 * coded closer, and all after it again. Then everything closer, and with finer steps. */
	double find_good_row()
	{
		refined = 0;
		memset(tight, row.intra ? TIGHTEST : 0, model.body_count);
		size_t failed = find_row(0, 0);
		for (int tries = 0; failed < model.body_count && tries < MOST_TRIES; ++tries)
		{
			int32_t b = looser_above(failed);
			if (b < 0)
				break;
			++tight[b];
			failed = find_row(size_t(b), failed);
		}
		memset(tight, TIGHTEST, model.body_count);
		while (failed < model.body_count)
		{
			failed = find_row(0, 0);
			if (refined++ == MOST_REFINED)
				break;
		}
		double largest = 0;
		for (size_t b = 0; b < model.body_count; ++b)
			largest = errors[b] > largest ? errors[b] : largest;
		return failed < model.body_count ? HUGE_VAL : largest;
	}

	// Rates are a frame's; a frame may come to be longer or shorter.
	void tell_rates(int every_before)
	{
		double longer = every_before ? double(state.mode.every) / every_before : 1;
		for (size_t n = 0; n < model.number_count; ++n)
		{
			int64_t step = step_of(state, n, 0);
			double rate = longer * double(state.rates[n]) * RATE_PARTS / double(step);
			row.rates[n] = int32_t(clamped(int64_t(std::floor(rate + 0.5)), 1 << 28));
		}
	}
};

namespace
{

mocpack_LiveEncoder* place_encoder(const uint8_t* hello, size_t size, Arena& arena)
{
	mocpack_LiveEncoder made = {}, *e = arena.take<mocpack_LiveEncoder>(1);
	if (!place_end(hello, size, arena, &made))
		return nullptr;
	const Model& model = made.model;
	made.bytes = arena.take<uint8_t>(KEPT_ROWS * made.row_room);
	made.kept = arena.take<KeptRow>(KEPT_ROWS);
	made.true_worlds = arena.take<Quat>(model.joint_count);
	made.true_places = arena.take<Vec3>(model.joint_count);
	made.places = arena.take<Vec3>(model.body_count);
	made.targets = arena.take<Vec3>(model.point_room);
	made.told = arena.take<FixedQuat>(model.unit_count);
	made.errors = arena.take<double>(model.body_count);
	made.tight = arena.take<uint8_t>(model.body_count);
	made.coded = arena.take<uint8_t>(model.body_count);
	if (!e)
		return nullptr;
	new (e) mocpack_LiveEncoder(made);
	for (size_t i = 0; i < KEPT_ROWS; ++i)
		e->kept[i].number = -1;
	return e;
}

} // namespace

size_t mocpack_live_encoder_size(const uint8_t* hello, size_t size)
{
	Arena counting(nullptr);
	place_encoder(hello, size, counting);
	return counting.used();
}

mocpack_LiveEncoder* mocpack_live_encoder_open(const uint8_t* hello, size_t size, void* memory)
{
	Arena arena(memory);
	return place_encoder(hello, size, arena);
}

mocpack_Status mocpack_live_encode(mocpack_LiveEncoder* e, const double* rotations,
								   const double* translations, int64_t time, int intra,
								   const mocpack_LiveMode* mode, double* error)
{
	e->solve_truth(rotations, translations);
	if (!e->finite)
		return MOCPACK_UNREACHABLE;
	State& state = e->state;
	Mode before = state.mode;
	if (!before.bound)
		before.every = 0; // nothing moved yet
	e->row.intra = intra || state.number < 0;
	if (e->row.intra)
	{
		state.mode.bound = mode->bound, state.mode.every = mode->every, state.mode.twist = mode->twist;
		steps_of(e->model, state.mode.bound, 0, state.steps);
	}
	e->bound = state.mode.bound / 1e6;
	*error = e->find_good_row();
	if (*error > e->bound && !e->row.intra)
	{
		// a leap: what it was does not matter to what it is
		memset(state.rates, 0, e->model.number_count * sizeof(int64_t));
		e->row.intra = true;
		*error = e->find_good_row();
	}
	if (*error > e->bound)
	{
		state.mode = before;
		steps_of(e->model, before.bound ? before.bound : e->model.bound, 0, state.steps);
		return MOCPACK_UNREACHABLE;
	}
	if (e->row.intra)
		e->tell_rates(before.every);
	int64_t number = state.number + 1;
	KeptRow& kept = e->kept[size_t(number) % KEPT_ROWS];
	uint8_t* bytes = e->bytes + size_t(number) % KEPT_ROWS * e->row_room;
	kept.number = number;
	kept.time = time;
	kept.row = {0, e->row.intra, bytes, write_row(e->model, state, e->learned, e->row, bytes, e->row_room)};
	if (!kept.row.size)
		return MOCPACK_NO_MEMORY;
	take_on(*e, number);
	return MOCPACK_OK;
}

const mocpack_LiveRow* mocpack_live_row(mocpack_LiveEncoder* e, int64_t number, int64_t* time)
{
	if (number < 0)
		return nullptr;
	const KeptRow& kept = e->kept[size_t(number) % KEPT_ROWS];
	*time = kept.time;
	return kept.number == number ? &kept.row : nullptr;
}

void mocpack_live_encoded_pose(mocpack_LiveEncoder* e, double* rotations, double* translations)
{
	pose_of(e->model, e->state, e->worlds, rotations, translations);
}

uint32_t mocpack_live_encoder_checksum(const mocpack_LiveEncoder* e)
{
	return checksum_of(e->model, e->state);
}
