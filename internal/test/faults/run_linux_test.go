package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/tracking"
)

// childVariable makes the test's own program gorl, or what installs the filter first.
const childVariable = "GORL_FAULTS_CHILD"

// runName is the name of every run; its folder lies in the folder of runs, which is the root of what is watched.
const runName = "r"

// scenario is a run of the command.
type scenario struct {
	name   string
	config string
	// committed reads what a file's rename commits, and stored what a folder has: after a power cut a run must go on
	// from no earlier than the last commit.
	committed func(renamed string) (at int64, ok bool)
	commits   string // the folder whose sync completes a commit, in the run's
	stored    func(run string) int64
}

var scenarios = []scenario{
	{"training", "training.yaml", trainingCommit, "checkpoints", newestCheckpoint},
	{"population", "population.yaml", populationCommit, "000", newestState},
	{"overlap", "overlap.yaml", trainingCommit, "checkpoints", newestCheckpoint}, // not among the few
}

// command returns the command gorl with these arguments.
func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/proc/self/exe", args...)
	c.Args[0] = "gorl"
	// One thread and one member at a time make the calls in the same order every time.
	c.Env = append(os.Environ(), childVariable+"=gorl", "GOMAXPROCS=1", "OMP_NUM_THREADS=1", "GORL_THREADS=1")
	return c
}

// start returns the command that begins the run in a folder of runs.
func (s scenario) start(ctx context.Context, runs string) *exec.Cmd {
	return command(ctx, "train", "-q", "-c", filepath.Join("testdata", s.config), "-n", runName, "-o", runs)
}

// attempt runs a command, and returns its exit status and what it printed. A panic is an error, and so is a failure
// without a word.
func attempt(c *exec.Cmd, run func() error) (status int, output string, err error) {
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	err = run()
	output = strings.TrimSpace(text.String())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, output, fmt.Errorf("%w: %s", err, output)
	}
	status = c.ProcessState.ExitCode()
	switch {
	case strings.Contains(output, "panic:") || strings.Contains(output, "goroutine "):
		return status, output, fmt.Errorf("it panicked: %s", output)
	case status > 0 && output == "":
		return status, output, fmt.Errorf("it ended with status %d, without a word", status)
	case status > 2:
		return status, output, fmt.Errorf("it ended with status %d: %s", status, output)
	}
	return status, output, nil
}

// resume goes on with the run, as a user would: with its folder; if that has no configuration, with the configuration
// too; if there is no run at all, from the beginning.
func (s scenario) resume(ctx context.Context, runs string) error {
	run := filepath.Join(runs, runName)
	tries := []*exec.Cmd{
		command(ctx, "train", "-q", "--resume", run),
		command(ctx, "train", "-q", "--resume", run, "-c", filepath.Join("testdata", s.config)),
		s.start(ctx, runs),
	}
	var said []string
	for _, c := range tries {
		status, output, err := attempt(c, c.Run)
		if err != nil || status == 0 {
			return err
		}
		said = append(said, output)
		if status != 2 { // not a wrong use
			break
		}
	}
	return fmt.Errorf("the run cannot be resumed: %s", strings.Join(said, "; "))
}

// outcome is what a run comes to: checksums of its weights by their paths, its figures and its journal.
type outcome map[string]string

// outcomeOf reads a run's folder.
func outcomeOf(run string) (outcome, error) {
	o := outcome{}
	var events []string
	err := filepath.WalkDir(run, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(run, path)
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.Contains(name, durable.Temporary):
			return nil // readers pass over it, and a later save removes it
		case strings.Contains(name, "tfevents"):
			events = append(events, path)
			return nil
		}
		var text []byte
		switch {
		case strings.HasSuffix(name, ".safetensors"):
			data, err := os.ReadFile(path)
			sum := sha256.Sum256(data)
			if _, err := os.Stat(strings.TrimSuffix(path, ".safetensors") + ".json"); err != nil {
				name = uncommitted + name
			}
			o[name] = hex.EncodeToString(sum[:])
			return err
		case d.Name() == tracking.ScalarsFile:
			scalars, failure := tracking.ReadFile(path)
			text, err = []byte(rows(scalars)), failure
		case d.Name() == "journal.jsonl":
			text, err = journalOf(path)
		default:
			return nil
		}
		o[name] = string(text)
		return err
	})
	if len(events) > 0 && err == nil {
		o["events"], err = rowsOfEvents(events)
	}
	return o, err
}

