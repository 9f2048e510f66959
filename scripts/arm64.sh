#!/usr/bin/env bash
# Runs tests on arm64 under QEMU: the engine's NEON kernels and the Go code, against Debian's
# libtorch, OpenBLAS and MuJoCo for arm64. Everything is cross-compiled on this machine, and
# only the test programs are emulated. Needs Debian and the network; root or sudo only to
# install the cross compiler and QEMU.
#
#   scripts/arm64.sh [ARGUMENT...]      arguments of `go test`; default: -short ./tensor ./agents/...
#
# The arm64 packages of this machine's release of Debian are unpacked once, in the user's cache
# folder (900 MB). They are not installed: none of their scripts run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- -short ./tensor ./agents/...

# shellcheck source=scripts/common.sh
. scripts/common.sh

command -v apt-get >/dev/null || die "this is not a Debian system: there is no apt-get to get arm64 packages with"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")

# --- 1. the cross compiler and QEMU --------------------------------------------------
missing=()
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
if [ ${#missing[@]} -gt 0 ]; then
	say "installing ${missing[*]}"
	install_packages "${missing[@]}"
fi

# --- 2. arm64 packages, unpacked ------------------------------------------------------
root=${XDG_CACHE_HOME:-$HOME/.cache}/gorl/arm64-$suite
libraries=$root/usr/lib/aarch64-linux-gnu
if [ ! -f "$root/complete" ]; then
	say "unpacking arm64 packages of $suite into $root (a minute, once)"
	rm -rf "$root"
	mkdir -p "$root/usr/lib" "$root"/apt/{lists,archives}/partial
	ln -s usr/lib "$root/lib"
	: >"$root/apt/status"
	# apt with this machine's sources, for an arm64 machine on which nothing is installed yet.
	apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=0
		-o Dir::State="$root/apt" -o Dir::State::lists="$root/apt/lists" -o Dir::State::status="$root/apt/status"
		-o Dir::Cache="$root/apt" -o Dir::Cache::archives="$root/apt/archives" -o APT::Sandbox::User="$(id -un)")
	"${apt[@]}" update >"$root/apt/log" 2>&1 || say "apt-get update failed; trying with what it got"
	"${apt[@]}" install --download-only libtorch-dev libopenblas0-pthread libmujoco-dev >>"$root/apt/log" 2>&1 ||
		{ tail -n 20 "$root/apt/log" >&2; die "apt-get could not get the packages; its log is $root/apt/log"; }
	for package in "$root"/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -C "$root" -xf - --keep-directory-symlink --exclude='./usr/share' ||
			die "$package could not be unpacked"
	done
	# The links that the package's script would make.
	for library in "$libraries"/openblas-pthread/*.so.[0-9]*; do ln -s "openblas-pthread/$(basename "$library")" "$libraries"; done
	rm -rf "$root/apt"
	touch "$root/complete"
fi

# --- 3. the libraries and the tests ----------------------------------------------------
build=$PWD/build/arm64
mkdir -p "$build"
for compiler in gcc g++; do
	printf '#!/bin/sh\nexec aarch64-linux-gnu-%s --sysroot=%q "$@"\n' "$compiler" "$root" >"$build/$compiler"
	chmod +x "$build/$compiler"
done
CXX=$build/g++ SHIM_DIR=$build scripts/shim.sh
# Left out: what takes an hour under emulation, and what starts itself where the kernel starts no arm64 programs.
skip='^TestConformance$'
if [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then skip+='|^TestOneCore$'; fi
say "go test -skip '$skip' $*"
QEMU_LD_PREFIX=$root GOARCH=arm64 CGO_ENABLED=1 CC=$build/gcc CXX=$build/g++ CGO_LDFLAGS=-L$build \
	go test -exec "qemu-aarch64-static -E LD_LIBRARY_PATH=$build" -count=1 -timeout 60m -skip "$skip" "$@"
