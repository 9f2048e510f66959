#!/usr/bin/env bash
# Sets up PyPI's PyTorch 2.x, which on x86-64 has CUDA in it, with skrl over it and gorl's two
# libraries built against it: what `make bench` compares with beside Debian's libtorch, and
# what `make test-pytorch` runs gorl's tests on. A second run finds everything in place but
# builds what has changed of gorl. Optional: nothing of gorl needs any of it. 5 GB, no GPU.
#
#   scripts/pytorch.sh [FOLDER]         default: gorl/pytorch in the user's cache folder
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gorl/pytorch}
python=${PYTHON:-/usr/bin/python3}
wanted=(torch==2.15.0 skrl==2.1.1 gymnasium==1.4.0 numpy pyyaml)
stepper=$root/benchmarks/peers/stepper.c

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"
torch() { (cd "$folder" && bin/python -c 'import os, torch; print(os.path.dirname(torch.__file__))'); }

key=$({ echo "${wanted[@]}"; "$python" --version; } | sha256sum) || die "there is no $python; PYTHON names another"
if [ "$(cat "$folder/.key" 2>/dev/null)" != "$key" ]; then
	rm -rf "$folder"
	mkdir -p "$(dirname "$folder")"
	"$python" -m venv "$folder" || die "$python cannot make a virtual environment; on Debian install python3-venv"
	say "installing ${wanted[*]} into $folder (some minutes)"
	"$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${wanted[@]}" </dev/null ||
		die "pip could not install them; its message stands above"
	echo "$key" >"$folder/.key"
fi
gcc -O2 -shared -fPIC -o "$folder/libstepper.so" "$stepper" -lmujoco -lpthread

LIBTORCH=$(torch) SHIM_DIR=$folder/shim "$root/scripts/shim.sh"
# A build of PyTorch with CUDA has what gotorch's streams need.
if [ -f "$(torch)/lib/libtorch_cuda.so" ] && ! nm -DC "$folder/shim/libcgotorch.so" | grep 'c10::cuda::getStreamFromPool' >/dev/null; then
	die "libcgotorch.so was built without CUDA streams"
fi
say "ready in $folder, $(du -sh "$folder" | cut -f 1)"
