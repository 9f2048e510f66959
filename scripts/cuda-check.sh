#!/usr/bin/env bash
# Checks gorl on a machine with a GPU, in the folder that scripts/cuda-pack.sh has made: all
# that cannot be checked without one. It needs Python with PyTorch (2.x with CUDA) and g++,
# no Go and no network, and takes an hour. What it does, in order:
#
#   build     compiles gorl's two libraries against that PyTorch, CUDA streams and graphs included
#   tests     tensors, agents with skrl's recorded numbers (golden tests), models, memories,
#             trainers, with the GPU for every setting that says cpu; among them that two
#             agents that learn at once end as one after the other
#   graphs    the tests again, where all agents have cuda_graphs
#   memory    thousands of updates, without graphs and with them; the GPU's and the host's
#             memory must stay as they are
#   timings   updates and rollout steps beside skrl on the same GPU, also with CUDA graphs and
#             in half precision
#
# A step that fails does not keep the others from running. The report is report.md, and
# report.tar.gz has it with all output: send that back.
#
#   ./check.sh [STEP...]                default: all steps
#
# Settings (environment):
#
#   PYTHON   a Python that imports torch          (default: python3)
#   DEVICE   the device                           (default: cuda:0)
#            cpu is a rehearsal on a machine without a GPU
#   UPDATES  of the step memory                   (default: 3000)
#   ROUNDS   of the step timings                  (default: 3)
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here" || exit 1
python=${PYTHON:-python3}
device=${DEVICE:-cuda:0}
out=$here/report
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(build tests graphs memory timings)
failed=()

say() { printf 'check: %s\n' "$*"; }
die() { printf 'check: %s\n' "$*" >&2; exit 1; }
report() { printf '%s\n' "$*" >>"$out/report.md"; }
code() { report '```'; cat >>"$out/report.md"; report '```'; report; }

[ -d tests ] || die "this is not the folder that scripts/cuda-pack.sh makes: there is no tests/ here"
command -v "$python" >/dev/null || die "there is no $python; PYTHON names another"
torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))') || die "$python cannot import torch; PYTHON names another"
if [ "$device" != cpu ]; then
	"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' ||
		die "torch.cuda.is_available() is False in $python: look at nvidia-smi, the driver's CUDA version and CUDA_VISIBLE_DEVICES (DEVICE=cpu rehearses without a GPU)"
fi
rm -rf "$out"
mkdir -p "$out"
export LD_LIBRARY_PATH=$here/lib:$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Matrix products give the same bits on every stream with it.
export CUBLAS_WORKSPACE_CONFIG=:4096:8
if [ "$device" = cpu ]; then unset GORL_TEST_DEVICE; else export GORL_TEST_DEVICE=$device; fi

gpu_mib() { # memory in use on the GPU
	[ "$device" != cpu ] && nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i "${device#cuda:}" 2>/dev/null
}

# compiled WHAT LIBRARY FUNCTION: reports whether the library calls the function.
compiled() {
	if nm -DC "lib/$2.so" 2>/dev/null | grep "$3" >/dev/null; then report "$1 are compiled in."; else report "Without $1."; fi
}
build() {
	LIBTORCH=$torch GOTORCH_SRC=$here/gotorch SHIM_DIR=$here/lib bash scripts/shim.sh >"$out/build.log" 2>&1
	local rc=$?
	tail -n 5 "$out/build.log" | code
	compiled "gotorch's CUDA streams" libcgotorch c10::cuda::getStreamFromPool
	compiled "CUDA graphs" libgorltorch at::cuda::CUDAGraph::replay
	report
	return $rc
}

tests() { run_tests; }
graphs() {
	if [ "$device" = cpu ]; then
		report "The CPU has no graphs."
		return
	fi
	GORL_TEST_GRAPHS=1 run_tests _with_graphs
}

