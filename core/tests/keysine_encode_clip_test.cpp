// keysine's encoder in one call: every target is kept, memory is given back whatever happens, and a callback
// stops it.
#include "counter.h"
#include "keysine_clip.h"

#include "keysine/encode/encode_clip.h"
#include "keysine/encode/retries.h"
#include "math/clip_errors.h"

using namespace mocpack::keysine;

namespace
{

const char* const NAMES[JOINTS] = {"Hips", "Arm", "Hand", "LeftFoot"};
const ClipTarget PLAIN = {0.005, 0, 0, 0, MOCPACK_KEYSINE_DEFAULT, MOCPACK_KEYSINE_AUTO, 1.0, 0, 1};

// Stops the encoder after that many calls.
struct Stopper
{
	size_t calls = 0, stop_at = SIZE_MAX;
	double last = 0;

	static int progress(void* user, double share)
	{
		Stopper* self = static_cast<Stopper*>(user);
		self->last = share;
		check(share >= 0 && share <= 1, "progress is a share");
		return ++self->calls > self->stop_at;
	}
};

struct TestEncoder
{
	Body body;
	Counter counter;
	Stopper stopper;
	SourceClip clip;
	mocpack::WorkContext work;

	explicit TestEncoder(size_t frames = FRAMES)
	{
		clip = {&body.skeleton, NAMES, body.rotations.data(), body.translations.data(), frames, 100};
		work = {counter.allocator(), &stopper, 1, nullptr, Stopper::progress, nullptr};
	}

	mocpack_Status run(const ClipTarget& target, Bytes* payload, mocpack_ClipErrors* errors)
	{
		mocpack_Status status;
		{
			EncodedClip made;
			status = encode_clip(clip, target, work, Constants(), &made);
			if (status == MOCPACK_OK)
			{
				payload->assign(made.payload.data(), made.payload.data() + made.payload.size());
				Memory scratch(mocpack_clip_errors_scratch_size(JOINTS));
				mocpack_clip_errors(&body.skeleton, clip.rotations, clip.translations, made.rotations.data(),
									made.translations.data(), clip.frame_count, 0.03, scratch.at, errors,
									nullptr, nullptr, nullptr, nullptr);
			}
		}
		check(counter.held == 0, "all memory is given back");
		return status;
	}
};

ClipTarget target_of(double max_error, int effort, int mode, int layers)
{
	ClipTarget target = PLAIN;
	target.max_error = max_error, target.effort = effort, target.mode = mode, target.layers = layers;
	return target;
}

void bounds_are_kept()
{
	const ClipTarget targets[] = {
		target_of(0.01, MOCPACK_KEYSINE_FAST, MOCPACK_KEYSINE_AUTO, 1),
		target_of(0.005, MOCPACK_KEYSINE_DEFAULT, MOCPACK_KEYSINE_AUTO, 1),
		target_of(0.0002, MOCPACK_KEYSINE_DEFAULT, MOCPACK_KEYSINE_AUTO, 1),
		target_of(0.002, MOCPACK_KEYSINE_BEST, MOCPACK_KEYSINE_TRANSFORM, 1),
		target_of(0.0005, MOCPACK_KEYSINE_FAST, MOCPACK_KEYSINE_GRID, 1),
		target_of(0.001, MOCPACK_KEYSINE_FAST, MOCPACK_KEYSINE_TRANSFORM, 3),
	};
	for (const ClipTarget& target : targets)
		for (size_t frames : {FRAMES, size_t(1), size_t(2), size_t(17)})
		{
			TestEncoder encoder(frames);
			Bytes payload;
			mocpack_ClipErrors errors;
			check(encoder.run(target, &payload, &errors) == MOCPACK_OK &&
					  errors.promised_max <= target.max_error,
				  "a bound is kept");
		}
}

void other_targets_are_kept()
{
	TestEncoder encoder;
	Bytes payload, finer;
	mocpack_ClipErrors errors;
	ClipTarget target = PLAIN;
	target.mean_error = 0.001;
	check(encoder.run(target, &payload, &errors) == MOCPACK_OK && errors.joint_mean <= 0.001,
		  "a mean is kept");
	target.mean_error = 0, target.step = 0.01;
	check(encoder.run(target, &payload, &errors) == MOCPACK_OK, "a step is taken");
	target.step = 0.002;
	check(encoder.run(target, &finer, &errors) == MOCPACK_OK && finer.size() > payload.size(),
		  "a finer step takes more bytes");
	target.step = 0, target.max_angle = 0.01;
	check(encoder.run(target, &payload, &errors) == MOCPACK_OK && errors.promised_max <= target.max_error,
		  "an angle is kept beside a bound");
	target = PLAIN, target.max_error = 1e-13;
	check(encoder.run(target, &payload, &errors) == MOCPACK_BOUND_NOT_MET,
		  "a bound that cannot be met has its own status");
}

// Out of memory at any point is a status, and everything that was taken goes back.
void memory_may_run_out()
{
	TestEncoder encoder(40);
	Bytes payload;
	mocpack_ClipErrors errors;
	const ClipTarget target = target_of(0.002, MOCPACK_KEYSINE_DEFAULT, MOCPACK_KEYSINE_TRANSFORM, 2);
	check(encoder.run(target, &payload, &errors) == MOCPACK_OK, "with enough memory");
	const size_t calls = encoder.counter.calls, stride = calls / 60 + 1;
	for (size_t at = 0; at < calls; at += stride)
	{
		encoder.counter.calls = 0, encoder.counter.fail_at = at;
		check(encoder.run(target, &payload, &errors) == MOCPACK_NO_MEMORY, "no memory is a status");
	}
}

void a_callback_stops_it()
{
	TestEncoder encoder;
	Bytes payload;
	mocpack_ClipErrors errors;
	check(encoder.run(PLAIN, &payload, &errors) == MOCPACK_OK && encoder.stopper.last == 1,
		  "progress ends at 1");
	const size_t calls = encoder.stopper.calls;
	check(calls > 50, "progress is reported often");
	for (size_t at = 0; at < calls; at += calls / 20 + 1)
	{
		encoder.stopper.calls = 0, encoder.stopper.stop_at = at;
		check(encoder.run(PLAIN, &payload, &errors) == MOCPACK_CANCELED, "the encoder stops");
		check(encoder.stopper.calls <= at + 2, "at once");
	}
}

void targets_that_make_no_sense_are_refused()
{
	TestEncoder encoder;
	Bytes payload;
	mocpack_ClipErrors errors;
	ClipTarget targets[6];
	std::fill(targets, targets + 6, PLAIN);
	targets[0].max_error = 0, targets[1].layers = 17, targets[2].effort = 3, targets[3].mode = -1;
	targets[4].group_seconds = 0, targets[5].step = 0.01, targets[5].max_angle = 0.1;
	for (const ClipTarget& target : targets)
		check(encoder.run(target, &payload, &errors) == MOCPACK_BAD_ARGUMENT, "a bad target is refused");
}

struct Retrying
{
	TestEncoder encoder;
	EncodeTask task{encoder.clip, PLAIN, encoder.work, Constants()};
	Artifacts artifacts;

