package launch

// This file holds Program, from which a user makes one executable that is a population's launcher and its members.
// The environment decides which of the two a process is: with EnvMember set it trains that member; otherwise it
// starts copies of itself and waits for them.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Program is a program that is both a population's launcher and its members.
type Program struct {
	// New builds a member's trainee, as pbt.Options.New does.
	New func(m pbt.Member) (pbt.Trainee, error)
	// Hyperparameters are names that members have in addition to those that package preset knows.
	Hyperparameters []string
	// Adjust, when not nil, changes what the YAML file says. It must do so alike in all members.
	Adjust func(o *pbt.Options, p *pbt.ProcessOptions)
}

// Main is Program{New: build}.Main(). The example of trainers.NewTrainee is a whole program.
func Main(build func(m pbt.Member) (pbt.Trainee, error)) { Program{New: build}.Main() }

// Main is all that a main function has to do; it does not return. Started by a user with -config file.yaml, the program
// runs the population that the file describes on this machine, with itself and its own flags as the members where the
// file names no command. Started by a launcher, it trains one member. Its own flags, declared with package flag before,
// are parsed first.
//
// The exit status is 0 when all members are finished, 1 when one gave up, 2 for wrong flags, and StatusStopped after a
// signal; that of a member is as in Member.
func (g Program) Main() {
	path := flag.String("config", "", "the population's YAML `file`")
	flag.Parse()
	// Member reads the environment again and reports what is wrong with it, so its error is ignored here.
	if _, ok, _ := FromEnvironment(); ok {
		os.Exit(Member(g.Train))
	}
	if *path == "" || flag.NArg() > 0 {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: %s [flags] -config file.yaml\n", os.Args[0])
		flag.PrintDefaults()
		os.Exit(statusUsage)
	}
	// The first Ctrl-C lets members save, the second kills them.
	ctx, kill, stop := Interrupts(context.Background())
	err := g.launch(ctx, *path, Options{Out: os.Stdout, Kill: kill})
	stop() // not deferred, as os.Exit runs no deferred calls
	switch {
	case errors.Is(err, ErrStopped):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(StatusStopped)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// launch runs the population of a YAML file with Run, and says at the end which member is the best.
func (g Program) launch(ctx context.Context, path string, o Options) error {
	f, err := ReadFile(path)
	if err != nil {
		return err
	}
	// The members will read these settings themselves. Reading them here first reports a mistake once, and before any
	// process starts.
	settings, err := preset.FromDict(f.sections, g.Hyperparameters...)
	if err != nil {
		return fmt.Errorf("launch: %w\nlaunch: the file is %s", err, path)
	}
	// Without a command the members are this program with its own flags. It becomes a member, and not a launcher
	// again, by the environment that Run gives it.
	if len(f.Launcher.Command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("launch: %w; give \"launcher.command\"", err)
		}
		f.Launcher.Command = append([]string{self}, os.Args[1:]...)
	}
	if err := Run(ctx, f, o); err != nil {
		return err
	}
	// All members are finished: say which one to use.
	store, err := workspace.OpenFolder(f.Dir(), f.Launcher.NumPolicies, workspace.FolderOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	best, ok, err := store.Best(settings.Options.Measure.Minimise)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	if ok {
		fmt.Fprintf(o.Out, "\nBest: member %d after %d environment steps, %s %.6g; its weights are %s\n",
			best.Member, best.Steps, settings.Options.Objective, best.Objective, best.Weights.Path)
	}
	return nil
}

// Train trains one member, as a function for [Member]: it takes the member's lease in the population's folder,
// continues where an earlier process ended, and writes what happens to the member to the standard output, which a
// launcher puts into the member's log. A member of several ranks is an error: see package pbt/multirank.
func (g Program) Train(ctx context.Context, p Process) (err error) {
	if p.Ranks > 1 {
		return fmt.Errorf(
			"launch: \"ranks_per_member\" is %d, and this program trains a member by one process; let it "+
				"call multirank.Train, as `gorl member` does", p.Ranks)
	}
	settings, err := preset.FromFile(p.Config, g.Hyperparameters...)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	for _, note := range settings.Notes {
		fmt.Println(note)
	}
	store, err := workspace.OpenFolder(settings.Folder(), settings.NumPolicies,
		workspace.FolderOptions{LeaseTTL: settings.LeaseTTL})
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	o := settings.Options
	o.New, o.Progress, o.Asynchronous = g.New, tell, !settings.Synchronous
	w := pbt.ProcessOptions{
		Member: p.Member, Store: store, Heartbeat: settings.Heartbeat, Silence: settings.Silence, Slice: p.Slice,
		RestartProcess: settings.RestartProcess,
		Experiment:     settings.Workspace,
	}
	// Adjust comes last, so that the program has the last word over the file.
	if g.Adjust != nil {
		g.Adjust(&o, &w)
	}
	// Join waits while another process holds the lease, for instance one that its launcher could not reach to end.
	worker, err := pbt.Join(ctx, o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Close()) }()
	// A damaged state is not fatal, as an older one was used; but the user should know.
	if damage := worker.Recovered(); damage != nil {
		fmt.Println(damage)
	}
	if now := worker.Generation(); now.Members[0].Steps > 0 {
		fmt.Printf("member %d continues in interval %d after %d environment steps\n", p.Member, now.Iteration,
			now.Members[0].Steps)
	}
	result, err := worker.Train(ctx)
	if err != nil {
		return err
	}
	if result != nil {
		fmt.Printf("member %d is finished; the best so far is member %d, %s %.6g\n", p.Member, result.Member,
			o.Objective, result.Objective)
	}
	return nil
}

// tell writes a line for every event of the member.
func tell(u pbt.Update) {
	e := u.Event
	if e == nil {
		return
	}
	objective := "-"
	if e.HasObjective {
		objective = fmt.Sprintf("%.6g", e.Objective)
	}
	fmt.Printf("interval %d, %d environment steps, objective %s: %s", e.Iteration, e.Steps, objective, e.Kind)
	if e.Parent >= 0 {
		fmt.Printf(" from %d", e.Parent)
	}
	if e.Cause != "" {
		fmt.Printf(" (%s)", e.Cause)
	}
	fmt.Println()
}
