# All commands of this repository; `make help` lists them. Every target sets itself up: the first run makes .venv and
# compiles the core (a minute or two), later runs start at once.
PYTHON ?= python3
BIN := .venv/bin
# stamps: mocpack is compiled and importable; the tests' packages are installed, too
COMPILED := .venv/.compiled
READY := .venv/.ready
PAGE := src/mocpack/viewing/page/index.html
PTX := src/mocpack/trainers/motion_states.ptx
CORE := $(shell find core bindings/python CMakeLists.txt -type f)
PACKAGE := $(shell find src/mocpack -name '*.py' -o -name '*.bvh') pyproject.toml README.md LICENSE $(wildcard LICENSES/*)
LIBRARY := $(shell find core/src core/include -type f) core/library.cmake core/reader.txt core/encoder.txt core/mocpack.map CMakeLists.txt
# With ccache, all clones share compiled files. Set CMAKE_CXX_COMPILER_LAUNCHER to use another launcher.
ifndef CMAKE_CXX_COMPILER_LAUNCHER
CCACHE := $(shell command -v ccache 2>/dev/null)
CACHED := $(if $(CCACHE),CMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE) CCACHE_BASEDIR=$(CURDIR) CCACHE_NOHASHDIR=1)
endif
JS := $(addprefix js/dist/,mocpack.wasm live.wasm index.js)
TESTS := $(BIN)/python -m pytest -q
IN_PARALLEL := -n auto --dist worksteal

# every target that `make help` lists, and parts of them
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\#.*/\1/p' Makefile) test-python js-tools js-if-possible coverage-python coverage-core

help:  ## list all targets
	@sed -n 's/^\([a-z0-9-]*\):.*##/\1\t/p' Makefile | expand -t 18

$(BIN)/python:
	@echo "==> making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --no-compile --upgrade "pip>=25.1"

# One stamp for each dependency group of pyproject.toml, so that a target installs only what it needs. Python compiles
# the modules that are imported; to compile all of them takes as long as the rest of the installation.
.venv/.group-%: pyproject.toml | $(BIN)/python
	@echo "==> installing the dependency group $*"
	@$(BIN)/python -m pip install --quiet --no-compile --group $* && touch $@

# cmake and ninja come from PyPI (30 MB) only where the system has none that is new enough: scikit-build-core says so
.venv/.build-tools: .venv/.group-build
	@$(BIN)/python -c "from scikit_build_core.build import get_requires_for_build_wheel as missing; print(*missing(), sep='\n')" \
	  | xargs -r $(BIN)/python -m pip install --quiet --no-compile
	@for program in cmake ctest ninja; do [ -e $(BIN)/$$program ] || ln -s "$$(command -v $$program)" $(BIN)/$$program; done
	@touch $@

$(COMPILED): .venv/.build-tools $(CORE)
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
check: $(COMPILED) .venv/.group-check  ## run ruff, mypy, the import contract and the fast unit tests, in a minute
	@$(BIN)/python tools/lint.py quick
	@echo "==> the fast unit tests"
	@$(TESTS) $(IN_PARALLEL) -m "not slow" --durations 5 --durations-min 2 \
	  tests/unit $(addprefix --ignore=tests/unit/,bench corpora papers)
lint: $(COMPILED) .venv/.group-lint  ## run ruff, mypy, import contract, clang-format, spelling, workflows, TypeScript
	@$(BIN)/python tools/lint.py all
format: .venv/.group-lint  ## format all sources
	@$(BIN)/python tools/lint.py format

# The core's own tests run beside the others. `nice` lets them use the time in which those wait.
test: .venv/.build-tools  ## run all tests, including the core's own tests under sanitizers
	@$(MAKE) -s -j 4 test-python NICE="nice -n 19" test-core

test-python: $(READY) library amalgamation js-if-possible build/wheelhouse/.ready
	@$(BIN)/python tests/support/programs.py
	@if $(MAKE) -s js-tools >/dev/null; then $(MAKE) -s build/wheels/.ready; fi
	@echo "==> running the tests"
	@$(TESTS) $(IN_PARALLEL) --durations 20

test-data: $(READY) js-if-possible  ## run the tests that need clips outside the repository (MOCPACK_DATA names their folder)
	@$(TESTS) tests/data
promise: $(READY)  ## check keysine's error bounds on thousands of generated clips (PROMISES=4000)
	@MOCPACK_PROMISES=$(or $(PROMISES),4000) $(TESTS) -n auto tests/properties/test_keysine.py
attack: $(READY)  ## check every error bound on new random clips, with separate kinematics (ATTACKS=1500)
	@$(BIN)/python tests/attack/run_attack.py --clips $(or $(ATTACKS),1500) --workers $(or $(ATTACK_WORKERS),2)
fuzz: $(READY) library js-if-possible  ## try new random examples: properties, mutated files, requests to the viewer (FUZZ=1000 of each)
	@MOCPACK_FUZZ=$(or $(FUZZ),1000) $(TESTS) -n auto \
	  tests/properties tests/readers/test_mutations.py tests/viewer/test_hostile_requests.py
fuzz-core: $(READY)  ## fuzz live packets, files and archives in the core, guided by coverage (RUNS=300000 each; needs clang)
	@$(CACHED) core/fuzz/run.sh $(CURDIR)/$(BIN) $(or $(RUNS),300000)
mutants: $(READY)  ## change the core one token at a time; list changes that no test notices (MUTANTS=30 per area)
	@$(BIN)/python tools/mutate.py --count $(or $(MUTANTS),30)

# The packages of js, viewer and tests/js. The viewer's come after those of js, so that npm downloads shared ones once.
viewer/node_modules/.ready: | js/node_modules/.ready
%/node_modules/.ready: %/package.json %/package-lock.json
	@echo "==> installing the npm packages of $*"
	@(cd $* && npm ci --silent) && touch $@
js-tools:
	@command -v npm >/dev/null || { echo "==> npm is not installed"; exit 1; }
	@$(MAKE) -s js/node_modules/.ready viewer/node_modules/.ready tests/js/node_modules/.ready
js-if-possible:
	@if $(MAKE) -s js-tools; then $(MAKE) -s js viewer; else \
	  echo "==> the JavaScript package and the viewer's page cannot be built here; their tests will be skipped"; fi

js/dist/%.wasm: $(LIBRARY) $(shell find bindings/wasm -type f) js/node_modules/.ready
	@echo "==> compiling $*.wasm from the core"
	@PYTHON="$(PYTHON)" node bindings/wasm/build.mjs $(if $(filter mocpack,$*),reader,$*) $@

js/dist/index.js: $(shell find js/src -type f) js/tsconfig.json js/node_modules/.ready
	@echo "==> building the JavaScript package"
	@cd js && npm run --silent build

$(PAGE): $(JS) $(shell find viewer LICENSES -type f -not -path 'viewer/node_modules*') viewer/node_modules/.ready
	@echo "==> building the viewer's page"
	@cd viewer && npm run --silent build

js: $(JS)  ## build the JavaScript package, js/dist
viewer: $(PAGE)  ## build the page of `mocpack view`
ptx: $(PTX)  ## compile the CUDA kernels of mocpack.trainers; needs no GPU
$(PTX): core/src/features/motion_states.cu core/src/features/motion_states.h tools/compile_ptx.py .venv/.group-ptx
	@$(BIN)/python tools/compile_ptx.py $@ || [ $$? = 3 ]  # there is no compiler for this system
# mocpack's dependencies, which the tests of wheels install without a network, and a wheel for `make test`
build/wheelhouse/.ready: pyproject.toml | $(BIN)/python
	@$(BIN)/python tools/wheels.py wheelhouse && touch $@
build/wheels/.ready: $(READY) $(PAGE) $(PTX) $(PACKAGE) build/wheelhouse/.ready
	@$(CACHED) $(BIN)/python tools/wheels.py local && touch $@
sdist: $(PAGE) $(PTX) .venv/.group-build  ## build the source distribution in dist/, with the viewer's page
	@$(BIN)/python tools/wheels.py sdist
# in a compiled checkout, the tests of the wheel also check that wheel and checkout write the same bytes
wheel: $(if $(wildcard $(COMPILED)),$(COMPILED) .venv/.group-check)
wheel: $(PAGE) $(PTX) .venv/.build-tools .venv/.group-wheel build/wheelhouse/.ready  ## build sdist and manylinux wheel in dist/; test them
	@$(BIN)/python tools/wheels.py manylinux
wheel-abi3: $(READY) $(PAGE) $(PTX) .venv/.group-wheel build/wheelhouse/.ready  ## the same for the stable ABI, with ABI3_PYTHON
	@$(BIN)/python tools/wheels.py abi3
library: build/library/.ready  ## build libmocpack, static and shared, in build/library
build/library/.ready: .venv/.build-tools $(LIBRARY) tools/build_core.py
	@$(CACHED) $(BIN)/python tools/build_core.py library && touch $@
amalgamation: build/amalgamation/mocpack.cpp  ## write libmocpack as headers and two sources, build/amalgamation
build/amalgamation/mocpack.cpp: $(LIBRARY) tools/amalgamate.py
	@$(PYTHON) tools/amalgamate.py build/amalgamation
cross: .venv/.build-tools .venv/.group-wheel  ## compile the core for other systems (CROSS_TARGETS), without running it
	@$(BIN)/python tools/build_core.py cross

site: .venv/.group-docs  ## build the docs site, build/site; broken links and code fences are errors
	@$(BIN)/zensical build --strict -f mkdocs.yml
	@! grep -rn --include='*.html' '```' build/site || { echo "a code fence starts with more than one word"; exit 1; }
pictures: $(READY) viewer  ## take the pictures of the viewer for README and docs
	@$(BIN)/python tools/viewer_pictures.py docs/pictures
golden: $(READY)  ## write the golden files that do not exist yet
	@PYTHONPATH=tests/support:tests/readers $(BIN)/python tests/golden/make.py
conformance: $(READY) library js  ## check the golden archive with Python, C, JavaScript and the reader written from the docs
	@$(TESTS) tests/readers/test_conformance.py
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
papers: $(READY)  ## write docs/papers.md, .csv and pictures (ten minutes; SEEDS=1 is quicker; report/ keeps finished papers)
	@$(BIN)/python benchmarks/papers_page.py --out report --seeds $(or $(SEEDS),5)
	@cp report/papers.md report/papers.csv docs && $(BIN)/python benchmarks/papers_figures.py report docs/pictures/papers
gltf-peers:  ## install the glTF tools that the bench compares with (58 MB in benchmarks/node)
	@npm ci --prefix benchmarks/node --no-audit --no-fund --silent

test-core: .venv/.build-tools  ## run the core's own tests under the address, undefined-behavior and thread sanitizers
	@$(CACHED) $(NICE) core/tests/sanitize.sh $(CURDIR)/$(BIN) address,undefined,float-cast-overflow,float-divide-by-zero _test
	@$(CACHED) $(NICE) core/tests/sanitize.sh $(CURDIR)/$(BIN) thread _threads_test
coverage: coverage-python coverage-core  ## measure line coverage of Python, and of the core by its own tests (gcc)
coverage-python: $(READY) .venv/.group-coverage
coverage-core: .venv/.build-tools .venv/.group-coverage
coverage-python coverage-core: coverage-%:
	@$(BIN)/python tools/measure_coverage.py $*

# extra suites, each with an environment .venv-NAME: tools/suites.py has the table
test-lerobot: $(READY)  ## export archives as LeRobot datasets and read them with LeRobot (8 GB)
test-ray: $(READY)  ## pack on a ray cluster of two nodes, with S3; kill workers, a node and the command
test-s3: $(READY)  ## read and write corpora on a local S3 server; count every request
test-stores: $(READY)  ## test zarr's codec and the export to Lance with the real packages
test-torch: $(READY)  ## test the loaders of corpora with PyTorch (TORCH=torch==2.13.0+cpu chooses a build)
test-trainers: $(READY)  ## compare motion libraries with those of mjlab, ProtoMotions and SONIC (TORCH=…)
test-webtransport: $(READY) $(PAGE)  ## test the relay's page over WebTransport, in Chromium
test-gpu: $(READY) $(PTX)  ## test the motion library of trainers on an NVIDIA GPU, with PyTorch
test-blender: $(READY)  ## open our files in Blender, and compare the FBX files that both read
test-newest: .venv/.group-uv  ## run the tests that need neither node nor a browser, with the newest packages
test-oldest: .venv/.group-uv  ## the same, with the oldest packages that pyproject.toml allows
SUITES := gpu lerobot ray s3 stores torch trainers webtransport blender newest oldest
$(SUITES:%=test-%): test-%:
	@$(CACHED) PYTHON=$(PYTHON) $(BIN)/python tools/suites.py $* $(if $(filter torch trainers,$*),$(TORCH))

clean:  ## remove all files that make wrote
	rm -rf $(PTX) .venv $(addprefix .venv-,$(SUITES) moto) build dist demo src/mocpack/_core* $(dir $(PAGE)) \
	  js/dist js/LICENSE js/node_modules viewer/node_modules tests/js/node_modules
