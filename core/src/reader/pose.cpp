// Interpolates and writes poses.
#include "reader/pose.h"

#include <cmath>

#include "common/small_build.h"

namespace mocpack
{

namespace
{

// sin(t θ) / sin θ with cos θ = 1 - less, by the series of Eberly, A Fast and Accurate Algorithm for
// Computing SLERP (2011), which needs only sums and products. Accurate to rounding if less is below
// MAX_SLERP_SERIES_GAP.
template <typename Number> struct SlerpSeries
{
	static const int TERMS = sizeof(Number) == 4 ? 5 : 10;

	static Number weight(Number t, Number less)
	{
		Number sum = 1, square = t * t;
		for (int i = TERMS; i > 0; --i)
			sum = 1 - sum * less * (square - Number(i * i)) * (Number(1) / Number(i * (2 * i + 1)));
		return t * sum;
	}
};

const double MAX_SLERP_SERIES_GAP = 0.05;

// Slerp from a to b along the shorter arc. Halves angles that are too large for the series.
template <typename Number> inline void slerp(const Number* a, const Number* b, Number t, Number* out)
{
	Number dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3],
		   sign = dot < 0 ? Number(-1) : Number(1);
	Number chord = 0, from[4], to[4];
	for (int c = 0; c < 4; ++c)
	{
		from[c] = a[c], to[c] = sign * b[c];
		chord += (to[c] - from[c]) * (to[c] - from[c]);
	}
	Number less = chord / 2; // 1 - cos θ without cancellation
	while (less > Number(MAX_SLERP_SERIES_GAP))
	{
		Number middle[4], square = 0;
		for (int c = 0; c < 4; ++c)
			middle[c] = from[c] + to[c], square += middle[c] * middle[c];
		Number scale = 1 / std::sqrt(square);
		bool late = t >= Number(0.5);
		for (int c = 0; c < 4; ++c)
			(late ? from : to)[c] = scale * middle[c];
		t = late ? 2 * t - 1 : 2 * t;
		Number cosine = std::sqrt(1 - less / 2);
		less = less / 2 / (1 + cosine); // 1 - cos(θ / 2)
	}
	Number u = SlerpSeries<Number>::weight(1 - t, less), v = SlerpSeries<Number>::weight(t, less);
	for (int c = 0; c < 4; ++c)
		out[c] = u * from[c] + v * to[c];
}

// Interpolates between two rows. Handles joints in blocks, so that compilers can vectorize.
template <typename Number>
inline void blend(const Rig& rig, const Number* a, const Number* b, Number t, Number* out)
{
	const size_t MANY = 16, count = rig.count;
	for (size_t first = 0; first < count; first += MANY)
	{
		const size_t some = count - first < MANY ? count - first : MANY;
		const Number *p = a + 4 * first, *q = b + 4 * first;
		Number* o = out + 4 * first;
		Number less[MANY], sign[MANY], from[MANY], to[MANY], most = 0;
		for (size_t j = 0; j < MANY; ++j)
			less[j] = 0, sign[j] = 1;
		for (size_t j = 0; j < some; ++j)
		{
			const Number *u = p + 4 * j, *v = q + 4 * j;
			Number dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2] + u[3] * v[3];
			Number s = dot < 0 ? Number(-1) : Number(1);
			Number x = s * v[0] - u[0], y = s * v[1] - u[1], z = s * v[2] - u[2], w = s * v[3] - u[3];
			sign[j] = s;
			less[j] = (x * x + y * y + z * z + w * w) / 2;
		}
		for (size_t j = 0; j < MANY; ++j)
		{
			from[j] = SlerpSeries<Number>::weight(1 - t, less[j]);
			to[j] = sign[j] * SlerpSeries<Number>::weight(t, less[j]);
			most = less[j] > most ? less[j] : most;
		}
		for (size_t j = 0; j < some; ++j)
			for (size_t c = 0; c < 4; ++c)
				o[4 * j + c] = from[j] * p[4 * j + c] + to[j] * q[4 * j + c];
		for (size_t j = 0; most > Number(MAX_SLERP_SERIES_GAP) && j < some; ++j)
			slerp(p + 4 * j, q + 4 * j, t, o + 4 * j);
	}
	for (size_t i = 4 * count; i < rig.row_size(); ++i)
		out[i] = (1 - t) * a[i] + t * b[i];
}

