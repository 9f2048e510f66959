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

// refresh is the time between looks at the heartbeats.
const refresh = time.Second

// Run runs a population's members on this machine until all are finished, and restarts those that fail. Every member
// is a process group of its own, writes to a file of its own, and ends with this process, however that ends.
//
// When the context ends, members are asked to save and killed after Description.Grace; the error then wraps ErrStopped
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

// runner drives a schedule with real processes.
type runner struct {
	f         *File
	o         Options
	schedule  *schedule
	members   []runningMember
	exits     chan ended
	visible   []string // the GPUs, as CUDA_VISIBLE_DEVICES calls them
	config    string
	board     workspace.Store
	beats     []beat // of all policies
	display   display
	log       *output
	unlock    func() error
	graceOver <-chan time.Time
}

// runningMember is what belongs to one policy beside its seat in the schedule.
type runningMember struct {
	process *process
	output  *output
	// before is when the heartbeat was written that was there when the process started.
	before time.Time
}

type ended struct {
	policy int
	exit   exit
}

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
	if r.unlock, err = lockFolder(f.Dir()); err != nil { // whose members read the file that Install replaces
		return nil, err
	}
	opened := r
	defer func() {
		if err != nil { // and r is nil
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
		if r.members[i].output, err = openOutput(filepath.Join(f.logs(), fmt.Sprintf("%03d.log", i)), d.LogSize, d.LogFiles); err != nil {
			return nil, err
		}
	}
	r.beats = make([]beat, d.NumPolicies)
	if r.board, err = workspace.OpenFolder(f.Dir(), d.NumPolicies, workspace.FolderOptions{ReadOnly: true}); err != nil {
		return nil, err
	}
	r.display = newDisplay(o.Out, o.Every, true)
	for _, note := range f.Notes {
		r.event("%s", note)
	}
	return r, nil
}

// visibleGPUs are the names of the first n GPUs.
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

func (r *runner) loop(ctx context.Context) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	done, kill := ctx.Done(), r.o.Kill
	for {
		now := time.Now()
		r.look()
		for _, s := range r.schedule.due(now) {
			r.start(s)
		}
		r.display.show(r.rows())
		if r.schedule.over() {
			return
		}
		var wake <-chan time.Time
		if at, ok := r.schedule.wake(now); ok {
			wake = time.After(at.Sub(now))
		}
		select {
		case e := <-r.exits:
			r.ended(e)
		case <-done:
			done = nil
			r.stop(fmt.Sprintf("stopping: members have %v to save", r.f.Launcher.Grace), (*process).terminate)
			r.graceOver = time.After(r.f.Launcher.Grace)
		case <-kill:
			kill = nil
			r.stop("killing all members", (*process).kill)
		case <-r.graceOver:
			r.stop("killing members that have not ended", (*process).kill)
		case <-ticker.C:
		case <-wake:
		}
	}
}

// look reads the heartbeats.
func (r *runner) look() {
	heartbeats(r.board, r.beats)
	for i, b := range r.beats {
		if b.beat != nil {
			r.schedule.beat(i, progress{b.beat.Steps, b.beat.Iteration})
		}
	}
}

// start starts a member's process.
func (r *runner) start(s start) {
	d, m := r.f.Launcher, &r.members[s.policy]
	env := append(os.Environ(), d.Env.list()...)
	env = append(env, EnvConfig+"="+r.config, fmt.Sprintf("%s=%d", EnvPolicy, s.policy), fmt.Sprintf("%s=%d", EnvSlice, d.slice()))
	where := ""
	if s.gpu >= 0 {
		env = append(env, "CUDA_VISIBLE_DEVICES="+r.visible[s.gpu])
		where = fmt.Sprintf(" on GPU %s", r.visible[s.gpu])
	}
	p, err := startProcess(d.Command, env, m.output, d.Grace)
	if err != nil {
		r.told(s.policy, -1, err.Error())
		return
	}
	m.process, m.before = p, r.beats[s.policy].seen
	r.event("policy %d: started as process %d%s", s.policy, p.command.Process.Pid, where)
	go func() { r.exits <- ended{s.policy, <-p.done} }()
}

// ended takes note of a process that is gone.
func (r *runner) ended(e ended) {
	r.members[e.policy].process = nil
	r.look() // its last heartbeat decides whose turn it is
	r.told(e.policy, e.exit.status, e.exit.how)
}

// told tells the schedule how a process ended, and people what becomes of it.
func (r *runner) told(policy, status int, how string) {
	again, ok := r.schedule.exited(policy, status, how, time.Now())
	seat := &r.schedule.seats[policy]
	switch {
	case ok:
		r.event("policy %d: restarts for a setting that needs it", policy)
		r.start(again)
	case seat.state == finished:
		r.event("policy %d: finished", policy)
	default:
		r.event("policy %d: %s", policy, seat.note)
	}
}

// stop ends all running members in one way or another, and starts no more.
func (r *runner) stop(what string, end func(*process)) {
	r.event("%s", what)
	r.schedule.stop()
	for i := range r.members {
		if p := r.members[i].process; p != nil {
			end(p)
		}
	}
}

func (r *runner) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintf(r.log, "%s %s\n", time.Now().Format(time.DateTime), line)
	r.display.event(line)
}

// result is nil where all members are finished.
func (r *runner) result(cause error) error {
	var errs []error
	var halted []string
	for i, s := range r.schedule.seats {
		switch s.state {
		case gaveUp:
			text := fmt.Sprintf("launch: policy %d gave up: %s", i, s.note)
			if last := r.members[i].output.last(); len(last) > 0 {
				text += fmt.Sprintf("; the last lines of %s:\n\t%s", r.members[i].output.path, strings.Join(last, "\n\t"))
			}
			errs = append(errs, errors.New(text))
		case stopped:
			halted = append(halted, strconv.Itoa(i))
		}
	}
	if len(halted) > 0 {
		err := fmt.Errorf("launch: policies %s: %w", strings.Join(halted, ", "), ErrStopped)
		if cause != nil {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

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
