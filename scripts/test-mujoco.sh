#!/usr/bin/env bash
# Tests gorl's physics with versions of MuJoCo from PyPI, beside the system's. Headers and libraries go to a folder in the
# user's cache folder. A second run downloads nothing.
#
#   scripts/test-mujoco.sh [VERSION...]     default: 3.1.6 3.17.0 4.0.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gorl/mujoco
[ $# -gt 0 ] || set -- 3.1.6 3.17.0 4.0.0

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

# fetch VERSION puts include and libmujoco.so of a version into a folder of its own.
fetch() {
	local package=mujoco folder=$cache/$1 scratch
	[ "${1%%.*}" -lt 4 ] || package=mujoco-core # since 4.0, the package mujoco has the Python code only
	if [ -f "$folder/libmujoco.so" ]; then return; fi
	say "downloading $package $1"
	mkdir -p "$cache"
	scratch=$(mktemp -d "$cache/.$1.XXXXXX")
	# The wheels of all versions of Python hold the same library.
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 \
		--implementation cp --platform "manylinux_2_28_$(uname -m)" --platform "manylinux2014_$(uname -m)" \
		-d "$scratch" "$package==$1" </dev/null || { say "pip could not download $package $1; its message stands above"; exit 69; }
	(cd "$scratch" && python3 -m zipfile -e ./*.whl . && mv mujoco/include . && mv mujoco/libmujoco.so.* .)
	ln -s "libmujoco.so.$1" "$scratch/libmujoco.so"
	rm -rf "$folder" "$scratch"/*.whl "$scratch/mujoco"
	mv "$scratch" "$folder"
}

cd "$root"
for version; do
	fetch "$version"
	export CGO_CFLAGS="-O2 -g '-I$cache/$version/include'" CGO_LDFLAGS="'-L$cache/$version' '-Wl,-rpath,$cache/$version'"
	say "MuJoCo $version"
	go vet ./envs/mujoco ./envs/view ./envs/catalog
	GORL_TEST_MUJOCO=$version go test -vet=off -count=1 ./envs/mujoco ./envs/view ./envs/catalog
done
