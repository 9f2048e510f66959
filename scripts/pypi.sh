#!/usr/bin/env bash
# Fetches libtorch or MuJoCo from PyPI, for systems without packages of them and for users without root. It prints the
# folder on standard output, and what it does on standard error.
#
#   scripts/pypi.sh torch     the folder for LIBTORCH: include and lib, for the CPU
#   scripts/pypi.sh mujoco    the folder with MuJoCo's include and libmujoco.so.VERSION
#
# Only pip of any Python from 3.6 on is needed. Nothing is installed for Python: the wheels are archives, and the needed
# files are unpacked into gorl/pypi in the user's cache folder (for root: /var/cache). PyPI's torch for Linux is a build
# for CUDA; its libraries for the GPU are left out. Its libtorch_cpu.so still loads two libraries of CUDA's runtime,
# which need no GPU.
#
# A fetch that was interrupted keeps the wheels that it has. The folder gets its name when it is complete, and a list
# of its files with their sizes; a folder that no longer fits the list is fetched again.
#
# Settings (environment): PYTHON (default python3), XDG_CACHE_HOME, pip's own (PIP_INDEX_URL, ...), and
# DRY_RUN=1, which fetches nothing.
set -euo pipefail

say() { printf 'pypi: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

python=${PYTHON:-python3}
processor=$(uname -m)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
if [ "$(id -u)" = 0 ]; then cache=/var/cache; fi # programs of other users load the libraries, too
cache=$cache/gorl/pypi

# --- what is fetched: requirement, platform in the wheel's name, SHA-256 for x86_64 and aarch64 -----------------------
case ${1:-} in
torch)
	name=torch-2.15.0 folder=torch megabytes=1200
	wheels=(
		"torch==2.15.0 manylinux_2_28
			48c2d861134c0b5697c7602cb5ffa68f62a2989fdcd1717e593356f67996ca1e
			58ce2ebfb3430941353109a85be63ee8e941da22f13daa2c43344eeb51c81e06"
		"nvidia-cuda-runtime==13.2.86 manylinux2014
			3498247680dfddce31bad102af7e3e26fc795342a3cac64722bb0fa95e7f60f0
			37844957894bfdecf90243568d21a2cb251b66106915b71459a23c8e6ef2da69"
		"nvidia-cuda-cupti==13.2.86 manylinux_2_25
			8fa29f15dd8336181f961764d9d95236fc6b931dd0c8fcf8cd70aab0c310b586
			d9a5c133f73fcb9013f3ada0da6fb54d4117618d81f3f5a0419417ea6ee829d4"
	)
	;;
mujoco)
	name=mujoco-3.17.0 folder=mujoco megabytes=100
	wheels=(
		"mujoco==3.17.0 manylinux_2_28
			d66928d86a2d1b601bbaa4dc11db50214d17d5301bb8afd84721313b67ff0874
			91a70ed9979c383ff1f5c03f25cc2e1280a8254c1a8e558d5dd7f4184f01efc9"
	)
	;;
*) die "name torch or mujoco" ;;
esac
target=$cache/$name

# --- is it there? -----------------------------------------------------------------------------------------------------
files() { (cd "$1" && find . -type f ! -name .files -printf '%s %p\n' | LC_ALL=C sort); }
complete() { [ -f "$target/.files" ] && files "$target" | cmp -s - "$target/.files"; }

if complete; then
	echo "$target/$folder"
	exit
fi
[ ! -d "$target" ] || say "$target is damaged and is fetched again"

# --- can it be fetched? -----------------------------------------------------------------------------------------------
case $processor in
x86_64 | aarch64) ;;
*) die "PyPI has no $name for $processor; build libtorch and MuJoCo for it, and name libtorch's folder by LIBTORCH" ;;
esac
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
case $glibc in
glibc\ 2.1? | glibc\ 2.2[0-7] | glibc\ 2.? | "")
	die "PyPI's $name needs the GNU C library 2.28 or later; this system has ${glibc:-another C library}" ;;
esac
command -v "$python" >/dev/null ||
	die "there is no $python to fetch $name with: install python3 with pip (Debian: python3-pip), or set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null ||
	die "$("$python" --version 2>&1) is too old to fetch $name: set PYTHON to 3.6 or later"
pip=$("$python" -m pip --version 2>/dev/null | cut -d ' ' -f 2 || true)
[ -n "$pip" ] ||
	die "$python has no pip to fetch $name with: install python3-pip (Arch: python-pip), or run '$python -m ensurepip --user'"
[ "${pip%%.*}" -ge 20 ] ||
	die "pip $pip is too old to fetch $name: run '$python -m pip install --user --upgrade pip'"
if [ "${DRY_RUN:-}" = 1 ]; then
	say "fetching $name into $target ($megabytes MB of disk on the way)"
	echo "$target/$folder"
	exit
