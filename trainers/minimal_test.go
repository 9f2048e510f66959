package trainers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// minimal is an agent that can do nothing but what agents.Agent asks for. It always takes action 0.
type minimal struct {
	sp                          spaces.Set
	training, closed            bool
	acted, recorded, updates    int
	actions                     []float32
	trainedActs, evaluationActs int
}

func newMinimal(sp spaces.Set) *minimal { return &minimal{sp: sp, training: true} }

func (m *minimal) Name() string       { return "minimal" }
func (m *minimal) Spaces() spaces.Set { return m.sp }

func (m *minimal) SetTraining(on bool) (was bool) {
	was, m.training = m.training, on
	return was
}

func (m *minimal) Act(in agents.Observation) ([]float32, error) {
	if m.acted++; m.training {
		m.trainedActs++
	} else {
		m.evaluationActs++
	}
	n := len(in.Observations) / m.sp.Observation.Width() * m.sp.Action.Width()
	if len(m.actions) != n {
		m.actions = make([]float32, n)
	}
	return m.actions, nil
}

func (m *minimal) Record(agents.Transition) error {
	if m.training {
		m.recorded++
	}
	return nil
}

func (m *minimal) Ready() bool { return m.recorded >= 4 }

func (m *minimal) Update(context.Context) error {
	m.recorded = 0
	m.updates++
	return nil
}

func (m *minimal) Close() error {
	m.closed = true
	return nil
}

// An agent without the optional interfaces is trained, evaluated and a member of groups; what it cannot do is an error that
// says so.
func TestMinimalAgent(t *testing.T) {
	checkLiveTensors(t)
	env, other := scenes[0].make(t)
	defer env.Close()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	agent := newMinimal(env.Spaces())
	dir := t.TempDir()
	tr := sequential(t, env, agent, trainers.Config{Timesteps: 40, Directory: dir, Name: "run", WriteInterval: every(8)})
	if err := tr.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if agent.updates != 10 || tr.Episodes() == 0 {
		t.Errorf("%d updates and %d episodes in 40 steps, want an update every 4 and some episodes", agent.updates, tr.Episodes())
	}
	if e, err := tr.Evaluate(t.Context(), trainers.EvaluateOptions{Episodes: 4}); err != nil || e.Episodes != 4 || agent.evaluationActs == 0 || !agent.training {
		t.Errorf("%+v, %v after %d actions in evaluation; training: %v", e, err, agent.evaluationActs, agent.training)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	if scalars, err := tracking.ReadFile(filepath.Join(run, tracking.ScalarsFile)); err != nil || len(scalars) == 0 {
		t.Errorf("tracked values: %d, %v", len(scalars), err)
	}
	if _, err := os.Stat(filepath.Join(run, "checkpoints")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder of checkpoints: %v", err)
	}

	for key, cfg := range map[string]trainers.Config{
		"checkpoint_interval": {CheckpointInterval: every(8)}, "resume": {Resume: true, Name: "run"}, "save_buffers": {SaveBuffers: true}, "keep": {Keep: 1},
	} {
		_, err := trainers.New(env, agent, cfg)
		if err == nil || !strings.Contains(err.Error(), "agents.Snapshotter") || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want an error that names it and agents.Snapshotter", key, err)
		}
	}
	tr = sequential(t, env, agent, trainers.Config{})
	_, snapshot := tr.Snapshot()
	for _, err := range []error{snapshot, tr.Restore(checkpoint.NewSnapshot())} {
		if err == nil || !strings.Contains(err.Error(), "agents.Snapshotter") {
			t.Errorf("%v, want an error that names agents.Snapshotter", err)
		}
	}
	if err := tr.SetHyperparameters(map[string]float64{"learning_rate": 1}); err == nil || !strings.Contains(err.Error(), "agents.Tunable") {
		t.Errorf("%v, want an error that names agents.Tunable", err)
	}
	if err := tr.Trainee().Reseed(3); err != nil || len(tr.Hyperparameters()) != 0 {
		t.Errorf("%v; hyperparameters %v", err, tr.Hyperparameters())
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}

	g := group(t, []agents.Agent{newMinimal(env.Spaces()), smallPPO(t, env.Spaces(), 1, nil)}, nil)
	together := sequential(t, env, g, trainers.Config{Timesteps: 40})
	if err := together.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := together.Hyperparameters(); h["1.learning_rate"] == 0 || together.Metrics()["agent_0.episode.length"] == 0 {
		t.Errorf("hyperparameters %v and figures %v of a group", h, together.Metrics())
	}
	if _, err := together.Snapshot(); err == nil || !strings.Contains(err.Error(), "agents.Snapshotter") {
		t.Errorf("a group with an agent that cannot be saved: %v", err)
	}
}

// wrapped hides an agent's abilities and leads to it by Unwrap.
type wrapped struct{ agents.Agent }

func (w wrapped) Unwrap() agents.Agent { return w.Agent }

// A trainer finds what a wrapped agent can do.
func TestWrappedAgent(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer env.Close()
	defer agent.Close()
	tr := sequential(t, env, wrapped{agent}, trainers.Config{Timesteps: 16})
	if err := tr.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	snap, err := tr.Snapshot()
	if err == nil {
		err = tr.Restore(snap)
	}
	if err != nil || tr.Hyperparameters()["learning_rate"] == 0 || tr.Metrics()["Loss / Policy loss"] == 0 {
		t.Errorf("%v; hyperparameters %v, figures %v", err, tr.Hyperparameters(), tr.Metrics())
	}
}
