# Developer entry points; `make` alone lists them. Needs python3 (with venv), a C++20 compiler and
# make: everything else is installed into $(VENV). Works with the make 3.81 of macOS too.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
FUZZ_SECONDS ?= 600
RANDOM_SECONDS ?= 600
BASE ?= main
EXPERIMENTS ?= Ex1 Ex1_binary C2 R2 C3 R3 Ex_alpha_MSL Ex_clip_SI Ex_criterion_SI today

# Sanitizer builds use GCC, whose run-time libraries are then preloaded into Python.
SAN_CC ?= gcc
SAN_CXX ?= g++

BIN := $(VENV)/bin
PIP_INSTALL = -m pip install --quiet
BUILD_REQUIRES := scikit-build-core nanobind cmake ninja

# A change in any of these makes the next target that needs the package build it again.
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cmake/*.cmake) \
	$(shell find src -type f ! -path '*/__pycache__/*' ! -name '*.so' 2>/dev/null)
CXX_FILES = $(shell find src tests examples js -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) 2>/dev/null)
SPELLED = $(wildcard src tests js paper benchmarks examples tools docs *.md Makefile CMakeLists.txt pyproject.toml)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help venv build test test-paper test-random fuzz fuzz-c wasm browser stubs lint format tidy demo docs bench bench-quick \
	bench-paper bench-pools bench-tables bench-speed bench-compare sanitize sanitize-thread packages clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.stamp-venv ## Create the virtual environment with the build tools

build: $(VENV)/.stamp-build ## Build and install the package, editable, with the test extra

test: $(VENV)/.stamp-build ## Build, then run pytest $(PYTEST_ARGS) on all cores
	$(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

test-paper: $(VENV)/.stamp-paper ## Test boostforest-paper and the benchmarks in the same way
	$(BIN)/python -m pytest -n auto paper benchmarks $(PYTEST_ARGS)

# Rounds of all property-based tests, each with a new seed; the seed alone gives a failure again.
RANDOM_TESTS = HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -q -m hypothesis tests paper/tests --hypothesis-seed
test-random: $(VENV)/.stamp-paper ## Property-based tests on random examples for $(RANDOM_SECONDS) seconds
	@end=$$(($$(date +%s) + $(RANDOM_SECONDS))); \
	while seed=$$(date +%s) && [ $$seed -lt $$end ]; do \
		echo "seed $$seed"; \
		$(RANDOM_TESTS)=$$seed $(PYTEST_ARGS) || \
			{ echo "To see this again: $(RANDOM_TESTS)=$$seed"; exit 1; }; \
	done

fuzz: $(VENV)/.stamp-build ## Damage model files at random for $(FUZZ_SECONDS) seconds: none may do harm
	$(BIN)/python tests/fuzz_io.py --seconds $(FUZZ_SECONDS)

fuzz-c: $(VENV)/.stamp-build ## The same for the C header, with sanitizers and beside Python
	$(BIN)/python tests/fuzz_c.py --seconds $(FUZZ_SECONDS)

wasm: js/boostforest.wasm ## Build the npm package in js/ with Emscripten

js/boostforest.wasm: js/build.sh js/boostforest.c $(wildcard src/boostforest/include/*.h)
	js/build.sh

browser: $(VENV)/.stamp-build js/boostforest.wasm ## Write the page that predicts in a browser to docs/_build/browser
	$(BIN)/python docs/browser/build.py docs/_build/browser
	@echo "To see it: $(BIN)/python -m http.server -d docs/_build/browser"

# mypy reads the stubs of the compiled module and of NumPy: lint needs the build as well.
lint: $(VENV)/.stamp-extra-dev ## Check style, types, spelling and C++ formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src/boostforest paper/boostforest_paper/baselines
	$(BIN)/codespell $(SPELLED)
	$(if $(CXX_FILES),$(BIN)/clang-format --style=file --dry-run --Werror $(CXX_FILES))

format: $(VENV)/.stamp-extra-dev ## Rewrite the sources the way lint wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CXX_FILES),$(BIN)/clang-format --style=file -i $(CXX_FILES))

tidy: $(VENV)/.stamp-build ## Run clang-tidy over the C++ sources (slow)
	$(BIN)/python $(PIP_INSTALL) clang-tidy
	$(BIN)/run-clang-tidy.py -quiet -p build/$(notdir $(VENV)) \
		-clang-tidy-binary $(BIN)/clang-tidy '/src/(core|bindings)/'

stubs: $(VENV)/.stamp-build ## Write the type stubs of the compiled module anew
	$(BIN)/python -m nanobind.stubgen -q -m boostforest._core -o src/boostforest/_core.pyi

demo: $(VENV)/.stamp-extra-plot ## Run examples/demo.py $(DEMO_ARGS)
	$(BIN)/python examples/demo.py $(DEMO_ARGS)

# Warnings are errors; figures of all examples are drawn anew (--fresh-env reads every page again).
docs: $(VENV)/.stamp-extra-docs ## Build the site, run its examples: docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going --fresh-env --quiet -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.stamp-paper-bench $(VENV)/.stamp-paper-peers ## Run $(EXPERIMENTS) as far as not done, write the page
	$(BIN)/python -m boostforest_paper run $(EXPERIMENTS) $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper report

QUICK := paper/results/quick
bench-quick: $(VENV)/.stamp-paper-bench ## A first look in under five minutes, on what comes with scikit-learn
	$(BIN)/python -m boostforest_paper run quick quick_sizes --store $(QUICK).sqlite --processes all --minutes 3.5 --limit 60
	$(BIN)/python -m boostforest_paper report --store $(QUICK).sqlite --html $(QUICK).html

bench-paper: $(VENV)/.stamp-paper-bench ## BoostForest on the paper's 30 datasets, held against its figures
	$(BIN)/python -m boostforest_paper run Ex1 --learners BoostForest $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper check Ex1

bench-pools: $(VENV)/.stamp-paper-bench ## Other trees, their pool forests and mixtures: hours; $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper run Ex_LMT_M5P_SI pools $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper check pools

bench-speed: $(VENV)/.stamp-paper-bench ## Measure speed beside other learners, with $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.speed run $(BENCH_ARGS)

bench-tables: $(VENV)/.stamp-paper-bench ## Categories and missing values beside other ways; $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper study categories
	$(BIN)/python -m boostforest_paper run missing $(BENCH_ARGS)
	$(BIN)/python -m boostforest_paper report missing

bench-compare: $(VENV)/.stamp-build ## Compare the speed of $(BASE) and the working tree, with $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.speed compare --base $(BASE) $(BENCH_ARGS)

# pip is quiet, but a compiler's errors are shown.
%/.stamp-venv: pyproject.toml
	@echo "Creating the virtual environment $* and installing the build tools"
	@$(PYTHON) -m venv $*
	@$*/bin/python $(PIP_INSTALL) --upgrade pip
	@$*/bin/python $(PIP_INSTALL) --upgrade $(BUILD_REQUIRES)
	@touch $@

