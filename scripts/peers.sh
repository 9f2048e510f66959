#!/usr/bin/env bash
# Sets up the Python programs that benchmarks and `make test-peers` compare gorl with:
# Debian's PyTorch, which is the same libtorch that gorl uses, and over it a virtual
# environment with what benchmarks/peers/requirements.txt names, from the package index
# that pip is configured with; JAX, if it can be installed, in an environment of its own,
# FOLDER/jax; and a small C library that steps MuJoCo. A second run finds everything in
# place. Optional: nothing of gorl needs any of it.
#
#   scripts/peers.sh [FOLDER]           default: gorl/peers in the user's cache folder
#   scripts/peers.sh --probe [FOLDER]   only says, with its exit status as well, whether that
#                                       would work: everything is there, or the index answers
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
probe=0
if [ "${1:-}" = --probe ]; then probe=1; shift; fi
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gorl/peers}
python=/usr/bin/python3
requirements=$root/benchmarks/peers/requirements.txt
stepper=$root/benchmarks/peers/stepper.c

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"
# Installs those of Debian's packages that are missing.
need() {
	lacking "$@" || return 0
	say "installing Debian's ${missing[*]}"
	install_packages "${missing[@]}"
}
versions() { "$1" -c 'import numpy, torch; print(f"torch=={torch.__version__}\nnumpy=={numpy.__version__}")'; }
key() { { cat "$requirements"; echo "$1"; } | sha256sum; }
complete() { # with Debian's versions
	[ -x "$folder/bin/python" ] && [ "$(cat "$folder/.key" 2>/dev/null)" = "$(key "$1")" ]
}
# JAX needs a newer NumPy than Debian's, so it has an environment of its own. Benchmarks and tests leave it out if it is
# missing.
install_jax() {
	local jax=$folder/jax list=$root/benchmarks/peers/jax.txt
	cmp -s "$list" "$jax/.key" && return
	rm -rf "$jax"
	say "installing JAX into $jax"
	if ! { "$python" -m venv "$jax" &&
		"$jax/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list" </dev/null &&
		"$jax/bin/python" -c 'import jax' && cp "$list" "$jax/.key"; }; then
		rm -rf "$jax"
		say "JAX could not be installed; its message stands above. Benchmarks and tests leave it out"
	fi
}
compile_stepper() { gcc -O2 -shared -fPIC -o "$folder/libstepper.so" "$stepper" -lmujoco -lpthread; }

command -v apt-get >/dev/null || die "needs Debian: the comparison is over Debian's python3-torch"

if [ "$probe" = 1 ]; then
	if debian=$(versions "$python" 2>/dev/null) && complete "$debian"; then
		say "$folder is up to date"
		exit
	fi
	need python3-venv
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	"$python" -m venv "$scratch/venv"
	wanted=$(sed -nE 's/^(gymnasium)(\[[^]]*\])?(==.*)/\1\3/p' "$requirements")
	if ! timeout 90 "$scratch/venv/bin/python" -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 20 \
		--no-deps -d "$scratch" "$wanted" </dev/null >"$scratch/log" 2>&1; then
		tail -n 3 "$scratch/log" >&2
		die "pip's package index does not give $wanted"
	fi
	say "pip's package index answers: it gave $wanted"
	exit
fi

need gcc libc6-dev libmujoco-dev python3-torch python3-numpy python3-yaml python3-venv
debian=$(versions "$python")
if complete "$debian"; then
	compile_stepper
	install_jax
	say "$folder is up to date"
	exit
fi
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
"$python" -m venv --system-site-packages "$folder"
# The constraint keeps pip from putting another PyTorch or NumPy over Debian's.
echo "$debian" >"$folder/constraints.txt"
mapfile -t wanted < <(grep -vE '^ *(#|$)' "$requirements")
say "installing ${wanted[*]} into $folder (a few minutes)"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -c "$folder/constraints.txt" -r "$requirements" </dev/null
[ "$(versions "$folder/bin/python")" = "$debian" ] ||
	die "the environment has another PyTorch or NumPy than Debian's: $(versions "$folder/bin/python" | tr '\n' ' ')"
compile_stepper
"$folder/bin/python" -W ignore -c 'import gymnasium, jsonschema, mlflow, mpe2, mujoco, onnx, onnxruntime, pettingzoo, pygame, pymunk, skrl, tensorboard.main, wandb'
key "$debian" >"$folder/.key"
install_jax
say "ready in $folder: ${debian//$'\n'/ } ${wanted[*]}"
