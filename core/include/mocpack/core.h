// mocpack core: the kernels shared by the Python package, the viewer and anyone's C program.
//
// C ABI, C++17 inside, no dependencies, no exceptions, no globals; memory is the caller's.
// Encoders return the bytes written, 0 if `dst` is too small. Decoders return a mocpack_Status and
// are safe on untrusted bytes: they read nothing past `src` and write nothing past `dst`.
// Lengths are metres, angles radians, quaternions (x, y, z, w); arrays are dense, frame-major.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_Status
	{
		MOCPACK_OK = 0,
		MOCPACK_TRUNCATED = -1,	  // the input ends before the decoder is done
		MOCPACK_CORRUPT = -2,	  // the input contradicts its specification
		MOCPACK_NO_MEMORY = -3,	  // the caller's buffer or scratch is too small
		MOCPACK_UNREACHABLE = -4, // an encoder finds nothing that keeps what was asked
	} mocpack_Status;

	/* What contradicts its specification, as in "plan of joint 7: rotation key step 80 is outside 0..63". The
	 * texts are static; `part` is null where there is only one, `field` where nothing more is known. */
	typedef struct mocpack_Fault
	{
		const char* part;
		int64_t index; // of the part
		const char* field;
		double value, low, high;
	} mocpack_Fault;

	// A skeleton as the kernels see it. Parents come before their children; parents[0] is -1.
	typedef struct mocpack_Skeleton
	{
		size_t joint_count;
		const int32_t* parents; // (J)
		const double* offsets;	// (J, 3) rest position in the parent's frame
		size_t end_count;
		const int32_t* end_joints; // (E) joint that carries the end site
		const double* end_sites;   // (E, 3) in that joint's frame
		size_t translated_count;
		const int32_t* translated_joints; // (M) increasing; their translation replaces the offset
		/* Joints that turn about fixed axes, at most two, or slide along them, at most three. A joint turns
		 * from its rest rotation: rest * turn(axis 1) * turn(axis 2); it stands at offset + rest * sum of
		 * axis * way. All may be null where hinge_count is 0. */
		const double* rest; // (J, 4)
		size_t hinge_count;
		const int32_t* hinge_joints; // (H) not decreasing; of one joint, what slides before what turns
		const uint8_t* hinge_slides; // (H) nonzero: slides
		const double* hinge_axes;	 // (H, 3) unit vectors in the frame that the rest rotation leads to
	} mocpack_Skeleton;

	/* Forward kinematics of `frames` poses (kinematics.cpp).
	 *
	 * rotations (T, J, 4) local unit quaternions; translations (T, M, 3).
	 * positions (T, J, 3) receives world positions, world_rotations (T, J, 4) world rotations. */
	void mocpack_forward_kinematics(const mocpack_Skeleton* skeleton, const double* rotations,
									const double* translations, size_t frames, double* positions,
									double* world_rotations);

	// What mocpack_clip_errors found, in metres. The promised error is the largest displacement of joint
	// centres, end sites and the points `shell` metres along the three axes of each joint's own frame.
	typedef struct mocpack_ClipErrors
	{
		double promised_max;
		double joint_max;
		double joint_mean;
		double joint_rms;
		int64_t worst_frame; // of promised_max
		int64_t worst_joint;
	} mocpack_ClipErrors;

	/* Compare two motions of one skeleton without writing their points out (clip_errors.cpp).
	 *
	 * frame_max (T) and joint_max (J) receive the promised error by frame and by joint; each may be null.
	 * scratch is of mocpack_clip_errors_scratch_size(J) bytes, aligned as malloc aligns. */
	size_t mocpack_clip_errors_scratch_size(size_t joint_count);
	void mocpack_clip_errors(const mocpack_Skeleton* skeleton, const double* rotations_a,
							 const double* translations_a, const double* rotations_b,
							 const double* translations_b, size_t frames, double shell, void* scratch,
							 mocpack_ClipErrors* errors, double* frame_max, double* joint_max);

	/* Make quaternions (T, J, 4) unit and continuous in time, in place (quaternions.cpp).
	 *
	 * Each takes the sign nearest to the frame before. Returns -1, or the index of the first quaternion
	 * that is not finite or whose length is further than `tolerance` from 1. */
	int64_t mocpack_settle_rotations(double* rotations, size_t frames, size_t joints, double tolerance);

	// Whether settling would change nothing.
	int mocpack_rotations_settled(const double* rotations, size_t frames, size_t joints);

	// How a row of numbers describes a joint: not at all, by a vector about its mean, by a quaternion.
	typedef enum mocpack_RowKind
	{
		MOCPACK_ROW_CONSTANT = 0,
		MOCPACK_ROW_TANGENT = 1,
		MOCPACK_ROW_QUATERNION = 2,
	} mocpack_RowKind;

	/* Rotations (N, J, 4) of rows (N, width) (pose_rows.cpp).
	 *
	 * Joint by joint a row holds 0, 3 or 4 numbers by its kind; width is at least their sum. A tangent
	 * vector is divided by its joint's scale; a quaternion is made unit. */
	void mocpack_row_rotations(const double* rows, size_t count, size_t width, const int32_t* kinds,
							   const double* means, const double* scales, size_t joints, double* rotations);

	// How the columns of a matrix of degrees of freedom turn the joints of a skeleton.
	typedef struct mocpack_Channels
	{
		size_t joint_count;
		size_t column_count;
		const int8_t* axes;		// (J, 3) axes 0..2 that a joint turns about, all different, outermost first;
								// then -1
		const int32_t* columns; // (J, 3) column of each angle, below column_count
		const double* frames;	// (J, 4) unit quaternion of the frame in which the joint turns
	} mocpack_Channels;

	/* Euler angles to rotations (channels.cpp).
	 *
	 * matrix (T, column_count), radians; rotations (T, J, 4) receives local unit quaternions. */
	void mocpack_channels_to_rotations(const mocpack_Channels* channels, const double* matrix, size_t frames,
									   double* rotations);

	/* Read numbers separated by white space (numbers.cpp), each to the nearest double.
	 *
	 * Stops at the end of `text`, after `capacity` numbers, or at the first token that is not a finite
	 * decimal number. Returns how many were read; *end receives the offset where reading stopped: the end
	 * of the text, or the start of the next token. */
	size_t mocpack_parse_numbers(const char* text, size_t size, double* values, size_t capacity, size_t* end);

	/* Print numbers separated by spaces (print_numbers.cpp), never in e-notation, zeros at the end dropped.
	 *
	 * decimals (count) says to how many decimals each is rounded; -1 for the shortest text that reads back as
	 * the same double, the sign of zero included. Values must be finite. dst needs MOCPACK_PRINTED_MAX bytes
	 * for each number at most. */
	enum
	{
		MOCPACK_PRINTED_MAX = 1100
	};
	size_t mocpack_print_numbers(const double* values, const int32_t* decimals, size_t count, char* dst,
								 size_t dst_size);

	/* Planes of integers (rows, columns) with adaptive contexts (planes.cpp).
	 *
	 * classes (columns) names the statistics each column shares, below class_count.
	 * start, of mocpack_planes_start_size(class_count) bytes of 0 to 63, is what the models know before the
	 * first value; null is nothing. Planes that share a start decode each by itself at little cost.
	 * models is scratch of mocpack_planes_models_size(class_count) bytes, aligned as malloc aligns.
	 * dst needs mocpack_planes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_planes_models_size(size_t class_count);
	size_t mocpack_planes_start_size(size_t class_count);
	size_t mocpack_planes_bound(size_t rows, size_t columns);
	size_t mocpack_planes_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 size_t columns, const uint16_t* classes, size_t class_count,
								 const uint8_t* start, void* models);
	mocpack_Status mocpack_planes_decode(int32_t* values, size_t rows, size_t columns,
										 const uint16_t* classes, size_t class_count, const uint8_t* start,
										 void* models, const uint8_t* src, size_t src_size);

	/* Add to counts (start_size, 2) how often each model would code a zero and a one. */
	void mocpack_planes_count(const int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
							  size_t class_count, void* models, uint32_t* counts);

	/* Clamped B-splines of degree 1 to 5 (bspline.cpp): knots (K + D + 1) in increasing order, K > D.
	 *
	 * basis: first (N) receives the first control point that matters at each time, values (N, D + 1) the
	 * weights. evaluate: out (N, columns) from such weights and control points (K, columns). fit: fitted (K,
	 * columns) receives the control points nearest to points (N, columns); returns how much of the points'
	 * sum of squares the spline explains. scratch holds mocpack_bspline_scratch_size bytes, aligned as malloc
	 *   aligns.
	 * gradient (K - D - 1) receives the derivative of the sum of squared distances by each inner knot, for
	 * fitted control points; doubled is scratch of 2 D + 3 doubles. */
	size_t mocpack_bspline_scratch_size(size_t samples, size_t controls, size_t columns, size_t degree);
	void mocpack_bspline_basis(const double* knots, size_t controls, size_t degree, const double* times,
							   size_t samples, int32_t* first, double* values);
	void mocpack_bspline_evaluate(const int32_t* first, const double* values, size_t samples, size_t degree,
								  const double* controls, size_t columns, double* out);
	double mocpack_bspline_fit(const double* knots, size_t controls, size_t degree, const double* times,
							   size_t samples, const double* points, size_t columns, double* fitted,
							   void* scratch);
	void mocpack_bspline_gradient(const double* knots, size_t controls, size_t degree, const double* times,
								  size_t samples, const double* points, size_t columns, const double* fitted,
								  double* gradient, double* doubled);
	// How the columns of a series are predicted: by least squares over recent differences of some columns.
	typedef struct mocpack_SeriesModel
	{
		size_t column_count;
		size_t predictor_count;	  // of each column, at most 6
		const double* forgetting; // (P) what each keeps of its past at each row it learns from, 0 to 1
		const uint8_t* periods;	  // (P) each learns from every so many-th row, once warm
		uint32_t warm;			  // rows of which all are learnt from
		double caution;			  // how much each doubts what it learns first, above 0
		double blend_forgetting;  // of the last least squares, which weighs the predictors
		double blend_pull;		  // of its weights to equal shares
		uint8_t blend_period;	  // and it, too, learns from every so many-th row, once warm
		const uint32_t* starts;	  // (C * P + 1) first feature of each column's each predictor; 64 at most
		const int32_t* columns;	  // of each feature; lag 0 only of columns before
		const uint8_t* lags;	  // of each feature: rows before this one, at most 7
		const uint32_t* sizes;	  // (C) expected error of each column at first, in 1/256; may be null
	} mocpack_SeriesModel;

	/* Series of integers (rows, columns) that follow a motion (series.cpp).
	 *
	 * mocpack_series_valid says whether a model keeps the limits above; the others trust it.
	 * scratch needs mocpack_series_scratch_size(model) bytes, aligned as malloc aligns.
	 * dst needs mocpack_series_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	int mocpack_series_valid(const mocpack_SeriesModel* model);
	size_t mocpack_series_scratch_size(const mocpack_SeriesModel* model);
	size_t mocpack_series_bound(size_t rows, size_t columns);
	size_t mocpack_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 const mocpack_SeriesModel* model, void* scratch);
	mocpack_Status mocpack_series_decode(int32_t* values, size_t rows, const mocpack_SeriesModel* model,
										 void* scratch, const uint8_t* src, size_t src_size);
	typedef enum mocpack_LiftingUpdate
	{
		MOCPACK_UPDATE_NONE = 0, // interpolating only
		MOCPACK_UPDATE_42 = 1,	 // two vanishing moments of the dual
		MOCPACK_UPDATE_44 = 2,	 // four
	} mocpack_LiftingUpdate;

	/* The cubic interpolating wavelet by lifting, in place, on `count` signals of `length` samples
	 * (lifting.cpp).
	 *
	 * Coefficients stand from the widest basis function to the narrowest; the first is the coarse sample.
	 * scratch holds `length` doubles. Time is linear in count * length. */
	void mocpack_lifting_forward(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
								 double* scratch);
	void mocpack_lifting_inverse(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
								 double* scratch);

	enum
	{
		MOCPACK_LARGEST_WORD = 32255
	};

	/* Sparse signals (count, length) as 16-bit words (zero_runs.cpp).
	 *
	 * Magnitudes are at most MOCPACK_LARGEST_WORD. words needs count * (length + 1) entries at most; returns
	 * how many were written. The decoder is safe on untrusted words. */
	size_t mocpack_zero_runs_encode(uint16_t* words, const int32_t* values, size_t count, size_t length);
	mocpack_Status mocpack_zero_runs_decode(int32_t* values, size_t count, size_t length,
											const uint16_t* words, size_t word_count);

	typedef enum mocpack_SignalKind
	{
		MOCPACK_SIGNAL_PLACE_X = 0, // position in the parent's frame
		MOCPACK_SIGNAL_PLACE_Y = 1,
		MOCPACK_SIGNAL_PLACE_Z = 2,
		MOCPACK_SIGNAL_ANGLE_X = 3, // Euler angles, outermost first
		MOCPACK_SIGNAL_ANGLE_Y = 4,
		MOCPACK_SIGNAL_ANGLE_Z = 5,
		MOCPACK_SIGNAL_QUATERNION = 6, // four in a row: x, y, z, w, of any length
		MOCPACK_SIGNAL_ROTVEC = 7,	   // three in a row
	} mocpack_SignalKind;

	// The signals (S) that pose a skeleton, joint by joint; a joint's places come before its rotation.
	typedef struct mocpack_Signals
	{
		const int32_t* first; // (J + 1) where each joint's signals start; the last is S
		const int32_t* kinds; // (S) mocpack_SignalKind
		const double*
			axes; // (J, 4) frame of each joint's Euler angles, or null where all are the joint's own
	} mocpack_Signals;

	/* Local rotations (T, J, 4) of signals (T, S) (signals.cpp); joints without rotation signals keep their
	 * rest. */
	void mocpack_signal_rotations(const mocpack_Signals* signals, size_t joint_count, const double* values,
								  size_t frames, double* rotations);

	/* What changing one signal of a motion does to its squared positional error (pose_error.cpp).
	 *
	 * values (T, S) pose the skeleton; phases (T, S, 2) holds cosine and sine of those that are angles;
	 * steps (T, S) are the changes to judge, each by itself. targets (T, J + E, 3) are world positions of the
	 * joints, then of the end sites, as they should be; weights (J + E) says how much each counts.
	 * changes (S) receives, exactly, how much the sum over frames of the weighted squared distances grows
	 * when that signal alone takes its steps. Returns the sum without any. scratch holds
	 * mocpack_pose_error_scratch(J, S) doubles. */
	size_t mocpack_pose_error_scratch(size_t joint_count, size_t signal_count);
	double mocpack_pose_error_changes(const mocpack_Skeleton* skeleton, const mocpack_Signals* signals,
									  const double* values, const double* phases, const double* steps,
									  const double* targets, const double* weights, size_t frames,
									  double* scratch, double* changes);
	/* Decode the first rows of a plane whose code was cut. Returns how many rows are whole; the rest of
	 * `values` is unspecified. Safe on untrusted bytes. */
	size_t mocpack_planes_decode_cut(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									 size_t class_count, void* models, const uint8_t* src, size_t src_size);

	/* A plane that grows row by row: code the last of three rows (3, columns), the two above known.
	 *
	 * models, of mocpack_planes_models_size(class_count) bytes, is reset before the first row and carries the
	 * statistics from row to row; each row is a whole code of its own. */
	void mocpack_planes_reset(void* models, size_t class_count);
	size_t mocpack_planes_encode_row(uint8_t* dst, size_t dst_size, const int32_t* rows, size_t columns,
									 const uint16_t* classes, void* models);
	mocpack_Status mocpack_planes_decode_row(int32_t* rows, size_t columns, const uint16_t* classes,
											 void* models, const uint8_t* src, size_t src_size);

	/* The 9/7 wavelet along the rows of values (rows, columns), in place (wavelet97.cpp).
	 *
	 * Rows come out coarsest first: the low-pass rows of the last level, then the high-pass rows of
	 * each level from last to first. scratch holds rows * columns doubles. */
	void mocpack_wavelet97(double* values, size_t rows, size_t columns, size_t levels, double* scratch);
	void mocpack_wavelet97_inverse(double* values, size_t rows, size_t columns, size_t levels,
								   double* scratch);

	// A skeleton as chains of bones, for the prediction by inverse kinematics (ik_predict.cpp). A body is
	// a joint that turns with what rides on it rigidly; parents come before their children.
	typedef struct mocpack_Limbs
	{
		size_t body_count;
		size_t translated_count;	   // (M) translations of a pose
		const int32_t* joints;		   // (B) joint that turns the body
		const int32_t* parents;		   // (B) body it hangs on, -1 for the first
		const double* frames;		   // (B, 4) from the parent body's frame to that of the joint's rotation
		const double* attachments;	   // (B, 3) where it hangs, or from where its translation is counted
		const int32_t* slides;		   // (B) which translation moves it, -1 for none
		const double* axes;			   // (B, 3) unit direction of its bone, in its own frame
		const double* lengths;		   // (B) of its bone
		const double* direction_steps; // (B) radians
		const double* twist_steps;	   // (B) radians
		const uint8_t* twist_places;   // (B) whether twist moves any point
		size_t segment_count;
		const int32_t* segment_sizes; // (G) 1: a body by itself; more: a chain
		const int32_t* order;		  // (B) the bodies, segment after segment, parents first
		double effector_step;		  // metres
		double slide_step;			  // metres
		double k;					  // how much of the last change of a bone's direction goes on
		double memory;				  // how slowly what is expected to go on follows its last change
		double damping;				  // of the pseudo-inverse, relative to its trace
		double rounding;			  // of the encoder: from which part of a step on it rounds up
		int compensate;				  // whether the encoder aims bones from their decoded places
		int extrapolate;			  // whether a chain's end is expected to move on as it did
	} mocpack_Limbs;

	/* Prediction by inverse kinematics, frame by frame; encoder and decoder keep the same state.
	 *
	 * state holds mocpack_ik_state_size doubles and begins with the world rotations (B, 4) and
	 * translations (M, 3) of the frame decoded last. reset sets these, as an intra frame does.
	 * encode takes a pose, rotations (J, 4) local and translations (M, 3), and writes a row of integers:
	 * 3 for each translation that slides, 3 for each chain's end, 2 for each bone but a chain's last, 1 for
	 * each twist that places something, in the order of the segments; and a row of the other twists, or none
	 * if `twists` is null. It answers MOCPACK_NO_MEMORY if an integer would exceed 2^30.
	 * decode reads such rows; any integers do. pose writes the pose decoded last. */
	size_t mocpack_ik_state_size(const mocpack_Limbs* limbs);
	void mocpack_ik_reset(const mocpack_Limbs* limbs, double* state, const double* world,
						  const double* translations);
	mocpack_Status mocpack_ik_encode(const mocpack_Limbs* limbs, double* state, const double* rotations,
									 const double* translations, int32_t* places, int32_t* twists);
	void mocpack_ik_decode(const mocpack_Limbs* limbs, double* state, const int32_t* places,
						   const int32_t* twists);
	void mocpack_ik_pose(const mocpack_Limbs* limbs, const double* state, double* rotations,
						 double* translations);

	/* Rows of body animation parameters, indexed and sparse (bap.cpp; docs/codecs/bap-index.md).
	 *
	 * A row holds a code for each column: float32 for the `fixed` first ones, and for the others the number
	 * of a table entry in 1 byte (bits <= 8) or 2, or float32 too where bits is 0. Columns from first_masked
	 * on have a code only if their bit is set in the mask before the codes, one bit a column, lowest first;
	 * where first_masked equals columns there is no mask. table has 2^bits entries, ascending; bits is at
	 * most 16. */
	typedef struct mocpack_BapRows
	{
		size_t columns;
		size_t fixed;
		size_t first_masked;
		int bits;
		const float* table;
	} mocpack_BapRows;

	// How rows are chosen. A column is let through when its change is further from means[column] than
	// limits[column]; a negative limit lets all through, and columns without a mask bit must have one.
	typedef struct mocpack_BapEncoder
	{
		int closed_loop;
		const double* means;
		const double* limits;
	} mocpack_BapEncoder;

	enum
	{
		MOCPACK_BAP_LEVELS = 64 // the largest level of a column; 1 is the least
	};

	/* Sort differences (rows, columns) into 2^bits buckets of equal frequency, and average each.
	 *
	 * Numbers are rounded to 1 / resolution; equal ones share a bucket. A bucket's entry is the mean of its
	 * numbers weighted by levels[column]^-eta; with eta infinite, of those of its least level alone.
	 * scratch has mocpack_bap_scratch_size bytes, aligned as malloc aligns. table (2^bits) receives the
	 * entries, ascending; indices (rows, columns) the bucket of each number. */
	size_t mocpack_bap_scratch_size(size_t rows, size_t columns);
	void mocpack_bap_lookup(const double* differences, size_t rows, size_t columns, const int32_t* levels,
							int bits, double resolution, double eta, void* scratch, float* table,
							uint16_t* indices);

	/* Write `count` rows. Returns the bytes written, at most mocpack_bap_rows_bound, which dst must have.
	 *
	 * Open loop: values (count, columns) are differences, indices (count, columns - fixed) their buckets, and
	 * state (columns) what is frozen so far, 0 at the start. Closed loop: values are positions, indices may
	 * be null, and state is where the decoder has each column, the initial pose at the start. */
	size_t mocpack_bap_rows_bound(const mocpack_BapRows* rows, size_t count);
	size_t mocpack_bap_encode_rows(uint8_t* dst, const mocpack_BapRows* rows, const mocpack_BapEncoder* how,
								   const double* values, const uint16_t* indices, size_t count,
								   double* state);

	/* Read `count` rows: a table look-up and an addition for each column. Safe on untrusted bytes.
	 *
	 * state (columns) is the pose before, and receives the last; values (count, columns) receives all.
	 * *used receives the bytes read. */
	mocpack_Status mocpack_bap_decode_rows(double* values, const mocpack_BapRows* rows, size_t count,
										   double* state, const uint8_t* src, size_t src_size, size_t* used);

	/* Adaptive order-0 coding of bytes (rows, columns) (bytes.cpp).
	 *
	 * classes (columns) names the statistics each column shares, below class_count.
	 * models is scratch of mocpack_bytes_models_size(class_count) bytes, aligned as malloc aligns.
	 * dst needs mocpack_bytes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_bytes_models_size(size_t class_count);
	size_t mocpack_bytes_bound(size_t rows, size_t columns);
	size_t mocpack_bytes_encode(uint8_t* dst, size_t dst_size, const uint8_t* values, size_t rows,
								size_t columns, const uint16_t* classes, size_t class_count, void* models);
	mocpack_Status mocpack_bytes_decode(uint8_t* values, size_t rows, size_t columns, const uint16_t* classes,
										size_t class_count, void* models, const uint8_t* src,
										size_t src_size);
	typedef enum mocpack_IkKind
	{
		MOCPACK_IK_BALL = 0,   // turns any way
		MOCPACK_IK_BEFORE = 1, // about an axis fixed in the parent's frame
		MOCPACK_IK_AFTER = 2,  // about an axis fixed in the joint's own frame
	} mocpack_IkKind;

	// One way in which a joint may turn; a joint of two axes has two of them.
	typedef struct mocpack_IkTurn
	{
		int32_t joint;
		int32_t kind; // mocpack_IkKind
		double axis[3];
	} mocpack_IkTurn;

	// A limb of two bones; `axis` is the middle joint's hinge in its parent's frame, or zero where it bends
	// freely.
	typedef struct mocpack_IkLimb
	{
		int32_t start, middle, end;
		double axis[3];
	} mocpack_IkLimb;

	/* Move limbs' ends (E) by shifts (T, E, 3) in the world, changing rotations (T, J, 4) in place
	 * (limb_ik.cpp).
	 *
	 * ccd: multiple-constraint cyclic coordinate descent, at most 30 sweeps over `turns` in their order,
	 * until every end is within 0.1 mm; joints names all from each end up to the highest that turns.
	 * two_bone: in closed form. A target out of reach is approached. scratch holds mocpack_ik_scratch(J, E)
	 * doubles. */
	size_t mocpack_ik_scratch(size_t joint_count, size_t end_count);
	void mocpack_ik_ccd(const mocpack_Skeleton* skeleton, const mocpack_IkTurn* turns, size_t turn_count,
						const int32_t* joints, size_t joint_count, const int32_t* ends, size_t end_count,
						const double* shifts, const double* translations, size_t frames, double* scratch,
						double* rotations);
	void mocpack_ik_two_bone(const mocpack_Skeleton* skeleton, const mocpack_IkLimb* limbs, size_t limb_count,
							 const double* shifts, const double* translations, size_t frames, double* scratch,
							 double* rotations);
	/* keysine: key poses, sine series between them, static tables (core/src/keysine,
	 * docs/codecs/keysine.md).
	 *
	 * A payload is a head, key segments and groups, the latter in layers. mocpack_keysine_open reads the
	 * head; a group is then decoded by itself, given the keys at its ends. All of this is safe on untrusted
	 * bytes. */
	typedef struct mocpack_KeysineHead mocpack_KeysineHead;

	// Of a coefficient's step of the same index: what a key's is.
