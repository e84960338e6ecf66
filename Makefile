# `make` lists the chores. Each is safe to run again.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BUILD := build
JOBS ?= $(shell nproc)
SEEDS ?= 2000
FIRST ?= 1

help:      ## this list
	@grep -E '^[a-z-]+: .*## |^[a-z-]+:  *## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup:     ## install everything that building, running and testing need (quick when nothing is missing)
	@tools/setup.sh

build: setup ## the release binaries, in build/bin
	@tools/build.sh release manager manta crdgen

run: build ## a real RayJob on this machine, from nothing to SUCCEEDED
	@$(BUILD)/bin/manta run samples/ray-job.sample.yaml

test: build ## unit, integration and end-to-end tests
	@tools/test.sh

sim: setup ## SEEDS runs of the operator with everything that goes wrong (src/sim); FIRST=K: from seed K on
	@tools/build.sh release manta-sim
	@$(BUILD)/bin/manta-sim --seeds $(SEEDS) --first $(FIRST)

bench: build ## the measurements of bench/RESULTS.md
	@bench/run.sh

crds: build ## regenerate deploy/crd from the types, and what is made of it
	@$(BUILD)/bin/crdgen deploy/crd && tools/gen_deploy.py

fmt:       ## format every source
	@git ls-files --cached --others --exclude-standard '*.cc' '*.h' | xargs clang-format-19 -i

lint:      ## formatting, house rules, clang-tidy (LINT_ALL=1: every file, else those changed since main's parent)
	@tools/lint.sh

clean:     ## remove build products (not the caches)
	@rm -rf $(BUILD)

.PHONY: help setup build run test sim bench crds fmt lint clean
