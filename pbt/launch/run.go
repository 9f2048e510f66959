// Package launch runs populations whose members are processes. [Run] starts them on this machine and restarts those
// that fail; [Slurm] and [Kubernetes] write the files with which a cluster does the same; [Main] and [Member] make a
// member program.
//
// The processes share a folder (see package workspace) and one YAML file, and nothing else. A launcher tells a member
// three things in its environment: [EnvConfig], [EnvMember] and [EnvSlice]. The member answers with its exit status:
// [StatusFinished], [StatusYielded], [StatusRestart] or [StatusStopped]; any other status means that it failed. A
// program in any language that keeps to this can be a member.
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
	// Out shows the table of members, redrawn in place where it is a terminal. Default: nothing is shown.
	Out io.Writer
	// Every is the time between tables where Out is no terminal. Default 30 s.
	Every time.Duration
	// Kill, once closed, ends members without waiting for them to save; see [Interrupts].
	Kill <-chan struct{}
}

// refresh is the time between two readings of the heartbeats, and so how late the table and the order of turns may be.
const refresh = time.Second

// Run runs a population's members on this machine until all are finished, and restarts those that fail. Every member
// is a process group of its own, or several where it has ranks, which end together; it writes to a file of its own, and
// ends with this process, however that ends.
//
// When the context ends, members are asked to save and killed after Config.Grace; the error then wraps ErrStopped
// and the context's cause, and the same call continues. Members that failed too often make an error that quotes their
// last lines, once the others are through. While Run runs, no second one can run in the same folder.
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

// runner drives a schedule with real processes. All its fields belong to the goroutine of loop; the processes' own
// goroutines only send to exits.
type runner struct {
	f         *File
	o         Options
	schedule  *schedule
	members   []runningMember
	exits     chan ended
	visible   []string         // the GPUs, as CUDA_VISIBLE_DEVICES calls them
	config    string           // the path of the canonical file, which members are told
	store     workspace.Store  // the population's folder, read only
	beats     []beat           // the last heartbeat of every member
	display   display          // for the user
	log       *output          // launcher.log, for later
	unlock    func() error     // lets another launcher into the folder
	graceOver <-chan time.Time // when members that were asked to save are killed
}

// runningMember is what belongs to one member beside its seat in the schedule.
type runningMember struct {
	ranks  ranks
	output *output
	local  int // its place among those that run, while it runs
	// before is when the heartbeat was written that was there when the process started.
	before time.Time
}

// ended tells that a member's process is gone.
type ended struct {
	member, rank int
	exit         process.Exit
}

// newRunner prepares a run: the folder with its lock and its canonical file, and the logs. Nothing is started yet, so
// that a mistake in the file is reported before any process runs.
func newRunner(f *File, o Options) (r *runner, err error) {
	d := f.Launcher
	if len(d.Command) == 0 {
		return nil, errors.New("launch: \"launcher.command\" is empty: give the member program and its arguments (gorl train --config trains a population in one process, without any)")
	}
	if _, err := exec.LookPath(d.Command[0]); err != nil {
		return nil, fmt.Errorf("launch: \"launcher.command\": %w", err)
	}
	r = &runner{f: f, o: o, schedule: newSchedule(d), exits: make(chan ended), unlock: func() error { return nil }}
	if r.visible, err = visibleGPUs(d.GPUs, os.Getenv("CUDA_VISIBLE_DEVICES")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.Dir(), 0o755); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	// The lock comes before Install, which replaces the file that another launcher's members read when they start.
	if r.unlock, err = lockFolder(f.Dir()); err != nil {
		return nil, err
	}
	opened := r
	defer func() {
		if err != nil { // the returned r is nil by now, so close what was opened under another name
			err = errors.Join(err, opened.close())
		}
	}()
	if r.config, err = f.Install(); err != nil {
		return nil, err
	}
	if r.log, err = openOutput(filepath.Join(f.logs(), "launcher.log"), d.LogSize, d.LogFiles); err != nil {
		return nil, err
	}
	r.members = make([]runningMember, d.NumPolicies)
	for i := range r.members {
		if r.members[i].output, err = openOutput(filepath.Join(f.logs(), fmt.Sprintf("%03d.log", i)), d.LogSize,
			d.LogFiles); err != nil {
			return nil, err
		}
	}
	r.beats = make([]beat, d.NumPolicies)
	// The folder is opened to read heartbeats only: the launcher holds no lease and cannot disturb a member.
	if r.store, err = workspace.OpenFolder(f.Dir(), d.NumPolicies, workspace.FolderOptions{ReadOnly: true}); err != nil {
		return nil, err
	}
	r.display = newDisplay(o.Out, o.Every, true)
	for _, note := range f.Notes {
		r.event("%s", note)
	}
	return r, nil
}

// visibleGPUs returns the names of the first n GPUs. visible is CUDA_VISIBLE_DEVICES: where it is set, only its
// devices may be used, and by its names, which may be UUIDs.
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
		return nil, fmt.Errorf("launch: \"launcher.gpus\" is %d, and CUDA_VISIBLE_DEVICES has %d: %s", n, len(names), visible)
	}
	return names[:n], nil
}

