# Everything a contributor types. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The examples, by the language they are written in.
GO_MODULES   := $(patsubst modules/examples/%/main.go,bin/modules/%.wasm,$(wildcard modules/examples/*/main.go))
# A Go module of its own has a script.
OWN_MODULES  := $(patsubst modules/examples/%/build.sh,bin/modules/%.wasm,$(wildcard modules/examples/*/build.sh))
RUST_FOLDERS := $(patsubst %/Cargo.toml,%,$(wildcard modules/examples/*/rust/Cargo.toml))
RUST_MODULES := $(RUST_FOLDERS:modules/examples/%/rust=bin/modules/%-rust.wasm)
# A module in Rust is small, and stays so.
RUST_MAX_BYTES := 300000

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: build-rust build-go ## Build bin/cruster-host and every example as bin/modules/NAME.wasm

# By their compiler; the slower build comes first.
.PHONY: build-rust build-go
build-rust: $(RUST_MODULES)
build-go: bin/cruster-host $(GO_MODULES) $(OWN_MODULES)

# Go itself finds the stale packages, so these targets always run.
.PHONY: FORCE
bin/cruster-host: FORCE
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.release=$(VERSION)" -o $@ ./cmd/cruster-host

$(GO_MODULES): bin/modules/%.wasm: FORCE
	GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o $@ ./modules/examples/$*

# One call of Cargo builds them all. The example of libraries has the time zones in it.
$(RUST_MODULES) &: FORCE
	scripts/install.sh rust
	scripts/rust.sh build-guests bin/modules $(RUST_FOLDERS)
	@large=$$(find $(filter-out %/libraries-rust.wasm,$(RUST_MODULES)) -size +$(RUST_MAX_BYTES)c); \
	if [[ -n $$large ]]; then ls -l $$large >&2; echo "larger than $(RUST_MAX_BYTES) bytes" >&2; exit 1; fi

$(OWN_MODULES): bin/modules/%.wasm: FORCE
	@mkdir -p $(@D)
	modules/examples/$*/build.sh $@

.PHONY: demo
demo: ## Run an order, kill the host with -9 in the middle, see the order finish; rescue one from a bug
	scripts/demo.sh

.PHONY: check
check: ## Before each commit: words, lint, and the tests on SQLite, of what has changed; a few minutes
	scripts/check.sh

# A single build gains nothing from Cargo's files for incremental builds.
.PHONY: test
test: export CARGO_INCREMENTAL = 0
test: ## Everything that CI runs: lint and verify, then all tests on both stores, with -race in the rooms of the host
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target parts tools
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target build
	$(MAKE) --no-print-directory --jobs=2 test-all lint verify test-rust test-clients

# The one waits for the network, the other for the processor.
.PHONY: parts tools
parts:
	scripts/install.sh gcc postgres protoc rust rust-lint c pages python node
tools:
	@scripts/tools.sh golangci-lint
	@scripts/tools.sh grpcurl

# The others run one after the other beside it, and take the processors while tests wait.
.PHONY: test-all
test-all:
	@CRUSTER_TEST_MODULES=$(CURDIR)/bin/modules CRUSTER_TEST_BINARY=$(CURDIR)/bin/cruster-host scripts/test.sh

.PHONY: test-rust
test-rust: ## The tests of the Rust SDK and of the examples in Rust, without a host; rustdoc
	scripts/rust.sh test

.PHONY: test-clients
test-clients: ## The tests of the clients in other languages, without a host
	scripts/install.sh protoc rust python node
	scripts/clients.sh test

.PHONY: lint
lint: ## golangci-lint (host and guest); rustfmt, clippy; the clients; the documentation
	scripts/lint.sh

.PHONY: format
format: ## Bring the Go and Rust code into form
	scripts/lint.sh format
	cargo fmt --all
	cargo fmt --all --manifest-path clients/rust/Cargo.toml

.PHONY: generate
generate: ## Regenerate the protobuf code, that of the clients, docs/errors.md, the error codes of the Rust SDK and the golden vectors
	scripts/install.sh protoc rust python node
	api/generate.sh
	scripts/clients.sh generate
	$(GO) run ./cmd/cruster-host errors -o markdown > docs/errors.md
	$(GO) run ./scripts/rustcodes > guest-sdk/rust/cruster/src/codes/table.rs
	$(GO) -C abi test . -run '^(TestVectors|TestRefusals|TestSpecificationExample)$$' -update

.PHONY: verify
verify: ## Check generated files, go.mod, and that the tests of docs/GUARANTEES.md exist; changes nothing
	scripts/verify.sh

.PHONY: audit
audit: ## Look for known vulnerabilities and for licences that do not fit; needs the network
	scripts/audit.sh

AGAINST ?=
.PHONY: breaking
breaking: ## Check that the protobuf contract breaks no client of the last release, or of AGAINST=REF
	scripts/breaking.sh $(AGAINST)

.PHONY: release
release: ## Build the archives of VERSION=vX.Y.Z into dist/
	scripts/release.sh $(VERSION)

# Options, part and store of scripts/prove.sh: PROVE_ARGS='-m 10 lives sqlite', PROVE_ARGS=crash.
PROVE_ARGS ?=
.PHONY: prove
prove: ## The long proofs: random lives and messages, stores against the oracle, kill -9, large values, and tests of `make test` in full; a day or so. PROVE_ARGS='-m 10 lives sqlite' runs a piece, PROVE_ARGS=crash a part
	scripts/install.sh postgres rust
	scripts/prove.sh $(PROVE_ARGS)

.PHONY: conformance-without
conformance-without: ## The conformance suite without images, without pools and without hibernation; takes a quarter of an hour or so
	for part in images pools hibernation; do CRUSTER_TEST_WITHOUT=$$part $(GO) test -count=1 -timeout 2h ./tests/conformance || exit 1; done

FUZZTIME ?= 20s
.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (20s) each
	scripts/fuzz.sh $(FUZZTIME)

# Flags of `go run ./bench run`: BENCH_ARGS='-workloads W1,W2 -languages go -stores sqlite -seconds 2'.
BENCH_ARGS ?=
# Where lines of JSON go.
BENCH_OUT  ?= bin/bench/results

.PHONY: bench
bench: bin/cruster-host bench-guests ## Measure Cruster (W1 to W13), both languages, both stores; about fifteen minutes. BENCH_ARGS chooses
	scripts/install.sh postgres
	$(GO) build -o bin/bench/bench ./bench
	@rm -f $(BENCH_OUT)/cruster.jsonl
	bin/bench/bench run -out $(BENCH_OUT)/cruster.jsonl $(BENCH_ARGS)

.PHONY: bench-peers
bench-peers: bin/cruster-host bench-guests ## Measure Cruster and its peers by turns (W1 to W4 and W11), three times, with ratios; under half an hour
	scripts/install.sh postgres
	$(GO) build -o bin/bench/bench ./bench
	bench/peers/build.sh bin/peers
	@rm -f $(BENCH_OUT)/peers.jsonl
	bin/bench/bench run -out $(BENCH_OUT)/peers.jsonl -peers "$$(cat bin/peers/built)" -workloads W1,W2,W3,W4,W11 -seconds 3 -repeat 3 $(BENCH_ARGS)

.PHONY: bench-report
bench-report: ## Measure all of it, and write docs/BENCHMARKS.md
	@failed=0; \
	$(MAKE) --no-print-directory bench-peers BENCH_OUT=bench/results || failed=1; \
	$(MAKE) --no-print-directory bench BENCH_OUT=bench/results || failed=1; \
	bin/bench/bench report bench/results/peers.jsonl bench/results/cruster.jsonl; \
	exit $$failed # the page says what failed

.PHONY: bench-guests
bench-guests: FORCE
	scripts/install.sh rust
	for guest in bench/guests/load modules/examples/transfer; do \
		GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o bin/bench/$$(basename $$guest).wasm ./$$guest; \
	done
	scripts/rust.sh build-guests bin/bench bench/guests/load/rust modules/examples/transfer/rust

.PHONY: microbench
microbench: ## Run the benchmarks of go test
	$(GO) test -run '^$$' -bench . -benchmem github.com/cruster/cruster/...

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist .cache target clients/typescript/dist clients/typescript/node_modules