# run_tests [SUFFIX]: runs the tests of all packages, with a log each.
run_tests() {
	local rc=0 package log failures=()
	report "| tests | result | passed | failed | skipped |"
	report "|---|---|---|---|---|"
	while read -r package; do
		log=$out/${package//\//_}${1:-}.log
		count() { grep -cE "^ *--- $1:" "$log" || true; }
		(cd "tests/$package" && ./run.test -test.v -test.timeout 20m) >"$log" 2>&1
		local result=$?
		[ "$(count PASS)" != 0 ] || result=1 # a run that executed nothing has shown nothing
		if [ "$result" != 0 ]; then rc=1; failures+=("$log"); fi
		report "| $package | $([ "$result" = 0 ] && echo passed || echo "**failed** ($result)") | $(count PASS) | $(count FAIL) | $(count SKIP) |"
	done < <(cd tests && find . -name run.test -printf '%P\n' | sed 's|/run.test$||' | sort)
	report
	report "Agents and streams at once among them: $(grep -hoE -- '--- [A-Z]+: (TestConformance/.*/goroutines|TestStreams/)' \
		"$out/agents${1:-}.log" "$out/tensor${1:-}.log" | cut -d' ' -f 2 | sort | uniq -c | tr -s '\n ' '  ')"
	report
	for log in ${failures[@]+"${failures[@]}"}; do
		report "$(basename "$log"):"
		report
		{ grep -E '^ *--- FAIL' "$log" | head -n 40; grep -vE '^ *(---|===)' "$log" | tail -n 30; } | code
	done
	return $rc
}

memory() {
	local rc=0
	watch_memory memory || rc=1
	if [ "$device" != cpu ]; then
		report "With cuda_graphs:"
		report
		watch_memory memory_with_graphs -graphs || rc=1
	fi
	return $rc
}

# watch_memory NAME FLAG...: looks at the memory while an agent learns.
watch_memory() {
	local rc=0 pid name=$out/$1
	shift
	benchmarks/benchmarks -measure soak "$@" -threads 1 -device "$device" -updates "${UPDATES:-3000}" >"$name.json" 2>"$name.log" &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		echo "$(date +%s) $(gpu_mib)" >>"$name-gpu.txt"
		sleep 2
	done
	wait "$pid" || rc=1
	cat "$name.json" "$name.log" | tail -n 20 | code
	"$python" - "$name.json" "$name-gpu.txt" >"$name.txt" <<'PYTHON' || rc=1
import json, sys
measures = {m["measure"]: m["value"] for m in map(json.loads, open(sys.argv[1]))}
gpu = [int(line.split()[1]) for line in open(sys.argv[2]) if len(line.split()) > 1]
bad = []
if measures["resident_growth"] > 64:
    bad.append("the host's memory grew")
if len(gpu) > 5:  # but for the first fifth, which fills the pools, and the last samples, when the process ends
    settled = gpu[len(gpu) // 5 : -1]
    print(f"GPU memory in use over {len(gpu)} samples: {settled[0]} MiB after the start, {max(settled)} MiB at most, {settled[-1]} MiB at the end")
    if settled[-1] - settled[0] > 64:
        bad.append("the GPU's memory grew")
print(", ".join(bad) or "memory stayed as it was")
sys.exit(len(bad) > 0)
PYTHON
	code <"$name.txt"
	return $rc
}

timings() {
	local rc=0 only=()
	# A folder that looks like that of `make peers`, with this machine's Python.
	mkdir -p peers/bin
	printf '#!/bin/sh\nPYTHONPATH=%q exec %q "$@"\n' "$here/python" "$(command -v "$python")" >peers/bin/python
	chmod +x peers/bin/python
	if ! peers/bin/python -c 'import skrl' 2>"$out/skrl.log"; then
		report "skrl's side is left out: $(tail -n 1 "$out/skrl.log")"
		only=(-only gorl)
	fi
	export GORL_PEERS=$here/peers GORL_PYTORCH=$here/none
	benchmarks/benchmarks "${only[@]}" -device "$device" -threads 1 -rounds "${ROUNDS:-3}" -sizes "${SIZES:-rate,small,medium,large,gru,camera}" \
		>"$out/timings.md" 2>"$out/timings.log" || rc=1
	report
	cat "$out/timings.md" >>"$out/report.md"
	[ $rc = 0 ] || tail -n 20 "$out/timings.log" | code
	report
	[ "$device" = cpu ] || time_alone graphs cuda_graphs "${GRAPHS_SIZES:-small,medium,large,camera}" || rc=1
	time_alone mixed mixed_precision "${MIXED_SIZES:-large,camera}" || rc=1
	return $rc
}

# time_alone FLAG SETTING SIZES: times gorl without skrl, with a setting that a flag of the benchmarks sets.
time_alone() {
	local rc=0
	report "With $2:"
	report
	benchmarks/benchmarks -only gorl "-$1" -device "$device" -threads 1 -rounds "${ROUNDS:-3}" -sizes "$3" >"$out/$1.md" 2>"$out/$1.log" || rc=1
	cat "$out/$1.md" >>"$out/report.md"
	[ $rc = 0 ] || tail -n 20 "$out/$1.log" | code
	report
	return $rc
}

report "# gorl on $device"
report
{
	echo "gorl:   $(head -n 1 commit.txt)"
	echo "date:   $(date -u '+%Y-%m-%d %H:%M UTC')"
	echo "system: $(uname -sr), $(nproc) CPUs, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-)"
	echo "g++:    $("${CXX:-g++}" --version | head -n 1)"
	"$python" -c 'import sys, torch; print("python:", sys.version.split()[0], " torch:", torch.__version__, " CUDA:", torch.version.cuda)'
	if [ "$device" != cpu ]; then nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv; fi
} 2>&1 | code
for step in "${steps[@]}"; do
	declare -F "$step" >/dev/null || die "there is no step '$step'"
	say "$step"
	report "## $step"
	report
	began=$SECONDS
	if "$step"; then outcome=passed; else outcome="**failed**"; failed+=("$step"); fi
	report "$step: $outcome, $((SECONDS - began)) s"
	report
	say "$step: $outcome"
done
cp "$out/report.md" "$here/report.md"
tar -czf report.tar.gz report
say "the report is $here/report.md; send back $here/report.tar.gz"
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
