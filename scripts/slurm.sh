#!/usr/bin/env bash
# Tests populations and ranks under a real Slurm: installs Debian's packages where
# they are missing, starts a cluster of one node on the loopback device, as root, in a
# temporary folder and without touching a Slurm that may run here already, runs the
# command given as arguments (by default the Go tests with build tag slurm), and always
# takes the cluster down again. Needs no systemd and no control groups.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin

# shellcheck source=scripts/common.sh
. scripts/common.sh

if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || die "a cluster needs root, and there is no sudo"
	exec sudo --preserve-env=PATH,HOME,GOPATH,GOCACHE,GOMODCACHE,GOFLAGS "$PWD/scripts/slurm.sh" "$@"
fi
[ $# -gt 0 ] || set -- go test -tags slurm -run '^TestSlurm' -count=1 -v -timeout 10m -p 1 ./cmd/gorl-pbt ./cli

# --- 1. packages -------------------------------------------------------------------
missing=()
for pair in slurmctld:slurmctld slurmd:slurmd sbatch:slurm-client munged:munge; do
	command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
	say "installing ${missing[*]}"
	install_packages "${missing[@]}"
fi

# --- 2. the cluster ----------------------------------------------------------------
cluster=$(mktemp -d /tmp/gorl-slurm-XXXXXX)
chmod 755 "$cluster"
export SLURM_CONF=$cluster/slurm.conf
daemons=()

finish() {
	status=$?
	trap - EXIT INT TERM
	set +e
	if [ $status != 0 ] && [ ${#daemons[@]} -gt 0 ]; then
		say "failed with status $status; the cluster says:"
		timeout 10 squeue -a
		for log in slurmctld slurmd munged; do
			printf '%s\n' "--- the end of $log.log"
			tail -n 60 "$cluster/$log.log"
		done
	fi >&2
	if [ ${#daemons[@]} -gt 0 ]; then
		timeout 10 scancel --user=root
		for _ in $(seq 100); do
			[ -n "$(timeout 10 squeue -h -t running,completing 2>/dev/null)" ] || break
			sleep 0.1
		done
		kill "${daemons[@]}" 2>/dev/null
		wait "${daemons[@]}" 2>/dev/null
	fi
	# What a daemon left behind carries the cluster's name in its environment.
	for process in /proc/[0-9]*; do
		pid=${process#/proc/}
		if [ "$pid" != $$ ] && tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF"; then
			kill -9 "$pid" 2>/dev/null
		fi
	done
	rm -rf "$cluster"
	exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# A port on which nobody listens, from $1 on.
free_port() {
	local port
	for port in $(seq "$1" $(($1 + 500))); do
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	die "no free port from $1 on"
}

host=$(hostname -s)
control=$(free_port $((20000 + RANDOM % 5000)))
node=$(free_port $((control + 1)))
mkdir "$cluster/state" "$cluster/spool" "$cluster/munge"
chmod 755 "$cluster/munge"
(umask 077 && head -c 256 /dev/urandom >"$cluster/munge.key")

cat >"$SLURM_CONF" <<-END
	ClusterName=gorl
	SlurmctldHost=$host(127.0.0.1)
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	# A requeued job waits until its credential has expired.
	AuthInfo=socket=$cluster/munge/munge.sock,cred_expire=5
	CredType=cred/munge
	SlurmctldPort=$control
	SlurmdPort=$node
	StateSaveLocation=$cluster/state
	SlurmdSpoolDir=$cluster/spool
	SlurmctldPidFile=$cluster/slurmctld.pid
	SlurmdPidFile=$cluster/slurmd.pid
	SlurmctldLogFile=$cluster/slurmctld.log
	SlurmdLogFile=$cluster/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SchedulerType=sched/builtin
	SchedulerParameters=sched_interval=1
	# Four members at a time, however many processors there are.
	SlurmdParameters=config_overrides
	MpiDefault=none
	SwitchType=switch/none
	MailProg=/bin/true
	ReturnToService=2
	KillWait=30
	MinJobAge=3600
	NodeName=node NodeHostname=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=512 State=UNKNOWN
	PartitionName=main Nodes=node Default=YES MaxTime=INFINITE State=UP
END
# Without this slurmd looks for control groups of version 2, which a container may lack.
echo "CgroupPlugin=cgroup/v1" >"$cluster/cgroup.conf"

munged --foreground --key-file="$cluster/munge.key" --socket="$cluster/munge/munge.sock" --pid-file="$cluster/munged.pid" \
	--seed-file="$cluster/munge.seed" --log-file="$cluster/munged.log" --num-threads=2 >>"$cluster/munged.log" 2>&1 &
daemons+=($!)
slurmctld -D -i -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons+=($!)
slurmd -D -N node -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons+=($!)

say "starting a cluster in $cluster"
for _ in $(seq 300); do
	state=$(timeout 10 sinfo -h -o %T 2>/dev/null || true)
	[ "$state" != idle ] || break
	for daemon in "${daemons[@]}"; do # of several at once, kill is content with one
		kill -0 "$daemon" 2>/dev/null || die "a daemon has ended"
	done
	sleep 0.2
done
[ "${state:-}" = idle ] || die "the node did not become idle: ${state:-no answer}"
say "ready after $SECONDS s: $*"

# --- 3. the tests ------------------------------------------------------------------
"$@"
say "all is well after $SECONDS s"