fi

mkdir -p "$cache" || die "$cache cannot be written: set XDG_CACHE_HOME to a folder that can be"
if command -v flock >/dev/null; then # two fetches would write the same files
	exec 9>"$cache/.lock"
	flock 9
	if complete; then
		echo "$target/$folder"
		exit
	fi
fi
part=$target.part
free() { df -Pm "$cache" | awk 'END {print $4}'; }
taken=$(du -sm "$part" 2>/dev/null | cut -f 1 || true)
[ "$(($(free) + ${taken:-0}))" -ge "$megabytes" ] ||
	die "$name needs $megabytes MB in $cache, where $(free) MB are free: make room, or set XDG_CACHE_HOME"

# --- fetch ------------------------------------------------------------------------------------------------------------
mkdir -p "$part/wheels" "$part/tmp" || die "$part could not be written: make room on its disk, and run this again"
for wheel in "${wheels[@]}"; do
	# shellcheck disable=SC2034 # ${!processor} reads one of the last two
	read -r -d '' requirement platform x86_64 aarch64 <<<"$wheel" || true
	say "fetching $requirement"
	echo "$requirement --hash=sha256:${!processor}" >"$part/requirement"
	log='' status=1 # not in a file, as the disk may be full
	while IFS= read -r line; do
		case $line in
		status=*) status=${line#*=} ;;
		*)
			printf '%s\n' "$line" >&2
			log+=$line$'\n'
			;;
		esac
	done < <(
		set +e
		TMPDIR=$part/tmp "$python" -m pip download --no-cache-dir --disable-pip-version-check --retries 2 --no-deps \
			--require-hashes --only-binary :all: --implementation cp --python-version 311 --abi cp311 \
			--platform "${platform}_$processor" -d "$part/wheels" -r "$part/requirement" </dev/null 2>&1
		echo "status=$?"
	)
	if [ "$status" != 0 ]; then
		# pip's last lines are its own; this line says what to do.
		case $log in
		*[Nn]'o space left'*)
			die "the disk of $cache is full: make room for $megabytes MB, or set XDG_CACHE_HOME, and run this again" ;;
		*'DO NOT MATCH THE HASHES'*)
			die "the package index serves another file under the name $requirement: use PyPI's (PIP_INDEX_URL)" ;;
		*NewConnectionError* | *ConnectTimeout* | *ReadTimeout* | *ProxyError* | *SSLError* | *ConnectionReset* | *'Max retries'* | *'timed out'*)
			die "the package index did not answer: check the network and pip's settings (PIP_INDEX_URL, PIP_PROXY), and run this again" ;;
		*'No matching distribution'*)
			die "the package index does not have $requirement for $processor: use PyPI's (PIP_INDEX_URL)" ;;
		esac
		die "pip could not fetch $requirement; its message stands above"
	fi
done

# --- unpack what is needed --------------------------------------------------------------------------------------------
{ rm -rf "$part/files" && mkdir "$part/files"; } || die "$part could not be written: make room on its disk, and run this again"
status=0
"$python" - "$part/files" "$part"/wheels/*.whl <<'UNPACK' || status=$?
import sys, zipfile
from fnmatch import fnmatchcase

wanted = ["torch/include/*", "torch/lib/*.so*", "torch.libs/*", "nvidia/*/lib/libcudart.so.*", "nvidia/*/lib/libcupti.so.*",
          "mujoco/include/*", "mujoco/libmujoco.so.*", "*.dist-info/*[Ll][Ii][Cc][Ee][Nn]*"]
# libtorch.so holds no code, and loads the libraries for the GPU.
unwanted = ["torch/lib/*cuda*", "torch/lib/*nvrtc*", "torch/lib/*nvshmem*", "torch/lib/*python*", "torch/lib/libshm*",
            "torch/lib/libtorch.so", "torch/lib/libtorch_global_deps.so"]

def matches(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)

try:
    for wheel in sys.argv[2:]:
        archive = zipfile.ZipFile(wheel)
        for name in archive.namelist():
            if matches(name, wanted) and not matches(name, unwanted):
                archive.extract(name, sys.argv[1])
except (OSError, zipfile.BadZipFile) as error:
    sys.exit("pypi: " + str(error))
UNPACK
[ "$status" != 0 ] || { files "$part/files" >"$part/list" && mv "$part/list" "$part/files/.files"; } || status=1
[ "$status" = 0 ] ||
	die "$name could not be unpacked into $part ($(free) MB are free): make room or remove that folder, and run this again"
rm -rf "$target"
mv "$part/files" "$target"
rm -rf "$part"
say "$target is complete, $(du -sm "$target" | cut -f 1) MB"
echo "$target/$folder"
