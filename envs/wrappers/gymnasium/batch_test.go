package gymnasium

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// counting returns options of bridge_batches.Count in testdata, of n environments.
func counting(t testing.TB, n int, kwargs map[string]any) Options {
	t.Helper()
	o := real(t, "bridge_batches:Count", n, 0)
	o.Simulator, o.Kwargs, o.AMPObservations, o.Seed = Batch, kwargs, "amp_obs", 7
	o.StepMetrics = []string{"speed"}
	return o
}

// counted is what is known of one of its environments.
type counted struct {
	i, k, episode int
	over          bool
}

// observation is what it shows in step k of an episode: a picture, a door, a place.
func (c counted) observation() []float32 {
	row := make([]float32, 0, 7)
	for pixel := range 4 {
		row = append(row, float32((16*c.i+c.k+pixel)%256))
	}
	return append(row, float32((c.i+c.k)%5), float32(c.i)+0.5, float32(c.k+100*c.episode))
}

func (c counted) state() float32 { return float32(10*c.k + c.i) }

func (c counted) length() int { return 3 + c.i%4 }

// What a batch returns must arrive, whatever it does when an episode ends, and whatever its arrays are: each is written
// over in its next call.
func TestPeersBatch(t *testing.T) {
	for _, c := range []struct {
		mode   Autoreset
		finals any
		kind   string
		flags  string
	}{
		{SameStep, "rows", "numpy", "bool"}, {SameStep, nil, "numpy", "float32"}, {NextStep, nil, "numpy", "bool"},
		{SameStep, "batch", "torch", "bool"}, {Disabled, nil, "torch", "float32"}, {SameStep, nil, "card", "bool"},
		{NextStep, nil, "card", "float32"},
	} {
		t.Run(fmt.Sprint(c.mode, c.finals, c.kind, c.flags), func(t *testing.T) {
			const n = 5
			e := open(t, counting(t, n, map[string]any{"mode": c.mode, "finals": c.finals, "kind": c.kind,
				"flags": c.flags}))
			must.Do(t, envs.Check(e, 60, 3))
			s := envtest.Reset(t, e, 100)
			all := make([]counted, n)
			for i := range all {
				all[i].i = i
				must.Same(t, s.Observations[7*i:7*i+7], all[i].observation(), "environment %d: first observation", i)
				must.Is(t, s.States[i], float32(i), "environment %d: first state", i)
			}
			for step := 1; step <= 40; step++ {
				s = envtest.Step(t, e, actions(n))
				checkCounted(t, step, s, all, c.mode, c.finals != nil)
			}
		})
	}
}

// checkCounted holds a step against what Count must show, and counts on.
func checkCounted(t *testing.T, step int, s *envs.Step, all []counted, mode Autoreset, finals bool) {
	t.Helper()
	episodes, speeds, valid := 0, 0.0, 0.0
	for i := range all {
		e := &all[i]
		again := e.over && mode == NextStep
		seen := e.k + 1 // in the AMP observation
		if again {
			seen = e.k
			e.k, e.episode = 0, e.episode+1
		} else {
			e.k++
		}
		e.over = e.k >= e.length()
		last := *e
		unknown := e.over && mode == SameStep && !finals
		speed := float64(2 * e.k)
		if unknown {
			seen, speed = seen-1, -1
		}
		if !again { // its infos are of a step
			speeds, valid = speeds+speed, valid+1
		}
		if e.over && mode != NextStep {
			e.k, e.episode = 0, e.episode+1
		}
		reward := 0.5 + 10*float64(float32(i)/1000)
		if again {
			reward = 0
		}
		must.Same(t, s.Observations[7*i:7*i+7], e.observation(), "step %d, environment %d: observation", step, i)
		must.Is(t, s.States[i], e.state(), "step %d, environment %d: state", step, i)
		must.Same(t, s.AMPObservations[2*i:2*i+2], []float32{float32(i), float32(seen)}, "step %d: AMP", step)
		must.Near(t, float64(s.Rewards[i]), reward, 1e-6, "step %d, environment %d: reward", step, i)
		flags := []bool{s.Terminated[i], s.Truncated[i], s.FinalUnknown != nil && s.FinalUnknown[i],
			s.Invalid != nil && s.Invalid[i]}
		must.Same(t, flags, []bool{last.over && i%2 == 0, last.over && i%2 == 1, unknown, again},
			"step %d, environment %d: terminated, truncated, last observation unknown, invalid", step, i)
		if !last.over {
			continue
		}
		if !unknown {
			must.Same(t, s.FinalObservations[7*i:7*i+7], last.observation(), "step %d: last observation", step)
			must.Is(t, s.FinalStates[i], last.state(), "step %d: last state", step)
		}
		got := s.Episodes[episodes]
		must.Not(t, got.Env != i || got.Length != last.length() ||
			math.Abs(got.Return-reward*float64(got.Length)) > 1e-5 || got.Metrics["speed"] != speed,
			"step %d: episode %+v of environment %d, whose speed was %g", step, got, i, speed)
		episodes++
	}
	must.Near(t, s.Metrics["speed"], speeds/valid, 1e-9, "step %d: the mean speed", step)
	must.Not(t, len(s.Episodes) != episodes || episodes == 0 && (s.FinalObservations != nil || s.FinalUnknown != nil),
		"step %d: %d episodes, want %d", step, len(s.Episodes), episodes)
	must.Not(t, mode == Disabled && episodes > 0 && s.Metrics["resets"] != float64(episodes),
		"step %d: metrics %v of %d episodes", step, s.Metrics, episodes)
}

