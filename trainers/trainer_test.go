package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
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
	want := agents.Transition{NextObservations: rows(1), NextStates: rows(2), Rewards: rows(3), Terminated: []bool{true, false},
		Truncated: []bool{false, true}, FinalObservations: rows(4), FinalStates: rows(5), FinalUnknown: []bool{true},
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
		list, err := tracking.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both[i] = map[string][]tracking.Scalar{}
		for _, x := range list {
			both[i][x.Tag] = append(both[i][x.Tag], x)
		}
	}
	for tag := range both[1] {
		if len(both[0][tag]) != len(both[1][tag]) {
			t.Errorf("%q is %d times in the event file, %d times in the JSON lines", tag, len(both[0][tag]), len(both[1][tag]))
		}
	}
	return both[1]
}

// What is written has skrl's tags and the discriminator's health, once an interval.
func TestWritesTags(t *testing.T) {
	checkLiveTensors(t)
	cfg := trainers.Config{Timesteps: 48, Directory: t.TempDir(), Name: "run", WriteInterval: every(16), Seed: 1}
	tr, done := scenes[1].start(t, cfg)
	defer done()
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := scalars(t, tr.Dir())
	tags := []string{"Loss / Policy loss", "Loss / Value loss", "Loss / Discriminator loss", "Policy / Standard deviation", "Reward / Style reward (mean)",
		"Discriminator / Accuracy (motion)", "Discriminator / Accuracy (policy)", "Discriminator / Logit (motion)", "Discriminator / Logit (policy)",
		"Discriminator / Gradient penalty", tracking.TagInferenceTime, tracking.TagEnvSteppingTime, tracking.TagUpdateTime}
	for _, tag := range []string{tracking.TagInstantaneousReward, tracking.TagTotalReward, tracking.TagTotalTimesteps} {
		tags = append(tags, tag+" (mean)", tag+" (min)", tag+" (max)")
	}
	for _, tag := range tags {
		var steps []int64
		for _, x := range got[tag] {
			if math.IsNaN(x.Value) {
				t.Errorf("%q is NaN at %d", tag, x.Step)
			}
			steps = append(steps, x.Step)
		}
		if fmt.Sprint(steps) != "[16 32 48]" {
			t.Errorf("%q is written at %v, want 16, 32 and 48", tag, steps)
		}
	}
	for tag, list := range got {
		for i := 1; i < len(list); i++ {
			if list[i].Step <= list[i-1].Step {
				t.Errorf("%q is written twice at %d", tag, list[i].Step)
			}
		}
	}
	for _, name := range []string{"episode.return", "episode.length", "style_reward", "Loss / Policy loss"} {
		if v, ok := tr.Metrics()[name]; !ok || math.IsNaN(v) {
			t.Errorf("the metric %q is %v", name, v)
		}
	}
}

// Without a folder nothing is written; with one there is a checkpoint at the end, and at every interval, each once.
func TestWhatIsWritten(t *testing.T) {
	checkLiveTensors(t)
	for name, test := range map[string]struct {
		cfg  trainers.Config
		want string
	}{
		"nothing":   {trainers.Config{}, ""},
		"the last":  {trainers.Config{Name: "run"}, "agent_20"},
		"intervals": {trainers.Config{Name: "run", CheckpointInterval: every(10)}, "agent_10 agent_20"},
		"odd":       {trainers.Config{Name: "run", CheckpointInterval: every(8)}, "agent_16 agent_20 agent_8"},
		"automatic": {trainers.Config{Name: "run", CheckpointInterval: agents.Interval{Auto: true}, Keep: 3}, "agent_16 agent_18 agent_20"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.cfg.Timesteps = 20
			if test.cfg.Name != "" {
				test.cfg.Directory = dir
			}
			tr, done := scenes[0].start(t, test.cfg)
			defer done()
			for range 2 { // the second time there is nothing to do
				if err := tr.Train(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			var names []string
			for _, file := range checkpoints(t, filepath.Join(dir, "run")) {
				names = append(names, strings.TrimSuffix(filepath.Base(file), ".safetensors"))
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("checkpoints %q, want %q", got, test.want)
			}
		})
	}
}

// An evaluation counts each environment's first episodes, and does not change what training comes to.
func TestEvaluate(t *testing.T) {
	checkLiveTensors(t)
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			want, _ := whole(t, s)
			cfg := trainers.Config{Timesteps: length, Seed: 11}
			var first trainers.Evaluation
			cfg.Callbacks = after(func(tr *trainers.Trainer) error {
				if tr.Timestep() != 13 && tr.Timestep() != 16 {
					return nil
				}
				a, err := tr.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 5, Seed: 3})
				if err != nil {
					return err
				}
				b, err := tr.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 5, Seed: 3})
				if err != nil {
					return err
				}
				if fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("evaluated twice: %+v, %+v", a, b)
				}
				first = a
				return nil
			})
			tr, done := s.start(t, cfg)
			defer done()
			if err := tr.Train(context.Background()); err != nil {
				t.Fatal(err)
			}
			n := tr.Env().NumEnvs()
			if each := (5 + n - 1) / n; first.Episodes != each*n || !(first.Length >= 1) {
				t.Errorf("%+v, want %d episodes of each of %d environments", first, each, n)
			}
			if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 {
				t.Errorf("with evaluations %q differ", d)
			}
			if !tr.Agent().SetTraining(true) {
				t.Error("the agent is left in evaluation")
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if e, err := tr.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 5, Seed: 1}); !errors.Is(err, context.Canceled) || e.Episodes != 0 {
				t.Errorf("cancelled: %+v, %v", e, err)
			}
			if _, err := tr.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 0, Seed: 1}); err == nil {
				t.Error("no episodes were evaluated")
			}
		})
	}
}

