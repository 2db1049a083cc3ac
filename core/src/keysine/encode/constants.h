// The encoder's constants as one struct, so that tools can measure the effect of each one.
#pragma once
#include <cstddef>

namespace mocpack
{
namespace keysine
{

struct Constants
{
#define NUMBER(name, value, unit, effect) double name = value;
#define NUMBERS(name, count, unit, effect, ...) double name[count] = {__VA_ARGS__};
#include "keysine/encode/constants.inc"
#undef NUMBER
#undef NUMBERS
};

// Calls visit(name, unit and effect, numbers, count) for each row of the table of constants.
template <typename Visit> void visit_constants(Constants* constants, Visit visit)
{
#define NUMBER(name, value, unit, effect) visit(#name, unit ": " effect, &constants->name, size_t(1));
#define NUMBERS(name, count, unit, effect, ...)                                                              \
	visit(#name, unit ": " effect, constants->name, size_t(count));
#include "keysine/encode/constants.inc"
#undef NUMBER
#undef NUMBERS
}

} // namespace keysine
} // namespace mocpack
