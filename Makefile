# make demo and make test are all that a newcomer needs: each sets up what it
# needs. The other targets are for people who work on Fairlead.

GO       ?= go
BIN      := bin/fairlead
SEEDS    ?= 20000
RUNS     ?= 20
FUZZTIME ?= 30s

# The binary is static: CGO is for the race detector only.
export CGO_ENABLED = 0

.PHONY: all build demo test unit race priv scenarios sim lint generate check-generated fuzz \
        bench bench-failover bench-idle bench-load clean lab-clean

all: build

build:
	$(GO) build -trimpath -o $(BIN) ./cmd/fairlead

demo: setup-demo build
	./$(BIN) lab run --scenario owner-crash

test: setup-test lint check-generated race sim scenarios
	@echo "make test: everything passed"

# What each needs of the machine, installed when missing.
.PHONY: setup-demo setup-test
setup-demo:
	@scripts/setup.sh demo
setup-test:
	@scripts/setup.sh test

# Unit and privileged tests with the race detector. Privileged tests fail, and
# don't skip, where CI is set.
race:
	CGO_ENABLED=1 $(GO) test -race ./...

unit:
	$(GO) test ./...

# The election's simulator: 2 000 seeds here, more with make sim SEEDS=….
test: SEEDS = 2000
sim:
	$(GO) test ./internal/election -run 'TestSimulation' -count=1 -seeds $(SEEDS)

# Every lab scenario, on real processes and real packets.
scenarios: build
	./$(BIN) lab run

lint:
	@scripts/lint.sh

generate:
	$(GO) generate ./internal/bpf/...

check-generated: generate
	@scripts/clean-tree.sh internal/bpf

# The fuzzers, each for FUZZTIME.
fuzz:
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

bench-failover: build
	./$(BIN) lab bench failover --runs $(RUNS)

bench-load: build
	./$(BIN) lab bench load

bench-idle: build
	./$(BIN) lab bench idle

# Removes what a lab run that was killed left behind.
lab-clean: build
	./$(BIN) lab down

clean:
	rm -rf bin
