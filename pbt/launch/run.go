// Package launch runs populations whose members are processes. [Run] starts them on this machine and restarts those
// that fail. [Slurm] and [Kubernetes] write the files with which a cluster does the same. [Main] and [Member] make a
// member program.
//
// The processes share only a folder (see package workspace) and one YAML file. A launcher sets three variables in a
// member's environment: [EnvConfig], [EnvMember] and [EnvSlice]. The member answers with its exit status:
// [StatusFinished], [StatusYielded], [StatusRestart] or [StatusStopped]. Any other status means that it failed.
// Programs in any language can be members.
//
// Read config.go and file.go first (the settings), then turns.go (which member runs when), run.go and processes.go (the
// launcher on this machine), member.go and main.go (a member's side), slurm.go and kubernetes.go (clusters), and
// status.go (the table).
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Options change how [Run] behaves.
type Options struct {
	// Out receives the table of members, redrawn in place if Out is a terminal. The default, nil, shows nothing.
	Out io.Writer
	// Every is the time between tables if Out is not a terminal. The default is 30 s.
	Every time.Duration
	// Kill, once closed, kills the members without waiting for them to save; see [Interrupts].
	Kill <-chan struct{}
}

// refresh is the time between two readings of the heartbeats. The table is at most this old.
const refresh = time.Second

// Run runs a population's members on this machine until all are finished, and restarts those that fail. Every member is
// a process group, or one for each rank, and writes to a log of its own. All members end when this process ends, for
// whatever reason.
//
// When the context ends, Run asks the members to save and kills them after Config.Grace. The error then wraps
// ErrStopped and the context's cause, and the same call continues the population. If members failed too often, Run
// waits for the others and returns an error that quotes the last lines of the failed ones. A second Run in the same
// folder is an error.
func Run(ctx context.Context, f *File, o Options) (err error) {
	r, err := newRunner(f, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.loop(ctx)
	r.display.end(r.rows())
	return r.result(context.Cause(ctx))
}

// runner starts and ends the processes. Its fields belong to the goroutine of loop. Other goroutines only send to
// exits.
type runner struct {
	f         *File
	o         Options
	turns     *turns
	members   []runningMember
	exits     chan ended
	visible   []string          // the names of the GPUs in CUDA_VISIBLE_DEVICES
	config    string            // the path of the canonical file
	store     *workspace.Folder // the population's folder, read only
	display   display
	log       *output          // launcher.log
	unlock    func() error     // releases the folder
	graceOver <-chan time.Time // when to kill members that were asked to save
}

// runningMember is the part of a member's state that belongs to its processes.
type runningMember struct {
	ranks  ranks
	output *output
	local  int // its place among the running members
	// beat is the member's last heartbeat, seen when it was written, by the folder's clock, and before the same of the
	// last one before the process started.
	beat         *workspace.Heartbeat
	seen, before time.Time
}

// ended reports the end of a process.
type ended struct {
	member, rank int
	exit         process.Exit
}

// newRunner prepares a run: the folder with its lock and its canonical file, and the logs. It starts no process.
func newRunner(f *File, o Options) (_ *runner, err error) {
	d := f.Launcher
	if len(d.Command) == 0 {
		return nil, errors.New("launch: \"launcher.command\" is empty: give the member program and its arguments " +
			"(gorl train --config trains a population in one process, without any)")
	}
	if _, err := exec.LookPath(d.Command[0]); err != nil {
		return nil, fmt.Errorf("launch: \"launcher.command\": %w", err)
	}
	r := &runner{f: f, o: o, turns: newTurns(d), exits: make(chan ended)}
	if r.visible, err = visibleGPUs(d.GPUs, os.Getenv("CUDA_VISIBLE_DEVICES")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.Dir(), 0o755); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	// The lock comes before Install, which replaces a file that members of another launcher would read. Two launchers
	// would also start every member twice.
	if r.unlock, err = durable.Lock(f.Dir(), LockFile); errors.Is(err, durable.ErrInUse) {
		return nil, fmt.Errorf("launch: another launcher runs the population in %s; end it or choose another "+
			"pbt.workspace: %w", f.Dir(), err)
	} else if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.config, err = f.Install(); err != nil {
		return nil, err
	}
	if r.log, err = openOutput(filepath.Join(f.logs(), "launcher.log")); err != nil {
		return nil, err
	}
	r.members = make([]runningMember, d.NumPolicies)
	for i := range r.members {
		path := filepath.Join(f.logs(), fmt.Sprintf("%03d.log", i))
		if r.members[i].output, err = openOutput(path); err != nil {
			return nil, err
		}
	}
	// The launcher only reads heartbeats and holds no lease.
	if r.store, err = workspace.OpenFolder(f.Dir(), d.NumPolicies,
		workspace.FolderOptions{ReadOnly: true}); err != nil {
		return nil, err
	}
	r.display = newDisplay(o.Out, o.Every)
	for _, note := range f.Notes {
		r.event("%s", note)
	}
	return r, nil
}

// visibleGPUs returns the names of the first n GPUs. If visible, the value of CUDA_VISIBLE_DEVICES, is not empty, they
// are the first n names there, which may be UUIDs.
func visibleGPUs(n int, visible string) ([]string, error) {
	var names []string
	if visible == "" {
		for i := range n {
			names = append(names, strconv.Itoa(i))
		}
		return names, nil
	}
	names = strings.Split(visible, ",")
	if len(names) < n {
		return nil, fmt.Errorf("launch: \"launcher.gpus\" is %d, and CUDA_VISIBLE_DEVICES has %d: %s", n, len(names),
			visible)
	}
	return names[:n], nil
}

// loop handles exits, signals and the time until no process runs and none is left to start. Each round reads the
// heartbeats first, because the order of starts depends on them.
func (r *runner) loop(ctx context.Context) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	done, kill := ctx.Done(), r.o.Kill
	for {
		now := time.Now()
		r.look()
		for _, s := range r.turns.due(now) {
			r.start(s, r.place())
		}
		for i := range r.members {
			r.members[i].ranks.killLate(now)
		}
		r.display.show(r.rows())
		if r.turns.over() {
			return
		}
		// The end of a back-off may lie between two ticks.
		var wake <-chan time.Time
		if at, ok := r.turns.wake(now); ok {
			wake = time.After(at.Sub(now))
		}
		select {
		case e := <-r.exits:
			r.ended(e)
		case <-done:
			done = nil // a closed channel is always ready
			r.stop(fmt.Sprintf("stopping: members have %v to save", r.f.Launcher.Grace), (*process.Process).Terminate)
			r.graceOver = time.After(r.f.Launcher.Grace)
		case <-kill:
			kill = nil
			r.stop("killing all members", (*process.Process).Kill)
		// graceOver is nil, and never chosen, before members were asked to save.
		case <-r.graceOver:
			r.stop("killing members that have not ended", (*process.Process).Kill)
		case <-ticker.C:
		case <-wake:
		}
	}
}

