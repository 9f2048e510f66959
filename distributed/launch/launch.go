// Package launch starts the ranks of a run as processes on this machine, watches them, and restarts all of them if one
// fails. It is for gorl's programs on one machine what torchrun is for PyTorch's. The processes find their places by
// [distributed.Detect].
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/process"
)

// Launcher is the Place.Launcher of ranks that Run starts.
const Launcher = "gorl's launcher"

// Exit statuses of a rank. 0 means that the rank has completed.
const (
	// StatusUsage means that the program got wrong arguments. A restart would not help.
	StatusUsage = 2
	// StatusStopped means that a signal has stopped the rank. The rank has saved and can continue.
	StatusStopped = 78
	// StatusPeer means that the rank ended because another rank had ended or did not answer. Run reports the other
	// rank.
	StatusPeer = 79
)

// ErrStopped is wrapped by the error of Run if its context ended, or a signal stopped the ranks, and no rank failed.
var ErrStopped = errors.New("the ranks were stopped")

// Options configure Run.
type Options struct {
	// Count is the number of ranks on this machine.
	Count int
	// MaxRestarts is the number of restarts of all ranks after one has failed. It must be 0 if Within has several
	// machines: the program that starts the processes there has to restart them.
	//
	// With a larger number a run survives more failures, such as a rank that the system kills when memory is short.
	// With a smaller one, a run that fails repeatedly ends sooner.
	MaxRestarts int
	// Grace is the time after a failure in which the other ranks may end before they are killed. Default 30 s.
	Grace time.Duration
	// Within is the place of this process if several machines take part. Each has a process that calls Run with the
	// same Count, and this one's ranks follow those of the processes before it. The zero value is this machine alone.
	Within distributed.Place
	// Stdin is the standard input of every rank.
	Stdin []byte
	// Stdout receives the standard output of rank 0. Stderr receives all other output, as lines with the rank before
	// each. If it is a terminal, it is rank 0's standard error, for a progress bar. Nil discards the output.
	Stdout, Stderr io.Writer
}

// Failure is the error of a run that ended because a rank failed. It describes the first rank that failed. A rank that
// ended because it lost another one ([StatusPeer]) counts only if no other rank failed.
type Failure struct {
	// Rank is the number of the rank, and Size the number of ranks.
	Rank, Size int
	// Status is the rank's exit status. It is -1 if a signal ended the rank, or if it could not be started.
	Status int
	// How describes the status.
	How string
	// Lines are the last lines of the rank's output, unless they went to a terminal.
	Lines []string
	// Restarts is the number of restarts before the failure.
	Restarts int
}

// Error names the rank and its status, and quotes its last lines.
func (f *Failure) Error() string {
	text := fmt.Sprintf("rank %d of %d: %s", f.Rank, f.Size, f.How)
	if f.Restarts > 0 {
		text += fmt.Sprintf(" in attempt %d", f.Restarts+1)
	}
	if len(f.Lines) > 0 {
		text += "; its last lines:\n\t" + strings.Join(f.Lines, "\n\t")
	}
	return text
}

// Run starts argv once for every rank and returns when all have ended. It returns nil if all have status 0. If a rank
// fails, the others get SIGTERM, and are killed after Grace. Then all ranks are restarted, with
// [distributed.Place.Attempt] one higher; programs continue from their newest checkpoint. After MaxRestarts restarts
// the error is a *[Failure]. Wrong arguments ([StatusUsage]) cause no restart.
//
// When ctx ends, all ranks get SIGTERM once, save, and end. The error then wraps [ErrStopped]. On Linux the ranks end
// when this process ends, even if it is killed.
func Run(ctx context.Context, argv []string, o Options) error {
	if err := o.check(argv); err != nil {
		return err
	}
	stderr := &shared{w: o.Stderr}
	id := rand.Text()
	for restarts := 0; ; restarts++ {
		a, err := o.attempt(ctx, argv, id, restarts, stderr)
		var f *Failure
		if !errors.As(err, &f) {
			return err
		}
		f.Restarts = restarts
		if ctx.Err() != nil || a.stopped || restarts == o.MaxRestarts || f.Status == StatusUsage {
			return err
		}
		fmt.Fprintf(stderr, "rank %d of %d: %s; starting all ranks again (restart %d of %d)\n", f.Rank, f.Size, f.How,
			restarts+1, o.MaxRestarts)
	}
}

// attempt starts all ranks once and waits for their end. On a single machine they meet at a unix socket.
func (o Options) attempt(ctx context.Context, argv []string, id string, restarts int,
	stderr *shared) (*attempt, error) {
	p := o.Within
	if p.Size == 1 {
		address, remove, err := process.SocketAddress()
		if err != nil {
			return nil, fmt.Errorf("launch: %w", err)
		}
		defer remove()
		p.Address, p.Attempt, p.Run = address, restarts, fmt.Sprintf("%s/%d", id, restarts)
	}
	p.Rank, p.Size = p.Rank*o.Count, p.Size*o.Count
	p.LocalRank, p.LocalSize, p.Launcher = 0, o.Count, Launcher
	a := &attempt{o: o, argv: argv, first: p, stderr: stderr, exits: make(chan ended)}
	return a, a.run(ctx)
}

