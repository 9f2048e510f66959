# gorl's tasks. `make` alone lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Outside of /usr/local, go finds the libraries of `make setup` by two variables. bash reads this file before each recipe.
export BASH_ENV := $(or $(SHIM_DIR),$(CURDIR)/build/lib)/env.sh

GO ?= go
FUZZTIME ?= 20s
# The Python that the optional peers of benchmarks and tests run on (see `make peers`).
PEERS := $(or $(GORL_PEERS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gorl/peers)
# PyPI's PyTorch with gorl's libraries built against it (see `make pytorch`).
PYTORCH := $(or $(GORL_PYTORCH),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gorl/pytorch)
# The Python of the simulators (see `make simulators`).
SIMULATORS := $(or $(GORL_SIMULATORS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gorl/simulators)
GOLANGCI_LINT_VERSION := v2.15.0

##@ Use

.PHONY: demo
demo: setup ## a population of AMP agents learns to walk (sets up first; a few minutes)
	$(GO) build -o build/gorl ./cmd/gorl
	@mkdir -p runs; trap 'kill $$!' EXIT; echo "Watch it in a browser:"; build/gorl serve runs & \
	$(GO) run ./snippets/pbt_amp

.PHONY: setup
setup: ## install what gorl needs and build its C++ (a second run does nothing)
	@scripts/setup.sh

.PHONY: shim
shim: ## build only the C++ libraries, into SHIM_DIR (default build/lib)
	@scripts/shim.sh

##@ Test

.PHONY: test
test: setup ## vet and test everything (sets up first)
	@scripts/shim.sh testdevice || echo "make test: the emulated accelerator could not be built; its tests are skipped"
	$(GO) vet ./...
	$(GO) test ./...
	$(GO) test -C internal/kubecheck ./...

.PHONY: testdevice
testdevice: ## build the emulated accelerator, which only tests load, into build/lib
	@scripts/shim.sh testdevice

.PHONY: test-device
test-device: setup testdevice ## test agents, trainers and populations on the emulated accelerator instead of the CPU
	GORL_TEST_DEVICE=1 $(GO) test -short -count=1 ./tensor ./agents/... ./trainers/... ./infer ./pbt/evolution ./internal/test/populations

.PHONY: test-graphs
test-graphs: setup testdevice ## test agents on the emulated accelerator with their minibatches replayed as CUDA graphs
	GORL_TEST_GRAPHS=1 $(GO) test -short -count=1 ./internal/test/testdevice
	GORL_TEST_DEVICE=1 GORL_TEST_GRAPHS=1 $(GO) test -short -count=1 ./agents/... ./internal/test/populations

.PHONY: test-engine
test-engine: setup testdevice ## test tensors and agents without the engine, with the kernels of every instruction set, and on two threads
	GORL_ENGINE=torch $(GO) test -count=1 ./tensor ./agents/ppo ./agents/amp ./internal/test/testdevice
	@# A processor without AVX-512 computes with AVX2's kernels in make test already.
	! grep -qw avx512f /proc/cpuinfo || GORL_SIMD=AVX2 $(GO) test -count=1 ./tensor ./agents/ppo ./agents/amp
	GORL_SIMD=SSE2 $(GO) test -count=1 ./tensor ./agents/ppo ./agents/amp
	GORL_THREADS=2 $(GO) test -count=1 ./tensor ./agents/ppo ./agents/amp

.PHONY: test-sanitizers
test-sanitizers: setup ## test tensors, models and agents with AddressSanitizer and UBSan, and the engine's threads with ThreadSanitizer
	@scripts/test-sanitizers.sh

.PHONY: test-slurm
test-slurm: setup ## test populations and ranks under a throwaway Slurm on this machine (needs root; installs Debian's Slurm)
	@scripts/slurm.sh

.PHONY: race
race: setup ## test everything with the race detector
	$(GO) test -race -timeout 30m ./...

.PHONY: test-peers
test-peers: setup ## test against PyTorch, skrl, JAX, onnxruntime, Gymnasium, TensorBoard, wandb and MLflow, where `make peers` has been run
	@scripts/test-peers.sh $(PEERS)

.PHONY: test-simulators
test-simulators: setup ## test the bridge to EnvPool and mjlab, where `make simulators` has been run
	@scripts/test-peers.sh $(SIMULATORS) simulators

.PHONY: test-mujoco
test-mujoco: setup ## test the characters with PyPI's MuJoCo 3.1.6, 3.17.0 and 4.0.0 beside the system's
	@scripts/test-mujoco.sh

.PHONY: test-pytorch
test-pytorch: cuda-pack ## run gorl's check for CUDA machines on PyPI's PyTorch 2.x and the CPU, and ranks under its torchrun, where `make pytorch` has been run
	PYTHON=$(PYTORCH)/bin/python DEVICE=cpu UPDATES=60 ROUNDS=1 SIZES=small MIXED_SIZES=small build/gorl-cuda/check.sh
	GORL_PYTORCH=$(PYTORCH) $(GO) test -run '^TestTorchrun$$' -count=1 -v ./cli

.PHONY: test-arm64
test-arm64: ## test tensors and agents on arm64 under QEMU, cross-compiled on Debian (900 MB of arm64 packages)
	@scripts/arm64.sh

.PHONY: api
api: setup ## list what has changed in the exported API since the last release; incompatible changes must stand in CHANGELOG.md
	@scripts/api.sh

# The deliberate faults that `make test-mutants` makes: those whose name or file matches.
MUTANTS ?= .

.PHONY: test-mutants
test-mutants: setup ## make deliberate faults, one at a time, and check that a test catches each (hours; MUTANTS=pbt/ for a part)
	$(GO) run ./internal/test/mutants -run '$(MUTANTS)'

.PHONY: learn
learn: setup ## learning tests: do the agents reach known returns? (minutes)
	$(GO) test -tags learning -run Learn -count=1 -v -timeout 30m ./agents/... ./trainers/... ./cli

.PHONY: learn-walker
learn-walker: setup ## the AMP walker over three seeds, as docs/learning.md quotes it (long)
	$(GO) test -tags learning -run LearnWalker -count=1 -v -timeout 120m ./snippets/...

.PHONY: learn-humanoid
learn-humanoid: setup ## a humanoid learns to walk like a clip, then by AMP, and to run, over three seeds, as docs/learning.md quotes it (half an hour; runs stay in build/learn)
	mkdir -p build/learn
	$(GO) test -tags learning -run CharactersHumanoid -count=1 -v -timeout 180m -artifacts -outputdir $(CURDIR)/build/learn ./cli

.PHONY: learn-quadruped
learn-quadruped: setup ## a quadruped learns a trot by AMP, with and without style reward, over three seeds (half an hour; runs stay in build/learn)
	mkdir -p build/learn
	$(GO) test -tags learning -run CharactersQuadruped -count=1 -v -timeout 120m -artifacts -outputdir $(CURDIR)/build/learn ./cli

.PHONY: chaos
chaos: setup ## kill processes while they save, publish and train: hundreds of times (minutes)
	$(GO) test -run KillNine -count=1 ./checkpoint ./pbt/workspace -kills 200
	$(GO) test -run TestChaos -count=1 -v ./internal/test/populations -chaos 1m

# The faults that `make faults` injects: every N-th.
FAULTS ?= 6

.PHONY: faults
faults: setup ## fail, kill and cut the power at system calls of trainings, resume each, compare: every FAULTS-th (default 6: minutes; 1: an hour)
	$(GO) test -run '^TestFaults$$' -count=1 -v -timeout 120m ./internal/test/faults -faults $(FAULTS)

.PHONY: fuzz
fuzz: setup ## every fuzz target for FUZZTIME each (default 20s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: fresh
fresh: ## run `make setup` and `make test` in a fresh Debian root (needs root)
	scripts/fresh-debian.sh setup test

.PHONY: fresh-module
fresh-module: ## run the README's four commands without a clone in a fresh Debian root (needs root)
	scripts/fresh-module.sh

##@ Measure

.PHONY: bench
bench: setup ## time gorl, and JAX and skrl beside it where `make peers` has been run; on PyPI's PyTorch, too, where `make pytorch` has
	GORL_PEERS=$(PEERS) GORL_PYTORCH=$(PYTORCH) $(GO) run ./benchmarks

.PHONY: peers
peers: ## set up what bench and test-peers compare with (optional: Debian's PyTorch, skrl, JAX, onnxruntime, Gymnasium with MuJoCo, TensorBoard, wandb, MLflow)
	@scripts/peers.sh $(PEERS)

.PHONY: pytorch
pytorch: setup ## set up PyPI's PyTorch 2.x with skrl, and build gorl against it, CUDA streams included (optional: 5 GB, no GPU)
	@scripts/pytorch.sh $(PYTORCH)

.PHONY: simulators
simulators: ## set up simulators that are a batch by themselves (optional: EnvPool, mjlab on the CPU, Gymnasium; gigabytes, with PyTorch)
	@scripts/simulators.sh $(SIMULATORS)

.PHONY: cuda-pack
cuda-pack: setup ## pack what a machine with a GPU but without Go needs to check gorl on CUDA (build/gorl-cuda.tar.gz)
	@scripts/cuda-pack.sh

##@ Keep

.PHONY: lint
lint: ## golangci-lint with .golangci.yml
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; \
	else $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) run ./...; fi

.PHONY: format
format: ## gofmt everything
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: clean
clean: ## remove what was built in this folder (installed libraries stay)
	rm -rf build bin

.PHONY: help
help: ## list these tasks
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
