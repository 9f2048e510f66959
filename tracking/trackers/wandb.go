package trackers

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
)

// WandBSettings are the settings of [WandB]. Their names are those of wandb.init's arguments. The API key comes from
// the environment variable WANDB_API_KEY or from `wandb login`.
type WandBSettings struct {
	// Project is the project of the run; empty is WANDB_PROJECT, else "uncategorized".
	Project string `yaml:"project"`
	// Entity is the project's user or team; empty is the account's.
	Entity string `yaml:"entity"`
	// Name is the run's name; empty is that of its folder.
	Name string `yaml:"name"`
	// Group joins runs; empty is the population of a member, or the folder of a run of --seeds or a sweep.
	Group string `yaml:"group"`
	// JobType is the kind of run within a group.
	JobType string `yaml:"job_type"`
	// Tags and Notes describe the run.
	Tags  []string `yaml:"tags"`
	Notes string   `yaml:"notes"`
	// Mode is "online", "offline" (`wandb sync` sends the files later) or "disabled"; empty is WANDB_MODE, else
	// "online".
	Mode string `yaml:"mode" config:"oneof=|online|offline|disabled"`
	// Dir is the folder of the package's files; empty is the run's.
	Dir string `yaml:"dir"`
	// Artifacts keeps the best checkpoint and the films in the run's folder "videos" at the end of the run. Default
	// false.
	Artifacts bool `yaml:"artifacts"`
	// Python is an interpreter with the package wandb (tested with 0.31). Default "python3".
	Python string `yaml:"python"`
}

// DefaultWandB returns settings that use the account's defaults and wandb's environment variables.
func DefaultWandB() WandBSettings { return WandBSettings{Python: "python3"} }

// installed looks for the package without importing it.
func (s WandBSettings) installed(ctx context.Context) error {
	python := cmp.Or(s.Python, "python3")
	const find = `import importlib.util,sys
sys.path=[p for p in sys.path if p]
sys.exit(importlib.util.find_spec("wandb") is None)`
	if err := exec.CommandContext(ctx, python, "-c", find).Run(); err != nil {
		return fmt.Errorf("%s has no package wandb (%w): pip install wandb, or name another Python with the setting "+
			"python", python, err)
	}
	return nil
}

// WandB returns a tracker that writes a run of Weights & Biases. It passes values through a pipe to a Python process
// with the package wandb, and restarts the process if it dies. The run's configuration becomes wandb's. The axis of all
// charts is global_step, which counts environment steps, as in CleanRL, and so does wandb's own _step. The file
// wandb.json in the run's folder has the id of the run, so that a resumed run continues it. wandb keeps the first
// values of steps that are trained again after a resume.
func WandB(s WandBSettings) (Tracker, error) { return newTracker("wandb", s, openWandB) }

//go:embed wandb_child.py
var wandbSource string

// wandbBootstrap makes Python read its program from the first line of its input. Python imports no files of the current
// folder.
const wandbBootstrap = `import sys;sys.path=[p for p in sys.path if p];import json
f=json.loads(sys.stdin.buffer.readline())
exec(compile(f["source"],"gorl/wandb_child.py","exec"),{"__name__":"gorl_wandb","opening":f["opening"]})`

const wandbFile = "wandb.json"

// How long the Python process may take.
const (
	wandbStart = 2 * time.Minute  // to import the package and open the run; wandb waits 90 s for its server
	wandbTake  = 30 * time.Second // to take values, which the package queues
)

// wandbRun is the content of wandb.json.
type wandbRun struct {
	ID string `json:"id"`
	// URL is the run's page, empty in offline mode.
	URL string `json:"url"`
}

// wandb is the sink of a run of Weights & Biases.
type wandb struct {
	ctx      context.Context
	python   string
	opening  map[string]any
	file     string
	run      wandbRun
	child    *wandbChild // nil if there is none
	rows     []wandbRow  // that no child has taken
	exitCode int
	last     int64 // the step of the last row
}

// wandbRow are the values of one step. They are text because JSON has no NaN.
type wandbRow struct {
	Step   int64             `json:"step"`
	Time   float64           `json:"time"` // seconds since 1970
	Values map[string]string `json:"values"`
}

func openWandB(ctx context.Context, run Run, s WandBSettings) (tracking.Sink, error) {
	w := &wandb{ctx: ctx, python: cmp.Or(s.Python, "python3"), file: filepath.Join(run.Dir, wandbFile)}
	if run.Resumed {
		text, err := os.ReadFile(w.file)
		if err == nil {
			err = json.Unmarshal(text, &w.run)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s names no run: %w; remove it to begin a new one (%w)", w.file, err, ErrFinal)
		}
	}
	w.run.ID = cmp.Or(w.run.ID, strings.ToLower(rand.Text()[:8]))
	// A restarted child continues the run too.
	w.opening = map[string]any{"id": w.run.ID, "resume": "allow", "allow_val_change": true,
		"config": finite(run.Config), "name": cmp.Or(s.Name, run.Name), "dir": cmp.Or(s.Dir, run.Dir)}
	for key, value := range map[string]string{"project": s.Project, "entity": s.Entity,
		"group": cmp.Or(s.Group, run.Group), "job_type": s.JobType, "notes": s.Notes, "mode": s.Mode} {
		if value != "" {
			w.opening[key] = value
		}
	}
	if len(s.Tags) > 0 {
		w.opening["tags"] = s.Tags
	}
	return w, w.start()
}

