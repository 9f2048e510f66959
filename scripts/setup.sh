#!/usr/bin/env bash
# Prepares this machine to build and run gorl and programs that import it:
#
#   1. gets libtorch and MuJoCo: from Debian's packages (with apt-get), or from PyPI (scripts/pypi.sh);
#   2. builds libcgotorch.so and libgorltorch.so (scripts/shim.sh);
#   3. installs them into PREFIX/lib, with what shim.sh found out about OpenBLAS;
#   4. makes sure that go finds them there.
#
# A second run finds everything in place and changes nothing. Settings (environment):
#
#   FROM      debian or pypi                  (default: the last run's; at first debian where there is apt-get)
#   PREFIX    where the libraries go          (default: the last run's; at first /usr/local for root and for users with
#                                             sudo, and $HOME/.local for others and for FROM=pypi)
#   LIBTORCH  build against that libtorch; shim.sh explains this and its other settings
#   YES       1 answers yes to all questions; without a terminal and without it the answer is no
#   DRY_RUN   1 says what would be done, and changes nothing
#
# Where the loader looks into PREFIX/lib by itself (/usr/local), plain `go build`, `go test` and `go run` work
# afterwards. Elsewhere go needs two variables: step 4 prints the line `go env -w` that sets them, and asks before it
# runs that line. make's own recipes work without it (BASH_ENV in the Makefile).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
built=${SHIM_DIR:-$root/build/lib}
dry=${DRY_RUN:-}
[ "$dry" != 0 ] || dry=

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

# step TEXT: says what follows, and whether to do it.
step() {
	say "$1"
	[ -z "$dry" ]
}

# ask QUESTION: the answer of the user at a terminal.
ask() {
	local answer
	[ "${YES:-}" != 1 ] || return 0
	[ -t 0 ] || return 1
	read -r -p "setup: $1 [y/N] " answer
	[[ $answer == [yY]* ]]
}

# Runs a command with the rights to change the system.
allowed=
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
		return
	fi
	command -v sudo >/dev/null || die "this needs root, and there is no sudo. Run it as root once, or without root:
setup:   make setup FROM=pypi        (or gorl-setup --from pypi)"
	[ -n "$allowed" ] || ask "use sudo to run: $*?" ||
		die "this needs root and was not allowed to use sudo: allow it with YES=1 (gorl-setup: --yes), or do without root by FROM=pypi (--from pypi)"
	allowed=1
	sudo "$@"
}

command -v go >/dev/null || die "no Go found; install Go 1.26 or later from https://go.dev/dl and put its bin folder into PATH"

# --- where from, and where to -------------------------------------------------------
# The last run's choices. The first line of .setup is FROM, the second PREFIX.
{ read -r last_from && read -r last_prefix; } 2>/dev/null <"$built/.setup" || last_from='' last_prefix=''
from=${FROM:-$last_from}
if [ -z "$from" ]; then
	if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
		from=debian
	else
		from=pypi
		say "there is no apt-get: taking libtorch and MuJoCo from PyPI"
	fi
fi
[ "$from" = debian ] || [ "$from" = pypi ] || die "FROM=$from is neither debian nor pypi"
prefix=${PREFIX:-}
if [ -z "$prefix" ] && [ "$from" = "$last_from" ]; then prefix=$last_prefix; fi
if [ -z "$prefix" ]; then
	prefix=$HOME/.local
	if [ "$(id -u)" = 0 ] || { [ "$from" = debian ] && command -v sudo >/dev/null; }; then prefix=/usr/local; fi
