package trainers_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// Agents are shown every part of a step under its own name.
func TestTransition(t *testing.T) {
	rows := func(x float32) []float32 { return []float32{x} }
	s := &envs.Step{Observations: rows(1), States: rows(2), Rewards: rows(3), Terminated: []bool{true, false},
		Truncated: []bool{false, true}, FinalObservations: rows(4), FinalStates: rows(5), FinalUnknown: []bool{true},
		Invalid: []bool{false}, AMPObservations: rows(6)}
	want := agents.Transition{NextObservations: rows(1), NextStates: rows(2), Rewards: rows(3),
		Terminated: []bool{true, false},
		Truncated:  []bool{false, true}, FinalObservations: rows(4), FinalStates: rows(5), FinalUnknown: []bool{true},
		Invalid: []bool{false}, AMPObservations: rows(6)}
	if got := trainers.Transition(s); !reflect.DeepEqual(got, want) {
		t.Errorf("the transition is %+v, want %+v", got, want)
	}
}

var (
	_ pbt.Trainee   = (*trainers.Trainee)(nil)
	_ pbt.Reseeder  = (*trainers.Trainee)(nil)
	_ pbt.Sampler   = (*trainers.Trainee)(nil)
	_ pbt.Evaluator = (*trainers.Trainee)(nil)
	_ pbt.Planner   = (*trainers.Trainee)(nil)
)

// after is a callback after every timestep.
func after(f func(tr *trainers.Trainer) error) []trainers.Callback {
	return []trainers.Callback{trainers.StepFunc(func(tr *trainers.Trainer, _ *envs.Step) error { return f(tr) })}
}

func every(n int) agents.Interval { return agents.Interval{Steps: n} }

// scalars reads the scalars of a run's files, by tag, from the event file and from the JSON lines, which must agree.
func scalars(t *testing.T, dir string) map[string][]tracking.Scalar {
	t.Helper()
	events, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(events) != 1 {
		t.Fatalf("event files %q, %v", events, err)
	}
	var both [2]map[string][]tracking.Scalar
	for i, file := range []string{events[0], filepath.Join(dir, tracking.ScalarsFile)} {
		list := value(tracking.ReadFile(file))(t)
		both[i] = map[string][]tracking.Scalar{}
		for _, x := range list {
			both[i][x.Tag] = append(both[i][x.Tag], x)
		}
	}
	for tag := range both[1] {
		if len(both[0][tag]) != len(both[1][tag]) {
			t.Errorf("%q is %d times in the event file, %d times in the JSON lines", tag, len(both[0][tag]),
				len(both[1][tag]))
		}
	}
	return both[1]
}

// What is written has skrl's tags and the discriminator's health, once an interval.
func TestWritesTags(t *testing.T) {
	cfg := trainers.Config{Timesteps: 48, Directory: t.TempDir(), Name: "run", WriteInterval: every(16), Seed: 1}
	got := scalars(t, scenes[1].trained(t, cfg).Dir())
	tags := []string{"Loss / Policy loss", "Loss / Value loss", "Loss / Discriminator loss",
		"Policy / Standard deviation", "Reward / Style reward (mean)", "Discriminator / Accuracy (motion)",
		"Discriminator / Accuracy (policy)", "Discriminator / Logit (motion)", "Discriminator / Logit (policy)",
		"Discriminator / Gradient penalty", tracking.TagInferenceTime, tracking.TagEnvSteppingTime,
		tracking.TagUpdateTime}
	for _, tag := range []string{tracking.TagInstantaneousReward, tracking.TagTotalReward, tracking.TagTotalTimesteps} {
		tags = append(tags, tag+" (mean)", tag+" (min)", tag+" (max)")
	}
	for _, tag := range tags {
		if list := got[tag]; len(list) != 3 || math.IsNaN(list[0].Value+list[1].Value+list[2].Value) {
			t.Errorf("%q is written as %v, want numbers at 16, 32 and 48", tag, list)
		}
	}
	for tag, list := range got {
		for i, x := range list {
			if x.Step != int64(16*(3-len(list)+i+1)) {
				t.Errorf("%q is written as %v, want it at 16, 32 and 48 or at the last of them", tag, list)
			}
		}
	}
}