#define MOCPACK_KEYSINE_KEY_STEP 0.8

	// Limits of the format.
	enum
	{
		MOCPACK_KEYSINE_PLAN_COLUMNS = 13,
		MOCPACK_KEYSINE_STEPS = 64,			  // quantiser steps: unit * 2^((8 - index) / 2)
		MOCPACK_KEYSINE_UNIT_STEP = 8,		  // index of the step that is the unit itself
		MOCPACK_KEYSINE_LONGEST_BLOCK = 512,  // frames
		MOCPACK_KEYSINE_LONGEST_GROUP = 8192, // frames
		MOCPACK_KEYSINE_MOST_SPLITS = 7,	  // a group has at most 2^7 blocks
		MOCPACK_KEYSINE_MOST_LAYERS = 16,
		MOCPACK_KEYSINE_MOST_SHIFT = 8,
		MOCPACK_KEYSINE_MOST_GRID_CHANNELS = 4096, // each takes a few kilobytes, however short the clip
		MOCPACK_KEYSINE_MOST_INITIAL_SCALE = 55,   // half octaves of 1/256 step
	};

	// Where things stand in a payload: the head, then segments, then groups layer by layer, of these sizes.
	typedef struct mocpack_KeysineLayout
	{
		size_t head_size;
		size_t group_count; // groups have a key at either end; a clip of one frame has none
		size_t groups_per_segment;
		size_t segment_count;
		const uint32_t* sizes; // (segments + layers * groups), bytes
		size_t channel_count;
		size_t track_count;
		size_t layer_count;
		const uint8_t* shifts;	  // (layers - 1, tracks)
		size_t first_frame_alone; // 1 where the first frame is a group by itself
	} mocpack_KeysineLayout;

	// What a head begins with; errors are stated as unit * 2^(number / 8).
	typedef struct mocpack_KeysineFields
	{
		uint32_t mode; // 1: a grid in time; 2: the first frame alone; 4: a thorough grid
		uint32_t layer_count;
		uint32_t fine_bits, basis_bits; // grids of still values and of axes are 2^-bits
		uint32_t tempo;					// 64 times half a second over the length of a group
		float unit;						// metres
		uint32_t group_count, groups_per_segment, predictor_count;
		uint8_t errors[MOCPACK_KEYSINE_MOST_LAYERS]; // of the keys alone, then of each layer but the last
	} mocpack_KeysineFields;

	/* Reads how many parts a payload has, and how long they are, before any memory is taken for them: the
	 * layout without what is coded (sizes, channels, tracks, shifts). `fault` may be null. */
	mocpack_Status mocpack_keysine_peek(const uint8_t* src, size_t src_size, size_t frame_count,
										mocpack_KeysineLayout* layout, mocpack_Fault* fault);

	/* Reads the head at the start of `src` into `memory` of mocpack_keysine_head_memory bytes, aligned as
	 * malloc aligns. `skeleton` must outlive the head. `fault` may be null; it is written where the head is
	 * corrupt. The memory is 0 where the head cannot be, and mocpack_keysine_open says why without touching
	 * any. */
	size_t mocpack_keysine_head_memory(const uint8_t* src, size_t src_size, size_t joints,
									   size_t frame_count);
	mocpack_Status mocpack_keysine_open(const uint8_t* src, size_t src_size, const mocpack_Skeleton* skeleton,
										size_t frame_count, void* memory, mocpack_KeysineHead** head,
										mocpack_Fault* fault);
	mocpack_KeysineLayout mocpack_keysine_layout(const mocpack_KeysineHead* head);
	mocpack_KeysineFields mocpack_keysine_fields(const mocpack_KeysineHead* head);
	size_t mocpack_keysine_key_frame(const mocpack_KeysineHead* head, size_t key);

	const int32_t* mocpack_keysine_table(const mocpack_KeysineHead* head);		// the plan (J, 13)
	const int32_t* mocpack_keysine_predictors(const mocpack_KeysineHead* head); // (predictors, 4)
	// Of a grid in time, else null: each track's step (tracks), and how far prediction is off at first
	// (channels), in half octaves of 1/256 step.
	const uint8_t* mocpack_keysine_grid_steps(const mocpack_KeysineHead* head);
	const uint8_t* mocpack_keysine_initial_scales(const mocpack_KeysineHead* head);

	/* Decodes the keys (key_count, channels) of one segment. */
	size_t mocpack_keysine_segment_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_segment(const mocpack_KeysineHead* head, size_t key_count,
												  const uint8_t* src, size_t size, int32_t* keys,
												  void* scratch);

	// Where in the arrays that come back the joints stand; -1: they are not wanted.
	typedef struct mocpack_KeysineColumns
	{
		const int32_t* rotations;	 // (J)
		const int32_t* translations; // (M)
		size_t rotation_count, translation_count;
	} mocpack_KeysineColumns;

	/* Decodes one group, given the keys at its ends (2, channels), into rotations (T, J, 4) and translations
	 * (T, M, 3) of the frames from its first key up to, but not with, its last. Without layers, the
	 * motion is what the keys alone give; with some, it is coarser than with all. With columns, only the
	 * joints that have one are decoded, into rotations (T, rotation_count, 4) and translations (T,
	 * translation_count, 3). */
	size_t mocpack_keysine_group_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_decode_group(const mocpack_KeysineHead* head, size_t group,
												const int32_t* keys, const uint8_t* const* layers,
												const size_t* sizes, size_t layer_count,
												const mocpack_KeysineColumns* columns, double* rotations,
												double* translations, void* scratch);

	/* Decodes a group of one layer as if its coefficients were known up to `shifts` (tracks) only, as a
	 * coarse layer knows them. */
	mocpack_Status mocpack_keysine_decode_coarse(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 const uint8_t* shifts, double* rotations,
												 double* translations, void* scratch);

	/* The pose of one key (channels): rotations (J, 4), translations (M, 3), or those that have a column. */
	void mocpack_keysine_pose(const mocpack_KeysineHead* head, const int32_t* key,
							  const mocpack_KeysineColumns* columns, double* rotations, double* translations);

	/* The symbols of a group of one layer, for training: first its shape, then, where there is room, keys
	 * (blocks + 1, channels), steps (tracks, blocks), lengths (blocks) and coefficients (channels, blocks,
	 * longest), k at k. scratch as for decode_group. */
	typedef struct mocpack_KeysineGroup
	{
		size_t blocks, longest;
		int32_t tempo;
		int32_t *keys, *steps, *lengths, *values;
	} mocpack_KeysineGroup;
	mocpack_Status mocpack_keysine_group_symbols(const mocpack_KeysineHead* head, size_t group,
												 const int32_t* keys, const uint8_t* src, size_t size,
												 mocpack_KeysineGroup* found, void* scratch);
	/* The trained tables one after another, false past the last: either starts of shares or weights. */
	typedef struct mocpack_KeysineTable
	{
		const char* name;
		const uint16_t* starts;
		const int16_t* weights;
		size_t size;
	} mocpack_KeysineTable;
	int mocpack_keysine_trained(size_t index, mocpack_KeysineTable* table);
	/* Of track t: channels, first channel, the track above or -1, family. */
	void mocpack_keysine_track(const mocpack_KeysineHead* head, size_t t, int32_t* row);

	/* What the keysine encoder may displace, what bits and errors cost it, and how hard it searches. u is a
	 * point's squared displacement over its squared allowance; penalties are bits. */
	typedef struct mocpack_KeysineSettings
	{
		double bound;						 // allowance of every point, metres
		double origin_share, origin_falloff; // joint origins: min(0.95, share * n^-falloff), n descendants
		double shell_factor;				 // on the allowance of shell points
		double key_share;	   // of its allowance, that a key may use to come nearer to the key before
		/* Where there are hinges, which cannot take back every error above them: what may remain of all u
		 * below a joint when they have done what they can, room * n^-room_falloff. */
		double room, room_falloff;
		double max_angle; // radians that a joint's local rotation may be off; 0: any
		float excess_penalty;  // for each unit of u above 1; 0: nothing is bounded
		float quartic_penalty; // for u²
		float squared_penalty; // for u
		float rounding;		   // added before truncation
		float jitter_penalty;  // for a squared step of energy that the source does not have,
		float jitter_from;	   // above this share of the highest frequency
		int32_t sweeps;		   // rounds of repair and descent; 0: rounding and repair only
		int32_t repairs;	   // changes of one repair
		int32_t coarsest_step, finest_step; // tried
		int32_t greedy; // nonzero: stop at the first step that is worse than the one before
		/* Of a group: 2^splits blocks are tried first, then up to split_tries times more and fewer, then up
		 * to weight_tries halvings or doublings of quartic_penalty, each while it is smaller; exhaustive: all
		 * of the former, whatever the first ones give. */
		int32_t splits, split_tries, weight_tries, exhaustive;
		// a grid in time
		int32_t thorough;		   // which forecast predicts it
		int32_t beam_width;		   // ways to write a frame that are kept side by side, at least 1
		double grid_error_penalty; // for using up a whole allowance
	} mocpack_KeysineSettings;

	// A clip to encode. Arrays must outlive the encoder; `table` (J, 13) receives refined key steps.
	typedef struct mocpack_KeysineJob
	{
		const mocpack_Skeleton* skeleton;
		const double* rotations;
		const double* translations;
		const double* angles; // (T, H) of the skeleton's hinges, radians or metres, without jumps
		size_t frame_count, group_count;
		size_t first_frame_alone; // 1: the first frame is a group by itself
		int32_t splits;			  // a group is cut into at most 2^splits blocks
		int32_t* table;
		double unit, fine, basis_grid;
		int32_t tempo;			   // as in the head
		const int32_t* predictors; // (predictor_count, 4): channel, source, band, factor
		size_t predictor_count;
		const double* shares; // (J) of the allowances, for what hangs on each joint; null: all
		const void* rates;	  // bits by context, floats (16, 8, 8, 40)
		mocpack_KeysineSettings settings;
		// A grid in time in place of sine series: steps (tracks), null for none; initial scales (channels).
		const uint8_t* grid_steps;
		const uint8_t* initial_scales;
	} mocpack_KeysineJob;

	typedef struct mocpack_KeysineEncoder mocpack_KeysineEncoder;

	/* What a plan's table (J, 13) makes of the joints whose rotations are vectors: their means (J, 4) and the
	 * axes of their channels (J, 9), column by column; the others' are left as they are. False where a number
	 * of the table is out of range: `fault`, which may be null, says which.
	 * scratch: mocpack_keysine_axes_scratch(joints) bytes. */
	size_t mocpack_keysine_axes_scratch(size_t joints);
	int mocpack_keysine_axes(const mocpack_Skeleton* skeleton, const int32_t* table, double unit, double fine,
							 double basis_grid, double* means, double* axes, void* scratch,
							 mocpack_Fault* fault);

	/* Sets the levers of the hinges in the job's table by its motion, of which a few frames are enough.
	 * False where the table cannot be. memory: mocpack_keysine_levers_size bytes. */
	size_t mocpack_keysine_levers_size(const mocpack_KeysineJob* job);
	int mocpack_keysine_levers(const mocpack_KeysineJob* job, void* memory);

	/* Encodes a clip: keys first, then segments and groups in any order, on any threads. The keys are
	 * (group_count * 2^splits + 1, channels), all that a group may have; a segment is given those at the ends
	 * of its groups, a group all of its own.
	 *
	 * prepare returns null where a number of the table is out of range. encode_keys is MOCPACK_UNREACHABLE
	 * where no key step keeps the allowances, and so is encode_group where nothing is found; a group of one
	 * frame has no bytes. encode_segment returns the bytes written, 0 on failure. */
	size_t mocpack_keysine_encoder_size(const mocpack_KeysineJob* job);
	mocpack_KeysineEncoder* mocpack_keysine_prepare(const mocpack_KeysineJob* job, void* memory);
	size_t mocpack_keysine_channel_count(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_track_count(const mocpack_KeysineEncoder* encoder);
	/* From now on groups also write, by channel and frame (C, T), what their coefficients should have been,
	 * what they are, and their steps; coefficient k of a block stands k frames after its first. paces (T):
	 * their frequencies. */
	void mocpack_keysine_watch(mocpack_KeysineEncoder* encoder, float* wanted, float* series, float* steps,
							   int32_t* paces);
	size_t mocpack_keysine_keys_scratch(const mocpack_KeysineEncoder* encoder);
	mocpack_Status mocpack_keysine_encode_keys(mocpack_KeysineEncoder* encoder, int32_t* keys, void* scratch);
	size_t mocpack_keysine_segment_encode_scratch(const mocpack_KeysineEncoder* encoder, size_t count);
	size_t mocpack_keysine_encode_segment(const mocpack_KeysineEncoder* encoder, int32_t* keys, size_t count,
										  uint8_t* dst, size_t dst_size, void* scratch);
	/* The coded part of the head: plan (J, 13), sizes of all parts, predictors (predictor_count, 4), the
	 * shifts of layers (layer_count - 1, tracks), and of a grid in time the steps of tracks and the initial
	 * scales (channels), else null. */
	size_t mocpack_keysine_head_scratch(size_t joints, size_t part_count, size_t predictor_count);
	size_t mocpack_keysine_encode_head(const mocpack_KeysineFields* start, const mocpack_Skeleton* skeleton,
									   int32_t* table, uint32_t* sizes, size_t part_count,
									   int32_t* predictors, uint8_t* shifts, uint8_t* grid_steps,
									   uint8_t* initial_scales, uint8_t* dst, size_t dst_size, void* scratch);
	size_t mocpack_keysine_group_encode_scratch(const mocpack_KeysineEncoder* encoder);
	size_t mocpack_keysine_group_bytes(const mocpack_KeysineEncoder* encoder); // enough for any group
	mocpack_Status mocpack_keysine_encode_group(const mocpack_KeysineEncoder* encoder, size_t group,
												const int32_t* keys, uint8_t* dst, size_t dst_size,
												size_t* size, void* scratch);

	/* Adds to sums (channels) about how far prediction was off at the end of a group of a grid in time, in
	 * 1/256 of a step; false where the group fails. scratch as for encode_group. */
	int mocpack_keysine_grid_errors(const mocpack_KeysineEncoder* encoder, size_t group, const int32_t* keys,
									double* sums, void* scratch);

	/* Codes a group of one layer again as layer_count, by their shifts (layer_count - 1, tracks): writes them
	 * into dst, one after another, and their sizes. scratch: mocpack_keysine_split_scratch bytes. */
	size_t mocpack_keysine_split_scratch(const mocpack_KeysineHead* head);
	mocpack_Status mocpack_keysine_split(const mocpack_KeysineHead* head, size_t group, const int32_t* keys,
										 const uint8_t* src, size_t size, const uint8_t* shifts,
										 size_t layer_count, uint8_t* dst, size_t dst_size, size_t* sizes,
										 void* scratch);

#ifdef __cplusplus
}
#endif
