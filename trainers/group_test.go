package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

var boxed = spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(2), Action: spaces.NewBox(-2, 2, 2),
	AMPObservation: spaces.Unbounded(3)}

func smallPPO(t testing.TB, sp spaces.Set, seed int64, settings map[string]any) agenttest.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"observation_preprocessor": "RunningStandardScaler"}
	maps.Copy(all, settings)
	a := value(ppo.New(ppo.Options{Spaces: sp, Models: ppo.MLPs(sp, []int{8}, "tanh"), Dict: all, Seed: seed}))(t)
	return a
}

func smallAMP(t testing.TB, sp spaces.Set, motions amp.MotionSource, seed int64,
	settings map[string]any) agenttest.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"amp_observation_preprocessor": "RunningStandardScaler", "task_reward_scale": 0.5,
		"amp_batch_size": 16, "motion_dataset_size": 40, "reply_buffer_size": 60, "learning_rate": 1e-3}
	maps.Copy(all, settings)
	a := value(amp.New(amp.Options{Spaces: sp, Models: amp.MLPs(sp, []int{8}, "tanh"), Motions: motions, Dict: all,
		Seed: seed}))(t)
	return a
}

// members makes agents of both kinds, with rollouts of different lengths.
func members(t testing.TB) []agents.Agent {
	return []agents.Agent{
		smallPPO(t, boxed, 1, nil),
		smallAMP(t, boxed, &agenttest.Motion{Width: 3}, 2, map[string]any{"rollouts": 5}),
		smallPPO(t, boxed, 3, map[string]any{"learning_rate": 5e-3}),
	}
}

func group(t testing.TB, list []agents.Agent, scopes []int) *trainers.Group {
	t.Helper()
	g := value(trainers.NewGroup(list, scopes))(t)
	agenttest.Close(t, g)
	return g
}

// Agents of a group learn what each would have learned alone in its own environments.
func TestGroupEqualsAgentsAlone(t *testing.T) {
	scopes := []int{2, 3, 1}
	g := group(t, members(t), scopes)
	must(t, agenttest.Advance(g, agenttest.NewWorld(boxed, agenttest.Seeds(10, 6)...), 41))
	first := int64(10)
	for i, a := range members(t) {
		a := a.(agenttest.Agent)
		agenttest.Close(t, a)
		must(t, a.Bind(scopes[i]))
		must(t, agenttest.Advance(a, agenttest.NewWorld(boxed, agenttest.Seeds(first, scopes[i])...), 41))
		agenttest.Same(t, a, g.Agents()[i])
		first += int64(scopes[i])
	}
}

