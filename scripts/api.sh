#!/usr/bin/env bash
# Lists what has changed in gorl's exported Go API since the last release, and fails on an incompatible change of a
# package that CHANGELOG.md does not name above that release. The release is the newest heading "## vX.Y.Z - DATE" of
# CHANGELOG.md; its sources are those of the tag of that name or, before there is one, of the commit that wrote the
# heading. The exit code is 69 if there is no release yet, or if its commit is missing, as in a shallow clone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
apidiff=golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
module=github.com/gorl-dev/gorl
# shellcheck source=scripts/common.sh
. scripts/common.sh

heading=$(grep -m 1 -E '^## v[0-9.]+ - [0-9]{4}-' CHANGELOG.md) || { say "CHANGELOG.md has no release with a date"; exit 69; }
version=$(cut -d' ' -f2 <<<"$heading")
base=$(git rev-parse -q --verify "refs/tags/$version^{commit}" || git log -1 --format=%H -S"$heading" -- CHANGELOG.md)
[ -n "$base" ] || { say "neither a tag $version nor the commit that wrote it is in this clone"; exit 69; }

tree=$(mktemp -d)
trap 'git worktree remove --force "$tree/release" 2>/dev/null; rm -rf "$tree"' EXIT
git worktree add -q --detach "$tree/release" "$base"
GOBIN=$tree go install "$apidiff"
# diff ARGUMENTS... runs apidiff, and says what it says but for the packages that it leaves out.
diff() { "$tree/apidiff" -m "$@" 2>"$tree/log" || { grep -v '^Ignoring internal' "$tree/log" >&2; exit 1; }; }
(cd "$tree/release" && diff -w "$tree/release.api" "$module")
diff "$tree/release.api" "$module" >"$tree/changes"
diff -incompatible "$tree/release.api" "$module" >"$tree/breaks"

say "since $version ($(git rev-parse --short "$base")):"
cat "$tree/changes"
# A line of apidiff is "- ./agents/ppo.New: changed from ..." or "- package ./agents/ppo: removed".
notes=$(sed "/^## $version/,\$d" CHANGELOG.md)
rc=0
sed -n -E 's#^- (package )?\./([a-z0-9_/]+).*#\2#p' "$tree/breaks" | sort -u >"$tree/packages"
while read -r package; do
	grep -qF "$package" <<<"$notes" ||
		{ say "$package has an incompatible change; name the package and the change in CHANGELOG.md, above $version"; rc=1; }
done <"$tree/packages"
exit "$rc"