// start starts a child, which opens or continues the run.
func (w *wandb) start() error {
	child, err := startWandB(w.ctx, w.python)
	if err != nil {
		return err
	}
	answer, err := child.ask(map[string]any{"source": wandbSource, "opening": w.opening}, wandbStart)
	if err != nil {
		child.end()
		return err
	}
	w.child, w.run.URL = child, answer.URL
	return writeRunFile(w.file, w.run)
}

// finite returns plain values. Numbers that JSON does not have become texts.
func finite(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = finite(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = finite(x)
		}
		return out
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	}
	return value
}

// Scalar implements [tracking.Sink].
func (w *wandb) Scalar(tag string, step int64, value float64) {
	w.scalar(tracking.Scalar{Time: time.Now(), Step: step, Tag: tag, Value: value})
}

func (w *wandb) scalar(s tracking.Scalar) {
	if n := len(w.rows); n == 0 || w.rows[n-1].Step != s.Step {
		w.rows = append(w.rows, wandbRow{Step: s.Step, Time: float64(s.Time.UnixMicro()) / 1e6,
			Values: map[string]string{}})
	}
	w.rows[len(w.rows)-1].Values[s.Tag] = strconv.FormatFloat(s.Value, 'g', -1, 64)
	w.last = s.Step
}

func (w *wandb) upload(dir string, files []string) error {
	if w.child == nil {
		return errors.New("its Python process is gone")
	}
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = filepath.Join(dir, filepath.FromSlash(file))
	}
	_, err := w.child.ask(map[string]any{"files": paths, "step": w.last}, 0)
	return err
}

// Flush passes all values to the child, or to a new one if the last has died.
func (w *wandb) Flush() error {
	if w.child == nil {
		if err := w.start(); err != nil {
			return err
		}
	}
	if len(w.rows) == 0 {
		return nil
	}
	if _, err := w.child.ask(map[string]any{"rows": w.rows}, wandbTake); err != nil {
		w.child.end()
		w.child = nil
		return err
	}
	w.rows = w.rows[:0]
	return nil
}

// Finish implements [Finisher]. The exit code is 255 for a run that was stopped, and 1 for one that failed.
func (w *wandb) Finish(err error) {
	switch {
	case errors.Is(err, context.Canceled):
		w.exitCode = 255
	case err != nil:
		w.exitCode = 1
	}
}

// Close ends the run and waits until the package has sent everything.
func (w *wandb) Close() error {
	if w.child == nil {
		return nil
	}
	defer w.child.end()
	_, err := w.child.ask(map[string]any{"exit_code": w.exitCode}, 0)
	return err
}

// wandbChild is the Python process.
type wandbChild struct {
	command *exec.Cmd
	cancel  context.CancelFunc // kills it
	stdin   io.WriteCloser
	answers *bufio.Reader
	printed process.Tail
}

// wandbAnswer is an answer of the child.
type wandbAnswer struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Error string `json:"error"` // that may pass
	Final string `json:"final"` // that does not
}

// startWandB starts the process. It is killed when ctx is done.
func startWandB(ctx context.Context, python string) (*wandbChild, error) {
	c := &wandbChild{}
	ctx, c.cancel = context.WithCancel(ctx)
	c.command = exec.CommandContext(ctx, python, "-u", "-c", wandbBootstrap)
	c.command.Stderr = &c.printed
	c.command.WaitDelay = time.Second // processes of the package may hold the output open
	stdin, errIn := c.command.StdinPipe()
	stdout, errOut := c.command.StdoutPipe()
	if err := cmp.Or(errIn, errOut); err != nil {
		c.cancel()
		return nil, err
	}
	c.stdin, c.answers = stdin, bufio.NewReader(stdout)
	if err := c.command.Start(); err != nil {
		c.cancel()
		return nil, fmt.Errorf("starting %s: %w; install Python and wandb, or name another Python with the setting "+
			"python (%w)", python, err, ErrFinal)
	}
	return c, nil
}

// ask sends a message and waits for the answer, at most for limit. With limit 0 it waits until the child's context
// ends.
func (c *wandbChild) ask(message any, limit time.Duration) (wandbAnswer, error) {
	var answer wandbAnswer
	if limit > 0 {
		late := time.AfterFunc(limit, c.cancel)
		defer late.Stop()
	}
	text, err := json.Marshal(message)
	if err != nil {
		return answer, fmt.Errorf("%w (%w)", err, ErrFinal)
	}
	// A child that dies closes the pipes, so writes and reads end.
	_, err = c.stdin.Write(append(text, '\n'))
	var line []byte
	if err == nil {
		line, err = c.answers.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	switch {
	case err != nil:
		c.end()
		return answer, fmt.Errorf("its Python process is gone (%v). The end of what it printed: %s",
			c.command.ProcessState, strings.TrimSpace(strings.Join(c.printed.Lines(), "\n")))
	case answer.Error != "":
		return answer, errors.New(answer.Error)
	case answer.Final != "":
		return answer, fmt.Errorf("%s (%w)", answer.Final, ErrFinal)
	}
	return answer, nil
}

// end ends the process and waits for it. It may be called twice.
func (c *wandbChild) end() {
	_ = c.stdin.Close()
	late := time.AfterFunc(5*time.Second, c.cancel)
	defer late.Stop()
	_ = c.command.Wait() // how it ended is in ProcessState
	c.cancel()
}
