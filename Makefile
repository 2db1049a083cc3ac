# All commands of this repository; `make help` lists them. Every target sets itself up: the first run makes .venv and
# compiles the core (a minute or two), later runs start at once.
PYTHON ?= python3
BIN := .venv/bin
# stamps: mocpack is compiled and importable; the tests' packages are installed, too
COMPILED := .venv/.compiled
READY := .venv/.ready
CORE := $(shell find core bindings/python CMakeLists.txt -type f 2>/dev/null)
# With ccache, all clones share compiled files. Set CMAKE_CXX_COMPILER_LAUNCHER to use another launcher.
ifndef CMAKE_CXX_COMPILER_LAUNCHER
CCACHE := $(shell command -v ccache 2>/dev/null)
CACHED := $(if $(CCACHE),CMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE) CCACHE_BASEDIR=$(CURDIR) CCACHE_NOHASHDIR=1)
endif

PAGE := src/mocpack/viewing/page/index.html
# the first Python from 3.12 on, if one is installed, builds the wheel of the stable ABI
ABI3_PYTHON ?= $(firstword $(foreach v,3.12 3.13 3.14,$(shell python$(v) -c "import sys; print(sys.executable)" 2>/dev/null)))
# the target of `make wheel`: the oldest C library that manylinux supports
WHEEL_TARGET ?= $(shell uname -m)-linux-gnu.2.17
CROSS_TARGETS ?= x86_64-windows-gnu aarch64-macos aarch64-linux-gnu.2.17
# the program itself: `python -m ziglang` would start Python for every source
ZIG = $(shell echo $(CURDIR)/.venv/lib/python*/site-packages/ziglang/zig)
LIBRARY := $(shell find src/mocpack -name '*.py' -o -name '*.bvh' 2>/dev/null) pyproject.toml README.md LICENSE $(wildcard LICENSES/*)

.PHONY: help setup demo check library amalgamation test test-data test-datasets lint format golden golden-archive conformance release-check sizes bench pages papers gltf-peers promise attack fuzz fuzz-core mutants wasm js js-tools viewer pictures \
  sdist wheel wheel-abi3 cross site test-core coverage coverage-python coverage-core test-node test-blender lerobot test-lerobot test-torch test-s3 test-ray stores test-stores test-webtransport test-newest test-oldest clean

help:  ## list all targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/python:
	@echo "==> making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --no-compile --upgrade "pip>=25.1"

# One stamp for each dependency group of pyproject.toml, so that a target installs only what it needs. Python compiles
# the modules that are imported; to compile all of them takes as long as the rest of the installation.
.venv/.group-%: pyproject.toml | $(BIN)/python
	@echo "==> installing the dependency group $*"
	@$(BIN)/python -m pip install --quiet --no-compile --group $*
	@touch $@

# cmake and ninja come from PyPI (30 MB) only where the system has none that is new enough: scikit-build-core says so
.venv/.group-build: pyproject.toml | $(BIN)/python
	@echo "==> installing the dependency group build"
	@$(BIN)/python -m pip install --quiet --no-compile --group build
	@$(BIN)/python -c "from scikit_build_core.build import get_requires_for_build_wheel as missing; print(*missing(), sep='\n')" \
	  | xargs -r $(BIN)/python -m pip install --quiet --no-compile
	@for program in cmake ctest ninja; do [ -e $(BIN)/$$program ] || ln -s "$$(command -v $$program)" $(BIN)/$$program; done
	@touch $@

$(COMPILED): .venv/.group-build $(CORE)
	@echo "==> compiling the native core"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(CACHED) $(BIN)/python -m pip install --quiet --no-compile --no-build-isolation \
	  --editable . -C build-dir=build/editable -C cmake.define.MOCPACK_WERROR=ON
	@touch $@

$(READY): $(COMPILED) .venv/.group-suite
	@touch $@

# one after the other even with `make -j`: both install into .venv
.venv/.group-suite: | $(COMPILED)

setup: $(READY) .venv/.group-lint  ## make .venv with the packages of `make test` and `make lint`; compile the core

demo: $(COMPILED)  ## compress, decompress and compare the bundled clip
	@echo "==> mocpack demo"
	@$(BIN)/mocpack demo --out demo

# unit tests not marked slow, without the folders whose tests need scipy, pyarrow or duckdb (115 MB)
FAST_TESTS := tests/unit $(addprefix --ignore=tests/unit/,bench corpora papers)
check: $(COMPILED) .venv/.group-check python-lint  ## run ruff, mypy, the import contract and the fast unit tests, in a minute
	@echo "==> the fast unit tests"
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" --durations 5 --durations-min 2 $(FAST_TESTS)

# The core's own tests run beside the others. `nice` lets them use the time in which those wait.
test: .venv/.group-build  ## run all tests, including the core's own tests under sanitizers
	@$(MAKE) -s -j 4 test-python NICE="nice -n 19" test-core

.PHONY: test-python
test-python: $(READY) library amalgamation test-node
	@if $(MAKE) -s js-tools >/dev/null; then $(MAKE) -s build/wheels/.ready; fi
	@echo "==> running the tests"
	@$(BIN)/python -m pytest -q -n auto --dist worksteal --durations 20

# Parts of the tests that node builds or that are downloaded. They do not depend on the compiled core, so downloads and
# compilation run side by side.
test-node: $(BIN)/python
	@if $(MAKE) -s js-tools; then $(MAKE) -s js viewer build/wheelhouse/.ready; else \
	  echo "==> the JavaScript package, the viewer's page and a wheel with it cannot be built here; their tests will be skipped"; fi

test-data: $(READY)  ## run the tests that need clips outside the repository (MOCPACK_DATA names their folder)
	@if $(MAKE) -s js-tools; then $(MAKE) -s js; else echo "==> the JavaScript package cannot be built here; its tests will be skipped"; fi
	@$(BIN)/python -m pytest -q tests/data

test-datasets: $(READY)  ## read files of HumanML3D, AMASS and BONES-SEED, which are not in the repository (MOCPACK_DATA)
	@$(BIN)/python -m pytest -q -rP tests/data/test_datasets.py

PROMISES ?= 4000
promise: $(READY)  ## check keysine's error bounds on thousands of generated clips (PROMISES=4000)
	@MOCPACK_PROMISES=$(PROMISES) $(BIN)/python -m pytest -q -n auto tests/properties/test_keysine.py

ATTACKS ?= 1500
ATTACK_WORKERS ?= 2
attack: $(READY)  ## check every error bound on new random clips, with separate kinematics (ATTACKS=1500)
	@$(BIN)/python tests/attack/run_attack.py --clips $(ATTACKS) --workers $(ATTACK_WORKERS)

FUZZ ?= 1000
fuzz: $(READY)  ## try new random examples: properties, mutated files in every reader, requests to the viewer (FUZZ=1000 of each)
	@$(MAKE) -s library
	@if $(MAKE) -s js-tools; then $(MAKE) -s js; else echo "==> the JavaScript package cannot be built here; its tests will be skipped"; fi
	@MOCPACK_FUZZ=$(FUZZ) $(BIN)/python -m pytest -q -n auto tests/properties tests/readers/test_mutations.py tests/viewer/test_hostile_requests.py

RUNS ?= 300000
fuzz-core: $(READY)  ## fuzz live packets, files and archives in the core, guided by coverage (RUNS=300000 each; needs clang)
	@$(CACHED) core/fuzz/run.sh $(CURDIR)/$(BIN) $(RUNS)

MUTANTS ?= 30
mutants: $(READY)  ## change decoder, reader, archives and bindings one token at a time; list changes that no test notices (MUTANTS=30 per area)
	@$(BIN)/python tools/mutate.py --count $(MUTANTS)

.PHONY: python-lint
python-lint: $(COMPILED) .venv/.group-check
	@echo "==> ruff"; $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "==> mypy"; $(BIN)/mypy
	@echo "==> import contract"; $(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/includes.py

# the types of the Python in docs/ are a test, which `make test` skips where mypy is not installed
lint: python-lint .venv/.group-lint  ## run ruff, mypy, import contract, clang-format, spelling, workflows, TypeScript
	@echo "==> types of the Python in docs/"; $(BIN)/python -m pytest -q tests/unit/test_docs.py -k well_typed
	@echo "==> clang-format"; find core bindings examples tests/readers tests/library benchmarks/poses.c -name '*.cpp' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' | xargs $(BIN)/clang-format --dry-run --Werror
	@echo "==> codespell"; $(BIN)/codespell README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md docs src core bindings js/src viewer/src tests/support
	@echo "==> vocabulary"; $(BIN)/python tools/vocabulary.py
	@echo "==> workflows"; $(BIN)/zizmor --offline --quiet .github
	@for kind in "github-workflows .github/workflows/*.yml" "dependabot .github/dependabot.yml" "citation-file-format CITATION.cff" \
	  "github-issue-config .github/ISSUE_TEMPLATE/config.yml" "github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/wish.yml"; do \
	  $(BIN)/check-jsonschema --quiet --builtin-schema vendor.$$kind || exit 1; done
	@if command -v npm >/dev/null; then echo "==> TypeScript"; \
	  $(MAKE) -s js/dist/index.js viewer/node_modules/.ready && (cd js && npm run --silent check) && (cd viewer && npm run --silent check); \
	  else echo "==> npm is not installed: TypeScript not checked"; fi

format: .venv/.group-lint  ## format all sources
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .
	@find core bindings examples tests/readers tests/library benchmarks/poses.c -name '*.cpp' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' | xargs $(BIN)/clang-format -i

wasm: js/dist/mocpack.wasm  ## build the decoder for browsers

js/dist/mocpack.wasm: $(shell find core/src core/include core/reader.txt bindings/wasm -type f) js/node_modules/.ready
	@echo "==> compiling the core to WebAssembly"
	@PYTHON="$(PYTHON)" node bindings/wasm/build.mjs reader $@

js/dist/live.wasm: $(shell find core/src/live core/src/common core/include bindings/wasm -type f) core/src/coding/crc32.h js/node_modules/.ready
	@echo "==> compiling the receiver of live streams to WebAssembly"
	@node bindings/wasm/build.mjs live $@

js/node_modules/.ready: js/package.json js/package-lock.json
	@echo "==> installing the build tools of the JavaScript package"
	@cd js && npm ci --silent
	@touch $@

js/dist/index.js: $(shell find js/src -type f) js/tsconfig.json js/node_modules/.ready
	@echo "==> building the JavaScript package"
	@cd js && npm run --silent build

js-tools:
	@command -v npm >/dev/null || { echo "==> npm is not installed"; exit 1; }
	@$(MAKE) -s js/node_modules/.ready viewer/node_modules/.ready tests/js/node_modules/.ready

tests/js/node_modules/.ready: tests/js/package.json tests/js/package-lock.json
	@echo "==> installing the validator of glTF files"
	@cd tests/js && npm ci --silent
	@touch $@

js: js/dist/mocpack.wasm js/dist/live.wasm js/dist/index.js  ## build the JavaScript package, js/dist

# after those of js, so that npm downloads shared packages (three.js, TypeScript) only once
viewer/node_modules/.ready: viewer/package.json viewer/package-lock.json | js/node_modules/.ready
	@echo "==> installing the build tools of the viewer"
	@cd viewer && npm ci --silent
	@touch $@

$(PAGE): $(shell find viewer LICENSES -type f -not -path 'viewer/node_modules*') js/dist/mocpack.wasm js/dist/live.wasm js/dist/index.js viewer/node_modules/.ready
	@echo "==> building the viewer's page"
	@cd viewer && npm run --silent build

viewer: $(PAGE)  ## build the page of `mocpack view`

# mocpack's dependencies, downloaded once: the tests install them from here without a network
build/wheelhouse/.ready: pyproject.toml | $(BIN)/python
	@echo "==> downloading mocpack's dependencies (25 MB)"
	@mkdir -p build/wheelhouse && $(BIN)/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > build/wheelhouse/requirements.txt
	@$(BIN)/python -m pip download --quiet --only-binary :all: -d build/wheelhouse -r build/wheelhouse/requirements.txt
	@touch $@

# a wheel for the tests, made by this machine's compiler from the objects of `make setup`
build/wheels/.ready: $(READY) $(PAGE) $(LIBRARY) build/wheelhouse/.ready
	@echo "==> building a wheel for the tests"
	@rm -rf build/wheels
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(CACHED) $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps -w build/wheels . \
	  -C build-dir=build/editable -C cmake.define.MOCPACK_WERROR=ON
	@$(BIN)/python -c "from scikit_build_core.build import build_sdist; build_sdist('build/wheels')"
	@touch $@

sdist: $(PAGE) .venv/.group-build  ## build the source distribution in dist/, with the viewer's page
	@$(BIN)/python -c "from scikit_build_core.build import build_sdist; build_sdist('dist')"

# The Python that tests a wheel. In a compiled checkout, the tests also check that wheel and checkout write the same bytes.
# Otherwise they import mocpack from the wheel, so that the checkout need not be compiled.
TRY_WHEEL := $(if $(wildcard $(COMPILED)),$(BIN)/python,build/wheel-python/bin/python)

wheel: $(PAGE) .venv/.group-build .venv/.group-wheel build/wheelhouse/.ready $(if $(wildcard $(COMPILED)),$(COMPILED) .venv/.group-check)  ## build sdist and manylinux wheel in dist/; test them in an empty environment
	@echo "==> building the source distribution and, with zig for $(WHEEL_TARGET), the wheel (minutes the first time)"
	@rm -rf dist build/zig && $(MAKE) -s sdist
	@PATH="$(CURDIR)/$(BIN):$$PATH" CC="$(ZIG) cc -target $(WHEEL_TARGET)" CXX="$(ZIG) c++ -target $(WHEEL_TARGET)" \
	  $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps -w build/zig . -C build-dir=build/wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/zig/*.whl
	@[ $(TRY_WHEEL) = $(BIN)/python ] || { $(BIN)/python -m venv --clear build/wheel-python && \
	  $(TRY_WHEEL) -m pip install --quiet --no-compile dist/*.whl "pytest>=8"; }
	@echo "==> testing the wheel without compiler and node"
	@MOCPACK_WHEEL=$$(ls dist/*.whl) $(TRY_WHEEL) -m pytest -q tests/install
	@if [ -n "$(ABI3_PYTHON)" ]; then $(MAKE) -s wheel-abi3; else \
	  echo "==> no Python 3.12 or later here (ABI3_PYTHON): the wheel of the stable ABI was not built"; fi
	@ls -l dist

wheel-abi3: $(READY) $(PAGE) .venv/.group-wheel build/wheelhouse/.ready  ## build and test the wheel for every Python from 3.12 on, with ABI3_PYTHON
	@echo "==> building the wheel of the stable ABI with $$($(ABI3_PYTHON) --version)"
	@rm -rf build/abi3-wheel dist/*abi3* && $(ABI3_PYTHON) -m venv --clear --without-pip build/abi3-python
	@$(BIN)/python -m pip --python build/abi3-python/bin/python install --quiet scikit-build-core nanobind
	@$(BIN)/python -m pip --python build/abi3-python/bin/python download --quiet --only-binary :all: \
	  -d build/wheelhouse -r build/wheelhouse/requirements.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" CC="$(ZIG) cc -target $(WHEEL_TARGET)" CXX="$(ZIG) c++ -target $(WHEEL_TARGET)" \
	  $(BIN)/python -m pip --python build/abi3-python/bin/python wheel --quiet --no-build-isolation --no-deps \
	  -w build/abi3-wheel . -C build-dir=build/wheel-abi3
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/abi3-wheel/*.whl
	@MOCPACK_WHEEL=$$(ls dist/*abi3*.whl) MOCPACK_PYTHON=$(ABI3_PYTHON) $(BIN)/python -m pytest -q tests/install

cross: .venv/.group-build .venv/.group-wheel  ## compile the core for other systems (CROSS_TARGETS), without running it
	@for target in $(CROSS_TARGETS); do echo "==> the core for $$target"; \
	  case $$target in *windows*) system=Windows;; *macos*) system=Darwin;; *) system=Linux;; esac; \
	  CXX="$(ZIG) c++ -target $$target" $(BIN)/cmake -S . -B build/cross/$$target -G Ninja -DMOCPACK_CORE=ON -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	    -DCMAKE_SYSTEM_NAME=$$system -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_OSX_ARCHITECTURES= -DMOCPACK_WERROR=ON >/dev/null \
	    && $(BIN)/cmake --build build/cross/$$target || exit 1; done
	@echo "==> libmocpack as a DLL, and a program that uses it"; $(PYTHON) tools/amalgamate.py build/cross/dll && cd build/cross/dll && mkdir -p mocpack && cp mocpack.h mocpack \
	  && $(ZIG) c++ -target x86_64-windows-gnu -std=c++17 -O2 -fno-exceptions -fno-rtti -ffp-contract=off -DMOCPACK_SHARED -DMOCPACK_BUILDING -c mocpack.cpp -o mocpack.obj \
	  && $(ZIG) cc -target x86_64-windows-gnu -shared mocpack.obj -o mocpack.dll -Wl,--out-implib,mocpack.lib \
	  && $(ZIG) cc -target x86_64-windows-gnu -DMOCPACK_SHARED -I. $(CURDIR)/examples/c/play.c mocpack.lib -o play.exe

site: .venv/.group-docs  ## build the docs site, build/site; broken links and code fences are errors
	@$(BIN)/zensical build --strict -f mkdocs.yml
	@! grep -rn --include='*.html' '```' build/site || { echo "a code fence was not recognized: its first line may have one word only"; exit 1; }

pictures: $(READY) viewer  ## take the pictures of the viewer for README and docs
	@$(BIN)/python tools/viewer_pictures.py docs/pictures

golden: $(READY)  ## write the golden files that do not exist yet
	@PYTHONPATH=tests/support:tests/readers $(BIN)/python tests/golden/make.py

conformance: $(READY) library js  ## check the golden archive with Python, C, JavaScript and the reader written from the docs
	@$(BIN)/python -m pytest -q tests/readers/test_conformance.py

release-check: $(READY)  ## check everything that a release needs; print one table (ONLY=versions,golden for a part)
	@$(BIN)/python tools/release_check.py $(if $(ONLY),--only $(ONLY))

golden-archive: $(BIN)/python  ## build build/mocpack-golden-0.1.tar for authors of other decoders; docs/promise.md has its SHA-256
	@$(BIN)/python tools/golden_archive.py

sizes: $(READY)  ## write the table of sizes that the tests compare with; run it on purpose only
	@$(BIN)/python tests/regression/sizes.py

bench: $(READY)  ## measure every speed and size in the docs
	@for script in benchmarks/bench_*.py; do echo "==> $$script"; $(BIN)/python $$script || exit 1; done

pages: $(READY)  ## write docs/benchmarks.md, docs/growth.md and the README's table from benchmarks/results
	@$(BIN)/python benchmarks/headline.py page && $(BIN)/python benchmarks/growth.py page

papers: $(READY)  ## write docs/papers.md and .csv, the papers' figures beside ours (half an hour; report/ keeps finished papers)
	@$(BIN)/python benchmarks/papers_page.py --out report
	@cp report/papers.md report/papers.csv docs

gltf-peers:  ## install the glTF tools that the bench compares with (58 MB in benchmarks/node)
	@npm ci --prefix benchmarks/node --no-audit --no-fund --silent

LIBRARY_SOURCES := $(shell find core/src core/include -type f 2>/dev/null) core/library.cmake core/reader.txt core/mocpack.map CMakeLists.txt

library: build/library/.ready  ## build libmocpack, static and shared, in build/library

build/library/.ready: .venv/.group-build $(LIBRARY_SOURCES)
	@echo "==> compiling libmocpack"
	@for kind in static shared; do \
	  $(CACHED) $(BIN)/cmake -S . -B build/library/make-$$kind -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DMOCPACK_WERROR=ON \
	    -DBUILD_SHARED_LIBS=$$([ $$kind = shared ] && echo ON || echo OFF) -DCMAKE_INSTALL_LIBDIR=lib \
	    -DCMAKE_INSTALL_PREFIX=$(CURDIR)/build/library/$$kind >/dev/null && \
	  $(CACHED) $(BIN)/cmake --build build/library/make-$$kind >build/library/log 2>&1 || { cat build/library/log; exit 1; }; \
	  $(BIN)/cmake --install build/library/make-$$kind --strip >/dev/null || exit 1; done
	@touch $@

amalgamation: build/amalgamation/mocpack.cpp  ## write libmocpack as one header and one source, build/amalgamation

build/amalgamation/mocpack.cpp: $(LIBRARY_SOURCES) tools/amalgamate.py
	@$(PYTHON) tools/amalgamate.py build/amalgamation

test-core: .venv/.group-build  ## run the core's own tests under the address, undefined-behavior and thread sanitizers
	@$(CACHED) $(NICE) core/tests/sanitize.sh $(CURDIR)/$(BIN) address,undefined,float-cast-overflow,float-divide-by-zero _test
	@$(CACHED) $(NICE) core/tests/sanitize.sh $(CURDIR)/$(BIN) thread _threads_test

# Line coverage. Python: by the whole suite without the JavaScript, browser and wheel tests. C++: by the core's own tests.
# It needs gcc with gcov; make installs gcovr and pytest-cov.
COVERAGE := build/coverage
coverage: coverage-python coverage-core  ## measure line coverage of Python, and of the core by its own tests (gcc)

coverage-python: $(READY) .venv/.group-coverage
	@mkdir -p $(COVERAGE)
	@COVERAGE_FILE=$(COVERAGE)/python.data $(BIN)/python -m pytest -q -n auto --dist worksteal --cov mocpack --cov-report= \
	  tests src/mocpack $(addprefix --ignore=tests/,js viewer install library)
	@COVERAGE_FILE=$(COVERAGE)/python.data $(BIN)/coverage report --skip-covered --sort cover > $(COVERAGE)/python.txt
	@echo "Python: $$(awk '/^TOTAL/ {print $$NF}' $(COVERAGE)/python.txt) of lines ($(COVERAGE)/python.txt)"

coverage-core: .venv/.group-build .venv/.group-coverage
	@command -v gcov >/dev/null || { echo "make coverage needs gcc and gcov (Debian: apt-get install g++)"; exit 1; }
	@CXX=g++ CXXFLAGS="--coverage -O0" LDFLAGS=--coverage $(BIN)/cmake -S . -B $(COVERAGE)/core -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DMOCPACK_TESTS=ON >/dev/null
	@$(BIN)/cmake --build $(COVERAGE)/core --target $$($(BIN)/ctest --test-dir $(COVERAGE)/core -N | sed -n 's/^ *Test *#[0-9]*: //p') \
	  >$(COVERAGE)/core.log 2>&1 || { cat $(COVERAGE)/core.log; exit 1; }
	@$(BIN)/ctest --test-dir $(COVERAGE)/core -j 2 --output-on-failure >$(COVERAGE)/core.log || { cat $(COVERAGE)/core.log; exit 1; }
	@$(BIN)/gcovr --root core/src --exclude-throw-branches --gcov-ignore-errors=no_working_dir_found \
	  --txt $(COVERAGE)/core.txt $(COVERAGE)/core
	@echo "core: $$(tail -n 3 $(COVERAGE)/core.txt | awk '/TOTAL/ {print $$4}') of lines ($(COVERAGE)/core.txt)"

.venv-blender/.ready:
	@echo "==> making .venv-blender with Blender (374 MB)"
	@$(PYTHON) -m venv .venv-blender
	@.venv-blender/bin/python -m pip install --quiet "bpy==5.0.1" "numpy<2"
	@touch $@

test-blender: $(READY) .venv-blender/.ready  ## open our files in Blender, and compare the FBX files that both read
	@$(BIN)/python tests/blender/write_clips.py build/blender
	@.venv-blender/bin/python tests/blender/check_in_blender.py build/blender
	@$(BIN)/python tests/blender/read_exports.py build/blender/exports

.venv-lerobot/.ready:
	@echo "==> making .venv-lerobot with LeRobot (8 GB)"
	@$(PYTHON) -m venv .venv-lerobot
	@.venv-lerobot/bin/python -m pip install --quiet "lerobot==0.4.4" "torch==2.10.0" "torchvision==0.25.0"
	@touch $@

lerobot: .venv-lerobot/.ready  ## install LeRobot, which benchmarks/bench_robots.py compares with

# The environments beside .venv hold packages that .venv must not have, and import all others from it. This line of Python
# writes the .pth file for that.
BESIDE = import sysconfig; print("import site; site.addsitedir({!r})".format(sysconfig.get_path("purelib")))
test-lerobot: $(READY) .venv-lerobot/.ready  ## export archives as LeRobot datasets and read them with LeRobot
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-lerobot/lib/python*/site-packages)/beside.pth
	@HF_HUB_OFFLINE=1 .venv-lerobot/bin/python -m pytest -q tests/lerobot