// In evaluation the hidden states of an environment are cleared when its episode ends, and only those.
func TestGroupClearsHiddenStates(t *testing.T) {
	recurrent := func(seed int64) agents.Agent {
		return value(ppo.New(ppo.Options{Spaces: boxed, Models: ppo.Recurrent(boxed, models.GRU(4), []int{8}, "tanh"),
			Dict: map[string]any{"rollouts": 8, "mini_batches": 1}, Seed: seed}))(t)
	}
	g := group(t, []agents.Agent{recurrent(1), recurrent(2)}, []int{1, 2})
	must(t, g.Bind(3))
	g.SetTraining(false)
	in := agents.Observation{Observations: []float32{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, States: make([]float32, 6)}
	act := func() []float32 { return slices.Clone(value(g.Act(in))(t)) }
	first := act()
	must(t, g.Record(agents.Transition{Rewards: make([]float32, 3), Terminated: []bool{true, false, false},
		Truncated: []bool{false, false, true}, NextObservations: in.Observations, NextStates: in.States}))
	second := act()
	for i, want := range []bool{true, false, true} {
		if equal := slices.Equal(first[2*i:2*i+2], second[2*i:2*i+2]); equal != want {
			t.Errorf("environment %d: the actions %v and %v are equal: %v, want %v", i, first[2*i:2*i+2],
				second[2*i:2*i+2], equal, want)
		}
	}
}

// A group refuses another's snapshot, and has not changed.
func TestGroupRefusesSnapshots(t *testing.T) {
	a, donor := group(t, members(t), nil), group(t, members(t), nil)
	must(t, agenttest.Advance(a, agenttest.NewWorld(boxed, agenttest.Seeds(1, 6)...), 11))
	must(t, agenttest.Advance(donor, agenttest.NewWorld(boxed, agenttest.Seeds(9, 6)...), 17))
	before := agenttest.Snapshot(t, a)
	for name, spoil := range map[string]func(s *checkpoint.Snapshot){
		"an agent's":     func(s *checkpoint.Snapshot) { *s = *agenttest.Snapshot(t, a.Agents()[0]) },
		"more agents":    func(s *checkpoint.Snapshot) { s.Values["agents"] = 4 },
		"without one":    func(s *checkpoint.Snapshot) { delete(s.Values, "agent_1") },
		"the last short": func(s *checkpoint.Snapshot) { delete(s.Arrays, "agent_2/value/net.0.weight") },
	} {
		snap := agenttest.Through(t, agenttest.Snapshot(t, donor))
		spoil(snap)
		if err := a.Restore(snap); err == nil {
			t.Errorf("%s: restored", name)
		}
		if d := agenttest.Differences(before, agenttest.Snapshot(t, a)); len(d) > 0 {
			t.Errorf("%s: %q changed", name, d)
		}
	}
}

func TestGroupHyperparameters(t *testing.T) {
	g := group(t, members(t), nil)
	before := g.Hyperparameters()
	if before["0.learning_rate"] != 1e-3 || before["2.learning_rate"] != 5e-3 || before["1.style_reward_scale"] != 2 {
		t.Errorf("%v", before)
	}
	for _, key := range []string{"learning_rate", "3.learning_rate", "-1.learning_rate", "0.style_reward_scale"} {
		err := g.SetHyperparameters(map[string]float64{"0.gae_lambda": 0.5, "1.gae_lambda": 0.5, key: 1})
		if got := g.Hyperparameters(); err == nil || !maps.Equal(got, before) {
			t.Errorf("%s: %v; changed to %v", key, err, got)
		}
	}
	must(t, g.SetHyperparameters(map[string]float64{"0.learning_rate": 2e-3, "1.style_reward_scale": 1}))
	before["0.learning_rate"], before["1.style_reward_scale"] = 2e-3, 1
	if got := g.Hyperparameters(); !maps.Equal(got, before) {
		t.Errorf("%v, want %v", got, before)
	}
}

func TestNewGroupRefuses(t *testing.T) {
	small := func(sp spaces.Set) agenttest.Agent {
		a := smallPPO(t, sp, 1, nil)
		agenttest.Close(t, a)
		return a
	}
	motion := boxed
	motion.AMPObservation = spaces.Unbounded(5)
	a, b, bound := small(boxed), small(boxed), small(boxed)
	must(t, bound.Bind(3))
	for _, test := range []struct {
		list   []agents.Agent
		scopes []int
		want   string
	}{
		{[]agents.Agent{a, b, a}, nil, "agents 0 and 2 of the group are the same"},
		{[]agents.Agent{a, small(motion)}, nil, "AMP observation space"},
		{[]agents.Agent{a, b}, []int{1, 0}, "the scope of agent 1 is 0"},
		{[]agents.Agent{a, bound}, []int{2, 2}, "agent 1 acts in 3 environments, its scope is 2"},
	} {
		refused(trainers.NewGroup(test.list, test.scopes))(t, "NewGroup", test.want)
	}
	if a.NumEnvs() != 0 || b.NumEnvs() != 0 {
		t.Error("agents of refused groups were bound")
	}
	wantError(t, "6 environments", value(trainers.NewGroup([]agents.Agent{a, b}, []int{1, 4}))(t).Bind(6),
		"add up to 5")
}

// A trainer takes a group like any agent, and counts the figures of each agent.
func TestTrainGroup(t *testing.T) {
	env := value(classic.NewPendulum(classic.Config{NumEnvs: 5, MaxEpisodeSteps: 10}))(t)
	defer env.Close()
	overlap := map[string]any{"overlap": true}
	g := group(t, []agents.Agent{smallPPO(t, env.Spaces(), 1, nil), smallPPO(t, env.Spaces(), 2, overlap)}, nil)
	tr := sequential(t, env, g, trainers.Config{Timesteps: 30, Seed: 3, Directory: t.TempDir(), Name: "run",
		WriteInterval: every(15)})
	must(t, tr.Train(context.Background()))
	m := tr.Metrics()
	all, parts := 5*m["episode.return"], 2*m["agent_0.episode.return"]+3*m["agent_1.episode.return"]
	if _, ok := m["Agent 1 / Loss / Policy loss"]; !ok || all == 0 || math.Abs(all-parts) > 1e-9*math.Abs(all) {
		t.Errorf("the returns of the agents' episodes do not add up, or a figure is missing: %v", m)
	}
	if got := scalars(t, tr.Dir()); len(got["Agent 1 / Episode / return"]) != 2 ||
		len(got["Agent 0 / Loss / Policy loss"]) != 2 {
		t.Errorf("%v", got)
	}
}

// Two agents share the environments of one batch.
func ExampleNewGroup() {
	env := exampleEnv()
	group, err := trainers.NewGroup([]agents.Agent{exampleAgent(env), exampleAgent(env)}, []int{3, 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	trainer, err := trainers.New(env, group, trainers.Config{Timesteps: 32, CloseEnvironmentAtExit: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	fmt.Println(trainer.Train(context.Background()), group.NumEnvs(), group.Scopes(),
		group.Hyperparameters()["1.learning_rate"])
	// Output: <nil> 8 [3 5] 0.001
}

// minimal is an agent that can do nothing but what agents.Agent asks for. It always takes action 0.
type minimal struct {
	sp                spaces.Set
	training          bool
	recorded, updates int
	actions           []float32
}

func newMinimal(sp spaces.Set) *minimal { return &minimal{sp: sp, training: true} }

func (m *minimal) Name() string       { return "minimal" }
func (m *minimal) Spaces() spaces.Set { return m.sp }
func (m *minimal) Ready() bool        { return m.recorded >= 4 }
func (m *minimal) Close() error       { return nil }

func (m *minimal) SetTraining(on bool) (was bool) {
	was, m.training = m.training, on
	return was
}

func (m *minimal) Act(in agents.Observation) ([]float32, error) {
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

func (m *minimal) Update(context.Context) error {
	m.recorded = 0
	m.updates++
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
	if agent.updates != 10 || tr.Episodes() == 0 || e.Episodes != 4 || !agent.training {
		t.Errorf("%+v after %d episodes: %+v", agent, tr.Episodes(), e)
	}
	must(t, tr.Close())
	if n := len(scalars(t, filepath.Join(dir, "run"))); n == 0 || len(checkpoints(t, filepath.Join(dir, "run"))) != 0 {
		t.Errorf("%d tracked values and a checkpoint", n)
	}
	refused(trainers.New(env, agent, trainers.Config{CheckpointInterval: every(8)}))(t, "checkpoints",
		"agents.Snapshotter", "checkpoint_interval")
	tr = sequential(t, env, agent, trainers.Config{})
	_, snapshot := tr.Snapshot()
	wantError(t, "Snapshot", snapshot, "agents.Snapshotter")
	wantError(t, "Restore", tr.Restore(checkpoint.NewSnapshot()), "agents.Snapshotter")
	wantError(t, "SetHyperparameters", tr.SetHyperparameters(map[string]float64{"learning_rate": 1}), "agents.Tunable")
	must(t, errors.Join(tr.Trainee().Reseed(3), tr.Close()))

	g := group(t, []agents.Agent{newMinimal(env.Spaces()), smallPPO(t, env.Spaces(), 1, nil)}, nil)
	together := sequential(t, env, g, trainers.Config{Timesteps: 40})
	must(t, together.Train(t.Context()))
	_, snapshot = together.Snapshot()
	wantError(t, "a group with an agent that cannot be saved", snapshot, "agents.Snapshotter")
}
