#!/usr/bin/env bash
# Builds the two C++ libraries that gorl links with:
#
#   libcgotorch.so   gotorch's shim, compiled from the sources in gotorch's module
#   libgorltorch.so  gorl's own shim, compiled from tensor/csrc
#
# On x86-64 it also builds gorl-blas-check, which tries OpenBLAS's kernels, and lets it write
# libgorltorch.blas where OpenBLAS does not know the processor. Both lie beside libgorltorch.so,
# which reads and runs them (tensor/csrc/blas.cc).
#
# "shim.sh testdevice" builds the library that only tests load instead, against the libtorch of the other two:
#
#   libgorltestdevice.so  the emulated accelerator, compiled from internal/test/testdevice/csrc
#
# Settings (environment):
#
#   SHIM_DIR     where the libraries go                      (default: build/lib)
#   LIBTORCH     an unpacked libtorch, or the torch folder of a PyTorch installation
#                                                            (default: the system's libtorch)
#   GOTORCH_SRC  a copy of gotorch's sources; with it no Go is needed
#                                                            (default: asked of `go list`)
#   CUDA_HOME    the CUDA toolkit's folder, for gotorch's CUDA streams and CUDA graphs
#                                                            (default: /usr/local/cuda)
#   GORL_NATIVE  0 builds gorl's shim for any processor      (default: for this one, unless CXX is a cross compiler)
#   GORL_SANITIZE  sanitizers to build gorl's shim with: address,undefined or thread
#                                                            (default: none)
#   CXX          the compiler                                (default: g++)
#   JOBS         1 compiles one after the other              (default: by cores and memory)
#
# Nothing is compiled twice: each library is stamped with a hash of all that went into
# it (sources, flags, compiler, libtorch, processor).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${SHIM_DIR:-$root/build/lib}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cxx=${CXX:-g++}

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"
hash() { sha256sum | cut -c1-32; }

# failed WHAT: ends the script after the compiler has failed, and says whether a full disk was the reason.
failed() {
	local folder free
	for folder in "$out" "${TMPDIR:-/tmp}"; do
		free=$(df -Pm "$folder" | awk 'END {print $4}')
		[ "$free" -ge 200 ] || die "$1 could not be built: $folder has only $free MB free; make room for 200 MB and run this again"
	done
	die "$1 could not be built; the compiler's message stands above"
}

command -v "$cxx" >/dev/null || die "no C++ compiler '$cxx' found; install g++ or set CXX"

# One build at a time: two would write the same files.
if command -v flock >/dev/null; then
	exec 9>"$out/.lock"
	flock 9
	# What a build left behind that was killed.
	rm -rf "$out"/.work.*