fi
case $prefix in
*[[:space:]\"\'\$]*) die "PREFIX='$prefix' has a space, a quote or a dollar sign: choose another folder" ;;
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
[ -z "$dry" ] || say "dry run: this would be done, and nothing is changed"

# --- 1. libtorch and MuJoCo ----------------------------------------------------------
compiler=${CXX:-g++}
mujoco=
if [ "$from" = pypi ]; then
	# Asked before hundreds of megabytes are fetched.
	command -v "$compiler" >/dev/null ||
		die "no C++ compiler '$compiler' found: install g++ (Fedora: gcc-c++, Arch: gcc), or set CXX"
	[ -n "${LIBTORCH:-}" ] || LIBTORCH=$("$BASH" "$root/scripts/pypi.sh" torch)
	export LIBTORCH
	mujoco=$("$BASH" "$root/scripts/pypi.sh" mujoco)
else
	packages=(g++ libmujoco-dev)
	if [ -z "${LIBTORCH:-}" ]; then
		# Without OpenBLAS, Debian's libtorch multiplies on the reference BLAS, tens of times slower.
		packages+=(libtorch-dev libopenblas0-pthread)
	fi
	{ command -v dpkg-query && command -v apt-get; } >/dev/null ||
		die "FROM=debian needs apt-get and dpkg-query, which are not here: use FROM=pypi"
	if lacking "${packages[@]}" && step "installing the packages ${missing[*]}"; then
		otherwise="FROM=pypi does without these packages"
		install_packages "${missing[@]}"
	fi
fi

# --- 2. the libraries --------------------------------------------------------------
if [ -z "$dry" ]; then
	"$BASH" "$root/scripts/shim.sh"
else
	say "building libcgotorch.so and libgorltorch.so in $built, unless they are up to date (a minute)"
fi

# --- 3. into PREFIX ------------------------------------------------------------------
# in_prefix COMMAND...: runs it with root's rights where the user's do not suffice.
existing=$prefix
while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
if [ -w "$existing" ] && { [ ! -d "$prefix/lib" ] || [ -w "$prefix/lib" ]; }; then
	in_prefix() { "$@"; }
else
	in_prefix() { as_root "$@"; }
fi
full() {
	local free
	free=$(df -Pm "$existing" | awk 'END {print $4}')
	die "$1 could not be written ($free MB are free): make room or choose another PREFIX, and run this again"
}

changed=0
for file in libcgotorch.so libgorltorch.so gorl-blas-check libgorltorch.blas; do
	if [ ! -f "$built/$file" ] && [[ $file != *.so ]]; then
		# gorl-blas-check is for x86-64 only, and libgorltorch.blas for an OpenBLAS that does not know the processor.
		if [ -f "$prefix/lib/$file" ] && [ -z "$dry" ]; then in_prefix rm -f "$prefix/lib/$file"; fi
	elif ! cmp -s "$built/$file" "$prefix/lib/$file" && step "installing $prefix/lib/$file"; then
		mode=644
		if [ "$file" = gorl-blas-check ]; then mode=755; fi
		# Moved into place: a running program keeps the library it has mapped.
		{ in_prefix mkdir -p "$prefix/lib" &&
			in_prefix cp "$built/$file" "$prefix/lib/.$file.new" &&
			in_prefix chmod $mode "$prefix/lib/.$file.new" &&
			in_prefix mv -f "$prefix/lib/.$file.new" "$prefix/lib/$file"; } || full "$prefix/lib/$file"
		changed=1
	fi
done

# gotorch asks the linker for libtorch's own libraries by name. Where libtorch is not the
# system's, these small linker scripts lead there; the shims know the way by their rpath.
# They are named .a, which the linker takes as well and the loader never does.
for library in torch torch_cpu c10; do
	pointer=$prefix/lib/lib$library.a
	if [ -n "${LIBTORCH:-}" ]; then
		file=$LIBTORCH/lib/lib$library.so
		[ -f "$file" ] || file=$LIBTORCH/lib/libtorch_cpu.so # libtorch.so holds no code, and PyPI's is left out
		wanted="INPUT(AS_NEEDED(\"$(cd "$LIBTORCH" 2>/dev/null && pwd || echo "$LIBTORCH")/lib/$(basename "$file")\"))"
		if [ "$(head -c 512 "$pointer" 2>/dev/null | tr -d '\0')" != "$wanted" ] &&
			step "pointing $pointer to $LIBTORCH"; then
			printf '%s\n' "$wanted" | in_prefix tee "$pointer" >/dev/null || full "$pointer"
		fi
	elif [ -f "$pointer" ] && [ "$(head -c 6 "$pointer")" = 'INPUT(' ] &&
		step "removing $pointer, which pointed to an earlier LIBTORCH"; then
		in_prefix rm -f "$pointer"
	fi
done

# link TARGET LINK: a symbolic link, unless it is there.
link() {
	if [ "$(readlink "$2" || true)" != "$1" ] && step "linking $2 to $1"; then
		{ in_prefix mkdir -p "$(dirname "$2")" && in_prefix ln -sfn "$1" "$2"; } || full "$2"
		changed=1
	fi
}
if [ -n "$mujoco" ]; then
	link "$mujoco/include/mujoco" "$prefix/include/mujoco"
	for library in "$mujoco"/libmujoco.so.*; do
		[ -f "$library" ] || continue # in a dry run it may not be there yet
		link "$library" "$prefix/lib/$(basename "$library")"
		link "$(basename "$library")" "$prefix/lib/libmujoco.so"
	done
fi
# What an earlier run linked to another of PyPI's MuJoCos goes.
for old in "$prefix/include/mujoco" "$prefix"/lib/libmujoco.so*; do
	leads=$(readlink -m "$old")
	case $leads in
	*/gorl/pypi/mujoco-*)
		if [ -L "$old" ] && { [ -z "$mujoco" ] || [[ $leads != "$mujoco"/* ]]; } &&
			step "removing the link $old to an earlier MuJoCo"; then
			in_prefix rm -f "$old"
		fi
		;;
	esac
done

# --- 4. what go needs to find them ------------------------------------------------------
# The loader looks into /usr/local/lib by itself on Debian, and not on every system.
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
found() { "$ldconfig" -p 2>/dev/null | grep -F "=> $prefix/lib/libgorltorch.so" >/dev/null; }
if [ "$prefix" = /usr/local ] && { [ "$changed" = 1 ] || ! found; } && step "running ldconfig"; then as_root "$ldconfig"; fi
cflags='' ldflags=''
if [ "$prefix" != /usr/local ] || { [ -z "$dry" ] && ! found; }; then
	cflags="-I$prefix/include" ldflags="-L$prefix/lib -Wl,-rpath,$prefix/lib"
fi

# wanted VARIABLE FLAGS OLD: its value in `go env`, without the flags of an earlier PREFIX, with these.
wanted() {
	local value
	value=" $(env -u "$1" go env "$1") "
	[ -z "$3" ] || value=${value//" $3 "/ }
	[[ -z "$2" || $value == *" $2 "* ]] || value+="$2 "
	value=${value# }
	printf '%s' "${value% }"
}
old_cflags='' old_ldflags=''
if [ -n "$last_prefix" ] && { [ "$last_prefix" != "$prefix" ] || [ -z "$cflags" ]; }; then
	old_cflags="-I$last_prefix/include" old_ldflags="-L$last_prefix/lib -Wl,-rpath,$last_prefix/lib"
fi
settings=()
for variable in CGO_CFLAGS CGO_LDFLAGS; do
	case $variable in
	CGO_CFLAGS) value=$(wanted $variable "$cflags" "$old_cflags") ;;
	CGO_LDFLAGS) value=$(wanted $variable "$ldflags" "$old_ldflags") ;;
	esac
	[ "$value" = "$(env -u $variable go env $variable)" ] || settings+=("$variable=$value")
done

if [ -z "$dry" ]; then
	printf '%s\n' "$from" "$prefix" >"$built/.setup"
	if [ -n "$cflags" ]; then
		cat >"$built/env.sh" <<ENV
# Written by setup.sh. bash reads this before each of make's recipes, so that go finds the libraries in $prefix/lib.
unset BASH_ENV # once is enough
gorl_flags() {
	local value
	value=\$(go env "\$1" 2>/dev/null)
	[[ " \$value " == *" \$2 "* ]] || export "\$1=\${value:+\$value }\$2"
}
gorl_flags CGO_CFLAGS "$cflags"
gorl_flags CGO_LDFLAGS "$ldflags"
unset -f gorl_flags
ENV
	else
		rm -f "$built/env.sh"
	fi
fi

if [ ${#settings[@]} -gt 0 ]; then
	if [ -n "$cflags" ]; then
		say "go finds the libraries in $prefix/lib by this line, which keeps your other flags:"
	else
		say "go still looks for the libraries of an earlier set-up in $last_prefix/lib; this line ends that:"
	fi
	printf '  go env -w'
	printf " '%s'" "${settings[@]}"
	printf '\n'
	if [ -z "$dry" ]; then
		if ask "run it now?"; then
			go env -w "${settings[@]}"
		elif [ -n "$cflags" ]; then
			say "ready; go build needs that line, make works without it"
			exit
		fi
	fi
fi
[ -n "$dry" ] || say "ready"
