package trainers_test

import (
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// diary notes what it is called for, and answers by fail.
type diary struct {
	name  string
	lines *[]string
	fail  func(line string) error
}

func (d diary) note(t *trainers.Trainer, what string) error {
	line := fmt.Sprintf("%d %s %s", t.Timestep(), d.name, what)
	*d.lines = append(*d.lines, line)
	if d.fail != nil {
		return d.fail(line)
	}
	return nil
}

func (d diary) OnStep(t *trainers.Trainer, s *envs.Step) error {
	return d.note(t, fmt.Sprintf("step of %d", len(s.Rewards)))
}

func (d diary) OnUpdate(t *trainers.Trainer) error {
	return d.note(t, fmt.Sprintf("update %t", t.Metrics()["Loss / Policy loss"] != 0))
}

func (d diary) OnEpisode(t *trainers.Trainer, _ envs.Episode) error {
	return d.note(t, fmt.Sprintf("episode %d", t.Episodes()))
}

func (d diary) OnEvaluation(t *trainers.Trainer, e trainers.Evaluation) error {
	return d.note(t, fmt.Sprintf("evaluation %t", t.Metrics()["evaluation.return"] == e.Return))
}

// Callbacks are called in the order that Callback promises, with figures counted and files written before them.
func TestCallbacks(t *testing.T) {
	var lines []string
	cfg := trainers.Config{Timesteps: 16, Seed: 11, Directory: t.TempDir(), Name: "run", CheckpointInterval: every(16),
		EvaluationInterval: every(16)}
	cfg.Callbacks = []trainers.Callback{trainers.BaseCallback{}, diary{"a", &lines, nil},
		diary{"b", &lines, func(line string) error {
			if strings.HasPrefix(line, "16 b step") {
				_, err := os.Stat(filepath.Join(cfg.Directory, "run", "checkpoints", "agent_16.safetensors"))
				return err
			}
			return nil
		}}}
	tr := scenes[0].trained(t, cfg)
	var want []string
	for at := int64(1); at <= 16; at++ {
		for _, line := range []string{"episode", "update true", "evaluation true", "step of 4"} {
			for _, name := range []string{"a", "b"} {
				line := fmt.Sprintf("%d %s %s", at, name, line)
				switch {
				case strings.HasSuffix(line, "episode"): // those that ended, whose figures are counted before
					for i := 1; i <= tr.Episodes(); i++ {
						if line := fmt.Sprintf("%s %d", line, i); slices.Contains(lines, line) {
							want = append(want, line)
						}
					}
				case strings.Contains(line, "update") && at%8 != 0, strings.Contains(line, "evaluation") && at != 16:
				default:
					want = append(want, line)
				}
			}
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" || tr.Episodes() == 0 {
		t.Errorf("-want +called:\n%s", diff)
	}
}

// Any method of a callback may end the run by ErrStop: the timestep is completed, everything is written, and Train may
// be called again. Any other error ends it at once.
func TestCallbacksEndTheRun(t *testing.T) {
	broken := errors.New("broken")
	for what, last := range map[string]string{"episode": "", "update": "8 ", "evaluation": "12 ", "step": "5 "} {
		for _, cause := range []error{fmt.Errorf("enough: %w", trainers.ErrStop), broken} {
			var lines []string
			shown := &bars{}
			cfg := trainers.Config{Timesteps: 40, Seed: 11, Directory: t.TempDir(), Name: "run",
				WriteInterval: every(1000), EvaluationInterval: every(12), Progress: shown}
			stop := cause
			cfg.Callbacks = []trainers.Callback{diary{"a", &lines, func(line string) error {
				if strings.HasPrefix(line, last) && strings.Contains(line, " a "+what) {
					return stop
				}
				return nil
			}}, diary{"b", &lines, nil}}
			tr := scenes[0].open(t, cfg)
			err := tr.Train(t.Context())
			at, end, names := tr.Timestep(), lines[len(lines)-1], checkpoints(t, tr.Dir())
			if errors.Is(cause, broken) {
				if !errors.Is(err, broken) || strings.Contains(end, " b ") || len(names) != 0 {
					t.Errorf("%s: %v after %q with %d checkpoints, want the error at once", what, err, end, len(names))
				}
				continue
			}
			written, wrong := tracking.ReadFile(filepath.Join(tr.Dir(), tracking.ScalarsFile))
			if err != nil || len(names) != 1 || filepath.Base(names[0]) != fmt.Sprintf("agent_%d.safetensors", at) ||
				!shown.list[0].ended || wrong != nil || len(written) == 0 || end != fmt.Sprintf("%d b step of 4", at) {
				t.Errorf("%s: %v at timestep %d with %q; the bar: %+v; %d values, %v; the last call is %q", what, err,
					at, names, shown.list[0], len(written), wrong, end)
			}
			stop = nil
			if err := tr.Train(t.Context()); err != nil || tr.Timestep() != 40 {
				t.Errorf("%s: the second Train: %v at timestep %d", what, err, tr.Timestep())
			}
		}
	}
}

// moody is an environment that draws itself, with the panics of a method.
type moody struct {
	envs.Env
	panics *string
}

func (m moody) enter(method string) {
	if *m.panics == method {
		panic("lost a wheel")
	}
}

func (m moody) Unwrap() envs.Env { return m.Env }

func (m moody) Render(int) (image.Image, error) {
	m.enter("Render")
	return image.NewGray(image.Rect(0, 0, 1, 1)), nil
}

func (m moody) Close() error {
	m.enter("Close")
	return m.Env.Close()
}

// A panic of a callback, or of a method of the environment or a function of the configuration that Train calls, is an
// error that says where.
func TestPanicsOfUserCode(t *testing.T) {
	for method, want := range map[string]string{
		"Render":        "the environment (trainers_test.moody around *wrappers.Parallel) panicked",
		"Close":         "the environment (trainers_test.moody around *wrappers.Parallel) panicked",
		"callback":      "the callback trainers_test.diary panicked",
		"EvaluationEnv": "EvaluationEnv panicked",
	} {
		t.Run(method, func(t *testing.T) {
			env, agent := scenes[0].made(t)
			world := moody{env, &method}
			cfg := trainers.Config{Timesteps: 4, CloseEnvironmentAtExit: true, Directory: t.TempDir(),
				EvaluationInterval: every(2), VideoInterval: every(2),
				EvaluationEnv: func(int, int64) (envs.Env, error) {
					world.enter("EvaluationEnv")
					env, other := scenes[0].make(t)
					return moody{env, &method}, other.Close()
				},
				Callbacks: []trainers.Callback{diary{"a", &[]string{},
					func(string) error { world.enter("callback"); return nil }}}}
			tr := sequential(t, world, agent, cfg)
			err := errors.Join(tr.Train(t.Context()), tr.Close())
			var p *envs.PanicError
			if !errors.As(err, &p) ||
				!strings.Contains(err.Error(), want+": lost a wheel at trainers_test.moody.enter (callback_test.go:") ||
				!strings.Contains(string(p.Stack), "callback_test.go") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// tally is a callback with a state: how many timesteps it has seen.
type tally struct {
	trainers.BaseCallback
	name    string
	steps   byte
	refuses bool
}

func (c *tally) OnStep(*trainers.Trainer, *envs.Step) error { c.steps++; return nil }
func (c *tally) StateName() string                          { return c.name }
func (c *tally) MarshalState() ([]byte, error)              { return []byte{c.steps}, nil }

func (c *tally) RestoreState(state []byte) error {
	if len(state) != 1 || c.refuses {
		return errors.New("not a tally's")
	}
	c.steps = state[0]
	return nil
}

// A callback with a state goes on with it in a resumed run, from the timestep of the checkpoint. Names that a
// checkpoint lacks, and those that no callback has, are noted.
func TestCallbacksKeepState(t *testing.T) {
	cfg := run(t, 10)
	cfg.CheckpointInterval = every(5)
	resume := func(timesteps int, c *tally) string {
		t.Helper()
		cfg.Timesteps, cfg.Callbacks = timesteps, []trainers.Callback{c}
		tr, done := scenes[0].start(t, cfg)
		defer done()
		must(t, tr.Train(t.Context()))
		return strings.Join(tr.Notes(), "; ")
	}
	resume(10, &tally{name: "tally"})
	saved := value(checkpoint.Load(filepath.Join(cfg.Directory, "run", "checkpoints",
		"agent_5.safetensors")))(t).Snapshot
	if state := value(saved.Arrays["callbacks/tally"].Bytes())(t); fmt.Sprint(state) != "[5]" {
		t.Errorf("the state in the checkpoint of timestep 5 is %v", state)
	}
	second, other := &tally{name: "tally"}, &tally{name: "other"}
	if notes := resume(17, second); notes != "" || second.steps != 17 {
		t.Errorf("resumed: %d steps, want 17; notes %q", second.steps, notes)
	}
	wantError(t, "the notes of a new callback", errors.New(resume(20, other)),
		`the checkpoint has no state of the callback "other"`, `the checkpoint has a state of the callback "tally"`)

	// A checkpoint that a callback or the agent refuses changes nothing.
	cfg.Resume, cfg.Directory = false, t.TempDir()
	refusing := &tally{name: "tally", refuses: true}
	cfg.Callbacks = []trainers.Callback{&tally{name: "other"}, refusing}
	tr := scenes[0].open(t, cfg)
	value(tr.Step(t.Context()))(t)
	before := value(tr.Snapshot())(t)
	saved.Arrays["callbacks/other"] = checkpoint.ArrayBytes([]int64{1}, []byte{99})
	for _, want := range []string{`"callbacks/tally": not a tally's`, "the checkpoint is of an agent"} {
		wantError(t, "refused", tr.Restore(saved), want)
		if d := agenttest.Differences(before, value(tr.Snapshot())(t)); len(d) > 0 {
			t.Errorf("the refused checkpoint changed %q", d)
		}
		refusing.refuses, saved.Values[layout.Agent] = false, "another"
	}
}
