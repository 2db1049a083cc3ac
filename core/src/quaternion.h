// Quaternions (x, y, z, w) and vectors as plain structs, for the kernels.
#pragma once

namespace mocpack
{

struct Vec3
{
	double x, y, z;
};

struct Quat
{
	double x, y, z, w;
};

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

inline Vec3 operator+(Vec3 a, Vec3 b)
{
	return {a.x + b.x, a.y + b.y, a.z + b.z};
}

inline Vec3 operator-(Vec3 a, Vec3 b)
{
	return {a.x - b.x, a.y - b.y, a.z - b.z};
}

inline Vec3 operator*(double s, Vec3 v)
{
	return {s * v.x, s * v.y, s * v.z};
}

inline double dot(Vec3 a, Vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

inline Vec3 cross(Vec3 a, Vec3 b)
{
	return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

inline Quat multiply(Quat a, Quat b)
{
	return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
			a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

inline Quat conjugate(Quat q)
{
	return {-q.x, -q.y, -q.z, q.w};
}

inline Vec3 rotate(Quat q, Vec3 v)
{
	Vec3 u = {q.x, q.y, q.z};
	Vec3 t = 2.0 * cross(u, v);
	return v + q.w * t + cross(u, t);
}

} // namespace mocpack
