package trainers_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// ramp is a batch that cannot save its state, as an environment of Gymnasium's cannot. Every reset begins the same
// episodes. Observations are far from zero and rewards are large, so that it matters what they are normalised by.
type ramp struct {
	n, steps int
	step     envs.Step
	raw      []float32 // the observations returned last
}

const rampLength = 7

func newRamp(n int) *ramp { return &ramp{n: n} }

func (r *ramp) NumEnvs() int { return r.n }
func (r *ramp) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.NewBox(-1000, 1000, 2), Action: spaces.NewBox(-1, 1, 1)}
}
func (r *ramp) Close() error { return nil }

func (r *ramp) observations(k int) []float32 {
	rows := make([]float32, 2*r.n)
	for i := range r.n {
		rows[2*i], rows[2*i+1] = 500+float32(3*k+i), float32(k*k)/100
	}
	return rows
}

func (r *ramp) Reset(int64) (*envs.Step, error) {
	r.steps = 0
	r.raw = r.observations(0)
	r.step = envs.Step{Observations: r.raw}
	return &r.step, nil
}

func (r *ramp) Step(actions []float32) (*envs.Step, error) {
	r.steps++
	s := envs.Step{Rewards: make([]float32, r.n), Terminated: make([]bool, r.n), Truncated: make([]bool, r.n)}
	for i := range s.Rewards {
		s.Rewards[i] = 100 + 10*float32(r.steps) + actions[i]
		s.Terminated[i] = r.steps == rampLength
	}
	s.Observations = r.observations(r.steps)
	if r.steps == rampLength {
		s.FinalObservations = s.Observations
		r.steps = 0
		s.Observations = r.observations(0)
	}
	r.raw, r.step = s.Observations, s
	return &r.step, nil
}

// recipe puts an environment into the wrappers of CleanRL's recipe.
func recipe(t testing.TB, env envs.Env) envs.Env {
	t.Helper()
	counted := value(wrappers.NewEpisodeStatistics(env))(t)
	observed := value(wrappers.NewNormalizeObservation(counted, wrappers.NormalizeObservationOptions{}))(t)
	clipped := value(wrappers.NewClipObservation(observed, -1.5, 1.5))(t)
	rewarded := value(wrappers.NewNormalizeReward(clipped, wrappers.NormalizeRewardOptions{Discount: .9,
		Variant: wrappers.Gymnasium}))(t)
	return value(wrappers.NewClipReward(rewarded, -2, 2))(t)
}

// learnt are the statistics of an environment's wrappers.
func learnt(env envs.Env) (all []map[string][]float64) {
	for _, w := range envs.All[envs.RunningStatistics](env) {
		all = append(all, w.Statistics())
	}
	return all
}

// apprentice is a trainer in an environment, with everything closed at the end.
func apprentice(t testing.TB, env envs.Env, seed int64, cfg trainers.Config) *trainers.Trainer {
	t.Helper()
	agent := smallPPO(t, env.Spaces(), seed, map[string]any{"observation_preprocessor": nil})
	agenttest.Close(t, agent)
	return sequential(t, env, agent, cfg)
}

// onward steps a trainer and returns what it trained on and its losses.
func onward(t testing.TB, tr *trainers.Trainer, steps int) (all [][]float64) {
	t.Helper()
	for range steps {
		s := value(tr.Step(context.Background()))(t)
		row := []float64{tr.Metrics()["Loss / Value loss"], tr.Metrics()["Loss / Policy loss"]}
		for _, x := range slices.Concat(s.Observations, s.Rewards) {
			row = append(row, float64(x))
		}
		all = append(all, row)
	}
	return all
}

