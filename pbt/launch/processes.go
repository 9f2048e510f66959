package launch

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/process"
)

// This file holds the processes of one member on this machine.

// ranks are the processes that train a member. If one fails, the launcher ends the others, which cannot continue alone.
type ranks struct {
	processes []*process.Process // by rank; nil if it has ended
	first     process.Exit       // of rank 0
	failed    *process.Exit      // of the first rank that failed
	remove    func()             // deletes the folder of the socket where the ranks meet
	late      time.Time          // when to kill the ranks that still run; zero while all run
}

// startRanks starts the processes of a member. After an error some of them may run.
func (r *runner) startRanks(member int, env []string) (ranks, error) {
	d, output := r.f.Launcher, r.members[member].output
	n := d.RanksPerMember
	started := ranks{remove: func() {}}
	var meet []string // the variables of the place where the ranks meet
	if n > 1 {
		env = slices.DeleteFunc(env, fromOuterLauncher)
		var err error
		if meet, started.remove, err = meetingPlace(); err != nil {
			return started, err
		}
	}
	for rank := range n {
		own := append(slices.Clone(env), fmt.Sprintf("%s=%d", EnvLocal, r.members[member].local*n+rank))
		if n > 1 {
			own = append(append(own, rankEnv(d, member, rank, r.turns.starts)...), meet...)
		}
		p, err := process.Start(process.Options{Argv: d.Command, Env: own, Stdout: output, Stderr: output,
			Grace: d.Grace})
		if err != nil {
			return started, err
		}
		started.processes = append(started.processes, p)
		go func() { r.exits <- ended{member, rank, <-p.Done()} }()
	}
	return started, nil
}

// fromOuterLauncher reports whether a variable says the place of this process among ranks, instead of a member's.
func fromOuterLauncher(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasPrefix(name, "TORCHELASTIC_") || strings.HasPrefix(name, "PET_") || name == "GORL_DISTRIBUTED"
}

// rankEnv returns the variables, named as in torch, that say the place of a rank. attempt distinguishes starts. It
// repeats distributed.Place.Environ, because launchers do not link libtorch.
func rankEnv(d Config, member, rank, attempt int) []string {
	return []string{
		fmt.Sprintf("%s=%d", EnvRanks, d.RanksPerMember), fmt.Sprintf("RANK=%d", rank),
		fmt.Sprintf("WORLD_SIZE=%d", d.RanksPerMember), fmt.Sprintf("LOCAL_RANK=%d", rank),
		fmt.Sprintf("LOCAL_WORLD_SIZE=%d", d.RanksPerMember), fmt.Sprintf("GORL_RUN_ID=%s.%d", d.Name, member),
		fmt.Sprintf("GORL_ATTEMPT=%d", attempt),
	}
}

// meetingPlace returns the variables that say where the ranks of a member meet. GORL_SOCKET is a Unix socket in a
// folder that remove deletes. MASTER_ADDR and MASTER_PORT are a free TCP port, for programs without gorl.
func meetingPlace() (variables []string, remove func(), err error) {
	socket, remove, err := process.SocketAddress()
	if err != nil {
		return nil, func() {}, err
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, remove, fmt.Errorf("an address where the ranks meet: %w", err)
	}
	at := l.Addr().(*net.TCPAddr)
	variables = []string{"GORL_SOCKET=" + socket, "MASTER_ADDR=" + at.IP.String(), fmt.Sprintf("MASTER_PORT=%d",
		at.Port)}
	return variables, remove, l.Close()
}

// running reports whether any process runs.
func (r *ranks) running() bool {
	return slices.ContainsFunc(r.processes, func(p *process.Process) bool { return p != nil })
}

// each calls f for every running process.
func (r *ranks) each(f func(*process.Process)) {
	for _, p := range r.processes {
		if p != nil {
			f(p)
		}
	}
}

// pids returns the ids of the running processes, with commas between.
func (r *ranks) pids() string {
	var pids []string
	r.each(func(p *process.Process) { pids = append(pids, strconv.Itoa(p.PID())) })
	return strings.Join(pids, ", ")
}

// ended records how a rank ended. The others have to end within grace.
func (r *ranks) ended(rank int, exit process.Exit, grace time.Duration) {
	r.processes[rank] = nil
	if rank == 0 {
		r.first = exit
	}
	switch exit.Status {
	case StatusFinished, StatusYielded, StatusRestart, StatusStopped:
		if r.late.IsZero() {
			r.late = time.Now().Add(grace)
		}
	default:
		if len(r.processes) > 1 {
			exit.How = fmt.Sprintf("rank %d: %v", rank, exit)
		}
		r.fail(exit, grace)
	}
}

// fail records the first failure and terminates the other ranks.
func (r *ranks) fail(exit process.Exit, grace time.Duration) {
	if r.failed == nil {
		r.failed = &exit
		r.late = time.Now().Add(grace)
		r.each((*process.Process).Terminate)
	}
}

// killLate kills ranks that did not end in time.
func (r *ranks) killLate(now time.Time) {
	if !r.late.IsZero() && !now.Before(r.late) {
		r.each((*process.Process).Kill)
	}
}

// exit returns the exit of the first rank that failed, otherwise that of rank 0.
func (r *ranks) exit() process.Exit {
	if r.failed != nil {
		return *r.failed
	}
	return r.first
}
