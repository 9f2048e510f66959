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

// ranks are the processes of one member: one, or several that train it together. They end together: where one fails,
// the others are asked to end, since they could not go on without it.
type ranks struct {
	processes []*process.Process // by rank; nil where it has ended
	first     process.Exit       // rank 0's
	failed    *process.Exit      // of the first that failed
	remove    func()             // deletes the folder with the socket at which they meet
	late      time.Time          // when those that still run are killed; zero while all run
}

// startRanks starts the processes of a member in an environment. On an error some of them may run.
func (r *runner) startRanks(member int, env []string) (ranks, error) {
	d, output := r.f.Launcher, r.members[member].output
	n := d.RanksPerMember
	started := ranks{remove: func() {}}
	var meet []string // the variables that say where several ranks meet
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
			own = append(append(own, rankEnv(d, member, rank, r.schedule.starts)...), meet...)
		}
		p, err := process.Start(process.Options{Argv: d.Command, Env: own, Stdout: output, Stderr: output, Grace: d.Grace})
		if err != nil {
			return started, err
		}
		started.processes = append(started.processes, p)
		go func() { r.exits <- ended{member, rank, <-p.Done()} }()
	}
	return started, nil
}

// fromOuterLauncher reports whether a variable tells this process, and not a member of it, its place among ranks.
func fromOuterLauncher(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasPrefix(name, "TORCHELASTIC_") || strings.HasPrefix(name, "PET_") || name == "GORL_DISTRIBUTED"
}

// rankEnv tells one rank of a member its place, in the variables of torch's programs. attempt tells the members' starts
// apart. It is what distributed.Place.Environ does, for launchers that do without libtorch.
func rankEnv(d Config, member, rank, attempt int) []string {
	return []string{
		fmt.Sprintf("%s=%d", EnvRanks, d.RanksPerMember), fmt.Sprintf("RANK=%d", rank),
		fmt.Sprintf("WORLD_SIZE=%d", d.RanksPerMember), fmt.Sprintf("LOCAL_RANK=%d", rank),
		fmt.Sprintf("LOCAL_WORLD_SIZE=%d", d.RanksPerMember), fmt.Sprintf("GORL_RUN_ID=%s.%d", d.Name, member),
		fmt.Sprintf("GORL_ATTEMPT=%d", attempt),
	}
}

// meetingPlace returns the variables that say where the ranks of a member meet. GORL_SOCKET is a unix socket in a
// folder that remove deletes. MASTER_ADDR and MASTER_PORT, for other programs, are a free TCP port of this machine.
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
	variables = []string{"GORL_SOCKET=" + socket, "MASTER_ADDR=" + at.IP.String(), fmt.Sprintf("MASTER_PORT=%d", at.Port)}
	return variables, remove, l.Close()
}

// running reports whether any process runs.
func (r *ranks) running() bool {
	return slices.ContainsFunc(r.processes, func(p *process.Process) bool { return p != nil })
}

// each calls f with the processes that run.
func (r *ranks) each(f func(*process.Process)) {
	for _, p := range r.processes {
		if p != nil {
			f(p)
		}
	}
}

// pids are the numbers of the processes that run.
func (r *ranks) pids() []string {
	var pids []string
	r.each(func(p *process.Process) { pids = append(pids, strconv.Itoa(p.PID())) })
	return pids
}

// ended notes how a rank has ended. The others are to end within grace.
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

// fail notes the first failure and asks the other ranks to end.
func (r *ranks) fail(exit process.Exit, grace time.Duration) {
	if r.failed == nil {
		r.failed = &exit
		r.late = time.Now().Add(grace)
		r.each((*process.Process).Terminate)
	}
}

// killLate kills ranks that have not ended with the others.
func (r *ranks) killLate(now time.Time) {
	if !r.late.IsZero() && !now.Before(r.late) {
		r.each((*process.Process).Kill)
	}
}

// exit is how the member ended: as the first rank that failed, or else as rank 0.
func (r *ranks) exit() process.Exit {
	if r.failed != nil {
		return *r.failed
	}
	return r.first
}

// numbered is "process 7", or "processes 7, 8" of several.
func numbered(what string, names []string) string {
	if len(names) > 1 {
		what = map[string]string{"process": "processes", "GPU": "GPUs"}[what]
	}
	return what + " " + strings.Join(names, ", ")
}
