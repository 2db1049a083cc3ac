#!/bin/sh
# Builds the fuzz targets with clang and libFuzzer, and runs each on new inputs that grow from the seeds:
#     core/fuzz/run.sh BIN RUNS [TARGET...]
# BIN has cmake, ninja and a python with mocpack. RUNS counts executions per target. An input that fails stays in
# build/fuzz as crash-*, timeout-* or oom-*. Options for libFuzzer may be given in FUZZ_OPTIONS, such as -seed=1.
set -eu
bin=$1 runs=$2
shift 2
[ $# -gt 0 ] || set -- live file archive
build=build/fuzz
sanitizers=address,undefined,float-cast-overflow,float-divide-by-zero
export CXX="${FUZZ_CXX:-clang++}"
mkdir -p "$build"
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$build/probe.cpp"
if ! "$CXX" "-fsanitize=fuzzer,$sanitizers" "$build/probe.cpp" -o "$build/probe" 2>"$build/log"; then
	cat "$build/log"
	echo "==> $CXX has no libFuzzer (Debian: apt-get install clang libclang-rt-14-dev); FUZZ_CXX names another compiler"
	exit 1
fi
echo "==> building the fuzz targets"
"$bin/cmake" -S . -B "$build/make" -G Ninja "-DCMAKE_MAKE_PROGRAM=$bin/ninja" "-DMOCPACK_SANITIZE=$sanitizers" \
	-DMOCPACK_FUZZ=ON -DMOCPACK_INSTALL=OFF >/dev/null
"$bin/cmake" --build "$build/make" >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
"$bin/python" core/fuzz/make_corpus.py "$build/seeds"
for target in "$@"; do
	echo "==> fuzzing $target: $runs executions"
	mkdir -p "$build/found/$target"
	# shellcheck disable=SC2086 # the options are words
	if ! "$build/make/fuzz_$target" "-runs=$runs" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		"-artifact_prefix=$build/$target-" ${FUZZ_OPTIONS-} "$build/found/$target" "$build/seeds/$target" >"$build/$target.log" 2>&1; then
		tail -n 60 "$build/$target.log"
		exit 1
	fi
	grep -E "stat::(number_of_executed_units|average_exec_per_sec|new_units_added)" "$build/$target.log"
done
