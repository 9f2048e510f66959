package launch

// This file is the member's side of the contract with a launcher: the environment that a member is started with, the
// exit statuses by which it answers, and the signals that ask it to save. The launchers' sides are turns.go on
// this machine, the shell script in slurm.go, and the Job's failure policy in kubernetes.go.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gorl-dev/gorl/pbt"
)

// The environment of a member process.
const (
	// EnvConfig is the path of the population's canonical YAML file.
	EnvConfig = "GORL_PBT_CONFIG"
	// EnvMember is the member to train, from 0. Its name has the word of Isaac Lab's key policy_idx.
	EnvMember = "GORL_PBT_POLICY_IDX"
	// EnvSlice is the number of intervals to train before yielding; 0 or absent: until the end.
	EnvSlice = "GORL_PBT_SLICE"
	// EnvRanks is the number of processes that train the member together; absent: one. A process
	// finds out which of them it is by the variables of torch's programs, RANK, WORLD_SIZE, LOCAL_RANK,
	// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, by GORL_SOCKET, or by those of Slurm's srun.
	EnvRanks = "GORL_PBT_RANKS"
)

// rankVariables are those by which a launcher tells the ranks of a member their places.
var rankVariables = []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
	"GORL_SOCKET"}

// envService is the name of the Service and the Job of a population's pods, if members have several ranks.
const envService = "GORL_PBT_SERVICE"

// envCompletionIndex is the member in a pod of an Indexed Job, where Kubernetes sets it.
const envCompletionIndex = "JOB_COMPLETION_INDEX"

// The exit statuses of a member process. Any other means that it failed. They avoid those that shells, Go and signals
// use.
const (
	// StatusFinished says that the member is trained to its end.
	StatusFinished = 0
	// StatusYielded says that the member has made room for another and is to be started again when there is room.
	StatusYielded = 75
	// StatusRestart says that the member is to be started again at once, since a setting takes effect in a new process
	// only; it finds the setting in its state.
	StatusRestart = 76
	// StatusStopped says that a signal stopped the member, which has saved and can be continued.
	StatusStopped = 78
)

// statusUsage is the exit status of a program that was called wrongly, as the flag package has it. A launcher treats
// it like any other failure.
const statusUsage = 2

// Process is what a launcher tells a member process.
type Process struct {
	// Config is the path of the population's YAML file.
	Config string
	// Member is the member to train, from 0.
	Member int
	// Slice is the number of intervals after which the process yields; 0 never.
	Slice int64
	// Ranks is the number of processes that train the member together; 0 means 1. Package pbt/multirank trains them.
	Ranks int
}

// FromEnvironment reads the environment that a member is started with. ok is false if this process was not started
// as a member: neither EnvMember nor Kubernetes' JOB_COMPLETION_INDEX beside EnvConfig is there.
func FromEnvironment() (p Process, ok bool, err error) { return fromEnvironment(os.Getenv) }

// fromEnvironment is FromEnvironment with the environment as a function, so that tests need not change their own.
func fromEnvironment(getenv func(string) string) (p Process, ok bool, err error) {
	p.Config = getenv(EnvConfig)
	// EnvMember wins over Kubernetes' variable, so that a launcher that runs within a pod of an Indexed Job starts
	// its own members.
	name, member := EnvMember, getenv(EnvMember)
	if member == "" {
		if member = getenv(envCompletionIndex); member == "" || p.Config == "" {
			return Process{}, false, nil
		}
		name = envCompletionIndex
	}
	if p.Config == "" {
		return Process{}, true, fmt.Errorf("launch: %s is set and %s is not; give the path of the population's "+
			"YAML file", EnvMember, EnvConfig)
	}
	number := func(name string, least, most int64, want string) int64 {
		text := cmp.Or(getenv(name), fmt.Sprint(least))
		n, fault := strconv.ParseInt(text, 10, 64)
		if err == nil && (fault != nil || n < least || n > most) {
			err = fmt.Errorf("launch: %s is %q; give %s", name, text, want)
		}
		return n
	}
	p.Member = int(number(name, 0, maxMembers-1, fmt.Sprintf("the member's number, 0 to %d", maxMembers-1)))
	ranks := int(number(EnvRanks, 1, maxMembers, "the number of the member's processes, 1 or more"))
	p.Slice = number(EnvSlice, 0, math.MaxInt64, "a number of intervals, 0 for no end")
	if err != nil {
		return Process{}, true, err
	}
	if getenv(EnvRanks) != "" {
		p.Ranks = ranks
	}
	if name == envCompletionIndex { // the Job's pods are the ranks
		p.Member /= ranks
	}
	return p, true, nil
}