func TestPeersBatchSpacesAndCalls(t *testing.T) {
	for _, kind := range []string{"numpy", "torch"} {
		o := counting(t, 4, map[string]any{"kind": kind})
		o.RenderMode = "rgb_array"
		e := open(t, o)
		policy := spaces.NewDict(map[string]spaces.Space{"place": spaces.Unbounded(2), "camera": spaces.NewPicture(2, 2,
			1), "door": spaces.NewDiscrete(5)})
		want := spaces.Set{Observation: policy, State: spaces.Unbounded(1), AMPObservation: spaces.Unbounded(2),
			Action: spaces.NewBox(-1, 1, 2)}
		name, got, wanted := e.set.Difference(want)
		must.Not(t, name != "", "%s: %v, want %v", name, got, wanted)
		envtest.Reset(t, e, 5)
		rows := must.Get(e.CollectReferenceMotions(3, rand.New(rand.NewPCG(1, 2))))(t)
		must.Same(t, rows, []float32{1, 2, 1, 2, 1, 2}, "reference motion")
		r, _, _, _ := must.Get(e.Render(2))(t).At(2, 1).RGBA()
		must.Is(t, r>>8, 102, "red in the picture of environment 2")
		// One set of parameters for the batch, wherever an episode begins.
		must.Refuse(t, e.SetRewardShaping(map[string]any{"bonus": -1.0}, []int{3}), "a bonus below 0")
		must.Do(t, e.SetRewardShaping(map[string]any{"bonus": 2.0}, []int{1}))
		s := must.Get(e.Step([]float32{1, 0, 1, 0, 1, 0, 1, 0}))(t)
		must.Same(t, s.Rewards, []float32{2, 2, 2, 2}, "rewards")
		must.Match(t, map[string]any{"bonus": 2.0}, e.RewardShaping(), "reward parameters")
		must.Do(t, e.SetCurriculumState([]byte(`{"states": [{"level": 3}, {"level": 4}]}`)))
		// The seed of the options is that of the making.
		must.Is(t, string(must.Get(e.CurriculumState())(t)), `{"states":[{"level":3,"seeds":[7,5]}]}`, "curriculum")
	}
	// Groups can be chosen; several are a Dict.
	o := counting(t, 2, nil)
	o.ObservationGroups, o.StateGroups = []string{"debug"}, []string{"critic", "debug"}
	e := open(t, o)
	want := spaces.NewDict(map[string]spaces.Space{"critic": spaces.Unbounded(1), "debug": spaces.NewBox(0, 1, 9)})
	must.Not(t, !e.set.Observation.Equal(spaces.NewBox(0, 1, 9)) || !e.set.State.Equal(want),
		"observations %v and states %v", e.set.Observation, e.set.State)
	must.Do(t, envs.Check(e, 50, 1))
	o.StateGroups = []string{"critics"}
	must.Refused(New(o))(t, "state_groups has 'critics'", "'critic', 'debug', 'policy'")
}