fi
work=$(mktemp -d "$out/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# --- libtorch ---------------------------------------------------------------------
if [ "${1:-}" = testdevice ]; then LIBTORCH=${LIBTORCH:-$(cat "$out/.libtorch" 2>/dev/null || true)}; fi
common=(-fPIC)
include=()
link=("-Wl,--no-as-needed")
streams=()
graphs=()
nccl=()
if [ -n "${LIBTORCH:-}" ]; then
	torch=$(cd "$LIBTORCH" 2>/dev/null && pwd) || die "LIBTORCH=$LIBTORCH is not a folder"
	[ -f "$torch/include/torch/csrc/api/include/torch/torch.h" ] ||
		die "LIBTORCH=$torch has no include/torch/csrc/api/include/torch/torch.h: give an unpacked libtorch, or the torch folder of a PyTorch installation"
	[ -f "$torch/lib/libtorch_cpu.so" ] || die "LIBTORCH=$torch has no lib/libtorch_cpu.so"
	include+=(-isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include")
	link+=("-L$torch/lib" "-Wl,-rpath,$torch/lib")
	libdir=$torch/lib
	headers=$torch/include/torch/csrc/api/include/torch
	# Which std::string libtorch was compiled with shows in the names of its own functions. PyPI's libc10.so exports
	# some of the C++ library's, too, for both kinds of strings.
	abi=$( (nm -D --defined-only "$torch/lib/libc10.so" || true) | grep -c 'N3c10.*__cxx11' || true)
	if [ "${abi:-0}" -gt 0 ]; then abi=1; else abi=0; fi
	common+=("-D_GLIBCXX_USE_CXX11_ABI=$abi")
	if [ -f "$torch/lib/libtorch_cuda.so" ]; then
		# Tensors on CUDA need no more than these. gotorch's functions for CUDA streams and gorl's
		# CUDA graphs are compiled in where the toolkit's headers are there, and return an error
		# otherwise.
		# PyPI's package of the CUDA runtime lacks the folder crt, which triton's carries.
		link+=(-ltorch_cuda -lc10_cuda)
		common+=(-DGORL_CUDA)
		for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda "$torch"/../nvidia/cuda_runtime "$torch"/../nvidia/cu1[0-9]; do
			if [ -z "$dir" ] || [ ! -f "$dir/include/cuda_runtime_api.h" ]; then continue; fi
			dir=$(cd "$dir" && pwd)
			for crt in "" "$torch/../triton/backends/nvidia/include"; do
				try=(-isystem "$dir/include")
				[ -z "$crt" ] || try+=(-idirafter "$crt")
				echo '#include <cuda_runtime_api.h>' | "$cxx" "${try[@]}" -fsyntax-only -x c++ - 2>/dev/null || continue
				streams=(-DWITH_CUDA "${try[@]}")
				graphs=(-DGORL_CUDA_GRAPHS "${try[@]}")
				break 2
			done
		done
		# NCCL's header lies in a package of its own beside PyPI's PyTorch, or in the system's.
		for dir in "$torch"/../nvidia/nccl/include /usr/include "${CUDA_HOME:-/usr/local/cuda}/include"; do
			if [ ! -f "$dir/nccl.h" ] || [ ${#streams[@]} = 0 ]; then continue; fi
			nccl=(-DUSE_C10D_NCCL -isystem "$dir")
			break
		done
		[ ${#streams[@]} -gt 0 ] || say "no complete CUDA toolkit found (set CUDA_HOME): building without gotorch's CUDA streams and without CUDA graphs"
	fi
else
	headers=
	sysroot=$("$cxx" -print-sysroot 2>/dev/null || true) # a cross compiler's; "/" or nothing otherwise
	for dir in "${sysroot%/}/usr/include" "${sysroot%/}/usr/local/include"; do
		[ -f "$dir/torch/csrc/api/include/torch/torch.h" ] || continue
		include+=(-isystem "$dir/torch/csrc/api/include")
		headers=$dir/torch/csrc/api/include/torch
		break
	done
	[ -n "$headers" ] || die "libtorch's headers are not installed; run 'make setup', or set LIBTORCH"
	libdir=$(dirname "$("$cxx" -print-file-name=libtorch_cpu.so)")
fi
# libtorch.so holds no code, and scripts/pypi.sh leaves it out.
if [ -z "${LIBTORCH:-}" ] || [ -f "$libdir/libtorch.so" ]; then link+=(-ltorch); fi
link+=(-ltorch_cpu -lc10)
# libtorch's headers say which C++ they need: 1.13's accept C++17, 2.x needed it, and then C++20.
if grep -q 202002L "$headers/all.h"; then
	common+=(-std=c++20)
	"$cxx" -std=c++20 -fsyntax-only -x c++ - </dev/null 2>/dev/null ||
		die "this libtorch needs C++20, which $cxx $("$cxx" -dumpfullversion -dumpversion) does not know: install g++ 11 or later, or set CXX"
else
	common+=(-std=c++17)
fi

identity() {
	"$cxx" -dumpfullversion -dumpversion
	"$cxx" -dumpmachine
	printf '%s\n' "${common[@]}" "${include[@]}" "${link[@]}"
	cat "$headers/version.h" "$headers/../../../../version.h" "$headers/../../../../headeronly/version.h" 2>/dev/null || true
	stat -L -c '%n %s' "$libdir/libtorch_cpu.so" "$libdir/libc10.so" 2>/dev/null || true
}
base=$(identity | hash)

# --- the libraries -------------------------------------------------------------------

# simd FOLDER FLAG...: compiles the engine's inner loops once for each instruction set, whatever this
# processor has: the best one is chosen at run time.
simd() {
	local set flags folder=$1
	shift
	case $("$cxx" -dumpmachine) in
	x86_64*) set="AVX512 AVX2 SSE2" ;;
	aarch64*) set=NEON ;;
	*) set=plain ;;
	esac
	for set in $set; do
		case $set in
		AVX512) flags=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512) ;;
		AVX2) flags=(-mavx2 -mfma) ;;
		*) flags=() ;;
		esac
		"$cxx" -std=c++17 -fPIC -O3 -Wall -fno-math-errno -fno-trapping-math -ffp-contract=fast ${flags[@]+"${flags[@]}"} "$@" \
			-DGORL_SIMD="$set" -c -o "$work/gorltorch_simd_$set.o" "$folder/kernels.cc" || failed "the kernels for $set"
	done
}