# choose the build of torch for your machine: make test-torch TORCH=torch==2.13.0+cpu
TORCH ?= torch

.venv-torch/.ready: | $(READY)
	@echo "==> making .venv-torch with PyTorch (at least 700 MB, depending on the build)"
	@$(BIN)/python -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --quiet "$(TORCH)"
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-torch/lib/python*/site-packages)/beside.pth
	@touch $@

test-torch: $(READY) .venv-torch/.ready  ## test the loaders of corpora with PyTorch, in forked and spawned workers
	@.venv-torch/bin/python -m pytest -q tests/torch

.venv-s3/.ready: | $(READY)
	@echo "==> making .venv-moto with an S3 server and .venv-s3 with a client, whose packages conflict (200 MB)"
	@$(BIN)/python -m venv .venv-moto && .venv-moto/bin/python -m pip install --quiet "moto[s3,server]>=5"
	@$(BIN)/python -m venv .venv-s3 && .venv-s3/bin/python -m pip install --quiet "s3fs>=2024.2"
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-s3/lib/python*/site-packages)/beside.pth
	@touch $@

test-s3: $(READY) .venv-s3/.ready  ## read and write corpora on a local S3 server; count every request
	@MOTO_SERVER=$(CURDIR)/.venv-moto/bin/moto_server .venv-s3/bin/python -m pytest -q tests/s3

