#!/bin/sh
# Builds the core's own tests with sanitizers and runs those whose names match:
#     core/tests/sanitize.sh BIN SANITIZERS NAMES
# BIN has cmake, ninja and ctest; SANITIZERS is the value of -fsanitize. If the compiler does not support them, or
# the system cannot run the programs, the script says so and succeeds.
set -e
bin=$1 sanitizers=$2 names=$3
build=build/sanitize-$(echo "$sanitizers" | tr , -)
mkdir -p "$build"
echo 'int main() { return 0; }' >"$build/probe.cpp"
if ! "${CXX:-c++}" "-fsanitize=$sanitizers" "$build/probe.cpp" -o "$build/probe" 2>/dev/null || ! "$build/probe" 2>/dev/null; then
	echo "==> this compiler has no -fsanitize=$sanitizers: the core is not tested with it"
	exit 0
fi
echo "==> the core's own tests with -fsanitize=$sanitizers"
"$bin/cmake" -S . -B "$build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$bin/ninja" "-DMOCPACK_SANITIZE=$sanitizers" \
	-DMOCPACK_TESTS=ON -DMOCPACK_WERROR=ON >/dev/null
targets=$("$bin/ctest" --test-dir "$build" -N -R "$names" | sed -n 's/^ *Test *#[0-9]*: //p')
# print the output only if the build fails
"$bin/cmake" --build "$build" --target $targets >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
"$bin/ctest" --test-dir "$build" -R "$names" --output-on-failure --no-tests=error -j 2 >"$build/log" 2>&1 || {
	cat "$build/log"
	exit 1
}
grep "tests passed" "$build/log"
