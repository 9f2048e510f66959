#!/usr/bin/env bash
# Makes a fresh Debian root with nothing in it but git, make, ca-certificates and Go,
# clones this repository into it and runs make targets there, with their wall times.
# It shows what the set-up forgets to install. Needs root and the network, and installs debootstrap.
#
#   scripts/fresh-debian.sh [options] TARGET...
#
#   --suite SUITE  Debian's release: bookworm (the default), trixie, or another that debootstrap knows
#   --worktree     take the files of the working tree instead of the last commit
#   --commit REV   take this commit (default HEAD)
#   --files DIR    take the files of this folder instead of the repository's
#   --packages "A B"  install these packages, too, before the run
#   --run CMD      run this shell command in the clone, after the targets
#   --twice        run the targets a second time, to see what a second run costs
#   --keep         keep the root afterwards and say where it is
#   --as USER      run as a new user without rights to change the system ("--as root": the default)
#   --caches       share this machine's module and build caches of Go (for root only), to be faster
#
# From this machine the root takes Go (GOROOT), the package mirror of apt's sources, apt's
# settings of the network, the resolver, the certificate authorities added under
# /usr/local/share/ca-certificates, the *_proxy variables, Go's proxy settings and pip's index. The
# bare root is kept in the user's cache folder, and made once. If it cannot be made here, the exit code is 69.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repository=$PWD

suite=bookworm tree=commit commit=HEAD packages=() files='' command='' keep=0 user=root twice=0 caches=0
targets=()
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift ;;
	--worktree) tree=worktree ;;
	--commit) commit=$2; shift ;;
	--files) tree=files files=$2; shift ;;
	--packages) read -r -a packages <<<"$2"; shift ;;
	--run) command=$2; shift ;;
	--twice) twice=1 ;;
	--keep) keep=1 ;;
	--as) user=$2; shift ;;
	--caches) caches=1 ;;
	-*) echo "fresh-debian: unknown option $1 (read the head of $0)" >&2; exit 2 ;;
	*) targets+=("$1") ;;
	esac
	shift
done
# shellcheck source=scripts/common.sh
. scripts/common.sh
[ ${#targets[@]} -gt 0 ] || [ -n "$command" ] || die "name a make target, or --run a command"
[ "$caches" = 0 ] || [ "$user" = root ] || die "--caches are root's, and --as $user may not write them"

# unavailable MESSAGE: ends with the exit code that .ci/run takes as a reason to leave a step out.
unavailable() { printf 'fresh-debian: %s\n' "$*" >&2; exit 69; }
[ "$(id -u)" = 0 ] || unavailable "needs root"
command -v debootstrap >/dev/null ||
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debootstrap; } >/dev/null 2>&1 ||
	unavailable "debootstrap is missing and apt-get cannot install it"

# --- the bare root, once ------------------------------------------------------------
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gorl
base=$cache/debian-$suite.tar
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
	grep -oE '^(URIs:|deb) +https?://[^ ]+/debian/?( |$)' | grep -oE 'https?://[^ ]+' | head -n 1 || true)