// check returns an error for invalid options, and sets defaults.
func (o *Options) check(argv []string) error {
	if o.Within.Size == 0 {
		o.Within = distributed.Place{Size: 1, LocalSize: 1}
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	for _, w := range []*io.Writer{&o.Stdout, &o.Stderr} {
		if *w == nil {
			*w = io.Discard
		}
	}
	switch {
	case len(argv) == 0:
		return errors.New("launch: there is no program to start")
	case o.Count < 1:
		return fmt.Errorf("launch: the number of ranks is %d; want 1 or more", o.Count)
	case o.MaxRestarts < 0:
		return fmt.Errorf("launch: the number of restarts is %d; want 0 or more", o.MaxRestarts)
	case o.Within.Size > 1 && o.Within.LocalSize > 1:
		return fmt.Errorf("launch: %s has started %d processes on this machine already; start one, or no ranks "+
			"beneath them", o.Within.Launcher, o.Within.LocalSize)
	case o.Within.Size > 1 && o.MaxRestarts > 0:
		return fmt.Errorf(
			"launch: restarts of ranks on several machines are for %s to do, which started this process; "+
				"want 0 restarts", o.Within.Launcher)
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return nil
}

// attempt is all ranks on this machine from one start to their end.
type attempt struct {
	o       Options
	argv    []string
	first   distributed.Place
	stderr  *shared
	exits   chan ended
	running []*process.Process // nil for a rank that has ended
	tails   []process.Tail
	stopped bool // a signal has stopped at least one rank
}

// ended is the end of a rank's process.
type ended struct {
	local int
	exit  process.Exit
}

// terminated is the exit of a program that got SIGTERM before it handled the signal.
var terminated = process.Exit{Status: -1, How: "ended by signal: terminated"}

// run starts the ranks and waits for all of them.
func (a *attempt) run(ctx context.Context) error {
	a.running, a.tails = make([]*process.Process, a.o.Count), make([]process.Tail, a.o.Count)
	var failure *Failure
	left, killed := 0, false
	var over <-chan time.Time // the time at which ranks that got SIGTERM are killed
	end := func() {
		a.each((*process.Process).Terminate)
		over = time.After(a.o.Grace)
	}
	for i := range a.running {
		if err := a.start(i); err != nil {
			failure = a.failure(i, process.Exit{Status: -1, How: err.Error()})
			end()
			break
		}
		left++
	}
	for done := ctx.Done(); left > 0; {
		select {
		case e := <-a.exits:
			left--
			a.running[e.local] = nil
			switch {
			case e.exit.Status == 0:
			case e.exit.Status == StatusStopped, ctx.Err() != nil && e.exit == terminated:
				if failure != nil { // it got SIGTERM
					break
				}
				if !a.stopped && ctx.Err() == nil { // this rank alone got a signal
					end()
				}
				a.stopped = true
			case failure == nil:
				failure = a.failure(e.local, e.exit)
				end()
			case failure.Status == StatusPeer && e.exit.Status != StatusPeer && e.exit != terminated && !killed:
				failure = a.failure(e.local, e.exit) // the one that failed first
			}
		case <-done:
			done = nil // a closed channel is always ready
			a.each((*process.Process).Terminate)
		case <-over:
			killed = true
			a.each((*process.Process).Kill)
		}
	}
	switch {
	case failure != nil:
		return failure
	case a.stopped && ctx.Err() != nil:
		return fmt.Errorf("%w (%w)", ErrStopped, context.Cause(ctx))
	case a.stopped:
		return ErrStopped
	}
	return nil
}

// each calls end for all running ranks.
func (a *attempt) each(end func(*process.Process)) {
	for _, p := range a.running {
		if p != nil {
			end(p)
		}
	}
}

// start starts a rank.
func (a *attempt) start(local int) error {
	place := a.first
	place.Rank, place.LocalRank = place.Rank+local, local
	env, err := place.Environ(os.Environ())
	if err != nil {
		return err
	}
	lines := a.stderr.prefixed(fmt.Sprintf("rank %d: ", place.Rank))
	o := process.Options{Argv: a.argv, Env: env, Stdin: a.o.Stdin, Grace: a.o.Grace}
	both := io.MultiWriter(lines, &a.tails[local])
	o.Stdout, o.Stderr = both, both
	if place.Rank == 0 {
		if o.Stdout = a.o.Stdout; isFile(o.Stdout) == nil {
			o.Stdout = io.MultiWriter(o.Stdout, &a.tails[local])
		}
		if isTerminal(a.o.Stderr) {
			o.Stderr = a.o.Stderr
		}
	}
	p, err := process.Start(o)
	if err != nil {
		return err
	}
	a.running[local] = p
	go func() {
		exit := <-p.Done()
		lines.end()
		a.exits <- ended{local, exit}
	}()
	return nil
}

// failure returns the error of a rank.
func (a *attempt) failure(local int, exit process.Exit) *Failure {
	return &Failure{Rank: a.first.Rank + local, Size: a.first.Size, Status: exit.Status, How: exit.String(),
		Lines: a.tails[local].Lines()}
}