// uncommitted begins the names of weights without a manifest, which readers pass over.
const uncommitted = "without a manifest: "

// rows returns scalars as text, without measured times.
func rows(scalars []tracking.Scalar) string {
	var text strings.Builder
	for _, s := range scalars {
		if !strings.HasPrefix(s.Tag, "Stats / ") {
			fmt.Fprintf(&text, "%d %s %v\n", s.Step, s.Tag, float32(s.Value))
		}
	}
	return text.String()
}

// rowsOfEvents reads event files one after another. What a later file writes again is taken from there.
func rowsOfEvents(paths []string) (string, error) {
	slices.Sort(paths)
	var all []tracking.Scalar
	for _, path := range paths {
		scalars, err := tracking.ReadFile(path)
		if err != nil && len(paths) == 1 { // a file that was cut off is followed by another one
			return "", err
		}
		if len(scalars) > 0 {
			all = slices.DeleteFunc(all, func(s tracking.Scalar) bool { return s.Step >= scalars[0].Step })
		}
		all = append(all, scalars...)
	}
	return rows(all), nil
}

// journalOf reads a journal without times.
func journalOf(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for line := range bytes.Lines(data) {
		var event map[string]any
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		delete(event, "time")
		again, err := json.Marshal(event)
		if err != nil {
			return nil, err
		}
		text.Write(append(again, '\n'))
	}
	return text.Bytes(), nil
}

// compare returns how an outcome differs from the wanted one.
func (o outcome) compare(want outcome) error {
	if diff := cmp.Diff(want, o); diff != "" {
		return fmt.Errorf("the outcome differs (-want +got):\n%.3000s", diff)
	}
	return nil
}

// trainingCommit returns the timestep of a checkpoint that a rename commits.
func trainingCommit(renamed string) (at int64, ok bool) {
	_, err := fmt.Sscanf(filepath.Base(renamed), "agent_%d.json", &at)
	return at, err == nil && filepath.Base(filepath.Dir(renamed)) == "checkpoints"
}

// newestCheckpoint returns the timestep of the newest checkpoint that is whole, 0 for none.
func newestCheckpoint(run string) int64 {
	dir := filepath.Join(run, "checkpoints")
	if _, err := os.Stat(dir); err != nil {
		return 0
	}
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return 0
	}
	latest, _, err := store.Latest()
	if err != nil {
		return 0
	}
	return latest.Manifest.Step
}

// populationCommit counts the states of member 0 that renames commit.
func populationCommit(renamed string) (at int64, ok bool) {
	return 1, strings.HasSuffix(renamed, filepath.Join("000", "state.json"))
}

// newestState returns the number of member 0's newest state, 0 for none.
func newestState(run string) int64 {
	var state struct{ Sequence int64 }
	data, err := os.ReadFile(filepath.Join(run, "000", "state.json"))
	if err != nil || json.Unmarshal(data, &state) != nil {
		return 0
	}
	return state.Sequence
}

// commitsIn returns the last commit that calls completed. Commits are timesteps, or are counted.
func (s scenario) commitsIn(run string, calls []call) (last int64) {
	var begun int64
	for _, c := range calls {
		switch at, ok := s.committed(c.b); {
		case c.op == "rename" && ok && s.commits == "000":
			begun += at
		case c.op == "rename" && ok:
			begun = at
		case c.op == "fsync" && c.a == filepath.Join(run, s.commits):
			last = begun
		}
	}
	return last
}