// A bar keeps what it shows.
type bar struct {
	name         string
	total, first int64
	done         int64
	text         string
	ended        bool
}

func (b *bar) Set(done int64, text string) {
	if b.first == 0 {
		b.first = done
	}
	b.done, b.text = done, text
}
func (b *bar) Finish(text string) { b.text, b.ended = text, true }

type bars struct{ list []*bar }

func (p *bars) Bar(name string, total int64) tracking.Bar {
	p.list = append(p.list, &bar{name: name, total: total})
	return p.list[len(p.list)-1]
}
func (p *bars) Printf(string, ...any) {}
func (p *bars) Wait()                 {}

// The bar counts environment steps, also of a resumed run, and shows return, length and style reward.
func TestProgress(t *testing.T) {
	shown := &bars{}
	cfg := run(t, 0)
	cfg.Progress = shown
	for _, cfg.Timesteps = range []int{24, 40} {
		train(t, scenes[1], cfg)
	}
	var back, steps, style float64
	b := shown.list[1]
	if n, err := fmt.Sscanf(b.text, "return %f length %f style %f", &back, &steps, &style); n != 3 ||
		*b != (bar{"AMP", 120, 72, 120, b.text, true}) {
		t.Errorf("%+v (%v)", b, err)
	}
}

// What does not fit is an error of the constructor, before the agent is bound.
func TestRefuses(t *testing.T) {
	env, agent := scenes[0].made(t)
	sp := env.Spaces()
	bound := smallPPO(t, sp, 1, nil)
	sp.Observation = spaces.Unbounded(3)
	other := smallPPO(t, sp, 1, nil)
	agenttest.Close(t, bound)
	agenttest.Close(t, other)
	must(t, bound.Bind(7))
	goal := 1.0
	for _, test := range []struct {
		env   envs.Env
		agent agents.Agent
		cfg   trainers.Config
		want  string
	}{
		{nil, agent, trainers.Config{}, "needs an environment and an agent"},
		{env, nil, trainers.Config{}, "needs an environment and an agent"},
		{env, agent, trainers.Config{Timesteps: -1}, `"timesteps" is -1`},
		{env, agent, trainers.Config{Resume: true}, `"resume" needs "name"`},
		{env, agent, trainers.Config{Name: "a/b"}, `"name" is "a/b"`},
		{env, agent, trainers.Config{StopAtReturn: &goal}, `"stop_at_return" needs "evaluation_interval"`},
		{env, agent, trainers.Config{Best: "evaluation.return"}, `which need "evaluation_interval"`},
		{&opaque{env}, agent, trainers.Config{EvaluationInterval: every(5)}, "give Config.EvaluationEnv"},
		{env, agent, trainers.Config{Callbacks: []trainers.Callback{&tally{name: "a"}, &tally{name: "a"}}},
			"StateName"},
		{env, other, trainers.Config{},
			"the environment has the observation space Box(4), the agent was made for Box(3)"},
		{env, bound, trainers.Config{}, "7 environments, not 4"},
	} {
		refused(trainers.New(test.env, test.agent, test.cfg))(t, test.want, test.want)
	}
	if agent.NumEnvs() != 0 {
		t.Error("an agent that was refused is bound")
	}
	tr := scenes[0].open(t, trainers.Config{})
	if wantError(t, "no length", tr.Train(t.Context()), `"timesteps"`); tr.Dir() != "" {
		t.Errorf("a run of unknown length has the folder %q", tr.Dir())
	}
}

// A trainer trains an agent in an environment; nothing is written unless it is asked for.
func ExampleNew() {
	env := exampleEnv()
	agent := exampleAgent(env)
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: 64, Seed: 1, CloseEnvironmentAtExit: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	if err := trainer.Train(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	result, err := trainer.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 10, Seed: 100})
	fmt.Println(trainer.Timestep(), "timesteps;", result.Episodes, "episodes evaluated;", err)
	// Output: 64 timesteps; 16 episodes evaluated; <nil>
}

func exampleEnv() envs.Env {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 8})
	if err != nil {
		panic(err)
	}
	return env
}

func exampleAgent(env envs.Env) agents.Agent {
	a, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"),
		Dict: map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 2}, Seed: 1})
	if err != nil {
		panic(err)
	}
	return a
}