// Episodes may begin at random lengths; these first ones end apart, and no figures are made of them.
func TestPeersBatchRandomEpisodeLengths(t *testing.T) {
	const n = 30
	o := counting(t, n, nil)
	o.Factory, o.AMPObservations, o.RandomEpisodeLengths = "bridge_batches:Timed", "", true
	e := open(t, o)
	var first [2][n]int // the steps in which the first episodes ended
	for try := range first {
		envtest.Reset(t, e, 3)
		counted := 0
		for k := 1; k <= 20; k++ {
			s := envtest.Step(t, e, actions(n))
			for i := range n {
				if s.Truncated[i] && first[try][i] == 0 {
					first[try][i] = k
				}
			}
			for _, episode := range s.Episodes {
				counted++
				must.Match(t, envs.Episode{Env: episode.Env, Length: 10, Return: 10}, episode, "step %d", k)
				must.Is(t, k, first[try][episode.Env]+10, "the step in which %+v ended", episode)
			}
		}
		must.Is(t, counted, n, "episodes")
	}
	must.Is(t, first[0], first[1], "with the same seed the first episodes end in the steps")
	low, high := slices.Min(first[0][:]), slices.Max(first[0][:])
	must.Not(t, low > 3 || low < 1 || high < 8 || high > 10, "the first episodes ended in the steps %v", first[0])
}

// An episode of one step has no row of the discriminator that could stand for its last one.
func TestPeersBatchShortEpisodes(t *testing.T) {
	o := counting(t, 2, map[string]any{"finals": nil})
	o.Factory = "bridge_batches:Short"
	e := open(t, o)
	envtest.Reset(t, e, 0)
	for step := 1; step <= 3; step++ {
		s := envtest.Step(t, e, actions(2))
		invalid, unknown := s.Invalid != nil && s.Invalid[0], s.FinalUnknown != nil && s.FinalUnknown[0]
		must.Is(t, fmt.Sprint(s.Terminated[0], invalid, unknown), fmt.Sprint(step > 1, step > 2, step > 1),
			"step %d: terminated, invalid, unknown", step)
		if step == 2 {
			must.Is(t, s.AMPObservations[1], 1, "the AMP observation of the last step, which is that of the first")
		}
		must.Not(t, step == 3 && (len(s.Episodes) == 0 || s.Episodes[0].Length != 1 || s.Episodes[0].Return != 0.5),
			"episodes %v", s.Episodes)
	}
}

// Functions of states, as Brax and MuJoCo Playground have them: done is a number that says truncation, too, and rows
// come back to their first states, so that last observations are lost. The infos still tell of the episode that ended.
func TestPeersFunctional(t *testing.T) {
	functional := must.Get(filepath.Abs("testdata/functional"))(t)
	const n, limit = 4, 5
	acts := []float32{0.5, 1, -1, 0}
	for _, simulator := range []Simulator{Brax, Playground} {
		t.Run(string(simulator), func(t *testing.T) {
			o := real(t, "Counting", n, 0)
			o.Simulator, o.Path, o.Kwargs, o.AMPObservations, o.AMPSize, o.RenderMode = simulator,
				append(o.Path, functional), map[string]any{"episode_length": limit}, "amp", 2, "rgb_array"
			if simulator == Playground {
				o.Kwargs["scale"] = 3.0
			}
			e := open(t, o)
			must.Not(t, e.set.Observation.Width() != 2 || simulator == Playground && e.set.State.Width() != 1 ||
				!e.set.Action.Equal(spaces.NewBox(-1, 1, 1)), "spaces %v", e.set)
			first := slices.Clone(envtest.Reset(t, e, 9).Observations)
			ends := map[int]string{3: "[0 terminated]", 4: "[1 terminated]", 5: "[2 terminated 3 truncated]"}
			for step := 1; step <= 5; step++ {
				s := envtest.Step(t, e, acts)
				if step == 2 {
					must.Same(t, s.Rewards, acts, "rewards")
					if simulator == Playground {
						must.Same(t, s.States, []float32{6, 6, 6, 6}, "states")
					} else {
						r, _, _, _ := must.Get(e.Render(1))(t).At(0, 0).RGBA()
						must.Is(t, r>>8, 2, "red in a picture of the second step")
					}
				}
				var got []string
				for _, episode := range s.Episodes {
					i, how := episode.Env, "terminated"
					if s.Truncated[i] {
						how = "truncated"
					}
					got = append(got, fmt.Sprint(i, " ", how))
					must.Not(t, !s.FinalUnknown[i] || episode.Length != step ||
						episode.Metrics["far"] != float64(2*step), "step %d: episode %+v", step, episode)
					must.Same(t, s.Observations[2*i:2*i+2], first[2*i:2*i+2], "the first observation again")
					must.Same(t, s.AMPObservations[2*i:2*i+2], []float32{float32(step), -float32(step)},
						"AMP at an end")
				}
				if step > 2 {
					must.Is(t, fmt.Sprint(got), ends[step], "step %d", step)
				}
			}
			must.Same(t, envtest.Reset(t, e, 9).Observations, first, "the same seed again")
		})
	}
}
