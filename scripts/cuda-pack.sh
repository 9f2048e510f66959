#!/usr/bin/env bash
# Packs what a machine with a GPU needs to check gorl on CUDA: one that has PyTorch with CUDA
# (2.x) and g++, but no Go and no network. Carry the folder there, or the .tar.gz beside it,
# and run ./check.sh in it (scripts/cuda-check.sh, which says what it does); it writes a
# report to send back.
#
#   scripts/cuda-pack.sh [FOLDER]       default: build/gorl-cuda
#
# The binaries are built here and need a C library there that is not older than this
# machine's; gorl's C++ is compiled there. skrl is packed where pip's package index gives it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/gorl-cuda}
tests=(tensor distributed agents agents/ppo agents/amp agents/internal/onpolicy models memory preprocessors trainers)

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

if [ -e "$folder" ] && [ ! -f "$folder/check.sh" ]; then die "$folder is there and is no pack"; fi
rm -rf "$folder"
mkdir -p "$folder/scripts" "$folder/tensor" "$folder/lib" "$folder/benchmarks"
cd "$root"
gotorch=${GOTORCH_SRC:-$(go list -m -f '{{.Dir}}' github.com/wangkuiyi/gotorch)}
mkdir "$folder/gotorch"
cp -r "$gotorch/cgotorch" "$folder/gotorch/"
cp -r tensor/csrc "$folder/tensor/"
cp scripts/shim.sh scripts/common.sh "$folder/scripts/"
cp scripts/cuda-check.sh "$folder/check.sh"
cp benchmarks/*.py "$folder/benchmarks/"
chmod -R u+w "$folder"

say "building the benchmarks and the tests of ${tests[*]}"
export CGO_LDFLAGS="-L${SHIM_DIR:-$root/build/lib} ${CGO_LDFLAGS:-} -Wl,--as-needed" # so that they need no particular libtorch
go build -o "$folder/benchmarks/benchmarks" ./benchmarks
for test in "${tests[@]}"; do
	mkdir -p "$folder/tests/$test"
	go test -c -o "$folder/tests/$test/run.test" "./$test"
	if [ -d "$test/testdata" ]; then cp -r "$test/testdata" "$folder/tests/$test/"; fi
done
mkdir -p "$folder/tests/internal/test/golden"
cp -r internal/test/golden/testdata "$folder/tests/internal/test/golden/" # skrl's numbers for the tests of agents
for binary in "$folder/benchmarks/benchmarks" "$folder"/tests/*/run.test; do
	if readelf -d "$binary" | grep -E 'NEEDED.*lib(torch|c10)'; then die "$binary needs a particular libtorch"; fi
done
# MuJoCo and what it needs are linked, too, but not asked for anything.
ldd "$folder/benchmarks/benchmarks" | awk '/lib(mujoco|ccd|qhull|tinyxml2|tinyobjloader|lodepng)/ {print $3}' |
	while read -r library; do cp -L "$library" "$folder/lib/"; done

packages=(skrl==2.1.1 gymnasium==1.4.0 Farama-Notifications cloudpickle tensorboard absl-py packaging tqdm protobuf)
if ! python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder/python" "${packages[@]}" </dev/null; then
	say "without skrl: pip's package index does not give it"
	rm -rf "$folder/python"
fi
{
	git log -1 --format='%H %s'
	git status --short
} >"$folder/commit.txt" 2>/dev/null || true
tar -C "$(dirname "$folder")" -czf "$folder.tar.gz" "$(basename "$folder")"
say "ready: $folder.tar.gz, $(du -h "$folder.tar.gz" | cut -f 1). There: tar xzf, and ./check.sh in the folder"