	Artifacts& seen(double jitter, double foot)
	{
		artifacts.jitter = jitter;
		task.take(&artifacts.skates, JOINTS);
		artifacts.skates[3] = foot;
		return artifacts;
	}
};

bool near(double a, double b)
{
	return std::fabs(a - b) < 1e-12;
}

void each_artifact_has_its_remedy()
{
	Retrying r;
	RetryPolicy policy;
	check(next_policy(&r.task, 1, r.seen(0.5, 1.1), &policy), "a foot that skates is retried");
	check(policy.level == 0 && policy.jitter_ratio == 1 && policy.grid_level == 0 &&
			  policy.shares.size() == JOINTS && near(policy.shares[3], 0.95 / 1.1) && policy.shares[0] == 1,
		  "only the foot that skates is given less");
	check(next_policy(&r.task, 2, r.seen(1.5, 9.0), &policy) && policy.jitter_ratio == 8 &&
			  policy.grid_level == 1 && near(policy.shares[3], 0.95 / 1.1 * 0.95 * 0.95 / 9.0),
		  "jitter and a foot are each given their remedy at once");
	RetryPolicy jitter;
	check(next_policy(&r.task, 1, r.seen(1.5, 0), &jitter) && jitter.level == 0 && jitter.jitter_ratio == 8,
		  "jitter is penalized higher first");
	check(next_policy(&r.task, 2, r.seen(1.5, 0), &jitter) && jitter.level == 1 && jitter.jitter_ratio == 64,
		  "then all joints aim at a smaller bound, too");
}

} // namespace

int main()
{
	setvbuf(stdout, nullptr, _IONBF, 0); // unbuffered, because a sanitizer may abort
	bounds_are_kept();
	other_targets_are_kept();
	memory_may_run_out();
	a_callback_stops_it();
	targets_that_make_no_sense_are_refused();
	each_artifact_has_its_remedy();
	if (!failures)
		printf("keysine's encoder: good\n");
	return failures != 0;
}