.venv-ray/.ready: | $(READY)
	@echo "==> making .venv-ray with ray and an S3 client (130 MB)"
	@$(BIN)/python -m venv .venv-ray
	@.venv-ray/bin/python -m pip install --quiet "ray>=2.40" "s3fs>=2024.2"
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-ray/lib/python*/site-packages)/beside.pth
	@touch $@

test-ray: $(READY) .venv-ray/.ready .venv-s3/.ready  ## pack on a ray cluster of two nodes, with S3; kill workers, a node and the command
	@MOTO_SERVER=$(CURDIR)/.venv-moto/bin/moto_server .venv-ray/bin/python -m pytest -q tests/ray

.venv-stores/.ready: | $(READY)
	@echo "==> making .venv-stores with Lance, Hugging Face datasets and zarr (500 MB)"
	@$(BIN)/python -m venv .venv-stores
	@.venv-stores/bin/python -m pip install --quiet "pylance>=1" "datasets>=4" "zarr>=3"
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-stores/lib/python*/site-packages)/beside.pth
	@touch $@

stores: $(READY) .venv-stores/.ready  ## install the stores that benchmarks/bench_corpus.py compares with

test-stores: $(READY) .venv-stores/.ready  ## test zarr's codec and the export to Lance with the real packages
	@.venv-stores/bin/python -m pytest -q tests/stores

