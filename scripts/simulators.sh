#!/usr/bin/env bash
# Sets up the simulators of docs/simulators.md that Python's package index has and that run on
# the CPU: EnvPool, mjlab on MuJoCo Warp, MuJoCo Playground, Brax, Gymnasium, and skrl, which
# benchmarks/simulators compares with: what benchmarks/simulators/requirements.txt names, in a
# virtual environment. A second run finds everything in place. Optional: nothing of gorl needs it.
#
#   scripts/simulators.sh [FOLDER]      default: gorl/simulators in the user's cache folder
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gorl/simulators}
python=${PYTHON:-/usr/bin/python3}
requirements=$root/benchmarks/simulators/requirements.txt

# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

key=$({ cat "$requirements"; "$python" --version; } | sha256sum) || die "there is no $python; PYTHON names another"
if [ "$(cat "$folder/.key" 2>/dev/null)" = "$key" ]; then
	say "$folder is up to date"
	exit
fi
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
"$python" -m venv "$folder" || die "$python cannot make a virtual environment; on Debian install python3-venv"
mapfile -t wanted < <(grep -vE '^ *(#|$)' "$requirements")
say "installing ${wanted[*]} into $folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" </dev/null ||
	die "pip could not install them; its message stands above"
"$folder/bin/python" -W ignore -c 'import brax, envpool, gymnasium, mjlab, mujoco_playground, skrl, torch' >/dev/null
echo "$key" >"$folder/.key"
say "ready in $folder, $(du -sh "$folder" | cut -f 1)"
