// Several numbers side by side, for compilers without vector types (cl.exe): the same arithmetic, lane by
// lane, so that results are the same bits.
//
// MOCPACK_PLAIN_VECTORS chooses it where the compiler has vector types too, for the tests.
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

	// a single number stands for as many
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
