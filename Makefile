# SPDX-License-Identifier: Apache-2.0
#
# make run    see what it does, on any machine
# make test   build everything and run the tests
# make help   the rest

# What is built again and again is kept outside the checkout.
export CCACHE_DIR ?= $(HOME)/.cache/tranche/ccache
export CCACHE_BASEDIR := $(CURDIR)
# Another checkout finds the same.
export CCACHE_NOHASHDIR := true
# Precompiled headers: cmake/TranchePrecompiled.cmake.
export CCACHE_PCH_EXTSUM := true
export CCACHE_SLOPPINESS := pch_defines,time_macros
JOBS ?= $(shell nproc)
# Tests wait more than they compute.
TEST_JOBS ?= $(shell expr 2 \* $(JOBS))

.PHONY: help run test test-sanitized test-release e2e e2e-compare build build-dev build-release build-e2e build-tsan image manifests lint lint-sources analyze format tsan fuzz bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make run     a simulated node with eight GPUs, in the terminal'
	@echo 'make test    build everything and run the tests, with sanitizers; ends with the time of each step'
	@echo 'make e2e     all stories on a real Kubernetes, as root; the core set is part of make test'
	@echo 'make e2e-compare  the same on an older kubelet, and of NVIDIA'"'"'s plugin: docs/e2e-comparison.md'
	@echo 'make build   the release binary: build/tranche-device-plugin'
	@echo 'make image   its container image: build/tranche-device-plugin-image.tar'
	@echo 'make manifests  deploy/manifests, from the Helm chart'
	@echo 'make lint    formatting, clang-tidy, and who may include whom'
	@echo 'make tsan    the tests without gRPC under ThreadSanitizer'
	@echo 'make fuzz    every fuzzer for FUZZ_SECONDS (20) seconds'
	@echo 'make bench   speed and memory against the smallest possible server'
	@echo "make analyze clang's static analyzer; takes long"
	@echo 'make format  put every file into the format that lint checks'

# $(call compile,preset,targets): configures once, then builds what changed, all
# where no target is named. Sanitized builds take clang.
define compile
	@tools/install-deps $(if $(filter release,$(1)),build,sanitize)
	@test -f build/$(1)/build.ninja || cmake --preset $(1) >/dev/null
	@cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))
endef

# For what sanitizers print.
export ASAN_SYMBOLIZER_PATH := /usr/bin/llvm-symbolizer-19
export TSAN_OPTIONS := external_symbolizer_path=$(ASAN_SYMBOLIZER_PATH)

run:
	$(call compile,release,tranche-demo)
	@build/release/demo/tranche-demo

# Real Helm, where there is a Go to build it with; without, what needs it is skipped.
HELM = TRANCHE_HELM=$${TRANCHE_HELM:-$$(tests/e2e/programs/build helm || true)/helm}

# With AddressSanitizer and UBSan; in the release build what foreign programs load,
# which they cannot with a sanitizer, and what is not compiled; then the core set of
# the stories on a real Kubernetes.
UNSANITIZED := tranche-device-plugin tranche-sim cdi_conformance_test older_glibc_test
test:
	@tools/step 'packages' tools/install-deps e2e
	@tools/step 'unit tests, sanitized' $(MAKE) --no-print-directory test-sanitized
	@tools/step 'tests of the release' $(MAKE) --no-print-directory test-release
	@tools/step 'core stories' $(MAKE) --no-print-directory e2e SET=core
	@tools/step --summary

test-sanitized:
	@tools/step 'build' $(MAKE) --no-print-directory build-dev
	@tools/step 'run' ctest --preset dev -j $(TEST_JOBS)

build-dev:
	$(call compile,dev)

test-release:
	@tools/step 'build' $(MAKE) --no-print-directory build-release
	@$(HELM); [ ! -x "$$TRANCHE_HELM" ] || export TRANCHE_HELM; \
	  tools/step 'run' ctest --preset release -j $(TEST_JOBS)

build-release:
	$(call compile,release,$(UNSANITIZED))

# On a real Kubernetes; STORIES="name ..." runs only those, SET=core or SET=extended a part.
SET ?= all
E2E_PROGRAMS := tranche-device-plugin tranche-sim kubelet-standin kubelet-recorder pod-resources api-client \
  mps-control-standin mps-libcuda-standin
e2e:
	@tools/install-deps e2e
	@tools/step 'build' $(MAKE) --no-print-directory build-e2e
	@tools/step "Kubernetes' programs" tests/e2e/run --set $(SET) --build $(STORIES)
	@tools/step 'stories' tests/e2e/run --set $(SET) $(STORIES)
	@tools/step --summary

build-e2e:
	$(call compile,release,$(E2E_PROGRAMS))
	@$(MAKE) --no-print-directory image

# Ours on two kubelets and NVIDIA's plugin, with a table in docs/e2e-comparison.md.
e2e-compare:
	@tools/install-deps e2e
	$(call compile,release,$(E2E_PROGRAMS))
	@$(MAKE) --no-print-directory image
	@tests/e2e/compare

build:
	$(call compile,release,tranche-device-plugin)
	@strip -o build/tranche-device-plugin build/release/src/programs/device_plugin/tranche-device-plugin
	@tools/check_binary.py build/tranche-device-plugin build/release

# IMAGE=name or IMAGE=name:tag gives it another name, IMAGE_ARCHIVE=file another place.
IMAGE_ARCHIVE ?= build/tranche-device-plugin-image.tar
image: build
	@deploy/image/make_image.py build/tranche-device-plugin $(IMAGE_ARCHIVE) $(if $(IMAGE),--name $(IMAGE))

manifests:
	@$(HELM); [ ! -x "$$TRANCHE_HELM" ] || export TRANCHE_HELM; deploy/manifests/generate

# What a reader of the sources alone can say, in seconds.
lint-sources:
	@tools/install-deps lint
	@tools/check_layers.py
	@tools/check_documents.py *.md docs/*.md testbed/*.md
	@git ls-files -co --exclude-standard --deduplicate '*.cc' '*.h' | xargs clang-format-19 --dry-run -Werror
	@echo 'format: ok'

lint: lint-sources
	@tools/step 'build' $(MAKE) --no-print-directory build-dev build-release
	@tools/step 'clang-tidy' tools/tidy.py build/dev build/release
	@tools/step --summary

analyze:
	@tools/install-deps lint
	$(call compile,dev)
	$(call compile,release,$(UNSANITIZED))
	@tools/tidy.py --analyze build/dev build/release

format:
	@tools/install-deps lint
	@git ls-files -co --exclude-standard --deduplicate '*.cc' '*.h' | xargs clang-format-19 -i

tsan:
	@tools/step 'build' $(MAKE) --no-print-directory build-tsan
	@tools/step 'run' ctest --preset tsan -j $(TEST_JOBS)
	@tools/step --summary

build-tsan:
	$(call compile,tsan,tranche_tests)

fuzz:
	$(call compile,dev,tranche_fuzzers)
	@tools/run_fuzzers build/dev $${FUZZ_SECONDS:-20}

bench:
	$(call compile,release,tranche-bench)
	@build/release/tests/bench/tranche-bench

clean:
	rm -rf build