# The build folder is kept, so that only changed files are compiled again.
$(VENV)/.stamp-build: $(VENV)/.stamp-venv $(SOURCES)
	@echo "Building boostforest and installing what its tests need (a few minutes the first time)"
	@$(BIN)/python $(PIP_INSTALL) --no-build-isolation --check-build-dependencies \
		--config-settings=build-dir=build/$(notdir $(VENV)) \
		--config-settings=cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON \
		-e '.[test]'
	@touch $@

# The package is there already, so pip only adds what the extra lists; nothing is built again.
$(VENV)/.stamp-extra-%: pyproject.toml | $(VENV)/.stamp-build
	@echo "Installing the extra $*"
	@$(BIN)/python $(PIP_INSTALL) 'boostforest[$*]'
	@touch $@

# The same for boostforest-paper: editable, nothing to build.
$(VENV)/.stamp-paper: paper/pyproject.toml | $(VENV)/.stamp-build
	@echo "Installing boostforest-paper and what its tests need"
	@$(BIN)/python $(PIP_INSTALL) --no-build-isolation -e './paper[test]'
	@touch $@

$(VENV)/.stamp-paper-%: $(VENV)/.stamp-paper
	@echo "Installing the extra $* of boostforest-paper"
	@$(BIN)/python $(PIP_INSTALL) 'boostforest-paper[$*]'
	@touch $@

