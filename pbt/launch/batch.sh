
child= stopping= early=
forward() { [ "$stopping" = TERM ] || stopping=$1; if [ -n "$child" ]; then kill -"$1" "$child" 2>/dev/null; else early=$1; fi; }
trap 'forward TERM' INT TERM
trap 'forward USR1' USR1

# Waits for $child; a signal interrupts wait, which is then asked again.
await() {
	local code
	[ -z "$early" ] || kill -"$early" "$child" 2>/dev/null # a signal that came before its number was known
	early=
	while :; do
		wait "$child"; code=$?
		kill -0 "$child" 2>/dev/null || break
	done
	wait "$child" 2>/dev/null; status=$?
	[ "$status" != 127 ] || status=$code # it had been told already
	child=
}

# Puts the job back into its queue.
requeue() { scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"; }

# Ends the job after a signal. A member that was to save and go back into the queue, and was not there to do so, is put there.
stopped() {
	[ "$stopping" != USR1 ] || [ "$status" = @STOPPED@ ] || requeue
	exit @STOPPED@
}

failures=0 pause=@BACKOFF@
while :; do
	@COMMAND@ & child=$!
	await
	[ "$status" != 0 ] || exit 0
	[ -z "$stopping" ] || stopped
	case $status in
	@YIELDED@) # makes room for another member
		requeue
		exit @YIELDED@ ;;
	@RESTART@) continue ;; # a setting that takes effect in a new process
	@STOPPED@) exit @STOPPED@ ;;
	esac
	failures=$((failures + 1))
	if [ "$failures" -gt @MAX@ ]; then
		echo "gorl-pbt: member $GORL_PBT_POLICY_IDX gave up after $failures failures, the last with status $status" >&2
		exit "$status"
	fi
	echo "gorl-pbt: member $GORL_PBT_POLICY_IDX failed with status $status; restart $failures of @MAX@ in $pause s" >&2
	sleep "$pause" & child=$!
	await
	[ -z "$stopping" ] || stopped
	pause=$((pause * 2 < @MAXBACKOFF@ ? pause * 2 : @MAXBACKOFF@))
done
