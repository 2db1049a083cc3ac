// The encoder's constants as one struct, so that tools can measure the effect of each one.
#pragma once
#include <cstddef>

namespace mocpack
{
namespace keysine
{

struct Constants
{
#define NUMBER(name, value, text) double name = value;
#define NUMBERS(name, count, text, ...) double name[count] = {__VA_ARGS__};
#include "keysine/encode/constants.inc"
#undef NUMBER
#undef NUMBERS
};

// One row of the table of constants: `count` numbers, beginning with number `first` of the struct.
struct ConstantRow
{
	const char *name, *text;
	size_t first, count;
};

const ConstantRow CONSTANT_ROWS[] = {
#define NUMBER(name, value, text) {#name, text, offsetof(Constants, name) / sizeof(double), 1},
#define NUMBERS(name, count, text, ...) {#name, text, offsetof(Constants, name) / sizeof(double), count},
#include "keysine/encode/constants.inc"
#undef NUMBER
#undef NUMBERS
};

} // namespace keysine
} // namespace mocpack
