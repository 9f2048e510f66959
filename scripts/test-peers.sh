#!/usr/bin/env bash
# Runs the tests that compare gorl with Python programs, which `make peers` has set up in
# FOLDER, or with simulators those that need what `make simulators` has set up. A test that is
# skipped, and a package in which no test is found, are failures: nothing is left out unnoticed.
#
#   scripts/test-peers.sh FOLDER [peers|simulators]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$1 what=${2:-peers}

say() { printf 'test-%s: %s\n' "$what" "$*"; }
die() { printf 'test-%s: %s\n' "$what" "$*" >&2; exit 1; }

[ -x "$folder/bin/python" ] || die "there is no Python in $folder: run 'make $what' first"
[ -f "$folder/.key" ] || die "$folder is not complete: run 'make $what' again"
skip='^$'
if [ "$what" = peers ] && [ ! -f "$folder/jax/.key" ]; then
	say "JAX is not in $folder/jax: the tests that compare with it are left out"
	skip=TestPeersJAX
fi
mapfile -t packages < <(grep -roE --include='*_test.go' "^func Test${what^}\w*" . | grep -v "$skip" | cut -d: -f1 |
	xargs -rn1 dirname | sort -u)
[ ${#packages[@]} -gt 0 ] || die "no package has tests that need $what"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS rc=0
env "GORL_${what^^}=$folder" "${GO:-go}" test -count=1 -run "^Test${what^}" -skip "$skip" -v -timeout 20m \
	"${packages[@]}" 2>&1 </dev/null | tee "$log" |
	grep -v '^=== ' || rc=$?
skipped=$(grep -E '^ *--- SKIP' "$log" || true)
without=$(grep -F '[no tests to run]' "$log" || true)
say "$(grep -cE '^--- PASS' "$log" || true) tests in ${#packages[@]} packages passed, $(grep -cE '^--- FAIL' "$log" || true) failed, after $((SECONDS - start)) s"
[ -z "$skipped" ] || die "skipped, so not shown: $skipped"
[ -z "$without" ] || die "no test named Test${what^}: $without"
[ "$rc" = 0 ] || die "a test failed; its messages stand above"
