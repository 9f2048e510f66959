#!/usr/bin/env bash
# Prepares this machine to build and run gorl and programs that import it:
#
#   1. installs the system packages that gorl needs (Debian, with apt-get);
#   2. builds libcgotorch.so and libgorltorch.so (scripts/shim.sh);
#   3. installs them where the linker and the loader look by themselves
#      (PREFIX/lib, by default /usr/local/lib, and ldconfig), with what shim.sh
#      found out about OpenBLAS.
#
# Afterwards plain `go build`, `go test` and `go run` need no environment variables.
# A second run finds everything in place and changes nothing.
#
# LIBTORCH=/path builds against that libtorch instead of the system's; shim.sh
# explains this and its other settings.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prefix=${PREFIX:-/usr/local}

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null || die "no Go found; install Go 1.26 or later from https://go.dev/dl and put its bin folder into PATH"

# Runs a command with the rights to change the system.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "installing needs root, and there is no sudo. Run 'make setup' as root once, or have these
setup: packages installed and see docs/building.md for building without root: ${packages[*]}"
	fi
}

# --- 1. packages -------------------------------------------------------------------
packages=(g++ libmujoco-dev)
if [ -z "${LIBTORCH:-}" ]; then
	# Without OpenBLAS, Debian's libtorch multiplies on the reference BLAS, tens of times slower.
	packages+=(libtorch-dev libopenblas0-pthread)
fi
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
	missing=()
	for package in "${packages[@]}"; do
		status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
		[ "$status" = "install ok installed" ] || missing+=("$package")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		say "installing ${missing[*]}"
		as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
			say "apt-get update failed; trying with the package lists that are here"
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null ||
			die "apt-get could not install ${missing[*]}; its message stands above"
	fi
else
	say "this is not a Debian system: taking it that ${packages[*]} or their like are installed"
fi

# --- 2. the libraries --------------------------------------------------------------
"$root/scripts/shim.sh"

# --- 3. where linker and loader look ------------------------------------------------
built=${SHIM_DIR:-$root/build/lib}
changed=0
for file in libcgotorch.so libgorltorch.so gorl-blas-check libgorltorch.blas; do
	if [ ! -f "$built/$file" ]; then
		# Only on x86-64, and libgorltorch.blas only where OpenBLAS does not know the processor.
		[ ! -f "$prefix/lib/$file" ] || as_root rm -f "$prefix/lib/$file"
	elif ! cmp -s "$built/$file" "$prefix/lib/$file"; then
		say "installing $prefix/lib/$file"
		as_root mkdir -p "$prefix/lib"
		# Moved into place: a running program keeps the library it has mapped.
		as_root cp "$built/$file" "$prefix/lib/.$file.new"
		as_root chmod "$([ "$file" = gorl-blas-check ] && echo 755 || echo 644)" "$prefix/lib/.$file.new"
		as_root mv -f "$prefix/lib/.$file.new" "$prefix/lib/$file"
		changed=1
	fi
done

# gotorch asks the linker for libtorch's own libraries by name. Where libtorch is not the
# system's, these small linker scripts lead there; the shims know the way by their rpath.
# They are named .a, which the linker takes as well and the loader never does.
for library in torch torch_cpu c10; do
	script=$prefix/lib/lib$library.a
	if [ -n "${LIBTORCH:-}" ]; then
		wanted="INPUT(AS_NEEDED($(cd "$LIBTORCH" && pwd)/lib/lib$library.so))"
		if [ "$(head -c 512 "$script" 2>/dev/null | tr -d '\0')" != "$wanted" ]; then
			say "pointing $script to LIBTORCH"
			printf '%s\n' "$wanted" | as_root tee "$script" >/dev/null
		fi
	elif [ -f "$script" ] && head -c 6 "$script" | grep -q '^INPUT('; then
		say "removing $script, which pointed to an earlier LIBTORCH"
		as_root rm -f "$script"
	fi
done

ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
if [ "$changed" = 1 ] || ! "$ldconfig" -p | grep libgorltorch.so >/dev/null; then
	as_root "$ldconfig"
fi
"$ldconfig" -p | grep libgorltorch.so >/dev/null ||
	die "the loader does not look in $prefix/lib: add it to /etc/ld.so.conf.d and run ldconfig"
say "ready"
