#!/usr/bin/env bash
# Runs the tests that compare gorl with Python programs, which `make peers` has set up in
# FOLDER. Every package whose tests import internal/test/peers is run. A test that is skipped,
# and a package in which no test is found, are failures: nothing is left out unnoticed.
#
#   scripts/test-peers.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$1

say() { printf 'test-peers: %s\n' "$*"; }
die() { printf 'test-peers: %s\n' "$*" >&2; exit 1; }

[ -x "$folder/bin/python" ] || die "there is no Python in $folder: run 'make peers' first"
[ -f "$folder/.key" ] || die "$folder is not complete: run 'make peers' again"
go=${GO:-go}
mapfile -t packages < <("$go" list -f '{{$p := .ImportPath}}{{range .TestImports}}{{$p}} {{.}}
{{end}}{{range .XTestImports}}{{$p}} {{.}}
{{end}}' ./... | awk '$2 ~ /\/internal\/test\/peers$/ && $1 != $2 { print $1 }' | sort -u)
[ ${#packages[@]} -gt 0 ] || die "no package has tests that need peers"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS rc=0
GORL_PEERS=$folder "$go" test -count=1 -run '^TestPeers' -v -timeout 20m "${packages[@]}" 2>&1 </dev/null | tee "$log" | grep -v '^=== ' || rc=$?
skipped=$(grep -E '^ *--- SKIP' "$log" || true)
without=$(grep -F '[no tests to run]' "$log" || true)
say "$(grep -cE '^--- PASS' "$log" || true) tests in ${#packages[@]} packages passed, $(grep -cE '^--- FAIL' "$log" || true) failed, after $((SECONDS - start)) s"
[ -z "$skipped" ] || die "skipped, so not shown: $skipped"
[ -z "$without" ] || die "no test named TestPeers: $without"
[ "$rc" = 0 ] || die "a test failed; its messages stand above"
