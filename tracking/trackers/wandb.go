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
	"sync"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/tracking"
)

// WandBSettings are the settings of [WandB], named as the arguments of wandb.init are. The key that Weights & Biases
// asks for is in the environment variable WANDB_API_KEY, or where `wandb login` has put it.
type WandBSettings struct {
	// Project is the project that the run belongs to, default WANDB_PROJECT, or "uncategorized".
	Project string `yaml:"project"`
	// Entity is the user or team that the project belongs to, default that of the account.
	Entity string `yaml:"entity"`
	// Name is the run's name, default that of its folder.
	Name string `yaml:"name"`
	// Group puts runs together, for instance those of several seeds; default the population whose member the run is.
	Group string `yaml:"group"`
	// JobType is the kind of run within a group.
	JobType string `yaml:"job_type"`
	// Tags and Notes describe the run.
	Tags  []string `yaml:"tags"`
	Notes string   `yaml:"notes"`
	// Mode is "online", "offline" (`wandb sync` sends the files later) or "disabled"; default WANDB_MODE, or "online".
	Mode string `yaml:"mode" config:"oneof=|online|offline|disabled"`
	// Dir is where the package keeps its files, in a folder wandb; default the run's folder.
	Dir string `yaml:"dir"`
	// Python is the interpreter that has the package wandb, default "python3". It is tested with wandb 0.31.
	Python string `yaml:"python"`
}

// DefaultWandB returns settings that leave all to the account and to wandb's environment variables.
func DefaultWandB() WandBSettings { return WandBSettings{Python: "python3"} }

// WandB returns a tracker that writes a run of Weights & Biases. A Python process with the package wandb does it, which
// is told the values through a pipe; one that dies is replaced. The run's configuration becomes that of wandb, and the
// axis of all charts is global_step, the trainer's timestep. The id of the run is kept in wandb.json in the run's
// folder, so that a resumed run goes on with it; steps that are trained again after a resume are there twice.
func WandB(s WandBSettings) (Tracker, error) { return of("wandb", s, openWandB) }

//go:embed wandb_child.py
var wandbSource string

// wandbBootstrap has Python read its program from the first line of its input. What lies in the current folder is not
// imported, whatever its name.
const wandbBootstrap = `import sys;sys.path=[p for p in sys.path if p];import json;f=json.loads(sys.stdin.buffer.readline());exec(compile(f["source"],"gorl/wandb_child.py","exec"),{"__name__":"gorl_wandb","opening":f["opening"]})`

const wandbFile = "wandb.json"

// How long the Python process may take.
const (
	wandbStart = 2 * time.Minute  // to import the package and make the run: wandb itself waits 90 s for its server
	wandbTake  = 30 * time.Second // to take values, which its package queues
)

// wandbRun is what wandb.json says.
type wandbRun struct {
	ID string `json:"id"`
	// URL is the run's page, empty in offline mode.
	URL string `json:"url"`
}

// wandb is a run of Weights & Biases.
type wandb struct {
	ctx      context.Context
	python   string
	opening  map[string]any
	file     string
	run      wandbRun
	child    *wandbChild // nil where there is none
	rows     []wandbRow  // that no child has taken
	exitCode int
}

// wandbRow is what was tracked at one step. Values are text, as JSON has no NaN.
type wandbRow struct {
	Step   int64             `json:"step"`
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
	// A child that takes the place of another goes on with the run, too.
	w.opening = map[string]any{"id": w.run.ID, "resume": "allow", "allow_val_change": true, "config": finite(run.Config),
		"name": cmp.Or(s.Name, run.Name), "dir": cmp.Or(s.Dir, run.Dir)}
	for key, value := range map[string]string{"project": s.Project, "entity": s.Entity, "group": cmp.Or(s.Group, run.Group), "job_type": s.JobType, "notes": s.Notes, "mode": s.Mode} {
		if value != "" {
			w.opening[key] = value
		}
	}
	if len(s.Tags) > 0 {
		w.opening["tags"] = s.Tags
	}
	return w, w.start()
}

// start starts a child, which makes the run or goes on with it.
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
	text, err := json.MarshalIndent(w.run, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(w.file, func(f io.Writer) error { _, err := f.Write(append(text, '\n')); return err }); err != nil {
		return fmt.Errorf("keeping the id of its run: %w", err)
	}
	return nil
}

// finite returns plain values with those that JSON has no number for as text.
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
	if n := len(w.rows); n == 0 || w.rows[n-1].Step != step {
		w.rows = append(w.rows, wandbRow{Step: step, Values: map[string]string{}})
	}
	w.rows[len(w.rows)-1].Values[tag] = strconv.FormatFloat(value, 'g', -1, 64)
}

// Flush hands what it was given to the child, to another one where the last has died.
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

// Finish implements [Finisher]: wandb takes 255 for a run that was stopped, and 1 for one that has failed.
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
	process *exec.Cmd
	cancel  context.CancelFunc // kills it
	stdin   io.WriteCloser
	answers *bufio.Reader
	printed lastOutput
}

// wandbAnswer is what the child answers.
type wandbAnswer struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Error string `json:"error"` // that may pass
	Final string `json:"final"` // that does not
}

// startWandB starts the process. It is killed where ctx is done.
func startWandB(ctx context.Context, python string) (*wandbChild, error) {
	c := &wandbChild{}
	ctx, c.cancel = context.WithCancel(ctx)
	c.process = exec.CommandContext(ctx, python, "-u", "-c", wandbBootstrap)
	c.process.Stderr = &c.printed
	c.process.WaitDelay = time.Second // for what the package has started, which may hold the output open
	stdin, err := c.process.StdinPipe()
	if err != nil {
		c.cancel()
		return nil, err
	}
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.stdin, c.answers = stdin, bufio.NewReader(stdout)
	if err := c.process.Start(); err != nil {
		c.cancel()
		return nil, fmt.Errorf("starting %s: %w; install Python and wandb, or name another Python with the setting python (%w)", python, err, ErrFinal)
	}
	return c, nil
}

// ask sends a message and waits for the answer; limit 0 waits as long as the context of the child lasts.
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
	// A child that dies closes the pipes: whatever is being written or read ends.
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
		return answer, fmt.Errorf("its Python process is gone (%v)%s", c.process.ProcessState, c.printed.text())
	case answer.Error != "":
		return answer, errors.New(answer.Error)
	case answer.Final != "":
		return answer, fmt.Errorf("%s (%w)", answer.Final, ErrFinal)
	}
	return answer, nil
}

// end lets the process end, and waits for it. It may be called twice.
func (c *wandbChild) end() {
	_ = c.stdin.Close()
	late := time.AfterFunc(5*time.Second, c.cancel)
	defer late.Stop()
	_ = c.process.Wait() // how it ended is in ProcessState
	c.cancel()
}

// lastOutput keeps the end of what the process prints.
type lastOutput struct {
	mu   sync.Mutex
	last []byte
}

// Write implements io.Writer. It never fails.
func (o *lastOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 4 << 10
	o.last = append(o.last, b[max(0, len(b)-most):]...)
	o.last = o.last[max(0, len(o.last)-most):]
	return len(b), nil
}

// text returns the last lines, to stand behind a message.
func (o *lastOutput) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(o.last)), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-5):], "\n")
}