.venv-webtransport/.ready: | $(READY)
	@echo "==> making .venv-webtransport with aioquic (20 MB)"
	@$(BIN)/python -m venv .venv-webtransport
	@.venv-webtransport/bin/python -m pip install --quiet "aioquic>=1.2" "cryptography>=42"
	@$(BIN)/python -c '$(BESIDE)' > $$(echo .venv-webtransport/lib/python*/site-packages)/beside.pth
	@touch $@

test-webtransport: $(READY) $(PAGE) .venv-webtransport/.ready  ## test the relay's page over WebTransport, in Chromium
	@.venv-webtransport/bin/python -m pytest -q tests/webtransport

# How uv resolves the packages of each environment. `PYTHON=python3.13 make test-newest` tests with another Python.
newest_RESOLUTION := highest
oldest_RESOLUTION := lowest-direct
# old packages call functions that newer releases of their dependencies deprecate
oldest_WARNINGS := -W ignore::DeprecationWarning

.venv-newest/.ready .venv-oldest/.ready: .venv-%/.ready: pyproject.toml $(CORE) $(LIBRARY)
	@echo "==> making .venv-$* with mocpack and the $* packages that pyproject.toml allows (800 MB)"
	@$(PYTHON) -m venv --clear .venv-$* && .venv-$*/bin/python -m pip install --quiet "uv>=0.8"
	@$(CACHED) .venv-$*/bin/uv pip install --quiet --python .venv-$*/bin/python --resolution $($*_RESOLUTION) --group test --editable ".[fbx,usd,bench]"
	@touch $@

test-newest:  ## run the tests that need neither node nor a browser, with the newest packages
test-oldest:  ## the same, with the oldest packages that pyproject.toml allows
test-newest test-oldest: test-%: .venv-%/.ready
	@.venv-$*/bin/python -m pytest -q -n auto --dist worksteal $($*_WARNINGS) tests --ignore=tests/js --ignore=tests/viewer --ignore=tests/install

clean:  ## remove all files that make wrote
	rm -rf .venv .venv-blender .venv-lerobot .venv-torch .venv-s3 .venv-moto .venv-ray .venv-stores .venv-webtransport .venv-newest .venv-oldest build dist demo src/mocpack/_core* js/dist js/LICENSE js/node_modules $(dir $(PAGE)) viewer/node_modules tests/js/node_modules
