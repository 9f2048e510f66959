package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/distributed/launch"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// rankFlags are the flags of runs with several processes on this machine.
type rankFlags struct {
	nproc, restarts int
}

// defaultRestarts is the default of --max-restarts.
const defaultRestarts = 3

// launches reports whether this process starts ranks. Otherwise it is a rank, or trains alone.
func (f *trainFlags) launches(place distributed.Place) (bool, error) {
	if f.given("max-restarts") && f.ranks.nproc == 0 {
		return false, commandline.Usagef("--max-restarts is for --nproc; torchrun has a flag of that name, too, " +
			"before the program")
	}
	return f.ranks.nproc > 0 && !f.check && place.Launcher != launch.Launcher, nil
}

// startRanks starts this command once for every rank and waits for all.
func (f *trainFlags) startRanks(ctx context.Context, place distributed.Place, stdin []byte) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := launch.Options{Count: f.ranks.nproc, MaxRestarts: f.ranks.restarts, Within: place, Stdin: stdin,
		Stdout: f.stdout, Stderr: f.stderr}
	if place.Size > 1 && !f.given("max-restarts") { // the launcher of the machines' processes starts them again
		o.MaxRestarts = 0
	}
	err = launch.Run(ctx, append([]string{self}, os.Args[1:]...), o)
	failure, failed := errors.AsType[*launch.Failure](err)
	switch {
	case errors.Is(err, launch.ErrStopped):
		return &commandline.StatusError{Status: commandline.Stopped} // rank 0 has said where
	case failed && failure.Status == launch.StatusUsage: // the rank has printed the reason
		fmt.Fprintf(f.stderr, "%s: rank %d of %d was called wrongly\n", program, failure.Rank, failure.Size)
		return &commandline.StatusError{Status: commandline.WrongUse}
	case failed:
		return err
	}
	return wrong(err) // nothing was started
}

// together is this process's part in a run of several ranks. Its group is nil if it trains alone.
type together struct {
	place distributed.Place
	group *distributed.Group
}

// join meets the other ranks.
func join(ctx context.Context, c runfile.Sections, place distributed.Place) (t together, err error) {
	t.place = place
	cfg, err := distributed.FromDict(c.Section("distributed"))
	if err != nil {
		return t, wrong(err)
	}
	if place.Size > 1 {
		t.group, err = distributed.Join(ctx, place, cfg)
	}
	return t, err
}

// equal compares the environment's settings of all ranks, except the seed and settings of the machine. The trainer
// compares the number of environments and all other settings.
func (t together) equal(environment map[string]any) error {
	environment = maps.Clone(environment)
	for _, key := range []string{"seed", "num_envs", "python", "device", "render"} {
		delete(environment, key)
	}
	return t.group.RequireEqual(map[string]any{"environment": environment})
}

// leave ends this rank's part. It reports an error to the other ranks, and to torchrun if the error began in this rank.
func (t together) leave(err error) error {
	if t.group == nil {
		return err
	}
	if err != nil {
		t.group.Leave(err)
	}
	return errors.Join(err, t.group.Close(), tellAgent(err))
}

// tellAgent writes an error to the file that torchrun names. torchrun shows the earliest of all ranks' errors.
func tellAgent(err error) error {
	path := os.Getenv("TORCHELASTIC_ERROR_FILE")
	_, peer := errors.AsType[*distributed.PeerError](err)
	if _, stopped := errors.AsType[*commandline.StoppedError](err); stopped || peer || err == nil || path == "" {
		return nil
	}
	text, _ := json.Marshal(map[string]any{"message": map[string]any{"message": err.Error(),
		"extraInfo": map[string]string{"py_callstack": err.Error(), "timestamp": fmt.Sprint(time.Now().Unix())}}})
	return os.WriteFile(path, text, 0o666)
}

// agreed is the folder of a run, as rank 0 has decided.
type agreed struct {
	Directory, Name string
	Resume          bool
}

// agree calls decide on rank 0 and returns the result, the run's folder, on all ranks. Separate decisions could differ:
// rank 0 may have taken the name already, and names without one contain the time.
func (t together) agree(decide func() (agreed, error)) (a agreed, err error) {
	if t.group.Rank() == 0 {
		if a, err = decide(); err != nil {
			t.group.Leave(err)
			return a, err
		}
	}
	text, _ := json.Marshal(a) // texts have no error
	if text, err = t.group.BroadcastBytes(0, text); err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// ranksFile is the name of the file in a run's folder by which restarted ranks find their run.
const ranksFile = "ranks.json"

// begun returns the name of the run that an earlier attempt of these ranks has begun in a folder of runs, under this
// name or with a number added. It returns "" if there is none.
func (t together) begun(directory, name string) (string, error) {
	if t.place.Attempt == 0 {
		return "", nil
	}
	beside := filepath.Dir(filepath.Join(directory, cmp.Or(name, "any")))
	entries, err := os.ReadDir(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(beside, e.Name(), ranksFile))
		var r struct{ Run string }
		if err == nil && json.Unmarshal(text, &r) == nil && r.Run == t.place.ID() {
			return filepath.Rel(directory, filepath.Join(beside, e.Name()))
		}
	}
	return "", err
}

// mark writes the file by which a later attempt finds the run, if a launcher has started this process.
func (t together) mark(dir string) error {
	if t.place.Size == 0 {
		return nil
	}
	return durable.WriteFile(filepath.Join(dir, ranksFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(map[string]any{"run": t.place.ID(), "launcher": t.place.Launcher,
			"size": t.place.Size})
	})
}

// noRanks returns the error of several processes for a population or an evolution.
func noRanks(kind runfile.Kind) error {
	what, instead := "an evolution", ""
	if kind == runfile.Population {
		what = "a population that trains in one process"
		instead = " (gorl-pbt trains members of several processes: launcher: {command: [" + program + ", member], " +
			"ranks_per_member: 2})"
	}
	return commandline.Usagef("%s has no ranks: start it once, without --nproc%s; where a launcher's variables are "+
		"left in the environment, set %s=off", what, instead, distributed.EnvDistributed)
}
