#!/usr/bin/env bash
# Tries gorl on a machine that has Isaac Lab 2.3, which needs an NVIDIA GPU, and writes what came of
# it as Markdown. For each task: how many environment steps a second it makes from Python alone and
# behind gorl's bridge, and a short training with the task's own configuration file, as it is.
#
#   scripts/isaaclab-check.sh [REPORT]      default: isaaclab-check.md
#
#   ISAACLAB_PYTHON    the Python that has Isaac Lab (default: python)
#   NUM_ENVS, DEVICE   environments (4096) and the device of simulation and learning (cuda:0)
#   ITERATIONS         rollouts that are trained (10)
#   LENGTH             how long each side steps in each of three rounds (20s)
#   TASKS              lines of a task and its configuration file within isaaclab_tasks
#
# It goes on when a part fails: the report says which, with its last lines. The status is 1 then.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
report=${1:-isaaclab-check.md}
python=$(command -v "${ISAACLAB_PYTHON:-python}") || { echo "isaaclab-check: there is no ${ISAACLAB_PYTHON:-python}; ISAACLAB_PYTHON names another" >&2; exit 2; }
num_envs=${NUM_ENVS:-4096} device=${DEVICE:-cuda:0} iterations=${ITERATIONS:-10}
tasks=${TASKS:-"Isaac-Ant-Direct-v0 direct/ant/agents/skrl_ppo_cfg.yaml
Isaac-Humanoid-AMP-Walk-Direct-v0 direct/humanoid_amp/agents/skrl_walk_amp_cfg.yaml
Isaac-Velocity-Flat-Anymal-C-v0 manager_based/locomotion/velocity/config/anymal_c/agents/rl_games_flat_ppo_cfg.yaml"}
folder=$("$python" -c 'import importlib.util; print(importlib.util.find_spec("isaaclab_tasks").submodule_search_locations[0])') ||
	{ echo "isaaclab-check: $python cannot find isaaclab_tasks; ISAACLAB_PYTHON names the Python that has Isaac Lab" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

write() { printf '%s\n' "$@" >>"$report"; }
# Runs a command, shows its output while it runs, and puts it into the report.
part() {
	local title=$1 began=$SECONDS rc=0
	shift
	echo "isaaclab-check: $title: $*"
	"$@" >"$work/log" 2>&1 </dev/null || rc=$?
	tail -n 40 "$work/log"
	[ "$rc" = 0 ] || status=1
	write "### $title" "" && write "Status $rc after $((SECONDS - began)) s." "" '```'
	{ echo "$ $*"; tail -n 40 "$work/log" | tr '\r' '\n'; } >>"$report"
	write '```' ""
}

printf '# gorl beside Isaac Lab\n\n' >"$report"
write "$(date -u +%F): revision $(git rev-parse --short HEAD), $num_envs environments on $device, $iterations rollouts a training." ""
part "The machine" sh -c "uname -sr; nproc; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1; \"$python\" -m pip list 2>/dev/null | grep -iE '^(isaac|torch|skrl|rl.games|gymnasium|numpy)' || true"
part "The build" go build -o "$work" ./cmd/gorl ./benchmarks/simulators
while read -r task config; do
	[ -n "$task" ] || continue
	write "## $task" ""
	file=$folder/$config
	part "Environment steps a second" "$work/simulators" -python "$python" -speed "isaaclab:$task" -envs "$num_envs" -device "$device" -rounds 3 -time "${LENGTH:-20s}"
	# The file says how many timesteps a rollout has.
	rollout=$(grep -oE '^ *(rollouts|horizon_length): *[0-9]+' "$file" | grep -oE '[0-9]+$')
	part "Training" "$work/gorl" train --config "$file" --env "isaaclab:$task" --device "$device" --out "$work/runs" --name "$task" \
		--timesteps $((iterations * ${rollout:-16})) --set "environment.python=$python" --set "environment.num_envs=$num_envs" \
		--set "environment.kwargs.device=$device" --set environment.start_timeout=10m
	part "Evaluation" "$work/gorl" eval "$work/runs/$task" --checkpoint latest --episodes 8
	cp "$work/runs/$task/scalars.jsonl" "${report%.md}-$task.jsonl" 2>/dev/null || true
done <<<"$tasks"
echo "isaaclab-check: the report is in $report"
exit "$status"