# library NAME SOURCES-FOLDER FLAG...: compiles all the C++ files of a folder as one unit
# and links them, unless that has been done before. One unit instead of a dozen, because
# libtorch's headers, nearly all of the work, are then read once.
library() {
	local name=$1 folder=$2 key unit sanitized=()
	shift 2
	[ "$name" != gorltorch ] || sanitized=(${sanitize[@]+"${sanitize[@]}"})
	set -- "$@" ${sanitized[@]+"${sanitized[@]}"}
	key=$({ echo "$base" "$@"; declare -f simd; (cd "$folder" && find . -name '*.cc' -o -name '*.h' | LC_ALL=C sort | xargs sha256sum); } | hash)
	if [ -f "$out/lib$name.so" ] && [ "$(cat "$out/.$name.key" 2>/dev/null)" = "$key" ]; then
		say "lib$name.so is up to date"
		return
	fi
	say "building lib$name.so (less than a minute)"
	unit=$work/$name.cc
	for source in "$folder"/*.cc; do
		printf '#include "%s"\n' "$source"
	done >"$unit"
	local objects=() kernels=
	if [ -d "$folder/simd" ]; then
		simd "$folder/simd" ${sanitized[@]+"${sanitized[@]}"} &
		kernels=$!
	fi
	"$cxx" "${common[@]}" "$@" "${include[@]}" -c -o "$work/$name.o" "$unit" || failed "lib$name.so"
	[ -z "$kernels" ] || wait "$kernels"
	for object in "$work/$name.o" "$work/${name}"_simd_*.o; do [ ! -f "$object" ] || objects+=("$object"); done
	"$cxx" "${common[@]}" ${sanitized[@]+"${sanitized[@]}"} -shared -o "$work/lib$name.so" "${objects[@]}" \
		-Wl,-soname,"lib$name.so" "${link[@]}" || failed "lib$name.so"
	mv -f "$work/lib$name.so" "$out/lib$name.so"
	echo "$key" >"$out/.$name.key"
	say "built $out/lib$name.so"
}

# blas_check FOLDER: builds gorl-blas-check, unless that has been done before, and tries the
# kernels for the libgorltorch.so that was built, unless the file is valid. What it finds only
# makes products faster: that it fails is no reason to stop.
blas_check() {
	local program=gorl-blas-check key
	key=$({ "$cxx" -dumpfullversion -dumpversion; declare -f blas_check; sha256sum <"$1/check.cc"; sha256sum <"$1/openblas.h"; } | hash)
	if [ ! -x "$out/$program" ] || [ "$(cat "$out/.$program.key" 2>/dev/null)" != "$key" ]; then
		"$cxx" -std=c++17 -O2 -Wall -o "$work/$program" "$1/check.cc" -ldl ||
			die "$program could not be built; the compiler's message stands above"
		mv -f "$work/$program" "$out/$program"
		echo "$key" >"$out/.$program.key"
		say "built $out/$program"
	fi
	"$out/$program" "$out/libgorltorch.so" "$out/libgorltorch.blas" ||
		say "OpenBLAS's kernels could not be checked; the message stands above"
}

gotorch=${GOTORCH_SRC:-}
if [ -z "$gotorch" ]; then
	command -v go >/dev/null || die "no Go found; set GOTORCH_SRC to a copy of gotorch's sources"
	(cd "$root" && go mod download github.com/wangkuiyi/gotorch)
	gotorch=$(cd "$root" && go list -m -f '{{.Dir}}' github.com/wangkuiyi/gotorch)
fi
[ -f "$gotorch/cgotorch/cgotorch.h" ] || die "gotorch's sources are not in '$gotorch': there is no cgotorch/cgotorch.h"
csrc=$root/tensor/csrc
[ -f "$csrc/gorl.h" ] || die "gorl's C++ sources are not in $csrc"

# Tests of a sanitized library end at the first finding, whose message names lines. One level of optimisation keeps
# both builds and tests short.
sanitize=()
if [ -n "${GORL_SANITIZE:-}" ]; then
	sanitize=(-DGORL_CANARY -fsanitize="$GORL_SANITIZE" -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1)
fi

native=()
# A cross compiler builds for a processor that this machine cannot ask.
if [ "${GORL_NATIVE:-1}" != 0 ] && [[ $("$cxx" -dumpmachine) = "$(uname -m)"* ]]; then
	# What "native" means here goes into the hash: another processor must not take this one's library for its own.
	processor=$(grep -m1 -E '^(flags|Features)' /proc/cpuinfo | hash)
	native=(-march=native -DGORL_PROCESSOR="$processor")
fi

device=$root/internal/test/testdevice/csrc
if [ "${1:-}" = testdevice ]; then
	library gorltestdevice "$device" -O1 -rdynamic -Wall -I"$device"
	exit
fi

# Both at once where two cores and the memory of two compilers (1.5 GB each) are free.
library cgotorch "$gotorch/cgotorch" -O2 -w -I"$gotorch" ${streams[@]+"${streams[@]}"} &
first=$!
if [ "${JOBS:-$(nproc)}" -lt 2 ] || [ "$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)" -lt 3 ]; then
	wait "$first"
	first=
fi
# The library says from which gorl.h it was built, and package tensor refuses another one.
library gorltorch "$csrc" -DGORL_HEADER="\"$(sha256sum <"$csrc/gorl.h" | cut -d' ' -f1)\"" -O3 -fno-semantic-interposition -fno-plt -fno-math-errno -ffp-contract=off -Wall ${native[@]+"${native[@]}"} -I"$csrc" \
	${graphs[@]+"${graphs[@]}"} ${nccl[@]+"${nccl[@]}"}
[ -z "$first" ] || wait "$first"
printf '%s\n' "${torch:-}" >"$out/.libtorch"
case $("$cxx" -dumpmachine) in
x86_64*) [ ${#sanitize[@]} -gt 0 ] || blas_check "$csrc/blas" ;; # no program loads a sanitized library without its runtime
esac
