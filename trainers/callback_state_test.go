package trainers_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

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
	if notes := resume(10, &tally{name: "tally"}); notes != "" {
		t.Errorf("notes %q of a new run", notes)
	}
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
	if other.steps != 3 {
		t.Errorf("a callback that is new has counted %d steps, want 3", other.steps)
	}

	// A checkpoint that a callback or the agent refuses changes nothing.
	cfg.Resume, cfg.Directory = false, t.TempDir()
	refusing := &tally{name: "tally", refuses: true}
	cfg.Callbacks = []trainers.Callback{&tally{name: "other"}, refusing}
	tr := scenes[0].open(t, cfg)
	value(tr.Step(t.Context()))(t)
	before := value(tr.Snapshot())(t)
	saved.Arrays["callbacks/other"] = checkpoint.ArrayBytes([]int64{1}, []byte{99})
	for _, want := range []string{`the callback "tally": not a tally's`, "the checkpoint is of an agent"} {
		wantError(t, "refused", tr.Restore(saved), want)
		if d := agenttest.Differences(before, value(tr.Snapshot())(t)); len(d) > 0 {
			t.Errorf("the refused checkpoint changed %q", d)
		}
		refusing.refuses, saved.Values[layout.Agent] = false, "another"
	}
}