// A run that is resumed from a checkpoint without the environment's state trains on as the run does whose environment
// begins its episodes anew: the same rewards, and the same losses to the last bit. Both go through a folder.
func TestResumeKeepsStatistics(t *testing.T) {
	for _, buffers := range []bool{false, true} {
		dir := t.TempDir()
		cfg := trainers.Config{Directory: dir, Name: "run", SaveBuffers: buffers, Resume: true,
			CheckpointInterval: every(40)}
		first := apprentice(t, recipe(t, newRamp(3)), 1, cfg)
		onward(t, first, 40) // and the checkpoint is written
		saved := learnt(first.Env())
		// An evaluation begins new episodes, and teaches nothing.
		value(first.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 6}))(t)
		// The reset shows three observations.
		if count := learnt(first.Env())[0]["count"][0] - saved[0]["count"][0]; math.Abs(count-3) > 1e-6 {
			t.Errorf("the evaluation changed the count of observations by %g", count)
		}
		if d := cmp.Diff(saved[1], learnt(first.Env())[1]); d != "" {
			t.Errorf("the evaluation changed the statistics of rewards: %s", d)
		}
		// The second trainer goes on in a copy of the folder, which belongs to the first.
		must(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "run"))))
		cfg.Name, cfg.CheckpointInterval = "copy", agents.Interval{}
		second := apprentice(t, recipe(t, newRamp(3)), 2, cfg)
		got := onward(t, second, 39) // before the first one saves again
		want := onward(t, first, 39)
		if second.Timestep() != 79 {
			t.Errorf("resumed at %d", second.Timestep()-39)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("buffers %t: (-uninterrupted +resumed)\n%.600s", buffers, d)
		}
	}
}

// A member of a population that takes over another's weights takes over the statistics, and acts at once on
// observations that are normalised by them. The discounted sums of its episodes in progress stay its own.
func TestTakeoverTakesStatistics(t *testing.T) {
	make := func(seed int64, steps int) *trainers.Trainer {
		env, _ := scenes[0].made(t)
		tr := apprentice(t, recipe(t, env), seed, trainers.Config{Seed: seed})
		onward(t, tr, steps)
		return tr
	}
	source, member := make(1, 21), make(2, 14)
	own := learnt(member.Env())[1][envs.RunningSums]
	must(t, member.Restore(value(source.Snapshot())(t)))
	want := learnt(source.Env())
	want[1][envs.RunningSums] = own
	if d := cmp.Diff(want, learnt(member.Env())); d != "" {
		t.Error(d)
	}
	o, _ := envs.As[envs.Observer](member.Env())
	seen := slices.Clone(value(o.Observe())(t).Observations)
	buffers := func() *checkpoint.Snapshot {
		return value(member.Agent().(agents.Snapshotter).Snapshot(agents.SnapshotOptions{Buffers: true}))(t)
	}
	filled := int(value(buffers().Int(layout.RolloutSteps))(t))
	onward(t, member, 1)
	rows := value(buffers().Arrays[layout.Rollout("observations")].Float32s())(t)
	if acted := rows[filled*len(seen) : (filled+1)*len(seen)]; !slices.Equal(acted, seen) {
		t.Errorf("the member acted on %v, want %v", acted, seen)
	}
}

// A snapshot of an environment in other wrappers is refused, and nothing has changed.
func TestRestoreStatisticsRefuses(t *testing.T) {
	wrapped := apprentice(t, recipe(t, newRamp(3)), 1, trainers.Config{})
	bare := apprentice(t, newRamp(3), 1, trainers.Config{})
	onward(t, wrapped, 10)
	onward(t, bare, 10)
	snap, without := value(wrapped.Snapshot())(t), value(bare.Snapshot())(t)
	damaged, foreign := agenttest.Through(t, snap), agenttest.Through(t, snap)
	damaged.Arrays[layout.WrapperStatistic(1, "normalize_reward", "variance")] = checkpoint.ArrayFloat64([]int64{1},
		[]float64{-1})
	delete(foreign.Values, "agent") // the agent refuses after the statistics have been restored
	onward(t, wrapped, 3)
	for want, x := range map[string]struct {
		to   *trainers.Trainer
		snap *checkpoint.Snapshot
	}{
		`the checkpoint has running statistics of the wrappers ["0.normalize_observation" "1.normalize_reward"]`: {bare,
			snap},
		`the environment's wrappers are ["0.normalize_observation" "1.normalize_reward"]`: {wrapped, without},
		`"variance" has -1`: {wrapped, damaged}, "agent": {wrapped, foreign},
	} {
		agent, statistics := agenttest.Snapshot(t, x.to.Agent()), learnt(x.to.Env())
		if wantError(t, want, x.to.Restore(x.snap), want); want != "agent" {
			wantError(t, want, x.to.RestoreStatistics(x.snap), want)
		}
		if d := cmp.Diff(agent, agenttest.Snapshot(t, x.to.Agent())); d != "" ||
			!cmp.Equal(statistics, learnt(x.to.Env())) {
			t.Errorf("%s: a refusal changed something: %s", want, d)
		}
	}
}

