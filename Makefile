# Everything that one does with a checkout. `make` or `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/windlass
TOOLS := $(CACHE)/tools
TARGET := $(or $(CARGO_TARGET_DIR),target)
GUESTS := nginx friend
CRDS := deploy/crds/reconcilers.yaml

CARGO_COMPONENT_VERSION := 0.21.1
CARGO_DENY_VERSION := 0.20.2
CARGO_FUZZ_VERSION := 0.13.2

# How many tests run at once: most of them wait for a cluster.
TEST_THREADS ?= 4
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 10
FUZZ_TARGETS = $(basename $(notdir $(wildcard host/fuzz/fuzz_targets/*.rs)))

# The tools built below and the control plane's kubectl are found first; whatever else is in PATH stays usable.
export PATH := $(TOOLS)/bin:$(PATH)

# Always the whole workspace: with another choice of packages cargo would build wasmtime once more.
build = cargo build --workspace --bins --locked --quiet

step = @printf '\n== %s ==\n' '$(1)'

# $(call need,PROGRAM,WHAT TO DO): ends with a sentence instead of "command not found".
need = @command -v $(1) >/dev/null || { echo "$(1) is needed and not there: $(2)" >&2; exit 1; }

.PHONY: help
help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "USE_EXISTING_CLUSTER=true takes the cluster of the current kubeconfig instead of a local one;"
	@echo "FUZZ_SECONDS=600 gives each fuzz target that long;"
	@echo "BENCH='--quick', '--only swap', '-o json' or '--results FILE' is passed on to windlass-bench;"
	@echo "KUBEBUILDER_ASSETS=<folder> takes the control plane's binaries from there as far as they are there."

.PHONY: build
build: need-cargo targets ## Builds the programs into target/debug (10 min the first time)
	@$(build)

.PHONY: demo
demo: targets control-plane ## Shows everything on a local control plane and cleans up (KEEP=1: leaves it running)
	KEEP=$(KEEP) deploy/demo.sh

.PHONY: test
test: ## Runs everything: format, lints, licences, generated files, all tests
	@$(MAKE) --no-print-directory check-format
	@$(MAKE) --no-print-directory tools
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory deny
	@$(MAKE) --no-print-directory check-generated
	@$(MAKE) --no-print-directory control-plane
	@$(MAKE) --no-print-directory test-all
	@printf '\n== everything passed ==\n'

.PHONY: check-format
check-format: need-cargo ## Fails where the code is not formatted
	$(call step,check-format)
	cargo fmt --all --check

.PHONY: lint
lint: need-cargo ## Runs clippy on everything; a warning is an error
	$(call step,lint)
	cargo clippy --workspace --all-targets --locked -- -D warnings

.PHONY: deny
deny: tools ## Checks licences, banned crates and where crates come from
	$(call step,deny)
	cargo deny --locked check bans licenses sources

.PHONY: check-generated
check-generated: need-cargo ## Fails where a generated file is not what its source says
	$(call step,check-generated)
	@$(build)
	@$(TARGET)/debug/windlass crds | diff -u $(CRDS) - || { echo "$(CRDS) is out of date: run make manifests" >&2; exit 1; }

.PHONY: test-all
test-all: need-cargo ## Runs every test of the workspace, those on a real control plane too
	$(call step,test-all)
	RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --locked

.PHONY: measure
measure: need-cargo ## Prints what decisions, modules and compiling cost here: numbers of a debug build, nothing asserted
	cargo test --workspace --locked -- --ignored --nocapture --test-threads 1

.PHONY: fuzz
fuzz: targets fuzzer ## Feeds what comes from strangers with made-up input, each target for FUZZ_SECONDS (building takes a quarter of an hour, once)
	$(call step,fuzz)
	$(call need,c++,libFuzzer is built with it: apt-get install g++)
	@echo "building with coverage into $(TARGET)/fuzz: takes a quarter of an hour on two cores the first time"
	cargo fuzz build --fuzz-dir host/fuzz --target-dir $(TARGET)/fuzz --sanitizer none
	@mkdir -p $(TARGET)/fuzz/corpus
	@for target in $(FUZZ_TARGETS); do \
	  printf '\n== fuzz %s for %s s ==\n' $$target $(FUZZ_SECONDS); \
	  mkdir -p $(TARGET)/fuzz/corpus/$$target; \
	  cargo fuzz run --fuzz-dir host/fuzz --target-dir $(TARGET)/fuzz --sanitizer none $$target \
	    $(TARGET)/fuzz/corpus/$$target host/fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1; \
	done

# Nothing but make fuzz needs it. `--sanitizer none` works with a stable compiler: the code counts what it reaches, and that
# is all, as there is no unsafe code of ours for a sanitizer to watch.
.PHONY: fuzzer
fuzzer: need-cargo
	@$(call install,cargo-fuzz,$(CARGO_FUZZ_VERSION))

.PHONY: bench
bench: need-cargo targets control-plane ## Measures a release build (a quarter of an hour to build, once, and as long to measure)
	$(call step,bench)
	@echo "building with the profile release: takes a quarter of an hour on two cores the first time"
	cargo build --workspace --bins --locked --quiet --release
	$(TARGET)/release/windlass-bench $(BENCH)

.PHONY: fmt
fmt: need-cargo ## Formats the code
	cargo fmt --all

.PHONY: guests
guests: targets ## Builds the reference guests into target/guests
	cargo build --locked $(GUESTS:%=-p windlass-%) --profile guest --target wasm32-unknown-unknown
	mkdir -p $(TARGET)/guests
	for guest in $(GUESTS); do cp $(TARGET)/wasm32-unknown-unknown/guest/windlass_$$guest.wasm $(TARGET)/guests/$$guest.wasm; done
	ls -l $(TARGET)/guests

.PHONY: manifests
manifests: need-cargo ## Generates the CRDs from their Rust types
	mkdir -p $(dir $(CRDS))
	@$(build)
	$(TARGET)/debug/windlass crds >$(CRDS).partial
	mv $(CRDS).partial $(CRDS)

.PHONY: tools
tools: targets ## Gets what the tests need besides Rust and Go: wasm targets, cargo-component, cargo-deny
	@$(call install,cargo-component,$(CARGO_COMPONENT_VERSION))
	@$(call install,cargo-deny,$(CARGO_DENY_VERSION))

# Rust for wasm is part of the toolchain, and rustup is what knows where that is. cargo-component builds on wasip1.
.PHONY: targets
targets: need-cargo
	$(call need,rustup,the wasm targets come with it)
	@for target in wasm32-unknown-unknown wasm32-wasip1 wasm32-wasip2; do \
	  rustup target list --installed | grep -qx $$target || rustup target add $$target; \
	done

# Kept apart by --root, so that nobody's own tools are replaced, and under the cache, so that every checkout shares them.
# What is there is left alone, unless its version differs. The lock keeps two checkouts from building it twice.
install = ( flock 9; began=$$SECONDS; \
  [ -x $(TOOLS)/bin/$(1) ] && grep -q '"$(1) $(2) ' $(TOOLS)/.crates.toml || { \
    echo "installing $(1) $(2) into $(TOOLS), takes about 5 min on two cores"; \
    CARGO_TARGET_DIR=$(CACHE)/tools-target cargo install $(1) --version $(2) --locked --quiet --root $(TOOLS); \
    echo "installed $(1) in $$((SECONDS - began)) s"; } ) 9>$(CACHE)/tools.lock

.PHONY: control-plane
control-plane: ## Builds the local control plane (a quarter of an hour, once)
	@deploy/control-plane/build.sh

.PHONY: cluster
cluster: ## Starts the local development cluster and prints the line that selects it
	@deploy/control-plane/up.sh

.PHONY: cluster-down
cluster-down: ## Stops the local development cluster
	@deploy/control-plane/down.sh

# kubectl is taken from PATH, else it is the one built with the control plane.
kubectl = source deploy/control-plane/locations.sh; PATH="$$PATH:$$CONTROL_PLANE_CACHE" kubectl

.PHONY: install
install: ## Puts the CRDs and the host's namespace into the cluster of the current KUBECONFIG
	@$(kubectl) apply --server-side -f deploy/crds -f deploy/kustomize/namespace.yaml

.PHONY: deploy
deploy: install ## Puts the host's manifests into the cluster of the current KUBECONFIG
	@$(kubectl) apply --server-side -k deploy/kustomize
	@echo "the Deployment wants the image windlass:0.1.0, which you have to build: a static windlass program is all it needs"

.PHONY: run
run: build ## Runs the host in the foreground on the cluster of the current KUBECONFIG
	$(TARGET)/debug/windlass run

.PHONY: need-cargo
need-cargo:
	$(call need,cargo,install Rust with rustup)
	@mkdir -p $(CACHE)
