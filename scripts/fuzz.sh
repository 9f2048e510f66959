#!/usr/bin/env bash
# Runs every fuzz target of the module, one after another, each for the time given
# as the first argument (a Go duration, by default 20s). Ends at the first failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-20s}
found=0
while IFS=: read -r file target; do
	found=1
	printf 'fuzz: %s in ./%s for %s\n' "$target" "$(dirname "$file")" "$time"
	# Making a new input small can take a minute, which a short run has better uses for.
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "./$(dirname "$file")"
done < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -HoE '^func Fuzz[A-Za-z0-9_]+' | sed 's/:func /:/' | sort)
[ "$found" = 1 ] || { echo "fuzz: no fuzz targets found" >&2; exit 1; }