// World rotations (count, 4) and positions (count, 3) of a row.
template <typename Number>
void solve_world(const Rig& rig, const Number* row, Number* rotations, Number* positions)
{
	for (size_t j = 0; j < rig.count; ++j)
	{
		const Number* q = row + 4 * j;
		Number p[3];
		for (int c = 0; c < 3; ++c)
			p[c] = rig.moving[j] < 0 ? Number(rig.offsets[3 * j + c])
									 : row[4 * rig.count + 3 * size_t(rig.moving[j]) + c];
		Number *turn = rotations + 4 * j, *place = positions + 3 * j;
		if (rig.parents[j] < 0)
		{
			for (int c = 0; c < 4; ++c)
				turn[c] = q[c];
			for (int c = 0; c < 3; ++c)
				place[c] = p[c];
			continue;
		}
		const Number* b = rotations + 4 * rig.parents[j];
		const Number* from = positions + 3 * rig.parents[j];
		turn[0] = b[3] * q[0] + b[0] * q[3] + b[1] * q[2] - b[2] * q[1];
		turn[1] = b[3] * q[1] - b[0] * q[2] + b[1] * q[3] + b[2] * q[0];
		turn[2] = b[3] * q[2] + b[0] * q[1] - b[1] * q[0] + b[2] * q[3];
		turn[3] = b[3] * q[3] - b[0] * q[0] - b[1] * q[1] - b[2] * q[2];
		// p + 2 w (b × p) + 2 b × (b × p)
		Number x = 2 * (b[1] * p[2] - b[2] * p[1]), y = 2 * (b[2] * p[0] - b[0] * p[2]),
			   z = 2 * (b[0] * p[1] - b[1] * p[0]);
		place[0] = from[0] + p[0] + b[3] * x + b[1] * z - b[2] * y;
		place[1] = from[1] + p[1] + b[3] * y + b[2] * x - b[0] * z;
		place[2] = from[2] + p[2] + b[3] * z + b[0] * y - b[1] * x;
	}
}

// Computes the scales (3) of a joint.
void scale_of(const Rig& rig, const MovingScales& moving, size_t j, double* out)
{
	const int32_t at = moving.from ? rig.scaling[j] : -1;
	for (size_t c = 0; c < 3; ++c)
		out[c] = at < 0 ? rig.scales[3 * j + c]
						: (1 - moving.part) * moving.from[3 * at + int32_t(c)] +
							  moving.part * moving.to[3 * at + int32_t(c)];
}

// out = a b, matrices (3, 3) row by row.
void multiply_matrices(const double* a, const double* b, double* out)
{
	for (int i = 0; i < 3; ++i)
		for (int k = 0; k < 3; ++k)
			out[3 * i + k] = a[3 * i] * b[k] + a[3 * i + 1] * b[3 + k] + a[3 * i + 2] * b[6 + k];
}

// World rotations (count, 4) without scales, positions (count, 3) with scales, and matrices (count, 9):
// parent matrix · rotation · scale.
template <typename Number>
void solve_scaled_world(const Rig& rig, const Number* row, const MovingScales& moving, double* rotations,
						double* positions, double* matrices)
{
	for (size_t j = 0; j < rig.count; ++j)
	{
		const Number* q = row + 4 * j;
		const double x = q[0], y = q[1], z = q[2], w = q[3];
		double scale[3], p[3],
			own[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),		2 * (x * z + w * y),
					  2 * (x * y + w * z),	   1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
					  2 * (x * z - w * y),	   2 * (y * z + w * x),		1 - 2 * (x * x + y * y)};
		scale_of(rig, moving, j, scale);
		for (int i = 0; i < 9; ++i)
			own[i] *= scale[i % 3];
		for (int c = 0; c < 3; ++c)
			p[c] = rig.moving[j] < 0 ? rig.offsets[3 * j + c]
									 : double(row[4 * rig.count + 3 * size_t(rig.moving[j]) + c]);
		double *turn = rotations + 4 * j, *place = positions + 3 * j, *matrix = matrices + 9 * j;
		if (rig.parents[j] < 0)
		{
			turn[0] = x, turn[1] = y, turn[2] = z, turn[3] = w;
			for (int c = 0; c < 3; ++c)
				place[c] = p[c];
			for (int i = 0; i < 9; ++i)
				matrix[i] = own[i];
			continue;
		}
		const size_t parent = size_t(rig.parents[j]);
		const double *b = rotations + 4 * parent, *m = matrices + 9 * parent;
		turn[0] = b[3] * x + b[0] * w + b[1] * z - b[2] * y;
		turn[1] = b[3] * y - b[0] * z + b[1] * w + b[2] * x;
		turn[2] = b[3] * z + b[0] * y - b[1] * x + b[2] * w;
		turn[3] = b[3] * w - b[0] * x - b[1] * y - b[2] * z;
		for (int c = 0; c < 3; ++c)
			place[c] =
				positions[3 * parent + c] + m[3 * c] * p[0] + m[3 * c + 1] * p[1] + m[3 * c + 2] * p[2];
		multiply_matrices(m, own, matrix);
	}
}

