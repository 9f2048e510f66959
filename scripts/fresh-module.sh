#!/usr/bin/env bash
# Tries in a fresh Debian root what README shows to those who have no clone: four commands, from go mod init to a
# trained agent, in a module of their own. gorl comes from a module proxy made of files, with the last commit in it,
# everything else from the ordinary proxy. It prints the wall time of each command. Needs what fresh-debian.sh needs.
#
#   scripts/fresh-module.sh            with Debian's packages, as root
#   scripts/fresh-module.sh pypi       with libtorch and MuJoCo from PyPI, as a user without rights to change the system
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

root=()
case ${1:-debian} in
debian) from=debian ;;
pypi) from=pypi root=(--as gopher --packages "g++ python3-pip") ;;
*) die "name debian or pypi" ;;
esac

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT

# --- the proxy ------------------------------------------------------------------------------
module=github.com/gorl-dev/gorl
version=v0.0.0-$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)-$(git rev-parse --short=12 HEAD)
proxy=$files/proxy/$module
mkdir -p "$proxy/@v"
# A module's archive leaves out the modules inside it.
git archive --format=zip --prefix="$module@$version/" -o "$proxy/@v/$version.zip" HEAD -- . ':(exclude)internal/kubecheck'
git show HEAD:go.mod >"$proxy/@v/$version.mod"
printf '{"Version":"%s","Time":"%s"}\n' "$version" "$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" |
	tee "$proxy/@v/$version.info" >"$proxy/@latest"
: >"$proxy/@v/list"

# --- the four commands, with the program that README's ten lines are from ---------------------
git show HEAD:snippets/amp_walker/main.go >"$files/main.go"
cat >"$files/four.sh" <<FOUR
set -e
export GOPROXY="file://\$PWD/proxy,\$(go env GOPROXY)" GONOSUMDB=$module
mkdir ../walker
cp main.go ../walker
cd ../walker
timed() {
	local start=\$SECONDS
	printf '\n\$ %s\n' "\$*"
	"\$@"
	printf '(%d s)\n' \$((SECONDS - start))
}
timed go mod init example.com/walker
timed go get $module/...
timed go run $module/cmd/gorl-setup --from $from --yes
timed go run . -timesteps 1600
FOUR
# README has the same commands; this fails when they change there.
for command in 'go mod init' "go get $module/..." "go run $module/cmd/gorl-setup" 'go run .'; do
	grep -qF "$command" README.md || die "README.md no longer has the command '$command'"
done

scripts/fresh-debian.sh ${root[@]+"${root[@]}"} --files "$files" --run 'bash four.sh'
