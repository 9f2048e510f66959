#!/usr/bin/env bash
# Sets up what the benchmarks compare gorl with: a Python virtual environment over Debian's
# PyTorch (which is the same libtorch that gorl uses) with skrl from PyPI, and a small C
# library that steps MuJoCo; and onnxruntime, which the tests of exported policies run. Optional: nothing of gorl needs any of it.
#
#   scripts/peers.sh [FOLDER]     default: gorl/peers in the user's cache folder
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gorl/peers}
python=/usr/bin/python3
requirements=$root/benchmarks/peers/requirements.txt
stepper=$root/benchmarks/peers/stepper.c

say() { printf 'peers: %s\n' "$*"; }
die() { printf 'peers: %s\n' "$*" >&2; exit 1; }
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
		die "apt-get needs root: run 'make peers' as root or install sudo"; fi
}

command -v apt-get >/dev/null || die "needs Debian: the comparison is over Debian's python3-torch"
missing=()
for package in gcc libmujoco-dev python3-torch python3-numpy python3-venv; do
	status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
	[ "$status" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	say "installing ${missing[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null || say "apt-get update failed; trying anyway"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
fi

versions() { "$1" -c 'import numpy, torch; print(f"torch=={torch.__version__}\nnumpy=={numpy.__version__}")'; }
debian=$(versions "$python")
key=$({ cat "$requirements" "$stepper"; echo "$debian"; } | sha256sum)
if [ "$(cat "$folder/.key" 2>/dev/null)" = "$key" ]; then
	say "$folder is up to date"
	exit
fi
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
"$python" -m venv --system-site-packages "$folder"
# The constraint keeps pip from putting another PyTorch or NumPy over Debian's.
echo "$debian" >"$folder/constraints.txt"
say "installing skrl and onnxruntime from PyPI into $folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -c "$folder/constraints.txt" -r "$requirements" </dev/null
[ "$(versions "$folder/bin/python")" = "$debian" ] ||
	die "the environment has another PyTorch or NumPy than Debian's: $(versions "$folder/bin/python" | tr '\n' ' ')"
gcc -O2 -shared -fPIC -o "$folder/libstepper.so" "$stepper" -lmujoco -lpthread
"$folder/bin/python" -c 'import onnxruntime, skrl; print("peers: skrl", skrl.__version__, "onnxruntime", onnxruntime.__version__)' 2>/dev/null
echo "$key" >"$folder/.key"
say "ready in $folder"
