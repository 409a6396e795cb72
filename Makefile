# Rowmill's tasks. `make` alone lists them.

GO ?= go
# Pinned: a newer linter finds new things on a day of our choosing.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BIN := bin/rowmill
PKG ?= ./...
FUZZTIME ?= 10m
CHAOS_SEED ?= 0
CHAOS_FAULTS ?= 300
CHAOS_RECORD ?=
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: help build run test chaos fuzz lint fmt bench pgo pictures clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the static binary bin/rowmill
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/rowmill

run: build ## build and run the demo: everything in one process, with sample data
	$(BIN) demo

test: ## run all tests, with the race detector, on a throw-away MariaDB and Redis, after a short fuzz run; PKG=./export/... runs some
	test/fuzz.sh $(GO) 10000x $(PKG)
	test/with-servers.sh $(GO) test -race -count=1 -timeout=18m $(PKG)

chaos: ## run exports under at least CHAOS_FAULTS (300) faults drawn from CHAOS_SEED (the time); the same seed gives the same faults
	test/with-servers.sh $(GO) test -tags=chaos -count=1 -timeout=6h -v -run='^TestChaosLong$$' ./test/chaos \
		-chaos.seed=$(CHAOS_SEED) -chaos.faults=$(CHAOS_FAULTS) -chaos.record=$(abspath $(CHAOS_RECORD))

fuzz: ## run each fuzz target for FUZZTIME (10m); PKG=./gateway runs some
	test/fuzz.sh $(GO) $(FUZZTIME) $(PKG)

lint: ## check the code with golangci-lint (.golangci.yml), and the scripts with shellcheck if it is there
	$(GO) run $(GOLANGCI_LINT) run $(PKG)
	@if command -v shellcheck >/dev/null; then shellcheck test/*.sh test/*/*.sh .ci/run; fi

fmt: ## format the code
	$(GO) run $(GOLANGCI_LINT) fmt

bench: ## run the benchmarks; PKG=./export/... runs some
	test/with-servers.sh $(GO) test -run='^$$' -bench=. -benchmem -timeout=30m $(PKG)

pgo: ## make cmd/rowmill/default.pgo anew, the profile that builds are optimised by
	test/with-servers.sh test/make-pgo.sh $(GO)

pictures: ## take docs/screenshots anew from the product itself; needs a Chromium
	mkdir -p docs/screenshots
	$(GO) test ./cmd/rowmill -count=1 -run=TestThePicturesOfTheDocumentation -pictures=$(CURDIR)/docs/screenshots

clean: ## remove what was built
	rm -rf bin