// podRanks tells the pods of an Indexed Job which ranks of their member they are: a member has RanksPerMember pods in a
// row, of which the first has rank 0 and is known to the others by its name in the Service.
func podRanks(getenv func(string) string) Vars {
	ranks, err := strconv.Atoi(getenv(EnvRanks))
	index, err2 := strconv.Atoi(getenv(envCompletionIndex))
	service := getenv(envService)
	if errors.Join(err, err2) != nil || ranks < 2 || service == "" || getenv(EnvMember) != "" {
		return nil
	}
	return Vars{"RANK": strconv.Itoa(index % ranks), "WORLD_SIZE": strconv.Itoa(ranks),
		"MASTER_ADDR": fmt.Sprintf("%s-%d.%s", service, index-index%ranks, service)}
}

// ErrStopped is wrapped by the error of Run when its context ended: the population can be continued by the same call.
// A member's function may return it, too, see [Member].
var ErrStopped = errors.New("stopped; run the same again to continue")

// Member runs a member process: it reads the environment that a launcher sets, runs train, and returns the exit status
// that tells the launcher what to do next.
//
// SIGINT and SIGTERM end the context, and so does SIGUSR1, which under Slurm also puts the job back into its queue once
// train has returned; context.Cause is then a *SignalError. train is to save and return the context's error, or an
// error that wraps pbt.ErrYield or pbt.ErrRestart; nil says that the member is trained to its end. An error that wraps
// ErrStopped says that the member was stopped without a signal to this process, for instance by one to another of its
// ranks. Other errors are written to the standard error. In a pod of Kubernetes, which would wait before it starts
// another, a restart is done on the spot.
func Member(train func(ctx context.Context, p Process) error) (status int) {
	p, ok, err := FromEnvironment()
	if err == nil && !ok {
		err = fmt.Errorf("launch: %s is not set: a member is started by a launcher", EnvMember)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusUsage
	}
	for name, value := range podRanks(os.Getenv) {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return statusUsage
		}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, requeueSignals...)...)
	status = member(signals, os.Stderr, os.Getenv, func(ctx context.Context) error { return train(ctx, p) })
	if status == StatusRestart && os.Getenv(envCompletionIndex) != "" {
		fmt.Fprintln(os.Stderr, replaceProcess()) // returns only what went wrong
	}
	return status
}

// member runs train under signals and returns the exit status. After a signal it waits for train to return, however
// long saving takes: ending a process that takes too long is up to the launcher or Slurm.
func member(signals <-chan os.Signal, stderr io.Writer, getenv func(string) string,
	train func(context.Context) error) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- train(ctx) }()
	requeue := false
	for {
		select {
		case s := <-signals:
			// Cancelling again is harmless: the first cause stays. requeue is kept even if SIGTERM came first, since
			// the member saves either way.
			requeue = requeue || slices.Contains(requeueSignals, s)
			cancel(&SignalError{s})
		case err := <-done:
			status := statusOf(ctx, err)
			if err != nil {
				fmt.Fprintf(stderr, "%v\n", err)
			}
			// Only after train has returned is the state saved. Slurm ends this job when it puts it back into the
			// queue, so asking earlier would cut the saving off.
			// The ranks of a member are one job, which rank 0 puts back.
			rank := getenv("SLURM_PROCID")
			if status == StatusStopped && requeue && getenv("SLURM_JOB_ID") != "" && (rank == "" || rank == "0") {
				if err := requeueJob(getenv); err != nil {
					fmt.Fprintln(stderr, err)
				}
			}
			return status
		}
	}
}

// statusOf is the exit status for train's error. The error of a context that a signal ended is not a failure, as the
// member has saved. Yielding and restarting come first, since train may return them after a signal too.
func statusOf(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return StatusFinished
	case errors.Is(err, pbt.ErrYield):
		return StatusYielded
	case errors.Is(err, pbt.ErrRestart):
		return StatusRestart
	case errors.Is(err, pbt.ErrBroken):
		return 1
	case errors.Is(err, ErrStopped):
		return StatusStopped
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return StatusStopped
	}
	return 1
}

// requeueJob asks Slurm to run this job again later. Slurm then ends the job and starts it again under the same number.
func requeueJob(getenv func(string) string) error {
	id := getenv("SLURM_JOB_ID")
	// Within an array the task is requeued by its place in the array, as Slurm shows it to users.
	if array, task := getenv("SLURM_ARRAY_JOB_ID"), getenv("SLURM_ARRAY_TASK_ID"); array != "" && task != "" {
		id = array + "_" + task
	}
	if out, err := exec.Command("scontrol", "requeue", id).CombinedOutput(); err != nil {
		return fmt.Errorf("launch: scontrol requeue %s: %w: %s", id, err, strings.TrimSpace(string(out)))
	}
	return nil
}