// An environment for evaluation gets what training has learnt, and learns nothing itself.
func TestEvaluationEnvHasStatistics(t *testing.T) {
	var other envs.Env
	env := recipe(t, newRamp(3))
	tr := apprentice(t, env, 1, trainers.Config{EvaluationEnv: func(n int, _ int64) (envs.Env, error) {
		other = recipe(t, newRamp(n))
		return other, nil
	}})
	onward(t, tr, 20)
	before := learnt(env)
	value(tr.EvaluateMetrics(t.Context(), 3, 1))(t)
	if d := cmp.Diff(before, learnt(env)); d != "" {
		t.Errorf("the evaluation taught training's environment: %s", d)
	}
	ignored := cmpopts.IgnoreMapEntries(func(name string, _ []float64) bool { return name == envs.RunningSums })
	if d := cmp.Diff(before, learnt(other), ignored); d != "" {
		t.Errorf("statistics of the environment for evaluation: %s", d)
	}
}

// Returns are those of the environment's own rewards, in figures, files and evaluations, whatever the agent is given;
// the agent's rewards have skrl's tag.
func TestRawReturns(t *testing.T) {
	const raw = 7*100 + 10*(1+2+3+4+5+6+7) // give or take the actions
	tr := apprentice(t, recipe(t, newRamp(3)), 1, trainers.Config{Timesteps: 20, Directory: t.TempDir(), Name: "run",
		WriteInterval: every(20)})
	must(t, tr.Train(context.Background()))
	files := scalars(t, tr.Dir())
	got := []float64{tr.Metrics()["episode.return"], files[tracking.TagReturn][0].Value}
	for _, steps := range []int{0, 4} {
		got = append(got, value(tr.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 3,
			MaxSteps: steps}))(t).Return)
	}
	if want := []float64{raw, raw, raw, 4*100 + 10*(1+2+3+4)}; !cmp.Equal(got, want, cmpopts.EquateApprox(0, 20)) {
		t.Errorf("figure, tag and evaluations are %v, want about %v", got, want)
	}
	if shaped := files[tracking.TagTotalReward+" (mean)"][0].Value; shaped < 1 || shaped > 14 { // at most 2 a step
		t.Errorf("the agent's return is %g", shaped)
	}
}

// A policy without its environment acts on raw observations as the agent does behind the wrappers.
func TestExportedPolicyHasTransforms(t *testing.T) {
	inside := newRamp(3)
	tr := apprentice(t, recipe(t, inside), 1, trainers.Config{})
	onward(t, tr, 40)
	policy := value(infer.FromSnapshot(agenttest.Through(t, value(tr.Snapshot())(t))))(t)
	// The policy alone, as a file has it, too.
	alone := value(infer.FromSnapshot(agenttest.Through(t, policy.Snapshot())))(t)
	for _, w := range envs.All[envs.RunningStatistics](tr.Env()) {
		w.Freeze(true)
	}
	tr.Agent().SetTraining(false)
	s := value(tr.Env().Reset(0))(t)
	for range 12 {
		want := slices.Clone(value(tr.Agent().Act(trainers.Observation(s)))(t))
		for _, p := range []*infer.Policy{policy, alone} {
			got := make([]float32, len(want))
			must(t, p.ActBatch(inside.raw, got))
			if !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-6)) {
				t.Fatalf("%v, the agent does %v", got, want)
			}
		}
		s = value(tr.Env().Step(want))(t)
	}
}
