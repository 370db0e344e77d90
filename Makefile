# SPDX-License-Identifier: Apache-2.0
# For people: each target installs what is missing (tools/setup), configures, builds and runs.  The build itself
# is CMake's (CMakeLists.txt, CMakePresets.json); `cmake --preset release && ninja -C build/release` works as well.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
DESTDIR ?=
# Seconds per fuzz target, and how many run at once.
FUZZ_SECONDS ?= 20
FUZZ_JOBS ?= 1
# For ctest: CTEST_ARGS='-R hostlist'.
CTEST_ARGS ?=

# What the demo runs, which is less than all: tests are not in it.
demo_programs := sickbay sickbayd sickbay-slurm sickbay-verify sickbay-sim demo_programs

# What the corpus runs.
blame_programs := sickbay sickbayd sickbay-agent sickbay-slurm sickbay-verify sickbay_clock_shift blame_programs

.PHONY: help setup build demo test test-slurm-releases test-asan test-tsan bench blame blame-quick soak lint format fuzz fuzz-growth install clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing (needs root or sudo)
	@tools/setup

demo: ## five jobs on a real Slurm in a box, and a verdict on each (as root; else in the simulator)
	@tools/setup --quiet
	@demo/run --check
	@tools/build release $(demo_programs)
	@demo/run build/release

test: ## build all and run every test; those on a real Slurm need root
	@tools/setup --quiet
	@tools/build release
	@tools/run-tests build/release $(CTEST_ARGS)

test-slurm-releases: ## what matters on Slurm 24.11 and 26.05, in a Debian each has (root; the first time an hour)
	@tools/setup --quiet
	@failed=; for release in $$(tools/slurm-release --list | cut -d' ' -f1); do tools/slurm-release "$$release" --test || failed+=" $$release"; done; \
	[ -z "$$failed" ] || { echo "test-slurm-releases: failed:$$failed" >&2; exit 1; }

test-asan: ## the tests that need no Slurm under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup --quiet
	@tools/build debug unit_tests
	@tools/run-tests build/debug -LE lab -E "^(cli|page|reports)\." $(CTEST_ARGS)

test-tsan: ## the tests of what has threads, under ThreadSanitizer
	@tools/setup --quiet
	@tools/build tsan thread_tests
	@tools/run-tests build/tsan -LE lab -E "^(cli|page|reports|scenario|soak)\.|^fuzz_replay|_NOT_BUILT$$" $(CTEST_ARGS)

bench: ## run the benchmarks; figures go to bench/RESULTS.md
	@tools/setup --quiet
	@tools/build bench
	@bench/run build/bench

blame: ## the corpus of faults in labs, hours of it, and its report in bench/blame/RESULTS.md (root; goes on where it was stopped)
	@tools/setup --quiet
	@tools/build release $(blame_programs)
	@bench/blame/run build/release
	@bench/blame/results

blame-quick: ## ten cases of it, in five minutes, and their report; fails where one is not right (root)
	@tools/setup --quiet
	@tools/build release $(blame_programs)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && bench/blame/run build/release --subset quick --folder "$$folder" && bench/blame/report --strict "$$folder/ledger.ndjson"

soak: ## an hour of sickbayd among 1,000 agents, 200 clients and one who means ill (root; SOAK_SECONDS)
	@tools/setup --quiet
	@tools/build release sickbay-soak
	@build/release/bin/sickbay-soak $(SOAK_SECONDS)

lint: ## format, layers, licence heads, shell scripts, clang-tidy on changed files
	@tools/setup --quiet
	@tools/lint

format: ## clang-format all of C++
	@tools/setup --quiet
	@git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 clang-format -i

fuzz: ## libFuzzer on each target, FUZZ_SECONDS=20 each; what it finds goes to build/fuzz/found
	@tools/setup --quiet
	@tools/build fuzz fuzz/all
	@tools/run-fuzz build/fuzz $(FUZZ_SECONDS) $(FUZZ_JOBS)

fuzz-growth: ## how the time of each parser grows with its input, FUZZ_SECONDS=20 each; fails where it is not in proportion
	@tools/setup --quiet
	@tools/build bench growth
	@tools/run-growth build/bench $(FUZZ_SECONDS)

install: ## install to PREFIX=/usr/local (DESTDIR is honoured)
	@tools/setup --quiet
	@tools/build release
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

clean: ## remove the build folders; build/slurm-*/root, the Debians of test-slurm-releases, stay
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name 'slurm-*' -exec rm -rf {} +
	rm -rf build/slurm-*/build