// start starts a member's processes. Their environment is that of this process, then the file's env, then the
// launcher's variables. The last of equal names wins. A process that cannot be started counts as failed. place is the
// member's number among the running members.
func (r *runner) start(s start, place int) {
	d, m := r.f.Launcher, &r.members[s.member]
	env := append(os.Environ(), d.Env.list()...)
	env = append(env, EnvConfig+"="+r.config, fmt.Sprintf("%s=%d", EnvMember, s.member),
		fmt.Sprintf("%s=%d", EnvSlice, d.slice()))
	where := ""
	m.local = place
	if len(s.gpus) > 0 {
		m.local = 0 // the first of its visible devices
		names := r.gpus(s.gpus)
		env = append(env, "CUDA_VISIBLE_DEVICES="+names)
		where = " on GPU " + names
	}
	m.before = m.seen
	var err error
	if m.ranks, err = r.startRanks(s.member, env); err != nil {
		how := fmt.Sprintf("launch: %v", err)
		if !m.ranks.running() {
			m.ranks.remove()
			r.memberEnded(s.member, -1, how)
			return
		}
		m.ranks.fail(process.Exit{Status: -1, How: how}, d.Grace)
	}
	r.event("member %d: started as process %s%s", s.member, m.ranks.pids(), where)
}

// gpus returns the names of GPUs, with commas between.
func (r *runner) gpus(numbers []int) string {
	names := make([]string, len(numbers))
	for i, gpu := range numbers {
		names[i] = r.visible[gpu]
	}
	return strings.Join(names, ",")
}

// place returns the lowest number that no running member has.
func (r *runner) place() int {
	taken := map[int]bool{}
	for i := range r.members {
		if r.members[i].ranks.running() {
			taken[r.members[i].local] = true
		}
	}
	n := 0
	for taken[n] {
		n++
	}
	return n
}

// ended handles the end of a process.
func (r *runner) ended(e ended) {
	ranks := &r.members[e.member].ranks
	ranks.ended(e.rank, e.exit, r.f.Launcher.Grace)
	if ranks.running() {
		return
	}
	r.look() // the next start depends on the last heartbeat
	ranks.remove()
	exit := ranks.exit()
	r.memberEnded(e.member, exit.Status, exit.How)
}

// memberEnded handles the end of a member; see turns.exited.
func (r *runner) memberEnded(member, status int, how string) {
	again, ok := r.turns.exited(member, status, how, time.Now())
	seat := &r.turns.seats[member]
	switch {
	case ok:
		r.event("member %d: restarts for a setting that needs it", member)
		r.start(again, r.members[member].local) // its place is still free
	case seat.state == finished:
		r.event("member %d: finished", member)
	default:
		r.event("member %d: %s", member, seat.note)
	}
}

// stop calls end, which terminates or kills, for all running processes, and prevents further starts. what is the event
// that users see.
func (r *runner) stop(what string, end func(*process.Process)) {
	r.event("%s", what)
	r.turns.stop()
	for i := range r.members {
		r.members[i].ranks.each(end)
	}
}

// event shows a line and writes it to launcher.log.
func (r *runner) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintf(r.log, "%s %s\n", time.Now().Format(time.DateTime), line)
	r.display.event(line)
}

// result returns an error that names the members that gave up, with their last lines, and those that were stopped. It
// is nil if all members are finished.
func (r *runner) result(cause error) error {
	var errs []error
	var halted []string
	for i, s := range r.turns.seats {
		switch s.state {
		case gaveUp:
			text := fmt.Sprintf("launch: member %d gave up: %s", i, s.note)
			if last := r.members[i].output.tail.Lines(); len(last) > 0 {
				text += fmt.Sprintf("; the last lines of %s:\n\t%s", r.members[i].output.path,
					strings.Join(last, "\n\t"))
			}
			errs = append(errs, errors.New(text))
		case stopped:
			halted = append(halted, strconv.Itoa(i))
		}
	}
	if len(halted) > 0 {
		err := fmt.Errorf("launch: members %s: %w", strings.Join(halted, ", "), ErrStopped)
		if cause != nil {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// close closes the logs and releases the folder. It also works for a runner that newRunner could not complete.
func (r *runner) close() error {
	var errs []error
	for i := range r.members {
		if o := r.members[i].output; o != nil {
			errs = append(errs, o.close())
		}
	}
	if r.log != nil {
		errs = append(errs, r.log.close())
	}
	return errors.Join(append(errs, r.unlock())...)
}