// The mean of the environment's return over given episodes, by hand.
func TestEvaluateMeans(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer agent.Close()
	defer env.Close()
	got, err := trainers.Evaluate(context.Background(), env, agent, trainers.EvaluateOptions{Episodes: 8, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	step, err := env.Reset(4)
	if err != nil {
		t.Fatal(err)
	}
	agent.SetTraining(false)
	n := env.NumEnvs()
	done, sum, steps := make([]int, n), 0.0, 0.0
	for done[0] < 2 || done[1] < 2 || done[2] < 2 || done[3] < 2 {
		actions, err := agent.Act(agents.Observation{Observations: step.Observations})
		if err != nil {
			t.Fatal(err)
		}
		if step, err = env.Step(actions); err != nil {
			t.Fatal(err)
		}
		for _, e := range step.Episodes {
			if done[e.Env] < 2 {
				done[e.Env]++
				sum, steps = sum+e.Return, steps+float64(e.Length)
			}
		}
	}
	if got.Episodes != 8 || math.Abs(got.Return-sum/8) > 1e-9 || math.Abs(got.Length-steps/8) > 1e-9 {
		t.Errorf("%+v, want 8 episodes, return %g and length %g", got, sum/8, steps/8)
	}
}

// Stochastic evaluation samples actions.
func TestStochasticEvaluation(t *testing.T) {
	checkLiveTensors(t)
	results := map[string]bool{}
	for _, stochastic := range []bool{false, true} {
		tr, done := scenes[0].start(t, trainers.Config{StochasticEvaluation: stochastic})
		for range 2 {
			e, err := tr.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 12, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			results[fmt.Sprint(e)] = true
		}
		done()
	}
	if len(results) != 3 { // the mode's twice the same, and two samples
		t.Errorf("%d different evaluations, want 3: %v", len(results), results)
	}
}

// pictures draws an environment.
type pictures struct {
	envs.Env
	drawn int
}

func (p *pictures) Unwrap() envs.Env { return p.Env }
func (p *pictures) Render(int) (image.Image, error) {
	p.drawn++
	return image.NewGray(image.Rect(0, 0, 2, 1)), nil
}

// OnRender is given a picture every render_interval, a callback is called after every step, and its error ends the run.
func TestHooks(t *testing.T) {
	checkLiveTensors(t)
	for name, test := range map[string]struct {
		headless bool
		interval int
		want     string
	}{"off": {true, 1, "[]"}, "each": {false, 1, "[1 2 3 4 5 6 7]"}, "third": {false, 3, "[3 6]"}, "never": {false, 0, "[]"}} {
		t.Run(name, func(t *testing.T) {
			env, agent := scenes[0].make(t)
			defer agent.Close()
			drawn := &pictures{Env: env}
			var at []int64
			steps := 0
			stop := errors.New("enough")
			tr := sequential(t, drawn, agent, trainers.Config{Timesteps: 100, Headless: test.headless, RenderInterval: test.interval, CloseEnvironmentAtExit: true,
				OnRender: func(timestep int64, picture image.Image) error {
					if picture.Bounds().Dx() != 2 {
						t.Error("another picture")
					}
					at = append(at, timestep)
					return nil
				},
				Callbacks: after(func(tr *trainers.Trainer) error {
					if steps++; int64(steps) != tr.Timestep() {
						t.Errorf("step %d is timestep %d", steps, tr.Timestep())
					}
					if steps == 7 {
						return stop
					}
					return nil
				})})
			defer tr.Close()
			if err := tr.Train(context.Background()); !errors.Is(err, stop) {
				t.Errorf("%v", err)
			}
			if fmt.Sprint(at) != test.want || drawn.drawn != len(at) {
				t.Errorf("pictures at %v (%d drawn), want %s", at, drawn.drawn, test.want)
			}
		})
	}
}

// A loop of Steps is what Train does.
func TestStepByStep(t *testing.T) {
	checkLiveTensors(t)
	want, _ := whole(t, scenes[0])
	tr, done := scenes[0].start(t, trainers.Config{Seed: 11})
	defer done()
	for k := range length {
		step, err := tr.Step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(step.Rewards) != 4 || tr.Timestep() != int64(k+1) {
			t.Fatalf("step %d: %d rewards, timestep %d", k, len(step.Rewards), tr.Timestep())
		}
	}
	if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 {
		t.Errorf("%q differ", d)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(context.Background()); err == nil {
		t.Error("a closed trainer made a step")
	}
}

// A trainee advances by environment steps, goes on after an interruption, and can take another's place.
func TestTrainee(t *testing.T) {
	checkLiveTensors(t)
	member := func(seed int64) *trainers.Trainee {
		env, agent := scenes[0].make(t)
		m := sequential(t, env, agent, trainers.Config{Seed: seed}).Trainee()
		t.Cleanup(func() {
			if err := errors.Join(m.Close(), m.Close()); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	a, b := member(1), member(2)
	if err := errors.Join(a.Train(context.Background(), 100), b.Train(context.Background(), 41)); err != nil {
		t.Fatal(err)
	}
	if a.Steps() != 100 || b.Steps() != 44 { // whole timesteps of four environments
		t.Errorf("%d and %d steps, want 100 and 44", a.Steps(), b.Steps())
	}
	if err := a.Train(&countdown{context.Background(), 3}, 100); !errors.Is(err, context.Canceled) || a.Steps() >= 200 {
		t.Errorf("%v after %d steps", err, a.Steps())
	}
	if err := a.Train(context.Background(), 200-a.Steps()); err != nil || a.Steps() != 200 {
		t.Errorf("%v after %d steps", err, a.Steps())
	}
	if err := a.SetHyperparameters(map[string]float64{"learning_rate": 7e-4}); err != nil || a.Hyperparameters()["learning_rate"] != 7e-4 {
		t.Errorf("%v: %v", err, a.Hyperparameters())
	}
	snap, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(snap); err != nil {
		t.Fatal(err)
	}
	if b.Steps() != 200 {
		t.Errorf("%d steps after Restore, want 200", b.Steps())
	}
	if got, want := b.Metrics(), a.Metrics(); !maps.Equal(got, want) || len(got) == 0 {
		t.Errorf("the weights come with figures %v, want %v", got, want)
	}
	if err := b.Reseed(9); err != nil {
		t.Fatal(err)
	}
	if m := b.Metrics(); len(m) != 0 || b.Samples("episode.return", 9) != nil {
		t.Errorf("a copy has another's figures: %v", m)
	}
	if err := b.Train(context.Background(), 100); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Metrics()["episode.return"]; !ok {
		t.Errorf("metrics %v", b.Metrics())
	}
}

// A bar keeps what it was told.
type bar struct {
	name  string
	total int64
	done  []int64
	text  string
	ended bool
}

func (b *bar) Set(done int64, text string) { b.done, b.text = append(b.done, done), text }
func (b *bar) Finish(text string)          { b.text, b.ended = text, true }

type bars struct{ list []*bar }

func (p *bars) Bar(name string, total int64) tracking.Bar {
	p.list = append(p.list, &bar{name: name, total: total})
	return p.list[len(p.list)-1]
}
func (p *bars) Printf(string, ...any) {}
func (p *bars) Wait()                 {}

// The bar counts environment steps and shows return, length and style reward.
func TestProgress(t *testing.T) {
	checkLiveTensors(t)
	shown := &bars{}
	cfg := run(t, 40)
	cfg.Progress = shown
	for _, timesteps := range []int{24, 40} {
		cfg.Timesteps = timesteps
		tr, done := scenes[1].start(t, cfg)
		if err := tr.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		done()
	}
	if len(shown.list) != 2 {
		t.Fatalf("%d bars", len(shown.list))
	}
	b := shown.list[1]
	if b.name != "AMP" || b.total != 120 || !b.ended || b.done[0] != 72 || b.done[len(b.done)-1] != 120 {
		t.Errorf("%+v", b)
	}
	var back, steps, style float64
	if n, err := fmt.Sscanf(b.text, "return %f length %f style %f", &back, &steps, &style); n != 3 {
		t.Errorf("the bar shows %q (%v)", b.text, err)
	}
	cfg.DisableProgressbar, cfg.Timesteps = true, 41
	tr, done := scenes[1].start(t, cfg)
	defer done()
	if err := tr.Train(context.Background()); err != nil || len(shown.list) != 2 {
		t.Errorf("%d bars, %v", len(shown.list), err)
	}
}

// What does not fit is an error of the constructor.
func TestRefuses(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer agent.Close()
	defer env.Close()
	set := func(f func(c *trainers.Config)) trainers.Config {
		c := trainers.Config{Timesteps: 10}
		f(&c)
		return c
	}
	other := func(sp spaces.Set) agenttest.Agent {
		a := smallPPO(t, sp, 1, nil)
		agenttest.Close(t, a)
		return a
	}
	bound := other(env.Spaces())
	if err := bound.Bind(7); err != nil {
		t.Fatal(err)
	}
	walker, imitator := scenes[1].make(t)
	defer imitator.Close()
	defer walker.Close()
	good := trainers.Config{Timesteps: 10}
	for name, test := range map[string]struct {
		env   envs.Env
		agent agents.Agent
		cfg   trainers.Config
		want  string
	}{
		"no environment":      {nil, agent, good, "needs an environment and an agent"},
		"no agent":            {env, nil, good, "needs an environment and an agent"},
		"negative timesteps":  {env, agent, set(func(c *trainers.Config) { c.Timesteps = -1 }), `"timesteps" is -1`},
		"negative keep":       {env, agent, set(func(c *trainers.Config) { c.Keep = -1 }), `"keep" is -1`},
		"negative render":     {env, agent, set(func(c *trainers.Config) { c.RenderInterval = -1 }), `"render_interval" is -1`},
		"resume what":         {env, agent, set(func(c *trainers.Config) { c.Resume = true }), `"resume" needs "name"`},
		"a path for a name":   {env, agent, set(func(c *trainers.Config) { c.Name = "a/b" }), `"name" is "a/b"`},
		"observations":        {env, other(spaces.Set{Observation: spaces.Unbounded(3), Action: env.Spaces().Action}), good, "the environment has observations"},
		"actions":             {env, other(spaces.Set{Observation: env.Spaces().Observation, Action: spaces.NewDiscrete(3)}), good, "the agent was made for"},
		"states":              {env, other(spaces.Set{Observation: env.Spaces().Observation, Action: env.Spaces().Action, State: spaces.Unbounded(2)}), good, "states"},
		"another environment": {env, imitator, good, "the agent was made for"},
		"bound":               {env, bound, good, "7 environments, not 4"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := trainers.New(test.env, test.agent, test.cfg)
			if tr != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("a trainer %v and the error %v, want %q", tr, err, test.want)
			}
		})
	}
}

// broken fails at a step.
type broken struct {
	envs.Env
	left int
}

var errBroken = errors.New("a wheel came off")

func (b *broken) Step(actions []float32) (*envs.Step, error) {
	if b.left--; b.left < 0 {
		return nil, errBroken
	}
	return b.Env.Step(actions)
}

// An environment's error ends the run and says when.
func TestEnvironmentFails(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer agent.Close()
	tr := sequential(t, &broken{env, 5}, agent, trainers.Config{Timesteps: 10, CloseEnvironmentAtExit: true})
	defer tr.Close()
	if err := tr.Train(context.Background()); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "timestep 5") {
		t.Error(err)
	}
	e, err := trainers.Evaluate(context.Background(), &broken{env, 5}, agent, trainers.EvaluateOptions{Episodes: 10, Seed: 1})
	if !errors.Is(err, errBroken) || e.Episodes != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A trainer trains an agent in an environment; nothing is written unless it is asked for.
func ExampleNew() {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
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

// The loop may be the program's own.
func ExampleTrainer_Step() {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	agent := exampleAgent(env)
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	reward := float32(0)
	for range 5 {
		step, err := trainer.Step(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		reward += step.Rewards[0]
	}
	fmt.Println(trainer.Timestep(), reward)
	// Output: 5 5
}

func exampleAgent(env envs.Env) agents.Agent {
	a, err := newPPO(env)
	if err != nil {
		panic(err)
	}
	return a
}

// An agent can be evaluated without a trainer.
func ExampleEvaluate() {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	agent := exampleAgent(env)
	defer agent.Close()
	result, err := trainers.Evaluate(context.Background(), env, agent, trainers.EvaluateOptions{Episodes: 4, Seed: 1})
	fmt.Println(result.Episodes, result.Return == result.Length, err)
	// Output: 4 true <nil>
}

// DefaultConfig has skrl's defaults.
func ExampleDefaultConfig() {
	cfg := trainers.DefaultConfig()
	fmt.Println(cfg.Timesteps, cfg.Directory, cfg.WriteInterval.Of(cfg.Timesteps, 100), cfg.CheckpointInterval.Of(cfg.Timesteps, 10), cfg.Validate())
	// Output: 100000 runs 1000 10000 <nil>
}
