# Functions that the scripts of this folder share; they read this file with ". common.sh".
# shellcheck shell=bash
script=${BASH_SOURCE[1]##*/} script=${script%.sh}

# say TEXT... and die TEXT... write a line that begins with the script's name; die ends the script.
say() { printf '%s: %s\n' "$script" "$*"; }
die() { say "$*" >&2; exit 1; }

# as_root COMMAND... runs a command with the rights to change the system.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; return; fi
	command -v sudo >/dev/null || die "this needs root, and there is no sudo: $*"
	sudo "$@"
}

# lacking PACKAGE... sets missing to those of Debian's packages that are not installed. It fails if none is missing.
lacking() {
	local package status
	missing=()
	for package; do
		status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
		[ "$status" = "install ok installed" ] || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ]
}

# install_packages PACKAGE... installs Debian's packages. In run level 1 they start no services of their own. The
# variable otherwise says what to do if that fails.
install_packages() {
	command -v apt-get >/dev/null || die "there is no apt-get to install $* with"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
		say "apt-get update failed; trying with the package lists that are here"
	as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null ||
		die "apt-get could not install $*; its message stands above${otherwise:+. $otherwise}"
}