// Where the numbers of one frame are written.
template <typename Number> struct Target
{
	Number *rotations, *translations, *scales;
	const mocpack_Strides &rotation, &translation, &scale;

	Target(const mocpack_Poses& poses, uint64_t frame)
		: rotations(static_cast<Number*>(poses.rotations)),
		  translations(static_cast<Number*>(poses.translations)), scales(static_cast<Number*>(poses.scales)),
		  rotation(poses.rotation_strides), translation(poses.translation_strides), scale(poses.scale_strides)
	{
		if (rotations)
			rotations += size_t(frame) * rotation.frame;
		if (translations)
			translations += size_t(frame) * translation.frame;
		if (scales)
			scales += size_t(frame) * scale.frame;
	}

	void put_scale(size_t j, const double* s) const
	{
		Number* to = scales + j * scale.joint;
		for (size_t c = 0; c < 3; ++c)
			to[c * scale.component] = Number(s[c]);
	}

	template <typename Source> void put_rotation(size_t j, const Source* q) const
	{
		Number* to = rotations + j * rotation.joint;
		for (size_t c = 0; c < 4; ++c)
			to[c * rotation.component] = Number(q[c]);
	}

	template <typename Source> void put_translation(size_t j, const Source* p) const
	{
		Number* to = translations + j * translation.joint;
		for (size_t c = 0; c < 3; ++c)
			to[c * translation.component] = Number(p[c]);
	}
};

// Writes a row as it is.
template <typename Number> void write_local(const Rig& rig, const Number* row, const Target<Number>& out)
{
	if (out.rotations)
		for (size_t i = 0; i < rig.written_count; ++i)
			out.put_rotation(i, row + 4 * rig.written[i]);
	if (out.translations)
		for (size_t i = 0; i < rig.written_count; ++i)
		{
			size_t j = size_t(rig.written[i]);
			if (rig.moving[j] < 0)
				out.put_translation(i, rig.offsets + 3 * j);
			else
				out.put_translation(i, row + 4 * rig.count + 3 * rig.moving[j]);
		}
}

template <typename Number, typename Source>
void put_world(const Rig& rig, const Source* rotations, const Source* positions, const Target<Number>& out)
{
	for (size_t i = 0; i < rig.written_count; ++i)
	{
		if (out.rotations)
			out.put_rotation(i, rotations + 4 * rig.written[i]);
		if (out.translations)
			out.put_translation(i, positions + 3 * rig.written[i]);
	}
}

// Writes a row in the world.
template <typename Number>
void write_world(const Rig& rig, const Number* row, const MovingScales& scales, void* scratch,
				 const Target<Number>& out)
{
	if (rig.is_scaled)
	{
		double *rotations = static_cast<double*>(scratch), *positions = rotations + 4 * rig.count;
		solve_scaled_world(rig, row, scales, rotations, positions, positions + 3 * rig.count);
		put_world(rig, rotations, positions, out);
		return;
	}
	Number *rotations = static_cast<Number*>(scratch), *positions = rotations + 4 * rig.count;
	solve_world(rig, row, rotations, positions);
	put_world(rig, rotations, positions, out);
}

template <typename Number>
void write(const Rig& rig, mocpack_Space space, const Number* row, const MovingScales& scales, void* scratch,
		   const Target<Number>& out)
{
	for (size_t i = 0; out.scales && i < rig.written_count; ++i)
	{
		double scale[3] = {1, 1, 1};
		if (rig.is_scaled)
			scale_of(rig, scales, size_t(rig.written[i]), scale);
		out.put_scale(i, scale);
	}
	if (!SMALL_BUILD && space == MOCPACK_WORLD)
		write_world(rig, row, scales, scratch, out);
	else
		write_local(rig, row, out);
}

} // namespace

void blend_rows(const Rig& rig, const float* a, const float* b, double t, float* out)
{
	blend(rig, a, b, float(t), out);
}

void blend_rows(const Rig& rig, const double* a, const double* b, double t, double* out)
{
	blend(rig, a, b, t, out);
}

void write_pose(const Rig& rig, mocpack_Space space, const float* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame)
{
	write(rig, space, row, scales, scratch, Target<float>(poses, frame));
}

void write_pose(const Rig& rig, mocpack_Space space, const double* row, const MovingScales& scales,
				void* scratch, const mocpack_Poses& poses, uint64_t frame)
{
	write(rig, space, row, scales, scratch, Target<double>(poses, frame));
}

} // namespace mocpack
