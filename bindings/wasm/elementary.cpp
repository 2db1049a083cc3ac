// For tests: the elementary functions in WebAssembly.
#include "elementary_bits.h"

// Returns the number of functions whose bits are those of other machines, and of all functions.
__attribute__((export_name("count_equal"))) int count_equal()
{
	size_t count;
	const elementary_bits::Function* functions = elementary_bits::functions(&count);
	int equal = 0;
	for (size_t i = 0; i < count; ++i)
		equal += elementary_bits::hash(functions[i]) == functions[i].expected;
	return equal;
}

__attribute__((export_name("count_all"))) int count_all()
{
	size_t count;
	elementary_bits::functions(&count);
	return int(count);
}