# --- Sanitizers: an environment and a build of their own each ---

.venv-asan/.stamp-build: SANITIZERS := address,undefined
.venv-tsan/.stamp-build: SANITIZERS := thread
.venv-asan/.stamp-build .venv-tsan/.stamp-build: %/.stamp-build: %/.stamp-venv $(SOURCES)
	@echo "Building boostforest with sanitizers: $(SANITIZERS)"
	@CC=$(SAN_CC) CXX=$(SAN_CXX) $*/bin/python $(PIP_INSTALL) --no-build-isolation \
		--config-settings=build-dir=build/$* \
		--config-settings=cmake.build-type=RelWithDebInfo \
		--config-settings=install.strip=false \
		--config-settings=cmake.define.BOOSTFOREST_SANITIZE=$(SANITIZERS) \
		'.[test]'
	@touch $@

# libstdc++ is preloaded too: the sanitizers look up __cxa_throw when the process starts, and
# Python itself does not load it. pytest's capture is off so that a report is not lost on abort.
preload = $(foreach lib,$(1) libstdc++.so.6,$(shell $(SAN_CC) -print-file-name=$(lib)))

sanitize: .venv-asan/.stamp-build ## Core tests under AddressSanitizer and UBSan
	LD_PRELOAD="$(call preload,libasan.so libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	PYTHONMALLOC=malloc \
	.venv-asan/bin/python -m pytest -s tests/test_core.py tests/test_against_twin.py tests/test_handed_down_grams.py \
		tests/test_m5p.py tests/test_python_nodes.py tests/test_lmt_against_twin.py tests/test_roles_against_twin.py \
		tests/test_io_bad_files.py tests/test_io_fuzz.py tests/test_io_coding.py tests/test_boosted.py \
		tests/test_explain.py tests/test_explain_paths.py tests/test_effects.py tests/test_log_link_losses.py $(PYTEST_ARGS)

# Only our own code is instrumented: what OpenBLAS and OpenMP do among themselves is left out.
# ThreadSanitizer may not start under address randomisation; setarch turns it off where allowed.
sanitize-thread: .venv-tsan/.stamp-build ## Thread tests under ThreadSanitizer
	LD_PRELOAD="$(call preload,libtsan.so)" \
	TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:die_after_fork=0 \
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 BOOSTFOREST_TIME_FACTOR=10 \
	$(shell setarch -R true 2>/dev/null && echo setarch -R) \
	.venv-tsan/bin/python -m pytest -s tests/test_threads.py $(PYTEST_ARGS)

packages: ## Build sdist and wheel into dist/, twice; run auditwheel, abi3audit, twine, a smoke test
	.ci/packages dist $(PYTHON)

clean: ## Remove builds, caches and reports; keep the virtual environments
	rm -rf build dist wheelhouse docs/_build docs/auto_examples docs/reference/generated .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf .coverage htmlcov demo_convergence.png demo_report.html js/boostforest.wasm
	rm -f $(VENV)/.stamp-build $(VENV)/.stamp-paper* .venv-asan/.stamp-build .venv-tsan/.stamp-build
	find $(wildcard src tests paper benchmarks examples tools) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove the virtual environments as well
	rm -rf $(VENV) .venv-asan .venv-tsan
