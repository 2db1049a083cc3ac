// Quaternions (x, y, z, w) and vectors as plain structs.
//
// Works with any number type: double, or the lanes of lanes.h.
#pragma once

namespace mocpack
{

template <typename N> struct Vec3Of
{
	using Number = N;
	N x, y, z;
};

template <typename N> struct QuatOf
{
	N x, y, z, w;
};

using Vec3 = Vec3Of<double>;
using Quat = QuatOf<double>;

inline Vec3 load_vec(const double* p)
{
	return {p[0], p[1], p[2]};
}

inline Quat load_quat(const double* p)
{
	return {p[0], p[1], p[2], p[3]};
}

inline void store(double* p, Vec3 v)
{
	p[0] = v.x, p[1] = v.y, p[2] = v.z;
}

inline void store(double* p, Quat q)
{
	p[0] = q.x, p[1] = q.y, p[2] = q.z, p[3] = q.w;
}

template <typename N> inline Vec3Of<N> operator+(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.x + b.x, a.y + b.y, a.z + b.z};
}

template <typename N> inline Vec3Of<N> operator-(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.x - b.x, a.y - b.y, a.z - b.z};
}

template <typename N> inline Vec3Of<N> operator*(typename Vec3Of<N>::Number s, Vec3Of<N> v)
{
	return {s * v.x, s * v.y, s * v.z};
}

template <typename N> inline N dot(Vec3Of<N> a, Vec3Of<N> b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

template <typename N> inline Vec3Of<N> cross(Vec3Of<N> a, Vec3Of<N> b)
{
	return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <typename N> inline QuatOf<N> multiply(QuatOf<N> a, QuatOf<N> b)
{
	return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
			a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

template <typename N> inline QuatOf<N> conjugate(QuatOf<N> q)
{
	return {-q.x, -q.y, -q.z, q.w};
}

template <typename N> inline Vec3Of<N> rotate(QuatOf<N> q, Vec3Of<N> v)
{
	Vec3Of<N> u = {q.x, q.y, q.z};
	Vec3Of<N> t = cross(u, v);
	t = t + t;
	return v + q.w * t + cross(u, t);
}

// A rotation matrix by columns, faster than a quaternion for many vectors.
template <typename N> struct MatrixOf
{
	Vec3Of<N> x, y, z;
};

template <typename N> inline MatrixOf<N> as_matrix(QuatOf<N> q)
{
	N x = q.x + q.x, y = q.y + q.y, z = q.z + q.z;
	N xx = x * q.x, yy = y * q.y, zz = z * q.z, xy = x * q.y, xz = x * q.z, yz = y * q.z;
	N wx = x * q.w, wy = y * q.w, wz = z * q.w;
	const N one = N{} + 1.0;
	return {{one - yy - zz, xy + wz, xz - wy},
			{xy - wz, one - xx - zz, yz + wx},
			{xz + wy, yz - wx, one - xx - yy}};
}

template <typename N> inline Vec3Of<N> rotate(const MatrixOf<N>& m, Vec3Of<N> v)
{
	return v.x * m.x + v.y * m.y + v.z * m.z;
}

} // namespace mocpack
