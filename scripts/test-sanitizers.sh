#!/usr/bin/env bash
# Tests gorl's C++ with GCC's sanitizers, in libraries of their own:
#
#   build/asan  AddressSanitizer with leak detection, and UndefinedBehaviorSanitizer
#   build/tsan  ThreadSanitizer, on two compute threads
#
# Go takes part: with -asan C++ cannot leave the memory that Go gives it, and with ThreadSanitizer cgo says which calls
# follow each other. libtorch and the libraries below it are not instrumented.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=scripts/common.sh
. scripts/common.sh

# use FOLDER SANITIZERS: builds the library for them, and makes Go link and load it.
use() {
	GORL_SANITIZE=$2 SHIM_DIR=$1 scripts/shim.sh
	export CGO_LDFLAGS="-L$PWD/$1" LD_LIBRARY_PATH=$PWD/$1
	echo 'extern "C" int gorl_canary(int); int main(int n, char**) { return gorl_canary(n - 1); }' |
		"${CXX:-g++}" -fsanitize="$2" -x c++ -o "$1/canary" - -L"$1" -lgorltorch -Wl,--unresolved-symbols=ignore-in-shared-libs
}

# finds MESSAGE PROGRAM ARGUMENT...: fails unless the program, which has a fault, ends with the sanitizer's message. A
# sanitizer that finds nothing here would find nothing in the tests.
finds() {
	local message=$1 out
	shift
	if out=$("$@" 2>&1) || ! grep -q "$message" <<<"$out"; then
		die "$*: the sanitizer did not find a $message: $out"
	fi
}

export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS=allocator_may_return_null=1 # a test asks for more memory than there is
use build/asan address,undefined
finds heap-buffer-overflow build/asan/canary
finds "signed integer overflow" build/asan/canary 1
# TestWrongKernels and tests of the emulated accelerator load libraries that are not instrumented. The conformance tests
# and the tests of ranks take ten minutes here; the other tests make the same updates.
go test -asan -short -count=1 -skip "^(TestWrongKernels|TestConformance|TestRanks|TestGoldenRanks|TestGoldenSeveralAgents)\$" \
	./tensor ./models/... ./agents/...

export TSAN_OPTIONS="suppressions=$PWD/tensor/testdata/tsan.supp halt_on_error=1 allocator_may_return_null=1" GORL_THREADS=2
export GORL_SIMD=AVX2 # ThreadSanitizer does not see the masked loads and stores of AVX-512
# ThreadSanitizer holds signals back. A thread that ends would get Go's signal of preemption when Go's part of it is gone.
export GODEBUG=asyncpreemptoff=1
use build/tsan thread
finds "data race" build/tsan/canary 1 2
export CGO_CFLAGS="-O2 -g -fsanitize=thread" CGO_LDFLAGS="$CGO_LDFLAGS -fsanitize=thread"
go test -short -count=1 -skip '^TestWrongKernels$' ./tensor ./agents/ppo ./agents/amp