// loop waits for one thing after the other (an exit, a signal, the time) and does what the schedule then says, until
// no process runs and none is left to start. Each round first reads the heartbeats, since the schedule starts the
// least trained member first, and then shows the table with the processes just started.
func (r *runner) loop(ctx context.Context) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	done, kill := ctx.Done(), r.o.Kill
	for {
		now := time.Now()
		r.look()
		for _, s := range r.schedule.due(now) {
			r.start(s, r.place())
		}
		for i := range r.members {
			r.members[i].ranks.killLate(now)
		}
		r.display.show(r.rows())
		if r.schedule.over() {
			return
		}
		// A member that waits for its back-off is due between two ticks: wake up for it.
		var wake <-chan time.Time
		if at, ok := r.schedule.wake(now); ok {
			wake = time.After(at.Sub(now))
		}
		select {
		case e := <-r.exits:
			r.ended(e)
		case <-done:
			done = nil // a closed channel would be chosen again and again
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

// start starts a member's processes. Their environment is that of this process, then the file's env, then what the
// launcher tells the member; of a name given twice the last one counts, so a launcher within a launcher works too. A
// process that cannot be started counts as one that failed. place is its number among those that run here.
func (r *runner) start(s start, place int) {
	d, m := r.f.Launcher, &r.members[s.member]
	env := append(os.Environ(), d.Env.list()...)
	env = append(env, EnvConfig+"="+r.config, fmt.Sprintf("%s=%d", EnvMember, s.member),
		fmt.Sprintf("%s=%d", EnvSlice, d.slice()))
	where := ""
	m.local = place
	if len(s.gpus) > 0 {
		m.local = 0 // of those that it sees
		names := make([]string, len(s.gpus))
		for i, gpu := range s.gpus {
			names[i] = r.visible[gpu]
		}
		env = append(env, "CUDA_VISIBLE_DEVICES="+strings.Join(names, ","))
		where = " on " + numbered("GPU", names)
	}
	m.before = r.beats[s.member].seen
	var err error
	if m.ranks, err = r.startRanks(s.member, env); err != nil {
		how := fmt.Sprintf("launch: %v", err)
		if !m.ranks.running() {
			m.ranks.remove()
			r.told(s.member, -1, how)
			return
		}
		m.ranks.fail(process.Exit{Status: -1, How: how}, d.Grace)
	}
	r.event("member %d: started as %s%s", s.member, numbered("process", m.ranks.pids()), where)
}

// place is the lowest number that no running member has.
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

// ended takes note of a process that is gone, and starts the next one where the schedule says so.
func (r *runner) ended(e ended) {
	ranks := &r.members[e.member].ranks
	ranks.ended(e.rank, e.exit, r.f.Launcher.Grace)
	if ranks.running() {
		return
	}
	r.look() // the last heartbeat of the member decides which one runs next
	ranks.remove()
	exit := ranks.exit()
	r.told(e.member, exit.Status, exit.How)
}

// told tells the schedule how a process ended, and the user what follows. status is -1 where a signal ended the
// process or it could not be started; how then says which.
func (r *runner) told(member, status int, how string) {
	again, ok := r.schedule.exited(member, status, how, time.Now())
	seat := &r.schedule.seats[member]
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

// stop applies end, which terminates or kills, to all running members, and lets the schedule start no more. what is
// the event shown to the user. Members whose process has ended are unaffected.
func (r *runner) stop(what string, end func(*process.Process)) {
	r.event("%s", what)
	r.schedule.stop()
	for i := range r.members {
		r.members[i].ranks.each(end)
	}
}

// event shows a line that stays, and writes it to launcher.log.
func (r *runner) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintf(r.log, "%s %s\n", time.Now().Format(time.DateTime), line)
	r.display.event(line)
}

// result is nil where all members are finished. Otherwise its error names the members that gave up, with their last
// lines, and those that a signal stopped.
func (r *runner) result(cause error) error {
	var errs []error
	var halted []string
	for i, s := range r.schedule.seats {
		switch s.state {
		case gaveUp:
			text := fmt.Sprintf("launch: member %d gave up: %s", i, s.note)
			if last := r.members[i].output.tail.Lines(); len(last) > 0 {
				text += fmt.Sprintf("; the last lines of %s:\n\t%s", r.members[i].output.path, strings.Join(last, "\n\t"))
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

// close closes the logs and releases the folder's lock. It also works for a runner that newRunner could not complete.
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

// lockFolder makes sure that one launcher at a time works in dir: two would start every member twice, and each would
// restart those that the other's leases turn away.
func lockFolder(dir string) (unlock func() error, err error) {
	unlock, err = durable.Lock(dir, "launcher.lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return func() error { return nil }, fmt.Errorf("launch: another launcher runs the population in %s; end it or choose another pbt.workspace: %w", dir, err)
	case err != nil:
		return func() error { return nil }, fmt.Errorf("launch: %w", err)
	}
	return unlock, nil
}