mirror=${mirror:-http://deb.debian.org/debian}
mkdir -p "$cache"
root=$(mktemp -d "${TMPDIR:-/var/tmp}/gorl-fresh.XXXXXX")
if [ "$keep" = 0 ]; then trap 'rm -rf --one-file-system "$root"' EXIT; fi
if [ ! -f "$base" ]; then
	say "making a $suite root from $mirror (a few minutes, once)"
	debootstrap --variant=minbase --include=git,make,ca-certificates "$suite" "$root" "$mirror" >"$cache/debootstrap.log" 2>&1 </dev/null ||
		{ tail -n 20 "$cache/debootstrap.log" >&2; unavailable "debootstrap failed; its log is $cache/debootstrap.log"; }
	rm -rf "$root"/var/cache/apt/archives/*.deb
	tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
else
	say "unpacking $base"
	tar -C "$root" -xf "$base"
fi

chmod 755 "$root" # mktemp makes it private, and a user inside needs /

# --- how this machine reaches the network ----------------------------------------------
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/etc/apt/apt.conf.d" "$root/usr/local/share/ca-certificates"
printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
grep -hE '^ *Acquire::' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null |
	grep -vE 'GzipIndexes|Languages' >"$root/etc/apt/apt.conf.d/99network" || true
if [ -f /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/pip.conf"; fi
cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
chroot "$root" update-ca-certificates >/dev/null 2>&1 || true
variables=(PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS= read -r variable; do variables+=("$variable"); done < <(env | grep -iE '^(http|https|ftp|no|all)_proxy=|^PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|PROXY|CERT)=' || true)
for name in GOPROXY GOSUMDB GONOSUMDB GONOPROXY GOPRIVATE; do
	value=$(go env "$name")
	[ -z "$value" ] || variables+=("$name=$value")
done

# --- packages, Go and the clone -------------------------------------------------------------------
if [ ${#packages[@]} -gt 0 ]; then
	say "installing ${packages[*]}"
	{ env "${variables[@]}" DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get update -q &&
		env "${variables[@]}" DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -q --no-install-recommends "${packages[@]}"; } \
		>"$cache/packages.log" 2>&1 </dev/null || { tail -n 20 "$cache/packages.log" >&2; die "apt-get failed; its log is $cache/packages.log"; }
fi
mkdir -p "$root/usr/local/go"
cp -a "$(go env GOROOT)/." "$root/usr/local/go/"
if [ "$user" != root ]; then
	chroot "$root" useradd -m "$user"
	home=/home/$user
else
	home=/root
fi
if [ "$tree" = commit ]; then
	git clone -q --no-hardlinks "$repository" "$root$home/gorl"
	git -C "$root$home/gorl" -c advice.detachedHead=false checkout -q "$(git rev-parse "$commit")"
	say "commit $(git log -1 --format='%h %s' "$commit")"
elif [ "$tree" = files ]; then
	cp -r "$files" "$root$home/gorl"
	say "the files of $files"
else
	mkdir -p "$root$home/gorl"
	git ls-files -co --exclude-standard -z | { xargs -0 ls -d 2>/dev/null || true; } | tar -cf - -T - | tar -C "$root$home/gorl" -xf -
	git -C "$root$home/gorl" init -q
	say "the working tree"
fi
chroot "$root" chown -R "$user" "$home/gorl"
variables+=("HOME=$home")
shared=()
if [ "$caches" = 1 ]; then
	# Go's build cache is keyed by compiler and flags, too, so that releases do not disturb each other.
	shared=("$(go env GOMODCACHE)" "$(go env GOCACHE)")
	variables+=("GOMODCACHE=${shared[0]}" "GOCACHE=${shared[1]}")
	mkdir -p "${shared[@]}" "${shared[@]/#/$root}"
fi

# --- the run ----------------------------------------------------------------------------
cat >"$root/fresh.sh" <<'INSIDE'
set -u
cd "$HOME/gorl"
timed() {
	local start=$(date +%s) rc=0
	printf '\n===== %s\n' "$*"
	"$@" </dev/null || rc=$?
	printf '===== %s: exit %d after %d s\n' "$*" "$rc" $(($(date +%s) - start))
	return "$rc"
}
INSIDE
for ((round = 0; round <= twice; round++)); do
	for target in ${targets[@]+"${targets[@]}"}; do
		printf 'timed make %q || exit\n' "$target" >>"$root/fresh.sh"
	done
done
[ -z "$command" ] || printf 'timed bash -c %q || exit\n' "$command" >>"$root/fresh.sh"

rc=0
# shellcheck disable=SC2016 # the inner shell expands
unshare --mount --pid --fork --kill-child bash -c '
	set -e
	root=$1 user=$2 shared=$3; shift 3
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --make-rslave "$root/dev"
	for ((; shared > 0; shared--)); do
		mount --bind "$1" "$root$1"
		shift
	done
	if [ "$user" = root ]; then
		exec env -i "$@" chroot "$root" bash /fresh.sh
	fi
	exec env -i "$@" chroot --userspec="$user" "$root" bash /fresh.sh
' fresh "$root" "$user" ${#shared[@]} ${shared[@]+"${shared[@]}"} "${variables[@]}" || rc=$?
[ "$keep" = 0 ] || say "the root is kept in $root"
exit "$rc"
