package trainers_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/spaces"
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

// An agent without the optional interfaces is trained, evaluated and a member of groups. What it cannot do is an error
// that names the missing interface.
func TestMinimalAgent(t *testing.T) {
	env := newCartPoles(t)
	defer env.Close()
	agent, dir := newMinimal(env.Spaces()), t.TempDir()
	tr := sequential(t, env, agent, trainers.Config{Timesteps: 40, Directory: dir, Name: "run",
		WriteInterval: every(8)})
	must(t, tr.Train(t.Context()))
	e := value(tr.Evaluate(t.Context(), trainers.EvaluateOptions{Episodes: 4}))(t)
	if agent.updates != 10 || tr.Episodes() == 0 || e.Episodes != 4 || agent.evaluationActs == 0 || !agent.training {
		t.Errorf("%+v after %d episodes: %+v", agent, tr.Episodes(), e)
	}
	must(t, tr.Close())
	if n := len(scalars(t, filepath.Join(dir, "run"))); n == 0 || len(checkpoints(t, filepath.Join(dir, "run"))) != 0 {
		t.Errorf("%d tracked values and a checkpoint", n)
	}
	for key, cfg := range map[string]trainers.Config{
		"checkpoint_interval": {CheckpointInterval: every(8)}, "resume": {Resume: true, Name: "run"},
		"save_buffers": {SaveBuffers: true}, "keep": {Keep: 1},
	} {
		refused(trainers.New(env, agent, cfg))(t, key, "agents.Snapshotter", key)
	}
	tr = sequential(t, env, agent, trainers.Config{})
	_, snapshot := tr.Snapshot()
	wantError(t, "Snapshot", snapshot, "agents.Snapshotter")
	wantError(t, "Restore", tr.Restore(checkpoint.NewSnapshot()), "agents.Snapshotter")
	wantError(t, "SetHyperparameters", tr.SetHyperparameters(map[string]float64{"learning_rate": 1}), "agents.Tunable")
	must(t, errors.Join(tr.Trainee().Reseed(3), tr.Close()))

	g := group(t, []agents.Agent{newMinimal(env.Spaces()), smallPPO(t, env.Spaces(), 1, nil)}, nil)
	together := sequential(t, env, g, trainers.Config{Timesteps: 40})
	must(t, together.Train(t.Context()))
	if h := together.Hyperparameters(); h["1.learning_rate"] == 0 || together.Metrics()["agent_0.episode.length"] == 0 {
		t.Errorf("hyperparameters %v and figures %v of a group", h, together.Metrics())
	}
	_, snapshot = together.Snapshot()
	wantError(t, "a group with an agent that cannot be saved", snapshot, "agents.Snapshotter")
}
