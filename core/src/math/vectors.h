// A replacement for vector types on compilers without them (cl.exe). Lanes compute in the same way, so
// results are identical.
//
// Tests define MOCPACK_PLAIN_VECTORS to use it everywhere.
#pragma once
#include <cstddef>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(MOCPACK_PLAIN_VECTORS)
#define MOCPACK_VECTOR_TYPES 1
#else
#define MOCPACK_VECTOR_TYPES 0
#endif

namespace mocpack
{

template <typename N, size_t count> struct PlainVector
{
	N lanes[count];

	N& operator[](size_t l)
	{
		return lanes[l];
	}

	const N& operator[](size_t l) const
	{
		return lanes[l];
	}

	PlainVector operator-() const
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = -lanes[l];
		return made;
	}

	friend PlainVector operator+(const PlainVector& a, const PlainVector& b)
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = a[l] + b[l];
		return made;
	}

	friend PlainVector operator-(const PlainVector& a, const PlainVector& b)
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = a[l] - b[l];
		return made;
	}

	friend PlainVector operator*(const PlainVector& a, const PlainVector& b)
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = a[l] * b[l];
		return made;
	}

	friend PlainVector operator/(const PlainVector& a, const PlainVector& b)
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = a[l] / b[l];
		return made;
	}

	// a single number is broadcast
	friend PlainVector operator+(const PlainVector& a, N b)
	{
		return a + all(b);
	}

	friend PlainVector operator+(N a, const PlainVector& b)
	{
		return all(a) + b;
	}

	friend PlainVector operator-(const PlainVector& a, N b)
	{
		return a - all(b);
	}

	friend PlainVector operator*(N a, const PlainVector& b)
	{
		return all(a) * b;
	}

	friend PlainVector operator*(const PlainVector& a, N b)
	{
		return a * all(b);
	}

	PlainVector& operator+=(const PlainVector& other)
	{
		return *this = *this + other;
	}

	PlainVector& operator-=(const PlainVector& other)
	{
		return *this = *this - other;
	}

	PlainVector& operator*=(const PlainVector& other)
	{
		return *this = *this * other;
	}

	static PlainVector all(N value)
	{
		PlainVector made;
		for (size_t l = 0; l < count; ++l)
			made[l] = value;
		return made;
	}
};

template <typename N, size_t count>
inline PlainVector<N, count> larger(const PlainVector<N, count>& a, const PlainVector<N, count>& b)
{
	PlainVector<N, count> made;
	for (size_t l = 0; l < count; ++l)
		made[l] = a[l] > b[l] ? a[l] : b[l];
	return made;
}

} // namespace mocpack
